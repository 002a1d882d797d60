package frontier

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/newsfork/seed-engine/contract"
)

// Stats is how much a shard has.
type Stats struct {
	Hosts   int64
	URLs    int64 // pages that wait or are leased
	Entries int64 // entry points
	Leased  int64 // pages and entry points
	Done    int64 // pages, since the beginning
	Failed  int64

	Answers   int64 // that were reported since the beginning, of pages and entry points
	Faults    int64 // of these: none came, 5xx, or of an entry point anything that is no success
	Refreshed int64 // messages for refreshes that were given today (UTC)

	Due       [lanes]int64 // hosts that stand ready in each front queue, and for an entry point
	OldestDue [lanes]int64 // since when the first of them does, ms; 0: there is none

	Found []FoundHour // new URLs of the last 24 hours, oldest first; hours without any are left out
}

// Stats counts. Due may count a host twice that has moved to another queue.
func (s *Shard) Stats(now int64) (stats Stats, err error) {
	err = s.run(now, func(c *call) error {
		n := &c.state
		stats = Stats{Found: n.foundLately(c.now), Hosts: n.hosts, URLs: n.urls, Entries: n.entries, Leased: n.leased, Done: n.done, Failed: n.failed, Answers: n.answers + n.refreshing.total, Faults: n.faults}
		for lane := range lanes {
			if lane == entryLane && c.settings.PerMinute > 0 {
				if err := c.statsDue(&stats); err != nil {
					return err
				}
				continue
			}
			rows, err := c.db.Run(`SELECT coalesce(sum(length(data)), 0) FROM queue WHERE key BETWEEN ?1 AND ?2`, blockKey(lane, 0), blockKey(lane, c.seconds()+1)-1)
			if err != nil {
				return err
			}
			if rows.Next() {
				stats.Due[lane] = rows.Int() / pointerLen
			}
			if stats.OldestDue[lane], err = c.oldest(lane); err != nil {
				return err
			}
		}
		return nil
	})
	return stats, err
}

// oldest gives the slot, in ms, of the first host in a lane that has not moved since.
func (c *call) oldest(lane int) (int64, error) {
	all := &filter{types: allTypes, all: true}
	s := &selector{c: c, filter: all, size: 2, lanes: []*laneReader{{number: lane, from: blockKey(lane, 0)}}}
	for {
		k, ok, err := s.read(s.lanes[0])
		if err != nil || !ok {
			return 0, err
		}
		hosts, err := c.loadWithDomains([]int64{k.pointer.host})
		if err != nil {
			return 0, err
		}
		if h := hosts[0]; h != nil && h.lease == 0 && c.freeAt(h) <= c.now && slices.ContainsFunc(h.places[:], func(p place) bool { return p.queued && p.lane == lane && p.slot == k.slot() }) {
			return k.slot() * 1000, nil
		}
	}
}

// HostsRequest asks for a page of hosts.
type HostsRequest struct {
	Sort    string // "due" (first those due longest), "size" (most pages first) or "" (no order that means anything)
	Blocked bool   // only those that an operator blocked
	Cursor  string // Next of the page before
	Limit   int    // 1 to 500
}

// HostsPage is a page of hosts. It is a look at what changes: a host that moves meanwhile may be
// left out or come twice.
type HostsPage struct {
	Hosts []HostInfo
	Next  string // "" at the end
}

// HostInfo describes a host. Times are ms since 1970, 0 when there is none.
type HostInfo struct {
	HostState
	Domain      string
	URLs        int64
	Entries     int
	Due         int64 // pages and entry points that may be fetched as soon as the host is ready
	Done        int64
	Failed      int64
	DueAt       int64 // from when on there is something to fetch
	LeasedUntil int64
	Cursor      string // of a page that begins after this host
}

// orders are the columns by which hosts are sorted; ids break ties. They have no index: a page reads
// the whole table, which costs a thousandth of an index's writes.
var orders = map[string]string{"": "id", "due": "due", "size": "-urls"}

// Hosts lists hosts.
func (s *Shard) Hosts(now int64, r HostsRequest) (page HostsPage, err error) {
	if err := checkRange("limit", r.Limit, 1, 500); err != nil {
		return page, err
	}
	order, ok := orders[r.Sort]
	if !ok {
		return page, contract.Invalid("sort", "%.80q is no order; send due or size", r.Sort)
	}
	var value, id int64 = -1 << 52, -1
	if r.Cursor != "" {
		left, right, _ := strings.Cut(r.Cursor, ",")
		var err1, err2 error
		value, err1 = strconv.ParseInt(left, 10, 53)
		if id, err2 = strconv.ParseInt(right, 10, 53); err1 != nil || err2 != nil {
			return page, contract.BadCursor()
		}
	}
	where := "(" + order + ", id) > (?1, ?2)"
	if r.Blocked {
		where += fmt.Sprintf(" AND blocked > %d", now)
	}
	if r.Sort == "due" {
		where += " AND due > 0"
	}
	err = s.run(now, func(c *call) error {
		rows, err := c.db.Run("SELECT id, "+order+" FROM hosts WHERE "+where+" ORDER BY "+order+", id LIMIT ?3", value, id, int64(r.Limit))
		if err != nil {
			return err
		}
		var ids, values []int64
		for rows.Next() {
			ids, values = append(ids, rows.Int()), append(values, rows.Int())
		}
		if page.Hosts, err = c.infos(ids); err != nil {
			return err
		}
		for i := range page.Hosts {
			page.Hosts[i].Cursor = fmt.Sprintf("%d,%d", values[i], ids[i])
		}
		if n := len(ids); n == r.Limit {
			page.Next = page.Hosts[n-1].Cursor
		}
		return nil
	})
	return page, err
}

