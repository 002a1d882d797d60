package discovery

import (
	"cmp"
	"slices"
	"strings"
)

// isGood reports whether an action recommends to fetch a page soon.
func (a Action) isGood() bool { return a == ImmediateCrawl || a == ScheduledCrawl }

// worthwhile records that pages outside the tree's good patterns are worth fetching.
type worthwhile struct {
	loose  bool            // a page without a pattern
	scored map[nodeID]bool // patterns of URLs that Score was given
}

// markWorth marks a pattern as good if its page is worth fetching, or might become so.
func (a *Analyser) markWorth(n nodeID, p *page, c *candidate) {
	good := &a.worthwhile.loose
	if n = a.tree.current(n); n != noNode {
		good = &a.tree.nodes[n].good
	}
	if !*good && c.order >= scheduledPriority*1000 {
		*good = action(float64(c.order)/1000, c.class.Type(), p.isLogin()).isGood()
	}
}

// strategy recommends how to crawl the domain.
type strategy struct{ *Analyser }

// allowedPatterns returns patterns that match every recommended page: first the most useful, then the others by their
// number of pages. Names of articles become {slug}, so that the next article matches too. If there are more than
// maxAllowedPatterns, further names do. An empty list restricts nothing.
func (a strategy) allowedPatterns(useful []URLPattern, best []candidate) []string {
	list := []string{}
	if a.worthwhile.loose || a.worthwhile.scored[noNode] {
		return list
	}
	var needed []nodeID
	for n := range a.tree.nodes {
		if node := &a.tree.nodes[n]; node.movedTo == noNode &&
			(node.good && !a.closed(nodeID(n)) || a.worthwhile.scored[nodeID(n)]) {
			needed = append(needed, nodeID(n))
		}
	}
	for i := range best {
		p := parsePage(best[i].url)
		if !best[i].action(&p).isGood() {
			continue
		}
		n := a.node(p.url)
		if n == noNode {
			return list
		}
		needed = append(needed, n)
	}
	slices.Sort(needed)
	needed = slices.Compact(needed)
	good := map[string]int{} // with their pages
	own := siteView(a).survey().own
	for _, n := range needed {
		good[a.tree.pattern(n)] += own[n].of.total()
	}
	for _, p := range useful {
		if _, needed := good[p.Pattern]; needed || len(p.Examples) > 0 && typeWeight(p.ContentType) >= 0.5 {
			list = append(list, p.Pattern)
			delete(good, p.Pattern)
		}
	}
	others := []string{}
	for pattern := range good {
		others = append(others, pattern)
	}
	slices.SortFunc(others, func(x, y string) int { return cmp.Or(good[y]-good[x], strings.Compare(x, y)) })
	list = append(list, others...)
	list = withoutNames(list, a.articles(needed))
	for names := 2; len(list) > maxAllowedPatterns; names-- {
		if names < 0 {
			return []string{}
		}
		list = generalised(list, names)
	}
	return list
}

// minNumbered is the number of pages beside each other that must differ only in a number, such as "post-1", to be
// articles: sections, too, can have a number in their name.
const minNumbered = 3

// articles returns the patterns of nodes that end in the name of an article: a leaf in a section, if it is news or has
// siblings, or a numbered leaf of the first level.
func (a strategy) articles(nodes []nodeID) map[string]bool {
	beside := map[nodeID]int{} // by their parents
	var leaves []nodeID
	for _, n := range nodes {
		if a.isLeaf(n) {
			leaves = append(leaves, n)
			beside[a.tree.nodes[n].parent]++
		}
	}
	alike := a.numbered()
	patterns := map[string]bool{}
	for _, n := range leaves {
		parent, news := a.tree.nodes[n].parent, siteView(a).survey().own[n].anyNews()
		if parent != root && (news || beside[parent] > 1) ||
			parent == root && alike[series(a.tree.nodes[n].token)] >= minNumbered {
			patterns[a.tree.pattern(n)] = true
		}
	}
	return patterns
}

// numbered counts the numbered names of the first level by their series, whether recommended or not.
func (a strategy) numbered() map[string]int {
	count := map[string]int{}
	for n := a.tree.nodes[root].first; n != noNode; n = a.tree.nodes[n].next {
		if a.isLeaf(n) {
			count[series(a.tree.nodes[n].token)]++
		}
	}
	return count
}

// series returns a name without its digits, so that "post-1" and "post-13" are equal.
func series(token string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, token)
}

// isLeaf reports whether a node is a name without children that does not look like the name of a list. On the first
// level, where sections are, it must also have a number.
func (a strategy) isLeaf(n nodeID) bool {
	node := &a.tree.nodes[n]
	if !node.name || node.first != noNode || strings.Contains(node.token, "?") {
		return false
	}
	if node.parent == root && !strings.ContainsAny(node.token, "0123456789") {
		return false
	}
	return !a.classifier.EndsInWords("https://" + a.o.Domain + a.tree.pattern(n))
}

// withoutNames replaces the last name of some patterns by {slug}.
func withoutNames(patterns []string, some map[string]bool) (list []string) {
	list = []string{}
	seen := map[string]bool{}
	for _, p := range patterns {
		if some[p] {
			at := strings.LastIndexByte(p, '/') + 1
			p = p[:at] + slugToken(p[at:])
		}
		if !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	return list
}

// closed reports whether all pages of a pattern are known to be forbidden or excluded.
func (a strategy) closed(n nodeID) bool {
	examples := a.tree.nodes[n].examples
	return siteView(a).survey().own[n].of.total() <= len(examples) &&
		!slices.ContainsFunc(examples[:], func(url string) bool {
			return url != "" && !report(a).forbidden(url) && !a.ruledOut(url)
		})
}

// generalised replaces all but the first names of patterns by {slug}.
func generalised(patterns []string, names int) (list []string) {
	seen := map[string]bool{}
	for _, p := range patterns {
		path, query, hasQuery := strings.Cut(p, "?")
		segments := strings.Split(path, "/")
		for i := range segments {
			if s := segments[i]; i > names && s != "" && !strings.Contains(s, "{") {
				segments[i] = slugToken(s)
			}
		}
		if p = strings.Join(segments, "/"); hasQuery {
			p += "?" + query
		}
		if !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	return list
}
