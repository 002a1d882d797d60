package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// Acquire leases name to owner for ttl by the database's clock, unless another owner has it.
func (s *Store) Acquire(ctx context.Context, name, owner string, ttl time.Duration) (ok bool, err error) {
	results, err := s.batch(ctx, "store.Acquire", s.statement(`INSERT INTO news_leases (name, owner, expires_at)
VALUES (?1, ?2, {now} + CAST(?3 AS BIGINT))
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at
WHERE news_leases.owner = excluded.owner OR news_leases.expires_at <= {now}`, name, owner, ttl.Milliseconds()))
	if err != nil {
		return false, err
	}
	return results[0].Changes > 0, nil
}

// Release ends owner's lease.
func (s *Store) Release(ctx context.Context, name, owner string) error {
	_, err := s.batch(ctx, "store.Release",
		s.statement(`DELETE FROM news_leases WHERE name = ?1 AND owner = ?2`, name, owner))
	return err
}

// Spend counts a call of a source in each window. If a window is used up, nothing is counted and full is that
// window. The last call of a window goes to one of two concurrent callers.
func (s *Store) Spend(ctx context.Context, source string, windows []info.Window) (full *info.Window, err error) {
	const op = "store.Spend"
	if len(windows) == 0 {
		return nil, nil
	}
	periods := make([]string, len(windows))
	var statements []ledger.Statement
	for i, w := range windows {
		periods[i] = w.Name
		statements = append(statements, s.statement(`INSERT INTO news_quotas (source, period, used, allowed, ends_at)
VALUES (?1, ?2, 0, CAST(?3 AS INTEGER), CAST(?4 AS BIGINT))
ON CONFLICT (source, period) DO UPDATE SET allowed = excluded.allowed WHERE news_quotas.allowed <> excluded.allowed`,
			source, w.Name, int64(w.Calls), epoch.MillisOf(w.Ends)))
	}
	// Rows are locked in one order, so that concurrent calls cannot deadlock.
	statements = append(statements,
		s.statement(`UPDATE news_quotas SET used = used + 1 WHERE source = ?2 AND period IN (`+s.list+`)
AND used < allowed AND NOT EXISTS (SELECT 1 FROM news_quotas AS other WHERE other.source = ?2
AND other.period IN (`+s.list+`) AND other.used >= other.allowed)`,
			encode(periods), source),
		s.statement(`SELECT period FROM news_quotas WHERE source = ?2 AND period IN (`+s.list+`) AND used >= allowed`,
			encode(periods), source))
	results, err := s.batch(ctx, op, statements...)
	if err != nil || results[len(windows)].Changes == int64(len(windows)) {
		return nil, err
	}
	rows, err := decode[struct {
		Period string `json:"period"`
	}](op, results[len(windows)+1])
	if err != nil {
		return nil, err
	}
	for i, w := range windows {
		for _, r := range rows {
			if r.Period == w.Name && (full == nil || w.Ends.After(full.Ends)) {
				full = &windows[i]
			}
		}
	}
	if full == nil { // a concurrent call took the last one
		full = &windows[len(windows)-1]
	}
	return full, nil
}

// Left lowers the calls left in a window to the provider's number: others use the same key.
func (s *Store) Left(ctx context.Context, source string, w info.Window, left int) error {
	_, err := s.batch(ctx, "store.Left", s.statement(`INSERT INTO news_quotas (source, period, used, allowed, ends_at)
VALUES (?1, ?2, CAST(?3 AS INTEGER) - CAST(?5 AS INTEGER), CAST(?3 AS INTEGER), CAST(?4 AS BIGINT))
ON CONFLICT (source, period) DO UPDATE SET used = excluded.used WHERE news_quotas.used < excluded.used`,
		source, w.Name, int64(w.Calls), epoch.MillisOf(w.Ends), int64(min(left, w.Calls))))
	return err
}

// Source is the stored state of a source.
type Source struct {
	Name        string
	State       []byte
	ExpectedAt  time.Time // when its collection was first due; zero if never recorded
	StartedAt   time.Time
	SucceededAt time.Time
	FailedAt    time.Time
	Failures    int // since the last success
	ErrorClass  string
	Error       string
	NotBefore   time.Time
	Counts      json.RawMessage // of the last successful collection; nil before
	Quotas      []info.Quota    // of current windows
	DeadLetters int
}

type sourceRow struct {
	Source      string       `json:"source"`
	State       *string      `json:"state"`
	ExpectedAt  epoch.Millis `json:"expected_at"`
	StartedAt   epoch.Millis `json:"started_at"`
	SucceededAt epoch.Millis `json:"succeeded_at"`
	FailedAt    epoch.Millis `json:"failed_at"`
	Failures    int          `json:"failures"`
	ErrorClass  *string      `json:"error_class"`
	Error       *string      `json:"error"`
	NotBefore   epoch.Millis `json:"not_before"`
	Counts      *string      `json:"counts"`
}

