package ledgertest

import (
	"fmt"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

func reconcile(t T, db ledger.DB, name string) {
	p := place(name, "2026-01-28")
	file := func(n int) contract.RawFile {
		return contract.RawFile{Partition: p, Name: fmt.Sprintf("raw_%04d", n)}
	}
	record(t, db, ledger.Changes{
		Files: []ledger.FileChange{
			{RawFile: file(1), Processed: at(1)}, {RawFile: file(2), Processed: at(1)},
			{RawFile: file(3), Processed: at(1)},
			{RawFile: file(4), Queued: at(1)}, {RawFile: file(8), Queued: at(1)},
			{RawFile: file(9), Processed: at(60)},
		},
		Domains: []ledger.DomainChange{
			{Partition: p, Domain: "example.com", Outcome: outcome(1, true)},
			{Partition: p, Domain: "example.com.au", Outcome: outcome(1, true)},
			{Partition: p, Domain: "gone.sg", Outcome: outcome(1, true)},
			{Partition: p, Domain: "pending.sg", Queued: at(1)},
			{Partition: p, Domain: "young.sg", Outcome: outcome(60, true)},
			{Partition: p, Domain: "zz.sg", Outcome: outcome(1, true)},
		},
	})
	// The listing up to file 8 has files 1 and 5 with a checkpoint, 2 and 4 without, and up to young.sg all domains
	// except gone.sg.
	found := ledger.Found{
		Partition: p, Started: at(30), Files: ledger.Range{UpTo: "raw_0008"}, Domains: ledger.Range{UpTo: "young.sg"},
		Changes: ledger.Changes{
			FoundFiles: []ledger.FileChange{{RawFile: file(1), Processed: at(2), SatisfiedUpTo: at(2)},
				{RawFile: file(5), Processed: at(2), SatisfiedUpTo: at(2)}},
			Files: []ledger.FileChange{{RawFile: file(2)}, {RawFile: file(4)}},
			Domains: []ledger.DomainChange{
				{Partition: p, Domain: "example.com", Outcome: outcome(1, true)},
				{Partition: p, Domain: "example.com.au", Outcome: outcome(9, false)},
				{Partition: p, Domain: "new.sg", Outcome: outcome(2, true)},
			},
		},
	}
	for range 2 {
		must(t, "Reconcile", ledger.New(db).Reconcile(ctx, found))
		states := map[string]any{}
		for _, row := range query(t, db, `SELECT name, state FROM files JOIN partitions ON id = partition
WHERE category = ?1
UNION ALL SELECT domain, state FROM domains JOIN partitions ON id = partition WHERE category = ?1`, name) {
			states[row["name"].(string)] = row["state"]
		}
		expect(t, "states", states, map[string]any{
			"raw_0001": "processed", "raw_0002": "pending", "raw_0004": "pending", "raw_0005": "processed",
			"raw_0009":    "processed",
			"example.com": "processed", "example.com.au": "failed", "new.sg": "processed", "pending.sg": "pending",
			"young.sg": "processed", "zz.sg": "processed",
		})
		recount(t, db, name, "after reconcile")
	}
	rows := query(t, db,
		`SELECT processed_at FROM files JOIN partitions ON id = partition WHERE category = ?1 AND name = 'raw_0001'`,
		name)
	expect(t, "a time that was recorded", rows, []map[string]any{{"processed_at": float64(at(1).UnixMilli())}})
}
