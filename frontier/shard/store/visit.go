package store

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/revisit"
)

// Visit holds what the next fetch of a page needs to know of the last one.
type Visit struct {
	Count     int           // of fetches
	Fetched   epoch.Seconds // last, to the minute
	Published epoch.Seconds // or first fetched, to the day
	Etag      string
	Modified  string // Last-Modified
	Digest    uint32 // first 32 bits of the digest of the text, else of the body; 0 when it is unknown
	OfText    bool   // Digest is that of the text
	History   revisit.History
	Newer     bool // a lastmod later than Fetched was seen
	Copied    bool // the last look showed the text of another page, Digest is that of the one before
}

// Why a page waits.
const (
	New       = iota // it was never fetched
	Requested        // an operator wants it again
	Redated          // its site gives it a newer date
	Scheduled        // see package revisit
)

// Bits of a visit's first byte.
const (
	visitEtag = 1 << iota
	visitModified
	visitDigest
	visitText
	visitNewer
	visitCopied
)

func (v *Visit) append(b []byte) []byte {
	flags := byte(0)
	for i, is := range [...]bool{v.Etag != "", v.Modified != "", v.Digest != 0, v.OfText, v.Newer, v.Copied} {
		if is {
			flags |= 1 << i
		}
	}
	b = append(b, flags)
	b = appendUint(b, int64(v.Count))
	b = appendUint(b, int64(v.Fetched/60))
	b = appendUint(b, int64(max(0, v.Fetched.Sub(v.Published))/epoch.Day))
	shape, factor := v.History.Bytes()
	b = append(b, shape, factor)
	if v.Etag != "" {
		b = appendString(b, v.Etag)
	}
	if v.Modified != "" {
		b = appendString(b, v.Modified)
	}
	if v.Digest != 0 {
		b = binary.BigEndian.AppendUint32(b, v.Digest)
	}
	return b
}

func (d *decoder) visit() *Visit {
	flags := d.byte()
	v := &Visit{Count: int(d.int()), OfText: flags&visitText != 0, Newer: flags&visitNewer != 0,
		Copied: flags&visitCopied != 0}
	v.Fetched = epoch.Seconds(min(d.int(), MaxSlot/60) * 60)
	v.Published = max(0, v.Fetched-epoch.StartOf(min(d.int(), epoch.Seconds(MaxSlot).Day())))
	v.History = revisit.HistoryOf(d.byte(), d.byte())
	if flags&visitEtag != 0 {
		v.Etag = d.string()
	}
	if flags&visitModified != 0 {
		v.Modified = d.string()
	}
	if flags&visitDigest != 0 {
		for range 4 {
			v.Digest = v.Digest<<8 | uint32(d.byte())
		}
	}
	return v
}

// validator returns a validator as it is kept: none if it is too long.
func validator(text string) string {
	if len(text) > maxValidator {
		return ""
	}
	return text
}

// VisitCounters is the budget of visits: fetches of pages that were fetched before, on schedule.
type VisitCounters struct {
	Scheduled int64         // pages that are to be fetched again, the leased ones included
	Made      int64         // since the beginning
	Threshold int64         // see revisit.Threshold, in millionths; 0: not set
	Hour      int64         // since 1970, of the last change of the threshold
	Demand    int64         // pages that reached the threshold since then
	Allowed   int64         // visits that may be made now, in thousandths
	AllowedAt epoch.Seconds // when that was counted
}

func (v *VisitCounters) counters() []*int64 {
	return []*int64{&v.Scheduled, &v.Made, &v.Threshold, &v.Hour, &v.Demand, &v.Allowed, (*int64)(&v.AllowedAt)}
}

func (v *VisitCounters) append(b []byte) []byte {
	for _, n := range v.counters() {
		b = appendUint(b, *n)
	}
	return b
}

func (v *VisitCounters) decode(d *decoder) {
	for _, n := range v.counters() {
		if d.at < len(d.text) { // later versions append
			*n = d.int()
		}
	}
}

