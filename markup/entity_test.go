package markup

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"a &amp; b &lt;c&gt; &quot;&apos;": `a & b <c> "'`,
		"caf&eacute; &Eacute;&hellip;":     "café É…",
		"&#65;&#x42;&#X43;":                "ABC",
		"&#150;&#x99;":                     "–™", // windows-1252, as in HTML
		"&#0;&#xd800;&#x110000;&#99999999999999;": "\ufffd\ufffd\ufffd\ufffd",
		"&#6a;":           "\ufffd",
		"&&amp;amp;":      "&&amp;", // once
		"a=1&b=2&copy=3&": "a=1&b=2&copy=3&",
		"&;&#;&#x;& amp;": "&;&#;&#x;& amp;",
		"&" + strings.Repeat("a", MaxReference) + ";": "&" + strings.Repeat("a", MaxReference) + ";",
	} {
		if got, _ := Unescape([]byte(in)); string(got) != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]bool{"&amp;": false, "&host;": true, "a&b": false, "&AMP;": true, "&#x;": true} {
		if _, undefined := Unescape([]byte(in)); undefined != want {
			t.Errorf("%q: undefined = %v", in, undefined)
		}
	}
	if !slices.IsSortedFunc(entities, func(a, b entity) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the names are not sorted, and some are not found")
	}
}

// FuzzUnescape: the text never grows, stays UTF-8, and does not change without a reference.
func FuzzUnescape(f *testing.F) {
	f.Add([]byte("a &amp;&#x41;&eacute;&zz;&"))
	f.Add([]byte("&#150;\xff&#"))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		got, undefined := Unescape(b)
		if len(got) > len(before) || utf8.ValidString(before) && !utf8.Valid(got) {
			t.Errorf("%q becomes %q", before, got)
		}
		if !strings.Contains(before, "&") && (string(got) != before || undefined) {
			t.Errorf("%q becomes %q, undefined: %v", before, got, undefined)
		}
	})
}
