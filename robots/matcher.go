package robots

import (
	"slices"
	"strings"
	"sync"
)

// matcher finds the rule of a group that decides about a path. Its cost does not grow with the number of rules:
// common prefixes are compared once, and rules without a wildcard, or with only a leading one, cost one look-up in
// all. Patterns with several parts ("/*a*b") cost time only if their first parts occur in the path in this order.
//
// Rules are numbered by rank: the lowest rank that matches decides. All paths begin with a slash.
type matcher struct {
	begins table      // patterns without wildcard, and the starts of chains
	ends   table      // those of "/*x$", backwards
	end    int        // length of the longest of them
	words  *automaton // those of "/*x", and the parts of chains; nil when there are none

	// chains are the other patterns, as sequences: number of the start, then the parts.
	chains trie[part]
	nodes  []node // of chains

	pool sync.Pool // of *search
}

// node is what patterns with several parts have in common at a node of the chains.
type node struct {
	rank      int32 // of the pattern that ends here
	strongest int32 // the best rank of the patterns that end here or below
	tail      int32 // word that all patterns end with which end here or below, or -1
}

// part is a part of a pattern behind a wildcard: its word, times two, and one more where the path must
// end with it.
type part int32

func (p part) word() int32 { return int32(p >> 1) }
func (p part) last() bool  { return p&1 == 1 }

// pattern is the canonical pattern of a rule, taken apart. It matches a path that begins with start, has
// the parts behind, one after the other, and ends there if it is anchored.
type pattern struct {
	start    string
	parts    []string // not empty
	anchored bool
}

// patternsOf takes the pattern of a rule apart. One that begins with a wildcard makes two: a part that
// begins with a slash may be the start of the path.
func patternsOf(written string) []pattern {
	text := canonical(written, true)
	text, anchored := strings.CutSuffix(text, "$")
	if anchored && !strings.HasSuffix(written, "$") { // it was "%24"
		text, anchored = text+"$", false
	}
	pieces := strings.Split(text, "*")
	p := pattern{start: pieces[0], anchored: anchored && pieces[len(pieces)-1] != ""}
	for _, s := range pieces[1:] {
		if s != "" {
			p.parts = append(p.parts, s)
		}
	}
	switch {
	case strings.HasPrefix(p.start, "/"):
		return []pattern{p}
	case p.start != "" || len(pieces) == 1:
		return nil // no path begins like that
	}
	patterns := []pattern{{"/", p.parts, p.anchored}}
	if len(p.parts) > 0 && p.parts[0][0] == '/' {
		patterns = append(patterns, pattern{p.parts[0], p.parts[1:], p.anchored})
	}
	return patterns
}

// newMatcher makes a matcher of rules, which are in the order of their ranks.
func newMatcher(rules []Rule) *matcher {
	b := builder{numbers: map[string]int32{}}
	// Words of better rules get higher numbers, and of the parts that may come next the last is followed first: so what
	// cannot decide any more is seen soon.
	for rank, r := range slices.Backward(rules) {
		for _, p := range patternsOf(r.Pattern) {
			b.add(p, int32(rank))
		}
	}
	return b.matcher()
}

// builder sorts patterns by what finds them.
type builder struct {
	begins, ends []entry
	words        []word // in the order they came, so that a file always takes the same steps
	numbers      map[string]int32
	chains       []chain
}

type chain struct {
	pattern
	rank int32
}

func (b *builder) add(p pattern, rank int32) {
	switch {
	case len(p.parts) == 0 && p.anchored:
		b.begins = append(b.begins, entry{text: p.start, begins: unmatched, equals: rank})
	case len(p.parts) == 0:
		b.begins = append(b.begins, entry{text: p.start, begins: rank, equals: unmatched})
	case len(p.parts) == 1 && p.start == "/" && p.anchored:
		b.ends = append(b.ends, entry{text: string(backwards(nil, p.parts[0])), begins: rank, equals: unmatched})
	case len(p.parts) == 1 && p.start == "/":
		w := &b.words[b.word(p.parts[0])]
		w.rank = min(w.rank, rank)
	default:
		b.chains = append(b.chains, chain{p, rank})
		for _, s := range p.parts {
			b.words[b.word(s)].chained = true
		}
	}
}

