package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestExclusions(t *testing.T) {
	f := newFixture(t, nil)
	type entry = contract.Exclusion
	if e := get[entry](t, f, "PUT", "/api/v1/exclusions/domain/OUT.sg",
		`{"reason":"asked for"}`); e.Value != "out.sg" || *e.Reason != "asked for" || e.CreatedBy != "development" {
		t.Errorf("excluded: %+v", e)
	}
	if r := f.do(t, "PUT", "/api/v1/exclusions/domain/out.sg", ""); r.status != 200 ||
		!strings.Contains(string(r.Data), "asked for") {
		t.Errorf("excluded twice: %d %s", r.status, r.Data)
	}
	for _, target := range []string{"host/www.a.sg", "url/https%3A%2F%2FA.sg%2Fprivate%2F*",
		"domain/%ED%95%9C%EA%B5%AD.kr"} {
		if r := f.do(t, "PUT", "/api/v1/exclusions/"+target, ""); r.status != 201 {
			t.Errorf("%s: %d %+v", target, r.status, r.Error)
		}
	}
	for target, want := range map[string]string{
		"domain/co.uk": `"co.uk" is not a registrable domain: names below it are; send one ` +
			`of them, such as "example.co.uk"`,
		"domain/www.a.sg": `"www.a.sg" is not a registrable domain; send "a.sg", or ` +
			`exclude the host`,
		"host/https%3A%2F%2Fwww.x.sg%2F": `"https://www.x.sg/" is not the name of a host; send one such as ` +
			`"mom.gov.sg", without a scheme or path`,
		"domain/https%3A%2F%2Fwww.x.sg%2Fnews": `"https://www.x.sg/news" is not the name of a domain; send one such ` +
			`as "mom.gov.sg", without a scheme or path`,
	} {
		if r := f.do(t, "PUT", "/api/v1/exclusions/"+target, ""); r.status != 400 || r.Error.Message != want {
			t.Errorf("%s: %d %+v", target, r.status, r.Error)
		}
	}
	const native, ascii = "/api/v1/exclusions/url/https%3A%2F%2F*.%ED%95%9C%EA%B5%AD.kr%2Fprivate%2F*",
		"/api/v1/exclusions/url/https%3A%2F%2F*.xn--3e0b707e.kr%2Fprivate%2F*"
	if e := get[entry](t, f, "PUT", native, ""); e.Value != "https://*.xn--3e0b707e.kr/private/*" {
		t.Errorf("the pattern is kept as %q, and URLs have A-labels", e.Value)
	}
	if r := f.do(t, "DELETE", ascii, ""); r.status != 200 {
		t.Errorf("the same pattern in A-labels: %d %+v", r.status, r.Error)
	}
	var listed []string
	for cursor := ""; ; {
		page := get[contract.ExclusionPage](t, f, "GET", "/api/v1/exclusions?limit=1&cursor="+cursor, "")
		for _, e := range page.Exclusions {
			listed = append(listed, e.Kind+" "+e.Value)
		}
		if page.Cursor == nil {
			break
		}
		cursor = *page.Cursor
	}
	if got := strings.Join(listed, ", "); got != "domain out.sg, domain xn--3e0b707e.kr, host www.a.sg, url "+
		"https://a.sg/private/*" {
		t.Errorf("listed: %s", got)
	}
	const pattern = "url https://*.xn--3e0b707e.kr/private/*"
	if got, want := strings.Join(f.obeyed.changes, ", "),
		"domain out.sg, domain out.sg, host www.a.sg, url https://a.sg/private/*, domain xn--3e0b707e.kr, "+pattern+
			", "+
			pattern; got != want {
		t.Errorf("the frontier was told %s, want %s", got, want)
	}
	if page := get[contract.ExclusionPage](t, f, "GET", "/api/v1/exclusions?kind=host",
		""); len(page.Exclusions) != 1 {
		t.Errorf("hosts: %+v", page)
	}
	if _, x, err := f.api.Controls.Read(t.Context()); err != nil || !x.Domain("out.sg") ||
		!x.URL("http://a.sg/private/x") {
		t.Errorf("what is listed is not in force: %v", err)
	}
	if e := get[entry](t, f, "DELETE", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*",
		""); e.Kind != "url" {
		t.Errorf("removed: %+v", e)
	}
	if r := f.do(t, "GET", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", ""); r.status != 404 {
		t.Errorf("after its removal: %d", r.status)
	}
	for target, field := range map[string]string{
		"domain/www.mom.gov.sg": "value", "domain/gov.sg": "value", "domain/a": "value", "path/x": "kind",
		"url/a.sg": "value", "host/a%20b": "value",
	} {
		if r := f.do(t, "PUT", "/api/v1/exclusions/"+target, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", target, r.status, r.Error)
		}
	}
	if r := f.do(t, "PUT", "/api/v1/exclusions/host/b.sg",
		`{"reason":"`+strings.Repeat("x", 501)+`"}`); r.status != 400 || r.Error.Field != "reason" {
		t.Errorf("a long reason: %d %+v", r.status, r.Error)
	}
}

