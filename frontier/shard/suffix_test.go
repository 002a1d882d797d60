package shard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// suffixWorld is two shards, one of which has hosts of pages.example, which then becomes a public suffix. From then on
// blogs[n] belongs to shard n.
type suffixWorld struct {
	shards [2]*world
	home   int // the shard of pages.example
	blogs  [2]string
}

func newSuffixWorld(t *testing.T) *suffixWorld {
	s := &suffixWorld{home: placement.ShardOf("pages.example", 2)}
	for n := range s.shards {
		w := newWorld(t)
		w.shard.Number, w.shard.Shards = n, 2
		s.shards[n] = w
		for i := 0; s.blogs[n] == ""; i++ {
			if host := fmt.Sprintf("b%d.pages.example", i); placement.ShardOf(host, 2) == n {
				s.blogs[n] = host
			}
		}
	}
	feed := func(host string) frontier.NewEntry {
		return frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + host + "/feed"}, Method: "rss",
			Interval: 5400}
	}
	pages := slices.Concat(articles(s.blogs[0], 0, 60), articles(s.blogs[1], 0, 60))
	s.shards[s.home].put("pages.example", pages, feed(s.blogs[0]), feed(s.blogs[1]))
	return s
}

func (s *suffixWorld) wait(ms epoch.Millis) {
	for _, w := range s.shards {
		w.now += ms
	}
}

func (s *suffixWorld) check() {
	for _, w := range s.shards {
		w.Helper()
		for _, err := range store.Audit(w.db, w.db.Transaction) {
			if !strings.HasPrefix(err.Error(), s.blogs[1-w.shard.Number]) { // the other shard's
				w.Errorf("shard %d: %v", w.shard.Number, err)
			}
		}
	}
}

// A host must not be given to scrapers by two shards at once.
func TestSuffix_OneShardLeases(t *testing.T) {
	s := newSuffixWorld(t)
	defer shard.Suffix("pages.example")()
	for n, host := range s.blogs {
		s.shards[n].put(host, articles(host, 60, 60))
	}
	s.wait(1000)
	for range 20 {
		for n, w := range s.shards {
			l, _ := w.lease(frontier.LeaseRequest{Max: 10})
			for _, item := range l.Items {
				if item.Host != s.blogs[n] || item.Domain != s.blogs[n] {
					t.Fatalf("shard %d gives %s of %s", n, item.Host, item.Domain)
				}
			}
			w.report(l, 200)
		}
		s.wait(2000)
	}
	s.check()
}

// The pages of a host that stays in its shard stay with it, as does what was seen.
func TestSuffix_SameShard(t *testing.T) {
	for name, first := range map[string]func(w *world, host string){
		"put": func(w *world, host string) {
			if rows := w.put(host, articles(host, 0, 60)); rows == 0 {
				w.Error("nothing was written")
			}
		},
		"lease": func(w *world, host string) {},
		"acquire": func(w *world, host string) {
			w.do(func() error {
				a, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: host, Owner: "c", Seconds: 60,
					Hosts: []string{host}})
				if !a.Granted {
					w.Errorf("%+v", a)
				}
				return err
			})
			w.do(func() error {
				_, err := w.shard.Release(w.now, frontier.ReleaseRequest{Domain: host, Owner: "c"})
				return err
			})
		},
		"leased before": func(w *world, host string) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuffixWorld(t)
			w, host := s.shards[s.home], s.blogs[s.home]
			leased := map[string]bool{}
			settle := func(l frontier.Lease) {
				for _, item := range l.Items {
					if item.Host == host && leased[item.URL] {
						t.Errorf("%s was leased twice", item.URL)
					}
					leased[item.URL] = leased[item.URL] || item.Host == host
				}
				w.report(l, 200)
				w.now += 2000
			}
			var before frontier.Lease
			if name == "leased before" {
				before, _ = w.lease(frontier.LeaseRequest{Max: 2})
			}
			defer shard.Suffix("pages.example")()
			if name == "leased before" {
				w.do(func() error {
					a, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: host, Owner: "c", Seconds: 60,
						Hosts: []string{host}, Try: true})
					if a.Granted {
						t.Error("a collector gets the domain while a scraper has its host")
					}
					return err
				})
				s.check()
				settle(before)
			}
			first(w, host)
			s.check()
			for range 70 {
				l, _ := w.lease(frontier.LeaseRequest{Max: 10})
				settle(l)
			}
			if n := len(leased); leased[""] || n < 60 {
				t.Errorf("%d pages were leased", n)
			}
			if stats := w.stats(); stats.Hosts != 2 {
				t.Errorf("%d hosts", stats.Hosts)
			}
			s.check()
		})
	}
}

// A message that was queued before must not have hosts collected that belong to other domains now.
func TestSuffix_Acquire(t *testing.T) {
	s := newSuffixWorld(t)
	defer shard.Suffix("pages.example")()
	for _, domain := range []string{"pages.example", "www." + s.blogs[s.home]} {
		w := s.shards[placement.ShardOf(domain, 2)]
		err := w.db.Transaction(func() error {
			_, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: domain, Owner: "c", Seconds: 60,
				Hosts: []string{domain}})
			return err
		})
		if contract.KindOf(err) != contract.Validation {
			t.Errorf("%s: %v", domain, err)
		}
	}
}

// A refresh of a host that belongs to another shard is over, and no tick asks for another one.
func TestSuffix_Refresh(t *testing.T) {
	s := newSuffixWorld(t)
	for _, w := range s.shards {
		w.shard.PerMinute = 60
	}
	defer shard.Suffix("pages.example")()
	s.wait(2 * 5_400_000)
	w, stays, goes := s.shards[s.home], s.blogs[s.home], s.blogs[1-s.home]
	var domains []string
	w.do(func() error {
		tick, err := w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"})
		for _, m := range tick.Messages {
			domains = append(domains, string(m))
		}
		return err
	})
	if len(domains) != 1 || !strings.Contains(domains[0], `"domain":"`+stays+`"`) ||
		!strings.Contains(domains[0], stays+"/feed") {
		t.Errorf("the tick asks for %q", domains)
	}
	for _, domain := range []string{"pages.example", goes} {
		w.do(func() error {
			r := frontier.RefreshRequest{Domain: domain, URL: "https://" + goes + "/feed", Owner: "r"}
			begun, err := w.shard.BeginRefresh(w.now, r)
			if begun.Granted || !begun.Over {
				t.Errorf("a refresh of %s: %+v", domain, begun)
			}
			return err
		})
	}
	s.check()
}
