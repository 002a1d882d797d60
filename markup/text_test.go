package markup

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTrim(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " \t\r\n\x00": "", " a b ": "a b", "\u00a0\ufeff\u200ba\u3000\u2028": "a", "é": "é",
		"\xffa\xff": "\xffa\xff",
	} {
		if got := Trim([]byte(in)); string(got) != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAppendUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "정부": "정부", "Caf\xe9 \x96 정부": "Café – 정부", "\xed\xa0\x80": "í\u00a0€", "\ufffd": "\ufffd",
	} {
		if got := AppendUTF8([]byte("x"), []byte(in)); string(got) != "x"+want || !utf8.Valid(got) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestSearch compares the searches of eight bytes at a time with those of the standard library, for bytes at
// every place, and neighbours that differ by a bit.
func TestSearch(t *testing.T) {
	for n := range 40 {
		for at := range n + 1 {
			for _, filler := range []byte{'a', '=', '<' - 1, '<' ^ 0x80, 0, 0xff} {
				b := bytes.Repeat([]byte{filler}, n)
				if at < n {
					b[at] = '<'
				}
				for from := range n + 1 {
					want := bytes.IndexByte(b[from:], '<')
					if want >= 0 {
						want += from
					}
					if got := NextLT(b, from); got != want {
						t.Fatalf("NextLT(%q, %d) = %d, want %d", b, from, got, want)
					}
					for _, got := range []int{NextOf(b, from, '<', '&'), NextOf(b, from, '&', '<')} {
						if got != want {
							t.Fatalf("NextOf(%q, %d) = %d, want %d", b, from, got, want)
						}
					}
				}
			}
		}
	}
}

func TestEqualFold(t *testing.T) {
	for in, want := range map[string]bool{"rdf:about": true, "RDF:About": true, "rdf:abou": false,
		"rdf\x1aabout":         false,
		strings.Repeat("a", 9): false} {
		if got := EqualFold([]byte(in), "rdf:about"); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}
