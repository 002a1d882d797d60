package discovery

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/markup"
)

// MaxDiscovered is how many URLs of a domain are named as those that matter.
const MaxDiscovered = 50

// MaxFailures is how many failures of a discovery are listed.
const MaxFailures = 50

const (
	categoryExamples = 3
	maxListings      = 20
)

// methods are the ways to find a URL, the best last; the number of a method is its rank. Rank 0 is
// that of URLs that were left out.
var methods = [...]Method{"", Generated, FromLink, FromSitemap, FromResearch, FromNewsSitemap, FromFeed}

func rankOf(m Method) uint8 { return uint8(max(slices.Index(methods[:], m), 1)) }

// Options say what an Analyser works with.
type Options struct {
	Domain  string    // registrable domain; URLs of other domains are left out
	Now     time.Time // when the domain is collected: what ages are counted from
	Context classify.Context
	// Robots tells what robots.txt says of a URL. known is false where that of its host was not
	// fetched, or where finding out takes too long: such a URL is analysed, and never requested. nil
	// knows nothing.
	Robots func(url string) (allowed, known bool)
	// Excluded reports what operators ruled out: such a URL is neither requested nor named. nil is nothing.
	Excluded func(url string) bool
}

// Fact is a URL as it was found in one place.
type Fact struct {
	Loc     []byte    // absolute; read during the call only
	Lastmod time.Time // zero when unknown
	Method  Method
	Source  SourceID // the entry point that lists it; zero for none
	Hint    Hint     // of the sitemap that lists it
}

// Analyser finds out which URLs of a domain matter. It takes any number of them in bounded memory.
// What it finds does not depend on their order while there are at most 100,000; a URL found in
// several places counts once, with the best method and the latest date. It must not be used by two
// goroutines at once.
type Analyser struct {
	o          Options
	classifier *classify.Classifier
	shapes     *shapes
	buf        []byte
	urls       strings.Builder // see url
	host       string          // the last one
	authority  float64

	seen     seen
	tree     *tree
	top      top
	listings top // pages that may list news
	classes  [classify.Classes]class
	stats    Stats
	failures []Failure
	unlisted int // failures beyond MaxFailures

	sources   []source
	sourceIDs map[string]SourceID // by URL
}

// class sums up the URLs of one type.
type class struct {
	count    int
	priority int // sum, in thousandths
	examples top
}

// NewAnalyser begins the analysis of a domain.
func NewAnalyser(o Options) *Analyser {
	c := classify.NewClassifier(o.Context)
	a := &Analyser{
		o:          o,
		classifier: c,
		shapes:     newShapes(c),
		tree:       newTree(),
		top:        top{limit: 2 * MaxDiscovered}, // estimated; the best of them are assessed
		listings:   top{limit: maxListings},
		sourceIDs:  map[string]SourceID{},
	}
	for i := range a.classes {
		a.classes[i].examples.limit = categoryExamples
	}
	return a
}

// Fail notes what keeps the discovery from being complete, and reports whether it is listed: the first
// MaxFailures are, the others only counted.
func (a *Analyser) Fail(f Failure) bool {
	if len(a.failures) == MaxFailures {
		a.unlisted++
		return false
	}
	a.failures = append(a.failures, f)
	return true
}

// Add takes a URL in.
func (a *Analyser) Add(f *Fact) {
	if valid, inside := a.canonical(f.Loc); !valid || !inside {
		a.stats.Excluded.External++
		return
	}
	if len(a.buf) > MaxURLLength {
		a.stats.Excluded.Trap++
		a.stats.Traps.TooLong++
		return
	}
	var date uint32
	if plausible(f.Lastmod, a.o.Now) {
		date = uint32(f.Lastmod.Unix())
	}
	key := keyOf(a.buf)
	k := a.seen.find(key)
	if k == nil {
		fresh := a.first(rankOf(f.Method), date, f.Hint)
		if !a.seen.full() {
			a.seen.put(key, fresh)
		}
		k = &fresh
	} else if k.rank > 0 && (rankOf(f.Method) > k.rank || date > k.lastmod || k.hint.or(f.Hint) != k.hint) {
		a.improve(k, max(rankOf(f.Method), k.rank), max(date, k.lastmod), k.hint.or(f.Hint))
	}
	if f.Source > 0 {
		a.sources[f.Source-1].note(k, date)
	}
}

