package collector_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/robots"
)

const oneURL = "<urlset><url><loc>https://example.com/a</loc></url></urlset>"

// scattered is a site whose sitemaps, feeds and home page stand on other hosts.
func scattered() map[string]fetchtest.Page {
	return map[string]fetchtest.Page{
		"https://example.com/robots.txt": {Body: "User-agent: *\nDisallow:\n" +
			"Sitemap: https://cdn.example.net/open.xml\nSitemap: https://cdn.example.net/closed.xml\n" +
			"Sitemap: http://example.com/plain.xml\nSitemap: https://example.com/moved.xml\n" +
			"Sitemap: https://down.example.org/map.xml\n"},
		"https://cdn.example.net/robots.txt": {Body: "User-agent: *\nDisallow: /closed\n"},
		"https://cdn.example.net/open.xml": {
			Body: "<urlset><url><loc>https://example.com/a</loc></url><url><loc>https://www.example.com/secret/news</" +
				"loc></url></urlset>"},
		"https://cdn.example.net/closed.xml":  {Body: oneURL},
		"http://example.com/robots.txt":       {Status: 404},
		"http://example.com/plain.xml":        {Body: oneURL},
		"https://example.com/moved.xml":       fetchtest.Redirect(301, "https://cdn.example.net/closed.xml"),
		"https://down.example.org/robots.txt": {Status: 503},
		"https://down.example.org/map.xml":    {Body: oneURL},
		"https://example.com/":                fetchtest.Redirect(302, "https://www.example.com/home"),
		"https://www.example.com/robots.txt":  {Body: "User-agent: *\nDisallow: /secret\n"},
		"https://www.example.com/home": {
			Body:   `<link rel="alternate" type="application/rss+xml" href="https://cdn.example.net/feed">`,
			Header: map[string]string{"Content-Type": "text/html"}},
		"https://cdn.example.net/feed": {Body: "<rss><channel><title>x</title></channel></rss>"},
	}
}

// robotsFirst reports every request to an authority that came before the one for its robots.txt.
func robotsFirst(t *testing.T, visits []fetchtest.Visit) {
	t.Helper()
	read := map[string]bool{}
	for _, v := range visits {
		u, err := url.Parse(v.URL)
		if err != nil {
			t.Fatal(err)
		}
		authority := u.Scheme + "://" + u.Host
		read[authority] = read[authority] || u.Path == "/robots.txt"
		if !read[authority] {
			t.Errorf("%s was asked for before robots.txt of %s", v.URL, authority)
		}
	}
}

// patient raises the limits so that all of a test's site is read.
func patient(l *collector.Limits) { l.FetchRetries, l.MaxRequestsPerDomain = 0, 100 }

// TestOtherHosts_Robots: whatever leads to another host, its robots.txt is read first, and obeyed.
func TestOtherHosts_Robots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(scattered(), patient)
		if err := w.collect(t, message(1, "https://example.com/a", "https://www.example.com/b",
			"https://www.example.com/secret", "https://unread.example.com/c"), false); err != nil {
			t.Fatal(err)
		}
		robotsFirst(t, w.web.Visits())
		asked := w.web.URLs()
		for link, want := range map[string]bool{
			"https://cdn.example.net/open.xml": true, "https://cdn.example.net/closed.xml": false,
			"http://example.com/plain.xml":     true,
			"https://down.example.org/map.xml": false, "https://www.example.com/home": true,
			"https://cdn.example.net/feed": true,
		} {
			if slices.Contains(asked, link) != want {
				t.Errorf("%s was asked for: %v, want %v", link, !want, want)
			}
		}
		d := w.document(t)
		why := map[string]string{}
		for _, s := range d.Technical.SitemapXML.Documents {
			if s.Error != nil {
				why[s.URL] = *s.Error
			}
		}
		if !strings.Contains(why["https://down.example.org/map.xml"], "HTTP 503") ||
			!strings.Contains(why["https://example.com/moved.xml"], "robots.txt forbids it") ||
			len(d.Technical.Feeds) != 1 || d.Sitemap.URLCount != 3 {
			t.Errorf("%d URLs, %d feeds, errors %v", d.Sitemap.URLCount, len(d.Technical.Feeds), why)
		}
		allowed := map[string]string{}
		for _, u := range d.URLs {
			allowed[u.URL] = asJSON(u.Allowed)
		}
		if got := fmt.Sprint(allowed); got != "map[https://example.com/a:true https://unread.example.com/c:null "+
			"https://www.example.com/b:true https://www.example.com/secret:false]" {
			t.Errorf("allowed: %s", got)
		}
		// What a sitemap listed before robots.txt of its host was read is judged by it all the same.
		if strings.Contains(string(d.Discovery), "/secret/news") ||
			strings.Contains(string(d.Contract), "/secret/news") {
			t.Errorf("a forbidden URL is recommended:\n%s\n%s", d.Discovery, d.Contract)
		}
		// The verdicts of other hosts outlast the collection.
		if err := w.collect(t, message(2, "https://www.example.com/secret/2"), false); err != nil {
			t.Fatal(err)
		}
		for _, u := range w.document(t).URLs {
			if want := !strings.Contains(u.URL, "/secret"); u.Allowed != nil && *u.Allowed != want ||
				u.Allowed == nil && !strings.Contains(u.URL, "unread") {
				t.Errorf("after a merge: %s allowed: %s", u.URL, asJSON(u.Allowed))
			}
		}
	})
}

