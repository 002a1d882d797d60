package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func TestServer(t *testing.T) {
	var log strings.Builder
	s := &Server{
		Guard:    Guard{Realm: "test", Token: "full", Previous: "old", Scraper: "scraper", Read: "reader"},
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
		LogEvent: "test_failed",
	}
	ok := func(w http.ResponseWriter, r *http.Request) error {
		Succeed(w, http.StatusOK, map[string]string{"by": Actor(r)})
		return nil
	}
	read := func(w http.ResponseWriter, r *http.Request) error {
		var body struct {
			Names []string `json:"names"`
		}
		if err := ReadJSONUpTo(r, 40, &body); err != nil {
			return err
		}
		return ok(w, r)
	}
	broken := func(http.ResponseWriter, *http.Request) error { return errors.New("secret cause") }
	named := func(w http.ResponseWriter, r *http.Request) error {
		Succeed(w, http.StatusOK, map[string]string{"name": r.PathValue("name")})
		return nil
	}
	h := s.Handler([]Route{
		{"/open", Public, Methods{"GET": ok}},
		{"/things", Readers, Methods{"GET": ok, "POST": read}},
		{"/lease", Scrapers, Methods{"POST": ok}},
		{"/export", Operators, Methods{"GET": ok}},
		{"/broken", Public, Methods{"GET": broken}},
		{"/named/{name}", Public, Methods{"GET": named}},
		{"/named/one", Public, Methods{"GET": ok}},
	})
	for _, c := range []struct {
		request, token, body string
		status               int
		want                 string
	}{
		{"GET /open", "", "", 200, `"by":""`},
		{"HEAD /open", "", "", 200, ``},
		{"POST /open", "", "", 405, "method POST is not allowed; use GET"},
		{"GET /nothing", "", "", 404, "no route has this path"},
		{"GET /open/", "", "", 404, "no route has this path"},
		{"GET /%6fpen", "", "", 200, `"by":""`},
		{"GET /named/%6fne", "", "", 200, `"by":""`},
		{"GET /named/one", "", "", 200, `"by":""`},
		{"GET /named/two", "", "", 200, `"name":"two"`},
		{"GET /named/a%2Fb", "", "", 200, `"name":"a/b"`},
		{"GET /named/{name}", "", "", 200, `"name":"{name}"`},
		{"GET /named//one", "", "", 307, "/named/one"},
		{"GET /things", "", "", 401, "Bearer …"},
		{"GET /things", "fuller", "", 401, "not valid"},
		{"GET /things", "reader", "", 200, `"by":"READ_TOKEN"`},
		{"POST /things", "reader", "", 403, "forbidden"},
		{"PUT /things", "full", "", 405, "use GET or POST"},
		{"POST /lease", "reader", "", 403, "READ_TOKEN may only read; send SCRAPER_TOKEN"},
		{"POST /lease", "scraper", "", 200, `"by":"SCRAPER_TOKEN"`},
		{"GET /things", "scraper", "", 200, `"by":"SCRAPER_TOKEN"`},
		{"POST /things", "scraper", "", 403, "lease, report and put URLs"},
		{"GET /export", "scraper", "", 403, "forbidden"},
		{"GET /export", "reader", "", 403, "forbidden"},
		{"GET /export", "old", "", 200, `"by":"API_TOKEN_PREVIOUS"`},
		{"POST /things", "full", "", 200, `"by":"API_TOKEN"`},
		{"POST /things", "full", `{"names":["a"]}`, 200, `"by":"API_TOKEN"`},
		{"POST /things", "full", `{"name":["a"]}`, 400, `"field":"name"`},
		{"POST /things", "full", `{"names":[1]}`, 400, `"field":"names`},
		{"POST /things", "full", `[]`, 400, "must be a JSON object"},
		{"POST /things", "full", `{} {}`, 400, "send exactly one"},
		{"POST /things", "full", strings.Repeat(" ", 41), 413, "payload_too_large"},
		{"GET /broken", "", "", 500, "internal error"},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		r := httptest.NewRequest(method, path, strings.NewReader(c.body))
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s with %q and %s: %d %s, want %d %s", c.request, c.token, c.body, w.Code, w.Body, c.status,
				c.want)
		}
		if w.Header().Get("X-Request-Id") == "" {
			t.Errorf("%s has no request id", c.request)
		}
		if strings.Contains(w.Body.String(), "secret cause") {
			t.Errorf("%s shows the cause", c.request)
		}
	}
	if !strings.Contains(log.String(), "msg=test_failed error_type=internal_error error=\"secret cause\"") {
		t.Errorf("the log has %s", log.String())
	}
}

