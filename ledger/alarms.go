package ledger

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// The rules of the alarms, as the workflow document has them: an alarm fires while its value is
// above its threshold. Rates and the average are over what was finished within the window; they
// tell nothing, and do not fire, while that is less than leastFinished.
const (
	alarmWindow      = 60 // minutes
	leastFinished    = 20
	maxFileFailures  = 5    // percent of the finished files
	maxDomainFailure = 10   // percent of the finished domains
	maxAverageMS     = 5000 // of a processed domain
	maxStoredLetters = 100  // neither replayed nor discarded
)

// window counts what was finished within some time.
type window struct {
	FilesProcessed   float64 `json:"files_processed"`
	FilesFailed      float64 `json:"files_failed"`
	DomainsProcessed float64 `json:"domains_processed"`
	DomainsFailed    float64 `json:"domains_failed"`
	DurationMS       float64 `json:"duration_ms"`
}

func windowStart(now time.Time) int64 {
	return now.UnixMilli()/time.Minute.Milliseconds() - alarmWindow
}

type alarmRow struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Since int64  `json:"since"`
}

// alarmStates judges. rows are the states as the cron saw them last.
func alarmStates(windows []window, storedLetters int64, rows []alarmRow) []contract.AlarmState {
	var w window
	if len(windows) > 0 {
		w = windows[0]
	}
	share := func(failed, processed float64) *float64 {
		if failed+processed < leastFinished {
			return nil
		}
		v := math.Round(failed/(failed+processed)*1000) / 10
		return &v
	}
	var slow *float64
	if w.DomainsProcessed >= leastFinished {
		v := math.Round(w.DurationMS / w.DomainsProcessed)
		slow = &v
	}
	stored := float64(storedLetters)
	minutes := alarmWindow
	states := []contract.AlarmState{
		{Name: contract.FileFailures, Value: share(w.FilesFailed, w.FilesProcessed), Threshold: maxFileFailures, Unit: "percent", Window: &minutes},
		{Name: contract.DomainFailures, Value: share(w.DomainsFailed, w.DomainsProcessed), Threshold: maxDomainFailure, Unit: "percent", Window: &minutes},
		{Name: contract.SlowDomains, Value: slow, Threshold: maxAverageMS, Unit: "ms", Window: &minutes},
		{Name: contract.DeadLetters, Value: &stored, Threshold: maxStoredLetters, Unit: "count"},
	}
	for i := range states {
		s := &states[i]
		s.State = contract.AlarmOK
		if s.Value != nil && *s.Value > s.Threshold {
			s.State = contract.AlarmFiring
		}
		if n := slices.IndexFunc(rows, func(r alarmRow) bool { return r.Name == s.Name }); n >= 0 && rows[n].State == s.State {
			s.Since = moment(rows[n].Since)
		}
	}
	return states
}

// sentence describes a change for people.
func sentence(s *contract.AlarmState, environment string) string {
	what := map[string]string{
		contract.FileFailures:   "Files that fail",
		contract.DomainFailures: "Domains that fail",
		contract.SlowDomains:    "Average processing of a domain",
		contract.DeadLetters:    "Dead letters neither replayed nor discarded",
	}[s.Name]
	unit := map[string]string{"percent": " %", "ms": " ms"}[s.Unit]
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + unit }
	value := "too few finished to tell"
	if s.Value != nil {
		value = number(*s.Value)
	}
	over := ""
	if s.Window != nil {
		over = fmt.Sprintf(" over the last %d minutes", *s.Window)
	}
	verb := "ALARM"
	if s.State == contract.AlarmOK {
		verb = "Recovered"
	}
	return fmt.Sprintf("%s (%s): %s: %s%s; the limit is %s.", verb, environment, what, value, over, number(s.Threshold))
}

