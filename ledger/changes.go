package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Changes are the records of one event.
type Changes struct {
	Failures    []Failure    // an attempt recorded twice is one row, the later record
	Finished    []Work       // work done: its failures are forgotten
	DeadLetters []DeadLetter // one that was recorded before stays as it is
	Releases    []Release    // of leases that are still the owner's

	QueuedFiles   []Queued
	QueuedDomains []Queued
	Files         []FileChange
	FoundFiles    []FileChange // that were processed before; their times count only where none is recorded
	Domains       []DomainChange
}

// Queued says that files, or domains of one partition, were sent to their queue.
type Queued struct {
	Partition     contract.Partition
	Names         []string // raw_NNNN, or registrable domains
	At            time.Time
	RequiredSince time.Time // of a forced request: what was finished before then is to be done again; else zero
}

// Record writes the records of an event: all, or on an error none. Without any it does nothing.
func (l *Ledger) Record(ctx context.Context, c Changes) error {
	statements := c.statements()
	if len(statements) == 0 {
		return nil
	}
	_, err := l.batch(ctx, "ledger.Record", statements...)
	return err
}

func (c *Changes) statements() (statements []Statement) {
	if len(c.Failures) > 0 {
		rows := make([]failureRow, len(c.Failures))
		for i, f := range c.Failures {
			rows[i] = failureRow{f.Work, f.MessageID, f.Attempt, string(f.ErrorType), clip(f.ErrorMessage), f.WorkerVersion, f.Duration.Milliseconds(), f.FailedAt.UnixMilli()}
		}
		statements = append(statements, statement(insertFailures, rows))
	}
	if len(c.Finished) > 0 {
		statements = append(statements, statement(deleteFailures, c.Finished))
	}
	if len(c.DeadLetters) > 0 {
		rows := make([]deadLetterRow, len(c.DeadLetters))
		for i, d := range c.DeadLetters {
			rows[i] = deadLetterRow{
				MessageID: d.MessageID, Queue: d.QueueName, Work: d.WorkKey, ErrorType: string(d.ErrorType), ErrorMessage: clip(d.ErrorMessage),
				RetryCount: d.RetryCount, FailedAt: d.FailedAt.UnixMilli(), Version: d.WorkerVersion, DurationMS: d.ProcessingDurationMS, R2Key: d.R2Key,
				Country: contract.Text(d.Partition.Country), Category: contract.Text(d.Partition.Category), Date: contract.Text(d.Partition.Date), Domain: contract.Text(d.Domain),
			}
		}
		statements = append(statements, statement(insertDeadLetters, rows))
	}
	if len(c.Releases) > 0 {
		rows := make([]releaseRow, len(c.Releases))
		for i, r := range c.Releases {
			rows[i] = releaseRow{r.Domain, r.Owner, r.CoolDown.Milliseconds()}
		}
		statements = append(statements, statement(releaseLeases, rows))
	}
	return append(statements, c.work()...)
}

const (
	insertPartitions = `INSERT INTO partitions (country, category, date)
SELECT value->>'country', value->>'category', value->>'date' FROM json_each(?1) WHERE true
ON CONFLICT DO NOTHING`

	// Materialised, or every name would have the list of all read again.
	queued = `WITH q AS MATERIALIZED (
  SELECT p.id, value->>'queued_at' AS queued_at, value->>'needed_at' AS needed_at, value->'names' AS names
  FROM json_each(?1) JOIN partitions AS p ON p.country = value->>'country' AND p.category = value->>'category' AND p.date = value->>'date')
`

	laterQueued = `
ON CONFLICT DO UPDATE SET queued_at = max(queued_at, excluded.queued_at), needed_at = max(needed_at, excluded.needed_at)
WHERE excluded.queued_at > queued_at OR excluded.needed_at > needed_at`
)

// queuedRow is a Queued, or a part of one.
type queuedRow struct {
	contract.Partition
	Names         []string `json:"names"`
	QueuedAt      int64    `json:"queued_at"`
	RequiredSince int64    `json:"needed_at"`
}

// maxNames keeps a queuedRow, whose names have up to 253 bytes, below MaxStringBytes.
const maxNames = 2000

func queuedRows(list []Queued) (rows []queuedRow) {
	for _, q := range list {
		for names := range slices.Chunk(q.Names, maxNames) {
			rows = append(rows, queuedRow{q.Partition, names, millis(q.At), millis(q.RequiredSince)})
		}
	}
	return rows
}

// work gives the statements for what happened to files and domains.
func (c *Changes) work() (statements []Statement) {
	partitions := map[contract.Partition]bool{}
	for _, q := range slices.Concat(c.QueuedFiles, c.QueuedDomains) {
		partitions[q.Partition] = true
	}
	files, found := []fileRow{}, []fileRow{}
	for _, f := range c.Files {
		partitions[f.Partition] = true
		files = append(files, f.row())
	}
	for _, f := range c.FoundFiles {
		partitions[f.Partition] = true
		found = append(found, f.row())
	}
	domains := []domainRow{}
	for _, d := range c.Domains {
		partitions[d.Partition] = true
		domains = append(domains, d.row())
	}
	named := slices.SortedFunc(maps.Keys(partitions), func(a, b contract.Partition) int {
		return cmp.Or(strings.Compare(a.Country, b.Country), strings.Compare(a.Category, b.Category), strings.Compare(a.Date, b.Date))
	})
	statements = append(statements, pieces(insertPartitions, named)...)
	statements = append(statements, pieces(queueFiles, queuedRows(c.QueuedFiles))...)
	statements = append(statements, pieces(queueDomains, queuedRows(c.QueuedDomains))...)
	statements = append(statements, pieces(changeFiles, files)...)
	statements = append(statements, pieces(findFiles, found)...)
	return append(statements, pieces(changeDomains, domains)...)
}
