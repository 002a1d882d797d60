package store

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/frontier"
)

// Pages are the parts of hosts: the pages that wait, and the chunks of the seen-set.
type Pages struct {
	tx      *Tx
	parts   map[int64][]byte // empty: there is no such row
	changed map[int64]bool
}

// maxThinnedSegments is the number of a host's segments from which pages may be taken; those in older ones stay.
const maxThinnedSegments = 32

// thinnedSegment is the index of the first segment of a host from which pages may be taken.
func (h *Host) thinnedSegment() int { return max(0, len(h.Segments)-maxThinnedSegments) }

// ThinnablePages returns the pages of a host's buffer and newest segments.
func (c *Pages) Thinnable(h *Host) ([]Page, error) { return c.unread(h, h.thinnedSegment()) }

// unread returns the pages of a host's buffer and of its segments from one on.
func (c *Pages) unread(h *Host, first int) ([]Page, error) {
	var keys []int64
	for _, s := range h.Segments[first:] {
		keys = append(keys, h.segmentKey(s.number))
	}
	if err := c.Load(keys); err != nil {
		return nil, err
	}
	pages := slices.Clone(h.Buffer)
	for i := first; i < len(h.Segments); {
		s := &h.Segments[i]
		left, err := s.unread(c.parts[h.segmentKey(s.number)])
		if err != nil {
			c.dropSegment(h, i)
			continue
		}
		pages = append(pages, left...)
		i++
	}
	return pages, nil
}

// Thin drops pages that wait, by their hashes. What is left gathers in the buffer, to be spilled.
func (c *Pages) Thin(h *Host, out map[uint64]bool) error {
	pages, err := c.Thinnable(h)
	if err != nil {
		return err
	}
	segments := h.Segments[h.thinnedSegment():]
	for i := range segments {
		c.set(h.segmentKey(segments[i].number), nil)
	}
	if len(segments) > 0 {
		h.nextSegment = segments[0].number // whose row is written again
	}
	h.Segments = slices.Clone(h.Segments[:len(h.Segments)-len(segments)])
	h.Buffer = slices.DeleteFunc(pages, func(p Page) bool { return out[Hash48(p.Path)] })
	h.URLs -= int64(len(out))
	c.tx.State.URLs -= int64(len(out))
	c.tx.Change(h)
	return nil
}

// Empty drops the pages that wait. Entry points and what was seen stay.
func (c *Pages) Empty(h *Host) {
	dropped := int64(len(h.Buffer))
	for i := range h.Segments {
		dropped += int64(h.Segments[i].left())
		c.set(h.segmentKey(h.Segments[i].number), nil)
	}
	h.Buffer, h.Segments = nil, nil
	h.URLs -= dropped
	c.tx.State.URLs -= dropped
	h.Places[KindPage] = Place{}
	c.tx.Change(h)
}

// CountDue counts what a host has that does not wait for a time of its own.
func (h *Host) CountDue(now int64) (due int64) {
	for i := range h.Buffer {
		if h.Buffer[i].Due <= now {
			due++
		}
	}
	for i := range h.Segments {
		for band := range frontier.Bands {
			due += int64(h.Segments[i].region[band].left)
		}
	}
	for i := range h.Entries {
		if h.Entries[i].Due <= now {
			due++
		}
	}
	return due
}

// FindPage looks for a page in the host's queue, and gives when it is due, in seconds.
func (c *Pages) Find(h *Host, hash uint64) (found bool, due int64, err error) {
	is := func(p Page) bool { return Hash48(p.Path) == hash }
	if i := slices.IndexFunc(h.Buffer, is); i >= 0 {
		return true, h.Buffer[i].Due, nil
	}
	for i := len(h.Segments) - 1; i >= 0; i-- {
		s := &h.Segments[i]
		data, err := c.get(h.segmentKey(s.number))
		if err != nil {
			return false, 0, err
		}
		pages, err := s.unread(data)
		if err != nil {
			c.dropSegment(h, i)
			continue
		}
		if i := slices.IndexFunc(pages, is); i >= 0 {
			return true, pages[i].Due, nil
		}
	}
	return false, 0, nil
}

