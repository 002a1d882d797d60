package handlers_test

import (
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestRestore(t *testing.T) {
	f := newFixture(t, nil)
	for _, body := range []string{"", "{}"} {
		if r := get[contract.Restored](t, f, "POST", "/api/v1/frontier/restore", body); !r.Done || r.Pages != 0 ||
			r.Cursor != nil {
			t.Errorf("%s: %+v", body, r)
		}
	}
	for _, body := range []string{`{"live":true}`, `{"live":true,"shard":"shard-1"}`} {
		if r := get[contract.Restored](t, f, "POST", "/api/v1/frontier/restore", body); !r.Done || r.Hosts != 0 ||
			r.Cursor != nil {
			t.Errorf("%s: %+v", body, r)
		}
	}
	for body, field := range map[string]string{
		`{"shard":"../prod"}`: "shard", `{"shard":"shard-99"}`: "shard", `{"shard":"shard-99","live":true}`: "shard",
		`{"shard":"shard-3","cursor":"!"}`:  "cursor",
		`{"cursor":"eyJzIjoiLi4vcHJvZCJ9"}`: "cursor", `{"all":true}`: "all",
	} {
		if r := f.do(t, "POST", "/api/v1/frontier/restore", body); r.status != 400 || r.Error.Field != field {
			t.Errorf("%s: %d %+v", body, r.status, r.Error)
		}
	}
}

// Bodies that take more memory than each request has are read only if the instance pool has it.
func TestBodies_ReserveMemory(t *testing.T) {
	f := newFixture(t, nil)
	room, asked := int64(0), int64(0)
	f.api.Reserve = func(bytes int64) bool {
		asked = bytes
		return bytes <= room
	}
	padded := func(body string, size int) string { return body + strings.Repeat(" ", size-len(body)) }
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/api/v1/frontier/import", `{"version":1,"hosts":[]}`},
		{"POST", "/api/v1/frontier/urls", `{"urls":[{"url":"https://a.example/1"}],"partition_info":` +
			`{"country":"sg","category":"news","date":"2026-01-28"}}`},
		{"DELETE", "/api/v1/frontier/urls", `{"urls":[{"url":"https://a.example/1"}],"partition_info":` +
			`{"country":"sg","category":"news","date":"2026-01-28"}}`},
		{"POST", "/api/v1/frontier/report", `{"lease_id":"x","results":[]}`},
	} {
		request := c.method + " " + c.path
		room, asked = 0, 0
		if r := f.do(t, c.method, c.path, c.body); r.status != 200 || asked != 0 {
			t.Errorf("%s of some bytes: %d %+v, %d bytes reserved", request, r.status, r.Error, asked)
		}
		large := padded(c.body, 800<<10)
		r := f.do(t, c.method, c.path, large)
		if r.status != 503 || r.Error.Code != "busy" ||
			!strings.Contains(r.Error.Message, "memory for a body of 800 KB") ||
			r.header.Get("Retry-After") != "5" {
			t.Errorf("%s without memory: %d %+v", request, r.status, r.Error)
		}
		if room = asked; room < 4*800<<10 {
			t.Errorf("%s: %d bytes reserved for 800 KB", request, room)
		}
		if r := f.do(t, c.method, c.path, large); r.status != 200 {
			t.Errorf("%s with memory: %d %+v", request, r.status, r.Error)
		}
		// A body whose length is not declared might be as large as any.
		f.do(t, c.method, c.path, c.body, "Content-Length", "")
		if asked < 16<<20 {
			t.Errorf("%s without a length: %d bytes reserved", request, asked)
		}
	}
}

// The memory that is reserved for a body suffices, whatever is in it.
func TestBodies_MemorySuffices(t *testing.T) {
	f := newFixture(t, nil)
	reserved := int64(0)
	f.api.Reserve = func(bytes int64) bool {
		reserved = bytes
		return true
	}
	const free = 10 << 20 // of what each request has
	fill := func(prefix, element, suffix string, size int) string {
		n := (size - len(prefix) - len(suffix)) / (len(element) + 1)
		return prefix + strings.Repeat(element+",", n-1) + element + suffix
	}
	urls, report, mib := `{"urls":[`, `{"lease_id":"x","results":[`, 1<<20
	for _, c := range []struct {
		path, body, field string
	}{
		{"urls", fill(urls, "0", `]}`, mib), "urls"},
		{"urls", fill(urls, "[]", `]}`, mib), "urls"},
		{"report", fill(report, "0", `]}`, mib), "results"},
		{"report", fill(report+`{"id":"1","status":200,"page":{"headings":[`, `""`, `]}}]}`, mib),
			"results[0].page.headings"},
		{"report", fill(report+`{"id":"1","status":200,"page":{"breadcrumb":[`, `""`, `]}}]}`, mib),
			"results[0].page.breadcrumb"},
		{"report", fill(report+`{"id":"1","status":200,"urls":[`, `0`, `]}]}`, mib), "results[0].urls[0]"},
		{"import", fill(`{"hosts":[`, `{}`, `]}`, 59_000), "version"},
		{"import", `{"hosts":[{"host":"` + strings.Repeat("x", 12<<20-100) + `"}]}`, "version"},
	} {
		reserved = 0
		var before, after runtime.MemStats
		request := httptest.NewRequest("POST", "/api/v1/frontier/"+c.path, strings.NewReader(c.body))
		w := httptest.NewRecorder()
		request.Header.Set("Content-Type", "application/json")
		handler := f.api.Handler()
		runtime.ReadMemStats(&before)
		handler.ServeHTTP(w, request)
		runtime.ReadMemStats(&after)
		took := int64(after.TotalAlloc - before.TotalAlloc)
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"field":"`+c.field+`"`) {
			t.Errorf("%s %.60s…: %d %s", c.path, c.body, w.Code, w.Body)
		}
		if took > reserved+free {
			t.Errorf("%s %.60s… took %d KB, %d KB reserved", c.path, c.body, took>>10, reserved>>10)
		}
	}
}
