package shard_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// dump is everything that is stored, as text.
func (w *world) dump() (rows []string) {
	w.Helper()
	for _, sql := range []string{
		"SELECT 'state', key, hex(data), hex(feed) FROM state",
		"SELECT host, domain, hex(record), urls || ' ' || due || ' ' || blocked FROM hosts",
		"SELECT 'domain', id, hex(record), domain FROM domains", "SELECT 'part', key, hex(data), '' FROM parts",
		"SELECT 'queue', key, hex(data), '' FROM queue", "SELECT 'lease', id, hex(data), ends || '' FROM leases",
		"SELECT 'mirrors', key, hex(data), '' FROM mirrors",
		"SELECT 'feed', key, hex(data), '' FROM feed", "SELECT 'changes', key, hex(data), '' FROM changes",
		"SELECT 'due', key, hex(data), '' FROM due",
	} {
		if err := w.db.Query(sql+" ORDER BY 2", func(r *store.Rows) {
			rows = append(rows, fmt.Sprint(r.Text(), r.Int(), r.Text(), r.Text()))
		}); err != nil {
			w.Fatal(err)
		}
	}
	return rows
}

var errCrash = errors.New("crash")

// TestCrash fails every operation at each of its statements: nothing of it must remain, and the
// operation must do afterwards what it would have done.
func TestCrash(t *testing.T) {
	w := newWorld(t)
	w.shard.VisitsPerDay = 1_000_000
	var lease frontier.Lease
	var snapshot frontier.Snapshot
	entry := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://h0.a.example/feed"}, Method: "feed",
		Interval: 7200}
	var many []frontier.NewPage
	for i := range 8 {
		many = append(many, articles(fmt.Sprintf("h%d.a.example", i), 0, 100)...)
	}
	results := func() (r frontier.Report) {
		r.Lease = lease.ID
		for _, item := range lease.Items {
			r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: 200, Found: []frontier.FoundURL{
				{NewPage: frontier.NewPage{URL: "https://new.a.example/" + item.ID}, Domain: "a.example"},
				{NewPage: frontier.NewPage{URL: "https://other.example/" + item.ID}, Domain: "other.example"}}})
		}
		return r
	}
	steps := []struct {
		name string
		wait epoch.Millis
		run  func() error
	}{
		{"first put", 0, func() error {
			_, err := w.shard.Put(w.now, frontier.Put{Domain: "a.example", Partition: partition, Pages: many,
				Entries: []frontier.NewEntry{entry}})
			return err
		}},
		{"put of another domain", 0, func() error {
			_, err := w.shard.Put(w.now, frontier.Put{Domain: "b.example", Partition: partition,
				Pages: articles("b.example", 0, 300)})
			return err
		}},
		{"lease", 0, func() (err error) {
			lease, err = w.shard.Lease(w.now, frontier.LeaseRequest{Max: 20, Seconds: 60, PerHost: 3})
			return err
		}},
		{"renewed lease", 1000, func() error {
			_, err := w.shard.RenewLease(w.now, frontier.RenewLease{Lease: lease.ID, Seconds: 100})
			return err
		}},
		{"report", 1000, func() error { _, err := w.shard.Report(w.now, results()); return err }},
		{"lease to be released", 5000, func() (err error) {
			lease, err = w.shard.Lease(w.now, frontier.LeaseRequest{Max: 20, Seconds: 60, PerHost: 3})
			return err
		}},
		{"released lease", 1000, func() error {
			_, err := w.shard.ReleaseLease(w.now, frontier.ReleaseLease{Lease: lease.ID})
			return err
		}},
		{"lease of a type", 1000, func() (err error) {
			lease, err = w.shard.Lease(w.now, frontier.LeaseRequest{Max: 20, Seconds: 60, Types: []string{"policy"}})
			return err
		}},
		{"acquire of a busy domain", 1000, func() error {
			_, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
			return err
		}},
		{"acquire after the lease was lost", 70_000, func() error {
			_, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
			return err
		}},
		{"lease while a collector has a domain", 0, func() (err error) {
			lease, err = w.shard.Lease(w.now, frontier.LeaseRequest{Max: 20, Seconds: 60})
			return err
		}},
		{"renew", 1000, func() error { _, err := w.shard.Renew(w.now, "a.example", "c", 100); return err }},
		{"put of a mirror", 0, func() error {
			_, err := w.shard.Put(w.now, frontier.Put{Domain: "a.example", Partition: partition, Owner: "c",
				MirrorOf: "b.example", Visits: []frontier.HostFindings{{Host: "new.a.example", Delay: 3000,
					AskedAt: w.now}}})
			return err
		}},
		{"put when it is none", 0, func() error {
			_, err := w.shard.Put(w.now, frontier.Put{Domain: "a.example", Partition: partition, Owner: "c"})
			return err
		}},
		{"mirror", 0, func() error {
			_, err := w.shard.Mirror(w.now,
				frontier.MirrorRequest{Domain: "a.example", Digest: strings.Repeat("ab", 32)})
			return err
		}},
		{"acquire of a domain whose hosts are new", 0, func() error {
			_, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: "c.example", Owner: "c", Seconds: 60,
				Hosts: []string{"www.c.example", "c.example"}})
			return err
		}},
		{"put that makes one of them", 0, func() error {
			_, err := w.shard.Put(w.now, frontier.Put{Domain: "c.example", Partition: partition, Owner: "c",
				Pages: articles("www.c.example", 0, 100)})
			return err
		}},
		{"acquire after that owner was lost", 61_000, func() error {
			_, err := w.shard.Acquire(w.now, frontier.AcquireRequest{Domain: "c.example", Owner: "d", Seconds: 60,
				Hosts: []string{"c.example"}})
			return err
		}},
		{"put into a full domain", 0, func() error {
			w.shard.Settings.URLsPerDomain = 500
			defer func() { w.shard.Settings.URLsPerDomain = 0 }()
			_, err := w.shard.Put(w.now, frontier.Put{Domain: "a.example", Partition: partition,
				Pages: articles("h3.a.example", 1000, 300)})
			return err
		}},
		{"release", 1000, func() error {
			_, err := w.shard.Release(w.now, frontier.ReleaseRequest{Domain: "a.example", Owner: "c",
				Hosts: []frontier.HostFindings{{Host: "h0.a.example", Delay: 3000, AskedAt: w.now}}})
			return err
		}},
		{"exclude", 0, func() error {
			return w.shard.Exclude(w.now, frontier.Exclusion{Kind: contract.ExcludeHost, Value: "h1.a.example",
				Domain: "a.example"}, true)
		}},
		{"block", 0, func() error {
			until := w.now + 1000
			_, err := w.shard.SetHost(w.now, "h2.a.example", frontier.HostChange{BlockUntil: &until, Empty: true})
			return err
		}},
		{"export", 0, func() (err error) { snapshot, err = w.shard.Export(w.now, 0); return err }},
		{"lease of an entry point", 20_000_000, func() (err error) {
			lease, err = w.shard.Lease(w.now, frontier.LeaseRequest{Max: 20, Seconds: 60, Kinds: []string{"entry"}})
			return err
		}},
		{"report of an entry point", 1000, func() error { _, err := w.shard.Report(w.now, results()); return err }},
		{"changed contracts", 0, func() error {
			return w.shard.Changed(w.now, frontier.Changed{Domain: "b.example",
				Changes: []frontier.Change{{Partition: partition, Revision: 2, ChangedAt: w.now, Reachable: true}}})
		}},
		{"exclusion of a domain with contracts", 0, func() error {
			return w.shard.Exclude(w.now, frontier.Exclusion{Kind: contract.ExcludeDomain, Value: "b.example"}, true)
		}},
		{"tick", 40_000_000, func() error {
			w.shard.PerMinute = 60
			tick, err := w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"})
			if err == nil && len(tick.Messages) == 0 {
				err = errors.New("nothing is due")
			}
			return err
		}},
		{"begin of a refresh", 1000, func() error {
			begun, err := w.shard.BeginRefresh(w.now,
				frontier.RefreshRequest{Domain: "a.example", URL: entry.URL, Owner: "r"})
			if err == nil && !begun.Granted {
				err = fmt.Errorf("%+v", begun)
			}
			return err
		}},
		{"the same, which ends nothing", 1000, func() error {
			_, err := w.shard.EndRefresh(w.now, frontier.RefreshResult{Domain: "a.example", URL: entry.URL, Owner: "r",
				Skipped: true})
			return err
		}},
		{"begin of several refreshes", 1000, func() error {
			begun, err := w.shard.BeginRefreshes(w.now, frontier.RefreshRequests{
				Refreshes: []frontier.RefreshRequest{{Domain: "a.example", URL: entry.URL, Owner: "r"}}})
			if err == nil && !begun.Grants[0].Granted {
				err = fmt.Errorf("%+v", begun)
			}
			return err
		}},
		{"end of a refresh", 1000, func() error {
			pages := []frontier.NewPage{{URL: "https://h0.a.example/fresh", Fresh: true},
				{URL: "https://h0.a.example/dated", LastMod: w.now.Seconds()}}
			ended, err := w.shard.EndRefresh(w.now,
				frontier.RefreshResult{Domain: "a.example", URL: entry.URL, Owner: "r",
					Status: 200, ETag: "2", Pages: pages, Visit: frontier.HostFindings{AskedAt: w.now}})
			if err == nil && ended.Announced != 2 {
				err = fmt.Errorf("%+v", ended)
			}
			return err
		}},
		{"pruning", 100 * 86_400_000, func() error { return pruned(w) }},
	}
	check := func(name string, run func() error) {
		before := w.db.Statements
		if err := w.db.Transaction(func() error { return errors.Join(run(), errCrash) }); !errors.Is(err, errCrash) ||
			err.Error() != "crash" {
			t.Fatalf("%s: %v", name, err)
		}
		statements := w.db.Statements - before
		was := w.stored()
		for n := range statements {
			left := n
			w.db.Fail = func() error {
				if left--; left < 0 {
					return errCrash
				}
				return nil
			}
			err := w.db.Transaction(run)
			w.db.Fail = nil
			if !errors.Is(err, errCrash) {
				t.Fatalf("%s: statement %d failed, and the operation gave %v", name, n, err)
			}
			if !reflect.DeepEqual(w.stored(), was) {
				t.Fatalf("%s: after a crash at statement %d something remains", name, n)
			}
		}
		if err := w.db.Transaction(run); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.invariants()
	}
	for _, step := range steps {
		w.now += step.wait
		check(step.name, step.run)
	}
	if len(snapshot.Hosts) == 0 || len(lease.Items) == 0 {
		t.Fatal("the steps did nothing")
	}
	other := newWorld(t)
	*w = *other
	check("restore", func() error { _, err := w.shard.Restore(w.now, snapshot); return err })
}

