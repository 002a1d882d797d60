package discovery

import (
	"cmp"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/urlword"
)

// The list of the URLs that matter is read from its top. It is ordered by priority, except for what an editor would
// not accept: the front page of a section behind fifty of its articles, or a home page above the news.

const (
	maxLeading = 3                 // sections whose current listing leads the list
	maxAlike   = MaxDiscovered / 3 // URLs of one section, and of one pattern, unless nothing else is left
)

// standing is the kind of place in the list that a page gets by its form.
type standing uint8

const (
	ordinary standing = iota
	article           // dated news
	listing           // the current list of a section's news
	demoted           // below every dated article: home pages, archives, accounts, the small print, what is unknown
)

// rankedCandidate is a candidate for the list of the URLs that matter.
type rankedCandidate struct {
	candidate
	standing standing
	date     uint32 // the day in its URL, or else of its last change; 0 for none
	undated  int    // the order that a listing would have without its date
	unread   bool   // robots.txt of its host was not read, so it might be forbidden
	menu     int    // its place in the home page's menu, from 1; 0 for a page that lists nothing or is not there
	section  string
	desk     string // of which one listing leads
	pattern  nodeID
}

// ranking orders candidates as an editor would.
type ranking struct{ *Analyser }

// ranked returns the best MaxDiscovered of list in an editor's order. The current listings of up to maxLeading
// sections lead. The rest follows by priority, the newest first among equals. Demoted pages are below all dated
// articles, and listings of further sections count as undated. A section and a pattern have at most maxAlike URLs
// unless nothing else is left.
func (a ranking) ranked(list []candidate) []candidate {
	entrants := make([]rankedCandidate, len(list))
	lowest, lowestNews := 0, 0 // of dated articles, and of all news but the lists of it
	for i, c := range list {
		e := a.place(c)
		entrants[i] = e
		if e.standing == article && (lowest == 0 || e.order < lowest) {
			lowest = e.order
		}
		if (e.standing == article || e.standing == ordinary && isNews(e.class)) &&
			(lowestNews == 0 || e.order < lowestNews) {
			lowestNews = e.order
		}
	}
	for i := range entrants {
		e := &entrants[i]
		if lowest > 0 && e.standing == demoted {
			e.order = min(e.order, lowest-1)
		}
		if lowestNews > 0 && e.class == archiveClass {
			e.order = min(e.order, lowestNews-1)
		}
	}
	slices.SortFunc(entrants, before)
	entrants = leadWith(entrants, lowest)
	entrants = limitAlike(entrants)
	best := make([]candidate, len(entrants))
	for i := range entrants {
		best[i] = entrants[i].candidate
	}
	return best
}

func isNews(c classify.Class) bool { return relevanceOf[c] > relevance(classify.Policy) }

// before orders by the order. Among equals, the listings of the menu come first, as they stand there, then the newest.
func before(x, y rankedCandidate) int {
	switch {
	case x.order != y.order:
	case x.menu != y.menu:
		return cmp.Compare(uint(x.menu-1), uint(y.menu-1))
	case x.date != y.date:
		return int(int64(y.date) - int64(x.date))
	}
	return better(&x.candidate, &y.candidate)
}

// place determines the standing and the order of a candidate.
func (a ranking) place(c candidate) rankedCandidate {
	p := parsePage(c.url)
	t := c.class.Type()
	e := rankedCandidate{candidate: c, date: c.lastmod, section: p.section(), desk: p.desk(), pattern: a.node(c.url)}
	if a.isMenu(&p) {
		e.section, e.desk = c.url, c.url
	}
	e.order = e.priority
	if at := a.scorer.dated(&p, 0); at > 0 {
		e.date = at
	}
	news := isNews(c.class)
	switch {
	case t == classify.Unknown, t == classify.Archive, p.isHome(), p.isLogin(), p.isPast(a.o.Now.Year()),
		c.verdict.SmallPrint:
		e.standing = demoted
	case news && a.isListing(&p):
		e.standing = listing
		if e.menu = a.texts.position(c.url); e.menu > 0 {
			e.order = a.menuPriority(&p, e, a.scorer.dated(&p, c.lastmod))
			e.undated = a.menuPriority(&p, e, 0)
		} else {
			e.undated = a.undatedPriority(&p, e)
		}
		if a.o.Robots != nil {
			_, decided := a.robots(c.url)
			e.unread = !decided
		}
	case news && e.date > 0:
		e.standing = article
		e.order = a.editorPriority(&p, e)
	}
	return e
}

// worthStep is the difference in priority, in thousandths, below which the newer of two articles comes first.
const worthStep = 25

