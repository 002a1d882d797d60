package collector

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/r2"
)

// maxConflicts caps the attempts to write a document that other events keep changing.
const maxConflicts = 8

// saving writes the document of one message.
type saving struct {
	batch     *Batch
	visit     *Visit // nil for a document that is rewritten without a message
	dir       contract.DomainDir
	message   *contract.DomainMessage
	watch     *stopwatch                     // nil if visit is
	added     []contract.DocumentURL         // the message's URLs
	found     *findings                      // of this collection, or nil
	reused    *reused                        // evidence of another partition, or nil; for a merge both are nil
	rewriting bool                           // the exclusions have changed: the document is written again
	states    map[string]frontier.EntryState // of the entry points that were put, by URL
	observed  []frontier.ObservedPattern     // of their hosts
	shown     *discovery.Discovery           // as in the document; nil if there was no analysis
	lists     []string                       // keys of the URL lists stored so far
}

// save writes the document from the findings, or for a merge from the stored document, with the URLs of the stored
// document and the message. It returns the document as stored.
func (s *saving) save(ctx context.Context) (*contract.Document, error) {
	doc, err := s.storeDocument(ctx)
	if err == nil {
		err = s.announce(ctx, doc)
	}
	return doc, err
}

// storeDocument stores the document, with the URLs that other events have stored in the meantime.
func (s *saving) storeDocument(ctx context.Context) (*contract.Document, error) {
	if !s.merging() && !s.message.Force { // usually there is no document yet
		doc, err := s.storeOver(ctx, nil, "")
		if !errors.Is(err, r2.ErrPrecondition) {
			return doc, err
		}
	}
	for range maxConflicts {
		old, etag, err := s.batch.store.document(ctx, s.dir)
		if err != nil {
			return nil, err
		}
		if old == nil && s.merging() {
			return nil, &contract.Error{Kind: contract.Internal, Op: "collector.save", Field: s.dir.Document(),
				Message: "there is a checkpoint but no document; orchestrate with force to collect the domain again"}
		}
		doc, err := s.storeOver(ctx, old, etag)
		if !errors.Is(err, r2.ErrPrecondition) {
			return doc, err
		}
		// Another event was faster. A key takes one write a second, so hurrying is pointless.
		if err := s.batch.collector.Clock.Sleep(ctx, sameKeyPause+rand.N(time.Second)); err != nil {
			return nil, err
		}
	}
	return nil, &contract.Error{Kind: contract.Storage, Op: "collector.save", Field: s.dir.Document(),
		Message: "other events keep changing the document; it will be retried"}
}

// storeOver replaces the document old, which has the ETag etag, or creates one if old is nil. It returns
// r2.ErrPrecondition if another event has changed it, and old if there is nothing to add.
func (s *saving) storeOver(ctx context.Context, old *contract.Document, etag string) (*contract.Document, error) {
	a, err := s.analysis(ctx, old)
	if err != nil {
		return nil, err
	}
	urls := &union{s.batch.store, old, s.added}
	view, err := urls.survey(ctx, a.see)
	if err != nil {
		return nil, err
	}
	doc := compose(old, s.message, view)
	switch {
	case s.found != nil:
		s.found.describe(doc)
	case s.reused != nil:
		s.reused.describe(doc)
	}
	if s.merging() && !s.rewriting && !view.changed && slices.Equal(doc.Source.RawFilePaths, old.Source.RawFilePaths) {
		return old, nil
	}
	if err := s.score(ctx, doc, urls, view.total, a); err != nil {
		return nil, err
	}
	how := s.describeDiscovery(doc, a)
	if err := s.storeState(ctx, doc, a); err != nil {
		return nil, err
	}
	s.watch.lap(analysisStage)
	if err := s.queue(ctx, old, doc, how, a); err != nil {
		return nil, err
	}
	s.watch.lap(frontierStage)
	s.describeContract(old, doc, how)
	s.describeObserved(old, doc)
	s.setRetryDate(old, doc)
	if s.rewriting && same(old, doc) {
		return old, nil
	}
	if s.found != nil {
		if err := s.found.puts.wait(); err != nil {
			return nil, err
		}
	}
	doc.Processing.ProcessedAt = contract.Time{Time: s.batch.collector.Clock.Now()}
	condition := r2.Condition{ETag: etag, Absent: old == nil}
	if _, err := s.batch.store.putRetry(ctx, s.dir.Document(), encode(doc),
		&r2.PutOptions{If: condition, ContentType: "application/json"}); err != nil {
		return nil, err
	}
	return doc, s.deleteObsolete(ctx, old, doc)
}

