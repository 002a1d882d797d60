package urltext

import "github.com/newsfork/seed-engine/classify/internal/lexicon"

// rule returns the type that the form of a URL implies regardless of its words, and the kind of rule. Its weight
// against the words is learned, one for each kind.
func (r *Reading) rule(v view) (kind int, role lexicon.Role, ok bool) {
	for _, sense := range r.subSenses {
		if sense.Role == lexicon.Archive {
			return ruleHost, lexicon.Archive, true
		}
	}
	n := len(r.Path)
	if n == 0 || v.last < 0 && allOf(r.Path, HomePage, Lang) {
		if r.SearchQuery() {
			return ruleHome, lexicon.Search, true
		}
		return ruleHome, lexicon.Unknown, len(r.Query) == 0
	}
	last := &r.Path[n-1]
	switch last.extClass {
	case extSheet, extArchive:
		return ruleSheet, lexicon.Download, !hasRole(last, lexicon.Form)
	case extImage, extSound:
		return ruleMedium, lexicon.Multimedia, true
	case extCalendar:
		return ruleMedium, lexicon.Calendar, true
	}
	if v.last < 0 && r.Slash && last.Kind != Number && last.Kind != ID && allOf(r.Path, Year, MonthNo, Day, Lang) {
		return ruleMonth, lexicon.Archive, true // example.com/2012/05/ lists a month
	}
	if v.last >= 0 && v.last == n-1 && last.Kind == Words && last.Exact() && len(r.Query) == 0 {
		for _, h := range last.Hits {
			if h.Strength != lexicon.Strong && h.Role != lexicon.Legal {
				continue
			}
			switch h.Role {
			case lexicon.Contact, lexicon.FAQ, lexicon.Search:
				return ruleWord, h.Role, true
			case lexicon.Legal:
				return ruleWord, lexicon.Unknown, true
			}
		}
	}
	return 0, 0, false
}

// The kinds of rules.
const (
	ruleHost   = iota // hosts of archives
	ruleHome          // home pages
	ruleSheet         // files of data
	ruleMedium        // files of pictures, sound and dates
	ruleMonth         // lists of a month
	ruleWord          // a word that has only one meaning
	rules
)

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

func hasRole(s *Segment, role lexicon.Role) bool {
	for _, h := range s.Hits {
		if h.Role == role {
			return true
		}
	}
	return false
}
