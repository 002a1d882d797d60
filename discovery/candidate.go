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
	date       uint32 // of the last change, or the day in the URL if that is later; 0 for none
	rank       uint8
	class      classify.Class
	hint       Hint
	kept       bool              // url does not share memory with other URLs
	priority   int               // thousandths
	confidence float64           // in class
	order      int               // what its list is sorted by
	number     uint64            // one more than the last number in url; 0 while that is not known
	verdict    *classify.Verdict // of a contender
}

// keep copies url, which shares memory with many others until then.
func (c *candidate) keep() {
	if !c.kept {
		c.url, c.kept = strings.Clone(c.url), true
	}
}

// lastNumber returns the last number in the URL, which many comparisons need.
func (c *candidate) lastNumber() uint64 {
	if c.number == 0 {
		c.number = lastNumber(c.url) + 1
	}
	return c.number
}

// better orders candidates: by order, then the newest first, then by the priority in sitemaps, then by the last number
// in the URL, of which the higher is usually newer. What remains is arbitrary, but does not depend on the order of
// URLs.
func better(a, b *candidate) int {
	switch {
	case a.order != b.order:
		return b.order - a.order
	case a.date != b.date:
		return cmp.Compare(b.date, a.date)
	case a.hint&0x0f != b.hint&0x0f:
		return int(b.hint&0x0f) - int(a.hint&0x0f)
	}
	if c := cmp.Compare(b.lastNumber(), a.lastNumber()); c != 0 {
		return c
	}
	if c := cmp.Compare(keyOf(a.url), keyOf(b.url)); c != 0 {
		return c
	}
	return strings.Compare(a.url, b.url)
}

// sorted returns candidates, best first. It compares them in their places: better remembers numbers there.
func sorted(list []*candidate) []candidate {
	slices.SortFunc(list, better)
	all := make([]candidate, len(list))
	for i, c := range list {
		all[i] = *c
	}
	return all
}

// below reports whether c ranks below the last candidate of a list. Nearly all do.
func (c *candidate) below(worst *candidate) bool {
	return c.order < worst.order || c.order == worst.order && better(worst, c) < 0
}

// lastNumber is the last number in a URL, 0 for none.
func lastNumber(url string) (n uint64) {
	end := len(url)
	for end > 0 && !isDigit(url[end-1]) {
		end--
	}
	begin := end
	for begin > 0 && isDigit(url[begin-1]) && end-begin < 18 {
		begin--
	}
	for _, c := range []byte(url[begin:end]) {
		n = 10*n + uint64(c-'0')
	}
	return n
}

// action returns the recommendation for a candidate. Its priority must justify an immediate crawl without the bonus
// for URLs that Research names.
func (c *candidate) action(p *page) Action {
	a := action(float64(c.priority)/1000, c.class.Type(), p.isLogin())
	if a != ImmediateCrawl || methods[c.rank] != FromResearch {
		return a
	}
	otherwise := 0.0
	if _, listed := c.hint.priority(); listed {
		otherwise = methodScore(FromSitemap)
	}
	return action(float64(c.priority)/1000-methodWeight*(methodScore(FromResearch)-otherwise), c.class.Type(), false)
}