func (c *call) infos(ids []int64) ([]HostInfo, error) {
	hosts, err := c.loadWithDomains(ids)
	if err != nil {
		return nil, err
	}
	infos := make([]HostInfo, len(hosts))
	for i, h := range hosts {
		if err := h.unpackEntries(); err != nil {
			return nil, err
		}
		infos[i] = HostInfo{HostState: h.state(c.domains[h.domain].readyFor("", h, c.now)),
			Domain: c.domains[h.domain].name, URLs: h.urls, Entries: len(h.entries), Due: c.countDue(h), Done: h.done, Failed: h.failed, DueAt: h.dueAt(), LeasedUntil: h.leaseEnds}
		infos[i].Excluded = h.excluded || c.domains[h.domain].excluded
	}
	return infos, nil
}

// countDue counts what a host has that does not wait for a time of its own.
func (c *call) countDue(h *host) (due int64) {
	for i := range h.buffer {
		if h.buffer[i].due <= c.seconds() {
			due++
		}
	}
	for i := range h.segments {
		for band := range Bands {
			due += int64(h.segments[i].region[band].left)
		}
	}
	for i := range h.entries {
		if h.entries[i].due <= c.seconds() {
			due++
		}
	}
	return due
}

// URLState is what the frontier has of a URL. Times are ms since 1970, 0 when there is none.
type URLState struct {
	State      string // due, waiting, leased, done, excluded or unknown
	DueAt      int64
	LeaseUntil int64
	Entry      *EntryState // nil when it is no entry point
}

// EntryState is what the frontier has of an entry point.
type EntryState struct {
	Method       string
	Interval     int64 // seconds
	ETag         string
	LastModified string
	LastStatus   int
	ChangedAt    int64   // ms; 0: it never has
	Failures     int     // checks in a row
	Checks       []Check // the last ones, oldest first
	DueAt        int64   // ms: when it is asked next
}

// URL gives the state of one URL.
func (s *Shard) URL(now int64, url string) (state URLState, err error) {
	l, ok := parse(url)
	if !ok {
		return state, contract.Invalid("url", "%.80q is not an http or https URL", url)
	}
	state.State = "unknown"
	err = s.run(now, func(c *call) error {
		h, err := c.findHost(l.host)
		if err != nil || h == nil {
			return err
		}
		return c.urlState(&state, h, url, hash48(l.path))
	})
	return state, err
}

func (c *call) urlState(state *URLState, h *host, url string, hash uint64) error {
	if err := c.domainsOf([]*host{h}); err != nil {
		return err
	}
	if err := h.unpackEntries(); err != nil {
		return err
	}
	waits, due, err := c.waits(h, hash)
	if err != nil {
		return err
	}
	if at := h.entry(hash); at >= 0 {
		e := &h.entries[at]
		waits, due = true, e.due
		entry := e.state()
		state.Entry = &entry
	}
	if err := c.loadChunks(h, []uint64{hash}); err != nil {
		return err
	}
	switch {
	case h.excluded || c.domains[h.domain].excluded || c.state.excludes.URL(url):
		state.State = "excluded"
	case h.lease != 0 && (h.leasedPage(hash) >= 0 || slices.Contains(h.asked, hash)):
		state.State, state.LeaseUntil = "leased", h.leaseEnds
	case waits:
		state.DueAt = max(due*1000, c.freeAt(h))
		if state.State = "due"; state.DueAt > c.now {
			state.State = "waiting"
		}
	case c.seen(h, hash):
		state.State = "done"
	}
	return nil
}

// waits looks for a page in the host's queue, and gives when it is due, in seconds.
func (c *call) waits(h *host, hash uint64) (found bool, due int64, err error) {
	is := func(p page) bool { return hash48(p.path) == hash }
	if i := slices.IndexFunc(h.buffer, is); i >= 0 {
		return true, h.buffer[i].due, nil
	}
	for i := range h.segments {
		s := &h.segments[i]
		data, err := c.part(h.segmentKey(s.number))
		if err != nil {
			return false, 0, err
		}
		pages, err := s.unread(data)
		if err != nil {
			return false, 0, err
		}
		if i := slices.IndexFunc(pages, is); i >= 0 {
			return true, pages[i].due, nil
		}
	}
	return false, 0, nil
}
