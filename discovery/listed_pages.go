package discovery

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/classify"
)

// Page is a URL that is worth fetching, with what decides when it is.
type Page struct {
	URL      string
	Title    string // of the feed item, news entry or raw record that names it; "" for none
	Type     classify.Type
	Priority float64   // as DiscoveredURL's
	Lastmod  time.Time // zero when unknown
	Method   Method    // the best one by which it was found
}

// maxTitle bounds the title of a Page, in bytes.
const maxTitle = 200

// pageSections is the number of parts into which the sections of a site are divided. Beside the best of all pages, the
// best of each part are kept: pages of one section often have equal scores, and would displace all others.
const pageSections = 8

// bestPages keeps the pages from which Pages chooses. What it keeps does not depend on their order.
type bestPages struct {
	best     best[string]   // with their titles
	sections []best[string] // none while best has every page
}

func newBestPages(limit int) bestPages { return bestPages{best: newBest[string](limit)} }

// divide creates the lists of sections from the pages so far.
func (o *bestPages) divide() {
	o.sections = make([]best[string], pageSections)
	for i := range o.sections {
		o.sections[i] = newBest[string]((o.best.limit + 3) / 4)
	}
	for _, n := range o.best.heap {
		p := parsePage(n.url)
		if note, _ := o.section(&p).offer(&n.candidate); note != nil {
			*note = n.note
		}
	}
}

// section returns the list of a page's section.
func (o *bestPages) section(p *page) *best[string] { return &o.sections[p.sectionKey()%pageSections] }

// offer adds a candidate, which is about p. Its confidence counts half: its neighbours, which are not known yet,
// mostly leave no doubt about the type.
func (o *bestPages) offer(p *page, of *candidate, title []byte) {
	c := *of
	c.order += int(100 * (1 - c.confidence))
	if o.sections == nil && o.best.limit > 0 && len(o.best.heap) == o.best.limit && o.best.at[c.url] == nil {
		o.divide()
	}
	offer := func(list *best[string]) {
		if note, _ := list.offer(&c); note != nil && len(title) > 0 {
			*note = shortTitle(title)
		}
	}
	offer(&o.best)
	if o.sections != nil {
		offer(o.section(p))
	}
}

// setTitle sets the title of a candidate without one.
func (o *bestPages) setTitle(url, title []byte) {
	if len(title) == 0 {
		return
	}
	for list := range o.lists() {
		if n := list.at[string(url)]; n != nil && n.note == "" {
			n.note = shortTitle(title)
		}
	}
}

// lists yields the list of the best pages, then those of the sections.
func (o *bestPages) lists() iter.Seq[*best[string]] {
	return func(yield func(*best[string]) bool) {
		if !yield(&o.best) {
			return
		}
		for i := range o.sections {
			if !yield(&o.sections[i]) {
				return
			}
		}
	}
}

// title returns the title of a candidate, "" for none.
func (o *bestPages) title(url string) string {
	for list := range o.lists() {
		if title := list.note(url); title != nil && *title != "" {
			return *title
		}
	}
	return ""
}

// choose returns the best pages, best first, at most a third of them from one section unless nothing else is left. If
// all fit into wanted, it does not sort them.
func (o *bestPages) choose(wanted int) []candidate {
	if o.sections == nil && len(o.best.heap) <= wanted {
		return o.best.unordered()
	}
	places := o.best.places()
	for i := range o.sections {
		for _, c := range o.sections[i].heap {
			if o.best.at[c.url] == nil {
				places = append(places, &c.candidate)
			}
		}
	}
	all, limit := sorted(places), o.best.limit
	if len(all) <= limit {
		return all
	}
	type section struct{ host, name string }
	chosen, others := make([]candidate, 0, len(all)), []candidate(nil)
	alike := map[section]int{}
	var p page
	for _, c := range all {
		p.parse(c.url)
		s := section{strings.TrimPrefix(p.host, "www."), p.sectionName()}
		if alike[s]++; alike[s] <= (limit+2)/3 {
			chosen = append(chosen, c)
		} else {
			others = append(others, c)
		}
	}
	return append(chosen, others...)[:limit]
}

// Pages returns at most Options.Pages pages that are worth fetching, by priority, the newest first among equals. They
// are those that Result lists, the best of those given to Score (at most half), and the best of the others, from
// several sections. It leaves out pages that robots.txt forbids, that operators exclude, or whose action is Ignore.
// After Restore, it only returns pages that were added since.
func (a *Analyser) Pages() []Page {
	found := make([]candidate, 0, a.o.Pages)
	taken := make(map[string]bool, a.o.Pages)
	take := func(p *page, c candidate) {
		if len(found) < a.o.Pages && !taken[c.url] && !(report{a}).forbidden(c.url) && !a.ruledOut(c.url) &&
			c.action(p) != Ignore {
			taken[c.url] = true
			found = append(found, c)
		}
	}
	var p page
	for _, c := range slices.Concat(a.listed(), a.kept.researched.ordered()) {
		if a.isNew(c.url) {
			p.parse(c.url)
			take(&p, c)
		}
	}
	assessed := make(map[string]*candidate, len(a.concluded.assessed))
	for i := range a.concluded.assessed {
		assessed[a.concluded.assessed[i].url] = &a.concluded.assessed[i]
	}
	for _, c := range a.kept.pages.choose(a.o.Pages - len(found)) {
		if len(found) == a.o.Pages {
			break
		}
		if !taken[c.url] {
			p.parse(c.url)
			if known := assessed[c.url]; known != nil && known.rank == c.rank && known.lastmod == c.lastmod {
				c = *known
				c.hint = 0
			} else {
				c = a.assess(&p, c.rank, c.lastmod)
			}
			take(&p, c)
		}
	}
	order := make([]*candidate, len(found))
	for i := range found {
		order[i] = &found[i]
	}
	slices.SortFunc(order, func(x, y *candidate) int {
		if c := cmp.Or(y.priority-x.priority, cmp.Compare(y.date, x.date)); c != 0 {
			return c
		}
		return better(x, y)
	})
	list := make([]Page, len(found))
	for i, c := range order {
		list[i] = Page{URL: c.url, Title: a.titleOf(c.url), Type: c.class.Type(), Priority: float64(c.priority) / 1000,
			Method: methods[c.rank]}
		if c.lastmod > 0 {
			list[i].Lastmod = time.Unix(int64(c.lastmod), 0)
		}
	}
	return list
}

// listed are the URLs of Result.
func (a *Analyser) listed() []candidate {
	if a.concluded.best == nil {
		a.concluded.best = ranking{a}.ranked(report{a}.contenders())
	}
	return a.concluded.best
}

// isNew reports whether a URL was added since Restore, or with a better method or a later date.
func (a *Analyser) isNew(url string) bool { return a.kept.since == nil || a.kept.since[keyOf(url)] }

func (a *Analyser) titleOf(url string) string {
	return cmp.Or(a.kept.pages.title(url), a.texts.titles[keyOf(url)].text)
}

// shortTitle truncates a title to at most maxTitle bytes of whole characters.
func shortTitle(title []byte) string {
	return strings.ToValidUTF8(string(title[:min(len(title), maxTitle)]), "")
}
