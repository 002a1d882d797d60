package store

import (
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// Domain is the row of a registrable domain, by what its parts are about.
type Domain struct {
	ID   int64
	Name string

	Excluded bool
	MirrorOf string // the domain whose pages this one shows: then its own are not queued

	ownership
	domainHosts
	collections
	announcements

	domainRow
}

// ownership is who has a domain, and who waits for it.
type ownership struct {
	Owner        string // the collector that has the domain until OwnerEnds
	OwnerEnds    epoch.Millis
	WaitEnds     epoch.Millis // until then a collector waits for the domain, and scrapers get none of its hosts
	RefreshWaits epoch.Millis // like WaitEnds, for a refresh of one of the hosts
	LostAt       epoch.Millis // when the last owner expired without releasing the domain
	Released     epoch.Millis // when an owner last released the domain
}

// domainHosts are the hosts of a domain.
type domainHosts struct {
	Hosts []int64

	// Expected are ids of hosts that an owner named before they had a row. Once they have one, loadDomains moves them
	// to Hosts, so that the put that makes a host need not write this row.
	Expected []int64

	// Active are the leased hosts, and Claims the hosts that refreshes have, each until its end. Both are kept only
	// while Listed is true: while the domain has more hosts than may be leased at once.
	Listed bool
	Active []ActiveHost
	Claims []ActiveHost

	// Parked are queued hosts whose turn came while the domain let nobody in. They return to their places when it does.
	Parked []ParkedHost

	elsewhere      map[int64]bool // hosts that were not loaded when pages were counted
	pagesElsewhere int64          // of those hosts
}

// collections holds the results of a domain's collections.
type collections struct {
	Evidence  frontier.Evidence
	Backlogs  []frontier.Backlog // by partition, the newest last: at most MaxBacklogs
	contracts string             // its contracts, see contracts.go
}

// domainRow is the stored form of a domain.
type domainRow struct {
	tx      *Tx
	changed bool
	counted bool   // its announcements have changed
	listed  bool   // the announcedList has more than the row
	stored  []byte // the record as it was loaded
	tail    string // what a later version appended to the record; kept as it is
}

// Change marks the domain to be written at the end of the transaction.
func (m *Domain) Change() { m.changed = true }

// Changed reports whether the domain is written at the end of the transaction.
func (m *Domain) Changed() bool { return m.changed }

// ActiveHost is a host that is leased, or that a refresh has.
type ActiveHost struct {
	ID   int64
	Ends epoch.Millis
}

// ParkedHost is a host that is parked for a kind.
type ParkedHost struct {
	ID   int64
	Kind int
}

const domainVersion = 1

const (
	domainExcluded = 1 << iota
	domainListed
)

func (m *Domain) encode() []byte {
	flags := byte(0)
	if m.Excluded {
		flags |= domainExcluded
	}
	if m.Listed {
		flags |= domainListed
	}
	b := []byte{domainVersion, flags}
	b = appendString(b, m.Owner)
	b = appendUint(appendUint(b, m.OwnerEnds), m.WaitEnds)
	b = appendIDs(b, m.Hosts)
	b = appendActive(b, m.Active)
	b = appendUint(b, int64(len(m.Parked)))
	for _, p := range m.Parked {
		b = append(appendID(b, p.ID), byte(p.Kind))
	}
	b = appendEvidence(&m.Evidence, b)
	b = appendString(b, m.MirrorOf)
	b = appendUint(appendUint(b, m.LostAt), m.RefreshWaits)
	b = appendActive(b, m.Claims)
	b = appendUint(appendString(b, m.contracts), m.Released)
	b = appendIDs(b, m.Expected)
	b = appendUint(appendUint(b, m.announcedDay), m.announced)
	b = appendUint(b, int64(len(m.Backlogs)))
	for i := range m.Backlogs {
		b = appendBacklog(b, &m.Backlogs[i])
	}
	return append(appendUint(b, m.updates), m.tail...)
}

// MaxBacklogs is the number of partitions of which a domain has a backlog.
const MaxBacklogs = 4

func appendBacklog(b []byte, l *frontier.Backlog) []byte {
	again := byte(0)
	if l.Again {
		again = 1
	}
	b = appendPartition(append(b, again), l.Partition)
	return appendString(b, l.Next)
}

func (d *decoder) backlogs() []frontier.Backlog {
	var list []frontier.Backlog
	for range d.count(5) {
		list = append(list, frontier.Backlog{Again: d.byte() == 1, Partition: d.partition(), Next: d.string()})
	}
	return list
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

func appendActive(b []byte, list []ActiveHost) []byte {
	b = appendUint(b, int64(len(list)))
	for _, a := range list {
		b = appendUint(appendID(b, a.ID), a.Ends)
	}
	return b
}

func (d *decoder) active() []ActiveHost {
	list := make([]ActiveHost, d.count(idBytes+1))
	for i := range list {
		list[i] = ActiveHost{d.id(), d.millis()}
	}
	return list
}

func appendEvidence(e *frontier.Evidence, b []byte) []byte {
	if b = appendUint(b, e.At); e.At == 0 {
		return b
	}
	return appendPartition(b, e.Partition)
}

func appendPartition(b []byte, p contract.Partition) []byte {
	return appendString(appendString(appendString(b, p.Country), p.Category), p.Date)
}

func (d *decoder) partition() contract.Partition {
	return contract.Partition{Country: d.string(), Category: d.string(), Date: d.string()}
}

func (d *decoder) evidence() (e frontier.Evidence) {
	if e.At = d.millis(); e.At > 0 {
		e.Partition = d.partition()
	}
	return e
}

func decodeDomain(id int64, name string, record []byte) (*Domain, error) {
	d := decode(record)
	m := &Domain{ID: id, Name: name}
	if version := d.byte(); version != domainVersion {
		d.fail()
	}
	flags := d.byte()
	m.Excluded, m.Listed = flags&domainExcluded != 0, flags&domainListed != 0
	m.Owner, m.OwnerEnds, m.WaitEnds = d.string(), d.millis(), d.millis()
	m.Hosts = d.ids()
	m.Active = d.active()
	m.Parked = make([]ParkedHost, d.count(idBytes+1))
	for i := range m.Parked {
		m.Parked[i] = ParkedHost{d.id(), int(d.byte()) % Kinds}
	}
	m.Evidence, m.MirrorOf = d.evidence(), d.string()
	m.LostAt, m.RefreshWaits = d.millis(), d.millis()
	m.Claims = d.active()
	m.contracts = d.string()
	if checkContracts(m.contracts) != nil {
		d.fail()
	}
	m.Released = d.millis()
	m.Expected = d.ids()
	if d.at < len(d.text) { // of this version
		m.announcedDay, m.announced = d.int(), d.int()
	}
	if d.at < len(d.text) {
		m.Backlogs = d.backlogs()
	}
	if d.at < len(d.text) {
		m.updates = d.int()
	}
	m.tail = d.text[d.at:]
	return m, d.err
}

// Expect notes a host that has no row yet.
func (m *Domain) Expect(host string) error {
	ids, err := m.tx.hostIDs([]string{host})
	if err != nil {
		return err
	}
	id := ids[0]
	if len(m.Expected) < frontier.MaxAcquire && !slices.Contains(m.Expected, id) {
		m.Expected = append(m.Expected, id)
	}
	return nil
}

// Lost returns when the last owner other than the given one expired without releasing the domain; 0 if there was none.
func (m *Domain) Lost(owner string, now epoch.Millis) epoch.Millis {
	if m.Owner != "" && m.Owner != owner && m.OwnerEnds <= now {
		return max(m.LostAt, m.OwnerEnds)
	}
	return m.LostAt
}

// ReadyFor returns when the delay of a host allows a request by an owner that gets it now, "" for scrapers and
// refreshes. An owner or refresh that never released the host might have sent requests until it expired.
func (m *Domain) ReadyFor(owner string, h *Host, now epoch.Millis) epoch.Millis {
	if lost := max(m.Lost(owner, now), h.ClaimEnds); lost > 0 {
		return max(h.Ready, lost.Add(h.Interval()))
	}
	return h.Ready
}

// Closed returns until when a collector, or a refresh that waits, keeps scrapers out of the domain; 0 if none does.
func (m *Domain) Closed(now epoch.Millis) epoch.Millis {
	if m.Owner != "" && m.OwnerEnds > now {
		return m.OwnerEnds
	}
	if waits := max(m.WaitEnds, m.RefreshWaits); waits > now {
		return waits
	}
	return 0
}

// Claimed returns the hosts that refreshes have at the moment, if they are listed.
func (m *Domain) Claimed(now epoch.Millis) []ActiveHost {
	m.Claims = slices.DeleteFunc(m.Claims, func(a ActiveHost) bool { return a.Ends <= now })
	return m.Claims
}

// FirstEnd returns the earliest end in a list; 0 if it is empty.
func FirstEnd(list []ActiveHost) (ends epoch.Millis) {
	for _, a := range list {
		if ends == 0 || a.Ends < ends {
			ends = a.Ends
		}
	}
	return ends
}

// MoveTo moves a host to another domain, with its lease and its places.
func (h *Host) MoveTo(m *Domain) {
	old := h.Domain
	isHost := func(id int64) bool { return id == h.ID }
	isActive := func(a ActiveHost) bool { return a.ID == h.ID }
	old.Hosts = slices.DeleteFunc(old.Hosts, isHost)
	old.Expected = slices.DeleteFunc(old.Expected, isHost)
	old.Active = slices.DeleteFunc(old.Active, isActive)
	old.Claims = slices.DeleteFunc(old.Claims, isActive)
	old.Parked = slices.DeleteFunc(old.Parked, func(p ParkedHost) bool {
		if p.ID == h.ID {
			m.Parked = append(m.Parked, p)
		}
		return p.ID == h.ID
	})
	old.Change()
	if m.Listed && h.Lease != 0 {
		m.Active = append(m.Active, ActiveHost{h.ID, h.LeaseEnds})
	}
	if m.Listed && h.ClaimEnds > h.tx.now {
		m.Claims = append(m.Claims, ActiveHost{h.ID, h.ClaimEnds})
	}
	m.Hosts = append(m.Hosts, h.ID)
	m.Excluded = m.Excluded || old.Excluded // what operators excluded stays so
	m.Change()
	h.Domain, h.domain, h.stored = m, m.ID, nil // the column of its row changes
	h.Change()
}
