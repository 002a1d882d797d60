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

// detail holds the summary and picture of a page from a feed or news sitemap.
type detail struct{ snippet, image string }

// details maps the canonical URLs of pages that might be new to their details.
type details map[string]detail

// Bounds of what is kept of them until the collection ends. The frontier cuts a snippet further.
const (
	maxDetails = 2000
	maxSnippet = 1000 // bytes
)

// note keeps the summary of a page, HTML unless isText, and the URL of its picture, which is resolved against base.
// Pages with an old date are ignored.
func (d *details) note(now time.Time, link []byte, date time.Time, base string, summary []byte, isText bool,
	picture []byte) {
	isOld := !date.IsZero() && date.Before(now.Add(-frontier.FreshFor))
	if len(summary)+len(picture) == 0 || len(*d) == maxDetails || isOld {
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
	(*d)[string(url)] = detail{cmp.Or(known.snippet, strings.Clone(snippet[:min(len(snippet), maxSnippet)])),
		cmp.Or(known.image, image)}
}

// describe adds the known details to pages.
func (d details) describe(pages []frontier.NewPage) {
	for i := range pages {
		known := d[pages[i].URL]
		pages[i].Snippet, pages[i].Image = known.snippet, known.image
	}
}

// snippetOf returns a summary as one line of text.
func snippetOf(summary []byte, isText bool) string {
	if isText {
		return oneLine(string(summary))
	}
	return oneLine(withoutTags(summary))
}

// withoutTags returns the text of a piece of HTML. An unclosed tag counts as text.
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

// oneLine collapses white space, and drops characters that are invisible or change the text direction.
func oneLine(text string) string {
	if text = strings.Trim(text, " "); isOneLine(text) {
		return text
	}
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

// isOneLine reports whether oneLine certainly changes nothing: visible ASCII with single spaces between words.
func isOneLine(text string) bool {
	space := true // before the byte
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return !space || text == ""
}
