package ledger

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// Prune deletes at most maxPruned files and domains per round, since a batch has 30 seconds.
const (
	maxPruned = 5000
	maxRounds = 50
)

const (
	// The least recently updated partition goes first, its files and domains before itself.
	oldestPartition = `(SELECT id FROM partitions WHERE updated_at < ?1 ORDER BY updated_at LIMIT 1)`

	pruneDomains = `DELETE FROM domains WHERE partition = ` + oldestPartition + `
AND domain IN (SELECT domain FROM domains WHERE partition = ` + oldestPartition + ` LIMIT ?2)`

	pruneFiles = `DELETE FROM files WHERE partition = ` + oldestPartition + `
AND name IN (SELECT name FROM files WHERE partition = ` + oldestPartition + ` LIMIT ?2)`

	prunePartition = `DELETE FROM partitions WHERE id = ` + oldestPartition + `
AND NOT EXISTS (SELECT 1 FROM domains WHERE partition = partitions.id) AND NOT EXISTS (SELECT 1 FROM files
WHERE partition = partitions.id)`

	pruneHours       = `DELETE FROM hours WHERE hour < ?1 / 3600000`
	pruneMinutes     = `DELETE FROM minutes WHERE minute < ?1 / 60000`
	pruneDeadLetters = `DELETE FROM dead_letters WHERE failed_at < ?1`
	pruneFailures    = `DELETE FROM failures WHERE failed_at < ?1`
	pruneChanges     = `DELETE FROM alarm_changes WHERE at < ?1 AND sent_at > 0`
)

// Prune deletes partitions without a change since before, and dead letters and failures older than that. The next
// call continues what exceeds one call.
func (l *Ledger) Prune(ctx context.Context, before time.Time) error {
	const op = "ledger.Prune"
	at := epoch.MillisOf(before)
	statements := []Statement{{SQL: pruneReadings}}
	for _, sql := range []string{pruneHours, pruneMinutes, pruneDeadLetters, pruneFailures, pruneChanges} {
		statements = append(statements, Statement{sql, []any{at}})
	}
	if _, err := l.batch(ctx, op, statements...); err != nil {
		return err
	}
	for range maxRounds {
		results, err := l.batch(ctx, op,
			Statement{pruneDomains, []any{at, int64(maxPruned)}},
			Statement{pruneFiles, []any{at, int64(maxPruned)}},
			Statement{prunePartition, []any{at}})
		if err != nil || results[0].Changes+results[1].Changes+results[2].Changes == 0 {
			return err
		}
	}
	return nil
}
