package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
)

// A row that does not decode is moved to the table quarantine, and what can be known without it takes its place: one
// damaged row must not stop its shard. The move is part of the operation that met the row.

// Limits of the quarantine. Damaged rows beyond them are deleted.
const (
	maxQuarantined      = 1000
	maxQuarantinedBytes = 64 << 20
)

// quarantineTable is made when the first row needs it.
const quarantineTable = `CREATE TABLE IF NOT EXISTS quarantine (id INTEGER PRIMARY KEY, at INTEGER NOT NULL,
owner INTEGER NOT NULL, source TEXT NOT NULL, key INTEGER NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL,
data BLOB NOT NULL)`

const insertQuarantine = `INSERT INTO quarantine (id, at, owner, source, key, name, reason, data) `

// quarantine is the table of damaged rows. The parts of a damaged host go with it: their owner is the host's row.
type quarantine struct {
	tx   *Tx
	rows []damagedRow // that are not written yet
}

// damagedRow is a row that did not decode.
type damagedRow struct {
	table  string
	key    int64
	name   string // of the host or domain
	reason string
	data   []byte
}

// QuarantineCounters count the damaged rows of a shard.
type QuarantineCounters struct {
	Rows, Bytes int64 // in the table, without parts that went with their host
	Total       int64 // since the beginning
}

func (q *QuarantineCounters) counters() []*int64 { return []*int64{&q.Rows, &q.Bytes, &q.Total} }

func (c *quarantine) add(r damagedRow) {
	r.data = slices.Clone(r.data)
	c.rows = append(c.rows, r)
}

// write moves the rows that were added.
func (c *quarantine) write() error {
	if len(c.rows) == 0 {
		return nil
	}
	if _, err := c.tx.db.Run(quarantineTable); err != nil {
		return err
	}
	n := &c.tx.state.Quarantine
	for _, r := range c.rows {
		n.Total++
		if n.Rows >= maxQuarantined || n.Bytes+int64(len(r.data)) > maxQuarantinedBytes {
			continue
		}
		n.Rows++
		n.Bytes += int64(len(r.data))
		if _, err := c.tx.db.Run(insertQuarantine+`SELECT coalesce(max(id), 0) + 1, ?1, 0, ?2, ?3, ?4, ?5, ?6
FROM quarantine`,
			int64(c.tx.now), r.table, r.key, r.name, r.reason, notNull(r.data)); err != nil {
			return err
		}
		if r.table != "hosts" {
			continue
		}
		if _, err := c.tx.db.Run(insertQuarantine+`
SELECT m.id + 1 + p.key - (?1 << 12), ?2, m.id, 'parts', p.key, '', '', p.data
FROM parts p, (SELECT max(id) AS id FROM quarantine) m WHERE p.key BETWEEN ?1 << 12 AND (?1 << 12) + 4095`,
			r.key, int64(c.tx.now)); err != nil {
			return err
		}
	}
	for _, r := range c.rows {
		if r.table == "hosts" {
			_, err := c.tx.db.Run(`DELETE FROM parts WHERE key BETWEEN ?1 << 12 AND (?1 << 12) + 4095`, r.key)
			if err != nil {
				return err
			}
		}
	}
	c.rows = nil
	return nil
}

