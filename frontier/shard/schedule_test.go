package shard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// policies makes pages that change seldom.
func policies(host string, n int) (list []frontier.NewPage) {
	for i := range n {
		url := fmt.Sprintf("https://%s/p/%d", host, i)
		list = append(list, frontier.NewPage{URL: url, Type: "policy", Priority: 0.7})
	}
	return list
}

// fetchAll fetches what waits now, and returns how often each page was given.
func (s *looks) fetchAll() map[string]int {
	s.Helper()
	given := map[string]int{}
	for range 3 {
		for _, item := range s.scrape(frontier.LeaseRequest{Max: 500, PerHost: 20, Seconds: 60}) {
			given[item.URL]++
		}
		s.now += 2000
	}
	return given
}

// TestSchedule_LargeHost: a page of a host with very many is not in the schedule twice when its site dates it anew.
func TestSchedule_LargeHost(t *testing.T) {
	t.Parallel()
	sizes := []int{9000, 30_000} // all of the schedule is searched, or only a part
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		s := newLooks(t, 1_000_000)
		s.shard.Settings.Delay = 1
		list := policies("a.example", n)
		for some := range slices.Chunk(list, frontier.MaxPut) {
			s.put("a.example", some)
		}
		if got := len(s.fetchAll()); got != n {
			t.Fatalf("%d pages were fetched", got)
		}
		s.invariants()
		s.now += 2 * hour
		renewed := []frontier.NewPage{list[0], list[n/2], list[n-1]}
		for i := range renewed {
			renewed[i].LastMod = s.now.Seconds() - 60
		}
		s.put("a.example", renewed)
		s.invariants()
		renewed[0].Refetch = true
		s.put("a.example", renewed[:1])
		s.invariants()
		given := s.fetchAll()
		s.now += 100 * 24 * hour
		for range 2 {
			for url := range s.fetchAll() {
				given[url]++
			}
			s.now += 24 * hour
		}
		s.invariants()
		if s.host("a.example").Scheduled > int64(n) || given[renewed[0].URL] == 0 {
			t.Errorf("%d pages: %d scheduled, given %v", n, s.host("a.example").Scheduled, given[renewed[0].URL])
		}
	}
}

// TestRedirect_Fails: a redirect to a page that then fails, or is gone, does not make that page count as fetched.
func TestRedirect_Fails(t *testing.T) {
	states := map[int]string{200: "fetched", 301: "fetched", 404: "gone", 503: "unknown", 403: "unknown"}
	for status, want := range states {
		s := newSite(t)
		s.put("a.example", []frontier.NewPage{{URL: "https://a.example/old", Priority: 0.5}})
		l, _ := s.lease(frontier.LeaseRequest{Max: 1})
		s.do(func() error {
			_, err := s.shard.Report(s.now, frontier.Report{Lease: l.ID, Results: []frontier.Result{
				{ID: l.Items[0].ID, Status: status, RedirectedTo: "https://a.example/new"}}})
			return err
		})
		if got := s.state("https://a.example/new").State; got != want {
			t.Errorf("redirected, then %d: %s, want %s", status, got, want)
		}
		s.invariants()
	}
}

// TestCopies_Maintenance: a site that shows one text for all of its pages for a day, with status 200, loses none of
// them: they are fetched again, and nothing is announced as updated.
func TestCopies_Maintenance(t *testing.T) {
	s := newLooks(t, 1_000_000)
	down := false
	s.text = func(url string, _ epoch.Millis) string {
		if down {
			return "we will be back soon"
		}
		return url
	}
	s.put("a.example", policies("a.example", 40))
	s.fetchAll()
	s.now += 60 * 24 * hour
	down = true
	if seen := s.fetchAll(); len(seen) < 30 {
		t.Fatalf("%d looks", len(seen))
	}
	s.invariants()
	if d := s.host("a.example"); d.Scheduled != 40 || d.Patterns[0].Refused || d.Patterns[0].Copied > 0 {
		t.Errorf("%d are scheduled, %+v", d.Scheduled, d.Patterns)
	}
	down = false
	seen := map[string]int{}
	for range 200 {
		s.now += 24 * hour
		for url := range s.fetchAll() {
			seen[url]++
		}
	}
	if len(seen) != 40 || s.host("a.example").Scheduled != 40 {
		t.Errorf("%d pages were looked at again, %d are scheduled", len(seen), s.host("a.example").Scheduled)
	}
	s.do(func() error {
		page, err := s.shard.Feed(s.now, frontier.FeedRequest{Limit: 200, Events: []string{frontier.EventUpdated}})
		if len(page.Items) > 2 { // the first one that showed the text
			t.Errorf("%d updates were announced", len(page.Items))
		}
		return err
	})
}

