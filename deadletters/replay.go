package deadletters

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// maxCalls caps the dead letters handled in parallel, within the six connections of an event.
const maxCalls = 5

// ReplayLedger reads and resolves dead letters.
type ReplayLedger interface {
	ChooseDeadLetters(ctx context.Context, choice contract.DeadLetterChoice) ([]contract.DeadLetterRecord, error)
	Resolve(ctx context.Context, choice contract.DeadLetterChoice, r ledger.Resolution) (beside, remaining int64,
		err error)
}

// Sender sends a batch of messages to a queue.
type Sender interface {
	Send(ctx context.Context, b *contract.Batch) error
}

// Replayer sends dead letters to their queues again, or discards them. It marks a dead letter after sending it, so
// that none is lost. Sending one twice is harmless, like every redelivery.
type Replayer struct {
	Ledger     ReplayLedger
	Store      *Store
	Seeds      Sender
	Domains    Sender
	Exclusions func(ctx context.Context) (*contract.Exclusions, error)
	Now        func() time.Time
}

// Read returns a stored dead letter, or nil if it does not exist.
func (r *Replayer) Read(ctx context.Context, key string) (*contract.DeadLetter, error) {
	l, err := r.Store.read(ctx, key)
	if errors.Is(err, r2.ErrNotFound) {
		return nil, nil
	}
	return l, contract.Wrap(contract.Storage, "deadletters.Replayer", err)
}

// Replay sends the chosen stored dead letters to their queues again, at most contract.MaxResolved. by is the name of
// the caller's token.
func (r *Replayer) Replay(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved,
	error) {
	choice.Queued = true
	out, records, err := r.choose(ctx, choice)
	if err != nil {
		return out, err
	}
	exclusions, err := r.Exclusions(ctx)
	if err != nil {
		return out, err
	}
	records = slices.DeleteFunc(records, func(l contract.DeadLetterRecord) bool {
		if !l.About(exclusions) {
			return false
		}
		out.Failed = append(out.Failed, contract.Unresolved{ID: l.ID, Code: string(contract.Excluded),
			Message: *l.Domain + " is excluded; remove the exclusion first, or discard the letter"})
		return true
	})
	resolution := ledger.Resolution{State: contract.Replayed, By: by, At: r.Now()}
	originals := r.originals(ctx, records)
	r.unmark(ctx, originals)
	send(ctx, r.Seeds, ofQueue(originals, contract.SeedQueue))
	send(ctx, r.Domains, ofQueue(originals, contract.DomainQueue))
	for _, o := range originals {
		if o.err != nil {
			out.Failed = append(out.Failed, unresolved(o.record.ID, o.err))
			continue
		}
		resolution.IDs = append(resolution.IDs, o.record.ID)
		addQueued(&resolution, o.record)
	}
	return r.resolve(ctx, choice, resolution, out)
}

// Discard marks the chosen stored dead letters as not worth a replay, which gives their raw files up. It also
// discards the other letters of such a file, because replaying any would queue it again. by is the name of the
// caller's token.
func (r *Replayer) Discard(ctx context.Context, choice contract.DeadLetterChoice, by string) (contract.Resolved,
	error) {
	out, records, err := r.choose(ctx, choice)
	if err != nil {
		return out, err
	}
	resolution := ledger.Resolution{State: contract.Discarded, By: by, At: r.Now()}
	// Several letters may be about one file, and a key takes one write a second: the newest letter decides.
	newest := map[string]int{}
	for i, l := range records {
		newest[l.Work] = i
	}
	ended := make([]bool, len(records))
	errs := make([]error, len(records))
	each(len(records), func(i int) {
		if newest[records[i].Work] == i {
			ended[i], errs[i] = r.mark(ctx, &records[i], by)
		}
	})
	for i, l := range records {
		if err := errs[newest[l.Work]]; err != nil {
			out.Failed = append(out.Failed, unresolved(l.ID, err))
			continue
		}
		resolution.IDs = append(resolution.IDs, l.ID)
		if ended[i] {
			raw, _, _ := contract.ParseRawKey(l.Work)
			resolution.Work.Files = append(resolution.Work.Files,
				ledger.FileChange{RawFile: raw, Discarded: resolution.At})
			resolution.Ended = append(resolution.Ended, l.ID)
		}
	}
	return r.resolve(ctx, choice, resolution, out)
}

