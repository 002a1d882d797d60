package handlers_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/settings"
)

func TestRoutes_Public(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) { s.Environment, s.APIToken = "production", "secret" })
	for _, path := range []string{"/", "/health", "/health/live", "/health/ready"} {
		if r := f.do(t, "GET", path, ""); r.status != 200 {
			t.Errorf("GET %s: %d", path, r.status)
		}
		if r := f.do(t, "POST", path, "{}"); r.status != 405 || r.Error.Code != "method_not_allowed" ||
			r.header.Get("Allow") != "GET" {
			t.Errorf("POST %s: %d, %+v, Allow %q", path, r.status, r.Error, r.header.Get("Allow"))
		}
	}
	if r := f.do(t, "GET", "/nowhere", ""); r.status != 404 || r.Error.Code != "not_found" {
		t.Errorf("GET /nowhere: %d, %+v", r.status, r.Error)
	}
}

func TestIndex_Routes(t *testing.T) {
	f := newFixture(t, nil)
	var d struct {
		Name, Version string
		Endpoints     []string
	}
	if err := json.Unmarshal(f.do(t, "GET", "/", "").Data, &d); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(d.Endpoints, "\n")
	if strings.Contains(string(f.do(t, "GET", "/", "").Data), "info_dashboard") {
		t.Error("there is no Info service")
	}
	f = newFixture(t, func(s *settings.Settings) { s.InfoCollectorURL = "https://info-collector.example.com/" })
	if data := string(f.do(t, "GET", "/", "").Data); !strings.Contains(data,
		`"info_dashboard":"https://info-collector.example.com/dashboard/info/"`) {
		t.Errorf("%s", data)
	}
	if d.Name != "newsfork-seed-engine" || d.Version == "" ||
		!strings.Contains(all, "POST /api/v1/seeds/orchestrate") || !strings.Contains(all, "GET /health/ready") {
		t.Errorf("got %+v", d)
	}
}

func TestSchemas(t *testing.T) {
	f := newFixture(t, nil)
	r := httptest.NewRequest("GET", "/schemas/domain_metadata.schema.json", nil)
	w := httptest.NewRecorder()
	f.api.Handler().ServeHTTP(w, r)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/schema+json" || !json.Valid(w.Body.Bytes()) {
		t.Errorf("got %d, %s", w.Code, w.Header())
	}
	if r := f.do(t, "GET", "/schemas/..%2Fdoc.go", ""); r.status != 404 ||
		!strings.Contains(r.Error.Message, "alarm_change.schema.json") {
		t.Errorf("a path that climbs out answers %d %+v", r.status, r.Error)
	}
}

func TestOpenAPI_Published(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) { s.Environment, s.APIToken = "production", "secret" })
	w := f.raw(t, "GET", "/openapi.json", "")
	if w.Code != 200 || !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), `"openapi": "3.1.0"`) {
		t.Errorf("%d", w.Code)
	}
}
