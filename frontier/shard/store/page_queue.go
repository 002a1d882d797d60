package store

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/revisit"
)

// pageQueue is the back queue of a host: its pages that wait. The next ones are in the host's row, the others in
// segments.
type pageQueue struct {
	host     *Host
	buffer   []Page // the next pages
	segments []segment
	turn     int  // of queueTurns, see TakePage
	grown    bool // pages were added, which may be too many for the row
}

// Enqueue adds a page to those that wait.
func (q *pageQueue) Enqueue(p Page) {
	q.buffer = append(q.buffer, p)
	q.grown = true
	q.host.Change()
}

// HasPages reports whether pages of the host wait.
func (q *pageQueue) HasPages() bool { return len(q.buffer) > 0 || len(q.segments) > 0 }

// Full reports whether the host can take no more pages.
func (q *pageQueue) Full() bool { return len(q.segments) >= maxSegments }

// pageTypes returns the types of the host's pages. It might include types that it had before.
func (q *pageQueue) pageTypes() uint32 {
	mask := typesOf(q.buffer)
	for i := range q.segments {
		mask |= q.segments[i].types
	}
	return mask
}

// pageClasses returns the ids of the classes of the host's pages. It might include classes that it had before.
func (q *pageQueue) pageClasses() []int64 {
	mask := classesOf(q.buffer)
	for i := range q.segments {
		if mask |= q.segments[i].classes; q.segments[i].classes == 0 {
			mask = 1<<maxHostClasses - 1
		}
	}
	return q.host.classIDs(mask)
}

// maxThinnedSegments is the number of a host's segments from which pages may be taken; those in older ones stay.
const maxThinnedSegments = 32

// thinnedSegment is the index of the first segment of a host from which pages may be taken.
func (q *pageQueue) thinnedSegment() int { return max(0, len(q.segments)-maxThinnedSegments) }

// Thinnable returns the pages of the host's buffer and newest segments.
func (q *pageQueue) Thinnable() ([]Page, error) { return q.unread(q.thinnedSegment()) }

// unread returns the pages of a host's buffer and of its segments from one on.
func (q *pageQueue) unread(first int) ([]Page, error) {
	var keys []int64
	for _, s := range q.segments[first:] {
		keys = append(keys, q.segmentKey(s.number))
	}
	if err := q.host.tx.parts.Load(keys); err != nil {
		return nil, err
	}
	pages := slices.Clone(q.buffer)
	for i := first; i < len(q.segments); {
		s := &q.segments[i]
		left, err := s.unread(q.host.tx.parts.rows[q.segmentKey(s.number)])
		if err != nil {
			q.dropSegment(i)
			continue
		}
		pages = append(pages, left...)
		i++
	}
	return pages, nil
}

// Thin drops pages that wait, by their hashes; they can be put again. What is left gathers in the buffer until the
// end of the transaction.
func (q *pageQueue) Thin(out map[uint64]bool) error {
	pages, err := q.Thinnable()
	if err != nil {
		return err
	}
	segments := q.segments[q.thinnedSegment():]
	for i := range segments {
		q.host.tx.parts.set(q.segmentKey(segments[i].number), nil)
	}
	if len(segments) > 0 {
		q.host.nextSegment = segments[0].number // whose row is written again
	}
	q.segments = slices.Clone(q.segments[:len(q.segments)-len(segments)])
	q.grown = true
	var dropped []Page
	q.buffer = slices.DeleteFunc(pages, func(p Page) bool {
		is := out[Hash48(p.Path)]
		if is {
			dropped = append(dropped, p)
		}
		return is
	})
	return q.dropped(dropped, Idle)
}

// dropped counts pages that wait no more without having been fetched, and remembers what they are now.
func (q *pageQueue) dropped(pages []Page, life Life) error {
	h := q.host
	h.URLs -= int64(len(pages))
	h.tx.state.URLs -= int64(len(pages))
	h.Change()
	return h.drop(pages, life)
}

// Empty drops the pages that wait, as gone.
func (q *pageQueue) Empty() error {
	pages, err := q.clear()
	if err != nil {
		return err
	}
	q.host.places[KindPage] = place{}
	return q.dropped(pages, Gone)
}

