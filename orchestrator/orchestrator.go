// Package orchestrator is step 1 of the pipeline: it lists the raw files of the chosen partitions and
// queues those without a checkpoint, unless they were queued a short while ago or are malformed.
package orchestrator

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// MaxCalls bounds the listings and sends of one event, well inside the platform's 10,000
// subrequests: a page of 1,000 unfinished files costs one listing, one look into the ledger and ten
// sends, so an event covers some 80,000 files and a million files take a dozen events.
const MaxCalls = 1000

// MaxTime bounds the run of an HTTP request, whose caller waits for the answer: well below the minute
// after which the runtime gives it up, so that the continuation, the counts and the ledger's record
// still get out when the stores are slow. An event of a queue has 15 minutes, and MaxTimeQueued.
const (
	MaxTime       = 20 * time.Second
	MaxTimeQueued = 5 * time.Minute
)

// grace is for how long the send of a continuation may be repeated, so that it is not lost because the
// time was over before its first failure.
const grace = 10 * time.Second

// backOff is how long a run waits before it tries a send again, attempt by attempt.
var backOff = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}

// InFlight is how long a file that was queued counts as being worked on.
const InFlight = 10 * time.Minute

// lastKey sorts after every key of a prefix: with it a finished partition is passed over when a
// continuation walks again.
const lastKey = "\U0010FFFF"

// Lister shows the keys of the bucket.
type Lister interface {
	List(ctx context.Context, o r2.ListOptions) (*r2.Page, error)
}

// Sender puts messages on SEED_QUEUE.
type Sender interface {
	Send(ctx context.Context, b *contract.Batch) error
}

// Ledger records which files were queued. When it is away, files in flight are sent again, which is
// harmless.
type Ledger interface {
	// Standings gives those of the files that are malformed, or were queued after since and are not finished. Where
	// requiredSince is not zero, these were queued by a request that was forced then or later.
	Standings(ctx context.Context, files []contract.RawFile, since, requiredSince time.Time) (map[contract.RawFile]contract.FileStanding, error)
	// Queued records that files were sent. requiredSince is zero except for forced requests.
	Queued(ctx context.Context, files []contract.RawFile, at, requiredSince time.Time) error
}

// Orchestrator runs step 1.
type Orchestrator struct {
	Bucket   Lister
	Queue    Sender
	Ledger   Ledger
	Log      *slog.Logger
	Now      func() time.Time
	Sleep    func(ctx context.Context, d time.Duration) error
	MaxCalls int           // 0 means the constant MaxCalls
	MaxTime  time.Duration // 0 means the constant MaxTime
}

// Result counts the raw files of one event.
type Result struct {
	FilesFound int  `json:"files_found"`
	Sent       int  `json:"sent"`
	Skipped    int  `json:"skipped"` // the sum of the next four
	Finished   int  `json:"finished,omitempty"`
	Discarded  int  `json:"discarded,omitempty"`
	InFlight   int  `json:"in_flight,omitempty"` // queued less than InFlight ago
	Broken     int  `json:"broken,omitempty"`    // found malformed, and not replaced since then
	Failed     int  `json:"failed,omitempty"`
	Continued  bool `json:"continued,omitempty"` // the remaining files follow in another event
}

// Run queues the raw files that match c from its cursor on. What exceeds the calls or the time of one
// event, or what is left when the caller went away, is done by a continuation message.
//
// A send that fails is tried again a few times. When it fails for good the result counts its files, the
// error is that of the first such send, and there is no continuation: the caller repeats the request, and
// the files that were sent are in flight by then. Both at once would double the orchestration.
func (o *Orchestrator) Run(ctx context.Context, c contract.Continuation) (Result, error) {
	r := &run{Orchestrator: o, Continuation: c, caller: ctx, started: o.Now(), calls: o.MaxCalls, after: c.Cursor}
	ctx = context.WithoutCancel(ctx) // a caller that went away ends the run in good order
	r.deadline = r.started.Add(cmp.Or(o.MaxTime, MaxTime))
	if r.RequestedAt.IsZero() {
		r.RequestedAt = r.started.UTC()
	}
	if r.calls == 0 {
		r.calls = MaxCalls
	}
	o.Log.Info("orchestrator_start", "partition_info", partitionInfo(c.Filter), "force", c.Force)
	err := r.walk(ctx, contract.RawPrefix("", "", ""), []level{{contract.CountryDir, c.Country}, {contract.CategoryDir, c.Category}, {contract.DateDir, c.Date}})
	r.flush(ctx)
	if err == nil {
		err = r.sendErr
	}
	if err == nil && r.full {
		err = r.sendContinuation(ctx)
	}
	r.record(ctx)
	o.Log.Info("files_found", "count", r.FilesFound, "skipped", r.Skipped)
	if err != nil {
		o.Log.Error("queue_messages_failed", "error_type", contract.KindOf(err), "error", err.Error(), "sent", r.Sent, "failed", r.Failed)
		return r.Result, err
	}
	o.Log.Info("queue_messages_sent", "count", r.Sent, "continued", r.Continued)
	return r.Result, nil
}

