// Package ledger remembers in D1 what happened to the pipeline's work: how far every raw file and
// domain is, the reasons of failures, dead letters, alarms, and the leases that keep two events from
// fetching one domain at the same time.
//
// The ledger is a view. What was done is told by the checkpoints in R2, so a caller logs an error
// of this package and goes on.
package ledger

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Migrations holds migrations/*.sql, which `wrangler d1 migrations apply` applies in the order of
// their names; tests apply them to SQLite.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// maxErrorMessage is how much of an error's text is kept, in bytes.
const maxErrorMessage = 2000

// Statement is one SQL statement with its parameters, which are strings, int64 or nil.
type Statement struct {
	SQL  string
	Args []any
}

// Result is what a statement gave.
type Result struct {
	Changes int64           `json:"changes"` // rows inserted, updated or deleted
	Rows    json.RawMessage `json:"rows"`    // a JSON array of objects by column name
}

// DB is the database. Batch runs statements as one transaction: all or none.
type DB interface {
	Batch(ctx context.Context, statements []Statement) ([]Result, error)
}

// Limits of D1 (developers.cloudflare.com/d1/platform/limits/).
const (
	MaxParameters  = 100       // of one statement
	MaxSQLBytes    = 100_000   // of one statement
	MaxStringBytes = 2_000_000 // of one parameter
)

// Ledger keeps its records in db. Its methods return errors of kind contract.Storage, and use at
// most one Batch each.
type Ledger struct{ db DB }

// New makes a ledger on a database to which Migrations were applied.
func New(db DB) *Ledger { return &Ledger{db} }

// Work identifies what a message asks for, so that its failures are found again when it arrives as
// a dead letter.
type Work struct {
	Queue string `json:"queue"` // where the message was sent
	Key   string `json:"work"`  // such as a file's path, or a domain's directory with source file and part
}

// Failure is the reason why one attempt at some work failed.
type Failure struct {
	Work
	MessageID     string
	Attempt       int // 1 for the first delivery
	ErrorType     contract.Kind
	ErrorMessage  string
	WorkerVersion string
	Duration      time.Duration // of the attempt
	FailedAt      time.Time
}

// DeadLetter is the record of a message that was given up and stored in R2.
type DeadLetter struct {
	MessageID string
	WorkKey   string // see Work; its queue is QueueName
	R2Key     string
	Partition contract.Partition // zero when the message does not say
	Domain    string             // "" when the message is not about one
	contract.DeadLetterError
	contract.DeadLetterContext
}

// Release ends the lease of a domain.
type Release struct {
	Domain   string
	Owner    string
	CoolDown time.Duration // how long nobody may lease the domain yet, such as the delay its hosts ask for
}

// Changes are the records of one event.
type Changes struct {
	Failures    []Failure    // an attempt recorded twice is one row, the later record
	Finished    []Work       // work done: its failures are forgotten
	DeadLetters []DeadLetter // one that is known already stays as it is
	Releases    []Release    // of leases that are still the owner's

	QueuedFiles   []Queued
	QueuedDomains []Queued
	Files         []FileChange
	FoundFiles    []FileChange // that were processed before; their times count only where none is known
	Domains       []DomainChange
}

// now is the database's own clock in milliseconds, so that leases do not depend on the clocks of
// those who take them.
const now = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

// Lists travel as one JSON parameter: a statement takes at most MaxParameters, but any JSON.
const (
	insertFailures = `INSERT INTO failures (queue, work, message_id, attempt, error_type, error_message, worker_version, duration_ms, failed_at)
SELECT value->>'queue', value->>'work', value->>'message_id', value->>'attempt', value->>'error_type', value->>'error_message', value->>'worker_version', value->>'duration_ms', value->>'failed_at'
FROM json_each(?1) WHERE true
ON CONFLICT DO UPDATE SET error_type = excluded.error_type, error_message = excluded.error_message, worker_version = excluded.worker_version, duration_ms = excluded.duration_ms, failed_at = excluded.failed_at`

	deleteFailures = `DELETE FROM failures WHERE (queue, work) IN (SELECT value->>'queue', value->>'work' FROM json_each(?1))`

	selectFailures = `SELECT queue, work, message_id, attempt, error_type, error_message, worker_version, duration_ms, failed_at
FROM failures WHERE (queue, work) IN (SELECT value->>'queue', value->>'work' FROM json_each(?1))
ORDER BY failed_at, attempt, message_id`

	insertDeadLetters = `INSERT INTO dead_letters (message_id, queue_name, work, error_type, error_message, retry_count, failed_at, worker_version, processing_duration_ms, r2_key, country, category, date, domain, state)
SELECT value->>'message_id', value->>'queue_name', value->>'work', value->>'error_type', value->>'error_message', value->>'retry_count', value->>'failed_at', value->>'worker_version', value->>'processing_duration_ms', value->>'r2_key',
  value->>'country', value->>'category', value->>'date', value->>'domain', 'stored'
FROM json_each(?1) WHERE true
ON CONFLICT DO NOTHING`

	acquireLeases = `INSERT INTO leases (domain, owner, expires_at)
SELECT value, ?2, ` + now + ` + ?3 FROM json_each(?1) WHERE true
ON CONFLICT DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
WHERE leases.owner = excluded.owner OR leases.expires_at <= ` + now

	selectBusy = `SELECT domain, max(expires_at - ` + now + `, 0) AS remaining_ms
FROM leases WHERE domain IN (SELECT value FROM json_each(?1)) AND owner <> ?2`

	renewLeases = `UPDATE leases SET expires_at = ` + now + ` + ?3
WHERE domain IN (SELECT value FROM json_each(?1)) AND owner = ?2`

	selectLost = `SELECT value AS domain FROM json_each(?1)
WHERE value NOT IN (SELECT domain FROM leases WHERE domain IN (SELECT value FROM json_each(?1)) AND owner = ?2)`

	releaseLeases = `UPDATE leases SET owner = '', expires_at = ` + now + ` + released.cool_down_ms
FROM (SELECT value->>'domain' AS domain, value->>'owner' AS owner, value->>'cool_down_ms' AS cool_down_ms FROM json_each(?1)) AS released
WHERE leases.domain = released.domain AND leases.owner = released.owner`
)

type failureRow struct {
	Work
	MessageID    string `json:"message_id"`
	Attempt      int    `json:"attempt"`
	ErrorType    string `json:"error_type"`
	ErrorMessage string `json:"error_message"`
	Version      string `json:"worker_version"`
	DurationMS   int64  `json:"duration_ms"`
	FailedAt     int64  `json:"failed_at"`
}

type deadLetterRow struct {
	MessageID    string `json:"message_id"`
	Queue        string `json:"queue_name"`
	Work         string `json:"work"`
	ErrorType    string `json:"error_type"`
	ErrorMessage string `json:"error_message"`
	RetryCount   int    `json:"retry_count"`
	FailedAt     int64  `json:"failed_at"`
	Version      string `json:"worker_version"`
	DurationMS   int64  `json:"processing_duration_ms"`
	R2Key        string `json:"r2_key"`

	Country    *string `json:"country"`
	Category   *string `json:"category"`
	Date       *string `json:"date"`
	Domain     *string `json:"domain"`
	State      string  `json:"state"`
	ResolvedAt *int64  `json:"resolved_at"`
	ResolvedBy *string `json:"resolved_by"`
}

type releaseRow struct {
	Domain     string `json:"domain"`
	Owner      string `json:"owner"`
	CoolDownMS int64  `json:"cool_down_ms"`
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

// Reasons gives the failures recorded for each work, oldest first. Work without any is not in the map.
func (l *Ledger) Reasons(ctx context.Context, works []Work) (map[Work][]Failure, error) {
	const op = "ledger.Reasons"
	results, err := l.batch(ctx, op, statement(selectFailures, works))
	if err != nil {
		return nil, err
	}
	rows, err := decode[failureRow](op, results[0])
	reasons := map[Work][]Failure{}
	for _, r := range rows {
		reasons[r.Work] = append(reasons[r.Work], Failure{
			Work: r.Work, MessageID: r.MessageID, Attempt: r.Attempt,
			ErrorType: contract.Kind(r.ErrorType), ErrorMessage: r.ErrorMessage, WorkerVersion: r.Version,
			Duration: time.Duration(r.DurationMS) * time.Millisecond, FailedAt: time.UnixMilli(r.FailedAt).UTC(),
		})
	}
	return reasons, err
}

// Acquire leases the domains that nobody else holds to owner for ttl, by the database's clock. busy
// holds the others, and how long they remain leased. The owner's own leases are extended.
func (l *Ledger) Acquire(ctx context.Context, owner string, domains []string, ttl time.Duration) (busy map[string]time.Duration, err error) {
	const op = "ledger.Acquire"
	results, err := l.batch(ctx, op,
		statement(acquireLeases, domains, owner, ttl.Milliseconds()),
		statement(selectBusy, domains, owner))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Domain      string `json:"domain"`
		RemainingMS int64  `json:"remaining_ms"`
	}](op, results[1])
	busy = make(map[string]time.Duration, len(rows))
	for _, r := range rows {
		busy[r.Domain] = time.Duration(r.RemainingMS) * time.Millisecond
	}
	return busy, err
}

// Renew extends leases to ttl from now. lost are the domains that the owner does not hold any more,
// since another took them after they had expired.
func (l *Ledger) Renew(ctx context.Context, owner string, domains []string, ttl time.Duration) (lost []string, err error) {
	const op = "ledger.Renew"
	results, err := l.batch(ctx, op,
		statement(renewLeases, domains, owner, ttl.Milliseconds()),
		statement(selectLost, domains, owner))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Domain string `json:"domain"`
	}](op, results[1])
	for _, r := range rows {
		lost = append(lost, r.Domain)
	}
	return lost, err
}

// Ping asks the database for its clock.
func (l *Ledger) Ping(ctx context.Context) error {
	_, err := l.batch(ctx, "ledger.Ping", Statement{SQL: `SELECT ` + now + ` AS now`})
	return err
}

func (l *Ledger) batch(ctx context.Context, op string, statements ...Statement) ([]Result, error) {
	err := ctx.Err()
	var results []Result
	if err == nil {
		results, err = l.db.Batch(ctx, statements)
	}
	if err == nil && len(results) != len(statements) {
		err = fmt.Errorf("%d results for %d statements", len(results), len(statements))
	}
	return results, fault(op, err)
}

func decode[Row any](op string, r Result) (rows []Row, err error) {
	err = json.Unmarshal(r.Rows, &rows)
	return rows, fault(op, err)
}

func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &contract.Error{Kind: contract.Storage, Op: op, Message: "the database failed; try again", Err: err}
}

// statement makes list the first parameter, as JSON.
func statement(sql string, list any, args ...any) Statement {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and integers always marshal
	}
	return Statement{sql, append([]any{string(b)}, args...)}
}

// clip keeps the beginning of a long error text.
func clip(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxErrorMessage)], "")
}
