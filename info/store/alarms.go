package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/ledger"
)

// alarmRecords is the part of a Store about alarms.
type alarmRecords struct{ *base }

// Expect records when the collection of sources is first due. Existing records stay.
func (s *alarmRecords) Expect(ctx context.Context, sources []string, now time.Time) error {
	var statements []ledger.Statement
	for _, source := range sources {
		statements = append(statements, s.statement(`INSERT INTO news_sources (source, expected_at) VALUES (?1,
CAST(?2 AS BIGINT))
ON CONFLICT (source) DO UPDATE SET expected_at = excluded.expected_at
WHERE news_sources.expected_at = 0`, source, epoch.MillisOf(now)))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := s.batch(ctx, "store.Expect", statements...)
	return err
}

// Alarms returns the saved states of alarms.
func (s *alarmRecords) Alarms(ctx context.Context) ([]ledger.SavedAlarm, error) {
	const op = "store.Alarms"
	results, err := s.batch(ctx, op, s.statement(`SELECT name, state, since FROM news_alarms ORDER BY name`))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Name  string       `json:"name"`
		State string       `json:"state"`
		Since epoch.Millis `json:"since"`
	}](op, results[0])
	var saved []ledger.SavedAlarm
	for _, r := range rows {
		saved = append(saved, ledger.SavedAlarm{Name: r.Name, State: r.State, Since: r.Since.Time()})
	}
	return saved, err
}

// SaveAlarms implements alarms.Records. A change whose state is already saved is dropped.
func (s *alarmRecords) SaveAlarms(ctx context.Context, at time.Time, updates []ledger.AlarmUpdate, post bool) error {
	var sent epoch.Millis
	if !post {
		sent = epoch.MillisOf(at)
	}
	var statements []ledger.Statement
	for _, u := range updates {
		if n := u.Notice; n != nil {
			statements = append(statements, s.statement(`INSERT INTO news_alarm_changes (id, body, at, sent_at)
SELECT ?1, ?2, CAST(?3 AS BIGINT), CAST(?4 AS BIGINT) WHERE NOT EXISTS (SELECT 1 FROM news_alarms WHERE name = ?5
AND state = ?6)`,
				n.ID, n.Body, n.At, sent, u.Name, u.State))
		}
		statements = append(statements, s.statement(`INSERT INTO news_alarms (name, state, since) VALUES (?1, ?2,
CAST(?3 AS BIGINT))
ON CONFLICT (name) DO UPDATE SET state = excluded.state, since = excluded.since
WHERE news_alarms.state <> excluded.state`,
			u.Name, u.State, epoch.MillisOf(at)))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := s.batch(ctx, "store.SaveAlarms", statements...)
	return err
}

// ClaimAlarmChanges implements alarms.Records.
func (s *alarmRecords) ClaimAlarmChanges(ctx context.Context, n int, ttl time.Duration) ([]ledger.AlarmNotice, error) {
	const op = "store.ClaimAlarmChanges"
	results, err := s.batch(ctx, op, s.statement(`UPDATE news_alarm_changes
SET claimed_until = {now} + CAST(?1 AS BIGINT)
WHERE id IN (SELECT id FROM news_alarm_changes WHERE sent_at = 0 AND claimed_until <= {now} ORDER BY at, id
LIMIT CAST(?2 AS INTEGER))
RETURNING id, body, at`, ttl.Milliseconds(), int64(n)))
	if err != nil {
		return nil, err
	}
	notices, err := decode[ledger.AlarmNotice](op, results[0])
	slices.SortFunc(notices, func(a, b ledger.AlarmNotice) int {
		return cmp.Or(cmp.Compare(a.At, b.At),
			cmp.Compare(a.ID, b.ID))
	})
	return notices, err
}

// SettleAlarmChanges implements alarms.Records.
func (s *alarmRecords) SettleAlarmChanges(ctx context.Context, posted, unposted []string, at time.Time) error {
	var statements []ledger.Statement
	if len(posted) > 0 {
		statements = append(statements, s.statement(
			`UPDATE news_alarm_changes SET sent_at = CAST(?2 AS BIGINT), claimed_until = 0 WHERE id IN (`+s.list+`)`,
			encode(posted), epoch.MillisOf(at)))
	}
	if len(unposted) > 0 {
		statements = append(statements, s.statement(
			`UPDATE news_alarm_changes SET claimed_until = 0 WHERE sent_at = 0 AND id IN (`+s.list+`)`,
			encode(unposted)))
	}
	if len(statements) == 0 {
		return nil
	}
	_, err := s.batch(ctx, "store.SettleAlarmChanges", statements...)
	return err
}
