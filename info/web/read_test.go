package web

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
	"github.com/newsfork/seed-engine/sitemap"
)

var noon = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)

// fixture is the readers' API on twins. Every answer is compared with its description.
type fixture struct {
	*Reading
	t     *testing.T
	store *store.Store
	kv    *cache.Memory
	db    *breakable
	clock time.Time
}

type breakable struct {
	store.DB
	fail error
}

func (b *breakable) Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	if b.fail != nil {
		return nil, b.fail
	}
	return b.DB.Batch(ctx, statements)
}

func newFixture(t *testing.T, articles ...info.Article) *fixture {
	t.Helper()
	db, err := sqlite.OpenWith(store.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{t: t, db: &breakable{DB: db}, kv: &cache.Memory{}, clock: time.Now()}
	f.store = store.NewD1(f.db)
	var list []store.New
	for _, a := range articles {
		list = append(list, store.New{Article: a})
	}
	if _, err := f.store.Upsert(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return f.clock }
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	f.Reading = &Reading{
		Pages: &cache.Reader{Cache: cache.NewKV(f.kv), Store: f.store, Kind: "d1", Owner: "reader", Log: log,
			Now: now},
		Store: f.store, Origins: []string{"https://app.example"}, Log: log, Now: now,
	}
	return f
}

func (f *fixture) get(path string, header ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	described(f.t, r, w)
	return w
}

type page struct {
	Articles   []info.Public
	NextCursor *string `json:"next_cursor"`
	PrevCursor *string `json:"prev_cursor"`
	HasMore    bool    `json:"has_more"`
	Meta       struct {
		TotalCached    int    `json:"total_cached"`
		CacheExpiresIn int    `json:"cache_expires_in"`
		Source         string `json:"source"`
		IsStale        bool   `json:"is_stale"`
	}
}

func (f *fixture) page(query string) (p page) {
	f.t.Helper()
	w := f.get("/api/v1/info/news" + query)
	if w.Code != 200 {
		f.t.Fatalf("%s: %d %s", query, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		f.t.Fatal(err)
	}
	return p
}

// A page whose search stopped early says where the next one continues, in both directions.
func TestNews_SearchContinues(t *testing.T) {
	at := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	place := &info.Cursor{At: 1769500000000}
	items := []cache.Item{{Cursor: info.Cursor{At: epoch.MillisOf(at), ID: "a"}, JSON: []byte("{}")},
		{Cursor: info.Cursor{At: epoch.MillisOf(at) - 1, ID: "b"}, JSON: []byte("{}")}}
	for _, c := range []struct {
		result     cache.Result
		newer      bool
		next, prev string
	}{
		{cache.Result{Items: items, More: true}, false, `"1769601599999_b"`, `"1769601600000_a"`},
		{cache.Result{Items: items, More: true, Next: place}, false, `"1769500000000"`, `"1769601600000_a"`},
		{cache.Result{More: true, Next: place}, false, `"1769500000000"`, "null"},
		{cache.Result{Items: items, More: true, Next: place}, true, `"1769601599999_b"`, `"1769500000000"`},
		{cache.Result{More: true, Next: place}, true, "null", `"1769500000000"`},
		{cache.Result{}, false, "null", "null"},
	} {
		q := &info.Query{Newer: c.newer, Search: info.ParseSearch("x")}
		want := fmt.Sprintf(`],"next_cursor":%s`, c.next)
		if got := string(render(&c.result, q)); !strings.HasSuffix(got, want) {
			t.Errorf("%+v: %s, not %s", c, got, want)
		}
		if got := newerThan(&c.result, q); got != c.prev {
			t.Errorf("%+v: prev_cursor %s, not %s", c, got, c.prev)
		}
	}
}

// described compares an answer with its route's description.
func described(t *testing.T, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Responses map[string]struct {
				Ref     string `json:"$ref"`
				Content map[string]any
			}
		}
	}
	if err := json.Unmarshal(OpenAPI, &doc); err != nil {
		t.Fatal(err)
	}
	path := r.URL.Path
	if doc.Paths[path] == nil {
		for _, p := range []string{"/api/v1/info/news/{id}", "/api/v1/info/feeds/{file}"} {
			if strings.HasPrefix(path, p[:strings.Index(p, "{")]) {
				path = p
			}
		}
	}
	operation, ok := doc.Paths[path]
	if !ok {
		if w.Code != http.StatusNotFound {
			t.Errorf("%s is not described", r.URL.Path)
		}
		return
	}
	answer, ok := operation["get"].Responses[fmt.Sprint(w.Code)]
	if !ok {
		t.Errorf("%s: %d is not described", path, w.Code)
		return
	}
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	pointer := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/get/responses/" +
		fmt.Sprint(w.Code)
	if answer.Ref != "" {
		pointer = strings.TrimPrefix(answer.Ref, "#")
	} else if answer.Content != nil && answer.Content[kind] == nil {
		t.Errorf("%s: %d with %q is not described", path, w.Code, kind)
		return
	}
	if w.Code == http.StatusNotModified || !strings.HasSuffix(kind, "json") {
		return
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(OpenAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", root); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("openapi.json#" + pointer + "/content/" + strings.ReplaceAll(kind, "/", "~1") +
		"/schema")
	if err != nil {
		t.Fatal(err)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err == nil {
		err = schema.Validate(body)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", r.URL, err, w.Body)
	}
}

func articles(n int) (list []info.Article) {
	for i := range n {
		a := infotest.Article(info.Sources[i%4], i, noon.Add(-time.Duration(i)*time.Minute))
		a.Category = append(info.Categories, "")[i%4]
		list = append(list, a)
	}
	return list
}

// arrived returns the position after all articles in the order of arrival.
func (f *fixture) arrived() string {
	f.t.Helper()
	p, err := f.store.Page(context.Background(), info.Query{Category: info.All, Limit: 1})
	if err != nil {
		f.t.Fatal(err)
	}
	return p.Arrived.String()
}

func TestNews_Fields(t *testing.T) {
	full := infotest.Article(info.NewsData, 1, noon)
	full.Snippet, full.ThumbnailURL, full.Category, full.SourceIconURL = "s", "https://i.example/", info.AI,
		"https://icon.example/"
	full.VideoURL, full.Keywords, full.AITag = "https://v.example/", []string{"k"}, "tag"
	bare := infotest.Article(info.Naver, 2, noon.Add(-1500*time.Millisecond))
	f := newFixture(t, full, bare)
	for i, source := range []string{"d1", "kv"} {
		w := f.get("/api/v1/info/news?limit=1")
		head := `{"articles":[{"id":"newsdata_000001","title":"기사 1","url":"https://newsdata.example/1",` +
			`"snippet":"s","source":"newsdata","source_name":"newsdata","published_at":"2026-01-28T12:00:00+00:00",` +
			`"thumbnail_url":"https://i.example/","category":"ai","source_icon_url":"https://icon.example/",` +
			`"video_url":"https://v.example/","keywords":["k"],"ai_tag":"tag"}],` +
			`"next_cursor":"1769601600000_newsdata_000001","prev_cursor":"` + f.arrived() + `","has_more":true,"meta":`
		if !strings.HasPrefix(w.Body.String(), head) ||
			!strings.Contains(w.Body.String(), `"source":"`+source+`","is_stale":false}}`) {
			t.Errorf("%d: %s", i, w.Body)
		}
	}
	w := f.get("/api/v1/info/news?cursor=1769601600000_newsdata_000001")
	if !strings.Contains(w.Body.String(),
		`"published_at":"2026-01-28T11:59:58.500000+00:00","thumbnail_url":null,"category":null,`+
			`"source_icon_url":null,"video_url":null,"keywords":null,"ai_tag":null}],"next_cursor":null,`) ||
		!strings.Contains(w.Body.String(),
			`"has_more":false,"meta":{"total_cached":2,"cache_expires_in":3600,"source":"kv","is_stale":false}}`) {
		t.Errorf("%s", w.Body)
	}
	if one := f.get("/api/v1/info/news/newsdata_000001"); one.Code != 200 ||
		!strings.HasPrefix(one.Body.String(), `{"id":"newsdata_000001",`) {
		t.Errorf("%d %s", one.Code, one.Body)
	}
	if none := f.get("/api/v1/info/news/nobody"); none.Code != 404 {
		t.Errorf("%d %s", none.Code, none.Body)
	}
	for _, path := range []string{"/api/v1/info/categories", "/api/v1/info/news/categories"} {
		want := `{"categories":[{"id":"all","name":"전체"},{"id":"environment","name":"환경"},{"id":"energy",` +
			`"name":"에너지"},{"id":"ai","name":"AI"}]}`
		if w := f.get(path); w.Body.String() != want {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	if w := f.get("/api/v1/info/categories?language=en"); !strings.Contains(w.Body.String(),
		`{"id":"energy","name":"Energy"}`) {
		t.Errorf("%s", w.Body)
	}
	if w := f.get("/api/v1/info/categories?language=de"); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := f.get("/api/v1/info/health"); w.Body.String() != `{"service":"info","status":"ok"}` {
		t.Errorf("%s", w.Body)
	}
}

func TestScroll(t *testing.T) {
	f := newFixture(t, articles(333)...)
	for _, query := range []string{"?limit=10", "?limit=50&category=ai", "?limit=7&source=feed",
		"?limit=3&q=%EA%B8%B0%EC%82%AC"} {
		seen := map[string]bool{}
		for cursor := ""; ; {
			p := f.page(query + cursor)
			for _, a := range p.Articles {
				if seen[a.ID] {
					t.Errorf("%s: %s is there twice", query, a.ID)
				}
				seen[a.ID] = true
			}
			if !p.HasMore {
				if p.NextCursor != nil {
					t.Errorf("%s: the last page has the cursor %s", query, *p.NextCursor)
				}
				break
			}
			cursor = "&cursor=" + *p.NextCursor
		}
		want := 333
		if strings.Contains(query, "category") || strings.Contains(query, "source") {
			want = 83
		}
		if len(seen) != want {
			t.Errorf("%s: %d articles, not %d", query, len(seen), want)
		}
	}
}

func TestNews_Newer(t *testing.T) {
	list := articles(40)
	f := newFixture(t, list[10:]...)
	p := f.page("?limit=5")
	var add []store.New
	for _, a := range list[:10] {
		add = append(add, store.New{Article: a})
	}
	if _, err := f.store.Upsert(context.Background(), add); err != nil {
		t.Fatal(err)
	}
	if w := f.get("/api/v1/info/news/count?cursor=" +
		*p.PrevCursor); w.Body.String() != `{"capped":false,"count":10}` {
		t.Errorf("%s", w.Body)
	}
	if w := f.get("/api/v1/info/news/count?category=ai&cursor=" +
		*p.PrevCursor); w.Body.String() != `{"capped":false,"count":2}` {
		t.Errorf("%s", w.Body)
	}
	var ids, want []string
	for cursor := *p.PrevCursor; ; {
		newer := f.page("?limit=4&direction=newer&cursor=" + cursor)
		for _, a := range newer.Articles {
			ids = append(ids, a.ID)
		}
		if newer.Meta.Source != "d1" || newer.NextCursor != nil || newer.HasMore != (len(ids) < 10) {
			t.Errorf("%+v after %d", newer, len(ids))
		}
		if cursor = *newer.PrevCursor; !newer.HasMore {
			break
		}
	}
	for _, a := range list[:10] {
		want = append(want, a.ID)
	}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		t.Errorf("%v, not %v", ids, want)
	}
}

// An article that arrives after a reader has passed its time is announced.
func TestNews_LateArticle(t *testing.T) {
	list := articles(40)
	late := list[3]
	f := newFixture(t, append(slices.Clone(list[:3]), list[4:]...)...)
	f.page("?limit=1") // fills the cache
	p := f.page("?limit=10")
	if _, err := f.store.Upsert(context.Background(), []store.New{{Article: late}}); err != nil {
		t.Fatal(err)
	}
	if w := f.get("/api/v1/info/news/count?cursor=" + *p.PrevCursor); w.Body.String() != `{"capped":false,"count":1}` {
		t.Errorf("%s", w.Body)
	}
	newer := f.page("?direction=newer&cursor=" + *p.PrevCursor)
	if p.Meta.Source != "kv" || len(newer.Articles) != 1 || newer.Articles[0].ID != late.ID || newer.HasMore {
		t.Errorf("from %s: %+v", p.Meta.Source, newer)
	}
	if again := f.page("?direction=newer&cursor=" + *newer.PrevCursor); len(again.Articles) != 0 || again.HasMore {
		t.Errorf("again: %+v", again)
	}
}

func TestNews_InvalidParameters(t *testing.T) {
	f := newFixture(t)
	for query, want := range map[string]string{
		"?category=sports": "400 INVALID_CATEGORY",
		"?category=":       "400 INVALID_CATEGORY",
		"?category=AI":     "400 INVALID_CATEGORY",
		"?source=reuters":  "400 INVALID_SOURCE",
		"?cursor=abc":      "400 INVALID_CURSOR_FORMAT",
		"?cursor=%zz":      "400 INVALID_CURSOR_FORMAT",
		"?limit=5;cursor=x": "422 int_parsing query limit Input should be a valid integer, unable to " +
			"parse string as an integer",
		"?utm=50%&limit=5":             "200",
		"?cursor=123_%27%20OR%201=1":   "400 INVALID_CURSOR_FORMAT",
		"?cursor=99999999999999999999": "400 INVALID_CURSOR_FORMAT",
		"?direction=sideways":          "400 APPLICATION_ERROR",
		"?direction=newer":             "400 APPLICATION_ERROR",
		"?q=%21%21":                    "400 APPLICATION_ERROR",
		"?limit=0":                     "422 greater_than_equal query limit Input should be greater than or equal to 1",
		"?limit=51":                    "422 less_than_equal query limit Input should be less than or equal to 50",
		"?limit=ten": "422 int_parsing query limit Input should be a valid integer, unable to " +
			"parse string as an integer",
		"?has_image=maybe": "422 bool_parsing query has_image Input should be a valid boolean, unable " +
			"to interpret input",
		"?limit=0&has_image=2": "422 greater_than_equal query limit Input should be greater than or equal " +
			"to 1; bool_parsing query has_image Input should be a valid boolean, unable to interpret input",
		"?category=all&source=all&limit=50&cursor=&q=": "200",
		"?q=climat*+polic*+%ED%99%98":                  "400 APPLICATION_ERROR",
		"?q=a*+b*+c*+d*+climat*+polic*+solar":          "200",
		"?has_image=False&utm=x&limit=1&limit=50":      "200",
		"?cursor=1769601600000":                        "200",
	} {
		w := f.get("/api/v1/info/news" + query)
		var body struct {
			Code   string
			Detail json.RawMessage
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(w.Code)
		var list []parameterError
		if body.Code != "" {
			got += " " + body.Code
		} else if json.Unmarshal(body.Detail, &list) == nil {
			var parts []string
			for _, e := range list {
				parts = append(parts, fmt.Sprintf("%s %s %s %s", e.Type, e.Loc[0], e.Loc[1], e.Msg))
			}
			if parts != nil {
				got += " " + strings.Join(parts, "; ")
			}
		}
		if got != want {
			t.Errorf("%s: %s, not %s", query, got, want)
		}
		if w.Code != 200 && w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: an error may be cached", query)
		}
	}
	if w := f.get("/api/v1/info/nothing"); w.Code != 404 || w.Body.String() != `{"detail":"Not Found"}` {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.db.fail = io.ErrUnexpectedEOF // the database is not called
	// PostgreSQL accepts the first two in no text.
	for _, id := range []string{"%00", "%ff", strings.Repeat("a", 100)} {
		if w := f.get("/api/v1/info/news/" + id); w.Code != 404 {
			t.Errorf("%.10s: %d", id, w.Code)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/api/v1/info/news", nil)
	w := httptest.NewRecorder()
	if f.Handler().ServeHTTP(w, r); w.Code != 405 || w.Header().Get("Allow") == "" {
		t.Errorf("%d", w.Code)
	}
	if w := f.get("/api/v1/info/news/count"); w.Code != 400 {
		t.Errorf("%d", w.Code)
	}
}

func TestNews_ETag(t *testing.T) {
	f := newFixture(t, articles(20)...)
	if err := f.store.Succeed(t.Context(), store.Success{Source: "feeds", Now: f.clock,
		StaleAt: f.clock.Add(15 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	f.page("?limit=1") // fills the cache
	first := f.get("/api/v1/info/news")
	tag := first.Header().Get("ETag")
	if !strings.HasPrefix(tag, `W/"`) || first.Header().Get("Cache-Control") != "public, max-age=30, must-revalidate" {
		t.Errorf("%v", first.Header())
	}
	f.clock = f.clock.Add(30 * time.Second)
	for _, h := range []string{tag, `"other", ` + tag, "*", strings.TrimPrefix(tag, "W/")} {
		if w := f.get("/api/v1/info/news", "If-None-Match", h); w.Code != 304 || w.Body.Len() != 0 ||
			w.Header().Get("ETag") != tag {
			t.Errorf("%s: %d %s", h, w.Code, w.Body)
		}
	}
	if w := f.get("/api/v1/info/news?limit=11", "If-None-Match", tag); w.Code != 200 {
		t.Errorf("another page: %d", w.Code)
	}
	f.clock = f.clock.Add(20 * time.Minute)
	if w := f.get("/api/v1/info/news", "If-None-Match", tag); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `"is_stale":true`) {
		t.Errorf("a page that has become stale: %d", w.Code)
	}
}

func TestNews_CORS(t *testing.T) {
	f := newFixture(t)
	w := f.get("/api/v1/info/categories", "Origin", "https://app.example")
	if h := w.Header(); h.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		h.Get("Access-Control-Allow-Credentials") != "true" || h.Get("Vary") != "Origin" {
		t.Errorf("%v", h)
	}
	if h := f.get("/api/v1/info/categories", "Origin",
		"https://evil.example").Header(); h.Get("Access-Control-Allow-Origin") != "" || h.Get("Vary") != "Origin" {
		t.Errorf("%v", h)
	}
	f.Origins = []string{"*"}
	if h := f.get("/api/v1/info/categories", "Origin",
		"https://evil.example").Header(); h.Get("Access-Control-Allow-Origin") != "*" ||
		h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("%v", h)
	}
	r := httptest.NewRequest(http.MethodOptions, "/api/v1/info/news", nil)
	r.Header.Set("Origin", "https://app.example")
	p := httptest.NewRecorder()
	if f.Handler().ServeHTTP(p, r); p.Code != 204 || p.Header().Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("%d %v", p.Code, p.Header())
	}
}

func TestNews_Degraded(t *testing.T) {
	f := newFixture(t, articles(20)...)
	f.page("")
	f.db.fail = errors.New("D1 is down: secret detail")
	if p := f.page("?limit=5"); p.Meta.Source != "kv" || len(p.Articles) != 5 {
		t.Errorf("%+v", p.Meta)
	}
	w := f.get("/api/v1/info/news?q=x")
	if w.Code != 503 || w.Header().Get("Cache-Control") != "no-store" || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := f.get("/api/v1/info/health/ready"); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `"status":"degraded"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.kv.Fail = func() error { return errors.New("KV is down") }
	if w := f.get("/api/v1/info/health/ready"); w.Code != 503 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := f.get("/api/v1/info/news"); w.Code != 503 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	f.db.fail = nil
	if p := f.page("?limit=5"); p.Meta.Source != "d1" || len(p.Articles) != 5 || p.Meta.TotalCached != 0 {
		t.Errorf("%+v", p.Meta)
	}
	if w := f.get("/openapi.json"); w.Code != 200 {
		t.Errorf("%d", w.Code)
	}
}

// A database without all migrations fails some pages sooner or later, though the cache has the first ones.
func TestReady_NotMigrated(t *testing.T) {
	files, err := fs.Glob(store.Migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	newest := path.Base(files[len(files)-1])
	for what, sql := range map[string]string{
		"the last one is missing":    `DELETE FROM d1_migrations WHERE name = '` + newest + `'`,
		"none was ever applied":      `DROP TABLE d1_migrations`,
		"one of a later version too": `INSERT INTO d1_migrations VALUES ('9999_later.sql')`,
	} {
		f := newFixture(t, articles(20)...)
		f.page("")
		if _, err := f.db.Batch(t.Context(), []ledger.Statement{{SQL: sql}}); err != nil {
			t.Fatal(err)
		}
		w := f.get("/api/v1/info/health/ready")
		if strings.Contains(what, "later") {
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"status":"ok"`) {
				t.Errorf("%s: %d %s", what, w.Code, w.Body)
			}
			continue
		}
		for _, want := range []string{`"d1":"not_migrated"`, "d1 lacks the migration " + newest,
			"d1 migrations apply"} {
			if w.Code != 503 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %d %s, without %s", what, w.Code, w.Body, want)
			}
		}
	}
}

func TestFeeds(t *testing.T) {
	list := articles(60)
	list[0].Title, list[0].Snippet, list[0].ThumbnailURL = `A & B <c> "d"`, "1 < 2 & 3", "https://i.example/?a=1&b=2"
	f := newFixture(t, list...)
	for _, format := range []string{"rss", "json"} {
		w := f.get("/api/v1/info/feeds/all." + format)
		if w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		var titles, links []string
		s, err := feed.Parse(bytes.NewReader(w.Body.Bytes()), "https://example.com/", sitemap.Options{},
			func(i *feed.Item) {
				titles, links = append(titles, string(i.Title)), append(links, string(i.Link))
			})
		if err != nil || s.Problem != "" || string(s.Kind) != format || s.Items != 50 || !s.Newest.Equal(noon) ||
			titles[0] != list[0].Title || links[3] != list[3].URL {
			t.Errorf("%s: %+v %v %q", format, s, err, titles[:1])
		}
		if w := f.get("/api/v1/info/feeds/all."+format, "If-None-Match", w.Header().Get("ETag")); w.Code != 304 {
			t.Errorf("%s: %d", format, w.Code)
		}
	}
	if err := xml.Unmarshal(f.get("/api/v1/info/feeds/ai.rss").Body.Bytes(), new(struct{})); err != nil {
		t.Error(err)
	}
	for _, file := range []string{"sports.rss", "all.xml", "all", ".rss"} {
		if w := f.get("/api/v1/info/feeds/" + file); w.Code != 404 {
			t.Errorf("%s: %d", file, w.Code)
		}
	}
}

// No cache keeps an article that was taken down for more than half a minute, whatever fails.
func TestTakedown_LeavesCaches(t *testing.T) {
	f := newFixture(t, articles(3)...)
	list := f.page("").Articles
	cursor := info.CursorOf(&articles(3)[2]).String()
	for _, path := range []string{"/news", "/news?q=x", "/news/" + list[0].ID, "/feeds/all.rss", "/feeds/all.json",
		"/news/count?cursor=" + cursor, "/news?direction=newer&cursor=" + cursor} {
		w := f.get("/api/v1/info" + path)
		control := w.Header().Get("Cache-Control")
		age := -1
		for directive := range strings.SplitSeq(control, ", ") {
			if _, err := fmt.Sscanf(directive, "max-age=%d", &age); err == nil {
				continue
			}
			if strings.Contains(directive, "stale") || strings.Contains(directive, "s-maxage") {
				t.Errorf("%s: %s", path, control)
			}
		}
		if w.Code != 200 || age < 0 || age > 30 {
			t.Errorf("%s: %d, %s", path, w.Code, control)
		}
	}
}

// Links in feeds are those of PUBLIC_URL, whatever the request's host is. Without it, no feed is shared.
func TestFeeds_PublicURL(t *testing.T) {
	f := newFixture(t, articles(1)...)
	for public, want := range map[string]string{
		"": "https://example.com/", "https://news.example": "https://news.example/",
		"https://a.example/news": "https://a.example/news/",
	} {
		f.Public = public
		for _, format := range []string{"json", "rss"} {
			w := f.get("/api/v1/info/feeds/all." + format)
			text := strings.ReplaceAll(w.Body.String(), `\/`, "/")
			for _, link := range []string{want + "api/v1/info/feeds/all." + format + `"`, want} {
				if !strings.Contains(text, link) {
					t.Errorf("%q: no %s in %s", public, link, text)
				}
			}
			if public != "" && strings.Contains(text, "//example.com") {
				t.Errorf("%q: the host of the request is in %s", public, text)
			}
			if shared := strings.HasPrefix(w.Header().Get("Cache-Control"), "public"); shared != (public != "") {
				t.Errorf("%q: %s", public, w.Header().Get("Cache-Control"))
			}
		}
	}
}
