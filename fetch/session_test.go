package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

var epoch = time.Date(2026, 1, 28, 15, 0, 0, 0, time.UTC)

// config returns the documented defaults.
func config() fetch.Config {
	return fetch.Config{
		UserAgent:     "NewsforkBot/1.0 (+https://newsfork.com/bot)",
		Interval:      time.Second,
		MaxCrawlDelay: 30 * time.Second,
		MaxRequests:   20,
		MaxRedirects:  5,
		Retries:       3,
		RetryBase:     time.Second,
		Deadline:      2 * time.Minute,
		MaxWall:       10 * time.Minute,
	}
}

// world is a session with a fake web and clock.
type world struct {
	*fetchtest.Web
	clock   *fetchtest.Clock
	limiter *fetch.Limiter
	session *fetch.Session
}

func newWorld(pages map[string]fetchtest.Page, change ...func(*fetch.Config)) *world {
	cfg := config()
	for _, f := range change {
		f(&cfg)
	}
	clock := fetchtest.NewClock(epoch)
	w := &world{Web: &fetchtest.Web{Clock: clock, Pages: pages}, clock: clock,
		limiter: fetch.NewLimiter(fetch.MaxConnections)}
	w.session = fetch.NewSession(cfg, w.Web, clock, w.limiter)
	return w
}

func (w *world) fetch(t *testing.T, url string) *fetch.Answer {
	t.Helper()
	a, err := w.session.Fetch(t.Context(), fetch.Target{URL: url, Timeout: 10 * time.Second, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// starts returns the times of the visits in seconds since the session began.
func (w *world) starts() []float64 {
	var s []float64
	for _, v := range w.Visits() {
		s = append(s, v.Start.Sub(epoch).Round(10*time.Millisecond).Seconds())
	}
	return s
}

// closest returns the shortest time between the end of a visit to a host and the start of the next one.
func closest(visits []fetchtest.Visit) time.Duration {
	shortest := time.Duration(1 << 62)
	last := map[string]time.Time{}
	for _, v := range visits {
		if end, ok := last[v.Host]; ok {
			shortest = min(shortest, v.Start.Sub(end))
		}
		last[v.Host] = v.End
		if v.End.IsZero() { // still open
			last[v.Host] = v.Start.Add(1 << 60)
		}
	}
	return shortest
}

func TestRequest(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://herald.example/a": {Body: "hello",
		Header: map[string]string{"ETag": `"1"`}, Latency: 200 * time.Millisecond}})
	a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "HTTPS://Herald.Example:443/a#b", Accept: "text/plain",
		IfNoneMatch: `"0"`, IfModifiedSince: "Wed, 28 Jan 2026 15:00:00 GMT", Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(a.Body)
	if err != nil || string(body) != "hello" || a.Body.Size() != 5 || a.Body.Truncated() {
		t.Errorf("body %q, size %d, truncated %v, %v", body, a.Body.Size(), a.Body.Truncated(), err)
	}
	if a.URL != "https://herald.example/a" || a.Status != 200 || a.Header.Get("Etag") != `"1"` || a.Requests != 1 ||
		a.Elapsed != 200*time.Millisecond || len(a.Hops) != 0 {
		t.Errorf("answer %+v", a)
	}
	v := w.Visits()[0]
	want := http.Header{"User-Agent": {"NewsforkBot/1.0 (+https://newsfork.com/bot)"}, "Accept": {"text/plain"},
		"If-None-Match": {`"0"`}, "If-Modified-Since": {"Wed, 28 Jan 2026 15:00:00 GMT"}}
	if v.Method != "GET" || !reflect.DeepEqual(v.Header, want) || v.Timeout != 3*time.Second {
		t.Errorf("visit %+v", v)
	}
}

