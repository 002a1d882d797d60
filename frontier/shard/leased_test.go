package shard_test

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// takeVisits fetches pages of a.example, and leases them again on schedule.
func (w *world) takeVisits(list []frontier.NewPage) (l frontier.Lease) {
	w.Helper()
	w.shard.VisitsPerDay = 1_000_000
	w.put("a.example", list)
	for range 30 {
		l, _ = w.lease(frontier.LeaseRequest{Max: len(list), PerHost: len(list), Seconds: 60})
		if len(l.Items) > 0 && l.Items[0].Visits > 0 {
			return l
		}
		w.reportAll(l, 200)
		w.now += 30 * 24 * hour
	}
	w.Fatal("no page is leased on schedule")
	return l
}

// TestPut_OfALeasedVisit: a page that is put again while a scraper has it on schedule is fetched once, also if the
// scraper never reports.
func TestPut_OfALeasedVisit(t *testing.T) {
	for _, refetch := range []bool{false, true} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("refetch %v, lost %v", refetch, lost), func(t *testing.T) {
				w := newWorld(t)
				list := articles("a.example", 0, 3)
				l := w.takeVisits(list)
				if len(l.Items) != 3 {
					t.Fatalf("%d items", len(l.Items))
				}
				for i := range list {
					list[i].Refetch = refetch
					list[i].LastMod = w.now.Seconds() - 60
				}
				for range 2 {
					w.put("a.example", list)
					w.invariants()
				}
				w.now += 2000
				want := 0
				if lost {
					w.now, want = l.ExpiresAt+5000, 3
				} else if a := w.reportAll(l, 200); a.Accepted != 3 {
					t.Errorf("%+v", a)
				}
				w.now += 5000
				again, _ := w.lease(frontier.LeaseRequest{Max: 9, PerHost: 9, Seconds: 60})
				if len(again.Items) != want {
					t.Errorf("%d pages are given again, want %d", len(again.Items), want)
				}
				for _, item := range again.Items {
					if reason := map[bool]string{true: "requested", false: "lastmod"}[refetch]; item.Reason != reason ||
						item.Visits == 0 {
						t.Errorf("%+v", item)
					}
				}
				w.reportAll(again, 200)
				w.invariants()
				if s := w.stats(); s.URLs != 0 || s.Scheduled != 3 {
					t.Errorf("%d wait, %d are scheduled", s.URLs, s.Scheduled)
				}
			})
		}
	}
}

// TestForget_DuringALease: what a scraper has when operators forget a host stays its own, and is given no second time.
func TestForget_DuringALease(t *testing.T) {
	for _, visits := range []bool{false, true} {
		for _, end := range []string{"reported", "lost", "given back", "late"} {
			t.Run(fmt.Sprintf("visits %v, %s", visits, end), func(t *testing.T) {
				w := newWorld(t)
				list := articles("a.example", 0, 4)
				var l frontier.Lease
				if visits {
					l = w.takeVisits(list)
				} else {
					w.put("a.example", list)
					l, _ = w.lease(frontier.LeaseRequest{Max: 2, PerHost: 2, Seconds: 60})
				}
				w.setHost("a.example", frontier.HostChange{Forget: frontier.ForgetAll})
				w.invariants()
				w.put("a.example", list)
				w.invariants()
				left := len(list)
				switch w.now += 1000; end {
				case "reported":
					left -= w.reportAll(l, 200).Accepted
				case "late":
					w.now = l.ExpiresAt + 1
					left -= w.reportAll(l, 200).Late
				case "lost":
					w.now = l.ExpiresAt + 1
				case "given back":
					w.do(func() error {
						_, err := w.shard.ReleaseLease(w.now, frontier.ReleaseLease{Lease: l.ID})
						return err
					})
				}
				w.invariants()
				given := 0
				for range 4 {
					w.now += 5000
					again, _ := w.lease(frontier.LeaseRequest{Max: 4, PerHost: 4, Seconds: 60})
					given += len(again.Items)
					w.reportAll(again, 200)
				}
				w.invariants()
				if s := w.stats(); given != left || s.URLs != 0 {
					t.Errorf("%d pages were given, %d were left, %d wait", given, left, s.URLs)
				}
			})
		}
	}
}

