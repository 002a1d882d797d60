package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// DeadLetter is the record of a message that was given up and stored in R2.
type DeadLetter struct {
	MessageID string
	WorkKey   string // see Work; its queue is QueueName
	R2Key     string
	Partition contract.Partition // zero if unknown
	Domain    string             // "" if the message is not about a domain
	contract.DeadLetterError
	contract.DeadLetterContext
}

const insertDeadLetters = `INSERT INTO dead_letters (message_id, queue_name, work, error_type, error_message,
retry_count, failed_at, worker_version, processing_duration_ms, r2_key, country, category, date, domain, state)
SELECT value->>'message_id', value->>'queue_name', value->>'work', value->>'error_type', value->>'error_message',
value->>'retry_count', value->>'failed_at', value->>'worker_version', value->>'processing_duration_ms',
value->>'r2_key',
  value->>'country', value->>'category', value->>'date', value->>'domain', 'stored'
FROM json_each(?1) WHERE true
ON CONFLICT DO NOTHING`

type deadLetterRow struct {
	MessageID    string       `json:"message_id"`
	Queue        string       `json:"queue_name"`
	Work         string       `json:"work"`
	ErrorType    string       `json:"error_type"`
	ErrorMessage string       `json:"error_message"`
	RetryCount   int          `json:"retry_count"`
	FailedAt     epoch.Millis `json:"failed_at"`
	Version      string       `json:"worker_version"`
	DurationMS   int64        `json:"processing_duration_ms"`
	R2Key        string       `json:"r2_key"`

	Country    *string       `json:"country"`
	Category   *string       `json:"category"`
	Date       *string       `json:"date"`
	Domain     *string       `json:"domain"`
	State      string        `json:"state"`
	ResolvedAt *epoch.Millis `json:"resolved_at"`
	ResolvedBy *string       `json:"resolved_by"`
}

func (d DeadLetter) row() deadLetterRow {
	return deadLetterRow{
		MessageID: d.MessageID, Queue: d.QueueName, Work: d.WorkKey, ErrorType: string(d.ErrorType),
		ErrorMessage: clip(d.ErrorMessage),
		RetryCount:   d.RetryCount, FailedAt: epoch.MillisOf(d.FailedAt), Version: d.WorkerVersion,
		DurationMS: d.ProcessingDurationMS, R2Key: d.R2Key,
		Country: contract.Text(d.Partition.Country), Category: contract.Text(d.Partition.Category),
		Date: contract.Text(d.Partition.Date), Domain: contract.Text(d.Domain),
	}
}

// DeadLetterQuery selects dead letters, newest first. Zero fields match all.
type DeadLetterQuery struct {
	Filter contract.DeadLetterFilter
	State  contract.DeadLetterState
	Limit  int
	Cursor string // of the previous page
}

type deadLetterCursor struct {
	FailedAt epoch.Millis `json:"t"`
	ID       string       `json:"i"`
}

const deadLetterColumns = `message_id, queue_name, work, error_type, error_message, retry_count, failed_at, worker_version, processing_duration_ms, r2_key,
  country, category, date, domain, state, resolved_at, resolved_by`

func (r *deadLetterRow) record() contract.DeadLetterRecord {
	d := contract.DeadLetterRecord{
		ID: r.MessageID, State: contract.DeadLetterState(r.State), ResolvedBy: r.ResolvedBy, Work: r.Work,
		Domain: r.Domain, Key: r.R2Key,
		QueueRole: contract.Text(contract.QueueRole(r.Queue)),
		DeadLetterError: contract.DeadLetterError{
			ErrorType: contract.Kind(r.ErrorType), ErrorMessage: r.ErrorMessage, RetryCount: r.RetryCount,
			FailedAt: r.FailedAt.Time(),
		},
		DeadLetterContext: contract.DeadLetterContext{QueueName: r.Queue, WorkerVersion: r.Version,
			ProcessingDurationMS: r.DurationMS},
	}
	if r.ResolvedAt != nil {
		d.ResolvedAt = contract.At(r.ResolvedAt.Time())
	}
	if r.Country != nil && r.Category != nil && r.Date != nil {
		d.Partition = &contract.Partition{Country: *r.Country, Category: *r.Category, Date: *r.Date}
	}
	return d
}

func deadLetterConditions(f contract.DeadLetterFilter) *conditions {
	c := &conditions{}
	if f.Queue != "" {
		c.and("queue_name LIKE ?", contract.QueueName(f.Queue, "%"))
	}
	for _, term := range [...]struct{ column, value string }{
		{"error_type", f.ErrorType}, {"country", f.Country}, {"category", f.Category}, {"date", f.Date},
		{"domain", f.Domain},
	} {
		if term.value != "" {
			c.and(term.column+" = ?", term.value)
		}
	}
	return c
}

