package shard

import (
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Bounds of one refresh.
const (
	claimTime   = 2 * time.Minute  // for which it claims its host
	claimsTime  = 2 * claimTime    // the same, of refreshes that began together: half of them wait for the others
	claimWait   = 30 * time.Second // for which it may wait for its host after it began
	maxNewPages = 1000             // pages that it may put
)

// BeginRefresh claims the host of a due entry point for a refresh. It writes one row.
func (s *Shard) BeginRefresh(now epoch.Millis, r frontier.RefreshRequest) (answer frontier.RefreshGrant, err error) {
	if r.Owner == "" || len(r.Owner) > frontier.MaxOwner {
		return answer, contract.Invalid("owner", "an owner has 1 to %d bytes", frontier.MaxOwner)
	}
	err = s.run(now, func(c *call) error {
		if err := c.sweep(); err != nil {
			return err
		}
		answer, err = tryRefresh(c, &r, false)
		return err
	})
	return answer, err
}

// BeginRefreshes is BeginRefresh for several entry points. Together they write one row. A refresh of an invalid URL is
// over.
func (s *Shard) BeginRefreshes(now epoch.Millis, r frontier.RefreshRequests) (answer frontier.RefreshGrants,
	err error) {
	if err := frontier.CheckRange("refreshes", len(r.Refreshes), 1, contract.MaxRefreshes); err != nil {
		return answer, err
	}
	for i := range r.Refreshes {
		if owner := r.Refreshes[i].Owner; owner == "" || len(owner) > frontier.MaxOwner {
			return answer, contract.Invalid("owner", "an owner has 1 to %d bytes", frontier.MaxOwner)
		}
	}
	err = s.run(now, func(c *call) error {
		if err := c.sweep(); err != nil {
			return err
		}
		answer.Grants = make([]frontier.RefreshGrant, len(r.Refreshes))
		for i := range r.Refreshes {
			grant, err := tryRefresh(c, &r.Refreshes[i], true)
			if contract.KindOf(err) == contract.Validation {
				grant, err = frontier.RefreshGrant{Over: true}, nil
			}
			if err != nil {
				return err
			}
			answer.Grants[i] = grant
		}
		return nil
	})
	return answer, err
}

// tryRefresh begins a refresh if it is due and its host is free.
func tryRefresh(c *call, r *frontier.RefreshRequest, together bool) (answer frontier.RefreshGrant, err error) {
	h, e, err := findEntry(c, r.Domain, r.URL)
	if err != nil {
		return answer, err
	}
	if e == nil || e.Due > c.seconds() || !c.owns(r.Domain) || h.Excluded || h.Domain.Excluded ||
		c.tx.State().Excludes.URL(r.URL) {
		answer.Over = true
		return answer, nil
	}
	if answer.RetryIn, err = refreshBusy(c, h); err != nil || answer.RetryIn > 0 {
		return answer, err
	}
	return beginRefresh(c, h, e, r.Owner, together)
}

// beginRefresh claims the host of an entry point, and returns what its refresh needs.
func beginRefresh(c *call, h *store.Host, e *store.Entry, owner string, together bool) (frontier.RefreshGrant,
	error) {
	duration := claimTime
	if together {
		duration = claimsTime
	}
	begun := frontier.RefreshGrant{
		Granted: true, Seconds: int64(duration / time.Second),
		Host:  h.State(c.freeAt(h)),
		Entry: e.State(), SHA256: e.HexDigest(), Since: e.LastRead(), Type: store.TypeName(e.Kind),
		Partition: c.partition(h, &e.Page),
		Rewrite:   h.Rewrite,
	}
	e.Tried = c.seconds()
	return begun, claimHost(c, h, e, owner, c.now.Add(duration), together)
}

// claimHost claims a host for a refresh: in the list of claims, together with others, or else in its row. An earlier
// claim that was lost leaves only the delay after it.
func claimHost(c *call, h *store.Host, e *store.Entry, owner string, ends epoch.Millis, together bool) (err error) {
	m := h.Domain
	ready, listed := m.ReadyFor("", h, c.now), false
	if together && ready == h.Ready {
		if listed, err = store.ListClaim(h, claimOf(owner), store.Hash48(e.Path), ends); err != nil {
			return err
		}
	}
	if !listed {
		h.Ready = ready
		h.SetClaim(claimOf(owner), c.now, ends)
		h.Change()
	}
	if m.Listed {
		m.Claims = append(m.Claims, store.ActiveHost{ID: h.ID, Ends: h.ClaimEnds})
		m.Change()
	}
	if m.RefreshWaits > c.now {
		m.RefreshWaits = 0
		m.Change()
	}
	return nil
}

// refreshBusy returns the milliseconds for which a host cannot be refreshed; 0 if it can be now or soon. If scrapers
// have the host, no other host of its domain is leased until the refresh has had its turn.
func refreshBusy(c *call, h *store.Host) (int64, error) {
	m := h.Domain
	if err := c.trackLeased(m); err != nil {
		return 0, err
	}
	collector := epoch.Millis(0)
	if m.Owner != "" && m.OwnerEnds > c.now {
		collector = m.OwnerEnds
	}
	leased := epoch.Millis(0)
	if h.Lease != 0 {
		leased = max(h.LeaseEnds, c.now+1)
	}
	if others := append(slices.Clone(m.Active), m.Claimed(c.now)...); len(others) >= c.settings.HostsPerDomain {
		leased = max(leased, store.FirstEnd(others))
	}
	if leased > c.now && m.RefreshWaits <= leased {
		m.RefreshWaits = leased.Add(waitGrace)
		m.Change()
	}
	until := max(collector, leased, h.ClaimEnds)
	if free := c.freeAt(h); free > c.now.Add(claimWait) {
		until = max(until, free)
	}
	return max(int64(until-c.now), 0), nil
}

// claimOf returns the number that stands for the owner of a refresh in a host's row.
func claimOf(owner string) int64 { return int64(store.Hash48(owner)) }

// findEntry returns an entry point with its host; nil if not found.
func findEntry(c *call, domain, url string) (*store.Host, *store.Entry, error) {
	l, ok := link.Parse(url)
	if !ok {
		return nil, nil, contract.Invalid("url", "%.80q is not an http or https URL", url)
	}
	h, err := c.hostNamed(l.Host)
	if err != nil || h == nil || !link.Within(l.Host, domain) {
		return nil, nil, err
	}
	if err := h.UnpackEntries(); err != nil {
		return nil, nil, err
	}
	if owned, err := c.settle(h); err != nil || !owned {
		return nil, nil, err
	}
	at := h.Entry(store.Hash48(l.Path))
	if at < 0 || h.Domain.Name != domain {
		return nil, nil, nil
	}
	return h, &h.Entries[at], nil
}

// EndRefresh records the outcome of a refresh and puts the pages that it found. A refresh that found nothing writes
// one row.
func (s *Shard) EndRefresh(now epoch.Millis, r frontier.RefreshResult) (answer frontier.RefreshEnd, err error) {
	if err := frontier.CheckRange("pages", len(r.Pages), 0, maxNewPages); err != nil {
		return answer, err
	}
	if r.Status != 0 {
		if err := frontier.CheckRange("status", r.Status, 100, 599); err != nil {
			return answer, err
		}
	}
	if len(r.Next) > frontier.MaxOwner {
		return answer, contract.Invalid("next", "an owner has 1 to %d bytes", frontier.MaxOwner)
	}
	err = s.run(now, func(c *call) error {
		h, e, err := findEntry(c, r.Domain, r.URL)
		if err != nil || e == nil || h.Claim != claimOf(r.Owner) || h.ClaimEnds <= c.now || !c.owns(r.Domain) {
			return err
		}
		answer.Accepted = true
		if err := endClaim(c, h, &r.Visit); err != nil {
			return err
		}
		items := 0
		if len(r.Pages) > 0 {
			p := newPutBatch(c, r.Domain, c.partition(h, &e.Page))
			p.since = e.LastRead()
			verdicts, err := p.only(r.Pages)
			if err != nil {
				return err
			}
			answer.Added, answer.Announced = p.added, p.announced
			items = max(newItems(r.Pages, verdicts, p.since), p.announced)
		}
		h.Rewrite = h.Rewrite && !r.Rewritten
		if !r.Skipped {
			answer.Changed = recordRefresh(c, h, e, &r, items)
			answer.Next, err = nextRefresh(c, h, e, r.Next)
		}
		answer.Interval, answer.DueAt, answer.Entry, answer.Rewrite = int64(e.Interval/time.Second), e.Due.Millis(),
			e.State(), h.Rewrite
		return err
	})
	return answer, err
}

// endClaim ends the claim of a refresh, and updates the host with what the refresh learned about it.
func endClaim(c *call, h *store.Host, v *frontier.HostFindings) error {
	h.ReleaseClaim(c.now)
	h.Change()
	m := h.Domain
	removeActive(m, &m.Claims, h.ID)
	if v.Host = h.Name; v.RobotsExpires == 0 { // it has not read robots.txt, so the delay stays
		v.Delay = h.Delay.Milliseconds()
	}
	return c.recordVisit(m, v)
}

// recordRefresh records the answer of an entry point and the number of new pages that it listed, and schedules its
// next refresh.
func recordRefresh(c *call, h *store.Host, e *store.Entry, r *frontier.RefreshResult, found int) (changed bool) {
	before, was := h.NextDue(), e.State()
	if store.FailedStatus(r.Status) { // others are counted by the tick, which writes the counters anyway
		c.tx.State().Faults++
		text := ""
		if r.Visit.Unresolved {
			text = contract.ReportUnresolved
		}
		recordFault(c, h, store.Hash48(e.Path), r.Status, text)
	}
	// Many feeds differ at every request, if only by their own date, so the number of new pages counts.
	changed = c.recordCheck(e, &frontier.Result{Status: r.Status, ETag: r.ETag, LastModified: r.LastModified,
		SHA256: r.SHA256},
		found)
	h.Rewrite = h.Rewrite || shownChange(was, e.State())
	c.watch(h, before)
	return changed
}

// only prepares and performs the put of some pages.
func (p *putBatch) only(pages []frontier.NewPage) ([]frontier.Verdict, error) {
	put := frontier.Put{Domain: p.name, Pages: pages}
	p.expect(&put)
	if err := preparePuts(p.c, []*putBatch{p}); err != nil {
		return nil, err
	}
	answer, err := p.do(&put)
	return answer.Pages, err
}

// newItems counts the new pages. Refused pages count if they are dated after the last read.
func newItems(pages []frontier.NewPage, verdicts []frontier.Verdict, since epoch.Millis) (n int) {
	for i, v := range verdicts {
		if v == frontier.Accepted || v != frontier.Duplicate && pages[i].LastMod.Millis() > since {
			n++
		}
	}
	return n
}

// nextRefresh lets the owner of a refresh that ended continue with the host's next due entry point. That saves a
// message and a row. If it is not possible now, nextRefresh schedules a check of the host.
func nextRefresh(c *call, h *store.Host, ended *store.Entry, owner string) (*frontier.NextRefresh, error) {
	m := h.Domain
	e := c.firstEntry(h, ended)
	if e == nil || c.refreshableAt(e) > c.seconds() || c.settings.PerMinute <= 0 || h.Excluded || m.Excluded {
		return nil, nil
	}
	if r := &c.tx.State().Refreshing; owner != "" && e.Method != frontier.MethodCollect && m.Closed(c.now) == 0 &&
		r.Given < perTick(c) && refreshBudget(c) > 0 {
		busy, err := refreshBusy(c, h)
		if err != nil {
			return nil, err
		}
		if busy == 0 {
			r.Count(1)
			grant, err := beginRefresh(c, h, e, owner, false)
			return &frontier.NextRefresh{URL: h.URL(&e.Page), Method: e.Method, RefreshGrant: grant}, err
		}
	}
	c.scheduleCheck(h, c.slot(max(c.freeAt(h), m.Closed(c.now))))
	return nil, nil
}
