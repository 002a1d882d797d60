package shard_test

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// TestQuarantine_RestoreLater: pages of a damaged segment that come back after all are there once, in the queue or on
// schedule as they were, whatever happened to them meanwhile.
func TestQuarantine_RestoreLater(t *testing.T) {
	for _, scheduled := range []bool{false, true} {
		for _, meanwhile := range []string{"nothing", "put", "fetched"} {
			t.Run(fmt.Sprintf("scheduled %v, meanwhile %s", scheduled, meanwhile), func(t *testing.T) {
				w := newWorld(t)
				list := articles("a.example", 0, 120)
				w.put("a.example", list)
				if scheduled {
					w.shard.VisitsPerDay = 1_000_000
				}
				fetch := func() (given map[string]int) {
					given = map[string]int{}
					for idle := 0; idle < 5; w.now += 5000 {
						l, _ := w.lease(frontier.LeaseRequest{Max: 20, PerHost: 20, Seconds: 60})
						for _, item := range l.Items {
							given[item.URL]++
						}
						if w.reportAll(l, 200); len(l.Items) == 0 {
							idle++
						}
					}
					return given
				}
				if scheduled {
					fetch()
				}
				var key int64
				var whole []byte
				if err := w.db.Query("SELECT key, data FROM parts WHERE key & 4095 >= 1024 ORDER BY key LIMIT 1",
					func(r *store.Rows) { key, whole = r.Int(), r.Blob() }); err != nil || key == 0 {
					t.Fatalf("no segment: %v", err)
				}
				w.do(func() error {
					_, err := w.db.Run("UPDATE parts SET data = X'FFFF' WHERE key = ?1", key)
					return err
				})
				before := w.stats()
				w.do(func() (err error) {
					for i := range list {
						if _, err = w.shard.URL(w.now, list[i].URL); err != nil {
							return err
						}
					}
					return nil
				})
				rows := w.quarantined()
				if len(rows) != 1 || rows[0].Table != "parts" {
					t.Fatalf("the quarantine has %+v", rows)
				}
				w.invariants()
				lost := before.URLs + before.Scheduled - w.stats().URLs - w.stats().Scheduled
				switch meanwhile {
				case "put":
					w.put("a.example", list)
				case "fetched":
					w.put("a.example", list)
					fetch()
				}
				w.do(func() error { // as if this version had misread it
					_, err := w.db.Run("UPDATE quarantine SET data = substr(data, 1, length(data) - 2) || ?1", whole)
					return err
				})
				w.do(func() error {
					found, err := w.shard.RestoreRow(w.now, frontier.QuarantinedID{ID: rows[0].ID})
					if !found {
						t.Error("there is no row")
					}
					return err
				})
				w.invariants()
				after := w.stats()
				all := after.URLs + after.Scheduled
				if lost == 0 || meanwhile == "nothing" && all != before.URLs+before.Scheduled ||
					meanwhile == "fetched" && !scheduled && all != 0 {
					t.Errorf("%d were lost; before %+v, after %+v", lost, before, after)
				}
				if scheduled {
					w.now += 100 * 24 * hour
				}
				for url, n := range fetch() {
					if n > 1 {
						t.Errorf("%s was given %d times", url, n)
					}
				}
				w.invariants()
			})
		}
	}
}
