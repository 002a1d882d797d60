package shard

import (
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// The list of public suffixes changes with the program. A host may then belong to another domain than the one under
// which it is stored, in this shard or another one. So each use of a host looks up its domain: the host moves to it if
// it belongs to this shard, and is not leased here otherwise.

// domainOf returns the registrable domain of a host by today's list; "" if it has none.
func (c *call) domainOf(host string) string {
	domain, known := c.domains[host]
	if !known {
		var ok bool
		if domain, ok = registrableDomain(link.Hostname(host)); !ok {
			domain = ""
		}
		if c.domains == nil {
			c.domains = map[string]string{}
		}
		c.domains[host] = domain
	}
	return domain
}

// belongs reports whether a host is one of a domain by today's list. A host without a registrable domain stays where
// it is.
func (c *call) belongs(host, domain string) bool {
	today := c.domainOf(host)
	return today == "" && link.Within(host, domain) || today == domain
}

// settle moves a host to its domain by today's list, and reports whether that domain belongs to this shard.
func (c *call) settle(h *store.Host) (owned bool, err error) {
	if c.belongs(h.Name, h.Domain.Name) {
		return c.owns(h.Domain.Name), nil
	}
	domain := c.domainOf(h.Name)
	if !c.owns(domain) {
		return false, nil
	}
	m, err := c.tx.MakeDomain(domain)
	if err != nil {
		return false, err
	}
	h.MoveTo(m)
	return true, c.trackLeased(m)
}

// settleAll settles the named hosts that exist.
func settleAll(c *call, names []string) error {
	hosts, err := c.tx.HostsNamed(names)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if h == nil {
			continue
		}
		if _, err := c.settle(h); err != nil {
			return err
		}
	}
	return nil
}