// TestSchedule_Forbidden: pages that robots.txt or an operator forbids for a while are not looked at meanwhile, and
// come back on their schedule.
func TestSchedule_Forbidden(t *testing.T) {
	rules := "User-agent: *\nDisallow: /p/"
	nothing := ""
	visit := func(s *looks, rules *string) {
		s.do(func() error {
			acquire := frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60}
			if _, err := s.shard.Acquire(s.now, acquire); err != nil {
				return err
			}
			_, err := s.shard.Release(s.now, frontier.ReleaseRequest{Domain: "a.example", Owner: "c",
				Hosts: []frontier.HostFindings{{Host: "a.example", RobotsExpires: s.now + 24*hour, Rules: rules}}})
			return err
		})
	}
	pattern := frontier.Exclusion{Kind: "url", Value: "https://a.example/p/*"}
	for name, c := range map[string]struct{ begin, end func(*looks) }{
		"robots.txt": {func(s *looks) { visit(s, &rules) }, func(s *looks) { visit(s, &nothing) }},
		"pattern": {func(s *looks) { s.do(func() error { return s.shard.Exclude(s.now, pattern, true) }) },
			func(s *looks) { s.do(func() error { return s.shard.Exclude(s.now, pattern, false) }) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLooks(t, 1_000_000)
			s.put("a.example", policies("a.example", 30))
			s.fetchAll()
			s.now += 60 * 24 * hour
			c.begin(s)
			for range 5 {
				if seen := s.fetchAll(); len(seen) > 0 {
					t.Fatalf("%d pages were looked at", len(seen))
				}
				s.now += 10 * 24 * hour
			}
			s.invariants()
			if n := s.host("a.example").Scheduled; n != 30 {
				t.Errorf("%d are scheduled meanwhile", n)
			}
			c.end(s)
			seen := map[string]int{}
			for range 60 {
				s.now += 24 * hour
				for url := range s.fetchAll() {
					seen[url]++
				}
			}
			s.invariants()
			if len(seen) != 30 {
				t.Errorf("%d of 30 came back", len(seen))
			}
		})
	}
}

// TestVisit_UselessDatesOfCheapPages: a site that always says today is not believed either for pages that are not worth
// a look of their own.
func TestVisit_UselessDatesOfCheapPages(t *testing.T) {
	s := newLooks(t, 1)
	list := make([]frontier.NewPage, 8)
	for i := range list {
		list[i] = frontier.NewPage{URL: fmt.Sprintf("https://a.example/imprint/%d", i), Type: "contact"}
	}
	s.text = func(url string, _ epoch.Millis) string { return url }
	s.put("a.example", list)
	s.fetchAll()
	late := 0
	for day := range 40 {
		s.now += 24 * hour
		for i := range list {
			list[i].LastMod = s.now.Seconds() - 60
		}
		s.put("a.example", list)
		if n := len(s.fetchAll()); day >= 10 {
			late += n
		}
		s.invariants()
	}
	if late > 10 {
		t.Errorf("%d looks from the tenth day on", late)
	}
}

