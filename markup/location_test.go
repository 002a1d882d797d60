package markup

import (
	"strings"
	"testing"
)

// TestInternationalHosts: hosts come out in A-labels, wherever a reference names them.
func TestInternationalHosts(t *testing.T) {
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
