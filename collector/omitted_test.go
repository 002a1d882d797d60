package collector_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// TestSitemaps_NotRead: what a limit keeps from being read is counted, and the document partial.
func TestSitemaps_NotRead(t *testing.T) {
	const site = "https://example.com"
	index := func(children ...string) fetchtest.Page {
		body := "<sitemapindex>"
		for _, c := range children {
			body += "<sitemap><loc>" + c + "</loc></sitemap>"
		}
		return fetchtest.Page{Body: body + "</sitemapindex>"}
	}
	var many []string
	manyPages := map[string]fetchtest.Page{}
	for i := range 300 {
		child := fmt.Sprintf("%s/part-%d.xml", site, i)
		many = append(many, child)
		manyPages[child] = fetchtest.Page{Body: oneURL}
	}
	manyPages[site+"/sitemap.xml"] = index(many...)
	chain := map[string]fetchtest.Page{site + "/sitemap.xml": index(site + "/1.xml")}
	for i := range 15 {
		chain[fmt.Sprintf("%s/%d.xml", site, i+1)] = index(fmt.Sprintf("%s/%d.xml", site, i+2))
	}
	circle := map[string]fetchtest.Page{site + "/sitemap.xml": index(site+"/1.xml", site+"/sitemap.xml"),
		site + "/1.xml": index(site + "/sitemap.xml")}
	few := map[string]fetchtest.Page{site + "/sitemap.xml": index(many[:5]...)}
	for _, child := range many[:5] {
		few[child] = fetchtest.Page{Body: oneURL}
	}
	slow := map[string]fetchtest.Page{site + "/sitemap.xml": index(many[:5]...)}
	for _, child := range many[:5] {
		slow[child] = fetchtest.Page{Body: oneURL, Latency: 50 * time.Second}
	}
	for _, c := range []struct {
		name     string
		pages    map[string]fetchtest.Page
		requests int
		notRead  int
		asked    int
	}{
		{"a chain of indexes", chain, 20, 1, 15},
		{"a large index", manyPages, 20, 286, 15},
		{"a large index and many requests", manyPages, 100, 206, 95},
		{"an index that fits", few, 20, 0, 6},
		{"an index in a circle", circle, 20, 0, 2},
		{"an index that takes too long", slow, 20, 2, 4},
		{"two requests", few, 2, 1, 0},
		{"one request", few, 1, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				for link, page := range c.pages {
					pages[link] = page
				}
				w := newWorld(pages, func(l *collector.Limits) {
					l.FetchRetries, l.MaxRequestsPerDomain, l.SitemapTimeout = 0, c.requests, time.Minute
				})
				if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				x := d.Technical.SitemapXML
				if c.requests == 2 { // one for robots.txt, one for the index
					c.asked, c.notRead = 1, 5
				}
				if x.NotRead != c.notRead || d.Partial != (c.notRead > 0) || len(x.Documents) != c.asked {
					t.Errorf("%d sitemaps not read, %d asked for, partial %v; want %d and %d", x.NotRead,
						len(x.Documents), d.Partial, c.notRead, c.asked)
				}
			})
		})
	}
}

// TestSitemaps_GuessesAreNoErrors: what a site answers at well-known paths that it never named is no failure unless
// the answer is cut short.
func TestSitemaps_GuessesAreNoErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		named  bool
		page   fetchtest.Page
		errors int
	}{
		{"a page for every path", false, fetchtest.Page{Body: "<html><body>Oops</body></html>"}, 0},
		{"a page at a path that is named", true, fetchtest.Page{Body: "<html><body>Oops</body></html>"}, 1},
		{"a sitemap that stalls", false, fetchtest.Page{Body: "<urlset>", Reading: time.Hour}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				if !c.named {
					pages["https://example.com/robots.txt"] = fetchtest.Page{
						Body: "User-agent: *\nDisallow: /private\n"}
				}
				pages["https://example.com/sitemap.xml"] = c.page
				w := newWorld(pages, nil)
				if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				var found discovery.Discovery
				if err := json.Unmarshal(d.Discovery, &found); err != nil || len(found.Errors) != c.errors ||
					d.Sitemap.ErrorType == nil {
					t.Errorf("errors %+v, want %d; sitemap %s", found.Errors, c.errors, asJSON(d.Sitemap))
				}
			})
		})
	}
}