type quotaRow struct {
	Source  string       `json:"source"`
	Period  string       `json:"period"`
	Used    int          `json:"used"`
	Allowed int          `json:"allowed"`
	EndsAt  epoch.Millis `json:"ends_at"`
}

type countRow struct {
	Source string `json:"source"`
	N      int    `json:"n"`
}

// Sources returns the state of every source that was ever collected.
func (s *Store) Sources(ctx context.Context) ([]Source, error) {
	const op = "store.Sources"
	results, err := s.batch(ctx, op,
		s.statement(`SELECT source, state, expected_at, started_at, succeeded_at, failed_at, failures, error_class,
error, not_before, counts FROM news_sources ORDER BY source`),
		s.statement(`SELECT source, period, used, allowed, ends_at FROM news_quotas WHERE ends_at > {now}
ORDER BY source, period`),
		s.statement(`SELECT source, count(*) AS n FROM news_dead_letters GROUP BY source`))
	if err != nil {
		return nil, err
	}
	rows, err := decode[sourceRow](op, results[0])
	if err != nil {
		return nil, err
	}
	quotas, err := decode[quotaRow](op, results[1])
	if err != nil {
		return nil, err
	}
	letters, err := decode[countRow](op, results[2])
	if err != nil {
		return nil, err
	}
	var sources []Source
	for _, r := range rows {
		one := Source{
			Name: r.Source, ExpectedAt: r.ExpectedAt.Time(),
			StartedAt: r.StartedAt.Time(), SucceededAt: r.SucceededAt.Time(),
			FailedAt: r.FailedAt.Time(),
			Failures: r.Failures, ErrorClass: text(r.ErrorClass), Error: text(r.Error),
			NotBefore: r.NotBefore.Time(),
		}
		if r.State != nil {
			one.State = []byte(*r.State)
		}
		if r.Counts != nil {
			one.Counts = json.RawMessage(*r.Counts)
		}
		for _, q := range quotas {
			if q.Source == r.Source {
				one.Quotas = append(one.Quotas,
					info.Quota{Period: q.Period, Used: q.Used, Allowed: q.Allowed,
						Ends: q.EndsAt.Time()})
			}
		}
		for _, l := range letters {
			if l.Source == r.Source {
				one.DeadLetters = l.N
			}
		}
		sources = append(sources, one)
	}
	return sources, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Begin records the start of a collection and returns the source's state. staleAt is the time at which a success at
// now would be stale: the time at which the source is stale is that one at most, and that one at the first collection.
func (s *Store) Begin(ctx context.Context, source string, now, staleAt time.Time) (Source, error) {
	if _, err := s.batch(ctx, "store.Begin", s.statement(`INSERT INTO news_sources (source, started_at, stale_at)
VALUES (?1, CAST(?2 AS BIGINT), CAST(?3 AS BIGINT))
ON CONFLICT (source) DO UPDATE SET started_at = excluded.started_at,
stale_at = CASE WHEN news_sources.stale_at BETWEEN 1 AND excluded.stale_at THEN news_sources.stale_at
ELSE excluded.stale_at END`, source, epoch.MillisOf(now), epoch.MillisOf(staleAt))); err != nil {
		return Source{}, err
	}
	all, err := s.Sources(ctx)
	for _, one := range all {
		if one.Name == source {
			return one, err
		}
	}
	return Source{Name: source}, err
}

// Letter is a request that failed.
type Letter struct {
	Source, Request string
	Class, Error    string
	Attempts        int
	FirstAt, LastAt time.Time
}

// Success is a collection that succeeded at least in part.
type Success struct {
	Source string
	State  []byte // for the next collection; nil keeps the previous one
	Counts any
	Failed []Letter // requests that failed
	Now    time.Time
	// StaleAt is the time at which this success is too old, if none follows.
	StaleAt time.Time
}

// Succeed records a successful collection.
func (s *Store) Succeed(ctx context.Context, r Success) error {
	var state any
	if r.State != nil {
		state = string(r.State)
	}
	statements := []ledger.Statement{s.statement(`INSERT INTO news_sources (source, state, succeeded_at, counts,
stale_at)
VALUES (?1, ?2, CAST(?3 AS BIGINT), ?4, CAST(?5 AS BIGINT))
ON CONFLICT (source) DO UPDATE SET state = coalesce(excluded.state, news_sources.state),
succeeded_at = excluded.succeeded_at, stale_at = excluded.stale_at,
failures = 0, error_class = NULL, error = NULL, not_before = 0, counts = excluded.counts`,
		r.Source, state, epoch.MillisOf(r.Now), encode(r.Counts), epoch.MillisOf(r.StaleAt))}
	_, err := s.batch(ctx, "store.Succeed", append(statements, s.letters(r.Failed, r.Now)...)...)
	return err
}

// Failure is a failed collection.
type Failure struct {
	Source         string
	State          []byte // for the next collection; nil keeps the previous one
	Class, Message string
	NotBefore      time.Time // end of the source's rest
	Failed         []Letter  // requests that failed
	Now            time.Time
}

// Fail records a failed collection.
func (s *Store) Fail(ctx context.Context, f Failure) error {
	var state any
	if f.State != nil {
		state = string(f.State)
	}
	statements := []ledger.Statement{s.statement(`INSERT INTO news_sources
(source, state, failed_at, failures, error_class, error, not_before)
VALUES (?1, ?2, CAST(?3 AS BIGINT), 1, ?4, ?5, CAST(?6 AS BIGINT))
ON CONFLICT (source) DO UPDATE SET state = coalesce(excluded.state, news_sources.state),
failed_at = excluded.failed_at, failures = news_sources.failures + 1,
error_class = excluded.error_class, error = excluded.error, not_before = excluded.not_before`,
		f.Source, state, epoch.MillisOf(f.Now), f.Class, clip(f.Message), epoch.MillisOf(f.NotBefore))}
	_, err := s.batch(ctx, "store.Fail", append(statements, s.letters(f.Failed, f.Now)...)...)
	return err
}

// Rest makes a source rest until notBefore, without counting a failure.
func (s *Store) Rest(ctx context.Context, source, class string, notBefore time.Time) error {
	_, err := s.batch(ctx, "store.Rest", s.statement(`INSERT INTO news_sources (source, error_class, not_before)
VALUES (?1, ?2, CAST(?3 AS BIGINT))
ON CONFLICT (source) DO UPDATE SET error_class = excluded.error_class,
not_before = excluded.not_before`, source, class, epoch.MillisOf(notBefore)))
	return err
}

// Add records failed requests; a known one gets one more attempt.
func (s *Store) Add(ctx context.Context, failed []Letter, now time.Time) error {
	if len(failed) == 0 {
		return nil
	}
	_, err := s.batch(ctx, "store.Add", s.letters(failed, now)...)
	return err
}

func (s *Store) letters(failed []Letter, now time.Time) (statements []ledger.Statement) {
	for _, l := range failed {
		statements = append(statements, s.statement(`INSERT INTO news_dead_letters (source, request, error_class,
error, attempts, first_at, last_at)
VALUES (?1, ?2, ?3, ?4, 1, CAST(?5 AS BIGINT), CAST(?5 AS BIGINT))
ON CONFLICT (source, request) DO UPDATE SET error_class = excluded.error_class, error = excluded.error,
attempts = news_dead_letters.attempts + 1,
last_at = excluded.last_at`, l.Source, l.Request, l.Class, clip(l.Error), epoch.MillisOf(now)))
	}
	return statements
}

// maxError caps an error's text, in bytes.
const maxError = 1000

// clip shortens an error's text and drops what PostgreSQL refuses in text.
func clip(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s[:min(len(s), maxError)], ""), "\x00", "")
}

