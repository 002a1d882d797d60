package markup

import (
	"net/url"
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

// hasSession reports whether a URL has the key of a session: in one of the usual parameters, path parameters or
// segments, in ASP.NET's "(S(…))" segment, or as a long "sid".
func hasSession(segments []string, query string) bool {
	for query != "" {
		var field string
		if field, query, _ = strings.Cut(query, "&"); isSessionField(field) {
			return true
		}
	}
	for i, s := range segments {
		if isASPSession(s) {
			return true
		}
		if i+1 < len(segments) && slices.Contains(sessionDirectories, strings.ToLower(s)) && isKey(segments[i+1]) {
			return true
		}
		if strings.IndexByte(s, '=') < 0 && strings.IndexByte(s, ';') < 0 {
			continue
		}
		name, parameters, _ := strings.Cut(s, ";")
		if isSessionField(name) {
			return true
		}
		for parameters != "" {
			var p string
			p, parameters, _ = strings.Cut(parameters, ";")
			if name, _, _ := strings.Cut(p, "="); slices.Contains(sessionParameters, strings.ToLower(name)) ||
				isSessionField(p) {
				return true
			}
		}
	}
	return false
}

// isSessionField reports whether a parameter with its value is that of a session.
func isSessionField(field string) bool {
	name, value, _ := strings.Cut(field, "=")
	name = strings.ToLower(name)
	return value != "" && (slices.Contains(sessionParameters, name) || strings.HasPrefix(name, "aspsessionid")) ||
		name == "sid" && len(value) >= minKey
}

// isASPSession reports whether a segment has the cookies that ASP.NET writes into paths: "(S(…))", "(A(…)S(…))".
func isASPSession(s string) bool {
	return len(s) > 5 && s[0] == '(' && s[2] == '(' && s[len(s)-1] == ')' && strings.IndexByte("SAFX", s[1]&^0x20) >= 0
}

// sessionDirectories are segments behind which keys of sessions stand.
var sessionDirectories = []string{"sid", "session", "sessionid", "session-id", "session_id", "jsessionid", "phpsessid",
	"sess"}

// minKey is the least length of a key of a session.
const minKey = 16

// isKey reports whether a segment looks like the key of a session: letters and digits in turn without separators, or a
// UUID.
func isKey(s string) bool {
	if len(s) == len("5f0c7a9e-31b2-4d6e-9a11-7c1d2e3f4a5b") && strings.Count(s, "-") == 4 {
		s = strings.ReplaceAll(s, "-", "")
	}
	turns := 0
	for i := range len(s) {
		switch c := s[i]; {
		case !digit(c) && (c|0x20 < 'a' || c|0x20 > 'z'):
			return false
		case i > 0 && digit(c) != digit(s[i-1]):
			turns++
		}
	}
	return len(s) >= minKey && turns >= minTurns
}

// minTurns is the least number of changes between letters and digits in a key. Names have fewer.
const minTurns = 4

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

// isCalendarWord reports whether a segment names a calendar, agenda, events or a schedule, in one of the languages that
// the classifier knows.
func isCalendarWord(segment string) bool {
	if strings.IndexByte(segment, '%') >= 0 {
		if text, err := url.PathUnescape(segment); err == nil {
			segment = text
		}
	}
	s := strings.ToLower(segment)
	for _, w := range calendarWords {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// calendarWords are words and beginnings of words, in lower case. A word of them with a date far from now is that of
// an endless calendar; without such a date it says nothing.
var calendarWords = strings.Fields(`
calend kalend agenda event evenement termin schedule diary timetable
événement evenem evenim evènement manifestations spectacles cartelera programacion programacao programmazione
cronograma harmonogram palinsesto egutegi ekitaldi esdevenim actividades atividades appuntament digwyddiad
veranstaltung spielplan fahrplan fahrplaen zeitplan dienstregeling activiteit tidtabell terminlist rutetabell
begivenhed vidburd viðburð dagatal arrangement
wydarzen terminarz rozklad rozkład udalost událost podujat akcie-a-podujatia koledar urnik raspored dogadjaj dogadaj
događaj dogodki dogodk raspisan raspisanie meropriyat meropriyatiya sobytiy afisha rozvrh
календар каляндар расписан розклад расклад распоред разписан мероприят событ події события събит подзе афиша афіша
догађај настан дагађај
ημερολόγιο ημερολογιο εκδηλώσεις εκδηλωσεις imerologio ekdilos
naptár naptar esemény esemeny rendezvény rendezveny menetrend
tapahtum kalenter aikataul sündmus sundmus üritus uritus tunniplaan pasākum pasakum renginia renginių tvarkarast
takvim etkinlik
تقويم روزنامة مواعيد فعاليات أحداث جدول تقویم رویداد برنامه לוח אירוע יומן
कैलेंडर कैलेण्डर कार्यक्रम आयोजन पंचांग ক্যালেন্ডার அட்டவணை நாட்காட்டி క్యాలెండర్
달력 캘린더 일정 행사 시간표 편성표 iljeong iljung haengsa dallyeok
カレンダー 日程 スケジュール 予定 行事 イベント 催し 番組表 nittei yotei gyoji gyouji ibento karenda moyooshi
日历 日曆 行事历 行事曆 校历 校曆 时间表 時間表 活动 活動 赛程 賽程 节目表 節目表 rili richeng huodong xiaoli
kalendar jadwal jadual kegiatan aktiviti acara kalendaryo
su-kien sự-kiện lich-cong-tac lich-lam-viec lich-hop lich-tuan lich-thi lịch
ปฏิทิน กำหนดการ กิจกรรม ตาราง កម្មវិធី ប្រតិទិន ປະຕິທິນ ປະທິນ ပြက္ခဒိန်`)

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
