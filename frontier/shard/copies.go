package shard

import (
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Much of the web is a copy of something else. A page whose text another of its host showed before is not looked at
// again, and where most pages of a pattern are copies, others of it are worth less; where nearly all are, they are
// refused as a trap, but for one a day: a wall in front of the site, which
// answers every page with the same text, may fall.
const (
	fewCopies  = 8  // pages of a pattern of which more than half must be copies before it is worth less
	manyCopies = 20 // pages of a pattern of which nine in ten must be copies before it is a trap
	probeAfter = 1  // days
)

// patternOf returns what the paths of pages of one kind have in common: the segments but the last, with digits as 0, and
// the names of the query's fields.
func patternOf(path string) string {
	path, query, _ := strings.Cut(path, "?")
	at := strings.LastIndexByte(path, '/') + 1
	var b strings.Builder
	digit := false
	for _, c := range []byte(path[:at]) {
		if c < '0' || c > '9' {
			b.WriteByte(c)
		} else if !digit {
			b.WriteByte('0')
		}
		digit = c >= '0' && c <= '9'
	}
	if query == "" {
		b.WriteByte('*')
		return b.String()
	}
	b.WriteString(path[at:])
	var names []string
	for field := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(field, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	b.WriteByte('?')
	b.WriteString(strings.Join(slices.Compact(names), "&"))
	return b.String()
}

// isCopy notes the text of a page that was fetched, and reports whether another page of the host has it.
func (p *reporter) isCopy(h *store.Host, q *store.Page, r *frontier.Result) bool {
	if r.Status >= 300 { // 304 says nothing new, and a redirect has no text
		return false
	}
	digest, _ := digestOf(r)
	pattern := patternOf(q.Path)
	wasBarren := barren(h.Copies.Pattern(pattern))
	copied := h.Copies.Saw(store.Hash48(q.Path), digest, pattern, r.Copy, p.c.today())
	if wasBarren && !copied && digest != 0 {
		h.Copies.Forget(pattern)
	}
	return copied
}

// isBarren reports whether a new page is refused since nearly all others of its pattern are copies. One a day is not.
func isBarren(c *call, h *store.Host, path string) bool {
	if len(h.Copies.Patterns) == 0 {
		return false
	}
	pattern := patternOf(path)
	k := h.Copies.Pattern(pattern)
	if barren(k) && c.today()-k.Day >= probeAfter {
		h.Copies.Probe(pattern, c.today())
		h.Change()
		return false
	}
	return barren(k)
}

func barren(k store.Pattern) bool { return k.Fetched >= manyCopies && 10*k.Copied >= 9*k.Fetched }

// yield returns the share of the pages of a pattern that are likely to be no copies; 1 if most are none.
func yield(h *store.Host, path string) float64 {
	if len(h.Copies.Patterns) == 0 {
		return 1
	}
	k := h.Copies.Pattern(patternOf(path))
	if k.Fetched < fewCopies || 2*k.Copied <= k.Fetched {
		return 1
	}
	return float64(k.Fetched-k.Copied+1) / float64(k.Fetched+2)
}
