// Package pagetext turns the evidence of a page into features of the classifier.
package pagetext

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
	"github.com/newsfork/seed-engine/page"
)

// Size is the number of features. All are hashed.
const Size = 1 << 16

// Known is the class of a page by its URL and texts, without its evidence.
type Known struct {
	Class      uint8 // the most probable
	Confidence float64
}

// Buckets is the number of buckets of confidences.
const Buckets = 4

// Bucket returns the bucket of a confidence. Evidence counts for most where the URL says least.
func (k Known) Bucket() int {
	switch {
	case k.Confidence < 0.3:
		return 0
	case k.Confidence < 0.5:
		return 1
	case k.Confidence < 0.7:
		return 2
	}
	return 3
}

// The fields of evidence. A word counts in its field, and once more in any.
const (
	titleField = 't'
	h1Field    = 'h'
	subField   = 's' // further headings
	crumbField = 'b'
	textField  = 'x'
	anyField   = 'a'
)

// Extractor extracts the features of evidence. It reuses its buffers.
type Extractor struct {
	features []uint32
	seen     [Size / 64]uint64
	reader   wordReader
	told     [places][maxCues]uint8 // words of each cue, at most 3
	word     int                    // number of the word that is read
	counted  [maxCues]int           // number of the last word of each cue, which may be one of it in several ways
}

// Extract returns the features of ev, each once, valid until the next call. r has read the URL of the page.
func (x *Extractor) Extract(r *urltext.Reading, ev *page.Evidence, known Known) []uint32 {
	for _, f := range x.features {
		x.seen[f/64] &^= 1 << (f % 64)
	}
	x.features = x.features[:0]
	clear(x.told[:])
	x.roles(r, titleField, ev.Title)
	x.words(titleField, ev.Title)
	x.roles(r, h1Field, ev.H1)
	x.words(h1Field, ev.H1)
	for _, h := range ev.Headings {
		x.roles(r, subField, h)
		x.words(subField, h)
	}
	for _, b := range ev.Breadcrumb {
		x.roles(r, crumbField, b)
		x.words(crumbField, b)
	}
	x.words(textField, ev.Text)
	x.counts(r, ev, known)
	x.office(byte(r.HostKind()), ev, known)
	x.cues(known)
	return x.features
}

// add adds a feature: FNV-1a over a space and bytes.
func (x *Extractor) add(space byte, parts ...byte) { x.addBytes(space, parts) }

func (x *Extractor) addBytes(space byte, b []byte) {
	h := (2166136261 ^ uint32(space)) * 16777619
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	h ^= h >> 15
	h *= 0x2c1b3c6d
	h ^= h >> 13
	f := h % Size
	if x.seen[f/64]&(1<<(f%64)) == 0 {
		x.seen[f/64] |= 1 << (f % 64)
		x.features = append(x.features, f)
	}
}

// roles adds the roles of the words of a text in the lexicon.
func (x *Extractor) roles(r *urltext.Reading, field byte, text string) {
	exact := byte(0)
	roles, whole := r.Roles(text)
	if whole {
		exact = 1
	}
	for i, role := range roles {
		x.add('R', field, byte(role))
		if i == 0 {
			x.add('F', field, byte(role), exact)
		}
	}
	if text != "" && len(roles) == 0 {
		x.add('N', field)
	}
}

// words adds the words of a text, and counts those of each cue.
func (x *Extractor) words(field byte, text string) {
	table, told := cues(), &x.told[placeOf(field)]
	x.reader.read(text, func(word []byte) {
		x.addBytes(field, word)
		x.addBytes(anyField, word)
		x.word++
		table.each(word, func(cue uint8) {
			if x.counted[cue] != x.word {
				x.counted[cue] = x.word
				told[cue] = min(told[cue]+1, 3)
			}
		})
	})
}

// wordReader reads the words of texts.
type wordReader struct{ word []byte }

// read calls yield with each word of at least two bytes, folded. In scripts without spaces between words, each pair of
// characters counts as a word.
func (w *wordReader) read(text string, yield func(word []byte)) {
	w.word = w.word[:0]
	var previous rune
	end := func() {
		if len(w.word) >= 2 {
			yield(w.word)
		}
		w.word = w.word[:0]
	}
	for _, r := range text {
		switch lower, isLetter := small(r); {
		case isSpaceless(r):
			end()
			if isSpaceless(previous) {
				w.word = utf8.AppendRune(utf8.AppendRune(w.word, previous), r)
				end()
			}
		case isLetter:
			if a, b := lexicon.Fold(lower); a >= 0 {
				if w.word = utf8.AppendRune(w.word, a); b > 0 {
					w.word = utf8.AppendRune(w.word, b)
				}
			}
		default:
			end()
		}
		previous = r
	}
	end()
}

