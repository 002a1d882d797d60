package urltext

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// Kind is what a path segment looks like.
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

// Segment is one part of the path, or one key or value of the query.
type Segment struct {
	Raw        string // as written
	Text       []byte // folded word runes; shares the reading's buffer
	Kind       Kind
	Words      int    // words with letters
	Letters    int    // runes that are letters
	Digits     int    // runes that are digits
	Ext        string // file extension in lower case, "" when there is none
	Hits       []Hit  // what the lexicon knows of it, in order
	Covered    int    // bytes of Text that hits cover
	extClass   uint8  // what kind of file that is
	extBytes   int    // bytes of Text that are the extension
	starts     []bool // where words begin in Text; one longer than Text
	digitBytes int    // bytes of Text that are digits outside hits
}

// Hit is a word of the lexicon in a segment.
type Hit struct {
	lexicon.Sense
	Start, End  int // bytes of the segment's Text
	First, Last bool
}

// Field is one "key=value" of the query.
type Field struct{ Key, Value Segment }

// Reading is a URL read. Its memory is reused by the next Read, so that reading allocates nothing
// once the buffers have grown.
type Reading struct {
	Parts
	Sector  hosts.Sector // who speaks
	host    hosts.Parts
	lowHost []byte
	Sub     []Segment // labels before the registered name, leftmost first, without www
	Name    Segment   // the registered name
	Path    []Segment
	Query   []Field
	Slash   bool // the path ends in a slash

	subSenses, nameSenses []lexicon.Sense // what the words for hosts say of them

	hostFor string // the host that Sub and Name were read for
	hostMem arena
	mem     arena
	match   []lexicon.Match
	scratch []byte
}

// arena holds the bytes and hits of the segments of one reading.
type arena struct {
	text   []byte
	starts []bool
	hits   []Hit
}

func (a *arena) reset() { a.text, a.starts, a.hits = a.text[:0], a.starts[:0], a.hits[:0] }

// limits of what is looked at: longer URLs are traps or carry state, and their first parts tell enough.
const (
	maxSegments     = 24
	maxFields       = 12
	maxSegmentBytes = 400
	maxValueBytes   = 80
)

