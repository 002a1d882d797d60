package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/settings"
)

func TestAuth_Tokens(t *testing.T) {
	const path = "/api/v1/datasets/sg/news/2026-01-28"
	open := newFixture(t, nil)
	if r := open.do(t, "GET", path, ""); r.status != 200 {
		t.Errorf("development without a token: %d", r.status)
	}
	bare := newFixture(t, func(s *settings.Settings) { s.Environment = "staging" })
	if r := bare.do(t, "GET", path, "", "Authorization", "Bearer "); r.status != 503 ||
		r.Error.Code != "token_not_configured" {
		t.Errorf("staging without a token: %d %+v", r.status, r.Error)
	}
	f := newFixture(t, func(s *settings.Settings) {
		s.Environment, s.APIToken, s.APITokenPrevious = "production", "new", "old"
		s.ScraperToken, s.ReadToken = "scraper", "reader"
	})
	for _, c := range []struct {
		method, authorization string
		status                int
		code, access          string
	}{
		{"GET", "", 401, "unauthorized", ""},
		{"GET", "new", 401, "unauthorized", ""},
		{"GET", "Basic new", 401, "unauthorized", ""},
		{"GET", "Bearer", 401, "unauthorized", ""},
		{"GET", "Bearer newer", 401, "unauthorized", ""},
		{"GET", "Bearer new", 200, "", "full"},
		{"GET", "bearer new", 200, "", "full"},
		{"GET", "Bearer old", 200, "", "full"},
		{"GET", "Bearer reader", 200, "", "read"},
		{"GET", "Bearer scraper", 200, "", "scrape"},
		{"POST", "Bearer reader", 403, "forbidden", ""},
		{"POST", "Bearer scraper", 403, "forbidden", ""},
		{"POST", "Bearer new", 405, "method_not_allowed", "full"},
	} {
		r := f.do(t, c.method, path, "", "Authorization", c.authorization)
		if r.status != c.status || c.code != "" && r.Error.Code != c.code {
			t.Errorf("%s with %q: %d %+v, want %d %s", c.method, c.authorization, r.status, r.Error, c.status, c.code)
		}
		if got := r.header.Get("X-Access"); got != c.access {
			t.Errorf("%s with %q: X-Access %q, want %q", c.method, c.authorization, got, c.access)
		}
		if r.status == 401 && r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: no WWW-Authenticate", c.authorization)
		}
	}
}

// A plain `wrangler deploy` publishes the development environment. It must not answer the world.
func TestAuth_LocalRun(t *testing.T) {
	const path = "/api/v1/datasets/sg/news/2026-01-28"
	for _, c := range []struct {
		environment string
		local       bool
		header      []string
		status      int
	}{
		{"development", true, nil, 200},
		{"development", true, []string{"CF-Connecting-IP", "127.0.0.1"}, 200},
		{"development", false, nil, 503},
		{"development", true, []string{"CF-Ray", "8d1f0a2b3c4d5e6f-SIN"}, 503}, // through a tunnel from the edge
		{"development", false, []string{"CF-Ray", "8d1f0a2b3c4d5e6f-SIN"}, 503},
		{"staging", true, nil, 503},
		{"production", true, nil, 503},
		{"production", false, nil, 503},
	} {
		f := newFixture(t, func(s *settings.Settings) { s.Environment = c.environment })
		f.api.Local = func() bool { return c.local }
		if w := f.raw(t, "GET", path, "", c.header...); w.Code != c.status {
			t.Errorf("%s, local %v, with %v: %d, want %d", c.environment, c.local, c.header, w.Code, c.status)
		}
		r := f.do(t, "GET", path, "", append(c.header, "Authorization", "Bearer anything")...)
		if r.status != c.status || c.status == 503 && r.Error.Code != "token_not_configured" {
			t.Errorf("with some token: %d %+v", r.status, r.Error)
		}
	}
	f := newFixture(t, nil)
	f.api.Local = nil
	if r := f.do(t, "GET", path, ""); r.status != 503 {
		t.Errorf("without Local: %d", r.status)
	}
}

