package collector_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/feed"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/sitemap"
)

func entryURLs(how discovery.FetchContract) (urls []string) {
	for _, e := range how.EntryPoints {
		urls = append(urls, string(e.Method)+" "+e.URL)
	}
	return urls
}

// TestBlocked: a site that refuses everything, robots.txt apart, is blocked, and says with what; one that serves
// anything is not.
func TestBlocked(t *testing.T) {
	html := map[string]string{"Content-Type": "text/html"}
	refusal := func(status int, body string) fetchtest.Page {
		return fetchtest.Page{Status: status, Body: body, Header: html}
	}
	everything := func(p fetchtest.Page) map[string]fetchtest.Page {
		pages := map[string]fetchtest.Page{}
		for _, path := range slices.Concat([]string{"/"}, sitemap.WellKnown, feed.WellKnown) {
			pages["https://example.com"+path] = p
		}
		return pages
	}
	for name, test := range map[string]struct {
		pages  map[string]fetchtest.Page
		robots fetchtest.Page
		want   string
	}{
		"forbidden": {everything(refusal(403, "<title>Access &amp; denied</title>")), refusal(404, ""),
			"HTTP 403: Access & denied"},
		"unauthorised": {everything(refusal(401, "")), refusal(401, ""), "HTTP 401"},
		"too many":     {everything(refusal(429, "")), refusal(429, ""), "HTTP 429"},
		"a challenge": {everything(refusal(503, "<title>Just a moment...</title>")),
			fetchtest.Page{Body: "User-agent: *\nAllow: /\n"}, "HTTP 503: Just a moment..."},
		"with 200": {everything(
			fetchtest.Page{Body: "<head><title>Robot?</title><script src='https://geo.captcha-delivery.com/x'>",
				Header: map[string]string{"Content-Type": "text/html"}}), refusal(404, ""), "HTTP 200: Robot?"},
		"healthy":    {healthy(), healthy()["https://example.com/robots.txt"], ""},
		"no sitemap": {map[string]fetchtest.Page{"https://example.com/": refusal(403, "")}, refusal(404, ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.pages["https://example.com/robots.txt"] = test.robots
				w := newWorld(test.pages, nil)
				if err := w.collect(t, message(1, "https://example.com/news/2026/a-story-of-the-day"),
					true); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				reason := ""
				if d.BlockedReason != nil {
					reason = *d.BlockedReason
				}
				if d.Blocked != (test.want != "") || reason != test.want || !d.Reachable {
					t.Errorf("blocked %v, %q, want %q; asked for %v", d.Blocked, reason, test.want, w.web.URLs())
				}
				if _, how := found(t, d); len(how.EntryPoints) == 0 {
					t.Error("it has no entry point")
				}
			})
		})
	}
}

