package page

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/markup"
)

// sources are the sources of dates, the most reliable first.
var sources = [...]DateSource{FromJSONLD, FromMeta, FromMicrodata, FromTime, FromText}

// stated is a date with its source.
type stated struct {
	at   time.Time
	from DateSource
}

// offer takes a date unless there is one that is as reliable.
func (d *stated) offer(at time.Time, from DateSource) {
	if d.from == "" || slices.Index(sources[:], from) < slices.Index(sources[:], d.from) {
		*d = stated{at, from}
	}
}

// dates collects the dates of a page.
type dates struct {
	published, modified stated
	times               int  // time elements
	inText              int  // in the visible text
	several             bool // the page's data states several dates of publication
}

// propertyNames are the names of meta elements and properties that state a date, and whether it is that of a change.
var propertyNames = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range strings.Fields("article:published_time og:published_time og:article:published_time" +
		" datepublished pubdate publishdate publish-date publish_date publication_date publication-date date dc.date" +
		" dc:date dc.date.issued dc.date.created dcterms.issued dcterms.date dcterms.created dcterms.available" +
		" sailthru.date parsely-pub-date cxenseparse:recs:publishtime article.published article:published" +
		" citation_publication_date date.issued date.created datecreated uploaddate published_time") {
		names[name] = false
	}
	for _, name := range strings.Fields("article:modified_time og:updated_time og:article:modified_time" +
		" datemodified last-modified lastmod dcterms.modified dc.date.modified article:modified article.updated" +
		" date.modified revised modified_time") {
		names[name] = true
	}
	return names
}()

// property takes a property that might be a date.
func (d *dates) property(name, value string, from DateSource) {
	isChange, known := propertyNames[strings.ToLower(name)]
	if !known || value == "" {
		return
	}
	at, ok := markup.ParseDate([]byte(value))
	if !ok {
		return
	}
	if isChange {
		d.modified.offer(at, from)
	} else {
		d.published.offer(at, from)
	}
}

// time takes a time element within elements of the given roles.
func (d *dates) time(t *markup.Tag, a *attributes, around role) {
	value := t.Attr("datetime")
	if value == "" {
		return
	}
	d.times++
	if len(a.itemprop) > 0 {
		d.property(string(a.itemprop), value, FromMicrodata)
		return
	}
	at, ok := markup.ParseDate([]byte(value))
	if !ok {
		return
	}
	switch {
	case bytes.Contains(bytes.ToLower(a.class[:min(len(a.class), maxNames)]), []byte("updated")):
		d.modified.offer(at, FromTime)
	case around&boilerplate == 0:
		d.published.offer(at, FromTime)
	}
}

// visible takes a line below the heading that has a date.
func (d *dates) visible(line []byte) {
	const longest = 200
	if len(line) > longest {
		return
	}
	for i := 0; ; {
		found := nextDate(line, i)
		if found.end == 0 {
			return
		}
		if !found.at.IsZero() {
			d.published.offer(found.at, FromText)
			return
		}
		i = found.end
	}
}

// count counts the dates of a line of text, and reports whether it has any.
func (d *dates) count(line []byte) bool {
	before := d.inText
	for i := 0; ; d.inText++ {
		found := nextDate(line, i)
		if found.end == 0 {
			return d.inText > before
		}
		i = found.end
	}
}

// maxSingle is the number of dates up to which a page is about one thing, rather than a list of dated things.
const maxSingle = 4

// decide sets the dates of ev.
func (d *dates) decide(ev *Evidence) {
	ev.Dates = min(max(d.times, d.inText), MaxCount)
	p := d.published
	isList := p.from == FromTime && d.times > maxSingle || p.from == FromText && d.inText > maxSingle ||
		p.from == FromJSONLD && d.several
	if p.from != "" && !isList {
		ev.Published, ev.PublishedFrom = p.at.UTC(), p.from
	}
	if m := d.modified; m.from != "" && !isList && !m.at.Before(p.at) {
		ev.Modified, ev.ModifiedFrom = m.at.UTC(), m.from
	}
}

