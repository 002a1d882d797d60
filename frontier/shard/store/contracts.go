package store

import (
	"cmp"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// The log of changes says which contracts were rewritten. Its records are pointers: domain and partition. The
// domain's row holds each contract with the number of its newest record; older records lead nowhere. So a reader gets
// the newest revision of a contract, once.

// MaxContracts caps the contracts that a domain's row keeps, the last ones that changed: a domain that is collected
// daily gets a contract a day.
const MaxContracts = 64

// Contract is a contract as its domain's row has it.
type Contract struct {
	Class, Day int64
	Revision   int64
	ChangedAt  epoch.Millis
	Number     int64 // of its record in the log
	Reachable  bool
	Excluded   bool
}

const (
	contractReachable = 1 << iota
	contractExcluded
)

// contractFields is the number of fields of a stored contract.
const contractFields = 6

func (k *Contract) append(b []byte) []byte {
	flags := int64(0)
	if k.Reachable {
		flags |= contractReachable
	}
	if k.Excluded {
		flags |= contractExcluded
	}
	for _, v := range [contractFields]int64{k.Class, k.Day, k.Revision, int64(k.ChangedAt), flags, k.Number} {
		b = appendUint(b, v)
	}
	return b
}

func (d *decoder) contract() Contract {
	k := Contract{Class: d.int(), Day: d.int(), Revision: d.int(), ChangedAt: d.millis()}
	flags := d.int()
	k.Reachable, k.Excluded = flags&contractReachable != 0, flags&contractExcluded != 0
	k.Number = d.int()
	return k
}

func encodeContracts(contracts []Contract) []byte {
	var b []byte
	for i := range contracts {
		b = appendString(b, string(contracts[i].append(nil)))
	}
	return b
}

func decodeContracts(data []byte) ([]Contract, error) {
	var contracts []Contract
	d := decode(data)
	for d.at < len(d.text) {
		one := &decoder{text: d.string()}
		k := one.contract()
		if one.err != nil {
			return nil, one.err
		}
		contracts = append(contracts, k)
	}
	return contracts, d.err
}

// checkContracts returns an error if records cannot be decoded. Few of the domains that are loaded need theirs.
func checkContracts(records string) error {
	d := &decoder{text: records}
	for d.at < len(d.text) {
		one := decoder{text: d.string()}
		for range contractFields {
			one.int()
		}
		if one.err != nil {
			return one.err
		}
	}
	return d.err
}

// Contracts returns the contracts of the domain.
func (m *Domain) Contracts() ([]Contract, error) { return decodeContracts([]byte(m.contracts)) }

// SaveContracts keeps the newest contracts of the domain. Those with the given indexes have changed: they go into the
// log.
func (m *Domain) SaveContracts(contracts []Contract, changed []int) error {
	if len(changed) == 0 {
		return nil
	}
	pointers := make([][]byte, len(changed))
	for i, at := range changed {
		k := &contracts[at]
		pointers[i] = appendUint(appendUint(appendID(nil, m.ID), k.Class), k.Day)
	}
	numbers, err := m.tx.logs.appendChanges(pointers)
	if err != nil {
		return err
	}
	for i, at := range changed {
		contracts[at].Number = numbers[i]
	}
	slices.SortFunc(contracts, func(a, b Contract) int { return cmp.Compare(b.Number, a.Number) })
	m.contracts = string(encodeContracts(contracts[:min(len(contracts), MaxContracts)]))
	m.Change()
	return nil
}

// ChangedContract is a contract with its domain.
type ChangedContract struct {
	Domain *Domain
	Contract
}

// ReadChanges returns up to limit contracts that changed after a number, in the order of their last change.
func (c *Tx) ReadChanges(after int64, limit int) (changes []ChangedContract, page LogPage, err error) {
	page, err = c.logs.read(changesLog, after, func(records []logRecord) (taken int, err error) {
		for taken < len(records) && len(changes) < limit && err == nil {
			// No more than fit on the page, so that only the needed domains are loaded.
			next := records[taken:min(taken+limit-len(changes), len(records))]
			changes, err = c.logs.followPointers(changes, next)
			taken += len(next)
		}
		return taken, err
	})
	return changes, page, err
}

// followPointers adds the contracts to which records of the log lead.
func (c *logTables) followPointers(changes []ChangedContract, records []logRecord) ([]ChangedContract, error) {
	ids := make([]int64, len(records))
	for i, r := range records {
		d := &decoder{text: r.data}
		if ids[i] = d.id(); d.err != nil {
			return changes, d.err
		}
	}
	domains, err := c.tx.loadDomains(ids)
	if err != nil {
		return changes, err
	}
	for i, r := range records {
		if domains[i] == nil {
			continue
		}
		contracts, err := domains[i].Contracts()
		if err != nil {
			return changes, err
		}
		at := slices.IndexFunc(contracts, func(k Contract) bool { return k.Number == r.number })
		if at >= 0 {
			changes = append(changes, ChangedContract{domains[i], contracts[at]})
		}
	}
	return changes, nil
}
