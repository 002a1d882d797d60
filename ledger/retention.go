package ledger

import (
	"context"
	"time"
)

// maxPruned is how many rows of files and domains one call of Prune deletes: it runs often, and a
// batch has 30 seconds.
const maxPruned = 5000

const (
	// The partition that has been quiet the longest goes first, files and domains before itself.
	oldestPartition = `(SELECT id FROM partitions WHERE updated_at < ?1 ORDER BY updated_at LIMIT 1)`

	pruneDomains = `DELETE FROM domains WHERE partition = ` + oldestPartition + `
AND domain IN (SELECT domain FROM domains WHERE partition = ` + oldestPartition + ` LIMIT ?2)`

	pruneFiles = `DELETE FROM files WHERE partition = ` + oldestPartition + `
AND name IN (SELECT name FROM files WHERE partition = ` + oldestPartition + ` LIMIT ?2)`

	prunePartition = `DELETE FROM partitions WHERE id = ` + oldestPartition + `
AND NOT EXISTS (SELECT 1 FROM domains WHERE partition = partitions.id) AND NOT EXISTS (SELECT 1 FROM files WHERE partition = partitions.id)`

	pruneHours    = `DELETE FROM hours WHERE hour < ?1 / 3600000`
	pruneMinutes  = `DELETE FROM minutes WHERE minute < ?1 / 60000`
	pruneLetters  = `DELETE FROM dead_letters WHERE failed_at < ?1`
	pruneFailures = `DELETE FROM failures WHERE failed_at < ?1`
	pruneChanges  = `DELETE FROM alarm_changes WHERE at < ?1 AND sent_at > 0`
	pruneLeases   = `DELETE FROM leases WHERE expires_at < ` + now + ` - 86400000`
)

// Prune deletes what is older than before: partitions without a change since then, dead letters and
// reasons of failures. It does a bounded piece of work, so it is called again and again. thorough
// also sweeps the tables that are read from end to end for it.
func (l *Ledger) Prune(ctx context.Context, before time.Time, thorough bool) error {
	at := before.UnixMilli()
	statements := []Statement{
		{pruneDomains, []any{at, int64(maxPruned)}},
		{pruneFiles, []any{at, int64(maxPruned)}},
		{prunePartition, []any{at}},
	}
	if thorough {
		for _, sql := range []string{pruneHours, pruneMinutes, pruneLetters, pruneFailures, pruneChanges} {
			statements = append(statements, Statement{sql, []any{at}})
		}
		statements = append(statements, Statement{SQL: pruneLeases})
	}
	_, err := l.batch(ctx, "ledger.Prune", statements...)
	return err
}
