package urltext

import (
	"unicode/utf8"

	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/urlword"
)

// Kind is the apparent content of a path segment.
type Kind uint8

// The kinds of segments.
const (
	Words  Kind = iota // one to three words
	Slug               // a title: four words and more
	Number             // digits only
	ID                 // an opaque key
	Year
	MonthNo // after a year
	Day     // after a month
	Date    // a whole date
	HomePage
	Lang
	Page
)

// kinds determines the kind of each segment of the path; parts of dates depend on their neighbours.
func (r *Reading) kinds() {
	for i := range r.Path {
		s := &r.Path[i]
		s.Kind = s.shape()
		previous := Words
		if i > 0 {
			previous = r.Path[i-1].Kind
		}
		switch {
		case s.Kind == Number && previous == Year && urlword.IsMonth(s.Text):
			s.Kind = MonthNo
		case previous == Year && len(s.Hits) == 1 && s.Hits[0].Role == lexicon.Month && s.Exact():
			s.Kind = MonthNo
		case s.Kind == Number && previous == MonthNo && urlword.IsDay(s.Text):
			s.Kind = Day
		case s.Kind == Number && previous == Words && i > 0 && urlword.IsPage(r.Path[i-1].Text):
			s.Kind = Page
		case i <= 2 && s.Ext == "" && (urlword.IsLanguage(s.Raw) || urlword.IsEdition(s.Raw)):
			s.Kind = Lang
		}
	}
}

// shape returns the kind of a segment by itself.
func (s *Segment) shape() Kind {
	body := s.Text[:len(s.Text)-s.extBytes]
	if len(body) == 0 {
		return Words
	}
	if s.Letters == 0 {
		switch {
		case len(body) == 4 && urlword.IsYear(body):
			return Year
		case urlword.IsDate(body):
			return Date
		}
		return Number
	}
	exact := s.Exact()
	if exact && s.allHome() {
		return HomePage
	}
	if s.isKey(exact) {
		if s.hasDate() {
			return Date
		}
		return ID
	}
	if s.hasDate() && s.Words <= 1 && s.Letters <= 3 {
		return Date
	}
	if s.Words >= 4 && s.Letters >= 16 {
		return Slug
	}
	if s.Words <= 1 && s.Letters >= 14 && lexiconUnspaced(body) {
		return Slug
	}
	return Words
}

func lexiconUnspaced(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return lexicon.Unspaced(r)
}

func (s *Segment) allHome() bool {
	for _, h := range s.Hits {
		if h.Role != lexicon.Home && h.Role != lexicon.List {
			return false
		}
	}
	return len(s.Hits) > 0 && s.Hits[0].Role == lexicon.Home
}

// isKey reports whether a segment is an opaque key: hexadecimal, or letters and digits mixed without words.
func (s *Segment) isKey(exact bool) bool {
	if exact || s.Digits == 0 {
		return false
	}
	body := s.Text[:len(s.Text)-s.extBytes]
	if s.Digits >= 3 && s.Letters <= 3 && s.Covered == 0 {
		return true // t20200218, a22034, c9
	}
	hex := 0
	for hex < len(body) && ('0' <= body[hex] && body[hex] <= '9' || 'a' <= body[hex] && body[hex] <= 'f') {
		hex++
	}
	if hex == len(body) && len(body) >= 12 {
		return true
	}
	if s.Covered > 0 {
		return false
	}
	vowels := 0
	for _, c := range body {
		switch c {
		case 'a', 'e', 'i', 'o', 'u', 'y':
			vowels++
		}
		if c >= utf8.RuneSelf {
			return false
		}
	}
	// Words have a vowel in every three letters and digits at their ends.
	if s.Digits >= 2 && s.Digits*5 >= s.Letters && s.Letters < 24 && s.Words <= 6 && averageWord(s) < 4 {
		return true
	}
	return s.Letters >= 6 && vowels*5 < s.Letters
}

func averageWord(s *Segment) int {
	if s.Words == 0 {
		return 0
	}
	return s.Letters / s.Words
}

// hasDate reports whether the segment contains a date of eight digits.
func (s *Segment) hasDate() bool { return s.Digits >= 8 && dateIn(s.Text[:len(s.Text)-s.extBytes]) }

// dateIn reports whether a run of eight digits in text is a date.
func dateIn(text []byte) bool {
	run := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && '0' <= text[i] && text[i] <= '9' {
			run++
			continue
		}
		if run >= 8 && urlword.IsDate(text[i-run:i-run+8]) {
			return true
		}
		run = 0
	}
	return false
}