// canonical writes the canonical form of loc to a.buf, and reports whether loc is a URL, and one of
// the domain.
func (a *Analyser) canonical(loc []byte) (valid, inside bool) {
	if a.buf, valid = markup.AppendCanonical(a.buf[:0], loc); !valid {
		return false, false
	}
	host := a.buf[bytes.IndexByte(a.buf, ':')+3:]
	host = host[:bytes.IndexByte(host, '/')]
	if i := bytes.IndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	sub, inside := bytes.CutSuffix(host, []byte(a.o.Domain))
	return true, inside && (len(sub) == 0 || sub[len(sub)-1] == '.')
}

// first takes in the URL of a.buf, which was not seen yet.
func (a *Analyser) first(rank uint8, date uint32, hint Hint) known {
	p := parsePage(a.url())
	if reason := a.exclude(&p); reason != nil {
		*reason++
		return known{node: noNode}
	}
	c := a.estimate(&p, rank, date)
	c.hint = hint
	k := known{lastmod: date, rank: rank, class: c.class, hint: hint, node: noNode}
	if !a.seen.full() {
		k.node = a.tree.add(&p)
	}
	a.stats.Analyzed++
	a.count(&c, 1)
	a.offer(&p, c)
	return k
}

// url is a.buf as a string. Many share a piece of memory, which goes when none is in use any more: what
// is kept for long must be cloned.
func (a *Analyser) url() string {
	if a.urls.Cap()-a.urls.Len() < len(a.buf) {
		a.urls = strings.Builder{}
		a.urls.Grow(max(32<<10, len(a.buf)))
	}
	n := a.urls.Len()
	a.urls.Write(a.buf)
	return a.urls.String()[n:]
}

// improve corrects what is known of the URL of a.buf, which was seen with less.
func (a *Analyser) improve(k *known, rank uint8, date uint32, hint Hint) {
	p := parsePage(a.url())
	old := a.estimate(&p, k.rank, k.lastmod)
	a.count(&old, -1)
	c := a.estimate(&p, rank, date)
	c.hint = hint
	a.count(&c, 1)
	a.offer(&p, c)
	k.rank, k.lastmod, k.hint = rank, date, hint
}

// exclude gives the counter of the reason for which a URL is left out, nil when it is not.
func (a *Analyser) exclude(p *page) *int {
	s := &a.stats
	reasons := [...]*int{deepTrap: &s.Traps.TooDeep, repeatedTrap: &s.Traps.Repeated, sessionTrap: &s.Traps.Session, calendarTrap: &s.Traps.Calendar}
	if t := p.trapOf(a.o.Now); t != noTrap {
		s.Excluded.Trap++
		return reasons[t]
	}
	if assetExtensions[p.extension()] {
		return &s.Excluded.Asset
	}
	if a.ruledOut(p.url) {
		return &s.Excluded.Operator
	}
	if allowed, known := a.robots(p.url); known && !allowed {
		return &s.Excluded.Robots
	}
	return nil
}

// Excludes reports whether operators excluded a URL, which need not be in canonical form.
func (a *Analyser) Excludes(url string) bool {
	if a.o.Excluded == nil {
		return false
	}
	valid, _ := a.canonical([]byte(url))
	return valid && a.o.Excluded(string(a.buf))
}

// ruledOut is Excludes for a URL in canonical form.
func (a *Analyser) ruledOut(url string) bool { return a.o.Excluded != nil && a.o.Excluded(url) }

func (a *Analyser) robots(url string) (allowed, known bool) {
	if a.o.Robots == nil {
		return false, false
	}
	return a.o.Robots(url)
}

