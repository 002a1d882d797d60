package frontier

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/contract"
)

// domain is the row of a registrable domain: which collector has it, and which of its hosts are
// leased at once.
type domain struct {
	id   int64
	name string

	excluded  bool
	owner     string // of the collector that has the domain until ownerEnds
	ownerEnds int64  // ms
	waitEnds  int64  // a collector waits for the domain: until then scrapers get none of its hosts, ms
	hosts     []int64

	lostAt       int64 // when the time of the last owner was over that never released the domain, ms
	refreshWaits int64 // as waitEnds, for a refresh of one of the hosts

	// active are the leased hosts, and claims those that refreshes have. They are listed only while the domain
	// has more hosts than may be leased at once: then listed is true. A claim counts until its end.
	listed bool
	active []activeHost
	claims []activeHost

	// parked are queued hosts that came to the head of a queue while the domain let nobody in. They
	// return to their places when it does.
	parked []parkedHost

	evidence Evidence
	mirrorOf string // the domain whose pages this one shows: then its own are not queued

	contracts string // its contracts, see changes.go
	released  int64  // when an owner last released the domain, ms

	// expected are ids of hosts about which the owner asked before they had a row. Those that have one by now are
	// hosts of the domain: loadDomains moves them to hosts, so that the put that makes them need not write this row.
	expected []int64

	stored []byte // the record as it was loaded
	tail   string // what a later version appended to the record; kept as it is
}

// Evidence says where the last complete collection of a domain lies: collections of it for other
// partitions can use what was learned then.
type Evidence struct {
	Partition contract.Partition
	At        int64 // ms since 1970, when it was complete; 0: there is none
}

type activeHost struct{ id, ends int64 }

type parkedHost struct {
	id   int64
	kind int
}

const domainVersion = 1

const (
	domainExcluded = 1 << iota
	domainListed
)

func (m *domain) encode() []byte {
	flags := byte(0)
	if m.excluded {
		flags |= domainExcluded
	}
	if m.listed {
		flags |= domainListed
	}
	b := []byte{domainVersion, flags}
	b = appendString(b, m.owner)
	b = appendUint(appendUint(b, m.ownerEnds), m.waitEnds)
	b = appendIDs(b, m.hosts)
	b = appendActive(b, m.active)
	b = appendUint(b, int64(len(m.parked)))
	for _, p := range m.parked {
		b = append(appendID(b, p.id), byte(p.kind))
	}
	b = m.evidence.append(b)
	b = appendString(b, m.mirrorOf)
	b = appendUint(appendUint(b, m.lostAt), m.refreshWaits)
	b = appendActive(b, m.claims)
	b = appendUint(appendString(b, m.contracts), m.released)
	b = appendIDs(b, m.expected)
	return append(b, m.tail...)
}

func appendIDs(b []byte, ids []int64) []byte {
	b = appendUint(b, int64(len(ids)))
	for _, id := range ids {
		b = appendID(b, id)
	}
	return b
}

func (d *decoder) ids() []int64 {
	ids := make([]int64, d.count(idBytes))
	for i := range ids {
		ids[i] = d.id()
	}
	return ids
}

func appendActive(b []byte, list []activeHost) []byte {
	b = appendUint(b, int64(len(list)))
	for _, a := range list {
		b = appendUint(appendID(b, a.id), a.ends)
	}
	return b
}

func (d *decoder) active() []activeHost {
	list := make([]activeHost, d.count(idBytes+1))
	for i := range list {
		list[i] = activeHost{d.id(), d.int()}
	}
	return list
}

func (e *Evidence) append(b []byte) []byte {
	if b = appendUint(b, e.At); e.At == 0 {
		return b
	}
	for _, s := range [...]string{e.Partition.Country, e.Partition.Category, e.Partition.Date} {
		b = appendString(b, s)
	}
	return b
}

func (d *decoder) evidence() (e Evidence) {
	if e.At = d.int(); e.At > 0 {
		e.Partition = contract.Partition{Country: d.string(), Category: d.string(), Date: d.string()}
	}
	return e
}

func decodeDomain(id int64, name string, record []byte) (*domain, error) {
	d := decode(record)
	m := &domain{id: id, name: name}
	if version := d.byte(); version != domainVersion {
		d.fail()
	}
	flags := d.byte()
	m.excluded, m.listed = flags&domainExcluded != 0, flags&domainListed != 0
	m.owner, m.ownerEnds, m.waitEnds = d.string(), d.int(), d.int()
	m.hosts = d.ids()
	m.active = d.active()
	m.parked = make([]parkedHost, d.count(idBytes+1))
	for i := range m.parked {
		m.parked[i] = parkedHost{d.id(), int(d.byte()) % kinds}
	}
	if d.at < len(d.text) { // since version 3
		m.evidence, m.mirrorOf = d.evidence(), d.string()
	}
	if d.at < len(d.text) { // appended to version 3
		m.lostAt, m.refreshWaits = d.int(), d.int()
		m.claims = d.active()
	}
	if d.at < len(d.text) {
		m.contracts = d.string()
	}
	if d.at < len(d.text) { // appended with the time of the last release
		m.released = d.int()
	}
	if d.at < len(d.text) { // appended with the hosts that an owner asked about
		m.expected = d.ids()
	}
	m.tail = d.text[d.at:]
	return m, d.err
}

// expect notes the id of a host that has no row yet.
func (m *domain) expect(id int64) {
	if len(m.expected) < maxAcquire && !slices.Contains(m.expected, id) {
		m.expected = append(m.expected, id)
	}
}

