// Package feed knows where news feeds are found and what they say: the feeds that a page declares,
// the paths where they stand otherwise, and the facts of an RSS, Atom or JSON feed. It fetches
// nothing.
package feed

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/sitemap"
	"github.com/tidwall/gjson"
)

// maxJSON is the longest JSON feed read, in bytes: it is held in memory whole.
const maxJSON = 8 << 20

// Kind is the format of a feed.
type Kind string

const (
	RSS  Kind = "rss"
	Atom Kind = "atom"
	JSON Kind = "json" // https://www.jsonfeed.org/version/1.1/
)

// Facts are what a feed amounts to.
type Facts struct {
	Kind      Kind // "" for what is no feed: Problem says what it is
	Title     string
	Items     int       // with or without a link
	Newest    time.Time // latest date of an item that can be true; zero when none has one
	Truncated bool      // the feed ended early, or was cut at the limit
	Problem   string    // what is wrong with the document, if anything
}

// Item is an item that has a link. Its slices are valid only during the callback.
type Item struct {
	Link  []byte // absolute http or https URL
	Title []byte
	Date  time.Time // of its last change, else of publication; zero when it has neither
}

// Parse reads a feed to its end and calls fn for every item with a link. base is the feed's own URL.
// What is wrong with the document is a fact; the error is that of r or o.Tee, returned as it is.
func Parse(r io.Reader, base string, o sitemap.Options, fn func(*Item)) (Facts, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	b := bufio.NewReader(r)
	if isJSON(b) {
		return parseJSON(b, base, o, fn)
	}
	var i Item
	s, err := sitemap.Parse(b, base, o, func(e *sitemap.Entry) {
		if fn != nil {
			i.Link, i.Title, i.Date = e.Loc, e.Title, e.Lastmod
			fn(&i)
		}
	})
	f := Facts{Title: s.Title, Items: s.URLs + s.Skipped, Newest: s.Newest, Truncated: s.Truncated, Problem: s.Problem}
	switch s.Kind {
	case sitemap.RSS:
		f.Kind = RSS
	case sitemap.Atom:
		f.Kind = Atom
	default:
		f = Facts{Truncated: s.Truncated, Problem: strings.Replace(f.Problem, ", not a sitemap", ", not a feed", 1)}
		if f.Problem == "" {
			f.Problem = "a sitemap (" + string(s.Kind) + "), not a feed"
		}
	}
	return f, err
}

func isJSON(b *bufio.Reader) bool {
	start, _ := b.Peek(64)
	start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n")
	return len(start) > 0 && start[0] == '{'
}

func parseJSON(r io.Reader, base string, o sitemap.Options, fn func(*Item)) (f Facts, err error) {
	limit := int64(maxJSON)
	if o.MaxBytes > 0 {
		limit = min(limit, o.MaxBytes)
	}
	if o.Tee != nil {
		r = io.TeeReader(r, o.Tee)
	}
	data, err := io.ReadAll(io.LimitReader(r, limit))
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	doc := gjson.ParseBytes(data)
	if !strings.Contains(doc.Get("version").Str, "jsonfeed.org/version/") {
		return Facts{Problem: "JSON, but no JSON feed: its version is not that of jsonfeed.org"}, err
	}
	f = Facts{Kind: JSON, Title: tidy(doc.Get("title").Str), Truncated: err != nil || !gjson.ValidBytes(data)}
	doc.Get("items").ForEach(func(_, v gjson.Result) bool {
		f.Items++
		var i Item
		for _, name := range []string{"date_modified", "date_published"} {
			if t, ok := markup.ParseDate([]byte(v.Get(name).Str)); ok {
				i.Date = t
				break
			}
		}
		if i.Date.After(f.Newest) && markup.Plausible(i.Date, o.Now) {
			f.Newest = i.Date
		}
		if link := itemLink(v, base); link != "" && fn != nil {
			i.Link, i.Title = []byte(link), []byte(tidy(v.Get("title").Str))
			fn(&i)
		}
		return true
	})
	return f, err
}

// itemLink is the page of an item: its url, else what it links to, else its id if that is a URL.
func itemLink(item gjson.Result, base string) string {
	for _, name := range []string{"url", "external_url"} {
		if u, ok := markup.Resolve(base, []byte(item.Get(name).Str)); ok {
			return u
		}
	}
	u, _ := markup.Resolve("", []byte(item.Get("id").Str))
	return u
}

func tidy(s string) string { return strings.Join(strings.Fields(s), " ") }
