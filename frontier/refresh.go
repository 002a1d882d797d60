package frontier

import (
	"encoding/hex"
	"math/bits"
	"slices"

	"github.com/newsfork/seed-engine/contract"
)

// Bounds of one refresh.
const (
	claimTime   = 120_000 // ms for which it has its host
	claimWait   = 30_000  // ms for which it waits for its host
	maxNewPages = 1000    // that it may put
)

// RefreshRequest asks for an entry point's host, to refresh it.
type RefreshRequest struct {
	Domain string
	URL    string
	Owner  string // names one attempt
}

// Refreshing answers a RefreshRequest. Whoever was granted a refresh may ask the host for it, one request
// at a time at its delay, for Seconds; nobody else may meanwhile.
type Refreshing struct {
	Granted bool
	Over    bool  // there is nothing to do: it was refreshed meanwhile, removed or excluded
	RetryIn int64 // ms after which to ask again, when neither

	Seconds int64
	Host    HostState
	Entry   EntryState
	SHA256  string // of what it was when it was last read: the first 32 digits
	Since   int64  // ms: when it was last read, 0: it never was
	Type    string
	// Partition is the newest one of the entry point.
	Partition contract.Partition
	// Rewrite says that the contract was to be rewritten after an earlier refresh of the host, and nobody has said since
	// that it was, and that it is among the changes.
	Rewrite bool
}

// BeginRefresh gives the host of an entry point that is due to its refresh. It writes one row.
func (s *Shard) BeginRefresh(now int64, r RefreshRequest) (answer Refreshing, err error) {
	if r.Owner == "" || len(r.Owner) > maxOwner {
		return answer, contract.Invalid("owner", "an owner has 1 to %d bytes", maxOwner)
	}
	err = s.run(now, func(c *call) error {
		if err := c.sweep(); err != nil {
			return err
		}
		h, e, err := c.findEntry(r.Domain, r.URL)
		if err != nil {
			return err
		}
		if e == nil || e.due > c.seconds() || !c.owns(r.Domain) || h.excluded || c.domains[h.domain].excluded || c.state.excludes.URL(r.URL) {
			answer.Over = true
			return nil
		}
		if answer.RetryIn, err = c.refreshBusy(h); err != nil || answer.RetryIn > 0 {
			return err
		}
		answer = c.begin(h, e, r.Owner)
		return nil
	})
	return answer, err
}

// begin gives the host of an entry point to its refresh.
func (c *call) begin(h *host, e *entry, owner string) Refreshing {
	begun := Refreshing{
		Granted: true, Seconds: claimTime / 1000,
		Host:  h.state(c.freeAt(h)),
		Entry: e.state(), SHA256: e.hexDigest(), Since: e.lastRead(), Type: typeName(e.kind), Partition: c.partition(h, &e.page),
		Rewrite: h.rewrite,
	}
	e.tried = c.seconds()
	c.claim(h, owner)
	return begun
}

// claim gives a host to a refresh. One before it that was lost is forgotten but for the delay after it.
func (c *call) claim(h *host, owner string) {
	m := c.domains[h.domain]
	h.ready = m.readyFor("", h, c.now)
	h.claim, h.claimEnds = claimOf(owner), c.now+claimTime
	c.change(h)
	if m.listed {
		m.claims = append(m.claims, activeHost{h.id, h.claimEnds})
		c.changeDomain(m)
	}
	if m.refreshWaits > c.now {
		m.refreshWaits = 0
		c.changeDomain(m)
	}
}

// refreshBusy is for how many ms a host cannot be refreshed, 0 when it can be now or soon. While
// scrapers have it they get no more hosts of the domain until the refresh had its turn.
func (c *call) refreshBusy(h *host) (int64, error) {
	m := c.domains[h.domain]
	if err := c.list(m); err != nil {
		return 0, err
	}
	collector := int64(0)
	if m.owner != "" && m.ownerEnds > c.now {
		collector = m.ownerEnds
	}
	leased := int64(0)
	if h.lease != 0 {
		leased = max(h.leaseEnds, c.now+1)
	}
	if others := append(slices.Clone(m.active), m.claimed(c.now)...); len(others) >= c.settings.HostsPerDomain {
		leased = max(leased, firstEnd(others))
	}
	if leased > c.now && m.refreshWaits <= leased {
		m.refreshWaits = leased + waitGrace
		c.changeDomain(m)
	}
	until := max(collector, leased, h.claimEnds)
	if free := c.freeAt(h); free > c.now+claimWait {
		until = max(until, free)
	}
	return max(until-c.now, 0), nil
}

