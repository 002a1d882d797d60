package discovery

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
	pages "github.com/newsfork/seed-engine/page"
)

// Conditions for probing a pattern.
const (
	minProbed    = 4   // URLs that it has at least
	decidedShare = 0.5 // share of URLs of one known type from which no page needs to be fetched
)

// Bounds of the stored witnesses.
const (
	maxWitnesses  = 64
	witnessedFor  = 90 * day
	leastWitness  = 0.001 // probabilities below are stored as 0
	witnessDigits = 1000
)

// Probe is a page to fetch: what it says about itself tells the type of all pages of its pattern.
type Probe struct{ Pattern, URL string }

// witness is a fetched page, which stands for all pages of its pattern.
type witness struct {
	url, pattern string
	at           time.Time
	types        map[classify.Type]float64 // probabilities; nil if the page says nothing
}

// seenPage is a witness of a survey.
type seenPage struct {
	site  classify.Site // logarithms of the probabilities of types
	known classify.Site // those by what was known of it before it was fetched
	mute  bool          // it says nothing
}

func (a Probing) seenPage(w *witness) *seenPage {
	v := &seenPage{mute: len(w.types) == 0}
	if v.mute {
		return v
	}
	p := parsePage(w.url)
	known := a.classifier.PageEvidence(w.url, a.textOf(&p), nil)
	for c := range v.site {
		v.site[c] = math.Log(max(w.types[classify.Class(c).Type()], leastWitness))
		v.known[c] = max(known[c], math.Log(leastWitness))
	}
	return v
}

// Probing chooses pages of an analysis to fetch, and learns from them.
type Probing struct{ *Analyser }

// Probes returns at most limit pages to fetch: one of each pattern whose URLs leave its type open, those of the
// largest patterns first. It leaves out pages right below the root, since their titles decide, and patterns with a
// witness.
func (a Probing) Probes(limit int) []Probe {
	if limit <= 0 {
		return nil
	}
	s := siteView(a).survey()
	type open struct {
		node  nodeID
		pages int
	}
	var found []open
	for i := range s.own {
		n, v := nodeID(i), &s.own[i]
		if total := v.of.total(); total >= minProbed && a.tree.nodes[n].movedTo == noNode && !s.witnessed(n) &&
			!a.tree.isTitleOfRoot(n) && v.isOpen(total) {
			found = append(found, open{n, total})
		}
	}
	slices.SortFunc(found, func(x, y open) int {
		return cmp.Or(cmp.Compare(y.pages, x.pages), strings.Compare(a.tree.pattern(x.node), a.tree.pattern(y.node)))
	})
	var probes []Probe
	for _, o := range found {
		if len(probes) == limit {
			break
		}
		for _, url := range a.tree.nodes[o.node].examples {
			if url != "" && a.mayProbe(url) {
				probes = append(probes, Probe{a.tree.pattern(o.node), url})
				break
			}
		}
	}
	return probes
}

// isOpen reports whether the URLs of a pattern do not show its type.
func (v *votes) isOpen(total int) bool {
	if v.news >= minListed || v.feeds >= minListed {
		return false
	}
	unknown := classNamed(classify.Unknown)
	for c, n := range v.of {
		if classify.Class(c) != unknown && float64(n) >= decidedShare*float64(total) {
			return false
		}
	}
	return true
}

// isTitleOfRoot reports whether a node is that of titles right below the root.
func (t *tree) isTitleOfRoot(n nodeID) bool {
	return n == root || t.nodes[n].parent == root && strings.HasPrefix(t.nodes[n].token, placeholders[slugKind])
}

// mayProbe reports whether a URL is that of a page that may be fetched.
func (a Probing) mayProbe(url string) bool {
	p := parsePage(url)
	allowed, decided := a.robots(url)
	return allowed && decided && !a.ruledOut(url) && !p.isLogin() && (p.ext == "" || pageExtensions[p.ext])
}

