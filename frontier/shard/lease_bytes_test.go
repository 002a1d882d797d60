package shard_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
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