// maxSkew is the tolerated difference between the clocks of R2 and of the Worker.
const maxSkew = time.Minute

// mark marks the raw file of a dead letter as discarded, so that it is no longer queued, and reports whether it did.
// It skips files that are gone, were replaced after the failure, or were processed after all.
func (r *Replayer) mark(ctx context.Context, l *contract.DeadLetterRecord, by string) (marked bool, err error) {
	file, _, ok := contract.ParseRawKey(l.Work)
	if !ok || contract.QueueRole(l.QueueName) != contract.SeedQueue {
		return false, nil
	}
	bucket := r.Store.Bucket
	raw, err := bucket.Head(ctx, file.Key())
	switch {
	case errors.Is(err, r2.ErrNotFound), err == nil && raw.Uploaded.After(l.FailedAt.Add(maxSkew)):
		return false, nil
	case err != nil:
		return false, err
	}
	switch checkpoint, err := bucket.Head(ctx, file.Checkpoint()); {
	case err == nil && contract.ProcessedAs(raw.ETag, checkpoint.Metadata):
		return false, nil
	case err != nil && !errors.Is(err, r2.ErrNotFound):
		return false, err
	}
	_, err = bucket.Put(ctx, file.DiscardMark(), nil, &r2.PutOptions{Metadata: contract.DiscardMetadata(by)})
	return err == nil, err
}

// unmark removes the marks of raw files whose letters are replayed.
func (r *Replayer) unmark(ctx context.Context, originals []*original) {
	var marks []string
	files := ofQueue(originals, contract.SeedQueue)
	for _, o := range files {
		if raw, _, ok := contract.ParseRawKey(o.record.Work); ok {
			marks = append(marks, raw.DiscardMark())
		}
	}
	if len(marks) == 0 {
		return
	}
	if err := r.Store.Bucket.Delete(ctx, marks...); err != nil {
		for _, o := range files {
			o.err = err
		}
	}
}

// choose returns the chosen dead letters that are still stored. It counts the others, and lists unknown ids.
func (r *Replayer) choose(ctx context.Context, choice contract.DeadLetterChoice) (out contract.Resolved,
	records []contract.DeadLetterRecord, err error) {
	out.Failed = []contract.Unresolved{}
	records, err = r.Ledger.ChooseDeadLetters(ctx, choice)
	if err != nil {
		return out, nil, err
	}
	if choice.IDs != nil {
		records = named(choice.IDs, records, &out)
	}
	records = slices.DeleteFunc(records, func(l contract.DeadLetterRecord) bool {
		if l.State == contract.Stored {
			return false
		}
		out.Skipped++
		return true
	})
	return out, records, nil
}

// named returns the records whose ids begin with one of ids. It lists the ids that match none or several.
func named(ids []string, records []contract.DeadLetterRecord, out *contract.Resolved) []contract.DeadLetterRecord {
	chosen := map[string]bool{}
	for _, id := range ids {
		found := ""
		several := false
		for i := range records {
			switch {
			case records[i].ID == id:
				found, several = id, false
			case found != id && strings.HasPrefix(records[i].ID, id):
				found, several = records[i].ID, found != ""
			}
		}
		switch {
		case several:
			out.Failed = append(out.Failed, contract.Unresolved{ID: id, Code: string(contract.Validation),
				Message: "several dead letters have an id with this prefix; send more characters"})
		case found == "":
			out.Failed = append(out.Failed, contract.Unresolved{ID: id, Code: "not_found",
				Message: "there is no dead letter with this id"})
		default:
			chosen[found] = true
		}
	}
	return slices.DeleteFunc(records, func(l contract.DeadLetterRecord) bool { return !chosen[l.ID] })
}

func (r *Replayer) resolve(ctx context.Context, choice contract.DeadLetterChoice, resolution ledger.Resolution,
	out contract.Resolved) (contract.Resolved, error) {
	beside, remaining, err := r.Ledger.Resolve(ctx, choice, resolution)
	if err != nil {
		return out, err
	}
	out.Done, out.Remaining = int64(len(resolution.IDs))+beside, remaining
	return out, nil
}