// clear takes all pages out of the queue.
func (q *pageQueue) clear() ([]Page, error) {
	pages, err := q.unread(0)
	for i := range q.segments {
		q.host.tx.parts.set(q.segmentKey(q.segments[i].number), nil)
	}
	q.buffer, q.segments = nil, nil
	return pages, err
}

// Forget drops the pages of a host that wait or are scheduled, and forgets which were fetched or are gone.
func Forget(h *Host) error {
	if err := h.Empty(); err != nil {
		return err
	}
	scheduled, err := h.Schedule.clear()
	if err != nil {
		return err
	}
	h.places[KindVisit] = place{}
	h.Texts, h.Patterns, h.Trust = nil, nil, revisit.Trust{}
	h.Sections = nil
	h.Scheduled -= int64(len(scheduled))
	h.tx.state.Visits.Scheduled -= int64(len(scheduled))
	for i := range h.Leased { // what a scraper has on schedule counts as given for the first time
		if p := &h.Leased[i]; p.Reason == Scheduled {
			h.Leave(p)
			p.Reason, p.Visit = New, nil
			h.URLs++
			h.tx.state.URLs++
		}
	}
	return h.forget()
}

// CountDue counts what a host has that does not wait for a time of its own.
func (q *pageQueue) CountDue(now epoch.Seconds) (due int64) {
	for i := range q.buffer {
		if q.buffer[i].Due <= now {
			due++
		}
	}
	for i := range q.segments {
		for band := range frontier.Bands {
			due += int64(q.segments[i].region[band].left)
		}
	}
	for i := range q.host.Entries {
		if q.host.Entries[i].Due <= now {
			due++
		}
	}
	return due
}

// Find returns a page of the queue; false if it is not there.
func (q *pageQueue) Find(hash uint64) (p Page, found bool, err error) {
	is := func(p Page) bool { return Hash48(p.Path) == hash }
	if i := slices.IndexFunc(q.buffer, is); i >= 0 {
		return q.buffer[i], true, nil
	}
	for i := len(q.segments) - 1; i >= 0; i-- {
		s := &q.segments[i]
		data, err := q.host.tx.parts.get(q.segmentKey(s.number))
		if err != nil {
			return p, false, err
		}
		pages, err := s.unread(data)
		if err != nil {
			q.dropSegment(i)
			continue
		}
		if i := slices.IndexFunc(pages, is); i >= 0 {
			return pages[i], true, nil
		}
	}
	return p, false, nil
}

// Pages returns all pages of the host, the leased ones included.
func (h *Host) Pages() ([]Page, error) {
	waiting, err := h.unread(0)
	return append(waiting, h.Leased...), err
}

// anyDue reports whether the buffer has a page that may be fetched now.
func (q *pageQueue) anyDue(now epoch.Seconds) bool {
	return slices.ContainsFunc(q.buffer, func(p Page) bool { return p.Due <= now })
}

// anyRequested reports whether the buffer has a page of the filter that an operator requested, and that may be fetched
// now.
func (q *pageQueue) anyRequested(f *Filter, now epoch.Seconds) bool {
	return slices.ContainsFunc(q.buffer, func(p Page) bool {
		return p.Reason == Requested && p.Due <= now && f.Page(q.host, &p)
	})
}

// popBand takes the best of the wanted pages of a band out of the buffer. It takes one of a pattern that proved useless
// only if sunk is set.
func (q *pageQueue) popBand(band int, now epoch.Seconds, sunk bool, wanted func(*Page) bool) (p Page, ok bool) {
	best, most := -1, -1
	patterns := q.host.Patterns.steering()
	for i := range q.buffer {
		page := &q.buffer[i]
		if page.Due > now || page.band(now) != band || !wanted(page) {
			continue
		}
		yield := patterns.Yield(page)
		if n := order(page, yield, now); n > most && (sunk || yield >= sunken) {
			best, most = i, n
		}
	}
	if best < 0 {
		return p, false
	}
	return popAt(q, best), true
}

// popAt takes a page out of the buffer.
func popAt(q *pageQueue, i int) Page {
	p := q.buffer[i]
	q.buffer = slices.Delete(q.buffer, i, i+1)
	return p
}

