package shard

import (
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Changed records contracts that were rewritten. It may be called twice for a contract, and in any order.
func (s *Shard) Changed(now epoch.Millis, r frontier.Changed) error {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return err
	}
	if err := checkChanges(r.Changes); err != nil {
		return err
	}
	return s.run(now, func(c *call) error {
		m, err := c.tx.MakeDomain(r.Domain)
		if err != nil {
			return err
		}
		return contractsChanged(c, m, r.Changes)
	})
}

func checkChanges(list []frontier.Change) error {
	if err := frontier.CheckRange("changes", len(list), 0, store.MaxContracts); err != nil {
		return err
	}
	for i := range list {
		if err := list[i].Partition.Validate("changes."); err != nil {
			return err
		}
	}
	return nil
}

// hasContract reports whether a domain has a contract in a partition.
func hasContract(c *call, m *store.Domain, p contract.Partition) (bool, error) {
	records, err := m.Contracts()
	return slices.ContainsFunc(records, func(r store.Contract) bool { return c.partitionOf(r.Class, r.Day) == p }), err
}

// contractsChanged records that contracts of a domain were rewritten. It ignores revisions that are not newer than the
// recorded one.
func contractsChanged(c *call, m *store.Domain, changes []frontier.Change) error {
	if len(changes) == 0 {
		return nil
	}
	records, err := m.Contracts()
	if err != nil {
		return err
	}
	var changed []int
	for _, change := range changes {
		class := c.tx.State().Class(frontier.Class{Country: change.Partition.Country,
			Category: change.Partition.Category})
		day := dayOf(change.Partition)
		at := slices.IndexFunc(records, func(r store.Contract) bool { return r.Class == class && r.Day == day })
		if at < 0 {
			at = len(records)
			records = append(records, store.Contract{Class: class, Day: day})
		}
		r := &records[at]
		if r.Revision >= int64(change.Revision) {
			continue
		}
		r.Revision, r.ChangedAt, r.Reachable, r.Excluded = int64(change.Revision), change.ChangedAt, change.Reachable,
			m.Excluded
		changed = append(changed, at)
	}
	return m.SaveContracts(records, changed)
}

// contractsExcluded records that a domain was excluded, or allowed again, for the readers of its contracts.
func contractsExcluded(c *call, m *store.Domain) error {
	records, err := m.Contracts()
	if err != nil {
		return err
	}
	var changed []int
	for i := len(records) - 1; i >= 0; i-- { // the newest is the last again
		if records[i].Excluded != m.Excluded {
			records[i].Excluded, records[i].ChangedAt = m.Excluded, c.now
			changed = append(changed, i)
		}
	}
	return m.SaveContracts(records, changed)
}

// Changes returns the contracts that changed, in the order of their last change.
func (s *Shard) Changes(now epoch.Millis, r frontier.ChangesRequest) (page frontier.ChangesPage, err error) {
	if err := frontier.CheckRange("limit", r.Limit, 1, maxFeed); err != nil {
		return page, err
	}
	err = s.run(now, func(c *call) error {
		changes, read, err := c.tx.ReadChanges(r.After, r.Limit)
		page.Next, page.More, page.Expired = read.Next, read.More, read.Expired
		for i := range changes {
			page.Items = append(page.Items, describeChange(c, &changes[i]))
		}
		return err
	})
	return page, err
}

func describeChange(c *call, k *store.ChangedContract) frontier.ChangeItem {
	return frontier.ChangeItem{Sequence: k.Number, Domain: k.Domain.Name, Excluded: k.Excluded,
		Change: frontier.Change{Partition: c.partitionOf(k.Class, k.Day), Revision: int(k.Revision),
			ChangedAt: k.ChangedAt,
			Reachable: k.Reachable}}
}

// dayOf returns a partition's date in days since 1970, or 0 if it is not a date.
func dayOf(p contract.Partition) int64 {
	t, err := time.Parse(time.DateOnly, p.Date)
	if err != nil {
		return 0
	}
	return max(epoch.SecondsOf(t).Day(), 0)
}
