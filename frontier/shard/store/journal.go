package store

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// A lease changes its hosts until they are reported, so their records go into the row of the lease, behind the ids of
// its hosts: one row instead of one for each host. The row of such a host stays as it was before the lease until
// something else changes the host. The shard's state says which hosts are so, and where their records are.

// journaled is a host whose record is in the row of its lease.
type journaled struct {
	host, lease int64
	fromEnd     int64 // where the record begins, counted from the end of the row's data
	size        int64
}

// journal is the list of journaled hosts, by their ids.
type journal []journaled

// Limits of what leases keep of their hosts. Further hosts are written into their own rows.
const (
	maxJournaled    = 1024    // hosts, which every operation reads
	maxJournalBytes = 1 << 19 // records of one lease
)

// journalMark ends the ids of a lease's hosts, if records follow: each the id of its host, its length, and itself. No
// lease has a host twice.
var journalMark = bytes.Repeat([]byte{0xff}, 2*idBytes)

func (l journal) append(b []byte) []byte {
	for _, j := range l {
		b = appendUint(appendUint(appendUint(appendID(b, j.host), j.lease), j.fromEnd), j.size)
	}
	return b
}

// decodeJournal decodes a list in ascending order.
func decodeJournal(record string) (l journal, err error) {
	d := &decoder{text: record}
	for d.at < len(d.text) && d.err == nil {
		j := journaled{d.id(), d.int(), d.int(), d.int()}
		if len(l) > 0 && j.host <= l[len(l)-1].host {
			return nil, ErrDamaged
		}
		l = append(l, j)
	}
	return l, d.err
}

func (l journal) find(host int64) (at int, found bool) {
	return slices.BinarySearchFunc(l, host, func(j journaled, id int64) int { return cmp.Compare(j.host, id) })
}

// has reports whether a host is on the list.
func (l journal) has(host int64) bool {
	_, found := l.find(host)
	return found
}

// remove takes a host off the list.
func (l *journal) remove(host int64) {
	if at, found := l.find(host); found {
		*l = slices.Delete(*l, at, at+1)
	}
}

// set puts a host on the list.
func (l *journal) set(j journaled) {
	at, found := l.find(j.host)
	if found {
		(*l)[at] = j
	} else {
		*l = slices.Insert(*l, at, j)
	}
}

// hosts returns the ids of the listed hosts.
func (l journal) hosts() []int64 {
	ids := make([]int64, len(l))
	for i, j := range l {
		ids[i] = j.host
	}
	return ids
}

// locate returns a list for the statement that loads hosts: the id of each, and of a journaled one its lease, and
// where its record begins there and how long it is.
func (l journal) locate(ids []int64) string {
	b := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		list := []int64{id}
		if at, found := l.find(id); found {
			list = append(list, l[at].lease, -l[at].fromEnd, l[at].size)
		}
		b = append(b, numbers(list)...)
	}
	return string(append(b, ']'))
}

// splitLease divides the data of a lease's row into the ids of its hosts and what follows them.
func splitLease(data []byte) (ids []int64, rest []byte) {
	for at := 0; at+idBytes <= len(data); at += idBytes {
		if bytes.HasPrefix(data[at:], journalMark) {
			return ids, data[at:]
		}
		ids = append(ids, idAt(data, at))
	}
	return ids, nil
}

// journaled decodes the record that a host has in the row of its lease. It returns nil if that is damaged or gone.
func (c *leaseTable) journaled(id int64, name string, domain int64, record []byte) *Host {
	at, found := c.tx.state.journal.find(id)
	if !found {
		return nil
	}
	if h, err := decodeHost(id, name, domain, record); err == nil && h.Lease == c.tx.state.journal[at].lease {
		return h
	}
	return nil
}

// lose returns the record in the own row of a host, since that of its lease is damaged: the host is as before the
// lease, which may still run. Its pointers are gone from the queue.
func (c *leaseTable) lose(id int64) (record []byte, after func(*Host), err error) {
	c.tx.state.journal.remove(id)
	rows, err := c.tx.db.Run(`SELECT record FROM hosts WHERE id = ?1`, id)
	if err != nil || !rows.Next() {
		return nil, nil, err
	}
	return rows.Blob(), func(h *Host) {
		h.Ready = max(h.Ready, c.tx.now.Add(blankFor))
		h.Change()
		for _, p := range h.places {
			if p.Queued {
				c.tx.queue.append(h, p)
			}
		}
	}, nil
}

