package discovery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
)

// SourceID identifies an entry point in a Sighting.
type SourceID int

// Source is an entry point: a feed or sitemap that lists URLs. The URLs of a sitemap index's children count for the
// index.
type Source struct {
	Method EntryMethod `json:"method"`
	URL    string      `json:"url"`
	Read   bool        `json:"read"` // it was fetched and is of that kind; false for one that is only declared
}

// source is a Source with what it lists.
type source struct {
	Source
	types  [classify.Classes]int
	newest newest // dates of what it lists
}

// Source adds an entry point, or finds it by its URL and corrects its method, which is certain only after reading
// it. One that was read once stays read.
func (a *Analyser) Source(s Source) SourceID {
	id, found := a.sources.ids[s.URL]
	if !found {
		id = a.sources.add(source{Source: s})
	}
	o := &a.sources.list[id-1]
	o.Method = s.Method
	o.Read = o.Read || s.Read
	return id
}

// sources are the entry points of a domain.
type sources struct {
	list []source
	ids  map[string]SourceID // by URL
}

func (l *sources) add(s source) SourceID {
	l.list = append(l.list, s)
	id := SourceID(len(l.list))
	l.ids[s.URL] = id
	return id
}

// note counts a URL that the source lists.
func (s *source) note(r *record, date uint32) {
	if r.rank == 0 {
		return
	}
	class, _ := correctByMethod(r.class, 0, listRank(s.Method))
	s.types[class]++
	if date > 0 {
		s.newest.add(date)
	}
}

// newest is the latest distinct dates, ascending.
type newest []uint32

// maxDates is the number of dates from which the frequency of an entry point is computed.
const maxDates = 256

func (n *newest) add(date uint32) {
	i, found := slices.BinarySearch(*n, date)
	switch {
	case found, i == 0 && len(*n) == maxDates:
	case len(*n) == maxDates:
		copy(*n, (*n)[1:i])
		(*n)[i-1] = date
	default:
		*n = slices.Insert(*n, i, date)
	}
}

// listRank is the rank of what an entry point lists.
func listRank(m EntryMethod) uint8 {
	switch m {
	case RSSEntry, AtomEntry, JSONFeedEntry:
		return rankOf(FromFeed)
	case NewsSitemapEntry:
		return rankOf(FromNewsSitemap)
	}
	return rankOf(FromSitemap)
}

// contentType returns the type of more than half of the URLs that the source lists; for a source that lists none,
// the type of its own URL if that is clear. nil is for a mixture.
func (s *source) contentType(c *classify.Classifier) *classify.Type {
	sum, best := 0, classify.Class(0)
	for i, n := range s.types {
		if sum += n; n > s.types[best] {
			best = classify.Class(i)
		}
	}
	switch {
	case sum == 0:
		var confidence float64
		if best, confidence = c.Best(s.URL); confidence < 0.5 {
			return nil
		}
	case 2*s.types[best] <= sum:
		return nil
	}
	t := best.Type()
	if t == classify.Unknown {
		return nil
	}
	return &t
}

// entry returns the source as an entry point of the contract.
func (s *source) entry(c *classify.Classifier, now time.Time) EntryPoint {
	e := EntryPoint{Method: s.Method, URL: s.URL, ContentType: s.contentType(c)}
	t := classify.Unknown
	if e.ContentType != nil {
		t = *e.ContentType
	}
	e.IntervalMinutes = intervalMinutes(frequency(s.newest, now, t, 0))
	if s.Method == SitemapEntry {
		e.Confidence = sitemapConfidence(s.Read)
		return e
	}
	var last time.Time
	if n := len(s.newest); n > 0 {
		last = time.Unix(int64(s.newest[n-1]), 0)
	}
	e.Confidence = feedConfidence(s.Read, last, now)
	return e
}

// Terms are the conditions of fetching from a domain that do not depend on its URLs.
type Terms struct {
	UserAgent      string
	Allowed        bool          // by robots.txt, for "/"
	Home           string        // URL of the home page; "" for none
	CrawlDelay     time.Duration // between two requests to one host
	RobotsExpires  time.Time     // zero when there is no robots.txt to expire
	ContentSignals map[string]string
}

