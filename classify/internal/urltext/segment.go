package urltext

import (
	"unicode/utf8"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// Segment is one part of the path, or one key or value of the query.
type Segment struct {
	Raw        string // as written
	Text       []byte // folded word runes; shares the reading's buffer
	Kind       Kind
	Words      int    // words with letters
	Letters    int    // runes that are letters
	Digits     int    // runes that are digits
	Ext        string // file extension in lower case, "" when there is none
	Hits       []Hit  // words of the lexicon in it, in order
	Covered    int    // bytes of Text that hits cover
	extClass   uint8  // class of files with that extension
	extBytes   int    // bytes of Text that are the extension
	starts     []bool // where words begin in Text; one longer than Text
	digitBytes int    // bytes of Text that are digits outside hits
}

// Hit is a word of the lexicon in a segment.
type Hit struct {
	lexicon.Sense
	Start, End  int // bytes of the segment's Text
	First, Last bool
}

// arena is the memory of the segments of one reading.
type arena struct {
	text   []byte
	starts []bool
	hits   []Hit
}

func (a *arena) reset() { a.text, a.starts, a.hits = a.text[:0], a.starts[:0], a.hits[:0] }

// WordsOf returns the words of a hit, folded.
func (s *Segment) WordsOf(h Hit) []string {
	var words []string
	begin := h.Start
	for i := h.Start + 1; i <= h.End; i++ {
		if i == h.End || s.starts[i] {
			words = append(words, string(s.Text[begin:i]))
			begin = i
		}
	}
	return words
}

// readSegment folds raw, marks its words and looks them up. With file, it looks for an extension.
func (r *Reading) readSegment(mem *arena, s *Segment, raw string, file bool) {
	text, extAt := r.unescape(mem, s, raw, file)
	s.fold(mem, text, extAt)
	r.lookUp(mem, s)
}

// unescape begins a segment. It returns its text, which is not folded, and where in it the extension begins.
func (r *Reading) unescape(mem *arena, s *Segment, raw string, file bool) (text []byte, extAt int) {
	*s = Segment{Raw: raw}
	r.scratch = appendUnescaped(r.scratch[:0], raw, !file)
	if len(raw) > 4 && (raw[0] == 'x' || raw[0] == 'X') && mem == &r.hostMem {
		r.scratch = appendPunycode(r.scratch[:0], raw)
	}
	text = r.scratch
	if file {
		if i := extension(text); i < len(text) {
			if s.Ext, s.extClass = extensionClass(text[i:]); s.Ext != "" {
				return text, i
			}
		}
	}
	return text, len(text)
}

// fold appends the words of text to mem, folded, marks where each begins, and counts words, letters and digits.
// The extension, if there is one, begins at extAt.
func (s *Segment) fold(mem *arena, text []byte, extAt int) {
	begin, beginStarts := len(mem.text), len(mem.starts)
	folded, starts := mem.text, mem.starts // in registers while the text is read
	extBegin := 0
	var w wordBreaker
	for i := 0; i < len(text); {
		if i == extAt {
			extBegin = len(folded)
		}
		if j := w.smallLetters(text[:extAt], i); j > i {
			folded = append(folded, text[i:j]...)
			starts = append(starts, noStarts[:j-i]...)
			if w.class != letters {
				starts[len(starts)-(j-i)] = true
				s.Words++
			}
			s.Letters += j - i
			w, i = wordBreaker{class: letters, previous: rune(text[j-1])}, j
			continue
		}
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(text[i:])
		}
		i += size
		a, b := foldRune(c)
		if a < 0 {
			continue
		}
		if a == 0 {
			w = wordBreaker{}
			continue
		}
		begins, beganBefore := w.next(c, a)
		if beganBefore {
			starts[len(starts)-1] = true
			s.Words++
		}
		if w.class == digits {
			s.Digits++
		} else {
			s.Letters++
			if begins {
				s.Words++
			}
		}
		starts = append(starts, begins)
		if a < utf8.RuneSelf && b == 0 {
			folded = append(folded, byte(a))
			continue
		}
		before := len(folded)
		folded = utf8.AppendRune(folded, a)
		if b != 0 {
			folded = utf8.AppendRune(folded, b)
		}
		starts = append(starts, noStarts[:len(folded)-before-1]...)
	}
	mem.text, mem.starts = folded, append(starts, true)
	s.Text = mem.text[begin:]
	s.starts = mem.starts[beginStarts:]
	if s.Ext != "" {
		s.leaveOutExtension(len(mem.text) - extBegin)
	}
}

