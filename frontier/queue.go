package frontier

import (
	"math/bits"
	"slices"
)

// The queues of hosts: lanes 0 to 3 are the front queues of pages by band, entryLane that of entry
// points. A lane is ordered by the slot (second) from which a host is to be looked at; the hosts of
// a slot stand in blocks, a row each: key = lane << 47 | slot << 14 | number of the block.
//
// A block is a sequence of pointers: the host's id, its class (0 when it has several) and the types
// of its pages, so that a lease with filters need not load every host. A host that moves leaves its
// pointer behind; it no longer agrees with the host's place and is dropped when its turn comes.
const (
	entryLane  = Bands
	lanes      = Bands + 1
	slotBits   = 33
	blockBits  = 14
	laneShift  = slotBits + blockBits
	maxBlock   = 256 // pointers
	maxSlot    = 1<<slotBits - 1
	pointerLen = idBytes + 2 + 4
)

func blockKey(lane int, slot int64) int64 { return int64(lane)<<laneShift | slot<<blockBits }

func laneOf(key int64) int { return int(key >> laneShift) }

func slotOf(key int64) int64 { return key >> blockBits & maxSlot }

// pointer is an element of a block.
type pointer struct {
	host  int64
	class int64
	types uint32
}

func appendPointer(b []byte, p pointer) []byte {
	b = append(appendID(b, p.host), byte(p.class>>8), byte(p.class))
	return append(b, byte(p.types>>24), byte(p.types>>16), byte(p.types>>8), byte(p.types))
}

func pointerAt(b []byte, at int) pointer {
	v := b[at+idBytes:]
	return pointer{idAt(b, at), int64(v[0])<<8 | int64(v[1]), uint32(v[2])<<24 | uint32(v[3])<<16 | uint32(v[4])<<8 | uint32(v[5])}
}

// slot is the second at which a host is looked at that may be asked from at (ms) on. What is near is
// exact; the longer it takes, the coarser, by an eighth at most, so that blocks fill.
func (c *call) slot(at int64) int64 {
	at = max(at, c.now)
	second := at / 1000
	if wait := (at - c.now) / 1000; wait >= 16 {
		step := int64(1) << (bits.Len64(uint64(min(wait, 16384)/8)) - 1)
		second = (second + step) / step * step
	}
	return min(second, maxSlot)
}

// queue gives a host its places, if it is in none that are as good.
func (c *call) queue(h *host) error {
	if h.lease != 0 || h.excluded { // its places come when the lease ends, or the exclusion
		return nil
	}
	lane, at := c.nextPage(h)
	if c.domains[h.domain].mirrorOf != "" {
		lane = -1
	}
	c.moveTo(h, kindPage, lane, at, h.types())
	if c.settings.PerMinute > 0 { // entry points are refreshed, see due.go
		return nil
	}
	if h.packedEntries == "" && len(h.entries) == 0 {
		return nil
	}
	if err := h.unpackEntries(); err != nil {
		return err
	}
	lane, at = -1, 0
	var types uint32
	for i := range h.entries {
		e := &h.entries[i]
		types |= e.types()
		if lane < 0 || e.due < at {
			lane, at = entryLane, e.due
		}
	}
	c.moveTo(h, kindEntry, lane, at, types)
	return nil
}

// nextPage gives the lane in which a host belongs by its most urgent page that is due, or the time
// (in seconds) at which the first one will be. The lane is -1 when there is none.
func (c *call) nextPage(h *host) (lane int, at int64) {
	now := c.seconds()
	for band := range Bands {
		if h.has(band) {
			lane = band
			break
		}
		lane = Bands
	}
	first := int64(-1)
	for i := range h.buffer {
		p := &h.buffer[i]
		if p.due <= now {
			lane = min(lane, p.band(now))
		} else if first < 0 || p.due < first {
			first = p.due
		}
	}
	if lane < Bands {
		return lane, now
	}
	for i := range h.segments {
		if s := &h.segments[i]; s.region[waiting].left > 0 && (first < 0 || s.due < first) {
			first = s.due
		}
	}
	if first < 0 {
		return -1, 0
	}
	return Bands - 1, first
}

// moveTo queues a host in a lane for at (seconds), unless it stands as well already.
func (c *call) moveTo(h *host, kind, lane int, at int64, types uint32) {
	have := &h.places[kind]
	if lane < 0 {
		if have.queued {
			*have = place{}
			c.change(h)
		}
		return
	}
	want := place{true, lane, c.slot(max(at*1000, c.freeAt(h))), types, h.singleClass()}
	if have.queued && have.lane <= lane && have.slot <= want.slot && have.types&types == types && have.class == want.class {
		return
	}
	if have.queued && have.lane <= lane { // only what the pointer says is renewed
		want.lane, want.slot = have.lane, min(have.slot, want.slot)
	}
	*have = want
	c.change(h)
	c.arrive(h, want)
}

// arrive appends a pointer to a host's place.
func (c *call) arrive(h *host, p place) {
	key := blockKey(p.lane, p.slot)
	c.arrivals[key] = appendPointer(c.arrivals[key], pointer{h.id, p.class, p.types})
}

// flushQueue writes what has arrived, into the last block of each slot as far as it has room.
func (c *call) flushQueue() error {
	if len(c.arrivals) == 0 {
		return nil
	}
	keys := sortedKeys(c.arrivals)
	rows, err := c.db.Run(`SELECT j.value, q.key, q.data FROM json_each(?1) j LEFT JOIN queue q ON q.key = (SELECT max(key) FROM queue WHERE key BETWEEN j.value AND j.value + 16383)`, numbers(keys))
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
			n := min(len(arrived), maxBlock*pointerLen-len(block))
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
	return c.writeBlocks()
}
