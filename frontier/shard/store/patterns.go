package store

import (
	"slices"

	"github.com/newsfork/seed-engine/epoch"
)

// Texts are those that the last pages of a host showed, the latest last.
type Texts []seenText

// seenText is the text of a page: the first bits of its digest, and the hash of its path.
type seenText struct {
	digest uint32
	page   uint64
}

const maxTexts = 16

// Saw notes the text of a page, and reports whether another page showed it before.
func (t *Texts) Saw(page uint64, digest uint32) (copied bool) {
	if digest == 0 {
		return false
	}
	list := slices.DeleteFunc(*t, func(s seenText) bool { return s.page == page && s.digest != digest })
	at := slices.IndexFunc(list, func(s seenText) bool { return s.digest == digest })
	seen := seenText{digest, page}
	if at >= 0 {
		seen = list[at]
		list = slices.Delete(list, at, at+1)
	}
	if list = append(list, seen); len(list) > maxTexts {
		list = slices.Delete(list, 0, 1)
	}
	*t = list
	return seen.page != page
}

// Own notes that a text belongs to a page, whichever page showed it before.
func (t *Texts) Own(page uint64, digest uint32) {
	if digest == 0 {
		return
	}
	*t = slices.DeleteFunc(*t, func(s seenText) bool { return s.digest == digest })
	t.Saw(page, digest)
}

// Copies are the pages of a host that scrapers called copies of other pages of it, the latest last.
type Copies []copyOf

// copyOf is a page and its original, by the hashes of their paths.
type copyOf struct{ page, original uint64 }

const maxCopies = 16

// Add notes that a page is a copy of another one. It reports false, and notes nothing, if that one is a copy of the
// page, or of another copy of it: one of them is looked at again.
func (c *Copies) Add(page, original uint64) bool {
	for at := original; at != page; {
		i := slices.IndexFunc(*c, func(k copyOf) bool { return k.page == at })
		if i < 0 {
			c.Remove(page)
			if *c = append(*c, copyOf{page, original}); len(*c) > maxCopies {
				*c = slices.Delete(*c, 0, 1)
			}
			return true
		}
		at = (*c)[i].original
	}
	return false
}

// Remove notes that a page is no copy.
func (c *Copies) Remove(page uint64) {
	*c = slices.DeleteFunc(*c, func(k copyOf) bool { return k.page == page })
}

func (c Copies) append(b []byte) []byte {
	b = appendUint(b, int64(len(c)))
	for _, k := range c {
		b = appendHash(appendHash(b, k.page), k.original)
	}
	return b
}

func (d *decoder) copies() (c Copies) {
	for range d.count(2 * hashBytes) {
		c.Add(d.hash(), d.hash())
	}
	return c
}

// Pattern counts what scrapers saw of the pages of a host whose paths are alike. All counts are halved when they grow
// large, so that old observations count less.
type Pattern struct {
	Name    string
	Given   int64 // to scrapers, though they were not fetched yet
	Fetched int64 // for the first time, as far as that is known
	Gone    int64 // refused, or not there
	Copied  int64 // of the fetched: another page of the host shows the same text
	Dated   int64 // of the fetched: the site said when they were published
	Delay   int64 // minutes from then until they were fetched, about the median
	Looks   int64 // fetches that tell whether a page has changed since the one before
	Changes int64
	Between int64 // minutes between those fetches, in all
	Day     int64 // when one was given, since 1970
	Closed  int64 // of the fetched, and no copies: a login or a paywall stood before the content
	Probed  int64 // day of the last copy, or of a page that was tried though it might be another
}

// Patterns are those of the pages that were given last.
type Patterns []Pattern

const (
	maxPatterns     = 48
	maxPatternSeen  = 200
	maxPatternLooks = 2000
)

// Find returns the pattern with a name, nil if nothing is known of it.
func (l Patterns) Find(name string) *Pattern {
	for i := range l {
		if l[i].Name == name {
			return &l[i]
		}
	}
	return nil
}

