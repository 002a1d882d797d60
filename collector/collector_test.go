package collector_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/r2"
)

var partition = contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}

// clock is the bubble's: inside synctest time moves only when everybody waits.
type clock struct{}

func (clock) Now() time.Time { return time.Now() }
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type world struct {
	*collector.Collector
	web      *fetchtest.Web
	bucket   *r2.Memory
	frontier *shards
}

// newWorld must be called inside synctest. It is 2026-02-01 there.
func newWorld(pages map[string]fetchtest.Page, change func(*collector.Limits)) *world {
	limits := collector.Limits{
		RequestInterval: time.Second, MaxCrawlDelay: 30 * time.Second, MaxRequestsPerDomain: 20,
		RobotsTimeout: 10 * time.Second, SitemapTimeout: 15 * time.Second, PageTimeout: 5 * time.Second,
		MaxSitemapBytes: 50 << 20,
		FetchRetries:    3, FetchRetryBase: time.Second, DomainDeadline: 2 * time.Minute,
		URLsPerDomain: 500, ReuseWindow: time.Hour, PageProbes: 3,
	}
	if change != nil {
		change(&limits)
	}
	time.Sleep(time.Until(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)))
	w := &world{web: &fetchtest.Web{Clock: clock{}, Pages: pages}, bucket: r2.NewMemory(), frontier: &shards{}}
	w.Collector = &collector.Collector{Bucket: w.bucket, Transport: w.web,
		Frontier: client.Frontier{Caller: w.frontier, Shards: 16}, Clock: clock{}, Model: embedded.Load,
		UserAgent: "NewsforkBot/1.0 (+https://newsfork.com/bot)", Limits: limits, Log: slog.New(slog.DiscardHandler)}
	return w
}

// healthy is a small site.
func healthy() map[string]fetchtest.Page {
	return map[string]fetchtest.Page{
		"https://example.com/robots.txt": {Body: "User-agent: *\nDisallow: /private\nSitemap: " +
			"https://example.com/sitemap.xml\n", Header: map[string]string{"Content-Type": "text/plain", "ETag": `"r1"`,
			"Last-Modified": "Thu, 15 Jan 2026 09:00:00 GMT"}},
		"https://example.com/sitemap.xml": {
			Body: `<urlset><url><loc>https://example.com/a</loc><lastmod>2026-01-20</lastmod></url><url>` +
				`<loc>https://example.com/b</loc></url></urlset>`,
			Header: map[string]string{"Content-Type": "application/xml"}},
		"https://example.com/": {Body: `<html><head><title>x</title></head><body><a href="/b">b</a></body></html>`,
			Header: map[string]string{"Content-Type": "text/html; charset=utf-8", "Server": "nginx"}},
	}
}

func rawKey(n int) string {
	return fmt.Sprintf("raw/country=sg/category=news/date=2026-01-28/raw_%04d.json", n)
}

func message(n int, urls ...string) *contract.DomainMessage {
	m := &contract.DomainMessage{
		Domain: "example.com", DomainID: fmt.Sprintf("media:sg:%d", n), DomainURL: "https://example.com/",
		RegistrableDomain: "example.com",
		Authority:         "media", Partition: partition, SourceFilePath: rawKey(n),
	}
	for _, u := range urls {
		m.URLs = append(m.URLs, contract.URL{URL: u, Title: contract.Text(fmt.Sprintf("%s in %d", u, n)),
			Path: strings.TrimPrefix(u, "https://example.com")})
	}
	return m
}

var dir = contract.DomainDir{Partition: partition, Domain: "example.com"}

func (w *world) read(t *testing.T, key string) []byte {
	t.Helper()
	b, err := w.bucket.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	defer b.Close()
	data, err := io.ReadAll(b)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (w *world) document(t *testing.T) *contract.Document {
	t.Helper()
	data := w.read(t, dir.Document())
	checkSchema(t, data)
	d := &contract.Document{}
	if err := json.Unmarshal(data, d); err != nil {
		t.Fatal(err)
	}
	return d
}

var schema = sync.OnceValue(func() *jsonschema.Schema {
	body, err := contract.Schemas.ReadFile("schemas/domain_metadata.schema.json")
	if err != nil {
		panic(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		panic(err)
	}
	return c.MustCompile("schema.json")
})

// keepState removes the state from the document, as in earlier versions, and stores this one in discovery.json unless
// it is "".
func (w *world) keepState(t *testing.T, state string) {
	t.Helper()
	d := w.document(t)
	d.State = ""
	w.put(t, dir.Document(), asJSON(d))
	if state != "" {
		w.put(t, dir.Discovery(), state)
	}
}

func checkSchema(t *testing.T, document []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(document)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema().Validate(v); err != nil {
		t.Errorf("the document is not valid: %v\n%s", err, document)
	}
}

func (w *world) exists(t *testing.T, key string) bool {
	t.Helper()
	_, err := w.bucket.Head(t.Context(), key)
	if err != nil && !errors.Is(err, r2.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func (w *world) collect(t *testing.T, m *contract.DomainMessage, last bool) error {
	t.Helper()
	_, err := w.NewBatch(nil).Visit("example.com").Collect(t.Context(), m, last)
	return err
}

func TestCollect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		if err := w.collect(t, message(1, "https://example.com/b", "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		d := w.document(t)
		if d.Revision != 1 || !d.Reachable || d.Partial || d.Country != "SG" || *d.Authority != "media" ||
			d.DomainID != "media:sg:1" {
			t.Errorf("got %+v", d)
		}
		if len(d.URLs) != 2 || d.URLs[0].URL != "https://example.com/a" || d.Processing.TotalURLs != 2 ||
			d.Source.RawFilePath != rawKey(1) {
			t.Errorf("urls %+v, source %+v", d.URLs, d.Source)
		}
		r := d.Technical.RobotsTxt
		if !r.Exists || !r.AllowsCrawling || *r.ETag != `"r1"` || r.LastModified == nil ||
			r.Size != d.Robots.ContentLength || d.Robots.StatusCode != 200 {
			t.Errorf("robots %+v", r)
		}
		s := d.Technical.SitemapXML
		if !s.Exists || *s.Kind != "urlset" || s.URLCount != 2 ||
			s.LastUpdated.Format(time.DateOnly) != "2026-01-20" ||
			*d.Sitemap.URL != "https://example.com/sitemap.xml" {
			t.Errorf("sitemap %+v", s)
		}
		if i := d.Technical.ServerInfo; *i.Server != "nginx" || !i.SupportsHTTPS ||
			*i.EffectiveHost != "example.com" || i.Requests != 4 {
			t.Errorf("server %+v", i)
		}
		if d.Processing.PolitenessWaitMS/100 != 30 {
			t.Errorf("waited %d ms for politeness, want three intervals of a second", d.Processing.PolitenessWaitMS)
		}
		if string(w.read(t, dir.Robots())) != w.web.Pages["https://example.com/robots.txt"].Body ||
			string(w.read(t, dir.Sitemap())) != w.web.Pages["https://example.com/sitemap.xml"].Body {
			t.Error("evidence differs from what was received")
		}
		if len(w.read(t, dir.Checkpoint())) != 0 {
			t.Error("the checkpoint is not empty")
		}
	})
}

func TestCollect_DeliveredTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		for range 3 {
			if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
				t.Fatal(err)
			}
		}
		if d := w.document(t); d.Revision != 1 {
			t.Errorf("revision %d after deliveries with nothing new", d.Revision)
		}
		if n := len(w.web.Visits()); n != 4 {
			t.Errorf("%d requests, want those of one collection", n)
		}
	})
}

