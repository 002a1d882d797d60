package collector

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// maxConflicts is how often a document is merged anew because another event wrote it in between.
const maxConflicts = 8

// save writes the document of a domain: what f says, or what the stored document says when f is nil,
// with the URLs of both the stored document and the message. It returns what is stored then.
func (b *Batch) save(ctx context.Context, dir contract.DomainDir, m *contract.DomainMessage, added []contract.DocumentURL, f *facts) (*contract.Document, error) {
	var lists []string // that were stored on the way
	for try := range maxConflicts {
		var old *contract.Document
		var etag string
		// What was just collected most often has no document yet: the first try does not look.
		if f == nil || try > 0 {
			var err error
			if old, etag, err = b.store.document(ctx, dir); err != nil {
				return nil, err
			}
		}
		if old == nil && f == nil {
			return nil, &contract.Error{Kind: contract.Internal, Op: "collector.save", Field: dir.Document(), Message: "the checkpoint is there but not the document; orchestrate with force to collect the domain again"}
		}
		known, err := b.analysis(ctx, dir, old, f)
		if err != nil {
			return nil, err
		}
		urls := &union{b.store, old, added}
		view, err := urls.survey(ctx, known.see)
		if err != nil {
			return nil, err
		}
		doc := compose(old, m, view, f)
		if f == nil && !view.changed && slices.Equal(doc.Source.RawFilePaths, old.Source.RawFilePaths) {
			return old, nil // all of it is there already
		}
		for i := range doc.URLs {
			known.score(&doc.URLs[i])
		}
		if view.total > len(doc.URLs) {
			var omitted int
			if doc.URLsFiles, omitted, err = urls.storeLists(ctx, dir, len(doc.URLs), contract.MaxURLLists, known.score); err != nil {
				return nil, err
			}
			doc.URLsOmitted += omitted
			lists = append(lists, doc.URLsFiles...)
		}
		b.discovered(doc, known, f)
		if f != nil && !f.stored {
			if _, err := b.store.putRetry(ctx, dir.Discovery(), marshal(state{known.State(), f.rules}), &r2.PutOptions{ContentType: "application/json"}); err != nil {
				return nil, err
			}
			f.stored = true
		}
		doc.Processing.ProcessedAt = contract.Time{Time: b.collector.Clock.Now()}
		condition := r2.Condition{ETag: etag, Absent: old == nil}
		_, err = b.store.putRetry(ctx, dir.Document(), encode(doc), &r2.PutOptions{If: condition, ContentType: "application/json"})
		if err == nil {
			return doc, b.tidy(ctx, dir, old, doc, lists)
		}
		if !errors.Is(err, r2.ErrPrecondition) {
			return nil, err
		}
		if old == nil && try == 0 {
			continue // there is one, perhaps of long ago
		}
		// Another event was faster. One key takes one write a second, so there is no point in hurry.
		if err := b.collector.Clock.Sleep(ctx, sameKeyPause+rand.N(time.Second)); err != nil {
			return nil, err
		}
	}
	return nil, &contract.Error{Kind: contract.Storage, Op: "collector.save", Field: dir.Document(), Message: "other events kept changing the document; it is tried again"}
}

// tidy deletes what the document before described and this one does not: evidence of files that are
// gone, and lists of URLs that were replaced, or stored for documents that others were faster than.
func (b *Batch) tidy(ctx context.Context, dir contract.DomainDir, old, doc *contract.Document, lists []string) error {
	var gone []string
	if old != nil {
		if old.Robots.Exists && !doc.Robots.Exists {
			gone = append(gone, dir.Robots())
		}
		if old.Sitemap.Exists && !doc.Sitemap.Exists {
			gone = append(gone, dir.Sitemap())
		}
		lists = append(lists, old.URLsFiles...)
	}
	slices.Sort(lists)
	for _, key := range slices.Compact(lists) {
		if !slices.Contains(doc.URLsFiles, key) {
			gone = append(gone, key)
		}
	}
	for chunk := range slices.Chunk(gone, r2.MaxDeleteKeys) {
		if err := b.store.Delete(ctx, chunk...); err != nil {
			return contract.Wrap(contract.Storage, "collector.tidy", err)
		}
	}
	return nil
}

// compose makes the document of a message, the URLs, and either fresh facts or those of old.
func compose(old *contract.Document, m *contract.DomainMessage, view *overview, f *facts) *contract.Document {
	d := &contract.Document{}
	if old != nil {
		*d = *old
	}
	d.SchemaVersion = contract.SchemaVersion
	d.Revision++
	d.Domain, d.RegistrableDomain = m.Domain, m.Domain
	d.Country, d.Category = strings.ToUpper(m.Partition.Country), m.Partition.Category
	// What raw files say differently of the domain is taken from the lowest of them.
	if old == nil || cmp.Or(compareChunks(m.SourceFilePath, old.Source.RawFilePath), strings.Compare(m.DomainID, old.DomainID)) < 0 {
		d.DomainID, d.Authority = m.DomainID, contract.Text(m.Authority)
	}
	paths := append(slices.Clone(d.Source.RawFilePaths), m.SourceFilePath)
	slices.SortFunc(paths, compareChunks)
	paths = slices.Compact(paths)
	listed := min(len(paths), contract.MaxRawFiles)
	d.Source.RawFilePaths = paths[:listed]
	d.Source.Omitted += len(paths) - listed
	d.Source.RawFilePath = d.Source.RawFilePaths[0]
	d.URLs, d.URLsFiles = view.inline, []string{}
	d.Processing.TotalURLs = view.total + d.URLsOmitted
	d.Processing.Partition = m.Partition
	d.Processing.Version = contract.Version
	if f != nil {
		f.describe(d)
	}
	return d
}

// encode writes a document as the workflow documents show it, indented by two spaces.
func encode(d *contract.Document) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		panic(err) // the document is plain data
	}
	return out.Bytes()
}
