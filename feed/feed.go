// Package feed finds and reads news feeds: the feeds that a page declares, the usual paths of undeclared ones, and the
// items of RSS, Atom and JSON feeds. It fetches nothing.
package feed

import (
	"bufio"
	"io"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/sitemap"
)

// Kind is the format of a feed.
type Kind string

const (
	RSS  Kind = "rss"
	Atom Kind = "atom"
	JSON Kind = "json" // https://www.jsonfeed.org/version/1.1/
)

// Summary describes a feed as a whole.
type Summary struct {
	Kind      Kind // "" if the document is not a feed; Problem says what it is
	Title     string
	Language  string    // as stated in the feed, or ""
	Items     int       // with or without a link
	Newest    time.Time // latest plausible date of an item, or zero
	Charset   string    // from which the feed was decoded, by its WHATWG name
	Truncated bool      // the feed ended early or at the limit
	Problem   string    // what is wrong with the document, if anything
}

// Item is an item that has a link. Its slices are valid only during the callback.
type Item struct {
	Link  []byte // absolute http or https URL
	Title []byte
	Date  time.Time // of its last change, else of publication, or zero

	// Only with sitemap.Options.Details.
	Summary     []byte // as HTML unless SummaryText
	SummaryText bool
	Image       []byte // URL of its picture, perhaps a relative one
}

// Parse reads a feed to its end and calls fn for every item with a link. base is the feed's own URL.
// Faults of the document are in the Summary; the error is the unchanged one of r or o.Tee.
func Parse(r io.Reader, base string, o sitemap.Options, fn func(*Item)) (Summary, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	b := bufio.NewReader(r)
	if isJSON(b) { // the one format that is not XML; sitemap.Parse reads all of those
		return parseJSON(b, base, o, fn)
	}
	var i Item
	s, err := sitemap.Parse(b, base, o, func(e *sitemap.Entry) {
		if fn != nil {
			i = Item{e.Loc, e.Title, e.Lastmod, e.Summary, e.SummaryText, e.Image}
			fn(&i)
		}
	})
	f := Summary{Title: s.Title, Items: s.URLs + s.Skipped, Newest: s.Newest, Charset: s.Charset, Language: s.Language,
		Truncated: s.Truncated, Problem: s.Problem}
	if s.Kind.IsFeed() {
		f.Kind = Kind(s.Kind)
	} else {
		f = Summary{Truncated: s.Truncated, Problem: strings.Replace(f.Problem, ", not a sitemap", ", not a feed", 1)}
		if f.Problem == "" {
			f.Problem = "a sitemap (" + string(s.Kind) + "), not a feed"
		}
	}
	return f, err
}
