package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
)

// reportAll reports the items of a lease.
func (w *world) reportAll(l frontier.Lease, status int, found ...frontier.FoundURL) (a frontier.ReportAnswer) {
	w.Helper()
	r := frontier.Report{Lease: l.ID}
	for _, item := range l.Items {
		r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: status, Found: found})
		found = nil
	}
	w.do(func() (err error) {
		a, err = w.shard.Report(w.now, r)
		return err
	})
	return a
}

// TestReport_Late: a report counts however late it is, as long as nobody else was given the host, and only once.
func TestReport_Late(t *testing.T) {
	for _, swept := range []bool{false, true} {
		for _, visit := range []bool{false, true} {
			t.Run(fmt.Sprint("swept: ", swept, ", visit: ", visit), func(t *testing.T) {
				w := newWorld(t)
				list := articles("a.example", 0, 100)
				if visit {
					w.shard.VisitsPerDay = 1_000_000
					list = list[:5]
				}
				w.put("a.example", list)
				w.put("b.example", articles("b.example", 0, 1))
				take := func() frontier.Lease {
					t.Helper()
					l, _ := w.lease(frontier.LeaseRequest{Max: 5, PerHost: 5, Seconds: 60,
						Types: []string{"news", "press_release", "policy"}})
					if len(l.Items) == 0 {
						t.Fatal("no items")
					}
					return l
				}
				l := take()
				if visit {
					for l.Items[0].Visits == 0 {
						w.reportAll(l, 200)
						w.now += 30 * 24 * hour
						l = take()
					}
				}
				for i := len(l.Items) - 1; i >= 0; i-- { // those of the other host are done
					if l.Items[i].Host != "a.example" {
						l.Items = slices.Delete(l.Items, i, i+1)
					}
				}
				if len(l.Items) == 0 {
					t.Fatal("nothing of the host")
				}
				before := w.stats()
				w.now = l.ExpiresAt + 1000
				if swept {
					w.do(func() error { // of another kind, so that it gets nothing
						_, err := w.shard.Lease(w.now,
							frontier.LeaseRequest{Max: 1, Seconds: 60, Types: []string{"event"}})
						return err
					})
				}
				a := w.reportAll(l, 200, frontier.FoundURL{NewPage: frontier.NewPage{URL: "https://a.example/found"}})
				if a.Late != len(l.Items) || a.Accepted+a.Unknown != 0 || a.Found != (frontier.FoundCounts{Added: 1}) ||
					!slices.Equal(a.Outcomes, slices.Repeat([]frontier.Outcome{frontier.ReportLate}, len(l.Items))) {
					t.Errorf("late: %+v", a)
				}
				w.invariants()
				after := w.stats()
				if after.Done != before.Done+int64(len(l.Items)) {
					t.Errorf("%d done, then %d", before.Done, after.Done)
				}
				if a := w.reportAll(l, 404); a.Accepted != len(l.Items) || a.Late+a.Unknown != 0 {
					t.Errorf("repeated: %+v", a)
				}
				if again := w.stats(); again.Done != after.Done || again.Failed != after.Failed {
					t.Errorf("repeated: %+v, before %+v", again, after)
				}
				w.invariants()
			})
		}
	}
}

// TestReport_LateForAnother: what others were given since does not count.
func TestReport_LateForAnother(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 3))
	all := frontier.LeaseRequest{Max: 3, PerHost: 3, Seconds: 60}
	first, _ := w.lease(all)
	w.now = first.ExpiresAt + 5000
	second, _ := w.lease(all)
	if len(second.Items) != 3 {
		t.Fatalf("%d items", len(second.Items))
	}
	if a := w.reportAll(first, 404); a.Unknown != 3 || a.Accepted+a.Late != 0 {
		t.Errorf("the first: %+v", a)
	}
	if a := w.reportAll(second, 200); a.Accepted != 3 {
		t.Errorf("the second: %+v", a)
	}
	if a := w.reportAll(first, 404); a.Unknown != 3 || a.Accepted+a.Late != 0 {
		t.Errorf("the first again: %+v", a)
	}
	if a := w.reportAll(second, 404); a.Accepted != 3 || a.Late+a.Unknown != 0 {
		t.Errorf("the second again: %+v", a)
	}
	if s := w.stats(); s.Done != 3 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	w.invariants()
}

