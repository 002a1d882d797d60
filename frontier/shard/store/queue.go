package store

import (
	"maps"
	"slices"
)

// Queue is the table queue: which hosts are checked when.
type Queue struct {
	tx       *Tx
	arrivals map[int64][]byte // pointers by the first key of their slot
	blocks   map[int64][]byte // changed blocks; empty: to be deleted
}

// FirstSlot returns the first slot of a lane that has not come yet; 0 means not set.
func (c *Queue) FirstSlot(lane int) (int64, error) {
	rows, err := c.tx.db.Run(`SELECT min(key) FROM queue WHERE key BETWEEN ?1 AND ?2`, blockKey(lane, c.tx.seconds()+1), blockKey(lane+1, 0)-1)
	if err != nil {
		return 0, err
	}
	if rows.Next() {
		if key := rows.Int(); key > 0 {
			return slotOf(key), nil
		}
	}
	return 0, nil
}

// The queues of hosts: lanes 0 to 3 are the front queues of pages by band, entryLane that of entry
// points. A lane is ordered by the slot (second) from which a host is to be checked; the hosts of
// a slot stand in blocks, a row each: key = lane << 47 | slot << 14 | number of the block.
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

func blockKey(lane int, slot int64) int64 { return int64(lane)<<laneShift | slot<<blockBits }

func laneOf(key int64) int { return int(key >> laneShift) }

func slotOf(key int64) int64 { return key >> blockBits & MaxSlot }

// Pointer is an element of a block.
type Pointer struct {
	Host  int64
	Class int64
	Types uint32
}

func appendPointer(b []byte, p Pointer) []byte {
	b = append(appendID(b, p.Host), byte(p.Class>>8), byte(p.Class))
	return append(b, byte(p.Types>>24), byte(p.Types>>16), byte(p.Types>>8), byte(p.Types))
}

func pointerAt(b []byte, at int) Pointer {
	v := b[at+idBytes:]
	return Pointer{idAt(b, at), int64(v[0])<<8 | int64(v[1]), uint32(v[2])<<24 | uint32(v[3])<<16 | uint32(v[4])<<8 | uint32(v[5])}
}

// QueueLength returns how many hosts stand ready in a lane. A host that has moved counts until its old turn comes.
func (c *Queue) Length(lane int) (int64, error) {
	rows, err := c.tx.db.Run(`SELECT coalesce(sum(length(data)), 0) FROM queue WHERE key BETWEEN ?1 AND ?2`, blockKey(lane, 0), blockKey(lane, c.tx.seconds()+1)-1)
	if err != nil || !rows.Next() {
		return 0, err
	}
	return rows.Int() / pointerLen, nil
}

// Arrive appends a pointer to a host's place.
func (c *Queue) Append(h *Host, p Place) {
	key := blockKey(p.Lane, p.Slot)
	c.arrivals[key] = appendPointer(c.arrivals[key], Pointer{h.ID, p.Class, p.Types})
}

// Flush writes the arrived pointers, into the last block of each slot as far as they fit.
func (c *Queue) Flush() error {
	if len(c.arrivals) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(c.arrivals))
	rows, err := c.tx.db.Run(`SELECT j.value, q.key, q.data FROM json_each(?1) j LEFT JOIN queue q ON q.key = (SELECT max(key) FROM queue WHERE key BETWEEN j.value AND j.value + 16383)`, numbers(keys))
	if err != nil {
		return err
	}
	for rows.Next() {
		slot, key, block := rows.Int(), rows.Int(), rows.Blob()
		if block == nil {
			key = slot
		}
		arrived := c.arrivals[slot]
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
