package urltext

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/classify/hosts"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
)

// Field is one "key=value" of the query.
type Field struct{ Key, Value Segment }

// Reading is a parsed URL. The next Read reuses its buffers, so that reading allocates nothing once they have
// grown.
type Reading struct {
	Words *lexicon.Words // required
	Parts
	Sector  hosts.Sector // of the host, or of its context
	host    hosts.Parts
	lowHost []byte
	Sub     []Segment // labels before the registered name, leftmost first, without www
	Name    Segment   // the registered name
	Path    []Segment
	Query   []Field
	Slash   bool    // the path ends in a slash
	Title   Segment // of the page, by ReadText
	After   Segment // what follows the title: names of sections and of the site
	Anchor  Segment // of links to the page or its section, by ReadText

	subSenses, nameSenses []lexicon.Sense // of Sub and Name, by the words for hosts

	hostFor string // the host that Sub and Name were read for
	hostMem arena
	mem     arena
	match   []lexicon.Match
	scratch []byte
	words   *titleWords // of titles that were read, nil before the first
	titled  bool        // the last thing read is a title, by words
}

// Limits of what is read: longer URLs are traps or carry state, and their first parts suffice.
const (
	maxSegments     = 24
	maxFields       = 12
	maxSegmentBytes = 400
	maxValueBytes   = 80
)

// Read parses a URL. Sector is that of its context, for hosts whose suffix names none.
func (r *Reading) Read(url string, sector hosts.Sector) {
	r.Parts = Split(url)
	r.readHost()
	r.Sector = r.host.Sector
	if r.Sector == hosts.OtherSector {
		r.Sector = sector
	}
	r.mem.reset()
	r.titled = false
	r.Title, r.After, r.Anchor = Segment{}, Segment{}, Segment{}
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

// readHost reads the labels of the host, once for consecutive URLs of one host.
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
	for labels := r.host.Sub; labels != ""; {
		var label string
		label, labels = cutByte(labels, '.')
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

// appendHostSenses appends the senses of a label by the words for hosts. A word that does not match everywhere must
// be the whole label: "time" is a magazine, "time-tables" is not.
func (r *Reading) appendHostSenses(dst []lexicon.Sense, s *Segment) []lexicon.Sense {
	r.match = r.Words.Hosts.Find(r.match[:0], s.Text, s.starts)
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

// HostSenses returns the senses of the host's labels by the words for hosts.
func (r *Reading) HostSenses() []lexicon.Sense {
	return append(slices.Clone(r.subSenses), r.nameSenses...)
}

// SearchQuery reports whether the query has a key for search terms.
func (r *Reading) SearchQuery() bool {
	for i := range r.Query {
		if searchKeys[string(r.Query[i].Key.Text)] {
			return true
		}
	}
	return false
}

// isWWW reports whether a label is www, www1, www-2 or the like.
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

// wordSet is the set of the words of a list.
func wordSet(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		set[word] = true
	}
	return set
}
