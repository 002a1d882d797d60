package shard

import (
	"strings"

	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/urlword"
)

// A section of a host may be a trap of which no URL looks like one: each of its pages links to others without end. If
// scrapers found more URLs of it than Settings.SectionLimit, further ones are refused as a trap, but for one a day. A
// section is no trap if the site lists a page of it, if a page of it says when it was published, or if operators say
// so. URLs with a date are not counted.

// maxSectionName caps the name of a section, in bytes. Longer ones are cut.
const maxSectionName = 64

// sectionOf returns the section of a path: its first directory, with the language before it, or the program of a path
// with a query. It is "" for pages on the first level, which are those of many sites.
func sectionOf(path string) string {
	path, query, hasQuery := strings.Cut(path, "?")
	name, rest, below := strings.Cut(path, "/")
	if below && urlword.IsLanguage(name) {
		if inner, _, deeper := strings.Cut(rest, "/"); deeper || hasQuery && query != "" {
			name += "/" + inner
		} else {
			return ""
		}
	}
	if !below && query == "" {
		return ""
	}
	return cut(name, maxSectionName)
}

// isEndless reports whether to refuse a new URL because too many of its section were found.
func isEndless(c *call, h *store.Host, path string) bool {
	if len(h.Sections) == 0 {
		return false
	}
	s := h.Sections.Find(sectionOf(path))
	if s == nil || s.Vouched || s.Found < c.settings.SectionLimit {
		return false
	}
	if c.today()-s.Probed >= probeAfter {
		s.Probed = c.today()
		h.Change()
		return false
	}
	return true
}

// countFound counts a new URL without a date that a scraper found.
func countFound(h *store.Host, path string) {
	if name := sectionOf(path); name != "" {
		h.Sections.Count(name)
		h.Change()
	}
}

// vouch notes that the section of a path is no trap.
func vouch(h *store.Host, path string) {
	if len(h.Sections) > 0 && h.Sections.Vouch(sectionOf(path)) {
		h.Change()
	}
}

// trapped counts a URL that is refused as a trap, with the last as an example.
func trapped(h *store.Host, l link.URL) {
	h.Traps++
	h.TrapExample = cut(l.String(), maxTrapExample)
	h.Change()
}

// maxTrapExample caps the example of a host's traps, in bytes.
const maxTrapExample = 300

// forgetTraps takes what was a trap for none: sections for good, patterns until their pages are copies again.
func forgetTraps(h *store.Host) {
	h.Traps, h.TrapExample = 0, ""
	for i := range h.Sections {
		h.Sections[i].Vouched = true
	}
	for i := range h.Patterns {
		h.Patterns[i].Copied = 0
	}
}
