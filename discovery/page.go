package discovery

import (
	"slices"
	"strings"
	"time"
)

// Limits beyond which a URL is a trap rather than a page.
const (
	MaxURLLength = 2083
	MaxSegments  = 20
	maxRepeats   = 2
)

// page is a parsed URL. Its strings are substrings of url.
type page struct {
	url      string
	host     string // without port
	path     string // begins with "/"
	query    string // without "?"
	depth    int    // path segments
	segments [MaxSegments]string
	kinds    [MaxSegments]kind
	bodies   [MaxSegments]uint16 // bytes of the segments before their extension
	hostAt   int                 // where in url the host begins
}

// parsePage parses a canonical URL. segments has only the first segments of a path that is too deep; depth counts
// all.
func parsePage(url string) (p page) {
	p.url = url
	p.hostAt = len("http://")
	if url[4] == 's' {
		p.hostAt++
	}
	rest := url[p.hostAt:]
	slash := strings.IndexByte(rest, '/')
	p.host, p.path = rest[:slash], rest[slash:]
	if i := strings.IndexByte(p.host, ':'); i >= 0 {
		p.host = p.host[:i]
	}
	if i := strings.IndexByte(p.path, '?'); i >= 0 {
		p.path, p.query = p.path[:i], p.path[i+1:]
	}
	for i := 1; i < len(p.path); i++ {
		if p.path[i] == '/' {
			continue
		}
		end := len(p.path)
		if n := strings.IndexByte(p.path[i:], '/'); n >= 0 {
			end = i + n
		}
		if p.depth < len(p.segments) {
			p.segments[p.depth] = p.path[i:end]
		}
		p.depth++
		i = end
	}
	p.setKinds()
	return p
}

func (p *page) parts() []string { return p.segments[:min(p.depth, len(p.segments))] }

// parentCategory is the part of the site that a page belongs to: the first segment of its path.
func (p *page) parentCategory() string {
	if p.depth == 0 {
		return "root"
	}
	return p.segments[0]
}

// origin is the scheme and host to which a robots.txt applies.
func (p *page) origin() string {
	return p.url[:p.hostAt+strings.IndexByte(p.url[p.hostAt:], '/')]
}

func (p *page) parameters() int {
	n := 0
	if p.query == "" {
		return n
	}
	for f := range strings.SplitSeq(p.query, "&") {
		if f != "" {
			n++
		}
	}
	return n
}

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// pageExtensions are the extensions of pages.
var pageExtensions = words("html htm shtml xhtml php php3 phtml asp aspx jsp jspx jhtml do action cfm cgi pl nsf page amp cms")

// fileExtensions are further extensions that are recognised: "v1.6" has none.
var fileExtensions = words("pdf doc docx odt rtf txt epub hwp hwpx ppt pptx odp xls xlsx xlsm ods csv tsv json xml rdf geojson kml kmz" +
	" shp zip rar 7z gz tar tgz exe apk dmg iso rss atom ics vcf ps tex")

// assetExtensions are the extensions of parts of pages, and of files that are played rather than read.
var assetExtensions = words("jpg jpeg png gif svg webp avif bmp tif tiff ico css js mjs map woff woff2 ttf otf eot" +
	" mp3 mp4 m4a m4v avi mov wmv flv webm ogg ogv wav wma mpg mpeg m3u8 ts swf")

// extension returns the extension of the file name in lower case, "" when it is not recognised.
func (p *page) extension() string {
	if p.depth == 0 || p.depth > MaxSegments {
		return ""
	}
	s := p.segments[p.depth-1]
	if int(p.bodies[p.depth-1]) == len(s) {
		return ""
	}
	return extensionOf(s)
}

// body is a segment without its extension.
func (p *page) body(i int) string { return p.segments[i][:p.bodies[i]] }

func extensionOf(segment string) string {
	if strings.IndexByte(segment, '.') < 0 {
		return ""
	}
	segment, _, _ = strings.Cut(segment, ";")
	i := strings.LastIndexByte(segment, '.')
	if i <= 0 || len(segment)-i > 8 {
		return ""
	}
	e := strings.ToLower(segment[i+1:])
	if pageExtensions[e] || fileExtensions[e] || assetExtensions[e] {
		return e
	}
	return ""
}

// hasWord reports whether a segment consists of words rather than numbers and keys.
func (p *page) hasWord() bool {
	for i := range p.parts() {
		switch p.kinds[i] {
		case literalKind, slugKind, monthKind:
			if containsWord(p.body(i)) {
				return true
			}
		}
	}
	return false
}