// TestResponse_OddStatus: some sites refuse crawlers with a status that HTTP does not have.
func TestResponse_OddStatus(t *testing.T) {
	pages := map[string]fetchtest.Page{}
	for status, want := range map[int]int{999: 500, 600: 500, 42: 500, 599: 599, 100: 100, 451: 451} {
		url := fmt.Sprintf("https://herald.example/%d", status)
		pages[url] = fetchtest.Page{Status: status}
		w := newWorld(pages)
		a, _ := w.session.Fetch(t.Context(), fetch.Target{URL: url, Once: true, Timeout: time.Second})
		if a.Status != want {
			t.Errorf("%d is %d, want %d", status, a.Status, want)
		}
	}
}

func TestRequest_NoCookies(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{
		"https://herald.example/": {Header: map[string]string{"Set-Cookie": "a=b"}}})
	w.fetch(t, "https://herald.example/")
	w.fetch(t, "https://herald.example/")
	for _, v := range w.Visits() {
		if v.Header.Get("Cookie") != "" {
			t.Errorf("a cookie was sent: %v", v.Header)
		}
	}
}

func TestResponse_WithoutBody(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		status int
	}{"HEAD": {"HEAD", 200}, "204": {"GET", 204}, "304": {"GET", 304}} {
		w := newWorld(map[string]fetchtest.Page{"https://herald.example/": {Status: c.status, Body: "never read"}})
		a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://herald.example/", Method: c.method})
		if err != nil || a.Status != c.status {
			t.Fatalf("%s: %+v, %v", name, a, err)
		}
		if w.Visits()[0].End.IsZero() {
			t.Errorf("%s: the host is still occupied", name)
		}
		if b, err := io.ReadAll(a.Body); len(b) != 0 || err != nil {
			t.Errorf("%s: body %q, %v", name, b, err)
		}
	}
}

