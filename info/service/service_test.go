//go:build unix

package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/service"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

// world is both Workers on shared twins.
type world struct {
	t         *testing.T
	db        *sqlite.DB
	api       http.Handler
	collector *service.Collector
	platform  service.Platform
	rebind    func() // restarts both after a change of the platform
	vars      map[string]string
	bound     map[string]bool
	log       bytes.Buffer

	mu     sync.Mutex
	dialed []string // addresses
	asked  []string // host and path
	pages  map[string]string

	posted []contract.AlarmChange
	away   error // of the webhook
	later  time.Duration
}

// Post implements alarms.Webhook.
func (w *world) Post(_ context.Context, url string, header http.Header, body []byte, _ time.Duration) error {
	id := header.Get("Idempotency-Key")
	if w.away != nil {
		return w.away
	}
	var c contract.AlarmChange
	if err := json.Unmarshal(body, &c); err != nil || c.ID != id || url != w.vars["ALERT_WEBHOOK_URL"] {
		w.t.Errorf("posted %s to %s: %v", body, url, err)
	}
	w.posted = append(w.posted, c)
	return nil
}

func newWorld(t *testing.T, vars map[string]string) *world {
	t.Helper()
	db, err := sqlite.OpenWith(store.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if vars != nil {
		vars["INFO_RETENTION_DAYS"] = "3650" // the fixtures are of January 2026
	}
	w := &world{t: t, db: db, vars: vars, bound: map[string]bool{"INFO_DB": true, "INFO_CACHE": true},
		pages: map[string]string{}}
	w.platform = service.Platform{
		Bound: func(name string) bool { return w.bound[name] }, D1: db, KV: &cache.Memory{},
		Hyperdrive: func() string { return w.vars["HYPERDRIVE"] },
		Dial: func(ctx context.Context, address string, _ bool) (net.Conn, error) {
			w.mu.Lock()
			w.dialed = append(w.dialed, address)
			w.mu.Unlock()
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		},
		Transport: w, Engine: engine{w}, Variable: func(name string) (string, bool) {
			v, ok := w.vars[name]
			return v,
				ok
		},
		Local: func() bool { return true }, Log: slog.New(slog.NewJSONHandler(&w.log, nil)),
		Now:     func() time.Time { return time.Now().Add(w.later) },
		Sleep:   fetch.SystemClock().Sleep,
		Extend:  func(time.Duration) {},
		Webhook: func(string) alarms.Webhook { return w },
	}
	w.rebind = func() { w.api, w.collector = service.NewAPI(w.platform), service.NewCollector(w.platform) }
	w.rebind()
	return w
}

// dials counts the connections to an address.
func (w *world) dials(address string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.dialed {
		if one == address {
			n++
		}
	}
	return n
}

// engine marks requests through the service binding.
type engine struct{ *world }

func (e engine) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	through := *r
	through.URL = strings.Replace(r.URL, "https://", "https://bound.", 1)
	return e.world.Do(ctx, &through)
}

