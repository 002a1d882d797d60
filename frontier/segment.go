package frontier

import (
	"cmp"
	"slices"
)

// A segment is one part of a host with up to maxSegment pages, divided into regions: one a band, and
// one for pages that wait for a time, ordered by it. A region is a sequence of groups of maxGroup
// pages that share the beginnings of their paths. The host's row says how far each region is read,
// so that taking a group writes no segment. A segment that is read to the end is deleted.
const (
	maxSegment      = 512
	maxSegmentBytes = 256 << 10
	maxGroup        = 8
	maxSegments     = 1024
	waiting         = Bands // the region of pages that wait for a time
	regions         = Bands + 1
)

// segment is the entry of a segment in its host's row.
type segment struct {
	number int64 // its part is firstSegment + number
	types  uint32
	due    int64 // of the first page of its waiting region, in seconds
	region [regions]region
}

type region struct{ offset, left int } // what is not read: from which byte, how many pages

func (s *segment) left() (n int) {
	for _, r := range s.region {
		n += r.left
	}
	return n
}

func (h *host) segmentKey(number int64) int64 {
	return h.id<<partBits | firstSegment + number
}

// freeSegment gives the number of a new segment, whose part no segment has that is still read.
func (h *host) freeSegment() int64 {
	for {
		number := h.nextSegment
		h.nextSegment = (number + 1) % (parts - firstSegment)
		if !slices.ContainsFunc(h.segments, func(s segment) bool { return s.number == number }) {
			return number
		}
	}
}

func (d *decoder) segment() (s segment) {
	s.number, s.types = d.int(), uint32(d.uint())
	for i := range s.region {
		s.region[i] = region{offset: int(d.uint() & 0xffffff), left: int(d.uint() & 0xffff)}
	}
	if s.region[waiting].left > 0 {
		s.due = d.int()
	}
	return s
}

func (s *segment) append(b []byte) []byte {
	b = appendUint(appendUint(b, s.number), int64(s.types))
	for _, r := range s.region {
		b = appendUint(appendUint(b, int64(r.offset)), int64(r.left))
	}
	if s.region[waiting].left > 0 {
		b = appendUint(b, s.due)
	}
	return b
}

// encode packs pages and fills in the segment's entry.
func (s *segment) encode(pages []page, now int64) []byte {
	var lists [regions][]page
	for _, p := range pages {
		r := waiting
		if p.due <= now {
			p.due = 0
			r = p.band(now)
		}
		lists[r] = append(lists[r], p)
	}
	slices.SortStableFunc(lists[waiting], func(a, b page) int { return cmp.Compare(a.due, b.due) })
	s.types, s.due = typesOf(pages), 0
	var data []byte
	for r, list := range lists {
		s.region[r] = region{len(data), len(list)}
		before := ""
		for i := range list {
			if i%maxGroup == 0 {
				before = ""
			}
			data = appendPage(data, &list[i], before)
			before = list[i].path
		}
	}
	if len(lists[waiting]) > 0 {
		s.due = lists[waiting][0].due
	}
	return data
}

// take reads the next group of a region.
func (s *segment) take(data []byte, number int) ([]page, error) {
	r := &s.region[number]
	if r.offset > len(data) {
		return nil, errDamaged
	}
	d := decode(data[r.offset:])
	group := make([]page, min(maxGroup, r.left))
	before := ""
	for i := range group {
		group[i] = d.page(before)
		before = group[i].path
	}
	r.offset += d.at
	r.left -= len(group)
	if number == waiting && r.left > 0 {
		next := d.page("")
		s.due = next.due
	}
	return group, d.err
}

// unread reads all that is left of a segment.
func (s *segment) unread(data []byte) ([]page, error) {
	copied := *s
	var pages []page
	for r := range copied.region {
		for copied.region[r].left > 0 {
			group, err := copied.take(data, r)
			if err != nil {
				return nil, err
			}
			pages = append(pages, group...)
		}
	}
	return pages, nil
}