func TestInterval(t *testing.T) {
	slow := fetchtest.Page{Body: "x", Latency: 300 * time.Millisecond, Reading: 400 * time.Millisecond}
	pages := map[string]fetchtest.Page{"https://a.example/": slow, "https://a.example/2": slow,
		"https://b.example/": slow}

	w := newWorld(pages)
	w.fetch(t, "https://a.example/")
	w.fetch(t, "https://a.example/2") // 1 s after the end of the first
	w.fetch(t, "https://b.example/")  // another host: at once
	w.fetch(t, "https://a.example/")  // what is left of the second: 0.3 s
	if got, want := w.starts(), []float64{0, 1.7, 2.4, 3.4}; !reflect.DeepEqual(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
	if d := closest(w.Visits()); d < time.Second {
		t.Errorf("pause %v", d)
	}
	st := w.session.Stats()
	if st.Requests != 4 || st.Answered != 4 || st.AvgResponseTime != 300*time.Millisecond {
		t.Errorf("stats %+v", st)
	}
	if wait := st.PolitenessWait.Round(10 * time.Millisecond); wait != 1300*time.Millisecond ||
		st.Elapsed-st.PolitenessWait != 4*700*time.Millisecond {
		t.Errorf("stats %+v", st)
	}
	if ready := w.limiter.ReadyAt(time.Second, all).Sub(w.clock.Now()); ready < time.Second ||
		ready > 1010*time.Millisecond {
		t.Errorf("ready in %v", ready)
	}

	w = newWorld(pages, func(c *fetch.Config) { c.Interval = 0 })
	w.fetch(t, "https://a.example/")
	w.fetch(t, "https://a.example/2")
	if got, want := w.starts(), []float64{0, .7}; !reflect.DeepEqual(got, want) ||
		w.session.Stats().PolitenessWait != 0 {
		t.Errorf("without an interval: starts %v, want %v", got, want)
	}
}

// The interval is kept even if the clock is up to a millisecond late.
func TestInterval_CoarseClock(t *testing.T) {
	fine := fetchtest.NewClock(epoch.Add(900 * time.Microsecond))
	web := &fetchtest.Web{Clock: fine,
		Pages: map[string]fetchtest.Page{"https://a.example/": {Latency: 10500 * time.Microsecond}}}
	s := fetch.NewSession(config(), web, coarse{fine}, fetch.NewLimiter(2))
	for range 5 {
		if _, err := s.Fetch(t.Context(), fetch.Target{URL: "https://a.example/", Whole: true}); err != nil {
			t.Fatal(err)
		}
		fine.Sleep(t.Context(), 700*time.Microsecond) // from one grain of the clock into the next
	}
	if d := closest(web.Visits()); d < time.Second {
		t.Errorf("pause %v", d)
	}
}

type coarse struct{ fetch.Clock }

func (c coarse) Now() time.Time { return c.Clock.Now().Truncate(time.Millisecond) }

func all(string) bool { return true }

func TestCrawlDelay(t *testing.T) {
	pages := map[string]fetchtest.Page{"https://a.example/": {}, "https://b.example/": {}}
	for _, c := range []struct {
		delay time.Duration
		want  float64
	}{{5 * time.Second, 5}, {100 * time.Millisecond, 1}, {30 * time.Second, 30}} {
		w := newWorld(pages)
		w.fetch(t, "https://a.example/")
		w.session.SetRobots("a.example", c.delay, epoch)
		w.session.SetRobots("a.example", 0, epoch) // never shortens
		w.fetch(t, "https://a.example/")
		w.fetch(t, "https://b.example/")
		w.fetch(t, "https://b.example/") // no other host is slower for it
		if got, want := w.starts(), []float64{0, c.want, c.want, c.want + 1}; !reflect.DeepEqual(got, want) {
			t.Errorf("%v: starts %v, want %v", c.delay, got, want)
		}
	}
}

// A delay above the limit is neither shortened nor waited for. After it has passed, the host may be fetched from.
func TestCrawlDelay_Long(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": {}, "https://b.example/": {}})
	ask := func(link string) error {
		_, err := w.session.Fetch(t.Context(), fetch.Target{URL: link, Whole: true})
		return err
	}
	w.session.SetRobots("a.example", time.Minute, epoch)
	w.fetch(t, "https://a.example/")
	if err := ask("https://a.example/"); !errors.Is(err, fetch.ErrCrawlDelay) ||
		contract.KindOf(err) != contract.Timeout {
		t.Errorf("before it has passed: %v", err)
	}
	w.fetch(t, "https://b.example/")
	if err := w.clock.Sleep(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := ask("https://a.example/"); !errors.Is(err, fetch.ErrCrawlDelay) {
		t.Errorf("a tick too early: %v", err)
	}
	if err := w.clock.Sleep(t.Context(), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	w.fetch(t, "https://a.example/")
	if got, want := w.starts(), []float64{0, 0, 60}; !reflect.DeepEqual(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
}

func TestRetries(t *testing.T) {
	bad := map[string]fetchtest.Page{
		"refused": fetchtest.Fail(fetch.ErrConnRefused),
		"reset":   fetchtest.Fail(fetch.ErrReset),
		"dns":     fetchtest.Fail(fetch.ErrNotResolved),
		"500":     {Status: 500},
		"503":     {Status: 503},
		"cut":     {Body: "some", Cut: fetch.Failure(fetch.ErrReset, nil)},
	}
	for name, p := range bad {
		t.Run(name, func(t *testing.T) {
			w := newWorld(map[string]fetchtest.Page{"https://a.example/": {Body: "good"}},
				func(c *fetch.Config) { c.Interval = 0 })
			w.Serve = func(_ *fetch.Request, nth int) (fetchtest.Page, bool) { return p, nth < 3 }
			a := w.fetch(t, "https://a.example/")
			if a.Status != 200 || string(a.Content) != "good" || a.Requests != 4 {
				t.Errorf("answer %+v", a)
			}
			if got, want := w.starts(), []float64{0, 1, 3, 7}; !reflect.DeepEqual(got, want) {
				t.Errorf("starts %v, want %v", got, want)
			}
		})
		t.Run(name+" for ever", func(t *testing.T) {
			w := newWorld(map[string]fetchtest.Page{"https://a.example/": p})
			a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/", Whole: true})
			if err != nil && (a.Content != nil || a.Body.Size() != 0) {
				t.Errorf("content %q beside an error", a.Content)
			}
			if a.Requests != 4 || a.Status != map[string]int{"500": 500, "503": 503, "cut": 200}[name] {
				t.Errorf("answer %+v", a)
			}
			if wantErr := p.Status == 0; (err != nil) != wantErr || wantErr &&
				contract.KindOf(err) != contract.Network {
				t.Errorf("error %v", err)
			}
			if err != nil && !strings.HasPrefix(err.(*contract.Error).Message, "https://a.example/: the ") {
				t.Errorf("message %q", err.(*contract.Error).Message)
			}
		})
		t.Run(name+" once", func(t *testing.T) {
			w := newWorld(map[string]fetchtest.Page{"https://a.example/": p})
			a, _ := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/", Whole: true, Once: true})
			if a.Requests != 1 {
				t.Errorf("answer %+v", a)
			}
		})
	}
}

func TestRetries_Timeout(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": fetchtest.Hang()},
		func(c *fetch.Config) { c.Interval = 0 })
	a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/", Timeout: 5 * time.Second})
	if contract.KindOf(err) != contract.Timeout || errors.Is(err, fetch.ErrDeadline) || a.Status != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if got, want := w.starts(), []float64{0, 6, 13, 22}; !reflect.DeepEqual(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
}

func TestRetries_None(t *testing.T) {
	for _, status := range []int{200, 204, 304, 400, 401, 403, 404, 410, 429, 451} {
		w := newWorld(map[string]fetchtest.Page{"https://a.example/": {Status: status}})
		if a := w.fetch(t, "https://a.example/"); a.Status != status || a.Requests != 1 {
			t.Errorf("%d: %+v", status, a)
		}
	}
}

func TestRetryAfter_Waits(t *testing.T) {
	busy := func(status int, after string) fetchtest.Page {
		return fetchtest.Page{Status: status, Header: map[string]string{"Retry-After": after}}
	}
	for name, c := range map[string]struct {
		page fetchtest.Page
		want []float64
	}{
		"429 in seconds":       {busy(429, "20"), []float64{0, 20}},
		"503 in seconds":       {busy(503, "20"), []float64{0, 20}},
		"503 as a date":        {busy(503, "Wed, 28 Jan 2026 15:00:30 GMT"), []float64{0, 30}},
		"sooner than back-off": {busy(503, "0"), []float64{0, 1}},
		"429 now":              {busy(429, "0"), []float64{0, 1}},
		"500 has none":         {busy(500, "20"), []float64{0, 1}},
		"no date, no number":   {busy(503, "soon"), []float64{0, 1}},
		"over the deadline":    {busy(503, "130"), []float64{0}},
		"429 over it":          {busy(429, "130"), []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(map[string]fetchtest.Page{"https://a.example/": {}},
				func(c *fetch.Config) { c.Interval = 0 })
			c.page.Body = "busy"
			w.Serve = func(_ *fetch.Request, nth int) (fetchtest.Page, bool) { return c.page, nth == 0 }
			a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
			if body, err := io.ReadAll(a.Body); len(c.want) == 1 && (string(body) != "busy" || err != nil) {
				t.Errorf("body %q, %v", body, err)
			}
			if got := w.starts(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("starts %v, want %v", got, c.want)
			}
			if len(c.want) == 2 && (err != nil || a.Status != 200) {
				t.Errorf("%+v, %v", a, err)
			}
			if len(c.want) == 1 {
				if a.Status != c.page.Status || err != nil {
					t.Errorf("%+v, %v", a, err)
				}
				// Retry-After exceeds the remaining time, so the host gets no request.
				for range 2 { // the refusal must not occupy the host
					if _, err := w.session.Fetch(t.Context(),
						fetch.Target{URL: "https://a.example/other"}); !errors.Is(err, fetch.ErrDeadline) {
						t.Errorf("asked again: %v", err)
					}
				}
				if len(w.Visits()) != 1 || w.clock.Now() != epoch {
					t.Errorf("visits %v, waited %v", w.URLs(), w.clock.Now().Sub(epoch))
				}
			}
		})
	}
}

// A Retry-After applies to the whole host, even if nothing is retried.
func TestRetryAfter_WholeHost(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{
		"https://a.example/1": {Status: 429, Header: map[string]string{"Retry-After": "15"}},
		"https://a.example/2": {}, "https://b.example/": {},
	})
	if _, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/1", Once: true}); err != nil {
		t.Fatal(err)
	}
	if ready := w.limiter.ReadyAt(time.Second, all).Sub(epoch); ready != 15*time.Second {
		t.Errorf("ready at %v", ready)
	}
	w.fetch(t, "https://b.example/")
	w.fetch(t, "https://a.example/2")
	if got, want := w.starts(), []float64{0, 0, 15}; !reflect.DeepEqual(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
}

func TestBudget(t *testing.T) {
	pages := map[string]fetchtest.Page{
		"https://a.example/":    {},
		"https://a.example/r":   fetchtest.Redirect(301, "/r2"),
		"https://a.example/r2":  {},
		"https://a.example/500": {Status: 500},
	}
	three := func(c *fetch.Config) { c.MaxRequests = 3 }

	w := newWorld(pages, three)
	w.fetch(t, "https://a.example/r") // two of them
	w.fetch(t, "https://a.example/")
	a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
	if !errors.Is(err, fetch.ErrBudget) || contract.KindOf(err) != contract.Validation || a.Status != 0 ||
		len(w.Visits()) != 3 {
		t.Errorf("%+v, %v; visits %v", a, err, w.URLs())
	}

	w = newWorld(pages, three) // retries count, and the last answer stands
	if a := w.fetch(t, "https://a.example/500"); a.Status != 500 || a.Requests != 3 || w.starts()[2] != 3 {
		t.Errorf("%+v at %v", a, w.starts())
	}

	w = newWorld(pages, three) // no budget for the second half of a redirect
	w.fetch(t, "https://a.example/")
	w.fetch(t, "https://a.example/")
	a, err = w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/r"})
	if !errors.Is(err, fetch.ErrBudget) || a.Status != 301 || len(a.Hops) != 1 || a.URL != "https://a.example/r2" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestRedirects(t *testing.T) {
	chain := func(n int) map[string]fetchtest.Page {
		pages := map[string]fetchtest.Page{}
		for i := range n {
			pages[fmt.Sprintf("https://h%d.example/%d", i%2, i)] = fetchtest.Redirect(301,
				fmt.Sprintf("https://h%d.example/%d", (i+1)%2, i+1))
		}
		pages[fmt.Sprintf("https://h%d.example/%d", n%2, n)] = fetchtest.Page{Body: "end"}
		return pages
	}
	w := newWorld(chain(5))
	a := w.fetch(t, "https://h0.example/0")
	if string(a.Content) != "end" || a.URL != "https://h1.example/5" || len(a.Hops) != 5 ||
		a.Hops[4] != (fetch.Hop{URL: "https://h0.example/4", Status: 301}) {
		t.Errorf("%+v", a)
	}
	if d := closest(w.Visits()); d < time.Second {
		t.Errorf("pause across redirects: %v", d)
	}

	w = newWorld(chain(6))
	a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://h0.example/0"})
	if !errors.Is(err, fetch.ErrRedirects) || contract.KindOf(err) != contract.Network || a.Status != 301 ||
		len(w.Visits()) != 6 {
		t.Errorf("six redirects: %+v, %v", a, err)
	}

	for name, pages := range map[string]map[string]fetchtest.Page{
		"itself": {"https://a.example/": fetchtest.Redirect(302, "/#again")},
		"there and back": {"https://a.example/": fetchtest.Redirect(302, "http://b.example"),
			"http://b.example/": fetchtest.Redirect(302, "https://a.example")},
	} {
		w = newWorld(pages)
		a, err = w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
		if !errors.Is(err, fetch.ErrRedirects) || a.Status != 302 || len(w.Visits()) != len(pages) {
			t.Errorf("%s: %+v, %v; visits %v", name, a, err, w.URLs())
		}
	}

	for _, status := range []int{300, 301, 302, 303, 304, 305, 307, 308} {
		w = newWorld(map[string]fetchtest.Page{"https://a.example/": {Status: status}})
		if a := w.fetch(t, "https://a.example/"); a.Status != status {
			t.Errorf("%d without Location: %+v", status, a)
		}
		w = newWorld(map[string]fetchtest.Page{"https://a.example/": fetchtest.Redirect(status, "/b"),
			"https://a.example/b": {}})
		follows := !slices.Contains([]int{300, 304, 305}, status)
		if a := w.fetch(t, "https://a.example/"); (a.Status == 200) != follows {
			t.Errorf("%d: %+v", status, a)
		}
	}
}

// The limit of retries applies to a whole Fetch, not to each hop.
func TestRetries_AcrossRedirects(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": fetchtest.Redirect(301, "/b"),
		"https://a.example/b": {Status: 502}})
	w.Serve = func(r *fetch.Request, nth int) (fetchtest.Page, bool) {
		return fetchtest.Fail(fetch.ErrReset), strings.HasSuffix(r.URL, ".example/") && nth < 2
	}
	a := w.fetch(t, "https://a.example/")
	if a.Status != 502 || a.Requests != 3+2 {
		t.Errorf("%+v; visits %v", a, w.URLs())
	}
}

func TestGuard_EveryHop(t *testing.T) {
	for _, target := range []string{
		"http://169.254.169.254/latest/meta-data/", "//169.254.169.254/", "http://localhost/",
		"http://localhost.localdomain/", "http://[::1]/", "//[fe80::1%25eth0]/",
		"ftp://a.example/", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "http://u:p@b.example/",
		"https://b.example:8443/", "http://0x7f.1/",
		"http://2130706433/", "http://metadata.google.internal/", "http://printer.local/", "http://intranet/",
		"http://co.kr/", "http://a.example\\@10.0.0.1/", "http://",
	} {
		w := newWorld(map[string]fetchtest.Page{"https://a.example/": fetchtest.Redirect(302, target)})
		a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
		if !errors.Is(err, fetch.ErrUnsafe) || contract.KindOf(err) != contract.Validation || a.Status != 302 ||
			len(a.Hops) != 1 {
			t.Errorf("%s: %+v, %v", target, a, err)
		}
		if len(w.Visits()) != 1 {
			t.Errorf("%s: visits %v", target, w.URLs())
		}
		if a, err := newWorld(nil).session.Fetch(t.Context(), fetch.Target{URL: target}); !errors.Is(err,
			fetch.ErrUnsafe) || a.Status != 0 {
			t.Errorf("%s at first: %+v, %v", target, a, err)
		}
	}
}

func TestRules(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{
		"https://a.example/ok":      {},
		"https://b.example/to-a":    fetchtest.Redirect(301, "https://a.example/private/x?y"),
		"https://a.example/private": {},
	})
	w.session.SetRules("https://a.example", func(url string) bool {
		return !strings.HasPrefix(url,
			"https://a.example/private")
	})
	w.fetch(t, "https://a.example/ok")
	for _, url := range []string{"https://a.example/private", "https://b.example/to-a",
		"https://a.example/ok/../private", "https://a.example/ok/%2e%2E/private"} {
		a, err := w.session.Fetch(t.Context(), fetch.Target{URL: url})
		if !errors.Is(err, fetch.ErrDisallowed) || contract.KindOf(err) != contract.Validation {
			t.Errorf("%s: %+v, %v", url, a, err)
		}
	}
	if got, want := w.URLs(), []string{"https://a.example/ok", "https://b.example/to-a"}; !reflect.DeepEqual(got,
		want) {
		t.Errorf("visits %v, want %v", got, want)
	}
}

