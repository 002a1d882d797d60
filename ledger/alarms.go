package ledger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// AlarmReading is the input of alarms, with their saved states.
type AlarmReading struct {
	At          time.Time
	Windows     map[int]Window // by their length in minutes
	DeadLetters contract.DeadLetterCounts
	SavedAlarms []SavedAlarm
	Frontier    []FrontierReading // of keptReadings, oldest first
	FeedFailing time.Duration     // how long deliveries of the feed have failed
}

// Window counts what was finished within a span of time.
type Window struct {
	FilesProcessed   float64
	FilesFailed      float64
	DomainsProcessed float64
	DomainsFailed    float64
	DurationMS       float64 // of the processed domains, without politeness waits
}

func (w *Window) set(column string, v gjson.Result) {
	switch column {
	case "files_processed":
		w.FilesProcessed = v.Num
	case "files_failed":
		w.FilesFailed = v.Num
	case "domains_processed":
		w.DomainsProcessed = v.Num
	case "domains_failed":
		w.DomainsFailed = v.Num
	case "duration_ms":
		w.DurationMS = v.Num
	}
}

// windowRow is a Window with its length in minutes, or its hour since 1970.
type windowRow struct {
	length, hour int64
	Window
}

func (row *windowRow) set(column string, v gjson.Result) {
	switch column {
	case "minutes":
		row.length = v.Int()
	case "hour":
		row.hour = v.Int()
	default:
		row.Window.set(column, v)
	}
}

// SavedAlarm is the last saved state of an alarm.
type SavedAlarm struct {
	Name  string
	State string
	Since time.Time
	// CalmSince is the time since when the value of a firing alarm has been well below its limit, or zero.
	CalmSince time.Time
}

func (a *SavedAlarm) set(column string, v gjson.Result) {
	switch column {
	case "name":
		a.Name = v.Str
	case "state":
		a.State = v.Str
	case "since":
		a.Since = epoch.Millis(v.Int()).Time()
	case "calm_since":
		a.CalmSince = epoch.Millis(v.Int()).Time()
	}
}

// Saved returns the saved state of an alarm.
func (r *AlarmReading) Saved(name string) (SavedAlarm, bool) {
	i := slices.IndexFunc(r.SavedAlarms, func(s SavedAlarm) bool { return s.Name == name })
	if i < 0 {
		return SavedAlarm{}, false
	}
	return r.SavedAlarms[i], true
}

// AlarmUpdate is a new state of an alarm.
type AlarmUpdate struct {
	Name   string
	State  string
	Notice *AlarmNotice // nil if the change is not reported
}

// AlarmNotice is a change to post.
type AlarmNotice struct {
	ID   string       `json:"id"`
	Body string       `json:"body"` // contract.AlarmChange as JSON
	At   epoch.Millis `json:"at"`
}

const (
	selectWindows = `SELECT w.value AS minutes, total(m.files_processed) AS files_processed,
total(m.files_failed) AS files_failed,
  total(m.domains_processed) AS domains_processed, total(m.domains_failed) AS domains_failed,
total(m.duration_ms) AS duration_ms
FROM json_each(?1) AS w LEFT JOIN minutes AS m ON m.minute > ?2 - w.value GROUP BY w.value`

	selectAlarms = `SELECT name, state, since, calm_since FROM alarms`

	setCalm = `UPDATE alarms SET calm_since = ?2 WHERE name IN (SELECT value FROM json_each(?1))`

	selectDeadLetterCounts = `SELECT state, count FROM dead_letter_counts`

	// If two crons see one change, only the first writes it: the second finds the new state.
	insertChange = `INSERT INTO alarm_changes (id, body, at, claimed_until, sent_at)
SELECT ?1, ?2, ?3, 0, ?4 WHERE NOT EXISTS (SELECT 1 FROM alarms WHERE name = ?5 AND state = ?6)`

	setAlarm = `INSERT INTO alarms (name, state, since) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET state = excluded.state, since = excluded.since, calm_since = 0
WHERE state <> excluded.state`

	claimChanges = `UPDATE alarm_changes SET claimed_until = ` + now + ` + ?1
WHERE id IN (SELECT id FROM alarm_changes WHERE sent_at = 0 AND claimed_until <= ` + now + ` ORDER BY at, id LIMIT ?2)
RETURNING id, body, at`

	settleChanges = `UPDATE alarm_changes SET sent_at = ?2, claimed_until = 0 WHERE id IN (SELECT value
FROM json_each(?1))`

	noteRefused = `UPDATE alarm_changes SET attempts = attempts + 1, error = ?2,
failing_since = iif(failing_since = 0, ?3, failing_since) WHERE id = ?1`

	// Changes are posted in order, so the oldest is the one that the webhook does not take.
	selectRefused = `SELECT attempts, failing_since, error,
(SELECT count(*) FROM alarm_changes WHERE sent_at = 0) AS waiting
FROM alarm_changes WHERE sent_at = 0 ORDER BY at, id LIMIT 1`

	releaseChanges = `UPDATE alarm_changes SET claimed_until = 0 WHERE sent_at = 0 AND id IN (SELECT value
FROM json_each(?1))`
)

