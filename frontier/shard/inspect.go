package shard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// maxListedHosts caps the hosts of a domain whose entry points are listed.
const maxListedHosts = 64

// Entries lists the entry points of a domain, including the one that stands for the whole domain.
func (s *Shard) Entries(now epoch.Millis, domain string) (answer frontier.EntryList, err error) {
	if err := contract.CheckDomain("domain", domain); err != nil {
		return answer, err
	}
	err = s.run(now, func(c *call) error {
		m, err := c.domainNamed(domain)
		if err != nil || m == nil {
			return err
		}
		hosts, err := c.tx.Hosts(m.Hosts[:min(len(m.Hosts), maxListedHosts)])
		if err != nil {
			return err
		}
		for _, h := range hosts {
			if h == nil {
				continue
			}
			if err := h.UnpackEntries(); err != nil {
				return err
			}
			for i := range h.Entries {
				e := &h.Entries[i]
				answer.Entries = append(answer.Entries,
					frontier.EntryInfo{URL: h.URL(&e.Page), Type: store.TypeName(e.Kind),
						Partition: c.partition(h, &e.Page), EntryState: e.State()})
			}
		}
		return nil
	})
	return answer, err
}

// Stats returns the shard's counters. Due might count a host twice that has moved to another queue. OldestDue examines
// a bounded number of hosts, and is 0 until a later call gets past those that have moved.
func (s *Shard) Stats(now epoch.Millis) (stats frontier.Stats, err error) {
	err = s.run(now, func(c *call) error {
		n := c.tx.State()
		size, err := s.DB.Size()
		if err != nil {
			return err
		}
		stats = frontier.Stats{Bytes: size, Found: n.FoundLately(c.now), Hosts: n.Hosts, URLs: n.URLs,
			Entries: n.Entries,
			Leased:  n.Leased, Done: n.Done, Failed: n.Failed, Answers: n.Answers + n.Refreshing.Total,
			Faults: n.Faults, Answered: n.AnsweredOn(c.today()),
			Quarantined: n.Quarantine.Rows, Withheld: n.Withheld, Scheduled: n.Visits.Scheduled,
			Revisited: n.Visits.Made,
			Threshold: float64(n.Visits.Threshold) / 1e6, Scrapers: n.Scrapers}
		for lane := range frontier.Lanes {
			if lane == frontier.EntryLane && c.settings.PerMinute > 0 {
				if err := statsDue(c, &stats); err != nil {
					return err
				}
				continue
			}
			due, oldest, err := c.tx.LaneStats(lane, c.seconds(), func(h *store.Host) bool {
				return h.Lease == 0 && c.freeAt(h) <= c.now
			})
			if err != nil {
				return err
			}
			stats.Due[lane], stats.OldestDue[lane] = due, oldest.Millis()
		}
		return nil
	})
	return stats, err
}

// Hosts lists hosts.
func (s *Shard) Hosts(now epoch.Millis, r frontier.HostsRequest) (page frontier.HostsPage, err error) {
	if err := frontier.CheckRange("limit", r.Limit, 1, 500); err != nil {
		return page, err
	}
	if !store.IsHostOrder(r.Sort) {
		return page, contract.Invalid("sort", "%.80q is not an order; send due or size", r.Sort)
	}
	after := store.FirstPosition
	if r.Cursor != "" {
		left, right, _ := strings.Cut(r.Cursor, ",")
		var err1, err2 error
		after.Value, err1 = strconv.ParseInt(left, 10, 53)
		if after.ID, err2 = strconv.ParseInt(right, 10, 53); err1 != nil || err2 != nil {
			return page, contract.BadCursor()
		}
	}
	err = s.run(now, func(c *call) error {
		hosts, positions, err := c.tx.ListHosts(store.HostQuery{Order: r.Sort, Blocked: r.Blocked, After: after,
			Limit: r.Limit})
		if err != nil {
			return err
		}
		if page.Hosts, err = hostInfos(c, hosts); err != nil {
			return err
		}
		for i := range page.Hosts {
			page.Hosts[i].Cursor = fmt.Sprintf("%d,%d", positions[i].Value, positions[i].ID)
		}
		if n := len(hosts); n == r.Limit {
			page.Next = page.Hosts[n-1].Cursor
		}
		return nil
	})
	return page, err
}

func hostInfos(c *call, hosts []*store.Host) ([]frontier.HostInfo, error) {
	infos := make([]frontier.HostInfo, len(hosts))
	for i, h := range hosts {
		if err := h.UnpackEntries(); err != nil {
			return nil, err
		}
		infos[i] = frontier.HostInfo{HostState: h.State(h.Domain.ReadyFor("", h, c.now)),
			Domain: h.Domain.Name, URLs: h.URLs, Entries: len(h.Entries), Due: h.CountDue(c.seconds()), Done: h.Done,
			Failed: h.Failed, Traps: h.Traps, DueAt: h.DueAt(), LeasedUntil: h.LeaseEnds,
			Failures: h.Failures, Refusals: h.Refusals, Fault: h.Fault.Shown()}
		infos[i].NoRobots = h.Fault.NoRobots()
		infos[i].Excluded = h.Excluded || h.Domain.Excluded
		if rules := rulesOf(c, h); rules != nil {
			infos[i].Forbidden = rules.ForbidsAll()
		}
	}
	return infos, nil
}

// maxListedBytes caps the URLs and titles that Pages returns: some 30,000 pages. Further pages are left out.
const maxListedBytes = 4 << 20

// Pages lists the unfinished pages of a domain in no particular order. A shard has only hashes of finished ones.
func (s *Shard) Pages(now epoch.Millis, r frontier.PagesRequest) (answer frontier.PageList, err error) {
	if err := contract.CheckDomain("domain", r.Domain); err != nil {
		return answer, err
	}
	err = s.run(now, func(c *call) error {
		m, err := c.domainNamed(r.Domain)
		if err != nil || m == nil {
			return err
		}
		hosts, err := busyHosts(c, m)
		if err != nil {
			return err
		}
		size := 0
		for _, h := range hosts {
			pages, err := h.Pages()
			if err != nil {
				return err
			}
			for i := range pages {
				p := &pages[i]
				info := frontier.PageInfo{URL: h.URL(p), Title: p.Title, Type: store.TypeName(p.Kind),
					Priority: float64(p.Score(r.At)) / 1000, LastMod: p.Lastmod}
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

// busyHosts returns the hosts of a domain that have unfinished pages.
func busyHosts(c *call, m *store.Domain) ([]*store.Host, error) {
	ids, err := m.LargestHosts(store.MaxHosts)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	return c.tx.Hosts(ids)
}
