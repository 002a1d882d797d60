package processor

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"runtime"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/dataset"
)

const (
	maxHeld  = 16 << 20 // bytes held before what is there is sent as a part
	keptIdle = 2 << 20  // bytes of buffers kept between files

	slabBits = 20 // large, because every allocation of a slab costs a good part of a millisecond in WASM
	slabSize = 1 << slabBits

	// What a domain and a host cost beside their names, roughly, in bytes.
	domainCost = 256
	hostCost   = 64
)

// group is one registrable domain of the file.
type group struct {
	domain    string
	id        string // from the first record that gives one and agrees with its URL
	authority string // from the first record that gives one
	sent      bool   // in a part: id and authority stay as they are
	head      ref    // its URLs, in the order of the file
	tail      ref
	urls      int // number of URLs
	size      int // bytes of the URLs as JSON array
}

// ref is where an entry begins: slab and offset.
type ref uint32

func at(slab, offset int) ref { return ref(slab<<slabBits | offset) }
func (r ref) slab() int       { return int(r >> slabBits) }
func (r ref) offset() int     { return int(r & (slabSize - 1)) }

// An entry is a header of four 32-bit numbers and a contract.URL as JSON, which begins with the URL.
const (
	entryNext = 0  // ref of the domain's next entry
	entryHash = 4  // lower half of the URL's hash
	entryURL  = 8  // bytes of the URL, JSON-escaped
	entryJSON = 12 // bytes of the JSON
	entryHead = 16

	beforeURL = `{"url":"`
)

// groups holds the URLs of a file, or of a part of it, by registrable domain. The URLs lie in slabs
// as the JSON that will be sent, so that they are copied once, without an allocation each.
type groups struct {
	limit         int // bytes held before they are sent as a part
	country       string
	list          []group          // in the order of the file
	byDomain      map[string]int32 // index in list
	byAuthority   map[string]int32 // index in list, or ^index in problems
	problems      []problem        // without repetition
	counted       int              // domains of list that newDomains has told
	disagreements int

	slabs   [][]byte
	current int   // slab that is being filled
	used    int   // bytes of it
	seen    []ref // hash table of the URLs held: ref + 1, or 0
	entries int
	held    int // bytes of entries, domains and hosts
	tables  int // bytes of domains and hosts
	seed    maphash.Seed
	scratch []byte
	escaped []byte
}

// start begins a file of a partition of country.
func (g *groups) start(country string) {
	if g.limit == 0 {
		g.limit = maxHeld
		g.seed = maphash.MakeSeed()
	}
	g.country, g.disagreements = country, 0
	g.forgetDomains()
	g.forgetURLs()
}

// full reports that what is held should be sent.
func (g *groups) full() bool { return g.held > g.limit }

// forgetURLs empties the groups, after they were sent. The domains stay, so that every part says the
// same of them, unless they are so many that little room would be left.
func (g *groups) forgetURLs() {
	if g.tables > g.limit/4 {
		g.forgetDomains()
	}
	for i := range g.list {
		g.list[i].urls, g.list[i].size = 0, 0
	}
	for i, slab := range g.slabs {
		if len(slab) != slabSize {
			g.slabs = g.slabs[:i]
			break
		}
	}
	clear(g.seen)
	g.current, g.used, g.entries, g.held = 0, 0, 0, g.tables
}

func (g *groups) forgetDomains() {
	clear(g.list)
	g.list, g.problems = g.list[:0], g.problems[:0]
	g.byDomain, g.byAuthority = map[string]int32{}, map[string]int32{}
	g.tables, g.counted = 0, 0
}

// release ends a file. A small one leaves its buffers to the next. What a large one took is given
// back at once: the memory of a WASM instance never shrinks, so it must be free before the next file,
// or another event of the instance, takes more.
func (g *groups) release() {
	g.forgetDomains()
	g.forgetURLs()
	if len(g.slabs)*slabSize+cap(g.scratch)+cap(g.escaped) > keptIdle {
		g.slabs, g.seen, g.list, g.scratch, g.escaped = nil, nil, nil, nil, nil
		runtime.GC()
	}
}