// DeadLetters returns one page of dead letters.
func (l *Ledger) DeadLetters(ctx context.Context, q DeadLetterQuery) (contract.DeadLetterPage, error) {
	const op = "ledger.DeadLetters"
	page := contract.DeadLetterPage{DeadLetters: []contract.DeadLetterRecord{}}
	c := deadLetterConditions(q.Filter)
	if q.State != "" {
		c.and("state = ?", string(q.State))
	}
	if q.Cursor != "" {
		var at deadLetterCursor
		if err := contract.DecodeCursor(q.Cursor, &at); err != nil {
			return page, err
		}
		c.and("(failed_at, message_id) < (?, ?)", at.FailedAt, at.ID)
	}
	results, err := l.batch(ctx, op, Statement{
		`SELECT ` + deadLetterColumns + ` FROM dead_letters` + c.where() +
			` ORDER BY failed_at DESC, message_id DESC LIMIT ?`, append(c.args, int64(q.Limit)+1),
	})
	if err != nil {
		return page, err
	}
	rows, err := decode[deadLetterRow](op, results[0])
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		last := rows[q.Limit-1]
		page.Cursor = contract.EncodeCursor(deadLetterCursor{last.FailedAt, last.MessageID})
	}
	for _, r := range rows {
		page.DeadLetters = append(page.DeadLetters, r.record())
	}
	return page, err
}

// maxHistory caps the dead letters and attempts of one work that DeadLetter returns.
const maxHistory = 100

// begins restricts a column of ids to those with a prefix. A prefix shorter than contract.MinPrefix must be the
// whole id.
func begins(column, value string) string {
	return fmt.Sprintf(`%[1]s >= %[2]s AND %[1]s < %[2]s || iif(length(%[2]s) < %[3]d, char(0), '~')`, column, value,
		contract.MinPrefix)
}

// DeadLetter returns a dead letter with the history of its work, or nil. A unique prefix of its id, of at least
// contract.MinPrefix characters, is enough.
func (l *Ledger) DeadLetter(ctx context.Context, id string) (*contract.DeadLetterDetail, error) {
	const op = "ledger.DeadLetter"
	whole := `(SELECT message_id FROM dead_letters WHERE ` + begins("message_id", "?1") +
		` ORDER BY message_id LIMIT 1)`
	same := `(SELECT queue_name, work FROM dead_letters WHERE message_id = ` + whole + `)`
	results, err := l.batch(ctx, op,
		Statement{`SELECT ` + deadLetterColumns + ` FROM dead_letters WHERE ` + begins("message_id", "?1") +
			` ORDER BY message_id LIMIT 2`, []any{id}},
		Statement{`SELECT ` + deadLetterColumns + ` FROM dead_letters WHERE (queue_name, work) IN ` + same +
			` AND message_id <> ` + whole + ` ORDER BY failed_at, message_id LIMIT ?2`, []any{id, int64(maxHistory)}},
		Statement{`SELECT queue, work, message_id, attempt, error_type, error_message, worker_version, duration_ms,
failed_at
FROM failures WHERE (queue, work) IN ` + same + ` ORDER BY failed_at, attempt, message_id
LIMIT ?2`, []any{id, int64(maxHistory)}})
	if err != nil {
		return nil, err
	}
	r := reader{op: op, results: results}
	rows := read[deadLetterRow](&r, 0)
	if r.err != nil || len(rows) == 0 {
		return nil, r.err
	}
	if len(rows) > 1 && rows[0].MessageID != id { // an exact match sorts first
		return nil, contract.Invalid("id", "several dead letters have an id with prefix %q; send a longer one", id)
	}
	d := &contract.DeadLetterDetail{DeadLetterRecord: rows[0].record(), Attempts: []contract.Attempt{},
		History: []contract.DeadLetterRecord{}}
	for _, row := range read[deadLetterRow](&r, 1) {
		d.History = append(d.History, row.record())
	}
	for _, f := range read[failureRow](&r, 2) {
		d.Attempts = append(d.Attempts, contract.Attempt{
			MessageID: f.MessageID, Attempt: f.Attempt, ErrorType: contract.Kind(f.ErrorType),
			ErrorMessage: f.ErrorMessage,
			FailedAt:     *contract.At(f.FailedAt.Time()), DurationMS: f.DurationMS, Version: f.Version,
		})
	}
	return d, r.err
}

