package discovery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Bounds of the patterns in a document.
const (
	maxPatterns        = 20
	consideredPatterns = 200 // those of highest support, of which the most useful are listed
	minSupport         = 2
	maxAllowedPatterns = 50
)

// Bounds of the crawl, as the contract recommends them to others as well.
const (
	maxCrawlDepth      = 2
	maxURLsPerCategory = 20
)

// Result returns the discovery so far. ProcessingTimeMS is left to the caller.
func (a *Analyser) Result() Discovery {
	a.urlSources.trim()
	d := Discovery{
		URLs: []DiscoveredURL{},
		Strategy: CrawlStrategy{
			MaxDepth: maxCrawlDepth, MaxURLsPerCategory: maxURLsPerCategory,
			AllowedPatterns: []string{}, RespectRobots: true,
		},
		Stats:  a.stats,
		Errors: append([]Failure{}, a.failures.listed...), ErrorsOmitted: a.failures.omitted,
	}
	assessed := report{a}.contenders()
	o := report{a}.outcomesOf(assessed)
	d.Patterns, d.PatternsOmitted = report{a}.patterns(o)
	best := ranking{a}.ranked(assessed)
	a.concluded.best = best
	frequencies := report{a}.frequencies(best, false)
	for i := range best {
		d.URLs = append(d.URLs, report{a}.discovered(&best[i], frequencies[i]))
	}
	d.URLsOmitted = a.stats.Analyzed - len(d.URLs)
	d.Categories = report{a}.categories(assessed, o)
	d.Strategy.AllowedPatterns = strategy{a}.allowedPatterns(d.Patterns, best)
	if a.o.Excluded != nil { // since the URLs were analysed, perhaps
		d.Strike(a.o.Excluded)
	}
	return d
}

// report builds a Discovery from what was added.
type report struct{ *Analyser }

// contenders returns the candidates for the result: the best ones, and the best of each type. Each is assessed by
// itself.
func (a report) contenders() []candidate {
	var list []candidate
	var p page
	taken := map[string]bool{}
	take := func(from []candidate) {
		for _, c := range from {
			if taken[c.url] || a.forbidden(c.url) {
				continue
			}
			taken[c.url] = true
			p.parse(c.url)
			assessed, verdict := siteView(a).judge(&p, c.rank, c.lastmod)
			assessed.hint, assessed.verdict = c.hint, &verdict
			list = append(list, assessed)
		}
	}
	defer func() { a.concluded.assessed = list }()
	take(a.kept.top.ordered())
	take(a.kept.bySection.candidates())
	take(a.bestListings())
	for i := range a.classes {
		take(a.classes[i].examples.ordered())
	}
	return list
}

// forbidden reports whether robots.txt forbids a URL. Perhaps it was read after the URL was added.
func (a report) forbidden(url string) bool {
	allowed, decided := a.robots(url)
	return decided && !allowed
}

// discovered describes one of the best URLs.
func (a report) discovered(c *candidate, f Frequency) DiscoveredURL {
	p := parsePage(c.url)
	d := DiscoveredURL{
		URL:            c.url,
		Title:          contract.Text(a.textOf(&p).Title),
		Classification: siteView(a).classification(&p, c.verdict),
		NewsValue:      a.scorer.value(&p, c.class, c.lastmod),
		Method:         methods[c.rank],
		ParentCategory: p.parentCategory(),
		Changefreq:     contract.Text(c.hint.changefreq()),
		Priority:       float64(c.priority) / 1000,
	}
	if allowed, decided := a.robots(c.url); decided {
		d.Allowed = &allowed
	}
	heard := a.urlSources[keyOf(c.url)]
	d.RawURL, d.Language = contract.Text(heard.raw), contract.Text(cmp.Or(heard.language, p.language()))
	if at := a.scorer.dated(&p, c.lastmod); at > 0 {
		d.Lastmod = contract.At(time.Unix(int64(at), 0))
	}
	if stated, ok := c.hint.priority(); ok {
		d.SitemapPriority = &stated
	}
	d.NewsValue.Frequency = f
	d.Action = c.action(&p)
	return d
}

// frequencies computes how often the pages of the candidates' patterns change; with below, the pages below them as
// well.
func (a report) frequencies(list []candidate, below bool) []Frequency {
	wanted := make([]bool, len(a.tree.nodes))
	nodes := make([]nodeID, len(list))
	for i := range list {
		if nodes[i] = a.node(list[i].url); nodes[i] != noNode {
			wanted[nodes[i]] = true
		}
	}
	dates := map[nodeID][]uint32{}
	a.seen.all(func(r *record) {
		if r.lastmod == 0 {
			return
		}
		for n := a.tree.current(r.node); n != noNode; n = a.tree.nodes[n].parent {
			if wanted[n] {
				dates[n] = append(dates[n], r.lastmod)
			}
			if !below {
				break
			}
		}
	})
	rhythms := map[nodeID]Frequency{}
	for n, d := range dates {
		slices.Sort(d)
		rhythms[n] = rhythm(slices.Compact(d), a.o.Now)
	}
	frequencies := make([]Frequency, len(list))
	for i := range list {
		frequencies[i] = frequencyOf(rhythms[nodes[i]], list[i].class.Type(), list[i].hint)
	}
	return frequencies
}

// foundPattern is a pattern with the number of its URLs.
type foundPattern struct {
	URLPattern
	node    nodeID
	support int
}

// patterns returns the most useful patterns, those of the types that matter most to a reader of news first. Patterns
// that are expected of a government, but were not found, come last. omitted counts those that are not listed. Without
// outcomes, URLs have the types of their shapes.
func (a report) patterns(o outcomes) (list []URLPattern, omitted int) {
	found, all := a.supported()
	own := siteView(a).survey().own
	for i := range found {
		f := &found[i]
		f.ContentType = o.classOf(f.node, &own[f.node]).Type()
		f.Confidence = patternConfidence(f.support)
		f.Examples = []string{}
		for _, e := range a.tree.nodes[f.node].examples {
			if e != "" {
				f.Examples = append(f.Examples, e)
			}
		}
	}
	slices.SortStableFunc(found, func(x, y foundPattern) int {
		return cmp.Compare(y.Confidence*typeWeight(y.ContentType), x.Confidence*typeWeight(x.ContentType))
	})
	list = []URLPattern{}
	for _, f := range found[:min(len(found), maxPatterns)] {
		list = append(list, f.URLPattern)
	}
	omitted = all - len(list)
	for _, e := range governmentPatterns(a.o.Domain) {
		if !slices.ContainsFunc(found, func(f foundPattern) bool { return f.Pattern == e.Pattern }) {
			list = append(list, e)
		}
	}
	return list, omitted
}

// supported returns the patterns with the most URLs, without type, and the number of patterns with enough support.
func (a report) supported() (best []foundPattern, all int) {
	var found []foundPattern
	own := siteView(a).survey().own
	for n := range own {
		s := own[n].of.total()
		if s < minSupport {
			continue
		}
		if text := a.tree.pattern(nodeID(n)); strings.IndexByte(text, '{') >= 0 {
			found = append(found, foundPattern{URLPattern: URLPattern{Pattern: text}, node: nodeID(n), support: s})
		}
	}
	slices.SortFunc(found, func(x, y foundPattern) int {
		return cmp.Or(y.support-x.support, strings.Compare(x.Pattern, y.Pattern))
	})
	return found[:min(len(found), consideredPatterns)], len(found)
}
