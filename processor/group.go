package processor

import (
	"iter"
	"math"
	"runtime"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/dataset"
	"github.com/newsfork/seed-engine/markup"
	"github.com/tidwall/gjson"
)

const (
	// maxBuffered caps the bytes of URLs that wait to be sent; domains count half. Hashes that find duplicates take up
	// to 2 MiB more.
	maxBuffered = 14 << 20

	// maxWaiting caps the URLs of a domain that wait, as JSON. Whoever collects the domain reads a list at once.
	maxWaiting = 12 << 20

	// ripeSize is the number of bytes of URLs that fill a message.
	ripeSize = maxInline / 16 * 15

	// inlineParts caps the messages of a large file's domain before further URLs wait for a list. To store a list
	// takes longer than to send its URLs, but whoever collects the domain adds each message to the document.
	inlineParts = 8

	// mostBlocks are the blocks up to which domains are told apart by their size. All with more are large.
	mostBlocks = 1 << 10

	// Rough bytes of a domain besides its name, and the most of a host.
	domainCost = 256
	hostCost   = 64
)

func init() { gjson.SetEscapeHTML(false) } // messages are not HTML

// group is one registrable domain of the file, and its URLs that wait to be sent. What each URL needs stands together.
type group struct {
	domain  string
	hash    uint64 // of domain, for seen
	pattern pattern
	entries chain // in the order of the file
	urls    int32 // number of URLs
	size    int32 // bytes of the URLs as JSON array
	alike   int32 // of these, bytes of optional members that are as in the file's first record
	parts   int32 // messages sent; id and authority are fixed with the first
	uneven  bool  // a URL lacks an optional member that the first record has

	id        string // of the first record with an id whose domain matches its URL
	authority string // of the first record with an authority
}

// groups collects the URLs of a file by registrable domain.
type groups struct {
	limit         int // see maxBuffered
	country       string
	list          []group          // in the order of the file
	byDomain      map[string]int32 // index in list
	byAuthority   hosts            // index in list, or ^index in problems
	problems      []problem        // without repetition
	counted       int              // domains that newDomains has counted
	disagreements int
	overlong      bool   // a domain has maxWaiting
	large         bool   // more than a quarter of the memory was needed
	ripe          *group // has URLs that fill a message, and is sent by itself

	blocks  blocks
	seen    seen
	members members
	tables  int // bytes of domains and hosts
	escaped []byte
	entry   []byte
}

// start begins a file of a partition of country.
func (g *groups) start(country string) {
	if g.limit == 0 {
		g.limit = maxBuffered
	}
	g.country, g.disagreements, g.large = country, 0, false
	g.forgetDomains()
	g.members.start()
}

// full reports whether it is time to send a part. Domains count half, because their messages cost as much however few
// URLs they have.
func (g *groups) full() bool { return g.overlong || g.ripe != nil || g.used() > g.limit }

func (g *groups) used() int { return g.blocks.taken*blockSize + g.tables/2 }

// due returns the domains to send: at the end of the file all, before it the one that is ripe, else those with the most
// URLs, an eighth of the memory. Where domains take turns in a file, a message has almost twice as many URLs then as if
// all domains were sent at once.
func (g *groups) due(last bool) iter.Seq[*group] {
	if g.ripe != nil && !last {
		return slices.Values([]*group{g.ripe})
	}
	size, left := int32(1), math.MaxInt
	if !last && !g.crowded() {
		size, left = g.largest(g.limit / 8 / blockSize)
	}
	return func(yield func(*group) bool) {
		for i := range g.list {
			d := &g.list[i]
			if d.urls == 0 {
				continue
			}
			waits := d.entries.blocks < size
			if min(d.entries.blocks, mostBlocks) == size {
				waits = left <= 0
				left -= int(d.entries.blocks)
			}
			if (!waits || d.size >= maxWaiting) && !yield(d) {
				return
			}
		}
	}
}

// largest finds the domains with the most blocks, which have a number of blocks together: all that are larger than a
// size, and such of that size as have left blocks together.
func (g *groups) largest(together int) (size int32, left int) {
	var domains [mostBlocks + 1]int
	for i := range g.list {
		domains[min(g.list[i].entries.blocks, mostBlocks)]++
	}
	left = together
	for size = mostBlocks; size > 1 && left > int(size)*domains[size]; size-- {
		left -= int(size) * domains[size]
	}
	return size, left
}

// crowded reports whether the domains take most of the memory.
func (g *groups) crowded() bool { return g.tables > g.limit/3*2 }

// forgetURLs removes the URLs of a domain after they were sent. The domain stays, so that every part describes it alike
// and looks nothing up again.
func (g *groups) forgetURLs(d *group) {
	g.blocks.release(&d.entries)
	d.urls, d.size, d.alike, d.uneven = 0, 0, 0, false
}

func (g *groups) forgetDomains() {
	clear(g.list)
	g.list, g.problems = g.list[:0], g.problems[:0]
	g.byDomain = map[string]int32{}
	g.byAuthority.reset()
	g.seen.forget() // it knows URLs as differences from what is forgotten
	g.tables, g.counted, g.overlong, g.ripe = 0, 0, false, nil
}

// release ends a file. The next file reuses small buffers. Large ones are freed at once: a WASM instance never
// shrinks, so they must be free before anything else is allocated.
func (g *groups) release() {
	g.forgetDomains()
	g.seen.reset()
	if g.blocks.reset() {
		g.list, g.byAuthority = nil, hosts{}
		runtime.GC()
	}
}

