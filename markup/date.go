package markup

import (
	"bytes"
	"math"
	"time"
	"unicode/utf8"
)

// maxDate is the longest text taken for a date, in bytes.
const maxDate = 100

// ParseDate reads a date as sites write it: W3C (https://www.w3.org/TR/NOTE-datetime) in every
// precision, RFC 822 and its successors, and what else turns up, from "20240501" to
// "Wed May 01 2024 10:00:00 GMT+0200 (CEST)" and Unix time. A date without a time is midnight, one
// without a zone UTC. What is impossible (a 13th month), ambiguous (05/06/2024) or a placeholder
// (0000-00-00, 0001-01-01) is no date.
func ParseDate(b []byte) (time.Time, bool) { return ParseDateIn(b, nil) }

// ParseDateIn is ParseDate for dates of a zone: those that name none are in it. Nil is UTC.
func ParseDateIn(b []byte, zone *time.Location) (time.Time, bool) {
	b = Trim(b)
	if t, ok := parseW3C(b); ok {
		return inZone(t, zone, len(b) > len("2006-01-02")), true
	}
	if len(b) < 4 || len(b) > maxDate {
		return time.Time{}, false
	}
	var d date
	zoned, ok := d.read(b)
	if !ok {
		return time.Time{}, false
	}
	t, ok := d.time()
	return inZone(t, zone, zoned), ok
}

// inZone returns the instant at which clocks of a zone show what those of UTC show at t, unless t is zoned.
func inZone(t time.Time, zone *time.Location, zoned bool) time.Time {
	if zone == nil || zoned {
		return t
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone).UTC()
}

// parseW3C is the fast way for YYYY-MM-DD and YYYY-MM-DDThh:mm:ss with Z or ±hh:mm.
func parseW3C(b []byte) (time.Time, bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return time.Time{}, false
	}
	d := date{year: 100*pair(b[0], b[1]) + pair(b[2], b[3]), month: pair(b[5], b[6]), day: pair(b[8], b[9])}
	if len(b) > 10 {
		if len(b) != 20 && len(b) != 25 || b[10] != 'T' || b[13] != ':' || b[16] != ':' {
			return time.Time{}, false
		}
		d.hour, d.min, d.sec = pair(b[11], b[12]), pair(b[14], b[15]), pair(b[17], b[18])
		switch {
		case len(b) == 20 && b[19] == 'Z':
		case len(b) == 25 && b[22] == ':' && (b[19] == '+' || b[19] == '-') && b[23] < '6':
			d.offset = 3600*pair(b[20], b[21]) + 60*pair(b[23], b[24])
			if b[19] == '-' {
				d.offset = -d.offset
			}
		default:
			return time.Time{}, false
		}
	}
	return d.time()
}

// pair is the value of two digits, or more than any part of a date may be.
func pair(a, b byte) int {
	a, b = a-'0', b-'0'
	if a > 9 || b > 9 {
		return 10_000
	}
	return 10*int(a) + int(b)
}

// date is the parts of a date while it is being parsed.
type date struct {
	year, month, day int
	hour, min, sec   int
	nsec             int
	offset           int // seconds east of UTC
}

