package store

import (
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/revisit"
)

// Host is the row of a host, by what its parts are about.
type Host struct {
	ID     int64
	Name   string // with a port, if the URL has one
	Domain *Domain
	domain int64 // its id

	politeness
	failures
	hostLease
	claim

	hostCounts
	places      [Kinds]place // where it is queued, by kind
	pageQueue                // of pages that wait
	nextSegment int64        // number of the next segment of either queue
	hostSchedule
	knownURLs
	hostEntries
	hostRules

	hostRow
}

// politeness is who may send a host requests, and when.
type politeness struct {
	Excluded   bool
	Delay      time.Duration // between two requests, by its robots.txt, in whole ms
	Override   time.Duration // the delay that an operator set instead; 0 for none
	Slow       int64         // how often the delay is doubled: 429 and 503 raise it
	Calm       int64         // answers since Slow changed
	Ready      epoch.Millis  // when the next request may be sent
	Blocked    epoch.Millis  // until then an operator blocks it
	RobotsEnds epoch.Millis  // when its robots.txt expires; 0 if it was not read
	AskedAt    epoch.Millis  // the last request of a collector or a refresh that was reported
}

// failures are the last reasons for which a host did not answer.
type failures struct {
	Unresolved epoch.Millis // its name did not resolve, and is not tried again before then
	Failures   int64        // in a row: requests without an answer, and answers of a broken server
	Refusals   int64        // in a row: 401, 403 and 451
	Fault      Fault        // the last one
}

// Fault is a failed request. At is 0 if none is known.
type Fault struct {
	frontier.Fault
	hash uint64 // of its URL; 0 for another than a page or an entry point
}

// Fail keeps the last failed request, and the hash of its URL.
func (l *failures) Fail(f frontier.Fault, hash uint64) { l.Fault = Fault{f, hash} }

// Answered notes that a URL was answered since, so that the fault is not its own any more. Who was answered has read
// robots.txt.
func (f *Fault) Answered(hash uint64) {
	if f.hash == hash || f.NoRobots() {
		f.hash = 0
	}
}

// NoRobots reports whether the fault is a robots.txt that cannot be read, and nobody has read it since.
func (f *Fault) NoRobots() bool { return f.hash != 0 && f.Error == contract.ReportNoRobots }

// Of reports whether the fault is that of a URL.
func (f *Fault) Of(hash uint64) bool { return f.At > 0 && f.hash == hash }

// Shown returns the fault, or nil if none is known.
func (f *Fault) Shown() *frontier.Fault {
	if f.At == 0 {
		return nil
	}
	shown := f.Fault
	return &shown
}

// append packs a fault.
func (f *Fault) append(b []byte) []byte {
	if b = appendUint(b, f.At); f.At == 0 {
		return b
	}
	return appendString(appendUint(appendHash(b, f.hash), int64(f.Status)), f.Error)
}

func (d *decoder) fault() (f Fault) {
	if f.At = d.seconds(); f.At > 0 {
		f.hash, f.Status, f.Error = d.hash(), int(d.int()), d.string()
	}
	return f
}

// hostLease is the lease under which a scraper has a host.
type hostLease struct {
	Lease     int64 // its number; 0 when nobody has the host
	LeaseEnds epoch.Millis
	Leased    []Page   // its pages
	Asked     []uint64 // its entry points, by their hash

	LastLease int64    // the last one that ended without all reports, for about a day; 0 otherwise
	Missing   []uint64 // its items that were not reported, by their hash; nil if an earlier version did not keep them
	Passed    bool     // the host was leased again since LastLease
}

// keptLease is the time for which the items that a lease did not report are remembered.
const keptLease = epoch.Day

// Take notes that a lease has the host.
func (l *hostLease) Take(number int64, now, ends epoch.Millis) {
	l.Lease, l.LeaseEnds = number, ends
	if epoch.Millis(l.LastLease).Add(keptLease) <= now { // a lease's number is about the time at which it began
		l.LastLease, l.Missing = 0, nil
	}
	l.Passed = l.LastLease != 0
}

