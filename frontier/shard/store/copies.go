package store

import "slices"

// Copies is what a host remembers of texts that several of its pages show: of each pattern of paths how much of what
// was fetched were copies.
type Copies struct {
	texts    []seenText // the latest last
	Patterns []Pattern
}

// seenText is the text of a page: the first bits of its digest, and the hash of its path.
type seenText struct {
	digest uint32
	page   uint64
}

// Pattern counts pages whose paths are alike, since the first copy among them.
type Pattern struct {
	Name    string
	Fetched int64
	Copied  int64
	Day     int64 // of the last copy or probe, since 1970
}

const (
	maxTexts       = 16
	maxPatterns    = 8
	maxPatternName = 60
)

// Saw notes the text of a page that was fetched, or that it is a copy (copied) as the scraper says. It reports whether
// another page showed the text before.
func (c *Copies) Saw(page uint64, digest uint32, pattern string, copied bool, day int64) bool {
	if digest != 0 {
		c.texts = slices.DeleteFunc(c.texts, func(s seenText) bool { return s.page == page && s.digest != digest })
		at := slices.IndexFunc(c.texts, func(s seenText) bool { return s.digest == digest })
		seen := seenText{digest, page}
		if at >= 0 {
			seen = c.texts[at]
			copied = copied || seen.page != page
			c.texts = slices.Delete(c.texts, at, at+1)
		}
		if c.texts = append(c.texts, seen); len(c.texts) > maxTexts {
			c.texts = slices.Delete(c.texts, 0, 1)
		}
	}
	at := c.find(pattern)
	switch {
	case at < 0 && !copied:
		return false
	case at < 0:
		if len(c.Patterns) >= maxPatterns {
			oldest := 0
			for i := range c.Patterns {
				if c.Patterns[i].Day < c.Patterns[oldest].Day {
					oldest = i
				}
			}
			c.Patterns = slices.Delete(c.Patterns, oldest, oldest+1)
		}
		c.Patterns = append(c.Patterns, Pattern{Name: shortPattern(pattern)})
		at = len(c.Patterns) - 1
	}
	p := &c.Patterns[at]
	p.Fetched++
	if copied {
		p.Copied++
		p.Day = day
	}
	if p.Fetched > 200 { // what was long ago counts less
		p.Fetched, p.Copied = p.Fetched/2, p.Copied/2
	}
	return copied
}

// Pattern returns the counts of a pattern; zero if it has no copies.
func (c *Copies) Pattern(name string) Pattern {
	if at := c.find(name); at >= 0 {
		return c.Patterns[at]
	}
	return Pattern{}
}

// Probe notes that a page of a pattern is tried though it may be another copy.
func (c *Copies) Probe(pattern string, day int64) {
	if at := c.find(pattern); at >= 0 {
		c.Patterns[at].Day = day
	}
}

// Forget drops the counts of a pattern.
func (c *Copies) Forget(pattern string) {
	if at := c.find(pattern); at >= 0 {
		c.Patterns = slices.Delete(c.Patterns, at, at+1)
	}
}

func (c *Copies) find(name string) int {
	if len(c.Patterns) == 0 {
		return -1
	}
	name = shortPattern(name)
	return slices.IndexFunc(c.Patterns, func(p Pattern) bool { return p.Name == name })
}

func shortPattern(name string) string { return name[:min(len(name), maxPatternName)] }

func (c *Copies) append(b []byte) []byte {
	b = appendUint(b, int64(len(c.texts)))
	for _, s := range c.texts {
		b = appendHash(append(b, byte(s.digest>>24), byte(s.digest>>16), byte(s.digest>>8), byte(s.digest)), s.page)
	}
	b = appendUint(b, int64(len(c.Patterns)))
	for i := range c.Patterns {
		p := &c.Patterns[i]
		b = appendString(b, p.Name)
		for _, v := range [...]int64{p.Fetched, p.Copied, p.Day} {
			b = appendUint(b, v)
		}
	}
	return b
}

func (d *decoder) copies() (c Copies) {
	for range d.count(4 + hashBytes) {
		var s seenText
		for range 4 {
			s.digest = s.digest<<8 | uint32(d.byte())
		}
		s.page = d.hash()
		c.texts = append(c.texts, s)
	}
	for range d.count(4) {
		c.Patterns = append(c.Patterns, Pattern{d.string(), d.int(), d.int(), d.int()})
	}
	return c
}
