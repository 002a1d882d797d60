package shard

import (
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// snapshotBytes is about how much of records and parts a page has. A host is never divided.
const snapshotBytes = 1 << 20

// maxSnapshotHosts is the number of hosts a page has at most.
const maxSnapshotHosts = 500

// domainPages is the position of the first page of domains, behind all host ids.
const (
	domainPages        = store.IDMask + 1
	maxSnapshotDomains = 500
)

// Export returns a page of a snapshot, which begins at 0. Hosts that change between two pages are
// exported as they are when their page is.
func (s *Shard) Export(now, from int64) (page frontier.Snapshot, err error) {
	err = s.run(now, func(c *call) error {
		page = frontier.Snapshot{Version: store.Version, Classes: c.tx.State().Classes, Patterns: c.tx.State().Patterns}
		if from >= domainPages {
			return exportDomains(c, &page, from-domainPages)
		}
		var ids []int64
		var err error
		if ids, page.Next, err = c.tx.HostsFrom(from, maxSnapshotHosts, snapshotBytes); err != nil {
			return err
		}
		if page.Hosts, err = exportHosts(c, ids); err != nil || page.Next > 0 {
			return err
		}
		return exportDomains(c, &page, 0)
	})
	return page, err
}

func exportHosts(c *call, ids []int64) ([]frontier.HostSnapshot, error) {
	hosts, err := c.tx.Hosts(ids)
	if err != nil {
		return nil, err
	}
	list := make([]frontier.HostSnapshot, len(hosts))
	index := map[int64]int{}
	for i, h := range hosts {
		m := h.Domain
		list[i] = frontier.HostSnapshot{Host: h.Name, Domain: m.Name, DomainExcluded: m.Excluded, Record: h.Encode()}
		index[h.ID] = i
	}
	err = c.tx.ExportParts(ids, func(host int64, p frontier.Part) {
		h := &list[index[host]]
		h.Parts = append(h.Parts, p)
	})
	return list, err
}

// exportDomains adds the domains of which something is to be kept.
func exportDomains(c *call, page *frontier.Snapshot, from int64) error {
	domains, err := c.tx.DomainsFrom(from, maxSnapshotDomains)
	if err != nil {
		return err
	}
	for _, m := range domains {
		if m.Excluded || m.MirrorOf != "" || m.Evidence.At > 0 {
			page.Domains = append(page.Domains, frontier.DomainSnapshot{Domain: m.Name, Excluded: m.Excluded, Evidence: m.Evidence, MirrorOf: m.MirrorOf})
		}
		page.Next = domainPages + m.ID + 1
	}
	if len(domains) < maxSnapshotDomains {
		page.Next = 0
	}
	return nil
}

// Restore adds the hosts and domains of a snapshot's page, and returns the number of hosts added. Known hosts stay as
// they are, so a page can be restored twice, or after newer puts.
func (s *Shard) Restore(now int64, page frontier.Snapshot) (restored int, err error) {
	if page.Version < 1 || page.Version > store.Version {
		return 0, frontier.ErrNewer
	}
	if err := frontier.CheckRange("hosts", len(page.Hosts), 0, maxSnapshotHosts); err != nil {
		return 0, err
	}
	if err := frontier.CheckRange("domains", len(page.Domains), 0, maxSnapshotDomains); err != nil {
		return 0, err
	}
	err = s.run(now, func(c *call) error {
		for i := range page.Hosts {
			added, err := restoreHost(c, &page.Hosts[i], page.Classes)
			if err != nil {
				return err
			}
			if added {
				restored++
			}
		}
		for i := range page.Domains {
			if err := restoreDomain(c, &page.Domains[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return restored, err
}

// restoreDomain takes over what is missing of a domain.
func restoreDomain(c *call, r *frontier.DomainSnapshot) error {
	if err := contract.CheckDomain("domains", r.Domain); err != nil {
		return err
	}
	m, err := c.tx.MakeDomain(r.Domain)
	if err != nil {
		return err
	}
	if r.Evidence.At > m.Evidence.At && r.Evidence.Partition.Validate("") == nil {
		m.Evidence = r.Evidence
		if contract.CheckDomain("", r.MirrorOf) == nil && r.MirrorOf != m.Name { // what it was with that evidence
			m.MirrorOf = r.MirrorOf
		}
	}
	m.Change()
	return nil
}

func restoreHost(c *call, r *frontier.HostSnapshot, classes []frontier.Class) (bool, error) {
	if contract.CheckDomain("", r.Domain) != nil || !link.ValidHost(r.Host) || !link.Within(r.Host, r.Domain) {
		return false, contract.Invalid("hosts", "%.80q is not a host of %.80q", r.Host, r.Domain)
	}
	there, err := c.tx.HostNamed(r.Host)
	if err != nil || there != nil && !there.Blank() {
		return false, err
	}
	m, err := c.tx.MakeDomain(r.Domain)
	if err != nil {
		return false, err
	}
	made, err := c.hostOf(m, r.Host)
	if err != nil || made == nil || made.Domain != m {
		return false, err
	}
	h, err := c.tx.RestoreHost(made, there != nil, r.Record, r.Parts, classes)
	if err != nil || h == nil {
		return false, err
	}
	c.watch(h, -1)
	return true, c.queue(h)
}
