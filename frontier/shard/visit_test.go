package shard_test

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// looks is a scraper of a site whose pages change, and what it saw.
type looks struct {
	*world
	text  func(url string, at epoch.Millis) string
	items []frontier.Item
}

func newLooks(t *testing.T, perDay int64) *looks {
	w := newWorld(t)
	w.shard.Settings.VisitsPerDay = perDay
	w.shard.Settings.Delay = 100
	return &looks{world: w, text: func(string, epoch.Millis) string { return "" }}
}

// scrape leases until nothing is left, and reports.
func (s *looks) scrape(r frontier.LeaseRequest) (items []frontier.Item) {
	s.Helper()
	for {
		l, _ := s.lease(r)
		if len(l.Items) == 0 {
			s.items = append(s.items, items...)
			return items
		}
		report := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			etag := fmt.Sprintf("%x", sha256.Sum256([]byte(s.text(item.URL, s.now))))
			result := frontier.Result{ID: item.ID, Status: 200, ETag: etag, TextSHA256: etag}
			if item.ETag == etag {
				result = frontier.Result{ID: item.ID, Status: 304}
			}
			report.Results = append(report.Results, result)
		}
		s.do(func() error {
			_, err := s.shard.Report(s.now, report)
			return err
		})
		s.now += 1000
		items = append(items, l.Items...)
	}
}

// TestVisit_WithinTheBudget: pages come back, those that change more often, and no more in a day than may.
func TestVisit_WithinTheBudget(t *testing.T) {
	needsNoRace(t)
	t.Parallel()
	const perDay = 60
	s := newLooks(t, perDay)
	s.text = func(url string, at epoch.Millis) string { // statistics change daily
		if url[len(url)-1] == '0' {
			return fmt.Sprint(url, at/(24*hour))
		}
		return url
	}
	for site := range 10 {
		host := fmt.Sprintf("a%d.example", site)
		list := make([]frontier.NewPage, 30)
		for i := range list {
			list[i] = frontier.NewPage{URL: fmt.Sprintf("https://%s/s/%d", host, i), Type: "statistics", Priority: 0.5}
		}
		s.put(host, list)
	}
	all := frontier.LeaseRequest{Max: 100, PerHost: 5, Seconds: 60}
	for range 40 {
		s.scrape(all)
		s.now += 2000
	}
	if n := len(s.items); n != 300 {
		t.Fatalf("%d first visits", n)
	}
	for _, item := range s.items {
		if item.Reason != "new" || item.Visits != 0 || item.Fetched != 0 || item.ETag != "" {
			t.Fatalf("a new page: %+v", item)
		}
	}
	s.items = nil
	seen := map[string]int{}
	daily, others := 0, 0
	for day := range 90 {
		today := 0
		for range 24 {
			for _, item := range s.scrape(all) {
				if today++; item.Reason != "revisit" || item.Visits != 1+seen[item.URL] || item.Fetched == 0 ||
					item.ETag == "" {
					t.Fatalf("an item: %+v", item)
				}
				seen[item.URL]++
				if day < 30 {
					continue
				}
				if item.URL[len(item.URL)-1] == '0' {
					daily++
				} else {
					others++
				}
			}
			s.now += hour
		}
		if today > perDay+perDay/4 {
			t.Errorf("%d visits on day %d", today, day)
		}
	}
	total := 0
	for _, n := range seen {
		total += n
	}
	if total < 90*perDay*8/10 || len(seen) < 295 {
		t.Errorf("%d visits of %d pages in 90 days, the budget was %d", total, len(seen), 90*perDay)
	}
	if daily/30 < 3*(others/270) {
		t.Errorf("%d visits of 30 pages that change daily, %d of 270 that never do", daily, others)
	}
	s.invariants()
}

// TestVisit_AThird: while new pages wait, at most a third of a lease are visits; otherwise all of it.
func TestVisit_AThird(t *testing.T) {
	s := newLooks(t, 1_000_000)
	for site := range 60 {
		host := fmt.Sprintf("old%d.example", site)
		s.put(host, []frontier.NewPage{{URL: "https://" + host + "/", Type: "archive", Priority: 0.9}})
	}
	all := frontier.LeaseRequest{Max: 30, PerHost: 1, Seconds: 60}
	s.scrape(all)
	s.now += 30 * 24 * hour
	for site := range 60 {
		host := fmt.Sprintf("new%d.example", site)
		s.put(host, []frontier.NewPage{{URL: "https://" + host + "/", Type: "archive", Priority: 0.9}})
	}
	for i, want := range []int{10, 10, 10, 30} {
		l, _ := s.lease(all)
		visits := 0
		for _, item := range l.Items {
			if item.Reason == "revisit" {
				visits++
			}
		}
		if len(l.Items) != 30 || visits != want {
			t.Errorf("lease %d: %d items, %d of them visits, want 30 and %d", i, len(l.Items), visits, want)
		}
	}
	s.invariants()
}

