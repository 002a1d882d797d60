package discovery

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/contract"
)

// htmlPage is a web page with links.
func htmlPage(links ...string) Reply {
	return Reply{Status: 200, ContentType: "text/html; charset=utf-8", Links: untitled(links...)}
}

// untitled are links without text.
func untitled(urls ...string) (links []Link) {
	for _, u := range urls {
		links = append(links, Link{URL: u})
	}
	return links
}

// TestCrawl: breadth first; five new pages a page; nothing that robots.txt forbids or does not
// decide, nothing of other hosts, nothing seen before.
func TestCrawl(t *testing.T) {
	asked := map[string]bool{} // URLs matched against robots.txt
	rules := func(url string) (allowed, decided bool) {
		return !strings.Contains(url, "/news/secret"), strings.HasPrefix(url, "https://www.x.gov/")
	}
	o := Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow, Robots: func(url string) (bool, bool) {
		asked[url] = true
		return rules(url)
	}}
	a := NewAnalyser(o)
	add(a, "https://www.x.gov/news/seen", FromSitemap, testNow)
	c := a.Crawl("https://www.x.gov", htmlPage(
		"https://www.x.gov/news/secret", "https://www.x.gov/news/seen", "https://data.x.gov/news",
		"https://www.y.gov/news",
		"https://www.x.gov/news/a#top", "https://www.x.gov/news/a", "https://www.x.gov/news/report.pdf",
		"https://www.x.gov/login",
		"https://www.x.gov/press-releases", "https://www.x.gov/contact", "javascript:void(0)", "https://www.x.gov/",
	))
	var requests []string
	for {
		u, ok := c.Next()
		if !ok {
			break
		}
		requests = append(requests, u)
		if allowed, decided := rules(u); !allowed || !decided {
			t.Errorf("%s is forbidden", u)
		}
		if !asked[u] {
			t.Errorf("robots.txt was not asked for %s", u)
		}
		switch {
		case strings.HasSuffix(u, "/news/a"):
			c.Answer(Reply{Status: 404, ContentType: "text/html"})
		case strings.HasSuffix(u, "/press-releases"):
			c.Answer(htmlPage("https://www.x.gov/news/from-a-head"))
		default:
			c.Answer(Reply{Status: 200, ContentType: "application/pdf"})
		}
	}
	want := []string{"https://www.x.gov/news/a", "https://www.x.gov/press-releases"}
	first := slices.Clone(requests[:2])
	slices.Sort(first)
	if !reflect.DeepEqual(first, want) {
		t.Errorf("%v, want first %v", first, want)
	}
	// Home leads to five, of which two are links; the one page that was kept leads to its link and four more.
	if len(requests) > 5+5 || !slices.Contains(requests, "https://www.x.gov/press-releases/2026") {
		t.Errorf("%v", requests)
	}
	var kept []string
	for _, u := range a.Result().URLs {
		if u.Method == FromLink {
			kept = append(kept, u.URL)
		}
	}
	if !reflect.DeepEqual(kept, []string{"https://www.x.gov/press-releases"}) {
		t.Errorf("kept %v", kept)
	}
}

// TestCrawl_Forbidden: without a word of robots.txt there is no crawl.
func TestCrawl_Forbidden(t *testing.T) {
	for name, robots := range map[string]func(string) (bool, bool){
		"unknown":   nil,
		"forbidden": func(string) (bool, bool) { return false, true },
	} {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow, Robots: robots})
		if r, ok := a.Crawl("https://www.x.gov/", htmlPage("https://www.x.gov/news/a")).Next(); ok {
			t.Errorf("%s: wants %v", name, r)
		}
	}
}

// open allows every request.
func open(string) (allowed, decided bool) { return true, true }

