package deadletters

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// readsAtOnce is how many dead letters are read side by side, within the six connections of an event.
const readsAtOnce = 5

// LetterLedger lists dead letters and notes what became of them.
type LetterLedger interface {
	ChooseDeadLetters(ctx context.Context, choice contract.DeadLetterChoice) ([]contract.DeadLetterRecord, error)
	Resolve(ctx context.Context, choice contract.DeadLetterChoice, r ledger.Resolution) (remaining int64, err error)
}

// Sender sends a batch of messages to a queue.
type Sender interface {
	Send(ctx context.Context, b *contract.Batch) error
}

// Replayer sends dead letters to their queue again, or discards them. A dead letter is marked after
// it was sent: one that is sent twice because of that is harmless, as every message is, and none is
// lost.
type Replayer struct {
	Ledger  LetterLedger
	Store   *Store
	Seeds   Sender
	Domains Sender
	Now     func() time.Time
}

// Read gives a stored dead letter; nil when it is gone.
func (r *Replayer) Read(ctx context.Context, key string) (*contract.DeadLetter, error) {
	l, err := r.Store.letter(ctx, key)
	if errors.Is(err, r2.ErrNotFound) {
		return nil, nil
	}
	return l, contract.Wrap(contract.Storage, "deadletters.Replayer", err)
}

// Replay sends the chosen dead letters that are stored to their queue, at most
// contract.MaxResolved. by is the name of the token that asks for it.
func (r *Replayer) Replay(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved, error) {
	out, letters, err := r.choose(ctx, choice)
	if err != nil {
		return out, err
	}
	resolution := ledger.Resolution{State: contract.Replayed, By: by, At: r.Now()}
	messages := r.messages(ctx, letters)
	for _, queue := range []struct {
		role   string
		sender Sender
	}{{contract.SeedQueue, r.Seeds}, {contract.DomainQueue, r.Domains}} {
		var batch contract.Batch
		var held []int // letters in batch
		send := func() {
			err := queue.sender.Send(ctx, &batch)
			for _, i := range held {
				if err != nil {
					messages[i].err = err
					continue
				}
				resolution.IDs = append(resolution.IDs, letters[i].ID)
				queuedAgain(&resolution, letters[i])
			}
			batch.Reset()
			held = held[:0]
		}
		for i := range letters {
			m := &messages[i]
			if m.err != nil || contract.QueueRole(letters[i].QueueName) != queue.role {
				continue
			}
			if !batch.Add(m.body) {
				send()
				batch.Add(m.body)
			}
			held = append(held, i)
		}
		if len(held) > 0 {
			send()
		}
	}
	for i, m := range messages {
		if m.err != nil {
			out.Failed = append(out.Failed, unresolved(letters[i].ID, m.err))
		}
	}
	return r.resolve(ctx, choice, resolution, out)
}

// Discard marks the chosen dead letters that are stored as not worth a replay.
func (r *Replayer) Discard(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved, error) {
	out, letters, err := r.choose(ctx, choice)
	if err != nil {
		return out, err
	}
	resolution := ledger.Resolution{State: contract.Discarded, By: by, At: r.Now()}
	for _, l := range letters {
		resolution.IDs = append(resolution.IDs, l.ID)
	}
	return r.resolve(ctx, choice, resolution, out)
}

// choose gives the chosen letters that are stored, and counts the ids that are not.
func (r *Replayer) choose(ctx context.Context, choice contract.DeadLetterChoice) (out contract.Resolved, letters []contract.DeadLetterRecord, err error) {
	out.Failed = []contract.Unresolved{}
	letters, err = r.Ledger.ChooseDeadLetters(ctx, choice)
	if err != nil {
		return out, nil, err
	}
	for _, id := range choice.IDs {
		if !slices.ContainsFunc(letters, func(l contract.DeadLetterRecord) bool { return l.ID == id }) {
			out.Failed = append(out.Failed, contract.Unresolved{ID: id, Code: "not_found", Message: "there is no dead letter with this id"})
		}
	}
	letters = slices.DeleteFunc(letters, func(l contract.DeadLetterRecord) bool {
		if l.State == contract.Stored {
			return false
		}
		out.Skipped++
		return true
	})
	return out, letters, nil
}

func (r *Replayer) resolve(ctx context.Context, choice contract.DeadLetterChoice, resolution ledger.Resolution, out contract.Resolved) (contract.Resolved, error) {
	var err error
	out.Remaining, err = r.Ledger.Resolve(ctx, choice, resolution)
	if err != nil {
		return out, err
	}
	out.Done = int64(len(resolution.IDs))
	return out, nil
}

// original is the message of a dead letter, as it is sent again.
type original struct {
	body []byte
	err  error
}

func (r *Replayer) messages(ctx context.Context, letters []contract.DeadLetterRecord) []original {
	messages := make([]original, len(letters))
	turns := make(chan struct{}, readsAtOnce)
	var wg sync.WaitGroup
	for i := range letters {
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			messages[i].body, messages[i].err = r.message(ctx, &letters[i])
		})
	}
	wg.Wait()
	return messages
}

func (r *Replayer) message(ctx context.Context, record *contract.DeadLetterRecord) ([]byte, error) {
	if role := contract.QueueRole(record.QueueName); role != contract.SeedQueue && role != contract.DomainQueue {
		return nil, contract.Invalid("queue", "%q is not a queue of the pipeline; discard the letter", record.QueueName)
	}
	letter, err := r.Read(ctx, record.Key)
	if err != nil {
		return nil, err
	}
	if letter == nil {
		return nil, &contract.Error{Kind: contract.Validation, Field: "key", Message: "the letter is gone from R2; discard it"}
	}
	return anew(letter.OriginalMessage)
}

// anew gives a message as it is sent again: not busy any more, or it would be given up as soon as its
// domain is.
func anew(message json.RawMessage) ([]byte, error) {
	body := contract.WithoutBusySince(message)
	if !contract.Fits(len(body)) {
		body = compacted(body)
	}
	if !contract.Fits(len(body)) {
		return nil, contract.Invalid("original_message", "has %d bytes, more than a message may have; discard the letter", len(body))
	}
	return body, nil
}

// compacted writes a message as short as it can be. Letters used to be stored indented and with HTML's
// characters escaped, so that some became too large to be sent.
func compacted(message []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return message
	}
	return contract.Encode(v)
}

// queuedAgain adds to a resolution that the work of a letter is under way again.
func queuedAgain(r *ledger.Resolution, l contract.DeadLetterRecord) {
	if l.Partition == nil {
		return
	}
	if l.Domain != nil {
		r.Work.Domains = append(r.Work.Domains, ledger.DomainChange{Partition: *l.Partition, Domain: *l.Domain, Queued: r.At})
	} else if raw, _, ok := r2.ParseRaw(l.Work); ok {
		r.Work.Files = append(r.Work.Files, ledger.FileChange{RawFile: contract.RawFile(raw), Queued: r.At})
	}
}

func unresolved(id string, err error) contract.Unresolved {
	u := contract.Unresolved{ID: id, Code: string(contract.KindOf(err)), Message: "it could not be sent; try again"}
	var e *contract.Error
	if errors.As(err, &e) {
		u.Message = cmp.Or(e.Message, u.Message)
	}
	return u
}
