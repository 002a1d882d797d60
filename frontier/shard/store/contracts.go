package store

import (
	"cmp"
	"slices"
)

// The log of changes says which contracts were rewritten. Its records are pointers: domain and
// partition. What counts is the domain's row, which has of each of its contracts the number of its newest
// record; older pointers lead nowhere. So a reader gets the newest revision of a contract, once.

// maxContracts is the number of contracts of a domain are remembered, the last ones that changed: a domain
// that is collected daily has a contract a day.
const MaxContracts = 64

// ContractRecord is a contract as its domain's row has it.
type ContractRecord struct {
	Class, Day int64
	Revision   int64
	ChangedAt  int64
	Flags      int64
	Number     int64 // of its record in the log
}

const (
	ContractReachable = 1 << iota
	ContractExcluded
)

func (r *ContractRecord) fields() []*int64 {
	return []*int64{&r.Class, &r.Day, &r.Revision, &r.ChangedAt, &r.Flags, &r.Number}
}

func encodeContracts(records []ContractRecord) []byte {
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

func decodeContracts(data []byte) ([]ContractRecord, error) {
	var records []ContractRecord
	d := decode(data)
	for d.at < len(d.text) {
		one := &decoder{text: d.string()}
		var r ContractRecord
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

// checkContracts returns an error if records cannot be decoded. Few of the domains that are loaded need theirs.
func checkContracts(records string) error {
	d := &decoder{text: records}
	for d.at < len(d.text) {
		one := decoder{text: d.string()}
		for range (&ContractRecord{}).fields() {
			one.int()
		}
		if one.err != nil {
			return one.err
		}
	}
	return d.err
}

// ContractsOf returns the contracts of a domain.
func (m *Domain) ContractsOf() ([]ContractRecord, error) { return decodeContracts([]byte(m.contracts)) }

// SetContracts keeps the newest contracts of a domain.
func (c *Tx) SetContracts(m *Domain, records []ContractRecord) {
	slices.SortFunc(records, func(a, b ContractRecord) int { return cmp.Compare(b.Number, a.Number) })
	m.contracts = string(encodeContracts(records[:min(len(records), MaxContracts)]))
	m.Change()
}

// LogChanges appends contracts of a domain to the log of changes, and notes their numbers.
func (c *Logs) AppendChanges(m *Domain, changed []*ContractRecord) error {
	pointers := make([][]byte, len(changed))
	for i, r := range changed {
		pointers[i] = appendUint(appendUint(appendID(nil, m.ID), r.Class), r.Day)
	}
	given, err := c.append(ChangesLog, pointers)
	if err != nil {
		return err
	}
	for i, r := range changed {
		r.Number = given[i]
	}
	return nil
}

// changePointer is a record of the log of changes: the domain of a contract that changed.
type changePointer struct{ number, Domain int64 }

func DecodeChangePointers(records []LogRecord) ([]changePointer, error) {
	list := make([]changePointer, len(records))
	for i, r := range records {
		d := &decoder{text: r.data}
		list[i] = changePointer{r.Number, d.id()}
		if d.err != nil {
			return nil, d.err
		}
	}
	return list, nil
}
