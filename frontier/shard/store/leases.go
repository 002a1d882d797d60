package store

// leaseRow is a row of the table leases: the hosts of a lease, or under the negative id of a domain
// the time at which its parked hosts are to be looked at. Without data it is to be deleted.
type leaseRow struct {
	ends int64
	data []byte
}

// SetLease writes a row of the table leases.
func (c *Tx) SetLease(id, ends int64, data []byte) {
	c.leases[id] = leaseRow{ends, data}
	if c.State.FirstEnd == 0 || ends < c.State.FirstEnd {
		c.State.FirstEnd = ends
	}
}

// endedLeases are leases whose time is over.
type endedLeases struct {
	Leases  map[int64]bool
	Hosts   []int64 // of the leases
	Domains []int64 // whose parked hosts are to be looked at
}

// TakeEndedLeases deletes up to limit leases that are over.
func (c *Tx) TakeEndedLeases(limit int64) (ended endedLeases, err error) {
	rows, err := c.db.Run(`SELECT id, data FROM leases WHERE ends <= ?1 ORDER BY ends LIMIT ?2`, c.now, limit)
	if err != nil {
		return ended, err
	}
	ended.Leases = map[int64]bool{}
	for rows.Next() {
		id, data := rows.Int(), rows.Blob()
		ended.Leases[id] = true
		c.leases[id] = leaseRow{}
		if id < 0 {
			ended.Domains = append(ended.Domains, -id-1)
			continue
		}
		ended.Hosts = append(ended.Hosts, unpackIDs(data)...)
	}
	return ended, rows.Err()
}

// LeaseHosts returns the ids of a lease's hosts; none if there is no such lease.
func (c *Tx) LeaseHosts(id int64) ([]int64, error) {
	rows, err := c.db.Run(`SELECT data FROM leases WHERE id = ?1`, id)
	if err != nil || !rows.Next() {
		return nil, err
	}
	return unpackIDs(rows.Blob()), nil
}

// DeleteLease deletes a lease all of whose hosts have been reported.
func (c *Tx) DeleteLease(id int64) { c.leases[id] = leaseRow{} }

// FlushLeases writes the leases and the queue, so that both can be read again.
func (c *Tx) FlushLeases() error {
	if err := c.writeLeases(); err != nil {
		return err
	}
	clear(c.leases)
	if err := c.nextEnd(); err != nil {
		return err
	}
	return c.FlushQueue()
}

// nextEnd finds out when the next lease is over.
func (c *Tx) nextEnd() error {
	rows, err := c.db.Run(`SELECT min(ends) FROM leases`)
	if err == nil && rows.Next() {
		c.State.FirstEnd = rows.Int()
	}
	return err
}
