package discovery

import (
	"cmp"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/markup"
)

// MaxDiscovered is the number of URLs of a domain that are listed as those that matter.
const MaxDiscovered = 50

// MaxFailures is the number of failures of a discovery that are listed.
const MaxFailures = 50

const (
	categoryExamples = 3  // that are listed of a type
	bestOfType       = 12 // candidates kept of a type, so that one pattern does not fill the examples
	maxListings      = 20
)

// Options configure an Analyser.
type Options struct {
	Domain  string    // registrable domain; URLs of other domains are excluded
	Now     time.Time // when the domain is collected; ages count from here
	Context classify.Context
	Model   *classify.Model // required
	// Robots reports whether robots.txt allows a URL. decided is false if robots.txt of its host was not read, or if
	// matching takes too long: such a URL is analysed, but never requested. nil decides nothing.
	Robots func(url string) (allowed, decided bool)
	// Excluded reports whether operators excluded a URL: it is neither requested nor listed. nil excludes none.
	Excluded func(url string) bool
	Pages    int // maximum number of URLs that Analyser.Pages returns
}

// Analyser finds out which URLs of a domain matter. It takes any number of them in bounded memory. The result does
// not depend on their order as long as there are at most 100,000; a URL found in several places counts once, with
// the best method and the latest date. It is not safe for concurrent use.
type Analyser struct {
	o          Options
	classifier *classify.Classifier
	shapes     *shapes
	urls       urlReader
	page       page     // of the URL that was added last
	estimated  estimate // of page, or of an earlier one that is alike
	scorer     scorer

	seen       seen
	urlSources urlSources // by keyOf a URL
	texts      texts
	tree       *tree
	worthwhile worthwhile
	seenPages  []witness // newest first, see Probing
	kept       lists
	classes    [classify.Classes]classSummary
	sources    sources
	stats      Stats
	failures   failures
	concluded  conclusions
}

// conclusions are drawn from all URLs. They are nil while they are out of date.
type conclusions struct {
	survey   *survey
	best     []candidate // the URLs of Result
	assessed []candidate // those from which best was chosen
}

// failures are what keeps a discovery from being complete: the first MaxFailures are listed, the others counted.
type failures struct {
	listed  []Failure
	omitted int
}

// classSummary is a summary of the URLs of one type.
type classSummary struct {
	count    int
	priority int // sum, in thousandths
	examples best[none]
}

// NewAnalyser begins the analysis of a domain.
func NewAnalyser(o Options) *Analyser {
	c := o.Model.NewClassifier(o.Context)
	a := &Analyser{
		o:          o,
		scorer:     newScorer(o.Now),
		urls:       urlReader{domain: o.Domain},
		classifier: c,
		shapes:     newShapes(c),
		tree:       newTree(),
		kept:       newLists(o.Pages),
		sources:    sources{ids: map[string]SourceID{}},
	}
	for i := range a.classes {
		a.classes[i].examples = newBest[none](bestOfType)
	}
	return a
}

// Fail records what keeps the discovery from being complete, and reports whether it is listed: the first
// MaxFailures are, the others are only counted.
func (a *Analyser) Fail(f Failure) bool {
	if len(a.failures.listed) == MaxFailures {
		a.failures.omitted++
		return false
	}
	a.failures.listed = append(a.failures.listed, f)
	return true
}

// Add adds a URL.
func (a *Analyser) Add(s *Sighting) {
	if valid, inside := a.urls.canonical(s.Loc); !valid || !inside {
		a.stats.Excluded.External++
		return
	}
	if len(a.urls.buf) > MaxURLLength {
		a.stats.Excluded.Trap++
		a.stats.Traps.TooLong++
		return
	}
	var date uint32
	if markup.Plausible(s.Lastmod, a.o.Now) {
		date = uint32(s.Lastmod.Unix())
	}
	key := keyOf(a.urls.buf)
	r := a.seen.find(key)
	if r == nil {
		fresh := a.addNew(s, date)
		r = &fresh
		if !a.seen.full() {
			r = a.seen.put(key, fresh)
		}
	} else if r.rank > 0 && (rankOf(s.Method) > r.rank || date > r.lastmod || r.hint.or(s.Hint) != r.hint) {
		a.improve(r, s, date)
	}
	if r.rank > 0 {
		a.texts.addTitle(key, rankOf(s.Method), s.Title)
		a.urlSources.add(a.urls.buf, key, r, s)
	}
	if a.concluded.survey != nil || a.concluded.best != nil || a.concluded.assessed != nil {
		a.concluded = conclusions{}
	}
	a.kept.pages.setTitle(a.urls.buf, s.Title)
	if s.Source > 0 {
		a.sources.list[s.Source-1].note(r, date)
	}
}

// Include counts the URLs of another registrable domain as the domain's own, since it has moved there.
func (a *Analyser) Include(domain string) { a.urls.also, a.urls.inside = domain, nil }

