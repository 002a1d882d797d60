package shard_test

import (
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

func (w *world) detail(host string) (d frontier.HostDetail) {
	w.Helper()
	w.do(func() (err error) {
		d, err = w.shard.Host(w.now, host)
		return err
	})
	return d
}

// TestFault_OfAHost: an operator sees what the last failure of a host was, in its list too, and of its URLs.
func TestFault_OfAHost(t *testing.T) {
	const refused = "connect ECONNREFUSED 192.0.2.1:443"
	for _, c := range []struct {
		name   string
		result frontier.Result
		want   frontier.Fault
		why    string // of the URL; "" if its state does not depend on the fault
	}{
		{"no answer", frontier.Result{Error: refused}, frontier.Fault{Error: refused},
			"it failed or was refused once, the last time without an answer: " + refused +
				", and is tried again at"},
		{"no answer, no reason", frontier.Result{}, frontier.Fault{}, "the last time without an answer, and"},
		{"unresolved", frontier.Result{Unresolved: true, Error: "unresolved"},
			frontier.Fault{Error: "unresolved"}, ""},
		{"broken", frontier.Result{Status: 502}, frontier.Fault{Status: 502}, "the last time with status 502"},
		{"throttled", frontier.Result{Status: 429, RetryAfter: 60}, frontier.Fault{Status: 429},
			"it failed at 2026-01-28T12:00:00Z with status 429"},
		{"refused", frontier.Result{Status: 403}, frontier.Fault{Status: 403}, "the last time with status 403"},
		{"robots.txt", frontier.Result{NoRobots: true, Error: "robots_unknown"},
			frontier.Fault{Error: "robots_unknown"},
			"it failed at 2026-01-28T12:00:00Z without a robots.txt that can be read"},
		{"long", frontier.Result{Error: strings.Repeat("가", 500)},
			frontier.Fault{Error: strings.Repeat("가", frontier.MaxFaultBytes/3)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.example", articles("a.example", 0, 2))
			if d := w.detail("a.example"); d.Fault != nil {
				t.Fatalf("before: %+v", d.Fault)
			}
			l, _ := w.lease(frontier.LeaseRequest{Max: 1})
			c.result.ID, c.want.At = l.Items[0].ID, w.now.Seconds()
			w.do(func() error {
				_, err := w.shard.Report(w.now, frontier.Report{Lease: l.ID, Results: []frontier.Result{c.result}})
				return err
			})
			d := w.detail("a.example")
			if d.Fault == nil || *d.Fault != c.want {
				t.Errorf("%+v, want %+v", d.Fault, c.want)
			}
			w.do(func() error {
				page, err := w.shard.Hosts(w.now, frontier.HostsRequest{Limit: 5})
				if h := page.Hosts[0]; h.Fault == nil || *h.Fault != c.want || h.Failures != d.Failures ||
					h.Refusals != d.Refusals {
					t.Errorf("listed: %+v", h)
				}
				return err
			})
			s := w.state(l.Items[0].URL)
			if s.Fault == nil || *s.Fault != c.want || !strings.Contains(s.Why, c.why) {
				t.Errorf("%q, %+v", s.Why, s.Fault)
			}
			w.do(func() error {
				_, err := w.shard.SetHost(w.now, "a.example", frontier.HostChange{Forget: frontier.ForgetFailures})
				return err
			})
			if d := w.detail("a.example"); d.Fault != nil {
				t.Errorf("after it was forgotten: %+v", d.Fault)
			}
		})
	}
}

// TestFault_OfAnotherURL: what failed was another page, so this one did not, unless the host rests for it.
func TestFault_OfAnotherURL(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 2))
	l, _ := w.lease(frontier.LeaseRequest{Max: 1})
	w.report(l, 500)
	other := articles("a.example", 0, 2)
	for _, p := range other {
		if p.URL == l.Items[0].URL {
			continue
		}
		if s := w.state(p.URL); s.Fault == nil || s.Fault.Status != 500 {
			t.Errorf("while the host rests: %+v", s)
		}
	}
	w.now += 2 * minute
	next, _ := w.lease(frontier.LeaseRequest{Max: 1})
	w.report(next, 200)
	if s := w.state(next.Items[0].URL); s.Fault != nil {
		t.Errorf("the page that was fetched: %+v", s)
	}
	if d := w.detail("a.example"); d.Fault == nil || d.Fault.Status != 500 || d.Failures != 0 {
		t.Errorf("the host that is well again: %+v", d)
	}
}

// TestFault_OfACollection: a host that a collection did not reach has a failure, although nobody else asked it.
func TestFault_OfACollection(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", nil, frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://a.example/robots.txt"},
		Method: frontier.MethodCollect, Interval: 7200, Failed: true})
	want := frontier.Fault{At: w.now.Seconds(), Error: "a collection of its domain reached nothing"}
	if d := w.detail("a.example"); d.Fault == nil || *d.Fault != want {
		t.Errorf("%+v, want %+v", d.Fault, want)
	}
}

