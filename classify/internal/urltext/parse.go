// Package urltext reads URLs: it splits one into host labels, path segments and query fields, determines the kind
// of each segment (words, a date, a number, an opaque key), and finds the words of the lexicon in it. The result
// becomes the features of the classifier and the evidence in documents.
package urltext

import "strings"

// Parts are the pieces of a URL as written, without scheme, port, user and fragment.
type Parts struct {
	Host  string // as written
	Path  string // with its leading slash, "" when there is none
	Query string // without "?"
}

// Split splits a URL. It accepts what occurs in practice: absolute http URLs, and host names or paths without a
// scheme. It never fails; the parts of nonsense are nonsense.
func Split(url string) Parts {
	url = strings.TrimSpace(url)
	if i := strings.IndexByte(url, '#'); i >= 0 {
		// "#!" introduces paths of pages; other fragments are positions within a page.
		if strings.HasPrefix(url[i:], "#!") {
			url = url[:i] + strings.TrimPrefix(url[i:], "#!")
		} else {
			url = url[:i]
		}
	}
	var p Parts
	if i := strings.Index(url, "://"); i >= 0 && i < 12 && !strings.ContainsAny(url[:i], "/?") {
		url = url[i+3:]
	} else {
		url = strings.TrimPrefix(url, "//")
	}
	if i := strings.IndexByte(url, '?'); i >= 0 {
		url, p.Query = url[:i], url[i+1:]
	}
	if i := strings.IndexByte(url, '/'); i >= 0 {
		url, p.Path = url[:i], url[i:]
	}
	if i := strings.LastIndexByte(url, '@'); i >= 0 {
		url = url[i+1:]
	}
	if i := strings.LastIndexByte(url, ':'); i >= 0 && !strings.HasSuffix(url, "]") {
		url = url[:i]
	}
	p.Host = strings.TrimSuffix(url, ".")
	return p
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// appendUnescaped appends s with its percent escapes decoded; "+" becomes a space in queries.
func appendUnescaped(dst []byte, s string, query bool) []byte {
	if !query && strings.IndexByte(s, '%') < 0 {
		return append(dst, s...)
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if h, l := unhex(s[i+1]), unhex(s[i+2]); h >= 0 && l >= 0 {
				dst = append(dst, byte(h<<4|l))
				i += 2
				continue
			}
		}
		if c == '+' && query {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

// appendPunycode appends a label with its "xn--" form decoded (RFC 3492); one that is not valid is
// appended as it is.
func appendPunycode(dst []byte, label string) []byte {
	if len(label) < 4 || !strings.EqualFold(label[:4], "xn--") {
		return append(dst, label...)
	}
	var runes []rune
	code := label[4:]
	if i := strings.LastIndexByte(code, '-'); i > 0 {
		for _, r := range code[:i] {
			runes = append(runes, r)
		}
		code = code[i+1:]
	}
	const base, tMin, tMax, skew, damp = 36, 1, 26, 38, 700
	n, i, bias := 128, 0, 72
	for k := 0; k < len(code); {
		old, w := i, 1
		for t := base; ; t += base {
			if k == len(code) {
				return append(dst, label...)
			}
			d := digit(code[k])
			k++
			if d < 0 || w > 1<<24 {
				return append(dst, label...)
			}
			i += d * w
			threshold := min(max(t-bias, tMin), tMax)
			if d < threshold {
				break
			}
			w *= base - threshold
		}
		count := len(runes) + 1
		delta := i - old
		if old == 0 {
			delta /= damp
		} else {
			delta /= 2
		}
		delta += delta / count
		bias = 0
		for delta > (base-tMin)*tMax/2 {
			delta /= base - tMin
			bias += base
		}
		bias += (base - tMin + 1) * delta / (delta + skew)
		n += i / count
		i %= count
		if n > 0x10FFFF {
			return append(dst, label...)
		}
		runes = append(runes, 0)
		copy(runes[i+1:], runes[i:])
		runes[i] = rune(n)
		i++
	}
	return append(dst, string(runes)...)
}

func digit(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return int(c - 'a')
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case '0' <= c && c <= '9':
		return int(c-'0') + 26
	}
	return -1
}