// small returns a letter or mark in lower case. The first cases are frequent, and the look-up of others takes long.
func small(r rune) (lower rune, isLetter bool) {
	switch {
	case r < utf8.RuneSelf:
		lower = r | 0x20
		return lower, 'a' <= lower && lower <= 'z'
	case 'а' <= r && r <= 'я' || 'à' <= r && r <= 'ö':
		return r, true
	}
	return unicode.ToLower(r), unicode.IsLetter(r) || unicode.IsMark(r)
}

func isSpaceless(r rune) bool {
	return r >= 0x3040 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0x20000 && r <= 0x3ffff
}

// counts adds how much of what the page has, alone and combined.
func (x *Extractor) counts(r *urltext.Reading, ev *page.Evidence, known Known) {
	words, links, dates := bucket(ev.Words), bucket(ev.Links), min(bucket(ev.Dates), 6)
	forms, documents := byte(min(ev.Forms, 4)), min(bucket(ev.Documents), 6)
	host := byte(r.HostKind())
	text, perLink := byte(len(ev.Text)/150), bucket(ev.Words/max(ev.Links, 1))
	dated := flags(!ev.Published.IsZero(), !ev.Modified.IsZero(), ev.Paywall != "", ev.Noindex)
	x.add('w', words)
	x.add('l', links)
	x.add('d', dates)
	x.add('f', forms)
	x.add('o', documents)
	x.add('p', perLink)
	x.add('z', text)
	x.add('g', dated)
	x.add('n', byte(len(ev.Headings)))
	x.add('c', byte(len(ev.Breadcrumb)))
	x.add('W', words, links)
	x.add('D', dates, perLink)
	x.add('H', host, dated, min(dates, 3))
	x.add('G', host, perLink, text)
	x.add('O', documents, text)
	if ev.PublishedFrom != "" {
		x.addBytes('P', []byte(ev.PublishedFrom))
	}
	bucket := byte(known.Bucket())
	x.add('K', known.Class, bucket)
	x.add('L', known.Class, dated)
	x.add('M', known.Class, min(dates, 3))
	x.add('Q', known.Class, perLink)
	x.add('S', known.Class, text)
}

// office adds how much of what biographies of office-holders tell is on the page.
func (x *Extractor) office(host byte, ev *page.Evidence, known Known) {
	named := flags(isName(ev.H1), isName(ev.Title))
	told := byte(0)
	for i := range byte(biographyCues) {
		if !x.tells(i) {
			continue
		}
		told++
		x.add('B', i)
		for j := range i {
			if x.tells(j) {
				x.add('B', i, j)
			}
		}
	}
	x.add('C', told)
	x.add('E', told, host)
	x.add('I', told, known.Class)
	x.add('V', min(told, 4), named)
}

// tells reports whether the page has a word of a cue.
func (x *Extractor) tells(cue byte) bool {
	return x.told[inTitles][cue]|x.told[inHeadings][cue]|x.told[inText][cue] > 0
}

// isName reports whether a text, up to a bar or dash, has the form of a person's name: two to five words with capitals.
func isName(text string) bool {
	text, _, _ = strings.Cut(text, " | ")
	text, _, _ = strings.Cut(text, " - ")
	n := 0
	for word := range strings.FieldsSeq(text) {
		if r, _ := utf8.DecodeRuneInString(word); !unicode.IsUpper(r) {
			return false
		}
		n++
	}
	return n >= 2 && n <= 5
}

// bucket is the logarithm of a count.
func bucket(n int) byte { return byte(bits.Len(uint(max(n, 0)))) }

func flags(all ...bool) (f byte) {
	for i, on := range all {
		if on {
			f |= 1 << i
		}
	}
	return f
}

// The places of the words of a cue.
const (
	inTitles = iota
	inHeadings
	inText
	places
)

func placeOf(field byte) int {
	switch field {
	case titleField, h1Field:
		return inTitles
	case textField:
		return inText
	}
	return inHeadings
}

// cues adds the cues of the page, each with its place and whether several words are of it.
func (x *Extractor) cues(known Known) {
	for cue := range byte(maxCues) {
		all := byte(0)
		for place := range x.told {
			n := x.told[place][cue]
			if n > 0 {
				x.add('T', byte(place), cue)
			}
			if n > 1 {
				x.add('U', byte(place), cue)
			}
			all += n
		}
		if all > 0 {
			x.add('X', cue)
			x.add('Y', cue, known.Class)
		}
		if all > 2 {
			x.add('Z', cue)
		}
	}
}
