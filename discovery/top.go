package discovery

import (
	"cmp"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/classify"
)

// candidate is a URL with the inputs of its scores.
type candidate struct {
	url        string
	lastmod    uint32
	rank       uint8
	class      classify.Class
	hint       Hint
	priority   int     // thousandths
	confidence float64 // in class
	order      int     // what its list is sorted by
}

// top keeps the candidates of highest order, ties by the priority that a sitemap states, then in the order of
// URLs. Further sightings can only raise the order of a URL, so one that was dropped need not be remembered.
type top struct {
	limit int
	list  []candidate
}

func better(a, b candidate) int {
	if a.order != b.order {
		return b.order - a.order
	}
	return cmp.Or(int(b.hint&0x0f)-int(a.hint&0x0f), strings.Compare(a.url, b.url))
}

// offer adds c if it is good enough, in place of an older candidate with its URL.
func (t *top) offer(c candidate) {
	if len(t.list) == t.limit && better(t.list[t.limit-1], c) < 0 {
		return
	}
	if i := slices.IndexFunc(t.list, func(o candidate) bool { return o.url == c.url }); i >= 0 {
		t.list = slices.Delete(t.list, i, i+1)
	}
	if len(t.list) == t.limit {
		t.list = t.list[:t.limit-1]
	}
	c.url = strings.Clone(c.url)
	i, _ := slices.BinarySearchFunc(t.list, c, better)
	t.list = slices.Insert(t.list, i, c)
}

// newest is the latest distinct dates, ascending.
type newest []uint32

// maxDates is the number of dates from which the frequency of an entry point is computed.
const maxDates = 256

func (n *newest) add(date uint32) {
	i, found := slices.BinarySearch(*n, date)
	switch {
	case found, i == 0 && len(*n) == maxDates:
	case len(*n) == maxDates:
		copy(*n, (*n)[1:i])
		(*n)[i-1] = date
	default:
		*n = slices.Insert(*n, i, date)
	}
}