// word returns the number of a word.
func (b *builder) word(text string) int32 {
	number, ok := b.numbers[text]
	if !ok {
		number = int32(len(b.words))
		b.numbers[text] = number
		b.words = append(b.words, word{text: text, rank: unmatched})
	}
	return number
}

func (b *builder) matcher() *matcher {
	m := &matcher{ends: newTable(b.ends)}
	for i := range m.ends {
		m.end = max(m.end, len(m.ends[i].text))
	}
	if len(b.words) > 0 {
		m.words = newAutomaton(b.words)
	}
	if len(b.chains) > 0 {
		b.link(m)
	}
	m.begins = newTable(b.begins)
	return m
}

// link makes the chains, and an entry of the table of beginnings for each of their starts.
func (b *builder) link(m *matcher) {
	starts := map[string]part{}
	sequences := make([][]part, len(b.chains))
	for i, c := range b.chains {
		start, ok := starts[c.start]
		if !ok {
			start = part(len(starts))
			starts[c.start] = start
		}
		sequence := make([]part, 1, 1+len(c.parts))
		sequence[0] = start
		for _, s := range c.parts {
			sequence = append(sequence, part(b.numbers[s])<<1)
		}
		if c.anchored {
			sequence[len(sequence)-1] |= 1
		}
		sequences[i] = sequence
	}
	m.chains = newTrie(sequences)
	m.nodes = make([]node, len(m.chains.labels))
	for i := range m.nodes {
		m.nodes[i] = node{rank: unmatched, strongest: unmatched}
	}
	for i, sequence := range sequences {
		n := &m.nodes[m.chains.end(sequence)]
		n.rank = min(n.rank, b.chains[i].rank)
		n.strongest = n.rank
	}
	for i := int32(len(m.nodes)) - 1; i > 0; i-- {
		m.sumUp(i)
	}
	for text, start := range starts {
		b.begins = append(b.begins, entry{text: text, begins: unmatched, equals: unmatched,
			chains: m.chains.child(0, start)})
	}
}

// sumUp finds what the patterns of a node and below have in common.
func (m *matcher) sumUp(number int32) {
	n := &m.nodes[number]
	low, high := m.chains.children(number)
	if low == high || n.rank != unmatched {
		n.tail = m.chains.labels[number].word()
	} else {
		n.tail = m.nodes[low].tail
	}
	for _, child := range m.nodes[low:high] {
		n.strongest = min(n.strongest, child.strongest)
		if child.tail != n.tail {
			n.tail = -1
		}
	}
}

// backwards appends the bytes of s to b, the last first.
func backwards(b []byte, s string) []byte {
	for i := len(s) - 1; i >= 0; i-- {
		b = append(b, s[i])
	}
	return b
}

// matchEnd looks up the rules that say how a path ends, and gives the rank of the best of them.
func (m *matcher) matchEnd(path string) int32 {
	if len(m.ends) == 0 {
		return unmatched
	}
	var buf [64]byte
	if e := find(m.ends, backwards(buf[:0], path[max(1, len(path)-m.end):])); e >= 0 {
		return m.ends[e].begins
	}
	return unmatched
}

// bytesPerStep is the number of bytes of a path that are read in a step of Group.Cost.
const bytesPerStep = 2

// match returns the rank of the rule that decides about a path, and the number of steps that took.
func (m *matcher) match(path string) (rank int32, steps int) {
	best := int32(unmatched)
	start := find(m.begins, path)
	if start >= 0 {
		e := &m.begins[start]
		if best = e.begins; e.text == path {
			best = min(best, e.equals)
		}
	}
	best = min(best, m.matchEnd(path))
	if m.words == nil {
		return best, 1 + len(path)/bytesPerStep
	}
	s, ok := m.pool.Get().(*search)
	if !ok {
		s = &search{m: m}
	}
	defer m.pool.Put(s)
	s.path, s.best, s.steps = path, best, 1+len(path)/bytesPerStep
	s.findWords()
	s.matchChains(start)
	s.forget()
	return s.best, s.steps
}
