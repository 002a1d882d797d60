package shard_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// longArticles are pages whose URLs and titles are as long as Korean ones become in A-labels and percent signs.
func longArticles(host string, n int) []frontier.NewPage {
	pages := articles(host, 0, n)
	for i := range pages {
		pages[i].URL = fmt.Sprintf("https://%s/news/%d/%s", host, i, strings.Repeat("%ED%95%9C-", 90))
		pages[i].Title = strings.Repeat("한", 60)
	}
	return pages
}

// A lease that loads more than the isolate's memory kills the shard, and its repetition kills it again.
func TestLease_LoadsBoundedBytes(t *testing.T) {
	needsNoRace(t)
	const hosts, pages, most = 300, 150, 16 << 20
	w := newWorld(t)
	for i := range hosts {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, longArticles(host, pages))
	}
	leased := map[string]bool{}
	for calls := 0; len(leased) < 2*hosts; calls++ {
		if calls > 20 {
			t.Fatalf("%d pages after %d leases", len(leased), calls)
		}
		before := w.db.ReadBytes
		l, _ := w.lease(frontier.LeaseRequest{Max: 500, PerHost: 1})
		if got := w.db.ReadBytes - before; got > most {
			t.Errorf("lease %d read %d bytes for %d items, want at most %d", calls, got, len(l.Items), most)
		}
		for _, item := range l.Items {
			if leased[item.URL] {
				t.Errorf("%s was leased twice", item.URL)
			}
			leased[item.URL] = true
		}
		w.report(l, 200)
		w.now += 2000
	}
	w.invariants()
}

// Whatever makes a call load many hosts, it stops when it has loaded enough, and the next one goes on there.
func TestCalls_LoadBoundedBytes(t *testing.T) {
	needsNoRace(t)
	const hosts, pages, most = 1000, 60, 15 << 20
	const day = 86_400_000
	tick := func(w *world) {
		w.do(func() error {
			_, err := w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"})
			return err
		})
	}
	for name, c := range map[string]struct {
		domain  string // of all hosts
		prepare func(w *world)
		call    func(w *world)
		done    func(w *world) bool // after some calls
	}{
		"a tick, while scrapers have the hosts": {"", func(w *world) {
			w.shard.PerMinute = 60
			for range 3 {
				w.lease(frontier.LeaseRequest{Max: 500, Seconds: 900})
			}
		}, tick, func(w *world) bool { return w.stats().Due[frontier.EntryLane] == 0 }},
		"a lease of entry points": {"", func(*world) {}, func(w *world) {
			w.lease(frontier.LeaseRequest{Max: 500, Seconds: 900, Kinds: []string{"entry"}})
		}, func(w *world) bool { return w.stats().Leased == hosts }},
		"leases that are over": {"", func(w *world) {
			for range 3 {
				w.lease(frontier.LeaseRequest{Max: 500, Seconds: 60})
			}
			if w.stats().Leased != hosts {
				w.Fatalf("%d pages are leased", w.stats().Leased)
			}
			w.now += 61_000
		}, func(w *world) {
			w.lease(frontier.LeaseRequest{Max: 1, Seconds: 60, Types: []string{"guide"}})
		}, func(w *world) bool { return w.stats().Leased == 0 }},
		"a lease of a domain": {"a.example", func(*world) {}, func(w *world) {
			l, _ := w.lease(frontier.LeaseRequest{Max: 500, Seconds: 60, Domain: "a.example", Types: []string{"faq"}})
			w.report(l, 200)
		}, func(w *world) bool { return w.stats().Done == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for i := range hosts {
				host := fmt.Sprintf("h%d.%s", i, cmp.Or(c.domain, fmt.Sprintf("a%d.example", i)))
				list := longArticles(host, pages)
				if i == 2*hosts/3 {
					list[pages-1].Type = "faq"
				}
				w.put(cmp.Or(c.domain, fmt.Sprintf("a%d.example", i)), list, frontier.NewEntry{Method: "rss",
					Interval: 5400, NewPage: frontier.NewPage{URL: "https://" + host + "/feed"}})
			}
			w.now += day
			c.prepare(w)
			for calls := 0; !c.done(w); calls++ {
				if calls == 30 {
					t.Fatalf("after %d calls: %+v", calls, w.stats())
				}
				before := w.db.ReadBytes
				c.call(w)
				if got := w.db.ReadBytes - before; got > most {
					t.Errorf("call %d read %d bytes, want at most %d", calls, got, most)
				}
				w.now += 1000
			}
			w.invariants()
		})
	}
}
