package markup

import (
	"bytes"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/swar"
)

// Location is a document's own URL, against which the references in it are resolved (RFC 3986, 5.2). The
// zero value resolves absolute references only.
type Location struct {
	scheme    string // "https:"
	authority string // "//host"
	path      string // from "/" on
	query     string // with "?"

	origin []byte // scheme, host and "/" of the last absolute reference: most documents have one only
}

// IsZero reports whether l is no document's.
func (l *Location) IsZero() bool { return l.scheme == "" }

// Split returns the authority, with its host in A-labels, and the path with the query.
func (l *Location) Split() (authority, path string) {
	return l.authority[len(slashes):], l.path + l.query
}

// ParseLocation splits an absolute http or https URL; ok is false for anything else.
func ParseLocation(s []byte) (l Location, ok bool) {
	scheme, written, ok := split(s)
	if !ok || !validHost(written) {
		return l, false
	}
	authority, ok := appendAuthority([]byte(slashes), written)
	if !ok {
		return l, false
	}
	tail := s[len(scheme)+len("://")+len(written):]
	if i := bytes.IndexByte(tail, '#'); i >= 0 {
		tail = tail[:i]
	}
	path, query := tail, []byte(nil)
	if i := bytes.IndexByte(tail, '?'); i >= 0 {
		path, query = tail[:i], tail[i:]
	}
	l = Location{scheme: string(scheme) + ":", authority: string(authority), path: string(path), query: string(query)}
	if l.path == "" {
		l.path = "/"
	}
	return l, true
}

var slashes = []byte("//")

// appendAuthority appends an authority with its user percent-encoded and its host in A-labels. One in ASCII
// stays as it is written.
func appendAuthority(dst, authority []byte) ([]byte, bool) {
	if user := bytes.LastIndexByte(authority, '@') + 1; user > 0 {
		dst, authority = encode(dst, authority[:user]), authority[user:]
	}
	if isPlain(authority) {
		return append(dst, authority...), true
	}
	return AppendAuthority(dst, authority)
}

func isPlain(authority []byte) bool {
	for _, c := range authority {
		if c >= utf8.RuneSelf || c == '%' {
			return false
		}
	}
	return true
}

// hasScheme reports whether s begins with any scheme, such as "mailto:".
func hasScheme(s []byte) bool {
	for i, c := range s {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return i > 0 && c == ':'
		}
	}
	return false
}

// validHost reports whether h can be an authority: a name, address or IPv6 literal with a port and user
// perhaps. Names may be international, ports are not.
func validHost(h []byte) bool {
	if i := bytes.LastIndexByte(h, '@'); i >= 0 {
		h = h[i+1:]
	}
	if len(h) == 0 || h[0] == ':' {
		return false
	}
	behindColon := false
	for _, c := range h {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', c >= utf8.RuneSelf && !behindColon:
		case c == ':':
			behindColon = true
		case c == '.', c == '-', c == '_', c == '[', c == ']', c == '%':
		default:
			return false
		}
	}
	return true
}

// IsResolved reports whether ref is a clean absolute URL on the host of the one before: Resolve would return
// it as it is.
func (l *Location) IsResolved(ref []byte) bool {
	n := len(l.origin)
	return n > 0 && bytes.HasPrefix(ref, l.origin) && clean(ref[n:])
}

