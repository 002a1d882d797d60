package markup

import (
	"errors"
	"strings"
	"testing"
)

func TestHost(t *testing.T) {
	for name, want := range map[string]string{
		"www.MOM.gov.sg":                     "www.mom.gov.sg",
		"example.com.":                       "example.com",
		"my_site.example.com":                "my_site.example.com",
		"r3---sn-x.example.com":              "r3---sn-x.example.com", // as browsers do
		"한국뉴스.kr":                            "xn--3e0bj9ghtquur.kr",
		"WWW.MÜNCHEN.DE":                     "www.xn--mnchen-3ya.de",
		"XN--mnchen-3YA.de":                  "xn--mnchen-3ya.de",
		"faß.de":                             "xn--fa-hia.de", // non-transitional
		"例え。テスト":                             "xn--r8jz45g.xn--zckzah",
		"m%C3%BCnchen.de":                    "xn--mnchen-3ya.de",
		"%65xample.com":                      "example.com",
		"１２７.0.0.1":                          "127.0.0.1",
		strings.Repeat("a", 63) + ".example": strings.Repeat("a", 63) + ".example",
	} {
		got, err := Host(name)
		if err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
		if again, err := Host(got); err != nil || again != got {
			t.Errorf("%s becomes %q, %v", got, again, err)
		}
	}
	for name, want := range map[string]error{
		"": ErrHost, ".": ErrHost, ".com": ErrHost, "a..com": ErrHost, "a.com..": ErrHost, "a!b.com": ErrHost, "a b.com": ErrHost, "[::1]": ErrHost,
		"a:80": ErrHost, "a%2fb.com": ErrHost, "a%.com": ErrHost, "a%2.com": ErrHost, "a%zz.com": ErrHost,
		"xn--a.com": ErrIDN, "\xff.com": ErrIDN, "%ff.com": ErrIDN, "א1b.com": ErrIDN,
		strings.Repeat("a", 64) + ".com": ErrHost, strings.Repeat("a.", 127) + "com": ErrLongHost,
		strings.Repeat("é", 4000) + ".com": ErrLongHost, strings.Repeat("é.", 100) + "com": ErrLongHost,
	} {
		if got, err := Host(name); !errors.Is(err, want) {
			t.Errorf("%.30q: %q %v, want %v", name, got, err, want)
		}
	}
}

func TestAppendCanonical(t *testing.T) {
	for loc, want := range map[string]string{
		"HTTPS://WWW.Example.COM":                                        "https://www.example.com/",
		" https://example.com:443/a?b=c#d ":                              "https://example.com/a?b=c",
		"http://example.com:80?x":                                        "http://example.com/?x",
		"http://example.com:443/":                                        "http://example.com:443/",
		"https://example.com./a":                                         "https://example.com/a",
		"https://한국뉴스.kr/기사?b=나&utm_source=x":                            "https://xn--3e0bj9ghtquur.kr/기사?b=나",
		"https://a.example/n?idxno=7&UTM_Source=a&GCLID=b&Utm_content=c": "https://a.example/n?idxno=7",
		"https://www.M%C3%BCnchen.de:8443/?&a=1&fbclid=7":                "https://www.xn--mnchen-3ya.de:8443/?a=1",
		"https://xn--mnchen-3ya.de/":                                     "https://xn--mnchen-3ya.de/",
		"https://[::1]:443/":                                             "https://[::1]/",
		"https://example.com:/a":                                         "https://example.com:/a",
		"https://user@example.com/":                                      "",
		"https://:80/":                                                   "",
		"https:///a":                                                     "",
		"https:/a":                                                       "",
		"ftp://example.com/":                                             "",
		"https://\xff.com/":                                              "",
		"http":                                                           "",
		"":                                                               "",
	} {
		got, ok := AppendCanonical([]byte("before "), []byte(loc))
		if ok != (want != "") || ok && string(got) != "before "+want {
			t.Errorf("%s: %q %v, want %q", loc, got, ok, want)
		}
	}
}

func TestHostOf(t *testing.T) {
	for url, want := range map[string]string{
		"https://WWW.example.com:8080/a": "www.example.com",
		"http://user:pw@example.com?x@y": "example.com",
		"https://한국뉴스.kr":                "xn--3e0bj9ghtquur.kr",
		"https://example.com.#f":         "example.com",
		"/a":                             "", "mailto:x@example.com": "", "https://": "", "https://[::1]/": "",
	} {
		if got := HostOf(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

func TestEndsInNumber(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.1": true, "2130706433": true, "foo.0x4": true, "foo.0x": true, "foo.09": true,
		"foo.0xg": false, "1.example": false, "example.1a": false,
	} {
		if got := EndsInNumber(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// FuzzCanonical: a URL in canonical form is its own.
func FuzzCanonical(f *testing.F) {
	for _, u := range []string{"https://한국뉴스.kr/a?b&utm_x=1#c", "HTTP://a.:80", "https://m%C3%BCnchen.de/", "https://[::1]/", "https://a@b/"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, u string) {
		once, ok := AppendCanonical(nil, []byte(u))
		if !ok {
			return
		}
		twice, ok := AppendCanonical(nil, once)
		if !ok || string(once) != string(twice) {
			t.Errorf("%q becomes %q, then %q %v", u, once, twice, ok)
		}
	})
}

func BenchmarkAppendCanonical(b *testing.B) {
	for name, loc := range map[string]string{
		"ascii": "https://www.example.gov/news/2026/01/28/minister-opens-new-bridge-over-river?seq=17",
		"idn":   "https://www.한국뉴스.kr/news/2026/01/28/minister-opens-new-bridge-over-river?seq=17",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf, _ = AppendCanonical(buf[:0], []byte(loc))
			}
		})
	}
}