func TestDeadline(t *testing.T) {
	pages := map[string]fetchtest.Page{"https://a.example/": {Latency: 4 * time.Second},
		"https://a.example/hang": fetchtest.Hang()}
	ten := func(c *fetch.Config) { c.Deadline = 10 * time.Second; c.Interval = 20 * time.Second }

	w := newWorld(pages, ten)
	w.fetch(t, "https://a.example/")
	w.fetch(t, "https://a.example/") // 8 s of work, 20 s of politeness
	a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/hang", Timeout: 15 * time.Second})
	if contract.KindOf(err) != contract.Timeout || a.Requests != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	visits := w.Visits()
	if v := visits[2]; v.Timeout != 2*time.Second || v.Start.Sub(epoch).Round(time.Second) != 48*time.Second {
		t.Errorf("the last request had %v at %v", v.Timeout, v.Start.Sub(epoch))
	}
	now := w.clock.Now()
	if _, err = w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"}); !errors.Is(err,
		fetch.ErrDeadline) || contract.KindOf(err) != contract.Timeout {
		t.Errorf("after the deadline: %v", err)
	}
	if len(w.Visits()) != 3 || w.clock.Now() != now {
		t.Errorf("visits %v, %v later", w.URLs(), w.clock.Now().Sub(now))
	}
}

