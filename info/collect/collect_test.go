package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/sources"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

var ctx = context.Background()

// world is a collector with twins of its environment, and a clock that only tests advance.
type world struct {
	*Collector
	t     *testing.T
	db    *sqlite.DB
	kv    *cache.Memory
	log   bytes.Buffer
	clock time.Time

	mu      sync.Mutex
	pages   map[string]page // by URL without query
	asked   []string
	busy    int // requests under way
	busiest int
	slow    time.Duration // delay of every page
}

type page struct {
	status  int
	kind    string
	body    string
	header  http.Header
	err     error
	silent  bool // never answers
	endless bool // begins an answer that never ends
}

func newWorld(t *testing.T, list ...info.Source) *world {
	t.Helper()
	db, err := sqlite.OpenWith(store.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	w := &world{t: t, db: db, kv: &cache.Memory{}, clock: time.Date(2026, 1, 17, 10, 10, 0, 0, time.UTC),
		pages: map[string]page{}}
	w.Collector = &Collector{
		Sources: list, Store: store.NewD1(db), Cache: cache.NewKV(w.kv), Transport: w, UserAgent: "NewsforkBot/1.0",
		Owner:     "test",
		Retention: 365 * 24 * time.Hour, Log: slog.New(slog.NewJSONHandler(&w.log, nil)),
		Now:   func() time.Time { return w.clock },
		Sleep: func(context.Context, time.Duration) error { return errors.New("nobody was to be waited for") },
	}
	return w
}

// Do implements fetch.Transport.
func (w *world) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	bare, _, _ := strings.Cut(r.URL, "?")
	w.mu.Lock()
	w.asked = append(w.asked, r.URL)
	w.busy++
	w.busiest = max(w.busiest, w.busy)
	p, ok := w.pages[r.URL]
	if !ok {
		p, ok = w.pages[bare]
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.busy--
		w.mu.Unlock()
	}()
	if w.slow > 0 {
		time.Sleep(w.slow)
	}
	if !ok {
		p = page{status: 404}
	}
	if p.silent {
		return nil, late(ctx, r.Timeout)
	}
	if p.err != nil {
		return nil, p.err
	}
	if p.status == 0 {
		p.status = 200
	}
	header := p.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if p.kind != "" {
		header.Set("Content-Type", p.kind)
	}
	resp := &fetch.Response{Status: p.status, Header: header, Body: io.NopCloser(strings.NewReader(p.body))}
	if p.endless {
		ctx, cancel := context.WithTimeout(ctx, r.Timeout)
		resp.Body = &endless{ctx, cancel}
	}
	return resp, nil
}

// late waits like a transport.
func late(ctx context.Context, timeout time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(timeout):
		return contract.Wrap(contract.Timeout, "world.Do", errors.New("no answer in time"))
	}
}

// endless is a body that yields a byte a second.
type endless struct {
	ctx    context.Context
	cancel func()
}

func (e *endless) Read(p []byte) (int, error) {
	if err := late(e.ctx, time.Second); e.ctx.Err() != nil {
		return 0, err
	}
	p[0] = ' '
	return 1, nil
}

func (e *endless) Close() error {
	e.cancel()
	return nil
}

// times counts requests other than those for robots.txt.
func (w *world) times(prefix string) (n int) {
	for _, u := range w.asked {
		if strings.HasPrefix(u, prefix) && !strings.HasSuffix(u, "/robots.txt") {
			n++
		}
	}
	return n
}

