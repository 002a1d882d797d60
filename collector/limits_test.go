package collector_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// rich is a government's site with more sitemaps, feeds and links than may be requested. Half of
// what it names, and all that the patterns of governments suggest below /newsroom, is forbidden.
func rich() *fetchtest.Web {
	const site = "https://example.gov.sg"
	pages := map[string]fetchtest.Page{
		site + "/robots.txt": {Body: "User-agent: *\nDisallow: /newsroom\nDisallow: /media/\nDisallow: " +
			"/*/closed\nDisallow: /*-secret\n" +
			"Sitemap: " + site + "/sitemap.xml\n"},
	}
	var index, home strings.Builder
	index.WriteString("<sitemapindex>")
	for i := range 10 {
		fmt.Fprintf(&index,
			"<sitemap><loc>%s/part-%d.xml</loc></sitemap><sitemap><loc>%s/part-%d-secret.xml</loc></sitemap>", site, i,
			site, i)
		urls := ""
		for k := range 40 {
			urls += fmt.Sprintf("<url><loc>%s/press-releases/%d/release-%d-%d</loc><lastmod>"+
				"2026-01-2%d</lastmod></url>", site,
				2020+i, i, k, k%10)
			urls += fmt.Sprintf("<url><loc>%s/news/closed/item-%d-%d</loc></url>", site, i, k)
		}
		pages[fmt.Sprintf("%s/part-%d.xml", site, i)] = fetchtest.Page{Body: "<urlset>" + urls + "</urlset>"}
	}
	index.WriteString("</sitemapindex>")
	pages[site+"/sitemap.xml"] = fetchtest.Page{Body: index.String()}
	html := map[string]string{"Content-Type": "text/html"}
	home.WriteString(
		`<html><head><link rel="alternate" type="application/rss+xml" href="/feed"><link rel="alternate" ` +
			`type="application/rss+xml" href="/media/feed"></head><body>`)
	for i := range 60 {
		fmt.Fprintf(&home,
			`<a href="/news/story-%d">x</a><a href="/newsroom/%d">x</a><a href="/news/closed/%d">x</a><a `+
				`href="/announcements/%d-secret">x</a>`, i, i, i, i)
	}
	pages[site+"/"] = fetchtest.Page{Body: home.String() + "</body></html>", Header: html}
	pages[site+"/feed"] = fetchtest.Page{Body: "<rss><channel><title>x</title></channel></rss>"}
	return &fetchtest.Web{Clock: clock{}, Pages: pages, Serve: func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
		_, listed := pages[r.URL]
		return fetchtest.Page{Header: html, Latency: 100 * time.Millisecond}, !listed
	}}
}

// forbidden is the robots.txt of rich, read by hand.
func forbidden(t *testing.T, visited string) bool {
	u, err := url.Parse(visited)
	if err != nil {
		t.Fatal(err)
	}
	path := u.EscapedPath()
	return strings.HasPrefix(path, "/newsroom") || strings.HasPrefix(path, "/media/") ||
		strings.Contains(path[1:], "/closed") || strings.Contains(path, "-secret")
}

// TestLimits: however much a site offers, a domain costs at most 20 requests and 30 seconds, a second
// lies between two requests, and none of them is forbidden.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(nil, nil)
		w.web = rich()
		w.Transport = w.web
		m := message(1, "https://example.gov.sg/a", "https://example.gov.sg/newsroom/b")
		m.Domain, m.RegistrableDomain, m.DomainURL, m.Authority = "example.gov.sg", "example.gov.sg",
			"https://example.gov.sg/", "gov"
		begin := time.Now()
		if err := w.collect(t, m, false); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("took %v", took)
		}
		visits := w.web.Visits()
		if len(visits) != 20 {
			t.Errorf("%d requests, want the 20 that are allowed", len(visits))
		}
		heads := 0
		for i, v := range visits {
			if forbidden(t, v.URL) {
				t.Errorf("%s %s is forbidden", v.Method, v.URL)
			}
			if v.Method == "HEAD" {
				heads++
			}
			if i > 0 && v.Start.Sub(visits[i-1].End) < time.Second {
				t.Errorf("%s %v after the request before it", v.URL, v.Start.Sub(visits[i-1].End))
			}
		}
		if heads < 5 {
			t.Errorf("only %d pages were looked at: %v", heads, w.web.URLs())
		}
	})
}

// TestLimits_ForbiddenIsNoticed: the check of TestLimits finds a forbidden request.
func TestLimits_ForbiddenIsNoticed(t *testing.T) {
	for u, want := range map[string]bool{
		"https://example.gov.sg/newsroom/2026": true, "https://example.gov.sg/news/closed/1": true,
		"https://example.gov.sg/part-1-secret.xml": true,
		"https://example.gov.sg/media/feed":        true, "https://example.gov.sg/press-releases/2026": false,
		"https://example.gov.sg/": false,
	} {
		if forbidden(t, u) != want {
			t.Errorf("%s: %v", u, !want)
		}
	}
}
