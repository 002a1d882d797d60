package usage

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// check fails unless rules are within the limits of the schema, survive being stored, and can be asked.
func check(t *testing.T, u contract.Usage) {
	t.Helper()
	text := Encode(&u)
	if len(u.TDM) > contract.MaxTDMRules || len(u.Directives) > len(known) || len(text) > MaxBytes {
		t.Fatalf("%d rules, %d directives, %d bytes", len(u.TDM), len(u.Directives), len(text))
	}
	for _, r := range u.TDM {
		if n := len([]rune(r.Location)); n < 1 || n > maxLocation || strings.ContainsAny(r.Location, "\n ") {
			t.Fatalf("location %q", r.Location)
		}
		if r.Policy != nil && !strings.HasPrefix(strings.ToLower(*r.Policy), "http") {
			t.Fatalf("policy %q", *r.Policy)
		}
	}
	if got := Decode(text); !reflect.DeepEqual(got.TDM, u.TDM) || !reflect.DeepEqual(got.Directives, u.Directives) {
		t.Fatalf("%+v was stored as %+v", u, got)
	}
	NewSite(text, "ai-train=no").Of("https://a.example/news/1?x=%2F")
}

// FuzzOfFile: whatever a tdmrep.json has, its rules are bounded.
func FuzzOfFile(f *testing.F) {
	for _, s := range []string{
		`[{"location":"/","tdm-reservation":1,"tdm-policy":"https://a.example/p.json"}]`,
		`[{"location":"/free/*","tdm-reservation":0},{"location":"*.pdf$","tdm-reservation":"1"}]`,
		`{"location":"/","tdm-reservation":1}`, `[null,[],{"location":"/\u0000","tdm-reservation":1e0}]`,
		`<!doctype html>`, `[` + strings.Repeat(`{"location":"/a","tdm-reservation":1},`, 30) + `{}]`,
		`[{"location":"/` + strings.Repeat("é", 150) + `$","tdm-reservation":1}]`, strings.Repeat("[", 10_000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := OfFile(data)
		if err == nil {
			check(t, contract.Usage{TDM: rules, Directives: []contract.UsageDirective{}})
		}
	})
}

// FuzzOfPage: whatever a page says about itself, it is bounded.
func FuzzOfPage(f *testing.F) {
	f.Add("noai, GPTBot: noindex", "1", "https://a.example/p", []byte(`<meta name=robots content="noai">`))
	f.Add("unavailable_after: Sat, 25 Jun 2044 15:00:00 PST", "0", "", []byte(`<meta name=tdm-reservation content=1>`))
	f.Add("NewsforkBot:noimageai", "x", "javascript:1", []byte("<script><meta name=tdm-policy content='https://a\nb'>"))
	f.Add(strings.Repeat(":", 100), "1", "https://a b", []byte("<meta name= content=><body>"))
	f.Fuzz(func(t *testing.T, tag, reservation, policy string, html []byte) {
		h := http.Header{"X-Robots-Tag": {tag}, "Tdm-Reservation": {reservation}, "Tdm-Policy": {policy}}
		u := contract.Usage{TDM: []contract.TDMRule{}, Directives: []contract.UsageDirective{}}
		list, rule := OfPage(h, html, "NewsforkBot")
		if u.Directives = append(u.Directives, list...); rule != nil {
			u.TDM = append(u.TDM, *rule)
		}
		check(t, u)
	})
}
