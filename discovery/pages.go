package discovery

import (
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

// Pages returns the Options.Pages of highest priority among the URLs that Add was given, highest first,
// but for those that robots.txt forbids, operators exclude, or nobody should fetch (Ignore).
func (a *Analyser) Pages() []Page {
	list := slices.Clone(a.pages.heap)
	slices.SortFunc(list, func(x, y titled) int { return better(x.candidate, y.candidate) })
	found := make([]Page, 0, len(list))
	for _, c := range list {
		p := parsePage(c.url)
		if a.forbidden(c.url) || a.ruledOut(c.url) {
			continue
		}
		assessed := a.assess(&p, c.rank, c.lastmod)
		t, priority := assessed.class.Type(), float64(assessed.priority)/1000
		if assessed.action(&p) == Ignore {
			continue
		}
		q := Page{URL: c.url, Title: c.title, Type: t, Priority: priority, Method: methods[c.rank]}
		if c.lastmod > 0 {
			q.Lastmod = time.Unix(int64(c.lastmod), 0)
		}
		found = append(found, q)
	}
	return found
}

// titled is a candidate with the text by which it is known.
type titled struct {
	candidate
	title string
}

// pages keeps the candidates of highest order, as top does, but is fast for hundreds of them: a binary
// heap with the worst at its root, in which URLs are found by at.
type pages struct {
	limit int
	heap  []titled
	at    map[string]int // index in heap, by URL
}

// offer adds c if it is good enough, in place of an older candidate with its URL.
func (h *pages) offer(c candidate, title []byte) {
	i, found := h.at[c.url]
	switch {
	case found:
		c.url = h.heap[i].url
		h.heap[i].candidate = c
		if len(title) > 0 {
			h.heap[i].title = shortTitle(title)
		}
		h.down(i)
		h.up(i)
	case len(h.heap) < h.limit:
		c.url = strings.Clone(c.url)
		h.heap = append(h.heap, titled{c, shortTitle(title)})
		h.at[c.url] = len(h.heap) - 1
		h.up(len(h.heap) - 1)
	case h.limit > 0 && better(c, h.heap[0].candidate) < 0:
		delete(h.at, h.heap[0].url)
		c.url = strings.Clone(c.url)
		h.heap[0] = titled{c, shortTitle(title)}
		h.at[c.url] = 0
		h.down(0)
	}
}

// entitle gives a title to a candidate that has none.
func (h *pages) entitle(url, title []byte) {
	if len(title) == 0 {
		return
	}
	if i, found := h.at[string(url)]; found && h.heap[i].title == "" {
		h.heap[i].title = shortTitle(title)
	}
}

func (h *pages) worse(i, j int) bool { return better(h.heap[i].candidate, h.heap[j].candidate) > 0 }

func (h *pages) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.at[h.heap[i].url], h.at[h.heap[j].url] = i, j
}

// up moves a candidate towards the root until its parent is no better.
func (h *pages) up(i int) {
	for i > 0 && h.worse(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

// down moves a candidate away from the root until its children are no worse.
func (h *pages) down(i int) {
	for {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h.heap); child++ {
			if h.worse(child, worst) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		h.swap(i, worst)
		i = worst
	}
}

// shortTitle cuts a title to maxTitle bytes of whole characters.
func shortTitle(title []byte) string {
	return strings.ToValidUTF8(string(title[:min(len(title), maxTitle)]), "")
}
