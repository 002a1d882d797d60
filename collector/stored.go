package collector

import (
	"context"
	"errors"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/sitemap"
)

// Stored is the analysis stored beside a document. It assesses URLs for which the document has no space.
type Stored struct {
	*discovery.Analyser
	// Lost is true if the stored analysis cannot be read. It then only has the document's URLs.
	Lost bool

	store    *store
	dir      contract.DomainDir
	doc      *contract.Document
	pace     *pace
	excluded func(link string) bool
	counted  int // of the analysed URLs, see Count
}

// Stored reads the analysis of a document. URLs for which excluded returns true are not listed.
func (c *Collector) Stored(ctx context.Context, dir contract.DomainDir, doc *contract.Document,
	excluded func(link string) bool) (*Stored, error) {
	return c.NewBatch(excluded).stored(ctx, dir, doc)
}

func (b *Batch) stored(ctx context.Context, dir contract.DomainDir, doc *contract.Document) (*Stored, error) {
	a, err := (&saving{batch: b, dir: dir}).analysis(ctx, doc)
	if err != nil {
		return nil, err
	}
	return &Stored{Analyser: a.Analyser, Lost: a.rebuilt, store: b.store, dir: dir, doc: doc, excluded: b.excluded,
		pace: newPace(ctx, b.collector.Clock, func() error { return nil })}, nil
}

// Sitemap calls fn with the canonical URL of each page in the stored sitemaps, duplicates included: up to
// sitemap.MaxEntries in the root, and as many in the others.
func (s *Stored) Sitemap(ctx context.Context, fn func(url string)) error {
	if err := s.root(ctx, fn); err != nil {
		return err
	}
	return s.children(ctx, fn)
}

// root calls fn with the URLs of the root sitemap. An index has none.
func (s *Stored) root(ctx context.Context, fn func(url string)) error {
	t := &s.doc.Technical.SitemapXML
	if !t.Exists || t.Kind != nil && *t.Kind == string(sitemap.Index) {
		return nil
	}
	body, err := s.store.Get(ctx, s.dir.Sitemap())
	if errors.Is(err, r2.ErrNotFound) {
		return nil // the evidence was deleted
	}
	if err != nil {
		return contract.Wrap(contract.Storage, "collector.Stored.Sitemap", err)
	}
	defer body.Close()
	base := ""
	if s.doc.Sitemap.URL != nil {
		base = *s.doc.Sitemap.URL
	}
	var buf []byte
	named := 0
	_, err = sitemap.Parse(&paced{body, s.pace}, base, sitemap.Options{Now: s.doc.CollectedAt.Time},
		func(e *sitemap.Entry) {
			s.pace.spend(stepsPerURL)
			if named++; e.Child || named > sitemap.MaxEntries {
				return
			}
			ok := false
			if buf, ok = markup.AppendCanonical(buf[:0], e.Loc); ok {
				fn(string(buf))
			}
		})
	return contract.Wrap(contract.Storage, "collector.Stored.Sitemap", err)
}
