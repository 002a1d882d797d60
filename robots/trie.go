package robots

import (
	"cmp"
	"slices"
)

// trie stores sequences with their common prefixes. Nodes are numbered breadth first from the root, 0, so the
// children of a node are neighbours, ordered by label.
type trie[L cmp.Ordered] struct {
	labels []L     // of the step from the parent; that of the root says nothing
	first  []int32 // child of each node, the next node's first child being the end
}

// newTrie builds the trie of sequences.
func newTrie[L cmp.Ordered](sequences [][]L) trie[L] {
	sequences = slices.Clone(sequences)
	slices.SortFunc(sequences, slices.Compare[[]L])
	var t trie[L]
	type span struct{ low, high int32 } // the sequences that share a node
	level, depth := []span{{0, int32(len(sequences))}}, 0
	t.labels = make([]L, 1)
	for ; len(level) > 0; depth++ {
		var below []span
		for _, s := range level {
			t.first = append(t.first, int32(len(t.labels)))
			i := s.low
			for i < s.high && len(sequences[i]) == depth {
				i++ // it ends here
			}
			for i < s.high {
				child := span{low: i}
				label := sequences[i][depth]
				for i < s.high && sequences[i][depth] == label {
					i++
				}
				child.high = i
				t.labels = append(t.labels, label)
				below = append(below, child)
			}
		}
		level = below
	}
	t.first = append(t.first, int32(len(t.labels)))
	return t
}

// children returns the range of a node's children.
func (t *trie[L]) children(node int32) (low, high int32) { return t.first[node], t.first[node+1] }

// end returns the node at which a sequence of the trie ends.
func (t *trie[L]) end(sequence []L) int32 {
	node := int32(0)
	for _, label := range sequence {
		node = t.child(node, label)
	}
	return node
}

// child returns the child with a label, or 0.
func (t *trie[L]) child(node int32, label L) int32 {
	if c := t.search(node, label); c < t.first[node+1] && t.labels[c] == label {
		return c
	}
	return 0
}

// search returns the first child with a label that is not less, or the node after the last child.
func (t *trie[L]) search(node int32, label L) int32 {
	low, high := t.children(node)
	for low < high {
		middle := int32(uint32(low+high) / 2)
		if t.labels[middle] < label {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