// TestReport_AfterOthers: of a lease that expired, what others could fetch since is unknown, and what had been reported
// before is accepted again, whoever has the host and whatever became of the page.
func TestReport_AfterOthers(t *testing.T) {
	for name, since := range map[string]func(w *world, second frontier.Lease){
		"while others have the host": func(*world, frontier.Lease) {},
		"after others reported it":   func(w *world, second frontier.Lease) { w.reportAll(second, 200) },
		"after others lost it, too":  func(w *world, second frontier.Lease) { w.now = second.ExpiresAt + minute },
		"after a day": func(w *world, second frontier.Lease) {
			w.reportAll(second, 200)
			w.now += 25 * hour
			third, _ := w.lease(frontier.LeaseRequest{Max: 1, Seconds: 60})
			w.reportAll(third, 200)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("a.example", articles("a.example", 0, 40))
			first, _ := w.lease(frontier.LeaseRequest{Max: 6, PerHost: 6, Seconds: 60})
			statuses := []int{200, 404, 500}
			var early frontier.Report
			for i, status := range statuses {
				early.Results = append(early.Results, frontier.Result{ID: first.Items[i].ID, Status: status})
			}
			early.Lease = first.ID
			report := func() (a frontier.ReportAnswer) {
				w.do(func() (err error) {
					a, err = w.shard.Report(w.now, early)
					return err
				})
				return a
			}
			if a := report(); a.Accepted != 3 {
				t.Fatalf("%+v", a)
			}
			w.now = first.ExpiresAt + 2*hour
			second, _ := w.lease(frontier.LeaseRequest{Max: 2, PerHost: 2, Seconds: 60})
			if len(second.Items) == 0 {
				t.Fatal("nobody else was given anything")
			}
			since(w, second)
			before := w.stats()
			rest := frontier.Lease{ID: first.ID, Items: first.Items[3:]}
			found := frontier.FoundURL{NewPage: frontier.NewPage{URL: "https://a.example/found"}}
			if a := w.reportAll(rest, 200, found); a.Unknown != 3 || a.Accepted+a.Late+a.Added != 0 {
				t.Errorf("what was not reported: %+v", a)
			}
			a := report()
			if name == "after a day" { // who failed is not known any more
				a.Accepted, a.Unknown = a.Accepted+a.Unknown, 0
			}
			if a.Accepted != 3 || a.Late+a.Unknown != 0 {
				t.Errorf("what was: %+v", a)
			}
			if after := w.stats(); after.Done != before.Done || after.Failed != before.Failed ||
				after.URLs != before.URLs || after.Faults != before.Faults {
				t.Errorf("%+v, before %+v", after, before)
			}
			w.invariants()
		})
	}
}

// TestReport_FailedThenExpired: a page that was reported as failed is not reported once more, as late, when the rest of
// its lease has expired.
func TestReport_FailedThenExpired(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 3))
	l, _ := w.lease(frontier.LeaseRequest{Max: 3, PerHost: 3, Seconds: 60})
	failed := frontier.Lease{ID: l.ID, Items: l.Items[:1]}
	w.reportAll(failed, 500)
	w.now = l.ExpiresAt + 1000
	w.do(func() error {
		_, err := w.shard.Lease(w.now, frontier.LeaseRequest{Max: 1, Seconds: 60, Types: []string{"event"}})
		return err
	})
	before := w.stats()
	if a := w.reportAll(failed, 404); a.Accepted != 1 || a.Late != 0 {
		t.Errorf("again: %+v", a)
	}
	if after := w.stats(); after.Failed != before.Failed || after.URLs != before.URLs {
		t.Errorf("%+v, before %+v", after, before)
	}
	rest := frontier.Lease{ID: l.ID, Items: l.Items[1:]}
	if a := w.reportAll(rest, 200); a.Late != 2 {
		t.Errorf("the rest: %+v", a)
	}
	w.invariants()
}

// TestReport_LateEntry: a late report of an entry point counts as that of a page does.
func TestReport_LateEntry(t *testing.T) {
	for _, others := range []bool{false, true} {
		w := newWorld(t)
		w.put("a.example", nil, frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://a.example/feed"},
			Method: "feed", Interval: 3600})
		w.now += 2 * hour
		ask := frontier.LeaseRequest{Max: 1, Seconds: 60, Kinds: []string{frontier.KindEntry}}
		l, _ := w.lease(ask)
		if len(l.Items) != 1 {
			t.Fatalf("%d items", len(l.Items))
		}
		w.now = l.ExpiresAt + minute
		w.do(func() error {
			_, err := w.shard.Lease(w.now, frontier.LeaseRequest{Max: 1, Seconds: 60})
			return err
		})
		want, checks := frontier.ReportLate, 1
		if others {
			again, _ := w.lease(ask)
			w.reportAll(again, 304)
			want = frontier.ReportUnknown
		}
		found := frontier.FoundURL{NewPage: frontier.NewPage{URL: "https://a.example/found"}}
		if a := w.reportAll(l, 200, found); a.Outcomes[0] != want || (a.Added == 1) == others {
			t.Errorf("others: %v: %+v", others, a)
		}
		w.do(func() error {
			entries, err := w.shard.Entries(w.now, "a.example")
			if len(entries.Entries) != 1 || len(entries.Entries[0].Checks) != checks {
				t.Errorf("others: %v: %+v", others, entries.Entries)
			}
			return err
		})
		w.invariants()
	}
}
