package robots

// automaton finds all of many strings, its words, in one pass over a text (A. Aho and M. Corasick,
// Efficient string matching, 1975).
type automaton struct {
	states trie[byte]
	// The first states, of which nearly all steps start, have rows of width next states, by the class of the next byte.
	rows    []int32
	width   int
	classes [256]uint8 // of bytes; 0 for those that are in no word
	fails   []int32    // state of the longest other suffix of what a state stands for
	found   []int32    // longest word that a state ends with, or -1
	words   []word
	linked  []int32 // of each word
	ranks   []int32
	lengths []int32
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

// maxRows bounds the next states that an automaton keeps ready.
const maxRows = 1 << 17

// newAutomaton finds words, which differ and are not empty.
func newAutomaton(words []word) *automaton {
	a := &automaton{words: words}
	texts := make([][]byte, len(words))
	for i := range words {
		texts[i] = []byte(words[i].text)
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
	a.classify()
	full := min(count, maxRows/a.width)
	a.rows = make([]int32, 0, full*a.width)
	// A state's suffix is shorter, so it comes before.
	for s := range int32(count) {
		a.link(s)
		low, high := a.states.children(s)
		for child := low; s > 0 && child < high; child++ {
			a.fails[child] = a.step(a.fails[s], a.states.labels[child])
		}
		if int(s) < full {
			a.addRow(s)
		}
	}
	a.linked, a.ranks, a.lengths = make([]int32, len(a.words)), make([]int32, len(a.words)), make([]int32, len(a.words))
	for i, w := range a.words {
		a.linked[i], a.ranks[i], a.lengths[i] = w.linked, w.rank, int32(len(w.text))
	}
	return a
}

// classify assigns a class of its own to each byte that occurs in a word.
func (a *automaton) classify() {
	a.width = 1
	for _, c := range a.states.labels[1:] {
		if a.classes[c] == 0 && a.width < 256 {
			a.classes[c] = uint8(a.width)
			a.width++
		}
	}
}

// addRow adds the row of a state: that of its suffix, but for its children.
func (a *automaton) addRow(state int32) {
	at := len(a.rows)
	if state == 0 {
		a.rows = append(a.rows, make([]int32, a.width)...)
	} else {
		suffix := int(a.fails[state]) * a.width
		a.rows = append(a.rows, a.rows[suffix:suffix+a.width]...)
	}
	low, high := a.states.children(state)
	for child := low; child < high; child++ {
		a.rows[at+int(a.classes[a.states.labels[child]])] = child
	}
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

// step returns the state after one more byte.
func (a *automaton) step(state int32, c byte) int32 {
	labels, first := a.states.labels, a.states.first
	for {
		if row := int(state) * a.width; row < len(a.rows) {
			return a.rows[row+int(a.classes[c])]
		}
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
}
