package discovery

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/newsfork/seed-engine/swar"
)

// urlSource holds the statements of feeds and sitemaps about a URL besides date and title. It does not depend on their
// order.
type urlSource struct {
	// the URL as they write it, the first form in alphabetical order; "" if one writes the canonical form
	raw      string
	language string // of the page, from the source with the best method; "" if none states it
	rank     uint8  // of that method
}

// maxURLSources caps the URLs that have an entry: those never written in canonical form, or with a language. The
// lowest keys stay.
const maxURLSources = 500

// urlSources has the entries by keyOf the URL.
type urlSources map[uint64]urlSource

// add records a sighting of a URL, which is also given in canonical form and by its key.
func (u *urlSources) add(canonical []byte, key uint64, r *record, s *Sighting) {
	plain := swar.Equal(s.Loc, canonical)
	if r.plain = r.plain || plain; plain && s.Language == "" && len(*u) == 0 {
		return
	}
	tag := languageTag(s.Language)
	old, known := (*u)[key]
	if !known && plain && tag == "" {
		return
	}
	now := old
	switch {
	case r.plain:
		now.raw = ""
	case now.raw == "" || string(s.Loc) < now.raw:
		now.raw = string(s.Loc)
	}
	if tag != "" && cmp.Or(int(now.rank)-int(rankOf(s.Method)), strings.Compare(tag, now.language)) < 0 {
		now.language, now.rank = strings.Clone(tag), rankOf(s.Method)
	}
	if known && now == old {
		return
	}
	if *u == nil {
		*u = urlSources{}
	}
	if (*u)[key] = now; len(*u) == 2*maxURLSources {
		u.trim()
	}
}

// trim drops the highest keys beyond maxURLSources.
func (u *urlSources) trim() {
	if len(*u) <= maxURLSources {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(*u))[maxURLSources:] {
		delete(*u, key)
	}
}

// store adds the entries to a state. It stores the keys of each language as differences, since most pages of a site
// share a language.
func (u *urlSources) store(s *State) {
	u.trim()
	last := map[string]uint64{}
	for _, key := range slices.Sorted(maps.Keys(*u)) {
		o := (*u)[key]
		if o.raw != "" {
			s.Raw = append(s.Raw, StateTitle{Key: key, Text: o.raw})
		}
		if o.language == "" && o.raw != "" {
			continue
		}
		if s.Languages == nil {
			s.Languages = map[string][]byte{}
		}
		by := strconv.Itoa(int(o.rank)) + o.language
		s.Languages[by] = binary.AppendUvarint(s.Languages[by], key-last[by])
		last[by] = key
	}
}

// restore reads the sources of a state, and reports whether they are valid.
func (u *urlSources) restore(s *State, known *seen) bool {
	*u = urlSources{}
	for _, r := range s.Raw {
		(*u)[r.Key] = urlSource{raw: r.Text}
		if seen := known.find(r.Key); seen != nil {
			seen.plain = false
		}
	}
	for by, keys := range s.Languages {
		for key := uint64(0); len(keys) > 0; {
			delta, n := binary.Uvarint(keys)
			if n <= 0 || by == "" || len(*u) > 2*maxURLSources {
				return false
			}
			key, keys = key+delta, keys[n:]
			(*u)[key] = urlSource{(*u)[key].raw, by[1:], by[0] - '0'}
		}
	}
	return len(*u) <= maxURLSources
}

// maxLanguage is the maximum length of a language tag, with some reserve: "zh-hant-tw" is a long one.
const maxLanguage = 16

// languageTag returns a language tag (RFC 5646) in lower case, or "" for anything else.
func languageTag(tag string) string {
	if len(tag) < 2 || len(tag) > maxLanguage {
		return ""
	}
	for i := range len(tag) {
		if c := tag[i]; !isLetter(c) && (i < 2 || !isDigit(c) && c != '-' && c != '_') {
			return ""
		}
	}
	return strings.ReplaceAll(strings.ToLower(tag), "_", "-")
}

// language returns the language in the path of a page, as in "/ko/news", or "".
func (p *page) language() string {
	for i := range p.parts() {
		if p.kinds[i] == langKind {
			return languageTag(p.segments[i])
		}
	}
	return ""
}
