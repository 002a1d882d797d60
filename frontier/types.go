package frontier

import (
	"slices"

	"github.com/newsfork/seed-engine/contract"
)

// types are the content types by their numbers, which are stored: append only, at most maxTypes.
var types = []string{
	"unknown", "news", "press_release", "faq", "policy", "guide", "announcement", "legislation", "regulation",
	"statistics", "report", "publication", "event", "service", "contact", "about", "archive", "search",
	"multimedia", "download", "form", "calendar", "directory",
}

const maxTypes = 32

// typeNumber gives the number of a type; what is not one counts as unknown.
func typeNumber(name string) uint8 {
	return uint8(max(slices.Index(types, name), 0))
}

func typeName(number uint8) string {
	if int(number) < len(types) {
		return types[number]
	}
	return types[0]
}

// filter is what a lease wants.
type filter struct {
	types   uint32         // any of these
	classes map[int64]bool // any of these; nil: all
	all     bool           // there is nothing to check
}

const allTypes = 1<<maxTypes - 1

func (c *call) filter(r *LeaseRequest) (*filter, error) {
	f := &filter{types: allTypes, all: true}
	for i, name := range r.Types {
		n := slices.Index(types, name)
		if n < 0 {
			return nil, contract.Invalid("types", "%.80q (%d) is not a content type; send types such as %q", name, i, types[1])
		}
		if f.all {
			f.types, f.all = 0, false
		}
		f.types |= 1 << n
	}
	if r.Country == "" && r.Category == "" {
		return f, nil
	}
	f.all = false
	f.classes = map[int64]bool{}
	for i, class := range c.state.classes {
		if (r.Country == "" || r.Country == class.Country) && (r.Category == "" || r.Category == class.Category) {
			f.classes[int64(i+1)] = true
		}
	}
	return f, nil
}

// pointer reports whether the host of a pointer may have what is wanted.
func (f *filter) pointer(p pointer) bool {
	return f.all || p.types&f.types != 0 && (f.classes == nil || p.class == 0 || f.classes[p.class])
}

// page reports whether a page of a host is wanted.
func (f *filter) page(h *host, p *page) bool {
	return f.all || p.types()&f.types != 0 && (f.classes == nil || f.classes[h.pageClass(p).id])
}

func (h *host) pageClass(p *page) hostClass {
	if int(p.class) < len(h.classes) {
		return h.classes[p.class]
	}
	return hostClass{}
}
