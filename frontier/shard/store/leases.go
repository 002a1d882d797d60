package store

import (
	"maps"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// leaseTable is the table leases.
type leaseTable struct {
	tx   *Tx
	rows map[int64]leaseRow // changed ones
	size int                // of the records of all hosts that are written, about
}

// leaseRow is a row of the table leases: the hosts of a lease, or under the negative id of a domain
// the time at which its parked hosts are to be checked. Without data it is to be deleted.
type leaseRow struct {
	ends    epoch.Millis
	data    []byte      // ids
	records []byte      // what follows the ids, see journal
	put     bool        // all of the row is new
	journal []journaled // with fromEnd counted from the beginning of records
}

// PutLease stores the hosts of a lease, and when it ends.
func (c *Tx) PutLease(number int64, ends epoch.Millis, hosts []int64) {
	c.leases.rows[number] = leaseRow{ends: ends, data: packIDs(hosts), put: true}
	c.leases.endsAt(ends)
}

// WakeAt schedules a check of the domain's parked hosts.
func (m *Domain) WakeAt(ends epoch.Millis) { m.tx.leases.set(-m.ID-1, ends, []byte{0}) }

func (c *leaseTable) set(id int64, ends epoch.Millis, data []byte) {
	c.rows[id] = leaseRow{ends: ends, data: data}
	c.endsAt(ends)
}

func (c *leaseTable) endsAt(ends epoch.Millis) {
	if first := &c.tx.state.FirstEnd; *first == 0 || ends < *first {
		*first = ends
	}
}

// EndedLeases are leases that have expired.
type EndedLeases struct {
	Hosts   []*Host   // of the leases
	Domains []*Domain // whose parked hosts are to be looked at
}

// maxEndedHosts is the number of hosts after which no further lease is taken.
const maxEndedHosts = 1000

// TakeEnded deletes up to limit leases that have expired, and returns their hosts and domains. Hosts that exceed half
// of what the operation may load stay for the next one.
func (c *Tx) TakeEnded(limit int64) (ended EndedLeases, err error) {
	rows, err := c.db.Run(`SELECT id, ends, data FROM leases WHERE ends <= ?1 ORDER BY ends LIMIT ?2`, int64(c.now),
		limit)
	if err != nil {
		return ended, err
	}
	expired := map[int64]bool{}
	var leases, hosts, domains []int64
	taken := map[int64]leaseRow{}
	for rows.Next() {
		id, row := rows.Int(), leaseRow{ends: rows.Millis(), data: rows.Blob()}
		if id < 0 {
			c.leases.rows[id] = leaseRow{}
			domains = append(domains, -id-1)
			continue
		}
		expired[id], taken[id] = true, row
		leases = append(leases, id)
		of, _ := splitLease(row.data)
		if hosts = append(hosts, of...); len(hosts) >= maxEndedHosts {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return ended, err
	}
	fitting, err := c.leases.fitting(hosts)
	if err != nil {
		return ended, err
	}
	left := fitting
	for _, id := range leases {
		of, records := splitLease(taken[id].data)
		n := min(left, len(of))
		if left -= n; n == len(of) {
			c.leases.rows[id] = leaseRow{}
		} else if n > 0 {
			c.leases.rows[id] = leaseRow{ends: taken[id].ends, data: packIDs(of[n:]), records: records}
		}
	}
	if err := c.leases.nextEnd(); err != nil {
		return ended, err
	}
	if ended.Hosts, err = c.Hosts(hosts[:fitting]); err != nil {
		return ended, err
	}
	ended.Hosts = slices.DeleteFunc(ended.Hosts, func(h *Host) bool {
		return h == nil || h.Lease == 0 || !expired[h.Lease]
	})
	if ended.Domains, err = c.loadDomains(domains); err != nil {
		return ended, err
	}
	ended.Domains = slices.DeleteFunc(ended.Domains, func(m *Domain) bool { return m == nil })
	return ended, nil
}

// fewHosts is the number of hosts that are loaded whatever their size.
const fewHosts = 64

// fitting returns how many of some hosts, from the first on, are within half of what the operation may load.
func (c *leaseTable) fitting(ids []int64) (n int, err error) {
	if len(ids) <= fewHosts {
		return len(ids), nil
	}
	rows, err := c.tx.db.Run(`SELECT j.key FROM (SELECT j.key AS key, sum(length(h.record)) OVER (ORDER BY j.key) AS size
FROM json_each(?1) j LEFT JOIN hosts h ON h.id = j.value) j WHERE j.size > ?2 ORDER BY j.key LIMIT 1`, numbers(ids),
		max(maxLoaded/2-c.tx.state.loaded, 0))
	if err != nil {
		return 0, err
	}
	if rows.Next() {
		return max(int(rows.Int()), fewHosts), nil
	}
	return len(ids), rows.Err()
}

// nextEnd finds out when the next lease ends.
func (c *leaseTable) nextEnd() error {
	rows, err := c.tx.db.Run(
		`SELECT coalesce(min(ends), 0) FROM leases WHERE id NOT IN (SELECT value FROM json_each(?1))`,
		numbers(slices.Collect(maps.Keys(c.rows))))
	if err != nil || !rows.Next() {
		return err
	}
	c.tx.state.FirstEnd = epoch.Millis(rows.Int())
	for _, row := range c.rows {
		if row.data != nil {
			c.endsAt(row.ends)
		}
	}
	return rows.Err()
}

// EndLease deletes a lease if all its hosts are finished.
func (c *Tx) EndLease(number int64, finished map[int64]bool) error {
	hosts, _, err := c.leases.hosts(number)
	if err != nil || len(hosts) == 0 {
		return err
	}
	for _, id := range hosts {
		if !finished[id] {
			return nil // it is deleted when it expires
		}
	}
	c.leases.rows[number] = leaseRow{}
	return nil
}

// LeaseHosts returns the hosts that were leased with a number; some may have been finished since.
func (c *Tx) LeaseHosts(number int64) ([]*Host, error) {
	ids, _, err := c.leases.hosts(number)
	if err != nil {
		return nil, err
	}
	return c.Hosts(ids)
}

// hosts returns the ids of a lease's hosts, and what follows them; none if there is no such lease.
func (c *leaseTable) hosts(id int64) (hosts []int64, records []byte, err error) {
	rows, err := c.tx.db.Run(`SELECT data FROM leases WHERE id = ?1`, id)
	if err != nil || !rows.Next() {
		return nil, nil, err
	}
	hosts, records = splitLease(rows.Blob())
	return hosts, records, nil
}

// lostAfter is the time after the end of a host's lease from which its row counts as lost.
const lostAfter = time.Hour

// findLost adds hosts to the rows of their leases from which they are missing, so that these leases end. Where a row
// was damaged, its hosts would be leased for ever.
func (c *leaseTable) findLost(ids []int64) error {
	for _, id := range ids {
		h := c.tx.hosts[id]
		if h == nil || h.Lease == 0 || h.LeaseEnds.Add(lostAfter) > c.tx.now {
			continue
		}
		row, known := c.rows[h.Lease]
		hosts, records := unpackIDs(row.data), row.records
		if !known {
			var err error
			if hosts, records, err = c.hosts(h.Lease); err != nil {
				return err
			}
		}
		if !slices.Contains(hosts, h.ID) && (!known || row.data != nil) {
			row.ends, row.data, row.records = h.LeaseEnds, packIDs(append(hosts, h.ID)), records
			c.rows[h.Lease] = row
			c.endsAt(row.ends)
		}
	}
	return nil
}

// write writes the changed rows.
func (c *leaseTable) write() error {
	b := batch{c: c.tx,
		sql: `INSERT INTO leases (id, ends, data) SELECT value->>0, value->>3, substr(?2, value->>1, value->>2) FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET ends = excluded.ends, data = excluded.data`}
	var gone []int64
	for _, id := range slices.Sorted(maps.Keys(c.rows)) {
		if row := c.rows[id]; row.data == nil {
			gone = append(gone, id)
		} else if err := b.begin(len(row.data)+len(row.records), id, int64(row.ends)); err != nil {
			return err
		} else {
			b.data = append(append(b.data, row.data...), row.records...)
		}
	}
	if err := b.write(); err != nil || len(gone) == 0 {
		return err
	}
	_, err := c.tx.db.Run(`DELETE FROM leases WHERE id IN (SELECT value FROM json_each(?1))`, numbers(gone))
	return err
}