// A site without a usable home page is crawled from raw URLs and sitemaps.
func TestCrawl_FromPatterns(t *testing.T) {
	for name, home := range map[string]Reply{
		"missing":   {Status: 404, ContentType: "text/html", Links: untitled("https://x.com/news/of-the-error-page")},
		"no page":   {Status: 200, ContentType: "application/json"},
		"forbidden": {},
	} {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.com", Now: testNow,
			Robots: func(url string) (bool, bool) {
				return url != "https://x.com/" && !strings.Contains(url, "/private"),
					strings.HasPrefix(url, "https://x.com/")
			}})
		for i := range 4 {
			add(a, fmt.Sprintf("https://x.com/press-releases/2024/release-%d-of-the-year", i), FromResearch,
				time.Time{})
			add(a, fmt.Sprintf("https://x.com/private/news/2024/story-%d-of-the-year", i), FromResearch, time.Time{})
		}
		c := a.Crawl("https://x.com/", home)
		var requests []string
		for u, ok := c.Next(); ok; u, ok = c.Next() {
			requests = append(requests, u)
			c.Answer(htmlPage())
		}
		if len(requests) == 0 || len(requests) > 10 || requests[0] != "https://x.com/press-releases/2026" {
			t.Errorf("%s: %v", name, requests)
		}
		if m := a.Result().URLs; !slices.ContainsFunc(m, func(u DiscoveredURL) bool {
			return u.URL == "https://x.com/press-releases/2026" && u.Method == Generated
		}) {
			t.Errorf("%s: the page found by a pattern is not kept", name)
		}
	}
}

// TestCrawl_Redirected: what answers is what was redirected to.
func TestCrawl_Redirected(t *testing.T) {
	for led, want := range map[string]string{
		"":                                     "https://www.x.gov/press-releases",
		"https://www.x.gov/press-releases":     "https://www.x.gov/press-releases",
		"https://www.X.gov/newsroom/releases#": "https://www.x.gov/newsroom/releases",
		"https://x.gov/newsroom/releases":      "https://x.gov/newsroom/releases",
		"https://data.x.gov/press-releases":    "", // its robots.txt was not read
		"https://www.x.gov/secret/releases":    "",
		"https://www.x.gov/":                   "",
		"https://www.x.gov/login":              "",
		"https://www.x.gov/news/seen":          "", // seen before
		"https://elsewhere.example/news":       "",
	} {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow,
			Robots: func(url string) (bool, bool) {
				return !strings.Contains(url, "/secret"), !strings.HasPrefix(url, "https://data.")
			}})
		add(a, "https://www.x.gov/news/seen", FromSitemap, testNow)
		c := a.Crawl("https://www.x.gov/", htmlPage("https://www.x.gov/press-releases"))
		if u, ok := c.Next(); !ok || u != "https://www.x.gov/press-releases" {
			t.Fatal(u, ok)
		}
		r := htmlPage()
		r.URL = led
		c.Answer(r)
		got, stats := "", a.Result().Stats
		for _, u := range a.Result().URLs {
			if u.Method == FromLink {
				got = u.URL
			}
		}
		if got != want || stats.Excluded.External > 0 {
			t.Errorf("%s: kept %q, want %q; %d counted as external", led, got, want, stats.Excluded.External)
		}
	}
}

// TestCrawl_LastModified: the date of a page that was looked at counts for its timeliness.
func TestCrawl_LastModified(t *testing.T) {
	for _, c := range []struct {
		at   time.Time
		want float64
	}{{ago(2 * day), 0.8}, {ago(60 * day), 0.4}, {time.Time{}, contract.Undated},
		{testNow.Add(100 * day), contract.Undated}} {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow, Robots: open})
		crawl := a.Crawl("https://x.gov/", htmlPage("https://x.gov/press-releases"))
		crawl.Next()
		r := htmlPage()
		r.LastModified = c.at
		crawl.Answer(r)
		if u := a.Result().URLs; len(u) != 1 || u[0].NewsValue.Timeliness != c.want {
			t.Errorf("%v: %+v, want %v", c.at, u, c.want)
		}
	}
}

// TestCrawl_Ends: a site where every page is new cannot keep the crawl going.
func TestCrawl_Ends(t *testing.T) {
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow, Robots: open})
	sections := []string{"news", "press-releases", "policies", "reports", "statistics"}
	links := func(n int) (list []string) {
		for i := range 50 {
			list = append(list, fmt.Sprintf("https://x.gov/%s/story-%d-%d", sections[i%5], n, i))
		}
		return list
	}
	c := a.Crawl("https://x.gov/", htmlPage(links(0)...))
	n := 0
	for ; n < 1000; n++ {
		if _, ok := c.Next(); !ok {
			break
		}
		c.Answer(htmlPage(links(n + 1)...))
	}
	if n < maxURLsPerCategory || n > 5+25 {
		t.Errorf("%d requests", n)
	}
}

