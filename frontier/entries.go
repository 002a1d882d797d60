package frontier

import "github.com/newsfork/seed-engine/contract"

// maxListedHosts is of how many hosts of a domain the entry points are listed.
const maxListedHosts = 64

// EntryInfo is an entry point of a domain.
type EntryInfo struct {
	URL       string
	Type      string             // content type of most of what it lists
	Partition contract.Partition // the newest one
	EntryState
}

// EntriesOf is the entry points of a domain.
type EntriesOf struct{ Entries []EntryInfo }

// Entries lists the entry points of a domain, host by host. The one that stands for the domain itself is among
// them.
func (s *Shard) Entries(now int64, domain string) (answer EntriesOf, err error) {
	if err := contract.CheckDomain("domain", domain); err != nil {
		return answer, err
	}
	err = s.run(now, func(c *call) error {
		m, _, err := c.findDomain(domain)
		if err != nil || m == nil {
			return err
		}
		hosts, err := c.loadHosts(m.hosts[:min(len(m.hosts), maxListedHosts)])
		if err != nil {
			return err
		}
		for _, h := range hosts {
			if h == nil {
				continue
			}
			if err := h.unpackEntries(); err != nil {
				return err
			}
			for i := range h.entries {
				e := &h.entries[i]
				answer.Entries = append(answer.Entries, EntryInfo{h.url(&e.page), typeName(e.kind), c.partition(h, &e.page), e.state()})
			}
		}
		return nil
	})
	return answer, err
}
