package shard

import (
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// snapshotDays is the number of days for which snapshots are kept.
const snapshotDays = 7

// snapshotTime caps the time for which one tick stores pages of a snapshot: a third of the time between two ticks.
const snapshotTime = 20 * time.Second

const day = epoch.Day

// maxAlarmGap is the longest time between two ticks of a shard that is not empty. Work that changed settings allow is
// done by then.
const maxAlarmGap = time.Hour

// TickRequest is sent by a shard's alarm.
type TickRequest struct {
	Shard  string `json:"shard"`            // name of the shard
	Paused bool   `json:"paused,omitempty"` // operators paused the pipeline: refresh nothing
	// Oldest dates the oldest message of the domain queue; 0 means that the queue is empty or did not answer. Messages
	// sent after that may still wait, and are not sent again.
	Oldest epoch.Millis `json:"oldest,omitempty"`
}

// Tick is the work of the alarm, done after the operation. It can fail at any point: lost work must appear in a later
// Tick, and repeated work must do no harm.
type Tick struct {
	Messages []json.RawMessage `json:"messages"` // for the domain queue
	Snapshot *SnapshotOrder    `json:"snapshot,omitempty"`
	AlarmAt  epoch.Millis      `json:"alarm_at"` // of the next alarm
}

// SnapshotOrder requests the next pages of a snapshot, beginning with number Page, which starts at From. Each page of
// Export is stored as Prefix + "0001.json" and so on. After For, or after the last page, Stored is called with the
// progress. If pages are left, the tick at Again continues. After the last page, two kinds of keys are deleted: those
// in Dir that sort before Keep, and those with the prefix Replaced that sort before Prefix, the day's earlier
// snapshots.
type SnapshotOrder struct {
	Taken  epoch.Millis `json:"taken"` // of the snapshot's first order
	Date   string       `json:"date"`
	Dir    string       `json:"dir"`
	Prefix string       `json:"prefix"`
	Keep   string       `json:"keep"`
	// Replaced does not match what a database that was lost has stored: its last snapshot has what this one lacks.
	Replaced string `json:"replaced"`

	Page  int          `json:"page"`
	From  int64        `json:"from"`
	For   int64        `json:"for_ms"` // time in which to store pages
	Again epoch.Millis `json:"again"`
}

// Tick returns the work that is due now.
func (s *Shard) Tick(now epoch.Millis, r TickRequest) (tick Tick, err error) {
	// Shards begin their days at different hours, so that their snapshots are not made all at once.
	began := time.Duration(placement.Hash64(r.Shard)%uint64(epoch.Day/time.Second)) * time.Second
	today := now.Time().Add(-began).Truncate(day)
	tick.Messages = []json.RawMessage{} // null is no list to the object
	tick.AlarmAt = epoch.MillisOf(today.Add(began + day))
	err = s.run(now, func(c *call) error {
		if c.tx.State().Hosts == 0 {
			return nil
		}
		if err := c.sweep(); err != nil {
			return err
		}
		tick.AlarmAt = min(tick.AlarmAt, now.Add(maxAlarmGap))
		old, err := c.tx.PruneLogs(c.now.Add(-c.settings.Retention))
		if err != nil {
			return err
		}
		if r.Paused || old {
			tick.AlarmAt = min(tick.AlarmAt, now.Add(c.settings.tickSpacing()))
		}
		if !r.Paused {
			if err := queueRefreshes(c, &tick, r.Oldest); err != nil {
				return err
			}
			if err := queueRefills(c, &tick); err != nil {
				return err
			}
		}
		tick.Snapshot = c.orderSnapshot(r.Shard, today)
		return nil
	})
	return tick, err
}

// orderSnapshot orders the snapshot of a day, or continues one that is underway, even if its day is over. It returns
// nil if there is nothing to store.
func (c *call) orderSnapshot(shard string, today time.Time) *SnapshotOrder {
	s := c.tx.State()
	if s.Underway.Date == "" {
		date, tomorrow := today.Format(time.DateOnly), today.Add(day).Format(time.DateOnly)
		// a later one is of a clock that was ahead
		if !s.Ordered && date <= s.Snapshot && s.Snapshot <= tomorrow {
			return nil
		}
		s.Underway, s.Ordered = store.UnderwaySnapshot{Date: date, Taken: c.now}, false
	}
	date, _ := time.Parse(time.DateOnly, s.Underway.Date)
	it := contract.Snapshot{Shard: shard, Date: s.Underway.Date, Born: s.Born, Taken: s.Underway.Taken}
	return &SnapshotOrder{
		Taken: it.Taken, Date: it.Date, Dir: contract.SnapshotDir(shard), Prefix: contract.SnapshotPrefix(it.Dir()),
		Keep:     contract.SnapshotDay(shard, date.Add(-(snapshotDays-1)*day).Format(time.DateOnly)),
		Replaced: it.Siblings(),
		Page:     s.Underway.Page + 1, From: s.Underway.Next, For: snapshotTime.Milliseconds(),
		Again: c.now.Add(c.settings.tickSpacing()),
	}
}

// OrderSnapshot makes the next tick begin a snapshot, and reports whether there is anything to store. A snapshot that
// is underway is completed first. If each order started it again, that of a large shard might never end.
func (s *Shard) OrderSnapshot(now epoch.Millis, _ frontier.None) (ordered bool, err error) {
	err = s.run(now, func(c *call) error {
		state := c.tx.State()
		if ordered = state.Hosts > 0; ordered {
			state.Ordered = true
			c.alarm = c.now
		}
		return nil
	})
	return ordered, err
}

// Stored records which pages of a snapshot are stored. It ignores a snapshot that another one has replaced.
func (s *Shard) Stored(now epoch.Millis, r frontier.StoredRequest) error {
	if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
		return contract.Invalid("date", "%.20q is not a date", r.Date)
	}
	return s.run(now, func(c *call) error {
		state := c.tx.State()
		switch {
		case r.Date != state.Underway.Date || r.Taken != state.Underway.Taken:
		case r.Next > 0:
			state.Underway.Page, state.Underway.Next = r.Page, r.Next
		default:
			state.Snapshot, state.Underway = r.Date, store.UnderwaySnapshot{}
		}
		return nil
	})
}
