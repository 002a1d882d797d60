package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
)

// A malformed raw file becomes one dead letter at once. Discarding it settles the file for all its messages, until
// another file replaces it.
func TestRawFile_Malformed(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		upload(t, w, day, 1, `[{"url":"https://full-0.sg/a"}`)
		path := fmt.Sprintf("/api/v1/datasets/%s/%s/%s/raw_0001", day.Country, day.Category, day.Date)
		enginetest.Data[map[string]any](w, "POST", "/api/v1/seeds/orchestrate", "{}")
		began := time.Now()
		w.Drain()
		letters := enginetest.Data[contract.DeadLetterPage](w, "GET", "/api/v1/dlq", "").DeadLetters
		if len(letters) != 1 || letters[0].ErrorType != contract.Parse || letters[0].RetryCount != 0 ||
			!strings.HasPrefix(letters[0].ErrorMessage, "line 1, column ") {
			t.Fatalf("%+v", letters)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("the dead letter took %v", took)
		}

		w.Send(enginetest.Seeds, seed(1)) // pending while the dead letter is discarded
		if r := enginetest.Data[contract.Resolved](w, "POST", "/api/v1/dlq/discard",
			`{"ids":["`+letters[0].ID+`"]}`); r.Done != 1 {
			t.Fatalf("%+v", r)
		}
		w.Drain()
		ended := func(what string) {
			t.Helper()
			s := w.Status("")
			if s.Discarded != 1 || s.Processing.FilesTotal != 0 || s.DeadLetters.Stored != 0 {
				t.Errorf("%s: %+v", what, s)
			}
		}
		ended("delivered after it was discarded")
		time.Sleep(time.Hour)
		for range 2 {
			w.Cron()
			if r := enginetest.Data[map[string]int](w, "POST", "/api/v1/seeds/orchestrate",
				`{"force":true}`); r["sent"] != 0 {
				t.Errorf("%v", r)
			}
			w.Drain()
		}
		ended("orchestrated again")
		w.Ask("POST", "/api/v1/seeds/reconcile", string(contract.Encode(day)))
		ended("after a reconcile")

		if a := w.Ask("PUT", path+"?replace=true&orchestrate=true",
			`[{"url":"https://full-0.sg/a"},{"url":"mailto:x"}]`); a.Status != 200 {
			t.Fatalf("%d %+v", a.Status, a.Error)
		}
		w.Drain()
		if s := w.Status(""); s.Discarded != 0 || s.Processing.FilesProcessed != 1 || s.Records != 2 ||
			s.RecordsRejected != 1 || len(s.Rejections) != 1 || s.Rejections[0].Chunk != "raw_0001" {
			t.Errorf("replaced: %+v", s)
		}
		if w.Document(day, "full-0.sg") == nil {
			t.Error("the domains of the new file were not collected")
		}
		if a := w.Ask("PUT", path+"?replace=true", `[]`); a.Status != 409 || a.Error.Code != "already_processed" {
			t.Errorf("a processed file: %d %+v", a.Status, a.Error)
		}
	})
}

// If a file is deleted before its message is handled, the message is acknowledged and nothing is counted.
func TestRawFile_Deleted(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		upload(t, w, day, 1, records("full-0.sg"))
		enginetest.Data[map[string]any](w, "POST", "/api/v1/seeds/orchestrate", "{}")
		path := fmt.Sprintf("/api/v1/datasets/%s/%s/%s/raw_0001", day.Country, day.Category, day.Date)
		if a := w.Ask("DELETE", path, ""); a.Status != 200 {
			t.Fatalf("%d %+v", a.Status, a.Error)
		}
		w.Drain()
		if s := w.Status(""); s.Processing != (contract.ProcessingStats{}) || s.Discarded != 0 ||
			s.DeadLetters != (contract.DeadLetterCounts{}) {
			t.Errorf("%+v", s)
		}
		if lines := w.Events("file_processor_skipped"); len(lines) != 1 || lines[0]["reason"] != "deleted" {
			t.Errorf("the log says %v", lines)
		}
		if len(w.Keys("prod/", "")) > 0 || len(w.Keys("raw/", ".success")) > 0 {
			t.Error("something was done for it")
		}
	})
}