// notNull returns data, or no bytes for nil.
func notNull(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// blankFor is the time before a host whose row was damaged may be fetched from: a lease may still have it.
const blankFor = frontier.MaxLeaseSeconds * time.Second

// replaceHost puts a host without pages and entry points in the place of a damaged one. Exclusion and delays stay as
// far as they could be read. The columns of the row say how many pages it had.
func (c *quarantine) replaceHost(damaged *Host, record []byte, urls int64, blocked epoch.Millis) *Host {
	c.add(damagedRow{"hosts", damaged.ID, damaged.Name, ErrDamaged.Error(), record})
	c.tx.state.URLs = max(c.tx.state.URLs-urls, 0)
	const longest = time.Duration(frontier.MaxWait) * time.Second
	h := newHost(c.tx, damaged.ID, damaged.Name, damaged.domain)
	h.Excluded, h.Delay, h.Override = damaged.Excluded, min(damaged.Delay, longest), min(damaged.Override, longest)
	h.Ready, h.Blocked = c.tx.now.Add(blankFor), blocked
	c.tx.hosts[h.ID] = h
	h.Change()
	return h
}

// replaceDomain puts a domain with the same hosts in the place of a damaged one. Scrapers get none of them until
// whoever had the domain must have lost it.
func (c *quarantine) replaceDomain(damaged *Domain, record []byte, reason string) (*Domain, error) {
	c.add(damagedRow{"domains", damaged.ID, damaged.Name, reason, record})
	m := &Domain{ID: damaged.ID, Name: damaged.Name, Excluded: damaged.Excluded, domainRow: domainRow{tx: c.tx},
		ownership: ownership{WaitEnds: c.tx.now.Add(blankFor), LostAt: c.tx.now}}
	rows, err := c.tx.db.Run(`SELECT id FROM hosts WHERE domain = ?1 LIMIT ?2`, m.ID, int64(MaxHosts))
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		id := rows.Int()
		m.Hosts = append(m.Hosts, id)
		for kind := range Kinds { // it is not known which of them were parked
			m.Parked = append(m.Parked, ParkedHost{id, kind})
		}
	}
	c.tx.domains[m.ID] = m
	m.Change()
	return m, rows.Err()
}

// replaceMissingDomains makes the domains of hosts that have none.
func (c *quarantine) replaceMissingDomains(hosts []*Host) error {
	for _, h := range hosts {
		if h == nil || c.tx.domains[h.domain] != nil {
			continue
		}
		name, ok := contract.RegistrableDomain(link.Hostname(h.Name))
		if !ok {
			name = link.Hostname(h.Name)
		}
		if _, err := c.replaceDomain(&Domain{ID: h.domain, Name: name}, nil, "the row is missing"); err != nil {
			return err
		}
	}
	return nil
}

// dropSegment takes a damaged segment of a host away, with the pages that it has left.
func (q *pageQueue) dropSegment(i int) {
	s := q.segments[i]
	key := q.segmentKey(s.number)
	// the entry is needed to read it
	data := append(appendString(nil, string(s.append(nil))), q.host.tx.parts.rows[key]...)
	q.host.tx.quarantine.add(damagedRow{"parts", key, q.host.Name, ErrDamaged.Error(), data})
	q.segments = slices.Delete(q.segments, i, i+1)
	q.host.tx.parts.set(key, nil)
	left := int64(len(q.buffer))
	for i := range q.segments {
		left += int64(q.segments[i].left())
	}
	h := q.host
	scheduled := q == &h.Schedule
	for i := range h.Leased {
		if (h.Leased[i].Reason == Scheduled) == scheduled {
			left++
		}
	}
	if h.unsure = true; scheduled {
		h.tx.state.Visits.Scheduled = max(h.tx.state.Visits.Scheduled+left-h.Scheduled, 0)
		h.Scheduled = left
	} else {
		h.tx.state.URLs = max(h.tx.state.URLs+left-h.URLs, 0)
		h.URLs = left
	}
	q.host.Change()
}

// dropBlock takes a damaged block of the queue away. Hosts that say that they stand there get other pointers.
func (c *queueTable) dropBlock(key int64, data []byte) error {
	reason := fmt.Sprintf("it has %d bytes", len(data))
	c.tx.quarantine.add(damagedRow{table: "queue", key: key, reason: reason, data: data})
	if err := c.tx.writeData("queue", map[int64][]byte{key: nil}); err != nil {
		return err
	}
	return c.repoint(laneOf(key), slotOf(key))
}

