package handlers_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

const chunkPath = "/api/v1/datasets/sg/news/2026-01-28/raw_0001"

var rawFile = contract.RawFile{Partition: place, Name: "raw_0001"}

// A repeated upload is recognised by its content, not by its size.
func TestUpload_SameContent(t *testing.T) {
	f := newFixture(t, nil)
	f.do(t, "PUT", chunkPath, `[{"a":1}]`)
	for body, want := range map[string]string{`[{"a":1}]`: `"same":true`, `[{"a":2}]`: `"same":false`,
		`[]`: `"same":false`} {
		r := f.do(t, "PUT", chunkPath, body)
		if r.status != 409 || r.Error.Code != "already_exists" || !strings.Contains(string(r.Data), want) ||
			strings.Contains(r.Error.Message, "left alone") != (want == `"same":true`) {
			t.Errorf("%s: %d %s %+v", body, r.status, r.Data, r.Error)
		}
	}
	// Objects stored in parts by another tool have no digest.
	u, err := f.bucket.Create(t.Context(), rawFile.Key(), nil)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("[", r2.PartSize+1)
	u.Write([]byte(large))
	if _, err := u.Commit(); err != nil {
		t.Fatal(err)
	}
	if r := f.do(t, "PUT", chunkPath, large); r.status != 409 || strings.Contains(string(r.Data), "same") {
		t.Errorf("stored in parts: %d %s", r.status, r.Data)
	}
}

// TestUpload_SameBytes: bytes that the partition has under another name are stored, and the answer says so.
func TestUpload_SameBytes(t *testing.T) {
	f := newFixture(t, nil)
	put := func(name, body string) string {
		t.Helper()
		r := f.do(t, "PUT", "/api/v1/datasets/sg/news/2026-01-28/"+name, body)
		if r.status != 201 {
			t.Fatalf("%d %+v", r.status, r.Error)
		}
		var data struct {
			SameAs string `json:"same_as"`
		}
		if err := json.Unmarshal(r.Data, &data); err != nil {
			t.Fatal(err)
		}
		return data.SameAs
	}
	for _, c := range []struct{ name, body, want string }{{"raw_0001", `[{"a":1}]`, ""}, {"raw_0002", `[{"a":2}]`, ""},
		{"raw_0003", `[{"a":2}]`, "raw_0002"}, {"raw_0004", `[ ]`, ""}} {
		if got := put(c.name, c.body); got != c.want {
			t.Errorf("%s is the same as %q, want %q", c.name, got, c.want)
		}
	}
	f.do(t, "DELETE", chunkPath, "")
	if got := put("raw_0005", `[{"a":1}]`); got != "" {
		t.Errorf("the same as %q, which was deleted", got)
	}
}

// files lists the raw files of the partition.
func (f *fixture) files(t *testing.T) (files []listed) {
	t.Helper()
	return get[struct{ Files []listed }](t, f, "GET", "/api/v1/datasets/sg/news/2026-01-28", "").Files
}

type listed struct {
	Chunk, State string
	ErrorType    *string `json:"error_type"`
	ErrorMessage *string `json:"error_message"`
	Records      *int64  `json:"records_total"`
	Rejected     *int64  `json:"records_rejected"`
	Rejections   []contract.Rejection
}