func TestMerge_SendsNoRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		for _, m := range []*contract.DomainMessage{
			message(2, "https://example.com/a", "https://example.com/c"),
			message(1, "https://example.com/a", "https://example.com/b"),
			message(3, "https://example.com/a"),
		} {
			if err := w.collect(t, m, false); err != nil {
				t.Fatal(err)
			}
		}
		d := w.document(t)
		if n := len(w.web.Visits()); n != 4 {
			t.Errorf("%d requests, want those of one collection", n)
		}
		var urls []string
		for _, u := range d.URLs {
			urls = append(urls, *u.Title)
		}
		if fmt.Sprint(urls) != "[https://example.com/a in 1 https://example.com/b in 1 https://example.com/c in 2]" {
			t.Errorf("got %v", urls)
		}
		if d.Revision != 3 || d.DomainID != "media:sg:1" || len(d.Source.RawFilePaths) != 3 ||
			d.Source.RawFilePath != rawKey(1) {
			t.Errorf("revision %d, domain_id %s, source %+v", d.Revision, d.DomainID, d.Source)
		}
	})
}

// TestURLs_DescriptionOfOne: the document describes a URL as the lowest raw file does, in any order of arrival.
func TestURLs_DescriptionOfOne(t *testing.T) {
	described := func(n int, at *string, confidence *float64) *contract.DomainMessage {
		m := message(n, "https://example.com/a")
		u := &m.URLs[0]
		u.Title, u.DiscoveryMethod, u.Language, u.DiscoveredAt, u.Confidence = contract.Text("A"),
			contract.Text("google_search"), contract.Text("en"), at, confidence
		return m
	}
	high, low, early, late := 0.9, 0.5, contract.Text("2026-01-28T10:00:00Z"), contract.Text("2026-01-29T10:00:00Z")
	for _, c := range []struct {
		name     string
		messages []*contract.DomainMessage
		want     *contract.DomainMessage
	}{
		{"one", []*contract.DomainMessage{described(1, early, &high)}, described(1, early, &high)},
		{"nothing", []*contract.DomainMessage{described(1, nil, nil)}, described(1, nil, nil)},
		{"two raw files", []*contract.DomainMessage{described(2, early, &high), described(1, late, &low)},
			described(1, late, &low)},
		{"two parts", []*contract.DomainMessage{described(1, late, &low), described(1, early, nil)},
			described(1, early, nil)},
		{"two parts, other confidence", []*contract.DomainMessage{described(1, early, &high),
			described(1, early, &low), described(1, early, nil)}, described(1, early, &low)},
		{"a document of before", []*contract.DomainMessage{described(1, nil, nil), described(1, early, &high)},
			described(1, early, &high)},
	} {
		for _, order := range []string{"forward", "backward"} {
			t.Run(c.name+" "+order, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(healthy(), nil)
					for _, m := range c.messages {
						if err := w.collect(t, m, false); err != nil {
							t.Fatal(err)
						}
					}
					got, want := w.document(t).URLs[0], c.want.URLs[0]
					if asJSON([]any{got.DiscoveredAt, got.Confidence,
						got.DiscoveryMethod}) != asJSON([]any{want.DiscoveredAt, want.Confidence,
						want.DiscoveryMethod}) {
						t.Errorf("got %s, want %s", asJSON(got), asJSON(want))
					}
				})
			})
			slices.Reverse(c.messages)
		}
	}
}

func TestCollect_Forced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		asked := time.Now()
		delete(w.web.Pages, "https://example.com/robots.txt")
		time.Sleep(time.Second)
		for n := 1; n <= 2; n++ {
			m := message(n, "https://example.com/a", "https://example.com/b")
			m.Force, m.RequestedAt = true, asked
			if err := w.collect(t, m, false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		n := 0
		for _, u := range w.web.URLs() {
			if u == "https://example.com/robots.txt" {
				n++
			}
		}
		if n != 2 {
			t.Errorf("robots.txt was asked for %d times, want once, and once for the request with force", n)
		}
		if d := w.document(t); d.Robots.Exists || w.exists(t, dir.Robots()) || len(d.URLs) != 2 {
			t.Errorf("robots.txt is gone: exists %v, evidence %v; %d urls", d.Robots.Exists, w.exists(t, dir.Robots()),
				len(d.URLs))
		}
	})
}

