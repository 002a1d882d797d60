package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// Audit reads a whole shard and returns what is inconsistent in it.
func Audit(db DB, transaction func(func() error) error) (wrong []error) {
	if err := transaction(func() error {
		c, err := Begin(db, 0, nil)
		if err != nil {
			return err
		}
		k := auditor{c: c, pointers: map[pointerKey]int{}, leases: map[int64][]int64{}, due: map[int64]bool{}}
		if err := k.read(); err != nil {
			return err
		}
		k.check()
		wrong = k.wrong
		return errAudited
	}); !errors.Is(err, errAudited) {
		wrong = append(wrong, err)
	}
	return wrong
}

// errAudited rolls back: an audit changes nothing.
var errAudited = errors.New("audited")

type pointerKey struct {
	host int64
	lane int
	slot epoch.Seconds
}

type auditor struct {
	c        *Tx
	hosts    []*Host
	domains  []*Domain
	pointers map[pointerKey]int
	due      map[int64]bool // hosts in the table due
	leases   map[int64][]int64
	wrong    []error
}

func (k *auditor) errorf(format string, args ...any) {
	k.wrong = append(k.wrong, fmt.Errorf(format, args...))
}

func (k *auditor) ids(sql string) (ids []int64, err error) {
	rows, err := k.c.db.Run(sql)
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		ids = append(ids, rows.Int())
	}
	return ids, rows.Err()
}

func (k *auditor) read() error {
	ids, err := k.ids("SELECT id FROM hosts")
	if err != nil {
		return err
	}
	if k.hosts, err = k.c.Hosts(ids); err != nil {
		return err
	}
	if ids, err = k.ids("SELECT id FROM domains"); err != nil {
		return err
	}
	if k.domains, err = k.c.loadDomains(ids); err != nil {
		return err
	}
	if ids, err = k.ids("SELECT key FROM parts"); err != nil {
		return err
	}
	if err := k.c.parts.Load(ids); err != nil {
		return err
	}
	rows, err := k.c.db.Run("SELECT key, data FROM queue")
	if err != nil {
		return err
	}
	for rows.Next() {
		key, data := rows.Int(), rows.Blob()
		if len(data) == 0 || len(data)%pointerLen != 0 || len(data) > MaxBlock*pointerLen {
			k.errorf("a block of %d bytes", len(data))
			continue
		}
		for at := 0; at < len(data); at += pointerLen {
			k.pointers[pointerKey{pointerAt(data, at).Host, laneOf(key), slotOf(key)}]++
		}
	}
	pending := &k.c.state.pointers
	for i := range pending.len() {
		key := pending.key(i)
		k.pointers[pointerKey{idAt(pending.pointer(i), 0), laneOf(key), slotOf(key)}]++
	}
	if rows, err = k.c.db.Run("SELECT data FROM due"); err != nil {
		return err
	}
	for rows.Next() {
		data := rows.Blob()
		for at := 0; at+idBytes <= len(data); at += idBytes {
			k.due[idAt(data, at)] = true
		}
	}
	for i := range k.c.state.due.len() {
		k.due[idAt(k.c.state.due.pointer(i), 0)] = true
	}
	if rows, err = k.c.db.Run("SELECT id, data FROM leases WHERE id > 0"); err != nil {
		return err
	}
	for rows.Next() {
		id, data := rows.Int(), rows.Blob()
		k.leases[id], _ = splitLease(data)
	}
	return rows.Err()
}

func (k *auditor) check() {
	c := k.c
	var urls, entries, leased, done, failed, scheduled int64
	parts := 0
	for _, h := range k.hosts {
		urls += h.URLs
		done += h.Done
		scheduled += h.Scheduled
		failed += h.Failed
		leased += int64(len(h.Leased) + len(h.Asked))
		if err := h.UnpackEntries(); err != nil {
			k.errorf("%s: %v", h.Name, err)
		}
		entries += int64(len(h.Entries))
		parts += k.checkHost(h)
	}
	for what, n := range map[string][2]int64{"hosts": {c.state.Hosts, int64(len(k.hosts))},
		"urls":    {c.state.URLs, urls},
		"entries": {c.state.Entries, entries}, "scheduled": {c.state.Visits.Scheduled, scheduled},
		"leased": {c.state.Leased, leased}, "done": {c.state.Done, done}, "failed": {c.state.Failed, failed}} {
		if n[0] != n[1] {
			k.errorf("%s: counted %d, there are %d", what, n[0], n[1])
		}
	}
	for key, data := range c.parts.rows {
		if key&(1<<partBits-1) < firstSegment {
			k.checkChunk(data)
		}
	}
	if ids, _ := k.ids("SELECT key FROM parts"); len(ids) != parts {
		k.errorf("%d parts, %d are used", len(ids), parts)
	}
	for _, m := range k.domains {
		k.checkDomain(m)
	}
}

// checkChunk checks a chunk of known URLs; version 1 wrote hashes only.
func (k *auditor) checkChunk(data []byte) {
	c := chunk(data)
	if !c.valid() {
		if len(data)%hashBytes != 0 {
			k.errorf("a chunk of %d bytes", len(data))
		}
		return
	}
	if !slices.IsSortedFunc(c.all(), compareHashes) {
		k.errorf("a chunk that is not sorted")
	}
}

