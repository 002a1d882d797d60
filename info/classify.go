package info

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Subject is the input of Classify. All of it is plain text.
type Subject struct {
	Title      string
	Snippet    string
	Keywords   []string
	Tag        string   // from the source's model
	Categories []string // the source's own
}

// Match is a reason for a category.
type Match struct {
	Category Category `json:"category"`
	Keyword  string   `json:"keyword"` // as in the list of keywords, or the source's category
	Field    string   `json:"field"`   // title, snippet, keywords, tag or source_category
	Points   int      `json:"points"`
}

// enough is the number of points that make a category: one strong keyword anywhere, or a weak one in the title.
const enough = 2

// Classify returns the category with the most points and its evidence, or "" if none has enough. Ties go to the
// higher points of the title, then to the order of Categories.
func Classify(s Subject) (Category, []Match) { return topicWords().classify(s) }

func (l *lexicon) classify(s Subject) (Category, []Match) {
	var found []Match
	for _, f := range []struct {
		name, text string
		factor     int
	}{
		{"title", s.Title, 2}, {"snippet", s.Snippet, 1}, {"keywords", strings.Join(s.Keywords, " | "), 1},
		{"tag", s.Tag, 2},
	} {
		w := l.words(f.text)
		for _, k := range l.keywords {
			if k.in(w) {
				found = append(found, Match{k.category, k.text, f.name, k.points * f.factor})
			}
		}
	}
	for _, name := range s.Categories {
		if c, ok := l.categories[strings.ToLower(strings.TrimSpace(name))]; ok {
			found = append(found, Match{c, strings.ToLower(name), "source_category", 2})
		}
	}
	return l.decide(found)
}

func (l *lexicon) decide(found []Match) (best Category, evidence []Match) {
	type score struct{ all, title int }
	scores := map[Category]score{}
	for _, m := range found {
		s := scores[m.Category]
		s.all += m.Points
		if m.Field == "title" {
			s.title += m.Points
		}
		scores[m.Category] = s
	}
	var most score
	for _, c := range l.topics {
		if s := scores[c]; s.all >= enough && (s.all > most.all || s.all == most.all && s.title > most.title) {
			best, most = c, s
		}
	}
	if best == "" {
		return "", nil
	}
	return best, slices.DeleteFunc(found, func(m Match) bool { return m.Category != best })
}

// words splits a text into runs of letters and digits of one script, in lower case: "AI로" is "ai" and "로".
func (l *lexicon) words(text string) []string {
	var list []string
	var run []rune
	var of rune // script of run
	for _, r := range norm.NFC.String(text) {
		if k := script(r); k != of {
			if len(run) > 0 {
				list = append(list, string(run))
			}
			run, of = nil, k
		}
		if of != 0 {
			run = append(run, unicode.ToLower(r))
		}
	}
	if len(run) > 0 {
		list = append(list, string(run))
	}
	return l.without(list)
}

// script returns the script of a character of a word, 0 for other characters.
func script(r rune) rune {
	switch {
	case unicode.Is(unicode.Hangul, r):
		return 'h'
	case unicode.IsLetter(r), unicode.IsDigit(r):
		return 'l'
	}
	return 0
}

// keyword is a parsed entry of the list.
type keyword struct {
	category Category
	points   int
	text     string
	parts    []part // consecutive words
}

type part struct {
	text   string
	prefix bool // the word begins with it
	inside bool // the word contains it, as Korean compounds do
}

// in reports whether a text contains the keyword.
func (k *keyword) in(text []string) bool {
	for i := range text {
		if i+len(k.parts) > len(text) {
			return false
		}
		if k.at(text[i:]) {
			return true
		}
	}
	return false
}

func (k *keyword) at(text []string) bool {
	for i, p := range k.parts {
		if !p.is(text[i]) {
			return false
		}
	}
	return true
}

func (p part) is(word string) bool {
	switch {
	case p.inside:
		return strings.Contains(word, p.text)
	case p.prefix:
		return strings.HasPrefix(word, p.text)
	}
	return word == p.text
}

// newKeyword parses an entry of the list: words, where a final "*" stands for any ending. Korean words also match
// within compounds ("폐배터리", "재생에너지를"); with "^" only at their beginning.
func newKeyword(entry string) keyword {
	k := keyword{text: strings.NewReplacer("*", "", "^", "").Replace(entry)}
	for w := range strings.FieldsSeq(entry) {
		p := part{text: w}
		switch {
		case strings.HasPrefix(w, "^"):
			p.text, p.prefix = w[len("^"):], true
		case strings.HasSuffix(w, "*"):
			p.text, p.prefix = strings.TrimSuffix(w, "*"), true
		default:
			p.inside = script([]rune(w)[0]) == 'h'
		}
		k.parts = append(k.parts, p)
	}
	return k
}

// without removes words whose parts mislead, and homonyms that mean something else here.
func (l *lexicon) without(text []string) []string {
	var other []string // words that mean something else
	for _, h := range l.homonyms {
		if slices.ContainsFunc(h.beside, func(k keyword) bool { return k.in(text) }) {
			other = append(other, h.word)
		}
	}
	var kept []string
	for i := 0; i < len(text); i++ {
		if slices.Contains(other, text[i]) {
			continue
		}
		n := 0
		for _, k := range l.misleading {
			if i+len(k.parts) <= len(text) && k.at(text[i:]) {
				n = max(n, len(k.parts))
			}
		}
		if n > 0 {
			i += n - 1
			continue
		}
		kept = append(kept, text[i])
	}
	return kept
}