func TestCollect_NothingAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil, func(l *collector.Limits) { l.FetchRetries = 0 })
		err := w.collect(t, message(1, "https://example.com/a"), false)
		if contract.KindOf(err) != contract.Network || w.exists(t, dir.Document()) || w.exists(t, dir.Checkpoint()) {
			t.Fatalf("an outage became a contract: %v", err)
		}
		if err := w.collect(t, message(1, "https://example.com/a"), true); err != nil {
			t.Fatal(err)
		}
		d := w.document(t)
		if d.Reachable || d.Robots.StatusCode != 0 || d.Sitemap.StatusCode != 404 ||
			*d.Robots.ErrorType != "network_error" || d.Technical.RobotsTxt.AllowsCrawling ||
			d.Technical.ServerInfo.EffectiveHost != nil || !w.exists(t, dir.Checkpoint()) {
			t.Errorf("got %+v", d)
		}
	})
}

func TestRobots_Decide(t *testing.T) {
	for _, c := range []struct {
		name      string
		robots    fetchtest.Page
		exists    bool
		allows    bool
		requests  int    // three of them for news sitemaps where robots.txt does not name the main one
		errorType string // of the sitemap
	}{
		{"forbids all", fetchtest.Page{Body: "User-agent: *\nDisallow: /\n"}, true, false, 1, "robots_disallowed"},
		{"forbids us", fetchtest.Page{Body: "User-agent: NewsforkBot\nDisallow: /\n\nUser-agent: *\nAllow: /\n"}, true,
			false, 1, "robots_disallowed"},
		{"forbids others",
			fetchtest.Page{
				Body: "User-agent: Other\nDisallow: /\n\nUser-agent: *\nAllow: /\n" +
					"Sitemap: https://example.com/sitemap.xml"}, true,
			true, 4, ""},
		{"leaves the sitemap", fetchtest.Page{Body: "User-agent: *\nDisallow: /\nAllow: /sitemap.xml\n"}, true, false,
			2, ""},
		{"is missing", fetchtest.Page{Status: 404}, false, true, 7, ""},
		{"is forbidden", fetchtest.Page{Status: 403}, false, true, 7, ""},
		{"fails", fetchtest.Page{Status: 500}, false, false, 1, "robots_disallowed"},
		{"redirects in a circle", fetchtest.Redirect(302, "/robots.txt"), false, true, 7, ""},
		{"redirects inward", fetchtest.Redirect(302, "http://169.254.169.254/latest/meta-data/"), false, false, 1,
			"robots_disallowed"},
		{"is a web page", fetchtest.Page{Body: "<!doctype html><html><body>Not found</body></html>"}, false, true, 7,
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				pages["https://example.com/robots.txt"] = c.robots
				w := newWorld(pages, func(l *collector.Limits) { l.FetchRetries = 0 })
				if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				if d.Robots.Exists != c.exists || d.Technical.RobotsTxt.AllowsCrawling != c.allows || !d.Reachable {
					t.Errorf("exists %v, allows %v, reachable %v; want %v, %v, true", d.Robots.Exists,
						d.Technical.RobotsTxt.AllowsCrawling, d.Reachable, c.exists, c.allows)
				}
				if n := len(w.web.Visits()); n != c.requests {
					t.Errorf("%d requests, want %d: %v", n, c.requests, w.web.URLs())
				}
				got := ""
				if d.Sitemap.ErrorType != nil {
					got = *d.Sitemap.ErrorType
				}
				if got != c.errorType || c.errorType != "" && d.Sitemap.StatusCode != 404 {
					t.Errorf("sitemap error_type %q, status %d; want %q", got, d.Sitemap.StatusCode, c.errorType)
				}
				if w.exists(t, dir.Robots()) != c.exists {
					t.Error("the evidence does not fit the document")
				}
			})
		})
	}
}

// TestHomePage_LeadsOn: the crawl follows links of the home page if that is HTML.
func TestHomePage_LeadsOn(t *testing.T) {
	const home = "https://example.com/"
	for contentType, want := range map[string]int{"text/html; charset=utf-8": 1, "application/pdf": 0, "": 0} {
		synctest.Test(t, func(t *testing.T) {
			pages := healthy()
			page := pages[home]
			if page.Header["Content-Type"] == "" {
				t.Error("the home page of the healthy site does not say what it is")
			}
			page.Header = map[string]string{"Content-Type": contentType}
			page.Body = strings.Replace(page.Body, "</body>", `<a href="/press-releases">News</a></body>`, 1)
			pages[home] = page
			pages[home+"press-releases"] = fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"}}
			w := newWorld(pages, nil)
			if err := w.collect(t, message(1), false); err != nil {
				t.Fatal(err)
			}
			var heads []string
			for _, v := range w.web.Visits() {
				if v.Method == "HEAD" {
					heads = append(heads, v.URL)
				}
			}
			if len(heads) != want || want > 0 && heads[0] != home+"press-releases" {
				t.Errorf("a home page of the type %q led to %v", contentType, heads)
			}
		})
	}
}

