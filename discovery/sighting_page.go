package discovery

import (
	"strings"
	"time"

	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/swar"
)

// Limits beyond which a URL is a trap rather than a page.
const (
	MaxURLLength = 2083
	MaxSegments  = markup.MaxSegments
)

// page is a parsed URL. Its strings are substrings of url, or of an earlier one that begins alike.
type page struct {
	url      string
	host     string // without port
	path     string // begins with "/"
	query    string // without "?"
	depth    int    // path segments
	segments [MaxSegments]string
	kinds    [MaxSegments]kind
	bodies   [MaxSegments]uint16 // bytes of the segments before their extension
	ends     [MaxSegments]int32  // where in url the segments end
	hostAt   int                 // where in url the host begins
	pathAt   int                 // where in url the path begins
	ext      string              // extension of the file name in lower case, "" when it is not recognised

	alike  bool                    // it differs from the previous page only in its title, see parse
	placed int                     // directories whose node in the tree of patterns is known, see tree.add
	places [maxPatternDepth]nodeID // these nodes
	growth int                     // tree.generation when they were found
	key    uint64                  // see sectionKey
	keyed  int                     // segments that decide about key, 0 before it is known
}

// parsePage parses a canonical URL. segments has only the first segments of a path that is too deep; depth counts
// all.
func parsePage(url string) (p page) {
	p.parse(url)
	return p
}

// parse parses a canonical URL in place of that of p. Consecutive URLs of a sitemap mostly share host and directories,
// and what was found out about those stays.
func (p *page) parse(url string) {
	before, ext, long := p.depth, p.ext, p.isLong()
	titled := p.endsInTitle()
	shared := p.sharedWith(url)
	if !p.parseFrom(url, shared) {
		shared = 0
		p.parseFrom(url, 0)
	}
	p.placed = min(p.placed, shared)
	if p.keyed > shared {
		p.keyed = 0
	}
	p.alike = titled && shared > 0 && shared == before-1 && p.depth == before && p.endsInTitle() && p.ext == ext &&
		p.isLong() == long
}

// endsInTitle reports whether the URL ends in a title that has a word.
func (p *page) endsInTitle() bool {
	last := p.depth - 1
	return last >= 0 && last < len(p.segments) && p.kinds[last] == slugKind && p.query == "" &&
		containsWord(p.body(last))
}

// isLong reports whether a URL is longer than readers like.
func (p *page) isLong() bool { return len(p.url) > 200 }

// sharedWith returns how many directories of p begin the path of a URL on the same host, too.
func (p *page) sharedWith(url string) int {
	common := swar.Common([]byte(p.url), []byte(url))
	n := 0
	for n < min(p.depth, len(p.segments))-1 && int(p.ends[n]) < common {
		n++
	}
	return n
}

// parseFrom parses a URL that begins with n directories of p. It reports whether there is anything behind them: the
// last segment of a path is read in another way than directories are.
func (p *page) parseFrom(url string, n int) bool {
	if n == 0 {
		p.parseHost(url)
	}
	p.url, p.query, p.ext, p.depth = url, "", "", n
	i := p.pathAt
	if n > 0 {
		i = int(p.ends[n-1])
	}
	for i < len(url) && url[i] != '?' {
		begin := i + 1
		if i = markup.NextOf([]byte(url), begin, '/', '?'); i < 0 {
			i = len(url)
		}
		if i == begin {
			continue
		}
		if p.depth < len(p.segments) {
			p.segments[p.depth], p.ends[p.depth] = url[begin:i], int32(i)
		}
		p.depth++
	}
	p.path = url[p.pathAt:i]
	if i < len(url) {
		p.query = url[i+1:]
	}
	if p.depth == n {
		return n == 0
	}
	p.setKinds(n)
	return true
}

func (p *page) parseHost(url string) {
	p.hostAt = len("http://")
	if url[4] == 's' {
		p.hostAt++
	}
	p.host = url[p.hostAt:]
	p.host = p.host[:strings.IndexByte(p.host, '/')]
	p.pathAt = p.hostAt + len(p.host)
	if i := strings.IndexByte(p.host, ':'); i >= 0 {
		p.host = p.host[:i]
	}
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
func (p *page) origin() string { return p.url[:p.pathAt] }

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
var pageExtensions = words(
	"html htm shtml xhtml php php3 phtml asp aspx jsp jspx jhtml do action cfm cgi pl nsf page amp cms")

// fileExtensions are further extensions that are recognised: "v1.6" has none.
var fileExtensions = words(
	"pdf doc docx odt rtf txt epub hwp hwpx ppt pptx odp xls xlsx xlsm ods csv tsv json xml rdf geojson kml kmz" +
		" shp zip rar 7z gz tar tgz exe apk dmg iso rss atom ics vcf ps tex")

// assetExtensions are the extensions of parts of pages, and of files that are played rather than read.
var assetExtensions = words("jpg jpeg png gif svg webp avif bmp tif tiff ico css js mjs map woff woff2 ttf otf eot" +
	" mp3 mp4 m4a m4v avi mov wmv flv webm ogg ogv wav wma mpg mpeg m3u8 ts swf")

// body is a segment without its extension.
func (p *page) body(i int) string { return p.segments[i][:p.bodies[i]] }

// extension returns the known extension of a segment in lower case and the index of its dot, or "" and the segment's
// length.
func extension(segment string) (name string, dot int) {
	if strings.IndexByte(segment, '.') < 0 {
		return "", len(segment)
	}
	file := segment
	if i := strings.IndexByte(segment, ';'); i >= 0 {
		file = segment[:i]
	}
	dot = strings.LastIndexByte(file, '.')
	if dot <= 0 || len(file)-dot > maxExtension+1 {
		return "", len(segment)
	}
	name = strings.ToLower(file[dot+1:])
	if pageExtensions[name] || fileExtensions[name] || assetExtensions[name] {
		return name, dot
	}
	return "", len(segment)
}

// maxExtension is the length of the longest extension.
const maxExtension = 7

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

// extensionLength returns the length of the extension in bytes, with its dot and the parameters behind it.
func extensionLength(segment string) int {
	_, dot := extension(segment)
	return len(segment) - dot
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

// trapOf returns the reason why a URL is one of endlessly many with the same content or none, or NoTrap.
func (p *page) trapOf(now time.Time) markup.Trap {
	if p.depth > MaxSegments {
		return markup.DeepTrap
	}
	return markup.TrapOf(p.parts(), p.query, now)
}

// isLogin reports whether a page is for accounts.
func (p *page) isLogin() bool {
	var word [maxLoginWord]byte
	for _, s := range p.parts() {
		n := 0
		for _, c := range []byte(s[:len(s)-extensionLength(s)]) {
			if c == '-' || c == '_' {
				continue
			}
			if n++; n > maxLoginWord {
				break
			}
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			word[n-1] = c
		}
		if n <= maxLoginWord && loginWords[string(word[:n])] {
			return true
		}
	}
	return false
}

// maxLoginWord is the length of the longest of loginWords.
const maxLoginWord = 14

var loginWords = words(
	"login logon logout logoff signin signon signup register registration account myaccount useraccount wplogin" +
		" auth sso password forgotpassword resetpassword lostpassword anmelden anmeldung einloggen connexion " +
		"seconnecter inscription" +
		" iniciarsesion acceso registro entrar cadastro accedi inloggen logowanie masuk dangnhap uyegirisi")
