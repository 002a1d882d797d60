package shard_test

import (
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// TestLease_Renewed: a lease that is renewed keeps its hosts, for an hour at most; one that is over, or that others
// were given meanwhile, cannot be renewed.
func TestLease_Renewed(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 10))
	w.put("b.example", articles("b.example", 0, 10))
	take := frontier.LeaseRequest{Max: 4, PerHost: 2, Seconds: 60}
	renew := func(id string, seconds int64) (r frontier.RenewedLease) {
		t.Helper()
		w.do(func() (err error) {
			r, err = w.shard.RenewLease(w.now, frontier.RenewLease{Lease: id, Seconds: seconds})
			return err
		})
		w.invariants()
		return r
	}
	l, _ := w.lease(take)
	began := w.now
	if len(l.Items) != 4 {
		t.Fatalf("%d items", len(l.Items))
	}
	for w.now < began+hour-minute {
		w.now += 50_000
		if r := renew(l.ID, 60); r.Hosts != 2 || r.ExpiresAt != min(w.now+minute, began+hour) {
			t.Fatalf("after %d s: %+v", (w.now-began)/1000, r)
		}
		if other, _ := w.lease(take); len(other.Items) != 0 {
			t.Fatalf("others are given %d items", len(other.Items))
		}
	}
	if r := renew(l.ID, 30); r.ExpiresAt < w.now+30_000 {
		t.Errorf("a shorter renewal ends it sooner: %+v", r)
	}
	w.report(frontier.Lease{ID: l.ID, Items: l.Items[:2]}, 200)
	if r := renew(l.ID, 900); r.Hosts != 1 || r.ExpiresAt != began+hour {
		t.Errorf("with one host left: %+v", r)
	}
	w.now = began + hour + 1
	if r := renew(l.ID, 900); r.Hosts != 0 {
		t.Errorf("after an hour: %+v", r)
	}
	w.now += 5000
	if other, _ := w.lease(take); len(other.Items) != 4 {
		t.Errorf("others are given %d items", len(other.Items))
	}
	if r := renew(l.ID, 60); r.Hosts != 0 {
		t.Errorf("of what others have: %+v", r)
	}
	for _, id := range []string{"", "x", "1", "1-2", l.Items[0].ID} {
		if r := renew(id, 60); r.Hosts != 0 {
			t.Errorf("%q: %+v", id, r)
		}
	}
	if err := w.db.Transaction(func() error {
		_, err := w.shard.RenewLease(w.now, frontier.RenewLease{Lease: l.ID, Seconds: 5})
		return err
	}); err == nil {
		t.Error("5 seconds are taken")
	}
}

// TestLease_RenewedOfABlockedHost: who has a host that operators close does not keep it by renewals.
func TestLease_RenewedOfABlockedHost(t *testing.T) {
	later, past := epoch.Millis(noon+hour), epoch.Millis(1)
	exclude := func(kind string, excluded bool) func(*world) {
		return func(w *world) {
			x := frontier.Exclusion{Kind: kind, Value: "a.example", Domain: "a.example"}
			w.do(func() error { return w.shard.Exclude(w.now, x, excluded) })
		}
	}
	for name, c := range map[string]struct{ shut, open func(*world) }{
		"blocked": {func(w *world) { w.setHost("a.example", frontier.HostChange{BlockUntil: &later}) },
			func(w *world) { w.setHost("a.example", frontier.HostChange{BlockUntil: &past}) }},
		"excluded":        {exclude("host", true), exclude("host", false)},
		"domain excluded": {exclude("domain", true), exclude("domain", false)},
	} {
		w := newWorld(t)
		w.put("a.example", articles("a.example", 0, 2))
		w.put("b.example", articles("b.example", 0, 2))
		l, _ := w.lease(frontier.LeaseRequest{Max: 2, Seconds: 60})
		renewed := func() (r frontier.RenewedLease) {
			w.do(func() (err error) {
				r, err = w.shard.RenewLease(w.now, frontier.RenewLease{Lease: l.ID, Seconds: 300})
				return err
			})
			return r
		}
		c.shut(w)
		if r := renewed(); r.Hosts != 0 || !r.Closed {
			t.Errorf("%s: %+v", name, r)
		}
		c.open(w)
		if r := renewed(); r.Hosts != 2 || r.Closed {
			t.Errorf("%s, and open again: %+v", name, r)
		}
		if a := w.reportAll(l, 200); a.Accepted != 2 {
			t.Errorf("%s: %+v", name, a)
		}
		w.invariants()
	}
}

// TestLease_Released: returned items are leased again after their host's delay, and the return costs nothing.
func TestLease_Released(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 10))
	w.put("b.example", articles("b.example", 0, 10))
	take := frontier.LeaseRequest{Max: 4, PerHost: 2, Seconds: 600}
	l, _ := w.lease(take)
	w.report(frontier.Lease{ID: l.ID, Items: l.Items[:1]}, 200)
	release := func(id string) (n int) {
		w.do(func() (err error) {
			n, err = w.shard.ReleaseLease(w.now, frontier.ReleaseLease{Lease: id})
			return err
		})
		w.invariants()
		return n
	}
	if n := release("1-" + l.ID); n != 0 {
		t.Errorf("%d items of another's lease are released", n)
	}
	if n := release(l.ID); n != 3 {
		t.Errorf("%d items are released, want 3", n)
	}
	if n := release(l.ID); n != 0 {
		t.Errorf("%d items are released again", n)
	}
	if s := w.stats(); s.Leased != 0 || s.URLs != 19 || s.Done != 1 {
		t.Errorf("%+v", s)
	}
	w.now += epoch.Millis(1000)
	if again, _ := w.lease(take); len(again.Items) != 4 {
		t.Errorf("%d items come again", len(again.Items))
	}
}