// TestErrors_AreRecorded: a file that could not be read is neither reported as missing nor passed over.
func TestErrors_AreRecorded(t *testing.T) {
	const robots, root, home = "https://example.com/robots.txt", "https://example.com/sitemap.xml",
		"https://example.com/"
	busy := map[string]string{"Retry-After": "86400"}
	for _, c := range []struct {
		name      string
		url       string
		page      fetchtest.Page
		partial   bool
		truncated bool
		status    int    // of the sitemap
		errorType string // of the sitemap
		asked     int    // sitemaps
	}{
		{"the sitemap's server fails", root, fetchtest.Page{Status: 500}, true, false, 500, "network_error", 11},
		{"the sitemap hangs", root, fetchtest.Hang(), true, false, 404, "timeout_error", 11},
		{"the sitemap stalls", root, fetchtest.Page{Body: "<urlset>", Reading: time.Hour}, true, false, 200,
			"timeout_error", 11},
		{"the sitemap is none", root, fetchtest.Page{Body: "<html>"}, false, false, 200, "parse_error", 11},
		{"the sitemap ends early", root, fetchtest.Page{Body: "<urlset><url><loc>https://example.com/a</loc>"}, false,
			true, 200, "", 1},
		{"the sitemap is a list beyond the limit", root,
			fetchtest.Page{Body: strings.Repeat("https://example.com/abcdef\n", 50)}, false, true, 200, "", 1},
		{"the host wants to be left alone", root, fetchtest.Page{Status: 429, Header: busy}, true, false, 429, "", 1},
		{"it does so before the sitemap", robots, fetchtest.Page{Status: 429, Header: busy}, true, false, 404,
			"timeout_error", 0},
		{"the home page hangs", home, fetchtest.Hang(), true, false, 200, "", 1},
		{"the home page breaks off", home, fetchtest.Page{Body: "<html>", Cut: fetch.Failure(fetch.ErrReset, nil)},
			true, false, 200, "", 1},
		{"a feed hangs", "https://example.com/rss", fetchtest.Hang(), true, false, 200, "", 1},
		{"a feed breaks off", "https://example.com/rss", fetchtest.Page{Body: "<rss>",
			Cut: fetch.Failure(fetch.ErrReset, nil)}, true, false, 200, "", 1},
		{"a feed is missing", "https://example.com/rss", fetchtest.Page{Status: 404}, false, false, 200, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				pages[home] = fetchtest.Page{Body: `<link rel="alternate" type="application/rss+xml" href="/rss">`}
				pages["https://example.com/rss"] = fetchtest.Page{Body: "<rss><channel></channel></rss>"}
				pages[c.url] = c.page
				w := newWorld(pages, func(l *collector.Limits) { l.FetchRetries, l.MaxSitemapBytes = 0, 1000 })
				if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				if d.Partial != c.partial || d.Technical.SitemapXML.Truncated != c.truncated {
					t.Errorf("partial %v, truncated %v; want %v, %v", d.Partial, d.Technical.SitemapXML.Truncated,
						c.partial, c.truncated)
				}
				errorType := ""
				if d.Sitemap.ErrorType != nil {
					errorType = *d.Sitemap.ErrorType
				}
				if d.Sitemap.StatusCode != c.status || errorType != c.errorType ||
					d.Sitemap.Exists != (d.Sitemap.Error == nil) {
					t.Errorf("sitemap %s; want %d, %q", asJSON(d.Sitemap), c.status, c.errorType)
				}
				if n := len(d.Technical.SitemapXML.Documents); n != c.asked ||
					(n > 0) != (d.Sitemap.FetchedAt != nil) {
					t.Errorf("%d sitemaps listed, %d asked for, at %v", n, c.asked, d.Sitemap.FetchedAt)
				}
			})
		})
	}
}

// TestVisits: the frontier is given what was learned of the hosts that were asked, for all that ask them next.
func TestVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		pages["https://example.com/robots.txt"] = fetchtest.Page{Body: "User-agent: *\nCrawl-delay: 5\n"}
		pages["https://example.com/"] = fetchtest.Page{Status: 429, Header: map[string]string{"Retry-After": "600"}}
		b := newWorld(pages, nil).NewBatch(nil)
		v := b.Visit("example.com")
		began := time.Now()
		if _, err := v.Collect(t.Context(), message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		if got := time.Until(v.ReadyAt()); got.Round(time.Minute) != 10*time.Minute ||
			!b.Visit("example.org").ReadyAt().IsZero() {
			t.Errorf("ready in %v", got)
		}
		got := b.Hosts("example.com")
		if len(got) != 1 || b.Hosts("example.org") != nil {
			t.Fatalf("%+v", got)
		}
		host := got[0]
		if host.Host != "example.com" || host.Delay != 5000 || host.RetryAfter != 600 || !host.Throttled ||
			host.Unresolved {
			t.Errorf("%+v", host)
		}
		if expires := host.RobotsExpires.Time().Sub(began).Round(time.Minute); expires != 24*time.Hour {
			t.Errorf("robots.txt expires in %v", expires)
		}
		if asked := time.Since(host.AskedAt.Time()); asked < 0 || asked > time.Second {
			t.Errorf("asked %v ago", asked)
		}
	})
}

// TestCrawlDelay_Long: a delay that is too long to be waited for is not shortened. The document has what there
// was before it, and what else would have been asked for as entry points.
func TestCrawlDelay_Long(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		pages["https://example.com/robots.txt"] = fetchtest.Page{
			Body: "User-agent: *\nCrawl-delay: 120\nSitemap: https://example.com/map.xml\n"}
		w := newWorld(pages, nil)
		w.frontier.open(t)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		d := w.document(t)
		if got := w.web.URLs(); !slices.Equal(got, []string{"https://example.com/robots.txt"}) {
			t.Errorf("asked for %v", got)
		}
		if !d.Partial || !d.Reachable || !d.Technical.RobotsTxt.Exists {
			t.Errorf("partial %v, reachable %v", d.Partial, d.Reachable)
		}
		var how discovery.FetchContract
		var found discovery.Discovery
		if err := errors.Join(json.Unmarshal(d.Contract, &how), json.Unmarshal(d.Discovery, &found)); err != nil {
			t.Fatal(err)
		}
		var entries []string
		for _, e := range how.EntryPoints {
			entries = append(entries, string(e.Method)+" "+e.URL)
		}
		if want := []string{"sitemap https://example.com/map.xml", "html https://example.com/"}; !slices.Equal(entries,
			want) || how.CrawlDelaySeconds != 120 {
			t.Errorf("entry points %v, want %v; delay %v", entries, want, how.CrawlDelaySeconds)
		}
		if !slices.ContainsFunc(found.Errors, func(f discovery.Failure) bool {
			return strings.Contains(f.Message,
				"Crawl-delay")
		}) {
			t.Errorf("errors %+v", found.Errors)
		}
		for _, e := range how.EntryPoints {
			if got := w.state(t, "example.com", e.URL); got.State != "waiting" ||
				got.DueAt > epoch.Now().Add(2*time.Hour) {
				t.Errorf("%s is %s, due at %v", e.URL, got.State, got.DueAt.Time())
			}
		}
	})
}

