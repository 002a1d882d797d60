package discovery

import "slices"

// lists has the best URLs of a domain, by purpose.
type lists struct {
	top        best[none] // estimated; the best of them are assessed
	bySection  bestBySection
	listings   best[none] // pages that may list news
	pages      bestPages
	researched best[none]      // URLs given to Score, by priority; they leave half of Pages to others
	since      map[uint64]bool // keys of the URLs offered since Restore; nil before
}

func newLists(pages int) lists {
	return lists{
		top:        newBest[none](2 * MaxDiscovered),
		bySection:  newBestBySection(),
		listings:   newBest[none](2 * maxListings), // some turn out to be articles
		pages:      newBestPages(pages),
		researched: newBest[none]((pages + 1) / 2),
	}
}

// offer offers a URL that was added, with its title.
func (l *lists) offer(p *page, c candidate, title []byte) {
	l.top.offer(&c)
	l.bySection.offer(p, &c)
	l.pages.offer(p, &c, title)
	if l.since != nil {
		l.since[keyOf(c.url)] = true
	}
	switch {
	case isArticleRank(c.rank):
		l.listings.remove(c.url)
	case p.mayList(c.class.Type()):
		c.order -= 1000 * p.depth // those near the root first
		l.listings.offer(&c)
	}
}

// best is a bounded list of the best candidates, each with a note V. It is a binary heap with the worst at its root.
// Further sightings only raise the order of a URL, so dropped ones need not be remembered.
type best[V any] struct {
	limit int
	heap  []*noted[V]
	at    map[string]*noted[V] // by URL
}

// noted is a candidate with what its list notes about it.
type noted[V any] struct {
	candidate
	note  V
	index int // in the heap
}

func newBest[V any](limit int) best[V] { return best[V]{limit: limit, at: map[string]*noted[V]{}} }

// ordered returns the candidates, best first.
func (h *best[V]) ordered() []candidate { return sorted(h.places()) }

// places returns where the candidates are.
func (h *best[V]) places() []*candidate {
	list := make([]*candidate, len(h.heap))
	for i, n := range h.heap {
		list[i] = &n.candidate
	}
	return list
}

func (h *best[V]) unordered() []candidate {
	list := make([]candidate, len(h.heap))
	for i := range h.heap {
		list[i] = h.heap[i].candidate
	}
	return list
}

// note returns the note about a URL, or nil if the URL is not in the list.
func (h *best[V]) note(url string) *V {
	if n := h.at[url]; n != nil {
		return &n.note
	}
	return nil
}

// refuses reports whether a candidate is not good enough for the list.
func (h *best[V]) refuses(c *candidate) bool {
	return h.limit == 0 || len(h.heap) == h.limit && c.below(&h.heap[0].candidate)
}

// offer adds c if it is good enough, and replaces an older candidate with its URL. It returns the note of c, or nil if
// c was not added, and the candidate that was dropped, if any.
func (h *best[V]) offer(c *candidate) (note *V, dropped *noted[V]) {
	if h.refuses(c) {
		return nil, nil
	}
	n := h.at[c.url]
	if n != nil {
		url := n.url
		n.candidate = *c
		n.url, n.kept = url, true
		h.move(n)
		return &n.note, nil
	}
	c.keep()
	n = &noted[V]{candidate: *c}
	h.at[c.url] = n
	if len(h.heap) < h.limit {
		n.index = len(h.heap)
		h.heap = append(h.heap, n)
		h.up(n.index)
		return &n.note, nil
	}
	dropped = h.heap[0]
	delete(h.at, dropped.url)
	h.heap[0] = n
	h.down(0)
	return &n.note, dropped
}

// remove takes a URL off the list.
func (h *best[V]) remove(url string) {
	n := h.at[url]
	if n == nil {
		return
	}
	last := len(h.heap) - 1
	i := n.index
	h.swap(i, last)
	delete(h.at, url)
	h.heap[last] = nil
	h.heap = h.heap[:last]
	if i < last {
		h.move(h.heap[i])
	}
}

// move moves a candidate to its place.
func (h *best[V]) move(n *noted[V]) {
	h.down(n.index)
	h.up(n.index)
}

func (h *best[V]) worse(i, j int) bool { return better(&h.heap[i].candidate, &h.heap[j].candidate) > 0 }

func (h *best[V]) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.heap[i].index, h.heap[j].index = i, j
}

// up moves a candidate towards the root until its parent is no better.
func (h *best[V]) up(i int) {
	for i > 0 && h.worse(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

// down moves a candidate away from the root until its children are no worse.
func (h *best[V]) down(i int) {
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

// none is the note of lists without notes.
type none = struct{}

// maxBySection leaves a reserve for candidates whose scores turn out to be lower than estimated.
const maxBySection = MaxDiscovered + MaxDiscovered/4

// bestBySection keeps the best candidates, at most maxAlike of a section: more are not listed while there are others.
type bestBySection struct {
	all      best[uint64] // with their sectionKey
	sections map[uint64]*best[none]
}

func newBestBySection() bestBySection {
	return bestBySection{newBest[uint64](maxBySection), map[uint64]*best[none]{}}
}

// offer adds c, which is about p, if it is good enough, in place of an older candidate with its URL.
func (v *bestBySection) offer(p *page, c *candidate) {
	if v.all.refuses(c) {
		return
	}
	key := p.sectionKey()
	section := v.sections[key]
	if section == nil {
		list := newBest[none](maxAlike)
		section = &list
		v.sections[key] = section
	}
	note, dropped := section.offer(c)
	if note == nil {
		return
	}
	if dropped != nil {
		v.all.remove(dropped.url)
	}
	of, out := v.all.offer(c)
	*of = key
	if out != nil {
		if list := v.sections[out.note]; len(list.heap) > 1 {
			list.remove(out.url)
		} else {
			delete(v.sections, out.note)
		}
	}
}

// candidates returns those that are in none of the lists, best first.
func (v *bestBySection) candidates(others ...[]candidate) []candidate {
	listed := map[string]bool{}
	for _, other := range others {
		for i := range other {
			listed[other[i].url] = true
		}
	}
	return slices.DeleteFunc(v.all.ordered(), func(c candidate) bool { return listed[c.url] })
}
