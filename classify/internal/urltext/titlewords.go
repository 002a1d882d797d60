package urltext

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// Titles of a site share most of their words. A word's entries in the lexicon do not depend on its neighbours unless
// an entry begins in it and ends behind it, so each word is searched for once.

const (
	maxTitleWord = 16 // bytes of a word that is kept
	maxWordHits  = 4  // meanings of a word that is kept
	wordSlotBits = 11
)

// titleWord holds the entries of a lower-case word by itself.
type titleWord struct {
	letters [2]uint64 // the word, the first letter lowest; zero for a free slot
	reach   lexicon.Reach
	hits    [maxWordHits]wordHit
	title   uint32 // the last one that has it, see titleWords.title
	feature uint16 // see titleFeature
	found   uint8  // number of hits
	covered uint8  // bytes that they cover
	alone   bool   // there is room for all of that
}

// wordHit is a Hit in a word.
type wordHit struct {
	lexicon.Sense
	start, end uint8
}

// titleWords are the words of titles. Each has one slot, which it loses to the next word that hashes there.
type titleWords struct {
	slots    []titleWord // 1 << wordSlotBits
	parts    []part      // of the last title
	features []uint16    // of the last title, see titleFeature
	title    uint32      // number of the last title
}

// part is a word of a title, a number, or the extension.
type part struct {
	word       *titleWord // nil for what is none, or has to be looked up in its title
	begin, end int        // bytes of the folded title
}

// readWords is fold and lookUp for a title of small letters, digits and what separates words, but for s.starts. It
// reports false, and leaves s as it is, for any other.
func (r *Reading) readWords(s *Segment, text []byte, extAt int) bool {
	if r.words == nil {
		r.words = &titleWords{slots: make([]titleWord, 1<<wordSlotBits)}
	}
	if !r.breakWords(s, text, extAt) {
		return false
	}
	if s.Ext == "do" || !r.alone(s) {
		s.starts = r.mem.markStarts(r.words.parts, len(s.Text))
		r.lookUp(&r.mem, s)
		return true
	}
	s.digitBytes = s.Digits
	body := len(s.Text) - s.extBytes
	for _, p := range r.words.parts {
		if p.word == nil {
			continue
		}
		s.Covered += int(p.word.covered)
		for _, h := range p.word.hits[:p.word.found] {
			start, end := p.begin+int(h.start), p.begin+int(h.end)
			last := end >= body || s.Digits > 0 && s.onlyDigits(end, body)
			r.mem.hits = append(r.mem.hits, Hit{h.Sense, start, end, start == 0, last})
		}
	}
	s.Hits = r.mem.hits
	return true
}

// breakWords is the part of readWords that fold does.
func (r *Reading) breakWords(s *Segment, text []byte, extAt int) bool {
	w := r.words
	w.parts, w.features = w.parts[:0], w.features[:0]
	w.title++
	folded := r.mem.text[:0]
	words, digits, body := 0, 0, 0
	for i := 0; i < len(text); {
		if i == extAt {
			body = len(folded)
		}
		begin, c := i, text[i]
		switch {
		case isSmall(c):
			for i < len(text) && isSmall(text[i]) {
				i++
			}
			words++
		case isDigit(c) && i < extAt:
			for i < len(text) && isDigit(text[i]) {
				i++
			}
			digits += i - begin
		case c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' || isDigit(c):
			return false
		default:
			i++
			continue
		}
		p := part{begin: len(folded), end: len(folded) + i - begin}
		if folded = append(folded, text[begin:i]...); isSmall(c) {
			word := folded[p.begin:]
			if begin < extAt && len(word) <= maxTitleWord {
				p.word = w.word(r, word)
			}
			switch {
			case words > maxTokens || len(word) < minToken:
			case p.word != nil:
				w.features = append(w.features, p.word.feature)
			default:
				w.features = append(w.features, titleFeature(word))
			}
		}
		w.parts = append(w.parts, p)
	}
	if s.Ext == "" {
		body = len(folded)
	} else {
		words--
	}
	r.mem.text, s.Text, s.extBytes = folded, folded, len(folded)-body
	s.Words, s.Letters, s.Digits = words, body-digits, digits
	return true
}

// alone reports whether each part of a title has the words of the lexicon that it has by itself. What is found in the
// extension does not count.
func (r *Reading) alone(s *Segment) bool {
	lex, parts, body := r.Words.General, r.words.parts, len(s.Text)-s.extBytes
	for i, p := range parts {
		switch {
		case p.begin >= body:
		case p.word == nil:
			if isSmall(s.Text[p.begin]) || lex.Begins(s.Text, p.begin, p.end) {
				return false
			}
		case p.end == len(s.Text):
		case s.Text[p.end-1] == 'e' && string(s.Text[p.end:parts[i+1].end]) == "s": // with which "es" would end it
			return false
		case lex.MayCross(s.Text, p.begin, p.end, p.word.reach):
			if s.starts == nil {
				s.starts = r.mem.markStarts(parts, len(s.Text))
			}
			if lex.Crosses(s.Text, s.starts, p.begin, p.end) {
				return false
			}
		}
	}
	return true
}

// markStarts returns where the parts of a text of n bytes begin, as fold does.
func (a *arena) markStarts(parts []part, n int) []bool {
	a.starts = slices.Grow(a.starts[:0], n+1)[:n+1]
	clear(a.starts)
	for _, p := range parts {
		a.starts[p.begin] = true
	}
	a.starts[n] = true
	return a.starts
}

func isSmall(c byte) bool { return 'a' <= c && c <= 'z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// word returns what is found in a word of up to maxTitleWord small letters, nil where that depends on its neighbours,
// or another word of the title has its slot.
func (w *titleWords) word(r *Reading, word []byte) *titleWord {
	var buf [maxTitleWord]byte
	copy(buf[:], word)
	letters := [2]uint64{binary.LittleEndian.Uint64(buf[:]), binary.LittleEndian.Uint64(buf[8:])}
	at := &w.slots[(letters[0]^letters[1]*0x9E3779B97F4A7C15)*0xD6E8FEB86659FD93>>(64-wordSlotBits)]
	if at.letters != letters {
		if at.title == w.title {
			return nil
		}
		*at = r.titleWord(word)
		at.letters = letters
	}
	at.title = w.title
	if !at.alone {
		return nil
	}
	return at
}

// titleWord looks a word up.
func (r *Reading) titleWord(word []byte) (w titleWord) {
	var starts [maxTitleWord + 1]bool
	starts[0], starts[len(word)] = true, true
	lex := r.Words.General
	w.feature = titleFeature(word)
	w.reach, w.alone = lex.ReachOf(word)
	r.match = lex.Find(r.match[:0], word, starts[:len(word)+1])
	for i := range r.match {
		m := &r.match[i]
		w.covered += uint8(m.End - m.Start)
		for sense := range m.Senses {
			if w.found == maxWordHits {
				w.alone = false
				return w
			}
			w.hits[w.found] = wordHit{sense, uint8(m.Start), uint8(m.End)}
			w.found++
		}
	}
	return w
}
