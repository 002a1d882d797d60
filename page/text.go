package page

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/markup"
)

// text is a line of text that is put together from pieces of markup.
type text struct {
	b       []byte // without white space at the beginning, and none twice
	linked  int    // bytes within links
	scratch []byte
}

func (t *text) reset() { t.b, t.linked = t.b[:0], 0 }

func (t *text) trimmed() []byte { return bytes.TrimRight(t.b, " ") }

// space ends a word.
func (t *text) space() {
	if n := len(t.b); n > 0 && t.b[n-1] != ' ' {
		t.b = append(t.b, ' ')
	}
}

// append adds text that is clean.
func (t *text) append(b []byte) { t.b = append(t.b, b...) }

// add adds a piece of text as it stands in the markup, which it might change.
func (t *text) add(b []byte) {
	if bytes.IndexByte(b, '&') >= 0 {
		t.scratch = markup.AppendUTF8(t.scratch[:0], b)
		b, _ = markup.Unescape(t.scratch)
	}
	for len(b) > 0 {
		if c := b[0]; c < utf8.RuneSelf {
			if c > ' ' && c != 0x7f {
				t.b = append(t.b, c)
			} else {
				t.space()
			}
			b = b[1:]
			continue
		}
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			t.b = markup.AppendUTF8(t.b, b[:1])
		case r == 0xa0 || r == 0x3000 || unicode.IsSpace(r):
			t.space()
		case r == utf8.RuneError, r < 0xa0, r == 0xad, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e,
			r >= 0x2060 && r <= 0x206f, r == 0xfeff:
		default:
			t.b = append(t.b, b[:n]...)
		}
		b = b[n:]
	}
}

// cut returns the first limit characters of a clean text.
func cut(b []byte, limit int) string {
	n := 0
	for i := range string(b) {
		if n == limit {
			return string(bytes.TrimRight(b[:i], " "))
		}
		n++
	}
	return string(b)
}

// passage is a text of up to MaxText characters, of lines.
type passage struct {
	b     []byte
	runes int
}

func (p *passage) String() string { return string(p.b) }

// add adds a line.
func (p *passage) add(line []byte) {
	if p.runes+1 >= MaxText {
		return
	}
	if p.runes > 0 {
		p.b = append(p.b, ' ')
		p.runes++
	}
	s := cut(line, MaxText-p.runes)
	p.b = append(p.b, s...)
	p.runes += utf8.RuneCountInString(s)
}

// countWords counts the words of a text. Two characters of a script without spaces are one.
func countWords(b []byte) (n int) {
	spaceless, inWord := 0, false
	for len(b) > 0 {
		c := b[0]
		if c < utf8.RuneSelf {
			alnum := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '\'' && inWord
			if alnum && !inWord {
				n++
			}
			inWord = alnum
			b = b[1:]
			continue
		}
		r, size := utf8.DecodeRune(b)
		switch {
		case r >= 0x3040 && r <= 0x30ff, r >= 0x3400 && r <= 0x9fff, r >= 0x20000 && r <= 0x3ffff:
			spaceless++
			inWord = false
		case unicode.IsLetter(r) || unicode.IsMark(r) || r == 0x2019 && inWord:
			if !inWord {
				n++
			}
			inWord = true
		default:
			inWord = false
		}
		b = b[size:]
	}
	return n + (spaceless+1)/2
}
