// Package processor is step 2 of the pipeline: it streams a raw file, groups its URLs by registrable domain, and
// sends one message per domain. A file with more URLs than fit into memory is sent in parts, each with its own
// messages. Step 3 merges duplicates, so a file that failed half-way is processed again. The checkpoint, written
// last, marks that everything was sent.
package processor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/dataset"
	"github.com/newsfork/seed-engine/r2"
)

// maxLogged caps the records of a file whose problems are logged one by one.
const maxLogged = contract.MaxRejections

// Store is the object store; see r2.Bucket.
type Store interface {
	Head(ctx context.Context, key string) (*r2.Object, error)
	Get(ctx context.Context, key string) (*r2.Body, error)
	Put(ctx context.Context, key string, data []byte, o *r2.PutOptions) (*r2.Object, error)
	Create(ctx context.Context, key string, o *r2.PutOptions) (r2.Upload, error)
}

// Sender sends one batch to DOMAIN_QUEUE. Sends may run concurrently. A batch is reused after its Send has returned.
type Sender interface {
	Send(ctx context.Context, b *contract.Batch) error
}

// Processor processes raw files, one at a time, and reuses its buffers.
type Processor struct {
	Store   Store
	Log     *slog.Logger
	Version string           // of the worker, for checkpoints
	Now     func() time.Time // default time.Now

	reader dataset.Reader
	groups groups
	outbox outbox
}

// Result is the result of processing a file.
type Result struct {
	Skipped       bool // it has a checkpoint
	Discarded     bool // it is malformed and was discarded by an operator
	Deleted       bool // by an operator
	TotalRecords  int
	BadRecords    int // left out: not an object, too large, or without a usable URL
	BadFields     int // left out: of the wrong type, or too long
	Duplicates    int // records with the URL of an earlier one, unless tens of thousands of others lie between
	Disagreements int // records that claim another registrable domain than their URL's
	URLs          int // sent
	UniqueDomains int // a domain might count twice if tens of thousands of others lie between
	DomainsSent   int // messages: more than UniqueDomains if the file was sent in parts
	Duration      time.Duration
	Rejected      []contract.Rejection // the first of the bad records
}

// Records returns the counts for the ledger.
func (r *Result) Records() contract.RecordCounts {
	return contract.RecordCounts{Total: int64(r.TotalRecords), Rejected: int64(r.BadRecords), First: r.Rejected}
}

// Process sends the domains of a raw file through sender and writes the file's checkpoint. The result counts what was
// sent, even after an error. Unless the message is forced, a file with a checkpoint is skipped. After an error the
// same message can be processed again, and produces the same messages and objects in the same order.
//
// Its errors have the kind Validation if the message names no existing raw file, Parse if the file is not a dataset,
// and Storage if the store or the queue fails.
func (p *Processor) Process(ctx context.Context, m *contract.SeedMessage, sender Sender) (Result, error) {
	if err := m.Validate(); err != nil {
		return Result{}, contract.Wrap(contract.Validation, "processor.Process", err)
	}
	file := m.RawFile()
	started := p.now()
	body, done, err := p.open(ctx, m, file)
	if body != nil {
		defer body.Close()
	}
	if err != nil || done.Skipped || done.Deleted {
		done.Duration = p.now().Sub(started)
		return done, err
	}
	p.Log.LogAttrs(ctx, slog.LevelInfo, "file_processor_start", slog.String("file_path", m.FilePath))

	result, err := p.stream(ctx, m, file, body, sender)
	if at := (*malformed)(nil); errors.As(err, &at) {
		body.Close()
		result.Discarded, err = p.broken(ctx, file, &body.Object, at)
	}
	if err != nil || result.Discarded {
		return result, err
	}
	checkpoint := &r2.PutOptions{Metadata: contract.CheckpointMetadata(p.now(), p.Version)}
	result.Records().AddTo(checkpoint.Metadata)
	checkpoint.Metadata[contract.RawETagField] = body.ETag
	if _, err := p.Store.Put(ctx, file.Checkpoint(), contract.CheckpointOf(body.ETag), checkpoint); err != nil {
		return result, storage(err)
	}
	result.Duration = p.now().Sub(started)
	p.Log.LogAttrs(ctx, slog.LevelInfo, "file_processing_complete",
		slog.String("file_path", m.FilePath),
		slog.Int("domains_sent", result.DomainsSent),
		slog.Int("urls", result.URLs),
		slog.Int64("duration_ms", result.Duration.Milliseconds()))
	return result, nil
}

