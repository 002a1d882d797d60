package shard

import (
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// The table leases keeps the hosts of each lease, so that URLs that nobody reports are queued again. A report deletes
// its lease if it finishes all hosts. A lease that is reported in parts is deleted when it expires.

// maxSwept caps the expired leases that one operation takes back.
const maxSwept = 16

// sweep ends expired leases, unparks hosts whose domain has become free, and schedules refills of domains. All of these
// hosts are in the queues when it returns.
func (c *call) sweep() error {
	if c.tx.State().FirstEnd == 0 || c.now < c.tx.State().FirstEnd {
		return nil
	}
	ended, err := c.tx.TakeEnded(maxSwept)
	if err != nil {
		return err
	}
	if err := c.expire(ended.Hosts); err != nil {
		return err
	}
	for _, m := range ended.Domains {
		if len(m.Parked) > 0 {
			m.Change() // for unpark, which schedules the next wake-up if the collector renewed its lease
		}
	}
	if err := scheduleRefills(c, ended.Domains); err != nil {
		return err
	}
	return c.unparkAll()
}

// expire ends the leases of hosts, and puts their pages back.
func (c *call) expire(hosts []*store.Host) error {
	for _, h := range hosts {
		if h.Lease == 0 { // it was in two expired leases
			continue
		}
		for _, p := range h.Leased { // it costs them nothing: scrapers crash
			h.PutBack(p)
		}
		h.Lose()
		c.tx.State().Leased -= int64(len(h.Leased) + len(h.Asked))
		// When the last request was is not recorded, but it was before the end.
		if err := c.freeHost(h, h.LeaseEnds.Add(h.Interval())); err != nil {
			return err
		}
	}
	return nil
}

// freeHost ends the lease of a host, which becomes ready at an instant.
func (c *call) freeHost(h *store.Host, ready epoch.Millis) error {
	h.Lease, h.LeaseEnds, h.Leased, h.Asked = 0, 0, nil, nil
	h.Ready = max(h.Ready, ready)
	h.Change()
	m := h.Domain
	removeActive(m, &m.Active, h.ID)
	return c.queue(h)
}