// Give counts a page that is given to a scraper.
func (l *Patterns) Give(name string, day int64) {
	p := l.Find(name)
	if p == nil {
		if len(*l) >= maxPatterns {
			*l = slices.Delete(*l, 0, 1)
		}
		*l = append(*l, Pattern{Name: name})
		p = &(*l)[len(*l)-1]
	} else if p.Day != day { // the last one is the last to be dropped
		at := slices.Index(*l, *p)
		moved := *p
		*l = append(slices.Delete(*l, at, at+1), moved)
		p = &(*l)[len(*l)-1]
	}
	p.Given++
	p.Day = day
	if p.Given > 2*maxPatternSeen {
		p.halve()
	}
}

// Fetch counts a page that was fetched for the first time. after is the time since it was published, negative if that
// is unknown.
func (p *Pattern) Fetch(after epoch.Seconds) {
	p.Fetched++
	if after >= 0 {
		p.Dated++
		p.Delay = nearer(p.Delay, int64(after/60), p.Dated)
	}
	if p.Fetched > maxPatternSeen {
		p.halve()
	}
}

// nearer returns the estimate of a median after a value, the n-th: each moves it by a tenth, the first ones by more.
func nearer(median, value, n int64) int64 {
	step := max(median/10, (max(value, median)-min(value, median))/max(n, 1), 1)
	switch {
	case value > median:
		return min(median+step, value)
	case value < median:
		return max(median-step, value)
	}
	return median
}

// Look counts a fetch that tells whether a page has changed since the one before.
func (p *Pattern) Look(since epoch.Seconds, changed bool) {
	p.Looks++
	p.Between += int64(max(since, 0) / 60)
	if changed {
		p.Changes++
	}
	if p.Looks > maxPatternLooks {
		p.Looks, p.Changes, p.Between = p.Looks/2, p.Changes/2, p.Between/2
	}
}

func (p *Pattern) halve() {
	for _, n := range [...]*int64{&p.Given, &p.Fetched, &p.Gone, &p.Copied, &p.Closed, &p.Dated} {
		*n /= 2
	}
}

func (p *Pattern) numbers() []*int64 {
	return []*int64{&p.Given, &p.Fetched, &p.Gone, &p.Copied, &p.Dated, &p.Delay, &p.Looks, &p.Changes, &p.Between,
		&p.Day,
		&p.Probed}
}

func (t Texts) append(b []byte) []byte {
	b = appendUint(b, int64(len(t)))
	for _, s := range t {
		b = appendHash(append(b, byte(s.digest>>24), byte(s.digest>>16), byte(s.digest>>8), byte(s.digest)), s.page)
	}
	return b
}

func (d *decoder) texts() (t Texts) {
	for range d.count(4 + hashBytes) {
		var s seenText
		for range 4 {
			s.digest = s.digest<<8 | uint32(d.byte())
		}
		s.page = d.hash()
		t = append(t, s)
	}
	return t
}

func (l Patterns) append(b []byte) []byte {
	b = appendUint(b, int64(len(l)))
	for i := range l {
		b = appendString(b, l[i].Name)
		for _, n := range l[i].numbers() {
			b = appendUint(b, *n)
		}
	}
	return b
}

// appendClosed packs the counts of Closed, by name, which earlier versions do not have.
func (l Patterns) appendClosed(b []byte) []byte {
	var n int64
	for i := range l {
		if l[i].Closed > 0 {
			n++
		}
	}
	b = appendUint(b, n)
	for i := range l {
		if l[i].Closed > 0 {
			b = appendUint(appendString(b, l[i].Name), l[i].Closed)
		}
	}
	return b
}

// closed unpacks what appendClosed packed.
func (d *decoder) closed(l Patterns) {
	for range d.count(2) {
		name, n := d.string(), d.int()
		if p := l.Find(name); p != nil {
			p.Closed = n
		}
	}
}

func (d *decoder) patterns() (l Patterns) {
	for range d.count(1 + len((&Pattern{}).numbers())) {
		p := Pattern{Name: d.string()}
		for _, n := range p.numbers() {
			*n = d.int()
		}
		l = append(l, p)
	}
	return l
}