// Saw adds the evidence of a fetched page, which counts for its pattern. Evidence that says nothing is nil; the page
// is not fetched again.
func (a Probing) Saw(url string, ev *pages.Evidence, at time.Time) {
	n := a.node(url)
	if n == noNode || n == root {
		return
	}
	w := witness{url: url, pattern: a.tree.pattern(n), at: at}
	if ev != nil {
		p := parsePage(url)
		w.types = map[classify.Type]float64{}
		for c, x := range a.classifier.PageEvidence(url, a.textOf(&p), ev) {
			if share := math.Round(math.Exp(x)*witnessDigits) / witnessDigits; share >= leastWitness {
				w.types[classify.Class(c).Type()] = share
			}
		}
	}
	a.witness(w)
}

// witness adds a witness. Only the newest of a URL counts, and only the newest maxWitnesses stay.
func (a Probing) witness(w witness) {
	a.seenPages = slices.DeleteFunc(a.seenPages, func(o witness) bool { return o.url == w.url })
	a.seenPages = append(a.seenPages, w)
	slices.SortFunc(a.seenPages, func(x, y witness) int {
		return cmp.Or(y.at.Compare(x.at), strings.Compare(x.url, y.url))
	})
	a.seenPages = a.seenPages[:min(len(a.seenPages), maxWitnesses)]
	a.concluded = conclusions{}
}

// Recall adds the recent witnesses of an earlier analysis of the domain.
func (a Probing) Recall(s *State) {
	for _, w := range s.Witnesses {
		if a.o.Now.Sub(w.At) < witnessedFor {
			a.witness(witness{w.URL, w.Pattern, w.At, w.Types})
		}
	}
}

// StateWitness is a page that was seen.
type StateWitness struct {
	URL     string                    `json:"url"`
	Pattern string                    `json:"pattern"`
	At      time.Time                 `json:"at"`
	Types   map[classify.Type]float64 `json:"types,omitempty"` // probabilities; absent if the page says nothing
}

func (a Probing) storeWitnesses() (stored []StateWitness) {
	for _, w := range a.seenPages {
		stored = append(stored, StateWitness{w.url, w.pattern, w.at.UTC(), w.types})
	}
	return stored
}

// witnesses returns the witnesses by the current node of their pattern: the node of their URL, or else the node with
// the stored name of the pattern.
func (a Probing) witnesses() map[nodeID][]*seenPage {
	if len(a.seenPages) == 0 {
		return nil
	}
	byNode, lost := map[nodeID][]*seenPage{}, map[string][]*seenPage{}
	for i := range a.seenPages {
		w := &a.seenPages[i]
		if n := a.node(w.url); n != noNode {
			byNode[n] = append(byNode[n], a.seenPage(w))
		} else {
			lost[w.pattern] = append(lost[w.pattern], a.seenPage(w))
		}
	}
	if len(lost) == 0 {
		return byNode
	}
	for i := range a.tree.nodes {
		n := nodeID(i)
		if a.tree.nodes[n].movedTo != noNode || n == root {
			continue
		}
		if list := lost[a.tree.pattern(n)]; len(list) > 0 {
			byNode[n] = append(byNode[n], list...)
		}
	}
	return byNode
}

// witnessed reports whether a page of a pattern was fetched, even if it said nothing.
func (s *survey) witnessed(n nodeID) bool { return len(s.witnesses[n]) > 0 }

// verdict returns what the witnesses of a pattern add to what is known of each of its pages, and the type that they
// have themselves. What was known of a witness before does not count again. ok is false if they say nothing.
func (s *survey) verdict(n nodeID) (verdict classify.Site, of classify.Type, ok bool) {
	var site, added classify.Site
	count := 0.0
	for _, w := range s.witnesses[n] {
		if w.mute {
			continue
		}
		count++
		for c := range site {
			site[c] += (w.site[c] - site[c]) / count
			added[c] += (w.site[c] - w.known[c] - added[c]) / count
		}
	}
	if count == 0 {
		return verdict, "", false
	}
	return added.Verdict((*[classify.Classes]int32)(&s.own[n].of)), site.Best().Type(), true
}
