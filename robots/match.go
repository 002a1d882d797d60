package robots

import (
	"cmp"
	"strings"
)

// literalStar stands for an asterisk of the path, in paths and for "%2A" in patterns, where "*" is
// the wildcard. A canonical string has no other octet outside of ASCII.
const literalStar = 0xff

// precedence orders rules that match the same path: the one that decides first.
func precedence(a, b Rule) int {
	if n, m := octets(a.Pattern), octets(b.Pattern); n != m {
		return cmp.Compare(m, n)
	}
	if a.Allow != b.Allow {
		if a.Allow {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.Line, b.Line)
}

// pathOf returns path and query of a URL, without scheme, authority and fragment; at least "/".
// Things that are no URL are read as Google's parser reads them.
func pathOf(url string) string {
	if i := strings.IndexByte(url, '#'); i >= 0 {
		url = url[:i]
	}
	if path, ok := pathOfHTTP(url); ok {
		return path
	}
	url, _ = strings.CutPrefix(url, "//")
	if scheme := strings.Index(url, "://"); scheme >= 0 && !strings.ContainsAny(url[:scheme], "/?;") {
		url = url[scheme+len("://"):]
	}
	start := 0
	for start < len(url) && url[start] != '/' && url[start] != '?' && url[start] != ';' {
		start++
	}
	switch {
	case start == len(url):
		return "/"
	case url[start] != '/':
		return "/" + url[start:]
	}
	return url[start:]
}

// pathOfHTTP is pathOf for an http URL without fragment that has a path, as most have.
func pathOfHTTP(url string) (path string, ok bool) {
	rest, ok := strings.CutPrefix(url, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(url, "http://")
	}
	slash := strings.IndexByte(rest, '/')
	if !ok || slash < 0 || strings.IndexByte(rest[:slash], '?') >= 0 || strings.IndexByte(rest[:slash], ';') >= 0 {
		return "", false
	}
	return rest[slash:], true
}

// canonical makes paths and patterns comparable (RFC 9309 section 2.2.2): unreserved octets are
// unescaped, octets outside of ASCII are escaped, escapes are upper case. All other octets stay as
// they are, also those that no URI may contain: a backslash or brace in a pattern is not the escaped one of
// a URL. "%2A" and "%24" are the characters themselves where "*" and "$" would be special (section
// 2.2.3). It returns s itself where there is nothing to do.
func canonical(s string, isPattern bool) string {
	i := 0
	// jumps are dear in WebAssembly
	for i+4 <= len(s) && class[s[i]]|class[s[i+1]]|class[s[i+2]]|class[s[i+3]] == plain {
		i += 4
	}
	for i < len(s) && class[s[i]] == plain {
		i++
	}
	if i == len(s) {
		return s
	}
	b := make([]byte, i, len(s)+16)
	copy(b, s)
	for ; i < len(s); i++ {
		c := s[i]
		switch class[c] {
		case plain:
			b = append(b, c)
		case star:
			if !isPattern {
				c = literalStar
			}
			b = append(b, c)
		case percent:
			v, ok := unescape(s[i:])
			switch {
			case !ok:
				b = append(b, c)
				continue
			case v == '*':
				b = append(b, literalStar)
			case v == '$' || isUnreserved(v):
				b = append(b, v)
			default:
				b = append(b, '%', hex[v>>4], hex[v&15])
			}
			i += 2
		case beyond:
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// octets is the length of a pattern in the form that RFC 9309 compares.
func octets(pattern string) int {
	n := len(pattern)
	for i := 0; i < len(pattern); i++ {
		switch class[pattern[i]] {
		case beyond:
			n += 2
		case percent:
			if v, ok := unescape(pattern[i:]); ok {
				if i += 2; isUnreserved(v) {
					n -= 2
				}
			}
		}
	}
	return n
}

const hex = "0123456789ABCDEF"

// unescape decodes the "%XX" that s starts with.
func unescape(s string) (byte, bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, ok1 := unhex(s[1])
	low, ok2 := unhex(s[2])
	return high<<4 | low, ok1 && ok2
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// Classes of octets: those that stay, "*", "%", and those beyond ASCII.
const (
	plain = iota
	star
	percent
	beyond
)

var class = func() (t [256]uint8) {
	t['*'], t['%'] = star, percent
	for c := 0x80; c < len(t); c++ {
		t[c] = beyond
	}
	return t
}()

func isUnreserved(c byte) bool { return isTokenByte(c) || c == '~' }
