package pagetext

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A cue is a concept that pages of a type tell of, in whatever language: that a fee is due, that something enters into
// force, that a field must be filled in. What pages in one language teach about a cue holds for the others.

const (
	maxCues = 128

	// The first cues are those of biographies of office-holders: office, group, constituency, birth, career, family.
	biographyCues = 6
)

//go:embed cues.txt
var cueText string

// A cueTable finds the cues of words. Its entries are sorted: the hash of a word or stem, and in the lowest byte the
// cue. A map of so many words would take ten times the memory, and twice as long to make.
type cueTable struct {
	entries     []uint64
	least, most int // bytes of a stem
}

var cues = sync.OnceValue(func() *cueTable { return newCueTable(cueText) })

// newCueTable reads lines such as "[fee]", which begins a cue, and "en: fee charge* free": words that tell of it,
// behind the code of their language if they are of one. A star stands for any ending.
func newCueTable(text string) *cueTable {
	t := &cueTable{entries: make([]uint64, 0, len(text)/10), least: 1 << 10}
	var w wordReader
	cue := -1
	for line := range strings.Lines(text) {
		switch line[0] {
		case '#':
			continue
		case '[':
			cue++
			continue
		}
		if _, words, found := strings.Cut(line, ": "); found {
			line = words
		}
		for text := range strings.FieldsSeq(line) {
			text, isStem := strings.CutSuffix(text, "*")
			w.read(text, func(word []byte) {
				hash := firstHash
				for _, c := range word {
					hash = nextHash(hash, c)
				}
				if isStem {
					hash ^= stemBit
					t.least, t.most = min(t.least, len(word)), max(t.most, len(word))
				}
				t.entries = append(t.entries, hash&^0xff|uint64(cue))
			})
		}
	}
	slices.Sort(t.entries)
	t.entries = slices.Compact(t.entries)
	return t
}

// Hashes are FNV-1a with 64 bits. Those of stems have another bit than those of words.
const (
	firstHash uint64 = 14695981039346656037
	stemBit   uint64 = 1 << 63
)

func nextHash(hash uint64, c byte) uint64 { return (hash ^ uint64(c)) * 1099511628211 }

// each calls yield with the cues of a word, with a cue more than once if several of its stems fit.
func (t *cueTable) each(word []byte, yield func(cue uint8)) {
	hash := firstHash
	for i, c := range word {
		hash = nextHash(hash, c)
		if n := i + 1; n >= t.least && n <= t.most && (n == len(word) || utf8.RuneStart(word[n])) {
			t.find(hash^stemBit, yield)
		}
	}
	t.find(hash, yield)
}

func (t *cueTable) find(hash uint64, yield func(cue uint8)) {
	hash &^= 0xff
	at, _ := slices.BinarySearch(t.entries, hash)
	for ; at < len(t.entries) && t.entries[at]&^0xff == hash; at++ {
		yield(uint8(t.entries[at]))
	}
}