// Resolve appends to dst the absolute URL that ref, trimmed, means in the document at l. ok is
// false when it is no http or https URL with a host. A clean absolute ref is returned as it is,
// without a copy.
func (l *Location) Resolve(dst, ref []byte) (loc []byte, ok bool) {
	if scheme, authority, ok := split(ref); ok {
		if !validHost(authority) {
			return nil, false
		}
		end := len(scheme) + len("://") + len(authority)
		if clean(ref) && isPlain(authority) {
			if end < len(ref) && ref[end] == '/' {
				l.origin = append(l.origin[:0], ref[:end+1]...)
			}
			return ref, true
		}
		o := len(dst)
		if dst, ok = appendAuthority(append(dst, ref[:len(scheme)+len("://")]...), authority); !ok {
			return nil, false
		}
		return encode(dst, ref[end:])[o:], true
	}
	if len(ref) == 0 || hasScheme(ref) || l.scheme == "" {
		return nil, false
	}
	o := len(dst)
	dst = append(dst, l.scheme...)
	if bytes.HasPrefix(ref, slashes) {
		authority := ref[2:authorityEnd(ref, 2)]
		if !validHost(authority) {
			return nil, false
		}
		if dst, ok = appendAuthority(append(dst, slashes...), authority); !ok {
			return nil, false
		}
		return encode(dst, ref[2+len(authority):])[o:], true
	}
	dst = append(dst, l.authority...)
	path := len(dst)
	end := bytes.IndexAny(ref, "?#")
	if end < 0 {
		end = len(ref)
	}
	switch {
	case ref[0] == '#':
		dst = append(append(dst, l.path...), l.query...)
	case ref[0] == '?':
		dst = append(dst, l.path...)
	case ref[0] == '/':
		dst = removeDots(encode(dst, ref[:end]), path)
	default:
		dst = append(dst, l.path...)
		dst = dst[:bytes.LastIndexByte(dst, '/')+1]
		dst = removeDots(encode(dst, ref[:end]), path)
	}
	return encode(dst, ref[end:])[o:], true
}

// removeDots resolves the segments "." and ".." of the path that starts at b[start] (RFC 3986,
// 5.2.4).
func removeDots(b []byte, start int) []byte {
	in := b[start:]
	if !bytes.Contains(in, []byte("/.")) {
		return b
	}
	out := in[:0]
	for i := 0; i < len(in); {
		end := i + 1
		for end < len(in) && in[end] != '/' {
			end++
		}
		last := end == len(in)
		switch seg := string(in[i:end]); seg {
		case "/.":
			if last {
				out = append(out, '/')
			}
		case "/..":
			out = out[:max(bytes.LastIndexByte(out, '/'), 0)]
			if last {
				out = append(out, '/')
			}
		default:
			out = append(out, in[i:end]...)
		}
		i = end
	}
	return b[:start+len(out)]
}

// clean reports whether every byte of s may stand in a URL: no space, control character, quote or
// angle bracket, and nothing beyond ASCII.
func clean(s []byte) bool {
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := swar.Load(s, i)
		// A byte below 0x21 borrows in x-0x21…, one beyond ASCII has its top bit; either may be a
		// false alarm next to such a byte, never a miss.
		bad := x | (x - swar.Ones*0x21) | swar.Zeroes(x^swar.Ones*'<') | swar.Zeroes(x^swar.Ones*'>') | swar.Zeroes(
			x^swar.Ones*'"') | swar.Zeroes(x^swar.Ones*0x7f)
		if bad&swar.Highs != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if !urlByte(s[i]) {
			return false
		}
	}
	return true
}

func urlByte(c byte) bool {
	return c > ' ' && c < 0x7f && c != '<' && c != '>' && c != '"'
}

const hex = "0123456789ABCDEF"

// encode appends s with invalid characters of a URL percent-encoded. It drops control characters, and white space
// around line breaks, at which documents wrap long URLs.
func encode(dst, s []byte) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			end, wrapped := i, false
			for end < len(s) && (s[end] == ' ' || s[end] == '\t' || s[end] == '\n' || s[end] == '\r') {
				wrapped = wrapped || s[end] == '\n' || s[end] == '\r'
				end++
			}
			for ; i < end; i++ {
				if s[i] == ' ' && !wrapped {
					dst = append(dst, "%20"...)
				}
			}
			i--
			continue
		}
		switch {
		case urlByte(c):
			dst = append(dst, c)
		case c > ' ' && c != 0x7f:
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}
