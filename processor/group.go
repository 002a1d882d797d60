package processor

import (
	"runtime"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/dataset"
	"github.com/newsfork/seed-engine/markup"
	"github.com/tidwall/gjson"
)

const (
	maxBuffered = 12 << 20 // bytes of URLs that are sent as a part; domains count half

	// Rough bytes of a domain and of a host besides their names.
	domainCost = 256
	hostCost   = 64
)

func init() { gjson.SetEscapeHTML(false) } // messages are not HTML

// group is one registrable domain of the file.
type group struct {
	domain    string
	id        string // of the first record with an id whose domain matches its URL
	authority string // of the first record with an authority
	sent      bool   // in a part, so that id and authority are fixed
	head      ref    // its URLs, in the order of the file
	tail      ref
	urls      int // number of URLs
	size      int // bytes of the URLs as JSON array
}

// groups collects the URLs of a file, or of a part of it, by registrable domain.
type groups struct {
	limit         int // see maxBuffered
	country       string
	list          []group          // in the order of the file
	byDomain      map[string]int32 // index in list
	byAuthority   hosts            // index in list, or ^index in problems
	problems      []problem        // without repetition
	counted       int              // domains that newDomains has counted
	disagreements int

	entries entries
	tables  int // bytes of domains and hosts
	escaped []byte
}

// start begins a file of a partition of country.
func (g *groups) start(country string) {
	if g.limit == 0 {
		g.limit = maxBuffered
	}
	g.country, g.disagreements = country, 0
	g.forgetDomains()
	g.forgetURLs()
}

// full reports whether it is time to send a part. Domains count half, because their messages cost as much however few
// URLs they have.
func (g *groups) full() bool { return g.entries.memory+g.tables/2 > g.limit }

// forgetURLs removes the URLs after they were sent. The domains stay, so that every part describes them alike and
// looks none up again, unless they take too much memory.
func (g *groups) forgetURLs() {
	if g.tables > g.limit/3*2 {
		g.forgetDomains()
	}
	for i := range g.list {
		g.list[i].urls, g.list[i].size = 0, 0
	}
	g.entries.reset()
}

func (g *groups) forgetDomains() {
	clear(g.list)
	g.list, g.problems = g.list[:0], g.problems[:0]
	g.byDomain = map[string]int32{}
	g.byAuthority.reset()
	g.tables, g.counted = 0, 0
}

// release ends a file. The next file reuses small buffers. Large ones are freed at once: a WASM instance never
// shrinks, so they must be free before anything else is allocated.
func (g *groups) release() {
	g.forgetDomains()
	g.forgetURLs()
	if g.entries.release() {
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
	entry, size, added := g.entries.add(u, split, r)
	if !added {
		return false, ""
	}
	if d.urls == 0 {
		d.head = entry
		d.size = len("[]")
	} else {
		g.entries.link(d.tail, entry)
		d.size += len(",")
	}
	d.tail = entry
	d.urls++
	d.size += size
	return true, ""
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

// appendURLs appends the URLs of a group, which is not empty, as a JSON array.
func (g *groups) appendURLs(b []byte, d *group) []byte {
	b = append(b, '[')
	for e := range g.entries.chain(d.head, d.urls) {
		b = append(g.entries.appendEntry(b, e), ',')
	}
	b[len(b)-1] = ']'
	return b
}

// firstURL returns the first URL of a group, JSON-escaped.
func (g *groups) firstURL(d *group) []byte { return urlOf(g.entries.at(d.head)) }
