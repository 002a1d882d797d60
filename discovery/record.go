package discovery

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/newsfork/seed-engine/classify"
)

// maxSeen is the number of URLs that are remembered. Beyond it, a URL found twice counts twice, and no patterns are
// learned.
const maxSeen = 100_000

// record is what is stored of an analysed URL: enough to correct the counts when it is found again.
type record struct {
	lastmod uint32 // seconds since 1970, 0 for none
	rank    uint8  // rankOf its method, 0 if it was excluded
	class   classify.Class
	plain   bool   // some source writes it in canonical form
	hint    Hint   // of sitemaps
	node    nodeID // of its pattern
}

// seen is a hash table with open addressing of the analysed URLs, 20 bytes a slot.
type seen struct {
	keys    []uint64 // 0 is free
	records []record
	count   int
	// The slot of a key is the top bits of its product with a random odd number. Anyone can compute keys, but nobody
	// can make a sitemap of URLs whose keys all fall into one slot.
	factor uint64
	shift  int
}

// keyBits is the length of a key: two of 100,000 URLs share one with a chance of 1 in 50,000.
const keyBits = 48

// keyOf hashes a canonical URL (FNV-1a, then mixed). Keys are stored, so it must not change.
func keyOf[T string | []byte](url T) uint64 {
	const prime = 1099511628211
	h, i := uint64(14695981039346656037), 0
	for ; i+4 <= len(url); i += 4 { // every jump costs more than a byte in WebAssembly
		h = (h ^ uint64(url[i])) * prime
		h = (h ^ uint64(url[i+1])) * prime
		h = (h ^ uint64(url[i+2])) * prime
		h = (h ^ uint64(url[i+3])) * prime
	}
	for ; i < len(url); i++ {
		h = (h ^ uint64(url[i])) * prime
	}
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	return max(h>>(64-keyBits), 1)
}

// find returns the record of a key, or nil.
func (s *seen) find(key uint64) *record {
	if len(s.keys) == 0 {
		return nil
	}
	i := s.slot(key)
	if s.keys[i] == 0 {
		return nil
	}
	return &s.records[i]
}

func (s *seen) slot(key uint64) int {
	keys := s.keys
	mask := len(keys) - 1
	i := int(key * s.factor >> s.shift)
	for keys[i] != 0 && keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

func (s *seen) full() bool { return s.count >= maxSeen }

// put adds a record for a new key, and returns a pointer that is valid until the next put. It must not be called when
// s is full.
func (s *seen) put(key uint64, r record) *record {
	if s.count >= len(s.keys)/8*7 {
		s.grow()
	}
	i := s.slot(key)
	s.keys[i], s.records[i] = key, r
	s.count++
	return &s.records[i]
}

func (s *seen) grow() {
	old := *s
	size := max(2*len(old.keys), 256)
	s.keys, s.records = make([]uint64, size), make([]record, size)
	s.factor, s.shift = rand.Uint64()|1, bits.LeadingZeros64(uint64(size))+1
	for i, k := range old.keys {
		if k != 0 {
			j := s.slot(k)
			s.keys[j], s.records[j] = k, old.records[i]
		}
	}
}

// all calls fn for every record, in no particular order.
func (s *seen) all(fn func(*record)) {
	for i, k := range s.keys {
		if k != 0 {
			fn(&s.records[i])
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

// encodeHints encodes the hints in the order of keys; the result is nil when all are zero.
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

// decodeHints decodes the result of encodeHints.
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

// encode writes the table in the order of keys, about 12 bytes a record. renumbered maps a node to
// the number under which it is stored.
func (s *seen) encode(renumbered func(nodeID) uint64) []byte {
	b := make([]byte, 0, 12*s.count)
	previous := uint64(0)
	for _, key := range s.ordered() {
		r := s.find(key)
		b = binary.AppendUvarint(b, key-previous)
		b = append(b, r.rank<<5|uint8(r.class))
		b = binary.AppendUvarint(b, uint64(r.lastmod))
		b = binary.AppendUvarint(b, renumbered(r.node))
		previous = key
	}
	return b
}

var errDamaged = errors.New("the stored table of URLs is damaged")

// decode decodes the result of encode. node returns the node of a number, and reports whether there is one.
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
		r := record{rank: b[0] >> 5, class: classify.Class(b[0] & 31)}
		b = b[1:]
		lastmod, ok1 := next()
		number, ok2 := next()
		id, ok3 := node(number)
		key += delta
		if !ok1 || !ok2 || !ok3 || int(r.class) >= classify.Classes || int(r.rank) >= len(methods) ||
			lastmod>>32 != 0 ||
			key>>keyBits != 0 {
			return errDamaged
		}
		r.lastmod, r.node, r.plain = uint32(lastmod), id, true // unless the state says otherwise
		s.put(key, r)
	}
	return nil
}
