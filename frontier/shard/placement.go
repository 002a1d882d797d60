package shard

import (
	"math/bits"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// slot is the second at which a host is checked that may be fetched from from at (ms) on. What is near is
// exact; the longer it takes, the coarser, by an eighth at most, so that blocks fill.
func (c *call) slot(at int64) int64 {
	at = max(at, c.now)
	second := at / 1000
	if wait := (at - c.now) / 1000; wait >= 16 {
		step := int64(1) << (bits.Len64(uint64(min(wait, 16384)/8)) - 1)
		second = (second + step) / step * step
	}
	return min(second, store.MaxSlot)
}

// queue returns a host its places, if it is in none that are as good.
func (c *call) queue(h *store.Host) error {
	if h.Lease != 0 || h.Excluded { // its places come when the lease ends, or the exclusion
		return nil
	}
	lane, at := h.NextPage(c.seconds())
	if h.Domain.MirrorOf != "" {
		lane = -1
	}
	c.moveTo(h, store.KindPage, lane, at, h.Types(), h.Classes())
	if c.settings.PerMinute > 0 { // entry points are refreshed, see due.go
		return nil
	}
	if h.PackedEntries == "" && len(h.Entries) == 0 {
		return nil
	}
	if err := h.UnpackEntries(); err != nil {
		return err
	}
	lane, at = -1, 0
	var types uint32
	for i := range h.Entries {
		e := &h.Entries[i]
		types |= e.Types()
		if lane < 0 || e.Due < at {
			lane, at = frontier.EntryLane, e.Due
		}
	}
	c.moveTo(h, store.KindEntry, lane, at, types, h.EntryClasses())
	return nil
}

// renewPointer makes a host's pointer say which pages it has, and reports whether the one it has says so already.
func (c *call) renewPointer(h *store.Host) bool {
	p := &h.Places[store.KindPage]
	exact := *p
	exact.Types, exact.Class = h.Types(), c.tx.State().ClassSet(h.Classes())
	if *p == exact {
		return true
	}
	*p = exact
	h.Change()
	c.tx.Queue.Append(h, exact)
	return false
}

// moveTo queues a host in a lane for at (seconds), unless it stands as well already.
func (c *call) moveTo(h *store.Host, kind, lane int, at int64, types uint32, classes []int64) {
	have := &h.Places[kind]
	if lane < 0 {
		if have.Queued {
			*have = store.Place{}
			h.Change()
		}
		return
	}
	want := store.Place{Queued: true, Lane: lane, Slot: c.slot(max(at*1000, c.freeAt(h))), Types: types, Class: c.tx.State().ClassSet(classes)}
	if have.Queued && have.Lane <= lane && have.Slot <= want.Slot && have.Types&types == types && have.Class == want.Class {
		return
	}
	if have.Queued && have.Lane <= lane { // only what the pointer says is renewed
		want.Lane, want.Slot = have.Lane, min(have.Slot, want.Slot)
	}
	*have = want
	h.Change()
	c.tx.Queue.Append(h, want)
}