// TestOtherHosts_AreFew: what would cost more than it is worth is left unfetched, and the document says so.
func TestOtherHosts_AreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		robots := "User-agent: *\n"
		for i := range 8 {
			host := fmt.Sprintf("https://part-%d.example.net", i)
			robots += "Sitemap: " + host + "/map.xml\n"
			pages[host+"/map.xml"] = fetchtest.Page{Body: oneURL}
		}
		pages["https://example.com/robots.txt"] = fetchtest.Page{Body: robots}
		w := newWorld(pages, patient)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		robotsFirst(t, w.web.Visits())
		hosts := map[string]bool{}
		for _, v := range w.web.Visits() {
			hosts[v.Host] = true
		}
		d := w.document(t)
		if len(hosts) != 1+4 || d.Sitemap.URLCount != 4 || !d.Partial {
			t.Errorf("asked %d hosts, %d URLs, partial %v", len(hosts), d.Sitemap.URLCount, d.Partial)
		}
		unknown := 0
		for _, e := range discoveryErrors(t, d) {
			if e.ErrorType == "robots_unknown" && strings.HasPrefix(e.URL, "https://part-") {
				unknown++
			}
		}
		if unknown != 4 {
			t.Errorf("errors %+v, want one for each of the four sitemaps left unfetched", discoveryErrors(t, d))
		}
	})
}

// TestOtherHosts_WithinTheBudget: robots.txt of other hosts counts, and leaves the home page its request.
func TestOtherHosts_WithinTheBudget(t *testing.T) {
	for n := 1; n <= 14; n++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(scattered(), func(l *collector.Limits) { l.FetchRetries, l.MaxRequestsPerDomain = 0, n })
			if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
				t.Fatal(err)
			}
			visits := w.web.Visits()
			robotsFirst(t, visits)
			if len(visits) > n {
				t.Errorf("%d requests, at most %d are allowed", len(visits), n)
			}
			if n >= 8 && !slices.Contains(w.web.URLs(), "https://www.example.com/home") {
				t.Errorf("with %d requests the home page is not reached: %q", n, w.web.URLs())
			}
		})
	}
}

// The requests that are kept for the home page and feeds are not spent on another host's robots.txt.
func TestOtherHosts_LeaveRequestsForTheHomePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		pages["https://example.com/robots.txt"] = fetchtest.Page{
			Body: "Sitemap: https://example.com/sitemap.xml\nSitemap: https://cdn.example.net/map.xml\n"}
		pages["https://cdn.example.net/robots.txt"] = fetchtest.Redirect(301, "/1")
		for i := range 5 {
			pages[fmt.Sprintf("https://cdn.example.net/%d", i)] = fetchtest.Redirect(301, fmt.Sprintf("/%d", i+1))
		}
		w := newWorld(pages, func(l *collector.Limits) { l.FetchRetries, l.MaxRequestsPerDomain = 0, 7 })
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		if asked := w.web.URLs(); !slices.Contains(asked, "https://example.com/") ||
			slices.Contains(asked, "https://cdn.example.net/robots.txt") {
			t.Errorf("asked for %q", asked)
		}
		if d := w.document(t); !d.Partial || d.Technical.ServerInfo.Server == nil {
			t.Errorf("partial %v, server %+v", d.Partial, d.Technical.ServerInfo)
		}
	})
}

