package shard

import (
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// waitGrace is the time for which a domain that became free is reserved for a collector that found it busy. The
// collector's message is redelivered a little later, in a batch that might wait for a minute.
const waitGrace = 3 * time.Minute

// claimRetry is the longest wait of a collector for a refresh, before it tries again. Most refreshes take seconds, and
// none begins while a collector waits.
const claimRetry = 10 * time.Second

// Acquire leases a domain to a collector, or returns when to try again.
func (s *Shard) Acquire(now epoch.Millis, r frontier.AcquireRequest) (answer frontier.Acquired, err error) {
	if err := validateAcquire(&r); err != nil {
		return answer, err
	}
	err = s.run(now, func(c *call) error {
		if err := c.checkOwns(r.Domain); err != nil {
			return err
		}
		if err := c.sweep(); err != nil {
			return err
		}
		m, err := c.tx.MakeDomain(r.Domain)
		if err != nil {
			return err
		}
		if err := settleAll(c, r.Hosts); err != nil { // a scraper may have one of them
			return err
		}
		if answer.Excluded = m.Excluded; m.Excluded {
			return nil
		}
		answer.Evidence = m.Evidence
		if r.Unless != nil {
			if answer.Collected, err = hasContract(c, m, *r.Unless); answer.Collected || err != nil {
				return err
			}
		}
		busy, err := busyUntil(c, m, r.Owner)
		if err != nil {
			return err
		}
		m.Change()
		if busy > 0 {
			answer.RetryIn = int64(busy - c.now)
			if !r.Try {
				m.WaitEnds = max(m.WaitEnds, busy.Add(waitGrace))
			}
			return nil
		}
		answer.Granted = true
		m.LostAt = m.Lost(r.Owner, c.now)
		if m.Owner != r.Owner {
			m.Expected = nil
		}
		answer.LastOwned = max(m.Released, m.LostAt)
		m.Owner, m.OwnerEnds, m.WaitEnds = r.Owner, c.now.Add(seconds(r.Seconds)), 0
		answer.Hosts, err = hostStates(c, m, r.Hosts)
		return err
	})
	return answer, err
}

// busyUntil returns the time at which another owner's lease of the domain or of one of its hosts ends, or at which to
// look again; 0 if the domain is free.
func busyUntil(c *call, m *store.Domain, owner string) (until epoch.Millis, err error) {
	if m.Owner != "" && m.Owner != owner && m.OwnerEnds > c.now {
		return m.OwnerEnds, nil
	}
	if err := c.trackLeased(m); err != nil {
		return 0, err
	}
	ids := m.Hosts
	if m.Listed {
		ids = nil
		for _, a := range slices.Concat(m.Active, m.Claims) {
			ids = append(ids, a.ID)
		}
	}
	hosts, err := c.tx.Hosts(ids)
	for _, h := range hosts {
		if h != nil && h.Lease != 0 {
			until = max(until, h.LeaseEnds, c.now+1)
		}
		if h != nil && h.ClaimEnds > c.now { // a refresh has it
			until = max(until, min(h.ClaimEnds, c.now.Add(claimRetry)))
		}
	}
	return until, err
}

// hostStates describes hosts of a domain to its owner.
func hostStates(c *call, m *store.Domain, names []string) ([]frontier.HostState, error) {
	hosts, err := c.tx.HostsNamed(names)
	if err != nil {
		return nil, err
	}
	states := make([]frontier.HostState, len(hosts))
	for i, h := range hosts {
		if h == nil {
			if err := m.Expect(names[i]); err != nil {
				return nil, err
			}
			h = &store.Host{Name: names[i]}
			h.Delay = c.settings.Delay
		}
		states[i] = h.State(m.ReadyFor(m.Owner, h, c.now))
	}
	return states, nil
}

// Renew prolongs a collector's lease of a domain, and reports whether it still has it. A collector that has lost it
// must stop: others might be fetching from the hosts.
func (s *Shard) Renew(now epoch.Millis, domain, owner string, seconds int64) (kept bool, err error) {
	if err := frontier.CheckRange("seconds", seconds, 1, frontier.MaxOwnership); err != nil {
		return false, err
	}
	err = s.run(now, func(c *call) error {
		m, err := c.domainNamed(domain)
		if err != nil || m == nil || owner == "" || m.Owner != owner || m.OwnerEnds <= c.now || m.Excluded ||
			!c.owns(domain) {
			return err
		}
		kept = true
		if ends := c.now.Add(time.Duration(seconds) * time.Second); ends > m.OwnerEnds {
			m.OwnerEnds = ends
			m.Change()
		}
		return nil
	})
	return kept, err
}

// Release ends a collector's lease of a domain, and reports whether it still had it. If another collector has the
// domain, it only records the contracts that were rewritten.
func (s *Shard) Release(now epoch.Millis, r frontier.ReleaseRequest) (released bool, err error) {
	if err := validateAcquire(&frontier.AcquireRequest{Domain: r.Domain, Owner: r.Owner, Seconds: 1}); err != nil {
		return false, err
	}
	if err := frontier.CheckRange("hosts", len(r.Hosts), 0, frontier.MaxAcquire); err != nil {
		return false, err
	}
	if r.Evidence.At > 0 {
		if err := r.Evidence.Partition.Validate("evidence."); err != nil {
			return false, err
		}
	}
	if err := checkChanges(r.Changes); err != nil {
		return false, err
	}
	err = s.run(now, func(c *call) error {
		m, err := c.domainNamed(r.Domain)
		if err == nil && len(r.Changes) > 0 {
			if m, err = c.tx.MakeDomain(r.Domain); err == nil {
				err = contractsChanged(c, m, r.Changes)
			}
		}
		if err != nil || m == nil || m.Owner != r.Owner {
			return err
		}
		released = m.OwnerEnds > c.now
		m.Owner, m.OwnerEnds, m.Released, m.Expected = "", 0, c.now, nil
		if r.Returns > c.now && r.Returns <= c.now.Add(frontier.MaxReserved) {
			m.WaitEnds = r.Returns.Add(waitGrace)
		}
		if at := min(r.Evidence.At, c.now); at > m.Evidence.At {
			m.Evidence = frontier.Evidence{Partition: r.Evidence.Partition, At: at}
			if err := noteCollected(c, m); err != nil {
				return err
			}
		}
		m.Change()
		for i := range r.Hosts {
			if err := c.recordVisit(m, &r.Hosts[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return released, err
}

// crawlDelay returns the delay to keep for the Crawl-delay of a robots.txt, in ms.
func crawlDelay(ms int64) time.Duration { return min(millis(ms), contract.MaxObeyed) }

// recordVisit updates a host with what a collector or a refresh learned about it.
func (c *call) recordVisit(m *store.Domain, v *frontier.HostFindings) error {
	if !link.ValidHost(v.Host) || !link.Within(v.Host, m.Name) {
		return contract.Invalid("hosts", "%.80q is not a host of %s", v.Host, m.Name)
	}
	h, err := c.makeHost(m, v.Host)
	if err != nil || h == nil || h.Domain != m {
		return err
	}
	h.Change()
	if v.Usage != nil {
		if len(*v.Usage) > frontier.MaxUsage {
			return contract.Invalid("visits", "the usage of %.80q has more than %d bytes", v.Host, frontier.MaxUsage)
		}
		h.Usage = *v.Usage
	}
	if delay := min(max(crawlDelay(v.Delay), c.settings.Delay), contract.MaxObeyed); v.RobotsExpires > 0 {
		read := v.RobotsExpires != h.RobotsEnds
		h.Delay, h.RobotsEnds = delay, v.RobotsExpires
		if read && h.Fault.NoRobots() {
			h.Fault.Answered(0)
		}
		if v.Rules != nil {
			if err := setRules(c, h, *v.Rules); err != nil {
				return err
			}
		} else if read && !strings.HasPrefix(h.Rules, frontier.PartialRules) {
			h.Rules = frontier.PartialRules + h.Rules
		}
	} else { // without a new robots.txt, the delay does not shrink
		h.Delay = max(h.Delay, delay)
	}
	switch {
	case v.Unresolved && h.Unresolved <= c.now:
		h.Unresolved = c.now.Add(frontier.UnresolvedFor)
		recordFault(c, h, 0, 0, contract.ReportUnresolved)
	case !v.Unresolved && v.AskedAt > h.AskedAt: // an operator had it fetched before the hour was over
		h.Unresolved = 0
	}
	if v.AskedAt > 0 {
		if v.AskedAt <= h.AskedAt {
			return nil
		}
		h.AskedAt = min(v.AskedAt, c.now)
	}
	if v.Throttled || v.RetryAfter > 0 {
		slowDown(h)
	} else if v.AskedAt > 0 {
		calm(h)
	}
	if v.AskedAt > 0 {
		h.Ready = max(h.Ready, min(v.AskedAt, c.now).Add(h.Interval()))
	}
	if v.RetryAfter > 0 {
		h.Ready = max(h.Ready, c.now.Add(min(seconds(v.RetryAfter), contract.MaxObeyed)))
	}
	return nil
}
