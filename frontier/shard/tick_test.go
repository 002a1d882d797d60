package shard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// TestTick_SnapshotsAreDaily: one a day once there is something to keep, again until it is stored, each shard at
// an hour of its own.
func TestTick_SnapshotsAreDaily(t *testing.T) {
	w := newWorld(t)
	tick := func() (tick shard.Tick) {
		t.Helper()
		w.do(func() (err error) {
			tick, err = w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-3"})
			return err
		})
		if tick.Messages == nil {
			t.Error("messages would be null")
		}
		most := epoch.Millis(86_400_000)
		if w.stats().Hosts > 0 {
			most = 3_600_000
		}
		if tick.AlarmAt <= w.now || tick.AlarmAt > w.now+most {
			t.Errorf("the next alarm is in %v", time.Duration(tick.AlarmAt-w.now)*time.Millisecond)
		}
		return tick
	}
	if tick := tick(); tick.Snapshot != nil {
		t.Errorf("of an empty shard: %+v", tick.Snapshot)
	}
	w.put("a.example", articles("a.example", 0, 1))
	born := w.now
	var dates []string
	for range 3 {
		now := tick()
		for hours := 0; now.Snapshot == nil && hours < 25; hours++ {
			w.now = now.AlarmAt
			now = tick()
		}
		if again := tick(); now.Snapshot == nil || again.Snapshot == nil || *again.Snapshot != *now.Snapshot {
			t.Fatalf("%+v, then %+v", now.Snapshot, again.Snapshot)
		}
		s := now.Snapshot
		it, ok := contract.ParseSnapshot(strings.TrimSuffix(s.Prefix, "page-"))
		if !ok || it.Shard != "shard-3" || it.Date != s.Date || it.Taken != s.Taken || it.Born != born ||
			s.Dir != "frontier/shard-3/" ||
			!strings.HasPrefix(s.Keep, s.Dir) {
			t.Errorf("%+v", s)
		}
		day, _ := time.Parse(time.DateOnly, s.Date)
		if keep := day.AddDate(0, 0, -6).Format(time.DateOnly); s.Keep != s.Dir+"date="+keep {
			t.Errorf("of %s it keeps from %s on", s.Date, s.Keep)
		}
		w.do(func() error { return w.shard.Stored(w.now, frontier.StoredRequest{Date: s.Date, Taken: s.Taken}) })
		if again := tick(); again.Snapshot != nil {
			t.Errorf("once more: %+v", again.Snapshot)
		}
		dates = append(dates, s.Date)
	}
	for i, date := range dates[1:] {
		if before, _ := time.Parse(time.DateOnly, dates[i]); date != before.AddDate(0, 0, 1).Format(time.DateOnly) {
			t.Errorf("days %v", dates)
		}
	}
	// begins returns the hour of the day at which a shard's snapshot begins.
	begins := func(name string) int {
		w := newWorld(t)
		w.put("a.example", articles("a.example", 0, 1))
		for first := true; ; w.now += 3_600_000 {
			var tick shard.Tick
			w.do(func() (err error) {
				tick, err = w.shard.Tick(w.now, shard.TickRequest{Shard: name})
				return err
			})
			if o := tick.Snapshot; o != nil && !first {
				return w.now.Time().Hour()
			} else if o != nil {
				w.do(func() error {
					return w.shard.Stored(w.now, frontier.StoredRequest{Date: o.Date, Taken: o.Taken})
				})
				first = false
			}
		}
	}
	if begins("shard-3") == begins("shard-4") {
		t.Error("two shards have their day begin at the same time")
	}
	err := w.shard.Stored(w.now, frontier.StoredRequest{Date: "some day"})
	if err == nil {
		t.Error("a date that is none is stored")
	}
}

// TestTick_SnapshotGoesOn: a snapshot that one tick did not finish goes on in the next ones where it stopped, also
// when its day is over, and repeats what was not noted; then that of the new day begins.
func TestTick_SnapshotGoesOn(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 1))
	order := func() *shard.SnapshotOrder {
		t.Helper()
		var tick shard.Tick
		w.do(func() (err error) {
			tick, err = w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-3"})
			return err
		})
		if tick.Snapshot != nil && (tick.Snapshot.Again <= w.now || tick.Snapshot.Again > w.now+60_000) {
			t.Errorf("it goes on in %v", tick.Snapshot.Again.Sub(w.now))
		}
		return tick.Snapshot
	}
	stored := func(o *shard.SnapshotOrder, page int, next int64) {
		w.do(func() error {
			return w.shard.Stored(w.now, frontier.StoredRequest{Date: o.Date, Taken: o.Taken, Page: page, Next: next})
		})
	}
	first := order()
	if first.Page != 1 || first.From != 0 || first.Taken != w.now {
		t.Fatalf("%+v", first)
	}
	stored(first, 7, 4711)
	for range 3 { // what one of them stores is not noted, or no tick happens for a day
		w.now += 15 * 3_600_000
		if o := order(); o == nil || o.Page != 8 || o.From != 4711 || o.Taken != first.Taken || o.Date != first.Date {
			t.Fatalf("%+v", o)
		}
	}
	stored(first, 9, 0)
	next := order()
	if next == nil || next.Date <= first.Date || next.Page != 1 || next.From != 0 || next.Taken != w.now {
		t.Fatalf("then %+v", next)
	}
	stored(next, 1, 0)
	if o := order(); o != nil {
		t.Errorf("at last %+v", o)
	}
}

