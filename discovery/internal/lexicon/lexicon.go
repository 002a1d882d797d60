package lexicon

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// The data files. Lines of words under a header "[role]", "[role+]" or "[role?]" (its strength);
// "#" begins a comment. "word*" matches the beginning of a word, "*word" the end of a compound with
// its inflection, "*word*" anywhere. A hyphen joins a phrase, whose parts may be written apart in any
// way or together. Words of scripts without spaces match anywhere.
var (
	//go:embed data/english.txt
	english string
	//go:embed data/germanic.txt
	germanic string
	//go:embed data/romance.txt
	romance string
	//go:embed data/slavic.txt
	slavic string
	//go:embed data/cjk.txt
	cjk string
	//go:embed data/southeast_asian.txt
	southeastAsian string
	//go:embed data/others.txt
	others string
	//go:embed data/sites.txt
	sites string
	//go:embed data/hosts.txt
	hosts string
)

// Sense is one meaning of a matched word.
type Sense struct {
	Role     Role
	Strength Strength
}

// how tells where in a text a word may stand.
type how uint8

const (
	wholeWord how = iota // begins and ends with a word (a plural -s or -es is let through)
	prefix               // begins with a word
	suffix               // ends with a word, inflection let through
	anywhere
)

// meaning is a sense together with the places where it holds.
type meaning struct {
	Sense
	how how
}

// trie finds words by their bytes. Nodes are numbered; children of a node are a linked list, which
// is short but for the root, so the root has a table.
type trie struct {
	label   []byte
	child   []uint32
	sibling []uint32
	list    []uint32 // 1 + index into lists, 0: no word ends here
	root    [256]uint32
	lists   [][]meaning
}

func newTrie() *trie {
	return &trie{label: []byte{0}, child: []uint32{0}, sibling: []uint32{0}, list: []uint32{0}}
}

func (t *trie) step(node uint32, b byte) uint32 {
	if node == 0 {
		return t.root[b]
	}
	for n := t.child[node]; n != 0; n = t.sibling[n] {
		if t.label[n] == b {
			return n
		}
	}
	return 0
}

func (t *trie) add(word string, m meaning) {
	node := uint32(0)
	for i := range len(word) {
		next := t.step(node, word[i])
		if next == 0 {
			next = uint32(len(t.label))
			t.label = append(t.label, word[i])
			t.child = append(t.child, 0)
			t.list = append(t.list, 0)
			if node == 0 {
				t.root[word[i]] = next
				t.sibling = append(t.sibling, 0)
			} else {
				t.sibling = append(t.sibling, t.child[node])
				t.child[node] = next
			}
		}
		node = next
	}
	if t.list[node] == 0 {
		t.lists = append(t.lists, nil)
		t.list[node] = uint32(len(t.lists))
	}
	l := &t.lists[t.list[node]-1]
	for i, old := range *l {
		if old.Role == m.Role && old.how == m.how {
			(*l)[i].Strength = max(old.Strength, m.Strength)
			return
		}
	}
	*l = append(*l, m)
}

// Lexicon is a set of words.
type Lexicon struct {
	begin  *trie // words that begin where a word begins
	inside *trie // words that begin anywhere
}

// General answers the words of paths and queries.
var General = sync.OnceValue(func() *Lexicon {
	l := &Lexicon{newTrie(), newTrie()}
	for _, text := range []string{english, germanic, romance, slavic, cjk, southeastAsian, others, sites} {
		l.read(text)
	}
	return l
})

// Hosts answers the words that are looked up in the labels of hosts only.
var Hosts = sync.OnceValue(func() *Lexicon {
	l := &Lexicon{newTrie(), newTrie()}
	l.read(hosts)
	return l
})

func (l *Lexicon) read(text string) {
	var m meaning
	var buf []byte
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			m.Sense = header(line)
			continue
		}
		for _, word := range strings.Fields(line) {
			m.how = wholeWord
			before, after := strings.HasPrefix(word, "*"), strings.HasSuffix(word, "*")
			switch {
			case before && after:
				m.how = anywhere
			case before:
				m.how = suffix
			case after:
				m.how = prefix
			}
			word = strings.Trim(word, "*")
			if r, _ := utf8.DecodeRuneInString(word); Unspaced(r) {
				m.how = anywhere
			}
			for _, w := range spellings(word) {
				buf = appendFolded(buf[:0], w)
				l.add(string(buf), m)
			}
		}
	}
}