// TestVisit_SmallLeases: scrapers that take one page at a time get pages that come back, too, every third at most.
func TestVisit_SmallLeases(t *testing.T) {
	for _, most := range []int{1, 2, 5} {
		s := newLooks(t, 1_000_000)
		for site := range 40 {
			host := fmt.Sprintf("old%d.example", site)
			s.put(host, []frontier.NewPage{{URL: "https://" + host + "/", Type: "archive", Priority: 0.9}})
		}
		s.fetchAll()
		s.now += 30 * 24 * hour
		for site := range 200 {
			host := fmt.Sprintf("new%d.example", site)
			s.put(host, []frontier.NewPage{{URL: "https://" + host + "/", Type: "archive", Priority: 0.9}})
		}
		items, visits := 0, 0
		for items < 60 {
			l, _ := s.lease(frontier.LeaseRequest{Max: most, PerHost: 1})
			for _, item := range l.Items {
				if items++; item.Reason == "revisit" {
					visits++
				}
			}
		}
		if visits < 12 || visits > 21 {
			t.Errorf("leases of %d: %d of %d items are visits", most, visits, items)
		}
	}
}

// TestFeed_RemovedIsGone: what a site forbids or refuses is not announced as removed.
func TestFeed_RemovedIsGone(t *testing.T) {
	for _, c := range []struct {
		result frontier.Result
		want   int
	}{{frontier.Result{Status: 404}, 1}, {frontier.Result{Status: 410}, 1}, {frontier.Result{Forbidden: true}, 0},
		{frontier.Result{Status: 451}, 0}, {frontier.Result{Status: 400}, 0}} {
		s := newLooks(t, 1_000_000)
		s.put("a.example", policies("a.example", 1))
		s.fetchAll()
		for range 20 {
			s.now += 30 * 24 * hour
			l, _ := s.lease(frontier.LeaseRequest{Max: 1})
			for _, item := range l.Items {
				r := c.result
				r.ID = item.ID
				s.do(func() error {
					_, err := s.shard.Report(s.now, frontier.Report{Lease: l.ID, Results: []frontier.Result{r}})
					return err
				})
			}
		}
		s.do(func() error {
			page, err := s.shard.Feed(s.now, frontier.FeedRequest{Limit: 200, Events: []string{frontier.EventRemoved}})
			if len(page.Items) != c.want {
				t.Errorf("%+v: %d announced", c.result, len(page.Items))
			}
			return err
		})
		s.invariants()
	}
}

// TestFeed_UpdatesLeaveRoom: however often the pages of a site change, its new ones are announced.
func TestFeed_UpdatesLeaveRoom(t *testing.T) {
	s := newLooks(t, 1_000_000)
	s.shard.Settings.Announcements = 20
	s.text = func(url string, at epoch.Millis) string { return fmt.Sprint(url, at) }
	list := make([]frontier.NewPage, 60)
	for i := range list {
		list[i] = frontier.NewPage{URL: fmt.Sprintf("https://a.example/data/%d", i), Type: "statistics", Priority: 0.9}
	}
	s.put("a.example", list)
	s.fetchAll()
	s.now += 20 * 24 * hour
	s.fetchAll()
	fresh := articles("a.example", 0, 20)
	for i := range fresh {
		fresh[i].LastMod, fresh[i].FoundBy = s.now.Seconds()-60, "feed"
	}
	s.put("a.example", fresh)
	s.do(func() error {
		page, err := s.shard.Feed(s.now, frontier.FeedRequest{Limit: 200})
		if len(page.Items) != 20 {
			t.Errorf("%d of 20 new pages are announced", len(page.Items))
		}
		return err
	})
	s.invariants()
}

// TestCopies_Announced: new pages of a section behind a wall are not fetched, but announced by their site's feed.
func TestCopies_Announced(t *testing.T) {
	s := newSite(t)
	s.put("a.example", pagesLike("https://a.example/news/%d", 0, 30))
	s.scrapeTexts(func(string) string { return strings.Repeat("ab", 32) })
	fresh := pagesLike("https://a.example/news/%d", 100, 3)
	for i := range fresh {
		fresh[i].LastMod, fresh[i].FoundBy = s.now.Seconds()-60, "feed"
	}
	for range 2 {
		if got := s.verdicts(frontier.Put{Domain: "a.example", Pages: fresh}); fmt.Sprint(got) != "[trap trap trap]" {
			t.Errorf("%v", got)
		}
	}
	s.do(func() error {
		page, err := s.shard.Feed(s.now, frontier.FeedRequest{Limit: 200})
		if len(page.Items) != 3 {
			t.Errorf("%d of 3 new pages are announced", len(page.Items))
		}
		return err
	})
	s.invariants()
}

