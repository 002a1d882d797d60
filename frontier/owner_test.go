package frontier_test

import (
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// A collector that died may have asked its hosts until its time was over, so the next one keeps their delay
// from then on.
func TestTheDelayOfALostOwner(t *testing.T) {
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := frontier.Shard{DB: db, Settings: frontier.Settings{Delay: 120_000}}
	const now = 1_769_601_600_000
	acquire := func(at int64, owner string) frontier.Acquired {
		t.Helper()
		var a frontier.Acquired
		err := db.Transaction(func() (err error) {
			a, err = s.Acquire(at, frontier.AcquireRequest{Domain: "a.example", Owner: owner, Seconds: 30, Hosts: []string{"a.example", "www.a.example"}})
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
func TestTheDayOfADocument(t *testing.T) {
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
	s := frontier.Shard{DB: db}
	const now = 1_769_601_600_000
	put := func(date string, entries []frontier.NewEntry, urls ...string) {
		t.Helper()
		p := frontier.Put{Domain: "a.example", Partition: contract.Partition{Country: "kr", Category: "news", Date: date}, Entries: entries}
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
	var r frontier.Refreshing
	err = db.Transaction(func() (err error) {
		r, err = s.BeginRefresh(now+100*86_400_000, frontier.RefreshRequest{Domain: "a.example", URL: feed, Owner: "r"})
		return err
	})
	if err != nil || !r.Granted || r.Partition.Date != "2026-01-15" {
		t.Errorf("%+v, %v", r, err)
	}
}
