package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/service"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

// infoService is both Workers of the Info service on twins, at a fixed time.
type infoService struct {
	pages     map[string]string // answers of the web by URL; others are 404
	collector *service.Collector
	fail      atomic.Bool // the database
}

// stopped is a database whose clock stands.
type stopped struct {
	*sqlite.DB
	now time.Time
}

func (s stopped) Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	list := make([]ledger.Statement, len(statements))
	for i, one := range statements {
		list[i] = ledger.Statement{SQL: strings.ReplaceAll(one.SQL, "unixepoch('subsec')",
			strconv.FormatInt(s.now.Unix(), 10)), Args: one.Args}
	}
	return s.DB.Batch(ctx, list)
}

// Do implements fetch.Transport.
func (s *infoService) Do(_ context.Context, r *fetch.Request) (*fetch.Response, error) {
	url, _, _ := strings.Cut(r.URL, "?")
	body, ok := s.pages[url]
	status := http.StatusOK
	if !ok {
		status = http.StatusNotFound
	}
	return &fetch.Response{Status: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// newInfoService starts both, and lets seedctl find them in the environment.
func newInfoService(t *testing.T) *infoService {
	t.Helper()
	db, err := sqlite.OpenWith(store.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s := &infoService{pages: map[string]string{
		"https://openapi.naver.com/v1/search/news.json": `{"items":[
{"title":"<b>태양광</b> 발전 역대 최대","originallink":"https://press.example/1","link":"https://n.news.naver.com/1","description":"지난달 태양광 발전량","pubDate":"Wed, 28 Jan 2026 20:41:00 +0900"},
{"title":"분리배출 기준 개편","originallink":"https://press.example/2","link":"https://n.news.naver.com/2","description":"환경부가 재활용 분리배출 기준을 고친다","pubDate":"Wed, 28 Jan 2026 20:15:00 +0900"}]}`,
		"https://press.example/1": `<meta property="og:image" content="https://press.example/1.jpg">`,
	}}
	db.Fail = func() error {
		if s.fail.Load() {
			return errors.New("D1 is away")
		}
		return nil
	}
	noon := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	var waited atomic.Int64 // between two requests to a host
	vars := map[string]string{
		"NAVER_CLIENT_ID": "i", "NAVER_CLIENT_SECRET": "s", "NAVER_QUERIES": "a", "FEEDS": "https://feeds.example/rss",
		"API_TOKEN": token,
	}
	p := service.Platform{
		Bound: func(name string) bool { return name == "INFO_DB" || name == "INFO_CACHE" }, D1: stopped{db, noon},
		KV:        &cache.Memory{},
		Transport: s, Webhook: func(string) alarms.Webhook { return nil },
		Variable: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Local:    func() bool { return false }, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return noon.Add(time.Duration(waited.Load())) },
		Sleep: func(_ context.Context, d time.Duration) error {
			waited.Add(int64(d))
			return nil
		},
		Extend: func(time.Duration) {},
	}
	s.collector = service.NewCollector(p)
	for variable, h := range map[string]http.Handler{"INFO_COLLECTOR_URL": s.collector,
		"INFO_API_URL": service.NewAPI(p)} {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		t.Setenv(variable, server.URL)
	}
	t.Setenv("INFO_COLLECTOR_TOKEN", token)
	return s
}

func TestInfo(t *testing.T) {
	s := newInfoService(t)
	expect := func(line string, code int, wants ...string) string {
		t.Helper()
		got, out, errOut := seedctl("", words(line)...)
		if got != code {
			t.Errorf("%s: exit code %d, not %d: %s%s", line, got, code, out, errOut)
		}
		for _, want := range wants {
			if !strings.Contains(out+errOut, want) {
				t.Errorf("%s: lacks %q: %s%s", line, want, out, errOut)
			}
		}
		return out
	}
	expect("info status", exitOK, "newsdata  off", "cache    has every change")
	expect("info collect", exitFailed, "naver   1      2         2    0        1", "feed: refused, status 404")
	expect("info collect feed", exitOK, "skipped: refused, rests until 20") // it rests
	expect("info collect newsdata", exitFailed, "newsdata is off")
	expect("info collect radio", exitUsage, `"radio" is no source`)
	for line := range strings.Lines(expect("info collect naver --json", exitOK)) {
		var r info.Report
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Source != "naver" || r.Counts.Calls != 1 {
			t.Errorf("%s: %v", line, err)
		}
	}
	expect("info status", exitOK, "2 of 25000 (day)", "error    feed: refused, status 404\n", "DEAD LETTERS")
	var status info.Status
	if err := json.Unmarshal([]byte(expect("info status --json", exitOK)), &status); err != nil ||
		len(status.Sources) != 4 || status.Sources[2].DeadLetters != 1 {
		t.Errorf("%+v %v", status, err)
	}
	for range 2 { // the crons after it
		_ = s.collector.Cron(t.Context(), "*/5 * * * *")
	}
	expect("info articles", exitOK, "2026-01-28 11:41:00  energy", "태양광 발전 역대 최대", "https://press.example/1")
	expect("info articles --category environment --source naver --q 재활용", exitOK, "분리배출")
	expect("info articles --has-image --json", exitOK, `"thumbnail_url":"https://press.example/1.jpg"`)
	if out := expect("info articles --has-image --json", exitOK); strings.Count(out, "\n") != 1 {
		t.Errorf("%s", out)
	}
	expect("info articles --category sports", exitFailed, "Invalid category", "INVALID_CATEGORY")
	expect("info articles now", exitUsage, `unexpected argument "now"`)
	expect("info articles --limit -1", exitUsage, "--limit must not be below 0")
	expect("info status", exitOK, "FEED  ",
		"https://feeds.example/rss  -          0      2026-01-28 12:00:00  feed: refused",
		"size     d1 has 0 of 10000 MB")
	expect("info remove http://www.press.example/2/?utm_source=x", exitOK, "taken down: 분리배출 기준 개편 (naver_")
	expect("info remove https://press.example/2 --json", exitOK, `"is_deleted":true`) // again
	if out := expect("info articles", exitOK); strings.Contains(out, "분리배출") {
		t.Errorf("an article that was taken down is listed: %s", out)
	}
	expect("info remove https://press.example/9", exitFailed, "there is no article https://press.example/9")
	expect("info remove naver_0123456789ab", exitFailed, "there is no article")
	expect("info remove 분리배출", exitUsage, "neither a URL nor an id")
	expect("info restore https://press.example/2", exitOK, "restored: ")
	expect("info articles", exitOK, "분리배출")
	expect("info forget", exitUsage, `seedctl info: no command "forget"`)
	expect("info status --url http://info.example", exitUsage, "unencrypted", "INFO_COLLECTOR_URL")

	t.Setenv("INFO_COLLECTOR_TOKEN", "wrong")
	expect("info status", exitDenied, "does not accept the token from INFO_COLLECTOR_TOKEN")
	expect("info articles --limit 1", exitOK, "there are more") // needs none
	t.Setenv("INFO_COLLECTOR_TOKEN", token)
	s.fail.Store(true)
	expect("info status", exitUnreachable, "the database failed", "trying again")
}

// TestInfo_ArticlesByCursor: pages of the API's size, without gap or duplicate, until the end.
func TestInfo_ArticlesByCursor(t *testing.T) {
	s := newInfoService(t)
	var items strings.Builder
	for i := range 130 {
		fmt.Fprintf(&items, "<item><title>N%03d</title><link>https://press.example/n/%d</link><pubDate>Wed, 28 Jan "+
			"2026 %02d:00:00 GMT</pubDate></item>", i, i, i/13)
	}
	s.pages["https://feeds.example/rss"] = "<rss><channel><title>P</title>" + items.String() + "</channel></rss>"
	if code, out, errOut := seedctl("", "info", "collect", "feed"); code != exitOK {
		t.Fatal(out, errOut)
	}
	for _, c := range []struct {
		limit string
		want  int
	}{{"0", 130}, {"120", 120}, {"50", 50}, {"7", 7}} {
		_, out, _ := seedctl("", "info", "articles", "--json", "--limit", c.limit)
		seen := map[string]bool{}
		for line := range strings.Lines(out) {
			var a info.Public
			if err := json.Unmarshal([]byte(line), &a); err != nil {
				t.Fatal(err)
			}
			seen[a.ID] = true
		}
		if len(seen) != c.want || strings.Count(out, "\n") != c.want {
			t.Errorf("--limit %s: %d articles in %d lines", c.limit, len(seen), strings.Count(out, "\n"))
		}
	}
}

// TestInfo_NotAnEngine: what answers otherwise is named as what it is not.
func TestInfo_NotAnEngine(t *testing.T) {
	e := newEngine(t)
	for line, want := range map[string]string{
		"info status": "otherwise than the Info service's collector; --url or INFO_COLLECTOR_URL says where " +
			"the collector is",
		"info articles": "INFO_API_URL says where the Info service is",
	} {
		e.before = func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>hello")
			return true
		}
		code, _, errOut := seedctl("", append(words(line), "--url", e.URL)...)
		if code != exitUnreachable || !strings.Contains(errOut, want) {
			t.Errorf("%s: %d %s", line, code, errOut)
		}
	}
}