// newDomains returns the number of domains added since the last call.
func (g *groups) newDomains() int {
	n := len(g.list) - g.counted
	g.counted = len(g.list)
	return n
}

// add adds the record's URL to its group; added is false if it is a duplicate.
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
	host := g.byAuthority.hash(split.authority)
	i, ok := g.byAuthority.find(host)
	if !ok {
		i = g.lookUp(split.authority)
		g.byAuthority.add(host, i)
	}
	if i < 0 {
		return false, g.problems[^i]
	}
	d := &g.list[i]
	agrees := d.agrees(r)
	if !agrees {
		g.disagreements++
	}
	if d.parts == 0 {
		if d.authority == "" {
			d.authority = string(r.Get(dataset.Authority))
			g.tables += len(d.authority)
		}
		if d.id == "" && agrees {
			d.id = string(r.Get(dataset.DomainID))
			g.tables += len(d.id)
		}
	}
	if !split.plain {
		g.escaped = gjson.AppendJSONString(g.escaped[:0], view(u))
		u = g.escaped[1 : len(g.escaped)-1]
	}
	return g.append(d, u, &split, r), ""
}

// append adds a URL to a group unless it is a duplicate.
func (g *groups) append(d *group, u []byte, split *parts, r *dataset.Record) bool {
	title := r.JSON(dataset.Title)
	if title == nil {
		title = noTitle
	}
	if d.pattern.text == "" {
		d.pattern = newPattern(u, title, split)
		g.tables += len(d.pattern.text)
	}
	g.entry = appendDifference(g.entry[:0], d.pattern.text[:d.pattern.url], u)
	if !g.seen.add(d.hash, g.entry) {
		return false
	}
	g.members.of(r)
	g.entry = appendRest(g.entry, &d.pattern, &g.members, u, title, split)
	g.blocks.append(&d.entries, g.entry)
	d.urls++
	d.size += int32(len(",") + sizeOf(&g.members, u, title, split))
	d.alike += int32(g.members.alike)
	d.uneven = d.uneven || g.members.lacks
	if d.urls == 1 {
		d.size++ // "[]" for ","
	}
	g.overlong = g.overlong || d.size >= maxWaiting
	if d.size >= ripeSize {
		g.large = g.large || g.used() > g.limit/4
		if g.large && g.fills(d) {
			g.ripe = d
		}
	}
	return true
}

// fills reports whether a group of a large file is to be sent because its URLs fill a message. In other files each
// domain has one message.
func (g *groups) fills(d *group) bool {
	size := g.inlineSize(d)
	return size >= ripeSize && size <= maxInline && d.parts < inlineParts && !g.crowded()
}

// lookUp finds the group of an authority that is new in the file: its index in list, or ^index in problems.
func (g *groups) lookUp(authority []byte) int32 {
	g.tables += hostCost
	domain, why := registrable(authority)
	if why != "" {
		n := slices.Index(g.problems, why)
		if n < 0 {
			n = len(g.problems)
			g.problems = append(g.problems, why)
		}
		return ^int32(n)
	}
	i, ok := g.byDomain[domain]
	if !ok {
		i = int32(len(g.list))
		g.list = append(g.list, group{domain: domain, hash: g.seen.of(domain)})
		g.byDomain[domain] = i
		g.tables += domainCost + len(domain)
	}
	return i
}

// agrees reports whether the domain claimed by the record matches its URL.
func (d *group) agrees(r *dataset.Record) bool {
	if claim := r.Get(dataset.RegistrableDomain); claim != nil {
		return string(claim) == d.domain || canonical(claim) == d.domain
	}
	claim := r.Get(dataset.Host)
	return claim == nil || string(claim) == d.domain || contract.WithinDomain(canonical(claim), d.domain)
}

func canonical(host []byte) string {
	name, _ := markup.Host(string(host)) // "" if it is invalid
	return name
}

// read returns a reader of the URLs of a group, which is not empty.
func (g *groups) read(d *group) entryReader {
	return entryReader{chainReader: g.blocks.read(d.entries), pattern: &d.pattern, members: &g.members}
}

// common returns the optional members that a message names once for the URLs of a group, as JSON, or nil if the URLs
// name their own.
func (g *groups) common(d *group) []byte {
	if d.uneven || int(d.alike) <= len(beforeCommon)+len(g.members.common) {
		return nil
	}
	return g.members.common
}

// inlineSize returns the number of bytes of the URLs of a group in a message.
func (g *groups) inlineSize(d *group) int {
	if common := g.common(d); common != nil {
		return int(d.size-d.alike) + len(beforeCommon) + len(common)
	}
	return int(d.size)
}

// appendURLs appends the URLs of a group, which is not empty, as a JSON array. They do not repeat optional members that
// the message names in common.
func (g *groups) appendURLs(b []byte, d *group, common bool) []byte {
	b = append(b, '[')
	r := g.read(d)
	for range d.urls {
		b = append(r.appendJSON(b, common), ',')
	}
	b[len(b)-1] = ']'
	return b
}

// appendFirstURL appends the first URL of a group, JSON-escaped.
func (g *groups) appendFirstURL(b []byte, d *group) []byte {
	r := g.read(d)
	return r.appendURL(b)
}
