package frontier

import (
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// TickRequest is what a shard's alarm asks its program.
type TickRequest struct {
	Shard  string `json:"shard"`            // its name
	Paused bool   `json:"paused,omitempty"` // operators paused the pipeline: nothing is refreshed
}

// Tick is what the alarm has to do. It does it after the operation, and may fail at any point of it: what
// is lost must turn up in a later Tick by itself, and what was done twice must do no harm.
type Tick struct {
	Messages []json.RawMessage `json:"messages"` // for the domain queue
	Snapshot *SnapshotOrder    `json:"snapshot,omitempty"`
	AlarmAt  int64             `json:"alarm_at"` // ms since 1970, when it asks again
}

// SnapshotOrder has the pages that Export gives stored one by one, as Prefix + "0001.json" and so on; then
// Stored is told, and what sorts before Keep is deleted from Dir. Taken goes into each page: an order that was
// not carried out is given again, and pages of the two must not be taken for one snapshot.
type SnapshotOrder struct {
	Taken  int64  `json:"taken"` // ms since 1970, when it was given
	Date   string `json:"date"`
	Dir    string `json:"dir"`
	Prefix string `json:"prefix"`
	Keep   string `json:"keep"`
}

// snapshotDays is how many days of snapshots are kept.
const snapshotDays = 7

const day = 24 * time.Hour

// maxAlarmGap is the longest time between two ticks of a shard that has anything: what settings allow since the last one
// is done by then.
const maxAlarmGap = 3_600_000 // ms

// Tick says what is to be done now.
func (s *Shard) Tick(now int64, r TickRequest) (tick Tick, err error) {
	// Shards begin their days at different hours, so that their snapshots are not made all at once.
	began := time.Duration(hash64(r.Shard)%86_400) * time.Second
	today := time.UnixMilli(now).UTC().Add(-began).Truncate(day)
	tick.Messages = []json.RawMessage{} // null is no list to the object
	tick.AlarmAt = today.Add(began + day).UnixMilli()
	err = s.run(now, func(c *call) error {
		if c.state.hosts == 0 {
			return nil
		}
		if err := c.sweep(); err != nil {
			return err
		}
		tick.AlarmAt = min(tick.AlarmAt, now+maxAlarmGap)
		if r.Paused {
			tick.AlarmAt = now + c.settings.tickSpacing()
		} else if err := c.refresh(&tick); err != nil {
			return err
		}
		last, err := c.lastSnapshot()
		if date := today.Format(time.DateOnly); err == nil && date > last {
			dir := contract.Snapshot(r.Shard, today)
			tick.Snapshot = &SnapshotOrder{
				Taken: now, Date: date, Dir: contract.SnapshotDir(r.Shard), Prefix: contract.SnapshotPrefix(dir),
				Keep: contract.Snapshot(r.Shard, today.Add(-(snapshotDays-1)*day)),
			}
		}
		return err
	})
	return tick, err
}

// Stored notes that all pages of the snapshot of a day are stored, and deletes what the logs keep no longer.
func (s *Shard) Stored(now int64, date string) error {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return contract.Invalid("date", "%.20q is no date", date)
	}
	return s.run(now, func(c *call) error {
		if err := c.pruneLogs(); err != nil {
			return err
		}
		_, err := c.db.Run(`INSERT INTO state (key, data) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET data = excluded.data`, int64(stateSnapshot), []byte(date))
		return err
	})
}

// lastSnapshot gives the day of the last one, "" when there is none.
func (c *call) lastSnapshot() (date string, err error) {
	rows, err := c.db.Run(`SELECT data FROM state WHERE key = ?1`, int64(stateSnapshot))
	if err != nil {
		return "", err
	}
	if rows.Next() {
		date = string(rows.Blob())
	}
	return date, rows.Err()
}
