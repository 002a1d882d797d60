package processor

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/swar"
)

// The paths are what new URL(u).pathname gives in Node 24.
func TestSplitURL(t *testing.T) {
	for _, c := range []struct{ url, authority, path string }{
		{"https://a.com", "a.com", "/"},
		{"https://a.com/", "a.com", "/"},
		{"http://a.com?q", "a.com", "/"},
		{"https://a.com#f", "a.com", "/"},
		{"HTTPS://A.com:8443/b?c=/d/../e#f", "A.com:8443", "/b"},
		{"https://a.com/b/c.html", "a.com", "/b/c.html"},
		{"https://a.com/.well-known/x", "a.com", "/.well-known/x"},
		{"https://a.com/b/./c/../d", "a.com", "/b/d"},
		{"https://a.com/../../b", "a.com", "/b"},
		{"https://a.com/b/..", "a.com", "/"},
		{"https://a.com/b/c/..", "a.com", "/b/"},
		{"https://a.com/b/.", "a.com", "/b/"},
		{"https://a.com/b/%2e%2E/c/.%2e", "a.com", "/"},
		{"https://a.com/b/...", "a.com", "/b/..."},
		{"https://a.com//b//", "a.com", "//b//"},
		{`https://a.com\b\c`, "a.com", "/b/c"},
		{"https://a.com/100%-sure/%zz", "a.com", "/100%-sure/%zz"},
		{"https://a.com/b c", "a.com", "/b%20c"},
		{"https://a.com/\"<>^`{}|", "a.com", "/%22%3C%3E%5E%60%7B%7D|"},
		{"https://a.com/뉴스/é", "a.com", "/%EB%89%B4%EC%8A%A4/%C3%A9"},
		{"https://a.com/!$&'()*+,-.;=:@_~[]", "a.com", "/!$&'()*+,-.;=:@_~[]"},
	} {
		p, why := splitURL([]byte(c.url))
		if why != "" || string(p.authority) != c.authority || string(p.path) != c.path {
			t.Errorf("%s: %q %q %q, want %q %q", c.url, p.authority, p.path, why, c.authority, c.path)
		}
	}
}

func TestSplitURL_Rejected(t *testing.T) {
	for _, c := range []struct {
		url string
		why problem
	}{
		{"javascript:alert(1)", badScheme},
		{"mailto:a@b.com", badScheme},
		{"ftp://a.com/", badScheme},
		{"file:///etc/passwd", badScheme},
		{"data:text/html,x", badScheme},
		{"//a.com/", badScheme},
		{"/path", badScheme},
		{"a.com/path", badScheme},
		{"https:a.com", badScheme},
		{"https:/a.com", badScheme},
		{"httpx://a.com", badScheme},
		{"http", badScheme},
		{"https://", noHost},
		{"https:///path", noHost},
		{"https://:80/", noHost},
		{"https://./", noHost},
		{"https://user:secret@a.com/", credentials},
		{"https://user@a.com/", credentials},
		{`https://a.com\@b.com/`, ""}, // the host is a.com, as in browsers
		{"https://127.0.0.1/", ipAddress},
		{"https://8.8.8.8:8080/x", ipAddress},
		{"https://[::1]/", ipAddress},
		{"https://[2001:db8::1]:443/", ipAddress},
		{"https://2130706433/", ipAddress},
		{"https://0x7f.1/", ipAddress},
		{"https://127.1./", ipAddress},
		{"https://１２７.0.0.1/", ipAddress},
		{"https://a.123/", ipAddress},
		{"https://localhost/", noDomain},
		{"https://intranet:8080/", noDomain},
		{"https://gov.sg/", noDomain},
		{"https://co.kr/", noDomain},
		{"https://com/", noDomain},
		{"https://a.com:99999/", badPort},
		{"https://a.com:x/", badPort},
		{"https://a..com/", badHost},
		{"https://.a.com/", badHost},
		{"https://a b.com/", badHost},
		{"https://-a.com/", badHost},
		{"https://a_b.com/", badHost},
		{"https://a%2fcom/", badHost},
		{"https://a\x00.com/", badHost},
		{"https://xn--\u00ad.com/", badHost},
		{"https://" + strings.Repeat("a", 64) + ".com/", badHost},
		{"https://" + strings.Repeat("a.", 130) + "com/", badHost},
		{"https://a.com/\n", ""}, // trimmed
		{"https://a.com/b\nc", badCharacter},
		{"https://a.com/?b\tc", badCharacter},
		{"https://a.com/#\x7f", badCharacter},
		{"https://a.com/" + strings.Repeat("x", MaxURLBytes-len("https://a.com/")), ""},
		{"https://a.com/" + strings.Repeat("x", MaxURLBytes-len("https://a.com/")+1), longURL},
	} {
		p, why := splitURL(trim([]byte(c.url)))
		if why == "" {
			_, why = registrable(p.authority)
		}
		if why != c.why {
			t.Errorf("%.80q: %q, want %q", c.url, why, c.why)
		}
	}
}

