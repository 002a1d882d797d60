package store

import (
	"cmp"
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// Limits of a page of a snapshot.
const (
	MaxSnapshotHosts   = 500
	MaxSnapshotDomains = 500
	snapshotBytes      = 1 << 20 // about, of records and parts: a host is never divided
)

// domainPages is the position of the first page of domains, behind all host ids.
const domainPages = idMask + 1

// Export returns a page of a snapshot, which begins at 0.
func (c *Tx) Export(from int64) (page frontier.Snapshot, err error) {
	x := exporter{tx: c, page: &page}
	page = frontier.Snapshot{Version: Version, Classes: c.state.Classes, Patterns: c.state.Patterns}
	if from < domainPages {
		if err := x.hosts(from); err != nil || page.Next > 0 {
			return page, err
		}
		from = domainPages
	}
	return page, x.domains(from - domainPages)
}

// exporter makes a page of a snapshot.
type exporter struct {
	tx   *Tx
	page *frontier.Snapshot
}

// hosts adds hosts with their domains and parts.
func (x exporter) hosts(from int64) error {
	ids, next, err := x.hostsFrom(from)
	if err != nil {
		return err
	}
	x.page.Next = next
	hosts, err := x.tx.Hosts(ids)
	if err != nil {
		return err
	}
	x.page.Hosts = make([]frontier.HostSnapshot, len(hosts))
	index := map[int64]int{}
	for i, h := range hosts {
		x.page.Hosts[i] = frontier.HostSnapshot{Host: h.Name, Domain: h.Domain.Name, DomainExcluded: h.Domain.Excluded,
			Record: h.append(nil)}
		index[h.ID] = i
	}
	rows, err := x.tx.db.Run(
		`SELECT p.key, p.data FROM json_each(?1) j JOIN parts p ON p.key BETWEEN j.value << 12 AND `+
			`(j.value << 12) + 4095`,
		numbers(ids))
	if err != nil {
		return err
	}
	for rows.Next() {
		key, data := rows.Int(), rows.Blob()
		h := &x.page.Hosts[index[key>>partBits]]
		h.Parts = append(h.Parts, frontier.Part{Number: int(key & (parts - 1)), Data: data})
	}
	return rows.Err()
}

// hostsFrom returns the ids of hosts from one on, as many as a page has, and the id of the next one; 0 means not set.
func (x exporter) hostsFrom(from int64) (ids []int64, next int64, err error) {
	rows, err := x.tx.db.Run(
		`SELECT h.id, length(h.record) + (SELECT coalesce(sum(length(p.data)), 0) FROM parts p WHERE p.key BETWEEN h.id << 12 AND (h.id << 12) + 4095)
FROM hosts h WHERE h.id >= ?1 ORDER BY h.id LIMIT ?2`, from, int64(MaxSnapshotHosts+1))
	if err != nil {
		return nil, 0, err
	}
	size := int64(0)
	for rows.Next() {
		id, n := rows.Int(), rows.Int()
		if len(ids) == MaxSnapshotHosts || len(ids) > 0 && size+n > snapshotBytes {
			return ids, id, nil
		}
		ids, size = append(ids, id), size+n
	}
	return ids, 0, rows.Err()
}

// domains adds the domains of which something is to be kept.
func (x exporter) domains(from int64) error {
	rows, err := x.tx.db.Run(`SELECT id FROM domains WHERE id >= ?1 ORDER BY id LIMIT ?2`, from,
		int64(MaxSnapshotDomains))
	if err != nil {
		return err
	}
	var ids []int64
	for rows.Next() {
		ids = append(ids, rows.Int())
	}
	if err := rows.Err(); err != nil {
		return err
	}
	domains, err := x.tx.loadDomains(ids)
	if err != nil {
		return err
	}
	for _, m := range domains {
		if m.Excluded || m.MirrorOf != "" || m.Evidence.At > 0 || len(m.Backlogs) > 0 {
			x.page.Domains = append(x.page.Domains, frontier.DomainSnapshot{Domain: m.Name, Excluded: m.Excluded,
				Evidence: m.Evidence, MirrorOf: m.MirrorOf, Backlogs: m.Backlogs})
		}
	}
	if len(domains) == MaxSnapshotDomains {
		x.page.Next = domainPages + domains[len(domains)-1].ID + 1
	}
	return nil
}

// Restore puts the stored record and parts of a host in the place of a blank one, or returns nil if the record would
// add nothing to a row that is there.
func (blank *Host) Restore(there bool, record []byte, saved []frontier.Part, classes []frontier.Class) (*Host, error) {
	c := blank.tx
	h, err := decodeHost(blank.ID, blank.Name, blank.domain, record)
	if err != nil || there && len(saved) == 0 && isBlankRow(h) {
		return nil, err
	}
	h.tx, h.Domain = c, blank.Domain
	h.Ready = max(h.Ready, askedUntil(h))
	h.inherit(blank)
	c.hosts[h.ID] = h
	h.Change()
	for _, part := range saved {
		if !h.validPart(&part) {
			return nil, ErrDamaged
		}
		c.parts.set(h.ID<<partBits|int64(part.Number), part.Data)
	}
	for i := range h.classes {
		h.classes[i].ID = c.state.Class(classAt(classes, h.classes[i].ID))
	}
	for _, p := range h.Leased {
		h.PutBack(p)
	}
	h.grown = true
	h.Lease, h.LeaseEnds, h.Leased, h.Asked = 0, 0, nil, nil
	if err := h.UnpackEntries(); err != nil {
		return nil, err
	}
	h.URLs, h.Scheduled = h.left(), h.Schedule.left()
	c.state.Visits.Scheduled += h.Scheduled
	c.state.URLs += h.URLs
	c.state.Entries += int64(len(h.Entries))
	c.state.Done += h.Done
	c.state.Failed += h.Failed
	return h, nil
}

// askedUntil returns when requests to a stored host are allowed again if a scraper or a refresh had it, else 0: after
// hosts move between shards, its lease or claim might still run.
func askedUntil(h *Host) epoch.Millis {
	if ends := max(h.LeaseEnds, h.ClaimEnds); ends > 0 {
		return ends.Add(h.Interval())
	}
	return 0
}

// left returns how many pages the queue has.
func (q *pageQueue) left() int64 {
	n := len(q.buffer)
	for i := range q.segments {
		n += q.segments[i].left()
	}
	return int64(n)
}

// validPart reports whether a stored part is one of the host.
func (h *Host) validPart(part *frontier.Part) bool {
	switch {
	case part.Number < 0 || part.Number >= parts:
		return false
	case part.Number >= firstSegment:
		return true
	case h.hashesOnly:
		return len(part.Data)%hashBytes == 0
	}
	return chunk(part.Data).valid()
}

// Merge adds what a stored host has and h lacks, and reports whether that is anything: up to room waiting pages, seen
// URLs and entry points. What h knows stays, so a host can be merged twice; but a page that h has only seen waits again
// if it waits in the stored host. Pages that are not allowed do not wait. A block or delay by operators comes back,
// since a host asked too rarely does no harm.
func (h *Host) Merge(record []byte, saved []frontier.Part, classes []frontier.Class, room int64,
	allowed func(path string) bool) (bool, error) {
	m, err := h.merger(record, saved, classes)
	if err != nil {
		return false, err
	}
	if err := m.load(); err != nil {
		return false, err
	}
	h.Override, h.Blocked = cmp.Or(h.Override, m.old.Override), max(h.Blocked, m.old.Blocked)
	h.Ready = max(h.Ready, m.old.Ready, askedUntil(m.old))
	h.Usage = cmp.Or(h.Usage, m.old.Usage)
	if h.RobotsEnds == 0 {
		h.Delay, h.RobotsEnds, h.Rules = max(h.Delay, m.old.Delay), m.old.RobotsEnds, m.old.Rules
	}
	waiting, err := m.mergePages(room, allowed)
	if err != nil {
		return false, err
	}
	m.mergeVisits()
	m.mergeEntries()
	h.Change()
	if len(m.missing) == 0 {
		return waiting > 0, nil
	}
	fetched, gone := int64(0), int64(0)
	for _, k := range m.missing {
		switch k.Life {
		case Fetched:
			fetched++
		case Gone: // or taken out by an operator, which is no failure
			gone++
		}
	}
	h.recent.replace(append(h.recent.all(), listOf(m.missing)...))
	done := min(m.old.Done, fetched)
	if m.old.hashesOnly { // of a version that did not tell the two apart
		gone = fetched - done
	}
	failed := min(m.old.Failed, gone)
	h.Done, h.Failed = h.Done+done, h.Failed+failed
	h.tx.state.Done += done
	h.tx.state.Failed += failed
	return true, nil
}

// merger merges the stored state of a host into the host.
type merger struct {
	host    *Host
	old     *Host
	classes []frontier.Class // of the snapshot
	known   map[uint64]Known // by the stored host
	pages   []Page           // that waited or were leased
	visits  []Page           // that were scheduled
	missing map[uint64]Known // what the host is to remember besides
}

func (h *Host) merger(record []byte, saved []frontier.Part, classes []frontier.Class) (*merger, error) {
	old, err := decodeHost(h.ID, h.Name, h.domain, record)
	if err != nil {
		return nil, err
	}
	m := &merger{host: h, old: old, classes: classes, known: map[uint64]Known{}, pages: old.buffer,
		visits: old.Schedule.buffer}
	for _, p := range old.Leased {
		if p.Reason == Scheduled {
			m.visits = append(m.visits, p)
		} else {
			m.pages = append(m.pages, p)
		}
	}
	segments := map[int64][]byte{}
	for _, part := range saved {
		if !old.validPart(&part) {
			return nil, ErrDamaged
		}
		if part.Number >= firstSegment {
			segments[int64(part.Number-firstSegment)] = part.Data
			continue
		}
		m.remember(part.Data)
	}
	for _, r := range old.recent.all() {
		m.known[r.hash] = r.Known
	}
	if m.pages, err = appendUnread(m.pages, old.segments, segments); err != nil {
		return nil, err
	}
	if m.visits, err = appendUnread(m.visits, old.Schedule.segments, segments); err != nil {
		return nil, err
	}
	for hash, k := range m.known {
		if k.Life == Waiting { // if it still does, it is among the pages or the entry points
			k.Life = Idle
		}
		if old.hashesOnly {
			k = Known{Life: Fetched, Listed: true, At: hourOf(h.tx.now)}
		}
		m.known[hash] = k
	}
	return m, old.UnpackEntries()
}

// appendUnread appends what is left of segments.
func appendUnread(list []Page, segments []segment, data map[int64][]byte) ([]Page, error) {
	for i := range segments {
		pages, err := segments[i].unread(data[segments[i].number])
		if err != nil {
			return nil, err
		}
		list = append(list, pages...)
	}
	return list, nil
}

// remember takes over what a chunk of the stored host says.
func (m *merger) remember(data []byte) {
	if !m.old.hashesOnly {
		for _, r := range chunk(data).all() {
			m.known[r.hash] = r.Known
		}
		return
	}
	for at := 0; at < len(data); at += hashBytes {
		m.known[hashAt(data, at)] = Known{}
	}
}

// load finds out which URLs the host does not know.
func (m *merger) load() error {
	hashes := slices.Collect(maps.Keys(m.known))
	for i := range m.pages {
		hashes = append(hashes, Hash48(m.pages[i].Path))
	}
	for i := range m.visits {
		hashes = append(hashes, Hash48(m.visits[i].Path))
	}
	if err := m.host.load(hashes); err != nil {
		return err
	}
	m.missing = map[uint64]Known{}
	for hash, k := range m.known {
		if _, ok := m.host.Known(hash); !ok {
			m.missing[hash] = k
		}
	}
	return m.host.UnpackEntries()
}

// mergePages queues the pages that the host does not know, or has only seen, and returns how many. Those beyond room
// can be put again.
func (m *merger) mergePages(room int64, allowed func(path string) bool) (added int64, err error) {
	h := m.host
	met, seen := map[uint64]bool{}, map[uint64]Known{}
	for _, p := range m.pages {
		hash := Hash48(p.Path)
		k, known := h.Known(hash)
		if known && (k.Life != Idle || h.Entry(hash) >= 0) || met[hash] {
			continue
		}
		met[hash] = true
		if known {
			p.Foreign = p.Foreign && k.Foreign
		} else {
			var ok bool
			if k, ok = m.missing[hash]; !ok || m.old.hashesOnly {
				delete(m.missing, hash^1) // see verify
				k = Known{Listed: ok, Foreign: !ok && p.Foreign, At: hourOf(h.tx.now)}
			}
		}
		waits := added < room && !h.Full() && allowed(p.Path)
		if waits {
			k.Life = Waiting
			p.Class = m.class(p.Class)
			h.Enqueue(p)
			added++
		}
		switch {
		case !known:
			m.missing[hash] = k
		case waits:
			seen[hash] = k
		}
	}
	h.URLs += added
	h.tx.state.URLs += added
	for hash, k := range seen {
		if err := h.Remember(hash, k); err != nil {
			return added, err
		}
	}
	return added, nil
}

// mergeVisits schedules the pages that the host does not know.
func (m *merger) mergeVisits() {
	for _, p := range m.visits {
		hash := Hash48(p.Path)
		if k, ok := m.missing[hash]; ok && k.Life == Fetched {
			p.Class = m.class(p.Class)
			m.host.ScheduleVisit(p)
		}
	}
}

// mergeEntries adds the entry points that the host does not know. One that it knows but does not have was removed.
func (m *merger) mergeEntries() {
	h := m.host
	for _, e := range m.old.Entries {
		hash := Hash48(e.Path)
		if _, ok := h.Known(hash); ok || h.Entry(hash) >= 0 || len(h.Entries) >= MaxEntries {
			continue
		}
		k := m.missing[hash]
		k.Life = Waiting
		m.missing[hash] = k
		e.Class, e.Tried = m.class(e.Class), 0
		h.Entries = append(h.Entries, e)
		h.tx.state.Entries++
	}
}

// class returns the index among the host's classes for one of the stored host.
func (m *merger) class(i uint8) uint8 {
	var class hostClass
	if int(i) < len(m.old.classes) {
		class = m.old.classes[i]
	}
	return m.host.Class(m.host.tx.state.Class(classAt(m.classes, class.ID)), class.Day, false)
}

// Blank reports whether nothing is known of the pages and entry points of a host: it is there because it was
// excluded, or asked for something.
func (h *Host) Blank() (bool, error) {
	if !isBlankRow(h) {
		return false, nil
	}
	data, err := h.tx.parts.get(h.ID << partBits) // all that is known may be in the first chunk
	return len(data) == 0, err
}

func isBlankRow(h *Host) bool {
	return h.Lease == 0 && h.URLs == 0 && h.packedEntries == "" && len(h.Entries)+h.recent.len() == 0 && h.bits == 0 &&
		h.nextSegment == 0
}

// inherit takes over from a blank host who may ask it and when: that is newer than the snapshot.
func (h *Host) inherit(blank *Host) {
	h.Excluded, h.places, h.claim, h.stored = blank.Excluded, blank.places, blank.claim, blank.stored
	h.Ready, h.Blocked, h.Unresolved = max(h.Ready, blank.Ready), max(h.Blocked, blank.Blocked),
		max(h.Unresolved, blank.Unresolved)
	h.Override, h.AskedAt = max(h.Override, blank.Override), max(h.AskedAt, blank.AskedAt)
	h.Usage = cmp.Or(blank.Usage, h.Usage)
	if blank.Fault.At > 0 {
		h.Fault = blank.Fault
	}
	if blank.RobotsEnds > h.RobotsEnds {
		h.Delay, h.RobotsEnds, h.Rules = blank.Delay, blank.RobotsEnds, blank.Rules
	} else {
		h.Delay = max(h.Delay, blank.Delay)
	}
}

func classAt(classes []frontier.Class, id int64) frontier.Class {
	if id < 1 || id > int64(len(classes)) {
		return frontier.Class{}
	}
	return classes[id-1]
}
