package discovery

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
)

// stateVersion changes with the meaning of a stored state.
const stateVersion = 1

// State is the state of an Analyser. URLs added after Restore have the same effect as if they had been added before.
// It is stored inside a document, or beside it as discovery.json. It is internal, and does not depend on the order of
// URLs.
type State struct {
	Version int    `json:"version"`
	Domain  string `json:"domain"`
	Also    string `json:"also,omitempty"` // see Include
	// when the domain was collected; ages still count from here
	Now     time.Time        `json:"now"`
	Context classify.Context `json:"context"`
	Seen    []byte           `json:"seen"`            // see seen.encode
	Hints   []byte           `json:"hints,omitempty"` // Hint of each URL of Seen; absent when all are zero
	// the tree of patterns; parents before children, children by token
	Nodes     []StateNode                 `json:"nodes"`
	Top       []StateURL                  `json:"top"`
	BySection []StateURL                  `json:"varied,omitempty"` // those that are in no other list
	Listings  []StateURL                  `json:"listings"`
	Classes   map[classify.Type]StateType `json:"classes"`
	Loose     bool                        `json:"loose,omitempty"` // some page that is worth fetching has no pattern
	Stats     Stats                       `json:"stats"`
	Sources   []StateSource               `json:"sources"`
	Failures  []Failure                   `json:"failures"`
	Unlisted  int                         `json:"failures_unlisted,omitempty"`
	// by key; absent in states of earlier versions, as Links
	Titles []StateTitle `json:"titles,omitempty"`
	Links  []Link       `json:"links,omitempty"` // of the home page, in its order
	// By key, the forms of URLs in the places that list them; by rank and language, the keys of URLs, see
	// urlSources.store.
	Raw       []StateTitle      `json:"raw,omitempty"`
	Languages map[string][]byte `json:"languages,omitempty"`
	Witnesses []StateWitness    `json:"witnesses,omitempty"` // pages that were seen, newest first
}

// StateTitle is a title of a page.
type StateTitle struct {
	Key  uint64 `json:"k"` // keyOf its URL
	Rank uint8  `json:"r"` // rankOf the method by which it was found
	Text string `json:"t"`
}

// StateNode is a segment of the patterns.
type StateNode struct {
	Parent   int      `json:"p"` // index of its parent; the first node is the root
	Token    string   `json:"t"`
	Name     bool     `json:"n,omitempty"`
	Variable bool     `json:"v,omitempty"`
	Plain    bool     `json:"q,omitempty"`
	Good     bool     `json:"g,omitempty"`
	Examples []string `json:"e,omitempty"`
}

// StateURL is a URL with the inputs of its scores.
type StateURL struct {
	URL     string `json:"url"`
	Lastmod uint32 `json:"lastmod"` // seconds since 1970, 0 for none
	Method  Method `json:"method"`
	Hint    Hint   `json:"hint,omitempty"`
}

// StateType is a summary of the URLs of one type.
type StateType struct {
	Count    int        `json:"count"`
	Priority int        `json:"priority"` // sum, in thousandths
	Examples []StateURL `json:"examples"`
}

// StateSource is an entry point with what it lists.
type StateSource struct {
	Source
	Types  map[classify.Type]int `json:"types"`
	Newest []uint32              `json:"newest"` // dates, ascending
}

// State returns the state for Restore.
func (a *Analyser) State() *State {
	nodes, number := a.tree.store()
	s := &State{
		Version: stateVersion, Domain: a.o.Domain, Also: a.urls.also, Now: a.o.Now.UTC(), Context: a.o.Context,
		Seen: a.seen.encode(func(n nodeID) uint64 {
			if n = a.tree.current(n); n == noNode {
				return 0
			}
			return uint64(number[n]) + 1
		}),
		Hints: a.seen.encodeHints(),
		Nodes: nodes,
		Top:   storeURLs(a.kept.top.ordered()), Listings: storeURLs(a.kept.listings.ordered()),
		Classes: map[classify.Type]StateType{}, Loose: a.worthwhile.loose, Stats: a.stats,
		Sources: []StateSource{}, Failures: append([]Failure{}, a.failures.listed...), Unlisted: a.failures.omitted,
	}
	for i := range a.classes {
		if c := &a.classes[i]; c.count > 0 {
			s.Classes[classify.Class(i).Type()] = StateType{c.count, c.priority, storeURLs(c.examples.ordered())}
		}
	}
	others := [][]candidate{a.kept.top.ordered()}
	for i := range a.classes {
		others = append(others, a.classes[i].examples.ordered())
	}
	s.BySection = storeURLs(a.kept.bySection.candidates(others...))
	a.texts.trim()
	for _, key := range a.texts.keys() {
		s.Titles = append(s.Titles, StateTitle{key, a.texts.titles[key].rank, a.texts.titles[key].text})
	}
	s.Links = a.texts.links
	a.urlSources.store(s)
	s.Witnesses = Probing{a}.storeWitnesses()
	for i := range a.sources.list {
		o := &a.sources.list[i]
		stored := StateSource{Source: o.Source, Types: map[classify.Type]int{}, Newest: o.newest}
		for c, n := range o.types {
			if n > 0 {
				stored.Types[classify.Class(c).Type()] = n
			}
		}
		s.Sources = append(s.Sources, stored)
	}
	return s
}

func storeURLs(list []candidate) []StateURL {
	stored := make([]StateURL, len(list))
	for i, c := range list {
		stored[i] = StateURL{c.url, c.lastmod, methods[c.rank], c.hint}
	}
	return stored
}

