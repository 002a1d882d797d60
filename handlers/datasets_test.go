package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
)

func TestUpload(t *testing.T) {
	f := newFixture(t, nil)
	const path = "/api/v1/datasets/sg/news/2026-01-28/"
	for _, c := range []struct {
		name, body string
		header     []string
		status     int
		code       string
	}{
		{"raw_0001", "[]", nil, 201, ""},
		{"raw_0001", "[1]", nil, 409, "already_exists"},
		{"0001.json", "[1]", nil, 409, "already_exists"},
		{"0002", "[]", []string{"Content-Type", "application/json"}, 201, ""},
		{"raw_0003", "[]", []string{"Content-Type", "text/csv"}, 415, "unsupported_media_type"},
		{"raw_0003", "\x1f\x8b", []string{"Content-Encoding", "gzip"}, 415, "unsupported_media_type"},
		{"raw_0003", "[]", []string{"Content-Encoding", "Identity, br"}, 415, "unsupported_media_type"},
		{"raw_0003", "[]", []string{"Content-Length", "unknown"}, 411, "length_required"},
		{"raw_0003", "", nil, 400, "validation_error"},
		{"raw_3", "[]", nil, 400, "validation_error"},
		{"metadata", "[]", nil, 400, "validation_error"},
		{"raw_0003?orchestrate=maybe", "[]", nil, 400, "validation_error"},
		{"raw_0003?force=true", "[]", nil, 400, "validation_error"},
		{"raw_0003?orchestrate=true", "[]", nil, 201, ""},
	} {
		r := f.do(t, "PUT", path+c.name, c.body, c.header...)
		if r.status != c.status || c.code != "" && r.Error.Code != c.code {
			t.Errorf("PUT %s %q: %d %+v, want %d %s", c.name, c.header, r.status, r.Error, c.status, c.code)
		}
	}
	if len(f.seeds.sent) != 1 || !strings.Contains(f.seeds.sent[0], "raw_0003.json") {
		t.Errorf("queued %v, want raw_0003 alone", f.seeds.sent)
	}
	if r := f.do(t, "PUT", "/api/v1/datasets/sgp/news/2026-01-28/raw_0001", "[]"); r.Error.Field != "country" {
		t.Errorf("a wrong country: %+v", r.Error)
	}
	f.bucket.Fail = func(op, _ string) error {
		if op == "put" {
			return handlers.ErrTooManyUploads
		}
		return nil
	}
	if r := f.do(t, "PUT", path+"raw_0004", "[]"); r.status != 503 || r.Error.Code != "busy" ||
		r.header.Get("Retry-After") == "" {
		t.Errorf("too many uploads: %d %+v %v", r.status, r.Error, r.header)
	}
	f.bucket.Fail = nil
	f.seeds.err = errors.New("down")
	if r := f.do(t, "PUT", path+"raw_0004?orchestrate=true", "[]"); r.status != 503 ||
		!strings.Contains(string(r.Data), `"queued":false`) {
		t.Errorf("stored, not queued: %d %s", r.status, r.Data)
	}
	f.bucket.Fail = func(op, _ string) error {
		if op == "put" {
			return errors.New("down")
		}
		return nil
	}
	if r := f.do(t, "PUT", path+"raw_0005", "[]"); r.status != 503 || r.Error.Code != "storage_error" {
		t.Errorf("failing bucket: %d %+v", r.status, r.Error)
	}
}

// Clients repeat an upload if the first answer was an error or lost. The file must be queued exactly once.
func TestUpload_Repeated(t *testing.T) {
	f := newFixture(t, nil)
	const path, key = "/api/v1/datasets/sg/news/2026-01-28/raw_0001",
		"raw/country=sg/category=news/date=2026-01-28/raw_0001.json"
	put := func(what, query string, status int, code, data string, sent int) {
		t.Helper()
		r := f.do(t, "PUT", path+query, "[1]")
		if r.status != status || r.Error == nil || r.Error.Code != code || string(r.Data) != data {
			t.Errorf("%s: %d %s %+v, want %d %s %s", what, r.status, r.Data, r.Error, status, code, data)
		}
		if len(f.seeds.sent) != sent {
			t.Errorf("%s: %d messages were sent, want %d", what, len(f.seeds.sent), sent)
		}
	}
	const queued, notQueued = `{"key":"` + key + `","size":3,"queued":true,"same":true}`, `{"key":"` + key +
		`","size":3,"queued":false,"same":true}`

	f.seeds.err = errors.New("down")
	put("stored, not queued", "?orchestrate=true", 503, "storage_error", `{"key":"`+key+`","size":3,"queued":false}`,
		0)
	put("again, the queue is still down", "?orchestrate=true", 503, "storage_error", notQueued, 0)
	f.seeds.err = nil
	put("without orchestrate", "", 409, "already_exists", notQueued, 0)
	put("the queue is up", "?orchestrate=true", 409, "already_exists", queued, 1)
	put("in flight", "?orchestrate=true", 409, "already_exists", notQueued, 1)
	f.now = f.now.Add(orchestrator.InFlight)
	put("ten minutes later", "?orchestrate=true", 409, "already_exists", queued, 2)
	if !strings.Contains(f.seeds.sent[1], key) {
		t.Errorf("sent %s", f.seeds.sent[1])
	}
	f.now = f.now.Add(orchestrator.InFlight)
	if _, err := f.bucket.Put(t.Context(), key+".success", nil, nil); err != nil {
		t.Fatal(err)
	}
	put("finished", "?orchestrate=true", 409, "already_exists", notQueued, 2)
}

