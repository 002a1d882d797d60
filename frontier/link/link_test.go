package link

import (
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// FuzzParse: what is accepted as a URL is the same URL when it comes back.
func FuzzParse(f *testing.F) {
	for _, url := range []string{"https://a.example/", "http://a.example:8080/x?y", "HTTPS://A.example?utm_source=x#y",
		"https://u@a.example/", "https://[::1]/", "https://1.2.3.4/", "https://a.example/%ea%41%%34%31?%7e"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		l, ok := Parse(url)
		for _, before := range []string{"https://a.example/", "http://localhost/", "no URL"} {
			var p Parser
			p.Parse(before)
			if again, still := p.Parse(url); still != ok || ok && again != l {
				t.Errorf("%q is %+v, %v; behind %q it is %+v, %v", url, l, ok, before, again, still)
			}
		}
		if !ok {
			return
		}
		again := l.String()
		if got, ok := Parse(again); len(again) <= contract.MaxLinkBytes && (!ok || got != l) {
			t.Errorf("%q became %+v, then %+v", url, l, got)
		}
		if strings.ContainsAny(l.Host, `"\/@ `) {
			t.Errorf("%q has the host %q", url, l.Host)
		}
	})
}

// Scrapers must not be sent into private networks, however a URL got here.
func TestParse_RefusesPrivateHosts(t *testing.T) {
	for _, url := range []string{
		"http://metadata.google.internal/computeMetadata/v1/", "https://api.prod.svc.cluster.local/",
		"http://router.lan/",
		"http://nas.home/", "http://printer.corp/", "http://localhost/", "http://intranet/", "http://169.254.169.254/",
		"http://0x7f000001/", "http://2130706433/", "http://[::1]/", "https://www.a.sg:22/", "https://www.a.sg:6379/",
		"http://www.a.sg:8080/", "http://www.a.sg:443/", "https://www.a.sg:80/", "http://x.onion/",
		"http://1.0.0.127.in-addr.arpa/", "https://co.uk/",
	} {
		if l, ok := Parse(url); ok {
			t.Errorf("%s became %+v", url, l)
		}
	}
	for _, url := range []string{"https://www.a.sg/", "http://www.a.sg:80/", "https://www.a.sg:443/",
		"https://한국뉴스.kr/",
		"https://a.example/", "https://b.a.test/x"} {
		if _, ok := Parse(url); !ok {
			t.Errorf("%s was refused", url)
		}
	}
}

// TestParse_Spellings: however the characters of a path are percent-encoded, it is one.
func TestParse_Spellings(t *testing.T) {
	const want = "https://a.example/%EC%86%8D%EB%B3%B4/A-1?q=%EA"
	for _, url := range []string{want, "https://a.example/%ec%86%8d%EB%b3%b4/%41%2d1?%71=%ea",
		"https://a.example/속보/A-1?q=%Ea"} {
		if l, ok := Parse(url); !ok || l.String() != want {
			t.Errorf("%s: %s, want %s", url, l, want)
		}
	}
}