// checkHost checks one host and returns its number of parts.
func (k *auditor) checkHost(h *Host) (parts int) {
	c := k.c
	all, scheduled := k.queued(&h.pageQueue), k.queued(&h.Schedule)
	parts += len(h.segments) + len(h.Schedule.segments)
	for _, p := range h.Leased {
		if p.Reason == Scheduled {
			scheduled = append(scheduled, p)
		} else {
			all = append(all, p)
		}
	}
	if int64(len(all)) != h.URLs || int64(len(scheduled)) != h.Scheduled {
		k.errorf("%s: counts %d URLs and %d scheduled, has %d and %d", h.Name, h.URLs, h.Scheduled, len(all),
			len(scheduled))
	}
	seen := map[uint64]bool{}
	for i := range scheduled {
		p := &scheduled[i]
		hash := Hash48(p.Path)
		if known, _ := h.Known(hash); seen[hash] || known.Life != Fetched || p.Visit == nil || p.Reason != Scheduled {
			k.errorf("%s: %s is scheduled, and remembered as %v", h.Name, p.Path, known)
		}
		seen[hash] = true
	}
	for i := range all {
		hash := Hash48(all[i].Path)
		if seen[hash] {
			k.errorf("%s: %s is there twice", h.Name, all[i].Path)
		}
		if known, ok := h.Known(hash); !h.hashesOnly && (!ok || known.Life != Waiting) {
			k.errorf("%s: %s waits, and is remembered as %v", h.Name, all[i].Path, known)
		}
		seen[hash] = true
	}
	k.checkWaiting(h, seen)
	for i := range 1 << h.bits {
		if len(c.parts.rows[h.ID<<partBits|int64(i)]) > 0 {
			parts++
		}
	}
	m := c.domains[h.domain]
	if m == nil || !slices.Contains(m.Hosts, h.ID) {
		k.errorf("%s is not among the hosts of its domain", h.Name)
		return parts
	}
	if h.Lease != 0 {
		if len(h.Leased)+len(h.Asked) == 0 || !slices.Contains(k.leases[h.Lease], h.ID) {
			k.errorf("%s: a lease of nothing, or one that does not end", h.Name)
		}
		if m.Listed && !slices.ContainsFunc(m.Active, func(a ActiveHost) bool { return a.ID == h.ID }) {
			k.errorf("%s is leased and not listed", h.Name)
		}
	} else if !h.Excluded {
		if due := h.Schedule.HasPages(); due && !h.places[KindVisit].Queued && m.MirrorOf == "" {
			k.errorf("%s: nobody fetches its %d pages again", h.Name, h.Scheduled)
		}
		if waits := len(all) > 0; m.MirrorOf == "" && waits != h.places[KindPage].Queued {
			k.errorf("%s: %d pages, queued: %v", h.Name, len(all), !waits)
		}
		if len(h.Entries) > 0 && !h.places[KindEntry].Queued && !k.due[h.ID] {
			k.errorf("%s: nobody looks at its %d entry points", h.Name, len(h.Entries))
		}
	}
	for kind, p := range h.places {
		parked := slices.Contains(m.Parked, ParkedHost{h.ID, kind})
		if p.Queued && !parked && k.pointers[pointerKey{h.ID, p.Lane, p.Slot}] == 0 {
			k.errorf("%s has a place and no pointer: %+v", h.Name, p)
		}
	}
	return parts
}

// queued returns the pages of a queue.
func (k *auditor) queued(q *pageQueue) []Page {
	pages := slices.Clone(q.buffer)
	for i := range q.segments {
		data := k.c.parts.rows[q.segmentKey(q.segments[i].number)]
		list, err := q.segments[i].unread(data)
		if err != nil || len(list) == 0 {
			k.errorf("%s: segment of %d bytes with %d pages: %v", q.host.Name, len(data), len(list), err)
		}
		pages = append(pages, list...)
	}
	return pages
}

// checkWaiting checks that each URL remembered as waiting is in the queue, leased, or an entry point.
func (k *auditor) checkWaiting(h *Host, waits map[uint64]bool) {
	if h.hashesOnly || h.unsure {
		return
	}
	known := slices.Clone(h.recent.all())
	for i := range 1 << h.bits {
		for _, r := range chunk(k.c.parts.rows[h.ID<<partBits|int64(i)]).all() {
			if _, found := h.recent.find(r.hash); !found {
				known = append(known, r)
			}
		}
	}
	for _, r := range known {
		if r.Life == Waiting && !waits[r.hash] && h.Entry(r.hash) < 0 {
			k.errorf("%s: a URL counts as waiting and is not there", h.Name)
		}
	}
}

func (k *auditor) checkDomain(m *Domain) {
	for _, a := range m.Active {
		if h := k.c.hosts[a.ID]; h == nil || h.Lease == 0 {
			k.errorf("%s lists a host that is not leased", m.Name)
		}
	}
	if len(m.Parked) == 0 || m.Excluded {
		return
	}
	// Something must look at the parked hosts: the report of a leased host of the domain, the lease
	// of one that stands in a queue, or the end of a collector's time.
	leased := slices.ContainsFunc(m.Hosts, func(id int64) bool {
		h := k.c.hosts[id]
		queued := slices.ContainsFunc([]int{KindPage, KindEntry, KindVisit}, func(kind int) bool {
			return h.places[kind].Queued && !slices.Contains(m.Parked, ParkedHost{id, kind})
		})
		return h.Lease != 0 || queued
	})
	ends, _ := k.ids(fmt.Sprintf("SELECT id FROM leases WHERE id = %d", -m.ID-1))
	if !leased && len(ends) == 0 {
		k.errorf("%s has parked hosts that nobody lets in", m.Name)
	}
}
