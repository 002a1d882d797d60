package shard

import (
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Lease returns URLs to fetch: of hosts that are free and past their delay, from the front queues by
// turns, the hosts that have waited longest first.
func (s *Shard) Lease(now epoch.Millis, r frontier.LeaseRequest) (lease frontier.Lease, err error) {
	if err := r.Validate(); err != nil {
		return lease, err
	}
	err = s.run(now, func(c *call) error {
		f, err := c.filter(&r)
		if err != nil {
			return err
		}
		l := newLeaser(c, &r, f)
		if f.Nothing() {
			lease = frontier.Lease{ExpiresAt: l.ends, RetryAfter: frontier.MaxRetryAfter}
			return nil
		}
		if err := c.sweep(); err != nil {
			return err
		}
		if err := l.serveAll(); err != nil {
			return err
		}
		lease, err = l.finish()
		return err
	})
	return lease, err
}

// serveAll leases what the request asks for.
func (l *leaser) serveAll() error {
	r, entries := l.request, slices.Contains(l.request.Kinds, frontier.KindEntry)
	if entries {
		if err := queueDue(l.c); err != nil {
			return err
		}
	}
	if r.Domain != "" || r.Host != "" {
		return l.serveHosts()
	}
	if entries {
		if err := l.serve(store.KindEntry, frontier.EntryLane); err != nil {
			return err
		}
	}
	if len(r.Kinds) == 0 || slices.Contains(r.Kinds, frontier.KindPage) {
		return l.servePages()
	}
	return nil
}

// leaser collects the items of one lease.
type leaser struct {
	c         *call
	request   *frontier.LeaseRequest
	queue     *store.QueueReader // of the lanes that are served
	filter    *store.Filter
	number    int64
	seal      seal // once there is an item
	ends      epoch.Millis
	items     []frontier.Item
	hosts     []int64      // ids
	again     epoch.Millis // when the first host that was passed over is free
	lanes     []int        // that were served
	fruitless int          // hosts that were examined and had no item
	partial   bool         // only a part of the lanes was read
	limit     int          // items, now
	visits    int          // that may be leased now
}

func newLeaser(c *call, r *frontier.LeaseRequest, f *store.Filter) *leaser {
	// Numbers grow with the clock, so that they are not given twice after a restore.
	number := max(c.tx.State().Lease+1, int64(c.now))
	return &leaser{c: c, request: r, filter: f, number: number, ends: c.now.Add(seconds(r.Seconds)), limit: r.Max}
}

// servePages adds new pages and visits. While new pages wait, at most a third of the items are visits.
func (l *leaser) servePages() error {
	if l.c.settings.VisitsPerDay <= 0 || l.c.tx.State().Visits.Scheduled == 0 {
		return l.serve(store.KindPage, l.filter.Lanes()...)
	}
	if err := adjustVisits(l.c); err != nil {
		return err
	}
	all := l.request.Max
	// Turns decide about the remainder: of leases of one item, every third is a visit.
	turn := int(l.c.tx.State().Turn % visitShare)
	l.visits = (all - len(l.items) + turn) / visitShare
	if l.limit = all - l.visits; l.remaining() > 0 {
		if err := l.serve(store.KindPage, l.filter.Lanes()...); err != nil {
			return err
		}
	}
	more := l.remaining() == 0 // new pages may wait
	if !more {
		l.visits = all
	}
	l.limit = min(all, len(l.items)+l.visits)
	if l.c.tx.State().Visits.Allowed >= aVisit {
		if err := l.serve(store.KindVisit, frontier.VisitLane); err != nil {
			return err
		}
	}
	if l.limit, l.visits = all, 0; more && l.remaining() > 0 {
		return l.serve(store.KindPage, l.filter.Lanes()...)
	}
	return nil
}

// serve takes hosts from lanes until the lease is full or the lanes are at their end.
func (l *leaser) serve(kind int, numbers ...int) error {
	selector, err := newSelector(l.c, numbers, l.filter, l.request.Wants(), l.remaining())
	if err != nil {
		return err
	}
	l.queue, l.lanes = selector.queue, append(l.lanes, numbers...)
	for l.remaining() > 0 && !l.spent() && !l.exhausted(kind) {
		candidates, err := selector.next(min((l.remaining()+l.request.PerHost-1)/l.request.PerHost, maxCandidates))
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
	l.partial = l.partial || l.spent() || selector.queue.Resumed()
	selector.queue.Finish(l.remaining() > 0 && l.spent())
	return nil
}

// Bounds of what one lease reads, besides the bytes that it loads.
const (
	maxCandidates = 64   // hosts that are loaded at once; the bytes are checked between two loads
	maxFruitless  = 1000 // hosts without an item for the lease
)

// spent reports whether the lease has reached these bounds.
func (l *leaser) spent() bool { return l.fruitless >= maxFruitless || l.c.tx.State().Full(1) }

// exhausted reports whether the budget has no more visits. Their hosts keep their places, which costs no row.
func (l *leaser) exhausted(kind int) bool {
	return kind == store.KindVisit && l.c.tx.State().Visits.Allowed < aVisit
}

func (l *leaser) remaining() int {
	return min(l.limit-len(l.items), l.request.Room(len(l.items), len(l.hosts)))
}

// consider leases pages of candidates. Those that are not free stay in their queue, are parked at their domain, or are
// queued for when they are.
func (l *leaser) consider(kind int, candidates []store.Candidate) error {
	ids := make([]int64, len(candidates))
	for i := range candidates {
		ids[i] = candidates[i].Host()
	}
	hosts, err := l.c.tx.Hosts(ids)
	if err != nil {
		return err
	}
	if kind != store.KindEntry && l.filter.All() {
		var free []*store.Host
		for _, h := range hosts {
			if h != nil && h.Lease == 0 && l.c.freeAt(h) <= l.c.now {
				free = append(free, h)
			}
		}
		if err := l.queue.Prefetch(free, kind); err != nil {
			return err
		}
	}
	for i, h := range hosts {
		if l.remaining() > 0 && l.spent() {
			candidates[i].Skip()
			continue
		}
		items := len(l.items)
		keep, err := l.tryHost(h, kind, &candidates[i])
		if err != nil {
			return err
		}
		if keep {
			candidates[i].Keep()
		}
		if len(l.items) == items {
			l.fruitless++
		}
	}
	return nil
}

// nearMiss is the wait up to which a host stays in its queue.
const nearMiss = 16 * time.Second

// tryHost leases pages of a host if it is free, and reports whether its pointer must stay in the queue.
func (l *leaser) tryHost(h *store.Host, kind int, at *store.Candidate) (keep bool, err error) {
	c := l.c
	if stands, err := at.Stands(h, kind); !stands || err != nil {
		return false, err // it has moved
	}
	if h.Excluded {
		h.Unqueue(kind) // it is queued again when it is allowed
		return false, nil
	}
	if h.Lease != 0 {
		l.passOver(h.LeaseEnds)
		return true, nil
	}
	if l.remaining() == 0 || l.exhausted(kind) {
		return true, nil
	}
	if free := c.freeAt(h); free > c.now {
		l.passOver(free)
		if free <= c.now.Add(nearMiss) {
			return true, nil
		}
		h.Unqueue(kind)
		return false, c.queue(h)
	}
	owned, err := c.settle(h)
	if err != nil {
		return false, err
	}
	m := h.Domain
	if !owned || kind != store.KindEntry && m.MirrorOf != "" {
		h.Unqueue(kind)
		return false, nil
	}
	available, err := l.available(m)
	if err != nil {
		return false, err
	}
	if !available {
		park(m, h, kind)
		return false, nil
	}
	return l.give(h, m, kind)
}

// available reports whether another host of a domain may be leased.
func (l *leaser) available(m *store.Domain) (bool, error) {
	if err := l.c.trackLeased(m); err != nil {
		return false, err
	}
	if l.c.availableHosts(m) > 0 {
		return true, nil
	}
	if ends := m.Closed(l.c.now); ends > 0 {
		l.passOver(ends)
	}
	return false, nil
}

// give leases items of one kind from a host, and reports whether its pointer must stay in the queue.
func (l *leaser) give(h *store.Host, m *store.Domain, kind int) (keep bool, err error) {
	switch kind {
	case store.KindEntry:
		return l.giveEntry(h, m)
	case store.KindVisit:
		return l.giveVisits(h, m)
	}
	return l.givePages(h, m)
}

func (l *leaser) passOver(until epoch.Millis) {
	if l.again == 0 || until < l.again {
		l.again = until
	}
}

// givePages leases pages of a host.
func (l *leaser) givePages(h *store.Host, m *store.Domain) (keep bool, err error) {
	c := l.c
	for range l.share(h) {
		p, ok, err := h.TakePage(l.filter)
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		h.Leased = append(h.Leased, p)
		countGiven(c, h, &p)
		l.items = append(l.items, l.item(h, m, &p, frontier.KindPage))
	}
	if len(h.Leased) > 0 {
		if err := l.addVisits(h, m); err != nil {
			return false, err
		}
		l.take(h, m, len(h.Leased))
		h.Unqueue(store.KindPage)
		return false, nil
	}
	if !l.filter.All() && h.HasPages() { // it has something, but for others
		return h.RenewPointer(), nil
	}
	h.Unqueue(store.KindPage)
	return false, c.queue(h)
}

// addVisits adds visits to the new pages of a host, if there are fewer of those than may be leased.
func (l *leaser) addVisits(h *store.Host, m *store.Domain) error {
	room := min(l.perHost(h)-len(h.Leased), l.visits)
	if room <= 0 || !h.Schedule.HasPages() {
		return nil
	}
	n, err := l.visit(h, m, room, false)
	l.visits -= n
	l.limit += n // they do not replace new pages
	return err
}

// share returns the number of pages that the lease takes from a host.
func (l *leaser) share(h *store.Host) int { return min(l.perHost(h), l.remaining()) }

// perHost returns the number of pages of a host that can be fetched one by one within the lease.
func (l *leaser) perHost(h *store.Host) int {
	n := l.request.PerHost
	if probed(h) {
		return 1
	}
	if every := h.Interval(); every > 0 {
		n = min(n, int(max(1, seconds(l.request.Seconds)/every)))
	}
	return n
}

// giveEntry leases the entry point of a host that has been due for longest.
func (l *leaser) giveEntry(h *store.Host, m *store.Domain) (keep bool, err error) {
	c := l.c
	if err := h.UnpackEntries(); err != nil {
		return false, err
	}
	best, mismatch := -1, false
	for i := range h.Entries {
		switch e := &h.Entries[i]; {
		case e.Due > c.seconds() || c.tx.State().Excludes.URL(h.URL(&e.Page)):
		case !l.filter.Page(h, &e.Page):
			mismatch = true
		case best < 0 || e.Due < h.Entries[best].Due:
			best = i
		}
	}
	if best < 0 && mismatch {
		return true, nil
	}
	h.Unqueue(store.KindEntry)
	if best < 0 {
		h.Change()
		return false, c.queue(h)
	}
	e := &h.Entries[best]
	h.Asked = append(h.Asked, store.Hash48(e.Path))
	item := l.item(h, m, &e.Page, frontier.KindEntry)
	item.Method, item.ETag, item.LastModified = e.Method, e.Etag, e.Modified
	l.items = append(l.items, item)
	l.take(h, m, 1)
	return false, nil
}

// take records that n items of a host are leased.
func (l *leaser) take(h *store.Host, m *store.Domain, n int) {
	c := l.c
	h.Take(l.number, c.now, l.ends)
	h.Change()
	l.hosts = append(l.hosts, h.ID)
	c.tx.State().Leased += int64(n)
	if m.Listed {
		m.Active = append(m.Active, store.ActiveHost{ID: h.ID, Ends: l.ends})
		m.Change()
	}
}

func (l *leaser) finish() (frontier.Lease, error) {
	c := l.c
	if len(l.items) == 0 {
		if l.partial { // other hosts may have something
			return frontier.Lease{ExpiresAt: l.ends, RetryAfter: 1}, nil
		}
		again, err := retryAfter(c, l.lanes, l.again)
		return frontier.Lease{ExpiresAt: l.ends, RetryAfter: again}, err
	}
	c.tx.State().Scraper(l.request.Scraper, c.seconds()).Leased += int64(len(l.items))
	c.tx.State().Lease = l.number
	c.tx.PutLease(l.number, l.ends, l.hosts)
	return frontier.Lease{ID: l.seal.leaseID(l.number), ExpiresAt: l.ends, Items: l.items,
		More: l.partial && l.remaining() > 0}, nil
}

// retryAfter returns the seconds until a lane has something, a host that was passed over becomes free, or a
// lease ends.
func retryAfter(c *call, lanes []int, passedOver epoch.Millis) (int64, error) {
	wait := int64(frontier.MaxRetryAfter)
	firsts := []epoch.Millis{passedOver, c.tx.State().FirstEnd}
	if len(lanes) == 0 { // of one domain or host: other leases do not matter
		firsts = firsts[:1]
	}
	for _, at := range firsts {
		if at > 0 {
			wait = min(wait, int64(at-c.now+999)/1000)
		}
	}
	for _, lane := range lanes {
		slot, err := c.tx.NextSlot(lane)
		if err != nil {
			return 0, err
		}
		if slot > 0 {
			wait = min(wait, int64(slot-c.seconds()))
		}
	}
	return max(wait, 1), nil
}

// item describes a page of a host.
func (l *leaser) item(h *store.Host, m *store.Domain, p *store.Page, kind string) frontier.Item {
	c := l.c
	if l.seal.none() {
		l.seal = c.sealOf(l.number)
	}
	item := frontier.Item{ID: l.seal.itemID(h.ID, store.Hash48(p.Path)), URL: h.URL(p), Host: h.Name, Domain: m.Name,
		Kind: kind, Type: store.TypeName(p.Kind),
		Priority: float64(store.Worth(h, p, c.seconds())) / 1000, Title: p.Title, LastMod: p.Lastmod,
		Reason: reasons[p.Reason], CrawlDelay: h.Interval().Milliseconds(),
		Partition: c.partition(h, p)}
	if h.RobotsEnds > c.now {
		item.RobotsExpires, item.RobotsPartial = h.RobotsEnds, strings.HasPrefix(h.Rules, frontier.PartialRules)
	}
	item.Signals, _ = frontier.SignalsOf(h.Rules)
	item.Usage = h.Usage
	if v := p.Visit; v != nil {
		item.Visits, item.Fetched, item.ETag, item.LastModified = v.Count, v.Fetched, v.Etag, v.Modified
	}
	return item
}

// reasons are the names of the reasons for which a page is leased.
var reasons = [...]string{store.New: "new", store.Requested: "requested", store.Redated: "lastmod",
	store.Scheduled: "revisit"}

// partition returns the partition of a page: the newest one of its class.
func (c *call) partition(h *store.Host, p *store.Page) contract.Partition {
	class := h.PageClass(p)
	return c.partitionOf(class.ID, class.Day)
}

// partitionOf returns the partition of a class and a day, in days since 1970.
func (c *call) partitionOf(class, day int64) contract.Partition {
	of := c.tx.State().ClassOf(class)
	partition := contract.Partition{Country: of.Country, Category: of.Category}
	if day > 0 {
		partition.Date = epoch.StartOf(day).Time().Format(time.DateOnly)
	}
	return partition
}

// filter returns what selects the pages of a lease.
func (c *call) filter(r *frontier.LeaseRequest) (*store.Filter, error) {
	types := uint32(0)
	for i, name := range r.Types {
		n := slices.Index(store.TypeNames, name)
		if n < 0 {
			return nil, contract.Invalid("types", "%.80q (%d) is not a content type; send types such as %q", name, i,
				store.TypeNames[1])
		}
		types |= 1 << n
	}
	f := c.tx.State().Filter(types, r.Country, r.Category)
	f.AtLeast(r.MinScore, c.seconds())
	return f, nil
}