// ParseState reads discovery.json. A state of another version, or a damaged one, is a Parse error:
// the domain must be collected again.
func ParseState(data []byte) (*State, error) {
	s := new(State)
	err := json.Unmarshal(data, s)
	if err == nil && s.Version == stateVersion {
		return s, nil
	}
	return nil, &contract.Error{Kind: contract.Parse, Op: "discovery.ParseState", Field: "discovery.json",
		Message: "the stored state of the discovery cannot be read; collect the domain again", Err: err}
}

// Restore continues an analysis. Of o it uses Model, Robots, Excluded and Pages; the other options are in the
// state. Pages lists only URLs that are added from now on.
func Restore(s *State, o Options) (*Analyser, error) {
	o.Domain, o.Now, o.Context = s.Domain, s.Now, s.Context
	a := NewAnalyser(o)
	a.Include(s.Also)
	damaged := func(err error) (*Analyser, error) {
		return nil, &contract.Error{Kind: contract.Parse, Op: "discovery.Restore", Field: "discovery.json",
			Message: "the stored state of the discovery is damaged; collect the domain again", Err: err}
	}
	if !a.tree.restore(s.Nodes) {
		return damaged(nil)
	}
	err := a.seen.decode(s.Seen, func(number uint64) (nodeID, bool) {
		return nodeID(number) - 1, number <= uint64(len(s.Nodes))
	})
	if err == nil {
		err = a.seen.decodeHints(s.Hints)
	}
	if err != nil {
		return damaged(err)
	}
	a.worthwhile.loose = s.Loose
	a.stats, a.failures = s.Stats, failures{listed: s.Failures, omitted: s.Unlisted}
	restoration{a}.restoreSources(s.Sources)
	restoration{a}.restoreClasses(s.Classes)
	for _, t := range s.Titles {
		a.texts.addTitle(t.Key, t.Rank, []byte(t.Text))
	}
	a.Learn(s.Links)
	if !a.urlSources.restore(s, &a.seen) {
		return damaged(nil)
	}
	Probing{a}.Recall(s)
	restoration{a}.restoreURLs(s.Top, func(p *page, c candidate) {
		a.kept.top.offer(&c)
		a.kept.bySection.offer(p, &c)
	})
	restoration{a}.restoreURLs(s.BySection, func(p *page, c candidate) { a.kept.bySection.offer(p, &c) })
	restoration{a}.restoreURLs(s.Listings, func(p *page, c candidate) {
		c.order -= 1000 * p.depth
		a.kept.listings.offer(&c)
	})
	a.kept.since = map[uint64]bool{}
	return a, nil
}

// restoration adds a stored State to an Analyser.
type restoration struct{ *Analyser }

func (a restoration) restoreSources(stored []StateSource) {
	for _, s := range stored {
		restored := source{Source: s.Source, newest: s.Newest}
		for t, n := range s.Types {
			if c, ok := classify.ClassOf(t); ok {
				restored.types[c] = n
			}
		}
		a.sources.add(restored)
	}
}

func (a restoration) restoreClasses(stored map[classify.Type]StateType) {
	for t, s := range stored {
		i, ok := classify.ClassOf(t)
		if !ok {
			continue
		}
		k := &a.classes[i]
		k.count, k.priority = s.Count, s.Priority
		a.restoreURLs(s.Examples, func(p *page, c candidate) {
			k.examples.offer(&c)
			a.kept.bySection.offer(p, &c)
		})
	}
}

// restoreURLs scores stored URLs again, except those that were excluded since.
func (a restoration) restoreURLs(stored []StateURL, offer func(*page, candidate)) {
	for _, u := range stored {
		if valid, _ := a.urls.canonical([]byte(u.URL)); valid {
			p := parsePage(string(a.urls.buf))
			if a.ruledOut(p.url) {
				continue
			}
			c := a.estimate(&p, rankOf(u.Method), u.Lastmod)
			if u.Hint.valid() {
				c.hint = u.Hint
			}
			offer(&p, c)
		}
	}
}

// store encodes the tree in an order that depends on its pages only, and returns the number of each node.
func (t *tree) store() ([]StateNode, map[nodeID]int) {
	var stored []StateNode
	number := map[nodeID]int{}
	var walk func(n nodeID, parent int)
	walk = func(n nodeID, parent int) {
		o := &t.nodes[n]
		s := StateNode{Parent: parent, Token: o.token, Name: o.name, Variable: o.variable, Plain: o.plain, Good: o.good}
		for _, e := range o.examples {
			if e != "" {
				s.Examples = append(s.Examples, e)
			}
		}
		number[n] = len(stored)
		stored = append(stored, s)
		var children []nodeID
		for c := o.first; c != noNode; c = t.nodes[c].next {
			children = append(children, c)
		}
		slices.SortFunc(children, func(x, y nodeID) int { return strings.Compare(t.nodes[x].token, t.nodes[y].token) })
		for _, c := range children {
			walk(c, number[n])
		}
	}
	walk(root, 0)
	return stored, number
}

// restore decodes the result of store into a new tree, and reports whether it is valid.
func (t *tree) restore(stored []StateNode) bool {
	if len(stored) == 0 || len(stored) > maxNodes {
		return false
	}
	for i, s := range stored {
		id := nodeID(i)
		if i > 0 {
			if s.Parent < 0 || s.Parent >= i || t.nodes[s.Parent].depth >= maxPatternDepth {
				return false
			}
			t.nodes = append(t.nodes, node{token: s.Token, first: noNode, movedTo: noNode, name: s.Name})
			t.link(t.current(nodeID(s.Parent)), id) // a state of a version before may have had more queries
		}
		t.nodes[i].variable, t.nodes[i].plain, t.nodes[i].good = s.Variable, s.Plain, s.Good
		for _, u := range s.Examples {
			t.addExample(id, u)
		}
	}
	return true
}
