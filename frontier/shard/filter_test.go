package shard_test

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

// putIn puts pages of a domain as some types into some categories, by turns.
func (w *world) putIn(domain string, pages []frontier.NewPage, categories, types []string) {
	w.Helper()
	for i, category := range categories {
		put := frontier.Put{Domain: domain,
			Partition: contract.Partition{Country: "kr", Category: category, Date: "2026-01-28"}}
		for k := i; k < len(pages); k += len(categories) {
			pages[k].Type = types[i]
			put.Pages = append(put.Pages, pages[k])
		}
		w.do(func() error {
			_, err := w.shard.Put(w.now, put)
			return err
		})
	}
}

// A lease that wants what no host has must not load the hosts to find out.
func TestLease_FilterThatMatchesNothing(t *testing.T) {
	const hosts = 200
	w := newWorld(t)
	for i := range hosts {
		host := fmt.Sprintf("a%d.example", i)
		w.putIn(host, longArticles(host, 60), []string{"news", "policy"}, []string{"news", "policy"})
	}
	w.putIn("b.example", articles("b.example", 0, 1), []string{"finance"}, []string{"news"})
	finance, _ := w.lease(frontier.LeaseRequest{Max: 10, Category: "finance"})
	if len(finance.Items) != 1 {
		t.Fatalf("%d items", len(finance.Items))
	}
	for _, c := range []struct {
		name       string
		request    frontier.LeaseRequest
		most       int // bytes
		statements int
	}{
		{"no class", frontier.LeaseRequest{Max: 10, Country: "sg"}, 4 << 10, 1},
		{"a class of no host", frontier.LeaseRequest{Max: 10, Category: "finance"}, 64 << 10, 10},
		{"a type of no host", frontier.LeaseRequest{Max: 10, Types: []string{"faq"}}, 64 << 10, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			bytes, statements := w.db.ReadBytes, w.db.Statements
			l, _ := w.lease(c.request)
			if bytes = w.db.ReadBytes - bytes; bytes > c.most {
				t.Errorf("%d bytes were read, want at most %d", bytes, c.most)
			}
			if statements = w.db.Statements - statements; statements > c.statements {
				t.Errorf("%d statements, want at most %d", statements, c.statements)
			}
			if len(l.Items) > 0 || l.RetryAfter < 10 {
				t.Errorf("%d items, again in %d s", len(l.Items), l.RetryAfter)
			}
		})
	}
}

// Where hosts must be loaded to see that they have nothing that is wanted, a lease looks at some of them, and the next
// lease goes on behind them.
func TestLease_FilterGoesOn(t *testing.T) {
	const hosts, most = 1500, 16 << 20
	w := newWorld(t)
	for i := range hosts {
		host := fmt.Sprintf("a%d.example", i)
		pages := articles(host, 0, 20)
		if i%10 == 0 {
			pages = longArticles(host, 60)
		}
		w.putIn(host, pages, []string{"news", "policy"}, []string{"news", "policy"})
	}
	w.now += 1000
	w.putIn("b.example", articles("b.example", 0, 3), []string{"policy"}, []string{"news"})
	wanted := frontier.LeaseRequest{Max: 5, PerHost: 5, Types: []string{"news"}, Category: "policy"}
	other := frontier.LeaseRequest{Max: 5, Types: []string{"policy"}, Category: "news"}
	for calls := range 20 {
		before := w.db.ReadBytes
		l, _ := w.lease(wanted)
		if got := w.db.ReadBytes - before; got > most {
			t.Errorf("lease %d read %d bytes, want at most %d", calls, got, most)
		}
		if len(l.Items) == 3 {
			if calls == 0 {
				t.Error("the first lease looked at all hosts")
			}
			w.invariants()
			return
		}
		if len(l.Items) > 0 || l.RetryAfter != 1 {
			t.Fatalf("lease %d: %d items, again in %d s", calls, len(l.Items), l.RetryAfter)
		}
		if l, _ := w.lease(other); len(l.Items) > 0 {
			t.Fatalf("%d items of a class and a type that no page has both", len(l.Items))
		}
		w.now += 1000
	}
	t.Error("the host behind the others was never leased")
}

// Scrapers with different filters do not make each other begin at the front again.
func TestLease_ManyFilters(t *testing.T) {
	const hosts, filters = 1500, 12
	w := newWorld(t)
	for i := range hosts {
		host := fmt.Sprintf("a%d.example", i)
		w.putIn(host, urgent(host, 2), []string{"news", "policy"}, []string{"news", "policy"})
	}
	w.now += 1000
	w.putIn("b.example", urgent("b.example", 1), []string{"policy"}, []string{"news"})
	for range 3 {
		for score := range filters {
			l, _ := w.lease(frontier.LeaseRequest{Max: 5, Types: []string{"news"}, Category: "policy", MinScore: score})
			if len(l.Items) > 0 {
				return
			}
		}
		w.now += 1000
	}
	t.Error("the host behind the others was never leased")
}

// urgent returns pages of the first band.
func urgent(host string, n int) []frontier.NewPage {
	pages := articles(host, 0, n)
	for i := range pages {
		pages[i].Priority = 0.9
	}
	return pages
}