// Neither a news sitemap nor an empty one at a well-known path ends the search for the site's sitemap, which
// becomes the root; nor does that one end the search for news. An entry of found that is a URL is redirected to.
func TestSitemaps_NewsAtWellKnownPath(t *testing.T) {
	const news = `<urlset xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"><url><loc>https://example.com/` +
		`today</loc><news:news><news:title>Today</news:title></news:news></url></urlset>`
	const main = "<urlset><url><loc>https://example.com/a</loc></url><url><loc>https://example.com/b</loc>" +
		"</url></urlset>"
	const untagged = "<urlset><url><loc>https://example.com/today</loc></url></urlset>"
	const index = "<sitemapindex><sitemap><loc>https://example.com/pages.xml</loc></sitemap></sitemapindex>"
	const empty = "<urlset></urlset>"
	months := map[string]string{"/sitemap-index.xml": index, "/pages.xml": main}
	for i := range 30 {
		path := fmt.Sprintf("/news-%d.xml", i)
		months["/news-sitemap.xml"] += "<sitemap><loc>https://example.com" + path + "</loc></sitemap>"
		months[path] = untagged
	}
	months["/news-sitemap.xml"] = "<sitemapindex>" + months["/news-sitemap.xml"] + "</sitemapindex>"
	many := maps.Clone(months)
	many["/sitemap.xml"], many["/sitemap_news.xml"] = months["/news-sitemap.xml"], news
	delete(many, "/news-sitemap.xml")
	for _, c := range []struct {
		name  string
		found map[string]string
		root  string
		urls  int
	}{
		{"news, then the main one", map[string]string{"/news-sitemap.xml": news,
			"/sitemap.txt": "https://example.com/a\nhttps://example.com/b\n"}, "/sitemap.txt", 3},
		{"news first of all", map[string]string{"/sitemap.xml": news, "/sitemap-index.xml": main},
			"/sitemap-index.xml", 3},
		{"news twice", map[string]string{"/sitemap.xml": news,
			"/sitemap_index.xml": strings.ReplaceAll(news, "today", "now")}, "/sitemap.xml", 2},
		{"news without tags, then an index",
			map[string]string{"/news-sitemap.xml": untagged, "/sitemap-index.xml": index,
				"/pages.xml": main}, "/sitemap-index.xml", 3},
		{"an index of news, then the main one", map[string]string{
			"/news-sitemap.xml": strings.ReplaceAll(index, "pages", "today"), "/today.xml": news,
			"/sitemap-index.xml": main}, "/sitemap-index.xml", 3},
		{"a redirect to news without tags, then an index", map[string]string{
			"/sitemap.xml": "https://example.com/news-sitemap.xml", "/news-sitemap.xml": untagged,
			"/sitemap-index.xml": index, "/pages.xml": main}, "/sitemap-index.xml", 3},
		{"an empty one, then an index", map[string]string{"/sitemap.xml": empty, "/sitemap-index.xml": index,
			"/pages.xml": main}, "/sitemap-index.xml", 2},
		{"an empty one, news, then an index", map[string]string{"/sitemap.xml": empty, "/news-sitemap.xml": untagged,
			"/sitemap-index.xml": index, "/pages.xml": main}, "/sitemap-index.xml", 3},
		{"news, an empty one, then the main one", map[string]string{"/sitemap_index.xml": news,
			"/sitemap-index.xml": empty, "/sitemap.xml.gz": main}, "/sitemap.xml.gz", 3},
		{"an empty one only", map[string]string{"/sitemap.xml": empty, "/sitemap.txt": ""}, "/sitemap.xml", 0},
		{"an index of more news than there are requests, then an index", months, "/sitemap-index.xml", 10},
		{"news without tags only", map[string]string{"/news-sitemap.xml": untagged}, "/news-sitemap.xml", 1},
		{"news only", map[string]string{"/news-sitemap.xml": news}, "/news-sitemap.xml", 1},
		{"the main one, then news", map[string]string{"/sitemap.xml": main, "/sitemap_news.xml": news}, "/sitemap.xml",
			3},
		{"the main one, then news without tags", map[string]string{"/sitemap.xml": index, "/pages.xml": main,
			"/sitemap-news.xml": untagged}, "/sitemap.xml", 3},
		{"more than there are requests, then news", many, "/sitemap.xml", 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				pages["https://example.com/robots.txt"] = fetchtest.Page{Body: "User-agent: *\nDisallow: /private\n"}
				delete(pages, "https://example.com/sitemap.xml")
				for path, body := range c.found {
					pages["https://example.com"+path] = fetchtest.Page{Body: body}
					if strings.HasPrefix(body, "https://example.com/news") {
						pages["https://example.com"+path] = fetchtest.Redirect(301, body)
					}
				}
				w := newWorld(pages, nil)
				if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				if d.Sitemap.URL == nil || *d.Sitemap.URL != "https://example.com"+c.root ||
					d.Sitemap.URLCount != c.urls || d.Partial != (len(c.found) > 20) {
					t.Errorf("sitemap %s, partial %v", asJSON(d.Sitemap), d.Partial)
				}
				if stored := string(w.read(t, dir.Sitemap())); stored != c.found[c.root] ||
					d.Sitemap.ContentLength != int64(len(stored)) {
					t.Errorf("stored %q, %d bytes by the document", stored, d.Sitemap.ContentLength)
				}
				if n := w.bucket.OpenUploads(); n != 0 {
					t.Errorf("%d uploads left open", n)
				}
			})
		})
	}
}

