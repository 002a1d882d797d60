package store

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/placement"
)

var (
	errFull       = errors.New("frontier: more hosts are due in one second than a slot can take")
	ErrCollisions = errors.New("frontier: too many names have the same id")
)

// Tx is one transaction: what it has loaded, and what it has to write. Rows are loaded once and
// written once, with one statement a table, since a statement costs 80 to 100 µs on the platform.
type Tx struct {
	state  State
	queue  queueTable // hosts that have pages
	due    dueTable   // hosts whose entry points are to be looked at
	leases leaseTable
	parts  partTable
	logs   logTables // the feed, and contracts that changed

	quarantine quarantine

	LeastDelay time.Duration // between two requests to any host, also those that are stored with less

	db   DB
	now  epoch.Millis
	hash func(string) uint64

	hosts   map[int64]*Host   // nil: there is no such row
	domains map[int64]*Domain // the same
}

// maxLoaded is the number of bytes of hosts, domains and parts that one lease or tick loads. They take several times as
// much memory on their way, and the platform allows 128 MB for all shards of an isolate.
const maxLoaded = 12 << 20

// Full reports whether the operation has loaded a share of what it may load: all for 1, half for 2.
func (s *State) Full(share int64) bool { return s.loaded >= maxLoaded/share }

func (c *Tx) seconds() epoch.Seconds { return c.now.Seconds() }

// State returns what the shard has once. Changes of it are written like those of rows.
func (c *Tx) State() *State { return &c.state }

// LoadedDomains returns all domains that were loaded or made, by id.
func (c *Tx) LoadedDomains() []*Domain {
	var list []*Domain
	for _, id := range slices.Sorted(maps.Keys(c.domains)) {
		if m := c.domains[id]; m != nil {
			list = append(list, m)
		}
	}
	return list
}

// Begin opens a shard for one operation. hash replaces the hash of names in tests of collisions.
func Begin(db DB, now epoch.Millis, hash func(string) uint64) (*Tx, error) {
	c := &Tx{state: newState(), db: db, now: max(now, 0), hash: hash, hosts: map[int64]*Host{},
		domains: map[int64]*Domain{}}
	c.queue = queueTable{tx: c, arrivals: map[int64][]byte{}, blocks: map[int64][]byte{}}
	c.due = dueTable{tx: c, watched: map[int64][]byte{}, left: map[int64][]int64{}}
	c.leases = leaseTable{tx: c, rows: map[int64]leaseRow{}}
	c.parts = partTable{tx: c, rows: map[int64][]byte{}, changed: map[int64]bool{}}
	c.logs, c.quarantine = logTables{tx: c}, quarantine{tx: c}
	if c.hash == nil {
		c.hash = placement.Hash64
	}
	return c, c.open()
}

// ---- loading

// Hosts returns hosts with their domains by their ids, in the same order; nil for one that does not exist.
func (c *Tx) Hosts(ids []int64) ([]*Host, error) {
	hosts, err := c.loadHosts(ids)
	if err != nil {
		return nil, err
	}
	return hosts, c.loadDomainsOf(hosts)
}

