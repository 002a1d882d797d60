package frontier

import "github.com/newsfork/seed-engine/contract"

// maxListedBytes is about how much of URLs and titles Pages lists: some 30,000 pages as sites usually name them. What
// is beyond it is left out.
const maxListedBytes = 4 << 20

// PagesRequest asks for the pages of a domain.
type PagesRequest struct {
	Domain string
	At     int64 // seconds since 1970: the time for which their priorities are given, since they fall with age
}

// PageInfo is a page that waits or is leased.
type PageInfo struct {
	URL      string
	Title    string // "" when unknown
	Type     string
	Priority float64 // 0 to 1
	LastMod  int64   // seconds since 1970; 0 when unknown
}

// PagesOf is the pages of a domain.
type PagesOf struct{ Pages []PageInfo }

// Pages lists the pages of a domain that are not done, in no order that means anything. Of those that are done a shard
// has only hashes.
func (s *Shard) Pages(now int64, r PagesRequest) (answer PagesOf, err error) {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return answer, err
	}
	err = s.run(now, func(c *call) error {
		m, _, err := c.findDomain(r.Domain)
		if err != nil || m == nil {
			return err
		}
		hosts, err := c.busyHosts(m)
		if err != nil {
			return err
		}
		size := 0
		for _, h := range hosts {
			pages, err := c.undone(h)
			if err != nil {
				return err
			}
			for i := range pages {
				p := &pages[i]
				info := PageInfo{h.url(p), p.title, typeName(p.kind), float64(p.score(r.At)) / 1000, p.lastmod}
				if size += len(info.URL) + len(info.Title); size > maxListedBytes {
					return nil
				}
				answer.Pages = append(answer.Pages, info)
			}
		}
		return nil
	})
	return answer, err
}

// busyHosts gives the hosts of a domain that have pages which are not done.
func (c *call) busyHosts(m *domain) ([]*host, error) {
	rows, err := c.db.Run(`SELECT id FROM hosts WHERE id IN (SELECT value FROM json_each(?1)) AND urls > 0 ORDER BY id`, numbers(m.hosts))
	if err != nil {
		return nil, err
	}
	var ids []int64
	for rows.Next() {
		ids = append(ids, rows.Int())
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return c.loadHosts(ids)
}

// undone gives all pages of a host, the leased ones included.
func (c *call) undone(h *host) ([]page, error) {
	waiting, err := c.unread(h, h.segments)
	return append(waiting, h.leased...), err
}