// same reports whether two revisions of a document have the same content.
func same(a, b *contract.Document) bool {
	c := *b
	c.Revision, c.Processing.ProcessedAt = a.Revision, a.Processing.ProcessedAt
	return bytes.Equal(encode(a), encode(&c))
}

// merging reports whether only the URLs of the document change.
func (s *saving) merging() bool { return s.found == nil && s.reused == nil }

// score scores the URLs of a document, and stores those that do not fit into it in lists.
func (s *saving) score(ctx context.Context, doc *contract.Document, urls *union, total int, a *analysis) error {
	for i := range doc.URLs {
		a.score(&doc.URLs[i])
	}
	if total == len(doc.URLs) {
		return nil
	}
	keys, omitted, err := urls.storeLists(ctx, s.dir, len(doc.URLs), contract.MaxURLLists, a.score)
	if err != nil {
		return err
	}
	doc.URLsFiles = keys
	doc.URLsOmitted += omitted
	s.lists = append(s.lists, keys...)
	return nil
}

// maxStateInline caps the bytes of a state inside a document. The state of a thousand URLs has some 36 KB.
const maxStateInline = 48 << 10

// storeState stores the state of a collection for later merges. Inside the document it costs no put, and always
// belongs to the same collection. A large state is stored as discovery.json.
func (s *saving) storeState(ctx context.Context, doc *contract.Document, a *analysis) error {
	if s.found == nil {
		return nil
	}
	if s.found.analysis.state == nil {
		s.found.analysis.state = marshal(state{a.State(), s.found.analysis.rules})
	}
	if doc.State = ""; len(s.found.analysis.state) <= maxStateInline {
		doc.State = string(s.found.analysis.state)
		return nil
	}
	if s.found.analysis.stored {
		return nil
	}
	if _, err := s.batch.store.putRetry(ctx, s.dir.Discovery(), s.found.analysis.state,
		&r2.PutOptions{ContentType: "application/json"}); err != nil {
		return err
	}
	s.found.analysis.stored = true
	return nil
}

// storedState returns the state stored with a document, or nil if it is lost.
func (s *store) storedState(ctx context.Context, dir contract.DomainDir, d *contract.Document) ([]byte, error) {
	if d.State != "" {
		return []byte(d.State), nil
	}
	return s.read(ctx, dir.Discovery())
}

// deleteObsolete deletes the objects that old refers to and doc does not: evidence of files that are gone, a state
// that moved into doc, and replaced URL lists. It also deletes the lists of attempts that lost against other events.
func (s *saving) deleteObsolete(ctx context.Context, old, doc *contract.Document) error {
	var gone []string
	lists := slices.Clone(s.lists)
	if old != nil {
		if old.Robots.Exists && !doc.Robots.Exists {
			gone = append(gone, s.dir.Robots())
		}
		if old.Sitemap.Exists && !doc.Sitemap.Exists {
			gone = append(gone, s.dir.Sitemap())
		}
		if hasChildren(&old.Technical.SitemapXML) && !hasChildren(&doc.Technical.SitemapXML) {
			gone = append(gone, s.dir.SitemapURLs())
		}
		if old.State == "" && doc.State != "" {
			gone = append(gone, s.dir.Discovery())
		}
		lists = append(lists, old.URLsFiles...)
	}
	slices.Sort(lists)
	for _, key := range slices.Compact(lists) {
		if !slices.Contains(doc.URLsFiles, key) {
			gone = append(gone, key)
		}
	}
	for keys := range slices.Chunk(gone, r2.MaxDeleteKeys) {
		if err := s.batch.store.Delete(ctx, keys...); err != nil {
			return contract.Wrap(contract.Storage, "collector.deleteObsolete", err)
		}
	}
	return nil
}

