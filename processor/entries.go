package processor

import (
	"encoding/binary"
	"iter"

	"github.com/newsfork/seed-engine/dataset"
	"github.com/newsfork/seed-engine/swar"
)

const (
	slabBits = 20 // large, because allocating a slab takes almost a millisecond in WASM
	slabSize = 1 << slabBits

	// Allocated between files.
	keptSlabs = 2
	keptSlots = 1 << 17

	slotCost = 32 // bytes of an index for something in it, roughly
)

// entries is a set of URLs with the descriptions of their records. It stores them in large slabs without an
// allocation each, and chains those of one domain. The zero value is empty.
type entries struct {
	slabs   [][]byte
	current int // slab that is being filled
	used    int // bytes of it
	index       // of the entries by their URLs
	memory  int // bytes allocated
	last    description
}

// ref locates an entry: the slab's number and, in the lower slabBits, the offset in it.
type ref uint32

// An entry is a contract.URL as JSON without repetitions: a header of little-endian numbers, the URL, the title and,
// if the URL does not contain it, the path. Consecutive entries share equal descriptions. Strings are JSON-escaped.
const (
	entryNext        = 0  // uint32: ref of the domain's next entry
	entryDescription = 4  // uint32: ref of the description
	entryURL         = 8  // uint32: bytes of the URL
	entryText        = 12 // uint32: bytes of URL, title and the text between them
	entryPathAt      = 16 // uint16: offset of the path in the URL; 0 if it follows the title
	entryPath        = 18 // uint16: bytes of the path
	entryHead        = 20
)

// The text around the values.
const (
	beforeURL   = `{"url":"`
	beforeTitle = `","title":`
	beforePath  = `,"path":"`
	behindPath  = `"`
)

var noTitle = []byte("null")

// description is the last one that was stored: the optional members at the end of a contract.URL. In a slab its
// length, a uint16, precedes it.
type description struct {
	at     ref
	size   int // bytes; 0 if there is none
	record int // number of its last record
	values [len(optional)][]byte
}

// optional lists the optional members of a contract.URL.
var optional = [...]struct {
	field dataset.Field
	name  string
}{
	{dataset.DiscoveryMethod, `,"discovery_method":`},
	{dataset.Language, `,"language":`},
	{dataset.DiscoveredAt, `,"discovered_at":`},
	{dataset.Confidence, `,"confidence":`},
}

var optionalFields = func() (set dataset.Fields) {
	for _, member := range optional {
		set.Add(member.field)
	}
	return set
}()

// add stores a URL and its record's description unless the set has the URL. u is the URL as in a JSON string. size is
// the length of the contract.URL as JSON.
func (s *entries) add(u []byte, split parts, r *dataset.Record) (at ref, size int, added bool) {
	hash := s.hash(u)
	slot, found := s.find(u, hash)
	if found {
		return 0, 0, false
	}
	at, size = s.store(u, split, r)
	s.put(slot, hash, uint32(at))
	s.memory += slotCost
	return at, size, true
}

// link makes next the entry after another one in its chain.
func (s *entries) link(after, next ref) {
	binary.LittleEndian.PutUint32(s.at(after)[entryNext:], uint32(next))
}

// chain iterates over n entries from head on.
func (s *entries) chain(head ref, n int) iter.Seq[ref] {
	return func(yield func(ref) bool) {
		r := head
		for range n {
			if !yield(r) {
				return
			}
			r = ref(binary.LittleEndian.Uint32(s.at(r)[entryNext:]))
		}
	}
}

// at returns the slab from the start of an entry.
func (s *entries) at(r ref) []byte { return s.slabs[r>>slabBits][r&(slabSize-1):] }

// reset removes all entries and keeps the memory, except that of entries larger than a slab.
func (s *entries) reset() {
	for i, slab := range s.slabs {
		if len(slab) != slabSize {
			s.slabs = s.slabs[:i]
			break
		}
	}
	s.index.reset()
	s.current, s.used, s.memory = 0, 0, 0
	s.last = description{}
}

// release frees the memory of an empty set if it is large, and reports whether it did.
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

// find returns the slot of a URL, or the slot where it belongs.
func (s *entries) find(u []byte, hash uint32) (slot int, found bool) {
	for slot = s.next(int(hash), hash); ; slot = s.next(slot+1, hash) {
		n, taken := s.index.at(slot)
		if !taken || swar.Equal(urlOf(s.at(ref(n))), u) {
			return slot, taken
		}
	}
}

// store appends an entry to the slabs.
func (s *entries) store(u []byte, split parts, r *dataset.Record) (at ref, size int) {
	s.describe(r)
	title := r.JSON(dataset.Title)
	if title == nil {
		title = noTitle
	}
	text := len(u) + len(beforeTitle) + len(title)
	need := entryHead + text
	if split.pathAt == 0 {
		need += len(split.path)
	}
	at, e := s.allocate(need)

	swar.Store(e, entryDescription, uint64(s.last.at)|uint64(len(u))<<32)
	swar.Store(e, entryText, uint64(text)|uint64(split.pathAt)<<32|uint64(len(split.path))<<48)
	e = append(e[:entryHead], u...)
	e = append(e, beforeTitle...)
	e = append(e, title...)
	if split.pathAt == 0 {
		copy(e[len(e):cap(e)], split.path)
	}
	return at, len(beforeURL) + text + len(beforePath) + len(split.path) + s.last.size
}

// describe stores the description of a record, unless it equals the last one.
func (s *entries) describe(r *dataset.Record) {
	d := &s.last
	same := d.size > 0
	if same && r.SameAs(d.record, optionalFields) {
		d.record = r.Number
		return
	}
	d.record = r.Number
	var values [len(optional)][]byte
	size := len(behindPath) + len(`}`)
	for i := range optional {
		v := r.JSON(optional[i].field)
		values[i] = v
		if v != nil {
			size += len(optional[i].name) + len(v)
		}
		same = same && swar.Equal(v, d.values[i])
	}
	if same {
		return
	}
	at, b := s.allocate(2 + size)
	binary.LittleEndian.PutUint16(b, uint16(size))
	b = append(b[:2], behindPath...)
	for i, v := range values {
		d.values[i] = nil
		if v != nil {
			b = append(append(b, optional[i].name...), v...)
			d.values[i] = b[len(b)-len(v):]
		}
	}
	b[:size+2][size+1] = '}'
	d.at, d.size = at, size
}

// allocate returns the next n bytes of a slab.
func (s *entries) allocate(n int) (ref, []byte) {
	if len(s.slabs) == 0 || s.used+n > len(s.slabs[s.current]) {
		s.nextSlab(n)
	}
	from := s.used
	s.used += n
	s.memory += n
	return ref(s.current<<slabBits | from), s.slabs[s.current][from:s.used:s.used]
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

// appendEntry appends the entry as the JSON of a contract.URL.
func (s *entries) appendEntry(b []byte, r ref) []byte {
	e := s.at(r)
	sizes := swar.Load(e, entryText)
	text, pathAt, pathSize := int(uint32(sizes)), int(uint16(sizes>>32)), int(sizes>>48)
	path := e[entryHead+text:]
	if pathAt > 0 {
		path = e[entryHead+pathAt:]
	}
	end := s.at(ref(uint32(swar.Load(e, entryDescription))))
	b = append(b, beforeURL...)
	b = append(b, e[entryHead:entryHead+text]...)
	b = append(b, beforePath...)
	b = append(b, path[:pathSize]...)
	return append(b, end[2:2+binary.LittleEndian.Uint16(end)]...)
}