// claimOf is how a host's row names the owner of its refresh.
func claimOf(owner string) int64 { return int64(hash48(owner)) }

// findEntry gives an entry point with its host, nil when there is none.
func (c *call) findEntry(domain, url string) (*host, *entry, error) {
	l, ok := parse(url)
	if !ok {
		return nil, nil, contract.Invalid("url", "%.80q is not an http or https URL", url)
	}
	h, err := c.findHost(l.host)
	if err != nil || h == nil || !within(l.host, domain) {
		return nil, nil, err
	}
	if err := c.domainsOf([]*host{h}); err != nil {
		return nil, nil, err
	}
	if err := h.unpackEntries(); err != nil {
		return nil, nil, err
	}
	at := h.entry(hash48(l.path))
	if at < 0 || c.domains[h.domain].name != domain {
		return nil, nil, nil
	}
	return h, &h.entries[at], nil
}

// RefreshResult ends a refresh.
type RefreshResult struct {
	Domain string
	URL    string
	Owner  string

	// The answer. Skipped says that the entry point was not asked after all: it stays due.
	Skipped      bool
	Status       int // 0 when there was none
	ETag         string
	LastModified string
	SHA256       string // of the body, in hexadecimal
	Visit        Visit  // of the host

	Pages []NewPage // that it lists and the caller has not seen before, at most maxNewPages

	// Rewritten says that the contract was seen to be as Refreshing.Rewrite asks for.
	Rewritten bool

	// Next is the owner of another refresh that the caller would do now; "": it would not.
	Next string
}

// RefreshEnd answers a RefreshResult.
type RefreshEnd struct {
	Accepted  bool // false: the time was over, and nothing changed
	Changed   bool
	Entry     EntryState
	Interval  int64 // seconds
	DueAt     int64 // ms: when it is refreshed next
	Added     int   // pages that are new
	Announced int   // of them, those in the feed

	// Rewrite says that scrapers which go by the contract should see what became of the host's entry points.
	Rewrite bool

	// Next is what the caller is to refresh now if it asked for more: it has the host again.
	Next *NextRefresh `json:",omitempty"`
}

// NextRefresh is a refresh of another entry point of the same host, which began when the one before ended.
type NextRefresh struct {
	URL, Method string
	Refreshing
}

// EndRefresh takes the outcome of a refresh and puts what it found, in one transaction: that of a refresh
// that found nothing writes one row.
func (s *Shard) EndRefresh(now int64, r RefreshResult) (answer RefreshEnd, err error) {
	if err := checkRange("pages", len(r.Pages), 0, maxNewPages); err != nil {
		return answer, err
	}
	if r.Status != 0 {
		if err := checkRange("status", r.Status, 100, 599); err != nil {
			return answer, err
		}
	}
	if len(r.Next) > maxOwner {
		return answer, contract.Invalid("next", "an owner has 1 to %d bytes", maxOwner)
	}
	err = s.run(now, func(c *call) error {
		h, e, err := c.findEntry(r.Domain, r.URL)
		if err != nil || e == nil || h.claim != claimOf(r.Owner) || h.claimEnds <= c.now || !c.owns(r.Domain) {
			return err
		}
		answer.Accepted = true
		if err := c.unclaim(h, &r.Visit); err != nil {
			return err
		}
		if len(r.Pages) > 0 {
			p := c.newPut(r.Domain, c.partition(h, &e.page))
			p.since = e.lastRead()
			if err := p.only(r.Pages); err != nil {
				return err
			}
			answer.Added, answer.Announced = p.added, p.announced
		}
		h.rewrite = h.rewrite && !r.Rewritten
		if !r.Skipped {
			answer.Changed = c.refreshed(h, e, &r, answer.Added+answer.Announced)
			answer.Next, err = c.goOn(h, e, r.Next)
		}
		answer.Interval, answer.DueAt, answer.Entry, answer.Rewrite = e.interval, e.due*1000, e.state(), h.rewrite
		return err
	})
	return answer, err
}

