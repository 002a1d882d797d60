package ledger_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

func TestPrune(t *testing.T) {
	db := open(t)
	l := ledger.New(db)
	old, young := place, place
	old.Date = "2025-01-28"
	var c ledger.Changes
	for i := range 6_000 {
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: old, Domain: fmt.Sprintf("d%d.sg", i),
			Queued: noon})
	}
	for _, p := range []contract.Partition{old, young} {
		c.Files = append(c.Files, ledger.FileChange{RawFile: contract.RawFile{Partition: p, Name: "raw_0001"},
			Processed: noon})
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: p, Domain: "a.sg",
			Outcome: &contract.Outcome{CollectedAt: noon, Reachable: true}})
	}
	c.Domains = append(c.Domains, ledger.DomainChange{Partition: old, Domain: "failed.sg", GaveUp: noon,
		ErrorType: contract.Storage})
	c.DeadLetters = []ledger.DeadLetter{
		{MessageID: "old", DeadLetterError: contract.DeadLetterError{FailedAt: noon}},
		{MessageID: "young", DeadLetterError: contract.DeadLetterError{FailedAt: time.Now()}},
	}
	c.Failures = []ledger.Failure{{MessageID: "old", FailedAt: noon}, {MessageID: "young", FailedAt: time.Now()}}
	must(t, l.Record(ctx, c))
	finish(t, l, time.Now(), 0, 20, 0)
	must(t, l.SaveAlarms(ctx, time.Now(), update("domain_failures", "firing", "young", time.Now()), false))
	rows(t, db, `UPDATE partitions SET updated_at = ?1 WHERE date = ?2`, noon.UnixMilli(), old.Date)
	must(t, l.Prune(ctx, noon.Add(time.Hour)))
	for sql, want := range map[string]string{
		`SELECT date FROM partitions`: "2026-01-28",
		`SELECT DISTINCT p.date FROM domains JOIN partitions AS p ON p.id = partition`: "2026-01-28",
		`SELECT p.date FROM files JOIN partitions AS p ON p.id = partition`:            "2026-01-28",
		`SELECT count(*) FROM error_counts`:                                            "1",
		`SELECT message_id FROM dead_letters`:                                          "young",
		`SELECT message_id FROM failures`:                                              "young",
		`SELECT count(*) FROM minutes WHERE minute < 29493480`:                         "0",
		`SELECT state FROM dead_letter_counts WHERE count = 1`:                         "stored",
		`SELECT count(*) FROM alarm_changes`:                                           "1",
	} {
		var got []string
		for _, row := range rows(t, db, sql) {
			for _, v := range row {
				got = append(got, fmt.Sprint(v))
			}
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %v, want %s", sql, got, want)
		}
	}
}
