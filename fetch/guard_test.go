package fetch

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/publicsuffix"
)

var accepted = []struct{ raw, want string }{
	{"https://mom.gov.sg", "https://mom.gov.sg/"},
	{"HTTPS://WWW.MOM.GOV.SG/Newsroom?Q=1#top", "https://www.mom.gov.sg/Newsroom?Q=1"},
	{"  https://mom.gov.sg/a \n", "https://mom.gov.sg/a"},
	{"http://mom.gov.sg:80/", "http://mom.gov.sg/"},
	{"https://mom.gov.sg:443/", "https://mom.gov.sg/"},
	{"https://mom.gov.sg:0443/", "https://mom.gov.sg/"},
	{"https://mom.gov.sg:/", "https://mom.gov.sg/"},
	{"http://mom.gov.sg:443/", "http://mom.gov.sg:443/"},
	{"https://mom.gov.sg:80/", "https://mom.gov.sg:80/"},
	{"https://mom.gov.sg./", "https://mom.gov.sg/"},
	{"https://www.gov.uk/", "https://www.gov.uk/"}, // gov.uk itself is a public suffix
	{"https://müller.de/straße", "https://xn--mller-kva.de/stra%C3%9Fe"},
	{"https://straße.de/", "https://xn--strae-oqa.de/"},
	{"https://xn--mller-kva.de/", "https://xn--mller-kva.de/"},
	{"https://한국.kr/", "https://xn--3e0b707e.kr/"},
	{"https://example。com/", "https://example.com/"},
	{"https://ⓔxample.com/", "https://example.com/"},
	{"https://r3---sn-a.googlevideo.com/", "https://r3---sn-a.googlevideo.com/"},
	{"https://my_shop.tumblr.com/", "https://my_shop.tumblr.com/"},
	{"https://1.2.3.4.example.com/", "https://1.2.3.4.example.com/"},
	{"https://0x7f.com/", "https://0x7f.com/"},
	{"https://herald.example/a", "https://herald.example/a"},
	{"https://herald.test/a", "https://herald.test/a"},
	{"https://a.example/a b|c\"d?e f", "https://a.example/a%20b%7Cc%22d?e%20f"},
	{"https://a.example/100%/%zz/%2F%e4", "https://a.example/100%25/%25zz/%2F%e4"},
	{"https://a.example/a%2Fb c", "https://a.example/a%2Fb%20c"},
	{"https://a.example?q", "https://a.example/?q"},
	{"https://a.example/\\evil.com", "https://a.example/%5Cevil.com"},
	{"https://a.example/@evil.com", "https://a.example/@evil.com"},
	// The URL that the platform will request.
	{"https://a.example/x/../private/s.xml?../y", "https://a.example/private/s.xml?../y"},
	{"https://a.example/x/%2e%2E/private/%2F%c3%a9/.", "https://a.example/private/%2F%c3%a9/"},
	{"https://a.example/../.././%2e", "https://a.example/"},
	{"https://a.example/.well-known/..x/x..", "https://a.example/.well-known/..x/x.."},
}

var refused = []struct{ raw, why string }{
	{"", "scheme"},
	{"mom.gov.sg/a", "scheme"},
	{"//mom.gov.sg/a", "scheme"},
	{"ftp://mom.gov.sg/", "scheme"},
	{"javascript:alert(1)", "scheme"},
	{"file:///etc/passwd", "scheme"},
	{"gopher://mom.gov.sg:80/", "scheme"},
	{"https:mom.gov.sg", "names no host"},
	{"https:/mom.gov.sg", "names no host"},
	{"https://", "names no host"},
	{"https:///path", "names no host"},
	{"https://user@mom.gov.sg/", "user information"},
	{"https://user:pass@mom.gov.sg/", "user information"},
	{"https://@mom.gov.sg/", "user information"},
	{"https://mom.gov.sg@evil.com/", "user information"},
	{"https://mom.gov.sg\\@evil.com/", "user information"},
	{"https://mom.gov.sg:22/", "port"},
	{"https://mom.gov.sg:8443/", "port"},
	{"https://mom.gov.sg:0/", "port"},
	{"https://mom.gov.sg:99999999999999999999/", "port"},
	{"https://mom.gov.sg:80:80/", "cannot be read"},
	{"https://mom.gov.sg:x/", "cannot be read"},
	{"http://127.0.0.1/", "IP address"},
	{"http://127.1/", "IP address"},
	{"http://127.0.0.1./", "IP address"},
	{"http://2130706433/", "IP address"},
	{"http://0177.0.0.1/", "IP address"},
	{"http://0x7f.0.0.1/", "IP address"},
	{"http://0X7F000001/", "IP address"},
	{"http://1.2.3.0x/", "IP address"},
	{"http://foo.0x4/", "IP address"},
	{"http://foo.09/", "IP address"},
	{"http://1.2.3.4.5/", "IP address"},
	{"http://169.254.169.254/latest/meta-data/", "IP address"},
	{"http://１６９。２５４。１６９。２５４/", "IP address"},
	{"http://①②⑦.⓪.⓪.①/", "IP address"},
	{"http://[::1]/", "IP address"},
	{"http://[::ffff:169.254.169.254]:80/", "IP address"},
	{"http://[fe80::1%25eth0]/", "IP address"},
	{"http://[::1/", "cannot be read"},
	{"http://localhost/", "single label"},
	{"http://intranet/", "single label"},
	{"http://com/", "single label"},
	{"http://example/", "single label"},
	{"http://app.localhost/", "not a public top-level domain"},
	{"http://printer.local/", "not a public top-level domain"},
	{"http://metadata.google.internal/", "not a public top-level domain"},
	{"http://METADATA.GOOGLE.INTERNAL./", "not a public top-level domain"},
	{"http://router.lan/", "not a public top-level domain"},
	{"http://wiki.corp/", "not a public top-level domain"},
	{"http://kubernetes.default.svc/", "not a public top-level domain"},
	{"http://a.invalid/", "not a public top-level domain"},
	{"http://a.alt/", "not a public top-level domain"},
	{"http://nas.home.arpa/", "not part of the public web"},
	{"http://1.0.0.127.in-addr.arpa/", "not part of the public web"},
	{"http://abc.onion/", "not part of the public web"},
	{"https://co.kr/", "public suffix"},
	{"https://gov.sg/", "public suffix"},
	{"https://github.io/", "public suffix"},
	{"https://a..com/", "not a host name"},
	{"https://.com/", "not a host name"},
	{"https://a.com../", "not a host name"},
	{"https://a!b.com/", "not a host name"},
	{"https://a b.com/", "cannot be read"},
	{"https://a%2eb.com/", "cannot be read"},
	{"https://a%00b.com/", "cannot be read"},
	{"https://ex%25ample.com/", "not a host name"},
	{"https://" + strings.Repeat("a", 64) + ".com/", "not a host name"},
	{"https://" + strings.Repeat("a.", 130) + "com/", "longer than 253"},
	{"https://" + strings.Repeat("ü.", 500) + "com/", "longer than 253"},
	{"https://xn--a.com/", "internationalised"},
	{"https://xn--127-.0.0.1/", "internationalised"},
	{"https://a.com/" + strings.Repeat("x", 8000), "longer than 8000"},
	{"https://a.com/" + strings.Repeat("ü", 3000), "longer than 8000"}, // 18,000 when encoded
	{"https://a.com/\x7f", "cannot be read"},
	{"https://a.com/\r\nHost: b", "cannot be read"},
}

