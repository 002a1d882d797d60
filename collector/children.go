package collector

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/sitemap"
)

// maxChildBytes caps the list of the pages in sitemaps other than the root: some 50,000 URLs as sites name them. What
// is beyond it is not stored.
const maxChildBytes = 2 << 20

// maxLine caps a line of the list. Longer URLs are left out.
const maxLine = 64 << 10

// childPages lists the pages of the sitemaps other than the root. (The root is stored as it was received.) The list is
// stored beside the document, with a line for each page: the number of bytes that its URL shares with the start of the
// previous URL, a space, and the rest of the URL.
type childPages struct {
	text   []byte
	urls   int
	before []byte
	url    []byte
}

// add lists a page, unless there are too many.
func (l *childPages) add(loc []byte) {
	var ok bool
	if l.url, ok = markup.AppendCanonical(l.url[:0], loc); !ok || l.urls >= sitemap.MaxEntries {
		return
	}
	same := 0
	for same < len(l.url) && same < len(l.before) && l.url[same] == l.before[same] {
		same++
	}
	rest := l.url[same:]
	if size := len(rest) + len("12345 \n"); size >= maxLine || len(l.text)+size > maxChildBytes {
		return
	}
	l.text = append(strconv.AppendInt(l.text, int64(same), 10), ' ')
	l.text = append(append(l.text, rest...), '\n')
	l.before = append(l.before[:0], l.url...)
	l.urls++
}

// storeChildren begins to store the list. A short one is not worth a put: all of its pages fit into the frontier.
func (g *gathering) storeChildren(ctx context.Context) {
	f := &g.found.sitemap
	if 2*f.children.urls < g.collector.Limits.URLsPerDomain {
		return
	}
	text := f.children.text
	g.found.puts.begin(ctx, g.collector.Clock, g.dir.SitemapURLs(), func() error {
		return g.batch.store.putEvidence(ctx, g.dir.SitemapURLs(), text, g.message.Force)
	})
}

// hasChildren reports whether pages of sitemaps other than the root may be stored beside a document.
func hasChildren(t *contract.SitemapXML) bool {
	n := t.DocumentsOmitted
	for i := range t.Documents {
		if d := &t.Documents[i]; d.Error == nil && d.URLCount > 0 {
			n++
		}
	}
	root := 0
	if t.Kind == nil || *t.Kind != string(sitemap.Index) {
		root = 1
	}
	return t.Exists && n > root
}

// children calls fn with each URL of the list that is stored beside a document. A list of an earlier collection may
// have URLs that the analysis does not know.
func (s *Stored) children(ctx context.Context, fn func(url string)) error {
	if !hasChildren(&s.doc.Technical.SitemapXML) {
		return nil
	}
	body, err := s.store.Get(ctx, s.dir.SitemapURLs())
	if errors.Is(err, r2.ErrNotFound) {
		return nil
	}
	if err != nil {
		return contract.Wrap(contract.Storage, "collector.Stored.children", err)
	}
	defer body.Close()
	err = readChildren(&paced{body, s.pace}, func(url string) {
		s.pace.spend(stepsPerURL)
		fn(url)
	})
	return contract.Wrap(contract.Storage, "collector.Stored.children", err)
}

// readChildren calls fn with each URL of a stored list, up to the first that is damaged.
func readChildren(r io.Reader, fn func(url string)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var url []byte
	for lines.Scan() {
		same, rest, ok := cutLine(lines.Bytes())
		if !ok || same > len(url) {
			return nil
		}
		url = append(url[:same], rest...)
		fn(string(url))
	}
	if err := lines.Err(); !errors.Is(err, bufio.ErrTooLong) {
		return err
	}
	return nil
}

// cutLine divides a line of the list.
func cutLine(line []byte) (same int, rest []byte, ok bool) {
	for i, b := range line {
		switch {
		case b == ' ':
			return same, line[i+1:], i > 0
		case b < '0' || b > '9' || same >= maxLine:
			return 0, nil, false
		}
		same = 10*same + int(b-'0')
	}
	return 0, nil, false
}

// copyChildren copies the list to another partition.
func (b *Batch) copyChildren(ctx context.Context, from, to contract.DomainDir, d *contract.Document) error {
	if !hasChildren(&d.Technical.SitemapXML) {
		return nil
	}
	body, err := b.store.Get(ctx, from.SitemapURLs())
	if errors.Is(err, r2.ErrNotFound) {
		return nil // an earlier version stored none
	}
	if err != nil {
		return err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxChildBytes))
	if err != nil {
		return err
	}
	_, err = b.store.putRetry(ctx, to.SitemapURLs(), text, &r2.PutOptions{ContentType: "text/plain"})
	return err
}
