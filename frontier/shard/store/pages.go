package store

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// partTable is the table parts: the pages of hosts that wait, and the chunks of their seen-sets.
type partTable struct {
	tx      *Tx
	rows    map[int64][]byte // empty: there is no such row
	changed map[int64]bool
}

// maxThinnedSegments is the number of a host's segments from which pages may be taken; those in older ones stay.
const maxThinnedSegments = 32

// thinnedSegment is the index of the first segment of a host from which pages may be taken.
func (h *Host) thinnedSegment() int { return max(0, len(h.segments)-maxThinnedSegments) }

// Thinnable returns the pages of the host's buffer and newest segments.
func (h *Host) Thinnable() ([]Page, error) { return h.unread(h.thinnedSegment()) }

// unread returns the pages of a host's buffer and of its segments from one on.
func (h *Host) unread(first int) ([]Page, error) {
	var keys []int64
	for _, s := range h.segments[first:] {
		keys = append(keys, h.segmentKey(s.number))
	}
	if err := h.tx.parts.Load(keys); err != nil {
		return nil, err
	}
	pages := slices.Clone(h.buffer)
	for i := first; i < len(h.segments); {
		s := &h.segments[i]
		left, err := s.unread(h.tx.parts.rows[h.segmentKey(s.number)])
		if err != nil {
			h.dropSegment(i)
			continue
		}
		pages = append(pages, left...)
		i++
	}
	return pages, nil
}

// Thin drops pages that wait, by their hashes. What is left gathers in the buffer until the end of the transaction.
func (h *Host) Thin(out map[uint64]bool) error {
	pages, err := h.Thinnable()
	if err != nil {
		return err
	}
	segments := h.segments[h.thinnedSegment():]
	for i := range segments {
		h.tx.parts.set(h.segmentKey(segments[i].number), nil)
	}
	if len(segments) > 0 {
		h.nextSegment = segments[0].number // whose row is written again
	}
	h.segments = slices.Clone(h.segments[:len(h.segments)-len(segments)])
	h.grown = true
	h.buffer = slices.DeleteFunc(pages, func(p Page) bool { return out[Hash48(p.Path)] })
	h.URLs -= int64(len(out))
	h.tx.state.URLs -= int64(len(out))
	h.Change()
	return nil
}

// Empty drops the pages that wait. Entry points and what was seen stay.
func (h *Host) Empty() {
	dropped := int64(len(h.buffer))
	for i := range h.segments {
		dropped += int64(h.segments[i].left())
		h.tx.parts.set(h.segmentKey(h.segments[i].number), nil)
	}
	h.buffer, h.segments = nil, nil
	h.URLs -= dropped
	h.tx.state.URLs -= dropped
	h.places[KindPage] = place{}
	h.Change()
}

// CountDue counts what a host has that does not wait for a time of its own.
func (h *Host) CountDue(now epoch.Seconds) (due int64) {
	for i := range h.buffer {
		if h.buffer[i].Due <= now {
			due++
		}
	}
	for i := range h.segments {
		for band := range frontier.Bands {
			due += int64(h.segments[i].region[band].left)
		}
	}
	for i := range h.Entries {
		if h.Entries[i].Due <= now {
			due++
		}
	}
	return due
}

// Find reports whether a page waits in the host's queue, and when it is due, in seconds.
func (h *Host) Find(hash uint64) (found bool, due epoch.Seconds, err error) {
	is := func(p Page) bool { return Hash48(p.Path) == hash }
	if i := slices.IndexFunc(h.buffer, is); i >= 0 {
		return true, h.buffer[i].Due, nil
	}
	for i := len(h.segments) - 1; i >= 0; i-- {
		s := &h.segments[i]
		data, err := h.tx.parts.get(h.segmentKey(s.number))
		if err != nil {
			return false, 0, err
		}
		pages, err := s.unread(data)
		if err != nil {
			h.dropSegment(i)
			continue
		}
		if i := slices.IndexFunc(pages, is); i >= 0 {
			return true, pages[i].Due, nil
		}
	}
	return false, 0, nil
}

// Pages returns all pages of the host, the leased ones included.
func (h *Host) Pages() ([]Page, error) {
	waiting, err := h.unread(0)
	return append(waiting, h.Leased...), err
}

// anyDue reports whether the buffer has a page that may be fetched now.
func (h *Host) anyDue(now epoch.Seconds) bool {
	return slices.ContainsFunc(h.buffer, func(p Page) bool { return p.Due <= now })
}