// editorPriority returns an article's priority to an editor. The day in its URL precedes a later lastmod, which is
// often that of the whole site. The confidence in its type counts half, and small differences do not count.
func (a ranking) editorPriority(p *page, e rankedCandidate) int {
	v := a.scorer.value(p, e.class, e.date)
	score := priority(v.Overall, (1+e.confidence)/2, quality(p), methodScore(methods[e.rank]))
	return int(score*1000) / worthStep * worthStep
}

// menuPriority returns the priority of a listing that the site's menu names, with a date, 0 for none. How sure its type
// is depends on the section's name, which says nothing about its worth: small differences do not count.
func (a ranking) menuPriority(p *page, e rankedCandidate, date uint32) int {
	v := a.scorer.valueAt(p, e.class, date)
	score := priority(v.Overall, 1, quality(p), methodScore(methods[e.rank]))
	return int(score*1000) / worthStep * worthStep
}

// undatedPriority returns the priority of a listing without its date: many are generated for each request, and so
// always changed just now, however old their items are.
func (a ranking) undatedPriority(p *page, e rankedCandidate) int {
	v := a.scorer.value(p, e.class, 0)
	return min(e.order, int(priority(v.Overall, e.confidence, quality(p), methodScore(methods[e.rank]))*1000+0.5))
}

// isListing reports whether a news page is the current list of a section: the menu leads there, or it has the name of
// a section, or of this year or month.
func (a ranking) isListing(p *page) bool {
	if p.depth == 0 {
		return false
	}
	if a.isNamedSection(p.url) {
		return true
	}
	if p.query != "" {
		return false
	}
	switch p.kinds[p.depth-1] {
	case yearKind, monthKind:
		return true // not past
	case literalKind:
		return a.isList(p.url)
	}
	return false
}

// listsNews reports whether a page may lead the list. Lists of announcements, such as tenders and vacancies, do not.
func (e *rankedCandidate) listsNews() bool {
	return e.standing == listing && e.class.Type() != classify.Announcement
}

// leadWith moves the best listing of each of the first desks to the front, if it may be fetched. Other listings of
// these desks repeat them and are demoted. Listings of further desks are ordered as if they had no date.
func leadWith(sorted []rankedCandidate, lowest int) []rankedCandidate {
	var leading, others []rankedCandidate
	led := map[string]bool{}
	for _, e := range sorted {
		if e.listsNews() && !e.unread && !led[e.desk] && len(led) < maxLeading {
			led[e.desk] = true
			leading = append(leading, e)
		} else {
			others = append(others, e)
		}
	}
	for i := range others {
		switch e := &others[i]; {
		case !e.listsNews():
		case led[e.desk]:
			if lowest > 0 {
				e.order = min(e.order, lowest-1)
			}
		default:
			e.order = e.undated
		}
	}
	slices.SortStableFunc(others, before)
	return append(leading, others...)
}

// limitAlike returns the first MaxDiscovered, at most maxAlike of a section and of a pattern. If those are too few, it
// fills up with the first of other patterns, then with any. The order stays.
func limitAlike(sorted []rankedCandidate) []rankedCandidate {
	patterns, sections := map[nodeID]int{}, map[string]int{}
	taken := make([]bool, len(sorted))
	n := 0
	for _, limit := range [...]struct{ pattern, section int }{{maxAlike, maxAlike}, {maxAlike, len(sorted)},
		{len(sorted), len(sorted)}} {
		for i := range sorted {
			if n == MaxDiscovered {
				break
			}
			e := &sorted[i]
			if !taken[i] && (e.pattern == noNode || patterns[e.pattern] < limit.pattern) &&
				sections[e.section] < limit.section {
				patterns[e.pattern]++
				sections[e.section]++
				taken[i] = true
				n++
			}
		}
	}
	kept := make([]rankedCandidate, 0, n)
	for i := range sorted {
		if taken[i] {
			kept = append(kept, sorted[i])
		}
	}
	return kept
}

// section is the part of a site that a page belongs to: its host, with or without www., and its sectionName.
func (p *page) section() string { return strings.TrimPrefix(p.host, "www.") + "/" + p.sectionName() }

// desk is like section, but the pages of a newsroom are all of one desk.
func (p *page) desk() string {
	name, _, _ := strings.Cut(p.sectionName(), "/")
	return strings.TrimPrefix(p.host, "www.") + "/" + name
}

