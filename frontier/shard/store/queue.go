package store

import (
	"maps"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// queueTable is the table queue: which hosts are checked when.
type queueTable struct {
	tx       *Tx
	arrivals map[int64][]byte // pointers by the first key of their slot
	blocks   map[int64][]byte // changed blocks; empty: to be deleted
	read     bool             // a lease has read it in this transaction
}

// NextSlot returns the first second after now at which hosts of a lane are checked, or 0.
func (c *Tx) NextSlot(lane int) (epoch.Seconds, error) {
	from, end := blockKey(lane, c.seconds()+1), blockKey(lane+1, 0)
	rows, err := c.db.Run(`SELECT min(key) FROM queue WHERE key BETWEEN ?1 AND ?2`, from, end-1)
	if err != nil {
		return 0, err
	}
	first := end
	if rows.Next() {
		if key := rows.Int(); key > 0 {
			first = key
		}
	}
	if pending := c.state.pointers.slots(from, first); len(pending) > 0 {
		first = pending[0].key
	}
	if first == end {
		return 0, nil
	}
	return slotOf(first), nil
}

// The queues of hosts: lanes 0 to 3 are the front queues of pages by band, frontier.EntryLane is that of entry points,
// and frontier.VisitLane that of visits. A lane is ordered by the slot (second) from which a host is to be checked. The
// hosts of a slot stand in blocks, a row each: key = lane << 47 | slot << 14 | number of the block.
//
// A block is a sequence of pointers: the host's id, the class or set of classes of its pages (0: not known) and their
// types, so that a lease with filters need not load every host. A host that moves leaves its
// pointer behind; it no longer agrees with the host's place and is dropped when its turn comes.
const (
	slotBits   = 33
	blockBits  = 14
	laneShift  = slotBits + blockBits
	MaxBlock   = 256 // pointers
	MaxSlot    = 1<<slotBits - 1
	pointerLen = idBytes + 2 + 4
)

func blockKey(lane int, slot epoch.Seconds) int64 {
	return int64(lane)<<laneShift | int64(slot)<<blockBits
}

func laneOf(key int64) int { return int(key >> laneShift) }

func slotOf(key int64) epoch.Seconds { return epoch.Seconds(key >> blockBits & MaxSlot) }

// pointer is an element of a block.
type pointer struct {
	Host  int64
	Class int64
	Types uint32
}

func appendPointer(b []byte, p pointer) []byte {
	b = append(appendID(b, p.Host), byte(p.Class>>8), byte(p.Class))
	return append(b, byte(p.Types>>24), byte(p.Types>>16), byte(p.Types>>8), byte(p.Types))
}

func pointerAt(b []byte, at int) pointer {
	v := b[at+idBytes:]
	return pointer{idAt(b, at), int64(v[0])<<8 | int64(v[1]),
		uint32(v[2])<<24 | uint32(v[3])<<16 | uint32(v[4])<<8 | uint32(v[5])}
}

// LaneStats returns how many hosts stand in a lane up to a second, and the second of the first that is ready; see
// oldest. Without ready it does not look for that. A host that has moved counts until its old turn comes.
func (c *Tx) LaneStats(lane int, until epoch.Seconds, ready func(*Host) bool) (due int64, oldest epoch.Seconds,
	err error) {
	if due, err = c.queue.length(lane, until); err != nil || ready == nil {
		return due, 0, err
	}
	oldest, err = c.queue.oldest(lane, ready)
	return due, oldest, err
}

// length returns how many hosts stand in a lane up to a second.
func (c *queueTable) length(lane int, until epoch.Seconds) (int64, error) {
	rows, err := c.tx.db.Run(`SELECT coalesce(sum(length(data)), 0) FROM queue WHERE key BETWEEN ?1 AND ?2`,
		blockKey(lane, 0), blockKey(lane, until+1)-1)
	if err != nil || !rows.Next() {
		return 0, err
	}
	pending := &c.tx.state.pointers
	return rows.Int()/pointerLen + int64(pending.from(blockKey(lane, until+1))-pending.from(blockKey(lane, 0))), nil
}

// Queued reports whether the host stands in a queue for a kind, or is parked for it.
func (h *Host) Queued(kind int) bool { return h.places[kind].Queued }

// QueueAt queues the host in a lane for a second, unless its place is as good already.
func (h *Host) QueueAt(kind, lane int, second epoch.Seconds) {
	have := &h.places[kind]
	want := h.place(kind, lane, second)
	if have.Queued && have.Lane <= lane && have.Slot <= second && have.Types&want.Types == want.Types &&
		have.Class == want.Class {
		return
	}
	if have.Queued && have.Lane <= lane { // only what the pointer says is renewed
		want.Lane, want.Slot = have.Lane, min(have.Slot, want.Slot)
	}
	*have = want
	h.Change()
	h.tx.queue.append(h, want)
}

// place returns a place of the host, with what it has.
func (h *Host) place(kind, lane int, slot epoch.Seconds) place {
	p := place{Queued: true, Lane: lane, Slot: slot}
	switch kind {
	case KindPage:
		p.Types, p.Class = h.pageTypes(), h.tx.state.ClassSet(h.pageClasses())
		return p
	case KindVisit:
		p.Types, p.Class = h.Schedule.pageTypes(), h.tx.state.ClassSet(h.Schedule.pageClasses())
		return p
	}
	for i := range h.Entries {
		p.Types |= h.Entries[i].Types()
	}
	p.Class = h.tx.state.ClassSet(h.entryClasses())
	return p
}

// Unqueue takes the host out of the queues of a kind.
func (h *Host) Unqueue(kind int) {
	h.places[kind] = place{}
	h.Change()
}

// Requeue returns a parked host to its place, and reports whether it has one.
func (h *Host) Requeue(kind int) bool {
	if h.places[kind].Queued {
		h.tx.queue.append(h, h.places[kind])
	}
	return h.places[kind].Queued
}

// RenewPointer makes the pointer of the host say which pages it has, and reports whether it says so already.
func (h *Host) RenewPointer() bool {
	p := &h.places[KindPage]
	exact := h.place(KindPage, p.Lane, p.Slot)
	if *p == exact {
		return true
	}
	*p = exact
	h.Change()
	h.tx.queue.append(h, exact)
	return false
}

// append adds a pointer for a host's place.
func (c *queueTable) append(h *Host, p place) {
	key := blockKey(p.Lane, p.Slot)
	c.arrivals[key] = appendPointer(c.arrivals[key], pointer{h.ID, p.Class, p.Types})
}

// flush puts the arrived pointers into the state's list, or writes them if that is full: into the last block of each
// slot as far as they fit.
func (c *queueTable) flush() error {
	arrivals := c.tx.state.pointers.add(c.arrivals)
	if len(arrivals) == 0 {
		clear(c.arrivals)
		return nil
	}
	keys := slices.Sorted(maps.Keys(arrivals))
	rows, err := c.tx.db.Run(
		`SELECT j.value, q.key, q.data FROM json_each(?1) j LEFT JOIN queue q ON q.key = (SELECT max(key) FROM queue `+
			`WHERE key BETWEEN j.value AND j.value + 16383)`, numbers(keys))
	if err != nil {
		return err
	}
	for rows.Next() {
		slot, key, block := rows.Int(), rows.Int(), rows.Blob()
		if block == nil {
			key = slot
		}
		arrived := arrivals[slot]
		for block = slices.Clone(block); len(arrived) > 0; key, block = key+1, nil {
			if key > slot|(1<<blockBits-1) {
				return errFull
			}
			n := min(len(arrived), MaxBlock*pointerLen-len(block))
			if n <= 0 {
				continue
			}
			c.blocks[key] = append(block, arrived[:n]...)
			arrived = arrived[n:]
		}
	}
	clear(c.arrivals)
	if err := rows.Err(); err != nil {
		return err
	}
	return c.write()
}

// write writes the changed blocks.
func (c *queueTable) write() error {
	err := c.tx.writeData("queue", c.blocks)
	clear(c.blocks)
	return err
}
