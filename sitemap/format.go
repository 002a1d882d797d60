package sitemap

import (
	"bytes"
	"slices"
)

// format is an XML vocabulary of sitemaps or feeds.
type format struct {
	kind        Kind
	root, entry element
	index       bool     // entries are sitemaps to read
	feed        bool     // entries are items of a feed, and read by feedTag instead of pageTag
	typedText   bool     // a title is HTML only if its type says so
	namespaces  []string // parts of their names, one of which a root of this name needs; nil if the name alone will do
	mediaTypes  []string // that pages declare such a feed with, in lower case
}

// formats are the vocabularies that Parse reads. A new one needs a row here and the names of its elements in
// element.go. What is no XML, as lists of URLs are, is recognised line by line: see parser.row.
var formats = [...]format{
	{kind: URLSet, root: tagURLSet, entry: tagURL},
	{kind: Index, root: tagIndex, entry: tagSitemap, index: true},
	{kind: RSS, root: tagRSS, entry: tagItem, feed: true,
		mediaTypes: []string{"application/rss+xml", "application/x-rss+xml", "text/rss+xml", "application/xml",
			"text/xml"}},
	{kind: RSS, root: tagRDF, entry: tagItem, feed: true, namespaces: []string{"purl.org/rss", "netscape.com/rdf"},
		mediaTypes: []string{"application/rdf+xml"}},
	{kind: Atom, root: tagFeed, entry: tagEntry, feed: true, typedText: true,
		mediaTypes: []string{"application/atom+xml"}},
}

// htmlPage is the format of a web page: nothing in it counts, unless the root of another format follows.
var htmlPage = format{root: tagHTML, feed: true}

// byRoot and byEntry find formats by their elements; of several with the same entry byEntry has the first.
var byRoot, byEntry = func() (roots, entries [elementCount]*format) {
	for i := range formats {
		f := &formats[i]
		roots[f.root] = f
		if entries[f.entry] == nil {
			entries[f.entry] = f
		}
	}
	return roots, entries
}()

// isNamed reports whether a root with these attributes is one of the format's, and not of another that uses
// the same name.
func (f *format) isNamed(attrs []byte) bool {
	return f.namespaces == nil || slices.ContainsFunc(f.namespaces,
		func(n string) bool { return bytes.Contains(attrs, []byte(n)) })
}

// IsFeed reports whether documents of this kind are feeds.
func (k Kind) IsFeed() bool {
	return slices.ContainsFunc(formats[:], func(f format) bool { return f.feed && f.kind == k })
}

// FeedOf returns the kind of feed that a media type stands for, in lower case and without parameters, or "".
func FeedOf(mediaType string) Kind {
	for _, f := range formats {
		if slices.Contains(f.mediaTypes, mediaType) {
			return f.kind
		}
	}
	return ""
}