func (w *world) articles() []info.Article {
	w.t.Helper()
	p, err := w.Store.Page(ctx, info.Query{Category: info.All, Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return p.Articles
}

func (w *world) run(names ...string) []info.Report {
	w.t.Helper()
	return w.Run(ctx, names...)
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const (
	naverURL    = "https://openapi.naver.example/v1/search/news.json"
	newsDataURL = "https://newsdata.example/api/1/latest"
)

func naver(queries ...string) *sources.Naver {
	return &sources.Naver{Endpoint: naverURL, IDHeader: "X-Naver-Client-Id", SecretHeader: "X-Naver-Client-Secret",
		ID: "i", Secret: "sesame", Queries: queries, Daily: 25000}
}

func newsData(daily, window int, queries ...string) *sources.NewsData {
	return &sources.NewsData{Endpoint: newsDataURL, Key: "sesame", Queries: queries, Daily: daily, Window: window}
}

func TestCollect(t *testing.T) {
	w := newWorld(t, naver("환경"), newsData(200, 30, "climate"))
	w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
	w.pages[newsDataURL] = page{body: fixture(t, "newsdata_page1_free.json")}
	w.pages["https://www.yna.example/view/AKR20260117050000003"] = page{kind: "text/html; charset=utf-8",
		body: fixture(t, "og_basic.html")}

	reports := w.run(info.Naver)
	if len(reports) != 1 || reports[0].Counts.Inserted != 10 || reports[0].Counts.Thumbnails != 1 ||
		reports[0].Counts.Calls != 1 {
		t.Fatalf("%+v", reports)
	}
	if w.times(newsDataURL) != 0 {
		t.Error("the collection of Naver asked NewsData, too")
	}
	got := w.articles()
	i := slices.IndexFunc(got, func(a info.Article) bool { return strings.Contains(a.URL, "AKR20260117050000003") })
	if len(got) != 10 || got[i].ThumbnailURL != "https://img.example/basic.jpg" {
		t.Errorf("%d articles, %+v", len(got), got[i])
	}
	if answer, err := w.Cache.Page(ctx, info.Query{Category: info.All, Limit: 50}); err != nil || answer == nil ||
		len(answer.Items) != 10 || !answer.Complete {
		t.Errorf("cached: %+v, %v", answer, err)
	}

	pages, puts := w.times("http"), w.kv.Puts
	w.clock = w.clock.Add(5 * time.Minute)
	if r := w.run(info.Naver)[0]; r.Counts.Inserted+r.Counts.Updated != 0 {
		t.Errorf("the same again: %+v", r)
	}
	if w.times("http") != pages+1 {
		t.Errorf("pages were asked again for thumbnails: %v", w.asked[pages:])
	}
	if w.kv.Puts != puts {
		t.Error("nothing changed, and the cache was written")
	}
	w.clock = w.clock.Add(25 * time.Hour)
	w.run(info.Naver)
	if n := w.times("http"); n != pages+1+1+9 {
		t.Errorf("a day later: %d requests", n-pages-1)
	}

	r := w.run(info.NewsData)[0]
	if r.Counts.Articles != 10 || r.Counts.Inserted != 10 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(w.log.String(), `"msg":"info_collected","source":"naver"`) ||
		strings.Contains(w.log.String(), "sesame") {
		t.Errorf("%s", w.log.String())
	}
}

// The default category applies only if the setting names one.
func TestCollect_DefaultCategory(t *testing.T) {
	for _, fallback := range []info.Category{"", info.Environment} {
		w := newWorld(t, newsData(200, 30, "x"))
		w.Default = fallback
		w.pages[newsDataURL] = page{body: fixture(t, "newsdata_page1_free.json")}
		w.run(info.NewsData)
		for _, a := range w.articles() {
			if strings.HasPrefix(a.URL, "https://weather.example/") && a.Category != fallback {
				t.Errorf("%s: %q, not %q", a.URL, a.Category, fallback)
			}
		}
	}
}

// With the documented schedule a day stays within the free plan.
func TestCollect_ADay(t *testing.T) {
	w := newWorld(t, naver("a", "b", "c", "d"), newsData(200, 30, "a", "b", "c"))
	w.pages[naverURL] = page{body: fixture(t, "naver_empty.json")}
	w.pages[newsDataURL] = page{body: fixture(t, "newsdata_empty.json")}
	w.clock = time.Date(2026, 1, 17, 0, 0, 0, 0, time.UTC)
	for i := range 288 {
		w.run(info.Naver)
		if i%6 == 0 {
			w.run(info.NewsData)
		}
		w.clock = w.clock.Add(5 * time.Minute)
	}
	if n, m := w.times(naverURL), w.times(newsDataURL); n != 4*288 || m != 3*48 {
		t.Errorf("%d and %d calls", n, m)
	}
}

// A query with many pages takes what the day's other collections leave, and no more.
func TestQuotas_Pages(t *testing.T) {
	w := newWorld(t, newsData(200, 30, "a", "b", "c"))
	w.Schedule = map[string]time.Duration{info.NewsData: 30 * time.Minute}
	w.clock = time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour) // the database's clock ends windows
	starved := 0
	for run := range 48 {
		var results []string
		for i := range 10 {
			results = append(results, fmt.Sprintf(`{"title":"x","link":"https://d.example/%d/%d","pubDate":%q}`, run, i,
				w.clock.Format(time.DateTime)))
		}
		body := `{"status":"success","results":[` + strings.Join(results, ",") + `],"nextPage":"1"}`
		w.pages[newsDataURL] = page{body: body}
		for i := range 12 { // every page brings something else
			w.pages[fmt.Sprintf("%s?page=%d&q=a&size=10", newsDataURL, i)] = page{body: strings.ReplaceAll(
				strings.ReplaceAll(body, "/d.example/", fmt.Sprintf("/d%d.example/", i)), `"nextPage":"1"`,
				fmt.Sprintf(`"nextPage":"%d"`, i+1))}
		}
		before := w.times(newsDataURL)
		if r := w.run(info.NewsData)[0]; r.Error != "" || w.times(newsDataURL)-before < 3 {
			starved++
		}
		w.clock = w.clock.Add(30 * time.Minute)
	}
	if n := w.times(newsDataURL); starved > 0 || n < 190 || n > 200 {
		t.Errorf("%d calls; %d collections did not ask every query", n, starved)
	}
}

func TestQuotas(t *testing.T) {
	w := newWorld(t, newsData(5, 2, "a", "b", "c"))
	w.pages[newsDataURL] = page{body: fixture(t, "newsdata_page1_free.json")}
	w.clock = time.Date(2026, 1, 17, 10, 0, 0, 0, time.UTC)
	steps := []struct {
		at    string
		calls int
		note  string
	}{
		{"10:00", 2, "the window ends after two"}, {"10:05", 2, "it rests"}, {"10:15", 4, "the next window"},
		{"10:30", 5, "the day ends after five"},
		{"10:45", 5, "it rests"}, {"23:55", 5, "until midnight"}, {"24:00", 7, "the next day"},
	}
	for _, step := range steps {
		var h, m int
		fmt.Sscanf(step.at, "%d:%d", &h, &m)
		w.clock = time.Date(2026, 1, 17, h, m, 0, 0, time.UTC)
		w.run(info.NewsData)
		if n := w.times(newsDataURL); n != step.calls {
			t.Errorf("%s, %s: %d calls, not %d", step.at, step.note, n, step.calls)
		}
	}
	if len(w.articles()) != 10 {
		t.Error("what was collected before the limit was lost")
	}
	if letters, _ := w.Store.DeadLetters(ctx, "", 10); len(letters) != 0 {
		t.Errorf("a limit is no failure: %+v", letters)
	}
}

func TestCollect_UpstreamFailures(t *testing.T) {
	at := time.Date(2026, 1, 17, 10, 10, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		answer page
		class  info.Class
		again  time.Time // next call
		letter bool
	}{
		"the quota of the day": {page{status: 429, body: fixture(t, "naver_error_429_quota_010.json")}, info.Spent,
			time.Date(2026, 1, 17, 15, 0, 0, 0, time.UTC), false},
		"too fast": {page{status: 429, body: fixture(t, "naver_error_429_rate_012.json")}, info.Throttled,
			at.Add(time.Minute), false},
		"Retry-After": {page{status: 429, header: http.Header{"Retry-After": {"90"}}}, info.Throttled,
			at.Add(90 * time.Second), false},
		"a wrong key": {page{status: 401, body: fixture(t, "naver_error_401.json")}, info.Refused,
			at.Add(5 * time.Minute), true},
		"500":           {page{status: 500, body: "<html>"}, info.Broken, at.Add(time.Minute), true},
		"HTML with 200": {page{body: "<html>"}, info.Broken, at.Add(time.Minute), true},
		"truncated": {page{body: fixture(t, "naver_page1_ok.json")[:500]}, info.Broken,
			at.Add(time.Minute), true},
		"too long":  {page{body: strings.Repeat(" ", 5<<20)}, info.Broken, at.Add(time.Minute), true},
		"no answer": {page{err: fetch.NoAnswer(nil)}, info.Broken, at.Add(time.Minute), true},
		"a redirect": {page{status: 302, header: http.Header{"Location": {"https://elsewhere.example/"}}},
			info.Broken, at.Add(time.Minute), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, naver("환경"))
			w.pages[naverURL] = c.answer
			r := w.run(info.Naver)[0]
			if r.Error == "" || len(w.asked) != 1 {
				t.Errorf("%+v after %d requests", r, len(w.asked))
			}
			s, err := w.Store.(*store.Store).Sources(ctx)
			if err != nil || s[0].ErrorClass != string(c.class) || !s[0].NotBefore.Equal(c.again) ||
				s[0].Failures != 1 {
				t.Errorf("%+v %v", s, err)
			}
			letters, _ := w.Store.DeadLetters(ctx, "", 10)
			if (len(letters) == 1) != c.letter {
				t.Errorf("%+v", letters)
			}
			if said := fmt.Sprint(r, s, letters); strings.Contains(said, "fetch.Transport") {
				t.Errorf("operators read the name of a function: %s", said)
			}
			w.clock = c.again.Add(-time.Second)
			if r := w.run(info.Naver)[0]; r.Skipped != string(c.class) || r.NotBefore == nil ||
				!r.NotBefore.Equal(c.again) || len(w.asked) != 1 {
				t.Errorf("while it rests: %+v after %d requests", r, len(w.asked))
			}
			w.clock = c.again
			w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
			if r := w.run(info.Naver)[0]; r.Counts.Inserted != 10 {
				t.Errorf("mended: %+v", r)
			}
			if letters, _ := w.Store.DeadLetters(ctx, "", 10); len(letters) != 0 {
				t.Errorf("a request that succeeded is still a dead letter: %+v", letters)
			}
			if strings.Contains(w.log.String(), "sesame") {
				t.Error("a key is in the log")
			}
		})
	}
}

