package store

import (
	"slices"
)

// types are the content types by their numbers, which are stored: append only, at most maxTypes.
var TypeNames = []string{
	"unknown", "news", "press_release", "faq", "policy", "guide", "announcement", "legislation", "regulation",
	"statistics", "report", "publication", "event", "service", "contact", "about", "archive", "search",
	"multimedia", "download", "form", "calendar", "directory",
}

const maxTypes = 32

// TypeNumber returns the number of a type; what is not one counts as unknown.
func TypeNumber(name string) uint8 {
	return uint8(max(slices.Index(TypeNames, name), 0))
}

func TypeName(number uint8) string {
	if int(number) < len(TypeNames) {
		return TypeNames[number]
	}
	return TypeNames[0]
}

const allTypes = 1<<maxTypes - 1

func (h *Host) PageClass(p *Page) hostClass {
	if int(p.Class) < len(h.classes) {
		return h.classes[p.Class]
	}
	return hostClass{}
}