// Exclusions change an existing document's answer at once.
func TestExclusions_Contract(t *testing.T) {
	f := newFixture(t, nil)
	const key = "prod/country=sg/category=news/date=2026-01-28/a.sg/domain_metadata.json"
	const route = "/api/v1/seeds/domains/a.sg?country=sg&category=news&date=2026-01-28"
	const stored = `{"domain":"a.sg","urls":[{"url":"https://a.sg/private/1","allowed":true,` +
		`"recommended_action":"scheduled_crawl"},{"url":"https://a.sg/news/1","allowed":true,` +
		`"recommended_action":"scheduled_crawl"}],` +
		`"intelligent_discovery":{"discovered_urls":[{"url":"https://a.sg/private/1"},` +
		`{"url":"https://a.sg/news/1"}]},` +
		`"fetch_contract":{"entry_points":[{"method":"rss","url":"https://a.sg/private/feed"},{"method":"rss",` +
		`"url":"https://a.sg/feed"}]}}`
	if _, err := f.bucket.Put(t.Context(), key, []byte(stored), nil); err != nil {
		t.Fatal(err)
	}
	type document struct {
		URLs []struct {
			URL                string
			Allowed            *bool
			Recommended_action string
		}
		Intelligent_discovery struct{ Discovered_urls []struct{ URL string } }
		Fetch_contract        struct{ Entry_points []struct{ URL string } }
	}
	show := func() (d document) {
		t.Helper()
		shown := get[contract.DomainDetail](t, f, "GET", route, "")
		if err := json.Unmarshal(shown.Document, &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	tag := f.raw(t, "GET", route, "").Header().Get("ETag")
	if w := f.raw(t, "GET", route, "", "If-None-Match", tag); w.Code != 304 {
		t.Fatalf("before, to those who have it: %d", w.Code)
	}
	if d := show(); len(d.Intelligent_discovery.Discovered_urls) != 2 || len(d.Fetch_contract.Entry_points) != 2 {
		t.Fatalf("before: %+v", d)
	}
	f.do(t, "PUT", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", "")
	if w := f.raw(t, "GET", route, "", "If-None-Match", tag); w.Code != 200 { // even with the same revision
		t.Errorf("to those who have what was there before: %d", w.Code)
	}
	d := show()
	if l := d.Intelligent_discovery.Discovered_urls; len(l) != 1 || l[0].URL != "https://a.sg/news/1" {
		t.Errorf("discovered: %+v", l)
	}
	if l := d.Fetch_contract.Entry_points; len(l) != 1 || l[0].URL != "https://a.sg/feed" {
		t.Errorf("entry points: %+v", l)
	}
	if len(d.URLs) != 2 || *d.URLs[0].Allowed || d.URLs[0].Recommended_action != "ignore" || !*d.URLs[1].Allowed {
		t.Errorf("raw URLs: %+v", d.URLs)
	}
}
