package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/epoch"
)

// FrontierReading is a reading of the frontier's shards.
type FrontierReading struct {
	At           time.Time // to the minute
	OldestEntry  time.Time // due time of the oldest due entry point; zero if none is due
	Complete     bool      // all shards answered; otherwise the counters are meaningless
	Answers      int64     // reported ever
	Faults       int64     // faults among these
	Used         int64     // share of the daily refreshes, in thousandths
	Quarantined  int64     // damaged rows of the shards that answered
	LargestShard int64     // bytes of the largest database of these
}

// keptReadings is the age limit of readings, in minutes.
const keptReadings = 75

const (
	selectReadings = `SELECT minute, oldest_entry, answers, faults, used, quarantined, largest_shard FROM frontier_readings
WHERE minute > ?1 - ?2 AND minute <= ?1 ORDER BY minute`

	insertReading = `INSERT INTO frontier_readings (minute, oldest_entry, answers, faults, used, quarantined, largest_shard)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`

	pruneReadings = `DELETE FROM frontier_readings WHERE minute < ` + now + ` / 60000 - 1440`
)

// SaveFrontierReading saves a reading. The first of a minute stays.
func (l *Ledger) SaveFrontierReading(ctx context.Context, r FrontierReading) error {
	args := []any{minuteOf(r.At), epoch.MillisOf(r.OldestEntry), nil, nil, r.Used, r.Quarantined, r.LargestShard}
	if r.Complete {
		args[2], args[3] = r.Answers, r.Faults
	}
	_, err := l.batch(ctx, "ledger.SaveFrontierReading", Statement{insertReading, args})
	return err
}

func minuteOf(at time.Time) int64 { return at.UnixMilli() / time.Minute.Milliseconds() }

// readReadings decodes readings, oldest first.
func readReadings(r *reader, result int) []FrontierReading {
	var readings []FrontierReading
	for _, row := range readColumns[readingRow](r, result) {
		reading := FrontierReading{
			At:          time.UnixMilli(row.minute * time.Minute.Milliseconds()).UTC(),
			OldestEntry: row.oldest.Time(),
			Used:        row.used,
			Quarantined: row.quarantined, LargestShard: row.largest,
		}
		if row.complete {
			reading.Complete, reading.Answers, reading.Faults = true, row.answers, row.faults
		}
		readings = append(readings, reading)
	}
	return readings
}

// readingRow is a row of frontier_readings. Answers and faults are null if the reading is incomplete.
type readingRow struct {
	minute, answers, faults, used, quarantined, largest int64
	oldest                                              epoch.Millis
	complete                                            bool
}

func (row *readingRow) set(column string, v gjson.Result) {
	switch column {
	case "minute":
		row.minute = v.Int()
	case "oldest_entry":
		row.oldest = epoch.Millis(v.Int())
	case "answers":
		row.answers, row.complete = v.Int(), v.Type == gjson.Number
	case "faults":
		row.faults = v.Int()
	case "used":
		row.used = v.Int()
	case "quarantined":
		row.quarantined = v.Int()
	case "largest_shard":
		row.largest = v.Int()
	}
}

// NewestFrontier returns the last reading, if there is one.
func (r *AlarmReading) NewestFrontier() (FrontierReading, bool) {
	if len(r.Frontier) == 0 {
		return FrontierReading{}, false
	}
	return r.Frontier[len(r.Frontier)-1], true
}

// FrontierWindow returns the answers reported in the given number of minutes before the last reading, and the
// faults among them. It needs two complete readings.
func (r *AlarmReading) FrontierWindow(minutes int) (answers, faults int64) {
	complete := slices.DeleteFunc(slices.Clone(r.Frontier), func(f FrontierReading) bool { return !f.Complete })
	if len(complete) == 0 {
		return 0, 0
	}
	last := complete[len(complete)-1]
	first := complete[0]
	for _, f := range complete { // the last reading before the window, else the first one
		if !f.At.After(last.At.Add(-time.Duration(minutes) * time.Minute)) {
			first = f
		}
	}
	if last.Answers < first.Answers || last.Faults < first.Faults { // a shard was rebuilt
		return 0, 0
	}
	return last.Answers - first.Answers, last.Faults - first.Faults
}
