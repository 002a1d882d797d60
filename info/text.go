package info

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/markup"
)

// Text returns the text of a piece of HTML in one line of at most max characters: elements are removed, references
// decoded once. Only names of HTML elements make an element: "3 < 5" and "<AI>" are text.
//
// Some sources escape markup twice. If the text has elements itself, they are removed as well.
func Text(html string, max int) string { return plain(text(html), max) }

// plain returns text in one line of at most max characters, without elements.
func plain(s string, max int) string {
	if hasElement(s) {
		s = text(s)
	}
	return line(s, max)
}

// hasElement reports whether a text has a tag of an HTML element.
func hasElement(s string) bool {
	for i := strings.IndexByte(s, '<'); i >= 0; {
		if _, length := element([]byte(s[i:min(len(s), i+maxTag)])); length > 0 {
			return true
		}
		next := strings.IndexByte(s[i+1:], '<')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return false
}

// maxTag limits the search for the end of a tag, in bytes.
const maxTag = 4096

// text returns the text of a piece of HTML: elements are removed, references decoded once.
func text(html string) string {
	b := []byte(html)
	var out, piece []byte
	flush := func() {
		decoded, _ := markup.Unescape(piece)
		out = append(out, decoded...)
		piece = nil
	}
	for len(b) > 0 {
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			break
		}
		piece = append(piece, b[:i]...)
		b = b[i:]
		name, skip := element(b)
		switch {
		case skip == 0: // not an element
			piece = append(piece, '<')
			b = b[1:]
			continue
		case name == "script" || name == "style":
			skip = rawEnd(b, name, skip)
		}
		if !inline[name] {
			piece = append(piece, ' ')
		}
		flush()
		b = b[skip:]
	}
	piece = append(piece, b...)
	flush()
	return string(markup.AppendUTF8(nil, out))
}

// line returns s as one line without control characters, of at most max characters.
func line(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), r == 0xfeff, r == utf8.RuneError, bidi(r):
			return -1
		}
		return r
	}, s)
	return clip(strings.Join(strings.Fields(s), " "), max)
}

// bidi reports whether r overrides the direction of text, which could disguise a title.
func bidi(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// clip cuts s to max characters, the last of which is then an ellipsis.
func clip(s string, max int) string {
	if len(s) <= max || utf8.RuneCountInString(s) <= max {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == max {
			return strings.TrimRightFunc(s[:i], unicode.IsSpace) + "…"
		}
	}
	return s
}

// element returns the name and length of the tag at the beginning of b; the length is 0 without a tag. Comments and
// declarations have no name.
func element(b []byte) (name string, length int) {
	if len(b) < 2 {
		return "", 0
	}
	if bytes.HasPrefix(b, []byte("<!--")) {
		if end := bytes.Index(b[4:], []byte("-->")); end >= 0 {
			return "", 4 + end + 3
		}
		return "", len(b)
	}
	i := 1
	if b[i] == '/' || b[i] == '!' || b[i] == '?' {
		i++
	}
	n := i
	for n < len(b) && (b[n]|0x20 >= 'a' && b[n]|0x20 <= 'z' || n > i && b[n] >= '0' && b[n] <= '9') {
		n++
	}
	name = strings.ToLower(string(b[i:n]))
	known := elements[name] || inline[name] || b[1] == '!' &&
		(name == "doctype" || bytes.HasPrefix(b, []byte("<![CDATA[")))
	if !known || n < len(b) && b[n] > ' ' && b[n] != '>' && b[n] != '/' && b[n] != '[' {
		return "", 0
	}
	end, next := markup.TagEnd(b, 1)
	if end < 0 || next == end { // unterminated
		return "", 0
	}
	return name, next
}

// rawEnd returns the end of a raw-text element that begins at b.
func rawEnd(b []byte, name string, open int) int {
	if b[1] == '/' {
		return open
	}
	close := "</" + name
	for i := open; i+len(close) <= len(b); i++ {
		if b[i] == '<' && markup.EqualFold(b[i:i+len(close)], close) {
			if _, n := element(b[i:]); n > 0 {
				return i + n
			}
		}
	}
	return len(b)
}

// inline are elements without surrounding space: they occur within words.
var inline = set("a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span " +
	"strike strong sub sup time tt u var wbr")

var elements = set("address article aside audio blockquote body br button caption center col colgroup dd details " +
	"dialog div dl dt embed fieldset" +
	" figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe img input label legend li " +
	"link main map meta nav" +
	" noscript object ol optgroup option p param picture pre progress ruby rp rt script section select source " +
	"style summary svg table" +
	" tbody td template textarea tfoot th thead title tr track ul video")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}
