package store

import "github.com/newsfork/seed-engine/epoch"

// Filter selects pages by their types and classes.
type Filter struct {
	types   uint32         // any of these
	classes map[int64]bool // any of these classes and sets of classes; nil: all
	all     bool           // there is nothing to check
	least   int            // score at now, in thousandths
	now     epoch.Seconds
}

// Filter returns the filter for types, a bit each, and for a country and category. Zero values select all.
func (s *State) Filter(types uint32, country, category string) *Filter {
	f := &Filter{types: types, all: types == 0 && country == "" && category == ""}
	if types == 0 {
		f.types = allTypes
	}
	if country == "" && category == "" {
		return f
	}
	f.classes = map[int64]bool{}
	for i, class := range s.Classes {
		if (country == "" || country == class.Country) && (category == "" || category == class.Category) {
			f.classes[int64(i+1)] = true
		}
	}
	for _, id := range s.setsWith(f.classes) {
		f.classes[id] = true
	}
	return f
}

// AtLeast selects only pages that have a score of at least some thousandths at now.
func (f *Filter) AtLeast(score int, now epoch.Seconds) {
	f.least, f.now, f.all = score, now, f.all && score <= 0
}

// Lanes returns the lanes of new pages that may have what is selected: scores only fall.
func (f *Filter) Lanes() []int {
	lanes := make([]int, bandOf(f.least)+1)
	for i := range lanes {
		lanes[i] = i
	}
	return lanes
}

// segment reports whether a segment may have pages that are selected.
func (f *Filter) segment(s *segment, classes uint16) bool {
	if s.types&f.types == 0 || s.classes != 0 && s.classes&classes == 0 {
		return false
	}
	left := s.region[waiting].left
	for band := range bandOf(f.least) + 1 {
		left += s.region[band].left
	}
	return left > 0
}

// All reports whether the filter selects all pages.
func (f *Filter) All() bool { return f.all }

// Nothing reports whether no page can be selected, whatever the shard has.
func (f *Filter) Nothing() bool { return f.classes != nil && len(f.classes) == 0 }

// Page reports whether a page of a host is selected.
func (f *Filter) Page(h *Host, p *Page) bool {
	return f.all || p.Types()&f.types != 0 && (f.classes == nil || f.classes[h.PageClass(p).ID]) &&
		(f.least <= 0 || p.Score(f.now) >= f.least)
}

// Item reports whether an item of the feed is selected.
func (f *Filter) Item(i *FeedItem) bool {
	return f.types&(1<<i.Kind) != 0 && (f.classes == nil || f.classes[i.Class])
}

// class reports whether pages of a class may be selected.
func (f *Filter) class(id int64) bool { return f.classes == nil || f.classes[id] }

// pointer reports whether the host of a pointer may have pages that are selected.
func (f *Filter) pointer(p pointer) bool {
	return f.all || p.Types&f.types != 0 && (f.classes == nil || p.Class == 0 || f.classes[p.Class])
}
