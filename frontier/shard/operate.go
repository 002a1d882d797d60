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

// SetHost changes a host, and reports whether there is one.
func (s *Shard) SetHost(now epoch.Millis, name string, change frontier.HostChange) (found bool, err error) {
	if change.Delay != nil {
		if err := frontier.CheckRange("delay_seconds", *change.Delay/1000, 0, frontier.MaxWait); err != nil {
			return false, err
		}
	}
	if err := frontier.CheckForget(change.Forget); err != nil {
		return false, err
	}
	if change.BlockUntil != nil && change.BlockUntil.Seconds() > store.MaxSlot {
		year := epoch.Seconds(store.MaxSlot).Time().Year()
		return false, contract.Invalid("block_until", "must be before the year %d", year)
	}
	err = s.run(now, func(c *call) error {
		h, err := c.hostNamed(name)
		if err != nil || h == nil {
			return err
		}
		found = true
		h.Change()
		if change.Delay != nil {
			setDelay(c, h, millis(*change.Delay))
		}
		if change.Empty {
			if err := h.Empty(); err != nil {
				return err
			}
		}
		if change.BlockUntil != nil {
			setBlock(c, h, *change.BlockUntil)
		}
		if change.Forget != "" {
			if err := forget(c, h, change.Forget); err != nil {
				return err
			}
		}
		unqueue(h) // it may be due sooner, or later
		if err := h.UnpackEntries(); err != nil {
			return err
		}
		c.watch(h, -1)
		return c.queue(h)
	})
	return found, err
}

// setDelay overrides the crawl delay of a host; 0 restores it. The delay counts from the last request, and the host is
// no longer slowed down.
func setDelay(c *call, h *store.Host, delay time.Duration) {
	before := h.Interval()
	h.Override, h.Slow, h.Calm = max(delay, 0), 0, 0
	if h.Ready <= c.now.Add(before) { // else a Retry-After says so
		// The delay may have grown after the request from which Ready counts.
		h.Ready = max(h.Ready.Add(h.Interval()-before), min(h.Ready, h.AskedAt.Add(h.Interval())), 0)
	}
}

// setBlock blocks a host until an instant, or ends its block. The end of a block also clears a Retry-After, the
// slowing down, and the rest after failures.
func setBlock(c *call, h *store.Host, until epoch.Millis) {
	if h.Blocked = max(until, 0); h.Blocked <= c.now {
		forgetFailures(c, h)
	}
}

func forgetFailures(c *call, h *store.Host) {
	h.Slow, h.Calm, h.Unresolved, h.Failures, h.Refusals, h.Fault = 0, 0, 0, 0, 0, store.Fault{}
	h.Ready = min(h.Ready, c.now.Add(h.Interval()))
}

// forget clears the traps of a host, or its failures, or also what is known of its pages, which are then put again from
// the backlog.
func forget(c *call, h *store.Host, what string) error {
	if what == frontier.ForgetTraps {
		forgetTraps(h)
		return nil
	}
	forgetFailures(c, h)
	if what != frontier.ForgetAll {
		return nil
	}
	if err := store.Forget(h); err != nil {
		return err
	}
	return putAgain(c, h.Domain)
}

// maxPatterns caps the excluded patterns of URLs.
const maxPatterns = 1000

// Exclude excludes a domain, a host or a pattern of URLs, or allows it again. The pages of an excluded domain or host
// stay stored, and are leased again when it is allowed. Pages that match a pattern are dropped when their turn comes.
func (s *Shard) Exclude(now epoch.Millis, x frontier.Exclusion, excluded bool) error {
	value, err := contract.CheckExclusion(x.Kind, x.Value)
	if err != nil {
		return err
	}
	return s.run(now, func(c *call) error {
		switch x.Kind {
		case contract.ExcludeDomain:
			return excludeDomain(c, value, excluded)
		case contract.ExcludeHost:
			if !link.Within(value, x.Domain) {
				return contract.Invalid("domain", "%.80q is not the domain of %s", x.Domain, value)
			}
			return excludeHost(c, value, x.Domain, excluded)
		}
		return excludePattern(c, value, excluded)
	})
}

// excludeDomain excludes a domain or allows it again. A collector loses an excluded domain at once, see Renew.
func excludeDomain(c *call, name string, excluded bool) error {
	m, err := c.domainNamed(name)
	if err != nil || m == nil && !excluded {
		return err
	}
	if m, err = c.tx.MakeDomain(name); err != nil {
		return err
	}
	m.Excluded = excluded
	m.Change()
	return contractsExcluded(c, m)
}

func excludeHost(c *call, name, domain string, excluded bool) error {
	h, err := c.hostNamed(name)
	if err != nil || h == nil && !excluded {
		return err
	}
	m, err := c.tx.MakeDomain(domain)
	if err != nil {
		return err
	}
	if h == nil {
		if h, err = c.makeHost(m, name); h == nil {
			return err
		}
	}
	h.Excluded = excluded
	h.Change()
	if h.Lease == 0 {
		unqueue(h)
	}
	return c.queue(h)
}

func excludePattern(c *call, pattern string, excluded bool) error {
	s := c.tx.State()
	at := slices.Index(s.Patterns, pattern)
	switch {
	case excluded && at >= 0 || !excluded && at < 0:
		return nil
	case !excluded:
		s.Exclude(slices.Delete(s.Patterns, at, at+1))
		return nil
	case len(s.Patterns) >= maxPatterns:
		return contract.Invalid("value", "there are %d patterns already; allow some of them again", maxPatterns)
	}
	s.Exclude(append(s.Patterns, pattern))
	return nil
}