// journaledHosts returns the hosts whose records are in the rows of leases, without what the state says of them.
func (c *leaseTable) journaledHosts() (hosts []*Host, err error) {
	rows, err := c.tx.db.Run(`SELECT j.value->>0, substr(l.data, j.value->>2, j.value->>3)
FROM json_each(?1) j JOIN leases l ON l.id = j.value->>1`, c.tx.state.journal.locate(c.tx.state.journal.hosts()))
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		if h, err := decodeHost(rows.Int(), "", 0, rows.Blob()); err == nil {
			hosts = append(hosts, h)
		}
	}
	return hosts, rows.Err()
}

// settle makes sure that a host is written whose record is in the row of a lease that is deleted or replaced.
func (c *leaseTable) settle() error {
	var ids []int64
	for _, j := range c.tx.state.journal {
		if row, changed := c.rows[j.lease]; changed && (row.data == nil || row.put) {
			ids = append(ids, j.host)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	hosts, err := c.tx.loadHosts(ids)
	for _, h := range hosts {
		if h != nil {
			h.stored = nil
			h.Change()
		}
	}
	return err
}

// keep puts the record of a host into the row of its lease, if that is put now, and reports whether it did. The
// columns of the host's own row must stay right: it has as many pages, and nothing is due earlier.
func (c *leaseTable) keep(h *Host, record []byte) bool {
	row := c.rows[h.Lease]
	due := h.DueAt()
	if h.Lease == 0 || !row.put || !h.hasRow || len(c.tx.state.journal) >= maxJournaled || h.hashesOnly ||
		len(row.records)+len(record) > maxJournalBytes ||
		h.Domain == nil || h.Domain.Listed || h.URLs != h.wasURLs || h.Blocked != h.wasBlocked ||
		due > 0 && due < h.wasDue {
		return false
	}
	if row.records == nil {
		row.records = append(make([]byte, 0, min(c.size, maxJournalBytes)), journalMark...)
	}
	row.records = appendUint(appendID(row.records, h.ID), int64(len(record)))
	row.journal = append(row.journal, journaled{h.ID, h.Lease, int64(len(row.records)), int64(len(record))})
	row.records = append(row.records, record...)
	c.rows[h.Lease] = row
	return true
}

// list lists the hosts whose records go into the rows of leases.
func (c *leaseTable) list() {
	for _, row := range c.rows {
		for _, j := range row.journal {
			j.fromEnd = int64(len(row.records)) - j.fromEnd
			c.tx.state.journal.set(j)
		}
	}
}

// rebuild lists the hosts again whose records are in the rows of leases. A host whose own row is newer was freed
// since, which made it ready later than the lease began.
func (c *leaseTable) rebuild() error {
	c.tx.state.journal = nil
	var leases []int64
	rows, err := c.tx.db.Run(`SELECT id FROM leases WHERE id > 0`)
	if err != nil {
		return err
	}
	for rows.Next() {
		leases = append(leases, rows.Int())
	}
	for _, id := range leases {
		_, records, err := c.hosts(id)
		if err != nil {
			return err
		}
		if records == nil {
			continue
		}
		d := decode(records[len(journalMark):])
		for d.at < len(d.text) {
			host, size := d.id(), d.count(1)
			j := journaled{host, id, int64(len(d.text) - d.at), int64(size)}
			if d.at += size; d.err != nil {
				break
			}
			row, err := c.tx.db.Run(`SELECT record FROM hosts WHERE id = ?1`, host)
			if err != nil {
				return err
			}
			if !row.Next() || len(c.tx.state.journal) >= maxJournaled {
				continue
			}
			h, err := decodeHost(host, "", 0, row.Blob())
			if err != nil || h.Lease == 0 && int64(h.Ready) <= id {
				c.tx.state.journal.set(j)
			}
		}
	}
	return nil
}

// storedColumns are the columns of a host's row, as they are stored.
type storedColumns struct {
	hasRow     bool
	wasURLs    int64
	wasDue     epoch.Millis
	wasBlocked epoch.Millis
}
