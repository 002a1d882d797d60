package discovery

import (
	"slices"
	"time"

	"github.com/newsfork/seed-engine/classify"
)

// minAlike is the number of URLs from which the URLs of a pattern are evidence about each other. minListed is the
// number of them that feeds or news sitemaps must list to vouch for the others.
const (
	minAlike  = 5
	minListed = 3
)

// The rhythm of a pattern is its effective number of days (see effectiveDays) per page. Streams of dated items mostly
// have more than 0.45, edited pages less: classify/train/NOTES.md has the sites and figures.
const (
	minDays     = 20  // fewer are no rhythm
	editedShare = 0.2 // days a page; up to here, they say nothing
	streamShare = 0.6 // from here on, the pages are a stream
)

// A site that dates its pages leaves out those that it edits one by one. It dates its pages if it has minDated with a
// date, and a share of at least datedShare.
const (
	minDated   = 20
	datedShare = 0.25
)

// perClass counts URLs by their class.
type perClass [classify.Classes]int32

func (n *perClass) total() (sum int) {
	for _, k := range n {
		sum += int(k)
	}
	return sum
}

// mostFrequent is the class of most URLs, the first of equals.
func (n *perClass) mostFrequent() (most classify.Class) {
	for c, k := range n {
		if k > n[most] {
			most = classify.Class(c)
		}
	}
	return most
}

// votes counts the URLs of a pattern by the class that each has by itself.
type votes struct {
	of    perClass
	feeds int32 // that feeds list
	news  int32 // that news sitemaps list
}

func (v *votes) add(r *record) {
	v.of[r.class]++
	switch methods[r.rank] {
	case FromFeed:
		v.feeds++
	case FromNewsSitemap:
		v.news++
	}
}

func (v *votes) merge(o *votes) {
	for c, n := range o.of {
		v.of[c] += n
	}
}

// anyNews reports whether any of the pages is news.
func (v *votes) anyNews() bool {
	for c, k := range v.of {
		if k > 0 && isNews(classify.Class(c)) {
			return true
		}
	}
	return v.feeds > 0 || v.news > 0
}

// survey is the evidence of a domain's URLs about each other, by pattern. It does not depend on their order, and is
// computed on demand.
type survey struct {
	own       []votes    // of each node
	below     []votes    // of the nodes below it
	days      [][]uint16 // of the last changes of each node's pages, since 1970
	byPattern map[nodeID]*patternEvidence

	dated, counted int // pages of the site that have a date, and all

	witnesses map[nodeID][]*seenPage
}

// patternEvidence is the evidence of a pattern's pages about one of them.
type patternEvidence struct {
	site   classify.Site
	stream bool // they are dated day by day
	edited bool // none of them has a date, unlike the site's other pages

	seen classify.Type // that of a page that was fetched; "" if none was
}

// siteView classifies pages with the site's other pages as evidence.
type siteView struct{ *Analyser }

// survey returns the survey of all URLs so far.
func (a siteView) survey() *survey {
	if a.concluded.survey != nil {
		return a.concluded.survey
	}
	a.texts.trim()
	s := &survey{
		own: make([]votes, len(a.tree.nodes)), below: make([]votes, len(a.tree.nodes)),
		days: make([][]uint16, len(a.tree.nodes)), byPattern: map[nodeID]*patternEvidence{},
		witnesses: Probing(a).witnesses(),
	}
	a.seen.all(func(r *record) {
		if n := a.tree.current(r.node); n != noNode && r.rank > 0 {
			s.own[n].add(r)
			s.counted++
			if r.lastmod > 0 {
				s.dated++
				s.days[n] = append(s.days[n], uint16(r.lastmod/uint32(day/time.Second)))
			}
		}
	})
	for depth := uint8(maxPatternDepth); depth > 0; depth-- {
		for i := range a.tree.nodes {
			n := &a.tree.nodes[i]
			if n.depth == depth && n.movedTo == noNode && n.parent != noNode {
				s.below[n.parent].merge(&s.own[i])
				s.below[n.parent].merge(&s.below[i])
			}
		}
	}
	a.concluded.survey = s
	return s
}