// A source whose only query is bad rests no longer than after a failure of the provider, and the query is a dead
// letter until it succeeds.
func TestCollect_BadQuery(t *testing.T) {
	w := newWorld(t, naver("x"))
	w.pages[naverURL] = page{status: 400, body: fixture(t, "naver_error_400_se01.json")}
	for range 24 {
		w.run(info.Naver)
		w.clock = w.clock.Add(time.Hour)
	}
	if n := w.times(naverURL); n != 24 {
		t.Errorf("asked %d times in 24 hours", n)
	}
	letters, err := w.Store.DeadLetters(ctx, "", 10)
	if err != nil || len(letters) != 1 || letters[0].Class != "bad_request" || letters[0].Attempts != 24 {
		t.Errorf("%+v %v", letters, err)
	}
	w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
	w.run(info.Naver)
	if letters, _ := w.Store.DeadLetters(ctx, "", 10); len(letters) != 0 {
		t.Errorf("after a success: %+v", letters)
	}
}

// A query that the provider rejects, with whatever status, silences no other, and the source does not rest.
func TestCollect_OneBadQuery(t *testing.T) {
	for _, status := range []int{400, 409, 413, 415, 422} {
		w := newWorld(t, newsData(200, 30, "bad", "good"))
		w.pages[newsDataURL+"?q=bad&size=10"] = page{status: status,
			body: `{"status":"error","results":[{"code":"X"}]}`}
		w.pages[newsDataURL] = page{body: fixture(t, "newsdata_page1_free.json")}
		for range 3 {
			if r := w.run(info.NewsData)[0]; r.Error != "" || r.Skipped != "" || r.Counts.Failed != 1 ||
				r.Counts.Articles != 10 {
				t.Errorf("%d: %+v", status, r)
			}
			w.clock = w.clock.Add(30 * time.Minute)
		}
		letters, err := w.Store.DeadLetters(ctx, "", 10)
		if err != nil || len(letters) != 1 || letters[0].Request != "bad" || letters[0].Attempts != 3 {
			t.Errorf("%d: %+v %v", status, letters, err)
		}
	}
}