// AllPages returns all pages of a host, the leased ones included.
func (c *Pages) All(h *Host) ([]Page, error) {
	waiting, err := c.unread(h, 0)
	return append(waiting, h.Leased...), err
}

// AnyDue reports whether the buffer has a page that may be fetched now.
func (h *Host) AnyDue(now int64) bool {
	return slices.ContainsFunc(h.Buffer, func(p Page) bool { return p.Due <= now })
}

// PopBand takes the best of the wanted pages of a band out of the buffer.
func (h *Host) PopBand(band int, now int64, wanted func(*Page) bool) (p Page, ok bool) {
	best, most := -1, -1
	for i := range h.Buffer {
		q := &h.Buffer[i]
		if q.Due > now || !wanted(q) {
			continue
		}
		if score := q.Score(now); score > most && bandOf(score) == band {
			best, most = i, score
		}
	}
	if best < 0 {
		return p, false
	}
	p = h.Buffer[best]
	h.Buffer = slices.Delete(h.Buffer, best, best+1)
	return p, true
}

// Prefetch loads the segments from which the next pages of hosts will come, with one statement, as long as the
// transaction may load more. It skips the segments of the other hosts.
func (c *Pages) Prefetch(hosts []*Host) error {
	var keys []int64
	for _, h := range hosts {
		band := BandOfTurn(h.Turn)
		if slices.ContainsFunc(h.Buffer, func(p Page) bool { return p.Due <= c.tx.seconds() && (p.band(c.tx.seconds()) == band || !h.Has(band)) }) {
			continue
		}
		if !h.Has(band) {
			band = slices.IndexFunc([]int{0, 1, 2, 3}, h.Has)
		}
		if i := slices.IndexFunc(h.Segments, func(s segment) bool { return band >= 0 && s.region[band].left > 0 }); i >= 0 {
			keys = append(keys, h.segmentKey(h.Segments[i].number))
		}
	}
	keys = slices.DeleteFunc(keys, func(key int64) bool { return c.loaded(key) })
	if len(keys) == 0 {
		return nil
	}
	return c.read(`SELECT key, data FROM parts WHERE key IN (SELECT key FROM (
SELECT p.key AS key, sum(length(p.data)) OVER (ORDER BY j.key) AS size FROM json_each(?1) j JOIN parts p ON p.key = j.value) WHERE size <= ?2)`,
		numbers(keys), max(maxLoaded-c.tx.loaded, 0))
}

// NextPage returns the lane of the host's most urgent due page, or the second at which its first page becomes due.
// The lane is -1 without pages.
func (h *Host) NextPage(now int64) (lane int, at int64) {
	for band := range frontier.Bands {
		if h.Has(band) {
			lane = band
			break
		}
		lane = frontier.Bands
	}
	first := int64(-1)
	for i := range h.Buffer {
		p := &h.Buffer[i]
		if p.Due <= now {
			lane = min(lane, p.band(now))
		} else if first < 0 || p.Due < first {
			first = p.Due
		}
	}
	if lane < frontier.Bands {
		return lane, now
	}
	for i := range h.Segments {
		if s := &h.Segments[i]; s.region[Waiting].left > 0 && (first < 0 || s.due < first) {
			first = s.due
		}
	}
	if first < 0 {
		return -1, 0
	}
	return frontier.Bands - 1, first
}

// Refill takes the next group of a region into the host's buffer, from its oldest segment.
func (c *Pages) Refill(h *Host, region int) error {
	for i := range h.Segments {
		s := &h.Segments[i]
		if s.region[region].left == 0 || region == Waiting && s.due > c.tx.seconds() {
			continue
		}
		data, err := c.get(h.segmentKey(s.number))
		if err != nil {
			return err
		}
		group, err := s.take(data, region)
		if err != nil {
			c.dropSegment(h, i)
			return nil
		}
		h.Buffer = append(h.Buffer, group...)
		c.tx.Change(h)
		if s.left() == 0 {
			c.set(h.segmentKey(s.number), nil)
			h.Segments = slices.Delete(h.Segments, i, i+1)
		}
		return nil
	}
	return nil
}