// ScheduleVisit queues a page that was fetched to be fetched again at its due date. The schedule of a host is bounded:
// a page that finds it full comes back when its site dates it anew.
func (h *Host) ScheduleVisit(p Page) {
	if h.Schedule.Full() {
		return
	}
	p.Reason, p.Title, p.Tries, p.Refused = Scheduled, "", 0, 0
	h.Schedule.Enqueue(p)
	h.Scheduled++
	h.tx.state.Visits.Scheduled++
}

// PutBack queues a leased page again, where it was.
func (h *Host) PutBack(p Page) {
	if p.Reason == Scheduled {
		h.Schedule.Enqueue(p)
	} else {
		h.Enqueue(p)
	}
}

// Leave counts a leased page that is in no queue any more.
func (h *Host) Leave(p *Page) {
	h.Change()
	if p.Reason == Scheduled {
		h.Scheduled--
		h.tx.state.Visits.Scheduled--
	} else {
		h.URLs--
		h.tx.state.URLs--
	}
}

// DueVisits takes pages out of the schedule whose due date has come, and the next ones in the host's row. The caller
// puts back those that it does not lease.
func (h *Host) DueVisits(f *Filter) ([]Page, error) {
	q := &h.Schedule
	for q.dueInRow() < maxGroup { // however many others are in the row
		region := q.dueRegion()
		if region < 0 {
			break
		}
		if err := q.refill(region); err != nil {
			return nil, err
		}
	}
	var pages []Page
	q.buffer = slices.DeleteFunc(q.buffer, func(p Page) bool {
		is := f.Page(h, &p)
		if is {
			pages = append(pages, p)
		}
		return is
	})
	h.Change()
	return pages, nil
}

// dueInRow counts the pages in the host's row whose due date has come.
func (q *pageQueue) dueInRow() (n int) {
	for i := range q.buffer {
		if q.buffer[i].Due <= q.host.tx.seconds() {
			n++
		}
	}
	return n
}

// dueRegion returns a region of a segment with pages whose due date has come, or -1.
func (q *pageQueue) dueRegion() int {
	for i := range q.segments {
		s := &q.segments[i]
		for region := range s.region {
			if s.region[region].left > 0 && (region != waiting || s.due <= q.host.tx.seconds()) {
				return region
			}
		}
	}
	return -1
}

const (
	// maxSearched is the number of segments, the newest of a queue, that are searched for a page that came lately.
	maxSearched = 16
	// maxDeepSearched is the same for a page that may have come at any time: 2 MB of a host with 20,000 pages or more.
	maxDeepSearched = 4 * maxSearched
)

// TakeScheduled takes pages out of the schedule by their hashes. It reports whether it searched all of the schedule;
// otherwise those that it did not find may be there. thorough makes it search all, however much that is.
func (h *Host) TakeScheduled(hashes map[uint64]bool, thorough bool) (taken []Page, all bool, err error) {
	segments := len(h.Schedule.segments)
	if !thorough {
		segments = min(segments, maxDeepSearched)
	}
	all = segments == len(h.Schedule.segments)
	taken, err = h.Schedule.take(hashes, segments)
	h.Scheduled -= int64(len(taken))
	h.tx.state.Visits.Scheduled -= int64(len(taken))
	return taken, all || len(taken) == len(hashes), err
}

// TakeBack takes a page out of its queue as if it were leased, if it is there.
func (h *Host) TakeBack(hash uint64) (p Page, ok bool, err error) {
	for _, q := range []*pageQueue{&h.pageQueue, &h.Schedule} {
		pages, err := q.take(map[uint64]bool{hash: true}, maxSearched)
		if err != nil || len(pages) > 0 {
			return append(pages, Page{})[0], len(pages) > 0, err
		}
	}
	return p, false, nil
}

// Remove takes pages of a host out of the queue and the schedule: they are gone.
func Remove(h *Host, hashes map[uint64]bool) error {
	waiting, err := h.pageQueue.take(hashes, len(h.segments))
	if err != nil {
		return err
	}
	h.URLs -= int64(len(waiting))
	h.tx.state.URLs -= int64(len(waiting))
	scheduled, err := h.Schedule.take(hashes, len(h.Schedule.segments))
	if err != nil {
		return err
	}
	h.Scheduled -= int64(len(scheduled))
	h.tx.state.Visits.Scheduled -= int64(len(scheduled))
	for _, hash := range slices.Sorted(maps.Keys(hashes)) {
		if err := h.End(hash, Gone); err != nil {
			return err
		}
	}
	return nil
}

