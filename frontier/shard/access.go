package shard

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// freeAt returns when a host may be fetched from again, if no lease and no collector has it.
func (c *call) freeAt(h *store.Host) epoch.Millis {
	return max(h.Domain.ReadyFor("", h, c.now), h.Blocked, h.Unresolved)
}

// availableHosts returns how many more hosts of the domain can be leased.
func (c *call) availableHosts(m *store.Domain) int {
	if m.Excluded || m.Closed(c.now) > 0 {
		return 0
	}
	if !m.Listed {
		return c.settings.HostsPerDomain
	}
	return max(0, c.settings.HostsPerDomain-len(m.Active)-len(m.Claimed(c.now)))
}

// trackLeased makes a domain with more hosts than may be leased at once list those that are leased or claimed.
func (c *call) trackLeased(m *store.Domain) error {
	if m.Listed || len(m.Hosts) <= c.settings.HostsPerDomain {
		return nil
	}
	hosts, err := c.tx.Hosts(m.Hosts)
	if err != nil {
		return err
	}
	m.Listed = true
	for _, h := range hosts {
		if h.Lease != 0 {
			m.Active = append(m.Active, store.ActiveHost{ID: h.ID, Ends: h.LeaseEnds})
		}
		if h.ClaimEnds > c.now {
			m.Claims = append(m.Claims, store.ActiveHost{ID: h.ID, Ends: h.ClaimEnds})
		}
	}
	m.Change()
	return nil
}

// park takes a queued host out of the queues until its domain lets it in.
func park(m *store.Domain, h *store.Host, kind int) {
	p := store.ParkedHost{ID: h.ID, Kind: kind}
	if slices.Contains(m.Parked, p) {
		return
	}
	m.Parked = append(m.Parked, p)
	m.Change()
}

// opensAt returns when the collector, or the first of the refreshes, that keeps a domain's parked hosts out ends at the
// latest; 0 if nothing keeps hosts out.
func opensAt(c *call, m *store.Domain) epoch.Millis {
	if len(m.Parked) == 0 {
		return 0
	}
	return cmp.Or(m.Closed(c.now), store.FirstEnd(m.Claims))
}

// unpark puts parked hosts back into the queues, as many as the domain admits. It drops hosts that have moved or have
// nothing left. While a collector or refreshes keep hosts out, it schedules a wake-up at the end of that time, since
// they might never return.
func (c *call) unpark(m *store.Domain) error {
	if len(m.Parked) == 0 {
		return nil
	}
	n := c.availableHosts(m)
	if ends := opensAt(c, m); n == 0 && ends > 0 && m.Changed() {
		m.WakeAt(ends)
	}
	for n > 0 && len(m.Parked) > 0 {
		batch := m.Parked[:min(n, len(m.Parked))]
		m.Parked = m.Parked[len(batch):]
		ids := make([]int64, len(batch))
		for i, p := range batch {
			ids[i] = p.ID
		}
		hosts, err := c.tx.Hosts(ids)
		if err != nil {
			return err
		}
		for i, h := range hosts {
			if h != nil && h.Requeue(batch[i].Kind) {
				n--
			}
		}
	}
	m.Change()
	return nil
}

func (c *call) unparkAll() error {
	for _, m := range c.tx.LoadedDomains() {
		if err := c.unpark(m); err != nil {
			return err
		}
	}
	return nil
}

// removeActive takes a host off one of the domain's lists.
func removeActive(m *store.Domain, list *[]store.ActiveHost, id int64) {
	if i := slices.IndexFunc(*list, func(a store.ActiveHost) bool { return a.ID == id }); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
		m.Change()
	}
}

// hostNamed returns a host by its name, or nil.
func (c *call) hostNamed(name string) (*store.Host, error) {
	hosts, err := c.tx.HostsNamed([]string{name})
	if err != nil {
		return nil, err
	}
	return hosts[0], nil
}

// domainNamed returns a domain by its name, or nil.
func (c *call) domainNamed(name string) (*store.Domain, error) {
	domains, err := c.tx.DomainsNamed([]string{name})
	if err != nil {
		return nil, err
	}
	return domains[0], nil
}

// makeHost returns a host of a domain, and makes it if it is missing. It returns nil if the domain has too many.
func (c *call) makeHost(m *store.Domain, name string) (*store.Host, error) {
	h, added, err := m.MakeHost(name, c.settings.Delay)
	if err == nil && !added && h != nil {
		_, err = c.settle(h)
	}
	if err != nil || !added {
		return h, err
	}
	return h, c.trackLeased(m)
}
