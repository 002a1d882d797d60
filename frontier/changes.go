package frontier

import (
	"cmp"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// The log of changes says which contracts were rewritten. Its records are pointers: domain and
// partition. What counts is the domain's row, which has of each of its contracts the number of its newest
// record; older pointers lead nowhere. Versions before had the contracts in a table of their own. So a reader gets the newest revision of a contract, once.

// maxContracts is how many contracts of a domain are remembered, the last ones that changed: a domain
// that is collected daily has a contract a day.
const maxContracts = 64

// Change is what became of the contract of a domain in one partition.
type Change struct {
	Partition contract.Partition
	Revision  int
	ChangedAt int64 // ms since 1970
	Reachable bool
}

// Changed is contracts of one domain that were rewritten.
type Changed struct {
	Domain  string
	Changes []Change
}

// Changed takes contracts that were rewritten. It may be told of them twice, and in any order.
func (s *Shard) Changed(now int64, r Changed) error {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return err
	}
	if err := checkChanges(r.Changes); err != nil {
		return err
	}
	return s.run(now, func(c *call) error {
		m, err := c.makeDomain(r.Domain)
		if err != nil {
			return err
		}
		return c.contractsChanged(m, r.Changes)
	})
}

func checkChanges(list []Change) error {
	if err := checkRange("changes", len(list), 0, maxContracts); err != nil {
		return err
	}
	for i := range list {
		if err := list[i].Partition.Validate("changes."); err != nil {
			return err
		}
	}
	return nil
}

// ChangeItem is the newest revision of a contract.
type ChangeItem struct {
	Sequence int64 // in its shard
	Domain   string
	Change
	Excluded bool // an operator excluded the domain since: the contract is no longer to be used
}

// ChangesRequest asks for the contracts that changed after a number.
type ChangesRequest struct {
	After int64
	Limit int // 1 to maxFeed
}

// ChangesPage is a page of the changes of one shard.
type ChangesPage struct {
	Items []ChangeItem
	Next  int64
	More  bool
	// Expired: changes after ChangesRequest.After are gone.
	Expired bool `json:",omitempty"`
}

// contractRecord is a contract as its domain's row has it.
type contractRecord struct {
	class, day int64
	revision   int64
	changedAt  int64
	flags      int64
	number     int64 // of its record in the log
}

const (
	contractReachable = 1 << iota
	contractExcluded
)

func (r *contractRecord) fields() []*int64 {
	return []*int64{&r.class, &r.day, &r.revision, &r.changedAt, &r.flags, &r.number}
}

func encodeContracts(records []contractRecord) []byte {
	var b []byte
	for i := range records {
		var record []byte
		for _, v := range records[i].fields() {
			record = appendUint(record, *v)
		}
		b = appendString(b, string(record))
	}
	return b
}

func decodeContracts(data []byte) ([]contractRecord, error) {
	var records []contractRecord
	d := decode(data)
	for d.at < len(d.text) {
		one := &decoder{text: d.string()}
		var r contractRecord
		for _, v := range r.fields() {
			*v = one.int()
		}
		if one.err != nil {
			return nil, one.err
		}
		records = append(records, r)
	}
	return records, d.err
}

// contracts gives the contracts of domains by the domains' ids.
func (c *call) contracts(domains []*domain) (map[int64][]contractRecord, error) {
	found, ids := map[int64][]contractRecord{}, make([]int64, 0, len(domains))
	for _, m := range domains {
		if m == nil {
			continue
		}
		records, err := decodeContracts([]byte(m.contracts))
		if err != nil {
			return nil, err
		}
		found[m.id], ids = records, append(ids, m.id)
	}
	// What a version before has written, or writes again after a rollback.
	rows, err := c.db.Run(`SELECT key, data FROM contracts WHERE key IN (SELECT value FROM json_each(?1))`, numbers(ids))
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		id := rows.Int()
		before, err := decodeContracts(rows.Blob())
		if err != nil {
			return nil, err
		}
		found[id] = newer(found[id], before)
	}
	return found, rows.Err()
}

// newer adds to records those of others that are not there, or have a greater number.
func newer(records, others []contractRecord) []contractRecord {
	for _, o := range others {
		at := slices.IndexFunc(records, func(r contractRecord) bool { return r.class == o.class && r.day == o.day })
		if at < 0 {
			records = append(records, o)
		} else if o.number > records[at].number {
			records[at] = o
		}
	}
	return records
}

// hasContract reports whether a domain has a contract in a partition that this version, or a later one, has written.
func (c *call) hasContract(m *domain, p contract.Partition) (bool, error) {
	records, err := decodeContracts([]byte(m.contracts))
	return slices.ContainsFunc(records, func(r contractRecord) bool { return c.partitionOf(r.class, r.day) == p }), err
}

