// Package reconcile rebuilds data from R2: the ledger of a partition, from checkpoints and stored dead letters; the
// frontier, from the documents of a partition; and shards of the frontier, from their snapshots. A call does a
// bounded piece of work and returns a cursor.
package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

// Limits of one call.
const (
	maxPages     = 5   // of keys
	maxDocuments = 200 // each may cost a put
	maxOfAFile   = 10  // keys with the prefix of a raw file
)

// Bucket lists and reads objects.
type Bucket interface {
	List(ctx context.Context, o r2.ListOptions) (*r2.Page, error)
	Get(ctx context.Context, key string) (*r2.Body, error)
}

// DeadLetters returns the records of a partition's stored dead letters after a key. next is the key to continue from,
// or "" at the end.
type DeadLetters interface {
	Stored(ctx context.Context, p contract.Partition, after string) (c ledger.Changes, next string, err error)
}

// Ledger records what was found.
type Ledger interface {
	Reconcile(ctx context.Context, f ledger.Found) error
}

// maxDocument caps the bytes of a document.
const maxDocument = 64 << 20

// Reconciler rebuilds the ledger of a partition, and refills the frontier.
type Reconciler struct {
	Bucket      Bucket
	DeadLetters DeadLetters
	Ledger      Ledger
	Frontier    client.Frontier
	URLs        int // pages of a domain that are put
	Now         func() time.Time
	MaxPages    int // 0 means the constant
}

// Stages of the work, in this order.
const (
	files       = "files"
	domains     = "domains"
	deadLetters = "dead_letters"
)

// position is the content of a cursor.
type position struct {
	Stage    string `json:"s"`
	After    string `json:"a,omitempty"` // the last key that was read
	Recorded string `json:"d,omitempty"` // the last file or domain that was recorded in the ledger
}

// Run does the next step for a partition, from the cursor of the previous call or "".
func (r *Reconciler) Run(ctx context.Context, p contract.Partition, cursor string) (contract.Reconciled, error) {
	out := contract.Reconciled{Partition: p}
	at := position{Stage: files}
	if cursor != "" {
		at = position{}
		if err := contract.DecodeCursor(cursor, &at); err != nil || at.Stage != files && at.Stage != domains &&
			at.Stage != deadLetters {
			return out, contract.BadCursor()
		}
	}
	w := &work{Reconciler: r, at: at, found: ledger.Found{Partition: p, Started: r.Now()}, pages: r.MaxPages}
	if w.pages == 0 {
		w.pages = maxPages
	}
	err := w.run(ctx)
	if err != nil {
		return out, err
	}
	if err := r.Ledger.Reconcile(ctx, w.found); err != nil {
		return out, err
	}
	c := &w.found.Changes
	out.Queued = w.queued
	out.Files, out.DeadLetters = int64(len(c.Files)+len(c.FoundFiles)), int64(len(c.DeadLetters))
	if at.Stage == deadLetters {
		out.Files = 0 // they were counted before
	} else {
		out.Domains = int64(len(c.Domains))
	}
	if w.at.Stage == "" {
		out.Done = true
		return out, nil
	}
	out.Cursor = contract.EncodeCursor(w.at)
	return out, nil
}

// work is one call. It does one stage, or a piece of it.
type work struct {
	*Reconciler
	at    position // moves on
	found ledger.Found
	pages int // left

	queued int64 // pages and entry points that the frontier did not have
}

func (w *work) run(ctx context.Context) (err error) {
	switch w.at.Stage {
	case files:
		return w.files(ctx)
	case domains:
		return w.domains(ctx)
	}
	w.found.Changes, w.at.After, err = w.DeadLetters.Stored(ctx, w.found.Partition, w.at.After)
	if w.at.After == "" {
		w.at.Stage = ""
	}
	return err
}

// walk lists the keys under prefix after w.at.After, until see returns false or the call's pages are used up. It
// reports whether it reached the end.
func (w *work) walk(ctx context.Context, prefix string, see func(o *r2.Object) (more bool, err error)) (end bool,
	err error) {
	options := r2.ListOptions{Prefix: prefix, StartAfter: w.at.After, Metadata: true}
	for ; w.pages > 0; w.pages-- {
		page, err := w.Bucket.List(ctx, options)
		if err != nil {
			return false, contract.Wrap(contract.Storage, "reconcile.Run", err)
		}
		for i := range page.Objects {
			more, err := see(&page.Objects[i])
			if err != nil || !more {
				return false, err
			}
			w.at.After = page.Objects[i].Key
		}
		if !page.Truncated {
			return true, nil
		}
		options.Cursor, options.StartAfter = page.Cursor, ""
	}
	return false, nil
}

