//go:build unix

package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/httpapi/openapitest"
	"github.com/newsfork/seed-engine/info/web"
)

// operators is the description of the operators' routes.
var operators = sync.OnceValue(func() *openapitest.Description {
	return openapitest.Parse(web.OperatorsOpenAPI, http.StatusMethodNotAllowed, http.StatusNotFound)
})

// operate sends a request to the collector, whose answer must be as it is described.
func (w *world) operate(method, path, body string, header ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	a := do(w.collector, method, path, body, header...)
	operators().Conforms(w.t, httptest.NewRequest(method, path, nil), a)
	return a
}

// Each operation answers as it is described: when all is well, without its token, and while the database is down.
func TestOperators_Described(t *testing.T) {
	type request struct {
		target, body string
		without      int // status while the database is down
	}
	requests := map[string]request{
		"index": {"/", "", 200}, "describe": {"/openapi.json", "", 200}, "health": {"/health", "", 200},
		"status": {"/api/v1/info/status", "", 503}, "metrics": {"/metrics", "", 503},
		"collect":      {"/api/v1/info/collect", `{"source":"feed"}`, 200}, // the report has the error
		"refreshCache": {"/api/v1/info/cache/refresh", "", 503},
		"deadLetters":  {"/api/v1/info/dead-letters?source=feed", "", 503},
		"replay":       {"/api/v1/info/dead-letters/replay", `{}`, 503},
		"discard": {"/api/v1/info/dead-letters/discard", `{"source":"feed","request":"https://gone.example/rss"}`,
			503},
		"findArticles": {"/api/v1/info/articles?q=one", "", 503},
		"export":       {"/api/v1/info/export", "", 503},
		"import": {"/api/v1/info/import", `{"articles":[{"id":"feed_1","title":"t","url":"https://press.example/x",` +
			`"snippet":"","source":"feed","source_name":"p","published_at":"2026-01-28T12:00:00Z"},{"id":"?"}]}`, 503},
		"remove": {"/api/v1/info/news/ID", "", 503}, "restore": {"/api/v1/info/news/ID/restore", "", 503},
	}
	w := newWorld(t, map[string]string{"API_TOKEN": "t",
		"FEEDS": "https://feeds.example/rss\nhttps://gone.example/rss"})
	w.platform.Sleep = func(context.Context, time.Duration) error { return errors.New("nobody is waited for") }
	w.rebind()
	w.pages["feeds.example/rss"] = feed("one", "two")
	if err := w.collector.Cron(t.Context(), "*/5 * * * *"); err != nil {
		t.Fatal(err)
	}
	var page struct{ Articles []struct{ ID string } }
	if err := json.Unmarshal(do(w.api, "GET", "/api/v1/info/news", "").Body.Bytes(), &page); err != nil ||
		len(page.Articles) != 2 {
		t.Fatal(err, len(page.Articles))
	}
	each := func(f func(method, target string, r request, id string)) {
		for _, operations := range operators().Paths {
			for method, o := range operations {
				r, ok := requests[o.OperationID]
				if !ok {
					t.Fatalf("there is no request for %s", o.OperationID)
				}
				f(strings.ToUpper(method), strings.Replace(r.target, "ID", page.Articles[0].ID, 1), r, o.OperationID)
			}
		}
	}
	header := []string{"Authorization", "Bearer t", "Content-Type", "application/json"}
	each(func(method, target string, r request, id string) {
		if a := w.operate(method, target, r.body, header...); a.Code != 200 {
			t.Errorf("%s %s: %d %s", method, target, a.Code, a.Body)
		}
		if a := w.operate(method, target, r.body, "Content-Type", "application/json"); a.Code != 401 &&
			!slices.Contains([]string{"index", "describe", "health"}, id) {
			t.Errorf("%s %s without a token: %d", method, target, a.Code)
		}
		if a := w.operate("PATCH", target, r.body, header...); a.Code != 405 {
			t.Errorf("PATCH %s: %d", target, a.Code)
		}
		if method == "POST" && r.body != "" {
			for body, want := range map[string]int{"[": 400, `{"nothing":1}`: 400} {
				if a := w.operate(method, target, body, header...); a.Code != want {
					t.Errorf("%s %s with %s: %d", method, target, body, a.Code)
				}
			}
		}
	})
	w.db.Fail = func() error { return errors.New("down, with a secret") }
	each(func(method, target string, r request, _ string) {
		a := w.operate(method, target, r.body, header...)
		if a.Code != r.without || strings.Contains(a.Body.String(), "secret") && a.Code != 200 {
			t.Errorf("%s %s without a database: %d %s", method, target, a.Code, a.Body)
		}
	})
}