// partitionInfo shows the filter in a log line, null for what is not restricted.
func partitionInfo(f contract.Filter) any {
	return struct {
		Country  *string `json:"country"`
		Category *string `json:"category"`
		Date     *string `json:"date"`
	}{contract.Text(f.Country), contract.Text(f.Category), contract.Text(f.Date)}
}

type run struct {
	*Orchestrator
	contract.Continuation
	Result
	caller   context.Context // done when the caller no longer waits for the answer
	started  time.Time
	deadline time.Time
	calls    int               // left in this event
	full     bool              // calls or time ran out
	after    string            // every key up to this one is dealt with
	pending  *contract.RawFile // its checkpoint would come next in the listing
	uploaded time.Time         // when the pending file was
	ended    bool              // an operator discarded the pending file
	found    []foundFile       // on this page
	batch    contract.Batch
	inBatch  []contract.RawFile
	sent     []contract.RawFile
	sendErr  error
}

type foundFile struct {
	contract.RawFile
	uploaded time.Time
	finished bool
	ended    bool // by an operator, who discarded it: neither finished nor to be queued
}

type level struct{ name, value string }

// walk goes down the key segments. Segments with a value lengthen the prefix; a segment without one
// is listed with a delimiter while a later one restricts, else all below is listed at once.
func (r *run) walk(ctx context.Context, prefix string, levels []level) error {
	for len(levels) > 0 && levels[0].value != "" {
		prefix += levels[0].name + levels[0].value + "/"
		levels = levels[1:]
	}
	if prefix+lastKey <= r.after {
		return nil // dealt with before the continuation
	}
	restricted := false
	for _, l := range levels {
		restricted = restricted || l.value != ""
	}
	if !restricted {
		return r.list(ctx, prefix)
	}
	options := r2.ListOptions{Prefix: prefix + levels[0].name, Delimiter: "/"}
	for {
		page, err := r.page(ctx, options, 1)
		if err != nil || page == nil {
			return err
		}
		for _, below := range page.Prefixes {
			if err := r.walk(ctx, below, levels[1:]); err != nil || r.full {
				return err
			}
		}
		if !page.Truncated {
			r.after = prefix + lastKey
			return nil
		}
		options.Cursor = page.Cursor
	}
}

// list queues the raw files under prefix. In the order of keys a checkpoint follows its raw file, so
// one listing shows both.
func (r *run) list(ctx context.Context, prefix string) error {
	options := r2.ListOptions{Prefix: prefix}
	if strings.HasPrefix(r.after, prefix) {
		options.StartAfter = r.after
	}
	for {
		page, err := r.page(ctx, options, 2+r2.MaxListKeys/contract.MaxBatchMessages) // may bring as many files
		if err != nil || page == nil {
			return err
		}
		before := r.after
		for i := range page.Objects {
			r.add(&page.Objects[i])
		}
		if !page.Truncated {
			r.settle()
			r.after = prefix + lastKey
		}
		if r.queueFound(ctx, before); !page.Truncated || r.full {
			return nil
		}
		options.Cursor, options.StartAfter = page.Cursor, ""
	}
}

// page lists once, or returns nil when the event has no time or less than the given calls left.
func (r *run) page(ctx context.Context, options r2.ListOptions, calls int) (*r2.Page, error) {
	if r.calls < calls || r.late() && r.after > r.Cursor { // every event gets some way
		r.full = true
		return nil, nil
	}
	r.calls--
	return r.Bucket.List(ctx, options)
}

// late reports whether the run has to end, since its time is over or its caller is gone.
func (r *run) late() bool { return r.caller.Err() != nil || !r.Now().Before(r.deadline) }

func (r *run) add(o *r2.Object) {
	key := o.Key
	file, checkpoint, ok := contract.ParseRawKey(key)
	switch {
	case ok && checkpoint && r.pending != nil && file == *r.pending:
		r.found = append(r.found, foundFile{RawFile: file, uploaded: r.uploaded, finished: true})
		r.pending, r.after = nil, key
	case r.pending != nil && key == r.pending.DiscardMark():
		r.ended = !o.Uploaded.Before(r.uploaded)
	case r.pending != nil && strings.HasPrefix(key, r.pending.Key()):
		// Neither, but sorts before the checkpoint, which may still come.
	case ok && !checkpoint:
		r.settle()
		r.pending, r.uploaded, r.ended = &file, o.Uploaded, false
	default:
		r.settle()
		r.after = key
	}
}