// files reads the raw files of the partition. A checkpoint's key follows its file's.
func (w *work) files(ctx context.Context) error {
	p, c := w.found.Partition, &w.found.Changes
	w.found.Files.After = w.at.Recorded
	var last r2.Object // the raw file that was seen last
	see := func(o *r2.Object) {
		raw, checkpoint, ok := contract.ParseRawKey(o.Key)
		n := len(c.Files)
		switch {
		case ok && !checkpoint:
			c.Files, last = append(c.Files, ledger.FileChange{RawFile: raw}), *o
		case n == 0:
		case o.Key == c.Files[n-1].DiscardMark() && !o.Uploaded.Before(last.Uploaded):
			c.Files[n-1].Discarded = o.Uploaded
		case o.Key == c.Files[n-1].Checkpoint() && contract.ProcessedAs(last.ETag, o.Metadata):
			w.processed(o)
		}
	}
	end, err := w.walk(ctx, contract.RawPrefix(p.Country, p.Category, p.Date), func(o *r2.Object) (bool, error) {
		see(o)
		return true, nil
	})
	if err != nil {
		return err
	}
	if end {
		w.found.Files.UpTo = ledger.End
		w.at = position{Stage: domains}
		return nil
	}
	// its checkpoint would follow on the next page
	if n := len(c.Files); n > 0 && strings.HasPrefix(w.at.After, last.Key) {
		page, err := w.Bucket.List(ctx, r2.ListOptions{Prefix: last.Key, StartAfter: w.at.After, Limit: maxOfAFile,
			Metadata: true})
		if err != nil {
			return contract.Wrap(contract.Storage, "reconcile.Run", err)
		}
		for i := range page.Objects {
			see(&page.Objects[i])
		}
	}
	w.at.Recorded = lastName(w.at.Recorded, c.Files, c.FoundFiles)
	w.found.Files.UpTo = w.at.Recorded
	return nil
}

// processed records that the last file has a checkpoint.
func (w *work) processed(checkpoint *r2.Object) {
	c := &w.found.Changes
	last := len(c.Files) - 1
	f := c.Files[last]
	f.Processed, f.SatisfiedUpTo = processedAt(checkpoint), checkpoint.Uploaded
	f.Records = contract.RecordCountsOf(checkpoint.Metadata)
	c.Files, c.FoundFiles = c.Files[:last], append(c.FoundFiles, f)
}

func lastName(last string, lists ...[]ledger.FileChange) string {
	for _, list := range lists {
		if n := len(list); n > 0 {
			last = max(last, list[n-1].Name)
		}
	}
	return last
}

// processedAt returns the time in a checkpoint, or else when it was written.
func processedAt(o *r2.Object) time.Time {
	if t, err := time.Parse(time.RFC3339, o.Metadata["processed_at"]); err == nil {
		return t
	}
	return o.Uploaded
}

// domains reads the checkpoints of the partition's domains.
func (w *work) domains(ctx context.Context) error {
	p, c := w.found.Partition, &w.found.Changes
	settled, current, documents := w.at.Recorded, "", 0
	w.found.Domains.After = settled
	prefix := contract.ProdPrefix(p.Country, p.Category, p.Date)
	end, err := w.walk(ctx, prefix, func(o *r2.Object) (bool, error) {
		dir, name, ok := domainKey(prefix, o.Key)
		if !ok {
			return true, nil
		}
		if dir != current && current != "" {
			settled = current
		}
		current = dir
		if name != contract.CheckpointName {
			return true, nil
		}
		if documents == maxDocuments {
			return false, nil
		}
		documents++
		d, err := w.document(ctx, contract.DomainDir{Partition: p, Domain: dir}.Document())
		if err == nil {
			err = w.refill(ctx, d)
		}
		if err != nil {
			if documents > 1 {
				err = nil // the next call continues with this one
			}
			return false, err
		}
		outcome, ok := contract.ParseOutcome(o.Metadata)
		if !ok {
			if d == nil {
				return true, nil
			}
			outcome = contract.OutcomeOf(d)
		}
		settled = dir
		c.Domains = append(c.Domains, ledger.DomainChange{Partition: p, Domain: dir, Outcome: &outcome,
			SatisfiedUpTo: o.Uploaded})
		return true, nil
	})
	if err != nil {
		return err
	}
	if end {
		w.found.Domains.UpTo = ledger.End
		w.at = position{Stage: deadLetters}
		return nil
	}
	w.at.Recorded, w.found.Domains.UpTo = settled, settled
	return nil
}

// domainKey splits the key of any object of a domain.
func domainKey(prefix, key string) (domain, name string, ok bool) {
	domain, name, ok = strings.Cut(strings.TrimPrefix(key, prefix), "/")
	return domain, name, ok && contract.CheckDomain("domain", domain) == nil
}

// refill puts a document's entry points and pages into the frontier, and its revision into the changes. It changes
// nothing that exists.
func (w *work) refill(ctx context.Context, d *contract.Document) error {
	if d == nil {
		return nil
	}
	put := collector.Refill(d, w.URLs)
	put.Partition = w.found.Partition
	shard := w.Frontier.Of(put.Domain)
	answer, err := shard.Put(ctx, put)
	if err == nil {
		w.queued += int64(answer.Added)
		err = shard.Changed(ctx, collector.Announcement(w.found.Partition, d))
	}
	if contract.KindOf(err) == contract.Validation { // the document was edited by hand
		return nil
	}
	return err
}

// document reads a document. It returns nil if it is gone or cannot be parsed.
func (w *work) document(ctx context.Context, key string) (*contract.Document, error) {
	body, err := w.Bucket.Get(ctx, key)
	if errors.Is(err, r2.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "reconcile.Run", err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxDocument))
	if err != nil {
		return nil, contract.Wrap(contract.Storage, "reconcile.Run", err)
	}
	var d contract.Document
	if json.Unmarshal(data, &d) != nil || d.CollectedAt.IsZero() {
		return nil, nil
	}
	return &d, nil
}
