package processor

import "hash/maphash"

// maxSeen is the number of slots of a generation of seen, of which at most half are taken.
const maxSeen = 1 << 17

// seen is a set of the last URLs of a file: 65,536, and up to as many before them. It stores 64 bits of a seeded hash
// of each. In one file of a billion, two of them have the same hash, and the second is taken for a duplicate. The zero
// value is empty.
type seen struct {
	now, before []uint64 // hash tables; 0 is free
	count       int      // of now
	seed        maphash.Seed
}

// add adds a URL, and reports whether it is new.
func (s *seen) add(url []byte) bool {
	if s.now == nil {
		s.now, s.seed = make([]uint64, 1<<8), maphash.MakeSeed()
	}
	hash := max(maphash.Bytes(s.seed, url), 1)
	at := slotOf(s.now, hash)
	if s.now[at] == hash || len(s.before) > 0 && s.before[slotOf(s.before, hash)] == hash {
		return false
	}
	s.now[at] = hash
	if s.count++; 2*s.count == len(s.now) {
		s.grow()
	}
	return true
}

// slotOf returns the slot that has a hash, or the free one where it belongs.
func slotOf(table []uint64, hash uint64) int {
	mask := len(table) - 1
	i := int(hash) & mask
	for table[i] != hash && table[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

// grow doubles the table. One of the greatest size becomes the generation before, which is forgotten.
func (s *seen) grow() {
	if len(s.now) == maxSeen {
		s.now, s.before = s.before, s.now
		if s.count = 0; s.now == nil {
			s.now = make([]uint64, maxSeen)
		}
		clear(s.now)
		return
	}
	old := s.now
	s.now = make([]uint64, 2*len(old))
	for _, hash := range old {
		if hash != 0 {
			s.now[slotOf(s.now, hash)] = hash
		}
	}
}

// reset forgets all URLs. It keeps the memory of a small file for the next one.
func (s *seen) reset() {
	if s.before != nil || len(s.now) == maxSeen {
		*s = seen{}
		return
	}
	clear(s.now)
	s.count = 0
}
