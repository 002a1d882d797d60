package frontier

import (
	"slices"

	"github.com/newsfork/seed-engine/contract"
)

// AcquireRequest asks for a registrable domain with all its hosts. Whoever has it may ask each of
// them, one request at a time, at its delay; nobody else may.
type AcquireRequest struct {
	Domain  string
	Owner   string   // names one attempt at some work; the same owner may ask again
	Seconds int64    // 1 to maxOwnership; see Renew
	Hosts   []string // about which the owner wants to know; at most maxAcquire
	Try     bool     // an owner that does without a busy domain is not waited for

	// Unless has the domain not granted where its contract in that partition is written: the answer is then Collected,
	// and nothing is. An older version grants it.
	Unless *contract.Partition `json:",omitempty"`
}

// Acquired answers an AcquireRequest.
type Acquired struct {
	Granted   bool
	Excluded  bool // an operator excluded the domain: it will not be granted
	Collected bool `json:",omitempty"` // see AcquireRequest.Unless
	// RetryIn is for how many ms somebody else has the domain, or some of its hosts. Until it has had
	// its turn the caller is counted as waiting, and no scraper is given a host of the domain.
	RetryIn int64
	// Evidence is where the last complete collection of the domain lies, granted or not.
	Evidence Evidence
	Hosts    []HostState // of the hosts that were named, in the same order
	// LastOwned is when the last owner of the domain gave it back or lost it, in ms since 1970: no collection of it
	// ended later. 0 when it had none, or the shard is of a version that does not say.
	LastOwned int64
}

// HostState is what a collector must know of a host. Times are ms since 1970, 0 when there is none.
type HostState struct {
	Host          string
	Delay         int64 // ms between two requests
	ReadyAt       int64 // not to be asked before
	BlockedUntil  int64 // by an operator
	RobotsExpires int64 // robots.txt is to be asked for from then on; 0: it never was
	Unresolved    int64 // its name did not resolve; not to be asked before
	Excluded      bool
}

// waitGrace is how long a collector that found a domain busy is waited for, in ms, after the domain
// has become free: its message is delivered a little later than that, and in a batch that may wait for a minute.
const waitGrace = 180_000

// claimLook is after how many ms a collector looks again at a host that a refresh has: most take seconds, and until the
// collector had its turn nobody else begins.
const claimLook = 10_000

// Acquire gives a domain to a collector, or says when to ask again.
func (s *Shard) Acquire(now int64, r AcquireRequest) (answer Acquired, err error) {
	if err := r.validate(); err != nil {
		return answer, err
	}
	err = s.run(now, func(c *call) error {
		if err := c.checkOwns(r.Domain); err != nil {
			return err
		}
		if err := c.sweep(); err != nil {
			return err
		}
		m, err := c.makeDomain(r.Domain)
		if err != nil {
			return err
		}
		if answer.Excluded = m.excluded; m.excluded {
			return nil
		}
		answer.Evidence = m.evidence
		if r.Unless != nil {
			if answer.Collected, err = c.hasContract(m, *r.Unless); answer.Collected || err != nil {
				return err
			}
		}
		busy, err := c.busyUntil(m, r.Owner)
		if err != nil {
			return err
		}
		c.changeDomain(m)
		if busy > 0 {
			answer.RetryIn = busy - c.now
			if !r.Try {
				m.waitEnds = max(m.waitEnds, busy+waitGrace)
			}
			return nil
		}
		answer.Granted = true
		m.lostAt = m.lost(r.Owner, c.now)
		if m.owner != r.Owner {
			m.expected = nil
		}
		answer.LastOwned = max(m.released, m.lostAt)
		m.owner, m.ownerEnds, m.waitEnds = r.Owner, c.now+r.Seconds*1000, 0
		answer.Hosts, err = c.hostStates(m, r.Hosts)
		return err
	})
	return answer, err
}

func (r *AcquireRequest) validate() error {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return err
	}
	if r.Owner == "" || len(r.Owner) > maxOwner {
		return contract.Invalid("owner", "an owner has 1 to %d bytes", maxOwner)
	}
	if err := checkRange("hosts", len(r.Hosts), 0, maxAcquire); err != nil {
		return err
	}
	for _, host := range r.Hosts {
		if !checkHost(host) || !within(host, r.Domain) {
			return contract.Invalid("hosts", "%.80q is not a host of %s", host, r.Domain)
		}
	}
	return checkRange("seconds", r.Seconds, 1, maxOwnership)
}

// busyUntil gives until when somebody else has the domain, or one of its hosts, in ms, or when to look again; 0 when nobody
// has.
func (c *call) busyUntil(m *domain, owner string) (until int64, err error) {
	if m.owner != "" && m.owner != owner && m.ownerEnds > c.now {
		return m.ownerEnds, nil
	}
	if err := c.list(m); err != nil {
		return 0, err
	}
	ids := m.hosts
	if m.listed {
		ids = nil
		for _, a := range slices.Concat(m.active, m.claims) {
			ids = append(ids, a.id)
		}
	}
	hosts, err := c.loadHosts(ids)
	for _, h := range hosts {
		if h != nil && h.lease != 0 {
			until = max(until, h.leaseEnds, c.now+1)
		}
		if h != nil && h.claimEnds > c.now { // a refresh has it
			until = max(until, min(h.claimEnds, c.now+claimLook))
		}
	}
	return until, err
}

