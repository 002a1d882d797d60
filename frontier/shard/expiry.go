package shard

import (
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// The table leases: a lease and its hosts, so that URLs come back that nobody reports. Finished
// leases are deleted by the report.

// maxSwept is the number of leases that are over one operation takes back.
const maxSwept = 16

// sweep ends the leases whose time is over, lets in hosts whose domain has become free, and hears domains again that
// want more pages. Their hosts stand in the queues when it returns.
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
			m.Change() // so that the next end is noted, if the collector's time was renewed
		}
	}
	if err := wantMore(c, ended.Domains); err != nil {
		return err
	}
	return c.unparkAll()
}

// expire takes back what hosts were leased for.
func (c *call) expire(hosts []*store.Host) error {
	for _, h := range hosts {
		if h.Lease == 0 { // it was in two leases that are over
			continue
		}
		for _, p := range h.Leased { // it costs them nothing: scrapers crash
			h.PutBack(p)
		}
		h.LastLease = h.Lease
		c.tx.State().Leased -= int64(len(h.Leased) + len(h.Asked))
		// When the last request was is not recorded, but it was before the end.
		if err := c.free(h, h.LeaseEnds.Add(h.Interval())); err != nil {
			return err
		}
	}
	return nil
}

// free ends the lease of a host, which may be fetched from from ready on.
func (c *call) free(h *store.Host, ready epoch.Millis) error {
	h.Lease, h.LeaseEnds, h.Leased, h.Asked = 0, 0, nil, nil
	h.Ready = max(h.Ready, ready)
	h.Change()
	m := h.Domain
	leave(m, &m.Active, h.ID)
	return c.queue(h)
}
