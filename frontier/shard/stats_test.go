package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/frontier"
)

// Pointers that hosts left behind must not make stats slow: its caller waits for some seconds only, and every five
// minutes would wait again.
func TestStats_ManyMovedHosts(t *testing.T) {
	needsNoRace(t)
	t.Parallel()
	const hosts, batch, statements, loaded = 40_000, 2500, 100, 4 << 20
	w := newWorld(t)
	putAll := func(path string, priority float64) {
		for from := 0; from < hosts; from += batch {
			var all frontier.PutAll
			for i := from; i < from+batch; i++ {
				domain := fmt.Sprintf("a%d.example", i)
				all.Puts = append(all.Puts, frontier.Put{Domain: domain, Partition: partition,
					Pages: []frontier.NewPage{{URL: "https://" + domain + path, Priority: priority}}})
			}
			w.do(func() error {
				_, err := w.shard.PutAll(w.now, all)
				return err
			})
		}
	}
	putAll("/a", 0.1)
	w.now += 60_000
	moved := w.now
	putAll("/b", 0.9) // moves all hosts to the first lane
	w.put("z.example", []frontier.NewPage{{URL: "https://z.example/", Priority: 0.1}})
	w.now += 60_000
	for calls := range 2 {
		before, bytes, began := w.db.Statements, w.db.ReadBytes, time.Now()
		stats := w.stats()
		t.Logf("stats %d: %d statements, %d bytes, %v", calls, w.db.Statements-before, w.db.ReadBytes-bytes,
			time.Since(began))
		if got := w.db.Statements - before; got > statements {
			t.Errorf("%d statements, want at most %d", got, statements)
		}
		if got := w.db.ReadBytes - bytes; got > loaded {
			t.Errorf("%d bytes were read, want at most %d", got, loaded)
		}
		if stats.OldestDue[0] != moved {
			t.Errorf("the oldest page of band 0 is due since %d, want %d", stats.OldestDue[0], moved)
		}
		// The first call may stop on the way, and the next one goes on from there.
		if calls == 1 && (stats.OldestDue[3] != moved || stats.Due[3] > hosts/4) {
			t.Errorf("%d hosts in band 3 since %d, want 1 since %d", stats.Due[3], stats.OldestDue[3], moved)
		}
	}
	w.invariants()
}