// chosen returns the conditions of a choice.
func chosen(choice contract.DeadLetterChoice) *conditions {
	c := &conditions{}
	switch {
	case choice.Filter != nil:
		c = deadLetterConditions(*choice.Filter)
	case !choice.All:
		c.and("message_id IN (SELECT d.message_id FROM json_each(?) AS i CROSS JOIN dead_letters AS d ON "+begins(
			"d.message_id", "i.value")+")", statement("", choice.IDs).Args[0])
		return c
	}
	if choice.Queued {
		c.and("queue_name NOT LIKE ?", contract.QueueName(contract.WebhookQueue, "%"))
	}
	return c
}

// ChooseDeadLetters returns up to contract.MaxResolved dead letters of a choice, oldest first: the stored ones, and
// for ids (or prefixes, see DeadLetter) resolved ones, too.
func (l *Ledger) ChooseDeadLetters(ctx context.Context,
	choice contract.DeadLetterChoice) ([]contract.DeadLetterRecord, error) {
	const op = "ledger.ChooseDeadLetters"
	c := chosen(choice)
	if len(choice.IDs) == 0 {
		c.and("state = 'stored'")
	}
	results, err := l.batch(ctx, op, Statement{
		`SELECT ` + deadLetterColumns + ` FROM dead_letters` + c.where() + ` ORDER BY failed_at, message_id LIMIT ?`,
		append(c.args, int64(contract.MaxResolved)),
	})
	if err != nil {
		return nil, err
	}
	rows, err := decode[deadLetterRow](op, results[0])
	records := make([]contract.DeadLetterRecord, len(rows))
	for i := range rows {
		records[i] = rows[i].record()
	}
	return records, err
}

// Resolution is the outcome of dead letters.
type Resolution struct {
	IDs   []string
	State contract.DeadLetterState // Replayed or Discarded
	By    string                   // the caller's token
	At    time.Time
	Work  Changes // for work that was sent again or ended
	// Ended are the IDs whose work ended: other stored letters of that work get the same state.
	Ended []string
}

const resolveDeadLetters = `UPDATE dead_letters SET state = ?2, resolved_at = ?3, resolved_by = ?4
WHERE message_id IN (SELECT value FROM json_each(?1)) AND state = 'stored'`

// resolveSameWork runs after resolveDeadLetters, so it changes other letters than the ids.
const resolveSameWork = `UPDATE dead_letters SET state = ?2, resolved_at = ?3, resolved_by = ?4
WHERE (queue_name, work) IN (SELECT d.queue_name, d.work FROM json_each(?1) AS i JOIN dead_letters AS d
ON d.message_id = i.value) AND state = 'stored'
RETURNING message_id`

// Resolve marks stored dead letters as resolved. It returns the number of letters resolved in addition to the IDs, and
// the number left in the choice.
func (l *Ledger) Resolve(ctx context.Context, choice contract.DeadLetterChoice, r Resolution) (beside,
	remaining int64, err error) {
	const op = "ledger.Resolve"
	resolve := func(sql string, ids []string) Statement {
		return statement(sql, ids, string(r.State), epoch.MillisOf(r.At), r.By)
	}
	statements := append(r.Work.statements(), resolve(resolveDeadLetters, r.IDs))
	if len(r.Ended) > 0 {
		statements = append(statements, resolve(resolveSameWork, r.Ended))
	}
	c := chosen(choice)
	c.and("state = 'stored'")
	statements = append(statements, Statement{`SELECT count(*) AS count FROM dead_letters` + c.where(), c.args})
	results, err := l.batch(ctx, op, statements...)
	if err != nil {
		return 0, 0, err
	}
	reader := reader{op: op, results: results}
	if len(r.Ended) > 0 {
		beside = int64(len(read[struct{}](&reader, len(results)-2)))
	}
	for _, row := range read[struct {
		Count int64 `json:"count"`
	}](&reader, len(results)-1) {
		remaining = row.Count
	}
	return beside, remaining, reader.err
}

type stateCount struct {
	State string
	Count int64
}

func (row *stateCount) set(column string, v gjson.Result) {
	switch column {
	case "state":
		row.State = v.Str
	case "count":
		row.Count = v.Int()
	}
}

func deadLetterCounts(rows []stateCount) (c contract.DeadLetterCounts) {
	for _, r := range rows {
		switch contract.DeadLetterState(r.State) {
		case contract.Stored:
			c.Stored = r.Count
		case contract.Replayed:
			c.Replayed = r.Count
		case contract.Discarded:
			c.Discarded = r.Count
		}
	}
	return c
}