// TestBusy_OtherHost: URLs on a busy host are left out, and the document says so.
func TestBusy_OtherHost(t *testing.T) {
	for name, refused := range map[string]*contract.Error{
		"host busy": {Kind: contract.Timeout, Message: "host busy: cdn.example is being asked by another",
			Err: fetch.ErrHostBusy},
		"frontier unavailable": {Kind: contract.Storage, Message: "frontier unavailable: cdn.example",
			Err: fetch.ErrFrontier},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				pages["https://example.com/robots.txt"] = fetchtest.Page{Body: "Sitemap: https://cdn.example/map.xml\n"}
				pages["https://example.com/"] = fetchtest.Page{
					Body: `<link rel="alternate" type="application/rss+xml" href="https://cdn.example/rss">`}
				pages["https://cdn.example/rss"] = fetchtest.Page{Body: "<rss><channel></channel></rss>"}
				w := newWorld(pages, nil)
				v := w.NewBatch(nil).Visit("example.com")
				v.Begin(collector.Lease{Admit: func(_ context.Context, host string) (fetch.Admission, error) {
					if host == "cdn.example" {
						return fetch.Admission{}, refused
					}
					return fetch.Admission{}, nil
				}})
				if _, err := v.Collect(t.Context(), message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				if slices.ContainsFunc(w.web.URLs(), func(link string) bool {
					return strings.Contains(link,
						"cdn.example")
				}) {
					t.Errorf("asked for %v", w.web.URLs())
				}
				var found discovery.Discovery
				if err := json.Unmarshal(d.Discovery, &found); err != nil {
					t.Fatal(err)
				}
				noted := map[string]bool{}
				for _, f := range found.Errors {
					noted[f.URL] = strings.Contains(f.Message, name) && f.ErrorType == string(refused.Kind)
				}
				if !d.Partial || !noted["https://cdn.example/map.xml"] || !noted["https://cdn.example/rss"] {
					t.Errorf("partial %v, errors %+v", d.Partial, found.Errors)
				}
			})
		})
	}
}

// Without robots.txt nothing can be collected, so it is requested again. Only the last attempt records that.
func TestBusy_RobotsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		pages["https://example.com/robots.txt"] = fetchtest.Redirect(301, "https://other.example/robots.txt")
		w := newWorld(pages, nil)
		for _, last := range []bool{false, true} {
			v := w.NewBatch(nil).Visit("example.com")
			v.Begin(collector.Lease{Admit: func(_ context.Context, host string) (fetch.Admission, error) {
				if host == "other.example" {
					return fetch.Admission{}, &contract.Error{Kind: contract.Timeout, Message: "host busy",
						Err: fetch.ErrHostBusy}
				}
				return fetch.Admission{}, nil
			}})
			_, err := v.Collect(t.Context(), message(1, "https://example.com/a"), last)
			if (err == nil) != last || errors.Is(err, fetch.ErrHostBusy) {
				t.Errorf("last %v: %v", last, err)
			}
		}
		if d := w.document(t); !d.Reachable || d.Robots.Error == nil ||
			!strings.Contains(*d.Robots.Error, "host busy") {
			t.Errorf("%s", asJSON(d.Robots))
		}
	})
}

// TestBusy_LastAttempt: a busy domain gets no contract, even on the last delivery.
func TestBusy_LastAttempt(t *testing.T) {
	for name, refused := range map[string]error{"host busy": fetch.ErrHostBusy,
		"frontier unavailable": fetch.ErrFrontier} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(healthy(), nil)
				v := w.NewBatch(nil).Visit("example.com")
				v.Begin(collector.Lease{Admit: func(context.Context, string) (fetch.Admission, error) {
					return fetch.Admission{}, &contract.Error{Kind: contract.Timeout, Message: name, Err: refused}
				}})
				if _, err := v.Collect(t.Context(), message(1, "https://example.com/a"), true); !errors.Is(err,
					refused) {
					t.Errorf("got %v", err)
				}
				if _, err := w.bucket.Head(t.Context(), dir.Document()); !errors.Is(err, r2.ErrNotFound) {
					t.Errorf("there is a document: %v", err)
				}
			})
		})
	}
}

// TestLimits_FewRequests: with next to no requests the document says that more was left to ask.
func TestLimits_FewRequests(t *testing.T) {
	for n := 1; n <= 3; n++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(healthy(), func(l *collector.Limits) { l.MaxRequestsPerDomain = n })
			if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
				t.Fatal(err)
			}
			d := w.document(t)
			if d.Partial != (n < 3) || d.Sitemap.Exists != (n > 1) || d.Sitemap.Exists != (d.Sitemap.Error == nil) ||
				d.Technical.ServerInfo.Requests != n {
				t.Errorf("with %d requests: partial %v, %d made, sitemap %s", n, d.Partial,
					d.Technical.ServerInfo.Requests, asJSON(d.Sitemap))
			}
		})
	}
}

// TestStore_Fails makes every single call of a collection fail once; the message that is then
// delivered again must end like one that never failed.
func TestStore_Fails(t *testing.T) {
	var want *contract.Document
	for nth := 0; ; nth++ {
		done := false
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(healthy(), nil)
			calls := 0
			w.bucket.Fail = func(op, key string) error {
				calls++
				if calls == nth {
					return errors.New("as the test wants it")
				}
				return nil
			}
			m := message(1, "https://example.com/a")
			err := w.collect(t, m, false)
			if err != nil {
				if w.exists(t, dir.Checkpoint()) {
					t.Fatalf("call %d failed, and there is a checkpoint", nth)
				}
				if contract.KindOf(err) != contract.Storage {
					t.Errorf("call %d: %v, want a storage error", nth, err)
				}
				time.Sleep(10 * time.Second)
				if err := w.collect(t, m, false); err != nil {
					t.Fatalf("after call %d failed once: %v", nth, err)
				}
			}
			seen := calls
			w.bucket.Fail = nil
			if n := w.bucket.OpenUploads(); n != 0 {
				t.Errorf("call %d: %d uploads left open", nth, n)
			}
			d := w.document(t)
			if !w.exists(t, dir.Checkpoint()) {
				t.Fatalf("call %d: no checkpoint", nth)
			}
			if want == nil {
				want = stable(d)
			} else if got := stable(d); !equal(got, want) {
				t.Errorf("call %d: the document differs:\n%s\n%s", nth, asJSON(got), asJSON(want))
			}
			done = nth > seen
		})
		if done {
			if nth < 8 {
				t.Errorf("only %d calls were seen", nth)
			}
			return
		}
	}
}

