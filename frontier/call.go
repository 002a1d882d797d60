package frontier

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
)

var (
	errFull       = errors.New("frontier: more hosts are due in one second than a slot can take")
	errCollisions = errors.New("frontier: too many names have the same id")
)

// Parts of a host: chunks of its seen-set, then segments.
const (
	partBits     = 12
	parts        = 1 << partBits
	firstSegment = 1 << maxBits
)

// call is one operation: what it has loaded, and what it has to write. Rows are loaded once and
// written once, with one statement a table, since a statement costs 80 to 100 µs on the platform.
type call struct {
	db       DB
	number   int // of the shard
	settings Settings
	hash     func(string) uint64
	now      int64 // ms
	state    state

	hosts    map[int64]*host   // nil: there is no such row
	domains  map[int64]*domain // the same
	parts    map[int64][]byte  // empty: the same
	arrivals map[int64][]byte  // pointers by the first key of their slot
	blocks   map[int64][]byte  // changed blocks; empty: to be deleted
	leases   map[int64]leaseRow

	thinnings int // domains that had to make room, see best.go

	changedHosts   map[int64]bool
	changedDomains map[int64]bool
	changedParts   map[int64]bool

	news    [][]byte          // items for the feed
	watched map[int64][]int64 // hosts with entry points, by the second at which they are to be looked at
	alarm   int64             // ms, see Shard
}

// leaseRow is a row of the table leases: the hosts of a lease, or under the negative id of a domain
// the time at which its parked hosts are to be looked at. Without data it is to be deleted.
type leaseRow struct {
	ends int64
	data []byte
}

func (c *call) seconds() int64 { return c.now / 1000 }

func (c *call) change(h *host)         { c.changedHosts[h.id] = true }
func (c *call) changeDomain(m *domain) { c.changedDomains[m.id] = true }

func (c *call) setPart(key int64, data []byte) {
	c.parts[key] = data
	c.changedParts[key] = true
}

// run does one operation between open and flush.
func (s *Shard) run(now int64, operation func(*call) error) error {
	c := &call{db: s.DB, number: s.Number, settings: s.Settings.withDefaults(), hash: s.hash, now: max(now, 0),
		hosts: map[int64]*host{}, domains: map[int64]*domain{}, parts: map[int64][]byte{},
		arrivals: map[int64][]byte{}, blocks: map[int64][]byte{}, leases: map[int64]leaseRow{},
		watched: map[int64][]int64{}, changedHosts: map[int64]bool{}, changedDomains: map[int64]bool{}, changedParts: map[int64]bool{}}
	if c.hash == nil {
		c.hash = hash64
	}
	if err := c.open(); err != nil {
		return err
	}
	if err := operation(c); err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	s.alarm = c.alarm
	return nil
}

// ---- loading