// TestReport_AfterARelease: a scraper that gives a lease back while its last report is on the way loses nothing, as
// long as nobody else was given the host.
func TestReport_AfterARelease(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 4))
	l, _ := w.lease(frontier.LeaseRequest{Max: 3, PerHost: 3, Seconds: 600})
	w.do(func() error {
		_, err := w.shard.ReleaseLease(w.now, frontier.ReleaseLease{Lease: l.ID})
		return err
	})
	if a := w.reportAll(frontier.Lease{ID: l.ID, Items: l.Items[:2]}, 200); a.Late != 2 || w.stats().Done != 2 {
		t.Errorf("%+v, %d are done", a, w.stats().Done)
	}
	w.invariants()
	w.now += 5000
	if again, _ := w.lease(frontier.LeaseRequest{Max: 4, PerHost: 4, Seconds: 600}); len(again.Items) != 2 {
		t.Errorf("%d pages are given, 2 are left", len(again.Items))
	}
	if a := w.reportAll(frontier.Lease{ID: l.ID, Items: l.Items[2:]}, 200); a.Unknown != 1 {
		t.Errorf("of what another has: %+v", a)
	}
	w.invariants()
}

// TestReport_FoundBehindARedirect: links of a page to which a site redirected, but which is on another domain, are not
// the site's own, and announce nothing: many a site redirects to whatever a parameter says.
func TestReport_FoundBehindARedirect(t *testing.T) {
	announced := func(redirect string) (titles []string) {
		w := newWorld(t)
		w.put("victim.example", []frontier.NewPage{{URL: "https://victim.example/go?to=https://evil.example/"}})
		l, _ := w.lease(frontier.LeaseRequest{Max: 1})
		found := frontier.FoundURL{Domain: "victim.example", NewPage: frontier.NewPage{Title: "Forged",
			URL: "https://victim.example/press/1", LastMod: w.now.Seconds() - 10, Priority: 1}}
		w.do(func() error {
			_, err := w.shard.Report(w.now, frontier.Report{Lease: l.ID, Results: []frontier.Result{
				{ID: l.Items[0].ID, Status: 200, RedirectedTo: redirect, Found: []frontier.FoundURL{found}}}})
			return err
		})
		w.invariants()
		var page frontier.FeedPage
		w.do(func() (err error) {
			page, err = w.shard.Feed(w.now, frontier.FeedRequest{Limit: 200})
			return err
		})
		for _, item := range page.Items {
			titles = append(titles, item.Title)
		}
		return titles
	}
	for redirect, want := range map[string]int{"": 1, "https://www.victim.example/there": 1, "https://evil.example/": 0,
		"https://victim.example.evil.example/": 0, "https://victim.example@evil.example/": 0, "nonsense": 0} {
		if got := announced(redirect); len(got) != want {
			t.Errorf("redirected to %q: %q is announced", redirect, got)
		}
	}
}

// TestBlocks_OneOfSeveral: of several things that keep scrapers from a host, the others hold when one ends, and what
// was leased before counts.
func TestBlocks_OneOfSeveral(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 6))
	l, _ := w.lease(frontier.LeaseRequest{Max: 2, PerHost: 2, Seconds: 60})
	block := func(until epoch.Millis) {
		t.Helper()
		w.setHost("a.example", frontier.HostChange{BlockUntil: &until})
	}
	exclude := func(kind string, excluded bool) {
		t.Helper()
		w.do(func() error {
			x := frontier.Exclusion{Kind: kind, Value: "a.example", Domain: "a.example"}
			return w.shard.Exclude(w.now, x, excluded)
		})
	}
	none := func(what string) {
		t.Helper()
		w.invariants()
		w.now += 5000
		if l, _ := w.lease(frontier.LeaseRequest{Max: 2, PerHost: 2, Seconds: 60}); len(l.Items) > 0 {
			t.Errorf("%s: %d items are given", what, len(l.Items))
		}
		w.invariants()
	}
	block(w.now + hour)
	exclude(contract.ExcludeHost, true)
	exclude(contract.ExcludeDomain, true)
	w.now += 1000
	if a := w.reportAll(l, 200); a.Accepted != 2 {
		t.Errorf("a report of a blocked host: %+v", a)
	}
	none("all of them")
	block(1)
	none("without the block")
	exclude(contract.ExcludeHost, false)
	none("the domain is left")
	exclude(contract.ExcludeHost, true)
	exclude(contract.ExcludeDomain, false)
	none("the host is left")
	block(w.now + hour)
	exclude(contract.ExcludeHost, false)
	none("the block is left")
	w.now += hour + hour/8
	if l, _ = w.lease(frontier.LeaseRequest{Max: 2, PerHost: 2, Seconds: 60}); len(l.Items) != 2 {
		t.Errorf("without any: %d items", len(l.Items))
	}
}