const (
	// Two crons that see one change write it once: whoever comes second finds the state as it wants it.
	changeAlarm = `INSERT INTO alarm_changes (id, body, at, claimed_until, sent_at)
SELECT ?1, ?2, ?3, 0, ?4 WHERE NOT EXISTS (SELECT 1 FROM alarms WHERE name = ?5 AND state = ?6)`

	setAlarm = `INSERT INTO alarms (name, state, since) VALUES (?1, ?2, ?3)
ON CONFLICT DO UPDATE SET state = excluded.state, since = excluded.since WHERE state <> excluded.state`

	claimChanges = `UPDATE alarm_changes SET claimed_until = ` + now + ` + ?1
WHERE id IN (SELECT id FROM alarm_changes WHERE sent_at = 0 AND claimed_until <= ` + now + ` ORDER BY at, id LIMIT ?2)
RETURNING id, body, at`

	settleChanges = `UPDATE alarm_changes SET sent_at = ?2, claimed_until = 0 WHERE id IN (SELECT value FROM json_each(?1))`

	releaseChanges = `UPDATE alarm_changes SET claimed_until = 0 WHERE sent_at = 0 AND id IN (SELECT value FROM json_each(?1))`
)

// CheckAlarms compares every alarm with its state at the last check, and notes the changes. They are
// kept for ClaimAlarmChanges only if someone is to be told of them.
func (l *Ledger) CheckAlarms(ctx context.Context, at time.Time, environment string, tell bool) (changed []contract.AlarmChange, err error) {
	const op = "ledger.CheckAlarms"
	results, err := l.batch(ctx, op,
		Statement{selectWindow, []any{windowStart(at)}},
		Statement{SQL: selectAlarms},
		Statement{SQL: selectDeadLetterCounts})
	if err != nil {
		return nil, err
	}
	r := reader{op: op, results: results}
	rows := read[alarmRow](&r, 1)
	states := alarmStates(read[window](&r, 0), deadLetterCounts(read[stateCount](&r, 2)).Stored, rows)
	if r.err != nil {
		return nil, r.err
	}
	var statements []Statement
	for i := range states {
		s := &states[i]
		n := slices.IndexFunc(rows, func(r alarmRow) bool { return r.Name == s.Name })
		if n >= 0 && rows[n].State == s.State {
			continue
		}
		if n >= 0 || s.State == contract.AlarmFiring { // that an alarm is well from the start is no news
			c := contract.AlarmChange{
				ID: rand.Text(), Alarm: s.Name, State: s.State, Value: s.Value, Threshold: s.Threshold, Unit: s.Unit,
				Window: s.Window, At: contract.Time{Time: at.UTC()}, Environment: environment, Text: sentence(s, environment),
			}
			body, err := json.Marshal(c)
			if err != nil {
				panic(err) // it is plain data
			}
			var sent int64
			if !tell {
				sent = at.UnixMilli()
			}
			statements = append(statements, Statement{changeAlarm, []any{c.ID, string(body), at.UnixMilli(), sent, s.Name, s.State}})
			changed = append(changed, c)
		}
		statements = append(statements, Statement{setAlarm, []any{s.Name, s.State, at.UnixMilli()}})
	}
	if len(statements) == 0 {
		return nil, nil
	}
	_, err = l.batch(ctx, op, statements...)
	return changed, err
}

// AlarmNotice is a change that is to be posted.
type AlarmNotice struct {
	ID   string `json:"id"`
	Body string `json:"body"` // contract.AlarmChange as JSON
	At   int64  `json:"at"`   // milliseconds since 1970
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
	slices.SortFunc(notices, func(a, b AlarmNotice) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	return notices, err
}

// SettleAlarmChanges notes which claimed changes were posted, and gives the others back.
func (l *Ledger) SettleAlarmChanges(ctx context.Context, posted, rest []string, at time.Time) error {
	var statements []Statement
	if len(posted) > 0 {
		statements = append(statements, statement(settleChanges, posted, at.UnixMilli()))
	}
	if len(rest) > 0 {
		statements = append(statements, statement(releaseChanges, rest))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := l.batch(ctx, "ledger.SettleAlarmChanges", statements...)
	return err
}
