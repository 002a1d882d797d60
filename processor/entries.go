package processor

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"iter"

	"github.com/newsfork/seed-engine/dataset"
)

const (
	slabBits = 20 // large, because every allocation of a slab costs a good part of a millisecond in WASM
	slabSize = 1 << slabBits

	// What stays allocated between files.
	keptSlabs = 2
	keptSlots = 1 << 18
)

// entries is a set of URLs with the descriptions of their records. They are stored one after another in
// large slabs, without an allocation each; those of one domain are chained. The zero value is empty.
type entries struct {
	slabs   [][]byte
	current int   // slab that is being filled
	used    int   // bytes of it
	slots   []ref // hash table of the entries: ref + 1, or 0
	count   int
	seed    maphash.Seed
}

// ref is where an entry begins: the slab's number and, in the lower slabBits, the offset in it.
type ref uint32

// An entry is a contract.URL without the names of its members: a header of little-endian numbers, followed
// by the values. Strings are JSON-escaped, the URL is without quotes, and optional values may be missing.
const (
	entryNext     = 0  // uint32: ref of the domain's next entry
	entryHash     = 4  // uint32: of the URL
	entryURL      = 8  // uint32: bytes of the URL
	entryTitle    = 12 // uint32: bytes of the title
	entryPathAt   = 16 // uint16: where in the URL the path begins; 0 when it follows the title
	entryPath     = 18 // uint16: bytes of the path
	entryOptional = 20 // uint16 each: bytes of the optional members
	entryHead     = entryOptional + 2*len(optional)
)

// optional members of a contract.URL.
var optional = [...]struct {
	field dataset.Field
	name  string
}{
	{dataset.DiscoveryMethod, `,"discovery_method":`},
	{dataset.Language, `,"language":`},
	{dataset.DiscoveredAt, `,"discovered_at":`},
	{dataset.Confidence, `,"confidence":`},
}

// add stores a URL and its description by the record, unless the set has the URL. u is the URL as in a JSON
// string, and size the number of bytes of the contract.URL as JSON.
func (s *entries) add(u []byte, split parts, r *dataset.Record) (at ref, size int, added bool) {
	slot, hash := s.find(u)
	if s.slots[slot] != 0 {
		return 0, 0, false
	}
	at, size = s.store(u, split, r, hash)
	s.slots[slot] = at + 1
	s.count++
	return at, size, true
}

// link makes next the entry after another one in its chain.
func (s *entries) link(after, next ref) {
	binary.LittleEndian.PutUint32(s.at(after)[entryNext:], uint32(next))
}

// chain iterates over n entries from head on.
func (s *entries) chain(head ref, n int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := head
		for range n {
			e := s.at(r)
			if !yield(e) {
				return
			}
			r = ref(binary.LittleEndian.Uint32(e[entryNext:]))
		}
	}
}

// at returns the slab from the beginning of an entry on.
func (s *entries) at(r ref) []byte { return s.slabs[r>>slabBits][r&(slabSize-1):] }

// reset removes all entries and keeps the memory, except that of entries larger than a slab.
func (s *entries) reset() {
	for i, slab := range s.slabs {
		if len(slab) != slabSize {
			s.slabs = s.slabs[:i]
			break
		}
	}
	if s.count > 0 {
		clear(s.slots)
	}
	s.current, s.used, s.count = 0, 0, 0
}

// release frees the memory of an empty set if it is a lot, and reports whether it freed slabs.
func (s *entries) release() bool {
	if len(s.slots) > keptSlots {
		s.slots = nil
	}
	if len(s.slabs) <= keptSlabs {
		return false
	}
	s.slabs = nil
	return true
}

// find looks for a URL: its slot refers to its entry, or is empty. Hashes only say where to look; URLs are
// compared byte by byte, so that none is lost.
func (s *entries) find(u []byte) (slot int, hash uint32) {
	if 2*s.count >= len(s.slots) {
		s.rehash()
	}
	hash = uint32(maphash.Bytes(s.seed, u))
	mask := len(s.slots) - 1
	for slot = int(hash) & mask; s.slots[slot] != 0; slot = (slot + 1) & mask {
		e := s.at(s.slots[slot] - 1)
		if binary.LittleEndian.Uint32(e[entryHash:]) == hash && bytes.Equal(urlOf(e), u) {
			break
		}
	}
	return slot, hash
}

