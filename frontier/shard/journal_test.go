package shard_test

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
)

// journalHosts is the number of hosts of newJournal, each with ten pages.
const journalHosts = 20

// newJournal returns a shard whose hosts are all leased, five pages of each.
func newJournal(t *testing.T) (w *world, l frontier.Lease, rows int) {
	w = newWorld(t)
	for i := range journalHosts {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, articles(host, 0, 10))
	}
	w.now += 1000
	l, rows = w.lease(frontier.LeaseRequest{Max: 5 * journalHosts, PerHost: 5})
	if len(l.Items) != 5*journalHosts {
		t.Fatalf("%d items", len(l.Items))
	}
	return w, l, rows
}

func (w *world) run(sql string, args ...any) {
	w.Helper()
	w.do(func() error { _, err := w.db.Run(sql, args...); return err })
}

// finish fetches what is left, and checks that all pages of newJournal and some more were.
func (w *world) finish(more int64) {
	w.Helper()
	for range 100 {
		w.now += 60_000
		l, _ := w.lease(frontier.LeaseRequest{Max: 100, PerHost: 5, Seconds: 60})
		w.report(l, 200)
	}
	w.invariants()
	if stats := w.stats(); stats.Done != 10*journalHosts+more || stats.URLs != 0 {
		w.Errorf("in the end %+v", stats)
	}
}

// A lease writes one row for all of its hosts, and a report one for each.
func TestJournal_Rows(t *testing.T) {
	w, l, rows := newJournal(t)
	if rows > 8 {
		t.Errorf("the lease wrote %d rows", rows)
	}
	w.invariants()
	w.do(func() error {
		page, err := w.shard.Hosts(w.now, frontier.HostsRequest{Limit: 100, Sort: "due"})
		if len(page.Hosts) > 0 {
			t.Errorf("%d leased hosts are due", len(page.Hosts))
		}
		return err
	})
	w.now += 2000
	if rows := w.report(l, 200); rows < journalHosts || rows > journalHosts+8 {
		t.Errorf("the report wrote %d rows", rows)
	}
	w.finish(0)
}

// What else changes a leased host goes into its own row, and the lease goes on.
func TestJournal_Changed(t *testing.T) {
	for name, change := range map[string]func(*world, frontier.Lease) error{
		"put": func(w *world, _ frontier.Lease) error {
			_, err := w.shard.Put(w.now, frontier.Put{Domain: "a1.example", Partition: partition,
				Pages: articles("a1.example", 10, 5)})
			return err
		},
		"delay": func(w *world, _ frontier.Lease) error {
			delay := int64(2000)
			_, err := w.shard.SetHost(w.now, "a1.example", frontier.HostChange{Delay: &delay})
			return err
		},
		"renewed": func(w *world, l frontier.Lease) error {
			r, err := w.shard.RenewLease(w.now, frontier.RenewLease{Lease: l.ID, Seconds: 300})
			if r.Hosts != journalHosts {
				w.Errorf("renewed: %+v", r)
			}
			return err
		},
		"renewed twice": func(w *world, l frontier.Lease) (err error) {
			for i := int64(1); i <= 2 && err == nil; i++ {
				_, err = w.shard.RenewLease(w.now, frontier.RenewLease{Lease: l.ID, Seconds: 300 * i})
			}
			return err
		},
		"reported in parts": func(w *world, l frontier.Lease) error {
			r := frontier.Report{Lease: l.ID}
			for _, item := range l.Items[:7] {
				r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: 200})
			}
			answer, err := w.shard.Report(w.now, r)
			if answer.Accepted != 7 {
				w.Errorf("reported: %+v", answer)
			}
			return err
		},
		"released": func(w *world, l frontier.Lease) error {
			n, err := w.shard.ReleaseLease(w.now, frontier.ReleaseLease{Lease: l.ID})
			if n != len(l.Items) {
				w.Errorf("released: %d", n)
			}
			return err
		},
		"expired": func(w *world, _ frontier.Lease) error {
			w.now += 200_000
			_, err := w.shard.Lease(w.now, frontier.LeaseRequest{Max: 1, Seconds: 60})
			return err
		},
		"excluded": func(w *world, _ frontier.Lease) error {
			excluded := frontier.Exclusion{Kind: "domain", Value: "a1.example"}
			if err := w.shard.Exclude(w.now, excluded, true); err != nil {
				return err
			}
			return w.shard.Exclude(w.now, excluded, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, l, _ := newJournal(t)
			w.now += 1000
			w.do(func() error { return change(w, l) })
			w.invariants()
			w.now += 1000
			w.report(l, 200)
			w.invariants()
			more := int64(0)
			if name == "put" {
				more = 5
			}
			w.finish(more)
		})
	}
}

