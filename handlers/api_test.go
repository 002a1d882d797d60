package handlers_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/queues"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/reconcile"
	"github.com/newsfork/seed-engine/settings"
)

// bucket stores uploads in the memory twin.
type bucket struct{ *r2.Memory }

func (b bucket) Store(ctx context.Context, key string, r *http.Request) (*r2.Object, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return b.Put(ctx, key, body, &r2.PutOptions{If: r2.Condition{Absent: true}})
}

type seeds struct {
	sent []string
	err  error
}

func (s *seeds) Send(ctx context.Context, b *contract.Batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.err != nil {
		return s.err
	}
	for message := range b.Messages() {
		s.sent = append(s.sent, string(message))
	}
	return nil
}

type fixture struct {
	api     *handlers.API
	bucket  bucket
	seeds   *seeds
	domains *seeds
	db      *sqlite.DB
	ledger  *ledger.Ledger
	now     time.Time
}

func newFixture(t testing.TB, change func(*settings.Settings)) *fixture {
	t.Helper()
	s, err := settings.Read(func(string) (string, bool) { return "", false })
	if err != nil {
		panic(err)
	}
	if change != nil {
		change(s)
	}
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{
		bucket: bucket{r2.NewMemory()}, seeds: &seeds{}, domains: &seeds{}, db: db, ledger: ledger.New(db),
		now: time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC),
	}
	var writes time.Duration
	f.bucket.Now = func() time.Time { writes += 2 * time.Second; return f.now.Add(writes) } // one key takes one write a second
	log := slog.New(slog.DiscardHandler)
	now := func() time.Time { return f.now }
	sleep := func(context.Context, time.Duration) error { return nil }
	letters := &queues.DeadLetters{Ledger: f.ledger, Bucket: f.bucket, Queue: queues.NewMemory(), Version: "v1", Log: log, Now: now}
	f.api = &handlers.API{
		Settings: s, Bucket: f.bucket, Seeds: f.seeds, Domains: f.domains, Log: log,
		Orchestrator: &orchestrator.Orchestrator{Bucket: f.bucket, Queue: f.seeds, Ledger: f.ledger, Log: log, Now: now, Sleep: sleep},
		Ledger:       f.ledger,
		Letters:      &queues.Replays{Ledger: f.ledger, Letters: letters, Seeds: f.seeds, Domains: f.domains, Now: now},
		Controls:     &queues.Controls{Bucket: f.bucket, Sleep: sleep},
		Reconciler:   &reconcile.Reconciler{Bucket: f.bucket, Letters: letters, Ledger: f.ledger, Now: now},
		Backlog: func(_ context.Context, role string) (contract.Backlog, error) {
			if role == "dlq" {
				return contract.Backlog{}, errors.New("the platform does not say")
			}
			return contract.Backlog{Messages: 3, Bytes: 300, Oldest: contract.At(f.now.Add(-time.Minute))}, nil
		},
		Pool: func() (handlers.PoolStats, error) {
			return handlers.PoolStats{Created: 2, Reused: 5, Idle: 2, Memory: []int{1 << 20, 2 << 20}, Dropped: map[string]int{"memory": 1}, Recovered: map[string]int{"handler": 1}}, nil
		},
		Local: func() bool { return true },
		Now:   now,
	}
	return f
}