// A site that does not answer at paths which nobody named loses no more than one request by the search for news beside
// its main sitemap: no time for its home page and feeds, and nothing is missing.
func TestSitemaps_NewsGuessUnanswered(t *testing.T) {
	for name, page := range map[string]fetchtest.Page{
		"hangs":             fetchtest.Hang(),
		"breaks off":        fetchtest.Fail(fetch.ErrReset),
		"fails":             {Status: 503},
		"is asked too much": {Status: 429, Header: map[string]string{"Retry-After": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := healthy()
				pages["https://example.com/robots.txt"] = fetchtest.Page{Body: "User-agent: *\nDisallow: /private\n"}
				for _, path := range []string{"news-sitemap", "sitemap-news", "sitemap_news"} {
					pages["https://example.com/"+path+".xml"] = page
				}
				w := newWorld(pages, nil)
				if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				var found discovery.Discovery
				d := w.document(t)
				if err := json.Unmarshal(d.Discovery, &found); err != nil || len(found.Errors) > 0 || d.Partial ||
					d.Sitemap.Error != nil {
					t.Errorf("partial %v, errors %+v, sitemap %s", d.Partial, found.Errors, asJSON(d.Sitemap))
				}
				asked := w.web.URLs()
				if n := len(slices.DeleteFunc(slices.Clone(asked), func(url string) bool {
					return !strings.Contains(url, "news")
				})); n != 1 || !slices.Contains(asked, "https://example.com/") {
					t.Errorf("asked for %v", asked)
				}
			})
		})
	}
}

// TestSitemaps_ListsAreCapped: whatever a site says, every list of its document is bounded, and what is left out
// is counted.
func TestSitemaps_ListsAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var robots strings.Builder
		robots.WriteString("User-agent: *\n")
		for i := range 30 {
			fmt.Fprintf(&robots, "Content-Signal: signal-%d=yes\n", i)
		}
		robots.WriteString("Sitemap: https://example.com/" + strings.Repeat("x", 3000) + "\n")
		lines := 1
		for robots.Len() < 512_000-20 {
			fmt.Fprintf(&robots, "Sitemap:/%d\n", lines)
			lines++
		}
		var home strings.Builder
		for i := range 200 {
			fmt.Fprintf(&home, `<link rel="alternate" type="application/rss+xml" href="/feed/%d">`, i)
		}
		long := strings.Repeat("한", 60_000)
		pages := map[string]fetchtest.Page{
			"https://example.com/robots.txt": {Body: robots.String(),
				Header: map[string]string{"ETag": `"` + long + `"`}},
			"https://example.com/": {Body: home.String(),
				Header: map[string]string{"Server": long, "Content-Encoding": long}},
		}
		w := newWorld(pages, nil)
		w.web.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			if strings.Contains(r.URL, "/feed/") {
				return fetchtest.Page{Body: "<rss><channel><title>" + long + "</title></channel></rss>"}, true
			}
			return fetchtest.Page{Body: oneURL}, !strings.HasSuffix(r.URL, ".com/") &&
				!strings.HasSuffix(r.URL, "robots.txt")
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		d := w.document(t)
		for _, c := range []struct {
			list                  string
			listed, omitted, want int
			all                   int
		}{
			{"robots.sitemap_urls", len(d.Robots.SitemapURLs), d.Robots.URLsOmitted, contract.MaxSitemapURLs, lines},
			{"robots_txt.sitemap_urls", len(d.Technical.RobotsTxt.SitemapURLs), d.Technical.RobotsTxt.URLsOmitted,
				contract.MaxSitemapURLs, lines},
			{"content_signals", len(d.Technical.RobotsTxt.ContentSignals), d.Technical.RobotsTxt.SignalsOmitted,
				contract.MaxContentSignals, 30},
			{"feeds", len(d.Technical.Feeds), d.Technical.FeedsOmitted, 3, 200},
		} {
			if c.listed != c.want || c.listed+c.omitted != c.all {
				t.Errorf("%s: %d listed, %d left out; want %d of %d", c.list, c.listed, c.omitted, c.want, c.all)
			}
		}
		if lines < 34_000 || d.Technical.SitemapXML.NotRead < lines-20 || !d.Partial {
			t.Errorf("of %d sitemaps %d are not read, partial %v", lines, d.Technical.SitemapXML.NotRead, d.Partial)
		}
		if i := slices.Index(d.Robots.SitemapURLs, "https://example.com/1"); i != 0 {
			t.Errorf("the list begins with %q", d.Robots.SitemapURLs[:2])
		}
		if n := len(w.read(t, dir.Document())); n > 100_000 {
			t.Errorf("the document has %d bytes", n)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
			t.Errorf("%d bytes were allocated", allocated)
		}
	})
}