// newDomains counts the domains that came since it was last called.
func (g *groups) newDomains() int {
	n := len(g.list) - g.counted
	g.counted = len(g.list)
	return n
}

// add puts the record's URL into its group; added is false when it is there already.
func (g *groups) add(r *dataset.Record) (added bool, why problem) {
	if r.Problem != "" {
		return false, problem(r.Problem)
	}
	u := trim(r.Get(dataset.URL))
	if len(u) == 0 {
		return false, noURL
	}
	split, why := splitURL(u)
	if why != "" {
		return false, why
	}
	i, ok := g.byAuthority[string(split.authority)]
	if !ok {
		i = g.lookUp(split.authority)
	}
	if i < 0 {
		return false, g.problems[^i]
	}
	d := &g.list[i]
	agrees := d.agrees(r)
	if !agrees {
		g.disagreements++
	}
	if !d.sent {
		if d.authority == "" {
			d.authority = string(r.Get(dataset.Authority))
			g.grow(len(d.authority))
		}
		if d.id == "" && agrees {
			d.id = string(r.Get(dataset.DomainID))
			g.grow(len(d.id))
		}
	}
	if !split.plain {
		g.escaped = gjson.AppendJSONString(g.escaped[:0], view(u))
		u = g.escaped[1 : len(g.escaped)-1]
	}
	slot, hash := g.find(u)
	if g.seen[slot] != 0 {
		return false, ""
	}
	e := g.encode(u, split.path, r)
	entry := g.store(e, len(u), hash)
	g.seen[slot] = entry + 1
	g.entries++
	if d.urls == 0 {
		d.head = entry
		d.size = len("[]")
	} else {
		tail := g.slabs[d.tail.slab()][d.tail.offset():]
		binary.LittleEndian.PutUint32(tail[entryNext:], uint32(entry))
		d.size += len(",")
	}
	d.tail = entry
	d.urls++
	d.size += len(e)
	return true, ""
}

// lookUp finds the group of an authority that was not met before.
func (g *groups) lookUp(authority []byte) int32 {
	key := string(authority)
	g.grow(hostCost + len(key))
	domain, why := registrable(authority)
	if why != "" {
		n := slices.Index(g.problems, why)
		if n < 0 {
			n = len(g.problems)
			g.problems = append(g.problems, why)
		}
		g.byAuthority[key] = ^int32(n)
		return ^int32(n)
	}
	i, ok := g.byDomain[domain]
	if !ok {
		i = int32(len(g.list))
		g.list = append(g.list, group{domain: domain})
		g.byDomain[domain] = i
		g.grow(domainCost + len(domain))
	}
	g.byAuthority[key] = i
	return i
}

func (g *groups) grow(n int) {
	g.tables += n
	g.held += n
}

// agrees reports whether what the record says of its domain fits its URL.
func (d *group) agrees(r *dataset.Record) bool {
	if claim := r.Get(dataset.RegistrableDomain); claim != nil {
		return string(claim) == d.domain || canonical(claim) == d.domain
	}
	if claim := r.Get(dataset.Host); claim != nil && string(claim) != d.domain {
		under, ok := strings.CutSuffix(canonical(claim), d.domain)
		return ok && (under == "" || strings.HasSuffix(under, "."))
	}
	return true
}

func canonical(host []byte) string {
	name, _ := asciiHost(string(host))
	return name
}

// find looks for an URL: its slot holds it, or is empty. Hashes only say where to look; URLs are compared
// byte by byte, so that none is lost.
func (g *groups) find(u []byte) (slot int, hash uint32) {
	if 2*g.entries >= len(g.seen) {
		g.rehash()
	}
	hash = uint32(maphash.Bytes(g.seed, u))
	mask := len(g.seen) - 1
	for slot = int(hash) & mask; g.seen[slot] != 0; slot = (slot + 1) & mask {
		r := g.seen[slot] - 1
		e := g.slabs[r.slab()][r.offset():]
		if binary.LittleEndian.Uint32(e[entryHash:]) != hash {
			continue
		}
		n := int(binary.LittleEndian.Uint32(e[entryURL:]))
		if bytes.Equal(e[entryHead+len(beforeURL):][:n], u) {
			break
		}
	}
	return slot, hash
}

