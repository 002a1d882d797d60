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

	// mostBlocks are the blocks up to which domains are told apart by their size. All with more are large.
	mostBlocks = 1 << 10

	// Rough bytes of a domain and of a host besides their names.
	domainCost = 256
	hostCost   = 64
)

func init() { gjson.SetEscapeHTML(false) } // messages are not HTML

// group is one registrable domain of the file, and its URLs that wait to be sent.
type group struct {
	domain    string
	id        string // of the first record with an id whose domain matches its URL
	authority string // of the first record with an authority
	sent      bool   // in a message, so that id and authority are fixed
	pattern   pattern
	entries   chain // in the order of the file
	urls      int   // number of URLs
	size      int   // bytes of the URLs as JSON array
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
	overlong      bool // a domain has maxWaiting

	blocks       blocks
	seen         seen
	descriptions descriptions
	tables       int // bytes of domains and hosts
	escaped      []byte
	entry        []byte
}

// start begins a file of a partition of country.
func (g *groups) start(country string) {
	if g.limit == 0 {
		g.limit = maxBuffered
	}
	g.country, g.disagreements = country, 0
	g.forgetDomains()
	g.descriptions.start()
}

// full reports whether it is time to send a part. Domains count half, because their messages cost as much however few
// URLs they have.
func (g *groups) full() bool { return g.overlong || g.blocks.taken*blockSize+g.tables/2 > g.limit }

// due returns the domains to send: at the end of the file all, and when the groups are full those with the most URLs,
// an eighth of the memory. Where domains take turns in a file, a message has almost twice as many URLs then as if all
// domains were sent at once.
func (g *groups) due(last bool) iter.Seq[*group] {
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
	d.urls, d.size = 0, 0
}

func (g *groups) forgetDomains() {
	clear(g.list)
	g.list, g.problems = g.list[:0], g.problems[:0]
	g.byDomain = map[string]int32{}
	g.byAuthority.reset()
	g.tables, g.counted, g.overlong = 0, 0, false
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
	i, ok := g.byAuthority.find(split.authority)
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
	if !g.seen.add(u) {
		return false, ""
	}
	g.append(d, u, &split, r)
	return true, ""
}

// append adds a URL to a group.
func (g *groups) append(d *group, u []byte, split *parts, r *dataset.Record) {
	title := r.JSON(dataset.Title)
	if title == nil {
		title = noTitle
	}
	if d.pattern.text == "" {
		d.pattern = newPattern(u, title, split)
		g.tables += len(d.pattern.text)
	}
	g.descriptions.of(r)
	g.entry = appendEntry(g.entry[:0], &d.pattern, &g.descriptions, u, title, split)
	g.blocks.append(&d.entries, g.entry)
	d.urls++
	d.size += len(",") + sizeOf(&g.descriptions, u, title, split)
	if d.urls == 1 {
		d.size += len("[]") - len(",")
	}
	g.overlong = g.overlong || d.size >= maxWaiting
}

// lookUp finds the group of an authority that is new in the file.
func (g *groups) lookUp(authority []byte) int32 {
	g.tables += hostCost + len(authority)
	domain, why := registrable(authority)
	if why != "" {
		n := slices.Index(g.problems, why)
		if n < 0 {
			n = len(g.problems)
			g.problems = append(g.problems, why)
		}
		g.byAuthority.add(authority, ^int32(n))
		return ^int32(n)
	}
	i, ok := g.byDomain[domain]
	if !ok {
		i = int32(len(g.list))
		g.list = append(g.list, group{domain: domain})
		g.byDomain[domain] = i
		g.tables += domainCost + len(domain)
	}
	g.byAuthority.add(authority, i)
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
	return entryReader{g.blocks.read(d.entries), &d.pattern, g.descriptions.first}
}

// appendURLs appends the URLs of a group, which is not empty, as a JSON array.
func (g *groups) appendURLs(b []byte, d *group) []byte {
	b = append(b, '[')
	r := g.read(d)
	for range d.urls {
		b = append(r.appendJSON(b), ',')
	}
	b[len(b)-1] = ']'
	return b
}

// appendFirstURL appends the first URL of a group, JSON-escaped.
func (g *groups) appendFirstURL(b []byte, d *group) []byte {
	r := g.read(d)
	_, b = r.appendURL(b)
	return b
}
