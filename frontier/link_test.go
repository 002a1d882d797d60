package frontier

import (
	"strings"
	"testing"
)

// FuzzParse: what is accepted as a URL is the same URL when it comes back.
func FuzzParse(f *testing.F) {
	for _, url := range []string{"https://a.example/", "http://a.example:8080/x?y", "HTTPS://A.example?utm_source=x#y", "https://u@a.example/", "https://[::1]/", "https://1.2.3.4/"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		l, ok := ParseLink(url)
		if !ok {
			return
		}
		again := l.String()
		if got, ok := ParseLink(again); len(again) <= MaxURL && (!ok || got != l) {
			t.Errorf("%q became %+v, then %+v", url, l, got)
		}
		if strings.ContainsAny(l.Host, `"\/@ `) {
			t.Errorf("%q has the host %q", url, l.Host)
		}
	})
}
