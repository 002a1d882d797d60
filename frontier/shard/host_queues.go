package shard

import (
	"math/bits"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// slot returns the second at which to check a host that becomes ready at an instant. Longer waits are rounded up, by
// an eighth at most, so that hosts share blocks.
func (c *call) slot(at epoch.Millis) epoch.Seconds {
	at = max(at, c.now)
	second := at.Seconds()
	if wait := (at - c.now) / 1000; wait >= 16 {
		step := epoch.Seconds(1) << (bits.Len64(uint64(min(wait, 16384)/8)) - 1)
		second = (second + step) / step * step
	}
	return min(second, store.MaxSlot)
}

// queue puts a host into the queues that it belongs in, unless it has places there that are as good.
func (c *call) queue(h *store.Host) error {
	if h.Lease != 0 || h.Excluded { // it is queued when the lease or the exclusion ends
		return nil
	}
	lane, at := h.NextPage(c.seconds())
	if h.Domain.MirrorOf != "" {
		lane = -1
	}
	c.moveTo(h, store.KindPage, lane, at)
	queueVisits(c, h)
	if c.settings.PerMinute > 0 { // entry points are refreshed, see schedule.go
		return nil
	}
	if err := h.UnpackEntries(); err != nil {
		return err
	}
	if due := h.NextDue(); due >= 0 {
		c.moveTo(h, store.KindEntry, frontier.EntryLane, due)
	} else {
		c.moveTo(h, store.KindEntry, -1, 0)
	}
	return nil
}

// visitSlots is the precision with which hosts are queued for visits. Hosts of the same hour share blocks.
const visitSlots = time.Hour

// queueVisits queues a host that has pages to be fetched again.
func queueVisits(c *call, h *store.Host) {
	lane, at := h.Schedule.NextPage(c.seconds())
	if lane < 0 || h.Domain.MirrorOf != "" {
		c.moveTo(h, store.KindVisit, -1, 0)
		return
	}
	const slot = epoch.Seconds(visitSlots / time.Second)
	if at > c.seconds() {
		at = (at + slot - 1) / slot * slot
	}
	c.moveTo(h, store.KindVisit, frontier.VisitLane, at)
}

// moveTo queues a host in a lane for a second, unless its place there is as good. If the lane is negative, the host
// leaves the queues of the kind.
func (c *call) moveTo(h *store.Host, kind, lane int, at epoch.Seconds) {
	if lane >= 0 {
		h.QueueAt(kind, lane, c.slot(max(at.Millis(), c.freeAt(h))))
	} else if h.Queued(kind) {
		h.Unqueue(kind)
	}
}

// unqueue takes a host out of all queues.
func unqueue(h *store.Host) {
	h.Unqueue(store.KindPage)
	h.Unqueue(store.KindEntry)
	h.Unqueue(store.KindVisit)
}
