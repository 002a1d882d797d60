package collector

import (
	"bytes"
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/markup"
)

// detail is what a feed or news sitemap says of a page beside title and date.
type detail struct{ snippet, image string }

// details are those of pages that may be new, by their canonical URLs.
type details map[string]detail

// Bounds of what is kept of them until the collection ends. The frontier cuts a snippet further.
const (
	maxDetails = 2000
	maxSnippet = 1000 // bytes
)

// note takes the summary of a page, HTML unless isText, and the URL of a picture of it, which is resolved against base.
// What is dated and old is no news.
func (d *details) note(now time.Time, link []byte, date time.Time, base string, summary []byte, isText bool, picture []byte) {
	if len(summary)+len(picture) == 0 || len(*d) == maxDetails || !date.IsZero() && date.Before(now.Add(-freshFor)) {
		return
	}
	url, ok := markup.AppendCanonical(nil, link)
	if !ok {
		return
	}
	if *d == nil {
		*d = details{}
	}
	known := (*d)[string(url)]
	snippet := snippetOf(summary, isText)
	image, _ := markup.Resolve(base, picture)
	(*d)[string(url)] = detail{cmp.Or(known.snippet, strings.Clone(snippet[:min(len(snippet), maxSnippet)])), cmp.Or(known.image, image)}
}

// describe adds to pages what is known of them.
func (d details) describe(pages []frontier.NewPage) {
	for i := range pages {
		known := d[pages[i].URL]
		pages[i].Snippet, pages[i].Image = known.snippet, known.image
	}
}

// snippetOf is a summary as one line of text.
func snippetOf(summary []byte, isText bool) string {
	if isText {
		return oneLine(string(summary))
	}
	return oneLine(withoutTags(summary))
}

// withoutTags is the text of a piece of HTML. What begins like a tag and does not end is text.
func withoutTags(html []byte) string {
	var text []byte
	for len(html) > 0 {
		start := bytes.IndexByte(html, '<')
		if start < 0 || start+1 == len(html) {
			break
		}
		next := html[start+1] | 0x20
		if isTag := next >= 'a' && next <= 'z' || html[start+1] == '/' || html[start+1] == '!'; !isTag {
			text, html = append(text, html[:start+1]...), html[start+1:]
			continue
		}
		end := bytes.IndexByte(html[start:], '>')
		if end < 0 { // nor does any other
			break
		}
		text, html = append(append(text, html[:start]...), ' '), html[start+end+1:]
	}
	decoded, _ := markup.Unescape(append(text, html...))
	return string(decoded)
}

// oneLine collapses white space, and leaves out what is not shown or changes the direction of what follows.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
