package markup

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/swar"
)

// AppendCanonical appends the canonical form of loc, an absolute URL: scheme in lower case, host as Host returns it,
// no default port, no fragment, percent-encoding in capitals and only of characters that need it, no duplicate slashes,
// no tracking parameters. Copies of a page for phones (AMP) or printers become the page. It reports false for anything
// else than a web URL without credentials; what it appended then is of no use.
//
// URLs are stored and compared in this form, so a change of it makes the affected URLs look new.
func AppendCanonical(dst, loc []byte) ([]byte, bool) {
	loc = withoutFragment(loc)
	dst, n, ok := appendOrigin(dst, loc)
	if !ok {
		return dst, false
	}
	return appendRest(dst, loc[n:]), true
}

// Canoniser is AppendCanonical for the URLs of a sitemap, which mostly have the origin of the one before.
type Canoniser struct {
	written, origin []byte // of that one: with the "/" behind it as it was written, and without it in canonical form
}

// Append is AppendCanonical.
func (c *Canoniser) Append(dst, loc []byte) ([]byte, bool) {
	if n := len(c.written); n > 0 && swar.HasPrefix(loc, c.written) {
		return appendRest(append(dst, c.origin...), loc[n-1:]), true
	}
	loc = withoutFragment(loc)
	start := len(dst)
	dst, n, ok := appendOrigin(dst, loc)
	if !ok {
		return dst, false
	}
	if n < len(loc) && loc[n] == '/' {
		c.written, c.origin = append(c.written[:0], loc[:n+1]...), append(c.origin[:0], dst[start:]...)
	}
	return appendRest(dst, loc[n:]), true
}

func withoutFragment(loc []byte) []byte {
	if i := bytes.IndexByte(loc, '#'); i >= 0 {
		loc = loc[:i]
	}
	return bytes.TrimSpace(loc)
}

// appendOrigin appends scheme and authority of loc as AppendCanonical does, and returns their end in loc. ok is false
// if loc is not a web URL.
func appendOrigin(dst, loc []byte) (_ []byte, end int, ok bool) {
	scheme, authority, ok := split(loc)
	if !ok {
		return dst, 0, false
	}
	end = len(scheme) + len("://") + len(authority)
	for _, c := range scheme {
		dst = append(dst, c|0x20)
	}
	dst = append(dst, "://"...)
	port := ":443"
	if len(scheme) == len("http") {
		port = ":80"
	}
	if bytes.HasSuffix(authority, []byte(port)) {
		authority = authority[:len(authority)-len(port)]
	}
	if bytes.IndexByte(authority, '@') >= 0 {
		return dst, 0, false
	}
	dst, ok = AppendAuthority(dst, authority)
	return dst, end, ok
}

// appendRest appends path and query of a URL as AppendCanonical does.
func appendRest(dst, rest []byte) []byte {
	end := NextOf(rest, 0, '?', '#')
	if end < 0 {
		return appendOnePath(dst, trimEnd(rest))
	}
	if rest[end] == '#' {
		return appendOnePath(dst, trimEnd(rest[:end]))
	}
	dst = appendOnePath(dst, rest[:end])
	query := rest[end+1:]
	if i := bytes.IndexByte(query, '#'); i >= 0 {
		query = query[:i]
	}
	separator := byte('?')
	for field := range bytes.SplitSeq(unescape(withoutBreaks(trimEnd(query))), []byte("&")) {
		if len(field) == 0 || isIdle(field) {
			continue
		}
		dst = appendQuery(append(dst, separator), field)
		separator = '&'
	}
	return dst
}

// trimEnd cuts off white space at the end.
func trimEnd(b []byte) []byte {
	if n := len(b); n == 0 || ' ' < b[n-1] && b[n-1] < utf8.RuneSelf {
		return b
	}
	return bytes.TrimRightFunc(b, unicode.IsSpace)
}

// split takes scheme and authority from an absolute http or https URL.
func split[T string | []byte](url T) (scheme, authority T, ok bool) {
	n := SchemeEnd(url)
	if n == 0 || len(url) < n+2 || url[n] != '/' || url[n+1] != '/' {
		return scheme, authority, false
	}
	return url[:n-1], url[n+2 : authorityEnd(url, n+2)], true
}

// authorityEnd returns where the authority ends that begins at i.
func authorityEnd[T string | []byte](url T, i int) int {
	for i < len(url) && url[i] != '/' && url[i] != '\\' && url[i] != '?' && url[i] != '#' {
		i++
	}
	return i
}

// SchemeEnd returns the index after "http:" or "https:", in any case, at the start of s, or 0.
func SchemeEnd[T string | []byte](s T) int {
	if len(s) < 6 || s[0]|0x20 != 'h' || s[1]|0x20 != 't' || s[2]|0x20 != 't' || s[3]|0x20 != 'p' {
		return 0
	}
	switch {
	case s[4] == ':':
		return 5
	case s[4]|0x20 == 's' && s[5] == ':':
		return 6
	}
	return 0
}

// AppendAuthority appends an authority with its host as Host returns it; user and port stay as they are. It reports
// false for a missing host or an invalid internationalised one. ASCII hosts, A-labels included, are not checked
// further: no request goes to a wrong one.
func AppendAuthority(dst, authority []byte) ([]byte, bool) {
	user := bytes.LastIndexByte(authority, '@') + 1
	dst = append(dst, authority[:user]...)
	name, port := hostAndPort(authority[user:])
	start := len(dst)
	dst = append(dst, name...)
	for i, c := range dst[start:] {
		if c >= utf8.RuneSelf || c == '%' {
			host, err := Host(string(name))
			if err != nil {
				return dst, false
			}
			return append(append(dst[:start], host...), port...), true
		}
		if 'A' <= c && c <= 'Z' {
			dst[start+i] = c | 0x20
		}
	}
	end := len(dst)
	if end > start && dst[end-1] == '.' {
		end--
	}
	if end == start || dst[end-1] == '.' {
		return dst, false
	}
	return append(dst[:end], port...), true
}

// hostAndPort splits an authority without user. The port has its colon.
func hostAndPort[T string | []byte](authority T) (host, port T) {
	if len(authority) == 0 || authority[len(authority)-1]|0x20 >= 'a' { // no port ends so
		return authority, authority[len(authority):]
	}
	for i := len(authority) - 1; i >= 0; i-- {
		switch authority[i] {
		case ':':
			return authority[:i], authority[i:]
		case ']':
			return authority, authority[len(authority):]
		}
	}
	return authority, authority[len(authority):]
}

// HostOf is the host of an absolute http or https URL in the form of Host, without its port; "" when it
// has none.
func HostOf(url string) string {
	_, authority, ok := split(url)
	if !ok {
		return ""
	}
	name, _ := hostAndPort(authority[strings.LastIndexByte(authority, '@')+1:])
	host, err := Host(name)
	if err != nil {
		return ""
	}
	return host
}
