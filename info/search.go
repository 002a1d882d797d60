package info

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Databases index words, and Korean attaches particles to them: "폐배터리를" is one word. So text in scripts without
// spaces is indexed as pairs of characters, "폐배 배터 터리 리를 를", and a search for "배터리" is one for "배터 터리" in a row.
// Words of alphabets are indexed whole.

// Grams returns the grams under which a text is indexed, in order.
func Grams(text string) []string {
	var grams []string
	for _, r := range segments(text) {
		if !r.glued {
			grams = append(grams, r.text)
			continue
		}
		chars := []rune(r.text)
		for i := range len(chars) - 1 {
			grams = append(grams, string(chars[i:i+2]))
		}
		// The last character alone: so all places of a character are found by the grams that begin with it.
		grams = append(grams, string(chars[len(chars)-1]))
	}
	return grams
}

// Search is a list of terms that an article must all contain.
type Search []Term

// Term is a sequence of grams. If Prefix is set, the last one matches every gram that begins with it.
type Term struct {
	Grams  []string
	Prefix bool
}

// Word returns the text of which the grams of a term are the parts.
func (t Term) Word() string {
	word := []rune(t.Grams[0])
	for _, g := range t.Grams[1:] {
		_, first := utf8.DecodeRuneInString(g)
		word = append(word, []rune(g[first:])...)
	}
	return string(word)
}

// Limits of a search.
const (
	MaxSearch      = 100 // characters
	maxTerms       = 8
	shortestPrefix = 3 // characters of a word of an alphabet
	// MaxBeginnings is the highest number of terms with Prefix in a search. Each costs as much as a page, since the
	// words that begin so have to be found first.
	MaxBeginnings = 2
)

// Beginnings returns the number of terms with Prefix.
func (s Search) Beginnings() (n int) {
	for _, t := range s {
		if t.Prefix {
			n++
		}
	}
	return n
}

// ParseSearch parses words that a reader typed. A final "*" stands for any ending. Long input is cut; words beyond
// the limit are ignored.
func ParseSearch(q string) (s Search) {
	for word := range strings.FieldsSeq(clip(norm.NFC.String(q), MaxSearch)) {
		list := segments(word)
		for i, r := range list {
			if len(s) == maxTerms {
				return s
			}
			t := Term{Grams: []string{r.text}}
			chars := []rune(r.text)
			switch {
			case r.glued && len(chars) == 1:
				t.Prefix = true
			case r.glued:
				t.Grams = nil
				for i := range len(chars) - 1 {
					t.Grams = append(t.Grams, string(chars[i:i+2]))
				}
			default:
				t.Prefix = i == len(list)-1 && strings.HasSuffix(word, "*") && len(chars) >= shortestPrefix
			}
			s = append(s, t)
		}
	}
	return s
}

// segment is a sequence of characters of one kind.
type segment struct {
	text  string
	glued bool // in a script without spaces between words, or with particles
}

func segments(text string) (list []segment) {
	var chars []rune
	kind := 0
	for _, c := range norm.NFC.String(text) + " " {
		k := 0
		switch {
		case unicode.In(c, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana), c == 'ー':
			k = 1
		case unicode.IsLetter(c), unicode.IsDigit(c):
			k = 2
		}
		if k != kind && len(chars) > 0 {
			list = append(list, segment{string(chars), kind == 1})
			chars = chars[:0]
		}
		kind = k
		if k != 0 {
			chars = append(chars, unicode.ToLower(c))
		}
	}
	return list
}
