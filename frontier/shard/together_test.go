package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// together is a shard with domains whose feeds are due.
type together struct{ *world }

func newTogether(t *testing.T, domains int) *together {
	w := &together{newWorld(t)}
	w.shard.PerMinute = 60
	for i := range domains {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, articles(host, 0, 3), frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + host + "/feed"},
			Method: "rss", Interval: 7200}, frontier.NewEntry{
			NewPage: frontier.NewPage{URL: "https://" + host + "/sitemap.xml"}, Method: "sitemap", Interval: 7300})
	}
	w.now += 8_000_000
	return w
}

func feedOf(i int) frontier.RefreshRequest {
	return frontier.RefreshRequest{Domain: fmt.Sprintf("a%d.example", i),
		URL: fmt.Sprintf("https://a%d.example/feed", i), Owner: fmt.Sprint("owner", i)}
}

// begin begins the refreshes of feeds from one on, and gives the rows that were written.
func (w *together) begin(from, n int) (grants []frontier.RefreshGrant, rows int) {
	w.Helper()
	var r frontier.RefreshRequests
	for i := range n {
		r.Refreshes = append(r.Refreshes, feedOf(from+i))
	}
	rows = w.do(func() error {
		a, err := w.shard.BeginRefreshes(w.now, r)
		grants = a.Grants
		return err
	})
	return grants, rows
}

func (w *together) end(r frontier.RefreshRequest) (ended frontier.RefreshEnd, rows int) {
	w.Helper()
	rows = w.do(func() (err error) {
		ended, err = w.shard.EndRefresh(w.now, frontier.RefreshResult{Domain: r.Domain, URL: r.URL, Owner: r.Owner,
			Status: 304, Visit: frontier.HostFindings{AskedAt: w.now}})
		return err
	})
	return ended, rows
}

// TestTogether_Rows: refreshes that begin together write one row, and each end one more; neither scrapers nor a second
// delivery of the message get their hosts meanwhile.
func TestTogether_Rows(t *testing.T) {
	w := newTogether(t, 10)
	grants, rows := w.begin(0, 10)
	if rows != 1 {
		t.Errorf("%d rows", rows)
	}
	for i, g := range grants {
		if !g.Granted || g.Seconds != 240 {
			t.Errorf("%d: %+v", i, g)
		}
	}
	if l, _ := w.lease(frontier.LeaseRequest{Max: 10}); len(l.Items) > 0 {
		t.Errorf("%d hosts were leased", len(l.Items))
	}
	if again, _ := w.begin(0, 10); again[0].Granted || again[0].RetryIn <= 0 {
		t.Errorf("the second delivery: %+v", again[0])
	}
	w.now += 5000
	for i := range 10 {
		r := feedOf(i)
		ended, rows := w.end(r)
		if !ended.Accepted || rows > 2 { // a look at the sitemap, which is due, is scheduled for several at once
			t.Errorf("end %d: %+v, %d rows", i, ended, rows)
		}
		if ended, _ := w.end(r); ended.Accepted {
			t.Errorf("end %d counts twice", i)
		}
	}
	w.now += 256_000 // the lease above has queued the hosts for the end of the claims
	if l, _ := w.lease(frontier.LeaseRequest{Max: 10}); len(l.Items) != 10 {
		t.Errorf("%d hosts were leased after it", len(l.Items))
	}
	w.invariants()
}

// TestTogether_Lost: a refresh that never ends leaves its host to others when its time is over and the delay after
// that, also when its place in the list was given away; its entry point waits for its host's others.
func TestTogether_Lost(t *testing.T) {
	for _, pruned := range []bool{false, true} {
		w := newTogether(t, 3)
		began := w.now
		w.begin(0, 2)
		w.now = began.Add(4 * time.Minute)
		if pruned {
			w.begin(2, 1)
		}
		if ended, _ := w.end(feedOf(0)); ended.Accepted {
			t.Error("an end that is too late counts")
		}
		a := frontier.Acquired{}
		w.do(func() (err error) {
			a, err = w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: "a0.example", Owner: "c", Seconds: 60,
				Hosts: []string{"a0.example"}})
			return err
		})
		if want := began.Add(4*time.Minute + time.Second); !a.Granted || a.Hosts[0].ReadyAt != want {
			t.Errorf("pruned %v: a collector: %+v, want ready at %d", pruned, a, want)
		}
		w.now = began.Add(20 * time.Minute)
		var tick shard.Tick
		w.do(func() (err error) {
			tick, err = w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"})
			return err
		})
		for _, m := range refreshesOf(t, tick) {
			if m.Domain == "a1.example" && m.Method != "sitemap" {
				t.Errorf("pruned %v: %s is sent again before its host's sitemap had its turn", pruned, m.URL)
			}
		}
		w.invariants()
	}
}

// TestTogether_Later: what the list says of a host counts no more after a claim that its row has.
func TestTogether_Later(t *testing.T) {
	w := newTogether(t, 1)
	w.begin(0, 1)
	r := frontier.RefreshResult{Domain: "a0.example", URL: feedOf(0).URL, Owner: "owner0", Status: 304, Next: "next",
		Visit: frontier.HostFindings{AskedAt: w.now}}
	var ended frontier.RefreshEnd
	w.do(func() (err error) {
		ended, err = w.shard.EndRefresh(w.now, r) // at the same instant
		return err
	})
	if !ended.Accepted || ended.Next == nil {
		t.Fatalf("%+v", ended)
	}
	w.now += 1000
	next := frontier.RefreshRequest{Domain: "a0.example", URL: ended.Next.URL, Owner: "next"}
	if ended, _ := w.end(next); !ended.Accepted {
		t.Errorf("the next one: %+v", ended)
	}
	if l, _ := w.lease(frontier.LeaseRequest{Max: 1}); len(l.Items) > 0 {
		t.Error("a lease within the delay")
	}
	w.now += 1000
	if l, _ := w.lease(frontier.LeaseRequest{Max: 1}); len(l.Items) == 0 {
		t.Error("no lease afterwards: the list's claim counts again")
	}
}

// TestTogether_Full: claims that the list has no place for are written into the rows of their hosts.
func TestTogether_Full(t *testing.T) {
	const domains, listed = 300, 256
	w := newTogether(t, domains)
	written := 0
	for i := 0; i < domains; i += 10 {
		grants, rows := w.begin(i, 10)
		for _, g := range grants {
			if !g.Granted {
				t.Errorf("%+v", g)
			}
		}
		written += rows
	}
	if want := listed/10 + 1 + domains - listed; written != want {
		t.Errorf("%d rows, want %d", written, want)
	}
	for i := range domains {
		if ended, _ := w.end(feedOf(i)); !ended.Accepted {
			t.Errorf("%d: %+v", i, ended)
		}
	}
	w.invariants()
}

// TestTogether_Clock: of two refreshes of one host at most one is under way while the clock goes back and forth.
func TestTogether_Clock(t *testing.T) {
	w := newTogether(t, 1)
	w.now += 10 * hour
	w.begin(0, 1)
	w.now -= 10 * hour
	if grants, _ := w.begin(0, 1); grants[0].Granted {
		t.Error("granted twice")
	}
	if l, _ := w.lease(frontier.LeaseRequest{Max: 1}); len(l.Items) > 0 {
		t.Error("leased")
	}
	if ended, _ := w.end(feedOf(0)); !ended.Accepted {
		t.Errorf("%+v", ended)
	}
	w.invariants()
}
