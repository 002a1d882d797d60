package markup

import (
	"strings"
	"testing"
)

// TestHosts_International: hosts come out in A-labels, wherever a reference names them.
func TestHosts_International(t *testing.T) {
	for ref, want := range map[string]string{
		"https://한국뉴스.kr/a":                    "https://xn--3e0bj9ghtquur.kr/a",
		"https://www.한국뉴스.kr:8443/기":           "https://www.xn--3e0bj9ghtquur.kr:8443/%EA%B8%B0",
		"//M%C3%BCnchen.de":                    "https://xn--mnchen-3ya.de",
		"/b":                                   "https://xn--3e0bj9ghtquur.kr/b",
		"https://xn--mnchen-3ya.de/":           "https://xn--mnchen-3ya.de/",
		"https://WWW.example.com/":             "https://WWW.example.com/", // compared without case
		"https://\u200b.kr/":                   "",
		"https://" + strings.Repeat("é", 2000): "",
	} {
		got, ok := Resolve("https://한국뉴스.kr/sitemap.xml", []byte(ref))
		if got != want || ok != (want != "") {
			t.Errorf("%.40s: %q %v, want %q", ref, got, ok, want)
		}
	}
}

func TestResolve(t *testing.T) {
	const base = "https://a.example/maps/sitemap.xml?v=1#top"
	for ref, want := range map[string]string{
		"x.html":                       "https://a.example/maps/x.html",
		"./x":                          "https://a.example/maps/x",
		"..":                           "https://a.example/",
		"../../../x":                   "https://a.example/x",
		"/x/../y/./z":                  "https://a.example/y/z",
		"?page=2":                      "https://a.example/maps/sitemap.xml?page=2",
		"#end":                         "https://a.example/maps/sitemap.xml?v=1#end",
		"//b.example":                  "https://b.example",
		"//b.example?x y":              "https://b.example?x%20y",
		"HTTP://b.example/X":           "HTTP://b.example/X",
		"http://b.example/a b\n  c\td": "http://b.example/a%20bcd",
		"/정부?q=<\">":                   "https://a.example/%EC%A0%95%EB%B6%80?q=%3C%22%3E",
		"//é \x01:pw@B.example/x":      "https://%C3%A9%20:pw@B.example/x",
		"/100%/%zz":                    "https://a.example/100%/%zz",
		"/a?u=http://b.example/../c":   "https://a.example/a?u=http://b.example/../c",
		"http://[2001:db8::1]:8080/":   "http://[2001:db8::1]:8080/",
		"":                             "", "   ": "", "//": "", "https:": "", "https://": "", "https:x": "",
		"http:/x":    "",
		"https:///x": "", "http://:80/": "",
		"https://a b.example/": "", "https://é.example:8é/": "", "mailto:a@a.example": "", "javascript:x": "",
		"ftp://a.example/": "", "data:,x": "",
	} {
		got, ok := Resolve(base, []byte(ref))
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", ref, got, ok, want)
		}
	}
	for _, base := range []string{"", "sitemap.xml", "ftp://a.example/", "https://", "https:a.example"} {
		if got, ok := Resolve(base, []byte("/x")); ok {
			t.Errorf("in the document at %q it is %q", base, got)
		}
		if got, ok := Resolve(base, []byte("http://b.example/x")); !ok || got != "http://b.example/x" {
			t.Errorf("in the document at %q: %q %v", base, got, ok)
		}
	}
}

// TestIsResolved: the short cut agrees with Resolve, and notices the next host.
func TestIsResolved(t *testing.T) {
	l, _ := ParseLocation([]byte("https://a.example/"))
	for _, c := range []struct {
		ref    string
		before bool // Resolve saw it
	}{
		{"https://a.example/1", false}, {"https://a.example/2", true}, {"https://b.example/1", false},
		{"https://b.example/2", true},
		{"https://a.example/1", false}, {"https://a.example/a b", false}, {"https://a.example", false}, {"/x", false},
		{"https://a.example/é", false},
	} {
		if got := l.IsResolved([]byte(c.ref)); got != c.before {
			t.Errorf("%s: %v", c.ref, got)
		}
		if got, ok := l.Resolve(nil, []byte(c.ref)); c.before && (!ok || string(got) != c.ref) {
			t.Errorf("%s: %q %v", c.ref, got, ok)
		}
	}
}

// FuzzResolve: what comes out is a clean URL of the web, and its own resolution.
func FuzzResolve(f *testing.F) {
	for _, ref := range []string{"../x y?é#ü", "//한국뉴스.kr/a", "HTTP://u@A.:80/%zz", "?", "https://a/\r\n b"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		once, ok := Resolve("https://a.example/b/c?d", []byte(ref))
		if !ok {
			return
		}
		if _, valid := ParseLocation([]byte(once)); !valid || !clean([]byte(once)) {
			t.Errorf("%q becomes %q", ref, once)
		}
		if twice, ok := Resolve("", []byte(once)); !ok || twice != once {
			t.Errorf("%q becomes %q, then %q %v", ref, once, twice, ok)
		}
	})
}
