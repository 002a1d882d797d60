package queues

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// Ledger keeps reasons of failures and the list of dead letters.
type Ledger interface {
	Record(ctx context.Context, c ledger.Changes) error
	Reasons(ctx context.Context, works []ledger.Work) (map[ledger.Work][]ledger.Failure, error)
}

// Store keeps dead letters.
type Store interface {
	Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error)
}

// Resender puts a message back on the dead-letter queue.
type Resender interface {
	SendOne(ctx context.Context, body []byte, delay time.Duration) error
}

// DeadLetters records why messages fail, and stores those that were given up with that reason.
type DeadLetters struct {
	Ledger  Ledger
	Bucket  Store
	Queue   Resender // the dead-letter queue itself
	Version string   // of the Worker
	Delay   time.Duration
	Log     *slog.Logger
	Now     func() time.Time
}

// storeDelay is how long a dead letter waits on its queue when it could not be stored.
const storeDelay = 10 * time.Minute

// record notes why messages of a queue failed, forgets the reasons of work that was finished at
// last, and gives leases up. The ledger being away stops nothing: a dead letter then only says less.
func (d *DeadLetters) record(ctx context.Context, queue string, failures []failed, finished []Message, releases []ledger.Release) {
	c := ledger.Changes{Releases: releases}
	for _, f := range failures {
		c.Failures = append(c.Failures, ledger.Failure{
			Work:      workOf(queue, f.message.Body()),
			MessageID: f.message.ID(), Attempt: f.message.Attempts(),
			ErrorType: contract.KindOf(f.err), ErrorMessage: f.err.Error(),
			WorkerVersion: d.Version, Duration: f.duration, FailedAt: d.Now(),
		})
	}
	for _, m := range finished {
		if m.Attempts() > 1 {
			c.Finished = append(c.Finished, workOf(queue, m.Body()))
		}
	}
	if err := d.Ledger.Record(ctx, c); err != nil {
		d.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", queue)
	}
}

// workOf identifies what a message of a queue asks for.
func workOf(queue string, body []byte) ledger.Work {
	sum := sha256.Sum256(body)
	key := "message:" + hex.EncodeToString(sum[:])
	switch Role(queue) {
	case Seed:
		if w, err := contract.ParseSeed(body, r2.RawPartition); err == nil && w.File != nil {
			key = w.File.FilePath
		}
	case Domain:
		if m, err := contract.ParseDomain(body); err == nil {
			raw, _, _ := r2.ParseRaw(m.SourceFilePath)
			key = r2.DomainDir{Partition: m.Partition, Domain: m.Domain}.URLList(raw.Name, m.Part)
		}
	}
	return ledger.Work{Queue: queue, Key: key}
}

// candidates are the works that a dead letter may stand for: it does not say which queue gave it up.
func candidates(dlq string, body []byte) []ledger.Work {
	environment := strings.TrimPrefix(dlq, "newsfork-"+DLQ)
	seed := workOf("newsfork-"+Seed+environment, body)
	domain := workOf("newsfork-"+Domain+environment, body)
	if _, err := contract.ParseDomain(body); err == nil {
		return []ledger.Work{domain, seed}
	}
	return []ledger.Work{seed, domain}
}

// handle stores a batch of the dead-letter queue.
func (d *DeadLetters) handle(ctx context.Context, dlq string, messages []Message) {
	var works []ledger.Work
	for _, m := range messages {
		works = append(works, candidates(dlq, m.Body())...)
	}
	reasons, err := d.Ledger.Reasons(ctx, works)
	if err != nil {
		d.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", dlq)
	}
	var stored []ledger.DeadLetter
	for i, m := range messages {
		work := works[2*i]
		if len(reasons[work]) == 0 && len(reasons[works[2*i+1]]) > 0 {
			work = works[2*i+1]
		}
		row, err := d.store(ctx, m, work, reasons[work])
		if err != nil {
			d.keep(ctx, m, err)
			continue
		}
		m.Ack()
		stored = append(stored, row)
	}
	if err := d.Ledger.Record(ctx, ledger.Changes{DeadLetters: stored}); err != nil {
		d.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", dlq)
	}
}

// store writes one dead letter. Delivered twice it has the same key and content.
func (d *DeadLetters) store(ctx context.Context, m Message, work ledger.Work, reasons []ledger.Failure) (ledger.DeadLetter, error) {
	row := ledger.DeadLetter{
		MessageID: m.ID(), WorkKey: work.Key,
		DeadLetterError: contract.DeadLetterError{
			ErrorType: contract.Internal, ErrorMessage: "the reason was not recorded", RetryCount: MaxRetries, FailedAt: m.Sent().UTC(),
		},
		DeadLetterContext: contract.DeadLetterContext{QueueName: work.Queue, WorkerVersion: d.Version},
	}
	if n := len(reasons); n > 0 {
		last := reasons[n-1]
		row.DeadLetterError = contract.DeadLetterError{ErrorType: last.ErrorType, ErrorMessage: last.ErrorMessage, RetryCount: last.Attempt - 1, FailedAt: last.FailedAt}
		row.WorkerVersion = last.WorkerVersion
		row.ProcessingDurationMS = last.Duration.Milliseconds()
	}
	name, err := r2.NewDeadLetter(work.Queue, row.FailedAt, m.ID())
	if err != nil {
		return row, err
	}
	row.R2Key = name.Key()
	body, err := json.MarshalIndent(contract.DeadLetter{
		OriginalMessage: asJSON(m.Body()), ErrorInfo: row.DeadLetterError, Context: row.DeadLetterContext,
	}, "", "  ")
	if err != nil {
		return row, err
	}
	if _, err := d.Bucket.Put(ctx, row.R2Key, body, &r2.PutOptions{ContentType: "application/json"}); err != nil {
		return row, contract.Wrap(contract.Storage, "queues.DeadLetters", err)
	}
	d.Log.Error("message_dead_lettered", "error_type", row.ErrorType, "error", row.ErrorMessage, "queue", work.Queue, "work", work.Key, "message_id", m.ID(), "key", row.R2Key)
	return row, nil
}

// keep makes sure that a dead letter that could not be stored is not lost: this queue has no
// dead-letter queue of its own, so after the last delivery the message is sent anew.
func (d *DeadLetters) keep(ctx context.Context, m Message, cause error) {
	d.Log.Error("dead_letter_failed", "error_type", contract.KindOf(cause), "error", cause.Error(), "message_id", m.ID(), "attempt", m.Attempts())
	if m.Attempts() > MaxRetries {
		err := d.Queue.SendOne(ctx, asJSON(m.Body()), storeDelay)
		if err == nil {
			m.Ack()
			return
		}
		d.Log.Error("dead_letter_lost_failed", "error_type", contract.KindOf(err), "error", err.Error(), "message_id", m.ID(), "original_message", string(m.Body()))
	}
	m.Retry(d.Delay)
}

// asJSON gives a message as JSON: itself, or as a string when it is not.
func asJSON(body []byte) json.RawMessage {
	if json.Valid(body) {
		return body
	}
	text, err := json.Marshal(string(body))
	if err != nil {
		panic(err) // a string always marshals
	}
	return text
}