// loadHosts is Hosts without the domains.
func (c *Tx) loadHosts(ids []int64) ([]*Host, error) {
	missing := ids[:0:0]
	for _, id := range ids {
		if _, ok := c.hosts[id]; !ok {
			c.hosts[id] = nil
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		rows, err := c.db.Run(`SELECT h.id, h.host, h.domain, h.urls, h.due, h.blocked,
CASE WHEN l.id IS NULL THEN h.record ELSE substr(l.data, j.value->>2, j.value->>3) END
FROM json_each(?1) j JOIN hosts h ON h.id = j.value->>0 LEFT JOIN leases l ON l.id = j.value->>1`,
			c.state.journal.locate(missing))
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			id, name, domain := rows.Int(), rows.Text(), rows.Int()
			columns := storedColumns{true, rows.Int(), rows.Millis(), rows.Millis()}
			record := rows.Blob()
			c.state.loaded += int64(len(record))
			h, err := c.leases.journaled(id, name, domain, record), error(nil)
			var after func(*Host)
			if h == nil {
				if c.state.journal.has(id) {
					if record, after, err = c.leases.lose(id); err != nil {
						return nil, err
					}
				}
				h, err = decodeHost(id, name, domain, record)
			}
			if err != nil {
				c.quarantine.replaceHost(h, record, columns.wasURLs, columns.wasBlocked)
				continue
			}
			h.tx, h.stored, h.storedColumns = c, record, columns
			if after != nil {
				after(h)
			}
			if err := c.state.claims.apply(h); err != nil {
				return nil, err
			}
			c.hosts[h.ID] = h
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		if err := c.leases.findLost(missing); err != nil {
			return nil, err
		}
	}
	hosts := make([]*Host, len(ids))
	for i, id := range ids {
		hosts[i] = c.hosts[id]
	}
	return hosts, nil
}

// loadDomains returns domains by their ids, in the same order; nil for one that does not exist.
func (c *Tx) loadDomains(ids []int64) ([]*Domain, error) {
	missing := ids[:0:0]
	for _, id := range ids {
		if _, ok := c.domains[id]; !ok {
			c.domains[id] = nil
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		var loaded []*Domain
		rows, err := c.db.Run(`SELECT id, domain, record FROM domains WHERE id IN (SELECT value FROM json_each(?1))`,
			numbers(missing))
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			id, name, record := rows.Int(), rows.Text(), rows.Blob()
			m, err := decodeDomain(id, name, record)
			if err != nil {
				if _, err := c.quarantine.replaceDomain(m, record, err.Error()); err != nil {
					return nil, err
				}
				continue
			}
			m.tx, m.stored = c, record
			c.domains[m.ID] = m
			c.state.loaded += int64(len(record))
			loaded = append(loaded, m)
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		c.state.announced.apply(c.domains, missing)
		if err := c.adopt(loaded); err != nil {
			return nil, err
		}
	}
	domains := make([]*Domain, len(ids))
	for i, id := range ids {
		domains[i] = c.domains[id]
	}
	return domains, nil
}

// loadDomainsOf loads the domains of hosts that were loaded without.
func (c *Tx) loadDomainsOf(hosts []*Host) error {
	var without []*Host
	var ids []int64
	for _, h := range hosts {
		if h != nil && h.Domain == nil {
			without, ids = append(without, h), append(ids, h.domain)
		}
	}
	if len(without) == 0 {
		return nil
	}
	domains, err := c.loadDomains(ids)
	if err != nil {
		return err
	}
	if slices.Contains(domains, nil) {
		if err := c.quarantine.replaceMissingDomains(without); err != nil {
			return err
		}
	}
	for _, h := range without {
		h.Domain = c.domains[h.domain]
	}
	return nil
}

// maxProbes is the number of consecutive ids that are tried for a name. Ids have 40 bits, so of a million hosts
// in a shard half a name shares its id with another.
const maxProbes = 16

// find returns the ids of names: where each stands, or would be made.
func find[T any](c *Tx, names []string, load func([]int64) ([]T, error),
	is func(T, string) (found, free bool)) ([]int64, error) {
	ids := make([]int64, len(names))
	open := make([]int, len(names)) // indexes of names that are still looked for
	for i, name := range names {
		ids[i], open[i] = int64(c.hash(name)>>24), i
	}
	for range maxProbes {
		wanted := make([]int64, len(open))
		for k, i := range open {
			wanted[k] = ids[i]
		}
		rows, err := load(wanted)
		if err != nil {
			return nil, err
		}
		others := open[:0]
		for k, i := range open {
			if found, free := is(rows[k], names[i]); !found && !free {
				ids[i] = (ids[i] + 1) & idMask
				others = append(others, i)
			}
		}
		if open = others; len(open) == 0 {
			return ids, nil
		}
	}
	return nil, ErrCollisions
}

// HostsNamed returns hosts with their domains by their names; nil for one that does not exist.
func (c *Tx) HostsNamed(names []string) ([]*Host, error) {
	ids, err := c.hostIDs(names)
	if err != nil {
		return nil, err
	}
	return c.Hosts(ids)
}

// hostIDs returns the ids of hosts by their names: where each stands, or would be made.
func (c *Tx) hostIDs(names []string) ([]int64, error) {
	return find(c, names, c.loadHosts, func(h *Host, name string) (bool, bool) {
		return h != nil && h.Name == name, h == nil
	})
}

// DomainsNamed returns domains by their names; nil for one that does not exist.
func (c *Tx) DomainsNamed(names []string) ([]*Domain, error) {
	ids, err := c.domainIDs(names)
	if err != nil {
		return nil, err
	}
	return c.loadDomains(ids)
}

// domainIDs is hostIDs for domains.
func (c *Tx) domainIDs(names []string) ([]int64, error) {
	return find(c, names, c.loadDomains, func(m *Domain, name string) (bool, bool) {
		return m != nil && m.Name == name, m == nil
	})
}

// MakeDomain returns a domain by its name, or makes it. A domain that is made is not stored unless it changes.
func (c *Tx) MakeDomain(name string) (*Domain, error) {
	ids, err := c.domainIDs([]string{name})
	if err != nil {
		return nil, err
	}
	id := ids[0]
	if c.domains[id] == nil {
		c.domains[id] = &Domain{ID: id, Name: name, domainRow: domainRow{tx: c}}
	}
	return c.domains[id], nil
}

// MaxHosts caps the hosts of a domain: a domain that makes up hosts without end is a trap.
const MaxHosts = 4096

// MakeHost returns a host of the domain, and creates it if necessary. It returns nil if the domain has too many hosts.
func (m *Domain) MakeHost(name string, delay time.Duration) (h *Host, added bool, err error) {
	c := m.tx
	ids, err := c.hostIDs([]string{name})
	if err != nil {
		return nil, false, err
	}
	if c.hosts[ids[0]] != nil {
		hosts, err := c.Hosts(ids)
		return hosts[0], false, err
	}
	if len(m.Hosts) >= MaxHosts {
		return nil, false, nil
	}
	h = newHost(c, ids[0], name, m.ID)
	h.Domain, h.Delay = m, delay
	c.hosts[h.ID] = h
	c.parts.rows[h.ID<<partBits] = nil // there is nothing to load
	h.Change()
	m.Hosts = append(m.Hosts, h.ID)
	if at := slices.Index(m.Expected, h.ID); at >= 0 { // what is stored says so already
		m.Expected = slices.Delete(m.Expected, at, at+1)
	} else {
		m.Change()
	}
	c.state.Hosts++
	return h, true, nil
}

// ---- writing

// Flush writes what has changed.
func (c *Tx) Flush() error {
	if err := c.leases.settle(); err != nil {
		return err
	}
	if err := listAnnounced(c); err != nil {
		return err
	}
	for _, id := range idsOf(c.hosts, func(h *Host) bool { return h != nil && (h.grown || h.Schedule.grown) }) {
		if err := c.hosts[id].spill(); err != nil {
			return err
		}
		if err := c.hosts[id].Schedule.spill(); err != nil {
			return err
		}
	}
	for _, id := range idsOf(c.hosts, func(h *Host) bool { return h != nil && h.changed && h.crowded() }) {
		if err := c.hosts[id].mergeRecent(); err != nil {
			return err
		}
	}
	if len(c.logs.news) > 0 { // what is damaged goes to the quarantine
		if _, err := c.logs.lastNumber(); err != nil {
			return err
		}
	}
	if err := c.quarantine.write(); err != nil { // before anything takes the place of a row
		return err
	}
	if err := c.queue.write(); err != nil { // flush must see what a lease has taken out
		return err
	}
	if err := c.queue.flush(); err != nil {
		return err
	}
	changed := map[int64][]byte{}
	for key := range c.parts.changed {
		changed[key] = c.parts.rows[key]
	}
	if err := c.writeData("parts", changed); err != nil {
		return err
	}
	if err := c.writeHosts(); err != nil {
		return err
	}
	c.leases.list()
	if err := c.writeDomains(); err != nil {
		return err
	}
	if err := c.leases.write(); err != nil {
		return err
	}
	if err := c.due.flush(); err != nil {
		return err
	}
	if err := c.logs.flushFeed(); err != nil {
		return err
	}
	rows := map[int64][]byte{}
	for key, data := range c.state.encode() {
		if string(data) != c.state.stored[key] {
			rows[int64(key)] = data
		}
	}
	return writeState(c, rows)
}

// writeState writes rows of the state. The last block of the feed goes with the counters, with which it is one row.
func writeState(c *Tx, rows map[int64][]byte) error {
	if !c.logs.grown {
		return c.writeData("state", rows)
	}
	counters, changed := rows[stateCounters]
	if !changed {
		counters = []byte(c.state.stored[stateCounters])
	}
	delete(rows, stateCounters)
	if err := c.writeData("state", rows); err != nil {
		return err
	}
	_, err := c.db.Run(`INSERT INTO state (key, data, feed) VALUES (0, ?1, ?2) ON CONFLICT (key) DO UPDATE SET
data = excluded.data, feed = excluded.feed`, counters, c.logs.feed.encode())
	return err
}

// writeData writes rows of a table of keys and data; without data a row is deleted.
func (c *Tx) writeData(table string, rows map[int64][]byte) error {
	b := batch{c: c, sql: "INSERT INTO " + table +
		" (key, data) SELECT value->>0, substr(?2, value->>1, value->>2) FROM json_each(?1) WHERE true ON CONFLICT " +
		"(key) DO UPDATE SET data = excluded.data"}
	var gone []int64
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if len(rows[key]) == 0 {
			gone = append(gone, key)
		} else if err := b.add(rows[key], key); err != nil {
			return err
		}
	}
	if err := b.write(); err != nil || len(gone) == 0 {
		return err
	}
	_, err := c.db.Run("DELETE FROM "+table+" WHERE key IN (SELECT value FROM json_each(?1))", numbers(gone))
	return err
}

func (c *Tx) writeHosts() error {
	b := batch{c: c, sql: `INSERT INTO hosts (id, host, domain, urls, due, blocked, record)
SELECT value->>0, value->>3, value->>4, value->>5, value->>6, value->>7, substr(?2, value->>1, value->>2) FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET domain = excluded.domain, urls = excluded.urls, due = excluded.due, blocked = excluded.blocked, record = excluded.record`}
	ids := idsOf(c.hosts, func(h *Host) bool { return h != nil && h.changed })
	for _, id := range ids {
		b.size += len(c.hosts[id].stored) + 64
	}
	c.leases.size = b.size
	var record []byte
	for _, id := range ids {
		h := c.hosts[id]
		record = h.append(record[:0])
		if bytes.Equal(record, h.stored) { // its columns follow from it
			continue
		}
		c.state.journal.remove(id)
		if c.leases.keep(h, record) {
			continue
		}
		if err := b.add(record, id, h.Name, h.domain, h.URLs, int64(h.DueAt()), int64(h.Blocked)); err != nil {
			return err
		}
	}
	return b.write()
}

func (c *Tx) writeDomains() error {
	b := batch{c: c,
		sql: `INSERT INTO domains (id, domain, record) SELECT value->>0, value->>3, substr(?2, value->>1, value->>2) FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET record = excluded.record`}
	for _, id := range idsOf(c.domains, func(m *Domain) bool { return m != nil && m.changed }) {
		m := c.domains[id]
		record := m.encode()
		if bytes.Equal(record, m.stored) {
			continue
		}
		if err := b.add(record, id, m.Name); err != nil {
			return err
		}
	}
	return b.write()
}

// idsOf returns the ids of the wanted rows, in ascending order.
func idsOf[T any](rows map[int64]T, wanted func(T) bool) (ids []int64) {
	for id, row := range rows {
		if wanted(row) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// batch gathers rows for one statement: in ?1 a JSON array of rows, each its key, where its data
// begins in ?2 (from 1) and how long it is, and its other columns; in ?2 the data end to end.
type batch struct {
	c    *Tx
	sql  string
	rows []byte
	data []byte
	size int // of all data, about; 0 if it is not known
}

// maxBatch keeps a statement's arguments far below the 2 MB that the platform takes.
const maxBatch = 1 << 20

var errColumn = errors.New("frontier: a column is neither a number nor a name")

func (b *batch) add(data []byte, key int64, columns ...any) error {
	if err := b.begin(len(data), key, columns...); err != nil {
		return err
	}
	b.data = append(b.data, data...)
	return nil
}

// begin adds a row without its data, which the caller appends.
func (b *batch) begin(size int, key int64, columns ...any) error {
	if len(b.rows) > 0 && len(b.rows)+len(b.data)+size > maxBatch {
		if err := b.write(); err != nil {
			return err
		}
	}
	if b.data == nil {
		b.data = make([]byte, 0, max(size, min(b.size, maxBatch)))
	}
	separator := byte(',')
	if len(b.rows) == 0 {
		separator = '['
	}
	b.rows = strconv.AppendInt(append(b.rows, separator, '['), key, 10)
	b.rows = strconv.AppendInt(append(b.rows, ','), int64(len(b.data)+1), 10)
	b.rows = strconv.AppendInt(append(b.rows, ','), int64(size), 10)
	for _, v := range columns {
		switch v := v.(type) {
		case int64:
			b.rows = strconv.AppendInt(append(b.rows, ','), v, 10)
		case string: // a name of a host or domain: ASCII without anything to escape
			b.rows = append(append(append(b.rows, ',', '"'), v...), '"')
		default:
			return errColumn // without the value, which would escape: a batch has thousands
		}
	}
	b.rows = append(b.rows, ']')
	return nil
}

func (b *batch) write() error {
	if len(b.rows) == 0 {
		return nil
	}
	_, err := b.c.db.Run(b.sql, string(append(b.rows, ']')), b.data)
	b.rows, b.data = nil, nil
	return err
}

// numbers is a JSON array: a statement takes at most 100 parameters, but any JSON.
func numbers(list []int64) string {
	b := []byte{'['}
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

// adopt moves hosts that now have a row from expected to known. Nothing has changed by that:
// the rows of the domains say it in other words.
func (c *Tx) adopt(domains []*Domain) error {
	var ids []int64
	for _, m := range domains {
		ids = append(ids, m.Expected...)
	}
	if _, err := c.loadHosts(ids); err != nil {
		return err
	}
	for _, m := range domains {
		m.Expected = slices.DeleteFunc(m.Expected, func(id int64) bool {
			h := c.hosts[id]
			if h != nil && h.domain == m.ID && !slices.Contains(m.Hosts, id) {
				m.Hosts = append(m.Hosts, id)
			}
			return h != nil
		})
	}
	return nil
}
