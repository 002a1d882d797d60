package discovery

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/newsfork/seed-engine/classify"
)

// maxSeen is how many URLs are told apart. Of what comes beyond, a URL found twice counts twice and
// no pattern is learned.
const maxSeen = 100_000

// known is what is kept of every URL: enough to know it again and to correct what was counted.
type known struct {
	lastmod uint32 // seconds since 1970, 0 when unknown
	rank    uint8  // rankOf its method, 0 when it was excluded
	class   classify.Class
	hint    Hint   // of sitemaps
	node    nodeID // of its pattern
}

// seen is a hash table with open addressing of the URLs that were analysed, 20 bytes a slot.
type seen struct {
	keys  []uint64 // 0 is free
	known []known
	count int
}

// keyBits is the length of a key: two of 100,000 URLs share one with a chance of 1 in 50,000.
const keyBits = 48

// keyOf hashes a canonical URL (FNV-1a, then mixed). Keys are stored, so this may not change.
func keyOf(url []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range url {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	return max(h>>(64-keyBits), 1)
}

// find gives the entry of a key, or nil.
func (s *seen) find(key uint64) *known {
	if len(s.keys) == 0 {
		return nil
	}
	i := s.slot(key)
	if s.keys[i] == 0 {
		return nil
	}
	return &s.known[i]
}

func (s *seen) slot(key uint64) int {
	mask := len(s.keys) - 1
	i := int(key) & mask
	for s.keys[i] != 0 && s.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

func (s *seen) full() bool { return s.count >= maxSeen }

// put adds an entry for a key that is not there. It may not be called when s is full.
func (s *seen) put(key uint64, k known) {
	if s.count >= len(s.keys)/8*7 {
		old := *s
		size := max(2*len(old.keys), 256)
		s.keys, s.known = make([]uint64, size), make([]known, size)
		for i, k := range old.keys {
			if k != 0 {
				j := s.slot(k)
				s.keys[j], s.known[j] = k, old.known[i]
			}
		}
	}
	i := s.slot(key)
	s.keys[i], s.known[i] = key, k
	s.count++
}

// all calls fn for every entry, in no order.
func (s *seen) all(fn func(*known)) {
	for i, k := range s.keys {
		if k != 0 {
			fn(&s.known[i])
		}
	}
}

// ordered are the keys of the table, ascending.
func (s *seen) ordered() []uint64 {
	order := make([]uint64, 0, s.count)
	for _, k := range s.keys {
		if k != 0 {
			order = append(order, k)
		}
	}
	slices.Sort(order)
	return order
}

// encodeHints writes the hints in the order of keys, nothing when there are none.
func (s *seen) encodeHints() []byte {
	b := make([]byte, 0, s.count)
	some := Hint(0)
	for _, key := range s.ordered() {
		h := s.find(key).hint
		some |= h
		b = append(b, byte(h))
	}
	if some == 0 {
		return nil
	}
	return b
}

// decodeHints reads what encodeHints wrote.
func (s *seen) decodeHints(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if len(b) != s.count {
		return errDamaged
	}
	for i, key := range s.ordered() {
		h := Hint(b[i])
		if !h.valid() {
			return errDamaged
		}
		s.find(key).hint = h
	}
	return nil
}

// encode writes the table in the order of keys, about 12 bytes an entry. renumbered gives the number
// under which a node is stored.
func (s *seen) encode(renumbered func(nodeID) uint64) []byte {
	b := make([]byte, 0, 12*s.count)
	previous := uint64(0)
	for _, key := range s.ordered() {
		k := s.find(key)
		b = binary.AppendUvarint(b, key-previous)
		b = append(b, k.rank<<5|uint8(k.class))
		b = binary.AppendUvarint(b, uint64(k.lastmod))
		b = binary.AppendUvarint(b, renumbered(k.node))
		previous = key
	}
	return b
}

var errDamaged = errors.New("the stored table of URLs is damaged")

// decode reads what encode wrote. node gives the node of a number, or reports that there is none.
func (s *seen) decode(b []byte, node func(uint64) (nodeID, bool)) error {
	next := func() (v uint64, ok bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	for key := uint64(0); len(b) > 0; {
		delta, ok := next()
		if !ok || delta == 0 || len(b) == 0 || s.full() {
			return errDamaged
		}
		k := known{rank: b[0] >> 5, class: classify.Class(b[0] & 31)}
		b = b[1:]
		lastmod, ok1 := next()
		number, ok2 := next()
		id, ok3 := node(number)
		key += delta
		if !ok1 || !ok2 || !ok3 || int(k.class) >= classify.Classes || int(k.rank) >= len(methods) || lastmod>>32 != 0 || key>>keyBits != 0 {
			return errDamaged
		}
		k.lastmod, k.node = uint32(lastmod), id
		s.put(key, k)
	}
	return nil
}
