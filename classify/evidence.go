package classify

import (
	"slices"
	"strconv"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// placeholders stand in patterns for segments whose kind matters, not their text.
var placeholders = map[urltext.Kind]string{
	urltext.Slug: "/{slug}", urltext.Number: "/{id}", urltext.ID: "/{id}", urltext.Year: "/{year}",
	urltext.MonthNo: "/{month}", urltext.Day: "/{day}", urltext.Date: "/{date}",
	urltext.Lang: "/{lang}", urltext.Page: "/{page}",
}

// maxEvidence bounds each list of evidence. Only URLs crafted for it have more.
const maxEvidence = 20

// evidence lists what the classification of a URL is based on, see keywords.
func evidence(r *urltext.Reading, section bool) Evidence {
	first := func(found []string) []string { return found[:min(len(found), maxEvidence)] }
	words := keywords(r, section)
	return Evidence{
		URLPatterns:     first(patterns(r)),
		KeywordMatches:  words.texts,
		KeywordSources:  words.sources,
		StructuralHints: first(hints(r)),
		DomainContext:   first(domainContext(r)),
	}
}

func patterns(r *urltext.Reading) []string {
	found := []string{}
	for i := range r.Path {
		s := &r.Path[i]
		switch pattern := placeholders[s.Kind]; {
		case pattern != "":
			found = append(found, pattern)
		case len(s.Hits) > 0:
			found = append(found, "/"+s.Raw)
		}
	}
	return found
}

// words are words of the lexicon with the source of each.
type words struct {
	texts   []string
	sources []Source
}

// keywords are the words of a URL and of the texts by which its page is known, the first maxEvidence of them. section
// says that the text of a link is that of one to the page's section.
func keywords(r *urltext.Reading, section bool) words {
	found := words{texts: []string{}, sources: []Source{}}
	for i := range r.Sub {
		found.add(&r.Sub[i], FromURL)
	}
	found.add(&r.Name, FromURL)
	for i := range r.Path {
		found.add(&r.Path[i], FromURL)
	}
	for i := range r.Query {
		found.add(&r.Query[i].Key, FromURL)
		found.add(&r.Query[i].Value, FromURL)
	}
	found.add(&r.Title, FromTitle)
	if section {
		found.add(&r.Anchor, FromSite)
	} else {
		found.add(&r.Anchor, FromAnchor)
	}
	return found
}

// add adds the words of a segment.
func (w *words) add(s *urltext.Segment, from Source) {
	for _, h := range s.Hits {
		for _, word := range s.WordsOf(h) {
			if len(w.texts) < maxEvidence && !slices.Contains(w.texts, word) {
				w.texts, w.sources = append(w.texts, word), append(w.sources, from)
			}
		}
	}
}

func hints(r *urltext.Reading) []string {
	found := []string{"depth_" + strconv.Itoa(len(r.Path))}
	add := func(hint string) {
		if !slices.Contains(found, hint) {
			found = append(found, hint)
		}
	}
	for i := range r.Path {
		s := &r.Path[i]
		switch s.Kind {
		case urltext.Year:
			add("year_pattern")
		case urltext.MonthNo:
			add("month_pattern")
		case urltext.Day, urltext.Date:
			add("date_pattern")
		case urltext.Number, urltext.ID:
			add("id_pattern")
		case urltext.Slug:
			add("slug")
		case urltext.Lang:
			add("language_prefix")
		}
		if s.Ext != "" && i == len(r.Path)-1 {
			add(s.Ext + "_file")
		}
	}
	if len(r.Query) > 0 {
		add("query_parameters")
	}
	if r.SearchQuery() {
		add("search_query")
	}
	return found
}

// contextNames are the contract's terms for the roles of hosts.
var contextNames = map[lexicon.Role]string{
	lexicon.Media: "news_media", lexicon.GovHost: "public_body", lexicon.Video: "media_platform",
	lexicon.Scholar: "scholarly", lexicon.Law: "legal_database", lexicon.Stat: "statistics_portal",
}

func domainContext(r *urltext.Reading) []string {
	found := []string{}
	switch r.Sector {
	case hosts.Government:
		found = append(found, "government")
	case hosts.Education:
		found = append(found, "education")
	case hosts.Organisation:
		found = append(found, "organisation")
	}
	for _, sense := range r.HostSenses() {
		if name := contextNames[sense.Role]; name != "" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}