// Where the row of a lease is damaged or lost, its hosts are as they were before, and rest until the lease is over.
func TestJournal_DamagedLease(t *testing.T) {
	for _, sql := range []string{"UPDATE leases SET data = substr(data, 1, 50) || X'FF'",
		"UPDATE leases SET data = substr(data, 1, 200) || zeroblob(length(data) - 200)", "DELETE FROM leases"} {
		t.Run(sql, func(t *testing.T) {
			w, l, _ := newJournal(t)
			w.run(sql)
			w.now += 1000
			if again, _ := w.lease(frontier.LeaseRequest{Max: 500, PerHost: 5}); len(again.Items) > 0 {
				t.Errorf("%d items while the lease runs", len(again.Items))
			}
			w.report(l, 200)
			w.now += frontier.MaxLeaseSeconds * 1000
			for range 100 {
				w.now += 60_000
				l, _ := w.lease(frontier.LeaseRequest{Max: 100, PerHost: 5, Seconds: 60})
				w.report(l, 200)
			}
			w.auditDamaged()
			if stats := w.stats(); stats.Done != 10*journalHosts || stats.URLs != 0 {
				t.Errorf("in the end %+v", stats)
			}
		})
	}
}

// Where the shard's counters are damaged, its leases go on.
func TestJournal_DamagedState(t *testing.T) {
	w, l, _ := newJournal(t)
	r := frontier.Report{Lease: l.ID}
	for _, item := range l.Items[:10] { // two hosts have rows that are newer
		r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: 200})
	}
	w.do(func() error { _, err := w.shard.Report(w.now, r); return err })
	w.run("UPDATE state SET data = X'FF' WHERE key = 0")
	w.now += 1000
	r.Results = nil
	for _, item := range l.Items[10:] {
		r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: 200})
	}
	w.do(func() error {
		answer, err := w.shard.Report(w.now, r)
		if answer.Accepted != len(r.Results) {
			t.Errorf("%+v", answer)
		}
		return err
	})
	w.auditDamaged()
}

// A host whose own row is damaged while it is leased loses nothing.
func TestJournal_DamagedHost(t *testing.T) {
	w, l, _ := newJournal(t)
	w.run("UPDATE hosts SET record = X'FF'")
	w.now += 1000
	w.report(l, 200)
	w.invariants()
	w.finish(0)
}

// A lease with more hosts than its row takes writes the others into their own rows.
func TestJournal_Large(t *testing.T) {
	w := newWorld(t)
	const hosts = 400
	for i := range 3 * hosts {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, articles(host, 0, 30))
	}
	var leases []frontier.Lease
	for range 3 { // more than all leases may keep
		w.now += 1000
		l, _ := w.lease(frontier.LeaseRequest{Max: hosts, PerHost: 1})
		leases = append(leases, l)
		if len(l.Items) != hosts {
			t.Fatalf("%d items", len(l.Items))
		}
		w.invariants()
	}
	for _, l := range leases {
		w.report(l, 200)
	}
	w.invariants()
}
