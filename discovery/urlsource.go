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

// urlSource holds the statements of feeds and sitemaps about a URL besides date and title. Their order does not
// matter.
type urlSource struct {
	raw      string // the URL as it stands in those places, the first form in alphabetical order; "" for the canonical one
	language string // of the page, by the place with the best method; "" where no place says it
	rank     uint8  // of that method
}

// maxURLSources caps the URLs that keep their source: those that some place writes in another form than the canonical
// one, or with a language. The lowest keys stay.
const maxURLSources = 500

// hear notes what a place says of the URL of a.buf, which has the key.
func (a *Analyser) hear(key uint64, r *record, s *Sighting) {
	plain := swar.Equal(s.Loc, a.buf)
	if r.plain = r.plain || plain; plain && s.Language == "" && len(a.urlSources) == 0 {
		return
	}
	tag := languageTag(s.Language)
	old, known := a.urlSources[key]
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
	if a.urlSources == nil {
		a.urlSources = map[uint64]urlSource{}
	}
	if a.urlSources[key] = now; len(a.urlSources) == 2*maxURLSources {
		a.trimSaid()
	}
}

func (a *Analyser) trimSaid() {
	if len(a.urlSources) <= maxURLSources {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(a.urlSources))[maxURLSources:] {
		delete(a.urlSources, key)
	}
}

// storeURLSources stores what was said of URLs: the keys of one language as differences, since most pages of a site share it.
// URLs of which nothing is left to say, as some place has them in their canonical form, are those of language "".
func (a *Analyser) storeURLSources(s *State) {
	a.trimSaid()
	last := map[string]uint64{}
	for _, key := range slices.Sorted(maps.Keys(a.urlSources)) {
		o := a.urlSources[key]
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

// restoreSaid reads what storeURLSources wrote, and reports whether it is that.
func (a *Analyser) restoreSaid(s *State) bool {
	a.urlSources = map[uint64]urlSource{}
	for _, r := range s.Raw {
		a.urlSources[r.Key] = urlSource{raw: r.Text}
		if seen := a.seen.find(r.Key); seen != nil {
			seen.plain = false
		}
	}
	for by, keys := range s.Languages {
		for key := uint64(0); len(keys) > 0; {
			delta, n := binary.Uvarint(keys)
			if n <= 0 || by == "" || len(a.urlSources) > 2*maxURLSources {
				return false
			}
			key, keys = key+delta, keys[n:]
			a.urlSources[key] = urlSource{a.urlSources[key].raw, by[1:], by[0] - '0'}
		}
	}
	return len(a.urlSources) <= maxURLSources
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