// rehash doubles the table.
func (g *groups) rehash() {
	old := g.seen
	g.seen = make([]ref, max(1<<12, 2*len(old)))
	mask := len(g.seen) - 1
	for _, r := range old {
		if r == 0 {
			continue
		}
		e := g.slabs[(r - 1).slab()][(r - 1).offset():]
		slot := int(binary.LittleEndian.Uint32(e[entryHash:])) & mask
		for g.seen[slot] != 0 {
			slot = (slot + 1) & mask
		}
		g.seen[slot] = r
	}
}

// encode writes the record's contract.URL as JSON; u is JSON-escaped already, and path, in which
// everything that needs an escape is percent-encoded, never has to be. The result is valid until the
// next call.
func (g *groups) encode(u, path []byte, r *dataset.Record) []byte {
	b := append(g.scratch[:0], beforeURL...)
	b = append(b, u...)
	b = append(b, `","title":`...)
	if title := r.JSON(dataset.Title); title != nil {
		b = append(b, title...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"path":"`...)
	b = append(b, path...)
	b = append(b, '"')
	b = appendField(b, `,"discovery_method":`, r.JSON(dataset.DiscoveryMethod))
	b = appendField(b, `,"language":`, r.JSON(dataset.Language))
	b = appendField(b, `,"discovered_at":`, r.JSON(dataset.DiscoveredAt))
	b = appendField(b, `,"confidence":`, r.JSON(dataset.Confidence))
	b = append(b, '}')
	g.scratch = b
	return b
}

// appendField appends a member, or nothing when it has no value.
func appendField(b []byte, name string, value []byte) []byte {
	if value == nil {
		return b
	}
	return append(append(b, name...), value...)
}

// store copies an entry into the slabs.
func (g *groups) store(json []byte, urlSize int, hash uint32) ref {
	size := entryHead + len(json)
	if len(g.slabs) == 0 || g.used+size > len(g.slabs[g.current]) {
		g.nextSlab(size)
	}
	r := at(g.current, g.used)
	e := g.slabs[g.current][g.used:]
	binary.LittleEndian.PutUint32(e[entryHash:], hash)
	binary.LittleEndian.PutUint32(e[entryURL:], uint32(urlSize))
	binary.LittleEndian.PutUint32(e[entryJSON:], uint32(len(json)))
	copy(e[entryHead:], json)
	g.used += size
	g.held += size
	return r
}

// nextSlab goes to the next slab of at least size bytes. An entry larger than a slab gets one of its own.
func (g *groups) nextSlab(size int) {
	next := g.current + 1
	if len(g.slabs) == 0 {
		next = 0
	}
	if size > slabSize || next == len(g.slabs) {
		g.slabs = append(g.slabs[:next], append([][]byte{make([]byte, max(size, slabSize))}, g.slabs[next:]...)...)
	}
	g.current, g.used = next, 0
}

// urls gives the JSON of every URL of a group, in the order of the file.
func (g *groups) urls(d *group) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := d.head
		for range d.urls {
			e := g.slabs[r.slab()][r.offset():]
			if !yield(e[entryHead:][:binary.LittleEndian.Uint32(e[entryJSON:])]) {
				return
			}
			r = ref(binary.LittleEndian.Uint32(e[entryNext:]))
		}
	}
}

// appendURLs appends the URLs of a group, of which there is one at least, as a JSON array.
func (g *groups) appendURLs(b []byte, d *group) []byte {
	b = append(b, '[')
	for url := range g.urls(d) {
		b = append(append(b, url...), ',')
	}
	b[len(b)-1] = ']'
	return b
}

// firstURL is the first URL of a group, JSON-escaped.
func (g *groups) firstURL(d *group) []byte {
	e := g.slabs[d.head.slab()][d.head.offset():]
	return e[entryHead+len(beforeURL):][:binary.LittleEndian.Uint32(e[entryURL:])]
}
