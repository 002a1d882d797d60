package frontier

import (
	"github.com/newsfork/seed-engine/contract"
)

// Snapshot is a page of what a shard has: its hosts with their back queues, seen-sets, delays and
// entry points, as they are stored, then what is to be kept of its domains. It can be restored into any
// shard, also into another number of shards: ids are made again from the names.
//
// Leases and the times of collectors are not restored. The snapshot is older than all that runs now, so
// what was leased then has been reported or is over; its pages wait again, a report of them counts as
// late, and numbers of leases grow with the clock, so that none is given twice. Digests of mirrors are not
// part of it, since the next collections bring them. What operators excluded is shown and not restored: it
// may have been allowed since, and lies in R2 as they decided it last.
type Snapshot struct {
	Version  int              `json:"version"`
	Taken    int64            `json:"taken,omitempty"` // see SnapshotOrder; 0 where it was not ordered
	Classes  []Class          `json:"classes"`         // by the number that the records use, from 1
	Patterns []string         `json:"patterns"`        // of excluded URLs
	Hosts    []HostSnapshot   `json:"hosts"`
	Domains  []DomainSnapshot `json:"domains,omitempty"`
	Next     int64            `json:"next,omitempty"` // where the next page begins; 0 at the end
}

// HostSnapshot is a host with its parts.
type HostSnapshot struct {
	Host           string `json:"host"`
	Domain         string `json:"domain"`
	DomainExcluded bool   `json:"domain_excluded,omitempty"`
	Record         []byte `json:"record"`
	Parts          []Part `json:"parts,omitempty"`
}

// Part is a chunk of the seen-set or a segment.
type Part struct {
	Number int    `json:"number"`
	Data   []byte `json:"data"`
}

// DomainSnapshot is what is kept of a domain, whether it has hosts or none.
type DomainSnapshot struct {
	Domain   string   `json:"domain"`
	Excluded bool     `json:"excluded,omitempty"`
	Evidence Evidence `json:"evidence"`
	MirrorOf string   `json:"mirror_of,omitempty"`
}

// Split divides a page by the shards to which its hosts and domains belong.
func (s Snapshot) Split(shards int) map[int]Snapshot {
	parts := map[int]Snapshot{}
	part := func(domain string) (int, Snapshot) {
		n := ShardOf(domain, shards)
		p, there := parts[n]
		if !there {
			p = Snapshot{Version: s.Version, Classes: s.Classes, Patterns: s.Patterns}
		}
		return n, p
	}
	for _, h := range s.Hosts {
		n, p := part(h.Domain)
		p.Hosts = append(p.Hosts, h)
		parts[n] = p
	}
	for _, d := range s.Domains {
		n, p := part(d.Domain)
		p.Domains = append(p.Domains, d)
		parts[n] = p
	}
	return parts
}

// snapshotBytes is about how much of records and parts a page has. A host is never divided.
const snapshotBytes = 1 << 20

// maxSnapshotHosts is how many hosts a page has at most.
const maxSnapshotHosts = 500

// domainPages is where the pages of domains begin: behind all ids of hosts.
const (
	domainPages        = idMask + 1
	maxSnapshotDomains = 500
)

// MaxExport is the last place where a page of a snapshot may begin.
const MaxExport = 1 << 52

// Export gives a page of a snapshot, which begins at 0. Hosts that change between two pages are
// exported as they are when their page is.
func (s *Shard) Export(now, from int64) (page Snapshot, err error) {
	err = s.run(now, func(c *call) error {
		page = Snapshot{Version: version, Classes: c.state.classes, Patterns: c.state.patterns}
		if from >= domainPages {
			return c.exportDomains(&page, from-domainPages)
		}
		rows, err := c.db.Run(`SELECT h.id, length(h.record) + (SELECT coalesce(sum(length(p.data)), 0) FROM parts p WHERE p.key BETWEEN h.id << 12 AND (h.id << 12) + 4095)
FROM hosts h WHERE h.id >= ?1 ORDER BY h.id LIMIT ?2`, from, int64(maxSnapshotHosts+1))
		if err != nil {
			return err
		}
		var ids []int64
		size := int64(0)
		for rows.Next() {
			id, bytes := rows.Int(), rows.Int()
			if len(ids) == maxSnapshotHosts || len(ids) > 0 && size+bytes > snapshotBytes {
				page.Next = id
				break
			}
			ids, size = append(ids, id), size+bytes
		}
		if page.Hosts, err = c.export(ids); err != nil || page.Next > 0 {
			return err
		}
		return c.exportDomains(&page, 0)
	})
	return page, err
}

func (c *call) export(ids []int64) ([]HostSnapshot, error) {
	hosts, err := c.loadWithDomains(ids)
	if err != nil {
		return nil, err
	}
	list := make([]HostSnapshot, len(hosts))
	index := map[int64]int{}
	for i, h := range hosts {
		m := c.domains[h.domain]
		list[i] = HostSnapshot{Host: h.name, Domain: m.name, DomainExcluded: m.excluded, Record: h.encode()}
		index[h.id] = i
	}
	rows, err := c.db.Run(`SELECT p.key, p.data FROM json_each(?1) j JOIN parts p ON p.key BETWEEN j.value << 12 AND (j.value << 12) + 4095`, numbers(ids))
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		key, data := rows.Int(), rows.Blob()
		h := &list[index[key>>partBits]]
		h.Parts = append(h.Parts, Part{int(key & (parts - 1)), data})
	}
	return list, rows.Err()
}