// stable leaves out what may differ between two collections of the same: times and revision.
func stable(d *contract.Document) *contract.Document {
	c := *d
	c.Revision = 0
	c.CollectedAt, c.ValidUntil, c.Processing.ProcessedAt = contract.Time{}, contract.Time{}, contract.Time{}
	c.Robots.FetchedAt, c.Sitemap.FetchedAt = nil, nil
	c.Processing.ProcessingDurationMS, c.Processing.PolitenessWaitMS = 0, 0
	c.Technical.ServerInfo.ResponseTimeAvgMS = nil
	c.Contract = times.ReplaceAll(c.Contract, []byte(`"$1":0`))
	c.Discovery = times.ReplaceAll(c.Discovery, []byte(`"$1":0`))
	if c.Usage != nil {
		u := *c.Usage
		u.CheckedAt, c.Usage = nil, &u
	}
	c.State = "" // has the URLs of the message that collected the domain
	return &c
}

var times = regexp.MustCompile(`"(processing_time_ms|robots_expires_at)":\s*("[^"]*"|\d+)`)

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func equal(a, b *contract.Document) bool { return asJSON(a) == asJSON(b) }

// TestMerge_AnyOrder is the property on which the pipeline depends: in whatever order messages arrive, however
// often and however many at once, and whichever call of the bucket fails, the final document is the
// same and has every URL of every raw file exactly once.
func TestMerge_AnyOrder(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		if !t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { anyOrder(t, seed) }) {
			return
		}
	}
}

// blind keeps collections from looking at pages: which ones depends on the URLs of the first message.
func blind(l *collector.Limits) { l.PageProbes = 0 }

func anyOrder(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	// Some messages of up to four raw files and three parts, with URLs that overlap. Two of the worlds
	// have more URLs than fit into a document.
	var messages []*contract.DomainMessage
	universe := 30
	if seed%30 == 5 {
		universe = contract.MaxInlineURLs + 3000
	}
	all := map[string]string{} // URL → lowest raw file
	for n := 1; n <= 1+random.IntN(4); n++ {
		for part := range 1 + random.IntN(3) {
			var urls []string
			for range 1 + random.IntN(universe) {
				urls = append(urls, fmt.Sprintf("https://example.com/%05d", random.IntN(universe)))
			}
			m := message(n, urls...)
			m.Part = part
			messages = append(messages, m)
			for _, u := range urls {
				if f := fmt.Sprintf("raw_%04d", n); all[u] == "" || f < all[u] {
					all[u] = f
				}
			}
		}
	}
	var want *contract.Document
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), blind)
		for _, m := range messages {
			if err := w.collect(t, m, false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		want = stable(w.document(t))
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), blind)
		var mu sync.Mutex
		w.bucket.Fail = func(op, key string) error {
			mu.Lock()
			defer mu.Unlock()
			odds := 12
			if op == "read" { // of which there are many
				odds = 500
			}
			if random.IntN(odds) == 0 {
				return errors.New("as the test wants it")
			}
			return nil
		}
		deliveries := slices.Concat(messages, messages[:random.IntN(len(messages)+1)])
		random.Shuffle(len(deliveries), func(i, k int) { deliveries[i], deliveries[k] = deliveries[k], deliveries[i] })
		events := 1 + random.IntN(4)
		var wg sync.WaitGroup
		for e := range events {
			wg.Go(func() {
				for i := e; i < len(deliveries); i += events {
					for attempt := 1; ; attempt++ {
						if _, err := w.NewBatch(nil).Visit("example.com").Collect(t.Context(), deliveries[i],
							false); err == nil {
							break
						} else if attempt == 100 {
							t.Errorf("still failing after %d deliveries: %v", attempt, err)
							return
						}
						time.Sleep(10 * time.Second)
					}
				}
			})
		}
		wg.Wait()
		w.bucket.Fail = nil
		d := w.document(t)
		if got := stable(d); !equal(got, want) {
			t.Errorf("the document depends on the order:\n%.2000s\n%.2000s", asJSON(got), asJSON(want))
		}
		if n := w.bucket.OpenUploads(); n != 0 {
			t.Errorf("%d uploads left open", n)
		}
		seen := map[string]string{}
		entries := slices.Clone(d.URLs)
		for _, key := range d.URLsFiles {
			var more []contract.DocumentURL
			if err := json.Unmarshal(w.read(t, key), &more); err != nil {
				t.Fatal(err)
			}
			entries = append(entries, more...)
		}
		for _, u := range entries {
			if seen[u.URL] != "" {
				t.Errorf("%s stands there twice", u.URL)
			}
			seen[u.URL] = u.SourceFile
		}
		if !maps.Equal(seen, all) || d.Processing.TotalURLs != len(all) {
			t.Errorf("%d URLs in the document, total_urls %d, want %d", len(seen), d.Processing.TotalURLs, len(all))
		}
	})
}

var _ fetch.Clock = clock{}

// visitsOf counts the requests for a URL.
func (w *world) visitsOf(url string) int {
	n := 0
	for _, u := range w.web.URLs() {
		if u == url {
			n++
		}
	}
	return n
}