// open requests the file and its checkpoint at once, because few files have one. done is not zero if there is nothing
// to do. body might be set in any case.
func (p *Processor) open(ctx context.Context, m *contract.SeedMessage, file contract.RawFile) (body *r2.Body,
	done Result, err error) {
	var get sync.WaitGroup
	var getErr error
	get.Go(func() { body, getErr = p.Store.Get(ctx, m.FilePath) })
	if !m.Force {
		var checkpoint *r2.Object
		checkpoint, err = p.Store.Head(ctx, file.Checkpoint())
		get.Wait()
		etag := m.ETag
		if body != nil {
			etag = body.ETag // the message's might be that of a file replaced since
		}
		switch {
		case err == nil && contract.ProcessedAs(etag, checkpoint.Metadata):
			counts := contract.RecordCountsOf(checkpoint.Metadata)
			done = Result{Skipped: true, TotalRecords: int(counts.Total), BadRecords: int(counts.Rejected),
				Rejected: counts.First}
		case errors.Is(err, r2.ErrNotFound):
			err = nil
		}
	}
	get.Wait()
	switch {
	case err != nil:
		return body, done, storage(err)
	case done.Skipped:
		p.ended(ctx, file, "processed")
		return body, done, nil
	case errors.Is(getErr, r2.ErrNotFound):
		done.Deleted, err = p.missing(ctx, file)
		return nil, done, err
	}
	return body, done, storage(getErr)
}

// stream reads the file and sends its URLs. No send is in progress when it returns.
func (p *Processor) stream(ctx context.Context, m *contract.SeedMessage, file contract.RawFile, body *r2.Body,
	sender Sender) (result Result, err error) {
	// The URLs that wait are most of the memory, and few bytes become garbage. So the memory may be almost full.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	p.reader.Reset(body)
	p.groups.start(file.Partition.Country)
	p.outbox.start(ctx, p.Store, sender, m, file)
	defer func() {
		if sendErr := p.outbox.wait(); err == nil {
			err = sendErr
		}
		result.DomainsSent, result.URLs = p.outbox.messages, p.outbox.urls
		p.groups.release()
		p.reader.Reset(nil)
	}()
	logged := 0
	for {
		record, err := p.reader.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return result, p.readError(err, body.Size)
		}
		result.TotalRecords++
		if bad := record.Bad(); bad != nil {
			result.BadFields += len(bad)
			if logged < maxLogged {
				logged++
				p.logRecord(ctx, "record_fields_ignored", m, record, slog.Any("fields", bad))
			}
		}
		added, why := p.groups.add(record)
		switch {
		case why != "":
			if result.BadRecords < maxLogged {
				p.logRecord(ctx, "record_rejected", m, record, slog.String("reason", string(why)))
				result.Rejected = append(result.Rejected, contract.Rejection{Record: record.Number,
					Offset: record.Offset, Reason: string(why)})
			}
			result.BadRecords++
		case !added:
			result.Duplicates++
		}
		if p.groups.full() {
			result.UniqueDomains += p.groups.newDomains()
			if err := p.outbox.flush(&p.groups, false); err != nil {
				return result, err
			}
		}
	}
	result.UniqueDomains += p.groups.newDomains()
	result.Disagreements = p.groups.disagreements
	p.Log.LogAttrs(ctx, slog.LevelInfo, "domains_extracted",
		slog.String("file_path", m.FilePath),
		slog.Int("total_records", result.TotalRecords),
		slog.Int("unique_domains", result.UniqueDomains),
		slog.Int("bad_records", result.BadRecords),
		slog.Int("bad_fields", result.BadFields),
		slog.Int("duplicates", result.Duplicates),
		slog.Int("disagreements", result.Disagreements))
	return result, p.outbox.flush(&p.groups, true)
}

// readError distinguishes a truncated file from a transfer that broke off.
func (p *Processor) readError(err error, size int64) error {
	var parse *contract.Error
	if !errors.As(err, &parse) || parse.Kind != contract.Parse {
		return storage(err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) && p.reader.Offset() < size {
		return &contract.Error{Kind: contract.Storage, Op: "processor.Process",
			Message: "the store sent only part of the file", Err: err}
	}
	return &malformed{p.reader.Offset(), parse}
}

func (p *Processor) logRecord(ctx context.Context, event string, m *contract.SeedMessage, r *dataset.Record,
	attr slog.Attr) {
	p.Log.LogAttrs(ctx, slog.LevelWarn, event, slog.String("file_path", m.FilePath),
		slog.Int("record", r.Number), slog.Int64("offset", r.Offset), attr)
}

func (p *Processor) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

func storage(err error) error { return contract.Wrap(contract.Storage, "processor.Process", err) }