// sectionKey identifies host and section of a page. Two of a site share one with a chance of 1 in 2^48.
func (p *page) sectionKey() uint64 {
	if p.keyed == 0 {
		p.key, p.keyed = keyOf(p.host)^keyOf(p.sectionName()), p.sectionAt()+1
		if p.isNewsroom() {
			p.keyed++
		}
	}
	return p.key
}

// sectionName is the first segment that is no language, "" for none. The directories of a newsroom, such as its press
// releases and speeches, are sections of their own.
func (p *page) sectionName() string {
	i := p.sectionAt()
	if i == len(p.parts()) {
		return ""
	}
	if child := i + 1; p.isNewsroom() && child < len(p.parts())-1 && p.kinds[child] == literalKind {
		return p.segments[i] + "/" + p.segments[child]
	}
	return p.segments[i]
}

// isNewsroom reports whether the first segment that is no language names the whole of what a site publishes.
func (p *page) isNewsroom() bool {
	i := p.sectionAt()
	if i == len(p.parts()) || len(p.body(i)) > maxNewsroom {
		return false
	}
	return newsrooms[separators.Replace(strings.ToLower(p.body(i)))]
}

const maxNewsroom = 24 // bytes of the longest of newsrooms, with separators

var newsrooms = words("newsroom newsrooms news pressroom press media mediacentre mediacenter newsandmedia newsmedia " +
	"newsandevents newsevents newsandpublications pressemedia presse aktuelles medien actualites actualite " +
	"salledepresse prensa saladeprensa noticias comunicacion comunicacao imprensa saladeimprensa stampa " +
	"salastampa comunicazione pers nieuws nyheder nyheter presserum pressrum aktualnosci prasa " +
	"berita siaran mediamassa tintuc haber basin")

// sectionAt is the first segment that is no language, or how many there are.
func (p *page) sectionAt() int {
	i := 0
	for i < len(p.parts()) && p.kinds[i] == langKind {
		i++
	}
	return i
}

// isHome reports whether a page is the home page, or that of a language.
func (p *page) isHome() bool {
	if p.query != "" {
		return false
	}
	for i := range p.parts() {
		if p.kinds[i] != langKind && !homeNames[strings.ToLower(p.body(i))] {
			return false
		}
	}
	return true
}

var homeNames = words("index home default main homepage accueil startseite inicio")

// isPast reports whether a page lists what a year before this one brought, or is a later page of a list.
func (p *page) isPast(year int) bool {
	last := p.depth - 1
	for ; last >= 0; last-- {
		switch p.kinds[last] {
		case yearKind:
			if number(p.body(last)) < year {
				return true
			}
		case pageKind:
			return true
		case monthKind, dayKind, dateKind:
			continue
		case literalKind, idKind: // "press-releases-2019"; a title that ends in a year is about it
			return p.hasPastQuery(year) || endsInPast(p.body(last), year)
		}
		break
	}
	return p.hasPastQuery(year)
}

// listsPastYear reports whether a page lists what a year before this one brought.
func (p *page) listsPastYear(year int) bool {
	if p.query == "" && p.depth > 0 && p.depth <= len(p.segments) && p.kinds[p.depth-1] == slugKind {
		return false // most pages
	}
	for f := range strings.SplitSeq(p.query, "&") {
		if _, value, _ := strings.Cut(f, "="); kindOfBody(value) == yearKind && number(value) < year {
			return true
		}
	}
	for last := p.depth - 1; last >= 0 && last < len(p.segments); last-- {
		switch p.kinds[last] {
		case yearKind:
			return number(p.body(last)) < year
		case monthKind, pageKind:
			continue
		case dateKind: // of a month: a day is that of an article, perhaps
			if len(p.body(last)) <= len("2025-01") {
				return number(p.body(last)[:4]) < year
			}
		case literalKind, idKind:
			if urlword.IsPage(p.body(last)) {
				continue
			}
			return endsInPast(p.body(last), year)
		}
		return false
	}
	return false
}

// hasPastQuery reports whether the query chooses an earlier year, or a later page.
func (p *page) hasPastQuery(year int) bool {
	for f := range strings.SplitSeq(p.query, "&") {
		name, value, _ := strings.Cut(f, "=")
		if value == "" {
			continue
		}
		if kindOfBody(value) == yearKind && number(value) < year ||
			urlword.IsPage(name) && urlword.Between(value, 2, 1e6) {
			return true
		}
	}
	return false
}

// endsInPast reports whether a name ends in an earlier year, as "press-releases-2019".
func endsInPast(name string, year int) bool {
	n := len(name)
	return n > 5 && !isDigit(name[n-5]) && kindOfBody(name[n-4:]) == yearKind && number(name[n-4:]) < year
}