func (l *Lexicon) add(word string, m meaning) {
	if m.how == suffix || m.how == anywhere {
		l.inside.add(word, m)
		return
	}
	l.begin.add(word, m)
}

// header reads "[role+]". The data is ours, and a test reads it all: a role that does not exist is a
// broken build.
func header(line string) Sense {
	name := strings.Trim(line, "[]")
	s := Sense{Strength: Normal}
	if base, ok := strings.CutSuffix(name, "+"); ok {
		name, s.Strength = base, Strong
	} else if base, ok := strings.CutSuffix(name, "?"); ok {
		name, s.Strength = base, Weak
	}
	role, ok := ParseRole(name)
	if !ok {
		panic("lexicon: no role " + line)
	}
	s.Role = role
	return s
}

// umlauts lists the letters that are also written as two, which folding alone does not unite.
var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa", "ø", "oe")

// dotless undoes that spelling.
var dotless = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

// spellings gives the ways in which a word with umlauts is found in URLs.
func spellings(word string) []string {
	all := []string{word}
	for _, w := range []string{umlauts.Replace(word), dotless.Replace(word)} {
		if !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// appendFolded appends the word runes of s, folded.
func appendFolded(dst []byte, s string) []byte {
	for _, r := range s {
		a, b := Fold(r)
		if a < 0 || !IsWord(a) {
			continue
		}
		dst = utf8.AppendRune(dst, a)
		if b != 0 {
			dst = utf8.AppendRune(dst, b)
		}
	}
	return dst
}

// Match is a word found in a text, as byte offsets of the folded text.
type Match struct {
	Start, End int
	list       []meaning
	ends       endings
}

// endings tells which kinds of words may end at a place.
type endings uint8

const (
	endAny  endings = 1 << iota // every match may end inside a word
	endWord                     // a word ends here, or only its inflection follows
)

// Senses calls yield for each meaning of the match.
func (m *Match) Senses(yield func(Sense) bool) {
	for i := range m.list {
		if m.ends&endWord == 0 && (m.list[i].how == wholeWord || m.list[i].how == suffix) {
			continue
		}
		if !yield(m.list[i].Sense) {
			return
		}
	}
}

// Inside tells that the word may stand anywhere, not only as a word of its own.
func (m *Match) Inside() bool {
	for i := range m.list {
		if m.list[i].how == anywhere {
			return true
		}
	}
	return false
}

// Find appends to dst the words found in text, leftmost first, the longest at each place, none
// overlapping. Text is folded and holds word runes only; starts tells at each byte whether a word
// begins there, and its length is that of the text plus one, the last being true.
func (l *Lexicon) Find(dst []Match, text []byte, starts []bool) []Match {
	for i := 0; i < len(text); {
		var best Match
		if starts[i] {
			l.begin.longest(text, starts, i, &best)
		}
		l.inside.longest(text, starts, i, &best)
		if best.End > i {
			dst = append(dst, best)
			i = best.End
			continue
		}
		i++
		for i < len(text) && !utf8.RuneStart(text[i]) {
			i++
		}
	}
	return dst
}

func (t *trie) longest(text []byte, starts []bool, from int, best *Match) {
	node := t.root[text[from]]
	for i := from + 1; node != 0; i++ {
		if n := t.list[node]; n != 0 && i > best.End {
			list := t.lists[n-1]
			ends := endingsAt(text, starts, i, i-from)
			if ends&endWord != 0 || hasOpenEnd(list) {
				*best = Match{Start: from, End: i, list: list, ends: ends}
			}
		}
		if i == len(text) {
			return
		}
		node = t.step(node, text[i])
	}
}

func hasOpenEnd(list []meaning) bool {
	for i := range list {
		if list[i].how == prefix || list[i].how == anywhere {
			return true
		}
	}
	return false
}

// inflections are the plural endings that may follow a listed word.
var inflections = [...]string{"s", "es"}

// endingsAt tells which words may end before text[i]. Words of three letters and less have no
// inflection, since too much begins with them.
func endingsAt(text []byte, starts []bool, i, length int) endings {
	if starts[i] {
		return endAny | endWord
	}
	if length > 3 {
		for _, f := range inflections {
			if e := i + len(f); e <= len(text) && starts[e] && string(text[i:e]) == f {
				return endAny | endWord
			}
		}
	}
	return endAny
}
