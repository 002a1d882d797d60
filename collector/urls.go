package collector

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/r2"
)

// describe makes a document's entries of a message's URLs: sorted, one for each URL.
func describe(urls []contract.URL, sourceFile string) []contract.DocumentURL {
	entries := make([]contract.DocumentURL, 0, len(urls))
	for _, u := range urls {
		entries = append(entries, contract.DocumentURL{
			URL: u.URL, Title: u.Title, Path: u.Path,
			DiscoveryMethod: u.DiscoveryMethod, Language: u.Language, DiscoveredAt: u.DiscoveredAt, Confidence: u.Confidence,
			SourceFile: sourceFile,
		})
	}
	slices.SortFunc(entries, func(a, b contract.DocumentURL) int {
		if c := strings.Compare(a.URL, b.URL); c != 0 {
			return c
		}
		return precedence(&a, &b)
	})
	return slices.CompactFunc(entries, func(a, b contract.DocumentURL) bool { return a.URL == b.URL })
}

// precedence says which of two descriptions of one URL stands, whatever came first: the one of the
// lowest raw file; within one file, whose parts may repeat a URL, the one that sorts first.
func precedence(a, b *contract.DocumentURL) int {
	if c := compareChunks(a.SourceFile, b.SourceFile); c != 0 {
		return c
	}
	for _, pair := range [][2]*string{{a.Title, b.Title}, {a.DiscoveryMethod, b.DiscoveryMethod}, {a.Language, b.Language}, {a.DiscoveredAt, b.DiscoveredAt}} {
		if c := compareOptional(pair[0], pair[1]); c != 0 {
			return c
		}
	}
	if c := compareOptional(a.Confidence, b.Confidence); c != 0 {
		return c
	}
	return strings.Compare(a.Path, b.Path)
}

// compareChunks orders raw_NNNN names by their numbers, of which longer ones are higher.
func compareChunks(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// compareOptional puts a value before none.
func compareOptional[T cmp.Ordered](a, b *T) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*a, *b)
}

// merged is the sorted union of two sorted lists of entries.
type merged struct {
	entries []contract.DocumentURL // the first MaxInlineURLs
	files   []string               // keys of the objects with the rest
	total   int
	changed bool // differs from the first list
}

// merge unites the URLs of a document with new ones. What is beyond MaxInlineURLs goes to objects
// named by their content: the same URLs give the same keys, and a document that loses the race for
// its key has overwritten nothing.
// see is told every URL.
func (c *Collector) merge(ctx context.Context, dir r2.DomainDir, old *contract.Document, added []contract.DocumentURL, see func(url string)) (*merged, error) {
	m := &merged{files: []string{}, entries: []contract.DocumentURL{}}
	var rest []contract.DocumentURL
	flush := func() error {
		key, err := c.storeList(ctx, dir, rest)
		m.files = append(m.files, key)
		rest = rest[:0]
		return err
	}
	put := func(e contract.DocumentURL) error {
		m.total++
		see(e.URL)
		e.Type, e.Priority, e.Action, e.Allowed = nil, nil, nil, nil
		if m.total <= contract.MaxInlineURLs {
			m.entries = append(m.entries, e)
			return nil
		}
		if rest = append(rest, e); len(rest) == contract.MaxInlineURLs {
			return flush()
		}
		return nil
	}
	i := 0
	for e, err := range c.entries(ctx, old) {
		if err != nil {
			return nil, err
		}
		for ; i < len(added) && added[i].URL < e.URL; i++ {
			m.changed = true
			if err := put(added[i]); err != nil {
				return nil, err
			}
		}
		if i < len(added) && added[i].URL == e.URL {
			if precedence(&added[i], &e) < 0 {
				m.changed, e = true, added[i]
			}
			i++
		}
		if err := put(e); err != nil {
			return nil, err
		}
	}
	for ; i < len(added); i++ {
		m.changed = true
		if err := put(added[i]); err != nil {
			return nil, err
		}
	}
	if len(rest) > 0 {
		return m, flush()
	}
	return m, nil
}

// entries goes through all URLs of a document, which may be nil, reading one list at a time.
func (c *Collector) entries(ctx context.Context, d *contract.Document) iter.Seq2[contract.DocumentURL, error] {
	return func(yield func(contract.DocumentURL, error) bool) {
		if d == nil {
			return
		}
		for _, e := range d.URLs {
			if !yield(e, nil) {
				return
			}
		}
		for _, key := range d.URLsFiles {
			var list []contract.DocumentURL
			if err := c.readJSON(ctx, key, &list); err != nil {
				yield(contract.DocumentURL{}, err)
				return
			}
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

func (c *Collector) storeList(ctx context.Context, dir r2.DomainDir, list []contract.DocumentURL) (string, error) {
	body, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings always marshal
	}
	sum := sha256.Sum256(body)
	key := dir.SortedList(hex.EncodeToString(sum[:16]))
	_, err = c.Bucket.Put(ctx, key, body, &r2.PutOptions{If: r2.Condition{Absent: true}, ContentType: "application/json"})
	if errors.Is(err, r2.ErrPrecondition) {
		err = nil // it is there, with this content
	}
	return key, err
}

// missingList gives the error of reading a URL list, which says what to do when there is none.
func missingList(key string, err error) error {
	if errors.Is(err, r2.ErrNotFound) {
		return contract.Invalid("urls_path", "there is no object under %q; queue the raw file again", key)
	}
	return err
}

// readJSON decodes a stored object.
func (c *Collector) readJSON(ctx context.Context, key string, v any) error {
	body, err := c.Bucket.Get(ctx, key)
	if err != nil {
		return missingList(key, err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return contract.Wrap(contract.Storage, "collector.readJSON", err)
	}
	if err := json.Unmarshal(bytes.TrimSpace(data), v); err != nil {
		return &contract.Error{Kind: contract.Parse, Op: "collector.readJSON", Field: key, Message: "the stored object is not the JSON it should be", Err: err}
	}
	return nil
}