// TestTick_SnapshotOrderedMeanwhile: one that is ordered while another is underway follows it, so that orders which
// come faster than a snapshot ends do not keep it from ending. The one before is deleted only when the next is
// complete.
func TestTick_SnapshotOrderedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 1))
	tick := func() (tick shard.Tick) {
		t.Helper()
		w.do(func() (err error) {
			tick, err = w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-3"})
			return err
		})
		return tick
	}
	old := tick().Snapshot
	for page := 1; page < 10; page++ {
		w.now += 5000
		w.do(func() error {
			_, err := w.shard.OrderSnapshot(w.now, frontier.None{})
			return err
		})
		w.do(func() error {
			return w.shard.Stored(w.now, frontier.StoredRequest{Date: old.Date, Taken: old.Taken, Page: page,
				Next: int64(100 * page % 900)})
		})
		o := tick().Snapshot
		if o == nil || (page < 9) != (o.Taken == old.Taken && o.Page == page+1 && o.From == int64(100*page)) ||
			(page == 9) != (o.Taken == w.now && o.Page == 1 && o.From == 0 && o.Prefix > old.Prefix &&
				strings.HasPrefix(old.Prefix, o.Replaced) && !strings.HasPrefix(old.Prefix, o.Prefix)) {
			t.Fatalf("after page %d: %+v", page, o)
		}
	}
	w.do(func() error { // too late, and of one that is over
		return w.shard.Stored(w.now, frontier.StoredRequest{Date: old.Date, Taken: old.Taken, Page: 3, Next: 300})
	})
	next := tick().Snapshot
	if next == nil || next.Page != 1 {
		t.Fatalf("after a late note of the one before: %+v", next)
	}
	w.do(func() error {
		return w.shard.Stored(w.now, frontier.StoredRequest{Date: next.Date, Taken: next.Taken, Page: 1})
	})
	if o := tick().Snapshot; o != nil {
		t.Errorf("at last: %+v", o)
	}
}

// TestTick_SnapshotsAfterAClockWasAhead: days that a wrong clock noted do not keep those of the right one from having
// snapshots.
func TestTick_SnapshotsAfterAClockWasAhead(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 1))
	snapshot := func(now epoch.Millis) (o *shard.SnapshotOrder) {
		t.Helper()
		w.do(func() error {
			tick, err := w.shard.Tick(now, shard.TickRequest{Shard: "shard-3"})
			o = tick.Snapshot
			return err
		})
		if o != nil {
			w.do(func() error { return w.shard.Stored(now, frontier.StoredRequest{Date: o.Date, Taken: o.Taken}) })
		}
		return o
	}
	if snapshot(w.now+400*86_400_000) == nil || snapshot(w.now) == nil || snapshot(w.now) != nil {
		t.Error("no snapshot, or two")
	}
}

// TestTick_CostsNothing: the alarm goes off often, and what it asks writes no rows but one a day, when a snapshot
// begins.
func TestTick_CostsNothing(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", articles("a.example", 0, 1))
	for i := range 10 {
		w.now += 60_000
		rows := w.do(func() error { _, err := w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"}); return err })
		if rows > 1 || rows == 1 && i > 0 {
			t.Errorf("%d rows", rows)
		}
	}
}

// TestTick_Prunes: what the feed keeps no longer is deleted by ticks, a bounded part by each, and the next one
// comes soon while there is more; snapshots have nothing to do with it.
func TestTick_Prunes(t *testing.T) {
	w := newWorld(t)
	for i := range 300 {
		var pages []frontier.NewPage
		for k := range 50 { // they fill most of a block
			pages = append(pages, frontier.NewPage{
				URL:   fmt.Sprintf("https://a%d.example/%d/%s", i, k, strings.Repeat("u", 400)),
				Title: strings.Repeat("t", frontier.MaxTitle), Fresh: true})
		}
		w.put(fmt.Sprintf("a%d.example", i), pages)
		w.now += 1000
	}
	stored := func() (n int64) {
		t.Helper()
		if err := w.db.Query("SELECT count(*) FROM feed", func(r *store.Rows) { n = r.Int() }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := stored()
	if before < 150 {
		t.Errorf("only %d blocks", before)
	}
	w.now += 15 * 86_400_000
	for ticks := 0; stored() > 1; ticks++ {
		now, had := w.now, stored()
		var tick shard.Tick
		rows := w.do(func() (err error) {
			tick, err = w.shard.Tick(now, shard.TickRequest{Shard: "shard-0"})
			return err
		})
		left := stored()
		if had-left > 64 || rows > 80 || left > 1 && (had == left || tick.AlarmAt > now+60_000) || ticks > 10 {
			t.Fatalf("tick %d: %d of %d blocks are left, %d rows written, next in %v", ticks, left, before, rows,
				tick.AlarmAt.Sub(now))
		}
		w.now = max(tick.AlarmAt, now)
	}
}