// neighbours returns the evidence of other pages about a page, or nil: pages of its pattern or below it, and feeds and
// news sitemaps that list it or pages of its pattern. hints name the evidence, if they are wanted.
func (a siteView) neighbours(p *page, wantHints bool) (site *classify.Site, hints []string) {
	r := a.seen.find(keyOf(p.url))
	if r == nil || r.rank == 0 {
		return nil, nil
	}
	s := a.survey()
	n := a.tree.current(r.node)
	if l := s.evidence(n, a.tree); l != nil {
		site = &l.site
		if wantHints {
			hints = l.hints()
		}
	}
	weight, hint := 0.0, ""
	switch methods[r.rank] {
	case FromNewsSitemap:
		weight, hint = newsSitemapWeight, "listed_in_news_sitemap"
	case FromFeed:
		weight, hint = feedWeight, "listed_in_feed"
	default:
		if n == noNode {
			break
		}
		if own := &s.own[n]; own.news >= minListed {
			weight, hint = newsSitemapWeight*neighbourShare, "neighbours_listed_in_news_sitemap"
		} else if own.feeds >= minListed {
			weight, hint = feedWeight*neighbourShare, "neighbours_listed_in_feed"
		}
	}
	if weight == 0 {
		return site, hints
	}
	vouched := classify.Site{}
	if site != nil {
		vouched = *site
	}
	vouched.Vouch(weight)
	if wantHints {
		hints = append(hints, hint)
	}
	return &vouched, hints
}

// hints name the evidence.
func (e *patternEvidence) hints() []string {
	hint := "neighbours_" + string(e.site.Best().Type())
	if e.seen != "" {
		hint = "pattern_page_" + string(e.seen)
	}
	hints := []string{hint}
	if e.stream {
		hints = append(hints, "neighbours_dated_day_by_day")
	}
	if e.edited {
		hints = append(hints, "neighbours_undated")
	}
	return hints
}

// classOf returns the class of a page by its URL, the texts by which it is known, and the site.
func (a siteView) classOf(p *page) (classify.Class, float64) {
	verdict := a.verdict(p)
	return a.correctByDate(p, verdict.Class, verdict.Confidence)
}

// judge is assess with the classifier's verdict.
func (a siteView) judge(p *page, rank uint8, date uint32) (candidate, classify.Verdict) {
	verdict := a.verdict(p)
	class, confidence := a.correctByDate(p, verdict.Class, verdict.Confidence)
	class, confidence = correctByMethod(class, confidence, rank)
	return a.scorer.score(p, class, confidence, rank, date), verdict
}

// verdict is the classifier's, which does not know the date of the collection.
func (a siteView) verdict(p *page) classify.Verdict {
	site, _ := a.neighbours(p, false)
	text := a.evidenceOf(p)
	if text == (classify.Text{}) {
		if v, ok := a.shapes.exactly(p, site); ok {
			return v
		}
	}
	return a.classifier.Judge(p.url, text, site)
}

var newsClass, archiveClass = classNamed(classify.News), classNamed(classify.Archive)

func classNamed(t classify.Type) classify.Class {
	c, _ := classify.ClassOf(t)
	return c
}

// correctByDate corrects the class of a page by the date of the collection: a list of a past year's news is an
// archive.
func (a siteView) correctByDate(p *page, class classify.Class, confidence float64) (classify.Class, float64) {
	if isNews(class) && p.listsPastYear(a.o.Now.Year()) && !a.isItem(p) {
		return archiveClass, confidence
	}
	return class, confidence
}

// isItem reports whether a page that a feed or news sitemap lists is an item rather than a list. A page named by a year
// alone is a list even there.
func (a siteView) isItem(p *page) bool {
	last := p.depth - 1
	if p.query != "" || last < 0 || last >= len(p.segments) || p.kinds[last] != literalKind && p.kinds[last] != idKind {
		return false
	}
	r := a.seen.find(keyOf(p.url))
	return r != nil && isArticleRank(r.rank) && a.texts.titles[keyOf(p.url)].text != ""
}

// listedConfidence is the confidence in a page as news if only a news list says so.
const listedConfidence = 0.5

