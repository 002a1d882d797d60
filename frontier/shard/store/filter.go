package store

// Filter selects pages by their types and classes.
type Filter struct {
	types   uint32         // any of these
	classes map[int64]bool // any of these classes and sets of classes; nil: all
	all     bool           // there is nothing to check
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

// All reports whether the filter selects all pages.
func (f *Filter) All() bool { return f.all }

// Nothing reports whether no page can be selected, whatever the shard has.
func (f *Filter) Nothing() bool { return f.classes != nil && len(f.classes) == 0 }

// Page reports whether a page of a host is selected.
func (f *Filter) Page(h *Host, p *Page) bool {
	return f.all || p.Types()&f.types != 0 && (f.classes == nil || f.classes[h.PageClass(p).ID])
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