// hostStates describes hosts of a domain to its owner.
func (c *call) hostStates(m *domain, names []string) ([]HostState, error) {
	hosts, ids, err := c.findHosts(names)
	if err != nil {
		return nil, err
	}
	states := make([]HostState, len(hosts))
	for i, h := range hosts {
		if h == nil {
			m.expect(ids[i])
			h = &host{name: names[i], delay: c.settings.Delay}
		}
		states[i] = h.state(m.readyFor(m.owner, h, c.now))
	}
	return states, nil
}

// Renew prolongs a collector's time and reports whether it still has the domain. One that has lost
// it must stop: others may be asking the hosts by now.
func (s *Shard) Renew(now int64, domain, owner string, seconds int64) (kept bool, err error) {
	if err := checkRange("seconds", seconds, 1, maxOwnership); err != nil {
		return false, err
	}
	err = s.run(now, func(c *call) error {
		m, _, err := c.findDomain(domain)
		if err != nil || m == nil || owner == "" || m.owner != owner || m.ownerEnds <= c.now || m.excluded || !c.owns(domain) {
			return err
		}
		kept = true
		if ends := c.now + seconds*1000; ends > m.ownerEnds {
			m.ownerEnds = ends
			c.changeDomain(m)
		}
		return nil
	})
	return kept, err
}

// ReleaseRequest gives a domain back, with what the collector has learned of its hosts.
type ReleaseRequest struct {
	Domain string
	Owner  string
	Hosts  []Visit

	// Evidence is where the collection lies that has just become complete; zero when none has.
	Evidence Evidence
	// Changes are contracts of the domain that were rewritten, as Changed takes them, whoever has the domain now.
	Changes []Change `json:",omitempty"`
}

// Visit is what a collector learned of a host.
type Visit struct {
	Host          string
	Delay         int64 // ms that its robots.txt asks for, 0: the default. It is never shortened.
	AskedAt       int64 // ms since 1970, of the last request; 0: it was not asked. The same visit reported twice counts once.
	RetryAfter    int64 // seconds that the last answer asked to wait
	Throttled     bool  // its last answer was 429 or 503
	RobotsExpires int64 // ms since 1970; 0: robots.txt was not asked for
	Unresolved    bool  // its name does not resolve
}

// Release lets others ask the hosts of a domain again, and reports whether the owner still had it.
// When another has taken it since, nothing changes but the contracts that were rewritten.
func (s *Shard) Release(now int64, r ReleaseRequest) (released bool, err error) {
	if err := (&AcquireRequest{Domain: r.Domain, Owner: r.Owner, Seconds: 1}).validate(); err != nil {
		return false, err
	}
	if err := checkRange("hosts", len(r.Hosts), 0, maxAcquire); err != nil {
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
		m, _, err := c.findDomain(r.Domain)
		if err == nil && len(r.Changes) > 0 {
			if m, err = c.makeDomain(r.Domain); err == nil {
				err = c.contractsChanged(m, r.Changes)
			}
		}
		if err != nil || m == nil || m.owner != r.Owner {
			return err
		}
		released = m.ownerEnds > c.now
		m.owner, m.ownerEnds, m.released, m.expected = "", 0, c.now, nil
		if at := min(r.Evidence.At, c.now); at > m.evidence.At {
			m.evidence = Evidence{r.Evidence.Partition, at}
		}
		c.changeDomain(m)
		for i := range r.Hosts {
			if err := c.visited(m, &r.Hosts[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return released, err
}

// visited keeps what a collector learned of a host.
func (c *call) visited(m *domain, v *Visit) error {
	if !checkHost(v.Host) || !within(v.Host, m.name) {
		return contract.Invalid("hosts", "%.80q is not a host of %s", v.Host, m.name)
	}
	h, err := c.makeHost(m, v.Host)
	if err != nil || h == nil || h.domain != m.id {
		return err
	}
	c.change(h)
	if delay := min(max(v.Delay, c.settings.Delay), maxWait*1000); v.RobotsExpires > 0 {
		h.delay, h.robotsEnds = delay, v.RobotsExpires
	} else { // nothing says that the host asks for less than before
		h.delay = max(h.delay, delay)
	}
	switch {
	case v.Unresolved && h.unresolved <= c.now:
		h.unresolved = c.now + unresolvedFor
	case !v.Unresolved && v.AskedAt > h.askedAt: // an operator had it asked before the hour was over
		h.unresolved = 0
	}
	if v.AskedAt > 0 {
		if v.AskedAt <= h.askedAt {
			return nil
		}
		h.askedAt = min(v.AskedAt, c.now)
	}
	if v.Throttled || v.RetryAfter > 0 {
		c.slowDown(h)
	} else if v.AskedAt > 0 {
		c.calm(h)
	}
	if v.AskedAt > 0 {
		h.ready = max(h.ready, min(v.AskedAt, c.now)+h.interval())
	}
	if v.RetryAfter > 0 {
		h.ready = max(h.ready, c.now+min(v.RetryAfter, maxObeyed)*1000)
	}
	return nil
}