// Read reads a URL. Sector is who speaks as far as others know; what the host says goes first.
func (r *Reading) Read(url string, sector hosts.Sector) {
	r.Parts = Split(url)
	r.readHost()
	r.Sector = r.host.Sector
	if r.Sector == hosts.OtherSector {
		r.Sector = sector
	}
	r.mem.reset()
	r.Path = r.Path[:0]
	path := r.Parts.Path
	r.Slash = len(path) > 1 && path[len(path)-1] == '/'
	for i := 0; i < len(path) && len(r.Path) < maxSegments; {
		if path[i] == '/' || path[i] == ';' {
			i++
			continue
		}
		j := i
		for j < len(path) && path[j] != '/' && path[j] != ';' {
			j++
		}
		r.Path = append(r.Path, Segment{})
		r.readSegment(&r.mem, &r.Path[len(r.Path)-1], clip(path[i:j], maxSegmentBytes), true)
		i = j
	}
	r.kinds()
	r.Query = r.Query[:0]
	for q := r.Parts.Query; q != "" && len(r.Query) < maxFields; {
		var field string
		field, q = cutAny(q, "&;")
		if field == "" {
			continue
		}
		key, value := cutByte(field, '=')
		r.Query = append(r.Query, Field{})
		f := &r.Query[len(r.Query)-1]
		r.readSegment(&r.mem, &f.Key, clip(key, maxValueBytes), false)
		r.readSegment(&r.mem, &f.Value, clip(value, maxValueBytes), false)
		f.Key.Kind, f.Value.Kind = f.Key.shape(), f.Value.shape()
	}
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func cutByte(s string, c byte) (before, after string) {
	for i := range len(s) {
		if s[i] == c {
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func cutAny(s, set string) (before, after string) {
	for i := range len(s) {
		for j := range len(set) {
			if s[i] == set[j] {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// readHost reads the labels of the host, once for many URLs of one host.
func (r *Reading) readHost() {
	if r.hostFor == r.Host && r.hostFor != "" {
		return
	}
	r.hostFor = r.Host
	r.hostMem.reset()
	r.lowHost = r.lowHost[:0]
	for i := range len(r.Host) {
		c := r.Host[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		r.lowHost = append(r.lowHost, c)
	}
	r.host = hosts.Split(string(r.lowHost))
	r.Sub = r.Sub[:0]
	for rest := r.host.Sub; rest != ""; {
		var label string
		label, rest = cutByte(rest, '.')
		if isWWW(label) {
			continue
		}
		if len(r.Sub) == 6 {
			break
		}
		r.Sub = append(r.Sub, Segment{})
		r.readSegment(&r.hostMem, &r.Sub[len(r.Sub)-1], label, false)
	}
	r.Name = Segment{}
	r.readSegment(&r.hostMem, &r.Name, r.host.Name, false)
	r.subSenses = r.subSenses[:0]
	for i := range r.Sub {
		r.subSenses = r.appendHostSenses(r.subSenses, &r.Sub[i])
	}
	r.nameSenses = r.appendHostSenses(r.nameSenses[:0], &r.Name)
}

// appendHostSenses appends what the words for hosts say of a label. Words that do not stand for a
// part of a label must be the whole of it: "time" is a magazine, "time-tables" is not.
func (r *Reading) appendHostSenses(dst []lexicon.Sense, s *Segment) []lexicon.Sense {
	r.match = lexicon.Hosts().Find(r.match[:0], s.Text, s.starts)
	for i := range r.match {
		m := &r.match[i]
		if !m.Inside() && (m.Start > 0 || m.End < len(s.Text)) {
			continue
		}
		for sense := range m.Senses {
			dst = append(dst, sense)
		}
	}
	return dst
}

// HostSenses is what the words for hosts say of the labels of the host.
func (r *Reading) HostSenses() []lexicon.Sense {
	return append(slices.Clone(r.subSenses), r.nameSenses...)
}

// SearchQuery tells that the query asks for something by its words.
func (r *Reading) SearchQuery() bool {
	for i := range r.Query {
		if searchKeys[string(r.Query[i].Key.Text)] {
			return true
		}
	}
	return false
}

// WordsOf gives the words of a hit, folded.
func (s *Segment) WordsOf(h Hit) []string {
	var words []string
	begin := h.Start
	for i := h.Start + 1; i <= h.End; i++ {
		if i == h.End || s.starts[i] {
			words = append(words, string(s.Text[begin:i]))
			begin = i
		}
	}
	return words
}

// isWWW tells www, www1, www-2 and the like.
func isWWW(label string) bool {
	if len(label) < 3 || label[:3] != "www" {
		return false
	}
	for i := 3; i < len(label); i++ {
		if c := label[i]; c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// readSegment folds raw, marks its words and looks them up. In a file name, an extension is told apart.
func (r *Reading) readSegment(mem *arena, s *Segment, raw string, file bool) {
	*s = Segment{Raw: raw}
	r.scratch = appendUnescaped(r.scratch[:0], raw, !file)
	if len(raw) > 4 && (raw[0] == 'x' || raw[0] == 'X') && mem == &r.hostMem {
		r.scratch = appendPunycode(r.scratch[:0], raw)
	}
	text := r.scratch
	extAt := len(text)
	if file {
		if i := extension(text); i < len(text) {
			if s.Ext, s.extClass = extensionClass(text[i:]); s.Ext != "" {
				extAt = i
			}
		}
	}
	s.fold(mem, text, extAt)
	r.lookUp(mem, s)
}

// fold appends the words of text to mem, folded, marks where each begins, and counts what it sees. The
// extension, if there is one, begins at extAt.
func (s *Segment) fold(mem *arena, text []byte, extAt int) {
	begin, beginStarts := len(mem.text), len(mem.starts)
	folded, starts := mem.text, mem.starts // in registers while the text is read
	extBegin := 0
	var w wordBreaker
	for i := 0; i < len(text); {
		if i == extAt {
			extBegin = len(folded)
		}
		if j := w.smallLetters(text[:extAt], i); j > i {
			folded = append(folded, text[i:j]...)
			starts = append(starts, noStarts[:j-i]...)
			if w.class != letters {
				starts[len(starts)-(j-i)] = true
				s.Words++
			}
			s.Letters += j - i
			w, i = wordBreaker{class: letters, previous: rune(text[j-1])}, j
			continue
		}
		c, size := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(text[i:])
		}
		i += size
		a, b := foldRune(c)
		if a < 0 {
			continue
		}
		if a == 0 {
			w = wordBreaker{}
			continue
		}
		begins, beganBefore := w.next(c, a)
		if beganBefore {
			starts[len(starts)-1] = true
			s.Words++
		}
		if w.class == digits {
			s.Digits++
		} else {
			s.Letters++
			if begins {
				s.Words++
			}
		}
		starts = append(starts, begins)
		if a < utf8.RuneSelf && b == 0 {
			folded = append(folded, byte(a))
			continue
		}
		before := len(folded)
		folded = utf8.AppendRune(folded, a)
		if b != 0 {
			folded = utf8.AppendRune(folded, b)
		}
		starts = append(starts, noStarts[:len(folded)-before-1]...)
	}
	mem.text, mem.starts = folded, append(starts, true)
	s.Text = mem.text[begin:]
	s.starts = mem.starts[beginStarts:]
	if s.Ext != "" {
		s.leaveOutExtension(len(mem.text) - extBegin)
	}
}

// leaveOutExtension takes an extension of n bytes out of the counts.
func (s *Segment) leaveOutExtension(n int) {
	s.extBytes = n
	s.Words--
	s.Letters -= len(s.Ext)
	for i := range len(s.Ext) {
		if c := s.Ext[i]; '0' <= c && c <= '9' {
			s.Letters++
			s.Digits--
		}
	}
}

// foldRune folds a rune as lexicon.Fold does. a is below 0 for a mark, which is part of the word that it
// stands in, and 0 for what is part of no word. An apostrophe ends a word like any other sign: "l'actu"
// is found as "l-actu" all the same.
func foldRune(c rune) (a, b rune) {
	if c < utf8.RuneSelf {
		return rune(lexicon.FoldASCII(byte(c))), 0
	}
	if a, b = lexicon.Fold(c); a >= 0 && !lexicon.IsWord(a) {
		return 0, 0
	}
	return a, b
}

// wordBreaker finds where words begin.
type wordBreaker struct {
	class    runeClass // of the rune before
	previous rune      // it, as written
	upperRun int       // capitals in a row before
}

// runeClass is a kind of runes that words are made of. A change of class begins a word.
type runeClass uint8

const (
	none runeClass = iota // between words
	digits
	letters
	unspaced
)

// smallLetters is where the run of small letters at text[i] ends that needs no closer look, i when there
// is none. Most of a URL is small letters.
func (w *wordBreaker) smallLetters(text []byte, i int) int {
	if w.class == letters && w.upperRun > 1 {
		return i
	}
	end := min(len(text), i+len(noStarts))
	for i < end && 'a' <= text[i] && text[i] <= 'z' {
		i++
	}
	return i
}

// next takes in a rune of a word, as written and folded. begins reports whether a word begins with it;
// beganBefore, that one began with the rune before: in "FAQPage" the last capital begins "Page".
func (w *wordBreaker) next(c, folded rune) (begins, beganBefore bool) {
	class := letters
	switch {
	case '0' <= folded && folded <= '9':
		class = digits
	case folded >= 0xE00 && lexicon.Unspaced(folded):
		class = unspaced
	}
	upper := 'A' <= c && c <= 'Z'
	begins = class != w.class
	if class == letters && w.class == letters {
		begins = upper && !('A' <= w.previous && w.previous <= 'Z') // newsRoom
		beganBefore = !upper && w.upperRun > 1 && 'a' <= c && c <= 'z' && c != 's'
	}
	if upper {
		w.upperRun++
	} else {
		w.upperRun = 0
	}
	w.class, w.previous = class, c
	return begins, beganBefore
}

// noStarts are as many bytes as begin no word.
var noStarts [64]bool

// lookUp finds the words of the lexicon in a segment.
func (r *Reading) lookUp(mem *arena, s *Segment) {
	if len(s.Text) == 0 {
		return
	}
	r.match = lexicon.General().Find(r.match[:0], s.Text, s.starts)
	begin := len(mem.hits)
	body := len(s.Text) - s.extBytes
	for i := range r.match {
		m := &r.match[i]
		if m.Start >= body && s.Ext != "" && s.Ext != "do" {
			continue // "pdf", "xml" as an extension are told by Ext
		}
		s.Covered += min(m.End, body) - m.Start
		first := m.Start == 0
		last := m.End >= body || s.Digits > 0 && s.onlyDigits(m.End, body)
		for sense := range m.Senses {
			mem.hits = append(mem.hits, Hit{sense, m.Start, m.End, first, last})
		}
	}
	s.Hits = mem.hits[begin:]
	if s.Digits == 0 {
		return
	}
	end := 0
	for _, h := range s.Hits {
		if h.Start >= end {
			s.digitBytes += countDigits(s.Text[end:h.Start])
			end = h.End
		}
	}
	if end < body {
		s.digitBytes += countDigits(s.Text[end:body])
	}
}

func (s *Segment) onlyDigits(from, to int) bool {
	return from <= to && countDigits(s.Text[from:to]) == to-from
}

func countDigits(text []byte) int {
	n := 0
	for _, c := range text {
		if '0' <= c && c <= '9' {
			n++
		}
	}
	return n
}

// Exact tells that hits cover all words of the segment; digits and the extension are let through.
func (s *Segment) Exact() bool {
	return s.Covered > 0 && s.Covered+s.digitBytes >= len(s.Text)-s.extBytes
}

// extension is where ".ext" begins in a file name: the offset of the letters after the last dot, or
// the length of the name.
func extension(name []byte) int {
	for i := len(name) - 1; i > 0 && i >= len(name)-9; i-- {
		if name[i] == '.' {
			return i + 1
		}
	}
	return len(name)
}

func extensionClass(ext []byte) (name string, class uint8) {
	if len(ext) == 0 || len(ext) > 8 {
		return "", extNone
	}
	var low [8]byte
	for i, c := range ext {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	e := extensions[string(low[:len(ext)])]
	return e.name, e.class
}

// kinds tells what each segment of the path is; dates need their neighbours.
func (r *Reading) kinds() {
	for i := range r.Path {
		s := &r.Path[i]
		s.Kind = s.shape()
		previous := Words
		if i > 0 {
			previous = r.Path[i-1].Kind
		}
		value := number(s.Text)
		switch {
		case s.Kind == Number && previous == Year && value >= 1 && value <= 12:
			s.Kind = MonthNo
		case previous == Year && len(s.Hits) == 1 && s.Hits[0].Role == lexicon.Month && s.Exact():
			s.Kind = MonthNo
		case s.Kind == Number && previous == MonthNo && value >= 1 && value <= 31:
			s.Kind = Day
		case s.Kind == Number && previous == Words && i > 0 && isPage(&r.Path[i-1]):
			s.Kind = Page
		case i <= 2 && s.Ext == "" && isLang(s.Raw):
			s.Kind = Lang
		}
	}
}

func isPage(s *Segment) bool {
	switch string(s.Text) {
	case "page", "seite", "pagina", "pag", "p", "strona", "sida", "side", "trang":
		return true
	}
	return false
}

// shape tells the kind of a segment by itself.
func (s *Segment) shape() Kind {
	body := s.Text[:len(s.Text)-s.extBytes]
	if len(body) == 0 {
		return Words
	}
	if s.Letters == 0 {
		switch value := number(body); {
		case len(body) == 4 && value >= 1985 && value <= 2039:
			return Year
		case isDate(body):
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

// isKey tells opaque keys: hexadecimal, or letters and digits mixed so that no words remain.
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

// number reads up to 9 digits, -1 when there is something else.
func number(text []byte) int {
	if len(text) == 0 || len(text) > 9 {
		return -1
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// isDate tells 20230915, 15092023 and 202309.
func isDate(digits []byte) bool {
	plausible := func(y, m, d int) bool {
		return y >= 1985 && y <= 2039 && m >= 1 && m <= 12 && d >= 1 && d <= 31
	}
	switch len(digits) {
	case 8:
		return plausible(number(digits[:4]), number(digits[4:6]), number(digits[6:])) ||
			plausible(number(digits[4:]), number(digits[2:4]), number(digits[:2]))
	case 6:
		return plausible(number(digits[:4]), number(digits[4:]), 1)
	}
	return false
}

// hasDate tells that a date of eight digits stands in the segment.
func (s *Segment) hasDate() bool { return s.Digits >= 8 && dateIn(s.Text[:len(s.Text)-s.extBytes]) }

// dateIn finds a run of eight digits that is a date.
func dateIn(text []byte) bool {
	run := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && '0' <= text[i] && text[i] <= '9' {
			run++
			continue
		}
		if run >= 8 && isDate(text[i-run:i-run+8]) {
			return true
		}
		run = 0
	}
	return false
}

// languages are the two-letter codes taken for the language of a page when they stand alone at the
// beginning of the path.
var languages = wordSet("en ko kr ja jp zh cn tw hk tc sc de fr es pt it nl id ms vi vn th ar ru uk ua pl cs cz sk tr sv se da dk no nb nn fi el gr hu ro bg hr sr sl et lv lt he fa hi bn ur ca eu gl cy ga mt is sq mk ka hy az kk uz gb us br mx eng chi kor jpn chn chs cht ger fra spa ita rus gp int")

func isLang(raw string) bool {
	if len(raw) > 7 || len(raw) < 2 {
		return false
	}
	var low [7]byte
	for i := range len(raw) {
		c := raw[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	code := low[:len(raw)]
	if len(raw) >= 5 && (code[2] == '-' || code[2] == '_') {
		return languages[string(code[:2])]
	}
	if len(raw) > 3 {
		return string(code) == "english" || string(code) == "korean" || string(code) == "zhhans" || string(code) == "zhhant"
	}
	return languages[string(code)]
}

// wordSet is the set of the words of a list.
func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}