// linkedData takes the content of a script of JSON-LD. It need not be valid.
func (x *extractor) linkedData(b []byte) {
	if len(b) == 0 {
		return
	}
	var first time.Time
	for i := 0; ; {
		value, next := member(b, i, "datePublished")
		if next < 0 {
			break
		}
		i = next
		at, ok := markup.ParseDate(value)
		switch {
		case !ok:
		case first.IsZero():
			first = at
			x.dates.published.offer(at, FromJSONLD)
		case at.Sub(first).Abs() > 24*time.Hour:
			x.dates.several = true
		}
	}
	if value, next := member(b, 0, "dateModified"); next >= 0 {
		if at, ok := markup.ParseDate(value); ok {
			x.dates.modified.offer(at, FromJSONLD)
		}
	}
	if value, next := member(b, 0, "isAccessibleForFree"); next >= 0 && markup.EqualFold(value, "false") {
		x.Paywall = NotFree
	}
	if i := bytes.Index(b, []byte(`"BreadcrumbList"`)); i >= 0 && len(x.Breadcrumb) == 0 {
		list := b[i:]
		if end := bytes.IndexByte(list, ']'); end >= 0 {
			list = list[:end]
		}
		for i := 0; len(x.Breadcrumb) < MaxBreadcrumb; {
			value, next := member(list, i, "name")
			if next < 0 {
				break
			}
			i = next
			if name := Line(string(value), MaxCrumb); name != "" {
				x.Breadcrumb = append(x.Breadcrumb, name)
			}
		}
		x.crumbsDone = len(x.Breadcrumb) > 0
	}
}

// member returns the value of the next member of a name in JSON from i on: a string or a bare word. next is the index
// after it, -1 without one.
func member(b []byte, i int, name string) (value []byte, next int) {
	key := []byte(`"` + name + `"`)
	for {
		at := bytes.Index(b[i:], key)
		if at < 0 {
			return nil, -1
		}
		i += at + len(key)
		rest := bytes.TrimLeft(b[i:], " \t\r\n")
		if len(rest) == 0 || rest[0] != ':' {
			continue
		}
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		i = len(b) - len(rest)
		if len(rest) == 0 {
			return nil, -1
		}
		if rest[0] != '"' {
			n := 0
			for n < len(rest) && rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z' {
				n++
			}
			return rest[:n], i + n
		}
		const longest = 2000
		for n := 1; n < min(len(rest), longest); n++ {
			switch rest[n] {
			case '\\':
				n++
			case '"':
				var s string
				if json.Unmarshal(rest[:n+1], &s) != nil {
					s = ""
				}
				return []byte(s), i + n + 1
			}
		}
	}
}

// dateInText is a full date in a text.
type dateInText struct {
	at  time.Time // zero when its parts can be read in two ways
	end int       // 0 for none
}

// Years that dates in texts have.
const (
	firstYear = 1990
	lastYear  = 2039
)

// nextDate finds the next full date in a text from i on.
func nextDate(b []byte, i int) dateInText {
	for ; i+4 <= len(b); i++ {
		if b[i] != '1' && b[i] != '2' {
			continue
		}
		year, n := digits(b, i)
		if n != 4 || year < firstYear || year > lastYear || i > 0 && isDigit(b[i-1]) {
			for i+1 < len(b) && isDigit(b[i+1]) {
				i++
			}
			continue
		}
		for _, read := range [...]func([]byte, int, int) (dateInText, bool){yearFirst, numbersFirst, wordFirst} {
			if found, ok := read(b, i, year); ok {
				return found
			}
		}
		i += 3
	}
	return dateInText{}
}

// yearFirst reads 2024-05-12, 2024. 5. 12. and 2024年5月12日; the year is at b[i].
func yearFirst(b []byte, i, year int) (d dateInText, ok bool) {
	var parts [2]int
	i += 4
	for k := range parts {
		n := separator(b, i)
		if n == 0 {
			return d, false
		}
		i += n
		if parts[k], n = digits(b, i); n == 0 || n > 2 {
			return d, false
		}
		i += n
	}
	at, ok := dayOf(year, parts[0], parts[1])
	return dateInText{at, i}, ok
}

