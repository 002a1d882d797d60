package lexicon

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/swar"
)

// Sense is one meaning of a matched word.
type Sense struct {
	Role     Role
	Strength Strength
}

// anchor restricts the positions at which a word of the lexicon matches.
type anchor uint8

const (
	wholeWord anchor = iota // begins and ends with a word (a plural -s or -es may follow)
	prefix                  // begins with a word
	suffix                  // ends with a word, which may be inflected
	anywhere
)

// meaning is a sense with the places where it applies.
type meaning struct {
	Sense
	anchor anchor
}

// trie finds words by their bytes. Nodes are numbered. Most have one child, which is mostly the node after it; all
// other edges share one hash table with linear probing, so that a step costs the same in nodes with many children
// (Han, hangul).
type trie struct {
	nodes []nodeBits
	edges []edge      // a power of two long, at most half full
	count int         // of edges
	first [256]uint32 // the children of the root, which every search begins with
	lists [][]meaning
	spare []meaning // slab for new lists, so that most words need no allocation
}

// nodeBits holds a node in one word: the byte that leads to the next node, 0 without one; whether other edges lead
// from it; and, from listShift on, 1 + the index in lists of the word that ends here, or 0.
type nodeBits uint32

const (
	followByte = 0xFF
	forks      = 1 << 8
	listShift  = 9
)

// edge leads from a node by a byte to a child. Key is node<<8 | byte, and child 0 a free slot: no
// edge leads to the root.
type edge struct{ key, child uint32 }

// newTrie returns a trie with capacity for about the given number of nodes, a power of two.
func newTrie(nodes int) *trie {
	t := &trie{
		nodes: make([]nodeBits, 0, nodes), edges: make([]edge, nodes/2), spare: make([]meaning, nodes/8),
	}
	t.addNode()
	return t
}

// addNode adds a node without edges.
func (t *trie) addNode() (node uint32) {
	t.nodes = append(t.nodes, 0)
	return uint32(len(t.nodes) - 1)
}

// slot is the index of the edge with a key, or of the free slot for it.
func (t *trie) slot(key uint32) uint32 {
	mask := uint32(len(t.edges) - 1)
	i := (key * 0x9E3779B1) >> 7 & mask
	for t.edges[i].child != 0 && t.edges[i].key != key {
		i = (i + 1) & mask
	}
	return i
}

// step returns the child of a node by a byte, or 0.
func (t *trie) step(node uint32, b byte) uint32 { return t.child(node, t.nodes[node], b) }

// child is step for a node with these bits.
func (t *trie) child(node uint32, n nodeBits, b byte) uint32 {
	switch {
	case byte(n&followByte) == b:
		return node + 1
	case n&forks != 0:
		return t.edges[t.slot(node<<8|uint32(b))].child
	}
	return 0
}

// branch adds a child of a node by a byte.
func (t *trie) branch(node uint32, b byte) (child uint32) {
	child = t.addNode()
	if child == node+1 {
		t.nodes[node] |= nodeBits(b)
		return child
	}
	t.nodes[node] |= forks
	if t.count++; 2*t.count > len(t.edges) {
		t.grow()
	}
	key := node<<8 | uint32(b)
	t.edges[t.slot(key)] = edge{key, child}
	return child
}

func (t *trie) grow() {
	old := t.edges
	t.edges = make([]edge, 2*len(old))
	for _, e := range old {
		if e.child != 0 {
			t.edges[t.slot(e.key)] = e
		}
	}
}

