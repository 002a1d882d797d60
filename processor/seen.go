package processor

import "hash/maphash"

// maxSeen is the number of slots of seen, of which each generation takes at most half.
const maxSeen = 1 << 17

// seen is a set of the last URLs of a file: 65,536, and up to as many before them. It stores 64 bits of a seeded hash
// of each. In one file of a billion, two of them have the same hash, and the second is taken for a duplicate. The zero
// value is empty.
type seen struct {
	slots []generations // a hash table for each generation, side by side since a URL is looked up in both
	count int           // of now
	seed  maphash.Seed
}

// generations are the slots of both generations; 0 is free.
type generations struct{ now, before uint64 }

// of returns the hash of a domain, for add.
func (s *seen) of(domain string) uint64 {
	if s.slots == nil {
		s.slots, s.seed = make([]generations, 1<<8), maphash.MakeSeed()
	}
	return maphash.String(s.seed, domain)
}

// add adds a URL, given by the hash of its domain and what tells it from others of the domain, and reports whether it
// is new.
func (s *seen) add(domain uint64, url []byte) bool {
	hash := max(maphash.Bytes(s.seed, url)^domain, 1)
	mask := len(s.slots) - 1
	for i := int(hash) & mask; s.slots[i].before != 0; i = (i + 1) & mask {
		if s.slots[i].before == hash {
			return false
		}
	}
	g := s.slot(hash)
	if g.now == hash {
		return false
	}
	g.now = hash
	if s.count++; 2*s.count == len(s.slots) {
		s.grow()
	}
	return true
}

// slot returns the slot in which the present generation has a hash, or the free one where it belongs.
func (s *seen) slot(hash uint64) *generations {
	mask := len(s.slots) - 1
	i := int(hash) & mask
	for s.slots[i].now != hash && s.slots[i].now != 0 {
		i = (i + 1) & mask
	}
	return &s.slots[i]
}

// grow doubles the table. One of the greatest size forgets the generation before, and the present one takes its place.
func (s *seen) grow() {
	if len(s.slots) == maxSeen {
		for i := range s.slots {
			s.slots[i] = generations{before: s.slots[i].now}
		}
		s.count = 0
		return
	}
	old := s.slots
	s.slots = make([]generations, 2*len(old))
	for _, g := range old {
		if g.now != 0 {
			s.slot(g.now).now = g.now
		}
	}
}

// forget forgets all URLs.
func (s *seen) forget() {
	clear(s.slots)
	s.count = 0
}

// reset forgets all URLs and frees the memory of a large file.
func (s *seen) reset() {
	if len(s.slots) == maxSeen {
		*s = seen{}
	}
	s.forget()
}
