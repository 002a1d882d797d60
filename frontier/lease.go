package frontier

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// LeaseRequest says what a scraper can take.
type LeaseRequest struct {
	Max      int   // items, 1 to MaxLease
	Seconds  int64 // until they must be reported, MinLeaseSeconds to MaxLeaseSeconds
	PerHost  int   // items of one host, 0 (1) to MaxPerHost: fetched one by one, at its delay
	Country  string
	Category string
	Types    []string // content types; none: all
	Kinds    []string // "page", "entry"; none: page
}

// Kinds of items.
const (
	KindPage  = "page"
	KindEntry = "entry"
)

// Lease is items that nobody else is given, and whose hosts nobody else may ask, until they are
// reported or the lease is over.
type Lease struct {
	ID         string
	ExpiresAt  int64 // ms
	Items      []Item
	RetryAfter int64 // seconds; when there are no items: how long there will be none
}

// Item is a URL to be fetched.
type Item struct {
	ID           string
	URL          string
	Host         string
	Domain       string
	Kind         string
	Method       string // of an entry point
	Type         string
	Priority     float64 // now
	Title        string
	LastMod      int64 // seconds; 0 when unknown
	ETag         string
	LastModified string
	CrawlDelay   int64 // ms between two requests to the host
	Partition    contract.Partition
}

// Lease gives URLs to fetch: of hosts that are free and past their delay, from the front queues by
// turns, the hosts that have waited longest first.
func (s *Shard) Lease(now int64, r LeaseRequest) (lease Lease, err error) {
	if err := r.validate(); err != nil {
		return lease, err
	}
	err = s.run(now, func(c *call) error {
		if err := c.sweep(); err != nil {
			return err
		}
		f, err := c.filter(&r)
		if err != nil {
			return err
		}
		l := c.newLessor(&r, f)
		if slices.Contains(r.Kinds, KindEntry) {
			if err := c.queueDue(); err != nil {
				return err
			}
			if err := l.serve(kindEntry, entryLane); err != nil {
				return err
			}
		}
		if len(r.Kinds) == 0 || slices.Contains(r.Kinds, KindPage) {
			if err := l.serve(kindPage, 0, 1, 2, 3); err != nil {
				return err
			}
		}
		lease, err = l.finish()
		return err
	})
	return lease, err
}

func (r *LeaseRequest) validate() error {
	if err := checkRange("max", r.Max, 1, MaxLease); err != nil {
		return err
	}
	if err := checkRange("lease_seconds", r.Seconds, MinLeaseSeconds, MaxLeaseSeconds); err != nil {
		return err
	}
	if r.PerHost = max(r.PerHost, 1); r.PerHost > MaxPerHost {
		return checkRange("per_host", r.PerHost, 1, MaxPerHost)
	}
	for _, kind := range r.Kinds {
		if kind != KindPage && kind != KindEntry {
			return contract.Invalid("kinds", "%.80q is not a kind; send %q or %q", kind, KindPage, KindEntry)
		}
	}
	return nil
}

// lessor gives out the items of one lease.
type lessor struct {
	c       *call
	request *LeaseRequest
	filter  *filter
	number  int64
	ends    int64
	items   []Item
	hosts   []byte // ids
	again   int64  // when the first host that was passed over can be asked, ms
	lanes   []int  // that were served
}

func (c *call) newLessor(r *LeaseRequest, f *filter) *lessor {
	// Numbers grow with the clock, so that they are not given twice after a restore.
	number := max(c.state.lease+1, c.now)
	return &lessor{c: c, request: r, filter: f, number: number, ends: c.now + r.Seconds*1000}
}

// serve takes hosts from lanes until the lease is full or the lanes are at their end.
func (l *lessor) serve(kind int, numbers ...int) error {
	selector, err := l.c.newSelector(numbers, l.filter, l.missing())
	if err != nil {
		return err
	}
	l.lanes = append(l.lanes, numbers...)
	for l.missing() > 0 {
		candidates, err := selector.next((l.missing() + l.request.PerHost - 1) / l.request.PerHost)
		if err != nil {
			return err
		}
		if len(candidates) == 0 {
			break
		}
		if err := l.consider(kind, candidates); err != nil {
			return err
		}
	}
	return selector.finish()
}

