package discovery

import (
	"strings"
	"time"

	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/urlword"
)

// kind is the form of a path segment.
type kind uint8

const (
	literalKind kind = iota // a name: up to three words
	slugKind                // a title
	numberKind              // digits
	idKind                  // a key
	yearKind
	dateKind
	langKind
	pageKind
	monthKind // by its neighbour
	dayKind   // by its neighbour
)

// placeholders are used in patterns for segments that differ from page to page.
var placeholders = [...]string{
	slugKind: "{slug}", numberKind: "{id}", idKind: "{id}", yearKind: "{year}", dateKind: "{date}",
	langKind: "{lang}", pageKind: "{page}", monthKind: "{month}", dayKind: "{day}",
}

// setKinds determines the kinds of the segments of a page but for the first n, which have theirs, and the extension of
// the last; months, days, page numbers and languages depend on their neighbours or position.
func (p *page) setKinds(n int) {
	parts := p.parts()
	for i := n; i < len(parts); i++ {
		s := parts[i]
		ext, dot := extension(s)
		if i == p.depth-1 {
			p.ext = ext
		}
		body := s[:dot]
		p.bodies[i] = uint16(dot)
		k := kindOfBody(body)
		if i > 0 {
			switch previous := p.kinds[i-1]; {
			case k == numberKind && previous == yearKind && urlword.IsMonth(body):
				k = monthKind
			case k == literalKind && previous == yearKind && isMonthName(body):
				k = monthKind
			case k == numberKind && previous == monthKind && urlword.IsDay(body):
				k = dayKind
			case (k == numberKind || k == yearKind) && previous == literalKind && urlword.IsPage(p.segments[i-1]):
				k = pageKind
			}
		}
		switch {
		case i < 2 && urlword.IsLanguage(s):
			k = langKind
		case k == slugKind && i < len(parts)-1:
			k = literalKind // a section with a long name, until it has too many siblings
		}
		p.kinds[i] = k
	}
}

// kindOf returns the kind of a segment, ignoring its extension.
func kindOf(segment string) kind {
	return kindOfBody(segment[:len(segment)-extensionLength(segment)])
}

func kindOfBody(s string) kind {
	var digits, letters, hex, words, foreign, longest int
	inWord, run := false, 0
	for i := 0; i < len(s); i++ {
		begin := i
		for i < len(s) && 'a' <= s[i] && s[i] <= 'z' {
			if s[i] <= 'f' {
				hex++
			}
			i++
		}
		if i > begin {
			letters += i - begin
			if !inWord {
				words, inWord = words+1, true
			}
			run = 0
			if i == len(s) {
				break
			}
		}
		c := s[i]
		switch {
		case isDigit(c):
			digits++
			hex++
			if run++; run > longest {
				longest = run
			}
			continue
		case isLetter(c):
			letters++
			if c|0x20 <= 'f' {
				hex++
			}
			if !inWord {
				words++
			}
			inWord = true
		case c >= 0x80, c == '%' && i+2 < len(s) && s[i+1] >= '8':
			foreign++
			if !inWord {
				words++
			}
			inWord = true
			if c == '%' {
				i += 2
			}
		default: // separators, escaped or not
			inWord = false
			if c == '%' {
				i += 2
			}
		}
		run = 0
	}
	if letters == 0 && foreign == 0 {
		switch {
		case digits == 0:
			return literalKind
		case digits == len(s) && len(s) == 4 && urlword.IsYear(s):
			return yearKind
		case isDate(s):
			return dateKind
		case digits == len(s):
			return numberKind
		}
		return idKind // 12-345
	}
	switch {
	case letters == 4 && digits > 0 && foreign == 0 && len(s) <= 9 && strings.HasPrefix(strings.ToLower(s), "page"):
		return pageKind
	case foreign == 0 && digits > 0 && hex == digits+letters && len(s) >= 12 && hex+strings.Count(s, "-") == len(s):
		return idKind // hexadecimal, UUID
	case foreign == 0 && digits >= 3 && (letters <= 3 || words <= 2 && digits > letters):
		return idKind // art12345, KA-2024-113
	case words >= 4, words >= 2 && longest >= 5, foreign >= 18 && words >= 2, foreign >= 30:
		return slugKind // foreign letters take two or three bytes
	case words <= 2 && letters >= 10 && digits >= 4 && digits*4 >= letters:
		return idKind // BBSMSTR_0000000031
	}
	return literalKind
}

