package collector

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
)

// documentURLs converts a message's URLs into sorted, distinct entries of a document.
func documentURLs(urls []contract.URL, sourceFile string) []contract.DocumentURL {
	entries := make([]contract.DocumentURL, 0, len(urls))
	for _, u := range urls {
		entries = append(entries, contract.DocumentURL{
			URL: u.URL, Title: u.Title, Path: u.Path,
			DiscoveryMethod: u.DiscoveryMethod, Language: u.Language, DiscoveredAt: u.DiscoveredAt,
			Confidence: u.Confidence,
			SourceFile: sourceFile,
		})
	}
	return normalized(entries)
}

// normalized truncates the texts of entries, brings their URLs into canonical form, and removes duplicates. Documents
// of earlier versions have longer texts, and URLs as written in the raw file.
func normalized(entries []contract.DocumentURL) []contract.DocumentURL {
	for i := range entries {
		e := &entries[i]
		*e = truncated(*e)
		if link := canonical(e.URL); link != e.URL {
			raw := e.URL
			e.URL, e.RawURL, e.Path = link, &raw, pathOf(link)
		}
	}
	slices.SortFunc(entries, func(a, b contract.DocumentURL) int {
		if c := strings.Compare(a.URL, b.URL); c != 0 {
			return c
		}
		return precedence(&a, &b)
	})
	return slices.CompactFunc(entries, func(a, b contract.DocumentURL) bool { return a.URL == b.URL })
}

// pathOf returns the path of a canonical URL.
func pathOf(link string) string {
	path, _, _ := strings.Cut(link[len(authorityOf(link)):], "?")
	return path
}

// truncated truncates the texts of an entry.
func truncated(e contract.DocumentURL) contract.DocumentURL {
	for _, s := range []**string{&e.Title, &e.DiscoveryMethod, &e.Language, &e.DiscoveredAt} {
		if *s != nil && len(**s) > contract.MaxTextBytes {
			*s = contract.ShortText(**s)
		}
	}
	return e
}

// precedence orders two descriptions of one URL, of which the first is used, regardless of their order of arrival: by
// raw file and, since the parts of one file may repeat a URL, by content.
func precedence(a, b *contract.DocumentURL) int {
	if c := compareRaw(a.SourceFile, b.SourceFile); c != 0 {
		return c
	}
	for _, pair := range [][2]*string{{a.Title, b.Title}, {a.DiscoveryMethod, b.DiscoveryMethod},
		{a.Language, b.Language}, {a.DiscoveredAt, b.DiscoveredAt}} {
		if c := compareOptional(pair[0], pair[1]); c != 0 {
			return c
		}
	}
	if c := compareOptional(a.Confidence, b.Confidence); c != 0 {
		return c
	}
	if c := compareOptional(a.RawURL, b.RawURL); c != 0 {
		return -c // the canonical form before others
	}
	return strings.Compare(a.Path, b.Path)
}

// compareRaw orders the names or keys of raw files of one partition by number; a longer number is higher.
func compareRaw(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// compareOptional orders values before nil.
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

// union is the sorted union of a document's URLs and new ones. The document may be nil.
type union struct {
	store *store
	old   *contract.Document
	added []contract.DocumentURL
}

// unionEntry is an entry of a union. It keeps the scores that the document has for its URL.
type unionEntry struct {
	contract.DocumentURL
	changed bool // the document lacks it, or describes it differently
}

// entries iterates over the union with one list in memory at a time. An error ends it.
func (u *union) entries(ctx context.Context) iter.Seq2[unionEntry, error] {
	return func(yield func(unionEntry, error) bool) {
		added := u.added
		for e, err := range u.store.entries(ctx, u.old) {
			if err != nil {
				yield(unionEntry{}, err)
				return
			}
			for ; len(added) > 0 && added[0].URL < e.URL; added = added[1:] {
				if !yield(unionEntry{added[0], true}, nil) {
					return
				}
			}
			next := unionEntry{DocumentURL: e}
			if len(added) > 0 && added[0].URL == e.URL {
				if precedence(&added[0], &e) < 0 {
					next = unionEntry{redescribed(e, added[0]), true}
				}
				added = added[1:]
			}
			if !yield(next, nil) {
				return
			}
		}
		for _, e := range added {
			if !yield(unionEntry{e, true}, nil) {
				return
			}
		}
	}
}

// redescribed returns e with the description of another entry for its URL.
func redescribed(e, by contract.DocumentURL) contract.DocumentURL {
	by.Type, by.Priority, by.Action, by.Allowed = e.Type, e.Priority, e.Action, e.Allowed
	return by
}

// overview is the result of surveying a union.
type overview struct {
	inline  []contract.DocumentURL // the first ones, as many as fit into the document
	total   int
	changed bool // the union differs from the document
}

// survey iterates over the union once and calls see for every URL.
func (u *union) survey(ctx context.Context, see func(e *contract.DocumentURL)) (*overview, error) {
	o := &overview{inline: []contract.DocumentURL{}}
	size := 0
	for e, err := range u.entries(ctx) {
		if err != nil {
			return nil, err
		}
		see(&e.DocumentURL)
		o.total++
		o.changed = o.changed || e.changed
		if size += sizeOf(&e.DocumentURL); o.total <= contract.MaxInlineURLs && size <= contract.MaxInlineBytes {
			o.inline = append(o.inline, e.DocumentURL)
		}
	}
	return o, nil
}

// sizeOf estimates how many bytes an entry takes as JSON.
func sizeOf(e *contract.DocumentURL) int {
	const names = 250 // of the fields, and what is short
	n := names + len(e.URL) + len(e.Path)
	for _, s := range []*string{e.Title, e.DiscoveryMethod, e.Language, e.DiscoveredAt} {
		if s != nil {
			n += len(*s)
		}
	}
	return n
}

// storeLists iterates over the union again, scores the entries after the first inline ones, and stores them in lists,
// one in memory at a time. It returns the keys of at most limit lists and the number of entries that did not fit.
// Lists are named by a digest of their content, so an attempt that loses against another event has overwritten
// nothing.
func (u *union) storeLists(ctx context.Context, dir contract.DomainDir, inline, limit int,
	score func(*contract.DocumentURL)) (keys []string, omitted int, err error) {
	keys = []string{}
	var list []contract.DocumentURL
	size := 0
	flush := func() error {
		key, err := u.store.storeList(ctx, dir, list)
		keys, list, size = append(keys, key), list[:0], 0
		return err
	}
	n := 0
	for e, err := range u.entries(ctx) {
		if err != nil {
			return keys, omitted, err
		}
		if n++; n <= inline {
			continue
		}
		if len(keys) == limit {
			omitted++
			continue
		}
		score(&e.DocumentURL)
		list = append(list, e.DocumentURL)
		if size += sizeOf(&e.DocumentURL); len(list) == contract.MaxInlineURLs || size >= contract.MaxInlineBytes {
			if err := flush(); err != nil {
				return keys, omitted, err
			}
		}
	}
	if len(list) > 0 {
		err = flush()
	}
	return keys, omitted, err
}
