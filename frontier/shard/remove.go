package shard

import (
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// remove marks pages as gone; they come back as other gone pages do. Leased pages stay until they are reported.
func (p *putBatch) remove(pages []frontier.NewPage, verdicts []frontier.Verdict) error {
	hosts := map[string]*store.Host{}
	var order []*store.Host
	out := map[*store.Host]map[uint64]bool{}
	for i := range pages {
		l, ok := p.c.link(pages[i].URL)
		if !ok {
			verdicts[i] = frontier.InvalidURL
			continue
		}
		h, looked := hosts[l.Host]
		if !looked {
			var err error
			if h, err = p.c.hostNamed(l.Host); err != nil {
				return err
			}
			if hosts[l.Host] = h; h != nil {
				order = append(order, h)
				if err := h.UnpackEntries(); err != nil {
					return err
				}
			}
		}
		verdicts[i] = frontier.UnknownURL
		if h == nil || h.Domain != p.domain {
			continue
		}
		hash := store.Hash48(l.Path)
		_, known := h.Known(hash)
		switch {
		case !known:
		case h.Lease != 0 && h.LeasedPage(hash) >= 0:
			verdicts[i] = frontier.InLease
		case h.Entry(hash) >= 0:
			verdicts[i] = frontier.EntryPoint
		default:
			verdicts[i] = frontier.Removed
			if out[h] == nil {
				out[h] = map[uint64]bool{}
			}
			out[h][hash] = true
		}
	}
	for _, h := range order {
		if out[h] == nil {
			continue
		}
		if err := store.Remove(h, out[h]); err != nil {
			return err
		}
		unqueue(h)
		p.c.watch(h, -1)
		if err := p.c.queue(h); err != nil {
			return err
		}
	}
	return nil
}
