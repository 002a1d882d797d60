package processor

import "hash/maphash"

// keptHosts is the number of slots of hosts above which a table is not kept.
const keptHosts = 1 << 17

// hosts maps a file's hosts, as its URLs write them, to numbers. It knows a host by 64 bits of a seeded hash: names
// would be read from memory that was not used lately, for every URL. In one file of a billion with 100,000 hosts, two
// have the same hash, and URLs of the second are taken for those of the first's domain. The zero value is empty.
type hosts struct {
	slots []hostSlot // at most half are taken
	count int
	seed  maphash.Seed
}

// hostSlot is free if its hash is 0.
type hostSlot struct {
	hash   uint64
	number int32
}

// hash returns the hash of a host.
func (h *hosts) hash(name []byte) uint64 {
	if h.slots == nil {
		h.slots, h.seed = make([]hostSlot, 1<<8), maphash.MakeSeed()
	}
	return max(maphash.Bytes(h.seed, name), 1)
}

// find returns the number of the host with a hash, and reports whether it has one.
func (h *hosts) find(hash uint64) (number int32, ok bool) {
	s := h.slot(hash)
	return s.number, s.hash != 0
}

// slot returns the slot of a hash, or the free one where it belongs.
func (h *hosts) slot(hash uint64) *hostSlot {
	mask := len(h.slots) - 1
	i := int(hash) & mask
	for h.slots[i].hash != hash && h.slots[i].hash != 0 {
		i = (i + 1) & mask
	}
	return &h.slots[i]
}

// add sets the number of the host with a hash, which has none.
func (h *hosts) add(hash uint64, number int32) {
	if h.count++; 2*h.count > len(h.slots) {
		old := h.slots
		h.slots = make([]hostSlot, 2*len(old))
		for _, s := range old {
			if s.hash != 0 {
				*h.slot(s.hash) = s
			}
		}
	}
	*h.slot(hash) = hostSlot{hash, number}
}

// reset empties the table. It keeps the memory of a small one.
func (h *hosts) reset() {
	if len(h.slots) > keptHosts {
		*h = hosts{}
	}
	if h.count > 0 {
		clear(h.slots)
	}
	h.count = 0
}