// add adds a word, which has no byte 0.
func (t *trie) add(word string, m meaning) {
	node := uint32(0)
	for i := range len(word) {
		child := t.step(node, word[i])
		if child == 0 {
			child = t.branch(node, word[i])
			if i == 0 {
				t.first[word[0]] = child
			}
		}
		node = child
	}
	if t.nodes[node]>>listShift == 0 {
		if len(t.spare) == 0 {
			t.spare = make([]meaning, 1024)
		}
		t.spare[0] = m
		t.lists = append(t.lists, t.spare[:1:1])
		t.spare = t.spare[1:]
		t.nodes[node] |= nodeBits(len(t.lists)) << listShift
		return
	}
	l := &t.lists[t.nodes[node]>>listShift-1]
	for i, old := range *l {
		if old.Role == m.Role && old.anchor == m.anchor {
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
	// How words begin: those of up to three bytes by these three, of four and five by these four, and longer ones by
	// these six; and all those of inside by four. At most positions of a text they save the search.
	short, medium, long, inner fronts
}

// fronts is a set of hashes, small enough to stay in the processor's nearest cache.
type fronts [1 << frontBits / 64]uint64

const frontBits = 16

func (f *fronts) has(front uint64) bool {
	h := hashOf(front)
	return f[h/64]>>(h%64)&1 != 0
}

func (f *fronts) add(front uint64) {
	h := hashOf(front)
	f[h/64] |= 1 << (h % 64)
}

func hashOf(front uint64) uint64 { return front * 0x9E3779B97F4A7C15 >> (64 - frontBits) }

// How much of a window decides about words of a length.
const (
	shortFront  = 1<<24 - 1
	mediumFront = 1<<32 - 1
	longFront   = 1<<48 - 1
)

// window returns the eight bytes of a text from i on, the first of them lowest, with zeroes behind its end.
func window(text []byte, i int) (w uint64) {
	switch n := len(text); {
	case i+8 <= n:
		return swar.Load(text, i)
	case n >= 8:
		return swar.Load(text, n-8) >> (8 * (i + 8 - n))
	}
	for j := len(text) - 1; j >= i; j-- {
		w = w<<8 | uint64(text[j])
	}
	return w
}

// addFront records the beginning of a word. Anything may follow a short one, unless it matches only as a whole word:
// those are searched for in words of the same length.
func (l *Lexicon) addFront(word string, inside bool, a anchor) {
	n, w := len(word), window([]byte(word), 0)
	switch {
	case n == 0, n < 3 && a == wholeWord:
		return
	case n < 3:
		for b := range 256 {
			l.addFront(word+string([]byte{byte(b)}), inside, a)
		}
		return
	case n == 3:
		l.short.add(w)
	case n < 6:
		l.medium.add(w & mediumFront)
	default:
		l.long.add(w & longFront)
	}
	switch {
	case !inside:
	case n > 3:
		l.inner.add(w & mediumFront)
	default:
		for b := range uint64(256) {
			l.inner.add(w | b<<24)
		}
	}
}

// begins reports whether a word of the lexicon may begin as a window does.
func (l *Lexicon) begins(w uint64) bool {
	return l.short.has(w&shortFront) || l.medium.has(w&mediumFront) || l.long.has(w&longFront)
}

// Words are the words by which URLs are read. They are safe for concurrent use.
type Words struct {
	General *Lexicon // of paths and queries
	Hosts   *Lexicon // that are looked up only in labels of hosts
}

// NewWords reads words in the form of the files in data: lines of words under a header "[role]", "[role+]" or
// "[role?]" (its strength); "#" begins a comment. "word*" matches the beginning of a word, "*word" the end of a
// compound with its inflection, "*word*" anywhere. A hyphen joins a phrase, whose parts may be written apart in any
// way or together. Words of scripts without spaces match anywhere.
func NewWords(general, hosts string) (*Words, error) {
	w := &Words{
		General: &Lexicon{begin: newTrie(1 << 17), inside: newTrie(1 << 14)},
		Hosts:   &Lexicon{begin: newTrie(1 << 13), inside: newTrie(1 << 11)},
	}
	if err := w.General.read(general); err != nil {
		return nil, err
	}
	return w, w.Hosts.read(hosts)
}

// files are those of data with the words of paths and queries. A word's first meaning is the one that is read first.
var files = []string{
	"english.txt", "germanic.txt", "romance.txt", "slavic.txt", "cjk.txt", "southeast_asian.txt", "others.txt",
	"sites.txt",
}

// Texts returns what NewWords takes from the files in data, without their comments. Dir is the directory of this
// package.
func Texts(dir fs.FS) (general, hosts string, err error) {
	for _, name := range files {
		text, err := wordLines(dir, name)
		if err != nil {
			return "", "", err
		}
		general += text
	}
	hosts, err = wordLines(dir, "hosts.txt")
	return general, hosts, err
}

func wordLines(dir fs.FS, name string) (string, error) {
	data, err := fs.ReadFile(dir, "data/"+name)
	var text strings.Builder
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			text.WriteString(line + "\n")
		}
	}
	return text.String(), err
}