// Extract takes up to maxExtract pages that match into the buffer, wherever in the segments they are. It passes over
// segments without pages of the types and classes. It reports whether it found one; otherwise what the segments say of
// their types and classes is exact afterwards, unless the transaction may load no more.
func (c *Pages) Extract(h *Host, types uint32, class func(id int64) bool, wanted func(*Page) bool) (bool, error) {
	classes := h.classMask(class)
	for i := 0; i < len(h.Segments); i++ {
		s := &h.Segments[i]
		if s.types&types == 0 || s.classes != 0 && s.classes&classes == 0 {
			continue
		}
		key := h.segmentKey(s.number)
		if c.tx.Full() && !c.loaded(key) {
			return false, nil
		}
		data, err := c.get(key)
		if err != nil {
			return false, err
		}
		pages, err := s.unread(data)
		if err != nil {
			c.dropSegment(h, i)
			i--
			continue
		}
		found := 0
		others := pages[:0:0]
		for _, p := range pages {
			if found < maxExtract && p.Due <= c.tx.seconds() && wanted(&p) {
				h.Buffer = append(h.Buffer, p)
				found++
			} else {
				others = append(others, p)
			}
		}
		if found == 0 {
			if exact := (segment{types: typesOf(pages), classes: classesOf(pages)}); exact.types != s.types || exact.classes != s.classes {
				s.types, s.classes = exact.types, exact.classes
				c.tx.Change(h)
			}
			continue
		}
		c.tx.Change(h)
		if len(others) == 0 {
			c.set(key, nil)
			h.Segments = slices.Delete(h.Segments, i, i+1)
		} else {
			c.replace(h, i, others)
		}
		return true, nil
	}
	return false, nil
}

// replace writes the pages of a host's segment again. What an earlier version wrote may make several.
func (c *Pages) replace(h *Host, i int, pages []Page) {
	n := firstSegmentOf(pages)
	s := &h.Segments[i]
	c.set(h.segmentKey(s.number), s.encode(pages[:n], c.tx.seconds()))
	h.Segments = slices.Insert(h.Segments, i+1, c.segments(h, pages[n:])...)
}

// segments writes pages into new segments of a host.
func (c *Pages) segments(h *Host, pages []Page) (made []segment) {
	for len(pages) > 0 {
		n := firstSegmentOf(pages)
		s := segment{number: h.freeSegment()}
		c.set(h.segmentKey(s.number), s.encode(pages[:n], c.tx.seconds()))
		made = append(made, s)
		pages = pages[n:]
	}
	return made
}

// Spill moves pages that exceed the buffer into the newest segment, or a new one. The most urgent pages stay, then
// those that become due first.
func (c *Pages) Spill(h *Host) error {
	if len(h.Buffer) <= maxBuffer {
		return nil
	}
	now := c.tx.seconds()
	slices.SortStableFunc(h.Buffer, func(a, b Page) int {
		return cmp.Or(cmp.Compare(max(a.Due, now), max(b.Due, now)), cmp.Compare(b.Score(now), a.Score(now)))
	})
	over := slices.Clone(h.Buffer[minBuffer:])
	h.Buffer = h.Buffer[:minBuffer]
	c.tx.Change(h)
	if n := len(h.Segments); n > 0 && h.Segments[n-1].left()+len(over) <= maxSegment {
		last := &h.Segments[n-1]
		data, err := c.get(h.segmentKey(last.number))
		if err != nil {
			return err
		}
		if len(data)+bytesOf(over) <= maxSegmentBytes {
			if pages, err := last.unread(data); err == nil {
				c.set(h.segmentKey(last.number), last.encode(append(pages, over...), now))
				return nil
			}
			c.dropSegment(h, n-1)
		}
	}
	h.Segments = append(h.Segments, c.segments(h, over)...)
	return nil
}
