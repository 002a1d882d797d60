package handlers_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
)

func TestOrchestrate_InvalidFilter(t *testing.T) {
	f := newFixture(t, nil)
	const json, path = "application/json", "/api/v1/seeds/orchestrate"
	for _, c := range []struct {
		body, contentType string
		status            int
		code, field       string
	}{
		{`{"country":"Singapore"}`, json, 400, "validation_error", "country"},
		{`{"country":7}`, json, 400, "validation_error", "country"},
		{`{"category":"ne ws"}`, json, 400, "validation_error", "category"},
		{`{"date":"2026-02-30"}`, json, 400, "validation_error", "date"},
		{`{"date":"28.01.2026"}`, json, 400, "validation_error", "date"},
		{`{"force":"yes"}`, json, 400, "validation_error", "force"},
		{`{"limit":5}`, json, 400, "validation_error", "limit"},
		{`[]`, json, 400, "validation_error", "body"},
		{`null`, json, 400, "validation_error", "body"},
		{`{"country":`, json, 400, "parse_error", "body"},
		{`{} {}`, json, 400, "parse_error", "body"},
		{`country=sg`, "application/x-www-form-urlencoded", 415, "unsupported_media_type", ""},
		{`{"country":"` + strings.Repeat("s", 70_000) + `"}`, json, 413, "payload_too_large", ""},
	} {
		r := f.do(t, "POST", path, c.body, "Content-Type", c.contentType)
		if r.status != c.status || r.Error == nil || r.Error.Code != c.code || r.Error.Field != c.field ||
			r.Error.Message == "" {
			t.Errorf("%.40s: %d %+v, want %d %s %q", c.body, r.status, r.Error, c.status, c.code, c.field)
		}
	}
	if r := f.do(t, "POST", path+"?force=true", ""); r.status != 400 || r.Error.Field != "force" {
		t.Errorf("an unknown query parameter: %d %+v", r.status, r.Error)
	}
	if len(f.seeds.sent) != 0 {
		t.Errorf("rejected requests queued %v", f.seeds.sent)
	}
}

func TestOrchestrate_Answer(t *testing.T) {
	f := newFixture(t, nil)
	for _, k := range []string{"raw_0001.json", "raw_0001.json.success", "raw_0002.json"} {
		if _, err := f.bucket.Put(t.Context(), "raw/country=sg/category=news/date=2026-01-28/"+k, nil,
			nil); err != nil {
			t.Fatal(err)
		}
	}
	if r := f.do(t, "POST", "/api/v1/seeds/orchestrate", ""); r.status != 200 ||
		string(r.Data) != `{"files_found":2,"sent":1,"skipped":1,"finished":1}` {
		t.Errorf("got %d %s", r.status, r.Data)
	}
	if r := f.do(t, "POST", "/api/v1/seeds/orchestrate", `{"country":"SG","force":true}`, "Content-Type",
		"application/json; charset=utf-8"); string(r.Data) != `{"files_found":2,"sent":2,"skipped":0}` {
		t.Errorf("got %d %s", r.status, r.Data)
	}
	var m contract.SeedMessage
	if err := json.Unmarshal([]byte(f.seeds.sent[1]), &m); err != nil || !m.Force || m.RequestedAt.IsZero() {
		t.Errorf("force or requested_at is lost: %s", f.seeds.sent[1])
	}
	if r := f.do(t, "POST", "/api/v1/seeds/orchestrate",
		"{}"); string(r.Data) != `{"files_found":2,"sent":0,"skipped":2,"finished":1,"in_flight":1}` {
		t.Errorf("with a file in flight: %d %s", r.status, r.Data)
	}
	f.now = f.now.Add(orchestrator.InFlight)
	f.seeds.err = errors.New("down")
	r := f.do(t, "POST", "/api/v1/seeds/orchestrate", "{}")
	if r.status != 503 || r.Error.Code != "storage_error" ||
		string(r.Data) != `{"files_found":2,"sent":0,"skipped":1,"finished":1,"failed":1}` {
		t.Errorf("failing queue: %d %s %+v", r.status, r.Data, r.Error)
	}
}