// time returns the instant that the parts name, if they are a date at all.
func (d *date) time() (time.Time, bool) {
	if d.year < 1000 || d.year > 9999 || d.month < 1 || d.month > 12 || d.day < 1 || d.day > daysIn(d.year, d.month) ||
		d.min > 59 || d.sec > 60 || d.hour > 23 && !(d.hour == 24 && d.min == 0 && d.sec == 0) ||
		d.offset <= -16*3600 || d.offset >= 16*3600 {
		return time.Time{}, false
	}
	sec := daysSinceEpoch(d.year, d.month, d.day)*86400 + int64(d.hour*3600+d.min*60+d.sec-d.offset)
	return time.Unix(sec, int64(d.nsec)).UTC(), true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysSinceEpoch counts the days from 1970-01-01 in the Gregorian calendar, in years that begin
// with March, so that the leap day is the last.
func daysSinceEpoch(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	return int64(365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 719469)
}

// read parses a date: numbers, words and what separates them, in any order that leaves one
// meaning. zoned reports whether it names its zone, or needs none.
func (d *date) read(b []byte) (zoned, ok bool) {
	r := dateReader{b: b, month: -1}
	if !r.run() {
		return false, false
	}
	return r.zoned || r.instant, r.resolve(d)
}

type dateReader struct {
	b       []byte
	i       int
	nums    [3]int // day, month and year in the order of the text
	digits  [3]int // how many digits each was written with
	n       int
	month   int // how many of nums stood before a month's name; -1 without one
	named   int // that month
	sep     byte
	timed   bool
	zoned   bool
	pm      int // 1 AM, 2 PM
	d       date
	instant bool // Unix time: d is complete
}

func (r *dateReader) run() bool {
	for r.i < len(r.b) {
		c := r.b[r.i]
		ok := true
		switch {
		case c >= '0' && c <= '9':
			ok = r.number()
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			ok = r.word()
		case c >= utf8.RuneSelf:
			ok = r.foreign()
		case (c == '+' || c == '-') && r.zoneAhead():
			ok = r.zone()
		case c == '(': // a comment
			for r.i < len(r.b) && r.b[r.i] != ')' {
				r.i++
			}
			r.i++
		case c == '/' || c == '.' || c == '-':
			if r.sep == 0 {
				r.sep = c
			}
			r.i++
		case c <= ' ' || c == ',' || c == ')' || c == '\'':
			r.i++
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// digitsAt reads up to 18 digits.
func (r *dateReader) digitsAt() (value, count int) {
	for r.i < len(r.b) && r.b[r.i] >= '0' && r.b[r.i] <= '9' {
		if count == 18 {
			return 0, 19
		}
		value = 10*value + int(r.b[r.i]-'0')
		r.i++
		count++
	}
	return value, count
}

func (r *dateReader) peek() byte {
	if r.i < len(r.b) {
		return r.b[r.i]
	}
	return 0
}

func (r *dateReader) number() bool {
	v, n := r.digitsAt()
	whole := r.i == len(r.b) && n == r.i // nothing but digits
	switch {
	case r.peek() == ':' && n <= 2 && !r.timed:
		return r.clock(v)
	case whole && (n == 9 || n == 10):
		return r.unix(int64(v), 0)
	case whole && n == 13:
		return r.unix(int64(v/1000), v%1000*1e6)
	case r.n == 0 && n == 14: // YYYYMMDDhhmmss
		r.compact(v / 1e6)
		return r.compactTime(v%1e6, 6)
	case r.n == 0 && n == 8:
		r.compact(v)
		return true
	case r.timed || r.dated() || n > 4:
		if (n == 4 || n == 6) && r.dated() && !r.timed && r.b[r.i-n-1]|0x20 == 't' {
			return r.compactTime(v, n)
		}
		// The year may follow the time: Wed May  1 10:00:00 2024.
		if n == 4 && r.timed && r.n == 1 && r.month >= 0 {
			break
		}
		return n <= 2 && r.b[r.i-n-1]|0x20 == 't' && r.hourOnly(v)
	}
	r.nums[r.n], r.digits[r.n] = v, n
	r.n++
	return true
}

// dated reports whether day, month and year are all there.
func (r *dateReader) dated() bool {
	return r.n == 3 || r.n == 2 && r.month >= 0
}

func (r *dateReader) compact(v int) {
	r.nums, r.digits = [3]int{v / 10000, v / 100 % 100, v % 100}, [3]int{4, 2, 2}
	r.n = 3
}

func (r *dateReader) compactTime(v, n int) bool {
	if n == 4 {
		v *= 100
	}
	r.timed = true
	r.d.hour, r.d.min, r.d.sec = v/10000, v/100%100, v%100
	return true
}

// hourOnly is the time of 2024-05-01T10.
func (r *dateReader) hourOnly(v int) bool {
	if r.timed {
		return false
	}
	r.timed = true
	r.d.hour = v
	return true
}

func (r *dateReader) unix(sec int64, nsec int) bool {
	t := time.Unix(sec, 0).UTC()
	r.d = date{year: t.Year(), month: int(t.Month()), day: t.Day(), hour: t.Hour(), min: t.Minute(), sec: t.Second(),
		nsec: nsec}
	r.instant = true
	return true
}

// clock reads what follows the hour of hh:mm[:ss[.fraction]].
func (r *dateReader) clock(hour int) bool {
	r.timed = true
	r.d.hour = hour
	r.i++
	var n int
	if r.d.min, n = r.digitsAt(); n == 0 || n > 2 {
		return false
	}
	if r.peek() != ':' {
		return true
	}
	r.i++
	if r.d.sec, n = r.digitsAt(); n == 0 || n > 2 {
		return false
	}
	if c := r.peek(); c != '.' && c != ',' || r.i+1 >= len(r.b) || r.b[r.i+1] < '0' || r.b[r.i+1] > '9' {
		return true
	}
	r.i++
	fraction, n := r.digitsAt()
	if n > 9 {
		fraction, n = fraction/int(math.Pow10(n-9)), 9
	}
	r.d.nsec = fraction * int(math.Pow10(9-n))
	return true
}

// zoneAhead reports whether a sign begins a zone (+hh, +hhmm, +hh:mm), and does not separate the parts of a date.
func (r *dateReader) zoneAhead() bool {
	if !r.timed && !r.dated() {
		return false
	}
	return r.i+1 < len(r.b) && r.b[r.i+1] >= '0' && r.b[r.i+1] <= '9'
}

func (r *dateReader) zone() bool {
	minus := r.b[r.i] == '-'
	r.i++
	v, n := r.digitsAt()
	switch {
	case n <= 2 && r.peek() == ':':
		r.i++
		m, k := r.digitsAt()
		if k != 2 {
			return false
		}
		v = 100*v + m
	case n <= 2:
		v *= 100
	case n != 4:
		return false
	}
	if v%100 > 59 {
		return false
	}
	if minus {
		v = -v
	}
	if !r.zoned || r.d.offset == 0 { // GMT+0200 is +0200; a second zone only repeats the first
		r.d.offset = (v/100*60 + v%100) * 60
	}
	r.zoned = true
	return true
}

func (r *dateReader) word() bool {
	start := r.i
	for r.i < len(r.b) && (r.b[r.i]|0x20 >= 'a' && r.b[r.i]|0x20 <= 'z' || r.b[r.i] >= utf8.RuneSelf) {
		r.i++
	}
	return r.name(r.b[start:r.i], start)
}

// name takes a word for a month, a weekday, a zone or a mark.
func (r *dateReader) name(w []byte, start int) bool {
	var buf [maxDate]byte
	low := AppendLower(buf[:0], w)
	if rest := r.b[r.i:]; start == 0 && (bytes.HasPrefix(rest, []byte(",")) || bytes.HasPrefix(rest, []byte(".,")) ||
		weekday(low)) {
		return true // a weekday, in any language
	}
	if m := monthOf(low); m > 0 && r.month < 0 && r.n < 3 {
		r.month, r.named = r.n, m
		return true
	}
	switch string(low) {
	case "t":
		return r.dated() && !r.timed
	case "z":
		r.zoned = true
		return r.dated()
	case "am", "pm":
		if !r.timed || r.pm > 0 || r.d.hour > 12 {
			return false
		}
		r.pm = 1
		if low[0] == 'p' {
			r.pm = 2
		}
		return true
	case "th", "st", "nd", "rd": // May 1st, 2024
		return r.n > 0
	case "at", "de", "of": // 1 de mayo de 2024
		return r.n > 0
	}
	if !r.timed {
		return false
	}
	offset, ok := zoneOffset(low)
	if !ok && (len(w) > 5 || !bytes.Equal(w, bytes.ToUpper(w))) {
		return false
	}
	if !r.zoned { // an unknown zone is UTC (RFC 5322, 4.3)
		r.d.offset = offset
	}
	r.zoned = true
	return true
}

// foreign reads a word that begins beyond ASCII. The units of East Asian dates only separate.
func (r *dateReader) foreign() bool {
	c, n := utf8.DecodeRune(r.b[r.i:])
	switch c {
	case '年', '月', '日', '년', '월', '일':
		r.i += n
		return true
	case '時', '时', '시', '分', '분', '秒', '초', utf8.RuneError:
		return false
	}
	if blank(c) {
		r.i += n
		return true
	}
	return r.word()
}

// resolve decides which number is which.
func (r *dateReader) resolve(d *date) bool {
	*d = r.d
	if r.instant {
		return true
	}
	switch {
	case r.pm == 2 && d.hour < 12:
		d.hour += 12
	case r.pm == 1 && d.hour == 12:
		d.hour = 0
	}
	d.month, d.day = 1, 1
	n, w := r.nums, r.digits
	switch {
	case r.month >= 0: // 1 May 2024, May 1, 2024, 2024-May-01
		d.month = r.named
		switch {
		case r.n == 1 && w[0] == 4: // May 2024
			d.year = n[0]
			return !r.timed
		case r.n != 2:
			return false
		case w[0] == 4:
			d.year, d.day = n[0], n[1]
		case w[0] <= 2 && w[1] >= 2:
			d.day, d.year = n[0], fullYear(n[1], w[1])
		default:
			return false
		}
	case r.n > 0 && w[0] == 4: // year first
		d.year = n[0]
		if r.n > 1 {
			d.month = n[1]
		}
		if r.n > 2 {
			d.day = n[2]
		}
		return !r.timed || r.n == 3
	case r.n == 3 && w[2] == 4: // year last: 1.5.2024, else only what leaves no choice
		d.year = n[2]
		switch {
		case r.sep == '.' || n[0] > 12 || n[0] == n[1]:
			d.day, d.month = n[0], n[1]
		case n[1] > 12:
			d.month, d.day = n[0], n[1]
		default:
			return false
		}
	default:
		return false
	}
	return true
}

// fullYear completes years of two and three digits (RFC 5322, 4.3).
func fullYear(v, digits int) int {
	switch {
	case digits == 2 && v < 50:
		return 2000 + v
	case digits <= 3:
		return 1900 + v
	}
	return v
}

func weekday(low []byte) bool {
	if len(low) < 3 {
		return false
	}
	switch string(low[:3]) {
	case "mon", "tue", "wed", "thu", "fri", "sat", "sun":
		return true
	}
	return false
}

// monthOf returns the month that a word begins like, in English or one of the languages that feeds are
// localised to; 0 for none.
func monthOf(low []byte) int {
	n := 0
	for letters := 0; letters < 3 && n < len(low); letters++ {
		_, size := utf8.DecodeRune(low[n:])
		n += size
	}
	switch string(low[:n]) {
	case "jan", "ene", "gen":
		return 1
	case "feb", "fev", "fév":
		return 2
	case "mar", "mär", "mrt", "mrz":
		return 3
	case "apr", "abr", "avr":
		return 4
	case "may", "mai", "maj", "mag", "mei":
		return 5
	case "jun", "giu":
		return 6
	case "jul", "lug":
		return 7
	case "jui": // juin, juillet
		if len(low) > 3 && low[3] == 'n' {
			return 6
		}
		return 7
	case "aug", "ago", "aou", "aoû":
		return 8
	case "sep", "set":
		return 9
	case "oct", "okt", "ott", "out":
		return 10
	case "nov":
		return 11
	case "dec", "dez", "dic", "déc":
		return 12
	}
	return 0
}

// zoneOffset covers the zones that RFC 822 names and those that news sites use; CST and IST are the
// American and the Indian one.
func zoneOffset(low []byte) (offset int, ok bool) {
	const half = 1800
	switch string(low) {
	case "gmt", "utc", "ut", "wet":
		return 0, true
	case "est":
		return -10 * half, true
	case "edt":
		return -8 * half, true
	case "cst":
		return -12 * half, true
	case "cdt":
		return -10 * half, true
	case "mst":
		return -14 * half, true
	case "mdt":
		return -12 * half, true
	case "pst":
		return -16 * half, true
	case "pdt":
		return -14 * half, true
	case "bst", "cet", "mez", "west":
		return 2 * half, true
	case "cest", "mesz", "eet", "sast":
		return 4 * half, true
	case "eest", "msk":
		return 6 * half, true
	case "ist":
		return 11 * half, true
	case "wib":
		return 14 * half, true
	case "hkt", "sgt", "pht", "awst":
		return 16 * half, true
	case "jst", "kst":
		return 18 * half, true
	case "aest":
		return 20 * half, true
	case "aedt":
		return 22 * half, true
	case "nzst":
		return 24 * half, true
	case "nzdt":
		return 26 * half, true
	}
	return 0, false
}

// FirstPage is the publication of the first web page: nothing on the web is older.
var FirstPage = time.Date(1990, 12, 20, 0, 0, 0, 0, time.UTC)

// Plausible reports whether something can have changed at t: not before there was a web, and not in
// the future, give or take a zone.
func Plausible(t, now time.Time) bool {
	return t.After(FirstPage) && t.Before(now.Add(24*time.Hour))
}
