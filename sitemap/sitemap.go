// Package sitemap reads sitemaps as they are in the wild: urlsets, sitemap indexes,
// plain-text lists and the feeds (RSS, Atom) that sites submit in their place
// (https://www.sitemaps.org/protocol.html), however broken. It reports what it found, including
// that a document was cut short. Walk decides which sitemap of a site to request next.
//
// Everything here is pure: documents come from an io.Reader, entries leave through a callback, and
// memory does not grow with the document.
package sitemap

import (
	"io"
	"time"

	"github.com/newsfork/seed-engine/markup"
)

// Limits of one sitemap (https://www.sitemaps.org/protocol.html#index).
const (
	MaxEntries = 50_000
	MaxBytes   = 52_428_800 // uncompressed
)

// maxLocLength is the length a URL must be shorter than (https://www.sitemaps.org/protocol.html#locdef).
// Longer ones are counted and used all the same.
const maxLocLength = 2048

// Kind is the form of a document.
type Kind string

const (
	URLSet  Kind = "urlset"
	Index   Kind = "index"
	RSS     Kind = "rss" // 0.9x, 1.0 (RDF) and 2.0
	Atom    Kind = "atom"
	Text    Kind = "text"    // one URL a line
	Invalid Kind = "invalid" // none of these: Summary.Problem says what it is
)

// Options may be its zero value.
type Options struct {
	ContentType string         // the Content-Type header; its charset is a hint
	MaxBytes    int64          // uncompressed bytes read at most; 0 means MaxBytes
	Tee         io.Writer      // receives the bytes read, decompressed, in their own charset
	Now         time.Time      // what makes a date implausibly late; zero means time.Now
	Zone        *time.Location // of dates that name none; nil means UTC
	Details     bool           // fill in Summary and Image of entries, which take time to read
}

// Entry is one page, one feed item, or one child of an index. Its slices are valid only during
// the callback. Absent values are zero but for Priority.
type Entry struct {
	Loc        []byte // absolute http or https URL, percent-encoded
	Child      bool   // Loc is a sitemap to read, not a page
	Lastmod    time.Time
	Changefreq string  // one of the protocol's seven words
	Priority   float32 // 0 to 1; -1 when absent
	Title      []byte  // of a feed item
	Summary    []byte  // of a feed item, as HTML unless SummaryText; only with Options.Details
	Image      []byte  // URL of a picture of a feed item or news entry, as it stands there; only with Options.Details

	SummaryText bool
	News        News
	Images      int
	Videos      int
	Alternates  int // hreflang alternates
}

// News is the Google News extension of an entry
// (https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap).
type News struct {
	Present  bool
	Title    []byte
	Date     time.Time // publication_date
	Name     []byte    // of the publication
	Language []byte
}

// Summary describes a document as a whole.
type Summary struct {
	Kind     Kind
	URLs     int // pages and feed items with a usable loc
	Children int // sitemaps that an index names
	Skipped  int // entries without a usable loc; nothing else of them counts

	FirstLoc, LastLoc string // of pages and items, in document order

	// Dates of the entries counted above, of children in an index: lastmod, or a feed item's own
	// date. They are as stated, be it 1970 or 2099.
	Lastmods               int
	LastmodMin, LastmodMax time.Time

	NewsEntries              int
	NewsTitles               int
	NewsDateMin, NewsDateMax time.Time

	Newest time.Time // the latest of all these dates that can be true

	Images, Videos, Alternates int
	ItemTitles                 int    // feed items with a title
	OverlongLocs               int    // locs of 2,048 characters and more
	Title                      string // of a feed
	Language                   string // of a feed, as it states it

	Bytes     int64  // read, uncompressed
	Charset   string // the document was decoded from, by its WHATWG name
	Truncated bool   // the document ended early, or was cut at a limit
	OverLimit bool   // more than MaxEntries or MaxBytes
	Problem   string // what is wrong with the document, if anything
}

// IsNews reports whether most entries of a document are articles of Google News
// (https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap).
func (s *Summary) IsNews() bool { return s.NewsEntries > 0 && 2*s.NewsEntries >= s.URLs }

// Parse reads a document to its end or limit and calls fn for every usable entry. base is the
// document's own URL, against which relative locs are resolved. What is wrong with the document is
// reported in the Summary; the error is that of r or Options.Tee, returned as it is, and the Summary
// then covers what was read before it.
func Parse(r io.Reader, base string, o Options, fn func(*Entry)) (Summary, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = MaxBytes
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	src := newSource(r, o.MaxBytes, o.Tee)
	text, charset := markup.Decode(src, o.ContentType)

	p := newParser(base, o.Now, fn)
	p.details, p.zone = o.Details, o.Zone
	buf := windows.Get().(*[window]byte)
	p.read(text, buf)
	s := p.finish()
	windows.Put(buf)
	s.Charset = charset
	s.Bytes = src.read
	s.Truncated = s.Truncated || src.cut()
	s.OverLimit = s.URLs+s.Children > MaxEntries || s.Bytes > MaxBytes || src.over && o.MaxBytes >= MaxBytes
	if src.damage != "" {
		s.Problem = src.damage
	}
	return s, src.err
}
