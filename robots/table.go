package robots

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// unmatched is the rank of no rule.
const unmatched = math.MaxInt32

// table finds out which of many strings a text begins with.
type table []entry

// entry is one of the strings, with the ranks of the rules that it decides.
type entry struct {
	text   string
	begins int32 // best rule for what begins with text, or with an entry that text begins with
	equals int32 // best rule for what is text
	chains int32 // node of the chains that go on behind text, or 0
	parent int32 // the longest other entry that text begins with, or -1
}

// newTable makes a table of entries, whose parents are not set and whose texts may be the same.
func newTable(entries []entry) table {
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.text, b.text) })
	t := table(entries[:0])
	open := []int32{} // entries that the last one begins with, and itself
	for _, e := range entries {
		if n := len(t); n > 0 && t[n-1].text == e.text {
			last := &t[n-1]
			last.begins, last.equals, last.chains = min(last.begins, e.begins), min(last.equals, e.equals),
				max(last.chains, e.chains)
			continue
		}
		for len(open) > 0 && !beginsWith(e.text, t[open[len(open)-1]].text) {
			open = open[:len(open)-1]
		}
		e.parent = -1
		if len(open) > 0 {
			e.parent = open[len(open)-1]
			e.begins = min(e.begins, t[e.parent].begins)
		}
		open = append(open, int32(len(t)))
		t = append(t, e)
	}
	return slices.Clip(t)
}

func beginsWith(text, start string) bool {
	return len(text) >= len(start) && text[:len(start)] == start
}

// find returns the longest entry that is a prefix of text, or -1. The entry's ancestors are the others.
func find[T string | []byte](t table, text T) int32 {
	i := int32(sort.Search(len(t), func(i int) bool { return t[i].text > string(text) })) - 1
	if i < 0 {
		return -1
	}
	// What text begins with, the greatest entry before it begins with too.
	common := 0
	for before := t[i].text; common < len(before) && common < len(text) && before[common] == text[common]; {
		common++
	}
	for i >= 0 && len(t[i].text) > common {
		i = t[i].parent
	}
	return i
}