// alarmStatements returns the queries of an AlarmReading; readAlarms decodes their results.
func alarmStatements(at time.Time, windows []int) []Statement {
	if windows == nil {
		windows = []int{}
	}
	return []Statement{
		statement(selectWindows, windows, minuteOf(at)),
		{SQL: selectAlarms},
		{SQL: selectDeadLetterCounts},
		{selectReadings, []any{minuteOf(at), int64(keptReadings)}},
		{selectFeedFailing, []any{epoch.MillisOf(at)}},
	}
}

// readAlarms decodes the results of alarmStatements, of which first is the first one.
func readAlarms(r *reader, first int, at time.Time) AlarmReading {
	reading := AlarmReading{At: at.UTC(), Windows: map[int]Window{}}
	for _, row := range readColumns[windowRow](r, first) {
		reading.Windows[int(row.length)] = row.Window
	}
	reading.SavedAlarms = readColumns[SavedAlarm](r, first+1)
	reading.DeadLetters = deadLetterCounts(readColumns[stateCount](r, first+2))
	reading.Frontier = readReadings(r, first+3)
	for _, row := range read[struct {
		MS int64 `json:"ms"`
	}](r, first+4) {
		reading.FeedFailing = time.Duration(max(row.MS, 0)) * time.Millisecond
	}
	return reading
}

// Alarms reads the input of alarms at an instant. windows are lengths in minutes before it.
func (l *Ledger) Alarms(ctx context.Context, at time.Time, windows []int) (AlarmReading, error) {
	const op = "ledger.Alarms"
	results, err := l.batch(ctx, op, alarmStatements(at, windows)...)
	if err != nil {
		return AlarmReading{}, err
	}
	r := reader{op: op, results: results}
	reading := readAlarms(&r, 0, at)
	return reading, r.err
}

// Failing is a kind of failures: of files, domains or messages.
type Failing string

// Kinds of failures.
const (
	FailingFiles   Failing = "files"
	FailingDomains Failing = "domains"
	FailingLetters Failing = "dead_letters" // neither replayed nor discarded
)

// failingBy are queries that count failures since ?1 by error. They read all present failures, so they only run when
// an alarm begins.
var failingBy = map[Failing]string{
	FailingFiles: `SELECT ifnull(error_type, '') AS error_type, count(*) AS n FROM files
WHERE state = 'failed' AND gave_up_at >= ?1`,
	FailingDomains: `SELECT ifnull(error_type, '') AS error_type, count(*) AS n FROM domains
WHERE state = 'failed' AND max(collected_at, gave_up_at) >= ?1`,
	FailingLetters: `SELECT error_type, count(*) AS n FROM dead_letters WHERE state = 'stored' AND failed_at >= ?1`,
}

