// Package orchestrator is step 1 of the pipeline: it lists the raw files of partitions and queues those without a
// checkpoint, unless they were queued recently or are malformed.
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

// MaxCalls caps the listings, ledger queries and sends of one event, well below the platform's 10,000 subrequests. A
// page of 1,000 unfinished files costs one listing, one query and ten sends: an event covers some 80,000 files.
const MaxCalls = 1000

// MaxTime caps the work for an HTTP request, whose caller waits. The runtime ends a request after a minute, and slow
// stores still have to take the continuation and the ledger's record. A queue event may run for 15 minutes;
// MaxTimeQueued is its cap.
const (
	MaxTime       = 20 * time.Second
	MaxTimeQueued = 5 * time.Minute
)

// grace is the time for sending a continuation after the deadline, so that one failure does not lose it.
const grace = 10 * time.Second

// backOff lists the pauses before the retries of a send.
var backOff = []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}

// InFlight is the time for which a queued file counts as being processed.
const InFlight = 10 * time.Minute

// lastKey sorts after every key under a prefix, so that a continuation skips the partitions before its cursor.
const lastKey = "\U0010FFFF"

// Lister lists the keys of the bucket.
type Lister interface {
	List(ctx context.Context, o r2.ListOptions) (*r2.Page, error)
}

// Sender sends messages to SEED_QUEUE.
type Sender interface {
	Send(ctx context.Context, b *contract.Batch) error
}

// Ledger records which files were queued. If it fails, files in flight are sent again, which is harmless.
type Ledger interface {
	// Standings returns the files that are malformed, and those that were queued after since and are not finished.
	// Unless requiredSince is zero, only requests forced at that time or later count as queuing.
	Standings(ctx context.Context, files []contract.RawFile,
		since, requiredSince time.Time) (map[contract.RawFile]contract.FileStanding, error)
	// Queued records that files were sent. requiredSince is zero unless the request was forced.
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
	InFlight   int  `json:"in_flight,omitempty"` // queued within InFlight
	Broken     int  `json:"broken,omitempty"`    // malformed, and not replaced since
	Failed     int  `json:"failed,omitempty"`
	Continued  bool `json:"continued,omitempty"` // the remaining files follow in another event
}

// Run queues the raw files that match c, from its cursor on. A continuation message does the rest if the event runs
// out of calls or time, or the caller hangs up.
//
// Failed sends are retried. If the retries fail, too, the result counts the files, and Run returns the first error.
// It then sends no continuation, because the caller is expected to repeat the request: both would orchestrate twice.
func (o *Orchestrator) Run(ctx context.Context, c contract.Continuation) (Result, error) {
	r := &orchestration{Orchestrator: o, Continuation: c, caller: ctx, started: o.Now(), calls: o.MaxCalls,
		after: c.Cursor}
	ctx = context.WithoutCancel(ctx) // if the caller hangs up, the run still ends in good order
	r.deadline = r.started.Add(cmp.Or(o.MaxTime, MaxTime))
	if r.RequestedAt.IsZero() {
		r.RequestedAt = r.started.UTC()
	}
	if r.calls == 0 {
		r.calls = MaxCalls
	}
	o.Log.Info("orchestrator_start", "partition_info", partitionInfo(c.Filter), "force", c.Force)
	err := r.walk(ctx, contract.RawPrefix("", "", ""), []level{{contract.CountryDir, c.Country},
		{contract.CategoryDir, c.Category}, {contract.DateDir, c.Date}})
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
		o.Log.Error("queue_messages_failed", "error_type", contract.KindOf(err), "error", err.Error(), "sent", r.Sent,
			"failed", r.Failed)
		return r.Result, err
	}
	o.Log.Info("queue_messages_sent", "count", r.Sent, "continued", r.Continued)
	return r.Result, nil
}

// partitionInfo returns the filter for a log line, with null for fields that are not set.
func partitionInfo(f contract.Filter) any {
	return struct {
		Country  *string `json:"country"`
		Category *string `json:"category"`
		Date     *string `json:"date"`
	}{contract.Text(f.Country), contract.Text(f.Category), contract.Text(f.Date)}
}

// orchestration is the work of one event.
type orchestration struct {
	*Orchestrator
	contract.Continuation
	Result
	caller   context.Context // done when the caller hangs up
	started  time.Time
	deadline time.Time
	calls    int         // left in this event
	full     bool        // calls or time ran out
	after    string      // the cursor: every key up to this one was handled
	pending  *foundFile  // the last file listed, whose checkpoint may follow
	found    []foundFile // on this page
	batch    contract.Batch
	inBatch  []contract.RawFile
	sent     []contract.RawFile
	sendErr  error
}

type foundFile struct {
	contract.RawFile
	etag      string
	uploaded  time.Time
	finished  bool
	discarded bool // by an operator: neither finished nor queued
}

// finishedBy reports whether the checkpoint belongs to the file as it is now. Earlier versions wrote empty ones.
func (f *foundFile) finishedBy(checkpoint *r2.Object) bool {
	if checkpoint.Size == 0 {
		return !checkpoint.Uploaded.Before(f.uploaded)
	}
	return contract.ListedAs(f.etag, checkpoint.ETag)
}

type level struct{ name, value string }

