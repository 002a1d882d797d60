package store

import (
	"slices"
)

// TypeNames are the content types by their numbers, which are stored: append only, at most maxTypes.
var TypeNames = []string{
	"unknown", "news", "press_release", "faq", "policy", "guide", "announcement", "legislation", "regulation",
	"statistics", "report", "publication", "event", "service", "contact", "about", "archive", "search",
	"multimedia", "download", "form", "calendar", "directory",
}

const maxTypes = 32

// TypeNumber returns the number of a type, or that of "unknown" for any other name.
func TypeNumber(name string) uint8 {
	return uint8(max(slices.Index(TypeNames, name), 0))
}

// TypeName returns the name of a type, or "unknown" for a number without one.
func TypeName(number uint8) string {
	if int(number) < len(TypeNames) {
		return TypeNames[number]
	}
	return TypeNames[0]
}

// allTypes is the set of all types.
const allTypes = 1<<maxTypes - 1

// PageClass returns the class of one of the host's pages.
func (h *Host) PageClass(p *Page) hostClass {
	if int(p.Class) < len(h.classes) {
		return h.classes[p.Class]
	}
	return hostClass{}
}
