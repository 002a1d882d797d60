package ledger

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// Work identifies what a message requests, so that its failures are found again when it arrives as a dead letter.
type Work struct {
	Queue string `json:"queue"` // where the message was sent
	Key   string `json:"work"`  // such as a file's path, or a domain's directory with source file and part
}

// Failure is a failed attempt at some work.
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

const (
	insertFailures = `INSERT INTO failures (queue, work, message_id, attempt, error_type, error_message,
worker_version, duration_ms, failed_at)
SELECT value->>'queue', value->>'work', value->>'message_id', value->>'attempt', value->>'error_type',
value->>'error_message', value->>'worker_version', value->>'duration_ms', value->>'failed_at'
FROM json_each(?1) WHERE true
ON CONFLICT DO UPDATE SET error_type = excluded.error_type, error_message = excluded.error_message,
worker_version = excluded.worker_version, duration_ms = excluded.duration_ms, failed_at = excluded.failed_at`

	deleteFailures = `DELETE FROM failures WHERE (queue, work) IN (SELECT value->>'queue', value->>'work'
FROM json_each(?1))`
	selectFailures = `SELECT queue, work, message_id, attempt, error_type, error_message, worker_version,
duration_ms, failed_at
FROM failures WHERE (queue, work) IN (SELECT value->>'queue', value->>'work' FROM json_each(?1))
ORDER BY failed_at, attempt, message_id`
)

type failureRow struct {
	Work
	MessageID    string       `json:"message_id"`
	Attempt      int          `json:"attempt"`
	ErrorType    string       `json:"error_type"`
	ErrorMessage string       `json:"error_message"`
	Version      string       `json:"worker_version"`
	DurationMS   int64        `json:"duration_ms"`
	FailedAt     epoch.Millis `json:"failed_at"`
}

func (f Failure) row() failureRow {
	return failureRow{f.Work, f.MessageID, f.Attempt, string(f.ErrorType), clip(f.ErrorMessage), f.WorkerVersion,
		f.Duration.Milliseconds(), epoch.MillisOf(f.FailedAt)}
}

// Reasons returns the recorded failures of each work, oldest first. Work without failures is absent.
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
			Duration: time.Duration(r.DurationMS) * time.Millisecond, FailedAt: r.FailedAt.Time(),
		})
	}
	return reasons, err
}