// stored is dump, or nothing when there are no tables yet.
func (w *world) stored() []string {
	tables := 0
	if err := w.db.Query("SELECT count(*) FROM sqlite_schema WHERE type = 'table'", func(r *store.Rows) {
		tables = int(r.Int())
	}); err != nil {
		w.Fatal(err)
	}
	if tables == 0 {
		return nil
	}
	return w.dump()
}

// invariants checks what must be true between any two operations.
func (w *world) invariants() {
	w.Helper()
	for _, err := range store.Audit(w.db, w.db.Transaction) {
		w.Errorf("invariant: %v", err)
	}
}

// TestClock_Jumps: whatever the clock does, nothing is lost, and nothing is given to two at once.
func TestClock_Jumps(t *testing.T) {
	for _, jump := range []epoch.Millis{86_400_000, -86_400_000, 400 * 86_400_000, -noon} {
		t.Run(fmt.Sprint(jump), func(t *testing.T) {
			w := newWorld(t)
			const hosts, urls = 30, 20
			for i := range hosts {
				host := fmt.Sprintf("a%d.example", i)
				w.put(host, articles(host, 0, urls))
			}
			out := map[string]bool{}
			var leases []frontier.Lease
			lease := func() {
				l, _ := w.lease(frontier.LeaseRequest{Max: 10})
				for _, item := range l.Items {
					if out[item.Host] {
						t.Errorf("%s is leased twice at once", item.Host)
					}
					out[item.Host] = true
				}
				leases = append(leases, l)
			}
			report := func() {
				for _, item := range leases[0].Items {
					delete(out, item.Host)
				}
				w.report(leases[0], 200)
				leases = leases[1:]
			}
			for range 4 {
				lease()
				w.now += 1000
			}
			report()
			w.now += jump
			if jump > 0 {
				clear(out) // all leases are over
			}
			for range 3 {
				lease()
				w.now += 1000
				report()
				w.invariants()
			}
			if w.now -= jump; jump < 0 {
				clear(out)
			}
			for range 2000 {
				lease()
				report()
				w.now += 5000
				if w.stats().URLs == 0 {
					break
				}
			}
			w.invariants()
			stats := w.stats()
			if stats.URLs != 0 || stats.Done != hosts*urls {
				t.Errorf("after the clock came back: %+v", stats)
			}
		})
	}
}