// A key that is refused after a query has succeeded shows as a failure, and the source rests.
func TestCollect_KeyRefusedInBetween(t *testing.T) {
	w := newWorld(t, newsData(200, 30, "good", "bad"))
	w.pages[newsDataURL] = page{body: fixture(t, "newsdata_page1_free.json")}
	w.pages[newsDataURL+"?q=bad&size=10"] = page{status: 401, body: fixture(t, "newsdata_error_401.json")}
	w.run(info.NewsData)
	s, err := w.Store.Sources(ctx)
	if err != nil || s[0].Failures != 1 || s[0].ErrorClass != string(info.Refused) || len(w.articles()) != 10 {
		t.Errorf("%+v %v, %d articles", s, err, len(w.articles()))
	}
}

// breaking panics in requests for some URLs.
type breaking struct {
	fetch.Transport
	at string // part of the URLs
}

func (b breaking) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	if strings.Contains(r.URL, b.at) {
		panic("broken at " + r.URL)
	}
	return b.Transport.Do(ctx, r)
}

// brokenSource panics when it collects.
type brokenSource struct{ *sources.NewsData }

func (brokenSource) Collect(context.Context, info.Client, []byte, time.Time) (info.Batch, error) {
	panic("broken source")
}

// A panic, wherever it is recovered, is logged with its stack, and nothing else is lost by it.
func TestCollect_PanicsAreLogged(t *testing.T) {
	const rss = `<rss><channel><title>F</title><item><title>t</title><link>https://press.example/%s</link>` +
		`<pubDate>Sat, 17 Jan 2026 10:00:00 GMT</pubDate></item></channel></rss>`
	w := newWorld(t, &sources.Feeds{URLs: []string{"https://good.example/rss", "https://bad-feed.example/rss"}},
		naver("bad-query"), brokenSource{newsData(200, 30, "x")})
	w.pages["https://good.example/rss"] = page{body: fmt.Sprintf(rss, "bad-page")}
	w.Transport = breaking{w, "bad-"}
	for _, r := range w.run(info.Feed, info.Naver, info.NewsData) {
		if (r.Error == "") != (r.Source == info.Feed) {
			t.Errorf("%+v", r)
		}
	}
	if n := len(w.articles()); n != 1 {
		t.Errorf("%d articles", n)
	}
	letters, err := w.Replay(ctx, info.Feed)
	if err != nil || letters.Failed != 1 {
		t.Errorf("%+v %v", letters, err)
	}
	logged := map[string]int{}
	for line := range strings.Lines(w.log.String()) {
		var l struct {
			Msg, Source, Request, Error, Stack string
			Kind                               string `json:"error_type"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Msg != "info_collect_failed" {
			continue
		}
		if l.Kind != string(contract.Internal) || !strings.Contains(l.Stack, "collect_test.go:") {
			t.Errorf("%s", line)
		}
		logged[l.Source+" "+l.Request+" "+l.Error]++
	}
	for _, want := range []string{
		"feed https://bad-feed.example/rss panic: broken at https://bad-feed.example/rss",
		"newsdata  panic: broken source",
		"feed https://press.example/bad-page panic: broken at https://press.example/bad-page",
	} {
		if logged[want] == 0 {
			t.Errorf("%q is not logged; %v", want, logged)
		}
	}
	if n := logged["feed https://bad-feed.example/rss panic: broken at https://bad-feed.example/rss"]; n != 2 {
		t.Errorf("the collection and the replay logged %d times", n)
	}
	if len(logged) != 5 { // with Naver's: the only query's, and so the collection's
		t.Errorf("%v", logged)
	}
}

// Some encoders write an empty list as null.
func TestCollect_NullItems(t *testing.T) {
	w := newWorld(t, naver("x"))
	w.pages[naverURL] = page{body: `{"total":0,"items":null}`}
	if r := w.run(info.Naver)[0]; r.Error != "" || r.Counts.Articles != 0 {
		t.Errorf("%+v", r)
	}
}

func TestCollect_BackOff(t *testing.T) {
	w := newWorld(t, naver("x"))
	w.pages[naverURL] = page{status: 500}
	for range 12 * 24 {
		w.run(info.Naver)
		w.clock = w.clock.Add(5 * time.Minute)
	}
	if n := len(w.asked); n < 24 || n > 32 {
		t.Errorf("a source that was down for a day was asked %d times", n)
	}
}

// Only one of two crons collects.
func TestCollect_TwoAtOnce(t *testing.T) {
	w := newWorld(t, naver("a"))
	w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
	w.slow = 30 * time.Millisecond
	other := *w.Collector
	other.Owner = "other"
	var reports [2][]info.Report
	var done sync.WaitGroup
	for i, c := range []*Collector{w.Collector, &other} {
		done.Add(1)
		go func() {
			defer done.Done()
			reports[i] = c.Run(ctx, info.Naver)
		}()
	}
	done.Wait()
	if w.times(naverURL) != 1 || (reports[0][0].Skipped == "busy") == (reports[1][0].Skipped == "busy") {
		t.Errorf("%d calls, %+v", w.times(naverURL), reports)
	}
	if w.run(info.Naver)[0].Skipped != "" {
		t.Error("the lease was not released")
	}
}

// At most six pages at once, one per host, public ones only.
func TestPictures_ArePolite(t *testing.T) {
	var items []string
	add := func(link string) {
		items = append(items, fmt.Sprintf(
			`{"title":"t","originallink":%q,"link":"","description":"","pubDate":"Sat, 17 Jan 2026 10:00:00 +0900"}`,
			link))
	}
	for i := range 40 {
		add(fmt.Sprintf("https://h%d.example/%d", i%20, i))
	}
	for _, u := range []string{"http://169.254.169.254/latest/meta-data/", "http://localhost/x", "http://10.0.0.1/x",
		"http://[::1]/x", "https://intranet/x", "https://a.example:8080/x"} {
		add(u)
	}
	add("https://moved.example/x")
	add("https://pdf.example/x")
	for i := range 30 {
		add(fmt.Sprintf("https://big.example/%d", i))
	}
	w := newWorld(t, naver("x"))
	w.pages[naverURL] = page{body: `{"items":[` + strings.Join(items, ",") + `]}`}
	w.pages["https://moved.example/x"] = page{status: 302,
		header: http.Header{"Location": {"http://169.254.169.254/"}}}
	w.pages["https://pdf.example/x"] = page{kind: "application/pdf", body: fixture(t, "og_basic.html")}
	w.slow = 5 * time.Millisecond
	perHost, host, robots := map[string]int{}, map[string]int{}, map[string]int{}
	r := w.run(info.Naver)[0]
	if r.Counts.Inserted != 78 {
		t.Errorf("%+v", r)
	}
	for _, u := range w.asked[1:] {
		p, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		host[p.Hostname()]++
		if p.Path == "/robots.txt" {
			robots[p.Host]++
			if perHost[p.Host] > 0 {
				t.Errorf("%s was asked for a page before its robots.txt", p.Host)
			}
			continue
		}
		perHost[p.Host]++
	}
	if robots["big.example"] != 1 || robots["h3.example"] != 1 {
		t.Errorf("requests for robots.txt: %v", robots)
	}
	for _, private := range []string{"169.254.169.254", "localhost", "10.0.0.1", "::1", "intranet", "a.example"} {
		if host[private] > 0 {
			t.Errorf("%s was asked", private)
		}
	}
	if w.busiest > pagesAtOnce || perHost["big.example"] != pagesPerDomain || perHost["h3.example"] != 2 {
		t.Errorf("%d at once, %v", w.busiest, perHost)
	}
}

// failing is a database whose batches fail on demand.
type failing struct {
	store.DB
	when func(sql string) bool
}

func (f *failing) Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	for _, s := range statements {
		if f.when != nil && f.when(s.SQL) {
			return nil, errors.New("the database is gone")
		}
	}
	return f.DB.Batch(ctx, statements)
}

// Whichever statement is the last to take effect, the next collection completes the work without duplicates.
func TestCollect_Killed(t *testing.T) {
	rss := `<rss><channel><title>F</title>`
	for i := range 120 { // three transactions of articles
		rss += fmt.Sprintf("<item><title>t%d</title><link>https://f.example/%d</link><pubDate>Sat, 17 Jan 2026 "+
			"08:00:00 GMT</pubDate></item>", i, i)
	}
	for last := 0; ; last++ {
		w := newWorld(t, &sources.Feeds{URLs: []string{"https://f.example/rss"}})
		w.pages["https://f.example/rss"] = page{body: rss + "</channel></rss>", header: http.Header{"Etag": {`"1"`}}}
		db := &failing{DB: w.db}
		w.Store = store.NewD1(db)
		n := 0
		db.when = func(string) bool { n++; return n > last }
		w.run(info.Feed)
		reached := n
		db.when = nil
		w.clock = w.clock.Add(time.Hour) // leases and rests are over
		if _, err := w.db.Batch(ctx, []ledger.Statement{{SQL: "DELETE FROM news_leases"}}); err != nil {
			t.Fatal(err)
		}
		w.run(info.Feed)
		if got := len(w.articles()); got != 120 {
			t.Fatalf("killed after %d statements: %d articles", last, got)
		}
		if answer, err := w.Cache.Page(ctx, info.Query{Category: info.All, Limit: 50}); err != nil || answer == nil ||
			answer.Total != 120 {
			t.Fatalf("killed after %d statements: cached %+v", last, answer)
		}
		if reached <= last {
			if last < 10 {
				t.Errorf("only %d statements", last)
			}
			return
		}
	}
}

func TestReplay(t *testing.T) {
	f := &sources.Feeds{URLs: []string{"https://a.example/rss", "https://b.example/rss"}}
	w := newWorld(t, f, naver("환경"))
	feed := func(n int) page {
		return page{body: fmt.Sprintf(
			"<rss><channel><item><title>t</title><link>https://x%d.example/</link><pubDate>Sat, 17 Jan 2026 "+
				"08:00:00 GMT</pubDate></item></channel></rss>", n)}
	}
	w.pages["https://a.example/rss"] = feed(1)
	w.pages["https://b.example/rss"] = page{status: 500}
	w.pages[naverURL] = page{status: 503}
	w.run(info.Feed, info.Naver)
	if letters, _ := w.Store.DeadLetters(ctx, "", 10); len(letters) != 2 {
		t.Fatalf("%+v", letters)
	}
	done, err := w.Replay(ctx, "")
	if err != nil || done.Succeeded != 0 || done.Failed != 2 {
		t.Errorf("%+v %v", done, err)
	}
	if s, _ := w.Store.(*store.Store).Sources(ctx); !s[0].NotBefore.IsZero() {
		t.Errorf("a feed that fails again keeps the others from being read: %+v", s[0])
	}
	w.pages["https://b.example/rss"] = feed(2)
	done, err = w.Replay(ctx, info.Feed)
	if err != nil || done.Succeeded != 1 || done.Inserted != 1 {
		t.Errorf("%+v %v", done, err)
	}
	letters, _ := w.Store.DeadLetters(ctx, "", 10)
	if len(letters) != 1 || letters[0].Source != info.Naver || letters[0].Attempts != 2 {
		t.Errorf("%+v", letters)
	}
	w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
	if err := w.Daily(ctx); err != nil {
		t.Fatal(err)
	}
	if letters, _ := w.Store.DeadLetters(ctx, "", 10); len(letters) != 0 || len(w.articles()) != 12 {
		t.Errorf("%+v, %d articles", letters, len(w.articles()))
	}
}

// Any number of requests that always fail, or whose source was turned off, must not keep others from being
// repeated.
func TestReplay_Poison(t *testing.T) {
	f := &sources.Feeds{URLs: []string{"https://a.example/rss"}}
	w := newWorld(t, f)
	var poison []store.Letter
	for i := range 300 {
		poison = append(poison, store.Letter{Source: info.Naver, Request: fmt.Sprint(i), Class: "refused",
			Error: "e"})
		poison = append(poison, store.Letter{Source: info.Feed, Request: fmt.Sprintf("https://gone.example/%d", i),
			Class: "refused", Error: "e"})
	}
	if err := w.Store.Add(ctx, poison, w.clock); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(time.Minute)
	good := store.Letter{Source: info.Feed, Request: "https://a.example/rss", Class: "upstream_error", Error: "e"}
	if err := w.Store.Add(ctx, []store.Letter{good}, w.clock); err != nil {
		t.Fatal(err)
	}
	w.pages["https://a.example/rss"] = page{
		body: `<rss><channel><item><title>t</title><link>https://x.example/</link><pubDate>Sat, 17 Jan 2026 08:00:00 GMT</pubDate></item>
<item><title>no link</title></item><item><title>bad date</title><link>https://x.example/2</link><pubDate>soon</pubDate></item></channel></rss>`}
	for range 2 {
		w.clock = w.clock.Add(24 * time.Hour)
		if err := w.Daily(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.articles()) != 1 {
		t.Errorf("%d articles", len(w.articles()))
	}
	letters, _ := w.Store.DeadLetters(ctx, info.Feed, 1000)
	if len(letters) != 300 || letters[0].Class != "refused" || letters[0].Error == "" {
		t.Errorf("%d letters, %+v", len(letters), letters[0])
	}
}

// Concurrent replays leave no duplicates and no letters.
func TestReplay_Concurrent(t *testing.T) {
	f := &sources.Feeds{URLs: []string{"https://a.example/rss"}}
	w := newWorld(t, f)
	if err := w.Store.Add(ctx, []store.Letter{{Source: info.Feed, Request: "https://a.example/rss",
		Class: "upstream_error", Error: "e"}}, w.clock); err != nil {
		t.Fatal(err)
	}
	w.pages["https://a.example/rss"] = page{
		body: "<rss><channel><item><title>t</title><link>https://x.example/</link><pubDate>Sat, 17 Jan 2026 " +
			"08:00:00 GMT</pubDate></item></channel></rss>"}
	var done [2]info.Replayed
	var running sync.WaitGroup
	for i := range done {
		running.Go(func() { done[i], _ = w.Replay(ctx, "") })
	}
	running.Wait()
	again, err := w.Replay(ctx, "")
	letters, _ := w.Store.DeadLetters(ctx, "", 10)
	if err != nil || again != (info.Replayed{}) || done[0].Inserted+done[1].Inserted != 1 || len(w.articles()) != 1 ||
		len(letters) != 0 {
		t.Errorf("%+v, then %+v %v; %d articles, %+v", done, again, err, len(w.articles()), letters)
	}
}

func TestDaily_Retention(t *testing.T) {
	w := newWorld(t, naver("x"))
	w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
	w.run(info.Naver)
	w.clock = w.clock.Add(364 * 24 * time.Hour)
	if err := w.Daily(ctx); err != nil || len(w.articles()) != 10 {
		t.Errorf("%v, %d articles", err, len(w.articles()))
	}
	w.clock = w.clock.Add(48 * time.Hour)
	if err := w.Daily(ctx); err != nil || len(w.articles()) != 0 {
		t.Errorf("%v, %d articles", err, len(w.articles()))
	}
}

// If others use the same key, the provider's count wins.
func TestQuotas_ProvidersCount(t *testing.T) {
	w := newWorld(t, newsData(200, 30, "a"))
	w.pages[newsDataURL] = page{body: fixture(t, "newsdata_empty.json"),
		header: http.Header{"X-Api-Limit-Remaining": {"0"}, "X-Ratelimit-Remaining": {"29"}}}
	w.run(info.NewsData)
	w.clock = w.clock.Add(time.Hour)
	if r := w.run(info.NewsData)[0]; r.Skipped != string(info.Spent) || w.times(newsDataURL) != 1 {
		t.Errorf("%+v after %d calls", r, w.times(newsDataURL))
	}
}

func TestCollect_CacheGone(t *testing.T) {
	w := newWorld(t, naver("x"))
	w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
	w.kv.Fail = func() error { return errors.New("KV is down") }
	if r := w.run(info.Naver)[0]; r.Error != "" || len(w.articles()) != 10 {
		t.Errorf("%+v", r)
	}
	w.kv.Fail = nil
	w.clock = w.clock.Add(5 * time.Minute)
	w.run(info.Naver) // nothing new, but the cache lacks earlier articles
	if answer, _ := w.Cache.Page(ctx, info.Query{Category: info.All, Limit: 50}); answer == nil ||
		len(answer.Items) != 10 {
		t.Errorf("%+v", answer)
	}
}

// extended counts calls of Extend.
type extended struct {
	cache.Cache
	n int
}

func (e *extended) Extend(ctx context.Context, now time.Time) error {
	e.n++
	return e.Cache.Extend(ctx, now)
}

// A collection whose database is away keeps what readers have in the cache.
func TestCollect_StoreGone(t *testing.T) {
	w := newWorld(t, naver("x"))
	e := &extended{Cache: w.Cache}
	w.Cache = e
	w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
	if w.run(info.Naver); e.n != 0 {
		t.Error("a cache that was refreshed is extended")
	}
	w.db.Fail = func() error { return errors.New("D1 is away") }
	if w.run(info.Naver); e.n != 1 {
		t.Errorf("extended %d times", e.n)
	}
}

// Beyond the number that is kept, the oldest articles are deleted.
func TestDaily_Number(t *testing.T) {
	w := newWorld(t, naver("x"))
	w.pages[naverURL] = page{body: fixture(t, "naver_page1_ok.json")}
	w.run(info.Naver)
	before := w.articles()
	for _, n := range []int{0, 11, 10, 6} {
		w.MaxArticles = n
		if err := w.Daily(ctx); err != nil {
			t.Fatal(err)
		}
		want := 10
		for n == 6 && before[want-1].PublishedAt.Before(before[n-1].PublishedAt) { // those of one minute go together
			want--
		}
		if got := w.articles(); len(got) != want || got[len(got)-1].ID != before[want-1].ID {
			t.Errorf("%d of %d are left", len(got), n)
		}
	}
}

// Articles older than the retention are not stored, day after day, and do not return after a takedown.
func TestCollect_TooOld(t *testing.T) {
	feed := "https://f.example/rss"
	w := newWorld(t, &sources.Feeds{URLs: []string{feed}})
	w.pages[feed] = page{kind: "application/rss+xml", body: `<rss version="2.0"><channel><title>F</title>
<item><title>Old</title><link>https://f.example/old</link><pubDate>Mon, 20 Jan 2025 00:00:00 +0000</pubDate></item>
<item><title>New</title><link>https://f.example/new</link><pubDate>Fri, 16 Jan 2026 00:00:00 +0000</pubDate></item></channel></rss>`}
	w.run("feed")
	old := w.articles()[1]
	if _, err := w.Store.(*store.Store).SetDeleted(ctx, old.ID, true); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(10 * 24 * time.Hour)
	if err := w.Daily(ctx); err != nil {
		t.Fatal(err)
	}
	r := w.run("feed")
	if list := w.articles(); len(list) != 1 || list[0].Title != "New" || r[0].Counts.Drops[info.TooOld] != 1 {
		t.Errorf("%+v %+v", list, r)
	}
}

// A cursor that the engine no longer knows is dropped, so that collecting starts over.
func TestCollect_UnknownCursor(t *testing.T) {
	w := newWorld(t, &sources.Seed{Endpoint: "https://engine.example"})
	const first, second = "https://engine.example/api/v1/feed?limit=200",
		"https://engine.example/api/v1/feed?cursor=c1&limit=200"
	w.pages[first] = page{body: `{"data":{"items":[],"next_cursor":"c1","has_more":false}}`}
	w.pages[second] = page{status: 400, body: `{"success":false,"error":{"code":"validation_error"}}`}
	for range 3 {
		w.run("seed")
	}
	if want := []string{first, second, first}; !slices.Equal(w.asked, want) {
		t.Errorf("asked %q, want %q", w.asked, want)
	}
}

// A feed's Retry-After is respected, without effect on other feeds.
func TestCollect_RestingFeed(t *testing.T) {
	const busy, other = "https://busy.example/rss", "https://other.example/rss"
	w := newWorld(t, &sources.Feeds{URLs: []string{busy, other}})
	w.pages[busy] = page{status: 429, header: http.Header{"Retry-After": {"3600"}}}
	w.pages[other] = page{kind: "application/rss+xml",
		body: `<rss version="2.0"><channel><title>O</title></channel></rss>`}
	for range 13 { // an hour
		w.run("feed")
		w.clock = w.clock.Add(5 * time.Minute)
	}
	if w.times(busy) != 2 || w.times(other) != 13 {
		t.Errorf("the one that wants rest was asked %d times, the other %d times", w.times(busy), w.times(other))
	}
}

// A feed's Retry-After is respected even if all feeds fail in one run.
func TestCollect_RestingFeedAmongFailures(t *testing.T) {
	const busy, broken = "https://busy.example/rss", "https://broken.example/rss"
	w := newWorld(t, &sources.Feeds{URLs: []string{busy, broken}})
	w.pages[busy] = page{status: 429, header: http.Header{"Retry-After": {"3600"}}}
	w.pages[broken] = page{status: 500}
	for range 12 { // 55 minutes
		w.run("feed")
		w.clock = w.clock.Add(5 * time.Minute)
	}
	if w.times(busy) != 1 || w.times(broken) < 3 {
		t.Errorf("the resting feed was asked %d times, the other %d times", w.times(busy), w.times(broken))
	}
	w.clock = w.clock.Add(time.Hour)
	if w.run("feed"); w.times(busy) != 2 {
		t.Errorf("after its rest the feed was asked %d times", w.times(busy))
	}
}

// Also if the provider, not our count, says so.
func TestReplay_SpentSource(t *testing.T) {
	w := newWorld(t, naver("x"))
	w.pages[naverURL] = page{status: 500}
	w.run(info.Naver)
	w.clock = w.clock.Add(5 * time.Minute)
	w.pages[naverURL] = page{status: 429, body: fixture(t, "naver_error_429_quota_010.json")}
	w.run(info.Naver)
	before := w.times(naverURL)
	if done, err := w.Replay(ctx, ""); err != nil || w.times(naverURL) != before || done.Failed != 0 {
		t.Errorf("%+v %v, %d calls", done, err, w.times(naverURL)-before)
	}
}

// Calls left before midnight do not count for the next day, in which the articles are stored.
func TestQuotas_ProvidersCountOfYesterday(t *testing.T) {
	w := newWorld(t, newsData(200, 30, "a"))
	w.clock = time.Date(2026, 1, 17, 23, 59, 50, 0, time.UTC)
	w.Now = func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.asked) > 1 { // pages, for thumbnails
			return w.clock.Add(time.Minute)
		}
		return w.clock
	}
	w.pages[newsDataURL] = page{body: fixture(t, "newsdata_page1_free.json"),
		header: http.Header{"X-Api-Limit-Remaining": {"0"}}}
	w.run(info.NewsData)
	if len(w.asked) < 2 {
		t.Fatal("no page was asked for a thumbnail")
	}
	w.clock = w.clock.Add(time.Hour)
	if r := w.run(info.NewsData)[0]; r.Skipped != "" || r.Counts.Calls != 1 {
		t.Errorf("%+v", r)
	}
}

// A refresh during another one, which might have read older articles, waits for its end, and reports if that does
// not come.
func TestRefresh_AfterAnother(t *testing.T) {
	w := newWorld(t)
	a := infotest.Article(info.Feed, 1, w.clock)
	if _, err := w.Store.Upsert(ctx, []store.New{{Article: a}}); err != nil {
		t.Fatal(err)
	}
	before, err := w.Store.Page(ctx, info.Query{Category: info.All, Limit: cache.Size})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.(*store.Store).SetDeleted(ctx, a.ID, true); err != nil {
		t.Fatal(err)
	}
	if ok, err := w.Store.Acquire(ctx, "refresh", "another", time.Minute); err != nil || !ok {
		t.Fatal(ok, err)
	}
	waits := 0
	w.Sleep = func(context.Context, time.Duration) error {
		if waits++; waits == 3 { // the other one ends
			if err := w.Cache.Refresh(ctx,
				[]cache.Feed{{Category: info.All, Articles: before.Articles, Complete: true}},
				w.clock); err != nil {
				t.Fatal(err)
			}
			if err := w.Store.Release(ctx, "refresh", "another"); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	}
	if done, err := w.Refresh(ctx); err != nil || !done || waits != 3 {
		t.Errorf("refreshed %v after %d waits, %v", done, waits, err)
	}
	if shown, err := w.Cache.Page(ctx, info.Query{Category: info.All, Limit: 10}); err != nil || shown == nil ||
		len(shown.Items) > 0 {
		t.Errorf("the article that was taken down is shown: %+v, %v", shown, err)
	}

	if ok, err := w.Store.Acquire(ctx, "refresh", "another", time.Minute); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if done, err := w.Refresh(ctx); err != nil || done || waits > 15 {
		t.Errorf("refreshed %v after %d waits, %v", done, waits, err)
	}
}

// Silent and endless providers cost only their time limit: other sources, and other answers of the same source, are
// collected. Feeds beyond the time are not always the same.
func TestCollect_SlowUpstreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var urls []string
		// So many that each run reaches one: after a run in which all feeds failed the source rests.
		good := []int{0, 13, 27, 41, 55, 69, 70, 84, 98, 112, 126, 139}
		for i := range 140 {
			urls = append(urls, fmt.Sprintf("https://%d.example/rss", i))
		}
		w := newWorld(t, naver("a", "b"), &sources.Feeds{URLs: urls},
			&sources.Seed{Endpoint: "https://engine.example"})
		w.pages[naverURL] = page{endless: true}
		w.pages["https://engine.example/api/v1/feed"] = page{
			body: `{"data":{"items":[{"type":"news","url":"https://seed.example/1","title":"Solar",` +
				`"lastmod":"2026-01-17T09:00:00Z"}],"next_cursor":"1","has_more":false}}`}
		for i, url := range urls {
			w.pages[url] = page{silent: i%2 == 0, endless: i%2 == 1}
		}
		for _, i := range good {
			w.pages[urls[i]] = page{body: fmt.Sprintf(
				`<rss><channel><item><title>x</title><link>https://%d.example/a</link><pubDate>Sat, 17 Jan 2026 `+
					`09:00:00 GMT</pubDate></item></channel></rss>`, i)}
		}
		found := map[string]bool{}
		for run := 1; len(found) < 1+len(good); run++ {
			began := time.Now()
			reports := w.run(info.Naver, info.Feed, info.Seed)
			if took := time.Since(began); took > 11*time.Minute {
				t.Errorf("a run took %v", took) // the platform's limit is 13 minutes
			}
			if run == 1 && (reports[0].Error == "" || reports[1].Error != "" || reports[2].Counts.Inserted != 1) {
				t.Errorf("%+v", reports)
			}
			for _, a := range w.articles() {
				found[a.ID] = true
			}
			if run == 20 {
				t.Fatalf("after 20 runs %d of %d articles are there", len(found), 1+len(good))
			}
			if ok, err := w.Store.Acquire(ctx, "collect:feed", "another", time.Millisecond); err != nil || !ok {
				t.Fatalf("the lease was not freed: %v, %v", ok, err)
			}
			if err := w.Store.Release(ctx, "collect:feed", "another"); err != nil {
				t.Fatal(err)
			}
		}

		// Their dead letters do not delay pruning.
		old := infotest.Article(info.Feed, 1, w.clock.Add(-w.Retention-time.Hour))
		if _, err := w.Store.Upsert(ctx, []store.New{{Article: old}}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := w.Daily(ctx); err != nil || time.Since(began) > 11*time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if known, err := w.Store.Known(ctx, []string{old.Key}); err != nil || len(known) > 0 {
			t.Errorf("an article that is too old is still there: %v", err)
		}
	})
}