// DeadLetters returns up to limit failed requests, oldest failure first, of one source or of all for "".
func (s *Store) DeadLetters(ctx context.Context, source string, limit int) ([]Letter, error) {
	const op = "store.DeadLetters"
	results, err := s.batch(ctx, op, s.statement(`SELECT source, request, error_class, error, attempts, first_at,
last_at FROM news_dead_letters
WHERE ?1 = '' OR source = ?1 ORDER BY last_at, source, request LIMIT ?2`, source, int64(limit)))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Source   string       `json:"source"`
		Request  string       `json:"request"`
		Class    string       `json:"error_class"`
		Error    string       `json:"error"`
		Attempts int          `json:"attempts"`
		FirstAt  epoch.Millis `json:"first_at"`
		LastAt   epoch.Millis `json:"last_at"`
	}](op, results[0])
	var letters []Letter
	for _, r := range rows {
		letters = append(letters, Letter{r.Source, r.Request, r.Class, r.Error, r.Attempts,
			r.FirstAt.Time(), r.LastAt.Time()})
	}
	return letters, err
}

// Resolve deletes the dead letter of a request that succeeded or is given up, and reports whether it existed.
func (s *Store) Resolve(ctx context.Context, source, request string) (found bool, err error) {
	results, err := s.batch(ctx, "store.Resolve",
		s.statement(`DELETE FROM news_dead_letters WHERE source = ?1 AND request = ?2`, source, request))
	if err != nil {
		return false, err
	}
	return results[0].Changes > 0, nil
}

// Forget deletes windows, leases and runs of crons that ended, and changes of alarms that were posted, a week ago.
func (s *Store) Forget(ctx context.Context) error {
	_, err := s.batch(ctx, "store.Forget",
		s.statement(`DELETE FROM news_quotas WHERE ends_at < {now} - 604800000`),
		s.statement(`DELETE FROM news_leases WHERE expires_at < {now} - 604800000`),
		s.statement(`DELETE FROM news_crons WHERE began_at < {now} - 604800000`),
		s.statement(`DELETE FROM news_hosts WHERE ready_at < {now}`),
		s.statement(`DELETE FROM news_robots WHERE expires_at < {now}`),
		s.statement(`DELETE FROM news_alarm_changes WHERE sent_at > 0 AND sent_at < {now} - 604800000`))
	return err
}