// NextPage returns the lane of the host's most urgent due page and now, or else the last band and the second at which
// the first page becomes due. The lane is -1 without pages.
func (q *pageQueue) NextPage(now epoch.Seconds) (lane int, at epoch.Seconds) {
	for band := range frontier.Bands {
		if q.has(band) {
			lane = band
			break
		}
		lane = frontier.Bands
	}
	first, patterns := epoch.Seconds(-1), q.host.Patterns.steering()
	for i := range q.buffer {
		p := &q.buffer[i]
		if p.Due <= now {
			lane = min(lane, bandOfWorth(patterns, p, now))
		} else if first < 0 || p.Due < first {
			first = p.Due
		}
	}
	if lane < frontier.Bands {
		return lane, now
	}
	for i := range q.segments {
		if s := &q.segments[i]; s.region[waiting].left > 0 && (first < 0 || s.due < first) {
			first = s.due
		}
	}
	if first < 0 {
		return -1, 0
	}
	return frontier.Bands - 1, first
}

// queueTurns is the number of pages after which the turns of a host's queue begin anew: two rounds of the bands. The
// last one explores.
const queueTurns = 2 * Turns

// TakePage takes the page of the host whose turn it is: its bands take turns like the front queues, so that no band
// starves behind the urgent ones. Of a band it takes the page with the most worth. Pages of patterns that proved
// useless come after all others, but for a turn of their own. Pages that operators requested come first. Excluded pages
// are dropped.
func (q *pageQueue) TakePage(f *Filter) (p Page, ok bool, err error) {
	if err := q.refill(waiting); err != nil {
		return p, false, err
	}
	turn := 0
	if !q.anyRequested(f, q.host.tx.seconds()) {
		explores := q.turn == queueTurns-1
		turn = BandOfTurn(q.turn)
		q.turn = (q.turn + 1) % queueTurns
		if f.all && q.host.Patterns.steers() {
			if explores {
				if p, ok, err = explore(q); ok || err != nil {
					return p, ok, err
				}
			}
			if err := lookAhead(q); err != nil {
				return p, false, err
			}
		}
	}
	for _, band := range [...]int{turn, 0, 1, 2, 3} {
		if p, ok, err = q.takeFromBuffer(f, band, false); ok || err != nil {
			return p, ok, err
		}
		for more := f.all; more && q.has(band); more = !q.anyDue(q.host.tx.seconds()) { // again when all were dropped
			if err := q.refill(band); err != nil {
				return p, false, err
			}
			if p, ok, err = q.takeFromBuffer(f, band, false); ok || err != nil {
				return p, ok, err
			}
		}
	}
	if !f.all {
		if found, err := q.extract(f); !found {
			return p, false, err
		}
	}
	for band := range frontier.Bands { // what has aged into a lower band since it was put, or proved useless
		if p, ok, err = q.takeFromBuffer(f, band, true); ok || err != nil {
			return p, ok, err
		}
	}
	return p, false, nil
}

// takeFromBuffer takes the page with the most worth of a band from the buffer, see popBand.
func (q *pageQueue) takeFromBuffer(f *Filter, band int, sunk bool) (p Page, ok bool, err error) {
	s := &q.host.tx.state
	for {
		p, ok = q.popBand(band, q.host.tx.seconds(), sunk, func(p *Page) bool { return f.Page(q.host, p) })
		if !ok || len(s.Patterns) == 0 || !s.Excludes.URL(q.host.URL(&p)) {
			return p, ok, nil
		}
		if err := q.dropped([]Page{p}, Idle); err != nil { // it can be put again when it is allowed again
			return p, false, err
		}
	}
}

// refill takes the next group of a region into the host's buffer, from its oldest segment.
func (q *pageQueue) refill(region int) error {
	for i := range q.segments {
		s := &q.segments[i]
		if s.region[region].left == 0 || region == waiting && s.due > q.host.tx.seconds() {
			continue
		}
		data, err := q.host.tx.parts.get(q.segmentKey(s.number))
		if err != nil {
			return err
		}
		group, err := s.take(data, region)
		if err != nil {
			q.dropSegment(i)
			return nil
		}
		q.buffer = append(q.buffer, group...)
		q.host.Change()
		if s.left() == 0 {
			q.host.tx.parts.set(q.segmentKey(s.number), nil)
			q.segments = slices.Delete(q.segments, i, i+1)
		}
		return nil
	}
	return nil
}