// compose builds the document of a message and its URLs from old, which may be nil.
func compose(old *contract.Document, m *contract.DomainMessage, view *overview) *contract.Document {
	d := &contract.Document{}
	if old != nil {
		*d = *old
	}
	d.SchemaVersion = contract.SchemaVersion
	d.Revision++
	d.Domain, d.RegistrableDomain = m.Domain, m.Domain
	d.Country, d.Category = strings.ToUpper(m.Partition.Country), m.Partition.Category
	// If raw files disagree about the domain, the lowest decides.
	if old == nil || cmp.Or(compareRaw(m.SourceFilePath, old.Source.RawFilePath),
		strings.Compare(m.DomainID, old.DomainID)) < 0 {
		d.DomainID, d.Authority = m.DomainID, contract.Text(m.Authority)
	}
	paths := append(slices.Clone(d.Source.RawFilePaths), m.SourceFilePath)
	slices.SortFunc(paths, compareRaw)
	paths = slices.Compact(paths)
	listed := min(len(paths), contract.MaxRawFiles)
	d.Source.RawFilePaths = paths[:listed]
	d.Source.Omitted += len(paths) - listed
	d.Source.RawFilePath = d.Source.RawFilePaths[0]
	d.URLs, d.URLsFiles = view.inline, []string{}
	d.Processing.TotalURLs = view.total + d.URLsOmitted
	d.Processing.Partition = m.Partition
	d.Processing.Version = contract.Version
	return d
}

// encode writes a document as indented JSON, in the layout of the documents in the workflow's specification: two
// spaces, and every member on a line of its own. The parts that are JSON already are not encoded again.
func encode(d *contract.Document) []byte {
	rest, parts := *d, []struct{ name, value []byte }{
		{[]byte(`"intelligent_discovery":`), d.Discovery}, {[]byte(`"fetch_contract":`), d.Contract}}
	rest.Discovery, rest.Contract = nil, nil
	compact := contract.Encode(&rest)
	w := indenter{dst: make([]byte, 0, 2*(len(compact)+len(d.Discovery)+len(d.Contract)))}
	for _, part := range parts {
		if part.value == nil {
			continue // it is null
		}
		// quotes inside of strings are escaped, so only the member's name is found
		before, after, _ := bytes.Cut(compact, append(part.name, "null"...))
		w.write(before)
		w.write(part.name)
		w.write(part.value)
		compact = after
	}
	w.write(compact)
	return append(w.dst, '\n')
}

// indenter writes JSON with line breaks, as json.Indent does, but four to eight times as fast: json.Indent, which
// checks each byte of its input, takes twice as long as encoding the document (BenchmarkIndent). Its input comes in
// pieces between tokens.
type indenter struct {
	dst   []byte
	depth int
}

func (w *indenter) breakLine() {
	w.dst = append(w.dst, '\n')
	for range w.depth {
		w.dst = append(w.dst, "  "...)
	}
}

func (w *indenter) write(src []byte) {
	for i := 0; i < len(src); i++ {
		switch c := src[i]; c {
		case '"':
			end := endOfString(src, i)
			w.dst = append(w.dst, src[i:end]...)
			i = end - 1
		case '{', '[':
			w.dst = append(w.dst, c)
			next := i + 1
			for isSpace(src[next]) {
				next++
			}
			if src[next] == '}' || src[next] == ']' {
				w.dst = append(w.dst, src[next])
				i = next
				break
			}
			w.depth++
			w.breakLine()
		case '}', ']':
			w.depth--
			w.breakLine()
			w.dst = append(w.dst, c)
		case ',':
			w.dst = append(w.dst, c)
			w.breakLine()
		case ':':
			w.dst = append(w.dst, ':', ' ')
		default:
			if !isSpace(c) { // parts of a document that was read are indented
				w.dst = append(w.dst, c)
			}
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// endOfString returns the index behind the JSON string that begins at i.
func endOfString(src []byte, i int) int {
	for end := i + 1; ; end++ {
		end += bytes.IndexByte(src[end:], '"')
		escapes := end
		for src[escapes-1] == '\\' {
			escapes--
		}
		if (end-escapes)%2 == 0 {
			return end + 1
		}
	}
}