// changing returns the requests that change something.
func changing(t *testing.T) map[string]request {
	t.Helper()
	found := map[string]request{}
	for path, operations := range openAPI().Paths {
		for method, o := range operations {
			if method != "get" {
				found[strings.ToUpper(method)+" "+path] = requests[o.OperationID][0]
			}
		}
	}
	if len(found) < 10 {
		t.Fatalf("found only %v", found)
	}
	return found
}

// Without a preflight, a page of another site can make a browser send a GET, or a POST with a form's Content-Type
// or none.
func TestAuth_ForeignPages(t *testing.T) {
	refusing := newFixture(t, nil)
	fill(t, refusing)
	for name, r := range changing(t) {
		method, _, _ := strings.Cut(name, " ")
		for _, c := range []struct {
			header []string
			status int
			code   string
		}{
			{[]string{"Content-Type", ""}, 415, "unsupported_media_type"},
			{[]string{"Content-Type", "text/plain;charset=UTF-8"}, 415, "unsupported_media_type"},
			{[]string{"Content-Type", "text/plain; application/json"}, 415, "unsupported_media_type"},
			{[]string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
			{[]string{"Content-Type", "multipart/form-data; boundary=x"}, 415, "unsupported_media_type"},
			{[]string{"Content-Type", "", "Authorization", "Bearer guessed"}, 415, "unsupported_media_type"},
			{[]string{"Origin", "https://evil.example"}, 403, "foreign_origin"},
			{[]string{"Origin", "http://localhost.evil.example"}, 403, "foreign_origin"},
			{[]string{"Origin", "http://example.com.evil.example"}, 403, "foreign_origin"},
			{[]string{"Origin", "null"}, 403, "foreign_origin"},
			{[]string{"Origin", "file://"}, 403, "foreign_origin"},
			{[]string{"Origin", "%"}, 403, "foreign_origin"},
			{[]string{"Origin", "http://example.com"}, 200, ""}, // the dashboard: httptest asks example.com
			{[]string{"Origin", "http://localhost:8787"}, 200, ""},
			{[]string{"Origin", "http://127.0.0.1:8787"}, 200, ""},
			{[]string{"Origin", "http://[::1]:8787"}, 200, ""},
			{nil, 200, ""},
			{[]string{"Content-Type", "Application/JSON; charset=utf-8"}, 200, ""},
		} {
			f := refusing
			if c.status == 200 {
				if c.header != nil && r.target != "/api/v1/pipeline/pause" {
					continue // one route is enough for accepted requests
				}
				f = newFixture(t, nil)
				fill(t, f)
			}
			w := f.raw(t, method, r.target, r.body, c.header...)
			var e struct{ Error struct{ Code string } }
			if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			if c.status == 200 && w.Code > 299 || c.status != 200 && w.Code != c.status || e.Error.Code != c.code {
				t.Errorf("%s with %q: %d %s, want %d %s", name, c.header, w.Code, e.Error.Code, c.status, c.code)
			}
		}
	}
}

// With a token neither matters: foreign pages do not have it.
func TestAuth_ContentType(t *testing.T) {
	for name, r := range changing(t) {
		method, _, _ := strings.Cut(name, " ")
		f := filled(t)
		w := f.raw(t, method, r.target, r.body, "Authorization", "Bearer secret", "Content-Type", "", "Origin",
			"https://ops.example")
		if w.Code > 299 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// Callers never see a secret, whichever setting is wrong.
func TestMisconfigured_NoSecret(t *testing.T) {
	for _, name := range settings.Secrets {
		_, err := settings.Read(func(n string) (string, bool) { return "ftp://MARKER/", n == name })
		if err == nil {
			continue // any text is a token
		}
		w := httptest.NewRecorder()
		httpapi.Misconfigured(w, err)
		var answer struct {
			Error struct{ Code, Field, Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusInternalServerError || answer.Error.Code != string(contract.Validation) ||
			answer.Error.Field != name || strings.Contains(w.Body.String(), "MARKER") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if text := fmt.Sprint(err); strings.Contains(text, "MARKER") {
			t.Errorf("the log would say %s", text)
		}
	}
}
