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
	"github.com/newsfork/seed-engine/markup"
)

const (
	maxHeld = 16 << 20 // bytes held before what is there is sent as a part

	// What stays between files: slabs, and slots of the hash table.
	keptSlabs = 2
	keptSeen  = 1 << 18

	slabBits = 20 // large, because every allocation of a slab costs a good part of a millisecond in WASM
	slabSize = 1 << slabBits

	// What a domain and a host cost beside their names, roughly, in bytes.
	domainCost = 256
	hostCost   = 64
)

func init() { gjson.SetEscapeHTML(false) } // messages are no HTML

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

// ref is where an entry begins: the slab's number and, in the lower slabBits, the offset in it.
type ref uint32

// An entry is a contract.URL without the names of its members: a header of little-endian numbers, and
// the values. Strings are JSON-escaped; the URL stands there without its quotes, optional values as
// JSON or not at all.
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

// groups holds the URLs of a file, or of a part of it, by registrable domain. They lie in slabs, without
// an allocation each.
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
	held    int // bytes of the URLs as they will be sent, of domains and hosts; no less than these take in memory
	tables  int // bytes of domains and hosts
	seed    maphash.Seed
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
	if g.entries > 0 {
		clear(g.seen)
	}
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
	if len(g.seen) > keptSeen {
		g.seen = nil
	}
	if len(g.slabs) > keptSlabs {
		g.slabs, g.list = nil, nil
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
	entry, size := g.store(u, split, r, hash)
	g.seen[slot] = entry + 1
	g.entries++
	if d.urls == 0 {
		d.head = entry
		d.size = len("[]")
	} else {
		binary.LittleEndian.PutUint32(g.entry(d.tail)[entryNext:], uint32(entry))
		d.size += len(",")
	}
	d.tail = entry
	d.urls++
	d.size += size
	g.held += size
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
	name, _ := markup.Host(string(host)) // "" for none, which is below no domain
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
		e := g.entry(g.seen[slot] - 1)
		if binary.LittleEndian.Uint32(e[entryHash:]) == hash && bytes.Equal(urlOf(e), u) {
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
		e := g.entry(r - 1)
		slot := int(binary.LittleEndian.Uint32(e[entryHash:])) & mask
		for g.seen[slot] != 0 {
			slot = (slot + 1) & mask
		}
		g.seen[slot] = r
	}
}

// store copies a URL and what the record says of it into the slabs; u is JSON-escaped already. size is
// how many bytes the contract.URL has as JSON.
func (g *groups) store(u []byte, split parts, r *dataset.Record, hash uint32) (at ref, size int) {
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
	if len(g.slabs) == 0 || g.used+need > len(g.slabs[g.current]) {
		g.nextSlab(need)
	}
	at = ref(g.current<<slabBits | g.used)
	e := g.slabs[g.current][g.used : g.used+need]
	g.used += need

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

// entry gives the bytes from the beginning of an entry.
func (g *groups) entry(r ref) []byte { return g.slabs[r>>slabBits][r&(slabSize-1):] }

// urlOf is the URL of an entry, JSON-escaped.
func urlOf(e []byte) []byte { return e[entryHead:][:binary.LittleEndian.Uint32(e[entryURL:])] }

// appendEntry appends an entry as the JSON of a contract.URL.
func appendEntry(b, e []byte) []byte {
	u := urlOf(e)
	rest := e[entryHead+len(u):]
	take := func(n int) (v []byte) {
		v, rest = rest[:n], rest[n:]
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

// of gives the entries of a group, in the order of the file.
func (g *groups) of(d *group) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		r := d.head
		for range d.urls {
			e := g.entry(r)
			if !yield(e) {
				return
			}
			r = ref(binary.LittleEndian.Uint32(e[entryNext:]))
		}
	}
}

// appendURLs appends the URLs of a group, of which there is one at least, as a JSON array.
func (g *groups) appendURLs(b []byte, d *group) []byte {
	b = append(b, '[')
	for e := range g.of(d) {
		b = append(appendEntry(b, e), ',')
	}
	b[len(b)-1] = ']'
	return b
}

// firstURL is the first URL of a group, JSON-escaped.
func (g *groups) firstURL(d *group) []byte { return urlOf(g.entry(d.head)) }