// has reports whether the host has pages in a region of a segment.
func (h *host) has(region int) bool {
	return slices.ContainsFunc(h.segments, func(s segment) bool { return s.region[region].left > 0 })
}

// refill takes the next group of a region into the host's buffer, from its oldest segment.
func (c *call) refill(h *host, region int) error {
	for i := range h.segments {
		s := &h.segments[i]
		if s.region[region].left == 0 || region == waiting && s.due > c.seconds() {
			continue
		}
		data, err := c.part(h.segmentKey(s.number))
		if err != nil {
			return err
		}
		group, err := s.take(data, region)
		if err != nil {
			return err
		}
		h.buffer = append(h.buffer, group...)
		c.change(h)
		if s.left() == 0 {
			c.setPart(h.segmentKey(s.number), nil)
			h.segments = slices.Delete(h.segments, i, i+1)
		}
		return nil
	}
	return nil
}

// maxExtract is how many pages a lease with filters takes out of a segment, which it then writes.
const maxExtract = 16

// extract takes up to maxExtract pages that match into the buffer, wherever in the segments they are.
// It reports whether it found one; otherwise the segments' types are exact afterwards.
func (c *call) extract(h *host, f *filter) (bool, error) {
	for i := range h.segments {
		s := &h.segments[i]
		if s.types&f.types == 0 {
			continue
		}
		key := h.segmentKey(s.number)
		data, err := c.part(key)
		if err != nil {
			return false, err
		}
		pages, err := s.unread(data)
		if err != nil {
			return false, err
		}
		found := 0
		others := pages[:0:0]
		for _, p := range pages {
			if found < maxExtract && p.due <= c.seconds() && f.page(h, &p) {
				h.buffer = append(h.buffer, p)
				found++
			} else {
				others = append(others, p)
			}
		}
		if found == 0 {
			if mask := typesOf(pages); mask != s.types {
				s.types = mask
				c.change(h)
			}
			continue
		}
		c.change(h)
		if len(others) == 0 {
			c.setPart(key, nil)
			h.segments = slices.Delete(h.segments, i, i+1)
		} else {
			c.setPart(key, s.encode(others, c.seconds()))
		}
		return true, nil
	}
	return false, nil
}

// The buffer is what a host's row keeps of its next pages. Above maxBuffer it is cut to minBuffer.
const (
	maxBuffer = 32
	minBuffer = 16
)

// spill moves what is too much for the buffer into the newest segment, or a new one. The most urgent
// pages stay, and of those that wait for a time the first.
func (c *call) spill(h *host) error {
	if len(h.buffer) <= maxBuffer {
		return nil
	}
	now := c.seconds()
	slices.SortStableFunc(h.buffer, func(a, b page) int {
		return cmp.Or(cmp.Compare(max(a.due, now), max(b.due, now)), cmp.Compare(b.score(now), a.score(now)))
	})
	over := slices.Clone(h.buffer[minBuffer:])
	h.buffer = h.buffer[:minBuffer]
	c.change(h)
	if n := len(h.segments); n > 0 && h.segments[n-1].left()+len(over) <= maxSegment {
		last := &h.segments[n-1]
		data, err := c.part(h.segmentKey(last.number))
		if err != nil {
			return err
		}
		if len(data) < maxSegmentBytes {
			pages, err := last.unread(data)
			if err != nil {
				return err
			}
			c.setPart(h.segmentKey(last.number), last.encode(append(pages, over...), now))
			return nil
		}
	}
	for len(over) > 0 {
		n, size := 0, 0
		for n < len(over) && n < maxSegment && size < maxSegmentBytes {
			size += len(over[n].path) + len(over[n].title)
			n++
		}
		s := segment{number: h.freeSegment()}
		c.setPart(h.segmentKey(s.number), s.encode(over[:n], now))
		h.segments = append(h.segments, s)
		over = over[n:]
	}
	return nil
}