// estimate scores one page of many, which may be classified by its shape.
func (a *Analyser) estimate(p *page, rank uint8, date uint32) candidate {
	class, confidence := a.shapes.classify(p)
	return a.judge(p, class, confidence, rank, date)
}

// assess scores one of the pages that are shown, by all that its URL tells.
func (a *Analyser) assess(p *page, rank uint8, date uint32) candidate {
	class, confidence := a.classifier.Best(p.url)
	return a.judge(p, class, confidence, rank, date)
}

// judge scores a page of a class.
func (a *Analyser) judge(p *page, c classify.Class, confidence float64, rank uint8, date uint32) candidate {
	v := a.value(p, c.Type(), date)
	score := priority(v.Overall, confidence, quality(p), methodScore(methods[rank]))
	thousandths := int(score*1000 + 0.5)
	return candidate{
		url: p.url, lastmod: date, rank: rank, class: c,
		priority: thousandths, order: thousandths,
	}
}

// authorityOf is authority, remembered for the URLs of one host.
func (a *Analyser) authorityOf(host string) float64 {
	if a.host != host {
		a.host, a.authority = strings.Clone(host), authority(host)
	}
	return a.authority
}

// value is the news value of a page, but for its frequency.
func (a *Analyser) value(p *page, t classify.Type, date uint32) NewsValue {
	v := NewsValue{
		Relevance:     relevance(t),
		Authority:     a.authorityOf(p.host),
		Accessibility: accessibility(p.depth),
	}
	if date > 0 {
		v.Timeliness = timeliness(time.Unix(int64(date), 0), a.o.Now)
	}
	v.Overall = overall(&v)
	return v
}

// count adds a URL to the sums, or takes it out.
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
func (a *Analyser) offer(p *page, c candidate) {
	a.top.offer(c)
	a.classes[c.class].examples.offer(c)
	if p.mayList(c.class.Type()) {
		c.order -= 1000 * p.depth // those near the root first
		a.listings.offer(c)
	}
}

// mayList reports whether a page looks like one that lists news: of a type that appears in lists,
// and with a name rather than a title.
func (p *page) mayList(t classify.Type) bool {
	if t != classify.News && t != classify.PressRelease && t != classify.Announcement || p.query != "" || p.depth < 1 || p.depth > 4 {
		return false
	}
	e := p.extension()
	return (e == "" || pageExtensions[e]) && kindOf(p.segments[p.depth-1]) == literalKind
}

// Scored is what is known of a raw URL. Its fields are those of urls[].
type Scored struct {
	Type     classify.Type `json:"type"`
	Priority float64       `json:"priority_score"`
	Action   Action        `json:"recommended_action"`
	Allowed  *bool         `json:"allowed"` // by robots.txt and operators; null where Options.Robots does not know
}

// Score scores a raw URL with all that is known of it: a date or a better method if sitemaps and
// feeds name it too. It does not add it. A URL that would be left out has the action Ignore.
func (a *Analyser) Score(url string) Scored {
	valid, inside := a.canonical([]byte(url))
	if !valid {
		return Scored{Type: classify.Unknown, Action: Ignore}
	}
	var s Scored
	p := parsePage(string(a.buf))
	if allowed, known := a.robots(p.url); known {
		s.Allowed = &allowed
	}
	if a.ruledOut(p.url) {
		s.Allowed = new(bool)
	}
	rank, date := rankOf(FromResearch), uint32(0)
	if k := a.seen.find(keyOf(a.buf)); k != nil {
		rank, date = max(rank, k.rank), k.lastmod
	}
	c := a.assess(&p, rank, date)
	s.Type = c.class.Type()
	s.Priority = float64(c.priority) / 1000
	s.Action = action(s.Priority, s.Type, p.isLogin())
	forbidden := s.Allowed != nil && !*s.Allowed
	if !inside || forbidden || len(p.url) > MaxURLLength || p.trapOf(a.o.Now) != noTrap || assetExtensions[p.extension()] {
		s.Action = Ignore
	}
	return s
}
