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
	if a := w.reportAll(first, 404); a.Accepted != 3 || a.Late != 0 {
		t.Errorf("the first again: %+v", a)
	}
	if s := w.stats(); s.Done != 3 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	w.invariants()
}