// repoint appends pointers to the hosts whose place is in a slot, after a pointer there was found damaged. A surplus
// pointer is dropped when its turn comes.
func (c *queueTable) repoint(lane int, slot epoch.Seconds) error {
	rows, err := c.tx.db.Run(`SELECT id FROM hosts WHERE due = max(?1 * 1000, 1) LIMIT ?2`, int64(slot),
		int64(4*MaxBlock))
	if err != nil {
		return err
	}
	var ids []int64
	for rows.Next() {
		ids = append(ids, rows.Int())
	}
	ids = append(ids, c.tx.state.journal.hosts()...) // what their rows say is older
	hosts, err := c.tx.Hosts(ids)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if h == nil {
			continue
		}
		for _, p := range h.places {
			if p.Queued && p.Lane == lane && p.Slot == slot {
				c.append(h, p)
			}
		}
	}
	return rows.Err()
}

// dropBlock takes a damaged block of a log away.
func (c *logTables) dropBlock(log string, key int64, data []byte) error {
	c.tx.quarantine.add(damagedRow{table: log, key: key, reason: ErrDamaged.Error(), data: data})
	if log == feedLog && c.feed != nil && key == c.feed.key {
		*c.feed, c.grown = logBlock{key: key + int64(len(data))}, true // it had no more records than bytes
		return nil
	}
	return c.tx.writeData(log, map[int64][]byte{key: nil})
}

// replaceState makes up for a damaged row of the table state.
func (c *quarantine) replaceState(key int64, data []byte) error {
	s := &c.tx.state
	c.add(damagedRow{table: "state", key: key, reason: ErrDamaged.Error(), data: data})
	s.stored[key] = ""
	switch key {
	case stateCounters:
		for _, v := range s.counters() {
			*v = 0
		}
		s.lately, s.Tail, s.Visits = nil, "", VisitCounters{}
		s.announced = announcedList{} // a few domains may announce as many pages again today
		s.pointers.data, s.due.data = nil, nil
		s.Version, s.Reader, s.Lease = 0, 0, int64(c.tx.now) // open does what migrations the tables lack
		if err := c.tx.leases.rebuild(); err != nil {
			return err
		}
		return c.recount()
	case stateClasses: // others must not get the ids of those that are not known any more
		for len(s.Classes) < min(len(data)/2, maxClasses) {
			s.Classes = append(s.Classes, frontier.Class{})
		}
	case stateRefreshing:
		s.Refreshing = RefreshCounters{}
	case stateDeleted:
		s.deleted = deletedLogs{}
	case stateClaims:
		s.claims = nil
	case stateClassSets:
		for len(s.classSets) < min(len(data), maxClassSets) {
			s.classSets = append(s.classSets, nil)
		}
	case stateQuarantine:
		s.Quarantine = QuarantineCounters{}
		return c.recountQuarantine()
	}
	return nil
}