// TestVisit_NewerDate: a page that its site dates anew comes at once, with what is known of it.
func TestVisit_NewerDate(t *testing.T) {
	s := newLooks(t, 1000)
	list := articles("a.example", 0, 500)
	s.put("a.example", list)
	all := frontier.LeaseRequest{Max: 100, PerHost: 20, Seconds: 60}
	for range 40 {
		s.scrape(all)
		s.now += 2000
	}
	s.now += 2 * hour
	for i := range 20 {
		list[i].LastMod = s.now.Seconds() - 60
	}
	rows := s.put("a.example", list)
	s.ceiling("rows of a put of 500 listed URLs of which 20 have newer dates", float64(rows), 12)
	s.invariants()
	var renewed []frontier.Item
	for range 3 {
		renewed = append(renewed, s.scrape(all)...)
		s.now += 2000
	}
	n := 0
	for _, item := range renewed {
		if item.Reason == "lastmod" {
			if n++; item.ETag == "" || item.Visits != 1 {
				t.Errorf("%+v", item)
			}
		}
	}
	if n != 20 {
		t.Errorf("%d of 20 pages came back", n)
	}
	s.invariants()
}

// TestVisit_UselessDates: a site that always says today is believed for some looks, one whose dates are true for ever.
func TestVisit_UselessDates(t *testing.T) {
	for _, honest := range []bool{false, true} {
		s := newLooks(t, 1000)
		if honest {
			s.text = func(url string, at epoch.Millis) string { return fmt.Sprint(url, at/(24*hour)) }
		}
		list := articles("a.example", 0, 5)
		s.put("a.example", list)
		all := frontier.LeaseRequest{Max: 100, PerHost: 20, Seconds: 60}
		s.scrape(all)
		late := 0
		for day := range 20 {
			s.now += 24 * hour
			for i := range list {
				list[i].LastMod = s.now.Seconds() - 60
			}
			s.put("a.example", list)
			for _, item := range s.scrape(all) {
				if item.Reason == "lastmod" && day >= 10 {
					late++
				}
			}
		}
		if honest && late < 45 || !honest && late > 0 {
			t.Errorf("honest %v: %d looks for newer dates in the last ten days", honest, late)
		}
		s.invariants()
	}
}

// bytes returns the bytes of what the tables have, a row counted with 12 bytes more.
func (w *world) bytes() (size int64) {
	w.Helper()
	for _, sql := range []string{"SELECT sum(length(record) + length(host) + 30) FROM hosts",
		"SELECT sum(length(data) + 12) FROM parts",
		"SELECT sum(length(data) + 12) FROM queue"} {
		if err := w.db.Query(sql, func(r *store.Rows) { size += r.Int() }); err != nil {
			w.Fatal(err)
		}
	}
	return size
}

// TestVisit_Costs holds what a page costs before and after it was fetched, and what it costs that it comes back.
func TestVisit_Costs(t *testing.T) {
	needsNoRace(t)
	const hosts, pages = 20, 500
	for _, c := range []struct {
		name   string
		perDay int64
		etags  bool
		most   float64 // bytes of a fetched page
	}{{"off the schedule", 0, false, 14}, {"on schedule", 1_000_000, false, 62},
		{"on schedule, with ETags", 1_000_000, true, 100}} {
		t.Run(c.name, func(t *testing.T) {
			s := newLooks(t, c.perDay)
			for i := range hosts {
				host := fmt.Sprintf("www.a%d.example", i)
				list := articles(host, 0, pages)
				for k := range list {
					list[k].Type, list[k].LastMod = "policy", 0
				}
				s.put(fmt.Sprintf("a%d.example", i), list)
			}
			s.ceiling("bytes of a page that was never fetched", float64(s.bytes())/(hosts*pages), 85)
			scrape := func(reason string) (rows, n int) {
				for {
					l, of := s.lease(frontier.LeaseRequest{Max: 100, PerHost: 5, Seconds: 60})
					if len(l.Items) == 0 {
						return rows, n
					}
					report := frontier.Report{Lease: l.ID}
					for _, item := range l.Items {
						if item.Reason != reason {
							t.Fatalf("%+v", item)
						}
						result := frontier.Result{ID: item.ID, Status: 200,
							TextSHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(item.URL)))}
						if c.etags {
							result.ETag = `"` + result.TextSHA256[:32] + `"`
						}
						report.Results = append(report.Results, result)
					}
					rows += of + s.do(func() error {
						_, err := s.shard.Report(s.now, report)
						return err
					})
					s.now += 2000
					n += len(l.Items)
				}
			}
			rows, n := scrape("new")
			if n != hosts*pages {
				t.Fatalf("%d pages came", n)
			}
			s.ceiling("bytes of one that was fetched", float64(s.bytes())/(hosts*pages), c.most)
			s.invariants()
			if c.perDay == 0 {
				return
			}
			first := float64(rows) / float64(n)
			visitRows, visits := 0, 0
			for day := 0; visits < 20_000; day++ {
				if day > 40 {
					t.Fatalf("%d visits", visits)
				}
				s.now += 24 * hour
				rows, n := scrape("revisit")
				visitRows, visits = visitRows+rows, visits+n
			}
			t.Logf("%.3f rows for each of %d first visits, %.3f for each of %d others", first, hosts*pages,
				float64(visitRows)/float64(visits), visits)
			s.ceiling("rows for a page that comes back, more than for a new one",
				float64(visitRows)/float64(visits)-first, 0.05)
		})
	}
}