func TestGuard(t *testing.T) {
	for _, c := range accepted {
		u, err := Guard(c.raw)
		if err != nil || u.String() != c.want {
			t.Errorf("%q: %v, %v; want %s", c.raw, u, err, c.want)
		}
	}
	for _, c := range refused {
		u, err := Guard(c.raw)
		if u != nil || !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%.100q: %v, %v; want %q", c.raw, u, err, c.why)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("%.100q: the message has %d bytes", c.raw, len(err.Error()))
		}
	}
}

func TestResolve(t *testing.T) {
	base, err := Guard("https://www.herald.example:80/news/today?page=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ location, want string }{
		{"/robots.txt", "https://www.herald.example:80/robots.txt"},
		{"yesterday", "https://www.herald.example:80/news/yesterday"},
		{"../a/./b", "https://www.herald.example:80/a/b"},
		{"?page=2", "https://www.herald.example:80/news/today?page=2"},
		{"//herald.example", "https://herald.example/"},
		{"http://herald.example", "http://herald.example/"},
		{"/a b/ü#x", "https://www.herald.example:80/a%20b/%C3%BC"},
		{"/\\10.0.0.1", "https://www.herald.example:80/%5C10.0.0.1"},
		{"https://müller.example", "https://xn--mller-kva.example/"},
		{"//10.0.0.1/", ""},
		{"http:", ""},
		{"mailto:a@b.example", ""},
		{"//u@herald.example/", ""},
		{"::", ""},
	} {
		u, err := resolve(base, c.location)
		if c.want == "" && !errors.Is(err, ErrUnsafe) || c.want != "" && (err != nil || u.String() != c.want) {
			t.Errorf("%q: %v, %v; want %q", c.location, u, err, c.want)
		}
	}
}

// Whatever the Guard accepts is a plain URL of a registrable name, and accepting it again changes nothing.
func FuzzGuard(f *testing.F) {
	for _, c := range accepted {
		f.Add(c.raw)
	}
	for _, c := range refused {
		f.Add(c.raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := Guard(raw)
		if err != nil {
			if !errors.Is(err, ErrUnsafe) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		s := u.String()
		again, err := Guard(s)
		if err != nil || again.String() != s {
			t.Fatalf("%q → %q → %v, %v", raw, s, again, err)
		}
		r, err := url.Parse(s)
		if err != nil || r.Scheme != "http" && r.Scheme != "https" || r.User != nil || r.Fragment != "" ||
			r.Path == "" {
			t.Fatalf("%q → %q", raw, s)
		}
		if p := r.Port(); p != "" && p != "80" && p != "443" {
			t.Fatalf("%q → %q: port", raw, s)
		}
		host := r.Hostname()
		if _, err := netip.ParseAddr(host); err == nil || strings.ContainsAny(host, ":[]%@/\\") {
			t.Fatalf("%q → %q: host", raw, s)
		}
		labels := strings.Split(host, ".")
		if last := labels[len(labels)-1]; strings.Trim(strings.TrimPrefix(last, "0x"), "0123456789") == "" {
			t.Fatalf("%q → %q: a URL parser reads the host as an IPv4 address", raw, s)
		}
		for i := range len(s) {
			if s[i] <= ' ' || s[i] >= 0x7f {
				t.Fatalf("%q → %q: byte %#x", raw, s, s[i])
			}
		}
		if _, err := publicsuffix.EffectiveTLDPlusOne(host); err != nil {
			t.Fatalf("%q → %q: %v", raw, s, err)
		}
	})
}