// recount counts what the columns of the tables tell.
func (c *quarantine) recount() error {
	rows, err := c.tx.db.Run(`SELECT count(*), coalesce(sum(urls), 0), (SELECT coalesce(min(ends), 0) FROM leases)
FROM hosts`)
	if err != nil {
		return err
	}
	if rows.Next() {
		c.tx.state.Hosts, c.tx.state.URLs, c.tx.state.FirstEnd = rows.Int(), rows.Int(), epoch.Millis(rows.Int())
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return c.recountVisits()
}

// recountVisits counts the pages that are to be fetched again: without any, no lease would look for them. It finds the
// hosts whose pointers are in no block.
func (c *quarantine) recountVisits() error {
	due, err := c.dueHosts()
	if err != nil {
		return err
	}
	for last, more := int64(-1), true; more; {
		rows, err := c.tx.db.Run(`SELECT id, record FROM hosts WHERE id > ?1 ORDER BY id LIMIT 100`, last)
		if err != nil {
			return err
		}
		var hosts []*Host
		for more = false; rows.Next(); {
			last, more = rows.Int(), true
			h, err := decodeHost(last, "", 0, rows.Blob())
			if err != nil {
				continue
			}
			hosts = append(hosts, h)
			c.tx.state.Visits.Scheduled += h.Scheduled
			if key := dueKey(c.tx.seconds()); h.packedEntries != "" && !due[h.ID] {
				c.tx.due.watched[key] = appendID(c.tx.due.watched[key], h.ID)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if err := c.repoint(hosts); err != nil {
			return err
		}
	}
	hosts, err := c.tx.leases.journaledHosts()
	if err != nil {
		return err
	}
	return c.repoint(hosts)
}

// dueHosts returns the ids in the table due.
func (c *quarantine) dueHosts() (map[int64]bool, error) {
	rows, err := c.tx.db.Run(`SELECT data FROM due`)
	if err != nil {
		return nil, err
	}
	ids := map[int64]bool{}
	for rows.Next() {
		for _, id := range unpackIDs(rows.Blob()) {
			ids[id] = true
		}
	}
	return ids, rows.Err()
}

// repoint appends pointers for the places of hosts to which no block has one. A surplus pointer is dropped when its
// turn comes.
func (c *quarantine) repoint(hosts []*Host) error {
	type standing struct {
		host  int64
		place place
	}
	var keys []int64
	for _, h := range hosts {
		for _, p := range h.places {
			if p.Queued {
				keys = append(keys, blockKey(p.Lane, p.Slot))
			}
		}
	}
	slices.Sort(keys)
	rows, err := c.tx.db.Run(`SELECT q.key, q.data FROM json_each(?1) j JOIN queue q ON q.key BETWEEN j.value AND
j.value + 16383`, numbers(slices.Compact(keys)))
	if err != nil {
		return err
	}
	there := map[standing]bool{}
	for rows.Next() {
		key, data := rows.Int(), rows.Blob()
		for at := 0; at+pointerLen <= len(data); at += pointerLen {
			p := pointerAt(data, at)
			there[standing{p.Host, place{true, laneOf(key), slotOf(key), p.Types, p.Class}}] = true
		}
	}
	for _, h := range hosts {
		for _, p := range h.places {
			if p.Queued && !there[standing{h.ID, p}] {
				c.tx.queue.append(h, p)
			}
		}
	}
	return rows.Err()
}

func (c *quarantine) recountQuarantine() error {
	if _, err := c.tx.db.Run(quarantineTable); err != nil {
		return err
	}
	rows, err := c.tx.db.Run(`SELECT count(*), coalesce(sum(length(data)), 0), coalesce(max(id), 0) FROM quarantine
WHERE owner = 0`)
	if err != nil {
		return err
	}
	if rows.Next() {
		n := &c.tx.state.Quarantine
		n.Rows, n.Bytes, n.Total = rows.Int(), rows.Int(), rows.Int()
	}
	return rows.Err()
}

// Tables whose damaged rows the rules restore; QuarantinedRow.Restore does it for the others.
const (
	DamagedHost  = "hosts"
	DamagedPages = "parts"
)

// QuarantinedRow is a row of the quarantine.
type QuarantinedRow struct {
	ID     int64
	At     epoch.Millis
	Table  string
	Key    int64
	Name   string // of the host or domain
	Reason string
	Bytes  int64

	tx   *Tx
	data []byte
}

// Quarantined returns up to limit rows with larger ids, without the parts of hosts.
func (c *Tx) Quarantined(after, limit int64) ([]QuarantinedRow, error) {
	return c.quarantine.read(`SELECT id, at, source, key, name, reason, length(data), NULL FROM quarantine
WHERE id > ?1 AND owner = 0 ORDER BY id LIMIT ?2`, after, limit)
}

// QuarantinedRow returns a row; nil if not found.
func (c *Tx) QuarantinedRow(id int64) (*QuarantinedRow, error) {
	rows, err := c.quarantine.read(`SELECT id, at, source, key, name, reason, length(data), data FROM quarantine
WHERE id = ?1 AND owner = 0`, id)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

func (c *quarantine) read(sql string, args ...any) (list []QuarantinedRow, err error) {
	if c.tx.state.Quarantine.Total == 0 { // there is no such table
		return nil, nil
	}
	rows, err := c.tx.db.Run(sql, args...)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		list = append(list, QuarantinedRow{rows.Int(), epoch.Millis(rows.Int()), rows.Text(), rows.Int(), rows.Text(),
			rows.Text(),
			rows.Int(), c.tx, rows.Blob()})
	}
	return list, rows.Err()
}

// Drop deletes a row, and the parts that went with it.
func (r *QuarantinedRow) Drop() error {
	r.tx.state.Quarantine.Rows--
	r.tx.state.Quarantine.Bytes -= r.Bytes
	_, err := r.tx.db.Run(`DELETE FROM quarantine WHERE id = ?1 OR owner = ?1`, r.ID)
	return err
}

// Host returns the record of a quarantined host and its parts.
func (r *QuarantinedRow) Host() (record []byte, saved []frontier.Part, err error) {
	rows, err := r.tx.db.Run(`SELECT key, data FROM quarantine WHERE owner = ?1`, r.ID)
	if err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		saved = append(saved, frontier.Part{Number: int(rows.Int() & (parts - 1)), Data: rows.Blob()})
	}
	return r.data, saved, rows.Err()
}

// Pages returns the pages of a quarantined segment, and the host that had them.
func (r *QuarantinedRow) Pages() (*Host, []Page, error) {
	d := decode(r.data)
	entry := decode([]byte(d.string()))
	s := entry.segment()
	if d.err != nil || entry.err != nil {
		return nil, nil, ErrDamaged
	}
	pages, err := s.unread(r.data[d.at:])
	if err != nil {
		return nil, nil, err
	}
	hosts, err := r.tx.Hosts([]int64{r.Key >> partBits})
	if err != nil {
		return nil, nil, err
	}
	return hosts[0], pages, nil
}

// Restore puts back a domain, a mirror or a block of a log that this version can read. It reports false if something
// took its place, and for rows of all other tables.
func (r *QuarantinedRow) Restore() (restored bool, err error) {
	switch r.Table {
	case "domains":
		return true, r.restoreDomain()
	case feedLog, changesLog, "mirrors":
		return r.restoreBlock()
	}
	return false, nil
}

// restoreDomain puts a quarantined domain in the place of the one that replaced it, with the hosts of both.
func (r *QuarantinedRow) restoreDomain() error {
	m, err := decodeDomain(r.Key, r.Name, r.data)
	if err != nil {
		return err
	}
	domains, err := r.tx.loadDomains([]int64{r.Key})
	if err != nil {
		return err
	}
	if now := domains[0]; now != nil {
		for _, id := range now.Hosts {
			if !slices.Contains(m.Hosts, id) {
				m.Hosts = append(m.Hosts, id)
			}
		}
		m.Excluded, m.Owner, m.OwnerEnds, m.WaitEnds = now.Excluded, now.Owner, now.OwnerEnds, now.WaitEnds
		m.Listed, m.Active, m.Claims, m.Parked = now.Listed, now.Active, now.Claims, now.Parked
		m.contracts, m.stored = cmp.Or(now.contracts, m.contracts), now.stored
	}
	m.tx = r.tx
	if now := domains[0]; now != nil {
		*now = *m
		m = now
	}
	r.tx.domains[m.ID] = m
	m.Change()
	return nil
}

// restoreBlock puts a block of a log, or mirrors, back where they were. It reports false if others took the place.
func (r *QuarantinedRow) restoreBlock() (bool, error) {
	var err error
	if r.Table == "mirrors" {
		_, err = decodeMirrors(r.data)
	} else {
		_, err = logRecords(r.Key, r.data)
	}
	if err != nil {
		return false, err
	}
	rows, err := r.tx.db.Run("SELECT key FROM "+r.Table+" WHERE key = ?1", r.Key)
	if err != nil || rows.Next() {
		return false, err
	}
	return true, r.tx.writeData(r.Table, map[int64][]byte{r.Key: r.data})
}