// TestSitemaps_FeedsAreCapped: sites submit feeds as sitemaps, any number of them.
func TestSitemaps_FeedsAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const feeds = contract.MaxFeeds + 5
		pages := healthy()
		var robots strings.Builder
		for i := range feeds {
			link := fmt.Sprintf("https://example.com/%d.rss", i)
			robots.WriteString("Sitemap: " + link + "\n")
			pages[link] = fetchtest.Page{
				Body: "<rss><channel><title>x</title><item><link>https://example.com/a</link></item></channel></rss>"}
		}
		pages["https://example.com/robots.txt"] = fetchtest.Page{Body: robots.String()}
		w := newWorld(pages, patient)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		if d := w.document(t); len(d.Technical.Feeds) != contract.MaxFeeds ||
			d.Technical.FeedsOmitted != feeds-contract.MaxFeeds {
			t.Errorf("%d feeds listed, %d left out, of %d", len(d.Technical.Feeds), d.Technical.FeedsOmitted, feeds)
		}
	})
}

// TestSitemaps_FailedOneIsPartial: a sitemap that may list URLs but could not be read leaves a gap. One that is
// missing does not, nor does an error for a path that was only guessed.
func TestSitemaps_FailedOneIsPartial(t *testing.T) {
	const index = `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap>` +
		`<loc>https://example.com/child.xml</loc></sitemap></sitemapindex>`
	const robots = "User-agent: *\nSitemap: https://example.com/map.xml\n"
	xml := map[string]string{"Content-Type": "application/xml"}
	for name, c := range map[string]struct {
		pages   map[string]fetchtest.Page
		partial bool
	}{
		"child 500": {map[string]fetchtest.Page{"robots.txt": {Body: robots}, "map.xml": {Body: index, Header: xml},
			"child.xml": {Status: 500}}, true},
		"child 429": {map[string]fetchtest.Page{"robots.txt": {Body: robots}, "map.xml": {Body: index, Header: xml},
			"child.xml": {Status: 429}}, true},
		"child 404": {map[string]fetchtest.Page{"robots.txt": {Body: robots}, "map.xml": {Body: index, Header: xml}},
			false},
		"named reset": {map[string]fetchtest.Page{"robots.txt": {Body: robots},
			"map.xml": fetchtest.Fail(fetch.ErrReset)}, true},
		"guess reset": {map[string]fetchtest.Page{"sitemap.xml": fetchtest.Fail(fetch.ErrReset)}, true},
		"guess 500":   {map[string]fetchtest.Page{"sitemap.xml": {Status: 500}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(map[string]fetchtest.Page{"https://example.com/": {Body: "<title>News</title>"}},
					func(l *collector.Limits) { l.FetchRetries = 0 })
				for path, page := range c.pages {
					w.web.Pages["https://example.com/"+path] = page
				}
				if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
					t.Fatal(err)
				}
				if d := w.document(t); d.Partial != c.partial {
					t.Errorf("partial %v, %s", d.Partial, asJSON(d.Technical.SitemapXML))
				}
			})
		})
	}
}