// TestMoved: a site that leads to another domain for good names where, and what is there is analysed.
func TestMoved(t *testing.T) {
	at := func(host string) map[string]fetchtest.Page {
		pages := map[string]fetchtest.Page{}
		for url, p := range healthy() {
			pages["https://"+host+url[len("https://example.com"):]] = fetchtest.Page{Status: p.Status,
				Header: p.Header, Body: strings.ReplaceAll(p.Body, "example.com", host)}
		}
		return pages
	}
	redirect := func(status int, path string) fetchtest.Page {
		return fetchtest.Page{Status: status,
			Header: map[string]string{"Location": "https://www.moved.example" + path}}
	}
	for name, test := range map[string]struct {
		change func(map[string]fetchtest.Page)
		moved  bool
	}{
		"everything": {func(p map[string]fetchtest.Page) {
			p["https://example.com/robots.txt"] = redirect(301, "/robots.txt")
			p["https://example.com/sitemap.xml"] = redirect(308, "/sitemap.xml")
			p["https://example.com/"] = redirect(301, "/")
		}, true},
		"the home page": {func(p map[string]fetchtest.Page) { p["https://example.com/"] = redirect(301, "/") }, true},
		"for now":       {func(p map[string]fetchtest.Page) { p["https://example.com/"] = redirect(302, "/") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := at("www.moved.example")
				test.change(pages)
				w := newWorld(pages, nil)
				w.frontier.open(t)
				if err := w.collect(t, message(1, "https://example.com/old"), false); err != nil {
					t.Fatal(err)
				}
				check := func() {
					t.Helper()
					d := w.document(t)
					if !test.moved {
						if d.MovedTo != nil {
							t.Errorf("moved to %s", *d.MovedTo)
						}
						return
					}
					found, how := found(t, d)
					if d.MovedTo == nil || *d.MovedTo != "www.moved.example" {
						t.Errorf("moved to %v; asked for %v", d.MovedTo, w.web.URLs())
					}
					if !slices.ContainsFunc(found.URLs, func(u discovery.DiscoveredURL) bool {
						return u.URL == "https://www.moved.example/a" && u.Allowed != nil && *u.Allowed
					}) {
						t.Errorf("discovered %v", found.URLs)
					}
					if got := fmt.Sprint(entryURLs(how)); got != "[sitemap https://www.moved.example/sitemap.xml]" {
						t.Errorf("entry points %s", got)
					}
				}
				check()
				if err := w.collect(t, message(2, "https://example.com/older"), false); err != nil {
					t.Fatal(err)
				}
				check()
				if state := w.state(t, "moved.example",
					"https://www.moved.example/a").State; (state != "unknown") != test.moved {
					t.Errorf("what is there is %s in the frontier", state)
				}
			})
		})
	}
}

// TestReview: an exclusion shows in the document at once, and what was there is there again when it is taken back.
func TestReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		w.frontier.open(t)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		before := w.document(t)
		out := contract.NewExclusions([]contract.Exclusion{{Kind: contract.ExcludeDomain, Value: "example.com"}})
		none := contract.NewExclusions(nil)
		asked := len(w.web.Visits())
		for range 2 {
			if _, err := w.NewBatch(out.URL).Review(t.Context(), partition, "example.com", false); err != nil {
				t.Fatal(err)
			}
			d := w.document(t)
			found, how := found(t, d)
			if !d.Excluded || how.Allowed || len(how.EntryPoints)+len(found.URLs) > 0 || *d.URLs[0].Allowed ||
				d.Revision != 2 {
				t.Errorf("excluded %v, allowed %v, %d entry points, %d discovered, %+v, revision %d", d.Excluded,
					how.Allowed, len(how.EntryPoints), len(found.URLs), d.URLs[0], d.Revision)
			}
		}
		for range 2 {
			if _, err := w.NewBatch(none.URL).Review(t.Context(), partition, "example.com", true); err != nil {
				t.Fatal(err)
			}
			d := w.document(t)
			_, how := found(t, d)
			_, was := found(t, before)
			if d.Revision != 3 || d.Excluded || asJSON(d.URLs) != asJSON(before.URLs) || !how.Allowed ||
				fmt.Sprint(entryURLs(how)) != fmt.Sprint(entryURLs(was)) ||
				asJSON(d.Discovery) != asJSON(before.Discovery) {
				t.Errorf("revision %d, taken back:\n%s\nwant\n%s", d.Revision, asJSON(d), asJSON(before))
			}
			for i, e := range how.EntryPoints {
				want := was.EntryPoints[i]
				want.Charset = nil // it is nowhere but in the document that had it
				if asJSON(e) != asJSON(want) || e.NextCheckAt == nil || len(e.Checks) != 1 {
					t.Errorf("taken back:\n%s\nwant\n%s", asJSON(e), asJSON(want))
				}
			}
		}
		if n := len(w.web.Visits()); n != asked {
			t.Errorf("%d requests", n-asked)
		}
		if doc, err := w.NewBatch(out.URL).Review(t.Context(), partition, "missing.example", false); err != nil ||
			doc != nil {
			t.Error(doc, err)
		}
	})
}