// walk descends the key segments. A segment with a value extends the prefix. A segment without one is listed with a
// delimiter if a later segment has a value; otherwise everything below is listed at once.
func (r *orchestration) walk(ctx context.Context, prefix string, levels []level) error {
	for len(levels) > 0 && levels[0].value != "" {
		prefix += levels[0].name + levels[0].value + "/"
		levels = levels[1:]
	}
	if prefix+lastKey <= r.after {
		return nil // handled before the continuation
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

// list queues the raw files under prefix. A checkpoint's key sorts after its raw file's, so one listing shows both.
func (r *orchestration) list(ctx context.Context, prefix string) error {
	options := r2.ListOptions{Prefix: prefix}
	if strings.HasPrefix(r.after, prefix) {
		options.StartAfter = r.after
	}
	for {
		// the sends of a full page, and the ledger
		page, err := r.page(ctx, options, 2+r2.MaxListKeys/contract.MaxBatchMessages)
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

// page lists once. It returns nil if the event is out of time or has fewer than calls calls left.
func (r *orchestration) page(ctx context.Context, options r2.ListOptions, calls int) (*r2.Page, error) {
	if r.calls < calls || r.outOfTime() && r.after > r.Cursor { // every event makes some progress
		r.full = true
		return nil, nil
	}
	r.calls--
	return r.Bucket.List(ctx, options)
}

// outOfTime reports whether time is up or the caller has hung up.
func (r *orchestration) outOfTime() bool { return r.caller.Err() != nil || !r.Now().Before(r.deadline) }

func (r *orchestration) add(o *r2.Object) {
	key := o.Key
	file, checkpoint, ok := contract.ParseRawKey(key)
	switch {
	case ok && checkpoint && r.pending != nil && file == r.pending.RawFile:
		if r.pending.finishedBy(o) {
			r.pending.finished, r.pending.discarded = true, false
		}
		r.settle()
		r.after = key
	case r.pending != nil && key == r.pending.DiscardMark():
		r.pending.discarded = !o.Uploaded.Before(r.pending.uploaded)
	case r.pending != nil && strings.HasPrefix(key, r.pending.Key()):
		// Another object between the raw file and its checkpoint.
	case ok && !checkpoint:
		r.settle()
		r.pending = &foundFile{RawFile: file, etag: o.ETag, uploaded: o.Uploaded}
	default:
		r.settle()
		r.after = key
	}
}

// settle adds the pending file as unfinished: no checkpoint followed it.
func (r *orchestration) settle() {
	if r.pending != nil {
		r.found = append(r.found, *r.pending)
		r.after, r.pending = r.pending.Key(), nil
	}
}

// queueFound queues the files of a page unless they are skipped. If time runs out, the continuation starts at the
// first file that was not queued. before is the cursor before the page.
func (r *orchestration) queueFound(ctx context.Context, before string) {
	found := r.found
	r.found = r.found[:0]
	standings := r.standings(ctx, found)
	for i, file := range found {
		skipped := r.skipped(file, standings[file.RawFile])
		switch {
		case skipped != nil:
			*skipped++
			r.Skipped++
		case !r.queue(ctx, file):
			r.full, r.pending, r.after = true, nil, before
			if i > 0 {
				r.after = found[i-1].RawFile.Key()
			}
			return
		}
		r.FilesFound++
	}
}

// skipped returns the counter for the reason why a file is skipped, or nil if it is to be queued. Force retries
// malformed files: a newer version may accept them.
func (r *orchestration) skipped(file foundFile, s contract.FileStanding) *int {
	switch {
	case file.discarded:
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

// standings returns the ledger's standings of the files that might be queued. In a forced orchestration only the
// files that it queued itself count as in flight.
func (r *orchestration) standings(ctx context.Context, found []foundFile) map[contract.RawFile]contract.FileStanding {
	var files []contract.RawFile
	for _, file := range found {
		if !file.discarded && (r.Force || !file.finished) {
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

// requiredSince returns when a forced orchestration was requested, or zero if it is not forced.
func (r *orchestration) requiredSince() time.Time {
	if r.Force {
		return r.RequestedAt
	}
	return time.Time{}
}

// queue adds a file to the batch, which it sends first if it is full. It reports false if time is up after that.
func (r *orchestration) queue(ctx context.Context, file foundFile) bool {
	body := contract.Encode(contract.SeedMessage{FilePath: file.Key(), Partition: file.Partition, Force: r.Force,
		RequestedAt: r.RequestedAt, ETag: file.etag})
	if !r.batch.Add(body) {
		r.flush(ctx)
		if r.outOfTime() {
			return false
		}
		r.batch.Add(body)
	}
	r.inBatch = append(r.inBatch, file.RawFile)
	return true
}

func (r *orchestration) flush(ctx context.Context) {
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

// send sends a batch, with retries while there is time. Once a batch has failed after its retries, the queue is taken
// to be down and later ones are not retried.
func (r *orchestration) send(ctx context.Context, b *contract.Batch) error {
	r.calls--
	err := r.Queue.Send(ctx, b)
	for _, pause := range backOff {
		if err == nil || r.sendErr != nil || !r.Now().Add(pause).Before(r.deadline) {
			break
		}
		r.Log.Warn("send_retried", "error_type", contract.KindOf(err), "error", err.Error(),
			"delay_ms", pause.Milliseconds())
		if r.Sleep(ctx, pause) != nil {
			break
		}
		r.calls--
		err = r.Queue.Send(ctx, b)
	}
	return err
}

// record writes the sent files to the ledger, dated before any of them could have been processed.
func (r *orchestration) record(ctx context.Context) {
	if len(r.sent) == 0 {
		return
	}
	if err := r.Ledger.Queued(ctx, r.sent, r.started, r.requiredSince()); err != nil {
		r.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "files", len(r.sent))
	}
}

// sendContinuation queues the rest of the work.
func (r *orchestration) sendContinuation(ctx context.Context) error {
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
