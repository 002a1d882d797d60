// Package markup reads what the documents of the web have in common, whether they are sitemaps, feeds or
// pages: tags and their attributes, entities, charsets, dates, and URLs, with the one form of hosts and
// URLs in which they are compared. It takes documents as they are, however broken.
package markup

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of a host name in A-labels (RFC 1035, 2.3.4, without the final dot).
const (
	MaxHost  = 253
	maxLabel = 63
)

// The errors of Host; "its host is" may stand before them.
var (
	ErrLongHost = errors.New("longer than 253 bytes")
	ErrIDN      = errors.New("not a valid internationalised name")
	ErrHost     = errors.New("not a host name")
)

// browsers maps internationalised names as they do (UTS #46, non-transitional; url.spec.whatwg.org/#idna).
var browsers = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.CheckHyphens(false),
	idna.StrictDomainName(false))

// Host returns the one form of a host name, in which names are compared, stored and requested: lower-case
// A-labels (RFC 5891) without the final dot. The name may be internationalised and percent-encoded, as in
// a URL; it has no port. Names consist of letters, digits, hyphens and underscores, which real hosts have below
// their registrable domain. Host accepts IPv4 addresses: see EndsInNumber.
func Host(name string) (string, error) {
	if !plain(name) {
		a, err := international(name)
		if err != nil {
			return "", err
		}
		name = a
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if len(name) > MaxHost {
		return "", ErrLongHost
	}
	label := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '.':
			if label == 0 {
				return "", ErrHost
			}
			label = 0
			continue
		case (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_':
			return "", ErrHost
		}
		if label++; label > maxLabel {
			return "", ErrHost
		}
	}
	if label == 0 {
		return "", ErrHost
	}
	return name, nil
}

// international maps what is not plain ASCII.
func international(name string) (string, error) {
	// before mapping, which takes long for long names; a rune has at most 4 bytes, 12 in percent-encoding
	if len(name) > 12*MaxHost {
		return "", ErrLongHost
	}
	decoded := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			decoded = append(decoded, name[i])
			continue
		}
		if i+2 >= len(name) || !isHex(name[i+1]) || !isHex(name[i+2]) {
			return "", ErrHost
		}
		decoded = append(decoded, unhex(name[i+1])<<4|unhex(name[i+2]))
		i += 2
	}
	if !utf8.Valid(decoded) {
		return "", ErrIDN
	}
	a, err := browsers.ToASCII(string(decoded))
	if err != nil {
		return "", ErrIDN
	}
	return a, nil
}

// plain reports whether a name needs no mapping but that of capitals: it is ASCII, and has neither
// percent-encoding nor A-labels, which have to be checked.
func plain[T string | []byte](name T) bool {
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf || c == '%' || c|0x20 == 'x' && isPunycode(name, i) {
			return false
		}
	}
	return true
}

// isPunycode reports whether "xn--" stands at i.
func isPunycode[T string | []byte](name T, i int) bool {
	return i+3 < len(name) && name[i+1]|0x20 == 'n' && name[i+2] == '-' && name[i+3] == '-'
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// EndsInNumber reports whether a host in canonical form is an IPv4 address for a URL parser, or pretends
// to be one: its last label is a number (url.spec.whatwg.org/#ends-in-a-number-checker).
func EndsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}
