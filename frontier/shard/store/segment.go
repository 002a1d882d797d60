package store

import (
	"cmp"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// A segment is one part of a host with up to maxSegment pages, divided into regions: one a band, and
// one for pages that wait for a time, ordered by it. A region is a sequence of groups of maxGroup
// pages that share the beginnings of their paths. The host's row says how far each region is read,
// so that taking a group writes no segment. A segment that is read to the end is deleted.
const (
	maxSegment  = 512
	maxGroup    = 8
	maxSegments = 1024
	waiting     = frontier.Bands // the region of pages that wait for a time
	regions     = frontier.Bands + 1
)

// maxSegmentBytes keeps segments small, since a lease loads one of each host. Earlier versions wrote up to 256 KB.
// It is a variable for the test of their segments.
var maxSegmentBytes = 32 << 10

// maxGroupBytes is more than a group of pages takes, and the page after it.
const maxGroupBytes = (maxGroup + 1) * (frontier.MaxURL + frontier.MaxTitle + 64)

// segment is the entry of a segment in its host's row.
type segment struct {
	number int64 // its part is firstSegment + number
	types  uint32
	// bits of its pages' classes among those of the host; 0: not known, an earlier version wrote it
	classes uint16
	due     epoch.Seconds // of the first page of its waiting region
	region  [regions]region
}

type region struct{ offset, left int } // what is not read: from which byte, how many pages

func (s *segment) left() (n int) {
	for _, r := range s.region {
		n += r.left
	}
	return n
}

func (q *pageQueue) segmentKey(number int64) int64 {
	return q.host.ID<<partBits | firstSegment + number
}

// freeSegment returns the number of a new segment, whose part no segment has that is still read.
func (q *pageQueue) freeSegment() int64 {
	for {
		number := q.host.nextSegment
		q.host.nextSegment = (number + 1) % (parts - firstSegment)
		is := func(s segment) bool { return s.number == number }
		if !slices.ContainsFunc(q.host.segments, is) && !slices.ContainsFunc(q.host.Schedule.segments, is) {
			return number
		}
	}
}

func (d *decoder) segment() (s segment) {
	if s.number = d.int(); s.number >= parts-firstSegment {
		d.fail()
	}
	kinds := d.uint()
	s.types, s.classes = uint32(kinds), uint16(kinds>>32) // earlier versions read the types of it
	for i := range s.region {
		s.region[i] = region{offset: int(d.uint() & 0xffffff), left: int(d.uint() & 0xffff)}
	}
	if s.region[waiting].left > 0 {
		s.due = d.seconds()
	}
	return s
}

func (s *segment) append(b []byte) []byte {
	b = appendUint(appendUint(b, s.number), int64(s.types)|int64(s.classes)<<32)
	for _, r := range s.region {
		b = appendUint(appendUint(b, int64(r.offset)), int64(r.left))
	}
	if s.region[waiting].left > 0 {
		b = appendUint(b, s.due)
	}
	return b
}

// encode packs pages and fills in the segment's entry.
func (s *segment) encode(pages []Page, now epoch.Seconds) []byte {
	var lists [regions][]Page
	for _, p := range pages {
		r := waiting
		if p.Due <= now {
			p.Due = 0
			r = p.band(now)
		}
		lists[r] = append(lists[r], p)
	}
	slices.SortStableFunc(lists[waiting], func(a, b Page) int {
		// neighbours share the beginnings of paths
		return cmp.Or(cmp.Compare(a.Due, b.Due), cmp.Compare(a.Path, b.Path))
	})
	s.types, s.classes, s.due = typesOf(pages), classesOf(pages), 0
	var data []byte
	for r, list := range lists {
		s.region[r] = region{len(data), len(list)}
		before := ""
		for i := range list {
			if i%maxGroup == 0 {
				before = ""
			}
			data = appendPage(data, &list[i], before)
			before = list[i].Path
		}
	}
	if len(lists[waiting]) > 0 {
		s.due = lists[waiting][0].Due
	}
	return data
}

// take reads the next group of a region.
func (s *segment) take(data []byte, number int) ([]Page, error) {
	r := &s.region[number]
	if r.offset > len(data) {
		return nil, ErrDamaged
	}
	d := decode(data[r.offset:min(len(data), r.offset+maxGroupBytes)])
	group := d.group(r.left)
	for i := range group { // a page that is leased must not hold the text of all
		group[i].Path, group[i].Title = strings.Clone(group[i].Path), strings.Clone(group[i].Title)
	}
	r.offset += d.at
	r.left -= len(group)
	if number == waiting && r.left > 0 {
		next := d.page("")
		s.due = next.Due
	}
	return group, d.err
}

// group reads the next group of a region in which left pages are not read.
func (d *decoder) group(left int) []Page {
	group := make([]Page, min(maxGroup, left))
	before := ""
	for i := range group {
		group[i] = d.page(before)
		before = group[i].Path
	}
	return group
}

// unread reads all that is left of a segment.
func (s *segment) unread(data []byte) ([]Page, error) {
	d := decode(data)
	pages := make([]Page, 0, min(s.left(), len(data)/minPage))
	for _, r := range s.region {
		if r.offset > len(data) {
			return nil, ErrDamaged
		}
		d.at = r.offset
		for left := r.left; left > 0; left -= maxGroup {
			if pages = append(pages, d.group(left)...); d.err != nil {
				return nil, d.err
			}
		}
	}
	return pages, nil
}

// bytesOf returns about how many bytes pages take in a segment.
func bytesOf(pages []Page) (size int) {
	for i := range pages {
		size += len(pages[i].Path) + len(pages[i].Title)
	}
	return size
}

// firstSegmentOf returns how many of the pages go into one segment.
func firstSegmentOf(pages []Page) (n int) {
	for size := 0; n < len(pages) && n < maxSegment && size < maxSegmentBytes; n++ {
		size += bytesOf(pages[n : n+1])
	}
	return n
}

// has reports whether the host has pages in a region of a segment.
func (q *pageQueue) has(region int) bool {
	return slices.ContainsFunc(q.segments, func(s segment) bool { return s.region[region].left > 0 })
}

// maxExtract is the number of pages a lease with filters takes out of a segment, which it then writes.
const maxExtract = 16

// The buffer is what a host's row keeps of its next pages. Above maxBuffer it is cut to minBuffer.
const (
	maxBuffer = 32
	minBuffer = 16
)
