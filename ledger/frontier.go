package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
)

// FrontierReading is what the shards of the frontier said at a time.
type FrontierReading struct {
	At          time.Time // to the minute
	OldestEntry time.Time // since when the entry point that is due longest waits; zero for none
	Complete    bool      // all shards answered; otherwise the counters mean nothing
	Answers     int64     // reported since the beginning
	Faults      int64     // of these
	Used        int64     // thousandths of the refreshes that a day may have
}

// keptReadings is for how many minutes readings are read again.
const keptReadings = 75

const (
	selectReadings = `SELECT minute, oldest_entry, answers, faults, used FROM frontier_readings WHERE minute > ?1 - ?2 AND minute <= ?1 ORDER BY minute`

	insertReading = `INSERT INTO frontier_readings (minute, oldest_entry, answers, faults, used) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING`

	pruneReadings = `DELETE FROM frontier_readings WHERE minute < ` + now + ` / 60000 - 1440`
)

// SaveFrontierReading keeps a reading. Of two in a minute the first stays.
func (l *Ledger) SaveFrontierReading(ctx context.Context, r FrontierReading) error {
	args := []any{minuteOf(r.At), contract.Millis(r.OldestEntry), nil, nil, r.Used}
	if r.Complete {
		args[2], args[3] = r.Answers, r.Faults
	}
	_, err := l.batch(ctx, "ledger.SaveFrontierReading", Statement{insertReading, args})
	return err
}

func minuteOf(at time.Time) int64 { return at.UnixMilli() / time.Minute.Milliseconds() }

// readReadings takes readings from a result of selectReadings, oldest first.
func readReadings(r *reader, result int) []FrontierReading {
	var readings []FrontierReading
	for _, row := range readColumns[readingRow](r, result) {
		reading := FrontierReading{
			At:          time.UnixMilli(row.minute * time.Minute.Milliseconds()).UTC(),
			OldestEntry: contract.FromMillis(row.oldest),
			Used:        row.used,
		}
		if row.complete {
			reading.Complete, reading.Answers, reading.Faults = true, row.answers, row.faults
		}
		readings = append(readings, reading)
	}
	return readings
}

// readingRow is a row of frontier_readings. Of an incomplete reading answers and faults are null.
type readingRow struct {
	minute, oldest, answers, faults, used int64
	complete                              bool
}

func (row *readingRow) set(column string, v gjson.Result) {
	switch column {
	case "minute":
		row.minute = v.Int()
	case "oldest_entry":
		row.oldest = v.Int()
	case "answers":
		row.answers, row.complete = v.Int(), v.Type == gjson.Number
	case "faults":
		row.faults = v.Int()
	case "used":
		row.used = v.Int()
	}
}

// NewestFrontier gives the last reading, if there is one.
func (r *AlarmReading) NewestFrontier() (FrontierReading, bool) {
	if len(r.Frontier) == 0 {
		return FrontierReading{}, false
	}
	return r.Frontier[len(r.Frontier)-1], true
}

// FrontierWindow gives how many answers were reported, and how many of them were faults, within so many
// minutes up to the last reading. Without two readings to compare there are none.
func (r *AlarmReading) FrontierWindow(minutes int) (answers, faults int64) {
	complete := slices.DeleteFunc(slices.Clone(r.Frontier), func(f FrontierReading) bool { return !f.Complete })
	if len(complete) == 0 {
		return 0, 0
	}
	last := complete[len(complete)-1]
	first := complete[0]
	for _, f := range complete { // the last one at least so long ago, else the first one
		if !f.At.After(last.At.Add(-time.Duration(minutes) * time.Minute)) {
			first = f
		}
	}
	if last.Answers < first.Answers || last.Faults < first.Faults { // a shard was made again
		return 0, 0
	}
	return last.Answers - first.Answers, last.Faults - first.Faults
}
