package processor

import (
	"hash/maphash"

	"github.com/newsfork/seed-engine/swar"
)

// index is a hash table of numbers, under which its user stores the keys. Equal hashes are compared by key. The zero
// value is empty.
type index struct {
	slots []slot
	count int
	seed  maphash.Seed
}

// slot is free if its number is 0.
type slot struct {
	hash   uint32
	number uint32 // plus 1
}

// hash returns the hash of a key.
func (x *index) hash(key []byte) uint32 {
	if 2*x.count >= len(x.slots) {
		x.grow()
	}
	return uint32(maphash.Bytes(x.seed, key))
}

// grow doubles the table.
func (x *index) grow() {
	old := x.slots
	if old == nil {
		x.seed = maphash.MakeSeed()
	}
	x.slots = make([]slot, max(1<<8, 2*len(old)))
	for _, s := range old {
		if s.number != 0 {
			x.slots[x.free(s.hash)] = s
		}
	}
}

// free returns the slot for a new key with this hash.
func (x *index) free(hash uint32) int {
	mask := len(x.slots) - 1
	i := int(hash) & mask
	for x.slots[i].number != 0 {
		i = (i + 1) & mask
	}
	return i
}

// next returns the first slot from i on that is free or has this hash. A search starts at the hash itself.
func (x *index) next(i int, hash uint32) int {
	mask := len(x.slots) - 1
	i &= mask
	for x.slots[i].number != 0 && x.slots[i].hash != hash {
		i = (i + 1) & mask
	}
	return i
}

// put fills a free slot.
func (x *index) put(i int, hash, number uint32) {
	x.slots[i] = slot{hash, number + 1}
	x.count++
}

// at returns the number in a slot, and reports whether it is taken.
func (x *index) at(i int) (number uint32, taken bool) {
	n := x.slots[i].number
	return n - 1, n != 0
}

// reset empties the table and keeps its memory.
func (x *index) reset() {
	if x.count > 0 {
		clear(x.slots)
	}
	x.count = 0
}

// hosts maps a file's hosts, as its URLs write them, to numbers. The zero value is empty.
type hosts struct {
	index
	names []byte // one after another
	list  []host
}

type host struct {
	from, to uint32 // in names
	number   int32
}

// find returns the number of a host, and reports whether it has one.
func (h *hosts) find(name []byte) (number int32, ok bool) {
	hash := h.hash(name)
	for i := h.next(int(hash), hash); ; i = h.next(i+1, hash) {
		n, taken := h.at(i)
		if !taken {
			return 0, false
		}
		if e := &h.list[n]; swar.Equal(h.names[e.from:e.to], name) {
			return e.number, true
		}
	}
}

// add sets the number of a host that has none.
func (h *hosts) add(name []byte, number int32) {
	hash := h.hash(name)
	from := len(h.names)
	h.names = append(h.names, name...)
	h.put(h.free(hash), hash, uint32(len(h.list)))
	h.list = append(h.list, host{uint32(from), uint32(len(h.names)), number})
}

func (h *hosts) reset() {
	h.index.reset()
	h.names, h.list = h.names[:0], h.list[:0]
}