func (l *Lexicon) read(text string) (err error) {
	var m meaning
	var buf []byte
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if line[0] == '[' {
			if m.Sense, err = header(line); err != nil {
				return err
			}
			continue
		}
		for word := range strings.FieldsSeq(line) {
			m.anchor = wholeWord
			before, after := strings.HasPrefix(word, "*"), strings.HasSuffix(word, "*")
			switch {
			case before && after:
				m.anchor = anywhere
			case before:
				m.anchor = suffix
			case after:
				m.anchor = prefix
			}
			word = strings.Trim(word, "*")
			if r, _ := utf8.DecodeRuneInString(word); Unspaced(r) {
				m.anchor = anywhere
			}
			for _, w := range spellings(word) {
				buf = appendFolded(buf[:0], w)
				l.add(string(buf), m)
			}
		}
	}
	return nil
}

func (l *Lexicon) add(word string, m meaning) {
	if m.anchor == suffix || m.anchor == anywhere {
		l.inside.add(word, m)
		l.addFront(word, true, m.anchor)
		return
	}
	l.begin.add(word, m)
	l.addFront(word, false, m.anchor)
}

// header parses "[role+]".
func header(line string) (Sense, error) {
	name := strings.Trim(line, "[]")
	s := Sense{Strength: Normal}
	if base, ok := strings.CutSuffix(name, "+"); ok {
		name, s.Strength = base, Strong
	} else if base, ok := strings.CutSuffix(name, "?"); ok {
		name, s.Strength = base, Weak
	}
	role, ok := ParseRole(name)
	if !ok {
		return s, fmt.Errorf("lexicon: no role %.40q", line)
	}
	s.Role = role
	return s, nil
}

// umlauts lists letters that are also written as two, which folding alone does not equate.
var umlauts = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "å", "aa", "ø", "oe")

// dotless reverts that spelling.
var dotless = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u")

// hasUmlaut reports whether a word has anything for them to replace.
func hasUmlaut(word string) bool {
	for i := range len(word) {
		if c := word[i]; c >= utf8.RuneSelf || c == 'e' && i > 0 &&
			(word[i-1] == 'a' || word[i-1] == 'o' || word[i-1] == 'u') {
			return true
		}
	}
	return false
}

