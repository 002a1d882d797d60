package collector

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/markup"
)

// snippetOf is the summary of a feed item as one line of text.
func snippetOf(i *feed.Item) string {
	if i.SummaryText {
		return oneLine(string(i.Summary))
	}
	return oneLine(withoutTags(i.Summary))
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
		end := bytes.IndexByte(html[start:], '>')
		if isTag := next >= 'a' && next <= 'z' || html[start+1] == '/' || html[start+1] == '!'; !isTag || end < 0 {
			text, html = append(text, html[:start+1]...), html[start+1:]
			continue
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
