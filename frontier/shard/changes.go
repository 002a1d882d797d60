package shard

import (
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Changed takes contracts that were rewritten. It may be told of them twice, and in any order.
func (s *Shard) Changed(now int64, r frontier.Changed) error {
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

// hasContract reports whether a domain has a contract in a partition that this version, or a later one, has written.
func hasContract(c *call, m *store.Domain, p contract.Partition) (bool, error) {
	records, err := m.ContractsOf()
	return slices.ContainsFunc(records, func(r store.ContractRecord) bool { return c.partitionOf(r.Class, r.Day) == p }), err
}

// contractsChanged records that contracts of a domain were rewritten. One that is known in this revision, or a
// later one, has not changed.
func contractsChanged(c *call, m *store.Domain, changes []frontier.Change) error {
	if len(changes) == 0 {
		return nil
	}
	records, err := m.ContractsOf()
	if err != nil {
		return err
	}
	var changed []int
	for _, change := range changes {
		class := c.tx.State().Class(frontier.Class{Country: change.Partition.Country, Category: change.Partition.Category})
		day := dayOf(change.Partition)
		at := slices.IndexFunc(records, func(r store.ContractRecord) bool { return r.Class == class && r.Day == day })
		if at < 0 {
			at = len(records)
			records = append(records, store.ContractRecord{Class: class, Day: day})
		}
		r := &records[at]
		if r.Revision >= int64(change.Revision) {
			continue
		}
		r.Revision, r.ChangedAt, r.Flags = int64(change.Revision), change.ChangedAt, 0
		if change.Reachable {
			r.Flags |= store.ContractReachable
		}
		if m.Excluded {
			r.Flags |= store.ContractExcluded
		}
		changed = append(changed, at)
	}
	return writeContracts(c, m, records, changed)
}

// contractsExcluded records that a domain was excluded, or allowed again, for the readers of its contracts.
func contractsExcluded(c *call, m *store.Domain) error {
	records, err := m.ContractsOf()
	if err != nil {
		return err
	}
	var changed []int
	for i := len(records) - 1; i >= 0; i-- { // the newest is the last again
		if excluded := records[i].Flags&store.ContractExcluded != 0; excluded != m.Excluded {
			records[i].Flags ^= store.ContractExcluded
			records[i].ChangedAt = c.now
			changed = append(changed, i)
		}
	}
	return writeContracts(c, m, records, changed)
}

// writeContracts appends pointers to the contracts that changed, and keeps the contracts with their domain.
func writeContracts(c *call, m *store.Domain, records []store.ContractRecord, changed []int) error {
	if len(changed) == 0 {
		return nil
	}
	list := make([]*store.ContractRecord, len(changed))
	for i, at := range changed {
		list[i] = &records[at]
	}
	if err := c.tx.Logs.AppendChanges(m, list); err != nil {
		return err
	}
	c.tx.SetContracts(m, records)
	return nil
}

// Changes returns the contracts that changed, in the order of their last change.
func (s *Shard) Changes(now int64, r frontier.ChangesRequest) (page frontier.ChangesPage, err error) {
	if err := frontier.CheckRange("limit", r.Limit, 1, maxFeed); err != nil {
		return page, err
	}
	err = s.run(now, func(c *call) error {
		page.Next, page.More, err = c.tx.Logs.Read(store.ChangesLog, r.After, func(records []store.LogRecord) (int, error) {
			return followPointers(c, &page, records, r.Limit)
		})
		page.Expired = store.Expired(r.After, c.tx.State().Deleted.Changes)
		return err
	})
	return page, err
}

// followPointers adds the contracts to which pointers lead, until the page is full.
func followPointers(c *call, page *frontier.ChangesPage, records []store.LogRecord, limit int) (taken int, err error) {
	for taken < len(records) && len(page.Items) < limit && err == nil {
		// No more than fit on the page, so that only the needed domains are loaded.
		next := records[taken:min(taken+limit-len(page.Items), len(records))]
		err = followAll(c, page, next)
		taken += len(next)
	}
	return taken, err
}

func followAll(c *call, page *frontier.ChangesPage, records []store.LogRecord) error {
	pointers, err := store.DecodeChangePointers(records)
	if err != nil {
		return err
	}
	ids := make([]int64, len(pointers))
	for i, p := range pointers {
		ids[i] = p.Domain
	}
	domains, err := c.tx.Domains(ids)
	if err != nil {
		return err
	}
	for i, r := range records {
		if domains[i] == nil {
			continue
		}
		contracts, err := domains[i].ContractsOf()
		if err != nil {
			return err
		}
		at := slices.IndexFunc(contracts, func(k store.ContractRecord) bool { return k.Number == r.Number })
		if at < 0 {
			continue
		}
		k := &contracts[at]
		page.Items = append(page.Items, frontier.ChangeItem{Sequence: r.Number, Domain: domains[i].Name, Excluded: k.Flags&store.ContractExcluded != 0,
			Change: frontier.Change{Partition: c.partitionOf(k.Class, k.Day), Revision: int(k.Revision), ChangedAt: k.ChangedAt, Reachable: k.Flags&store.ContractReachable != 0}})
	}
	return nil
}

// dayOf is a partition's date in days since 1970; 0 for what is no date.
func dayOf(p contract.Partition) int64 {
	t, err := time.Parse(time.DateOnly, p.Date)
	if err != nil {
		return 0
	}
	return max(t.Unix()/86_400, 0)
}
