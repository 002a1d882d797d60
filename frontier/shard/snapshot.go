package shard

import (
	"slices"

	"errors"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Export returns the page of a snapshot that begins at a position; 0 is the first. Each page shows its hosts at the
// time of its own export.
func (s *Shard) Export(now epoch.Millis, from int64) (page frontier.Snapshot, err error) {
	err = s.run(now, func(c *call) error {
		page, err = c.tx.Export(from)
		return err
	})
	return page, err
}

// Restore adds the hosts and domains of a snapshot's page, and returns the number of hosts that it changed. Known
// hosts get only what they lack, so a page can be restored twice, or after newer puts.
func (s *Shard) Restore(now epoch.Millis, page frontier.Snapshot) (restored int, err error) {
	if page.Version < 1 || page.Version > store.Version {
		return 0, frontier.ErrNewer
	}
	if err := frontier.CheckRange("hosts", len(page.Hosts), 0, store.MaxSnapshotHosts); err != nil {
		return 0, err
	}
	if err := frontier.CheckRange("domains", len(page.Domains), 0, store.MaxSnapshotDomains); err != nil {
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

// restoreDomain adds what a domain lacks.
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
	for _, b := range r.Backlogs {
		if len(m.Backlogs) < store.MaxBacklogs && len(b.Next) <= frontier.MaxPosition &&
			b.Partition.Validate("") == nil &&
			!slices.ContainsFunc(m.Backlogs, func(o frontier.Backlog) bool { return o.Partition == b.Partition }) {
			m.Backlogs = append(m.Backlogs, b)
		}
	}
	m.Change()
	return nil
}

func restoreHost(c *call, r *frontier.HostSnapshot, classes []frontier.Class) (bool, error) {
	if contract.CheckDomain("", r.Domain) != nil || !link.ValidHost(r.Host) || !link.Within(r.Host, r.Domain) {
		return false, contract.Invalid("hosts", "%.80q is not a host of %.80q", r.Host, r.Domain)
	}
	there, err := c.hostNamed(r.Host)
	if err != nil {
		return false, err
	}
	m, err := c.tx.MakeDomain(r.Domain)
	if err != nil {
		return false, err
	}
	made, err := c.makeHost(m, r.Host)
	if err != nil || made == nil || made.Domain != m {
		return false, err
	}
	if there != nil {
		if blank, err := there.Blank(); err != nil {
			return false, err
		} else if !blank {
			return mergeHost(c, made, r, classes)
		}
	}
	h, err := made.Restore(there != nil, r.Record, r.Parts, classes)
	if errors.Is(err, store.ErrDamaged) {
		return false, damagedHost(r)
	}
	if err != nil || h == nil {
		return false, err
	}
	c.watch(h, -1)
	return true, c.queue(h)
}

func mergeHost(c *call, h *store.Host, r *frontier.HostSnapshot, classes []frontier.Class) (bool, error) {
	if err := h.UnpackEntries(); err != nil {
		return false, err
	}
	before, rules := h.NextDue(), h.Rules
	allowed := func(path string) bool { return !isForbidden(c, h, path) }
	merged, err := h.Merge(r.Record, r.Parts, classes, c.settings.URLsPerHost-h.URLs, allowed)
	if errors.Is(err, store.ErrDamaged) {
		return false, damagedHost(r)
	}
	if err != nil {
		return false, err
	}
	if read := h.Rules; read != rules { // they may forbid what waits
		h.Rules = rules
		if err := setRules(c, h, read); err != nil {
			return false, err
		}
	}
	if !merged {
		return false, nil
	}
	c.watch(h, before)
	return true, c.queue(h)
}

func damagedHost(r *frontier.HostSnapshot) error {
	return contract.Invalid("hosts",
		"the record of %.80q is damaged; send it as it was exported, or leave the host out", r.Host)
}