func (l *lessor) missing() int { return l.request.Max - len(l.items) }

// consider gives out what candidates have. The ones that cannot be asked now stay in their queue,
// are parked at their domain, or move to when they can be asked.
func (l *lessor) consider(kind int, candidates []candidate) error {
	ids := make([]int64, len(candidates))
	for i := range candidates {
		ids[i] = candidates[i].pointer.host
	}
	hosts, err := l.c.loadWithDomains(ids)
	if err != nil {
		return err
	}
	if kind == kindPage && l.filter.all {
		if err := l.c.prefetch(hosts); err != nil {
			return err
		}
	}
	for i, h := range hosts {
		keep, err := l.try(h, kind, &candidates[i])
		if err != nil {
			return err
		}
		if keep {
			candidates[i].keep()
		}
	}
	return nil
}

// nearMiss is how soon, in ms, a host must be free to stay in its queue; otherwise it moves.
const nearMiss = 16_000

// try gives out what a host has, and reports whether its pointer must stay in the queue.
func (l *lessor) try(h *host, kind int, at *candidate) (keep bool, err error) {
	c := l.c
	if h == nil || h.places[kind] != (place{true, at.lane(), at.slot(), at.pointer.types, at.pointer.class}) {
		return false, nil // it has moved
	}
	if h.excluded {
		h.places[kind] = place{} // another comes when the host is allowed again
		c.change(h)
		return false, nil
	}
	if h.lease != 0 {
		l.passOver(h.leaseEnds)
		return true, nil
	}
	if l.missing() == 0 {
		return true, nil
	}
	if free := c.freeAt(h); free > c.now {
		l.passOver(free)
		if free <= c.now+nearMiss {
			return true, nil
		}
		h.places[kind] = place{}
		c.change(h)
		return false, c.queue(h)
	}
	m := c.domains[h.domain]
	if !c.owns(m.name) || kind == kindPage && m.mirrorOf != "" {
		h.places[kind] = place{}
		c.change(h)
		return false, nil
	}
	if err := c.list(m); err != nil {
		return false, err
	}
	if c.room(m) == 0 {
		if ends := m.closed(c.now); ends > 0 {
			l.passOver(ends)
		}
		c.park(m, h, kind)
		return false, nil
	}
	if kind == kindEntry {
		return l.giveEntry(h, m)
	}
	return l.givePages(h, m)
}

func (l *lessor) passOver(until int64) {
	if l.again == 0 || until < l.again {
		l.again = until
	}
}

// givePages leases pages of a host.
func (l *lessor) givePages(h *host, m *domain) (keep bool, err error) {
	c := l.c
	types := h.types()
	for range l.share(h) {
		p, ok, err := c.pop(h, l.filter)
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		h.leased = append(h.leased, p)
		l.items = append(l.items, c.item(h, m, &p, KindPage))
	}
	if len(h.leased) > 0 {
		l.take(h, m, len(h.leased))
		h.places[kindPage] = place{}
		return false, nil
	}
	if !l.filter.all && h.types() == types && (len(h.buffer) > 0 || len(h.segments) > 0) {
		return true, nil // it has something, but for others
	}
	h.places[kindPage] = place{}
	c.change(h)
	return false, c.queue(h)
}

// share is how many pages of a host can be fetched one by one within the lease.
func (l *lessor) share(h *host) int {
	n := min(l.request.PerHost, l.missing())
	if h.slow > 0 {
		return 1
	}
	if every := h.interval(); every > 0 {
		n = min(n, int(max(1, l.request.Seconds*1000/every)))
	}
	return n
}

