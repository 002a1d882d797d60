package shard

import (
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// RenewLease prolongs a lease for the hosts that it still has, up to frontier.MaxLeased after it began. It does not
// prolong a lease with a host that operators have blocked or excluded since.
func (s *Shard) RenewLease(now epoch.Millis, r frontier.RenewLease) (renewed frontier.RenewedLease, err error) {
	if err := frontier.CheckRange("lease_seconds", r.Seconds, frontier.MinLeaseSeconds,
		frontier.MaxLeaseSeconds); err != nil {
		return renewed, err
	}
	err = s.run(now, func(c *call) error {
		number, hosts, err := c.leased(r.Lease)
		if err != nil || len(hosts) == 0 {
			return err
		}
		if slices.ContainsFunc(hosts, func(h *store.Host) bool {
			return h.Blocked > c.now || h.Excluded || h.Domain.Excluded
		}) {
			renewed.Closed = true
			return nil
		}
		// A lease's number is about the time at which it began, see newLeaser.
		ends := min(c.now.Add(seconds(r.Seconds)), epoch.Millis(number).Add(frontier.MaxLeased))
		ends = max(ends, hosts[0].LeaseEnds)
		if ends <= c.now {
			return nil
		}
		ids := make([]int64, len(hosts))
		for i, h := range hosts {
			ids[i] = h.ID
			prolong(h, ends)
		}
		c.tx.PutLease(number, ends, ids)
		renewed = frontier.RenewedLease{Hosts: len(hosts), ExpiresAt: ends}
		return nil
	})
	return renewed, err
}

// prolong moves the end of a host's lease.
func prolong(h *store.Host, ends epoch.Millis) {
	h.LeaseEnds = ends
	h.Change()
	for i := range h.Domain.Active {
		if a := &h.Domain.Active[i]; a.ID == h.ID {
			a.Ends = ends
			h.Domain.Change()
		}
	}
}

// ReleaseLease takes back what a lease still has, and returns the number of items. It does not count as an attempt.
func (s *Shard) ReleaseLease(now epoch.Millis, r frontier.ReleaseLease) (items int, err error) {
	err = s.run(now, func(c *call) error {
		number, hosts, err := c.leased(r.Lease)
		if err != nil || len(hosts) == 0 {
			return err
		}
		finished := map[int64]bool{}
		for _, h := range hosts {
			for _, p := range h.Leased {
				refund(c, &p)
				h.PutBack(p)
			}
			n := len(h.Leased) + len(h.Asked)
			items += n
			c.tx.State().Leased -= int64(n)
			finished[h.ID] = true
			h.Lose() // its reports may be on the way
			if err := c.freeHost(h, min(c.now, h.LeaseEnds).Add(h.Interval())); err != nil {
				return err
			}
		}
		return c.tx.EndLease(number, finished)
	})
	return items, err
}

// leased returns the number of a lease and the hosts that it still has.
func (c *call) leased(id string) (number int64, hosts []*store.Host, err error) {
	number, seal, ok := c.openLease(id)
	if !ok || seal.none() {
		return 0, nil, nil
	}
	all, err := c.tx.LeaseHosts(number)
	for _, h := range all {
		if h != nil && h.Lease == number {
			hosts = append(hosts, h)
		}
	}
	return number, hosts, err
}
