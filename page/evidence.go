// Package page reads what a web page says about itself: its titles, the beginning of its text, its dates, and how much
// of what it has. The classifier takes that as evidence, whether the engine read the page or a scraper did.
package page

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of Evidence. Lengths are in characters.
const (
	MaxTitle      = 300
	MaxHeadings   = 8
	MaxHeading    = 200
	MaxBreadcrumb = 8
	MaxCrumb      = 100
	MaxText       = 600
	MaxCanonical  = 2083 // bytes
	MaxLanguage   = 35   // bytes
	MaxCount      = 100_000
)

// Evidence holds what a page says about itself. Any field may be missing.
type Evidence struct {
	Title      string   `json:"title,omitempty"`
	H1         string   `json:"h1,omitempty"`
	Headings   []string `json:"headings,omitempty"`   // other than H1, in document order
	Breadcrumb []string `json:"breadcrumb,omitempty"` // from the home page down
	Text       string   `json:"text,omitempty"`       // the beginning of the main text

	Words     int `json:"words,omitempty"`     // of the visible text; two characters of Chinese or Japanese are one
	Links     int `json:"links,omitempty"`     // to anything
	Dates     int `json:"dates,omitempty"`     // full dates in the visible text
	Forms     int `json:"forms,omitempty"`     // but for search
	Documents int `json:"documents,omitempty"` // links to PDF and office files

	Language  string `json:"lang,omitempty"`
	Canonical string `json:"canonical,omitempty"` // absolute

	Published     time.Time  `json:"published,omitzero"`
	PublishedFrom DateSource `json:"published_from,omitempty"`
	Modified      time.Time  `json:"modified,omitzero"`
	ModifiedFrom  DateSource `json:"modified_from,omitempty"`

	Noindex bool    `json:"noindex,omitempty"` // the page asks search engines to leave it out
	Paywall Paywall `json:"paywall,omitempty"`
}

// DateSource is the part of a page that states a date.
type DateSource string

// The sources of dates, the most reliable first.
const (
	FromJSONLD    DateSource = "json_ld"
	FromMeta      DateSource = "meta"
	FromMicrodata DateSource = "microdata" // itemprop
	FromTime      DateSource = "time"      // the only time element of the main part
	FromText      DateSource = "text"      // a line below the heading
)

// Paywall is the sign by which a page shows that it is not free, "" for none.
type Paywall string

// The signs of paywalls.
const (
	NotFree       Paywall = "is_accessible_for_free" // schema.org's property is false
	ContentTier   Paywall = "content_tier"           // article:content_tier is locked or metered
	PaywallMarkup Paywall = "markup"                 // an element is named after one
)

// Bound cuts ev to the bounds of Evidence, and makes a single line of each text. Evidence from elsewhere needs it.
func (ev *Evidence) Bound() {
	ev.Title, ev.H1, ev.Text = Line(ev.Title, MaxTitle), Line(ev.H1, MaxTitle), Line(ev.Text, MaxText)
	ev.Headings = lines(ev.Headings, MaxHeadings, MaxHeading)
	ev.Breadcrumb = lines(ev.Breadcrumb, MaxBreadcrumb, MaxCrumb)
	for _, n := range []*int{&ev.Words, &ev.Links, &ev.Dates, &ev.Forms, &ev.Documents} {
		*n = min(max(*n, 0), MaxCount)
	}
	if len(ev.Language) > MaxLanguage {
		ev.Language = ""
	}
	if len(ev.Canonical) > MaxCanonical {
		ev.Canonical = ""
	}
}

// lines bounds a list of texts, and drops empty ones.
func lines(list []string, most, limit int) []string {
	var kept []string
	for _, s := range list {
		if len(kept) == most {
			break
		}
		if s = Line(s, limit); s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// Line returns a text as a single line of at most limit characters, without those that are invisible or change the
// direction of text.
func Line(s string, limit int) string {
	var line strings.Builder
	n, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = n > 0
			continue
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == utf8.RuneError:
			continue
		}
		if space {
			if n+1 >= limit {
				break
			}
			line.WriteByte(' ')
			n, space = n+1, false
		}
		if n == limit {
			break
		}
		line.WriteRune(r)
		n++
	}
	return line.String()
}
