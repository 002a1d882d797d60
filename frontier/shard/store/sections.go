package store

import "slices"

// Section counts the URLs of a part of a host that scrapers found, and that have no date.
type Section struct {
	Name    string // first segments of the paths
	Found   int64
	Vouched bool  // the site lists pages of it, one says when it was published, or operators said that it is no trap
	Probed  int64 // day of the last page that was taken beyond the limit, since 1970
}

// Sections are those of a host of which most URLs were found.
type Sections []Section

const maxSections = 16

// Find returns the section with a name, nil if nothing of it was found.
func (l Sections) Find(name string) *Section {
	for i := range l {
		if l[i].Name == name {
			return &l[i]
		}
	}
	return nil
}

// Count counts a URL that was found. If there are too many sections, the one with the fewest is forgotten.
func (l *Sections) Count(name string) {
	s := l.Find(name)
	if s == nil {
		if len(*l) >= maxSections {
			least := 0
			for i := range *l {
				if (*l)[i].Found < (*l)[least].Found {
					least = i
				}
			}
			*l = slices.Delete(*l, least, least+1)
		}
		*l = append(*l, Section{Name: name})
		s = &(*l)[len(*l)-1]
	}
	s.Found++
}

// Vouch notes that a section is no trap. It reports whether that is news.
func (l Sections) Vouch(name string) bool {
	s := l.Find(name)
	if s == nil || s.Vouched {
		return false
	}
	s.Vouched = true
	return true
}

func (l Sections) append(b []byte) []byte {
	b = appendUint(b, int64(len(l)))
	for i := range l {
		s := &l[i]
		vouched := int64(0)
		if s.Vouched {
			vouched = 1
		}
		b = appendUint(appendUint(appendString(b, s.Name), s.Found<<1|vouched), s.Probed)
	}
	return b
}

func (d *decoder) sections() (l Sections) {
	for range d.count(3) {
		s := Section{Name: d.string()}
		n := d.int()
		s.Found, s.Vouched, s.Probed = n>>1, n&1 == 1, d.int()
		l = append(l, s)
	}
	return l
}