// contractsChanged records that contracts of a domain were rewritten. One that is known in this revision, or a
// later one, has not changed.
func (c *call) contractsChanged(m *domain, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	all, err := c.contracts([]*domain{m})
	if err != nil {
		return err
	}
	records := all[m.id]
	var changed []int
	for _, change := range changes {
		class := c.state.class(Class{change.Partition.Country, change.Partition.Category})
		day := dayOf(change.Partition)
		at := slices.IndexFunc(records, func(r contractRecord) bool { return r.class == class && r.day == day })
		if at < 0 {
			at = len(records)
			records = append(records, contractRecord{class: class, day: day})
		}
		r := &records[at]
		if r.revision >= int64(change.Revision) {
			continue
		}
		r.revision, r.changedAt, r.flags = int64(change.Revision), change.ChangedAt, 0
		if change.Reachable {
			r.flags |= contractReachable
		}
		if m.excluded {
			r.flags |= contractExcluded
		}
		changed = append(changed, at)
	}
	return c.writeContracts(m, records, changed)
}

// contractsExcluded records that a domain was excluded, or allowed again, for the readers of its contracts.
func (c *call) contractsExcluded(m *domain) error {
	all, err := c.contracts([]*domain{m})
	if err != nil {
		return err
	}
	records := all[m.id]
	var changed []int
	for i := len(records) - 1; i >= 0; i-- { // the newest is the last again
		if excluded := records[i].flags&contractExcluded != 0; excluded != m.excluded {
			records[i].flags ^= contractExcluded
			records[i].changedAt = c.now
			changed = append(changed, i)
		}
	}
	return c.writeContracts(m, records, changed)
}

// writeContracts appends pointers to the contracts that changed, and keeps the contracts with their domain.
func (c *call) writeContracts(m *domain, records []contractRecord, changed []int) error {
	if len(changed) == 0 {
		return nil
	}
	pointers := make([][]byte, len(changed))
	for i, at := range changed {
		pointers[i] = appendUint(appendUint(appendID(nil, m.id), records[at].class), records[at].day)
	}
	given, err := c.appendLog(changesLog, pointers)
	if err != nil {
		return err
	}
	for i, at := range changed {
		records[at].number = given[i]
	}
	slices.SortFunc(records, func(a, b contractRecord) int { return cmp.Compare(b.number, a.number) })
	records = records[:min(len(records), maxContracts)]
	m.contracts = string(encodeContracts(records))
	c.changeDomain(m)
	return nil
}

// Changes gives the contracts that changed, in the order of their last change.
func (s *Shard) Changes(now int64, r ChangesRequest) (page ChangesPage, err error) {
	if err := checkRange("limit", r.Limit, 1, maxFeed); err != nil {
		return page, err
	}
	err = s.run(now, func(c *call) error {
		page.Next, page.More, err = c.readLog(changesLog, r.After, func(records []logRecord) (int, error) {
			return c.followPointers(&page, records, r.Limit)
		})
		page.Expired = expired(r.After, c.state.deleted.changes)
		return err
	})
	return page, err
}

// followPointers adds the contracts to which pointers lead, until the page is full.
func (c *call) followPointers(page *ChangesPage, records []logRecord, limit int) (taken int, err error) {
	for taken < len(records) && len(page.Items) < limit && err == nil {
		// As many as the page has room for, so that no more domains are loaded than are needed.
		next := records[taken:min(taken+limit-len(page.Items), len(records))]
		err = c.followAll(page, next)
		taken += len(next)
	}
	return taken, err
}

func (c *call) followAll(page *ChangesPage, records []logRecord) error {
	ids := make([]int64, len(records))
	for i, r := range records {
		d := &decoder{text: r.data}
		if ids[i] = d.id(); d.err != nil {
			return d.err
		}
	}
	domains, err := c.loadDomains(ids)
	if err != nil {
		return err
	}
	contracts, err := c.contracts(domains)
	if err != nil {
		return err
	}
	for i, r := range records {
		at := slices.IndexFunc(contracts[ids[i]], func(k contractRecord) bool { return k.number == r.number })
		if at < 0 || domains[i] == nil {
			continue
		}
		k := &contracts[ids[i]][at]
		page.Items = append(page.Items, ChangeItem{Sequence: r.number, Domain: domains[i].name, Excluded: k.flags&contractExcluded != 0,
			Change: Change{c.partitionOf(k.class, k.day), int(k.revision), k.changedAt, k.flags&contractReachable != 0}})
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