// unclaim takes a host back from its refresh, with what that learned of it.
func (c *call) unclaim(h *host, v *Visit) error {
	h.claim, h.claimEnds = 0, 0
	c.change(h)
	m := c.domains[h.domain]
	c.leave(m, &m.claims, h.id)
	if v.Host = h.name; v.RobotsExpires == 0 { // only robots.txt says what the host asks for
		v.Delay = h.delay
	}
	return c.visited(m, v)
}

// refreshed records the answer of an entry point, which listed some pages that are new, and when it is asked next.
func (c *call) refreshed(h *host, e *entry, r *RefreshResult, found int) (changed bool) {
	before, was := h.nextDue(), e.state()
	if failedStatus(r.Status) { // others are counted by the tick, which writes the counters anyway
		c.state.faults++
	}
	// Many a feed is different at every request, if only by the time at which it was made.
	changed = c.check(e, &Result{Status: r.Status, ETag: r.ETag, LastModified: r.LastModified, SHA256: r.SHA256, same: found == 0})
	h.rewrite = h.rewrite || was.differs(e.state())
	c.watch(h, before)
	return changed
}

// only puts pages of a domain by themselves.
func (p *putting) only(pages []NewPage) error {
	put := Put{Domain: p.name, Pages: pages}
	p.expect(&put)
	if err := p.c.preparePuts([]*putting{p}); err != nil {
		return err
	}
	_, err := p.do(&put)
	return err
}

// goOn gives the next entry point of a host that is due to the owner that wants it, when the refresh of one has ended:
// without a message, and with one row less than by itself. Where that may not be now, the host is looked at again as soon
// as it may be asked.
func (c *call) goOn(h *host, ended *entry, owner string) (*NextRefresh, error) {
	m := c.domains[h.domain]
	e := c.first(h, ended)
	if e == nil || c.goesAt(e) > c.seconds() || c.settings.PerMinute <= 0 || h.excluded || m.excluded {
		return nil, nil
	}
	if r := &c.state.refreshing; owner != "" && e.method != MethodCollect && m.closed(c.now) == 0 && r.given < c.perTick() && c.budget() > 0 {
		busy, err := c.refreshBusy(h)
		if err != nil {
			return nil, err
		}
		if busy == 0 {
			r.count(1)
			return &NextRefresh{h.url(&e.page), e.method, c.begin(h, e, owner)}, nil
		}
	}
	c.lookAt(h, c.slot(max(c.freeAt(h), m.closed(c.now))))
	return nil, nil
}

// state describes an entry point.
func (e *entry) state() EntryState {
	return EntryState{e.method, e.interval, e.etag, e.modified, int(e.lastStatus), e.changedAt * 1000, int(e.failures), e.checks, e.due * 1000}
}

// FailuresShown is after how many checks in a row that failed the contract says so.
const FailuresShown = 3

// differs reports whether an entry point has changed so much that its contract may have to say so: it fails, or works
// again, or changes twice or half as often.
func (s EntryState) differs(now EntryState) bool {
	return (s.Failures >= FailuresShown) != (now.Failures >= FailuresShown) || bits.Len64(uint64(s.Interval)) != bits.Len64(uint64(now.Interval))
}

// lastRead is when an entry point was last seen as it was, in ms; 0 when that is not known.
func (e *entry) lastRead() int64 {
	for _, k := range slices.Backward(e.checks) {
		if !failedStatus(k.Status) {
			return k.At * 1000
		}
	}
	return 0
}

func (e *entry) hexDigest() string { return hex.EncodeToString([]byte(e.digest)) }