// loadHosts gives hosts by their ids, in the same order; nil for one that does not exist.
func (c *call) loadHosts(ids []int64) ([]*host, error) {
	missing := ids[:0:0]
	for _, id := range ids {
		if _, ok := c.hosts[id]; !ok {
			c.hosts[id] = nil
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		rows, err := c.db.Run(`SELECT id, host, domain, record FROM hosts WHERE id IN (SELECT value FROM json_each(?1))`, numbers(missing))
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			id, name, domain, record := rows.Int(), rows.Text(), rows.Int(), rows.Blob()
			h, err := decodeHost(id, name, domain, record)
			if err != nil {
				return nil, err
			}
			h.stored = record
			c.hosts[h.id] = h
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	hosts := make([]*host, len(ids))
	for i, id := range ids {
		hosts[i] = c.hosts[id]
	}
	return hosts, nil
}

// loadDomains is loadHosts for domains.
func (c *call) loadDomains(ids []int64) ([]*domain, error) {
	missing := ids[:0:0]
	for _, id := range ids {
		if _, ok := c.domains[id]; !ok {
			c.domains[id] = nil
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		var loaded []*domain
		rows, err := c.db.Run(`SELECT id, domain, record FROM domains WHERE id IN (SELECT value FROM json_each(?1))`, numbers(missing))
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			id, name, record := rows.Int(), rows.Text(), rows.Blob()
			m, err := decodeDomain(id, name, record)
			if err != nil {
				return nil, err
			}
			m.stored = record
			c.domains[m.id] = m
			loaded = append(loaded, m)
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		if err := c.adopt(loaded); err != nil {
			return nil, err
		}
	}
	domains := make([]*domain, len(ids))
	for i, id := range ids {
		domains[i] = c.domains[id]
	}
	return domains, nil
}

// loadWithDomains is loadHosts, and loads the domains of the hosts.
func (c *call) loadWithDomains(ids []int64) ([]*host, error) {
	hosts, err := c.loadHosts(ids)
	if err != nil {
		return nil, err
	}
	return hosts, c.domainsOf(hosts)
}

// domainsOf loads the domains of hosts.
func (c *call) domainsOf(hosts []*host) error {
	var ids []int64
	for _, h := range hosts {
		if h != nil {
			ids = append(ids, h.domain)
		}
	}
	domains, err := c.loadDomains(ids)
	if err == nil && slices.Contains(domains, nil) {
		return errDamaged // a host without its domain
	}
	return err
}

// maxProbes is how many ids in a row are tried for a name. Ids have 40 bits, so of a million hosts
// in a shard half a name shares its id with another.
const maxProbes = 16

// find gives the ids of names: where each stands, or would be made.
func find[T any](c *call, names []string, load func([]int64) ([]T, error), is func(T, string) (found, free bool)) ([]int64, error) {
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
	return nil, errCollisions
}

// findHosts gives hosts by their names; nil for one that does not exist, with the id it would get.
func (c *call) findHosts(names []string) ([]*host, []int64, error) {
	ids, err := find(c, names, c.loadHosts, func(h *host, name string) (bool, bool) {
		return h != nil && h.name == name, h == nil
	})
	if err != nil {
		return nil, nil, err
	}
	hosts, err := c.loadHosts(ids)
	return hosts, ids, err
}

// findHost gives a host by its name, nil when there is none.
func (c *call) findHost(name string) (*host, error) {
	hosts, _, err := c.findHosts([]string{name})
	if err != nil {
		return nil, err
	}
	return hosts[0], nil
}

// findDomains gives the ids of domains by their names: where each stands, or would be made.
func (c *call) findDomains(names []string) ([]int64, error) {
	return find(c, names, c.loadDomains, func(m *domain, name string) (bool, bool) {
		return m != nil && m.name == name, m == nil
	})
}

// findDomain gives a domain by its name; nil when there is none, with the id it would get.
func (c *call) findDomain(name string) (*domain, int64, error) {
	ids, err := c.findDomains([]string{name})
	if err != nil {
		return nil, 0, err
	}
	return c.domains[ids[0]], ids[0], nil
}

// makeDomain gives a domain by its name, a new one when there is none.
func (c *call) makeDomain(name string) (*domain, error) {
	m, err := c.openDomain(name)
	if err == nil && m.stored == nil {
		c.changeDomain(m)
	}
	return m, err
}

// openDomain is makeDomain of a domain that is not stored if nothing else changes it.
func (c *call) openDomain(name string) (*domain, error) {
	m, id, err := c.findDomain(name)
	if err != nil || m != nil {
		return m, err
	}
	m = &domain{id: id, name: name}
	c.domains[id] = m
	return m, nil
}

// maxHosts is how many hosts a domain may have: a domain that makes up hosts without end is a trap.
const maxHosts = 4096

// makeHost gives a host of a domain by its name, a new one when there is none; nil when the domain
// has too many.
func (c *call) makeHost(m *domain, name string) (*host, error) {
	hosts, ids, err := c.findHosts([]string{name})
	if err != nil {
		return nil, err
	}
	if hosts[0] != nil {
		return hosts[0], nil
	}
	if len(m.hosts) >= maxHosts {
		return nil, nil
	}
	h := &host{id: ids[0], name: name, domain: m.id, delay: c.settings.Delay}
	c.hosts[h.id] = h
	c.parts[h.id<<partBits] = nil // there is nothing to load
	c.change(h)
	m.hosts = append(m.hosts, h.id)
	if at := slices.Index(m.expected, h.id); at >= 0 { // what is stored says so already
		m.expected = slices.Delete(m.expected, at, at+1)
	} else {
		c.changeDomain(m)
	}
	c.state.hosts++
	return h, c.list(m)
}

func (c *call) loadParts(keys []int64) error {
	missing := keys[:0:0]
	for _, key := range keys {
		if _, ok := c.parts[key]; !ok {
			c.parts[key] = nil
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := c.db.Run(`SELECT key, data FROM parts WHERE key IN (SELECT value FROM json_each(?1))`, numbers(missing))
	if err != nil {
		return err
	}
	for rows.Next() {
		key := rows.Int()
		c.parts[key] = rows.Blob()
	}
	return rows.Err()
}

func (c *call) part(key int64) ([]byte, error) {
	err := c.loadParts([]int64{key})
	return c.parts[key], err
}

// ---- writing

// flush writes what has changed.
func (c *call) flush() error {
	if err := c.unparkAll(); err != nil {
		return err
	}
	if err := c.writeBlocks(); err != nil { // flushQueue must see what a lease has taken out
		return err
	}
	if err := c.flushQueue(); err != nil {
		return err
	}
	changed := map[int64][]byte{}
	for key := range c.changedParts {
		changed[key] = c.parts[key]
	}
	if err := c.writeData("parts", changed); err != nil {
		return err
	}
	if err := c.writeHosts(); err != nil {
		return err
	}
	if err := c.writeDomains(); err != nil {
		return err
	}
	if err := c.writeLeases(); err != nil {
		return err
	}
	if err := c.moveDue(c.watched); err != nil {
		return err
	}
	if err := c.flushFeed(); err != nil {
		return err
	}
	rows := map[int64][]byte{}
	for key, data := range c.state.encode() {
		if string(data) != c.state.stored[key] {
			rows[int64(key)] = data
		}
	}
	return c.writeData("state", rows)
}

func (c *call) writeBlocks() error {
	err := c.writeData("queue", c.blocks)
	clear(c.blocks)
	return err
}

// writeData writes rows of a table of keys and data; without data a row is deleted.
func (c *call) writeData(table string, rows map[int64][]byte) error {
	b := batch{c: c, sql: "INSERT INTO " + table + " (key, data) SELECT value->>0, substr(?2, value->>1, value->>2) FROM json_each(?1) WHERE true ON CONFLICT (key) DO UPDATE SET data = excluded.data"}
	var gone []int64
	for _, key := range sortedKeys(rows) {
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

func (c *call) writeHosts() error {
	b := batch{c: c, sql: `INSERT INTO hosts (id, host, domain, urls, due, blocked, record)
SELECT value->>0, value->>3, value->>4, value->>5, value->>6, value->>7, substr(?2, value->>1, value->>2) FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET urls = excluded.urls, due = excluded.due, blocked = excluded.blocked, record = excluded.record`}
	for _, id := range sortedKeys(c.changedHosts) {
		h := c.hosts[id]
		record := h.encode()
		if bytes.Equal(record, h.stored) { // its columns follow from it
			continue
		}
		if err := b.add(record, id, h.name, h.domain, h.urls, h.dueAt(), h.blocked); err != nil {
			return err
		}
	}
	return b.write()
}

func (c *call) writeDomains() error {
	b := batch{c: c, sql: `INSERT INTO domains (id, domain, record) SELECT value->>0, value->>3, substr(?2, value->>1, value->>2) FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET record = excluded.record`}
	for _, id := range sortedKeys(c.changedDomains) {
		m := c.domains[id]
		record := m.encode()
		if bytes.Equal(record, m.stored) {
			continue
		}
		if err := b.add(record, id, m.name); err != nil {
			return err
		}
	}
	return b.write()
}

func (c *call) writeLeases() error {
	b := batch{c: c, sql: `INSERT INTO leases (id, ends, data) SELECT value->>0, value->>3, substr(?2, value->>1, value->>2) FROM json_each(?1) WHERE true
ON CONFLICT (id) DO UPDATE SET ends = excluded.ends, data = excluded.data`}
	var gone []int64
	for _, id := range sortedKeys(c.leases) {
		if row := c.leases[id]; row.data == nil {
			gone = append(gone, id)
		} else if err := b.add(row.data, id, row.ends); err != nil {
			return err
		}
	}
	if err := b.write(); err != nil || len(gone) == 0 {
		return err
	}
	_, err := c.db.Run(`DELETE FROM leases WHERE id IN (SELECT value FROM json_each(?1))`, numbers(gone))
	return err
}

// batch gathers rows for one statement: in ?1 a JSON array of rows, each its key, where its data
// begins in ?2 (from 1) and how long it is, and its other columns; in ?2 the data end to end.
type batch struct {
	c    *call
	sql  string
	rows []byte
	data []byte
}

// maxBatch keeps a statement's arguments far below the 2 MB that the platform takes.
const maxBatch = 1 << 20

func (b *batch) add(data []byte, key int64, columns ...any) error {
	if len(b.rows) > 0 && len(b.rows)+len(b.data)+len(data) > maxBatch {
		if err := b.write(); err != nil {
			return err
		}
	}
	separator := byte(',')
	if len(b.rows) == 0 {
		separator = '['
	}
	b.rows = strconv.AppendInt(append(b.rows, separator, '['), key, 10)
	b.rows = strconv.AppendInt(append(b.rows, ','), int64(len(b.data)+1), 10)
	b.rows = strconv.AppendInt(append(b.rows, ','), int64(len(data)), 10)
	for _, v := range columns {
		switch v := v.(type) {
		case int64:
			b.rows = strconv.AppendInt(append(b.rows, ','), v, 10)
		case string: // a name of a host or domain: ASCII without anything to escape
			b.rows = append(append(append(b.rows, ',', '"'), v...), '"')
		}
	}
	b.rows = append(b.rows, ']')
	b.data = append(b.data, data...)
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

// sortedKeys makes what is written, and in which order, the same in every run.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