// TestMerge_ObeysTheSameRules: what is stored of a robots.txt as large as is read says in a merge what it said
// when it was collected: nothing of the line that the limit cut, and all else.
func TestMerge_ObeysTheSameRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cut = "Disallow: /news"
		head, tail := "User-agent: *\nDisallow: /private\n", "\n"+cut
		pages := healthy()
		pages["https://example.com/robots.txt"] = fetchtest.Page{Body: head + strings.Repeat("#",
			robots.MaxBytes-len(head)-len(tail)) + tail + "paper/archive\n"}
		var other strings.Builder
		other.WriteString("User-agent:*\n")
		for i := 0; other.Len() < robots.MaxBytes-40; i++ {
			fmt.Fprintf(&other, "Disallow:/%d\n", i)
		}
		other.WriteString("Disallow:/private\n")
		pages["https://www.example.com/robots.txt"] = fetchtest.Page{Body: other.String()}
		pages["https://example.com/"] = fetchtest.Redirect(302, "https://www.example.com/")
		pages["https://www.example.com/"] = fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"}}
		w := newWorld(pages, nil)
		for n := range 2 {
			if err := w.collect(t, message(n+1,
				fmt.Sprintf("https://example.com/news/%d", n), fmt.Sprintf("https://example.com/private/%d", n),
				fmt.Sprintf("https://www.example.com/news/%d", n), fmt.Sprintf("https://www.example.com/private/%d",
					n)), false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		urls := w.document(t).URLs
		if len(urls) != 8 {
			t.Fatalf("%d URLs", len(urls))
		}
		for _, u := range urls {
			if want := strings.Contains(u.URL, "/news/"); u.Allowed == nil || *u.Allowed != want {
				t.Errorf("%s: allowed %v, want %v", u.URL, asJSON(u.Allowed), want)
			}
		}
	})
}

// TestOtherHosts_Politeness: the Crawl-delay of another host holds there.
func TestOtherHosts_Politeness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := scattered()
		pages["https://cdn.example.net/robots.txt"] = fetchtest.Page{Body: "User-agent: *\nCrawl-delay: 7\n"}
		w := newWorld(pages, patient)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		last := map[string]time.Time{}
		for _, v := range w.web.Visits() {
			pause := time.Second
			if v.Host == "cdn.example.net" {
				pause = 7 * time.Second
			}
			if end, ok := last[v.Host]; ok && v.Start.Sub(end) < pause {
				t.Errorf("%s was asked for %v after the request before it", v.URL, v.Start.Sub(end))
			}
			last[v.Host] = v.End
		}
	})
}

// TestOtherHosts_Excluded: not even robots.txt of a host that an operator excluded is asked for.
func TestOtherHosts_Excluded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(scattered(), patient)
		v := w.NewBatch(func(link string) bool {
			return strings.Contains(link,
				"cdn.example.net")
		}).Visit("example.com")
		if _, err := v.Collect(t.Context(), message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		for _, v := range w.web.Visits() {
			if v.Host == "cdn.example.net" {
				t.Errorf("%s was asked for", v.URL)
			}
		}
	})
}

// TestCrawl_StaysOnItsHost: a page that redirects to another host is not worth its robots.txt.
func TestCrawl_StaysOnItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		pages["https://example.com/"] = fetchtest.Page{Body: `<a href="/news/today-in-brief">News</a>`,
			Header: map[string]string{"Content-Type": "text/html"}}
		pages["https://example.com/news/today-in-brief"] = fetchtest.Redirect(302, "https://elsewhere.example/")
		pages["https://elsewhere.example/"] = fetchtest.Page{}
		w := newWorld(pages, nil)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		asked := w.web.URLs()
		if !slices.Contains(asked, "https://example.com/news/today-in-brief") ||
			slices.ContainsFunc(asked, func(link string) bool { return strings.Contains(link, "elsewhere") }) {
			t.Errorf("asked for %q", asked)
		}
	})
}

type discoveryError struct {
	Type       string `json:"type"`
	ErrorType  string `json:"error_type"`
	URL        string `json:"url"`
	Message    string `json:"message"`
	RetryCount int    `json:"retry_count"`
}

// discoveryErrors are the errors[] of a document.
func discoveryErrors(t *testing.T, d *contract.Document) []discoveryError {
	t.Helper()
	var found struct {
		Errors []discoveryError `json:"errors"`
	}
	unmarshal(t, d.Discovery, &found)
	return found.Errors
}

func unmarshal(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}
