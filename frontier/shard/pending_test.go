package shard_test

import (
	"cmp"
	"errors"
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// count returns what a query of one number gives.
func (w *world) count(sql string) (n int64) {
	w.Helper()
	if err := w.db.Query(sql, func(r *store.Rows) { n = r.Int() }); err != nil {
		w.Fatal(err)
	}
	return n
}

// pointerRows returns the number of rows of the queue and of the table due.
func (w *world) pointerRows() int64 {
	return w.count("SELECT (SELECT count(*) FROM queue) + (SELECT count(*) FROM due)")
}

func entryPoint(host string) frontier.NewEntry {
	return frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + host + "/feed"}, Method: "feed",
		Interval: 7200}
}

// TestPending_Rows: pointers of a host that is put, leased and reported need no rows of their own.
func TestPending_Rows(t *testing.T) {
	w := newWorld(t)
	w.shard.PerMinute = 60
	w.put("a.example", articles("a.example", 0, 1))
	w.lease(frontier.LeaseRequest{Max: 1}) // the first one makes a secret
	w.put("b.example", articles("b.example", 0, 20), entryPoint("b.example"))
	for range 5 {
		w.now += 2000
		l, rows := w.lease(frontier.LeaseRequest{Max: 10})
		if len(l.Items) == 0 || rows != 2 {
			t.Errorf("a lease of %d pages wrote %d rows: its own, and of the state", len(l.Items), rows)
		}
		if rows := w.report(l, 200); rows != 2+len(l.Items) {
			t.Errorf("the report of %d pages wrote %d rows: of the lease, the state and the hosts", len(l.Items), rows)
		}
	}
	if n := w.pointerRows(); n > 0 {
		t.Errorf("%d rows of pointers", n)
	}
	w.invariants()
}

// waiting returns a shard in which some hosts wait, each put a second after the one before, with an entry point. The
// pointers of the later ones are in blocks.
func waiting(t *testing.T, hosts, limit int) *world {
	w := newWorld(t)
	w.shard.PerMinute = 60
	w.shard.LimitPending(limit)
	for i := range hosts {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, []frontier.NewPage{{URL: "https://" + host + "/1", Type: "news", Priority: 0.9}}, entryPoint(host))
		w.now += 1000
	}
	w.now += 10_000
	w.invariants()
	return w
}

// TestPending_Order: whether pointers are in blocks or not, hosts that have been ready longest come first, each once.
func TestPending_Order(t *testing.T) {
	for _, limit := range []int{0, 2, 7, 30} {
		const hosts = 60
		w := waiting(t, hosts, limit)
		if rows := w.pointerRows(); (rows == 0) != (limit == 0) {
			t.Errorf("limit %d: %d rows of pointers", limit, rows)
		}
		stats := w.stats()
		due := int64(0)
		for _, n := range stats.Due[:frontier.EntryLane] {
			due += n
		}
		if due != hosts {
			t.Errorf("limit %d: %d hosts are due", limit, due)
		}
		var seen []string
		for range 2 * hosts {
			l, _ := w.lease(frontier.LeaseRequest{Max: 3})
			for _, item := range l.Items {
				seen = append(seen, item.Host)
			}
			w.invariants()
		}
		for i, host := range seen {
			if host != fmt.Sprintf("a%d.example", i) {
				t.Fatalf("limit %d: %v", limit, seen)
			}
		}
		if len(seen) != hosts {
			t.Errorf("limit %d: %d hosts of %d", limit, len(seen), hosts)
		}
	}
}

// TestPending_Refreshes: ticks find entry points whose hosts are in no block.
func TestPending_Refreshes(t *testing.T) {
	for _, limit := range []int{0, 2, 7, 30} {
		const hosts = 40
		w := waiting(t, hosts, limit)
		w.now += 3 * hour
		if n := w.stats().Due[frontier.EntryLane]; n != hosts {
			t.Errorf("limit %d: %d are due", limit, n)
		}
		if n := w.refreshes(); n != hosts {
			t.Errorf("limit %d: %d refreshes", limit, n)
		}
		if n := w.refreshes(); n != 0 {
			t.Errorf("limit %d: %d refreshes at once again", limit, n)
		}
		w.invariants()
	}
}

