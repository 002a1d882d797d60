package discovery

import (
	"strings"

	"github.com/newsfork/seed-engine/urlword"
)

// Bounds of the tree of patterns. More than maxNames names below a node become one variable, {slug}. More than
// maxQueries queries, such as random numbers against caches, are dropped together with the names. So the tree stays
// small regardless of the number of pages, and its final form does not depend on their order.
const (
	maxPatternDepth = 8
	maxQueries      = 256
	maxNodes        = 1 << 15 // only a hostile site gets there; further pages have no pattern
)

// maxNames caps the names below a node, by the node's depth.
var maxNames = [maxPatternDepth]uint16{48, 16, 8, 4, 4, 4, 4, 4}

// nodeID is a node of the tree.
type nodeID int32

const (
	root   nodeID = 0
	noNode nodeID = -1
)

// node is a segment of patterns.
type node struct {
	token       string // a name or a placeholder, with its extension
	parent      nodeID
	first, next nodeID // child and sibling
	movedTo     nodeID // the node into which it was merged, or noNode
	names       uint16 // children that are names
	name        bool   // token is a name
	variable    bool   // names among its children have become {slug}
	queries     uint16 // children that are placeholders with a query
	plain       bool   // variable, and its children have no queries any more
	good        bool   // some page of the pattern is worth fetching
	depth       uint8
	examples    [2]string // the two greatest URLs of the pattern, greatest first, "" for none
}

// tree is the tree of a domain's patterns: paths in which differing segments are generalised.
type tree struct {
	nodes      []node
	token      []byte
	generation int // number of generalisations, after which pages might have another node
}

func newTree() *tree {
	return &tree{nodes: []node{{parent: noNode, first: noNode, next: noNode, movedTo: noNode}}}
}

// add adds a page and returns the node of its pattern, or noNode if the page is too deep.
func (t *tree) add(p *page) nodeID {
	if p.depth > maxPatternDepth {
		return noNode
	}
	if p.growth != t.generation {
		p.placed = 0
	}
	at, parts := root, p.parts()
	if p.placed > 0 {
		at = p.places[p.placed-1]
	}
	for i := p.placed; i < len(parts); i++ {
		s, k := parts[i], p.kinds[i]
		e := s[p.bodies[i]:]
		if e != "" {
			e, _, _ = strings.Cut(e, ";") // parameters differ from URL to URL
		}
		name := k == literalKind
		if name && t.nodes[at].variable {
			k, name = slugKind, false
		}
		if name {
			t.token = append(t.token[:0], s...)
		} else {
			t.token = append(append(t.token[:0], placeholders[k]...), e...)
		}
		if i == p.depth-1 && p.query != "" && !t.nodes[at].plain {
			t.token = appendQueryPattern(t.token, p.query)
		}
		if at = t.child(at, name); at == noNode {
			return noNode
		}
		if i < len(parts)-1 {
			p.places[i], p.placed = at, i+1
		}
	}
	p.growth = t.generation
	t.addExample(at, p.url)
	return at
}

// child returns the child with the token t.token, adding it if necessary.
func (t *tree) child(parent nodeID, name bool) nodeID {
	for c := t.nodes[parent].first; c != noNode; c = t.nodes[c].next {
		if t.nodes[c].token == string(t.token) {
			return c
		}
	}
	if len(t.nodes) >= maxNodes {
		return noNode
	}
	c := nodeID(len(t.nodes))
	t.nodes = append(t.nodes, node{token: string(t.token), first: noNode, movedTo: noNode, name: name})
	t.link(parent, c)
	return t.current(c)
}

// link makes c a child of parent, and generalises the names there if they are too many.
func (t *tree) link(parent, c nodeID) {
	n := &t.nodes[c]
	n.parent, n.next, n.depth = parent, t.nodes[parent].first, t.nodes[parent].depth+1
	t.nodes[parent].first = c
	switch above := &t.nodes[parent]; {
	case n.name:
		if above.names++; above.names > maxNames[above.depth] {
			t.generalise(parent, false)
		}
	case strings.Contains(n.token, "?"):
		if above.queries++; above.queries > maxQueries {
			t.generalise(parent, true)
		}
	}
}

