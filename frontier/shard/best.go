package shard

import (
	"cmp"
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// A domain has at most Settings.URLsPerDomain pages. When a put brings more, those with the lowest scores are dropped,
// fresh or waiting. To bound the cost, waiting pages are dropped only from hosts of the put, which are written anyway,
// and from the largest of the domain's other hosts. A report finds few URLs, so it lets a domain grow by an eighth
// first.
const (
	maxThinned    = 1  // other hosts
	maxThinnings  = 32 // domains of one operation; further ones may grow to twice the limit
	thinningSlack = 8  // reports let a domain exceed the limit by this fraction of it
)

// rival is a page that competes for a place.
type rival struct {
	rank    int           // see rank
	lastmod epoch.Seconds // among rivals of equal rank, the oldest is dropped first
	fresh   *freshPage    // nil for a waiting page
	host    *store.Host
	hash    uint64
}

// rank orders rivals: first pages that operators requested, then pages that the site named, then those that only other
// domains named; by worth within each group. rivals adds one to the rank of a waiting page, so that it wins against an
// equal fresh one.
func rank(h *store.Host, p *store.Page, now epoch.Seconds) int {
	n := 2 * store.Worth(h, p, now)
	if !p.Foreign {
		n += 4000
	}
	if p.Reason == store.Requested { // by an operator
		n += 8000
	}
	return n
}

// dropSurplus drops the pages of lowest rank: it refuses fresh ones and removes waiting ones. All may be put again.
func (p *putBatch) dropSurplus() error {
	over := p.domain.Pages() + int64(len(p.fresh)) - p.c.settings.URLsPerDomain
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
	out := map[*store.Host]map[uint64]bool{}
	for _, r := range rivals[:min(over, int64(len(rivals)))] {
		switch {
		case r.fresh != nil:
			*r.fresh.verdict = frontier.DomainFull
		case out[r.host] == nil:
			out[r.host] = map[uint64]bool{r.hash: true}
		default:
			out[r.host][r.hash] = true
		}
	}
	if len(out) > 0 || !p.found { // nobody has stored what a report found
		p.displaced()
	}
	p.fresh = slices.DeleteFunc(p.fresh, func(f freshPage) bool { return *f.verdict == frontier.DomainFull })
	for _, h := range slices.SortedFunc(maps.Keys(out), byID) {
		if err := h.Thin(out[h]); err != nil {
			return err
		}
		p.touch(h)
	}
	return nil
}

// allowance returns the number of pages by which the domain may exceed its limit.
func (p *putBatch) allowance() int64 {
	limit := p.c.settings.URLsPerDomain
	switch {
	case p.c.thinnings >= maxThinnings:
		return limit
	case p.found:
		return limit / thinningSlack
	}
	return 0
}

// rivals returns the fresh pages, and the waiting ones of the hosts from which pages may be taken.
func (p *putBatch) rivals() (list []rival, err error) {
	hosts, err := p.thinnable()
	if err != nil {
		return nil, err
	}
	now := p.c.seconds()
	for _, h := range hosts {
		pages, err := h.Thinnable()
		if err != nil {
			return nil, err
		}
		for i := range pages {
			q := &pages[i]
			list = append(list, rival{rank(h, q, now) + 1, q.Lastmod, nil, h, store.Hash48(q.Path)})
		}
	}
	for i := range p.fresh {
		f := &p.fresh[i]
		list = append(list, rival{rank(f.host, &f.page, now), f.page.Lastmod, f, nil, 0})
	}
	return list, nil
}

// thinnable returns the hosts of the fresh pages, and the largest of the domain's other hosts.
func (p *putBatch) thinnable() ([]*store.Host, error) {
	var hosts []*store.Host
	for i := range p.fresh {
		if h := p.fresh[i].host; !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	largest, err := p.domain.LargestHosts(int64(maxThinned + len(hosts)))
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, id := range largest {
		if len(ids) < maxThinned && !slices.ContainsFunc(hosts, func(h *store.Host) bool { return h.ID == id }) {
			ids = append(ids, id)
		}
	}
	others, err := p.c.tx.Hosts(ids)
	return append(hosts, others...), err
}
