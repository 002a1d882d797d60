package ledger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/contract"
)

// AlarmReading is what alarms are judged by, and what was saved of them.
type AlarmReading struct {
	At          time.Time
	Windows     map[int]Window // by their length in minutes
	DeadLetters contract.DeadLetterCounts
	SavedAlarms []SavedAlarm
	Frontier    []FrontierReading // of the last hour and a bit, oldest first
	FeedFailing time.Duration     // for how long the webhook of the feed has taken no delivery
}

// Window counts what was finished within some time.
type Window struct {
	FilesProcessed   float64
	FilesFailed      float64
	DomainsProcessed float64
	DomainsFailed    float64
	DurationMS       float64 // of the processed domains, politeness waits left out
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

// windowRow is a Window with its length in minutes, or with the hour since 1970 that it is.
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

// SavedAlarm is the state of an alarm as SaveAlarms was given it last.
type SavedAlarm struct {
	Name  string
	State string
	Since time.Time
}

func (a *SavedAlarm) set(column string, v gjson.Result) {
	switch column {
	case "name":
		a.Name = v.Str
	case "state":
		a.State = v.Str
	case "since":
		a.Since = time.UnixMilli(v.Int()).UTC()
	}
}

// Saved gives what was saved of an alarm, if anything was.
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
	Notice *AlarmNotice // nil where the change is no news
}

// AlarmNotice is a change that is to be posted.
type AlarmNotice struct {
	ID   string `json:"id"`
	Body string `json:"body"` // contract.AlarmChange as JSON
	At   int64  `json:"at"`   // milliseconds since 1970
}

const (
	selectWindows = `SELECT w.value AS minutes, total(m.files_processed) AS files_processed, total(m.files_failed) AS files_failed,
  total(m.domains_processed) AS domains_processed, total(m.domains_failed) AS domains_failed, total(m.duration_ms) AS duration_ms
FROM json_each(?1) AS w LEFT JOIN minutes AS m ON m.minute > ?2 - w.value GROUP BY w.value`

	selectAlarms = `SELECT name, state, since FROM alarms`

	selectDeadLetterCounts = `SELECT state, count FROM dead_letter_counts`

	// Two crons that see one change write it once: the second finds the state as it wants it.
	insertChange = `INSERT INTO alarm_changes (id, body, at, claimed_until, sent_at)
SELECT ?1, ?2, ?3, 0, ?4 WHERE NOT EXISTS (SELECT 1 FROM alarms WHERE name = ?5 AND state = ?6)`

	setAlarm = `INSERT INTO alarms (name, state, since) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET state = excluded.state, since = excluded.since WHERE state <> excluded.state`

	claimChanges = `UPDATE alarm_changes SET claimed_until = ` + now + ` + ?1
WHERE id IN (SELECT id FROM alarm_changes WHERE sent_at = 0 AND claimed_until <= ` + now + ` ORDER BY at, id LIMIT ?2)
RETURNING id, body, at`

	settleChanges = `UPDATE alarm_changes SET sent_at = ?2, claimed_until = 0 WHERE id IN (SELECT value FROM json_each(?1))`

	releaseChanges = `UPDATE alarm_changes SET claimed_until = 0 WHERE sent_at = 0 AND id IN (SELECT value FROM json_each(?1))`
)

// alarmStatements ask for an AlarmReading, which readAlarms takes from their results.
func alarmStatements(at time.Time, windows []int) []Statement {
	if windows == nil {
		windows = []int{}
	}
	return []Statement{
		statement(selectWindows, windows, minuteOf(at)),
		{SQL: selectAlarms},
		{SQL: selectDeadLetterCounts},
		{selectReadings, []any{minuteOf(at), int64(keptReadings)}},
		{selectFeedFailing, []any{at.UnixMilli()}},
	}
}

// readAlarms takes the results that begin with the first. They were asked for at a time.
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

// Alarms reads what alarms are judged by. windows are lengths in minutes, up to at.
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

// SaveAlarms keeps new states of alarms. Their notices are kept for ClaimAlarmChanges only with post;
// without it they count as posted.
func (l *Ledger) SaveAlarms(ctx context.Context, at time.Time, updates []AlarmUpdate, post bool) error {
	var sent int64
	if !post {
		sent = at.UnixMilli()
	}
	var statements []Statement
	for _, u := range updates {
		if n := u.Notice; n != nil {
			statements = append(statements, Statement{insertChange, []any{n.ID, n.Body, n.At, sent, u.Name, u.State}})
		}
		statements = append(statements, Statement{setAlarm, []any{u.Name, u.State, at.UnixMilli()}})
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := l.batch(ctx, "ledger.SaveAlarms", statements...)
	return err
}

// ClaimAlarmChanges gives up to n changes that were not posted yet, oldest first, and keeps others
// from posting them for the time of ttl.
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

// SettleAlarmChanges notes which claimed changes were posted, and gives the others back.
func (l *Ledger) SettleAlarmChanges(ctx context.Context, posted, unposted []string, at time.Time) error {
	var statements []Statement
	if len(posted) > 0 {
		statements = append(statements, statement(settleChanges, posted, at.UnixMilli()))
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