// addNew adds the URL of a.urls.buf, which was not seen before.
func (a *Analyser) addNew(s *Sighting, date uint32) record {
	rank, hint := rankOf(s.Method), s.Hint
	p := a.parse()
	if reason := a.exclude(p); reason != nil {
		*reason++
		return record{node: noNode}
	}
	c := a.estimate(p, rank, date)
	c.hint = hint
	r := record{lastmod: date, rank: rank, class: c.class, hint: hint, node: noNode}
	if !a.seen.full() {
		r.node = a.tree.add(p)
	}
	a.markWorth(r.node, p, &c)
	a.stats.Analyzed++
	a.count(&c, 1)
	a.offer(p, c, s.Title)
	return r
}

// parse parses the URL of a.urls.buf, and returns a.page.
func (a *Analyser) parse() *page {
	if a.page.parse(a.urls.text()); !a.page.alike {
		a.estimated.timeliness = -1
	}
	return &a.page
}

// improve updates the URL of a.urls.buf, which was seen before, to a better method, date or hint.
func (a *Analyser) improve(r *record, s *Sighting, date uint32) {
	rank, hint := max(rankOf(s.Method), r.rank), r.hint.or(s.Hint)
	date = max(date, r.lastmod)
	p := a.parse()
	old := a.estimate(p, r.rank, r.lastmod)
	a.count(&old, -1)
	c := a.estimate(p, rank, date)
	c.hint = hint
	a.markWorth(r.node, p, &c)
	a.count(&c, 1)
	a.offer(p, c, s.Title)
	r.rank, r.lastmod, r.hint, r.class = rank, date, hint, c.class
}

// exclude returns the counter of the reason to exclude a URL, or nil.
func (a *Analyser) exclude(p *page) *int {
	s := &a.stats
	reasons := [...]*int{markup.DeepTrap: &s.Traps.TooDeep, markup.RepeatedTrap: &s.Traps.Repeated,
		markup.SessionTrap: &s.Traps.Session, markup.CalendarTrap: &s.Traps.Calendar}
	if t := p.trapOf(a.o.Now); t != markup.NoTrap {
		s.Excluded.Trap++
		return reasons[t]
	}
	if p.ext != "" && assetExtensions[p.ext] {
		return &s.Excluded.Asset
	}
	if a.ruledOut(p.url) {
		return &s.Excluded.Operator
	}
	if allowed, decided := a.robots(p.url); decided && !allowed {
		return &s.Excluded.Robots
	}
	return nil
}

// Excludes reports whether operators excluded a URL, which need not be in canonical form.
func (a *Analyser) Excludes(url string) bool {
	if a.o.Excluded == nil {
		return false
	}
	valid, _ := a.urls.canonical([]byte(url))
	return valid && a.o.Excluded(string(a.urls.buf))
}

// ruledOut is Excludes for a URL in canonical form.
func (a *Analyser) ruledOut(url string) bool { return a.o.Excluded != nil && a.o.Excluded(url) }

func (a *Analyser) robots(url string) (allowed, decided bool) {
	if a.o.Robots == nil {
		return false, false
	}
	return a.o.Robots(url)
}

// estimate scores one page of many, classified by its shape if possible.
func (a *Analyser) estimate(p *page, rank uint8, date uint32) candidate {
	class, confidence := a.shapes.classify(p)
	last := &a.estimated
	if p.alike && last.class == class && last.certainty == confidence && last.rank == rank &&
		last.timeliness == a.scorer.timelinessOf(cmp.Or(date, last.day)) {
		return candidate{url: p.url, lastmod: date, date: max(date, last.day), rank: rank, class: class,
			priority: last.priority, confidence: last.confidence, order: last.order}
	}
	settled, sure := siteView{a}.correctByDate(p, class, confidence)
	settled, sure = correctByMethod(settled, sure, rank)
	c := a.scorer.score(p, settled, sure, rank, date)
	c.class = class // its shape's, which does not depend on the order of sightings
	last.class, last.certainty, last.rank, last.confidence = class, confidence, rank, sure
	last.day = a.scorer.dated(p, 0)
	last.timeliness = a.scorer.timelinessOf(cmp.Or(date, last.day))
	last.priority, last.order = c.priority, c.order
	return c
}

// estimate caches the scores of a page for pages that are alike.
type estimate struct {
	class      classify.Class
	rank       uint8
	day        uint32  // in the URL, see dated
	certainty  float64 // confidence in the class
	timeliness float64 // -1 where nothing was estimated

	priority, order int
	confidence      float64
}

// assess scores a single page more precisely than estimate: it is classified by its whole URL, its texts, and the
// site's other pages.
func (a *Analyser) assess(p *page, rank uint8, date uint32) candidate {
	c, _ := siteView{a}.judge(p, rank, date)
	return c
}

func thousandths(score float64) int { return int(score*1000 + 0.5) }

// count adds a URL to the sums (sign 1), or removes it (-1).
func (a *Analyser) count(c *candidate, sign int) {
	switch {
	case c.priority >= highPriority*1000:
		a.stats.High += sign
	case c.priority >= mediumPriority*1000:
		a.stats.Medium += sign
	default:
		a.stats.Low += sign
	}
	k := &a.classes[c.class]
	k.count += sign
	k.priority += sign * c.priority
}

// offer offers a URL to the lists of the best.
func (a *Analyser) offer(p *page, c candidate, title []byte) {
	a.kept.offer(p, c, title)
	a.classes[c.class].examples.offer(&c)
}