// Bounds of the entry points in a contract.
const (
	maxEntryPoints = 20
	maxHTMLEntries = 5
)

// Contract returns how to fetch the domain: entry points in the order feeds, news sitemaps, sitemaps, pages that
// list news; of each, those of higher confidence first, then those that change more often.
func (a *Analyser) Contract(t Terms) FetchContract {
	c := FetchContract{
		UserAgent:         t.UserAgent,
		Allowed:           t.Allowed,
		CrawlDelaySeconds: t.CrawlDelay.Seconds(),
		MaxConcurrency:    1, // one request at a time per host
		RobotsExpiresAt:   contract.At(t.RobotsExpires),
		ContentSignals:    t.ContentSignals,
		EntryPoints:       entryFinder{a}.htmlEntries(),
	}
	if c.ContentSignals == nil {
		c.ContentSignals = map[string]string{}
	}
	for i := range a.sources.list {
		c.EntryPoints = append(c.EntryPoints, a.sources.list[i].entry(a.classifier, a.o.Now))
	}
	c.EntryPoints = entryFinder{a}.usable(c.EntryPoints)
	if len(c.EntryPoints) == 0 && t.Allowed && t.Home != "" {
		c.EntryPoints = entryFinder{a}.usable([]EntryPoint{entryFinder{a}.homeEntry(t.Home)})
	}
	slices.SortFunc(c.EntryPoints, func(x, y EntryPoint) int {
		return cmp.Or(
			entryOrder(x.Method)-entryOrder(y.Method),
			cmp.Compare(y.Confidence, x.Confidence),
			x.IntervalMinutes-y.IntervalMinutes,
			strings.Compare(x.URL, y.URL),
		)
	})
	listed := min(len(c.EntryPoints), maxEntryPoints)
	c.EntriesOmitted = len(c.EntryPoints) - listed
	c.EntryPoints = c.EntryPoints[:listed]
	return c
}

// entryFinder finds the entry points of a contract.
type entryFinder struct{ *Analyser }

// usable returns the entry points that may be fetched, in canonical form. If one has several spellings, it returns
// one that was read, if any.
func (a entryFinder) usable(entries []EntryPoint) []EntryPoint {
	kept := entries[:0]
	at := map[string]int{}
	for _, e := range entries {
		if valid, _ := a.urls.canonical([]byte(e.URL)); valid && string(a.urls.buf) != e.URL {
			raw := e.URL
			e.URL, e.RawURL = string(a.urls.buf), &raw
		}
		allowed, decided := a.robots(e.URL)
		if decided {
			e.Allowed = &allowed
		}
		if decided && !allowed || a.ruledOut(e.URL) {
			continue
		}
		if i, found := at[e.URL]; !found {
			at[e.URL] = len(kept)
			kept = append(kept, e)
		} else if e.Confidence > kept[i].Confidence {
			kept[i] = e
		}
	}
	return kept
}

// homeEntry is the home page as an entry point, for a site without any other.
func (a entryFinder) homeEntry(home string) EntryPoint {
	_, confidence := a.classifier.Best(home)
	return EntryPoint{
		Method: HTMLEntry, URL: home, IntervalMinutes: intervalMinutes(Irregular),
		Confidence: listingConfidence(confidence),
	}
}

func entryOrder(m EntryMethod) int {
	switch m {
	case RSSEntry, AtomEntry, JSONFeedEntry:
		return 0
	case NewsSitemapEntry:
		return 1
	case SitemapEntry:
		return 2
	}
	return 3
}

// minListing is the confidence of its classification that a page needs to be an entry point.
const minListing = 0.5

// htmlEntries returns the best of the pages that list news. A page lists news if there are pages below it, if its name
// says so, or if the site's menu does.
func (a entryFinder) htmlEntries() []EntryPoint {
	list := slices.Concat(a.byMenu(a.bestListings()), a.menuPages())
	frequencies := report(a).frequencies(list, true)
	entries := []EntryPoint{}
	for i, c := range list {
		p := parsePage(c.url)
		class, confidence := siteView(a).classOf(&p)
		t := class.Type()
		if confidence < minListing || relevance(t) == 0 || report(a).forbidden(c.url) ||
			!a.isList(c.url) && !a.isNamedSection(c.url) {
			continue
		}
		entries = append(entries, EntryPoint{
			Method: HTMLEntry, URL: c.url, ContentType: &t,
			IntervalMinutes: intervalMinutes(frequencies[i]),
			Confidence:      listingConfidence(confidence),
		})
		if len(entries) == maxHTMLEntries {
			break
		}
	}
	return entries
}