func TestDeadline_WithoutTimeout(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": fetchtest.Hang()})
	_, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
	if contract.KindOf(err) != contract.Timeout || w.clock.Now().Sub(epoch) != 2*time.Minute {
		t.Errorf("%v after %v", err, w.clock.Now().Sub(epoch))
	}
}

// A Fetch does not wait for a retry that would start after the deadline.
func TestDeadline_BackOff(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": {Status: 500}},
		func(c *fetch.Config) { c.Deadline = 5 * time.Second; c.Interval = 0 })
	a := w.fetch(t, "https://a.example/")
	if got, want := w.starts(), []float64{0, 1, 3}; a.Status != 500 || !reflect.DeepEqual(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
}

func TestMaxWall(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": {}}, func(c *fetch.Config) { c.MaxRequests = 100 })
	w.session.SetRobots("a.example", 30*time.Second, epoch)
	var err error
	for err == nil {
		_, err = w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
	}
	if got := w.clock.Now().Sub(epoch); !errors.Is(err, fetch.ErrDeadline) || len(w.Visits()) != 20 ||
		got > 10*time.Minute {
		t.Errorf("%v; %d visits in %v", err, len(w.Visits()), got)
	}

	// The deadline also ends requests. If there is no time for a retry, the original failure is returned.
	w = newWorld(map[string]fetchtest.Page{"https://a.example/": fetchtest.Hang()},
		func(c *fetch.Config) { c.Deadline, c.MaxWall = 0, 7*time.Second })
	if _, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"}); errors.Is(err,
		fetch.ErrDeadline) || contract.KindOf(err) != contract.Timeout || w.Visits()[0].Timeout != 7*time.Second {
		t.Errorf("%v; %+v", err, w.Visits())
	}
	w = newWorld(map[string]fetchtest.Page{"https://a.example/": fetchtest.Fail(fetch.ErrReset)},
		func(c *fetch.Config) { c.Interval, c.MaxWall = 20*time.Second, 10*time.Second })
	if _, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"}); !errors.Is(err,
		fetch.ErrReset) || len(w.Visits()) != 1 {
		t.Errorf("%v; %d visits", err, len(w.Visits()))
	}
}