func TestElements(t *testing.T) {
	for _, c := range []struct {
		list string
		n    int
		want []string
		more int
	}{
		{``, 9, nil, 0}, {`null`, 9, nil, 0}, {`[]`, 9, nil, 0}, {"[ \n]", 9, nil, 0},
		{`[0]`, 9, []string{"0"}, 0},
		{` [1]`[1:], 0, nil, 1},
		{"[ {\"a\":[1,2]} ,\t\"x,]\\\"[,\\\\\" , [3,[4,5]]]", 9,
			[]string{`{"a":[1,2]}`, `"x,]\"[,\\"`, "[3,[4,5]]"}, 0},
		{`["",{},[],null]`, 2, []string{`""`, "{}"}, 2},
	} {
		got, more, err := Elements(json.RawMessage(c.list), "urls", c.n)
		var texts []string
		for _, element := range got {
			texts = append(texts, string(element))
		}
		if err != nil || more != c.more || !slices.Equal(texts, c.want) {
			t.Errorf("%s: %q, %d more, %v", c.list, texts, more, err)
		}
	}
	for _, list := range []string{`{}`, `"a"`, `5`, `true`} {
		var e *contract.Error
		if _, _, err := Elements(json.RawMessage(list), "urls", 9); !errors.As(err, &e) || e.Field != "urls" {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestDecodeList_NamesElement(t *testing.T) {
	_, err := DecodeList[struct {
		URL string `json:"url"`
	}]([]json.RawMessage{json.RawMessage(`{"url":"a"}`), json.RawMessage(`{"url":1}`)}, "urls")
	var e *contract.Error
	if !errors.As(err, &e) || e.Field != "urls[1].url" {
		t.Errorf("error %v", err)
	}
}

func TestRequireJSON(t *testing.T) {
	for _, c := range []struct {
		contentType, encoding string
		ok                    bool
	}{
		{"", "", true},
		{"application/json; charset=utf-8", "identity", true},
		{"text/plain", "", false},
		{"application/json", "gzip", false},
	} {
		r := httptest.NewRequest("POST", "/", io.NopCloser(strings.NewReader("{}")))
		r.Header.Set("Content-Type", c.contentType)
		r.Header.Set("Content-Encoding", c.encoding)
		if err := RequireJSON(r); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A body is read within its limits, whether its length is declared or not.
func TestReadJSONWithin(t *testing.T) {
	limits := Limits{Bytes: 40, Values: 5}
	for body, ok := range map[string]bool{
		`{"a":[1,2,3,4,5]}`:                        true,
		`{"a":[1,2,3,4,5,6]}`:                      false,
		`{"a":[1]` + strings.Repeat(" ", 31) + `}`: true,
		`{"a":[1]` + strings.Repeat(" ", 32) + `}`: false,
	} {
		for _, length := range []int64{int64(len(body)), -1, 1, 1 << 40} {
			r := httptest.NewRequest("POST", "/", io.NopCloser(strings.NewReader(body)))
			r.ContentLength = length
			var v struct {
				A []int `json:"a"`
			}
			if err := ReadJSONWithin(r, limits, &v); (err == nil) != ok || ok && len(v.A) == 0 {
				t.Errorf("%s, declared %d: %v", body, length, err)
			}
		}
	}
}
