package frontier

import "slices"

// host is the row of a host: who may ask it and when, and its back queue.
type host struct {
	id     int64
	name   string // with a port, if the URL has one
	domain int64

	excluded   bool
	delay      int64 // ms between two requests that the host asks for
	floor      int64 // the least delay that an operator set, ms
	slow       int64 // the delay is doubled so often: 429 and 503 raise it
	calm       int64 // answers since slow changed
	ready      int64 // nobody may ask the host before, ms
	blocked    int64 // until then an operator blocked it, ms
	robotsEnds int64 // its robots.txt is to be asked for again from then on, ms; 0 when it was not asked
	unresolved int64 // its name did not resolve; it is not tried again before, ms

	lease     int64 // number of the lease that has it, 0 when none
	leaseEnds int64
	leased    []page   // pages of the lease
	asked     []uint64 // entry points of the lease, by their hash

	urls    int64 // pages that are not done, the leased ones included
	done    int64
	failed  int64
	turn    int
	classes []hostClass
	places  [kinds]place // where it is queued: for pages, for entry points

	seenBits    int
	recent      []uint64
	buffer      []page
	segments    []segment
	nextSegment int64

	packedEntries string // until entries are needed
	entries       []entry
	unpacked      bool

	claim     int64 // whose refresh has the host, see claimOf; 0 when none has
	claimEnds int64 // until when, ms; 0 when none has

	askedAt int64 // the last request of a collector or a refresh that was reported, ms

	rewrite bool // the contract may not say yet what refreshes found

	stored []byte // the record as it was loaded
	tail   string // what a later version appended to the record; kept as it is
}

// hostClass is a class to which pages of a host belong, with the newest date of its partitions.
type hostClass struct {
	id  int64 // see state.classes
	day int64 // days since 1970
}

// place is where a host is queued. Of a host's pointers in the queues only the one that agrees with
// its place counts.
type place struct {
	queued bool
	lane   int
	slot   int64
	types  uint32 // as the pointer says
	class  int64
}

// kinds of what is leased.
const (
	kindPage  = iota // fetched once
	kindEntry        // entry points, asked again and again
	kinds
)

// hostVersion is the first byte of a host's record. A later version appends fields.
const hostVersion = 1

const (
	hostExcluded = 1 << iota
	hostLeased
)

func (h *host) encode() []byte {
	flags := byte(0)
	if h.excluded {
		flags |= hostExcluded
	}
	if h.lease != 0 {
		flags |= hostLeased
	}
	b := append(make([]byte, 0, 2048), hostVersion, flags)
	for _, v := range [...]int64{h.delay, h.floor, h.slow, h.calm, h.ready, h.blocked, h.robotsEnds, h.unresolved,
		h.urls, h.done, h.failed, int64(h.turn), int64(h.seenBits), h.nextSegment} {
		b = appendUint(b, v)
	}
	b = appendUint(b, int64(len(h.classes)))
	for _, class := range h.classes {
		b = appendUint(appendUint(b, class.id), class.day)
	}
	for _, p := range h.places {
		b = p.append(b)
	}
	b = appendUint(b, int64(len(h.recent)))
	for _, v := range h.recent {
		b = appendHash(b, v)
	}
	b = appendUint(b, int64(len(h.segments)))
	for i := range h.segments {
		b = h.segments[i].append(b)
	}
	if h.lease != 0 {
		b = h.appendLease(b)
	}
	b = appendPages(b, h.buffer)
	b = appendString(b, h.packEntries())
	b = appendUint(appendUint(appendUint(b, h.claim), h.claimEnds), h.askedAt)
	rewrite := int64(0)
	if h.rewrite {
		rewrite = 1
	}
	b = appendUint(b, rewrite)
	return append(b, h.tail...)
}

func (p place) append(b []byte) []byte {
	if !p.queued {
		return append(b, 0)
	}
	return appendUint(appendUint(appendUint(append(b, byte(p.lane+1)), p.slot), int64(p.types)), p.class)
}

func (d *decoder) place() (p place) {
	if lane := d.byte(); lane > 0 {
		p = place{true, int(lane) - 1, d.int(), uint32(d.uint()), d.int()}
	}
	return p
}

func (h *host) appendLease(b []byte) []byte {
	b = appendUint(appendUint(b, h.lease), h.leaseEnds)
	b = appendPages(b, h.leased)
	b = appendUint(b, int64(len(h.asked)))
	for _, v := range h.asked {
		b = appendHash(b, v)
	}
	return b
}

func (d *decoder) lease(h *host) {
	h.lease, h.leaseEnds = d.int(), d.int()
	h.leased = d.pages()
	h.asked = make([]uint64, d.count(hashBytes))
	for i := range h.asked {
		h.asked[i] = d.hash()
	}
}

