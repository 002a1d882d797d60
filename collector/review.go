package collector

import (
	"context"
	"errors"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// maxReviewedLists caps the URL lists of a document that is written again when an exclusion is lifted. A larger one
// waits for the next collection.
const maxReviewedLists = 10

// Review applies the batch's exclusions to the document of a domain after one was added or, with lifted, removed. It
// sends no requests, and may be repeated.
//
// It returns the document, or nil if the domain has no document.
func (b *Batch) Review(ctx context.Context, p contract.Partition, domain string, lifted bool) (*contract.Document,
	error) {
	s := &saving{batch: b, dir: contract.DomainDir{Partition: p, Domain: domain}, rewriting: true}
	for range maxConflicts {
		old, etag, err := b.store.document(ctx, s.dir)
		if old == nil || err != nil {
			return nil, err
		}
		s.message = old.Again(p, b.collector.Clock.Now())
		doc := old
		switch {
		case !lifted && strike(old, b.excluded):
			err = b.putRevision(ctx, s.dir, old, etag)
		case lifted && len(old.URLsFiles) <= maxReviewedLists:
			doc, err = s.storeOver(ctx, old, etag)
		}
		if err == nil {
			return doc, s.announce(ctx, doc)
		}
		if !errors.Is(err, r2.ErrPrecondition) {
			return nil, err
		}
		if err := b.collector.Clock.Sleep(ctx, sameKeyPause); err != nil {
			return nil, err
		}
	}
	return nil, &contract.Error{Kind: contract.Storage, Op: "collector.Review", Field: s.dir.Document(),
		Message: "other events keep changing the document; it will be retried"}
}

// putRevision stores the next revision of a document, in place of the one with the ETag.
func (b *Batch) putRevision(ctx context.Context, dir contract.DomainDir, doc *contract.Document, etag string) error {
	doc.Revision++
	doc.Processing.ProcessedAt = contract.Time{Time: b.collector.Clock.Now()}
	_, err := b.store.putRetry(ctx, dir.Document(), encode(doc),
		&r2.PutOptions{If: r2.Condition{ETag: etag}, ContentType: "application/json"})
	return err
}
