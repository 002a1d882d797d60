package frontier

import (
	"slices"

	"github.com/newsfork/seed-engine/contract"
)

// HostChange is what an operator decides about a host. What is nil stays.
type HostChange struct {
	BlockUntil *int64 // ms since 1970; a time that has passed ends a block, and a Retry-After
	Delay      *int64 // the least ms between two requests, 0 for what the host asks for; it holds at once
	Empty      bool   // drops the pages that wait; they do not return
}

// SetHost changes a host, and reports whether there is one.
func (s *Shard) SetHost(now int64, name string, change HostChange) (found bool, err error) {
	if change.Delay != nil {
		if err := checkRange("delay_seconds", *change.Delay/1000, 0, maxWait); err != nil {
			return false, err
		}
	}
	if change.BlockUntil != nil && *change.BlockUntil/1000 > maxSlot {
		return false, contract.Invalid("block_until", "is too far away")
	}
	err = s.run(now, func(c *call) error {
		h, err := c.findHost(name)
		if err != nil || h == nil {
			return err
		}
		found = true
		if err := c.domainsOf([]*host{h}); err != nil {
			return err
		}
		c.change(h)
		if change.Delay != nil {
			c.setDelay(h, *change.Delay)
		}
		if change.Empty {
			c.empty(h)
		}
		if change.BlockUntil != nil {
			c.setBlock(h, *change.BlockUntil)
		}
		h.places = [kinds]place{} // it may be due sooner, or later
		if err := h.unpackEntries(); err != nil {
			return err
		}
		c.watch(h, -1)
		return c.queue(h)
	})
	return found, err
}

// setDelay sets the least delay of a host, which counts from its last request. It is no longer slowed down.
func (c *call) setDelay(h *host, delay int64) {
	before := h.interval()
	h.floor, h.slow, h.calm = max(delay, 0), 0, 0
	if h.ready <= c.now+before { // else a Retry-After says so
		h.ready = max(h.ready-before+h.interval(), 0)
	}
}

// setBlock blocks a host, or ends its block, and with that what its answers had led to: a Retry-After, the slowing
// down, and the hour after its name did not resolve.
func (c *call) setBlock(h *host, until int64) {
	if h.blocked = max(until, 0); h.blocked > c.now {
		return
	}
	h.slow, h.calm, h.unresolved = 0, 0, 0
	h.ready = min(h.ready, c.now+h.interval())
}

// Exclusion is what operators ruled out: a domain, a host of a domain, or URLs by a pattern.
type Exclusion struct {
	Kind   string // contract.ExcludeDomain, ExcludeHost or ExcludeURL
	Value  string // as contract.CheckExclusion gives it
	Domain string // the registrable domain of a host
}

// maxPatterns is how many patterns of URLs a shard takes.
const maxPatterns = 1000

// Exclude rules something out, or allows it again. The pages of an excluded domain or host stay
// where they are and come back when it is allowed again. Pages that match a pattern are dropped when
// their turn comes.
func (s *Shard) Exclude(now int64, x Exclusion, excluded bool) error {
	value, err := contract.CheckExclusion(x.Kind, x.Value)
	if err != nil {
		return err
	}
	return s.run(now, func(c *call) error {
		switch x.Kind {
		case contract.ExcludeDomain:
			return c.excludeDomain(value, excluded)
		case contract.ExcludeHost:
			if !within(value, x.Domain) {
				return contract.Invalid("domain", "%.80q is not the domain of %s", x.Domain, value)
			}
			return c.excludeHost(value, x.Domain, excluded)
		}
		return c.excludePattern(value, excluded)
	})
}

// excludeDomain also ends a collector's time: it loses the domain at once.
func (c *call) excludeDomain(name string, excluded bool) error {
	m, _, err := c.findDomain(name)
	if err != nil || m == nil && !excluded {
		return err
	}
	if m, err = c.makeDomain(name); err != nil {
		return err
	}
	m.excluded = excluded
	c.changeDomain(m)
	return c.contractsExcluded(m)
}

func (c *call) excludeHost(name, domain string, excluded bool) error {
	h, err := c.findHost(name)
	if err != nil || h == nil && !excluded {
		return err
	}
	m, err := c.makeDomain(domain)
	if err != nil {
		return err
	}
	if h == nil {
		if h, err = c.makeHost(m, name); h == nil {
			return err
		}
	}
	h.excluded = excluded
	c.change(h)
	if h.lease == 0 {
		h.places = [kinds]place{}
	}
	return c.queue(h)
}

func (c *call) excludePattern(pattern string, excluded bool) error {
	s := &c.state
	at := slices.Index(s.patterns, pattern)
	switch {
	case excluded && at >= 0 || !excluded && at < 0:
		return nil
	case !excluded:
		s.exclude(slices.Delete(s.patterns, at, at+1))
		return nil
	case len(s.patterns) >= maxPatterns:
		return contract.Invalid("value", "there are %d patterns already; allow some of them again", maxPatterns)
	}
	s.exclude(append(s.patterns, pattern))
	return nil
}