// adopt takes the expected hosts of domains that have a row by now among their hosts. Nothing has changed by that:
// the rows of the domains say it in other words.
func (c *call) adopt(domains []*domain) error {
	var ids []int64
	for _, m := range domains {
		ids = append(ids, m.expected...)
	}
	if _, err := c.loadHosts(ids); err != nil {
		return err
	}
	for _, m := range domains {
		m.expected = slices.DeleteFunc(m.expected, func(id int64) bool {
			h := c.hosts[id]
			if h != nil && h.domain == m.id && !slices.Contains(m.hosts, id) {
				m.hosts = append(m.hosts, id)
			}
			return h != nil
		})
	}
	return nil
}

// lost is when the time of the last owner but the given one was over that never released the domain, in ms; 0
// when there was none.
func (m *domain) lost(owner string, now int64) int64 {
	if m.owner != "" && m.owner != owner && m.ownerEnds <= now {
		return max(m.lostAt, m.ownerEnds)
	}
	return m.lostAt
}

// readyFor is when a host may be asked, for the sake of its delay, by an owner that gets it now, in ms; "" stands for
// scrapers and refreshes. An owner or a refresh that was lost may have asked the host until its time was over.
func (m *domain) readyFor(owner string, h *host, now int64) int64 {
	if lost := max(m.lost(owner, now), h.claimEnds); lost > 0 {
		return max(h.ready, lost+h.interval())
	}
	return h.ready
}

// freeAt is when a host may be asked again, in ms, if no lease and no collector has it.
func (c *call) freeAt(h *host) int64 {
	return max(c.domains[h.domain].readyFor("", h, c.now), h.blocked, h.unresolved)
}

// closed gives until when the domain lets no scraper in because of a collector, or of a refresh that waits, in ms;
// 0 when it does.
func (m *domain) closed(now int64) int64 {
	if m.owner != "" && m.ownerEnds > now {
		return m.ownerEnds
	}
	if waits := max(m.waitEnds, m.refreshWaits); waits > now {
		return waits
	}
	return 0
}

// room is how many more of the domain's hosts may be leased.
func (c *call) room(m *domain) int {
	if m.excluded || m.closed(c.now) > 0 {
		return 0
	}
	if !m.listed {
		return c.settings.HostsPerDomain
	}
	return max(0, c.settings.HostsPerDomain-len(m.active)-len(m.claimed(c.now)))
}

// claimed gives the hosts that refreshes have at the moment, if they are listed.
func (m *domain) claimed(now int64) []activeHost {
	m.claims = slices.DeleteFunc(m.claims, func(a activeHost) bool { return a.ends <= now })
	return m.claims
}

// list begins to list the hosts of a domain that has become large which are leased or belong to refreshes.
func (c *call) list(m *domain) error {
	if m.listed || len(m.hosts) <= c.settings.HostsPerDomain {
		return nil
	}
	hosts, err := c.loadHosts(m.hosts)
	if err != nil {
		return err
	}
	m.listed = true
	for _, h := range hosts {
		if h.lease != 0 {
			m.active = append(m.active, activeHost{h.id, h.leaseEnds})
		}
		if h.claimEnds > c.now {
			m.claims = append(m.claims, activeHost{h.id, h.claimEnds})
		}
	}
	c.changeDomain(m)
	return nil
}

// park takes a queued host out of the queues until its domain lets it in.
func (c *call) park(m *domain, h *host, kind int) {
	p := parkedHost{h.id, kind}
	if slices.Contains(m.parked, p) {
		return
	}
	m.parked = append(m.parked, p)
	c.changeDomain(m)
}

// unpark returns parked hosts to their places, as many as the domain lets in. A host that has moved
// or has nothing left is forgotten. While a collector or refreshes keep them out, the end of that time is
// noted, since they may never come back.
func (c *call) unpark(m *domain) error {
	if len(m.parked) == 0 {
		return nil
	}
	n := c.room(m)
	if ends := cmp.Or(m.closed(c.now), firstEnd(m.claims)); n == 0 && ends > 0 && c.changedDomains[m.id] {
		c.wakeAt(m, ends)
	}
	for n > 0 && len(m.parked) > 0 {
		batch := m.parked[:min(n, len(m.parked))]
		m.parked = m.parked[len(batch):]
		ids := make([]int64, len(batch))
		for i, p := range batch {
			ids[i] = p.id
		}
		hosts, err := c.loadHosts(ids)
		if err != nil {
			return err
		}
		for i, h := range hosts {
			if h != nil && h.places[batch[i].kind].queued {
				c.arrive(h, h.places[batch[i].kind])
				n--
			}
		}
	}
	c.changeDomain(m)
	return nil
}

func (c *call) unparkAll() error {
	for _, id := range sortedKeys(c.domains) {
		if m := c.domains[id]; m != nil {
			if err := c.unpark(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstEnd gives the first end of the times for which hosts are listed, in ms; 0 when none is.
func firstEnd(list []activeHost) (ends int64) {
	for _, a := range list {
		if ends == 0 || a.ends < ends {
			ends = a.ends
		}
	}
	return ends
}

// leave takes a host off a list of the domain.
func (c *call) leave(m *domain, list *[]activeHost, id int64) {
	if i := slices.IndexFunc(*list, func(a activeHost) bool { return a.id == id }); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
		c.changeDomain(m)
	}
}
