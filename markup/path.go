package markup

import (
	"bytes"
	"slices"
)

// byteClass is the set of roles of a byte in a URL.
type byteClass uint8

const (
	pathByte      byteClass = 1 << iota // is percent-encoded in a path
	queryByte                           // is percent-encoded in a query
	slashByte                           // separates segments
	dotByte                             // may begin a dot segment, and an extension
	copySegment                         // behind a slash, it may begin the name of a copy, "amp" or "print"
	copyExtension                       // the same behind a dot
	percent                             // may encode any character
	backslash
)

// behind moves slashByte and dotByte to copySegment and copyExtension.
const behind = 2

// classes are those of url.spec.whatwg.org/#percent-encoded-bytes, for special schemes.
var classes = func() (t [256]byteClass) {
	for c := range t {
		switch {
		case c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>':
			t[c] = pathByte | queryByte
		case c == '^' || c == '`' || c == '{' || c == '}':
			t[c] = pathByte
		case c == '\'':
			t[c] = queryByte
		}
	}
	t['/'], t['\\'], t['.'], t['%'] = slashByte, backslash, dotByte, percent
	for _, c := range "aApP" {
		t[c] |= copySegment | copyExtension
	}
	return t
}()

// AppendPath appends the path of an http URL as browsers write it (url.spec.whatwg.org/#path-state): without dot
// segments, backslashes as slashes, percent-encoded. The path begins with a slash or backslash, or is empty, which
// is the same as "/".
func AppendPath(dst, path []byte) []byte {
	path = withoutBreaks(path)
	start := len(dst)
	for len(path) > 0 {
		path = path[1:] // the slash before the segment
		end := bytes.IndexAny(path, `/\`)
		if end < 0 {
			end = len(path)
		}
		segment := path[:end]
		path = path[end:]
		switch dots(segment) {
		case 2:
			dst = dst[:start+max(0, bytes.LastIndexByte(dst[start:], '/'))]
			fallthrough
		case 1:
			if len(path) == 0 {
				dst = append(dst, '/')
			}
			continue
		}
		dst = appendEncoded(append(dst, '/'), segment, pathByte)
	}
	if len(dst) == start {
		dst = append(dst, '/')
	}
	return dst
}

// dots returns the number of dots in a segment of one or two, plain or percent-encoded, and 0 for any other.
func dots(segment []byte) (n int) {
	for len(segment) > 0 {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && segment[0] == '%' && segment[1] == '2' && segment[2]|0x20 == 'e':
			segment = segment[3:]
		default:
			return 0
		}
		n++
	}
	if n > 2 {
		return 0
	}
	return n
}

// withoutBreaks returns part of a URL without tabs and line breaks. Browsers remove them before they look for
// anything: dots with a tab between them are a dot segment.
func withoutBreaks(b []byte) []byte {
	if !slices.ContainsFunc(b, isBreak) {
		return b
	}
	return slices.DeleteFunc(slices.Clone(b), isBreak)
}

func isBreak(c byte) bool { return c == '\t' || c == '\n' || c == '\r' }

// appendEncoded appends b with the bytes of a class percent-encoded.
func appendEncoded(dst, b []byte, class byteClass) []byte {
	for _, c := range b {
		if classes[c]&class == 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

// appendQuery appends a field of a query as browsers write it.
func appendQuery(dst, field []byte) []byte {
	for _, c := range field {
		if classes[c]&queryByte != 0 {
			return appendEncoded(dst, field, queryByte)
		}
	}
	return append(dst, field...)
}

// appendOnePath appends the path that stands for all spellings of a path, see AppendCanonical.
func appendOnePath(dst, path []byte) []byte {
	var seen, last, twice, dotted, named byteClass
	for _, c := range path {
		k := classes[c]
		twice |= k & last
		dotted |= k & (last << 1)
		named |= k & (last << behind)
		seen |= k
		last = k
	}
	double, copied := twice&slashByte != 0, named&(copySegment|copyExtension) != 0
	start := len(dst)
	if len(path) == 0 || seen&(pathByte|backslash) != 0 || dotted&dotByte != 0 ||
		seen&percent != 0 && hasOtherEscapes(path) {
		dst = AppendPath(dst, unescape(withoutBreaks(path)))
		double, copied = true, true // where dot segments, line breaks and escapes were, perhaps
	} else {
		dst = append(dst, path...)
	}
	if double {
		dst = dst[:start+singleSlashes(dst[start:])]
	}
	if copied {
		dst = dst[:start+original(dst[start:])]
	}
	return dst
}

// unescape returns part of a URL with its percent-encoded bytes in capitals, and unreserved characters as they are
// (RFC 3986, 6.2.2.1 and 6.2.2.2). A "%" that encodes nothing stays so: the characters that would complete it remain
// encoded.
func unescape(b []byte) []byte {
	if !hasOtherEscapes(b) {
		return b
	}
	dst := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		v, ok := escaped(b[i:])
		switch {
		case !ok:
			dst = append(dst, b[i])
			continue
		case isUnreserved(v) && !awaitsHex(dst):
			dst = append(dst, v)
		default:
			dst = append(dst, '%', hex[v>>4], hex[v&15])
		}
		i += 2
	}
	return dst
}

// awaitsHex reports whether a hexadecimal digit at the end of b might complete a percent-encoded byte.
func awaitsHex(b []byte) bool {
	n := len(b)
	return n > 0 && b[n-1] == '%' || n > 1 && b[n-2] == '%' && isHex(b[n-1])
}

// hasOtherEscapes reports whether part of a URL has percent-encoded bytes that unescape might write in another way.
func hasOtherEscapes(b []byte) bool {
	for {
		at := bytes.IndexByte(b, '%')
		if at < 0 {
			return false
		}
		b = b[at:]
		v, ok := escaped(b)
		if !ok {
			b = b[1:]
			continue
		}
		if isUnreserved(v) || b[1] >= 'a' || b[2] >= 'a' {
			return true
		}
		b = b[3:]
	}
}

// escaped returns the byte that a percent-encoding at the beginning of b stands for.
func escaped(b []byte) (v byte, ok bool) {
	if len(b) < 3 || b[0] != '%' || !isHex(b[1]) || !isHex(b[2]) {
		return 0, false
	}
	return unhex(b[1])<<4 | unhex(b[2]), true
}

// isUnreserved reports whether a character means the same in a URL if it is percent-encoded (RFC 3986, 2.3).
func isUnreserved(c byte) bool {
	return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '.' || c == '_' || c == '~'
}

// singleSlashes removes all but the first of consecutive slashes in place, and returns the new length. Those of a
// URL within the path stay.
func singleSlashes(path []byte) int {
	n := 0
	for _, c := range path {
		if c == '/' && n > 0 && path[n-1] == '/' && (n < 2 || path[n-2] != ':') {
			continue
		}
		path[n] = c
		n++
	}
	return n
}
