package store

import "slices"

// Leases is the table leases.
type Leases struct {
	tx   *Tx
	rows map[int64]leaseRow // changed ones
}

// leaseRow is a row of the table leases: the hosts of a lease, or under the negative id of a domain
// the time at which its parked hosts are to be checked. Without data it is to be deleted.
type leaseRow struct {
	ends int64
	data []byte
}

// SetLease writes a row of the table leases.
func (c *Leases) Set(id, ends int64, data []byte) {
	c.rows[id] = leaseRow{ends, data}
	if c.tx.state.FirstEnd == 0 || ends < c.tx.state.FirstEnd {
		c.tx.state.FirstEnd = ends
	}
}

// endedLeases are leases whose time is over.
type endedLeases struct {
	Leases  map[int64]bool
	Hosts   []int64 // of the leases
	Domains []int64 // whose parked hosts are to be looked at
}

// maxEndedHosts is the number of hosts after which no further lease is taken.
const maxEndedHosts = 1000

// TakeEnded deletes up to limit leases that are over.
func (c *Leases) TakeEnded(limit int64) (ended endedLeases, err error) {
	rows, err := c.tx.db.Run(`SELECT id, data FROM leases WHERE ends <= ?1 ORDER BY ends LIMIT ?2`, c.tx.now, limit)
	if err != nil {
		return ended, err
	}
	ended.Leases = map[int64]bool{}
	for rows.Next() {
		id, data := rows.Int(), rows.Blob()
		ended.Leases[id] = true
		c.rows[id] = leaseRow{}
		if id < 0 {
			ended.Domains = append(ended.Domains, -id-1)
			continue
		}
		if ended.Hosts = append(ended.Hosts, unpackIDs(data)...); len(ended.Hosts) >= maxEndedHosts {
			break
		}
	}
	return ended, rows.Err()
}

// LeaseHosts returns the ids of a lease's hosts; none if there is no such lease.
func (c *Leases) Hosts(id int64) ([]int64, error) {
	rows, err := c.tx.db.Run(`SELECT data FROM leases WHERE id = ?1`, id)
	if err != nil || !rows.Next() {
		return nil, err
	}
	return unpackIDs(rows.Blob()), nil
}

// DeleteLease deletes a lease all of whose hosts have been reported.
func (c *Leases) Delete(id int64) { c.rows[id] = leaseRow{} }

// FlushLeases writes the leases and the queue, so that both can be read again.
func (c *Leases) Flush() error {
	if err := c.write(); err != nil {
		return err
	}
	clear(c.rows)
	if err := c.nextEnd(); err != nil {
		return err
	}
	return c.tx.queue.flush()
}

// nextEnd finds out when the next lease is over.
func (c *Leases) nextEnd() error {
	rows, err := c.tx.db.Run(`SELECT min(ends) FROM leases`)
	if err == nil && rows.Next() {
		c.tx.state.FirstEnd = rows.Int()
	}
	return err
}

// lostAfter is how long after its end the lease of a host is taken for lost, in ms.
const lostAfter = 3_600_000

// findLost adds hosts to the rows of their leases from which they are missing, so that these leases end. Where a row was
// damaged, its hosts would be leased for ever.
func (c *Leases) findLost(ids []int64) error {
	for _, id := range ids {
		h := c.tx.hosts[id]
		if h == nil || h.Lease == 0 || h.LeaseEnds+lostAfter > c.tx.now {
			continue
		}
		row, known := c.rows[h.Lease]
		hosts := unpackIDs(row.data)
		if !known {
			var err error
			if hosts, err = c.Hosts(h.Lease); err != nil {
				return err
			}
		}
		if !slices.Contains(hosts, h.ID) && (!known || row.data != nil) {
			c.Set(h.Lease, h.LeaseEnds, PackIDs(append(hosts, h.ID)))
		}
	}
	return nil
}
