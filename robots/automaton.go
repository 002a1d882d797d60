package robots

// automaton finds all of many strings, its words, in one pass over a text (A. Aho and M. Corasick,
// Efficient string matching, 1975).
type automaton struct {
	states trie[byte]
	starts [256]int32 // children of the root, by label
	fails  []int32    // state of the longest other suffix of what a state stands for
	found  []int32    // longest word that a state ends with, or -1
	words  []word
}

// word is a string to be found. Words of chains that end at one place are linked, the longest first.
type word struct {
	text    string
	rank    int32 // best rule that is matched where this word, or one that it ends with, occurs
	chained bool  // part of a chain
	shorter int32 // the longest other word of chains that this one ends with, or -1
	linked  int32 // the same, or the word itself if it is one of chains
	listed  int32 // the same without those at the end of which more than maxListed others stand
	depth   int32 // how many words of chains this one ends with, itself included
}

// maxListed bounds how often a byte of a path is the end of a word of which all places are listed.
const maxListed = 16

// newAutomaton finds words, by their text, which is not empty.
func newAutomaton(words map[string]*word) *automaton {
	a := &automaton{words: make([]word, 0, len(words))}
	texts := make([][]byte, 0, len(words))
	for text, w := range words {
		texts = append(texts, []byte(text))
		a.words = append(a.words, *w)
	}
	a.states = newTrie(texts)
	count := len(a.states.labels)
	a.fails, a.found = make([]int32, count), make([]int32, count)
	for state := range a.found {
		a.found[state] = -1
	}
	for i, text := range texts {
		a.found[a.states.end(text)] = int32(i)
	}
	low, high := a.states.children(0)
	for s := low; s < high; s++ {
		a.starts[a.states.labels[s]] = s
	}
	// A state's suffix is shorter, so it comes before.
	for s := range int32(count) {
		a.link(s)
		low, high := a.states.children(s)
		for child := low; s > 0 && child < high; child++ {
			a.fails[child] = a.step(a.fails[s], a.states.labels[child])
		}
	}
	return a
}

// link completes what a state finds by what its suffix finds.
func (a *automaton) link(state int32) {
	behind := a.found[a.fails[state]]
	own := a.found[state]
	if own < 0 || state == 0 {
		a.found[state] = behind
		return
	}
	w := &a.words[own]
	w.shorter, w.linked, w.listed = -1, -1, -1
	if behind >= 0 {
		b := &a.words[behind]
		w.rank = min(w.rank, b.rank)
		w.shorter, w.linked, w.listed, w.depth = b.linked, b.linked, b.listed, b.depth
	}
	if !w.chained {
		return
	}
	w.linked = own
	if w.depth++; w.depth <= maxListed {
		w.listed = own
	}
}

// step returns the state after one more byte. It dominates the cost of a path, and calls are slow in WebAssembly, so
// it searches for the child itself.
func (a *automaton) step(state int32, c byte) int32 {
	labels, first := a.states.labels, a.states.first
	for state > 0 {
		low, high := first[state], first[state+1]
		for high-low > 4 {
			if middle := int32(uint32(low+high) / 2); labels[middle] <= c {
				low = middle
			} else {
				high = middle
			}
		}
		for ; low < high; low++ {
			if labels[low] == c {
				return low
			}
		}
		state = a.fails[state]
	}
	return a.starts[c]
}
