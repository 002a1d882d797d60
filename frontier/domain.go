package frontier

import (
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

	// active are the leased hosts. They are listed only while the domain has more hosts than may be
	// leased at once: then listed is true.
	listed bool
	active []activeHost

	// parked are queued hosts that came to the head of a queue while the domain let nobody in. They
	// return to their places when it does.
	parked []parkedHost

	evidence Evidence
	mirrorOf string // the domain whose pages this one shows: then its own are not queued

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
	b = appendUint(b, int64(len(m.hosts)))
	for _, id := range m.hosts {
		b = appendID(b, id)
	}
	b = appendUint(b, int64(len(m.active)))
	for _, a := range m.active {
		b = appendUint(appendID(b, a.id), a.ends)
	}
	b = appendUint(b, int64(len(m.parked)))
	for _, p := range m.parked {
		b = append(appendID(b, p.id), byte(p.kind))
	}
	b = m.evidence.append(b)
	return append(appendString(b, m.mirrorOf), m.tail...)
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
	m.hosts = make([]int64, d.count(idBytes))
	for i := range m.hosts {
		m.hosts[i] = d.id()
	}
	m.active = make([]activeHost, d.count(idBytes+1))
	for i := range m.active {
		m.active[i] = activeHost{d.id(), d.int()}
	}
	m.parked = make([]parkedHost, d.count(idBytes+1))
	for i := range m.parked {
		m.parked[i] = parkedHost{d.id(), int(d.byte()) % kinds}
	}
	if d.at < len(d.text) { // since version 3
		m.evidence, m.mirrorOf = d.evidence(), d.string()
	}
	m.tail = d.text[d.at:]
	return m, d.err
}

// lost is when the time of another owner ended who never released the domain, in ms; 0 when there is none.
func (m *domain) lost(owner string) int64 {
	if m.owner == "" || m.owner == owner {
		return 0
	}
	return m.ownerEnds
}

// closed gives until when the domain lets no scraper in because of a collector, in ms; 0 when it
// does.
func (m *domain) closed(now int64) int64 {
	if m.owner != "" && m.ownerEnds > now {
		return m.ownerEnds
	}
	if m.waitEnds > now {
		return m.waitEnds
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
	return max(0, c.settings.HostsPerDomain-len(m.active))
}

// list begins to list the leased hosts of a domain that has become large.
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
// or has nothing left is forgotten. While a collector keeps the domain closed, the end of its time is
// noted, since it may never come back to release it.
func (c *call) unpark(m *domain) error {
	if len(m.parked) == 0 {
		return nil
	}
	if ends := m.closed(c.now); ends > 0 && c.changedDomains[m.id] {
		c.wakeAt(m, ends)
	}
	n := c.room(m)
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

// leave takes a host off the list of those that are leased.
func (c *call) leave(m *domain, id int64) {
	if i := slices.IndexFunc(m.active, func(a activeHost) bool { return a.id == id }); i >= 0 {
		m.active = slices.Delete(m.active, i, i+1)
		c.changeDomain(m)
	}
}