func decodeHost(id int64, name string, domain int64, record []byte) (*host, error) {
	d := decode(record)
	h := &host{id: id, name: name, domain: domain}
	if version := d.byte(); version != hostVersion {
		d.fail()
	}
	flags := d.byte()
	h.excluded = flags&hostExcluded != 0
	var turn, bits int64
	for _, v := range [...]*int64{&h.delay, &h.floor, &h.slow, &h.calm, &h.ready, &h.blocked, &h.robotsEnds, &h.unresolved,
		&h.urls, &h.done, &h.failed, &turn, &bits, &h.nextSegment} {
		*v = d.int()
	}
	h.turn, h.seenBits = int(turn%turns), int(min(bits, maxBits))
	h.classes = make([]hostClass, d.count(2))
	for i := range h.classes {
		h.classes[i] = hostClass{d.int(), d.int()}
	}
	for i := range h.places {
		h.places[i] = d.place()
	}
	h.recent = make([]uint64, d.count(hashBytes))
	for i := range h.recent {
		h.recent[i] = d.hash()
	}
	h.segments = make([]segment, d.count(2+2*regions))
	for i := range h.segments {
		h.segments[i] = d.segment()
	}
	if flags&hostLeased != 0 {
		d.lease(h)
	}
	h.buffer = d.pages()
	h.packedEntries = d.string()
	if d.at < len(d.text) { // since version 2
		h.claim, h.claimEnds = d.int(), d.int()
	}
	if d.at < len(d.text) { // since version 3
		h.askedAt = d.int()
	}
	if d.at < len(d.text) { // later in version 3
		h.rewrite = d.int() != 0
	}
	h.tail = d.text[d.at:]
	return h, d.err
}

// interval is the least time between two requests to the host, in ms.
func (h *host) interval() int64 {
	delay := max(h.delay, h.floor)
	if h.slow == 0 {
		return delay
	}
	return max(delay, min(max(delay, slowBase)<<min(h.slow, maxDoublings), maxSlow))
}

// dueAt is from when the host has something to be fetched, in ms; 0 when it has nothing.
func (h *host) dueAt() (at int64) {
	for _, p := range h.places {
		if p.queued && (at == 0 || p.slot*1000 < at) {
			at = max(p.slot*1000, 1)
		}
	}
	return at
}

// state describes the host to an owner that is not to ask it before ready.
func (h *host) state(ready int64) HostState {
	return HostState{h.name, h.interval(), ready, h.blocked, h.robotsEnds, h.unresolved, h.excluded}
}

// class gives the index of a class among those of the host, and adds it when it is new. Its day is that of
// its newest document, so only a collection moves it: of what others put it may be a day on which the
// domain was not collected, and its entry points would be refreshed for a document that does not exist. The
// first collection of a class sets its day, whatever others took it for.
func (h *host) class(id, day int64, collected bool) uint8 {
	for i := range h.classes {
		if h.classes[i].id == id {
			if collected && h.inSchedule(uint8(i)) {
				day = max(h.classes[i].day, day)
			}
			if collected {
				h.classes[i].day = day
			}
			return uint8(i)
		}
	}
	if len(h.classes) == maxHostClasses {
		return 0
	}
	h.classes = append(h.classes, hostClass{id, day})
	return uint8(len(h.classes) - 1)
}

// inSchedule reports whether the host has entry points of a class, so that its day is that of a collection.
func (h *host) inSchedule(class uint8) bool {
	if !h.unpacked {
		return h.packedEntries != ""
	}
	return slices.ContainsFunc(h.entries, func(e entry) bool { return e.method != "" && e.page.class == class })
}

// maxHostClasses is how many classes a host has; pages of further ones count to its first.
const maxHostClasses = 16

// types is the set of types of the host's pages, or of those that it had.
func (h *host) types() uint32 {
	mask := typesOf(h.buffer)
	for i := range h.segments {
		mask |= h.segments[i].types
	}
	return mask
}

// singleClass gives the host's class, or 0 when it has several.
func (h *host) singleClass() int64 {
	if len(h.classes) == 1 {
		return h.classes[0].id
	}
	return 0
}

// empty drops the pages that wait. Entry points and what was seen stay.
func (c *call) empty(h *host) {
	dropped := int64(len(h.buffer))
	for i := range h.segments {
		dropped += int64(h.segments[i].left())
		c.setPart(h.segmentKey(h.segments[i].number), nil)
	}
	h.buffer, h.segments = nil, nil
	h.urls -= dropped
	c.state.urls -= dropped
	h.places[kindPage] = place{}
	c.change(h)
}

func (h *host) leasedPage(hash uint64) int {
	return slices.IndexFunc(h.leased, func(p page) bool { return hash48(p.path) == hash })
}