// TestVisit_CollectsOnce: however the messages of one domain are mixed in a batch, it is asked as often as
// they need, and every URL arrives.
func TestVisit_CollectsOnce(t *testing.T) {
	before, after := -time.Minute, time.Minute // of the earlier collection
	for _, c := range []struct {
		name     string
		finished bool
		forced   []*time.Duration // of each message: when it was requested; nil is not forced
		want     int              // collections in the batch
	}{
		{"raw files of a new domain", false, []*time.Duration{nil, nil, nil}, 1},
		{"raw files of a finished domain", true, []*time.Duration{nil, nil, nil}, 0},
		{"plain, forced", true, []*time.Duration{nil, &after}, 1},
		{"forced, plain", true, []*time.Duration{&after, nil}, 1},
		{"forced twice", true, []*time.Duration{&after, &after, nil}, 1},
		{"forced before it was finished", true, []*time.Duration{&before, nil, &before}, 0},
		{"forced, of a new domain", false, []*time.Duration{nil, &before, &before}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(healthy(), nil)
				start, asked := time.Now(), 0
				if c.finished {
					if err := w.collect(t, message(9, "https://example.com/9"), false); err != nil {
						t.Fatal(err)
					}
					asked++
				}
				time.Sleep(2 * time.Minute)
				v := w.NewBatch(nil).Visit("example.com")
				var messages []*contract.DomainMessage
				for i, at := range c.forced {
					m := message(i+1, fmt.Sprint("https://example.com/", i+1))
					if at != nil {
						m.Force, m.RequestedAt = true, start.Add(*at)
					}
					messages = append(messages, m)
				}
				for _, m := range messages { // as the consumer does before it leases
					if _, err := v.Done(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
				for _, m := range messages {
					if _, err := v.Collect(t.Context(), m, false); err != nil {
						t.Fatal(err)
					}
					if done, err := v.Done(t.Context(), m); err != nil || !done {
						t.Errorf("after its collection a message is not done: %v", err)
					}
				}
				if n := w.visitsOf("https://example.com/robots.txt") - asked; n != c.want {
					t.Errorf("asked %d times, want %d", n, c.want)
				}
				if got, want := len(w.document(t).URLs), len(messages)+asked; got != want {
					t.Errorf("%d URLs, want %d", got, want)
				}
			})
		})
	}
}

// TestVisit_DoneInBetween: another event may finish the domain after this one looked and before it has the
// lease.
func TestVisit_DoneInBetween(t *testing.T) {
	for _, forced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(healthy(), nil)
			want, urls := 1, 2
			ours, theirs := message(1, "https://example.com/1"), message(2, "https://example.com/2")
			if forced { // of a domain that was finished before
				if err := w.collect(t, message(9, "https://example.com/9"), false); err != nil {
					t.Fatal(err)
				}
				want, urls = 2, 3
				time.Sleep(time.Minute)
				for _, m := range []*contract.DomainMessage{ours, theirs} {
					m.Force, m.RequestedAt = true, time.Now()
				}
			}
			v, other := w.NewBatch(nil).Visit("example.com"), w.NewBatch(nil).Visit("example.com")
			if done, err := v.Done(t.Context(), ours); done || err != nil {
				t.Fatal(done, err)
			}
			if _, err := other.Collect(t.Context(), theirs, false); err != nil {
				t.Fatal(err)
			}
			v.Begin(collector.Lease{Owner: "ours", LastOwned: time.Now()})
			if _, err := v.Collect(t.Context(), ours, false); err != nil {
				t.Fatal(err)
			}
			if n := w.visitsOf("https://example.com/robots.txt"); n != want || len(w.document(t).URLs) != urls {
				t.Errorf("forced %t: asked %d times, %d URLs; want %d and %d", forced, n, len(w.document(t).URLs),
					want, urls)
			}
		})
	}
}

// TestMerge_StoredMeanwhile: evidence is stored while the next request waits for its turn, so that a slow bucket takes
// no time; but the document comes after it, however long it takes, and not at all when it cannot be stored.
func TestMerge_StoredMeanwhile(t *testing.T) {
	collect := func(t *testing.T, evidence time.Duration, failing string) (took time.Duration, order []string,
		err error) {
		w := newWorld(healthy(), nil)
		var mu sync.Mutex
		w.bucket.Fail = func(op, key string) error {
			if op != "put" && op != "commit" {
				return nil
			}
			name := path.Base(key)
			if strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".xml") {
				time.Sleep(evidence)
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
			if name == failing {
				return errors.New("away")
			}
			return nil
		}
		start := time.Now()
		err = w.collect(t, message(1, "https://example.com/1"), false)
		return time.Since(start), order, err
	}
	stored := []string{"robots.txt", "sitemap.xml", "domain_metadata.json", "domain_metadata.json.success"}
	synctest.Test(t, func(t *testing.T) {
		fast, order, err := collect(t, 0, "")
		if err != nil || !slices.Equal(order, stored) {
			t.Fatal(order, err)
		}
		slow, order, err := collect(t, 900*time.Millisecond, "")
		if err != nil || !slices.Equal(order, stored) || slow != fast {
			t.Errorf("%v in %s, which takes %s without waiting for the bucket, %v", order, slow, fast, err)
		}
		if _, order, err = collect(t, time.Minute, ""); err != nil || !slices.Equal(order, stored) {
			t.Errorf("very slow: %v, %v", order, err)
		}
		for _, failing := range stored[:2] {
			_, order, err := collect(t, 900*time.Millisecond, failing)
			if contract.KindOf(err) != contract.Storage || slices.Contains(order, stored[2]) {
				t.Errorf("without %s: %v, %v", failing, order, err)
			}
		}
	})
}

// TestVisit_LooksOnce: a checkpoint that was looked for is not looked for again where nobody else had the domain
// since.
func TestVisit_LooksOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		before time.Duration // when the lease before ended, since the look; 0: there was none
		looks  int
	}{{"never leased", 0, 1}, {"leased long before", -time.Minute, 1}, {"leased just before, by a clock that is late",
		-5 * time.Second, 2}, {"leased in between", time.Millisecond, 2}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				w := newWorld(healthy(), nil)
				w.bucket.Fail = func(op, key string) error {
					if op == "head" && strings.HasSuffix(key, ".success") {
						looks++
					}
					return nil
				}
				m := message(1, "https://example.com/1")
				v := w.NewBatch(nil).Visit("example.com")
				looked := time.Now()
				if done, err := v.Done(t.Context(), m); done || err != nil {
					t.Fatal(done, err)
				}
				before := time.Time{}
				if c.before != 0 {
					before = looked.Add(c.before)
				}
				v.Begin(collector.Lease{Owner: "ours", LastOwned: before})
				if _, err := v.Collect(t.Context(), m, false); err != nil {
					t.Fatal(err)
				}
				if looks != c.looks {
					t.Errorf("looked %d times, want %d", looks, c.looks)
				}
			})
		})
	}
}