// brokenFile uploads a raw file whose message was given up.
func (f *fixture) brokenFile(t *testing.T) {
	t.Helper()
	f.do(t, "PUT", chunkPath+"?orchestrate=true", "broken")
	f.now = f.now.Add(time.Minute)
	err := f.ledger.Record(t.Context(), ledger.Changes{
		Files: []ledger.FileChange{{RawFile: rawFile, GaveUp: f.now, ErrorType: contract.Parse,
			ErrorMessage: "line 1, column 1"}},
		DeadLetters: []ledger.DeadLetter{{
			MessageID: "m123456", WorkKey: rawFile.Key(),
			R2Key: "dlq/queue=newsfork-seed-dev/date=2026-01-28/m123456.json", Partition: place,
			DeadLetterError: contract.DeadLetterError{ErrorType: contract.Parse, ErrorMessage: "line 1, column 1",
				FailedAt: f.now},
			DeadLetterContext: contract.DeadLetterContext{QueueName: "newsfork-seed-dev"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) stats(t *testing.T) contract.Status {
	t.Helper()
	return get[contract.Status](t, f, "GET", "/api/v1/seeds/status", "")
}

// The same bytes revive a discarded file: what was wrong may have been the engine.
func TestReplace_DiscardedBySameBytes(t *testing.T) {
	f := newFixture(t, nil)
	f.brokenFile(t)
	get[contract.Resolved](t, f, "POST", "/api/v1/dlq/discard", `{"ids":["m1234"]}`)
	f.now = f.now.Add(time.Hour)
	sent := len(f.seeds.sent)
	r := f.do(t, "PUT", chunkPath+"?replace=true&orchestrate=true", "broken")
	if r.status != 200 || len(f.seeds.sent) != sent+1 {
		t.Fatalf("replaced: %d %s %+v, sent %d", r.status, r.Data, r.Error, len(f.seeds.sent)-sent)
	}
	if got := f.files(t); got[0].State != "pending" || got[0].ErrorType != nil {
		t.Errorf("replaced: %+v", got)
	}
	if s := f.stats(t); s.Discarded != 0 || s.Processing.FilesPending != 1 {
		t.Errorf("status: %+v", s)
	}
}

// Discarding the letter of a raw file ends the file, until another file replaces it.
func TestReplace_Discarded(t *testing.T) {
	f := newFixture(t, nil)
	f.brokenFile(t)
	if got := f.files(t); len(got) != 1 || got[0].State != "failed" || *got[0].ErrorType != "parse_error" ||
		*got[0].ErrorMessage != "line 1, column 1" {
		t.Errorf("given up: %+v", got)
	}
	if d := get[contract.Resolved](t, f, "POST", "/api/v1/dlq/discard", `{"ids":["m1234"]}`); d.Done != 1 ||
		len(d.Failed) > 0 {
		t.Fatalf("discarded by the beginning of its id: %+v", d)
	}
	if got := f.files(t); got[0].State != contract.DiscardedFile || *got[0].ErrorType != "parse_error" {
		t.Errorf("discarded: %+v", got)
	}
	if s := f.stats(t); s.Discarded != 1 || s.Processing != (contract.ProcessingStats{}) ||
		s.DeadLetters.Discarded != 1 {
		t.Errorf("status: %+v", s)
	}
	f.now = f.now.Add(time.Hour)
	sent := len(f.seeds.sent)
	for _, body := range []string{"{}", `{"force":true}`} {
		if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", body); d["sent"] != 0 ||
			d["skipped"] != 1 {
			t.Errorf("orchestrate %s: %v", body, d)
		}
	}
	if r := f.do(t, "PUT", chunkPath+"?orchestrate=true", "broken"); r.status != 409 || len(f.seeds.sent) != sent ||
		!strings.Contains(r.Error.Message, "is discarded") {
		t.Errorf("uploaded again: %d, sent %d", r.status, len(f.seeds.sent)-sent)
	}
	f.db.Fail = func() error { return errors.New("D1 is away") }
	if got := f.files(t); got[0].State != contract.DiscardedFile {
		t.Errorf("the bucket alone says: %+v", got)
	}
	f.db.Fail = nil

	r := f.do(t, "PUT", chunkPath+"?replace=true", "[]")
	if r.status != 200 || string(r.Data) != `{"key":"`+rawFile.Key()+`","size":2,"queued":false,"replaced":true}` {
		t.Fatalf("replaced: %d %s %+v", r.status, r.Data, r.Error)
	}
	if got := f.files(t); got[0].State != "pending" || got[0].ErrorType != nil {
		t.Errorf("replaced: %+v", got)
	}
	if s := f.stats(t); s.Discarded != 0 || s.Processing.FilesPending != 1 || s.Processing.FilesTotal != 1 {
		t.Errorf("status: %+v", s)
	}
	if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", "{}"); d["sent"] != 1 {
		t.Errorf("orchestrate after the replacement: %v", d)
	}
}

// Leftovers of the previous file do not end a replacement, which settles the previous file's dead letters.
func TestReplace_DeadLetters(t *testing.T) {
	f := newFixture(t, nil)
	f.brokenFile(t)
	f.now = f.now.Add(time.Hour)
	if r := f.do(t, "PUT", chunkPath+"?replace=true&orchestrate=true", "[]"); r.status != 200 ||
		!strings.Contains(string(r.Data), `"queued":true`) || len(f.seeds.sent) != 2 {
		t.Fatalf("%d %s", r.status, r.Data)
	}
	if w, err := contract.ParseSeed([]byte(f.seeds.sent[1])); err != nil || w.File.ETag == "" {
		t.Errorf("the message does not say which file: %s", f.seeds.sent[1])
	}
	if s := f.stats(t); s.DeadLetters.Stored != 0 || s.DeadLetters.Discarded != 1 || s.Processing.FilesPending != 1 {
		t.Errorf("%+v", s)
	}
	// If D1 was down, the letter is older than the file.
	must(t, f.ledger.Record(t.Context(), ledger.Changes{DeadLetters: []ledger.DeadLetter{{
		MessageID: "late", WorkKey: rawFile.Key(), R2Key: "x", Partition: place,
		DeadLetterError:   contract.DeadLetterError{ErrorType: contract.Parse, FailedAt: f.now.Add(-time.Hour)},
		DeadLetterContext: contract.DeadLetterContext{QueueName: "newsfork-seed-dev"},
	}}}))
	if d := get[contract.Resolved](t, f, "POST", "/api/v1/dlq/discard", `{"all":true}`); d.Done != 1 {
		t.Errorf("%+v", d)
	}
	if got := f.files(t); got[0].State != "pending" {
		t.Errorf("an old letter ended the new file: %+v", got)
	}
}

// A malformed file is queued again only by force.
func TestUpload_BrokenFile(t *testing.T) {
	f := newFixture(t, nil)
	f.brokenFile(t)
	f.now = f.now.Add(time.Second)
	if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", "{}"); d["sent"] != 0 || d["broken"] != 1 {
		t.Errorf("orchestrate: %v", d)
	}
	if r := f.do(t, "PUT", chunkPath+"?orchestrate=true", "broken"); r.status != 409 || len(f.seeds.sent) != 1 {
		t.Errorf("uploaded again: %d, %d messages", r.status, len(f.seeds.sent))
	}
	if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", `{"force":true}`); d["sent"] != 1 {
		t.Errorf("with force: %v", d)
	}
}

// A replacement is queued even if the previous file was queued a minute ago.
func TestReplace_InFlight(t *testing.T) {
	f := newFixture(t, nil)
	f.brokenFile(t)
	f.now = f.now.Add(time.Second)
	f.do(t, "PUT", chunkPath+"?replace=true", "[]")
	for i, sent := range []int{1, 0} {
		f.now = f.now.Add(time.Second)
		if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", "{}"); d["sent"] != sent {
			t.Errorf("orchestrate %d after the replacement: %v", i+1, d)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Files with a checkpoint stay. A checkpoint of the previous file does not count.
func TestReplace_Refused(t *testing.T) {
	f := newFixture(t, nil)
	f.do(t, "PUT", chunkPath, "[1]")
	f.store(t, rawFile.Checkpoint(), "")
	for method, want := range map[string]string{"PUT": "was processed; upload under the next number",
		"DELETE": "contracts may depend on it"} {
		if r := f.do(t, method, chunkPath, map[string]string{"PUT": "[2]"}[method]); r.status != 409 ||
			!strings.HasSuffix(r.Error.Message, want) {
			t.Errorf("%s: %d %+v", method, r.status, r.Error)
		}
	}
	for _, rq := range []struct{ method, query, body string }{{"PUT", "?replace=true", "[2]"}, {"DELETE", "", ""}} {
		if r := f.do(t, rq.method, chunkPath+rq.query, rq.body); r.status != 409 ||
			r.Error.Code != "already_processed" {
			t.Errorf("%s: %d %+v", rq.method, r.status, r.Error)
		}
	}
	if _, err := f.bucket.Put(t.Context(), rawFile.Checkpoint(), nil,
		&r2.PutOptions{Metadata: map[string]string{contract.RawETagField: "of another"}}); err != nil {
		t.Fatal(err)
	}
	if got := f.files(t); got[0].State != "pending" {
		t.Errorf("with the checkpoint of another file: %+v", got)
	}
	if r := f.do(t, "PUT", chunkPath+"?orchestrate=true", "[1]"); r.status != 409 ||
		!strings.Contains(string(r.Data), `"queued":true`) {
		t.Errorf("its own PUT again, with the checkpoint of another file: %d %s", r.status, r.Data)
	}
	if r := f.do(t, "PUT", chunkPath+"?replace=true", "[2]"); r.status != 200 {
		t.Errorf("%d %+v", r.status, r.Error)
	}
	if _, err := f.bucket.Head(t.Context(), rawFile.Checkpoint()); !errors.Is(err, r2.ErrNotFound) {
		t.Errorf("the checkpoint of the file before is there: %v", err)
	}
	if r := f.do(t, "PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0002?replace=true", "[2]"); r.status != 201 ||
		strings.Contains(string(r.Data), "replaced") {
		t.Errorf("nothing to replace: %d %s", r.status, r.Data)
	}

	// One of two concurrent replacements is refused.
	f.bucket.Fail = func(op, key string) error {
		if op == "put" && key == rawFile.Key() {
			f.bucket.Fail = nil
			f.store(t, key, "[3]")
		}
		return nil
	}
	if r := f.do(t, "PUT", chunkPath+"?replace=true", "[4]"); r.status != 409 || r.Error.Code != "conflict" {
		t.Errorf("%d %+v", r.status, r.Error)
	}
	f.bucket.Fail = func(op, _ string) error {
		if op == "put" {
			return handlers.ErrTooManyUploads
		}
		return nil
	}
	if r := f.do(t, "PUT", chunkPath+"?replace=true", "[4]"); r.status != 503 || r.Error.Code != "busy" {
		t.Errorf("%d %+v", r.status, r.Error)
	}
}

func TestDeleteFile(t *testing.T) {
	f := newFixture(t, nil)
	f.brokenFile(t)
	r := f.do(t, "DELETE", chunkPath, "")
	if r.status != 200 || string(r.Data) != `{"key":"`+rawFile.Key()+`","size":6}` {
		t.Fatalf("%d %s %+v", r.status, r.Data, r.Error)
	}
	if s := f.stats(t); s.Processing.FilesTotal != 0 || s.Discarded != 0 || s.DeadLetters.Stored != 0 ||
		len(f.files(t)) != 0 {
		t.Errorf("%+v, %v", s, f.files(t))
	}
	if r := f.do(t, "DELETE", chunkPath, ""); r.status != 404 || r.Error.Code != "not_found" {
		t.Errorf("twice: %d %+v", r.status, r.Error)
	}
	if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", "{}"); d["files_found"] != 0 {
		t.Errorf("orchestrate: %v", d)
	}
	// The number is free again and nothing is left, even if a checkpoint comes late.
	f.store(t, rawFile.Checkpoint(), "")
	if r := f.do(t, "PUT", chunkPath, "[]"); r.status != 201 {
		t.Errorf("%d %+v", r.status, r.Error)
	}
	if got := f.files(t); len(got) != 1 || got[0].State != "pending" {
		t.Errorf("%+v", got)
	}
	if d := get[map[string]int](t, f, "POST", "/api/v1/seeds/orchestrate", "{}"); d["sent"] != 1 {
		t.Errorf("orchestrate: %v", d)
	}
}

// Rejected records show in the listing, with the first reasons, and in the status.
func TestDatasets_RejectedRecords(t *testing.T) {
	f := newFixture(t, nil)
	f.do(t, "PUT", chunkPath, "[1]")
	counts := contract.RecordCounts{Total: 12, Rejected: 2,
		First: []contract.Rejection{{Record: 3, Offset: 40, Reason: "has no url"},
			{Record: 9, Offset: 99, Reason: "url has no host"}}}
	m := contract.CheckpointMetadata(f.now, "v1")
	counts.AddTo(m)
	if _, err := f.bucket.Put(t.Context(), rawFile.Checkpoint(), nil, &r2.PutOptions{Metadata: m}); err != nil {
		t.Fatal(err)
	}
	must(t, f.ledger.Record(t.Context(), ledger.Changes{
		Files: []ledger.FileChange{{RawFile: rawFile, Processed: f.now, Records: counts}}}))
	got := f.files(t)
	if len(got) != 1 || *got[0].Records != 12 || *got[0].Rejected != 2 ||
		!reflect.DeepEqual(got[0].Rejections, counts.First) {
		t.Errorf("listed: %+v", got)
	}
	s := get[contract.Status](t, f, "GET", "/api/v1/seeds/status?by=partition", "")
	want := []contract.FileRejection{{Partition: place, Chunk: "raw_0001", Rejection: counts.First[0]},
		{Partition: place, Chunk: "raw_0001", Rejection: counts.First[1]}}
	if s.Records != 12 || s.RecordsRejected != 2 || !reflect.DeepEqual(s.Rejections, want) ||
		s.Partitions[0].RecordsRejected != 2 {
		t.Errorf("status: %+v", s)
	}
	if other := get[contract.Status](t, f, "GET", "/api/v1/seeds/status?country=kr",
		""); len(other.Rejections) != 0 || other.RecordsRejected != 0 {
		t.Errorf("status of another country: %+v", other)
	}
	text := f.raw(t, "GET", "/metrics", "").Body.String()
	for _, line := range []string{"\nnewsfork_seed_records 12\n", "\nnewsfork_seed_records_rejected 2\n",
		"\nnewsfork_seed_files{state=\"discarded\"} 0\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	var raw json.RawMessage
	if raw = f.do(t, "GET", "/api/v1/datasets/sg/news/2026-01-28", "").Data; !strings.Contains(string(raw),
		`"rejections":[{"record":3,"offset":40,"reason":"has no url"}`) {
		t.Errorf("%s", raw)
	}
}