// byMenu sorts the news listings that are first-level sections in the menu into the menu's order, among the places that
// they hold in the list. A menu names the main section first.
func (a entryFinder) byMenu(list []candidate) []candidate {
	list = slices.Clone(list)
	var places []int
	var sections []candidate
	for i, c := range list {
		if p := parsePage(c.url); p.depth == p.sectionAt()+1 && c.class == newsClass && a.texts.position(c.url) > 0 {
			places, sections = append(places, i), append(sections, c)
		}
	}
	slices.SortStableFunc(sections, func(x, y candidate) int {
		return a.texts.position(x.url) - a.texts.position(y.url)
	})
	for i, at := range places {
		list[at] = sections[i]
	}
	return list
}

// mayList reports whether a page looks like one that lists news: of a type that appears in lists,
// and with a name rather than a title.
func (p *page) mayList(t classify.Type) bool {
	if t != classify.News && t != classify.PressRelease && t != classify.Announcement || p.query != "" || p.depth < 1 ||
		p.depth > 4 {
		return false
	}
	if p.kinds[p.depth-1] == slugKind {
		return false
	}
	return (p.ext == "" || pageExtensions[p.ext]) && kindOf(p.segments[p.depth-1]) == literalKind
}

// menuPages returns the pages that the menu names as a section, in its order, except those of bestListings.
func (a entryFinder) menuPages() (list []candidate) {
	listings := a.bestListings()
	for _, l := range a.texts.links {
		r := a.seen.find(keyOf(l.URL))
		if r == nil || r.rank == 0 || a.ruledOut(l.URL) || !a.isNamedSection(l.URL) ||
			slices.ContainsFunc(listings, func(c candidate) bool { return c.url == l.URL }) {
			continue
		}
		p := parsePage(l.URL)
		if list = append(list, a.assess(&p, r.rank, r.lastmod)); len(list) == maxListings {
			break
		}
	}
	return list
}

// bestListings returns the pages that most likely list news, best first.
func (a *Analyser) bestListings() []candidate {
	list := a.kept.listings.ordered()
	return list[:min(len(list), maxListings)]
}

// isNamedSection reports whether a link of the home page has the name of a section and leads to its page. Some of
// these links lead to the section's newest article instead, so a URL without a query must also look like that of a
// list.
func (a *Analyser) isNamedSection(url string) bool {
	text := a.texts.anchors[url]
	return text != "" && !a.isArticle(url) && (strings.Contains(url, "?") || a.isList(url)) && a.classifier.IsName(text)
}

// isList reports whether a page lists others, by its place in the tree or its name.
func (a *Analyser) isList(url string) bool {
	if a.isArticle(url) {
		return false
	}
	if n := a.node(url); n != noNode {
		if !a.tree.nodes[n].name {
			return false // one of many beside it
		}
		if a.tree.nodes[n].first != noNode {
			return true
		}
	}
	return a.classifier.EndsInWords(url) // "story-1" is one of many
}

// isArticle reports whether a feed or news sitemap lists a canonical URL.
func (a *Analyser) isArticle(url string) bool {
	r := a.seen.find(keyOf(url))
	return r != nil && isArticleRank(r.rank)
}

// node returns the node of the pattern of a canonical URL, noNode when it has none.
func (a *Analyser) node(url string) nodeID {
	r := a.seen.find(keyOf(url))
	if r == nil {
		return noNode
	}
	return a.tree.current(r.node)
}

// ValidUntil returns the time of a domain's next collection: after the shortest interval of its entry points, or that
// of Irregular.
func (c *FetchContract) ValidUntil(now time.Time) time.Time {
	shortest := intervalMinutes(Irregular)
	for i, e := range c.EntryPoints {
		if i == 0 || e.IntervalMinutes < shortest {
			shortest = e.IntervalMinutes
		}
	}
	return now.Add(time.Duration(shortest) * time.Minute)
}