// TestList_LargeOnesWaitForNoDomain: five domains with slow hosts and URL lists too large for a message take
// as long as one.
func TestList_LargeOnesWaitForNoDomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := map[string]fetchtest.Page{}
		var messages []*contract.DomainMessage
		for i := range 5 {
			m := message(1)
			m.Domain = fmt.Sprintf("slow%d.com", i)
			m.RegistrableDomain, m.DomainURL, m.URLsCount = m.Domain, "https://"+m.Domain+"/", 1
			m.URLsPath = contract.DomainDir{Partition: partition, Domain: m.Domain}.URLList("raw_0001", 1)
			messages = append(messages, m)
			pages[m.DomainURL+"robots.txt"] = fetchtest.Page{Body: "User-agent: *\nCrawl-delay: 30\n"}
			pages[m.DomainURL] = fetchtest.Page{Body: "<html></html>"}
		}
		w := newWorld(pages, nil)
		for _, m := range messages {
			if _, err := w.bucket.Put(t.Context(), m.URLsPath,
				fmt.Appendf(nil, `[{"url":"%sa","title":null,"path":"/a"}]`, m.DomainURL), nil); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		v := w.NewBatch(nil).Visit("example.com")
		var wg sync.WaitGroup
		for _, m := range messages {
			wg.Go(func() {
				if doc, err := v.Collect(t.Context(), m, false); err != nil || len(doc.URLs) != 1 {
					t.Errorf("%s: %+v, %v", m.Domain, doc, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took < 5*time.Minute || took > 10*time.Minute {
			t.Errorf("took %s, want what one domain takes", took)
		}
	})
}

// TestList_BesideURLs: a message may have URLs and a list. What is said of one URL is not said of another.
func TestList_BesideURLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		m := message(1, "https://example.com/a")
		m.URLs[0].Language = contract.Text("ko")
		m.URLsPath, m.URLsCount = m.Dir().URLList("raw_0001", 1), 1
		if _, err := w.bucket.Put(t.Context(), m.URLsPath,
			[]byte(`[{"url":"https://example.com/b","title":null,"path":"/b"}]`), nil); err != nil {
			t.Fatal(err)
		}
		doc, err := w.NewBatch(nil).Visit(m.Domain).Collect(t.Context(), m, false)
		if err != nil || len(doc.URLs) != 2 {
			t.Fatalf("%+v, %v", doc, err)
		}
		if a, b := doc.URLs[0], doc.URLs[1]; *a.Language != "ko" || b.Language != nil {
			t.Errorf("%s in %v, %s in %v", a.URL, a.Language, b.URL, b.Language)
		}
	})
}

// The wait for a large list ends with the work that it belongs to.
func TestList_WaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		if err := w.collect(t, message(1, "https://example.com/1"), false); err != nil {
			t.Fatal(err)
		}
		m := message(2)
		m.URLsPath = dir.URLList("raw_0002", 1)
		if _, err := w.bucket.Put(t.Context(), m.URLsPath, []byte(`[]`), nil); err != nil {
			t.Fatal(err)
		}
		w.bucket.Fail = func(op, key string) error {
			if op == "get" && key == m.URLsPath {
				time.Sleep(time.Hour)
			}
			return nil
		}
		v := w.NewBatch(nil).Visit("example.com")
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := v.Collect(t.Context(), m, false); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Minute)
		if done, err := v.Done(t.Context(), m); !done || err != nil {
			t.Fatal(done, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := v.Collect(ctx, m, false); err == nil || time.Since(start) > 2*time.Second {
			t.Errorf("ended after %s: %v", time.Since(start), err)
		}
		wg.Wait()
	})
}

// TestList_MissingCostsNoRequest: a message whose URL list is gone fails however often it comes.
func TestList_MissingCostsNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		m := message(1)
		m.URLsPath = dir.URLList("raw_0001", 1)
		err := w.collect(t, m, false)
		if contract.KindOf(err) != contract.Validation || !strings.Contains(err.Error(), m.URLsPath) ||
			len(w.web.Visits()) != 0 {
			t.Errorf("%v after %d requests", err, len(w.web.Visits()))
		}
	})
}

// TestVisit_UnreachableIsAskedOnce: a domain that does not answer is asked by the first message of a
// batch. The others share its failure, and the last delivery among them writes the document.
func TestVisit_UnreachableIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil, nil)
		v := w.NewBatch(nil).Visit("example.com")
		collect := func(n int, last bool) error {
			_, err := v.Collect(t.Context(), message(n, fmt.Sprint("https://example.com/", n)), last)
			return err
		}
		first := collect(1, false)
		asked := len(w.web.Visits())
		for n := 2; n <= 3; n++ {
			if err := collect(n, false); err == nil || err.Error() != first.Error() ||
				contract.KindOf(err) != contract.Network {
				t.Errorf("message %d: %v, want %v", n, err, first)
			}
		}
		if err := collect(4, true); err != nil {
			t.Fatal(err)
		}
		if err := collect(5, false); err != nil { // there is a document now
			t.Fatal(err)
		}
		if d := w.document(t); d.Reachable || len(d.URLs) != 2 || *d.Robots.ErrorType != "network_error" {
			t.Errorf("got %+v", d)
		}
		if n := len(w.web.Visits()); n != asked || n == 0 {
			t.Errorf("%d requests, %d by the first message", n, asked)
		}
		again := message(6)
		again.Force, again.RequestedAt = true, time.Now().Add(time.Second)
		time.Sleep(2 * time.Second)
		if _, err := v.Collect(t.Context(), again, true); err != nil {
			t.Fatal(err)
		}
		if n := len(w.web.Visits()); n != 2*asked {
			t.Errorf("%d requests after it was forced, want %d", n, 2*asked)
		}
	})
}
