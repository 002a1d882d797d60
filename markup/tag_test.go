package markup

import (
	"fmt"
	"strings"
	"testing"
)

func TestNextTag(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"no tags":                     "",
		"<a>x</a>":                    "a /a ",
		"<A HREF=x>y</A >":            "A /A ",
		"<br/><link />":               "br link ",
		"<!doctype html><p>":          "p ",
		"<?xml version='1.0'?><feed>": "feed ",
		"a < b <3 << <! <p>":          "p ",
		"<!-- <a> --><b>":             "b ",
		"<!-- <a>":                    "",
		`<a title="1 > 2"><b>`:        "a b ",
		`<a title="1 > 2><b>`:         "a b ", // the closing quote is missing
		"<a <b>":                      "a b ",
		"<a":                          "",
		"<":                           "",
	} {
		var got strings.Builder
		for i := 0; ; {
			tag, next := NextTag([]byte(in), i)
			if next < 0 {
				break
			}
			if tag.Closing {
				got.WriteByte('/')
			}
			fmt.Fprintf(&got, "%s ", tag.Name)
			i = next
		}
		if got.String() != want {
			t.Errorf("%s: %q, want %q", in, got.String(), want)
		}
	}
}

func TestAttr(t *testing.T) {
	for in, want := range map[string]string{
		`<a href="x">`:                   "x",
		`<a href='x'>`:                   "x",
		`<a href=x>`:                     "x",
		`<a href=x/>`:                    "x/", // as in HTML
		`<a href="x"/>`:                  "x",
		`<a HREF = " x " >`:              "x",
		"<a\nhref\n=\n'x'\n>":            "x",
		`<a id=1 href="x" href="y">`:     "x",
		`<a href="?a=1&amp;b=&eacute;">`: "?a=1&b=é",
		`<a data-href="y" href="x">`:     "x",
		`<a href>`:                       "",
		`<a href=>`:                      "",
		`<a hreflang="x">`:               "",
		`<a>`:                            "",
		`<a/href=x>`:                     "x",
	} {
		before := in
		b := []byte(in)
		tag, next := NextTag(b, 0)
		if got := tag.Attr("href"); next < 0 || got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
		if string(b) != before {
			t.Errorf("%s was changed to %s", before, b)
		}
	}
}

// FuzzNextTag: reading gets on, stays within the markup and leaves it as it is.
func FuzzNextTag(f *testing.F) {
	f.Add([]byte(`<a href="x>"<b/c=d><!-- --></a`))
	f.Add([]byte("<?x?><p a='\"<"))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		for i := 0; ; {
			tag, next := NextTag(b, i)
			if next < 0 {
				break
			}
			if next <= i || next > len(b) {
				t.Fatalf("from %d to %d of %d", i, next, len(b))
			}
			tag.Attr("href")
			i = next
		}
		if string(b) != before {
			t.Error("the markup was changed")
		}
	})
}