// TestFault_UnreadableRobots: a host says that its robots.txt cannot be read, by a collection or a scraper, until
// somebody has read it.
func TestFault_UnreadableRobots(t *testing.T) {
	w := newWorld(t)
	unread := func(what string, want bool) {
		t.Helper()
		if d := w.detail("a.example"); d.NoRobots != want {
			t.Errorf("%s: %t, %+v", what, d.NoRobots, d.Fault)
		}
	}
	collect := func(v frontier.HostFindings, unreadable bool) {
		t.Helper()
		w.now += 2 * minute
		v.Host, v.AskedAt = "a.example", w.now
		w.do(func() error {
			g, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
			if err != nil {
				t.Fatalf("%+v, %v", g, err)
			}
			entry := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://a.example/robots.txt"},
				Method: frontier.MethodCollect, Interval: 7200, Status: 200, NoRobots: unreadable}
			_, err = w.shard.Put(w.now, frontier.Put{Domain: "a.example", Partition: partition, Owner: "c",
				Visits: []frontier.HostFindings{v}, Entries: []frontier.NewEntry{entry}})
			return err
		})
	}
	collect(frontier.HostFindings{}, true)
	unread("a collection could not read it", true)
	collect(frontier.HostFindings{RobotsExpires: w.now + 86_400_000}, false)
	unread("a collection has read it", false)

	w.put("a.example", articles("a.example", 0, 2))
	w.now += 10 * minute
	l, _ := w.lease(frontier.LeaseRequest{Max: 1})
	w.do(func() error {
		_, err := w.shard.Report(w.now, frontier.Report{Lease: l.ID, Results: []frontier.Result{
			{ID: l.Items[0].ID, Error: contract.ReportNoRobots, NoRobots: true}}})
		return err
	})
	unread("a scraper could not read it", true)
	w.now += 2 * 60 * minute
	l, _ = w.lease(frontier.LeaseRequest{Max: 1})
	w.report(l, 200)
	unread("a scraper got a page", false)
}

// TestFault_OfARefresh: entry points that the engine fetches itself fail likewise.
func TestFault_OfARefresh(t *testing.T) {
	w := newWorld(t)
	w.shard.PerMinute = 60
	feed := "https://a.example/feed"
	w.put("a.example", nil, frontier.NewEntry{NewPage: frontier.NewPage{URL: feed}, Method: "feed", Interval: 7200})
	refresh := func(r frontier.RefreshResult) {
		t.Helper()
		w.now += 3 * 3_600_000
		w.do(func() error {
			g, err := w.shard.BeginRefresh(w.now, frontier.RefreshRequest{Domain: "a.example", URL: feed, Owner: "r"})
			if !g.Granted {
				t.Fatalf("%+v", g)
			}
			r.Domain, r.URL, r.Owner = "a.example", feed, "r"
			_, err2 := w.shard.EndRefresh(w.now, r)
			if err == nil {
				err = err2
			}
			return err
		})
	}
	refresh(frontier.RefreshResult{Status: 502})
	want := frontier.Fault{At: w.now.Seconds(), Status: 502}
	if s := w.state(feed); s.Fault == nil || *s.Fault != want {
		t.Errorf("%+v", s.Fault)
	}
	refresh(frontier.RefreshResult{Visit: frontier.HostFindings{Unresolved: true}})
	want = frontier.Fault{At: w.now.Seconds(), Error: "unresolved"}
	if d := w.detail("a.example"); d.Fault == nil || *d.Fault != want {
		t.Errorf("%+v", d.Fault)
	}
}

// TestForbidden_EverythingAtAHost: hosts whose robots.txt forbids all pages say so.
func TestForbidden_EverythingAtAHost(t *testing.T) {
	for rules, want := range map[string]bool{
		"": false, "User-agent:*\nDisallow:/\n": true, "User-agent:*\nDisallow:/*\n": true,
		"User-agent:*\nDisallow:*\n": true, "User-agent:*\nDisallow:/\nAllow:/public/\n": false,
		"User-agent:*\nDisallow:/private/\n": false, "User-agent:*\nDisallow:/$\n": false,
		"User-agent:*\nDisallow:/\nAllow:/\n": false, frontier.PartialRules + "User-agent:*\nDisallow:/\n": true,
	} {
		w := newWorld(t)
		w.do(func() error {
			_, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60,
				Hosts: []string{"a.example"}})
			return err
		})
		w.do(func() error {
			_, err := w.shard.Release(w.now, frontier.ReleaseRequest{Domain: "a.example", Owner: "c",
				Hosts: []frontier.HostFindings{{Host: "a.example", RobotsExpires: w.now + 3_600_000, Rules: &rules}}})
			return err
		})
		if d := w.detail("a.example"); d.Rules != rules || d.Forbidden != want {
			t.Errorf("%q: forbidden %t", d.Rules, d.Forbidden)
		}
	}
}