// exportDomains adds the domains of which something is to be kept.
func (c *call) exportDomains(page *Snapshot, from int64) error {
	rows, err := c.db.Run(`SELECT id, domain, record FROM domains WHERE id >= ?1 ORDER BY id LIMIT ?2`, from, int64(maxSnapshotDomains))
	if err != nil {
		return err
	}
	n := 0
	for ; rows.Next(); n++ {
		id, name, record := rows.Int(), rows.Text(), rows.Blob()
		m, err := decodeDomain(id, name, record)
		if err != nil {
			return err
		}
		if m.excluded || m.mirrorOf != "" || m.evidence.At > 0 {
			page.Domains = append(page.Domains, DomainSnapshot{m.name, m.excluded, m.evidence, m.mirrorOf})
		}
		page.Next = domainPages + id + 1
	}
	if n < maxSnapshotDomains {
		page.Next = 0
	}
	return rows.Err()
}

// Restore adds the hosts and domains of a page of a snapshot, and says how many hosts. A host of which the
// shard has anything already stays as it is, so that a page may be restored twice, or over what has been put since.
func (s *Shard) Restore(now int64, page Snapshot) (restored int, err error) {
	if page.Version < 1 || page.Version > version {
		return 0, ErrNewer
	}
	if err := checkRange("hosts", len(page.Hosts), 0, maxSnapshotHosts); err != nil {
		return 0, err
	}
	if err := checkRange("domains", len(page.Domains), 0, maxSnapshotDomains); err != nil {
		return 0, err
	}
	err = s.run(now, func(c *call) error {
		for i := range page.Hosts {
			added, err := c.restore(&page.Hosts[i], page.Classes)
			if err != nil {
				return err
			}
			if added {
				restored++
			}
		}
		for i := range page.Domains {
			if err := c.restoreDomain(&page.Domains[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return restored, err
}

// restoreDomain takes over what is missing of a domain.
func (c *call) restoreDomain(r *DomainSnapshot) error {
	if err := contract.CheckDomain("domains", r.Domain); err != nil {
		return err
	}
	m, err := c.makeDomain(r.Domain)
	if err != nil {
		return err
	}
	if r.Evidence.At > m.evidence.At && r.Evidence.Partition.Validate("") == nil {
		m.evidence = r.Evidence
		if contract.CheckDomain("", r.MirrorOf) == nil && r.MirrorOf != m.name { // what it was with that evidence
			m.mirrorOf = r.MirrorOf
		}
	}
	c.changeDomain(m)
	return nil
}

func (c *call) restore(r *HostSnapshot, classes []Class) (bool, error) {
	if contract.CheckDomain("", r.Domain) != nil || !checkHost(r.Host) || !within(r.Host, r.Domain) {
		return false, contract.Invalid("hosts", "%.80q is not a host of %.80q", r.Host, r.Domain)
	}
	there, err := c.findHost(r.Host)
	if err != nil || there != nil && !there.blank() {
		return false, err
	}
	m, err := c.makeDomain(r.Domain)
	if err != nil {
		return false, err
	}
	made, err := c.makeHost(m, r.Host)
	if err != nil || made == nil || made.domain != m.id {
		return false, err
	}
	h, err := decodeHost(made.id, made.name, made.domain, r.Record)
	if err != nil || there != nil && h.blank() {
		return false, err
	}
	h.inherit(made)
	c.hosts[h.id] = h
	c.change(h)
	for _, part := range r.Parts {
		if part.Number < 0 || part.Number >= parts || part.Number < firstSegment && len(part.Data)%hashBytes != 0 {
			return false, errDamaged
		}
		c.setPart(h.id<<partBits|int64(part.Number), part.Data)
	}
	for i := range h.classes {
		h.classes[i].id = c.state.class(classAt(classes, h.classes[i].id))
	}
	h.buffer = append(h.buffer, h.leased...)
	h.lease, h.leaseEnds, h.leased, h.asked = 0, 0, nil, nil
	if err := h.unpackEntries(); err != nil {
		return false, err
	}
	h.urls = int64(len(h.buffer))
	for i := range h.segments {
		h.urls += int64(h.segments[i].left())
	}
	c.state.urls += h.urls
	c.state.entries += int64(len(h.entries))
	c.state.done += h.done
	c.state.failed += h.failed
	if err := c.spill(h); err != nil {
		return false, err
	}
	c.watch(h, -1)
	return true, c.queue(h)
}

// blank reports whether nothing is known of the pages and entry points of a host: it is there because it was
// excluded, or asked for something.
func (h *host) blank() bool {
	return h.lease == 0 && h.urls == 0 && h.packedEntries == "" && len(h.entries)+len(h.recent) == 0 && h.seenBits == 0 && h.nextSegment == 0
}

// inherit takes over from a blank host who may ask it and when: that is newer than the snapshot.
func (h *host) inherit(blank *host) {
	h.excluded, h.places, h.claim, h.claimEnds, h.stored = blank.excluded, blank.places, blank.claim, blank.claimEnds, blank.stored
	h.ready, h.blocked, h.unresolved = max(h.ready, blank.ready), max(h.blocked, blank.blocked), max(h.unresolved, blank.unresolved)
	h.floor, h.askedAt = max(h.floor, blank.floor), max(h.askedAt, blank.askedAt)
}

func classAt(classes []Class, id int64) Class {
	if id < 1 || id > int64(len(classes)) {
		return Class{}
	}
	return classes[id-1]
}