// Lose notes that the lease ends, and that nobody has reported the items that it still has.
func (l *hostLease) Lose() {
	l.LastLease, l.Missing, l.Passed = l.Lease, append([]uint64{}, l.Asked...), false
	for i := range l.Leased {
		l.Missing = append(l.Missing, Hash48(l.Leased[i].Path))
	}
}

// Misses reports whether a lease ended before an item of it was reported. known is false if that is so long ago, or so
// many leases, that it is not known any more.
func (l *hostLease) Misses(lease int64, hash uint64, now epoch.Millis) (missing, known bool) {
	if lease == l.LastLease {
		return slices.Contains(l.Missing, hash), l.Missing != nil
	}
	return false, lease > l.LastLease && epoch.Millis(lease).Add(keptLease) > now
}

// Arrive notes that an item of LastLease was reported late.
func (l *hostLease) Arrive(hash uint64) {
	l.Missing = slices.DeleteFunc(l.Missing, func(v uint64) bool { return v == hash })
}

// claim is the refresh that has a host.
type claim struct {
	Claim     int64        // see shard's claimOf; 0 if none has it
	ClaimEnds epoch.Millis // 0 if none has it
	ClaimedAt epoch.Millis // when this began, or the last claim ended; see listedClaim
}

// hostCounts count a host's pages.
type hostCounts struct {
	URLs    int64 // pages that are not done, the leased ones included
	Done    int64
	Failed  int64
	classes []hostClass
}

// hostSchedule is the pages of a host that are fetched again.
type hostSchedule struct {
	Schedule  pageQueue     // by when they are fetched
	Scheduled int64         // pages in Schedule, and leased from it
	Trust     revisit.Trust // in the host's lastmods
}

// hostEntries are a host's entry points.
type hostEntries struct {
	Entries       []Entry // once unpacked
	packedEntries string  // as stored, until UnpackEntries
	unpacked      bool
	Rewrite       bool // the contract might not say yet what refreshes found
}

// hostRules decide which new URLs of a host are worth fetching.
type hostRules struct {
	Rules    string        // of its robots.txt, see frontier.HostFindings
	RulesAt  epoch.Seconds // when Rules changed last; 0 if they never did
	Usage    string        // of its content, see frontier.HostFindings
	Traps    int64         // URLs that were refused as traps: by their shape, their pattern or their section
	Texts    Texts
	Copies   Copies
	Patterns Patterns
	Sections Sections

	TrapExample string // the URL of the last of Traps
}

// hostRow is the stored form of a host.
type hostRow struct {
	tx      *Tx
	changed bool
	stored  []byte // the record as it was loaded
	storedColumns
	tail string // what a later version appended to the record; kept as it is
}

// newHost returns a host without pages.
func newHost(c *Tx, id int64, name string, domain int64) *Host {
	h := &Host{ID: id, Name: name, domain: domain, hostRow: hostRow{tx: c}}
	h.pageQueue.host, h.Schedule.host, h.knownURLs.host = h, h, h
	return h
}

// Change marks the host to be written at the end of the transaction.
func (h *Host) Change() { h.changed = true }

// hostClass is a class to which pages of a host belong, with the newest date of its partitions.
type hostClass struct {
	ID  int64 // see State.Classes
	Day int64 // days since 1970
}

// place is a position in the queue. Only the pointer that agrees with its host's place counts.
type place struct {
	Queued bool
	Lane   int
	Slot   epoch.Seconds
	Types  uint32 // as the pointer says
	Class  int64
}

// Kinds of leased items.
const (
	KindPage  = iota // pages that wait for their first fetch, or were requested again
	KindEntry        // entry points
	KindVisit        // pages on the schedule, see ScheduleVisit
	Kinds
)

// hostVersion is the first byte of a host's record. A later version appends fields. Since version 5 of the shard it is
// packedVersion, and recent is a urlList, except in a host that is not verified.
const (
	hostVersion   = 1
	packedVersion = 2
)

const (
	hostExcluded = 1 << iota
	hostLeased
)

