package shard

import (
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// pop takes the page of a host whose turn it is: its bands take turns like the front queues, so that
// no band of a host starves behind its urgent ones.
func (c *call) pop(h *store.Host, f *filter) (p store.Page, ok bool, err error) {
	if err := c.tx.Pages.Refill(h, store.Waiting); err != nil {
		return p, false, err
	}
	turn := store.BandOfTurn(h.Turn)
	h.Turn = (h.Turn + 1) % store.Turns
	for _, band := range [...]int{turn, 0, 1, 2, 3} {
		if p, ok = c.popBand(h, f, band); ok {
			return p, true, nil
		}
		for more := f.all; more && h.Has(band); more = !h.AnyDue(c.seconds()) { // again when all were dropped
			if err := c.tx.Pages.Refill(h, band); err != nil {
				return p, false, err
			}
			if p, ok = c.popBand(h, f, band); ok {
				return p, true, nil
			}
		}
	}
	if !f.all {
		if found, err := c.tx.Pages.Extract(h, f.types, f.class, func(p *store.Page) bool { return f.page(h, p) }); !found {
			return p, false, err
		}
	}
	for band := range frontier.Bands { // what has aged into a lower band since it was put
		if p, ok = c.popBand(h, f, band); ok {
			return p, true, nil
		}
	}
	return p, false, nil
}

// popBand takes the page with the highest score of a band from the buffer. Excluded ones are dropped.
func (c *call) popBand(h *store.Host, f *filter, band int) (p store.Page, ok bool) {
	for {
		p, ok = h.PopBand(band, c.seconds(), func(p *store.Page) bool { return f.page(h, p) })
		if !ok {
			return p, false
		}
		if len(c.tx.State.Patterns) == 0 || !c.tx.State.Excludes.URL(h.URL(&p)) {
			return p, true
		}
		h.URLs--
		c.tx.State.URLs--
		c.tx.Change(h)
	}
}

// selector chooses among lanes by turns.
type selector struct {
	c     *call
	queue *store.QueueReader
	lanes int
}

func newSelector(c *call, lanes []int, f *filter, wants string, hosts int) (*selector, error) {
	queue, err := c.tx.Queue.Read(lanes, 2+hosts/32, wants, f.pointer)
	return &selector{c, queue, len(lanes)}, err
}

// next returns up to n candidates; none when all lanes are at their end.
func (s *selector) next(n int) ([]store.Candidate, error) {
	var list []store.Candidate
	for len(list) < n {
		k, ok, err := s.choose()
		if err != nil || !ok {
			return list, err
		}
		list = append(list, k)
	}
	return list, nil
}

// choose returns the next candidate of the lane whose turn it is, else of the first that has one.
func (s *selector) choose() (k store.Candidate, ok bool, err error) {
	turn := 0
	if s.lanes == frontier.Bands {
		turn = store.BandOfTurn(int(s.c.tx.State.Turn))
	}
	for _, i := range append([]int{turn}, 0, 1, 2, 3) {
		if i >= s.lanes {
			continue
		}
		if k, ok, err = s.queue.Read(i); ok || err != nil {
			s.c.tx.State.Turn = (s.c.tx.State.Turn + 1) % store.Turns
			return k, ok, err
		}
	}
	return k, false, nil
}
