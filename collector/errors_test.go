package collector_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// TestErrors_OfEveryDocument: whatever could not be read stands in errors[] and in the log, with how often
// it was tried again. What is only missing or forbidden does not.
func TestErrors_OfEveryDocument(t *testing.T) {
	const robots, root, home, rss, page = "https://example.com/robots.txt", "https://example.com/sitemap.xml",
		"https://example.com/", "https://example.com/rss", "https://example.com/news/today-in-brief"
	reset := fetchtest.Fail(fetch.ErrReset)
	for _, c := range []struct {
		name string
		url  string
		page fetchtest.Page
		want string // of the error: type, error_type and retries
	}{
		{"robots.txt fails", robots, fetchtest.Page{Status: 503}, "network network_error 2"},
		{"robots.txt breaks off", robots, fetchtest.Page{Body: "User-agent: *\n",
			Cut: fetch.Failure(fetch.ErrReset, nil)}, "network network_error 2"},
		{"the sitemap fails", root, fetchtest.Page{Status: 500}, "network network_error 2"},
		{"the sitemap resets", root, reset, "network network_error 2"},
		{"the sitemap hangs", root, fetchtest.Hang(), "timeout timeout_error 2"},
		{"the sitemap is none", root, fetchtest.Page{Body: "<html>"}, "parsing parse_error 0"},
		{"the home page fails", home, fetchtest.Page{Status: 502}, "network network_error 2"},
		{"the home page resets", home, reset, "network network_error 2"},
		{"the home page leads inward", home, fetchtest.Redirect(302, "http://10.0.0.1/"),
			"network validation_error 0"},
		{"the feed fails", rss, fetchtest.Page{Status: 500}, "network network_error 2"},
		{"the feed hangs", rss, fetchtest.Hang(), "timeout timeout_error 2"},
		{"the feed breaks off", rss, fetchtest.Page{Body: "<rss>", Cut: fetch.Failure(fetch.ErrReset, nil)},
			"network network_error 0"},
		{"the feed is none", rss, fetchtest.Page{Body: "<html>"}, "parsing parse_error 0"},
		{"a page resets", page, reset, "network network_error 0"},
		{"the sitemap is missing", root, fetchtest.Page{Status: 404}, ""},
		{"the feed is gone", rss, fetchtest.Page{Status: 410}, ""},
		{"the home page is closed", home, fetchtest.Page{Status: 403}, ""},
		{"all is closed", robots, fetchtest.Page{Body: "User-agent: *\nDisallow: /\n"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				pages[home] = fetchtest.Page{
					Body: `<link rel="alternate" type="application/rss+xml" href="/rss"><a ` +
						`href="/news/today-in-brief">x</a>`,
					Header: map[string]string{"Content-Type": "text/html"}}
				pages[rss] = fetchtest.Page{Body: "<rss><channel></channel></rss>"}
				pages[page] = fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"}}
				pages[c.url] = c.page
				w := newWorld(pages, func(l *collector.Limits) { l.FetchRetries, l.MaxRequestsPerDomain = 2, 100 })
				var log bytes.Buffer
				w.Log = contract.NewLogger(&log)
				if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				var got []string
				found := discoveryErrors(t, w.document(t))
				for _, e := range found {
					if e.URL != c.url || e.Message == "" {
						t.Errorf("%+v, want one about %s", e, c.url)
					}
					got = append(got, fmt.Sprintf("%s %s %d", e.Type, e.ErrorType, e.RetryCount))
				}
				if got := strings.Join(got, ", "); got != c.want {
					t.Errorf("errors %q, want %q", got, c.want)
				}
				logged := []discoveryError{}
				for line := range strings.Lines(log.String()) {
					var e struct {
						Event, Level, Registrable_domain, Domain_id string
						discoveryError
					}
					if err := json.Unmarshal([]byte(line), &e); err != nil {
						t.Fatal(err)
					}
					if e.Event == "url_discovery_error" {
						if logged = append(logged, e.discoveryError); e.Level != "error" ||
							e.Registrable_domain != "example.com" || e.Domain_id != "media:sg:1" {
							t.Errorf("logged %s", line)
						}
					}
				}
				if asJSON(logged) != asJSON(found) {
					t.Errorf("logged %+v, in the document %+v", logged, found)
				}
			})
		})
	}
}

// A feed that is declared at a well-known path is requested and listed once.
func TestFeed_RequestedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		delete(pages, "https://example.com/sitemap.xml")
		const declared = "https://example.com/feed.xml"
		pages["https://example.com/"] = fetchtest.Page{
			Body:   `<link rel="alternate" type="application/rss+xml" href="/feed.xml">`,
			Header: map[string]string{"Content-Type": "text/html"}}
		pages[declared] = fetchtest.Redirect(301, "http://10.0.0.8/feed.xml")
		w := newWorld(pages, nil)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		errors := 0
		for _, e := range discoveryErrors(t, w.document(t)) {
			if e.URL == declared {
				errors++
			}
		}
		requests := 0
		for _, link := range w.web.URLs() {
			if link == declared {
				requests++
			}
		}
		if errors != 1 || requests != 1 {
			t.Errorf("%d errors of %d requests", errors, requests)
		}
	})
}

// TestErrors_AreBounded: a site where everything fails, with names as long as they get.
func TestErrors_AreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		robots := ""
		for i := range 400 {
			robots += fmt.Sprintf("Sitemap: https://example.com/%s/%d.xml\n", strings.Repeat("x", 1000), i)
		}
		pages["https://example.com/robots.txt"] = fetchtest.Page{Body: robots}
		w := newWorld(pages, func(l *collector.Limits) {
			l.FetchRetries, l.MaxRequestsPerDomain, l.RequestInterval = 0, 400, time.Millisecond
		})
		w.web.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			return fetchtest.Page{Status: 500}, strings.Contains(r.URL, "/xxx")
		}
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		d := w.document(t)
		var found struct {
			Omitted int `json:"errors_omitted"`
		}
		unmarshal(t, d.Discovery, &found)
		if listed := len(discoveryErrors(t, d)); listed != 50 || found.Omitted < 300 {
			t.Errorf("%d errors, %d more left out", listed, found.Omitted)
		}
		if x := d.Technical.SitemapXML; len(x.Documents) != contract.MaxSitemapDocuments || x.DocumentsOmitted < 250 {
			t.Errorf("%d sitemaps, %d more left out", len(x.Documents), x.DocumentsOmitted)
		}
		if n := len(w.read(t, dir.Document())); n > 1<<20 {
			t.Errorf("the document has %d bytes", n)
		}
	})
}