// refreshes counts the refreshes of a tick.
func (w *world) refreshes() (n int) {
	w.Helper()
	w.do(func() error {
		tick, err := w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"})
		n = len(refreshesOf(w, tick))
		return err
	})
	return n
}

// TestPending_RetryAfter: a lease that finds nothing says when the first host in no block is ready.
func TestPending_RetryAfter(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 2))
	until := w.now + 40_000
	w.do(func() error {
		_, err := w.shard.SetHost(w.now, "a.example", frontier.HostChange{BlockUntil: &until})
		return err
	})
	w.now += 1000
	l, _ := w.lease(frontier.LeaseRequest{Max: 1})
	if len(l.Items) > 0 || l.RetryAfter < 30 || l.RetryAfter > 50 {
		t.Fatalf("%+v", l)
	}
	w.now += epoch.Millis(l.RetryAfter) * 1000
	if l, _ := w.lease(frontier.LeaseRequest{Max: 1}); len(l.Items) != 1 {
		t.Errorf("%+v", l)
	}
}

// leasedHosts returns from how many hosts pages are leased, three at a time, in that many leases.
func (w *world) leasedHosts(leases int) int {
	w.Helper()
	seen := map[string]bool{}
	for range leases {
		l, _ := w.lease(frontier.LeaseRequest{Max: 3})
		for _, item := range l.Items {
			seen[item.Host] = true
		}
	}
	return len(seen)
}

// TestPending_ClockAhead: a lease goes on after one that stopped at a second which has not come yet by a clock that was
// set back.
func TestPending_ClockAhead(t *testing.T) {
	const hosts = 1200
	w := newWorld(t)
	for i := range hosts {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, []frontier.NewPage{{URL: "https://" + host + "/1", Type: "news", Priority: 0.1}})
		if i >= 800 && i%20 == 0 {
			w.now += 1000
		}
	}
	began := w.now
	wanted := frontier.LeaseRequest{Max: 3, Seconds: 120, MinScore: 390} // more than they have
	if l, _ := w.lease(wanted); len(l.Items) > 0 || l.RetryAfter != 1 {
		t.Fatalf("a lease that should have stopped: %+v", l)
	}
	rolledBack := errors.New("rolled back")
	for back := epoch.Millis(0); back < 25_000; back += 1000 {
		if err := w.db.Transaction(func() error {
			l, err := w.shard.Lease(began-back, wanted)
			if len(l.Items) > 0 {
				t.Errorf("%d ms back: %+v", back, l)
			}
			return cmp.Or(err, rolledBack)
		}); !errors.Is(err, rolledBack) {
			t.Errorf("%d ms back: %v", back, err)
		}
	}
	if n := w.leasedHosts(hosts); n != hosts {
		t.Errorf("%d hosts of %d", n, hosts)
	}
	w.invariants()
}

// TestPending_DamagedState: where the state's row is damaged, hosts get the pointers again that were there alone.
func TestPending_DamagedState(t *testing.T) {
	for _, data := range []string{"X'FF'", "substr(data, 1, length(data) - 3)", "data || X'FF'"} {
		const hosts = 40
		for _, limit := range []int{0, 30} {
			w := waiting(t, hosts, limit)
			w.run("UPDATE state SET data = CAST(" + data + " AS BLOB) WHERE key = 0")
			if n := w.leasedHosts(hosts); n != hosts {
				t.Errorf("%s: %d hosts of %d", data, n, hosts)
			}
			w.now += 3 * hour
			if n := w.refreshes(); n != hosts {
				t.Errorf("%s: %d refreshes", data, n)
			}
			w.auditDamaged()
		}
	}
}

// TestPending_Bounded: the state's row does not grow with the shard.
func TestPending_Bounded(t *testing.T) {
	w := newWorld(t)
	w.shard.PerMinute = 60
	most := 0
	for i := range 1000 {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, articles(host, 0, 1), entryPoint(host))
		w.now += 500
		most = max(most, len(w.stateRow(0)))
	}
	if most < 4000 || most > 6000 {
		t.Errorf("the row has up to %d bytes", most)
	}
	w.invariants()
	rows := w.pointerRows()
	if rows > 1000 {
		t.Errorf("%d rows of pointers", rows)
	}
}
