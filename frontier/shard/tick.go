package shard

import (
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// snapshotDays is the number of days of snapshots are kept.
const snapshotDays = 7

const day = 24 * time.Hour

// maxAlarmGap is the longest time between two ticks of a shard that has anything: what settings allow since the last
// one is done by then.
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

// SnapshotOrder requests a snapshot: each page of Export is stored as Prefix + "0001.json" and so on, then Stored is
// called and whatever sorts before Keep in Dir is deleted. Taken goes into each page, so that pages of a repeated
// order are not mixed with those of the first.
type SnapshotOrder struct {
	Taken  epoch.Millis `json:"taken"` // of the order
	Date   string       `json:"date"`
	Dir    string       `json:"dir"`
	Prefix string       `json:"prefix"`
	Keep   string       `json:"keep"`
}

// Tick returns the work that is due now.
func (s *Shard) Tick(now epoch.Millis, r TickRequest) (tick Tick, err error) {
	// Shards begin their days at different hours, so that their snapshots are not made all at once.
	began := time.Duration(placement.Hash64(r.Shard)%86_400) * time.Second
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
		}
		if date := today.Format(time.DateOnly); date > c.tx.State().Snapshot {
			dir := contract.Snapshot(r.Shard, today)
			tick.Snapshot = &SnapshotOrder{
				Taken: now, Date: date, Dir: contract.SnapshotDir(r.Shard), Prefix: contract.SnapshotPrefix(dir),
				Keep: contract.Snapshot(r.Shard, today.Add(-(snapshotDays-1)*day)),
			}
		}
		return nil
	})
	return tick, err
}

// Stored notes that all pages of the snapshot of a day are stored.
func (s *Shard) Stored(now epoch.Millis, date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return contract.Invalid("date", "%.20q is no date", date)
	}
	return s.run(now, func(c *call) error {
		c.tx.State().Snapshot = date
		return nil
	})
}
