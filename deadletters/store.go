// Package deadletters stores messages that failed for good, with the reason. Operators replay or discard them.
package deadletters

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// Ledger records dead letters and knows the reasons.
type Ledger interface {
	Record(ctx context.Context, c ledger.Changes) error
	Reasons(ctx context.Context, works []ledger.Work) (map[ledger.Work][]ledger.Failure, error)
}

// Bucket is the object store; see r2.Bucket.
type Bucket interface {
	Get(ctx context.Context, key string) (*r2.Body, error)
	List(ctx context.Context, o r2.ListOptions) (*r2.Page, error)
	Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error)
	Head(ctx context.Context, key string) (*r2.Object, error)
	Delete(ctx context.Context, keys ...string) error
}

// Metadata of a stored dead letter: its partition, so that a partition's dead letters are found without reading all
// of them, and the key of its work (see ledger.Work).
const (
	partitionField = "partition"
	workField      = "work"
)

func partitionText(p contract.Partition) string { return p.Country + "/" + p.Category + "/" + p.Date }

// Store stores dead letters with their reasons.
type Store struct {
	Ledger  Ledger
	Bucket  Bucket
	Version string // of the Worker
	Log     *slog.Logger
}

// Message is a message that failed for good, from the dead-letter queue or from the queue where it failed.
type Message struct {
	ID      string
	Body    []byte
	Sent    time.Time
	Failure *ledger.Failure // the reason; if nil, the ledger is queried
}

// Put stores a batch of the dead-letter queue dlq with the reasons in the ledger, and records it there. It returns an
// error for each message, nil if it was stored. Storing a message again overwrites it. If the ledger fails, dead
// letters are stored without a reason.
func (s *Store) Put(ctx context.Context, dlq string, messages []Message) []error {
	works, reasons := s.reasons(ctx, dlq, messages)
	var c ledger.Changes
	errs := make([]error, len(messages))
	for i, m := range messages {
		work := works[i][max(0, slices.IndexFunc(works[i], func(w ledger.Work) bool { return len(reasons[w]) > 0 }))]
		row, err := s.store(ctx, m, work, reasons[work])
		if err != nil {
			errs[i] = err
			continue
		}
		c.DeadLetters = append(c.DeadLetters, row)
		addGivenUp(&c, row)
	}
	if err := s.Ledger.Record(ctx, c); err != nil {
		s.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", dlq)
	}
	return errs
}

// reasons returns the works that each message might have requested, and why they failed.
func (s *Store) reasons(ctx context.Context, dlq string, messages []Message) (works [][]ledger.Work,
	reasons map[ledger.Work][]ledger.Failure) {
	works = make([][]ledger.Work, len(messages))
	reasons = map[ledger.Work][]ledger.Failure{}
	var unexplained []ledger.Work
	for i, m := range messages {
		if m.Failure != nil {
			works[i] = []ledger.Work{m.Failure.Work}
			reasons[m.Failure.Work] = []ledger.Failure{*m.Failure}
			continue
		}
		works[i] = candidates(dlq, m.Body)
		unexplained = append(unexplained, works[i]...)
	}
	if len(unexplained) == 0 {
		return works, reasons
	}
	recorded, err := s.Ledger.Reasons(ctx, unexplained)
	if err != nil {
		s.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", dlq)
	}
	maps.Copy(reasons, recorded)
	return works, reasons
}

// store writes one dead letter to R2, and returns its record for the ledger.
func (s *Store) store(ctx context.Context, m Message, work ledger.Work, reasons []ledger.Failure) (ledger.DeadLetter,
	error) {
	row := ledger.DeadLetter{
		MessageID: m.ID, WorkKey: work.Key,
		DeadLetterError: contract.DeadLetterError{
			ErrorType: contract.Internal, ErrorMessage: "the reason was not recorded", RetryCount: contract.MaxRetries,
			FailedAt: m.Sent.UTC(),
		},
		DeadLetterContext: contract.DeadLetterContext{QueueName: work.Queue, WorkerVersion: s.Version},
	}
	row.Partition, row.Domain = subject(work.Queue, m.Body)
	if n := len(reasons); n > 0 {
		last := reasons[n-1]
		row.DeadLetterError = contract.DeadLetterError{ErrorType: last.ErrorType, ErrorMessage: last.ErrorMessage,
			RetryCount: last.Attempt - 1, FailedAt: last.FailedAt}
		row.WorkerVersion = cmp.Or(last.WorkerVersion, s.Version)
		row.ProcessingDurationMS = last.Duration.Milliseconds()
	}
	name, err := contract.NewDeadLetterKey(work.Queue, row.FailedAt, m.ID)
	if err != nil {
		return row, err
	}
	row.R2Key = name.String()
	deadLetter := contract.DeadLetter{OriginalMessage: contract.AsJSON(m.Body), ErrorInfo: row.DeadLetterError,
		Context: row.DeadLetterContext}
	if _, err := s.Bucket.Put(ctx, row.R2Key, deadLetter.Encode(), &r2.PutOptions{
		ContentType: "application/json",
		Metadata:    map[string]string{partitionField: partitionText(row.Partition), workField: row.WorkKey},
	}); err != nil {
		return row, contract.Wrap(contract.Storage, "deadletters.Store", err)
	}
	s.Log.Error("message_dead_lettered", "error_type", row.ErrorType, "error", row.ErrorMessage, "queue", work.Queue,
		"work", work.Key, "message_id", m.ID, "key", row.R2Key)
	return row, nil
}