// extensionLength returns the length of the extension in bytes, with its dot.
func extensionLength(segment string) int {
	if extensionOf(segment) == "" {
		return 0
	}
	return len(segment) - strings.LastIndexByte(segment, '.')
}

// containsWord reports whether there are three letters in a row, or one that is not ASCII.
func containsWord(s string) bool {
	run := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isLetter(c):
			if run++; run == 3 {
				return true
			}
		case c >= 0x80, c == '%' && i+1 < len(s) && s[i+1] >= '8':
			return true
		case c == '%':
			run, i = 0, i+2
		default:
			run = 0
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

// trap is a reason why a URL would lead a crawler astray.
type trap uint8

const (
	noTrap trap = iota
	deepTrap
	repeatedTrap
	sessionTrap
	calendarTrap
)

// trapOf returns the reason why a URL is one of endlessly many with the same content or none, or noTrap.
func (p *page) trapOf(now time.Time) trap {
	if p.depth > MaxSegments {
		return deepTrap
	}
	parts := p.parts()
	for i, s := range parts {
		n := 0
		for _, other := range parts[i:] {
			if other == s {
				n++
			}
		}
		if n > maxRepeats {
			return repeatedTrap
		}
	}
	switch {
	case p.hasSession():
		return sessionTrap
	case p.isEndlessCalendar(now):
		return calendarTrap
	}
	return noTrap
}

var sessionParameters = words("jsessionid phpsessid aspsessionid sessionid session_id sessid sess_id cfid cftoken zenid oscsid osid s_id")

// hasSession reports whether a URL has the key of a session: in one of the usual parameters or path parameters, in
// ASP.NET's "(S(…))" segment, or as a long "sid".
func (p *page) hasSession() bool {
	if p.query == "" && strings.IndexByte(p.path, ';') < 0 && strings.IndexByte(p.path, '(') < 0 {
		return false
	}
	for f := range strings.SplitSeq(p.query, "&") {
		name, value, _ := strings.Cut(f, "=")
		name = strings.ToLower(name)
		if value != "" && (sessionParameters[name] || strings.HasPrefix(name, "aspsessionid")) || name == "sid" && len(value) >= 16 {
			return true
		}
	}
	for _, s := range p.parts() {
		if len(s) > 5 && s[0] == '(' && (s[1] == 'S' || s[1] == 's') && s[2] == '(' {
			return true
		}
		if _, parameter, ok := strings.Cut(s, ";"); ok {
			name, _, _ := strings.Cut(parameter, "=")
			if sessionParameters[strings.ToLower(name)] {
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
func (p *page) isEndlessCalendar(now time.Time) bool {
	far := func(s string) bool {
		y, ok := leadingYear(s)
		return ok && (y > now.Year()+calendarYearsAhead || y < now.Year()-calendarYearsBack)
	}
	parts := p.parts()
	end, found := len(parts), false // where the date in the path begins
	for end > 0 && (isDigit(parts[end-1][0]) || isCalendarView(parts[end-1])) {
		end--
		// A year alone is not a page of a calendar, as in "Agenda 2030".
		found = found || far(parts[end]) && (end < len(parts)-1 || len(parts[end]) > 4)
	}
	if p.query != "" {
		for f := range strings.SplitSeq(p.query, "&") {
			_, value, _ := strings.Cut(f, "=")
			found = found || far(value)
		}
	}
	return found && slices.ContainsFunc(parts[:end], isCalendarWord)
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
	for digits < len(s) && isDigit(s[digits]) {
		digits++
	}
	if digits != 4 && digits != 6 && digits != 8 || digits < len(s) && s[digits] != '-' && s[digits] != '/' && s[digits] != '.' && s[digits] != '%' {
		return 0, false
	}
	y := int(s[0]-'0')*1000 + int(s[1]-'0')*100 + int(s[2]-'0')*10 + int(s[3]-'0')
	return y, 1000 <= y
}

// isLogin reports whether a page is for accounts.
func (p *page) isLogin() bool {
	for _, s := range p.parts() {
		s = strings.ToLower(s[:len(s)-extensionLength(s)])
		if loginWords[strings.NewReplacer("-", "", "_", "").Replace(s)] {
			return true
		}
	}
	return false
}

var loginWords = words("login logon logout logoff signin signon signup register registration account myaccount useraccount wplogin" +
	" auth sso password forgotpassword resetpassword lostpassword anmelden anmeldung einloggen connexion seconnecter inscription" +
	" iniciarsesion acceso registro entrar cadastro accedi inloggen logowanie masuk dangnhap uyegirisi")