// Request has pages of a host, by their hashes, wait before all others, with at least the given scores (in
// thousandths). It returns those of them that do not already.
func Request(h *Host, scores map[uint64]int) (moved []uint64, err error) {
	hashes := map[uint64]bool{}
	for hash := range scores {
		hashes[hash] = true
	}
	pages, err := h.take(hashes, len(h.segments))
	for _, p := range pages {
		hash := Hash48(p.Path)
		if p.Reason != Requested || p.Due > h.tx.seconds() {
			moved = append(moved, hash)
		}
		p.Reason, p.Due, p.Tries, p.Refused = Requested, 0, 0, 0
		if score := scores[hash]; score > p.Score(h.tx.seconds()) {
			p.SetScore(score, h.tx.seconds())
		}
		h.Enqueue(p)
	}
	return moved, err
}

// Drop takes pages of a host out of the queue: they can be put again.
func Drop(h *Host, which func(path string) bool) error {
	pages, err := h.unread(0)
	if err != nil {
		return err
	}
	hashes := map[uint64]bool{}
	for i := range pages {
		if which(pages[i].Path) {
			hashes[Hash48(pages[i].Path)] = true
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	dropped, err := h.take(hashes, len(h.segments))
	if err != nil {
		return err
	}
	return h.dropped(dropped, Idle)
}

// take takes pages out of a queue by their hashes: those that it finds in the host's row and in the newest segments, up
// to a number of them. It loads maxSearched at once.
func (q *pageQueue) take(hashes map[uint64]bool, segments int) (taken []Page, err error) {
	wanted := func(p Page) bool {
		is := hashes[Hash48(p.Path)]
		if is {
			taken = append(taken, p)
		}
		return is
	}
	q.buffer = slices.DeleteFunc(q.buffer, wanted)
	q.host.Change()
	end := max(0, len(q.segments)-segments)
	for last := len(q.segments); last > end && len(taken) < len(hashes); {
		first := max(end, last-maxSearched)
		if err := q.loadSegments(first, last); err != nil {
			return nil, err
		}
		for i := last - 1; i >= first && len(taken) < len(hashes); i-- {
			q.takeFrom(i, wanted)
		}
		last = first
	}
	return taken, nil
}

// loadSegments loads segments from one on, up to another.
func (q *pageQueue) loadSegments(first, last int) error {
	var keys []int64
	for _, s := range q.segments[first:last] {
		keys = append(keys, q.segmentKey(s.number))
	}
	return q.host.tx.parts.Load(keys)
}

// takeFrom takes the wanted pages out of a loaded segment.
func (q *pageQueue) takeFrom(i int, wanted func(Page) bool) {
	s := &q.segments[i]
	key := q.segmentKey(s.number)
	pages, err := s.unread(q.host.tx.parts.rows[key])
	if err != nil {
		q.dropSegment(i)
		return
	}
	n := len(pages)
	switch pages = slices.DeleteFunc(pages, wanted); {
	case len(pages) == n:
	case len(pages) == 0:
		q.host.tx.parts.set(key, nil)
		q.segments = slices.Delete(q.segments, i, i+1)
	default:
		q.replace(i, pages)
	}
}

// Renew notes what was learnt of a page that was fetched now.
func (p *Page) Renew(now epoch.Seconds, etag, modified string, digest uint32, ofText bool) {
	if p.Visit == nil {
		p.Visit = &Visit{Published: cmp.Or(min(p.Lastmod, now), now)}
	}
	v := p.Visit
	v.Count++
	v.Fetched, v.Newer, v.Copied = now, false, false
	v.Etag, v.Modified = validator(etag), validator(modified)
	if digest != 0 {
		v.Digest, v.OfText = digest, ofText
	}
}
