package shard

import (
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// selector chooses among lanes by turns.
type selector struct {
	c     *call
	queue *store.QueueReader
	lanes int
}

func newSelector(c *call, lanes []int, f *store.Filter, wants string, hosts int) (*selector, error) {
	queue, err := c.tx.ReadQueue(lanes, hosts, wants, f)
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
		turn = store.BandOfTurn(int(s.c.tx.State().Turn))
	}
	for _, i := range append([]int{turn}, 0, 1, 2, 3) {
		if i >= s.lanes {
			continue
		}
		if k, ok, err = s.queue.Read(i); ok || err != nil {
			s.c.tx.State().Turn = (s.c.tx.State().Turn + 1) % store.Turns
			return k, ok, err
		}
	}
	return k, false, nil
}