// LeadingError returns the most frequent error of the failures since an instant, or nil if there is none.
func (l *Ledger) LeadingError(ctx context.Context, of Failing, since time.Time) (*contract.AlarmCause, error) {
	const op = "ledger.LeadingError"
	results, err := l.batch(ctx, op, Statement{failingBy[of] + ` GROUP BY 1 ORDER BY n DESC, error_type`,
		[]any{epoch.MillisOf(since)}})
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		ErrorType string `json:"error_type"`
		N         int64  `json:"n"`
	}](op, results[0])
	cause := contract.AlarmCause{}
	for _, r := range rows {
		cause.Of += r.N
		if cause.ErrorType == "" { // some failures have no known error
			cause.ErrorType, cause.Count = r.ErrorType, r.N
		}
	}
	if err != nil || cause.ErrorType == "" {
		return nil, err
	}
	return &cause, nil
}

// SaveAlarms saves new states of alarms. Unless post is set, their notices count as posted.
func (l *Ledger) SaveAlarms(ctx context.Context, at time.Time, updates []AlarmUpdate, post bool) error {
	var sent epoch.Millis
	if !post {
		sent = epoch.MillisOf(at)
	}
	var statements []Statement
	for _, u := range updates {
		if n := u.Notice; n != nil {
			statements = append(statements, Statement{insertChange, []any{n.ID, n.Body, n.At, sent, u.Name, u.State}})
		}
		statements = append(statements, Statement{setAlarm, []any{u.Name, u.State, epoch.MillisOf(at)}})
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := l.batch(ctx, "ledger.SaveAlarms", statements...)
	return err
}

// MarkAlarms saves which firing alarms have been calm since at, and which no longer are.
func (l *Ledger) MarkAlarms(ctx context.Context, at time.Time, calm, restless []string) error {
	var statements []Statement
	if len(calm) > 0 {
		statements = append(statements, statement(setCalm, calm, epoch.MillisOf(at)))
	}
	if len(restless) > 0 {
		statements = append(statements, statement(setCalm, restless, epoch.Millis(0)))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := l.batch(ctx, "ledger.MarkAlarms", statements...)
	return err
}

// ClaimAlarmChanges returns up to n changes to post, oldest first, and hides them from other callers for ttl.
func (l *Ledger) ClaimAlarmChanges(ctx context.Context, n int, ttl time.Duration) ([]AlarmNotice, error) {
	const op = "ledger.ClaimAlarmChanges"
	results, err := l.batch(ctx, op, Statement{claimChanges, []any{ttl.Milliseconds(), int64(n)}})
	if err != nil {
		return nil, err
	}
	notices, err := decode[AlarmNotice](op, results[0])
	slices.SortFunc(notices, func(a, b AlarmNotice) int {
		return cmp.Or(cmp.Compare(a.At, b.At),
			cmp.Compare(a.ID, b.ID))
	})
	return notices, err
}

// NoteRefusedAlarm notes that a change was posted in vain, and why.
func (l *Ledger) NoteRefusedAlarm(ctx context.Context, id, cause string, at time.Time) error {
	_, err := l.batch(ctx, "ledger.NoteRefusedAlarm", Statement{noteRefused, []any{id, cause, epoch.MillisOf(at)}})
	return err
}

// readRefused decodes the result of selectRefused: nil if the webhook took the last post.
func readRefused(r *reader, result int) *contract.AlarmsRefused {
	for _, row := range read[struct {
		Attempts     int64        `json:"attempts"`
		FailingSince epoch.Millis `json:"failing_since"`
		Error        string       `json:"error"`
		Waiting      int64        `json:"waiting"`
	}](r, result) {
		if row.Attempts > 0 {
			return &contract.AlarmsRefused{Since: *contract.At(row.FailingSince.Time()), Attempts: row.Attempts,
				Waiting: row.Waiting, Error: row.Error}
		}
	}
	return nil
}

// SettleAlarmChanges marks claimed changes as posted, and releases the others.
func (l *Ledger) SettleAlarmChanges(ctx context.Context, posted, unposted []string, at time.Time) error {
	var statements []Statement
	if len(posted) > 0 {
		statements = append(statements, statement(settleChanges, posted, epoch.MillisOf(at)))
	}
	if len(unposted) > 0 {
		statements = append(statements, statement(releaseChanges, unposted))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := l.batch(ctx, "ledger.SettleAlarmChanges", statements...)
	return err
}