// addGivenUp records in changes that the work of a dead letter failed for good.
func addGivenUp(c *ledger.Changes, l ledger.DeadLetter) {
	switch contract.QueueRole(l.QueueName) {
	case contract.SeedQueue:
		if raw, _, ok := contract.ParseRawKey(l.WorkKey); ok {
			c.Files = append(c.Files, ledger.FileChange{RawFile: raw, GaveUp: l.FailedAt, ErrorType: l.ErrorType,
				ErrorMessage: l.ErrorMessage})
		}
	case contract.DomainQueue:
		if l.Domain != "" {
			c.Domains = append(c.Domains, ledger.DomainChange{Partition: l.Partition, Domain: l.Domain,
				GaveUp: l.FailedAt, ErrorType: l.ErrorType, ErrorMessage: l.ErrorMessage})
		}
	}
}

var errUnreadable = errors.New("not a dead letter")

// read returns a stored dead letter. Its error is r2.ErrNotFound for a missing one, and wraps errUnreadable if it
// cannot be parsed.
func (s *Store) read(ctx context.Context, key string) (*contract.DeadLetter, error) {
	body, err := s.Bucket.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "deadletters.Store", err)
	}
	l := &contract.DeadLetter{}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, &contract.Error{Kind: contract.Internal, Op: "deadletters.Store", Field: key,
			Message: "the stored dead letter cannot be read", Err: errors.Join(errUnreadable, err)}
	}
	return l, nil
}

// maxRead caps the dead letters that one call of Stored reads.
const maxRead = 200

// Stored returns the ledger's records for the stored dead letters of a partition, and for those without one. It reads
// one page of keys after the key after. next is the key to continue from, or "" at the end.
func (s *Store) Stored(ctx context.Context, p contract.Partition, after string) (c ledger.Changes, next string,
	err error) {
	const op = "deadletters.Store"
	page, err := s.Bucket.List(ctx, r2.ListOptions{Prefix: contract.DeadLetterPrefix("", ""), StartAfter: after,
		Metadata: true})
	if err != nil {
		return c, "", contract.Wrap(contract.Storage, op, err)
	}
	for _, o := range page.Objects {
		name, ok := contract.ParseDeadLetterKey(o.Key)
		about, labelled := o.Metadata[partitionField]
		if !ok || labelled && about != partitionText(p) && about != partitionText(contract.Partition{}) {
			next = o.Key
			continue
		}
		if len(c.DeadLetters) == maxRead {
			return c, next, nil
		}
		next = o.Key
		l, err := s.read(ctx, o.Key)
		if errors.Is(err, r2.ErrNotFound) || errors.Is(err, errUnreadable) {
			continue
		}
		if err != nil {
			return c, "", contract.Wrap(contract.Storage, op, err)
		}
		row := ledger.DeadLetter{MessageID: name.MessageID, WorkKey: o.Metadata[workField], R2Key: o.Key,
			DeadLetterError: l.ErrorInfo, DeadLetterContext: l.Context}
		if row.WorkKey == "" {
			row.WorkKey = WorkOf(name.Queue, l.OriginalMessage).Key
		}
		if row.Partition, row.Domain = subject(name.Queue, l.OriginalMessage); row.Partition != p &&
			row.Partition != (contract.Partition{}) {
			continue
		}
		c.DeadLetters = append(c.DeadLetters, row)
		addGivenUp(&c, row)
	}
	if !page.Truncated {
		next = ""
	}
	return c, next, nil
}
