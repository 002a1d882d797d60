package store

import (
	"cmp"
	"math"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// The waiting pages of a host are ordered by their worth times the expected yield of their pattern: the share of pages
// that are there, are open, and do not repeat another page. It is estimated by an upper bound of a Beta posterior, its
// mean plus half its standard deviation, from a prior by type. So a pattern of which little is known is tried before
// one that is known to be as good on average. An upper bound is used and not a random draw (Thompson sampling), because
// a transaction that is run again must decide the same, and because a page's score has to be explained.
const (
	priorPages = 3   // pages whose observation moves an estimate halfway
	optimism   = 0.5 // standard deviations

	// sunken is the part of a page's worth below which it is leased only after others, and by every exploring turn:
	// about five pages in a row of a pattern were useless.
	sunken = 0.6
)

// priorYield is the expected yield of a pattern by the type of its pages, where it is not usual: lists, forms and
// searches repeat each other, while news seldom does.
var priorYield = map[string]float64{
	"news": 0.75, "press_release": 0.75, "announcement": 0.75, "legislation": 0.75, "report": 0.75,
	"archive": 0.6, "search": 0.5, "calendar": 0.5, "form": 0.5, "contact": 0.6, "directory": 0.6,
}

const usualYield = 0.75

func priorOf(kind uint8) float64 {
	if share, ok := priorYield[TypeName(kind)]; ok {
		return share
	}
	return usualYield
}

// upperYield returns the upper bound of the yield after so many useful and useless pages.
func upperYield(prior float64, useful, useless int64) float64 {
	n := priorPages + float64(useful) + float64(useless)
	mean := (priorPages*prior + float64(useful)) / n
	return min(1, mean+optimism*math.Sqrt(mean*(1-mean)/(n+1)))
}

// useless returns the number of pages of a pattern that brought nothing.
func (p *Pattern) useless() int64 { return p.Gone + min(p.Fetched, p.Copied+p.Closed) }

func (p *Pattern) useful() int64 { return max(0, p.Fetched-p.Copied-p.Closed) }

// Yield returns the estimated yield of a page's pattern, relative to that of a page of its type of which nothing is
// known: 1 without observations. Pages that were fetched before have proved what they are.
func (l Patterns) Yield(p *Page) float64 {
	if !l.steers() || p.Visit != nil || p.Reason == Requested {
		return 1
	}
	k := l.Find(p.pattern())
	if k == nil || k.Fetched+k.Gone == 0 {
		return 1
	}
	prior := priorOf(p.Kind)
	return upperYield(prior, k.useful(), k.useless()) / upperYield(prior, 0, 0)
}

// Worth returns a page's score, in thousandths, times the yield of its pattern.
func Worth(h *Host, p *Page, now epoch.Seconds) int { return worth(p, h.Patterns.Yield(p), now) }

func worth(p *Page, yield float64, now epoch.Seconds) int {
	return min(maxScore, int(float64(p.Score(now))*yield+0.5))
}

// bandOfWorth returns the front queue of a host by a page. A pattern that proved useful does not raise it: its host
// would go before others of which less is known.
func bandOfWorth(l Patterns, p *Page, now epoch.Seconds) int {
	return max(p.band(now), bandOf(order(p, l.Yield(p), now)))
}

// order ranks the pages of a host: first those that operators requested, then by worth.
func order(p *Page, yield float64, now epoch.Seconds) int {
	n := worth(p, yield, now)
	if p.Reason == Requested {
		n += maxScore + 1
	}
	return n
}

// steers reports whether patterns differ: a page of one brought nothing.
func (l Patterns) steers() bool {
	for i := range l {
		if l[i].useless() > 0 {
			return true
		}
	}
	return false
}

// steering returns the patterns if they steer, else none: so many pages are asked about at no cost.
func (l Patterns) steering() Patterns {
	if l.steers() {
		return l
	}
	return nil
}

// Looking ahead is for a host whose next pages disappoint. Others are looked for in its oldest segments, not at each
// page: what changes is written.
const (
	disappointing = 0.95 // yield
	aheadTurns    = 2    // one in so many
	aheadSegments = 4
)

// lookAhead takes the pages with the most worth into the buffer if those that are there disappoint. The others of them
// go to a segment at the end of the transaction.
func lookAhead(q *pageQueue) error {
	now := q.host.tx.seconds()
	if q.turn%aheadTurns != 0 || len(q.segments) == 0 || q.host.tx.state.Full(1) {
		return nil
	}
	most := 0
	for i := range q.buffer {
		p := &q.buffer[i]
		if worth := Worth(q.host, p, now); p.Due <= now && worth > most {
			if most = worth; q.host.Patterns.Yield(p) >= disappointing {
				return nil
			}
		}
	}
	for n := range min(len(q.segments), aheadSegments) { // others each time
		i := (q.turn/aheadTurns*aheadSegments + n) % len(q.segments)
		data, err := q.host.tx.parts.get(q.segmentKey(q.segments[i].number))
		if err != nil {
			return err
		}
		pages, err := q.segments[i].unread(data)
		if err != nil {
			q.dropSegment(i)
			return nil
		}
		if takeBetter(q, i, pages, most) {
			return nil
		}
	}
	return nil
}

// takeBetter takes up to minBuffer pages of a segment into the buffer that have more worth than what is there.
func takeBetter(q *pageQueue, i int, pages []Page, than int) bool {
	now := q.host.tx.seconds()
	worth := make(map[string]int, len(pages))
	for k := range pages {
		if pages[k].Due <= now {
			worth[pages[k].Path] = Worth(q.host, &pages[k], now)
		}
	}
	ranked := slices.Clone(pages)
	slices.SortStableFunc(ranked, func(a, b Page) int { return cmp.Compare(worth[b.Path], worth[a.Path]) })
	n := 0
	for n < min(len(ranked), minBuffer) && worth[ranked[n].Path] > than+than/20 {
		n++
	}
	if n == 0 {
		return false
	}
	q.buffer, q.grown = append(q.buffer, ranked[:n]...), true
	q.host.Change()
	if n == len(ranked) {
		q.host.tx.parts.set(q.segmentKey(q.segments[i].number), nil)
		q.segments = slices.Delete(q.segments, i, i+1)
		return true
	}
	taken := make(map[string]bool, n)
	for k := range ranked[:n] {
		taken[ranked[k].Path] = true
	}
	q.replace(i, slices.DeleteFunc(pages, func(p Page) bool { return taken[p.Path] }))
	return true
}

// explore takes a page of the pattern of which the fewest were given, so that none is given up for ever.
func explore(q *pageQueue) (p Page, ok bool, err error) {
	for band := frontier.Bands - 1; band >= 0; band-- {
		if q.has(band) {
			if err := q.refill(band); err != nil {
				return p, false, err
			}
			q.grown = true
			break
		}
	}
	now, state := q.host.tx.seconds(), &q.host.tx.state
	best, least := -1, int64(math.MaxInt64)
	for i := range q.buffer {
		page := &q.buffer[i]
		if page.Due > now || page.Visit != nil || len(state.Patterns) > 0 && state.Excludes.URL(q.host.URL(page)) {
			continue
		}
		given := int64(0)
		if k := q.host.Patterns.Find(page.pattern()); k != nil {
			given = k.Given
		}
		if given < least {
			best, least = i, given
		}
	}
	if best < 0 {
		return p, false, nil
	}
	return popAt(q, best), true, nil
}
