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

// said is what the places that list a URL say of it beside its date and title. Their order does not matter.
type said struct {
	raw      string // the URL as it stands in those places, the first form in alphabetical order; "" for the canonical one
	language string // of the page, by the place with the best method; "" where no place says it
	rank     uint8  // of that method
}

// maxSaid is of how many URLs that is kept: of those that some place has in another form than the canonical one, or with a
// language. When there are more, those of the lowest keys stay.
const maxSaid = 500

// hear notes what a place says of the URL of a.buf, which has the key.
func (a *Analyser) hear(key uint64, r *record, s *Sighting) {
	plain := swar.Equal(s.Loc, a.buf)
	if r.plain = r.plain || plain; plain && s.Language == "" && len(a.said) == 0 {
		return
	}
	tag := languageTag(s.Language)
	old, known := a.said[key]
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
	if a.said == nil {
		a.said = map[uint64]said{}
	}
	if a.said[key] = now; len(a.said) == 2*maxSaid {
		a.trimSaid()
	}
}

func (a *Analyser) trimSaid() {
	if len(a.said) <= maxSaid {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(a.said))[maxSaid:] {
		delete(a.said, key)
	}
}

// storeSaid stores what was said of URLs: the keys of one language as differences, since most pages of a site share it.
// URLs of which nothing is left to say, as some place has them in their canonical form, are those of language "".
func (a *Analyser) storeSaid(s *State) {
	a.trimSaid()
	last := map[string]uint64{}
	for _, key := range slices.Sorted(maps.Keys(a.said)) {
		o := a.said[key]
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

// restoreSaid reads what storeSaid wrote, and reports whether it is that.
func (a *Analyser) restoreSaid(s *State) bool {
	a.said = map[uint64]said{}
	for _, r := range s.Raw {
		a.said[r.Key] = said{raw: r.Text}
		if seen := a.seen.find(r.Key); seen != nil {
			seen.plain = false
		}
	}
	for by, keys := range s.Languages {
		for key := uint64(0); len(keys) > 0; {
			delta, n := binary.Uvarint(keys)
			if n <= 0 || by == "" || len(a.said) > 2*maxSaid {
				return false
			}
			key, keys = key+delta, keys[n:]
			a.said[key] = said{a.said[key].raw, by[1:], by[0] - '0'}
		}
	}
	return len(a.said) <= maxSaid
}

// maxLanguage is the length of the longest tag of a language that is taken over: "zh-hant-tw", and room for more.
const maxLanguage = 16

// languageTag is the tag of a language (RFC 5646) in lower case, "" for what is none.
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

// language is that in the path of a page, as in "/ko/news", "" where there is none.
func (p *page) language() string {
	for i := range p.parts() {
		if p.kinds[i] == langKind {
			return languageTag(p.segments[i])
		}
	}
	return ""
}