// A client that hangs up while the file is stored must not keep it from being queued.
func TestUpload_CallerGone(t *testing.T) {
	f := newFixture(t, nil)
	ctx, hangUp := context.WithCancel(t.Context())
	f.bucket.Fail = func(op, _ string) error {
		if op == "put" {
			hangUp()
		}
		return nil
	}
	r := httptest.NewRequestWithContext(ctx, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001?orchestrate=true",
		strings.NewReader("[]"))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.api.Handler().ServeHTTP(w, r)
	if w.Code != 201 || len(f.seeds.sent) != 1 {
		t.Errorf("answered %d, sent %v", w.Code, f.seeds.sent)
	}
}

func TestDatasets_List(t *testing.T) {
	f := newFixture(t, nil)
	const dir = "raw/country=sg/category=news/date=2026-01-28/"
	for _, k := range []string{"raw_0001.json", "raw_0002.json", "raw_metadata.json"} {
		f.bucket.Put(t.Context(), dir+k, []byte("[]"), nil)
	}
	f.bucket.Put(t.Context(), dir+"raw_0001.json.success", nil,
		&r2.PutOptions{Metadata: map[string]string{"processed_at": "2026-01-28T10:00:00Z"}})
	var d struct {
		Files []struct {
			Chunk, State string
			Size         int64
			ProcessedAt  *string `json:"processed_at"`
		}
		Cursor *string
	}
	if err := json.Unmarshal(f.do(t, "GET", "/api/v1/datasets/sg/news/2026-01-28", "").Data, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Files) != 2 || d.Files[0].State != "processed" || d.Files[0].ProcessedAt == nil ||
		d.Files[1].State != "pending" || d.Files[1].Size != 2 || d.Cursor != nil {
		t.Errorf("got %+v", d)
	}
	if r := f.do(t, "GET", "/api/v1/datasets/sg/news/today", ""); r.status != 400 || r.Error.Field != "date" {
		t.Errorf("a wrong date: %d %+v", r.status, r.Error)
	}
}

func TestDatasets_Pages(t *testing.T) {
	f := newFixture(t, nil)
	const n = 250
	for i := range n {
		k := contract.RawFile{Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"},
			Name: "raw_" + string([]byte{'1', byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)})}
		f.bucket.Put(t.Context(), k.Key(), nil, nil)
		if i%2 == 0 {
			f.bucket.Put(t.Context(), k.Checkpoint(), nil, nil)
		}
	}
	states, pages, cursor := map[string]string{}, 0, ""
	for {
		pages++
		var d struct {
			Files  []struct{ Chunk, State string }
			Cursor *string
		}
		if err := json.Unmarshal(f.do(t, "GET", "/api/v1/datasets/sg/news/2026-01-28"+cursor, "").Data,
			&d); err != nil {
			t.Fatal(err)
		}
		for _, c := range d.Files {
			if states[c.Chunk] != "" {
				t.Errorf("%s is listed twice", c.Chunk)
			}
			states[c.Chunk] = c.State
		}
		if d.Cursor == nil {
			break
		}
		cursor = "?cursor=" + *d.Cursor
	}
	processed := 0
	for _, s := range states {
		if s == "processed" {
			processed++
		}
	}
	if len(states) != n || processed != n/2 || pages < 2 {
		t.Errorf("%d files, %d processed, %d pages", len(states), processed, pages)
	}
}

func TestUpload_Recorded(t *testing.T) {
	f := newFixture(t, nil)
	f.do(t, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001", "[]")
	f.do(t, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0002?orchestrate=true", "[]")
	if s := get[contract.Status](t, f, "GET", "/api/v1/seeds/status", ""); s.Processing.FilesPending != 2 {
		t.Errorf("after two uploads: %+v", s.Processing)
	}
	if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", "{}"); d["sent"] != 1 ||
		d["skipped"] != 1 {
		t.Errorf("one of them is in flight: %v", d)
	}
	f.db.Fail = func() error { return errors.New("D1 is away") }
	if r := f.do(t, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0003", "[]"); r.status != 201 {
		t.Errorf("without the ledger: %d", r.status)
	}
}