// append appends the host's record.
func (h *Host) append(b []byte) []byte {
	flags := byte(0)
	if h.Excluded {
		flags |= hostExcluded
	}
	if h.Lease != 0 {
		flags |= hostLeased
	}
	version := byte(packedVersion)
	if h.hashesOnly {
		version = hostVersion
	}
	b = append(b, version, flags)
	for _, v := range [...]int64{h.Delay.Milliseconds(), h.Override.Milliseconds(), h.Slow, h.Calm, int64(h.Ready),
		int64(h.Blocked), int64(h.RobotsEnds), int64(h.Unresolved), h.URLs, h.Done, h.Failed, int64(h.turn),
		int64(h.bits), h.nextSegment} {
		b = appendUint(b, v)
	}
	b = appendUint(b, int64(len(h.classes)))
	for _, class := range h.classes {
		b = appendUint(appendUint(b, class.ID), class.Day)
	}
	for _, p := range h.places[:KindVisit] {
		b = p.append(b)
	}
	if h.hashesOnly {
		b = appendUint(b, int64(h.recent.len()))
		for _, hash := range h.hashes() {
			b = appendHash(b, hash)
		}
	} else {
		b = append(b, 0)
	}
	b = appendUint(b, int64(len(h.segments)))
	for i := range h.segments {
		b = h.segments[i].append(b)
	}
	if h.Lease != 0 {
		b = h.appendLease(b)
	}
	b = appendPages(b, h.buffer)
	b = appendString(b, h.packEntries())
	b = appendUint(appendUint(appendUint(b, h.Claim), h.ClaimEnds), h.AskedAt)
	rewrite := int64(0)
	if h.Rewrite {
		rewrite = 1
	}
	b = appendUint(appendUint(b, rewrite), h.Traps)
	if h.hashesOnly { // as version 1 wrote it, until it is verified
		return b
	}
	unsure := int64(0)
	if h.unsure {
		unsure = 1
	}
	b = appendUint(appendUint(appendUint(b, h.Failures), h.Refusals), unsure)
	b = h.recent.append(b)
	b = appendUint(h.appendSchedule(b), h.LastLease)
	b = appendString(h.Patterns.append(h.Texts.append(b)), h.Rules)
	b = h.Copies.append(appendUint(b, h.RulesAt))
	b = appendUint(appendString(h.appendMissing(b), h.Usage), h.ClaimedAt)
	b = h.Patterns.appendClosed(h.Fault.append(appendString(h.Sections.append(b), h.TrapExample)))
	return append(b, h.tail...)
}

// appendMissing packs what LastLease has not reported.
func (l *hostLease) appendMissing(b []byte) []byte {
	passed := int64(0)
	if l.Passed {
		passed = 1
	}
	b = appendUint(b, int64(len(l.Missing))<<1|passed)
	for _, v := range l.Missing {
		b = appendHash(b, v)
	}
	return b
}

// missing unpacks what appendMissing packed.
func (d *decoder) missing(h *Host) {
	n := d.uint()
	h.Passed = n&1 == 1
	if n >>= 1; n > uint64(len(d.text)-d.at)/hashBytes {
		d.fail()
		return
	}
	h.Missing = make([]uint64, n)
	for i := range h.Missing {
		h.Missing[i] = d.hash()
	}
}

// appendSchedule packs when the host's pages are fetched again.
func (h *Host) appendSchedule(b []byte) []byte {
	b = h.places[KindVisit].append(b)
	b = appendUint(b, h.Scheduled)
	b = appendUint(b, int64(len(h.Schedule.segments)))
	for i := range h.Schedule.segments {
		b = h.Schedule.segments[i].append(b)
	}
	b = appendPages(b, h.Schedule.buffer)
	for _, v := range h.Trust.Numbers() {
		b = appendUint(b, v)
	}
	return b
}

func (d *decoder) schedule(h *Host) {
	h.places[KindVisit] = d.place()
	h.Scheduled = d.int()
	h.Schedule.segments = d.segments()
	h.Schedule.buffer = d.pages()
	var numbers [revisit.TrustNumbers]int64
	for i := range numbers {
		numbers[i] = d.int()
	}
	h.Trust = revisit.TrustOf(numbers)
}

func (d *decoder) segments() []segment {
	list := make([]segment, d.count(2+2*regions))
	for i := range list {
		list[i] = d.segment()
	}
	return list
}

// minRecent is the least number of bytes that a recent URL took before version 5.
const minRecent = hashBytes + 2

