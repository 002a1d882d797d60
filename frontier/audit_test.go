package frontier

import (
	"errors"
	"fmt"
	"slices"
)

// Audit is for the tests of package frontier_test: it reads a whole shard and gives what is wrong
// with it.
func Audit(db DB, transaction func(func() error) error) (wrong []error) {
	s := &Shard{DB: db}
	if err := transaction(func() error {
		return s.run(0, func(c *call) error {
			k := auditor{c: c, pointers: map[pointerKey]int{}, leases: map[int64][]int64{}, due: map[int64]bool{}}
			if err := k.read(); err != nil {
				return err
			}
			k.check()
			wrong = k.wrong
			return errAudited
		})
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
	slot int64
}

type auditor struct {
	c        *call
	hosts    []*host
	domains  []*domain
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
	if k.hosts, err = k.c.loadHosts(ids); err != nil {
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
	if err := k.c.loadParts(ids); err != nil {
		return err
	}
	rows, err := k.c.db.Run("SELECT key, data FROM queue")
	if err != nil {
		return err
	}
	for rows.Next() {
		key, data := rows.Int(), rows.Blob()
		if len(data) == 0 || len(data)%pointerLen != 0 || len(data) > maxBlock*pointerLen {
			k.errorf("a block of %d bytes", len(data))
			continue
		}
		for at := 0; at < len(data); at += pointerLen {
			k.pointers[pointerKey{pointerAt(data, at).host, laneOf(key), slotOf(key)}]++
		}
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
	if rows, err = k.c.db.Run("SELECT id, data FROM leases WHERE id > 0"); err != nil {
		return err
	}
	for rows.Next() {
		id, data := rows.Int(), rows.Blob()
		for at := 0; at+idBytes <= len(data); at += idBytes {
			k.leases[id] = append(k.leases[id], idAt(data, at))
		}
	}
	return rows.Err()
}

func (k *auditor) check() {
	c := k.c
	var urls, entries, leased, done, failed int64
	parts := 0
	for _, h := range k.hosts {
		urls += h.urls
		done += h.done
		failed += h.failed
		leased += int64(len(h.leased) + len(h.asked))
		if err := h.unpackEntries(); err != nil {
			k.errorf("%s: %v", h.name, err)
		}
		entries += int64(len(h.entries))
		parts += k.checkHost(h)
	}
	for what, n := range map[string][2]int64{"hosts": {c.state.hosts, int64(len(k.hosts))}, "urls": {c.state.urls, urls}, "entries": {c.state.entries, entries},
		"leased": {c.state.leased, leased}, "done": {c.state.done, done}, "failed": {c.state.failed, failed}} {
		if n[0] != n[1] {
			k.errorf("%s: counted %d, there are %d", what, n[0], n[1])
		}
	}
	for key, data := range c.parts {
		if key&(1<<partBits-1) < firstSegment && !slices.IsSorted(chunkHashes(data)) {
			k.errorf("a chunk that is not sorted")
		}
	}
	if ids, _ := k.ids("SELECT key FROM parts"); len(ids) != parts {
		k.errorf("%d parts, %d are used", len(ids), parts)
	}
	for _, m := range k.domains {
		k.checkDomain(m)
	}
}

func chunkHashes(data []byte) (list []uint64) {
	for at := 0; at+hashBytes <= len(data); at += hashBytes {
		list = append(list, hashAt(data, at))
	}
	return list
}

// checkHost checks one host and gives how many parts it has.
func (k *auditor) checkHost(h *host) (parts int) {
	c := k.c
	all := append(slices.Clone(h.buffer), h.leased...)
	for i := range h.segments {
		data := c.parts[h.segmentKey(h.segments[i].number)]
		pages, err := h.segments[i].unread(data)
		if err != nil || len(pages) == 0 {
			k.errorf("%s: segment of %d bytes with %d pages: %v", h.name, len(data), len(pages), err)
		}
		all = append(all, pages...)
		parts++
	}
	if int64(len(all)) != h.urls {
		k.errorf("%s: counts %d URLs, has %d", h.name, h.urls, len(all))
	}
	seen := map[uint64]bool{}
	for i := range all {
		hash := hash48(all[i].path)
		if seen[hash] {
			k.errorf("%s: %s is there twice", h.name, all[i].path)
		}
		if seen[hash] = true; !c.seen(h, hash) {
			k.errorf("%s: %s was not seen", h.name, all[i].path)
		}
	}
	for i := range 1 << h.seenBits {
		if len(c.parts[h.id<<partBits|int64(i)]) > 0 {
			parts++
		}
	}
	m := c.domains[h.domain]
	if m == nil || !slices.Contains(m.hosts, h.id) {
		k.errorf("%s is not among the hosts of its domain", h.name)
		return parts
	}
	if h.lease != 0 {
		if len(h.leased)+len(h.asked) == 0 || !slices.Contains(k.leases[h.lease], h.id) {
			k.errorf("%s: a lease of nothing, or one that does not end", h.name)
		}
		if m.listed && !slices.ContainsFunc(m.active, func(a activeHost) bool { return a.id == h.id }) {
			k.errorf("%s is leased and not listed", h.name)
		}
	} else if !h.excluded {
		if waits := len(all) > 0; m.mirrorOf == "" && waits != h.places[kindPage].queued {
			k.errorf("%s: %d pages, queued: %v", h.name, len(all), !waits)
		}
		if len(h.entries) > 0 && !h.places[kindEntry].queued && !k.due[h.id] {
			k.errorf("%s: nobody looks at its %d entry points", h.name, len(h.entries))
		}
	}
	for kind, p := range h.places {
		parked := slices.Contains(m.parked, parkedHost{h.id, kind})
		if p.queued && !parked && k.pointers[pointerKey{h.id, p.lane, p.slot}] == 0 {
			k.errorf("%s has a place and no pointer: %+v", h.name, p)
		}
	}
	return parts
}

func (k *auditor) checkDomain(m *domain) {
	for _, a := range m.active {
		if h := k.c.hosts[a.id]; h == nil || h.lease == 0 {
			k.errorf("%s lists a host that is not leased", m.name)
		}
	}
	if len(m.parked) == 0 || m.excluded {
		return
	}
	// Something must look at the parked hosts: the report of a leased host of the domain, the lease
	// of one that stands in a queue, or the end of a collector's time.
	leased := slices.ContainsFunc(m.hosts, func(id int64) bool {
		h := k.c.hosts[id]
		queued := slices.ContainsFunc([]int{kindPage, kindEntry}, func(kind int) bool {
			return h.places[kind].queued && !slices.Contains(m.parked, parkedHost{id, kind})
		})
		return h.lease != 0 || queued
	})
	ends, _ := k.ids(fmt.Sprintf("SELECT id FROM leases WHERE id = %d", -m.id-1))
	if !leased && len(ends) == 0 {
		k.errorf("%s has parked hosts that nobody lets in", m.name)
	}
}
