package ledger

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// Found is the content of a listing of one partition in R2. Files without a checkpoint are in Changes.Files, those
// with one in FoundFiles, collected domains in Domains.
type Found struct {
	Partition contract.Partition
	Started   time.Time // of the listing; rows changed since then are left alone
	Files     Range
	Domains   Range
	Changes   Changes
}

// Range is the part of a listing that was read, in order of keys. The zero Range is empty.
type Range struct {
	After, UpTo string // names; After is excluded
}

// End is an UpTo after every name.
const End = "~"

const (
	partitionID = `(SELECT id FROM partitions WHERE country = ?2 AND category = ?3 AND date = ?4)`

	forgetProcessed = `UPDATE files SET processed_at = 0, met_at = 0, duration_ms = NULL
WHERE partition = ` + partitionID + ` AND processed_at > 0 AND met_at < ?5 AND name IN (SELECT value
FROM json_each(?1))`

	deleteFiles = `DELETE FROM files
WHERE partition = ` + partitionID + ` AND max(queued_at, met_at, gave_up_at) < ?5 AND name > ?6 AND name <= ?7
AND name NOT IN (SELECT value FROM json_each(?1))`

	// Keys continue with a slash after the domain, which affects their order.
	deleteDomains = `DELETE FROM domains
WHERE partition = ` + partitionID + ` AND collected_at > 0 AND max(queued_at, met_at, gave_up_at) < ?5
AND domain || '/' > ?6 AND domain || '/' <= ?7 AND domain NOT IN (SELECT value FROM json_each(?1))`
)

// Reconcile makes the ledger agree with a listing: it adds missing rows and deletes those without an object in R2.
// It is idempotent.
func (l *Ledger) Reconcile(ctx context.Context, f Found) error {
	statements := f.Changes.statements()
	args := func(more ...any) []any {
		return append([]any{f.Partition.Country, f.Partition.Category, f.Partition.Date, epoch.MillisOf(f.Started)},
			more...)
	}
	if f.Files != (Range{}) {
		open, all := []string{}, []string{}
		for _, c := range f.Changes.Files {
			open, all = append(open, c.Name), append(all, c.Name)
		}
		for _, c := range f.Changes.FoundFiles {
			all = append(all, c.Name)
		}
		statements = append(statements,
			statement(forgetProcessed, open, args()...),
			statement(deleteFiles, all, args(f.Files.After, f.Files.UpTo)...))
	}
	if f.Domains != (Range{}) {
		all := []string{}
		for _, c := range f.Changes.Domains {
			all = append(all, c.Domain)
		}
		after := f.Domains.After
		if after != "" {
			after += "/"
		}
		statements = append(statements, statement(deleteDomains, all, args(after, f.Domains.UpTo+"/")...))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := l.batch(ctx, "ledger.Reconcile", statements...)
	return err
}