// A file that is replaced while an event reads it is processed again, even if that event writes its checkpoint last.
func TestRawFile_ReplacedWhileRead(t *testing.T) {
	for _, what := range []string{"good", "broken"} {
		t.Run(what, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				w.Web.Serve = (&enginetest.Sites{}).Serve
				content := records("full-0.sg")
				if what == "broken" {
					content = strings.TrimSuffix(content, "]")
				}
				upload(t, w, day, 1, content)
				path := fmt.Sprintf("/api/v1/datasets/%s/%s/%s/raw_0001", day.Country, day.Category, day.Date)
				replaced := false
				w.Bucket.Fail = func(op, key string) error {
					if op == "read" && key == raw(day, 1) && !replaced {
						replaced = true
						time.Sleep(2 * time.Second) // a key takes one write a second
						if a := w.Ask("PUT", path+"?replace=true&orchestrate=true",
							records("full-1.sg")); a.Status != 200 {
							t.Errorf("%d %+v", a.Status, a.Error)
						}
					}
					return nil
				}
				w.Send(enginetest.Seeds, seed(1))
				w.Drain()
				if w.Document(day, "full-1.sg") == nil {
					t.Error("the new file was not processed")
				}
				if s := w.Status(""); s.Processing.FilesProcessed != 1 || s.Processing.FilesTotal != 1 ||
					s.DeadLetters.Stored != 0 || s.Processing.DomainsPending != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// TestRawFile_ReplacedAtAnyTime: a file that is replaced in the bucket, at any time of its processing and while events
// die, has its last content processed by orchestrate alone. It is not processed again afterwards.
func TestRawFile_ReplacedAtAnyTime(t *testing.T) {
	for run := range 12 {
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
			w.Web.Serve = (&enginetest.Sites{}).Serve
			var mu sync.Mutex // of what follows: files are opened ahead
			random := rand.New(rand.NewPCG(25, uint64(run)))
			version, inside, deaths := 0, false, 0
			replace := func() {
				time.Sleep(2 * time.Second) // a key takes one write a second
				mu.Lock()
				version++
				v := version
				mu.Unlock()
				w.Put(raw(day, 1), records(fmt.Sprintf("full-%d.sg", v%7), fmt.Sprintf("full-%d.sg", 10+v)))
			}
			replace()
			w.Bucket.Fail = func(op, key string) error {
				mu.Lock()
				now := !inside && version < 5 && strings.HasPrefix(key, raw(day, 1)) && random.IntN(3) == 0
				inside = inside || now
				mu.Unlock()
				if now {
					replace()
					mu.Lock()
					inside = false
					mu.Unlock()
				}
				return nil
			}
			w.Kill = func(int) bool {
				mu.Lock()
				defer mu.Unlock()
				if deaths < 6 && random.IntN(25) == 0 {
					deaths++
					return true
				}
				return false
			}
			for range 4 {
				w.Ask("POST", "/api/v1/seeds/orchestrate", "{}")
				w.Drain()
				time.Sleep(time.Minute)
			}
			w.Kill, w.Bucket.Fail = nil, nil
			for range 2 {
				orchestrate(w, "{}")
				w.Drain()
			}
			if w.Document(day, fmt.Sprintf("full-%d.sg", 10+version)) == nil {
				t.Errorf("run %d: version %d of the file was not processed", run, version)
			}
			if r := orchestrate(w, "{}"); r.Sent != 0 {
				t.Errorf("run %d: the file is queued once more: %+v", run, r)
			}
			if s := w.Status("").Processing; s.FilesTotal != 1 || s.FilesProcessed != 1 || s.DomainsPending != 0 {
				t.Errorf("run %d: %+v", run, s)
			}
		})
	}
}
