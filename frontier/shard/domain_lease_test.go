package shard_test

import (
	"testing"
	"time"

	"github.com/newsfork/seed-engine/frontier"
)

// TestLease_OfDomain: a lease of one domain or host takes what is ready there, wherever it stands in the queues, and
// leaves the others alone.
func TestLease_OfDomain(t *testing.T) {
	w := newWorld(t)
	for _, host := range []string{"a.example", "b.example", "c.example"} {
		w.putIn(host, append(articles(host, 0, 3), articles("www."+host, 0, 3)...), []string{"news"},
			[]string{"news"})
	}
	of := func(r frontier.LeaseRequest) (hosts map[string]int, l frontier.Lease) {
		l, _ = w.lease(r)
		hosts = map[string]int{}
		for _, item := range l.Items {
			hosts[item.Host]++
		}
		return hosts, l
	}
	if got, _ := of(frontier.LeaseRequest{Max: 50, PerHost: 2, Host: "www.c.example"}); len(got) != 1 ||
		got["www.c.example"] != 2 {
		t.Errorf("of a host: %v", got)
	}
	got, _ := of(frontier.LeaseRequest{Max: 50, PerHost: 3, Domain: "b.example"})
	if len(got) != 2 || got["b.example"] != 3 || got["www.b.example"] != 3 {
		t.Errorf("of a domain: %v", got)
	}
	if got, l := of(frontier.LeaseRequest{Max: 5, Domain: "b.example"}); len(got) != 0 || l.RetryAfter != 60 {
		t.Errorf("while all of it is leased: %v, again after %d s", got, l.RetryAfter)
	}
	if got, _ := of(frontier.LeaseRequest{Max: 5, Domain: "nowhere.example"}); len(got) != 0 {
		t.Errorf("of an unknown domain: %v", got)
	}
	got, _ = of(frontier.LeaseRequest{Max: 50, PerHost: 5})
	if len(got) != 3 || got["a.example"] != 3 || got["www.a.example"] != 3 || got["c.example"] != 3 {
		t.Errorf("the others: %v", got)
	}
	w.now = w.now.Add(3 * time.Minute)
	all, _ := of(frontier.LeaseRequest{Max: 50, PerHost: 5})
	if n := all["b.example"] + all["www.b.example"] + all["www.c.example"]; len(all) != 6 || n != 9 {
		t.Errorf("after the end of the leases: %v", all)
	}
}

// TestLease_MinScore: only pages whose score is high enough now, which a host may have behind others.
func TestLease_MinScore(t *testing.T) {
	w := newWorld(t)
	pages := longArticles("a.example", 300)
	for i := range pages {
		pages[i].Priority = 0.3
	}
	pages[250].Priority, pages[251].Priority = 0.9, 0.7
	w.putIn("a.example", pages, []string{"news"}, []string{"news"})
	others := articles("b.example", 0, 5)
	for i := range others {
		others[i].Priority = 0.6
	}
	w.putIn("b.example", others, []string{"news"}, []string{"news"})
	l, _ := w.lease(frontier.LeaseRequest{Max: 10, PerHost: 10, MinScore: 650})
	if len(l.Items) != 2 || l.Items[0].URL != pages[250].URL || l.Items[1].URL != pages[251].URL {
		t.Errorf("%d items: %.200v", len(l.Items), l.Items)
	}
	bytes := w.db.ReadBytes
	if l, _ := w.lease(frontier.LeaseRequest{Max: 10, PerHost: 10, MinScore: 650}); len(l.Items) != 0 ||
		w.db.ReadBytes-bytes > 64<<10 {
		t.Errorf("%d items, %d bytes", len(l.Items), w.db.ReadBytes-bytes)
	}
}