// TestVisit_GivenBack: pages that a scraper gives back without having fetched them do not count as fetched again.
func TestVisit_GivenBack(t *testing.T) {
	s := newLooks(t, 24)
	for site := range 10 {
		host := fmt.Sprintf("a%d.example", site)
		s.put(host, []frontier.NewPage{{URL: "https://" + host + "/", Type: "archive", Priority: 0.9}})
	}
	s.fetchAll()
	s.now += 30 * 24 * hour
	made := s.stats().Revisited
	for i := range 30 {
		l, _ := s.lease(frontier.LeaseRequest{Max: 6, PerHost: 1})
		if len(l.Items) == 0 {
			t.Fatalf("nothing after %d leases", i)
		}
		s.do(func() (err error) {
			if i%2 == 0 {
				_, err = s.shard.ReleaseLease(s.now, frontier.ReleaseLease{Lease: l.ID})
				return err
			}
			r := frontier.Report{Lease: l.ID}
			for _, item := range l.Items {
				r.Results = append(r.Results, frontier.Result{ID: item.ID, NotFetched: true})
			}
			_, err = s.shard.Report(s.now, r)
			return err
		})
		s.now += 20_000
		s.invariants()
	}
	if n := s.stats().Revisited - made; n != 0 {
		t.Errorf("%d count as fetched again", n)
	}
}

// TestForget_Trust: a host that is forgotten is believed again.
func TestForget_Trust(t *testing.T) {
	s := newLooks(t, 1000)
	list := articles("a.example", 0, 5)
	s.put("a.example", list)
	s.fetchAll()
	for range 20 {
		s.now += 24 * hour
		for i := range list {
			list[i].LastMod = s.now.Seconds() - 60
		}
		s.put("a.example", list)
		s.fetchAll()
	}
	if !s.host("a.example").Stale {
		t.Fatal("it is believed")
	}
	s.do(func() error {
		_, err := s.shard.SetHost(s.now, "a.example", frontier.HostChange{Forget: frontier.ForgetAll})
		return err
	})
	if s.host("a.example").Stale {
		t.Error("it is not believed")
	}
	s.invariants()
}

// TestVisit_Redirects: a page that leads to another host at each look has not changed since.
func TestVisit_Redirects(t *testing.T) {
	s := newSite(t)
	s.shard.Settings.VisitsPerDay = 1_000_000
	s.put("a.example", []frontier.NewPage{{URL: "https://a.example/statistics", Type: "statistics", Priority: 0.9}})
	n := 0
	for range 40 {
		l, _ := s.lease(frontier.LeaseRequest{Max: 1})
		n += len(l.Items)
		s.report(l, 301)
		s.now += 24 * hour
	}
	if k := s.pattern("*"); n < 3 || k.Looks != int64(n-1) || k.Changes > 0 {
		t.Errorf("%d looks, %+v", n, k)
	}
	s.invariants()
}

// TestVisit_FlippingText: a page whose digest differs at every look, by a counter on it, say, is looked at seldom, and
// the others keep their looks.
func TestVisit_FlippingText(t *testing.T) {
	s := newLooks(t, 24)
	s.text = func(url string, at epoch.Millis) string {
		if strings.HasSuffix(url, "/0") {
			return fmt.Sprint(at)
		}
		return url
	}
	s.put("a.example", policies("a.example", 300))
	s.fetchAll()
	flips, others := 0, 0
	for at := range 24 * 60 {
		s.now += hour
		for _, item := range s.scrape(frontier.LeaseRequest{Max: 20, PerHost: 5, Seconds: 60}) {
			switch {
			case at < 24*20:
			case strings.HasSuffix(item.URL, "/0"):
				flips++
			default:
				others++
			}
		}
	}
	t.Logf("%d looks at the page that flips, %d at others", flips, others)
	if others < 800 || flips > 100 {
		t.Errorf("in 40 days %d looks at the page that flips, %d at 299 others; %+v", flips, others, s.stats())
	}
	s.invariants()
}
