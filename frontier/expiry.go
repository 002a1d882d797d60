package frontier

// The table leases: a lease and its hosts, so that URLs come back that nobody reports. Finished
// leases are deleted by the report.

// maxTries is how many attempts a page has: answers that failed and leases that ended without one.
const maxTries = 3

// maxSwept is how many leases that are over one operation takes back.
const maxSwept = 16

// leaseUntil writes a row of the table leases.
func (c *call) leaseUntil(id, ends int64, data []byte) {
	c.leases[id] = leaseRow{ends, data}
	if c.state.firstEnd == 0 || ends < c.state.firstEnd {
		c.state.firstEnd = ends
	}
}

// wakeAt has the parked hosts of a domain looked at when the time of a collector or a refresh is over.
func (c *call) wakeAt(m *domain, ends int64) { c.leaseUntil(-m.id-1, ends, []byte{0}) }

// sweep ends the leases whose time is over, and lets in hosts whose domain has become free. Their
// hosts stand in the queues when it returns.
func (c *call) sweep() error {
	if c.state.firstEnd == 0 || c.now < c.state.firstEnd {
		return nil
	}
	rows, err := c.db.Run(`SELECT id, data FROM leases WHERE ends <= ?1 ORDER BY ends LIMIT ?2`, c.now, int64(maxSwept))
	if err != nil {
		return err
	}
	var hosts, domains []int64
	swept := map[int64]bool{}
	for rows.Next() {
		id, data := rows.Int(), rows.Blob()
		swept[id] = true
		c.leases[id] = leaseRow{}
		if id < 0 {
			domains = append(domains, -id-1)
			continue
		}
		for at := 0; at+idBytes <= len(data); at += idBytes {
			hosts = append(hosts, idAt(data, at))
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if err := c.expire(hosts, swept); err != nil {
		return err
	}
	if err := c.wake(domains); err != nil {
		return err
	}
	if err := c.writeLeases(); err != nil {
		return err
	}
	clear(c.leases)
	if err := c.nextEnd(); err != nil {
		return err
	}
	return c.flushQueue()
}

// nextEnd finds out when the next lease is over.
func (c *call) nextEnd() error {
	rows, err := c.db.Run(`SELECT min(ends) FROM leases`)
	if err == nil && rows.Next() {
		c.state.firstEnd = rows.Int()
	}
	return err
}

// expire takes back what hosts were leased for.
func (c *call) expire(ids []int64, swept map[int64]bool) error {
	hosts, err := c.loadWithDomains(ids)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if h == nil || h.lease == 0 || !swept[h.lease] {
			continue
		}
		for _, p := range h.leased {
			c.tryAgain(h, p, 0)
		}
		c.state.leased -= int64(len(h.leased) + len(h.asked))
		// When the last request was is not recorded, but it was before the end.
		if err := c.free(h, h.leaseEnds+h.interval()); err != nil {
			return err
		}
	}
	return nil
}

// tryAgain puts a page back that was not fetched, not before due (seconds), unless it has had its
// attempts.
func (c *call) tryAgain(h *host, p page, due int64) {
	c.change(h)
	if p.tries++; p.tries >= maxTries {
		c.done(h, &h.failed, &c.state.failed)
		return
	}
	p.due = due
	h.buffer = append(h.buffer, p)
}

// free ends the lease of a host, which may be asked from ready on.
func (c *call) free(h *host, ready int64) error {
	h.lease, h.leaseEnds, h.leased, h.asked = 0, 0, nil, nil
	h.ready = max(h.ready, ready)
	c.change(h)
	m := c.domains[h.domain]
	c.leave(m, &m.active, h.id)
	if err := c.spill(h); err != nil {
		return err
	}
	return c.queue(h)
}

// wake looks at domains for which a collector's time may be over.
func (c *call) wake(ids []int64) error {
	domains, err := c.loadDomains(ids)
	if err != nil {
		return err
	}
	for _, m := range domains {
		if m != nil && len(m.parked) > 0 {
			c.changeDomain(m) // so that the next end is noted, if the collector's time was renewed
		}
	}
	return c.unparkAll()
}