// original is the message of a dead letter, or the error why it cannot be sent again.
type original struct {
	record *contract.DeadLetterRecord
	body   []byte
	err    error
}

// originals reads the messages of dead letters.
func (r *Replayer) originals(ctx context.Context, records []contract.DeadLetterRecord) []*original {
	originals := make([]*original, len(records))
	each(len(records), func(i int) {
		o := &original{record: &records[i]}
		o.body, o.err = r.message(ctx, o.record)
		originals[i] = o
	})
	return originals
}

// each calls work for 0 to n-1, several at a time.
func each(n int, work func(i int)) {
	slots := make(chan struct{}, maxCalls)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			work(i)
		})
	}
	wg.Wait()
}

// ofQueue returns the messages for the queue with a role that can be sent.
func ofQueue(originals []*original, role string) (selected []*original) {
	for _, o := range originals {
		if o.err == nil && contract.QueueRole(o.record.QueueName) == role {
			selected = append(selected, o)
		}
	}
	return selected
}

// send sends messages in as few batches as possible. If a batch fails, each of its messages gets the error.
func send(ctx context.Context, sender Sender, originals []*original) {
	var batch contract.Batch
	var inBatch []*original
	flush := func() {
		if len(inBatch) == 0 {
			return
		}
		err := sender.Send(ctx, &batch)
		for _, o := range inBatch {
			o.err = err
		}
		batch.Reset()
		inBatch = inBatch[:0]
	}
	for _, o := range originals {
		if !batch.Add(o.body) {
			flush()
			batch.Add(o.body)
		}
		inBatch = append(inBatch, o)
	}
	flush()
}

// message returns the message of a dead letter in the form for sending it again.
func (r *Replayer) message(ctx context.Context, record *contract.DeadLetterRecord) ([]byte, error) {
	switch contract.QueueRole(record.QueueName) {
	case contract.SeedQueue, contract.DomainQueue:
	case contract.WebhookQueue:
		return nil, contract.Invalid("queue", "what the webhook skipped is not replayed; give the letter's message to "+
			"the receiver, then discard the letter")
	default:
		return nil, contract.Invalid("queue", "%q is not a queue of the pipeline; discard the letter",
			record.QueueName)
	}
	stored, err := r.Read(ctx, record.Key)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, &contract.Error{Kind: contract.Validation, Field: "key",
			Message: "the letter is gone from R2; discard it"}
	}
	return resendable(stored.OriginalMessage)
}

// resendable returns a message as it is sent again. It no longer counts as busy, or it would be given up
// as soon as its domain is busy.
func resendable(message json.RawMessage) ([]byte, error) {
	body := contract.WithoutBusySince(message)
	if !contract.Fits(len(body)) {
		body = compacted(body)
	}
	if !contract.Fits(len(body)) {
		return nil, contract.Invalid("original_message",
			"has %d bytes, more than a message may have; discard the letter", len(body))
	}
	return body, nil
}

// compacted encodes a message as short as possible. Earlier versions stored dead letters indented and HTML-escaped,
// which made some of them too large to send.
func compacted(message []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(message))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return message
	}
	return contract.Encode(v)
}

// addQueued records in a resolution that the work of a dead letter is queued again.
func addQueued(r *ledger.Resolution, d *contract.DeadLetterRecord) {
	if d.Partition == nil {
		return
	}
	if d.Domain != nil {
		r.Work.Domains = append(r.Work.Domains, ledger.DomainChange{Partition: *d.Partition, Domain: *d.Domain,
			Queued: r.At})
	} else if raw, _, ok := contract.ParseRawKey(d.Work); ok {
		r.Work.Files = append(r.Work.Files, ledger.FileChange{RawFile: raw, Queued: r.At})
	}
}

func unresolved(id string, err error) contract.Unresolved {
	u := contract.Unresolved{ID: id, Code: string(contract.KindOf(err)),
		Message: "the store or the queue failed; try again"}
	var e *contract.Error
	if errors.As(err, &e) {
		u.Message = cmp.Or(e.Message, u.Message)
	}
	return u
}