// settle takes the pending raw file for one to be queued: no checkpoint followed it.
func (r *run) settle() {
	if r.pending != nil {
		r.found = append(r.found, foundFile{RawFile: *r.pending, uploaded: r.uploaded, ended: r.ended})
		r.after, r.pending = r.pending.Key(), nil
	}
}

// queueFound queues the files of a page, but for those that need not be. before is
// what after was when the page was asked for. When time runs out on the way, the run ends there.
func (r *run) queueFound(ctx context.Context, before string) {
	found := r.found
	r.found = r.found[:0]
	standings := r.standings(ctx, found)
	for i, file := range found {
		skipped := r.skipped(file, standings[file.RawFile])
		switch {
		case skipped != nil:
			*skipped++
			r.Skipped++
		case !r.queue(ctx, file.RawFile):
			r.full, r.pending, r.after = true, nil, before
			if i > 0 {
				r.after = found[i-1].RawFile.Key()
			}
			return
		}
		r.FilesFound++
	}
}

// skipped gives the count of those that are skipped for the same reason as the file; nil for a file to queue. With force
// a malformed file is tried again: the engine may be a newer one.
func (r *run) skipped(file foundFile, s contract.FileStanding) *int {
	switch {
	case file.ended:
		return &r.Discarded
	case file.finished && !r.Force:
		return &r.Finished
	case s.InFlight:
		return &r.InFlight
	case s.Broken(file.uploaded) && !r.Force:
		return &r.Broken
	}
	return nil
}

// standings gives what the ledger has of the files that may have to be queued. Of a forced orchestration those are in
// flight that it queued itself in an event before.
func (r *run) standings(ctx context.Context, found []foundFile) map[contract.RawFile]contract.FileStanding {
	var files []contract.RawFile
	for _, file := range found {
		if !file.ended && (r.Force || !file.finished) {
			files = append(files, file.RawFile)
		}
	}
	if len(files) == 0 {
		return nil
	}
	r.calls--
	standings, err := r.Ledger.Standings(ctx, files, r.started.Add(-InFlight), r.requiredSince())
	if err != nil {
		r.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
		return nil
	}
	return standings
}

// requiredSince is when a forced orchestration was requested; zero for any other.
func (r *run) requiredSince() time.Time {
	if r.Force {
		return r.RequestedAt
	}
	return time.Time{}
}

// queue adds a file to the batch. It sends the batch first when that is full, and reports whether
// there was time to go on after that.
func (r *run) queue(ctx context.Context, file contract.RawFile) bool {
	body := contract.Encode(contract.SeedMessage{FilePath: file.Key(), Partition: file.Partition, Force: r.Force, RequestedAt: r.RequestedAt})
	if !r.batch.Add(body) {
		r.flush(ctx)
		if r.late() {
			return false
		}
		r.batch.Add(body)
	}
	r.inBatch = append(r.inBatch, file)
	return true
}

func (r *run) flush(ctx context.Context) {
	n := r.batch.Len()
	if n == 0 {
		return
	}
	if err := r.send(ctx, &r.batch); err != nil {
		r.Failed += n
		if r.sendErr == nil {
			r.sendErr = contract.Wrap(contract.Storage, "orchestrator.Run", err)
		}
	} else {
		r.Sent += n
		r.sent = append(r.sent, r.inBatch...)
	}
	r.inBatch = r.inBatch[:0]
	r.batch.Reset()
}

// send sends a batch. A send that fails is repeated while there is time, but not once
// a batch failed for good: the queue is then away, and the caller tries again later.
func (r *run) send(ctx context.Context, b *contract.Batch) error {
	r.calls--
	err := r.Queue.Send(ctx, b)
	for _, pause := range backOff {
		if err == nil || r.sendErr != nil || !r.Now().Add(pause).Before(r.deadline) {
			break
		}
		r.Log.Warn("send_retried", "error_type", contract.KindOf(err), "error", err.Error(), "delay_ms", pause.Milliseconds())
		if r.Sleep(ctx, pause) != nil {
			break
		}
		r.calls--
		err = r.Queue.Send(ctx, b)
	}
	return err
}

// record has the ledger record what was sent, as of a time before any of it could be worked on.
func (r *run) record(ctx context.Context) {
	if len(r.sent) == 0 {
		return
	}
	if err := r.Ledger.Queued(ctx, r.sent, r.started, r.requiredSince()); err != nil {
		r.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "files", len(r.sent))
	}
}

// sendContinuation sends the continuation.
func (r *run) sendContinuation(ctx context.Context) error {
	next := r.Continuation
	next.Cursor = r.after
	body := contract.Encode(struct {
		Orchestrate contract.Continuation `json:"orchestrate"`
	}{next})
	var b contract.Batch
	b.Add(body)
	r.deadline = r.Now().Add(grace)
	if err := r.send(ctx, &b); err != nil {
		return contract.Wrap(contract.Storage, "orchestrator.Run", err)
	}
	r.Continued = true
	return nil
}
