package frontier

import (
	"cmp"
	"slices"
)

// A domain has at most Settings.URLsPerDomain pages. When a put brings more, the pages with the lowest
// scores go, be they fresh or waiting. What that costs is bounded: pages are taken only from the hosts
// that the put is about, which are written anyway, and from the other host that has the most.
// For the few URLs that a report finds it is not worth it each time: it lets a domain grow by an eighth first.
const (
	maxThinned         = 1  // others
	maxThinnedSegments = 8  // of a host; the pages in older ones stay
	maxThinnings       = 32 // domains of one operation; further ones wait for the next, until they have twice as many
	thinningSlack      = 8  // a report lets a domain have one part in so many more
)

// rival is a page that competes for a place.
type rival struct {
	rank    int        // twice the score, and one more if it waits: of equal ones the fresh one goes
	lastmod int64      // of those of equal rank the oldest goes
	fresh   *freshPage // nil: it waits
	host    *host
	hash    uint64
}

// choose takes out what is too much: fresh pages, which are refused and may be put again, and waiting
// ones, which are dropped and do not return.
func (p *putting) choose() error {
	over := p.ofTheOthers + int64(len(p.fresh)) - p.c.settings.URLsPerDomain
	for _, id := range p.domain.hosts {
		if !p.others[id] {
			over += p.c.hosts[id].urls
		}
	}
	if over <= p.allowance() || len(p.fresh) == 0 {
		return nil
	}
	p.c.thinnings++
	rivals, err := p.rivals()
	if err != nil {
		return err
	}
	slices.Reverse(rivals) // puts have their best pages first
	slices.SortStableFunc(rivals, func(a, b rival) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.lastmod, b.lastmod))
	})
	out := map[int64]map[uint64]bool{}
	for _, r := range rivals[:min(over, int64(len(rivals)))] {
		switch {
		case r.fresh != nil:
			*r.fresh.verdict = DomainFull
		case out[r.host.id] == nil:
			out[r.host.id] = map[uint64]bool{r.hash: true}
		default:
			out[r.host.id][r.hash] = true
		}
	}
	p.fresh = slices.DeleteFunc(p.fresh, func(f freshPage) bool { return *f.verdict == DomainFull })
	for _, id := range sortedKeys(out) {
		h := p.c.hosts[id]
		if err := p.c.thin(h, out[id]); err != nil {
			return err
		}
		p.touch(h)
	}
	return nil
}

// allowance is by how many pages the domain may be above its limit.
func (p *putting) allowance() int64 {
	limit := p.c.settings.URLsPerDomain
	switch {
	case p.c.thinnings >= maxThinnings:
		return limit
	case p.found:
		return limit / thinningSlack
	}
	return 0
}

// rivals gives the fresh pages, and the waiting ones of the hosts from which pages may be taken.
func (p *putting) rivals() (list []rival, err error) {
	hosts, err := p.thinnable()
	if err != nil {
		return nil, err
	}
	now := p.c.seconds()
	for _, h := range hosts {
		pages, err := p.c.waiting(h)
		if err != nil {
			return nil, err
		}
		for i := range pages {
			list = append(list, rival{2*pages[i].score(now) + 1, pages[i].lastmod, nil, h, hash48(pages[i].path)})
		}
	}
	for i := range p.fresh {
		list = append(list, rival{2 * p.fresh[i].page.score(now), p.fresh[i].page.lastmod, &p.fresh[i], nil, 0})
	}
	return list, nil
}

// thinnable gives the hosts of the fresh pages, and those of the domain's others that have the most.
func (p *putting) thinnable() ([]*host, error) {
	var hosts []*host
	for i := range p.fresh {
		if h := p.fresh[i].host; !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	rows, err := p.c.db.Run(`SELECT id FROM hosts WHERE id IN (SELECT value FROM json_each(?1)) AND urls > 0 ORDER BY urls DESC, id LIMIT ?2`,
		numbers(p.domain.hosts), int64(maxThinned+len(hosts)))
	if err != nil {
		return nil, err
	}
	var ids []int64
	for rows.Next() {
		if id := rows.Int(); len(ids) < maxThinned && !slices.ContainsFunc(hosts, func(h *host) bool { return h.id == id }) {
			ids = append(ids, id)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	others, err := p.c.loadHosts(ids)
	return append(hosts, others...), err
}

// thinnedSegments are the segments of a host from which pages may be taken.
func (h *host) thinnedSegments() []segment {
	return h.segments[max(0, len(h.segments)-maxThinnedSegments):]
}

// waiting gives the pages of a host's buffer and newest segments.
func (c *call) waiting(h *host) ([]page, error) { return c.unread(h, h.thinnedSegments()) }

// unread gives the pages of a host's buffer and of some of its segments.
func (c *call) unread(h *host, segments []segment) ([]page, error) {
	keys := make([]int64, len(segments))
	for i := range segments {
		keys[i] = h.segmentKey(segments[i].number)
	}
	if err := c.loadParts(keys); err != nil {
		return nil, err
	}
	pages := slices.Clone(h.buffer)
	for i := range segments {
		left, err := segments[i].unread(c.parts[keys[i]])
		if err != nil {
			return nil, err
		}
		pages = append(pages, left...)
	}
	return pages, nil
}

// thin drops pages that wait, by their hashes. What is left gathers in the buffer, to be spilled.
func (c *call) thin(h *host, out map[uint64]bool) error {
	pages, err := c.waiting(h)
	if err != nil {
		return err
	}
	segments := h.thinnedSegments()
	for i := range segments {
		c.setPart(h.segmentKey(segments[i].number), nil)
	}
	if len(segments) > 0 {
		h.nextSegment = segments[0].number // whose row is written again
	}
	h.segments = slices.Clone(h.segments[:len(h.segments)-len(segments)])
	h.buffer = slices.DeleteFunc(pages, func(p page) bool { return out[hash48(p.path)] })
	h.urls -= int64(len(out))
	c.state.urls -= int64(len(out))
	c.change(h)
	return nil
}
