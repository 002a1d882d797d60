package markup

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// EqualFold reports whether b is s, a lower-case ASCII string, in any case.
func EqualFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != s[i] {
			return false
		}
	}
	return true
}

// AppendLower appends w with its ASCII letters in lower case.
func AppendLower(dst, w []byte) []byte {
	for _, c := range w {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// Trim removes white space of every kind, control characters and byte order marks around b.
func Trim(b []byte) []byte {
	for len(b) > 0 {
		if b[0] <= ' ' {
			b = b[1:]
			continue
		}
		if b[0] < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRune(b)
		if !blank(r) {
			break
		}
		b = b[n:]
	}
	for len(b) > 0 {
		c := b[len(b)-1]
		if c <= ' ' {
			b = b[:len(b)-1]
			continue
		}
		if c < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeLastRune(b)
		if !blank(r) {
			break
		}
		b = b[:len(b)-n]
	}
	return b
}

// blank reports whether r is white space beyond ASCII or an invisible mark.
func blank(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x200b && r <= 0x200f || r == 0x2060 || r == 0xfeff
}

// AppendUTF8 appends b as UTF-8: bytes that are not become the characters of windows-1252 that they most
// likely are.
func AppendUTF8(dst, b []byte) []byte {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			r = windows1252(b[0])
		}
		dst = utf8.AppendRune(dst, r)
		b = b[n:]
	}
	return dst
}

func windows1252(c byte) rune { return charmap.Windows1252.DecodeByte(c) }