// extract takes up to maxExtract pages that match into the buffer, wherever in the segments they are. It passes over
// segments without pages that match. It reports whether it found one; otherwise what the segments say of
// their types and classes is exact afterwards, unless the transaction may load no more.
func (q *pageQueue) extract(f *Filter) (bool, error) {
	classes := q.host.classMask(f.class)
	for i := 0; i < len(q.segments); i++ {
		s := &q.segments[i]
		if !f.segment(s, classes) {
			continue
		}
		key := q.segmentKey(s.number)
		if q.host.tx.state.Full(1) && !q.host.tx.parts.loaded(key) {
			return false, nil
		}
		data, err := q.host.tx.parts.get(key)
		if err != nil {
			return false, err
		}
		pages, err := s.unread(data)
		if err != nil {
			q.dropSegment(i)
			i--
			continue
		}
		found := 0
		others := pages[:0:0]
		for _, p := range pages {
			if found < maxExtract && p.Due <= q.host.tx.seconds() && f.Page(q.host, &p) {
				q.buffer = append(q.buffer, p)
				found++
			} else {
				others = append(others, p)
			}
		}
		if found == 0 {
			if exact := (segment{types: typesOf(pages), classes: classesOf(pages)}); exact.types != s.types ||
				exact.classes != s.classes {
				s.types, s.classes = exact.types, exact.classes
				q.host.Change()
			}
			continue
		}
		q.host.Change()
		if len(others) == 0 {
			q.host.tx.parts.set(key, nil)
			q.segments = slices.Delete(q.segments, i, i+1)
		} else {
			q.replace(i, others)
		}
		return true, nil
	}
	return false, nil
}

// replace writes the pages of a host's segment again. What an earlier version wrote may make several.
func (q *pageQueue) replace(i int, pages []Page) {
	n := firstSegmentOf(pages)
	s := &q.segments[i]
	q.host.tx.parts.set(q.segmentKey(s.number), s.encode(pages[:n], q.host.tx.seconds()))
	q.segments = slices.Insert(q.segments, i+1, q.newSegments(pages[n:])...)
}

// newSegments writes pages into new segments of a host.
func (q *pageQueue) newSegments(pages []Page) (made []segment) {
	for len(pages) > 0 {
		n := firstSegmentOf(pages)
		s := segment{number: q.freeSegment()}
		q.host.tx.parts.set(q.segmentKey(s.number), s.encode(pages[:n], q.host.tx.seconds()))
		made = append(made, s)
		pages = pages[n:]
	}
	return made
}

// spill moves pages that exceed the buffer into the newest segment, or a new one. The most urgent pages stay, then
// those that become due first.
func (q *pageQueue) spill() error {
	if len(q.buffer) <= maxBuffer {
		return nil
	}
	now, patterns := q.host.tx.seconds(), q.host.Patterns.steering()
	orders := make(map[string]int, len(q.buffer))
	for i := range q.buffer {
		p := &q.buffer[i]
		orders[p.Path] = order(p, patterns.Yield(p), now)
	}
	slices.SortStableFunc(q.buffer, func(a, b Page) int {
		return cmp.Or(cmp.Compare(max(a.Due, now), max(b.Due, now)), cmp.Compare(orders[b.Path], orders[a.Path]))
	})
	over := slices.Clone(q.buffer[minBuffer:])
	q.buffer = q.buffer[:minBuffer]
	q.host.Change()
	if n := len(q.segments); n > 0 && q.segments[n-1].left()+len(over) <= maxSegment {
		last := &q.segments[n-1]
		data, err := q.host.tx.parts.get(q.segmentKey(last.number))
		if err != nil {
			return err
		}
		if len(data)+bytesOf(over) <= maxSegmentBytes {
			if pages, err := last.unread(data); err == nil {
				q.host.tx.parts.set(q.segmentKey(last.number), last.encode(append(pages, over...), now))
				return nil
			}
			q.dropSegment(n - 1)
		}
	}
	q.segments = append(q.segments, q.newSegments(over)...)
	return nil
}
