package store

import (
	"slices"

	"github.com/newsfork/seed-engine/frontier"
)

// A walk is a lease that looked at as many hosts as one call may, and has not seen the rest of its lanes. The next
// lease that wants the same goes on from there.
type walk struct {
	wants     uint64                   // hash of what the lease wants
	positions [frontier.Lanes]position // those of walkedLanes are stored
}

// walkedLanes are the lanes in which a lease goes on from where one stopped.
const walkedLanes = frontier.EntryLane + 1

// position is a place in a lane: the key of a block, and how many of its bytes were looked at.
type position struct {
	key int64
	at  int64
}

// maxWalks is the number of walks that are remembered, the latest. With more different filters at once, leases begin
// at the front again and again, and never see what is behind the first thousand hosts.
const maxWalks = 64

// begun reports whether the walk has left the front of a lane.
func (w *walk) begun() bool { return w.positions != [frontier.Lanes]position{} }

func (w *walk) append(b []byte) []byte {
	b = appendHash(b, w.wants)
	for _, p := range w.positions[:walkedLanes] {
		b = appendUint(appendUint(b, p.key), p.at)
	}
	return b
}

func (d *decoder) walk() (w walk) {
	w.wants = d.hash()
	for i := range w.positions[:walkedLanes] {
		w.positions[i] = position{d.int(), d.int()}
	}
	return w
}

// takeWalk returns the walk of a lease and forgets it. A new one begins at the front.
func (s *State) takeWalk(wants uint64) walk {
	w := walk{wants: wants}
	s.walks = slices.DeleteFunc(s.walks, func(known walk) bool {
		if known.wants == wants {
			w = known
		}
		return known.wants == wants
	})
	return w
}

func (s *State) keepWalk(w walk) {
	if len(s.walks) == maxWalks {
		s.walks = slices.Delete(s.walks, 0, 1)
	}
	s.walks = append(s.walks, w)
}
