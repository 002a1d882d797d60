package processor

import (
	"bytes"
	"strings"
	"unsafe"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/swar"
)

// MaxURLBytes is the longest URL that a Worker can fetch
// (developers.cloudflare.com/workers/platform/limits/#request-limits).
const MaxURLBytes = 16 << 10

// problem is the reason why a record cannot be used, or "".
type problem string

const (
	noURL        problem = "has no url"
	longURL      problem = "url is longer than 16 KiB"
	badScheme    problem = "url is not an absolute http or https URL"
	badCharacter problem = "url holds a control character"
	credentials  problem = "url carries credentials"
	badPort      problem = "url has a malformed port"
	noHost       problem = "url has no host"
	badHost      problem = "url has a malformed host"
	ipAddress    problem = "url has an IP address for a host"
	noDomain     problem = "host is a single label or a public suffix"
)

// parts are the parts of a URL.
type parts struct {
	authority []byte
	path      []byte // as JavaScript's new URL(u).pathname (url.spec.whatwg.org)
	plain     bool   // the URL needs no escapes in a JSON string
	pathAt    int    // offset of the path in a plain URL; 0 if the URL does not contain it
}

// splitURL splits an absolute http or https URL.
func splitURL(u []byte) (parts, problem) {
	if len(u) > MaxURLBytes {
		return parts{}, longURL
	}
	after, ok := cutPrefixFold(u, "http")
	if ok && len(after) > 0 && after[0]|0x20 == 's' {
		after = after[1:]
	}
	if !ok || len(after) < 3 || string(after[:3]) != "://" {
		return parts{}, badScheme
	}
	after = after[3:]
	authority := authorityLength(after)
	if authority == 0 {
		return parts{}, noHost
	}
	p := parts{authority: after[:authority]}
	after = after[authority:]
	end, inPath := until(after, pathEnd)
	_, inQuery := until(after[end:], 0)
	p.path = after[:end]
	p.plain = (inPath|inQuery)&quoted == 0
	switch {
	case (inPath|inQuery)&control != 0:
		return parts{}, badCharacter
	case end == 0:
		p.path = []byte("/")
	case inPath&rewrite != 0 || inPath&dot != 0 && bytes.Contains(p.path, []byte("/.")):
		p.path = markup.AppendPath(nil, p.path)
	case p.plain:
		p.pathAt = len(u) - len(after)
	}
	return p, ""
}

// authorityLength returns the number of bytes before the first one that ends an authority.
func authorityLength(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := swar.Load(b, i)
		if m := swar.Match(w, '/') | swar.Match(w, '\\') | swar.Match(w, '?') | swar.Match(w, '#'); m != 0 {
			return i + swar.First(m)
		}
	}
	for ; i < len(b) && class[b[i]]&authorityEnd == 0; i++ {
	}
	return i
}

// until returns the number of bytes before the first one of a class in stop, and the classes of those bytes.
func until(b []byte, stop charClass) (n int, seen charClass) {
	for i := 0; ; {
		for i+8 <= len(b) && ordinary(swar.Load(b, i)) {
			i += 8
		}
		if i == len(b) {
			return i, seen
		}
		for end := min(i+8, len(b)); i < end; i++ {
			k := class[b[i]]
			if k&stop != 0 {
				return i, seen
			}
			seen |= k
		}
	}
}

// ordinary reports whether eight bytes are letters, digits, hyphens and slashes, whose only class is authorityEnd for
// the slash. Bytes beyond ASCII are ruled out first, so that the additions cannot carry.
func ordinary(w uint64) bool {
	const ones = swar.Ones
	lower := w | ones*0x20
	letters := (lower + ones*(0x80-'a')) &^ (lower + ones*(0x7f-'z'))
	digits := (w + ones*(0x80-'/')) &^ (w + ones*(0x7f-'9')) // with the slash before them
	hyphens := ^((w ^ ones*'-') + ones*0x7f)
	return w&swar.Highs == 0 && (letters|digits|hyphens)&swar.Highs == swar.Highs
}

func cutPrefixFold(b []byte, prefix string) ([]byte, bool) {
	if len(b) < len(prefix) {
		return b, false
	}
	for i := range len(prefix) {
		if b[i]|0x20 != prefix[i] {
			return b, false
		}
	}
	return b[len(prefix):], true
}

// charClass is the set of roles of a byte in a URL.
type charClass uint8

const (
	control      charClass = 1 << iota
	authorityEnd           // ends the authority: / \ ? #
	pathEnd                // ends the path: ? #
	rewrite                // makes a path differ from how it is written, or may do so
	quoted                 // needs a backslash in a JSON string
	dot                    // begins a dot segment after a slash
)

var class = func() (t [256]charClass) {
	for c := range t {
		if c == '"' || c == '\\' {
			t[c] = quoted
		}
		switch {
		case c < ' ' || c == 0x7f:
			t[c] |= control
		case c > 0x7f || strings.IndexByte(" \"<>^`{}", byte(c)) >= 0:
			t[c] |= rewrite
		case c == '/':
			t[c] |= authorityEnd
		case c == '\\':
			t[c] |= authorityEnd | rewrite
		case c == '?' || c == '#':
			t[c] |= authorityEnd | pathEnd
		case c == '.':
			t[c] |= dot
		case c == '%': // might encode a dot
			t[c] |= rewrite
		}
	}
	return t
}()

// registrable returns the registrable domain of an authority in lower-case A-labels.
func registrable(authority []byte) (domain string, p problem) {
	if bytes.IndexByte(authority, '@') >= 0 {
		return "", credentials // RFC 9110, section 4.2.4: treat as an error
	}
	if authority[0] == '[' {
		return "", ipAddress
	}
	name, port, _ := strings.Cut(string(authority), ":")
	if !isPort(port) {
		return "", badPort
	}
	host, err := markup.Host(name)
	switch {
	case name == "" || name == ".":
		return "", noHost
	case err != nil:
		return "", badHost
	case markup.EndsInNumber(host):
		return "", ipAddress
	}
	domain, ok := contract.RegistrableDomain(host)
	if !ok {
		return "", noDomain
	}
	if contract.CheckDomain("host", domain) != nil {
		return "", badHost
	}
	return domain, ""
}

func isPort(s string) bool {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		if n = n*10 + int(s[i]-'0'); n > 65535 {
			return false
		}
	}
	return true
}

// trim removes the control characters and spaces around a URL, as new URL() does.
func trim(u []byte) []byte {
	for len(u) > 0 && u[0] <= ' ' {
		u = u[1:]
	}
	for len(u) > 0 && u[len(u)-1] <= ' ' {
		u = u[:len(u)-1]
	}
	return u
}

// view returns the bytes as a string that is valid while they do not change.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf returns the bytes of a string, which must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
