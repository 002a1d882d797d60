package shard_test

import (
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// reads has a collection read the robots.txt of a host.
func (s *site) reads(host, rules string) {
	s.Helper()
	s.do(func() error {
		acquire := frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60}
		if _, err := s.shard.Acquire(s.now, acquire); err != nil {
			return err
		}
		_, err := s.shard.Release(s.now, frontier.ReleaseRequest{Domain: "a.example", Owner: "c",
			Hosts: []frontier.HostFindings{{Host: host, RobotsExpires: s.now + 24*hour, Rules: &rules}}})
		return err
	})
	s.now += minute
}

// disallow leases all pages, and reports that robots.txt disallows them. It returns how many.
func (s *site) disallow() (pages int) {
	s.Helper()
	for end := s.now + 10*minute; s.now < end; s.now += 2000 {
		l, _ := s.lease(frontier.LeaseRequest{Max: 50, PerHost: 5, Seconds: 60})
		r := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			r.Results = append(r.Results, frontier.Result{ID: item.ID, Forbidden: true})
		}
		pages += len(l.Items)
		s.do(func() error {
			_, err := s.shard.Report(s.now, r)
			return err
		})
	}
	return pages
}

// TestDisallowed: pages that a scraper found to be disallowed come back as soon as the engine has seen that the rules
// changed, and allow them. Others that are gone do not.
func TestDisallowed(t *testing.T) {
	const open, shut, apart = "", "User-agent:*\nDisallow:/\n", "User-agent:*\nDisallow:/private/\n"
	type step struct {
		reads  string // "-": it does not
		after  int64  // hours later
		comes  int    // pages, of the 20 disallowed ones, when all are put
		denied bool   // the scraper finds them disallowed once more
	}
	for _, c := range []struct {
		name  string
		first string
		steps []step
	}{
		{"nothing changes", open, []step{{"-", 1, 0, false}, {"-", 6 * 24, 0, false}, {"-", 2 * 24, 20, false}}},
		{"nothing changes but a site that disagrees", open,
			[]step{{open, 24, 0, false}, {open, 7 * 24, 20, true}, {open, 24, 0, false}, {open, 7 * 24, 20, true}}},
		{"the engine reads what disallows them, then what allows them", open,
			[]step{{shut, 1, 0, false}, {shut, 24, 0, false}, {open, 24, 20, false}}},
		{"other rules, which allow them", apart, []step{{"-", 1, 0, false}, {open, 1, 20, false}}},
		{"other rules, and the scraper has the old ones for a day", apart,
			[]step{{open, 1, 20, true}, {"-", 1, 0, false}, {"-", 25, 20, false}}},
		{"the first rules that are read", "-", []step{{"-", 1, 0, false}, {apart, 1, 20, false}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			list, dead := articles("a.example", 0, 20), articles("a.example", 50, 5)
			if s.put("a.example", dead); c.first != "-" {
				s.reads("a.example", c.first)
			}
			s.scrape(10*minute, always(404))
			if s.put("a.example", list); s.disallow() != 20 {
				t.Fatal("not all pages were leased")
			}
			if state := s.state(list[0].URL); state.State != "gone" || !strings.Contains(state.Why, "robots.txt") {
				t.Errorf("it is %s: %s", state.State, state.Why)
			}
			for i, step := range c.steps {
				if s.now += hour * epoch.Millis(step.after); step.reads != "-" {
					s.reads("a.example", step.reads)
				}
				clear(s.fetched)
				s.put("a.example", append(list, dead...))
				if step.denied {
					if got := s.disallow(); got != step.comes {
						t.Errorf("step %d: %d pages came, want %d", i, got, step.comes)
					}
					continue
				}
				s.scrape(10*minute, always(200))
				s.expectAll("step "+string(rune('0'+i)), step.comes)
			}
			s.invariants()
		})
	}
}

// TestDisallowed_StoredPages: when the rules change, what is stored of the domain is put again, whether the engine or
// a scraper had found it disallowed.
func TestDisallowed_StoredPages(t *testing.T) {
	for _, byScraper := range []bool{false, true} {
		l := newLibrary(t, 300)
		l.collect()
		l.do(func() error {
			_, err := l.shard.Restore(l.now,
				frontier.Snapshot{Version: 2, Domains: []frontier.DomainSnapshot{{Domain: "lib.example",
					Evidence: frontier.Evidence{Partition: partition, At: l.now}}}})
			return err
		})
		reads := func(rules string) {
			for _, host := range []string{"lib.example", "www.lib.example", "img.lib.example"} {
				l.do(func() error {
					acquire := frontier.AcquireRequest{Domain: "lib.example", Owner: "c", Seconds: 60}
					if _, err := l.shard.Acquire(l.now, acquire); err != nil {
						return err
					}
					_, err := l.shard.Release(l.now, frontier.ReleaseRequest{Domain: "lib.example", Owner: "c",
						Hosts: []frontier.HostFindings{{Host: host, RobotsExpires: l.now + 24*hour, Rules: &rules}}})
					return err
				})
			}
			l.now += minute
		}
		if byScraper {
			if got := l.disallow(); got != 300 {
				t.Fatalf("%d pages were leased", got)
			}
		}
		reads("User-agent:*\nDisallow:/\n")
		l.work(60, always(200))
		l.expectAll("while they are disallowed", 0)
		reads("")
		l.work(60, always(200))
		l.expectAll("when they are allowed", 300)
	}
}
