package shard_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// A collector that died may have asked its hosts until its time was over, so the next one keeps their delay
// from then on.
func TestOwner_DelayAfterALostOne(t *testing.T) {
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := shard.Shard{DB: db, Settings: shard.Settings{Delay: 2 * time.Minute}}
	const now = 1_769_601_600_000
	acquire := func(at epoch.Millis, owner string) frontier.Acquired {
		t.Helper()
		var a frontier.Acquired
		err := db.Transaction(func() (err error) {
			a, err = s.Acquire(at, frontier.AcquireRequest{Domain: "a.example", Owner: owner, Seconds: 30,
				Hosts: []string{"a.example", "www.a.example"}})
			return err
		})
		if err != nil || !a.Granted {
			t.Fatalf("%+v, %v", a, err)
		}
		return a
	}
	acquire(now, "dead")
	for _, h := range acquire(now+30_000, "next").Hosts {
		if h.ReadyAt != now+30_000+120_000 {
			t.Errorf("%s may be asked %d ms after the end of the one before", h.Host, h.ReadyAt-now-30_000)
		}
	}
	err = db.Transaction(func() error {
		_, err := s.Release(now+31_000, frontier.ReleaseRequest{Domain: "a.example", Owner: "next"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if h := acquire(now+200_000, "third").Hosts[0]; h.ReadyAt > now+200_000 {
		t.Errorf("a released domain is kept for %d ms", h.ReadyAt-now-200_000)
	}
}

// Pages that others put may be of any day; entry points stay those of the newest document, whoever was first.
func TestOwner_DayOfADocument(t *testing.T) {
	for name, first := range map[string]bool{"the host is new": false, "others put pages of the host before": true} {
		t.Run(name, func(t *testing.T) { testDayOfADocument(t, first) })
	}
}

func testDayOfADocument(t *testing.T, othersFirst bool) {
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := shard.Shard{DB: db}
	const now = 1_769_601_600_000
	put := func(date string, entries []frontier.NewEntry, urls ...string) {
		t.Helper()
		p := frontier.Put{Domain: "a.example",
			Partition: contract.Partition{Country: "kr", Category: "news", Date: date},
			Entries:   entries}
		for _, u := range urls {
			p.Pages = append(p.Pages, frontier.NewPage{URL: u, Priority: 0.5})
		}
		err := db.Transaction(func() error {
			_, err := s.Put(now, p)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	feed := "https://a.example/feed"
	entries := []frontier.NewEntry{
		{NewPage: frontier.NewPage{URL: "https://a.example/index"}, Method: "html", Interval: 5400},
		{NewPage: frontier.NewPage{URL: feed}, Method: "rss", Interval: 5400},
	}
	if othersFirst {
		put("2026-02-01", nil, "https://a.example/earlier")
	}
	put("2026-01-15", entries, "https://a.example/page")
	put("2026-01-10", entries)
	put("2026-03-01", nil, "https://a.example/later")
	var r frontier.RefreshGrant
	err = db.Transaction(func() (err error) {
		r, err = s.BeginRefresh(now+100*86_400_000, frontier.RefreshRequest{Domain: "a.example", URL: feed, Owner: "r"})
		return err
	})
	if err != nil || !r.Granted || r.Partition.Date != "2026-01-15" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestOwner_ExpectedHosts: a host that an owner asked about belongs to its domain from the put that makes it, though
// that put does not write the domain's row: for scrapers, for the next owner if this one is lost, and after a release.
func TestOwner_ExpectedHosts(t *testing.T) {
	for _, end := range []string{"released", "lost", "asked again"} {
		t.Run(end, func(t *testing.T) {
			w := newWorld(t)
			acquire := func(owner string, hosts ...string) (a frontier.Acquired) {
				w.do(func() (err error) {
					a, err = w.shard.Acquire(w.now,
						frontier.AcquireRequest{Domain: "a.example", Owner: owner, Seconds: 60,
							Hosts: hosts})
					return err
				})
				return a
			}
			acquire("one", "a.example", "www.a.example")
			w.invariants()
			before := w.dump()
			w.do(func() error {
				_, err := w.shard.Put(w.now, frontier.Put{Domain: "a.example", Partition: partition, Owner: "one",
					Pages: articles("www.a.example", 0, 20)})
				return err
			})
			if got, want := domainRows(w.dump()), domainRows(before); len(want) != 1 || !slices.Equal(got, want) {
				t.Errorf("the put wrote the domain: %q, before %q", got, want)
			}
			w.invariants()
			switch end {
			case "released":
				w.do(func() error {
					_, err := w.shard.Release(w.now, frontier.ReleaseRequest{Domain: "a.example", Owner: "one"})
					return err
				})
			case "asked again":
				acquire("one", "b.a.example")
				w.do(func() error {
					_, err := w.shard.Put(w.now, frontier.Put{Domain: "a.example", Partition: partition, Owner: "one",
						Pages: articles("b.a.example", 0, 20)})
					return err
				})
				w.invariants()
				fallthrough
			case "lost":
				w.now += 70_000
			}
			l, _ := w.lease(frontier.LeaseRequest{Max: 5})
			if len(l.Items) == 0 {
				t.Fatal("a scraper is given nothing")
			}
			w.invariants()
			if a := acquire("two", "a.example"); a.Granted {
				t.Error("the domain is given to a collector while a scraper has its host")
			}
			w.report(l, 200)
			if a := acquire("two", "a.example"); !a.Granted {
				t.Errorf("%+v", a)
			}
			w.invariants()
		})
	}
}

// domainRows are the rows of domains in a dump.
func domainRows(dump []string) []string {
	return slices.DeleteFunc(dump, func(row string) bool { return !strings.HasPrefix(row, "domain") })
}
