package shard

import (
	"slices"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// serveHosts leases pages of one domain or host. It loads the hosts directly; those without an item keep their places
// in the queues.
func (l *leaser) serveHosts() error {
	ids, err := l.hostIDs()
	if err != nil {
		return err
	}
	if l.c.settings.VisitsPerDay > 0 {
		if err := adjustVisits(l.c); err != nil {
			return err
		}
	}
	if len(ids) > maxCandidates { // begin elsewhere each second, since a lease might not get through all of them
		first := int(uint32(l.c.seconds())*2_654_435_769) % len(ids)
		ids = slices.Concat(ids[first:], ids[:first])
	}
	for _, kind := range l.kinds() {
		for part := range slices.Chunk(ids, maxCandidates) {
			if l.remaining() == 0 {
				return nil
			}
			if l.c.tx.State().Full(1) {
				l.partial = true
				return nil
			}
			hosts, err := l.c.tx.Hosts(part)
			if err != nil {
				return err
			}
			for _, h := range hosts {
				if h == nil || l.remaining() == 0 {
					continue
				}
				if err := l.serveHost(h, kind); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hostIDs returns the ids of the hosts that the request names.
func (l *leaser) hostIDs() ([]int64, error) {
	if l.request.Host != "" {
		h, err := l.c.hostNamed(l.request.Host)
		if err != nil || h == nil || l.request.Domain != "" && h.Domain.Name != l.request.Domain {
			return nil, err
		}
		return []int64{h.ID}, nil
	}
	m, err := l.c.domainNamed(l.request.Domain)
	if err != nil || m == nil {
		return nil, err
	}
	return m.Hosts, nil
}

// kinds returns the kinds of items to lease, in the order of precedence.
func (l *leaser) kinds() (kinds []int) {
	if slices.Contains(l.request.Kinds, frontier.KindEntry) {
		kinds = append(kinds, store.KindEntry)
	}
	if len(l.request.Kinds) == 0 || slices.Contains(l.request.Kinds, frontier.KindPage) {
		kinds = append(kinds, store.KindPage, store.KindVisit)
	}
	return kinds
}

// serveHost leases items of a kind from a host, if it is free.
func (l *leaser) serveHost(h *store.Host, kind int) error {
	c := l.c
	switch {
	case slices.Contains(l.hosts, h.ID), !store.Has(h, kind), h.Excluded:
		return nil
	case h.Lease != 0:
		l.passOver(h.LeaseEnds)
		return nil
	}
	if free := c.freeAt(h); free > c.now {
		l.passOver(free)
		return nil
	}
	owned, err := c.settle(h)
	if err != nil || !owned || kind != store.KindEntry && h.Domain.MirrorOf != "" {
		return err
	}
	available, err := l.available(h.Domain)
	if err != nil || !available {
		return err
	}
	if _, err = l.give(h, h.Domain, kind); err != nil || h.Lease != 0 {
		return err
	}
	if due := h.DueAt(); due > c.now { // all that it has waits for another attempt
		l.passOver(due)
	}
	return nil
}