// leaveOutExtension takes an extension of n bytes out of the counts.
func (s *Segment) leaveOutExtension(n int) {
	s.extBytes = n
	s.Words--
	s.Letters -= len(s.Ext)
	for i := range len(s.Ext) {
		if c := s.Ext[i]; '0' <= c && c <= '9' {
			s.Letters++
			s.Digits--
		}
	}
}

// foldRune folds a rune as lexicon.Fold does. a is negative for a mark, which belongs to the word around it, and
// 0 for anything between words. An apostrophe separates words like any punctuation: "l'actu" is found as "l-actu".
func foldRune(c rune) (a, b rune) {
	if c < utf8.RuneSelf {
		return rune(lexicon.FoldASCII(byte(c))), 0
	}
	if a, b = lexicon.Fold(c); a >= 0 && !lexicon.IsWord(a) {
		return 0, 0
	}
	return a, b
}

// wordBreaker finds where words begin.
type wordBreaker struct {
	class    runeClass // of the preceding rune
	previous rune      // the preceding rune, as written
	upperRun int       // number of capitals just before
}

// runeClass is a class of runes in words. A change of class begins a word.
type runeClass uint8

const (
	none runeClass = iota // between words
	digits
	letters
	unspaced
)

// smallLetters returns the end of the run of small letters at text[i] if they can be taken in at once, i if not.
// URLs consist mostly of small letters.
func (w *wordBreaker) smallLetters(text []byte, i int) int {
	if w.class == letters && w.upperRun > 1 {
		return i
	}
	end := min(len(text), i+len(noStarts))
	for i < end && 'a' <= text[i] && text[i] <= 'z' {
		i++
	}
	return i
}

// next takes in a rune of a word, as written and folded. begins reports whether a word begins with it,
// beganBefore whether one began with the preceding rune: in "FAQPage" the last capital begins "Page".
func (w *wordBreaker) next(c, folded rune) (begins, beganBefore bool) {
	class := letters
	switch {
	case '0' <= folded && folded <= '9':
		class = digits
	case folded >= 0xE00 && lexicon.Unspaced(folded):
		class = unspaced
	}
	upper := 'A' <= c && c <= 'Z'
	begins = class != w.class
	if class == letters && w.class == letters {
		begins = upper && !('A' <= w.previous && w.previous <= 'Z') // newsRoom
		beganBefore = !upper && w.upperRun > 1 && 'a' <= c && c <= 'z' && c != 's'
	}
	if upper {
		w.upperRun++
	} else {
		w.upperRun = 0
	}
	w.class, w.previous = class, c
	return begins, beganBefore
}

// noStarts are the marks of bytes at which no word begins.
var noStarts [64]bool

// lookUp finds the words of the lexicon in a segment.
func (r *Reading) lookUp(mem *arena, s *Segment) {
	if len(s.Text) == 0 {
		return
	}
	r.match = r.Words.General.Find(r.match[:0], s.Text, s.starts)
	begin := len(mem.hits)
	body := len(s.Text) - s.extBytes
	for i := range r.match {
		m := &r.match[i]
		if m.Start >= body && s.Ext != "" && s.Ext != "do" {
			continue // Ext has "pdf", "xml" as an extension
		}
		s.Covered += min(m.End, body) - m.Start
		first := m.Start == 0
		last := m.End >= body || s.Digits > 0 && s.onlyDigits(m.End, body)
		for sense := range m.Senses {
			mem.hits = append(mem.hits, Hit{sense, m.Start, m.End, first, last})
		}
	}
	s.Hits = mem.hits[begin:]
	if s.Digits == 0 {
		return
	}
	end := 0
	for _, h := range s.Hits {
		if h.Start >= end {
			s.digitBytes += countDigits(s.Text[end:h.Start])
			end = h.End
		}
	}
	if end < body {
		s.digitBytes += countDigits(s.Text[end:body])
	}
}

func (s *Segment) onlyDigits(from, to int) bool {
	return from <= to && countDigits(s.Text[from:to]) == to-from
}

func countDigits(text []byte) int {
	n := 0
	for _, c := range text {
		if '0' <= c && c <= '9' {
			n++
		}
	}
	return n
}

// Exact reports whether hits cover all words of the segment; digits and the extension are ignored.
func (s *Segment) Exact() bool {
	return s.Covered > 0 && s.Covered+s.digitBytes >= len(s.Text)-s.extBytes
}
