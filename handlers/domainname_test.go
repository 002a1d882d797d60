package handlers

import (
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// domainNames maps input to the form in keys; "" means refused.
var domainNames = []struct{ given, want string }{
	{"mom.gov.sg", "mom.gov.sg"},
	{"MOM.Gov.SG", "mom.gov.sg"},
	{"mom.gov.sg.", "mom.gov.sg"},
	{"bücher.example", "xn--bcher-kva.example"},
	{"BÜCHER.example", "xn--bcher-kva.example"},
	{"청와대.한국", "xn--vk1b187a8ue.xn--3e0b707e"},
	{"faß.de", "xn--fa-hia.de"}, // IDNA 2008 keeps the sharp s
	{"例え。テスト", "xn--r8jz45g.xn--zckzah"},
	{"", ""},
	{".", ""},
	{"localhost", ""},
	{"a..b", ""},
	{"-a.example", ""},
	{"a_b.example", ""},
	{"a/b.example", ""},
	{"../../raw", ""},
	{"a b.example", ""},
	{"a.example\x00", ""},
	{"\xff.example", ""},
	{strings.Repeat("a", 64) + ".example", ""},
	{strings.Repeat("a.", 127) + "example", ""},
}

func TestSanitizeDomain(t *testing.T) {
	for _, c := range domainNames {
		got, err := sanitizeDomain(c.given)
		if c.want == "" {
			if contract.KindOf(err) != contract.Validation {
				t.Errorf("%q becomes %q, %v, want a validation error", c.given, got, err)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%q becomes %q, %v, want %q", c.given, got, err, c.want)
		}
	}
}

func FuzzSanitizeDomain(f *testing.F) {
	for _, c := range domainNames {
		f.Add(c.given)
	}
	f.Fuzz(func(t *testing.T, domain string) {
		a, err := sanitizeDomain(domain)
		if err != nil {
			return
		}
		if strings.Trim(a, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || strings.Contains(a, "..") {
			t.Errorf("%q becomes %q", domain, a)
		}
		if again, err := sanitizeDomain(a); err != nil || again != a {
			t.Errorf("%q becomes %q, then %q, %v", domain, a, again, err)
		}
	})
}