// spellings returns the ways in which a word with umlauts is spelled in URLs.
func spellings(word string) []string {
	all := []string{word}
	if !hasUmlaut(word) {
		return all
	}
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

// endings are the kinds of words that may end at a position.
type endings uint8

const (
	endAny  endings = 1 << iota // words that may end inside another
	endWord                     // words that end with a word of the text, or before its inflection
)

// Senses calls yield for each meaning of the match.
func (m *Match) Senses(yield func(Sense) bool) {
	for i := range m.list {
		if m.ends&endWord == 0 && (m.list[i].anchor == wholeWord || m.list[i].anchor == suffix) {
			continue
		}
		if !yield(m.list[i].Sense) {
			return
		}
	}
}

// Inside reports whether the word may match anywhere, not only as a word of its own.
func (m *Match) Inside() bool {
	for i := range m.list {
		if m.list[i].anchor == anywhere {
			return true
		}
	}
	return false
}

// Find appends to dst the words found in text, leftmost first, the longest at each place, none
// overlapping. Text is folded and consists of word runes; starts[i] reports whether a word begins at byte i. It is
// one longer than the text, and its last element is true.
func (l *Lexicon) Find(dst []Match, text []byte, starts []bool) []Match {
	w := window(text, 0)
	for i := 0; i < len(text); {
		inner := l.inner.has(w & mediumFront)
		if (inner || starts[i]) && l.begins(w) || starts[i] && (starts[i+1] || starts[i+2]) {
			var best Match
			if starts[i] {
				l.begin.longest(text, starts, i, &best)
			}
			if inner {
				l.inside.longest(text, starts, i, &best)
			}
			if best.End > i {
				dst = append(dst, best)
				i = best.End
				w = window(text, i)
				continue
			}
		}
		for i++; i < len(text); i++ {
			w >>= 8
			if i+7 < len(text) {
				w |= uint64(text[i+7]) << 56
			}
			if utf8.RuneStart(text[i]) {
				break
			}
		}
	}
	return dst
}

// Reach is the state of the searches in a word at its end.
type Reach struct{ begin, inside uint32 } // nodes, 0 for none that goes on

// ReachOf returns the reach of a word. ok is false where too many words go on from its middle.
func (l *Lexicon) ReachOf(word []byte) (r Reach, ok bool) {
	r.begin = l.begin.walk(word)
	for i := 0; i+crossing < len(word); i++ {
		node := l.inside.walk(word[i:])
		if node != 0 && r.inside != 0 {
			return r, false
		}
		r.inside = max(r.inside, node)
	}
	return r, true
}

// crossing is the number of letters at the end of a word that are searched for words that continue behind it.
const crossing = 3

// MayCross reports whether a word of the lexicon may begin in the word text[begin:end], which has a reach, and end
// behind it.
func (l *Lexicon) MayCross(text []byte, begin, end int, r Reach) bool {
	if r.begin != 0 && l.begin.ends(r.begin, text[end:]) || r.inside != 0 && l.inside.ends(r.inside, text[end:]) {
		return true
	}
	for i := max(begin, end-crossing); i < end; i++ {
		if w := window(text, i); l.inner.has(w&mediumFront) && l.begins(w) {
			return true
		}
	}
	return false
}

// Crosses is MayCross without doubt: it finds the words as Find does, with the same starts.
func (l *Lexicon) Crosses(text []byte, starts []bool, begin, end int) bool {
	var best Match
	l.begin.longest(text, starts, begin, &best)
	for i := begin; i < end && best.End <= end; i++ {
		l.inside.longest(text, starts, i, &best)
	}
	return best.End > end
}

// Begins reports whether a word of the lexicon may begin in the word text[begin:end].
func (l *Lexicon) Begins(text []byte, begin, end int) bool {
	for i := begin; i < end; i++ {
		if l.inside.ends(0, text[i:]) {
			return true
		}
	}
	return l.begin.ends(0, text[begin:])
}

// walk returns the node of a word, or 0 if there is no such node, or nothing follows it.
func (t *trie) walk(word []byte) uint32 {
	node := t.first[word[0]]
	for i := 1; i < len(word) && node != 0; i++ {
		node = t.step(node, word[i])
	}
	if t.nodes[node]&(followByte|forks) == 0 {
		return 0
	}
	return node
}

// ends reports whether a word ends on the way from a node along a text; 0 is the root.
func (t *trie) ends(node uint32, text []byte) bool {
	for i := 0; i < len(text); i++ {
		if node = t.step(node, text[i]); node == 0 {
			return false
		}
		if t.nodes[node]>>listShift != 0 {
			return true
		}
	}
	return false
}

func (t *trie) longest(text []byte, starts []bool, from int, best *Match) {
	node := t.first[text[from]]
	for i := from + 1; node != 0; i++ {
		n := t.nodes[node]
		if at := n >> listShift; at != 0 && i > best.End {
			list := t.lists[at-1]
			ends := endingsAt(text, starts, i, i-from)
			if ends&endWord != 0 || hasOpenEnd(list) {
				*best = Match{Start: from, End: i, list: list, ends: ends}
			}
		}
		if i == len(text) {
			return
		}
		node = t.child(node, n, text[i])
	}
}

func hasOpenEnd(list []meaning) bool {
	for i := range list {
		if list[i].anchor == prefix || list[i].anchor == anywhere {
			return true
		}
	}
	return false
}

// inflections are the plural endings that may follow a listed word.
var inflections = [...]string{"s", "es"}

// endingsAt returns the kinds of words that may end before text[i]. Words of up to three letters are not
// inflected, since too many others begin with them.
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