func TestRegistrable(t *testing.T) {
	for authority, want := range map[string]string{
		"mom.gov.sg":            "mom.gov.sg",
		"www.MOM.gov.sg:443":    "mom.gov.sg",
		"www.gov.sg":            "www.gov.sg", // gov.sg is a public suffix
		"news.go.kr":            "news.go.kr",
		"a.b.co.kr":             "b.co.kr",
		"www.example.com.":      "example.com",
		"my_site.example.com":   "example.com",
		"-x.example.com":        "example.com",
		"www.münchen.de":        "xn--mnchen-3ya.de",
		"WWW.MÜNCHEN.DE":        "xn--mnchen-3ya.de",
		"www.xn--mnchen-3ya.de": "xn--mnchen-3ya.de",
		"faß.de":                "xn--fa-hia.de", // non-transitional
		"www.청와대.kr":            "xn--vk1b187a8ue.kr",
		"例え。テスト":                "xn--r8jz45g.xn--zckzah",
		"İ.com":                 "xn--i-9bb.com",
		"user.github.io":        "user.github.io", // the list's private section counts
		"www.city.kobe.jp":      "city.kobe.jp",   // an exception rule
		"a.b.ck":                "a.b.ck",         // a wildcard rule
		"site.example":          "site.example",   // no rule: the last label is the suffix
		"1.example.com":         "example.com",
		"example.com:":          "example.com",
		"a%2ecom":               "a.com", // as browsers do
	} {
		if got, why := registrable([]byte(authority)); got != want || why != "" {
			t.Errorf("%s: %q %q, want %q", authority, got, why, want)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, u := range []string{"https://www.mom.gov.sg/a/../b c?q#f", "http://münchen.de:80\\x",
		"https://a.com/%2e%2e/\"{}", "https://[::1]/", "https://u@a.com", "https://0x7f.1", "https://a.com/\n"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, u string) {
		p, why := splitURL(trim([]byte(u)))
		if why != "" {
			return
		}
		if p.path[0] != '/' || strings.ContainsAny(string(p.path), " \"<>\\^`{}?#") ||
			strings.ContainsFunc(string(p.path), func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("path %q", p.path)
		}
		if again, why := splitURL([]byte("https://a.com" + string(p.path))); why == "" &&
			string(again.path) != string(p.path) {
			t.Errorf("path %q becomes %q", p.path, again.path)
		}
		domain, why := registrable(p.authority)
		if why != "" {
			return
		}
		if err := contract.CheckDomain("domain", domain); err != nil {
			t.Error(err)
		}
		if again, why := registrable([]byte(domain)); again != domain {
			t.Errorf("%q of %q becomes %q %q", domain, p.authority, again, why)
		}
	})
}

// TestOrdinary: eight bytes at a time are taken for ordinary exactly when each of them is.
func TestOrdinary(t *testing.T) {
	for at := range 8 {
		for c := range 256 {
			b := []byte("a-/Z09zA")
			b[at] = byte(c)
			want := strings.IndexByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-/", byte(c)) >= 0
			if ordinary(swar.Load(b, 0)) != want {
				t.Errorf("%q: %v", b, !want)
			}
			if want && class[c]&^authorityEnd != 0 {
				t.Errorf("%q has class %d", rune(c), class[c])
			}
		}
	}
}

// TestUntil compares with a loop over bytes.
func TestUntil(t *testing.T) {
	const odd = `aaaaaaaaaaaa-/.?#\"%^ ` + "\x00\x7f\x80\xff"
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		b := make([]byte, rnd.IntN(40))
		for i := range b {
			b[i] = odd[max(0, rnd.IntN(3*len(odd))-2*len(odd))]
		}
		for _, stop := range []charClass{pathEnd, 0} {
			n, seen := 0, charClass(0)
			for ; n < len(b) && class[b[n]]&stop == 0; n++ {
				seen |= class[b[n]]
			}
			if have, classes := until(b, stop); have != n || classes&^authorityEnd != seen&^authorityEnd {
				t.Fatalf("%q until %d: %d %b, want %d %b", b, stop, have, classes, n, seen)
			}
		}
		n := 0
		for ; n < len(b) && class[b[n]]&authorityEnd == 0; n++ {
		}
		if have := authorityLength(b); have != n {
			t.Fatalf("the authority of %q has %d bytes, not %d", b, have, n)
		}
	}
}