func (w *world) Do(_ context.Context, r *fetch.Request) (*fetch.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, u.Host+u.Path)
	body, ok := w.pages[u.Host+u.Path]
	status := 200
	if !ok {
		status = 404
	}
	return &fetch.Response{Status: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func do(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func (w *world) titles(query string) (titles []string, source string) {
	w.t.Helper()
	answer := do(w.api, "GET", "/api/v1/info/news"+query, "")
	var page struct {
		Articles []struct{ Title string }
		Meta     struct{ Source string }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &page); err != nil || answer.Code != 200 {
		w.t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	for _, a := range page.Articles {
		titles = append(titles, a.Title)
	}
	return titles, page.Meta.Source
}

func feed(titles ...string) string {
	items := ""
	for i, t := range titles {
		at := time.Now().Add(-time.Duration(i+1) * time.Minute).UTC().Format(time.RFC1123)
		items += fmt.Sprintf(
			"<item><title>%s</title><link>https://press.example/%s</link><pubDate>%s</pubDate></item>", t, t, at)
	}
	return "<rss><channel><title>P</title>" + items + "</channel></rss>"
}

func naver(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../testdata/naver_page1_ok.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each cron starts its own sources only.
func TestCrons(t *testing.T) {
	w := newWorld(t, map[string]string{
		"FEEDS": "https://feeds.example/rss", "NAVER_CLIENT_ID": "i", "NAVER_CLIENT_SECRET": "s",
		"NEWSDATA_API_KEY": "k", "NAVER_QUERIES": "a", "NEWSDATA_QUERIES": "a",
		"COLLECT_FEEDS_CRON": "*/10 * * * *",
	})
	w.bound["SEED_ENGINE"] = true
	for _, c := range []struct{ cron, want string }{
		{"17 3 * * *", ""}, // replays dead letters
		{"*/5 * * * *", "openapi.naver.com/v1/search/news.json"},
		{"*/30 * * * *", "newsdata.io/api/1/latest"},
		// side by side; the host of a feed is visited through the engine
		{"*/10 * * * *", "bound.seed-engine.example/api/v1/feed bound.seed-engine.example/api/v1/frontier/visit " +
			"feeds.example/rss"},
	} {
		w.asked = nil
		_ = w.collector.Cron(context.Background(), c.cron)
		slices.Sort(w.asked)
		if got := strings.Join(w.asked, " "); got != c.want {
			t.Errorf("%s asked %q, not %q", c.cron, got, c.want)
		}
	}
}

// The collector's health says when each cron last ran, and how that ended.
func TestHealth_Crons(t *testing.T) {
	w := newWorld(t, map[string]string{"FEEDS": "https://feeds.example/rss", "API_TOKEN": "t"})
	w.pages["feeds.example/rss"] = feed("one")
	const every5, daily = "*/5 * * * *", "17 3 * * *"
	// health returns the outcome of each cron, and its kind of error; "late" if its times are not of now.
	health := func() map[string]string {
		t.Helper()
		var answer struct{ Data info.CollectorHealth }
		a := w.operate("GET", "/health", "") // public
		if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil || a.Code != 200 || answer.Data.Status != "ok" {
			t.Fatalf("%v: %d %s", err, a.Code, a.Body)
		}
		if answer.Data.Crons == nil {
			return nil
		}
		crons := map[string]string{}
		for _, c := range answer.Data.Crons {
			switch now := w.platform.Now(); {
			case c.BeganAt == nil && c.EndedAt == nil && c.Outcome == nil:
				crons[c.Cron] = "never"
			case now.Sub(c.BeganAt.Time) > time.Minute, c.EndedAt.Before(c.BeganAt.Time):
				crons[c.Cron] = "late"
			case c.ErrorType != nil:
				crons[c.Cron] = *c.Outcome + " " + *c.ErrorType
			default:
				crons[c.Cron] = *c.Outcome
			}
		}
		return crons
	}
	check := func(what string, want map[string]string) {
		t.Helper()
		if got := health(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, not %v", what, got, want)
		}
	}
	check("before the first", map[string]string{every5: "never"})
	if err := w.collector.Cron(t.Context(), every5); err != nil {
		t.Fatal(err)
	}
	check("a success", map[string]string{every5: "ok"})
	w.later = time.Hour
	check("none since", map[string]string{every5: "late"})
	w.pages = map[string]string{}
	// The Worker logs cron_failed with the kind of the error.
	if err := w.collector.Cron(t.Context(), every5); contract.KindOf(err) != contract.Validation {
		t.Fatalf("a feed that is gone: %v", err)
	}
	check("a failure", map[string]string{every5: "failed validation_error"})
	if err := w.collector.Cron(t.Context(), daily); err != nil {
		t.Fatal(err)
	}
	check("the day's", map[string]string{every5: "failed validation_error", daily: "ok"})
	w.db.Fail = func() error { return errors.New("D1 is down") }
	check("without a database", nil)
}

// Whatever happens to the collector, readers get the stored articles.
func TestCollector_ReadersUnaffected(t *testing.T) {
	w := newWorld(t, map[string]string{"FEEDS": "https://feeds.example/rss"})
	if titles, _ := w.titles(""); len(titles) != 0 {
		t.Errorf("%v", titles)
	}
	w.pages["feeds.example/rss"] = feed("one", "two")
	if err := w.collector.Cron(context.Background(), "*/5 * * * *"); err != nil {
		t.Fatal(err)
	}
	check := func(what string) {
		t.Helper()
		if titles, source := w.titles(""); strings.Join(titles, " ") != "one two" || source != "kv" {
			t.Errorf("%s: %v from %s", what, titles, source)
		}
	}
	check("at first")
	w.vars["NAVER_DAILY_LIMIT"] = "wrong"
	broken := service.NewCollector(service.Platform{Bound: func(string) bool { return true },
		Variable: func(n string) (string, bool) { v, ok := w.vars[n]; return v, ok },
		Log:      slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err := broken.Cron(context.Background(), "*/5 * * * *"); err == nil ||
		!strings.Contains(err.Error(), "NAVER_DAILY_LIMIT") {
		t.Errorf("%v", err)
	}
	if a := do(broken, "GET", "/api/v1/info/status", ""); a.Code != 500 ||
		!strings.Contains(a.Body.String(), "NAVER_DAILY_LIMIT") {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	delete(w.vars, "NAVER_DAILY_LIMIT")
	check("with a collector that is not configured")
	w.pages["feeds.example/rss"] = "<html>"
	if err := w.collector.Cron(context.Background(), "*/5 * * * *"); err == nil {
		t.Error("a source that fails is no failure of the run")
	}
	check("with a source that fails")
}

func TestOperators(t *testing.T) {
	w := newWorld(t, map[string]string{
		"FEEDS": "https://feeds.example/rss", "NAVER_CLIENT_ID": "i", "NAVER_CLIENT_SECRET": "sesame",
		"NAVER_QUERIES": "a", "API_TOKEN": "t", "API_TOKEN_PREVIOUS": "old",
	})
	ask := func(method, path, body string, want int) string {
		t.Helper()
		a := w.operate(method, path, body, "Authorization", "Bearer t", "Content-Type", "application/json")
		if a.Code != want || !strings.HasPrefix(path, "/metrics") && !json.Valid(a.Body.Bytes()) {
			t.Errorf("%s %s: %d %s", method, path, a.Code, a.Body)
		}
		return a.Body.String()
	}
	for _, header := range []string{"", "Bearer x", "Basic t"} {
		if a := w.operate("GET", "/api/v1/info/status", "", "Authorization", header); a.Code != 401 {
			t.Errorf("%q: %d", header, a.Code)
		}
	}
	if a := w.operate("GET", "/api/v1/info/status", "", "Authorization", "Bearer old"); a.Code != 200 {
		t.Errorf("the previous token: %d", a.Code)
	}
	w.pages["feeds.example/rss"] = feed("one", "two")
	w.pages["openapi.naver.com/v1/search/news.json"] = naver(t)
	if got := ask("POST", "/api/v1/info/collect", `{"source":"feed"}`, 200); !strings.Contains(got, `"inserted":2`) {
		t.Errorf("%s", got)
	}
	ask("POST", "/api/v1/info/collect", `{"source":"newsdata"}`, 400)
	ask("POST", "/api/v1/info/collect", `{"source":"x"}`, 400)
	ask("POST", "/api/v1/info/collect", `{"all":true}`, 400)
	ask("POST", "/api/v1/info/collect", `[`, 400)
	ask("GET", "/api/v1/info/collect", ``, 405)
	ask("GET", "/api/v1/info/nothing", ``, 404)
	if got := ask("POST", "/api/v1/info/collect", ``, 200); !strings.Contains(got, `"inserted":10`) {
		t.Errorf("%s", got)
	}
	status := ask("GET", "/api/v1/info/status", "", 200)
	for _, want := range []string{`"name":"naver","on":true`, `"name":"newsdata","on":false`,
		`"used":1,"allowed":25000`, `"alarms":[]`, `"inserted":10`} {
		if !strings.Contains(status, want) {
			t.Errorf("status lacks %s: %s", want, status)
		}
	}
	if got := ask("GET", "/metrics", "", 200); !strings.Contains(got,
		`newsfork_info_calls_used{source="naver",window="day"} 1`) ||
		!strings.Contains(got, `newsfork_info_gaps{source="naver"} 0`) ||
		!strings.Contains(got, `newsfork_info_seconds_since_success{source="feed"} `) {
		t.Errorf("%s", got)
	}

	delete(w.pages, "feeds.example/rss")
	for range 2 {
		ask("POST", "/api/v1/info/collect", `{"source":"feed"}`, 200) // the second finds it resting
	}
	if got := ask("GET", "/api/v1/info/dead-letters", "", 200); !strings.Contains(got,
		`"request":"https://feeds.example/rss"`) {
		t.Errorf("%s", got)
	}
	if got := ask("POST", "/api/v1/info/dead-letters/replay", ``, 200); !strings.Contains(got, `"failed":1`) {
		t.Errorf("%s", got)
	}
	ask("POST", "/api/v1/info/dead-letters/discard", `{"source":"feed"}`, 400)
	ask("POST", "/api/v1/info/dead-letters/discard", `{"source":"feed","request":"https://feeds.example/rss"}`, 200)
	ask("POST", "/api/v1/info/dead-letters/discard", `{"source":"feed","request":"https://feeds.example/rss"}`, 404)
	if strings.Contains(w.log.String(), "sesame") || strings.Contains(status, "sesame") {
		t.Error("a secret was told")
	}

	// A deleted article disappears for readers at once.
	var page struct {
		Articles []struct{ ID, URL string }
	}
	if err := json.Unmarshal(do(w.api, "GET", "/api/v1/info/news?limit=50", "").Body.Bytes(), &page); err != nil ||
		len(page.Articles) != 12 {
		t.Fatal(err, len(page.Articles))
	}
	id, address := page.Articles[3].ID, page.Articles[3].URL
	for range 2 { // again, as if the first answer was lost
		if got := ask("DELETE", "/api/v1/info/news/"+id, "", 200); !strings.Contains(got,
			`"is_deleted":true,"refreshed":true`) {
			t.Errorf("%s", got)
		}
	}
	ask("DELETE", "/api/v1/info/news/feed_none", "", 404)
	_, rest, _ := strings.Cut(address, "://")
	for q, want := range map[string]string{id: id, url.QueryEscape("HTTPS://" + rest + "#x"): id} {
		if got := ask("GET", "/api/v1/info/articles?q="+q, "", 200); !strings.Contains(got, `"id":"`+want+`"`) ||
			!strings.Contains(got, `"is_deleted":true`) {
			t.Errorf("%s: %s", q, got)
		}
	}
	ask("GET", "/api/v1/info/articles?q=", "", 400)
	ask("GET", "/api/v1/info/articles?q=https://nobody.example/", "", 200)
	if got := do(w.api, "GET", "/api/v1/info/news?limit=50", "").Body.String(); strings.Contains(got, `"`+id+`"`) {
		t.Error("an article that was taken down is listed")
	}
	ask("POST", "/api/v1/info/news/"+id+"/restore", "", 200)
	if got := do(w.api, "GET", "/api/v1/info/news?limit=50", "").Body.String(); !strings.Contains(got, `"`+id+`"`) {
		t.Error("an article that was brought back is not listed")
	}
}

func TestAlarms(t *testing.T) {
	w := newWorld(t, map[string]string{"NAVER_CLIENT_ID": "i", "NAVER_CLIENT_SECRET": "s",
		"NAVER_QUERIES": "a\nb\nc\nd", "NAVER_DAILY_LIMIT": "5"})
	w.pages["openapi.naver.com/v1/search/news.json"] = naver(t)
	if err := w.collector.Cron(context.Background(), "*/5 * * * *"); err != nil {
		t.Fatal(err)
	}
	a := w.operate("GET", "/api/v1/info/status", "")
	if !strings.Contains(a.Body.String(),
		`"name":"quota_nearly_spent","state":"firing","value":80,"threshold":80,"unit":"percent"`) {
		t.Errorf("%s", a.Body)
	}
	if a := w.operate("POST", "/api/v1/info/collect", ""); a.Code != 415 {
		t.Errorf("without a token and without JSON: %d", a.Code)
	}
}

// Twelve articles of one minute, Naver's precision, fill pages of 5, 5 and 2.
func TestSearch_TiesOfOneMinute(t *testing.T) {
	w := newWorld(t, map[string]string{"NAVER_CLIENT_ID": "i", "NAVER_CLIENT_SECRET": "s", "NAVER_QUERIES": "a"})
	ties, err := os.ReadFile("../testdata/naver_ties_same_minute.json")
	if err != nil {
		t.Fatal(err)
	}
	w.pages["openapi.naver.com/v1/search/news.json"] = string(ties)
	if err := w.collector.Cron(context.Background(), "*/5 * * * *"); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"kv", "d1"} {
		w.bound["INFO_CACHE"] = from == "kv"
		if from == "d1" {
			w.rebind()
		}
		seen, sizes := map[string]bool{}, []int{}
		for cursor := ""; ; {
			var page struct {
				Articles   []struct{ ID string }
				NextCursor *string `json:"next_cursor"`
				Meta       struct{ Source string }
			}
			if err := json.Unmarshal(do(w.api, "GET", "/api/v1/info/news?limit=5"+cursor, "").Body.Bytes(),
				&page); err != nil || page.Meta.Source != from {
				t.Fatal(err, page.Meta.Source)
			}
			for _, a := range page.Articles {
				seen[a.ID] = true
			}
			if sizes = append(sizes, len(page.Articles)); page.NextCursor == nil {
				break
			}
			cursor = "&cursor=" + *page.NextCursor
		}
		if !slices.Equal(sizes, []int{5, 5, 2}) || len(seen) != 12 {
			t.Errorf("from %s: pages of %v, %d articles", from, sizes, len(seen))
		}
	}
}

// is_stale goes by the last success of each source and by its own interval.
func TestStale(t *testing.T) {
	feeds := map[string]string{"FEEDS": "https://feeds.example/rss"}
	both := map[string]string{"FEEDS": "https://feeds.example/rss", "NEWSDATA_API_KEY": "k", "NEWSDATA_QUERIES": "a"}
	const every5, every30 = "*/5 * * * *", "*/30 * * * *"
	newsdata, err := os.ReadFile("../testdata/newsdata_page1_free.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		vars    map[string]string
		crons   map[int]string // by the minutes between two
		good    int            // minutes for which sources answer
		from    int            // minute from which pages are stale; 0: never
		minutes int
	}{
		{"one source every half an hour", map[string]string{"NEWSDATA_API_KEY": "k", "NEWSDATA_QUERIES": "a"},
			map[int]string{30: every30}, 500, 0, 240},
		{"a source that fails after an hour", feeds, map[int]string{5: every5}, 61, 76, 240},
		{"a source that never succeeds", feeds, map[int]string{5: every5}, 0, 16, 90},
		{"the slower of two sources goes on for its interval", both, map[int]string{5: every5, 30: every30}, 61,
			106, 240},
		{"crons that are never run", feeds, nil, 500, 0, 120},
	} {
		t.Run(c.what, func(t *testing.T) {
			w := newWorld(t, c.vars)
			began := time.Now().Truncate(time.Millisecond)
			var slept atomic.Int64
			w.platform.Now = func() time.Time { return began.Add(w.later + time.Duration(slept.Load())) }
			w.platform.Sleep = func(_ context.Context, d time.Duration) error { slept.Add(int64(d)); return nil }
			w.rebind()
			for minute := range c.minutes {
				w.later = time.Duration(minute) * time.Minute
				slept.Store(0)
				w.pages = map[string]string{}
				if minute < c.good {
					w.pages["feeds.example/rss"], w.pages["newsdata.io/api/1/latest"] = feed("one"), string(newsdata)
				}
				for period, cron := range c.crons {
					if minute%period == 0 {
						_ = w.collector.Cron(t.Context(), cron)
					}
				}
				var page struct {
					Meta struct {
						IsStale bool `json:"is_stale"`
					}
				}
				body := do(w.api, "GET", "/api/v1/info/news", "").Body.Bytes()
				if err := json.Unmarshal(body, &page); err != nil {
					t.Fatal(err)
				}
				if want := c.from > 0 && minute >= c.from; page.Meta.IsStale != want {
					t.Fatalf("minute %d: is_stale is %v", minute, page.Meta.IsStale)
				}
			}
		})
	}
}

// Alarms are posted when they begin and end, after each cron.
func TestAlarms_PostedOnce(t *testing.T) {
	w := newWorld(t, map[string]string{"FEEDS": "https://feeds.example/rss",
		"ALERT_WEBHOOK_URL": "https://hooks.example/s3cret"})
	cron := func(what string, want ...string) {
		t.Helper()
		w.posted = nil
		_ = w.collector.Cron(context.Background(), "*/5 * * * *")
		got := []string{}
		for _, c := range w.posted {
			got = append(got, c.Alarm+" "+c.Source+" "+c.State)
		}
		slices.Sort(got) // changes of one moment are unordered
		if !slices.Equal(got, append([]string{}, want...)) {
			t.Errorf("%s: posted %v, not %v", what, got, want)
		}
	}
	cron("one failure")
	w.later += 5 * time.Minute
	cron("two failures")
	w.away = errors.New("https://hooks.example/s3cret: refused")
	w.later += 15 * time.Minute
	cron("three failures, and the webhook is away")
	w.away = nil
	w.later += time.Minute
	cron("the webhook is back", "source_failing feed firing", "source_stale feed firing")
	w.later += time.Minute
	cron("nothing changed")
	metrics := w.operate("GET", "/metrics", "").Body.String()
	if !strings.Contains(metrics, `newsfork_info_alarm_firing{alarm="source_failing",source="feed"} 1`) ||
		!strings.Contains(metrics, `newsfork_info_alarm_firing{alarm="source_failing",source="naver"} 0`) {
		t.Errorf("%s", metrics)
	}
	w.pages["feeds.example/rss"] = feed("one")
	w.later += 2 * time.Hour
	cron("it is back", "source_failing feed ok", "source_stale feed ok")
	if !slices.ContainsFunc(w.posted, func(c contract.AlarmChange) bool {
		return c.Text == "Recovered (development): Info service, feed: no failed collection since the last that "+
			"succeeded"
	}) {
		t.Errorf("%+v", w.posted)
	}
	if strings.Contains(w.log.String(), "s3cret") || !strings.Contains(w.log.String(), "alarm_webhook_failed") {
		t.Errorf("%s", w.log.String())
	}
}

func TestAssemble_UnknownTopic(t *testing.T) {
	w := newWorld(t, map[string]string{"INFO_CATEGORY_DEFAULT": "sports"})
	if a := do(w.api, "GET", "/api/v1/info/news", ""); a.Code != 500 ||
		!strings.Contains(a.Body.String(), "INFO_CATEGORY_DEFAULT") || !strings.Contains(a.Body.String(), "energy") {
		t.Errorf("%d %s", a.Code, a.Body)
	}
}

func TestAssemble_NothingBound(t *testing.T) {
	w := newWorld(t, nil)
	w.bound = map[string]bool{}
	if a := do(w.api, "GET", "/api/v1/info/news", ""); a.Code != 500 ||
		!strings.Contains(a.Body.String(), "INFO_DB") {
		t.Errorf("%d %s", a.Code, a.Body)
	}
}

// The same Workers with the other store and cache, whose connections end with each event.
func TestService_PostgresAndRedis(t *testing.T) {
	w, server, r := onServers(t)
	if titles, source := w.titles(""); strings.Join(titles, " ") != "one two" || source != "redis" {
		t.Errorf("%v from %s", titles, source)
	}
	if titles, source := w.titles("?q=two"); strings.Join(titles, " ") != "two" || source != "postgres" {
		t.Errorf("%v from %s", titles, source)
	}
	server.Kill()
	if titles, source := w.titles(""); len(titles) != 2 || source != "redis" {
		t.Errorf("without PostgreSQL: %v from %s", titles, source)
	}
	server.Start()
	r.Kill()
	if titles, source := w.titles(""); len(titles) != 2 || source != "postgres" {
		t.Errorf("without Redis: %v from %s", titles, source)
	}
}

// What operators have to know is in the status: a broken feed among others, and a cache that readers get nothing from.
func TestOperators_Faults(t *testing.T) {
	w, _, redis := onServers(t)
	status := func(want ...string) {
		t.Helper()
		a := w.operate("GET", "/api/v1/info/status", "").Body.String()
		for _, part := range want {
			if !strings.Contains(a, part) {
				t.Errorf("no %s in %s", part, a)
			}
		}
	}
	w.vars["FEEDS"] = "https://feeds.example/rss\nhttps://feeds.example/broken"
	w.rebind()
	for range 2 { // the second finds nothing new
		if err := w.collector.Cron(context.Background(), "*/5 * * * *"); err != nil {
			t.Fatal(err)
		}
	}
	status(`"url":"https://feeds.example/rss","succeeded_at":"2`, `"failed_at":null,"error":null,"items":2`,
		`"url":"https://feeds.example/broken","succeeded_at":null,"failed_at":"2`, `status 404"`,
		`"cache":{"name":"redis","error":null`, `"database":{"name":"postgres","bytes":`)

	misspelt := w.vars["REDIS_URL"]
	w.vars["REDIS_URL"] = "redis://nobody.invalid:1"
	w.rebind()
	status(`"error":"redis does not answer`)
	w.vars["REDIS_URL"] = "" // in this Worker only
	w.rebind()
	w.operate("POST", "/api/v1/info/cache/refresh", "{}", "Content-Type", "application/json")
	status(`"name":"kv"`, `REDIS_URL is set in one of the two Workers only`)
	w.later += 2 * time.Hour
	w.operate("POST", "/api/v1/info/cache/refresh", "{}", "Content-Type", "application/json")
	w.vars["REDIS_URL"] = misspelt
	redis.Kill()
	w.rebind()
	status(`"error":"redis does not answer`)
	w.bound["INFO_CACHE"], w.vars["REDIS_URL"] = false, ""
	w.vars["FEEDS"] = ""
	w.rebind()
	status(`"error":"there is no cache`)
	a := w.operate("POST", "/api/v1/info/collect", "{}", "Content-Type", "application/json")
	if a.Code != 400 || !strings.Contains(a.Body.String(), "none is on; set FEEDS") {
		t.Errorf("%d %s", a.Code, a.Body)
	}
}