type reply struct {
	Success bool            `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   *struct {
		Code, Message, Field string
	} `json:"error"`
	status int
	header http.Header
}

// raw sends a request, as JSON unless header says otherwise: names and values by turns.
func (f *fixture) raw(t *testing.T, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return f.rawWith(t, t.Context(), method, target, body, header...)
}

func (f *fixture) rawWith(t *testing.T, ctx context.Context, method, target, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if method != "GET" && method != "HEAD" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Content-Length" {
			r.ContentLength = -1
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.api.Handler().ServeHTTP(w, r)
	conforms(t, r, w)
	return w
}

func (f *fixture) do(t *testing.T, method, target, body string, header ...string) reply {
	t.Helper()
	w := f.raw(t, method, target, body, header...)
	out := reply{status: w.Code, header: w.Header()}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s %s: the answer is not JSON: %q", method, target, w.Body)
	}
	if out.header.Get("X-Request-Id") == "" {
		t.Errorf("%s %s: no X-Request-Id", method, target)
	}
	if out.Success != (out.status < 400) {
		t.Errorf("%s %s: success is %v with status %d", method, target, out.Success, out.status)
	}
	return out
}

func TestPublicRoutes(t *testing.T) {
	f := newFixture(t, func(s *settings.Settings) { s.Environment, s.APIToken = "production", "secret" })
	for _, path := range []string{"/", "/health", "/health/live", "/health/ready"} {
		if r := f.do(t, "GET", path, ""); r.status != 200 {
			t.Errorf("GET %s: %d", path, r.status)
		}
		if r := f.do(t, "POST", path, "{}"); r.status != 405 || r.Error.Code != "method_not_allowed" || r.header.Get("Allow") != "GET" {
			t.Errorf("POST %s: %d, %+v, Allow %q", path, r.status, r.Error, r.header.Get("Allow"))
		}
	}
	if r := f.do(t, "GET", "/nowhere", ""); r.status != 404 || r.Error.Code != "not_found" {
		t.Errorf("GET /nowhere: %d, %+v", r.status, r.Error)
	}
}

func TestIndexListsEveryRoute(t *testing.T) {
	f := newFixture(t, nil)
	var d struct {
		Name, Version string
		Endpoints     []string
	}
	if err := json.Unmarshal(f.do(t, "GET", "/", "").Data, &d); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(d.Endpoints, "\n")
	if d.Name != "newsfork-seed-engine" || d.Version == "" || !strings.Contains(all, "POST /api/v1/seeds/orchestrate") || !strings.Contains(all, "GET /health/ready") {
		t.Errorf("got %+v", d)
	}
}

func TestReadinessNamesWhatFails(t *testing.T) {
	f := newFixture(t, nil)
	f.db.Fail = func() error { return errors.New("no such binding") }
	r := f.do(t, "GET", "/health/ready", "")
	if r.status != 503 || r.Error.Code != "storage_error" || !strings.Contains(string(r.Data), `"d1":"failed"`) || !strings.Contains(string(r.Data), `"r2":"ok"`) {
		t.Errorf("got %d %s %+v", r.status, r.Data, r.Error)
	}
}

func TestSchemasArePublished(t *testing.T) {
	f := newFixture(t, nil)
	r := httptest.NewRequest("GET", "/schemas/domain_metadata.schema.json", nil)
	w := httptest.NewRecorder()
	f.api.Handler().ServeHTTP(w, r)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/schema+json" || !json.Valid(w.Body.Bytes()) {
		t.Errorf("got %d, %s", w.Code, w.Header())
	}
	if r := f.do(t, "GET", "/schemas/..%2Fdoc.go", ""); r.status != 404 || !strings.Contains(r.Error.Message, "alarm_change.schema.json") {
		t.Errorf("a path that climbs out answers %d %+v", r.status, r.Error)
	}
}

func TestAuthorisation(t *testing.T) {
	const path = "/api/v1/datasets/sg/news/2026-01-28"
	open := newFixture(t, nil)
	if r := open.do(t, "GET", path, ""); r.status != 200 {
		t.Errorf("development without a token: %d", r.status)
	}
	bare := newFixture(t, func(s *settings.Settings) { s.Environment = "staging" })
	if r := bare.do(t, "GET", path, "", "Authorization", "Bearer "); r.status != 503 || r.Error.Code != "token_not_configured" {
		t.Errorf("staging without a token: %d %+v", r.status, r.Error)
	}
	f := newFixture(t, func(s *settings.Settings) {
		s.Environment, s.APIToken, s.APITokenPrevious, s.ReadToken = "production", "new", "old", "reader"
	})
	for _, c := range []struct {
		method, authorization string
		status                int
		code                  string
	}{
		{"GET", "", 401, "unauthorized"},
		{"GET", "new", 401, "unauthorized"},
		{"GET", "Basic new", 401, "unauthorized"},
		{"GET", "Bearer", 401, "unauthorized"},
		{"GET", "Bearer newer", 401, "unauthorized"},
		{"GET", "Bearer new", 200, ""},
		{"GET", "bearer new", 200, ""},
		{"GET", "Bearer old", 200, ""},
		{"GET", "Bearer reader", 200, ""},
		{"POST", "Bearer reader", 403, "forbidden"},
		{"POST", "Bearer new", 405, "method_not_allowed"},
	} {
		r := f.do(t, c.method, path, "", "Authorization", c.authorization)
		if r.status != c.status || c.code != "" && r.Error.Code != c.code {
			t.Errorf("%s with %q: %d %+v, want %d %s", c.method, c.authorization, r.status, r.Error, c.status, c.code)
		}
		if r.status == 401 && r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: no WWW-Authenticate", c.authorization)
		}
	}
}

func TestOrchestrateRejects(t *testing.T) {
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
		if r.status != c.status || r.Error == nil || r.Error.Code != c.code || r.Error.Field != c.field || r.Error.Message == "" {
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

func TestOrchestrateAnswers(t *testing.T) {
	f := newFixture(t, nil)
	for _, k := range []string{"raw_0001.json", "raw_0001.json.success", "raw_0002.json"} {
		if _, err := f.bucket.Put(t.Context(), "raw/country=sg/category=news/date=2026-01-28/"+k, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if r := f.do(t, "POST", "/api/v1/seeds/orchestrate", ""); r.status != 200 || string(r.Data) != `{"files_found":2,"sent":1,"skipped":1}` {
		t.Errorf("got %d %s", r.status, r.Data)
	}
	if r := f.do(t, "POST", "/api/v1/seeds/orchestrate", `{"country":"SG","force":true}`, "Content-Type", "application/json; charset=utf-8"); string(r.Data) != `{"files_found":2,"sent":2,"skipped":0}` {
		t.Errorf("got %d %s", r.status, r.Data)
	}
	var m contract.SeedMessage
	if err := json.Unmarshal([]byte(f.seeds.sent[1]), &m); err != nil || !m.Force || m.RequestedAt.IsZero() {
		t.Errorf("force or requested_at is lost: %s", f.seeds.sent[1])
	}
	if r := f.do(t, "POST", "/api/v1/seeds/orchestrate", "{}"); string(r.Data) != `{"files_found":2,"sent":0,"skipped":2}` {
		t.Errorf("with a file in flight: %d %s", r.status, r.Data)
	}
	f.now = f.now.Add(orchestrator.InFlight)
	f.seeds.err = errors.New("down")
	r := f.do(t, "POST", "/api/v1/seeds/orchestrate", "{}")
	if r.status != 503 || r.Error.Code != "storage_error" || string(r.Data) != `{"files_found":2,"sent":0,"skipped":1,"failed":1}` {
		t.Errorf("failing queue: %d %s %+v", r.status, r.Data, r.Error)
	}
}

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
	f.seeds.err = errors.New("down")
	if r := f.do(t, "PUT", path+"raw_0004?orchestrate=true", "[]"); r.status != 503 || !strings.Contains(string(r.Data), `"queued":false`) {
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

// TestUploadRepeated plays clients that repeat an upload because the first answer was an error or got
// lost: the file must be queued all the same, and once.
func TestUploadRepeated(t *testing.T) {
	f := newFixture(t, nil)
	const path, key = "/api/v1/datasets/sg/news/2026-01-28/raw_0001", "raw/country=sg/category=news/date=2026-01-28/raw_0001.json"
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
	const queued, notQueued = `{"key":"` + key + `","size":3,"queued":true}`, `{"key":"` + key + `","size":3,"queued":false}`

	f.seeds.err = errors.New("down")
	put("stored, not queued", "?orchestrate=true", 503, "storage_error", notQueued, 0)
	put("again, the queue is still down", "?orchestrate=true", 503, "storage_error", notQueued, 0)
	f.seeds.err = nil
	put("without orchestrate", "", 409, "already_exists", "", 0)
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

// TestUploadCallerGone has the client hang up while the file is stored: it is queued all the same.
func TestUploadCallerGone(t *testing.T) {
	f := newFixture(t, nil)
	ctx, hangUp := context.WithCancel(t.Context())
	f.bucket.Fail = func(op, _ string) error {
		if op == "put" {
			hangUp()
		}
		return nil
	}
	r := httptest.NewRequestWithContext(ctx, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001?orchestrate=true", strings.NewReader("[]"))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	f.api.Handler().ServeHTTP(w, r)
	if w.Code != 201 || len(f.seeds.sent) != 1 {
		t.Errorf("answered %d, sent %v", w.Code, f.seeds.sent)
	}
}

func TestListDataset(t *testing.T) {
	f := newFixture(t, nil)
	const dir = "raw/country=sg/category=news/date=2026-01-28/"
	for _, k := range []string{"raw_0001.json", "raw_0002.json", "raw_metadata.json"} {
		f.bucket.Put(t.Context(), dir+k, []byte("[]"), nil)
	}
	f.bucket.Put(t.Context(), dir+"raw_0001.json.success", nil, &r2.PutOptions{Metadata: map[string]string{"processed_at": "2026-01-28T10:00:00Z"}})
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
	if len(d.Files) != 2 || d.Files[0].State != "processed" || d.Files[0].ProcessedAt == nil || d.Files[1].State != "pending" || d.Files[1].Size != 2 || d.Cursor != nil {
		t.Errorf("got %+v", d)
	}
	if r := f.do(t, "GET", "/api/v1/datasets/sg/news/today", ""); r.status != 400 || r.Error.Field != "date" {
		t.Errorf("a wrong date: %d %+v", r.status, r.Error)
	}
}

func TestListDatasetPages(t *testing.T) {
	f := newFixture(t, nil)
	const n = 250
	for i := range n {
		k := r2.RawFile{Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}, Name: "raw_" + string([]byte{'1', byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)})}
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
		if err := json.Unmarshal(f.do(t, "GET", "/api/v1/datasets/sg/news/2026-01-28"+cursor, "").Data, &d); err != nil {
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

func TestRequestIDs(t *testing.T) {
	f := newFixture(t, nil)
	if r := f.do(t, "GET", "/health", "", "X-Request-Id", "trace-1.a"); r.header.Get("X-Request-Id") != "trace-1.a" {
		t.Errorf("a plain id is not repeated: %s", r.header)
	}
	if r := f.do(t, "GET", "/health", "", "X-Request-Id", "<script>"); r.header.Get("X-Request-Id") == "<script>" {
		t.Error("an id that could do harm is repeated")
	}
}