// separator returns the length of what stands between the numbers of a date, 0 if something else does.
func separator(b []byte, i int) int {
	start := i
	for i < len(b) && b[i] == ' ' {
		i++
	}
	marked := false
	for _, mark := range [...]string{"-", ".", "/", "年", "月", "년", "월"} {
		if bytes.HasPrefix(b[i:], []byte(mark)) {
			i += len(mark)
			marked = true
			break
		}
	}
	if !marked {
		return 0
	}
	for i < len(b) && b[i] == ' ' {
		i++
	}
	return i - start
}

// numbersFirst reads 12.05.2024 and 12/05/2024; the year is at b[i].
func numbersFirst(b []byte, i, year int) (d dateInText, ok bool) {
	end := i + 4
	var parts [2]int
	var mark byte
	for k := range parts {
		for i > 0 && b[i-1] == ' ' {
			i--
		}
		if i == 0 || strings.IndexByte("./-", b[i-1]) < 0 || k > 0 && b[i-1] != mark {
			return d, false
		}
		i--
		mark = b[i]
		for i > 0 && b[i-1] == ' ' {
			i--
		}
		stop := i
		for i > 0 && isDigit(b[i-1]) && stop-i < 3 {
			i--
		}
		if stop == i || stop-i > 2 {
			return d, false
		}
		parts[k], _ = digits(b, i)
	}
	month, day := parts[0], parts[1]
	if month > 12 {
		month, day = day, month
	}
	at, ok := dayOf(year, month, day)
	if ambiguous := month <= 12 && day <= 12 && month != day && mark != '.'; ambiguous {
		at = time.Time{}
	}
	return dateInText{at, end}, ok
}

// wordFirst reads 12 May 2024, May 12, 2024 and 12 de mayo de 2024; the year is at b[i].
func wordFirst(b []byte, i, _ int) (d dateInText, ok bool) {
	end := i + 4
	const furthest = 40
	before := b[max(0, i-furthest):i]
	fields := bytes.FieldsFunc(before, func(r rune) bool { return r == ' ' || r == ',' })
	const most = 4
	number, word := -1, -1
	for k := len(fields) - 1; k >= max(0, len(fields)-most) && (number < 0 || word < 0); k-- {
		switch f := fields[k]; {
		case isDay(f):
			if number >= 0 {
				return d, false
			}
			number = k
		case isFiller(f):
		case isWord(f):
			if word >= 0 {
				return d, false
			}
			word = k
		default:
			return d, false
		}
	}
	if number < 0 || word < 0 {
		return d, false
	}
	var plain []byte
	for _, f := range [][]byte{fields[number], fields[word], b[i:end]} {
		plain = append(append(plain, f...), ' ')
	}
	d.end = end
	if at, ok := markup.ParseDate(plain); ok {
		d.at = at
	}
	return d, true
}

// isDay reports whether a word is the number of a day: "12", "12th", "12.".
func isDay(f []byte) bool {
	n, size := digits(f, 0)
	if size == 0 || size > 2 || n < 1 || n > 31 {
		return false
	}
	switch string(bytes.ToLower(f[size:])) {
	case "", ".", "st", "nd", "rd", "th", "º", "er":
		return true
	}
	return false
}

// isFiller reports whether a word stands between the parts of a date.
func isFiller(f []byte) bool {
	switch string(bytes.ToLower(f)) {
	case "de", "del", "of", "di", "-":
		return true
	}
	return false
}

// isWord reports whether f could be the name of a month.
func isWord(f []byte) bool {
	f = bytes.TrimRight(f, ".")
	n := 0
	for _, r := range string(f) {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) {
			return false
		}
		n++
	}
	return n >= 3 && n <= 12 && utf8.Valid(f)
}

// digits reads up to five digits.
func digits(b []byte, i int) (value, n int) {
	for i+n < len(b) && isDigit(b[i+n]) && n < 5 {
		value = 10*value + int(b[i+n]-'0')
		n++
	}
	return value, n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// dayOf returns a day, and reports whether it exists.
func dayOf(year, month, day int) (time.Time, bool) {
	at := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return at, month >= 1 && month <= 12 && at.Day() == day
}
