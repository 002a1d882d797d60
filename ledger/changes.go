package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// Changes are the records of one event.
type Changes struct {
	Failures    []Failure    // a second record of an attempt replaces the first
	Finished    []Work       // finished work: its failures are deleted
	DeadLetters []DeadLetter // existing records stay unchanged

	QueuedFiles   []Queued
	QueuedDomains []Queued
	Files         []FileChange
	FoundFiles    []FileChange // found processed; their times do not replace recorded ones
	Domains       []DomainChange
}

// Queued records that files, or domains of one partition, were sent to their queue.
type Queued struct {
	Partition     contract.Partition
	Names         []string // raw_NNNN, or registrable domains
	At            time.Time
	RequiredSince time.Time // set by forced requests: work finished before then is repeated
}

// Record writes the records of an event in one transaction.
func (l *Ledger) Record(ctx context.Context, c Changes) error {
	statements := c.statements()
	if len(statements) == 0 {
		return nil
	}
	_, err := l.batch(ctx, "ledger.Record", statements...)
	return err
}

// statements returns the statements that write the records. Rows of partitions precede those that refer to them.
func (c *Changes) statements() []Statement {
	return slices.Concat(
		pieces(insertFailures, rowsOf(c.Failures)),
		pieces(deleteFailures, c.Finished),
		pieces(insertDeadLetters, rowsOf(c.DeadLetters)),
		pieces(insertPartitions, c.partitions()),
		pieces(queueFiles, queuedRows(c.QueuedFiles)),
		queuePieces(queuedRows(c.QueuedDomains)),
		pieces(changeFiles, rowsOf(c.Files)),
		pieces(findFiles, rowsOf(c.FoundFiles)),
		domainPieces(rowsOf(c.Domains)))
}

// partitions returns the partitions of files and domains.
func (c *Changes) partitions() []contract.Partition {
	named := map[contract.Partition]bool{}
	for _, q := range slices.Concat(c.QueuedFiles, c.QueuedDomains) {
		named[q.Partition] = true
	}
	for _, f := range slices.Concat(c.Files, c.FoundFiles) {
		named[f.Partition] = true
	}
	for _, d := range c.Domains {
		named[d.Partition] = true
	}
	return slices.SortedFunc(maps.Keys(named), func(a, b contract.Partition) int {
		return cmp.Or(strings.Compare(a.Country, b.Country), strings.Compare(a.Category, b.Category),
			strings.Compare(a.Date, b.Date))
	})
}

const (
	insertPartitions = `INSERT INTO partitions (country, category, date)
SELECT value->>'country', value->>'category', value->>'date' FROM json_each(?1) WHERE true
ON CONFLICT DO NOTHING`

	// Materialised: otherwise SQLite reads the whole list again for every name.
	queued = `WITH q AS MATERIALIZED (
  SELECT p.id, value->>'queued_at' AS queued_at, value->>'needed_at' AS needed_at, value->'names' AS names
  FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category'
AND p.date = value->>'date')`

	laterQueued = `
ON CONFLICT DO UPDATE SET queued_at = max(queued_at, excluded.queued_at), needed_at = max(needed_at,
excluded.needed_at)
WHERE excluded.queued_at > queued_at OR excluded.needed_at > needed_at`
)

// queuedRow is a Queued, or a part of one.
type queuedRow struct {
	contract.Partition
	Names         []string     `json:"names"`
	QueuedAt      epoch.Millis `json:"queued_at"`
	RequiredSince epoch.Millis `json:"needed_at"`
}

// maxNames keeps a queuedRow, with names of up to 253 bytes, below MaxStringBytes.
const maxNames = 2000

func queuedRows(list []Queued) (rows []queuedRow) {
	for _, q := range list {
		for names := range slices.Chunk(q.Names, maxNames) {
			rows = append(rows, queuedRow{q.Partition, names, epoch.MillisOf(q.At),
				epoch.MillisOf(q.RequiredSince)})
		}
	}
	return rows
}