// generalise replaces the names below parent by {slug}, one for each extension and query. With plain, it drops the
// queries.
func (t *tree) generalise(parent nodeID, plain bool) {
	t.generation++
	above := &t.nodes[parent]
	c := above.first
	above.first, above.names, above.queries, above.variable, above.plain = noNode, 0, 0, true, above.plain || plain
	var others []nodeID
	for c != noNode {
		next := t.nodes[c].next
		if n := &t.nodes[c]; n.name || plain && strings.Contains(n.token, "?") {
			others = append(others, c)
		} else {
			t.link(parent, c)
		}
		c = next
	}
	for _, c := range others {
		t.join(parent, c)
	}
}

// join moves the node c, which has lost its parent, below parent. If a child there has the same token, c is merged
// into it.
func (t *tree) join(parent, c nodeID) {
	n := &t.nodes[c]
	token, name := n.token, n.name
	if name && t.nodes[parent].variable {
		token, name = slugToken(token), false
	}
	if t.nodes[parent].plain {
		token, _, _ = strings.Cut(token, "?")
	}
	for into := t.nodes[parent].first; into != noNode; into = t.nodes[into].next {
		if t.nodes[into].token == token {
			t.merge(into, c)
			return
		}
	}
	n.token, n.name = token, name
	t.link(parent, c)
}

// merge moves the pages and children of one node to another.
func (t *tree) merge(into, from nodeID) {
	t.nodes[from].movedTo = into
	for _, e := range t.nodes[from].examples {
		t.addExample(into, e)
	}
	t.nodes[from].examples = [2]string{}
	t.nodes[into].good = t.nodes[into].good || t.nodes[from].good
	if f, i := &t.nodes[from], &t.nodes[into]; f.variable && !i.variable || f.plain && !i.plain {
		t.generalise(into, f.plain)
	}
	for c := t.nodes[from].first; c != noNode; {
		next := t.nodes[c].next
		t.join(into, c)
		c = next
	}
	t.nodes[from].first = noNode
}

// slugToken is the token that replaces a name among too many others.
func slugToken(token string) string {
	query := ""
	if i := strings.IndexByte(token, '?'); i >= 0 {
		token, query = token[:i], token[i:]
	}
	extension, _, _ := strings.Cut(token[len(token)-extensionLength(token):], ";")
	return placeholders[slugKind] + extension + query
}

// current returns the node into which a node was merged, or the node itself.
func (t *tree) current(n nodeID) nodeID {
	for n != noNode && t.nodes[n].movedTo != noNode {
		n = t.nodes[n].movedTo
	}
	return n
}

// addExample adds an example of a pattern. The two greatest URLs stay: those with the latest dates or highest numbers.
func (t *tree) addExample(n nodeID, url string) {
	e := &t.nodes[n].examples
	switch {
	case url > e[0]:
		e[0], e[1] = strings.Clone(url), e[0]
	case url > e[1] && url != e[0]:
		e[1] = strings.Clone(url)
	}
}

// pattern returns the pattern of a node.
func (t *tree) pattern(n nodeID) string {
	if n == root || n == noNode {
		return "/"
	}
	s := ""
	for ; n != root; n = t.nodes[n].parent {
		s = "/" + t.nodes[n].token + s
	}
	return s
}

// appendQueryPattern appends "?seq={id}&page={page}".
func appendQueryPattern(dst []byte, query string) []byte {
	separator := byte('?')
	for f := range strings.SplitSeq(query, "&") {
		name, value, ok := strings.Cut(f, "=")
		dst = append(append(dst, separator), name...)
		separator = '&'
		if !ok {
			continue
		}
		dst = append(dst, '=')
		k := slugKind
		if value != "" {
			k = kindOf(value)
		}
		switch {
		case urlword.IsPage(name) || strings.HasPrefix(strings.ToLower(name), "page"):
			k = pageKind
		case k == literalKind && urlword.IsLanguage(value):
			k = langKind
		case k == literalKind:
			k = slugKind
		}
		dst = append(dst, placeholders[k]...)
	}
	return dst
}
