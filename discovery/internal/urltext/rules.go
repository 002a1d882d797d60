package urltext

import "github.com/newsfork/seed-engine/discovery/internal/lexicon"

// rule tells the type that the form of a URL settles whatever its words say. How much that counts
// against the words is learned, as one weight for all rules.
func (r *Reading) rule(v view) (lexicon.Role, bool) {
	for _, sense := range r.subSenses {
		if sense.Role == lexicon.Archive {
			return lexicon.Archive, true
		}
	}
	n := len(r.Path)
	if n == 0 || v.last < 0 && allOf(r.Path, HomePage, Lang) {
		if r.SearchQuery() {
			return lexicon.Search, true
		}
		return lexicon.Unknown, len(r.Query) == 0
	}
	last := &r.Path[n-1]
	switch extClasses[last.Ext] {
	case extSheet, extArchive:
		return lexicon.Download, !speaks(last, lexicon.Form)
	case extImage, extSound:
		return lexicon.Multimedia, true
	case extCalendar:
		return lexicon.Calendar, true
	}
	if v.last < 0 && r.Slash && last.Kind != Number && last.Kind != ID && allOf(r.Path, Year, MonthNo, Day, Lang) {
		return lexicon.Archive, true // example.com/2012/05/ lists a month
	}
	if v.last >= 0 && v.last == n-1 && last.Kind == Words && last.Exact() && len(r.Query) == 0 {
		for _, h := range last.Hits {
			if h.Strength != lexicon.Strong && h.Role != lexicon.Legal {
				continue
			}
			switch h.Role {
			case lexicon.Contact, lexicon.FAQ, lexicon.Search:
				return h.Role, true
			case lexicon.Legal:
				return lexicon.Unknown, true
			}
		}
	}
	return 0, false
}

func allOf(path []Segment, kinds ...Kind) bool {
	for i := range path {
		found := false
		for _, k := range kinds {
			found = found || path[i].Kind == k
		}
		if !found {
			return false
		}
	}
	return true
}

func speaks(s *Segment, role lexicon.Role) bool {
	for _, h := range s.Hits {
		if h.Role == role {
			return true
		}
	}
	return false
}