// giveEntry leases the entry point of a host that has been due longest.
func (l *lessor) giveEntry(h *host, m *domain) (keep bool, err error) {
	c := l.c
	if err := h.unpackEntries(); err != nil {
		return false, err
	}
	best, mismatch := -1, false
	for i := range h.entries {
		switch e := &h.entries[i]; {
		case e.due > c.seconds() || c.state.excludes.URL(h.url(&e.page)):
		case !l.filter.page(h, &e.page):
			mismatch = true
		case best < 0 || e.due < h.entries[best].due:
			best = i
		}
	}
	if best < 0 && mismatch {
		return true, nil
	}
	h.places[kindEntry] = place{}
	if best < 0 {
		c.change(h)
		return false, c.queue(h)
	}
	e := &h.entries[best]
	h.asked = append(h.asked, hash48(e.path))
	item := c.item(h, m, &e.page, KindEntry)
	item.Method, item.ETag, item.LastModified = e.method, e.etag, e.modified
	l.items = append(l.items, item)
	l.take(h, m, 1)
	return false, nil
}

// take notes that a host is leased.
func (l *lessor) take(h *host, m *domain, n int) {
	c := l.c
	h.lease, h.leaseEnds = l.number, l.ends
	c.change(h)
	l.hosts = appendID(l.hosts, h.id)
	c.state.leased += int64(n)
	if m.listed {
		m.active = append(m.active, activeHost{h.id, l.ends})
		c.changeDomain(m)
	}
}

func (l *lessor) finish() (Lease, error) {
	c := l.c
	if len(l.items) == 0 {
		again, err := c.firstSlot(l.lanes, l.again)
		return Lease{ExpiresAt: l.ends, RetryAfter: again}, err
	}
	c.state.lease = l.number
	c.leaseUntil(l.number, l.ends, l.hosts)
	return Lease{ID: strconv.FormatInt(l.number, 36), ExpiresAt: l.ends, Items: l.items}, nil
}

// maxRetryAfter is the longest time, in seconds, after which a scraper should ask again: new URLs
// may come at any time.
const maxRetryAfter = 60

// firstSlot gives in how many seconds a lane has something, what was passed over becomes free, or a
// lease may be over.
func (c *call) firstSlot(lanes []int, passedOver int64) (int64, error) {
	wait := int64(maxRetryAfter)
	for _, at := range [...]int64{passedOver, c.state.firstEnd} {
		if at > 0 {
			wait = min(wait, (at-c.now+999)/1000)
		}
	}
	for _, lane := range lanes {
		rows, err := c.db.Run(`SELECT min(key) FROM queue WHERE key BETWEEN ?1 AND ?2`, blockKey(lane, c.seconds()+1), blockKey(lane+1, 0)-1)
		if err != nil {
			return 0, err
		}
		if rows.Next() {
			if key := rows.Int(); key > 0 {
				wait = min(wait, slotOf(key)-c.seconds())
			}
		}
	}
	return max(wait, 1), nil
}

// item describes a page of a host.
func (c *call) item(h *host, m *domain, p *page, kind string) Item {
	return Item{ID: itemID(h.id, hash48(p.path)), URL: h.url(p), Host: h.name, Domain: m.name, Kind: kind, Type: typeName(p.kind),
		Priority: float64(p.score(c.seconds())) / 1000, Title: p.title, LastMod: p.lastmod, CrawlDelay: h.interval(), Partition: c.partition(h, p)}
}

// partition gives the newest partition of a page's class.
func (c *call) partition(h *host, p *page) contract.Partition {
	class := h.pageClass(p)
	return c.partitionOf(class.id, class.day)
}

// partitionOf gives the partition of a class and a day, in days since 1970.
func (c *call) partitionOf(class, day int64) contract.Partition {
	of := c.state.classOf(class)
	partition := contract.Partition{Country: of.Country, Category: of.Category}
	if day > 0 {
		partition.Date = time.Unix(day*86_400, 0).UTC().Format(time.DateOnly)
	}
	return partition
}

func itemID(host int64, hash uint64) string { return fmt.Sprintf("%010x-%012x", host, hash) }

func parseItemID(id string) (host int64, hash uint64, ok bool) {
	left, right, _ := strings.Cut(id, "-")
	if len(left) != 10 || len(right) != 12 {
		return 0, 0, false
	}
	h, err1 := strconv.ParseUint(left, 16, 40)
	hash, err2 := strconv.ParseUint(right, 16, 48)
	return int64(h), hash, err1 == nil && err2 == nil
}