// isDate reports whether a segment is a date such as 20260128, 202601, 2026-01, 2026-01-28 or 28-01-2026, with "-",
// "_" or ".".
func isDate(s string) bool {
	switch len(s) {
	case 6, 8:
		return urlword.IsDate(s)
	case 7:
		return !isDigit(s[4]) && urlword.IsYear(s[:4]) && urlword.IsMonth(s[5:])
	case 10:
		return !isDigit(s[4]) && s[4] == s[7] && urlword.IsYear(s[:4]) &&
			urlword.IsMonth(s[5:7]) && urlword.IsDay(s[8:]) ||
			!isDigit(s[2]) && s[2] == s[5] && urlword.IsYear(s[6:]) &&
				urlword.IsMonth(s[3:5]) &&
				urlword.IsDay(s[:2])
	}
	return false
}

func isMonthName(s string) bool { return monthOf(s) > 0 }

// monthOf returns the month of a number or name, or 0.
func monthOf(s string) time.Month {
	if urlword.IsMonth(s) {
		return time.Month(number(s))
	}
	if len(s) < 3 || len(s) > len("septiembre") {
		return 0
	}
	return monthNames[strings.ToLower(s)]
}

// number is the value of up to nine digits.
func number(s string) (n int) {
	for i := range len(s) {
		n = n*10 + int(s[i]-'0')
	}
	return n
}

// date is a day as a URL states it, which need not exist.
type date struct{ year, month, day int }

// day returns the date in the path of a page, as of articles in /2026/01/28/ or /20260128/; a month alone counts from
// its first day, a year alone is no date.
func (p *page) day() (on date, ok bool) {
	for i := range p.parts() {
		switch body := p.body(i); p.kinds[i] {
		case dateKind:
			return dateOf(body), true
		case monthKind: // only after a year
			day := 1
			if i+1 < len(p.parts()) && p.kinds[i+1] == dayKind {
				day = number(p.body(i + 1))
			}
			return date{number(p.body(i - 1)), int(monthOf(body)), day}, true
		}
	}
	return on, false
}

// DayOf returns the day that stands in a URL, as of articles in /2026/01/28/; zero for none, and for one that cannot
// be.
func DayOf(url string, now time.Time) time.Time {
	canonical, ok := markup.AppendCanonical(nil, []byte(url))
	if !ok {
		return time.Time{}
	}
	p := parsePage(string(canonical))
	on, _ := p.day()
	if at, ok := on.time(); ok && markup.Plausible(at, now) {
		return at
	}
	return time.Time{}
}

// dateOf reads what isDate accepts.
func dateOf(s string) date {
	switch {
	case len(s) == 6:
		return date{number(s[:4]), number(s[4:]), 1}
	case len(s) == 7:
		return date{number(s[:4]), number(s[5:]), 1}
	case len(s) == 8 && urlword.IsYear(s[:4]) && urlword.IsMonth(s[4:6]) &&
		urlword.IsDay(s[6:]):
		return date{number(s[:4]), number(s[4:6]), number(s[6:])}
	case len(s) == 8:
		return date{number(s[4:]), number(s[2:4]), number(s[:2])}
	case !isDigit(s[4]):
		return date{number(s[:4]), number(s[5:7]), number(s[8:])}
	}
	return date{number(s[6:]), number(s[3:5]), number(s[:2])}
}

// time returns the day, and reports whether it exists: 30 February does not.
func (d date) time() (time.Time, bool) {
	at := time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	return at, d.month > 0 && at.Day() == d.day
}

// monthNames are the months as paths have them, in the languages whose months the classifier's lexicon has.
var monthNames = func() map[string]time.Month {
	names := map[string]time.Month{}
	for i, month := range [...]string{
		"january jan januar januari janvier enero gennaio janeiro",
		"february feb februar februari fevrier febrero febbraio fevereiro",
		"march mar maerz maart mars marzo marco maret mac",
		"april apr avril abril aprile",
		"may mai mei mayo maggio maio",
		"june jun juni juin junio giugno junho",
		"july jul juli juillet julio luglio julho julai",
		"august aug augustus aout agosto agustus ogos",
		"september sep sept septembre septiembre setiembre settembre setembro",
		"october oct oktober okt octobre octubre ottobre outubro",
		"november nov novembre noviembre novembro",
		"december dec dezember dez decembre diciembre dicembre dezembro desember disember",
	} {
		for _, name := range strings.Fields(month) {
			names[name] = time.Month(i + 1)
		}
	}
	return names
}()
