// Package orchestrator is step 1 of the pipeline: it lists the raw files of the chosen partitions and
// queues those without a checkpoint, unless they were queued a short while ago.
package orchestrator

import (
	"context"
	"encoding/json"
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

// Ledger knows which files were queued. When it is away, files in flight are sent again, which is
// harmless.
type Ledger interface {
	// InFlight tells which of the files were queued after since and are not finished.
	InFlight(ctx context.Context, files []contract.RawFile, since time.Time) (map[contract.RawFile]bool, error)
	// Queued notes that files were sent. needed is zero but for forced requests.
	Queued(ctx context.Context, files []contract.RawFile, at, needed time.Time) error
}

// Orchestrator runs step 1.
type Orchestrator struct {
	Bucket   Lister
	Queue    Sender
	Ledger   Ledger
	Log      *slog.Logger
	Now      func() time.Time
	MaxCalls int // 0 means the constant MaxCalls
}

// Result counts the raw files of one event.
type Result struct {
	FilesFound int  `json:"files_found"`
	Sent       int  `json:"sent"`
	Skipped    int  `json:"skipped"` // finished already, or in flight
	Failed     int  `json:"failed,omitempty"`
	Continued  bool `json:"continued,omitempty"` // the rest follows in another event
}

// Run queues the raw files that match c from its cursor on. What one event cannot hold goes on by a
// continuation message. When sends failed, the result counts them and the error is the first one.
func (o *Orchestrator) Run(ctx context.Context, c contract.Continuation) (Result, error) {
	r := &run{Orchestrator: o, Continuation: c, started: o.Now(), calls: o.MaxCalls, after: c.Cursor}
	if r.RequestedAt.IsZero() {
		r.RequestedAt = r.started.UTC()
	}
	if r.calls == 0 {
		r.calls = MaxCalls
	}
	o.Log.Info("orchestrator_start", "partition_info", partitionInfo(c.Filter), "force", c.Force)
	err := r.walk(ctx, r2.RawPrefix("", "", ""), []level{{"country=", c.Country}, {"category=", c.Category}, {"date=", c.Date}})
	r.flush(ctx)
	if err == nil && r.full {
		err = r.goOn(ctx)
	}
	r.record(ctx)
	o.Log.Info("files_found", "count", r.FilesFound, "skipped", r.Skipped)
	if err == nil {
		err = r.sendErr
	}
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
	started time.Time
	calls   int                // left in this event
	full    bool               // calls ran out
	after   string             // every key up to this one is dealt with
	pending *r2.RawFile        // its checkpoint would come next in the listing
	found   []contract.RawFile // of this page, to be queued
	batch   contract.Batch
	inBatch []contract.RawFile
	sent    []contract.RawFile
	sendErr error
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
		for i := range page.Objects {
			r.see(page.Objects[i].Key)
		}
		if !page.Truncated {
			r.settle()
			r.after = prefix + lastKey
		}
		r.queueFound(ctx)
		if !page.Truncated {
			return nil
		}
		options.Cursor, options.StartAfter = page.Cursor, ""
	}
}

// page lists once, or returns nil when the event has less than the given calls left.
func (r *run) page(ctx context.Context, options r2.ListOptions, calls int) (*r2.Page, error) {
	if r.calls < calls {
		r.full = true
		return nil, nil
	}
	r.calls--
	return r.Bucket.List(ctx, options)
}

func (r *run) see(key string) {
	file, checkpoint, ok := r2.ParseRaw(key)
	switch {
	case ok && checkpoint && r.pending != nil && file == *r.pending:
		r.FilesFound++
		if r.Force {
			r.found = append(r.found, contract.RawFile(file))
		} else {
			r.Skipped++
		}
		r.pending, r.after = nil, key
	case r.pending != nil && strings.HasPrefix(key, r.pending.Key()):
		// Neither, but sorts before the checkpoint, which may still come.
	case ok && !checkpoint:
		r.settle()
		r.pending = &file
	default:
		r.settle()
		r.after = key
	}
}

// settle takes the pending raw file for one to be queued: no checkpoint followed it.
func (r *run) settle() {
	if r.pending != nil {
		r.FilesFound++
		r.found = append(r.found, contract.RawFile(*r.pending))
		r.after, r.pending = r.pending.Key(), nil
	}
}

// queueFound queues the files of a page, but for those in flight.
func (r *run) queueFound(ctx context.Context) {
	var inFlight map[contract.RawFile]bool
	if !r.Force && len(r.found) > 0 {
		r.calls--
		var err error
		if inFlight, err = r.Ledger.InFlight(ctx, r.found, r.started.Add(-InFlight)); err != nil {
			r.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
			inFlight = nil
		}
	}
	for _, file := range r.found {
		if inFlight[file] {
			r.Skipped++
			continue
		}
		r.queue(ctx, file)
	}
	r.found = r.found[:0]
}

func (r *run) queue(ctx context.Context, file contract.RawFile) {
	body, err := json.Marshal(contract.SeedMessage{FilePath: r2.RawFile(file).Key(), Partition: file.Partition, Force: r.Force, RequestedAt: r.RequestedAt})
	if err != nil {
		panic(err) // strings and a time always marshal
	}
	if !r.batch.Add(body) {
		r.flush(ctx)
		r.batch.Add(body)
	}
	r.inBatch = append(r.inBatch, file)
}

func (r *run) flush(ctx context.Context) {
	n := r.batch.Len()
	if n == 0 {
		return
	}
	r.calls--
	if err := r.Queue.Send(ctx, &r.batch); err != nil {
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

// record tells the ledger what was sent, by the time before any of it could be worked on.
func (r *run) record(ctx context.Context) {
	if len(r.sent) == 0 {
		return
	}
	var needed time.Time
	if r.Force {
		needed = r.RequestedAt
	}
	if err := r.Ledger.Queued(ctx, r.sent, r.started, needed); err != nil {
		r.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "files", len(r.sent))
	}
}

// goOn sends the continuation.
func (r *run) goOn(ctx context.Context) error {
	next := r.Continuation
	next.Cursor = r.after
	body, err := json.Marshal(struct {
		Orchestrate contract.Continuation `json:"orchestrate"`
	}{next})
	if err != nil {
		panic(err)
	}
	var b contract.Batch
	b.Add(body)
	if err := r.Queue.Send(ctx, &b); err != nil {
		return contract.Wrap(contract.Storage, "orchestrator.Run", err)
	}
	r.Continued = true
	return nil
}
