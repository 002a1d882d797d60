package discovery

import (
	"cmp"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/classify"
)

// candidate is a URL with the inputs of its scores.
type candidate struct {
	url        string
	lastmod    uint32
	date       uint32 // of the last change, or the day in the URL if that is later; 0 for none
	rank       uint8
	class      classify.Class
	hint       Hint
	priority   int     // thousandths
	confidence float64 // in class
	order      int     // what its list is sorted by
}

// better orders candidates: by order, then the newest, then by the priority that a sitemap states. Where all that is
// equal, the higher number is usually the newer; the rest has no order that means anything.
func better(a, b candidate) int {
	if a.order != b.order {
		return b.order - a.order
	}
	if c := cmp.Or(cmp.Compare(b.date, a.date), int(b.hint&0x0f)-int(a.hint&0x0f)); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(lastNumber(b.url), lastNumber(a.url)), cmp.Compare(keyOf(a.url), keyOf(b.url)), strings.Compare(a.url, b.url))
}

// below reports whether c is not good enough for a list of which worst is the last, as nearly all are.
func (c *candidate) below(worst *candidate) bool {
	return c.order < worst.order || c.order == worst.order && better(*worst, *c) < 0
}

// bestBySection keeps the candidates of highest order, at most maxAlike of a section: the others are not listed as long as
// there is anything else.
type bestBySection []sectioned

type sectioned struct {
	candidate
	section uint64 // sectionKey
}

// maxBySection leaves space for candidates that are worth less than estimated.
const maxBySection = MaxDiscovered + MaxDiscovered/4

// offer adds c, which is about p, if it is good enough, in place of an older candidate with its URL.
func (v *bestBySection) offer(p *page, c candidate) {
	list := *v
	if len(list) == maxBySection && c.below(&list[maxBySection-1].candidate) {
		return
	}
	section := p.sectionKey()
	alike, out := 0, -1 // out makes room: the older candidate, else the worst of the section if that is full
	for i := range list {
		if list[i].section == section {
			if alike++; alike == maxAlike {
				out = i
			}
		}
	}
	if out >= 0 && better(list[out].candidate, c) < 0 {
		return
	}
	if i := slices.IndexFunc(list, func(o sectioned) bool { return o.section == section && o.url == c.url }); i >= 0 {
		out = i
	}
	switch {
	case out >= 0:
		list = slices.Delete(list, out, out+1)
	case len(list) == maxBySection:
		list = list[:maxBySection-1]
	}
	c.url = strings.Clone(c.url)
	i, _ := slices.BinarySearchFunc(list, c, func(o sectioned, c candidate) int { return better(o.candidate, c) })
	*v = slices.Insert(list, i, sectioned{c, section})
}

// candidates are those of v that are in none of the lists.
func (v bestBySection) candidates(others ...[]candidate) (list []candidate) {
	listed := map[string]bool{}
	for _, other := range others {
		for i := range other {
			listed[other[i].url] = true
		}
	}
	for i := range v {
		if !listed[v[i].url] {
			list = append(list, v[i].candidate)
		}
	}
	return list
}

// lastNumber is the last number in a URL, 0 for none.
func lastNumber(url string) (n uint64) {
	end := strings.LastIndexAny(url, "0123456789") + 1
	begin := end
	for begin > 0 && isDigit(url[begin-1]) && end-begin < 18 {
		begin--
	}
	for _, c := range []byte(url[begin:end]) {
		n = 10*n + uint64(c-'0')
	}
	return n
}

// action returns the recommendation for a candidate. Being named by Research is no reason to fetch it at once:
// without that, its priority must be as high.
func (c *candidate) action(p *page) Action {
	a := action(float64(c.priority)/1000, c.class.Type(), p.isLogin())
	if a != ImmediateCrawl || methods[c.rank] != FromResearch {
		return a
	}
	otherwise := 0.0
	if _, listed := c.hint.priority(); listed {
		otherwise = methodScore(FromSitemap)
	}
	return action(float64(c.priority)/1000-methodWeight*(methodScore(FromResearch)-otherwise), c.class.Type(), false)
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

// titled is a candidate with the text by which it is known.
type titled struct {
	candidate
	title string
}

// best is a bounded list of the candidates of highest order, the newest among equals: a binary heap with the worst at
// its root. Further sightings can only raise a URL's place, so one that was dropped need not be remembered.
type best struct {
	limit int
	heap  []titled
	at    map[string]int // index in heap, by URL
}

func newBest(limit int) best { return best{limit: limit, at: map[string]int{}} }

// ordered returns the candidates, best first.
func (h *best) ordered() []candidate {
	list := make([]candidate, len(h.heap))
	for i := range h.heap {
		list[i] = h.heap[i].candidate
	}
	slices.SortFunc(list, better)
	return list
}

// title returns the title of a candidate, or "".
func (h *best) title(url string) string {
	if i, found := h.at[url]; found {
		return h.heap[i].title
	}
	return ""
}

// offer adds c if it is good enough, in place of an older candidate with its URL.
func (h *best) offer(c candidate, title []byte) {
	if h.limit == 0 || len(h.heap) == h.limit && c.below(&h.heap[0].candidate) {
		return
	}
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
	default:
		delete(h.at, h.heap[0].url)
		c.url = strings.Clone(c.url)
		h.heap[0] = titled{c, shortTitle(title)}
		h.at[c.url] = 0
		h.down(0)
	}
}

// entitle sets the title of a candidate without one.
func (h *best) entitle(url, title []byte) {
	if i, found := h.at[string(url)]; found && h.heap[i].title == "" {
		h.heap[i].title = shortTitle(title)
	}
}

func (h *best) worse(i, j int) bool { return better(h.heap[i].candidate, h.heap[j].candidate) > 0 }

func (h *best) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.at[h.heap[i].url], h.at[h.heap[j].url] = i, j
}

// up moves a candidate towards the root until its parent is no better.
func (h *best) up(i int) {
	for i > 0 && h.worse(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

// down moves a candidate away from the root until its children are no worse.
func (h *best) down(i int) {
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