// correctByMethod corrects the class of a page by where it was found: an unknown page in a feed or news sitemap is
// news.
func correctByMethod(class classify.Class, confidence float64, rank uint8) (classify.Class, float64) {
	if class.Type() == classify.Unknown && isArticleRank(rank) {
		return newsClass, listedConfidence
	}
	return class, confidence
}

// classification is classOf with the evidence. verdict is the page's, nil where it is not known yet.
func (a siteView) classification(p *page, verdict *classify.Verdict) classify.Classification {
	site, hints := a.neighbours(p, true)
	var k classify.Classification
	if text := a.evidenceOf(p); verdict != nil {
		k = a.classifier.Explain(p.url, text, verdict)
	} else {
		k = a.classifier.ClassifyIn(p.url, text, site)
	}
	k.Evidence.DomainContext = append(k.Evidence.DomainContext, hints...)
	class, _ := classify.ClassOf(k.PrimaryType)
	settled, confidence := a.correctByDate(p, class, k.Confidence)
	if settled != class {
		k.Evidence.StructuralHints = append(k.Evidence.StructuralHints, "past_year")
	} else if r := a.seen.find(keyOf(p.url)); r != nil {
		settled, confidence = correctByMethod(class, k.Confidence, r.rank)
	}
	if settled != class {
		k.SecondaryTypes = slices.DeleteFunc(k.SecondaryTypes,
			func(t classify.Type) bool { return t == settled.Type() })
		k.PrimaryType, k.Confidence = settled.Type(), confidence
	}
	return k
}

// Weights, as log-odds, of a feed or news sitemap as evidence that a page is news. Feeds also list events and
// podcasts. Neighbours of listed pages were probably listed before.
const (
	newsSitemapWeight = 1.5
	feedWeight        = 0.8
	neighbourShare    = 0.6
)

// evidence returns the evidence of a pattern, or nil.
func (s *survey) evidence(n nodeID, t *tree) *patternEvidence {
	if n == noNode || n == root {
		return nil
	}
	if l, ok := s.byPattern[n]; ok {
		return l
	}
	v := &s.own[n]
	if v.of.total() < minAlike && t.nodes[n].name {
		v = &s.below[n]
	}
	var l *patternEvidence
	if verdict, seen, ok := s.verdict(n); ok {
		l = &patternEvidence{site: verdict, seen: seen}
	} else if v.of.total() >= minAlike {
		l = &patternEvidence{site: classify.Lean((*[classify.Classes]int32)(&v.of))}
	}
	if l != nil {
		switch weight := s.rhythm(n); {
		case weight > 0:
			l.site.Stream(weight)
			l.stream = true
		case s.isEdited(n):
			l.site.Undated()
			l.edited = true
		}
	}
	s.byPattern[n] = l
	return l
}

// rhythm returns how much the dates of a pattern's pages look like those of a stream of dated items: from 0, which
// says nothing, to 1.
func (s *survey) rhythm(n nodeID) float64 {
	days := effectiveDays(s.days[n])
	if days < minDays {
		return 0
	}
	perPage := days / float64(s.own[n].of.total())
	return min(max((perPage-editedShare)/(streamShare-editedShare), 0), 1)
}

// isEdited reports whether the pages of a pattern are edited rather than published: the site dates its pages, but none
// of them, and no list of news has one.
func (s *survey) isEdited(n nodeID) bool {
	v := &s.own[n]
	return len(s.days[n]) == 0 && v.feeds == 0 && v.news == 0 && v.of.total() >= minAlike && s.dated >= minDated &&
		float64(s.dated) >= datedShare*float64(s.counted)
}

// effectiveDays returns the effective number of publication days (inverse Simpson index): the number of days if each
// has equally many pages, 1 if nearly all pages share a day. It sorts days.
func effectiveDays(days []uint16) float64 {
	slices.Sort(days)
	alike, run := 0, 0 // pairs of pages of one day, each page with itself included
	for i, d := range days {
		if i > 0 && d != days[i-1] {
			run = 0
		}
		alike += 2*run + 1
		run++
	}
	return float64(len(days)) * float64(len(days)) / float64(max(alike, 1))
}