// recentPairs reads recent URLs as versions before 5 wrote them: each hash before its flags and hour.
func (d *decoder) recentPairs() (s recentURLs) {
	list := make([]recentURL, d.count(minRecent))
	for i := range list {
		hash, flags := d.hash(), d.byte()
		list[i] = recentURL{hash, knownOfRecent(uint32(flags) << hourShift)}
		list[i].At = d.int()
	}
	s.replace(list)
	return s
}

func (p place) append(b []byte) []byte {
	if !p.Queued {
		return append(b, 0)
	}
	return appendUint(appendUint(appendUint(append(b, byte(p.Lane+1)), p.Slot), int64(p.Types)), p.Class)
}

func (d *decoder) place() (p place) {
	if lane := d.byte(); lane > 0 {
		p = place{true, int(lane) - 1, d.seconds(), uint32(d.uint()), d.int()}
	}
	if p.Lane >= frontier.Lanes || p.Slot > MaxSlot {
		d.fail()
	}
	return p
}

func (h *Host) appendLease(b []byte) []byte {
	b = appendUint(appendUint(b, h.Lease), h.LeaseEnds)
	b = appendPages(b, h.Leased)
	b = appendUint(b, int64(len(h.Asked)))
	for _, v := range h.Asked {
		b = appendHash(b, v)
	}
	return b
}

func (d *decoder) lease(h *Host) {
	h.Lease, h.LeaseEnds = d.int(), d.millis()
	h.Leased = d.pages()
	h.Asked = make([]uint64, d.count(hashBytes))
	for i := range h.Asked {
		h.Asked[i] = d.hash()
	}
}

func decodeHost(id int64, name string, domain int64, record []byte) (*Host, error) {
	d := decode(record)
	h := newHost(nil, id, name, domain)
	version := d.byte()
	if version != hostVersion && version != packedVersion {
		d.fail()
	}
	flags := d.byte()
	h.Excluded = flags&hostExcluded != 0
	h.Delay, h.Override = d.span(time.Millisecond), d.span(time.Millisecond)
	var turn, bits int64
	for _, v := range [...]*int64{&h.Slow, &h.Calm, (*int64)(&h.Ready), (*int64)(&h.Blocked),
		(*int64)(&h.RobotsEnds), (*int64)(&h.Unresolved), &h.URLs, &h.Done, &h.Failed, &turn, &bits, &h.nextSegment} {
		*v = d.int()
	}
	h.turn, h.bits = int(turn%queueTurns), int(min(bits, maxBits))
	h.classes = make([]hostClass, d.count(2))
	for i := range h.classes {
		h.classes[i] = hostClass{d.int(), d.int()}
	}
	for i := range h.places[:KindVisit] {
		h.places[i] = d.place()
	}
	hashes := make([]recentURL, d.count(hashBytes)) // of version 1
	for i := range hashes {
		hashes[i].hash = d.hash()
	}
	h.recent.replace(hashes)
	h.segments = d.segments()
	if flags&hostLeased != 0 {
		d.lease(h)
	}
	h.buffer = d.pages()
	h.packedEntries = d.string()
	if checkEntries(h.packedEntries) != nil {
		d.fail()
	}
	h.Claim, h.ClaimEnds, h.AskedAt = d.int(), d.millis(), d.millis()
	h.Rewrite = d.int() != 0
	if d.at < len(d.text) {
		h.Traps = d.int()
	}
	if h.hashesOnly = d.at == len(d.text); !h.hashesOnly { // since version 2
		h.Failures, h.Refusals, h.unsure = d.int(), d.int(), d.int() != 0
		if version == packedVersion {
			h.recent = d.recent(record)
		} else {
			h.recent = d.recentPairs()
		}
		d.schedule(h)
		h.LastLease = d.int()
		if d.at < len(d.text) {
			h.Texts, h.Patterns = d.texts(), d.patterns()
		}
		if d.at < len(d.text) {
			h.Rules = d.string()
		}
		if d.at < len(d.text) {
			h.RulesAt, h.Copies = d.seconds(), d.copies()
		}
		if d.at < len(d.text) {
			d.missing(h)
		}
		if d.at < len(d.text) {
			h.Usage = d.string()
		}
		if d.at < len(d.text) {
			h.ClaimedAt = d.millis()
		}
		if d.at < len(d.text) {
			h.Sections, h.TrapExample = d.sections(), d.string()
		}
		if d.at < len(d.text) {
			h.Fault = d.fault()
		}
		if d.at < len(d.text) {
			d.closed(h.Patterns)
		}
	}
	h.tail = d.text[d.at:]
	return h, d.err
}

