package markup

import (
	"slices"
	"strings"
	"time"
)

// Trap is the reason why a URL would lead a crawler astray: it is one of endlessly many with the same
// content or none.
type Trap uint8

// The reasons.
const (
	NoTrap       Trap = iota
	DeepTrap          // more than MaxSegments segments
	RepeatedTrap      // a segment for the third time, as of a relative link that lacks its slash
	SessionTrap       // the key of a session
	CalendarTrap      // a page of a calendar for a date far from now
)

// MaxSegments is the maximum number of segments in the path of a page.
const MaxSegments = 20

// maxRepeats is the maximum number of times that a segment occurs in the path of a page.
const maxRepeats = 2

// TrapOf judges a URL by the segments of its path, none of them empty, and its query without "?".
func TrapOf(segments []string, query string, now time.Time) Trap {
	if len(segments) > MaxSegments {
		return DeepTrap
	}
	for i := range len(segments) - maxRepeats {
		n := 1
		for _, other := range segments[i+1:] {
			if other == segments[i] {
				n++
			}
		}
		if n > maxRepeats {
			return RepeatedTrap
		}
	}
	switch {
	case hasSession(segments, query):
		return SessionTrap
	case isEndlessCalendar(segments, query, now):
		return CalendarTrap
	}
	return NoTrap
}

var sessionParameters = []string{"jsessionid", "phpsessid", "aspsessionid", "sessionid", "session_id", "sessid",
	"sess_id", "cfid", "cftoken",
	"zenid", "oscsid", "osid", "s_id"}

// hasSession reports whether a URL has the key of a session: in one of the usual parameters or path parameters, in
// ASP.NET's "(S(…))" segment, or as a long "sid".
func hasSession(segments []string, query string) bool {
	for query != "" {
		var field string
		field, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(field, "=")
		name = strings.ToLower(name)
		if value != "" && (slices.Contains(sessionParameters, name) || strings.HasPrefix(name, "aspsessionid")) ||
			name == "sid" && len(value) >= 16 {
			return true
		}
	}
	for _, s := range segments {
		if len(s) > 5 && s[0] == '(' && (s[1] == 'S' || s[1] == 's') && s[2] == '(' {
			return true
		}
		if i := strings.IndexByte(s, ';'); i >= 0 {
			name, _, _ := strings.Cut(s[i+1:], "=")
			if slices.Contains(sessionParameters, strings.ToLower(name)) {
				return true
			}
		}
	}
	return false
}

// Calendars have pages for any date; those further away than this are empty.
const (
	calendarYearsBack  = 5
	calendarYearsAhead = 1
)

// isEndlessCalendar reports whether a URL is the page of a calendar for a date without events: a date far from now
// in the query or at the end of the path, and before it a word for calendars.
func isEndlessCalendar(segments []string, query string, now time.Time) bool {
	far := func(s string) bool {
		y, ok := leadingYear(s)
		return ok && (y > now.Year()+calendarYearsAhead || y < now.Year()-calendarYearsBack)
	}
	end, found := len(segments), false // where the date in the path begins
	for end > 0 && (digit(segments[end-1][0]) || isCalendarView(segments[end-1])) {
		end--
		// A year alone is not a page of a calendar, as in "Agenda 2030".
		found = found || far(segments[end]) && (end < len(segments)-1 || len(segments[end]) > 4)
	}
	for query != "" && !found {
		var field string
		field, query, _ = strings.Cut(query, "&")
		_, value, _ := strings.Cut(field, "=")
		found = far(value)
	}
	return found && slices.ContainsFunc(segments[:end], isCalendarWord)
}

// isCalendarWord reports whether a word means calendar, agenda, events or schedule in a language of Europe.
func isCalendarWord(segment string) bool {
	s := strings.ToLower(segment)
	for _, w := range [...]string{"calend", "kalend", "agenda", "event", "evenement", "termin", "schedule", "diary"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func isCalendarView(segment string) bool {
	if len(segment) < 3 || len(segment) > 5 {
		return false
	}
	switch strings.ToLower(segment) {
	case "day", "week", "month", "year", "list", "map":
		return true
	}
	return false
}

// leadingYear returns a year with nothing after it, or with more of a date: 2031, 2031-05, 203105,
// 20310512.
func leadingYear(s string) (int, bool) {
	digits := 0
	for digits < len(s) && digit(s[digits]) {
		digits++
	}
	if digits != 4 && digits != 6 && digits != 8 ||
		digits < len(s) && s[digits] != '-' && s[digits] != '/' && s[digits] != '.' && s[digits] != '%' {
		return 0, false
	}
	y := int(s[0]-'0')*1000 + int(s[1]-'0')*100 + int(s[2]-'0')*10 + int(s[3]-'0')
	return y, 1000 <= y
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