// rehash doubles the hash table.
func (s *entries) rehash() {
	old := s.slots
	if old == nil {
		s.seed = maphash.MakeSeed()
	}
	s.slots = make([]ref, max(1<<12, 2*len(old)))
	mask := len(s.slots) - 1
	for _, r := range old {
		if r == 0 {
			continue
		}
		e := s.at(r - 1)
		slot := int(binary.LittleEndian.Uint32(e[entryHash:])) & mask
		for s.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		s.slots[slot] = r
	}
}

// store appends an entry to the slabs.
func (s *entries) store(u []byte, split parts, r *dataset.Record, hash uint32) (at ref, size int) {
	title := r.JSON(dataset.Title)
	values := [len(optional)][]byte{}
	size = len(`{"url":"","title":,"path":""}`) + len(u) + max(len(title), len("null")) + len(split.path)
	need := entryHead + len(u) + len(title)
	if split.pathAt == 0 {
		need += len(split.path)
	}
	for i := range optional {
		if v := r.JSON(optional[i].field); v != nil {
			values[i] = v
			size += len(optional[i].name) + len(v)
			need += len(v)
		}
	}
	if len(s.slabs) == 0 || s.used+need > len(s.slabs[s.current]) {
		s.nextSlab(need)
	}
	at = ref(s.current<<slabBits | s.used)
	e := s.slabs[s.current][s.used : s.used+need]
	s.used += need

	binary.LittleEndian.PutUint32(e[entryHash:], hash)
	binary.LittleEndian.PutUint32(e[entryURL:], uint32(len(u)))
	binary.LittleEndian.PutUint32(e[entryTitle:], uint32(len(title)))
	binary.LittleEndian.PutUint16(e[entryPathAt:], uint16(split.pathAt))
	binary.LittleEndian.PutUint16(e[entryPath:], uint16(len(split.path)))
	n := entryHead
	n += copy(e[n:], u)
	n += copy(e[n:], title)
	if split.pathAt == 0 {
		n += copy(e[n:], split.path)
	}
	for i, v := range values {
		binary.LittleEndian.PutUint16(e[entryOptional+2*i:], uint16(len(v)))
		n += copy(e[n:], v)
	}
	return at, size
}

// nextSlab moves to the next slab of at least size bytes. An entry larger than a slab gets its own.
func (s *entries) nextSlab(size int) {
	next := s.current + 1
	if len(s.slabs) == 0 {
		next = 0
	}
	if size > slabSize || next == len(s.slabs) {
		s.slabs = append(s.slabs[:next], append([][]byte{make([]byte, max(size, slabSize))}, s.slabs[next:]...)...)
	}
	s.current, s.used = next, 0
}

// urlOf returns the URL of an entry, JSON-escaped.
func urlOf(e []byte) []byte { return e[entryHead:][:binary.LittleEndian.Uint32(e[entryURL:])] }

// appendEntry appends an entry as the JSON of a contract.URL.
func appendEntry(b, e []byte) []byte {
	u := urlOf(e)
	after := e[entryHead+len(u):]
	take := func(n int) (v []byte) {
		v, after = after[:n], after[n:]
		return v
	}
	b = append(b, `{"url":"`...)
	b = append(b, u...)
	b = append(b, `","title":`...)
	if n := int(binary.LittleEndian.Uint32(e[entryTitle:])); n > 0 {
		b = append(b, take(n)...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"path":"`...)
	n := int(binary.LittleEndian.Uint16(e[entryPath:]))
	if at := binary.LittleEndian.Uint16(e[entryPathAt:]); at > 0 {
		b = append(b, u[at:][:n]...)
	} else {
		b = append(b, take(n)...)
	}
	b = append(b, '"')
	for i := range optional {
		if n := int(binary.LittleEndian.Uint16(e[entryOptional+2*i:])); n > 0 {
			b = append(b, optional[i].name...)
			b = append(b, take(n)...)
		}
	}
	return append(b, '}')
}