func TestSizeCap(t *testing.T) {
	for _, c := range []struct {
		size      int
		truncated bool
	}{{0, false}, {999, false}, {1000, false}, {1001, true}, {5000, true}} {
		for _, chunk := range []int{1, 7, 999, 1000, 1001, 1050, 4096} {
			source := &endless{left: c.size}
			w := newWorld(map[string]fetchtest.Page{"https://a.example/": {Stream: source}})
			a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/", MaxBytes: 1000})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for p := make([]byte, chunk); err == nil; {
				var k int
				k, err = a.Body.Read(p)
				n += k
			}
			if want := min(c.size, 1000); err != io.EOF || n != want || a.Body.Size() != int64(want) ||
				a.Body.Truncated() != c.truncated {
				t.Errorf("%d bytes by %d: read %d, size %d, truncated %v, %v", c.size, chunk, n, a.Body.Size(),
					a.Body.Truncated(), err)
			}
			if source.given > 1001 {
				t.Errorf("%d bytes by %d: took %d", c.size, chunk, source.given)
			}
			if w.Visits()[0].End.IsZero() {
				t.Errorf("%d bytes by %d: the body is still open", c.size, chunk)
			}
		}
	}
}

func TestSizeCap_Default(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": {Stream: &endless{left: 1 << 40}}})
	if a := w.fetch(t, "https://a.example/"); len(a.Content) != fetch.DefaultMaxBytes || !a.Body.Truncated() {
		t.Errorf("%d bytes, truncated %v", len(a.Content), a.Body.Truncated())
	}
}

