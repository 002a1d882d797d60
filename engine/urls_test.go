package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// allURLs reads all pages of /urls, and returns the source of each URL.
func allURLs(t *testing.T, w *enginetest.World, domain, query string) (map[string]string, contract.URLsPage) {
	t.Helper()
	sources, cursor, last := map[string]string{}, "", 2.0
	for {
		page := enginetest.Data[contract.URLsPage](w, "GET", "/api/v1/seeds/domains/"+domain+"/urls?"+query+cursor, "")
		for _, u := range page.URLs {
			if _, twice := sources[u.URL]; twice {
				t.Errorf("%s comes twice", u.URL)
			}
			if u.Priority == nil || *u.Priority > last || u.Type == nil || u.Action == nil {
				t.Errorf("%s: %v after %v, type %v, action %v", u.URL, u.Priority, last, u.Type, u.Action)
			}
			sources[u.URL], last = u.Source, *u.Priority
		}
		if page.Cursor == nil {
			if page.Total != len(sources) {
				t.Errorf("a total of %d, %d came", page.Total, len(sources))
			}
			return sources, page
		}
		cursor = "&cursor=" + *page.Cursor
	}
}

// manySitemaps serves two large sites, one with a single sitemap, one with an index of two.
func manySitemaps(pages int) func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
	list := func(host, section string) string {
		var b strings.Builder
		for n := range pages {
			fmt.Fprintf(&b, "<url><loc>https://%s/%s/story-of-the-day-%d?utm_source=x</loc>"+
				"<lastmod>2026-01-%02d</lastmod></url>", host, section, n, 1+n%27)
		}
		return b.String()
	}
	return func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
		body, found := map[string]string{
			"https://one.sg/robots.txt": "User-agent: *\nDisallow: /private\n",
			"https://one.sg/":           "<title>One</title>",
			"https://one.sg/sitemap.xml": "<urlset>" + list("one.sg", "news") + list("one.sg", "news") + list("one.sg",
				"private") + list("other.sg", "news") + "</urlset>",
			"https://two.sg/robots.txt": "User-agent: *\nDisallow:\n",
			"https://two.sg/":           "<title>Two</title>",
			"https://two.sg/sitemap.xml": "<sitemapindex><sitemap><loc>https://two.sg/a.xml</loc></sitemap><sitemap>" +
				"<loc>https://two.sg/b.xml</loc></sitemap></sitemapindex>",
			"https://two.sg/a.xml": "<urlset>" + list("two.sg", "news") + "</urlset>",
			"https://two.sg/b.xml": "<urlset>" + list("two.sg", "press-releases") + "</urlset>",
		}[r.URL]
		page := fetchtest.Page{Status: 404}
		if found {
			kind := "application/xml"
			if !strings.HasPrefix(body, "<urlset") && !strings.HasPrefix(body, "<sitemapindex") {
				kind = "text/html"
			}
			page = fetchtest.Page{Status: 200, Header: map[string]string{"Content-Type": kind}, Body: body}
		}
		return page, true
	}
}

// /urls lists every stored page of a domain once, and counts pages that no stored record names.
func TestURLs_All(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		const pages = 1500
		w.Web.Serve = manySitemaps(pages)
		upload(t, w, day, 1, `[{"url": "https://one.sg/news/story-of-the-day-7"},
			{"url": "https://one.sg/private/story-of-the-day-8"}, {"url": "https://two.sg/about"}]`)
		orchestrate(w, "{}")
		w.Drain()

		count := func(sources map[string]string) map[string]int {
			counts := map[string]int{}
			for _, s := range sources {
				counts[s]++
			}
			return counts
		}
		one, page := allURLs(t, w, "one.sg", "")
		if got, want := fmt.Sprint(count(one)), fmt.Sprint(map[string]int{"research": 2, "discovery": 49,
			"sitemap": pages - 50}); got != want {
			t.Errorf("one sitemap: %s, want %s", got, want)
		}
		for n := range pages {
			if one[fmt.Sprintf("https://one.sg/news/story-of-the-day-%d", n)] == "" {
				t.Fatalf("page %d is missing", n)
			}
		}
		if *page.Omitted != 0 || len(page.Unavailable) != 0 {
			t.Errorf("omitted %d, unavailable %v", *page.Omitted, page.Unavailable)
		}

		two, page := allURLs(t, w, "two.sg", "")
		if got := count(two); got["sitemap"] < 2*pages-50 || *page.Omitted != 0 || len(two) != 2*pages+1 {
			t.Errorf("an index: %v, omitted %d: of %d pages all are stored", got, *page.Omitted, 2*pages)
		}
		if best, _ := allURLs(t, w, "one.sg", "min_score=0.76"); len(best) == 0 || len(best) >= len(one) {
			t.Errorf("%d from 0.76 on, of %d", len(best), len(one))
		}

		// A fetched page leaves the queue, but stays listed if a stored record names it.
		l := enginetest.Data[contract.FrontierLease](w, "POST", "/api/v1/frontier/lease",
			`{"max": 100, "lease_seconds": 600}`)
		for _, item := range l.Items {
			w.Ask("POST", "/api/v1/frontier/report",
				fmt.Sprintf(`{"lease_id": %q, "results": [{"id": %q, "status": 200}]}`, *l.LeaseID, item.ID))
		}
		if again, _ := allURLs(t, w, "one.sg", ""); len(l.Items) == 0 || !maps.Equal(again, one) {
			t.Errorf("%d URLs, and %d after %d pages were fetched", len(one), len(again), len(l.Items))
		}

		w.Ask("PUT", "/api/v1/exclusions/url/https%3A%2F%2Fone.sg%2Fnews%2F*", "{}")
		if struck, page := allURLs(t, w, "one.sg", ""); len(struck) > 3 || *page.Omitted != 0 {
			t.Errorf("excluded: %v, omitted %d", slices.Collect(maps.Keys(struck)), *page.Omitted)
		}
	})
}