// Slowing down: from slowBase, doubled up to maxDoublings times, to maxSlow.
const (
	slowBase     = time.Second
	maxSlow      = time.Hour
	MaxDoublings = 12
)

// Interval returns the least time between two requests to the host.
func (h *Host) Interval() time.Duration {
	delay := h.Delay
	if h.Override > 0 {
		delay = h.Override
	}
	if h.tx != nil {
		delay = max(delay, h.tx.LeastDelay)
	}
	if h.Slow == 0 {
		return delay
	}
	return max(delay, min(min(max(delay, slowBase), maxSlow)<<min(h.Slow, MaxDoublings), maxSlow))
}

// Has reports whether a host has anything of a kind, now or later.
func Has(h *Host, kind int) bool {
	switch kind {
	case KindEntry:
		return h.places[KindEntry].Queued
	case KindVisit:
		return h.Schedule.HasPages()
	}
	return h.HasPages()
}

// DueAt returns when the host has something to fetch; 0 if it has nothing.
func (h *Host) DueAt() (at epoch.Millis) {
	for _, p := range h.places {
		if p.Queued && (at == 0 || p.Slot.Millis() < at) {
			at = max(p.Slot.Millis(), 1)
		}
	}
	return at
}

// State describes the host to an owner that must not send it requests before ready.
func (h *Host) State(ready epoch.Millis) frontier.HostState {
	return frontier.HostState{Host: h.Name, Delay: h.Interval().Milliseconds(), ReadyAt: ready, BlockedUntil: h.Blocked,
		RobotsExpires: h.RobotsEnds, Unresolved: h.Unresolved, Excluded: h.Excluded, Usage: h.Usage}
}

// Class returns the index of a class among those of the host, and adds it if it is new. Its day is that of its newest
// document. Only a collection changes the day: others put pages on days on which the domain was not collected, and
// its entry points would be refreshed for a document that does not exist. The first collection of a class overrides
// the day that others set.
func (h *Host) Class(id, day int64, collected bool) uint8 {
	for i := range h.classes {
		if h.classes[i].ID == id {
			if collected && h.wasCollected(uint8(i)) {
				day = max(h.classes[i].Day, day)
			}
			if collected {
				h.classes[i].Day = day
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

// wasCollected reports whether the host has entry points of a class, so that its day is that of a collection.
func (h *Host) wasCollected(class uint8) bool {
	if !h.unpacked {
		return h.packedEntries != ""
	}
	return slices.ContainsFunc(h.Entries, func(e Entry) bool { return e.Method != "" && e.Page.Class == class })
}

// maxHostClasses caps the classes of a host. Pages of further classes count to the first.
const maxHostClasses = 16

// entryClasses returns the ids of the classes of the host's entry points.
func (h *Host) entryClasses() []int64 {
	mask := uint16(0)
	for i := range h.Entries {
		mask |= 1 << (h.Entries[i].Class % maxHostClasses)
	}
	return h.classIDs(mask)
}

func (h *Host) classIDs(mask uint16) (ids []int64) {
	for i, class := range h.classes {
		if mask>>i&1 == 1 {
			ids = append(ids, class.ID)
		}
	}
	return ids
}

// classMask returns the bits of those of the host's classes that are wanted.
func (h *Host) classMask(wanted func(id int64) bool) (mask uint16) {
	for i, class := range h.classes {
		if wanted(class.ID) {
			mask |= 1 << i
		}
	}
	return mask
}

// LeasedPage returns the index of the page with a hash in Leased, or -1.
func (h *Host) LeasedPage(hash uint64) int {
	return slices.IndexFunc(h.Leased, func(p Page) bool { return Hash48(p.Path) == hash })
}

// URL returns the URL of one of the host's pages.
func (h *Host) URL(p *Page) string {
	return link.URL{HTTP: p.HTTP, Host: h.Name, Path: p.Path}.String()
}
