package handlers_test

import (
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestExclusions(t *testing.T) {
	f := newFixture(t, nil)
	type entry = contract.Exclusion
	if e := get[entry](t, f, "PUT", "/api/v1/exclusions/domain/OUT.sg", `{"reason":"asked for"}`); e.Value != "out.sg" || *e.Reason != "asked for" || e.CreatedBy != "development" {
		t.Errorf("excluded: %+v", e)
	}
	if r := f.do(t, "PUT", "/api/v1/exclusions/domain/out.sg", ""); r.status != 200 || !strings.Contains(string(r.Data), "asked for") {
		t.Errorf("excluded twice: %d %s", r.status, r.Data)
	}
	for _, target := range []string{"host/www.a.sg", "url/https%3A%2F%2FA.sg%2Fprivate%2F*", "domain/%ED%95%9C%EA%B5%AD.kr"} {
		if r := f.do(t, "PUT", "/api/v1/exclusions/"+target, ""); r.status != 201 {
			t.Errorf("%s: %d %+v", target, r.status, r.Error)
		}
	}
	const native, ascii = "/api/v1/exclusions/url/https%3A%2F%2F*.%ED%95%9C%EA%B5%AD.kr%2Fprivate%2F*", "/api/v1/exclusions/url/https%3A%2F%2F*.xn--3e0b707e.kr%2Fprivate%2F*"
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
	if got := strings.Join(listed, ", "); got != "domain out.sg, domain xn--3e0b707e.kr, host www.a.sg, url https://a.sg/private/*" {
		t.Errorf("listed: %s", got)
	}
	const pattern = "url https://*.xn--3e0b707e.kr/private/*"
	if got, want := strings.Join(f.obeyed.changes, ", "), "domain out.sg, domain out.sg, host www.a.sg, url https://a.sg/private/*, domain xn--3e0b707e.kr, "+pattern+", "+pattern; got != want {
		t.Errorf("the frontier was told %s, want %s", got, want)
	}
	if page := get[contract.ExclusionPage](t, f, "GET", "/api/v1/exclusions?kind=host", ""); len(page.Exclusions) != 1 {
		t.Errorf("hosts: %+v", page)
	}
	if _, x, err := f.api.Controls.Read(t.Context()); err != nil || !x.Domain("out.sg") || !x.URL("http://a.sg/private/x") {
		t.Errorf("what is listed is not in force: %v", err)
	}
	if e := get[entry](t, f, "DELETE", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", ""); e.Kind != "url" {
		t.Errorf("removed: %+v", e)
	}
	if r := f.do(t, "GET", "/api/v1/exclusions/url/https%3A%2F%2Fa.sg%2Fprivate%2F*", ""); r.status != 404 {
		t.Errorf("after its removal: %d", r.status)
	}
	for target, field := range map[string]string{
		"domain/www.mom.gov.sg": "value", "domain/gov.sg": "value", "domain/a": "value", "path/x": "kind", "url/a.sg": "value", "host/a%20b": "value",
	} {
		if r := f.do(t, "PUT", "/api/v1/exclusions/"+target, ""); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", target, r.status, r.Error)
		}
	}
	if r := f.do(t, "PUT", "/api/v1/exclusions/host/b.sg", `{"reason":"`+strings.Repeat("x", 501)+`"}`); r.status != 400 || r.Error.Field != "reason" {
		t.Errorf("a long reason: %d %+v", r.status, r.Error)
	}
}
