package ledgertest

import (
	"time"

	"github.com/newsfork/seed-engine/ledger"
)

// frontierReadings uses a year of its own, since readings have no names.
func frontierReadings(t T, db ledger.DB, _ string) {
	l := ledger.New(db)
	then := time.Date(2001, 1, 1, 12, 0, 0, 0, time.UTC)
	counted := ledger.FrontierReading{At: then, OldestEntry: then.Add(-time.Hour), Complete: true, Answers: 1 << 40,
		Faults: 7}
	lost := ledger.FrontierReading{At: then.Add(5 * time.Minute)}
	for _, r := range []ledger.FrontierReading{counted, lost, {At: then.Add(-2 * time.Hour)},
		{At: then.Add(5 * time.Minute), Complete: true}} {
		must(t, "SaveFrontierReading", l.SaveFrontierReading(ctx, r))
	}
	reading, err := l.Alarms(ctx, then.Add(6*time.Minute), nil)
	must(t, "Alarms", err)
	expect(t, "readings", reading.Frontier, []ledger.FrontierReading{counted, lost})
}