// popBand takes the best of the wanted pages of a band out of the buffer.
func (h *Host) popBand(band int, now epoch.Seconds, wanted func(*Page) bool) (p Page, ok bool) {
	best, most := -1, -1
	for i := range h.buffer {
		q := &h.buffer[i]
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
	p = h.buffer[best]
	h.buffer = slices.Delete(h.buffer, best, best+1)
	return p, true
}

// NextPage returns the lane of the host's most urgent due page, or the second at which its first page becomes due.
// The lane is -1 without pages.
func (h *Host) NextPage(now epoch.Seconds) (lane int, at epoch.Seconds) {
	for band := range frontier.Bands {
		if h.has(band) {
			lane = band
			break
		}
		lane = frontier.Bands
	}
	first := epoch.Seconds(-1)
	for i := range h.buffer {
		p := &h.buffer[i]
		if p.Due <= now {
			lane = min(lane, p.band(now))
		} else if first < 0 || p.Due < first {
			first = p.Due
		}
	}
	if lane < frontier.Bands {
		return lane, now
	}
	for i := range h.segments {
		if s := &h.segments[i]; s.region[waiting].left > 0 && (first < 0 || s.due < first) {
			first = s.due
		}
	}
	if first < 0 {
		return -1, 0
	}
	return frontier.Bands - 1, first
}

// refill takes the next group of a region into the host's buffer, from its oldest segment.
func (h *Host) refill(region int) error {
	for i := range h.segments {
		s := &h.segments[i]
		if s.region[region].left == 0 || region == waiting && s.due > h.tx.seconds() {
			continue
		}
		data, err := h.tx.parts.get(h.segmentKey(s.number))
		if err != nil {
			return err
		}
		group, err := s.take(data, region)
		if err != nil {
			h.dropSegment(i)
			return nil
		}
		h.buffer = append(h.buffer, group...)
		h.Change()
		if s.left() == 0 {
			h.tx.parts.set(h.segmentKey(s.number), nil)
			h.segments = slices.Delete(h.segments, i, i+1)
		}
		return nil
	}
	return nil
}

// extract takes up to maxExtract pages that match into the buffer, wherever in the segments they are. It passes over
// segments without pages that match. It reports whether it found one; otherwise what the segments say of
// their types and classes is exact afterwards, unless the transaction may load no more.
func (h *Host) extract(f *Filter) (bool, error) {
	classes := h.classMask(f.class)
	for i := 0; i < len(h.segments); i++ {
		s := &h.segments[i]
		if s.types&f.types == 0 || s.classes != 0 && s.classes&classes == 0 {
			continue
		}
		key := h.segmentKey(s.number)
		if h.tx.full() && !h.tx.parts.loaded(key) {
			return false, nil
		}
		data, err := h.tx.parts.get(key)
		if err != nil {
			return false, err
		}
		pages, err := s.unread(data)
		if err != nil {
			h.dropSegment(i)
			i--
			continue
		}
		found := 0
		others := pages[:0:0]
		for _, p := range pages {
			if found < maxExtract && p.Due <= h.tx.seconds() && f.Page(h, &p) {
				h.buffer = append(h.buffer, p)
				found++
			} else {
				others = append(others, p)
			}
		}
		if found == 0 {
			if exact := (segment{types: typesOf(pages), classes: classesOf(pages)}); exact.types != s.types || exact.classes != s.classes {
				s.types, s.classes = exact.types, exact.classes
				h.Change()
			}
			continue
		}
		h.Change()
		if len(others) == 0 {
			h.tx.parts.set(key, nil)
			h.segments = slices.Delete(h.segments, i, i+1)
		} else {
			h.replace(i, others)
		}
		return true, nil
	}
	return false, nil
}

// replace writes the pages of a host's segment again. What an earlier version wrote may make several.
func (h *Host) replace(i int, pages []Page) {
	n := firstSegmentOf(pages)
	s := &h.segments[i]
	h.tx.parts.set(h.segmentKey(s.number), s.encode(pages[:n], h.tx.seconds()))
	h.segments = slices.Insert(h.segments, i+1, h.newSegments(pages[n:])...)
}

// newSegments writes pages into new segments of a host.
func (h *Host) newSegments(pages []Page) (made []segment) {
	for len(pages) > 0 {
		n := firstSegmentOf(pages)
		s := segment{number: h.freeSegment()}
		h.tx.parts.set(h.segmentKey(s.number), s.encode(pages[:n], h.tx.seconds()))
		made = append(made, s)
		pages = pages[n:]
	}
	return made
}

// spill moves pages that exceed the buffer into the newest segment, or a new one. The most urgent pages stay, then
// those that become due first.
func (h *Host) spill() error {
	if len(h.buffer) <= maxBuffer {
		return nil
	}
	now := h.tx.seconds()
	slices.SortStableFunc(h.buffer, func(a, b Page) int {
		return cmp.Or(cmp.Compare(max(a.Due, now), max(b.Due, now)), cmp.Compare(b.Score(now), a.Score(now)))
	})
	over := slices.Clone(h.buffer[minBuffer:])
	h.buffer = h.buffer[:minBuffer]
	h.Change()
	if n := len(h.segments); n > 0 && h.segments[n-1].left()+len(over) <= maxSegment {
		last := &h.segments[n-1]
		data, err := h.tx.parts.get(h.segmentKey(last.number))
		if err != nil {
			return err
		}
		if len(data)+bytesOf(over) <= maxSegmentBytes {
			if pages, err := last.unread(data); err == nil {
				h.tx.parts.set(h.segmentKey(last.number), last.encode(append(pages, over...), now))
				return nil
			}
			h.dropSegment(n - 1)
		}
	}
	h.segments = append(h.segments, h.newSegments(over)...)
	return nil
}