// endless returns left zero bytes.
type endless struct{ left, given int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	clear(p[:n])
	e.left -= n
	e.given += n
	return n, nil
}

func TestTimeout_SlowBody(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": {Body: "x", Latency: 3 * time.Second,
		Reading: 4 * time.Second}})
	a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/", Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(a.Body)
	var e *contract.Error
	if !errors.As(err, &e) || e.Kind != contract.Timeout || !strings.HasPrefix(e.Message, "https://a.example/: ") {
		t.Errorf("%v", err)
	}
	if w.clock.Now().Sub(epoch) != 5*time.Second || w.Visits()[0].End.IsZero() {
		t.Errorf("after %v", w.clock.Now().Sub(epoch))
	}
}

// The next Fetch closes a body left open, which would otherwise occupy its host forever.
func TestResponse_ClosedByNextFetch(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": {Body: "long"}})
	first, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Body.Read(make([]byte, 1)); err != io.ErrClosedPipe {
		t.Errorf("the first answer is open: %v", err)
	}
	if d := closest(w.Visits()); d < time.Second {
		t.Errorf("pause %v", d)
	}
	w.session.Close()
	if _, err := second.Body.Read(make([]byte, 1)); err != io.ErrClosedPipe || w.Visits()[1].End.IsZero() {
		t.Errorf("the second answer is open: %v", err)
	}
}

func TestRequest_CancelledContext(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": {Status: 500}})
	ctx, cancel := context.WithCancel(t.Context())
	w.Serve = func(*fetch.Request, int) (fetchtest.Page, bool) { cancel(); return fetchtest.Page{}, false }
	if a, err := w.session.Fetch(ctx,
		fetch.Target{URL: "https://a.example/"}); contract.KindOf(err) != contract.Timeout || a.Requests != 1 {
		t.Errorf("cancelled during a request: %+v, %v", a, err)
	}
	if _, err := w.session.Fetch(ctx,
		fetch.Target{URL: "https://b.example/"}); contract.KindOf(err) != contract.Timeout ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	if len(w.Visits()) != 1 {
		t.Errorf("visits %v", w.URLs())
	}
}