// The crawl keeps and requests no more of one category than the contract recommends, which leaves space for others.
func TestCrawl_Categories(t *testing.T) {
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.com", Now: testNow, Robots: open})
	c := a.Crawl("https://x.com/", htmlPage())
	keep := func(kind string, n int) (asked int) {
		var links []string
		for i := range n {
			links = append(links, fmt.Sprintf("https://x.com/%s/minister-opens-new-bridge-%d", kind, i))
		}
		for len(links) > 0 {
			c.extend(untitled(links[:min(len(links), newPerPage)]...))
			links = links[min(len(links), newPerPage):]
			for _, ok := c.Next(); ok; _, ok = c.Next() {
				asked++
				c.Answer(htmlPage())
				c.current = step{}
			}
		}
		return asked
	}
	if asked := keep("news", 30); asked != maxURLsPerCategory {
		t.Errorf("%d pages of news were requested", asked)
	}
	if asked := keep("press-releases/2025", 3); asked != 3 {
		t.Errorf("%d press releases were requested", asked)
	}
	d := a.Result()
	if n := d.Categories[classify.News].Count; n != d.Strategy.MaxURLsPerCategory {
		t.Errorf("%d pages of news, the limit is %d", n, d.Strategy.MaxURLsPerCategory)
	}
}

func TestCrawl_Generate(t *testing.T) {
	january := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		pattern string
		example string
		want    []string
	}{
		{"/press-releases/{year}", "", []string{"/press-releases/2026", "/press-releases/2025"}},
		{"/news/{year}/{month}/{slug}", "", []string{"/news/2026/01", "/news/2025/12"}},
		{"/news/{year}/{month}/{day}/{slug}", "", []string{"/news/2026/01", "/news/2025/12"}},
		{"/policies/{slug}", "", []string{"/policies"}},
		{"/article/{id}.html", "", []string{"/article"}},
		{"/bbs/list.do?bbsId={id}", "", []string{"/bbs"}},
		{"/{lang}/news/{slug}", "https://x.gov/en/news/a", []string{"/en/news"}},
		{"/{lang}/news/{slug}", "", nil},
		{"/{slug}", "", nil},
		{"/{month}/{year}", "", nil},
	} {
		p := URLPattern{Pattern: c.pattern}
		if c.example != "" {
			p.Examples = []string{c.example}
		}
		if got := generate(p, january); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.pattern, got, c.want)
		}
	}
}

// TestCrawl_ManyLinks: a page costs in proportion to its links. Comparing each link with all others
// would make four times as many cost some sixteen times as much.
func TestCrawl_ManyLinks(t *testing.T) {
	cost := func(n int) time.Duration {
		links := make([]string, n)
		for i := range links {
			links[i] = fmt.Sprintf("https://x.gov/news/a-story-%d", i)
		}
		least := time.Hour
		for range 3 {
			a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow, Robots: open})
			began := time.Now()
			c := a.Crawl("https://x.gov/", htmlPage(links...))
			least = min(least, time.Since(began))
			if len(c.queue) != newPerPage {
				t.Fatalf("%d queued", len(c.queue))
			}
		}
		return least
	}
	few, many := cost(16_000), cost(64_000)
	t.Logf("16,000 links %v, 64,000 links %v", few, many)
	if many > 10*few {
		t.Errorf("4 times the links take %.0f times as long", float64(many)/float64(few))
	}
}

// TestCrawl_WeighsFirstLinks: a page of links alone must not keep the program from all else for seconds.
func TestCrawl_WeighsFirstLinks(t *testing.T) {
	const best = "https://x.gov/press-releases/2026/01/15/minister-opens-hospital"
	for others, want := range map[int]bool{maxWeighed - 1: true, maxWeighed: false} {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow, Robots: open})
		links := make([]string, others)
		for i := range links {
			links[i] = fmt.Sprintf("https://x.gov/%d", i)
		}
		c := a.Crawl("https://x.gov/", htmlPage(append(links, best)...))
		queued := slices.ContainsFunc(c.queue, func(s step) bool { return s.url == best })
		if queued != want {
			t.Errorf("behind %d other links: queued %v", others, queued)
		}
	}
}

// TestCrawl_RobotsOfTaken: of many links only those that would be requested are matched
// against robots.txt, which may be slow.
func TestCrawl_RobotsOfTaken(t *testing.T) {
	asked := 0
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.gov", Now: testNow,
		Robots: func(string) (bool, bool) { asked++; return true, true }})
	var links []string
	for i := range 1_000 {
		links = append(links, fmt.Sprintf("https://x.gov/news/a-story-%d", i))
	}
	c := a.Crawl("https://x.gov/", htmlPage(links...))
	if len(c.queue) != newPerPage || asked > 2*newPerPage {
		t.Errorf("%d queued, robots.txt asked %d times", len(c.queue), asked)
	}
}
