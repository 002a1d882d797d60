package discovery

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCrawl: the home page by GET, all else by HEAD; breadth first; five new pages a page; nothing
// that robots.txt forbids or does not speak of, nothing of other hosts, nothing known already.
func TestCrawl(t *testing.T) {
	asked := map[string]bool{} // what the analyser asked robots.txt for
	rules := func(url string) (allowed, known bool) {
		return !strings.Contains(url, "/news/secret"), strings.HasPrefix(url, "https://www.x.gov/")
	}
	o := Options{Domain: "x.gov", Now: testNow, Robots: func(url string) (bool, bool) {
		asked[url] = true
		return rules(url)
	}}
	a := NewAnalyser(o)
	add(a, "https://www.x.gov/news/known", FromSitemap, testNow)
	c := a.Crawl("https://www.x.gov")
	var requests []Request
	for {
		r, ok := c.Next()
		if !ok {
			break
		}
		requests = append(requests, r)
		if allowed, known := rules(r.URL); !allowed || !known {
			t.Errorf("%s is forbidden", r.URL)
		}
		if !asked[r.URL] {
			t.Errorf("robots.txt was not asked for %s", r.URL)
		}
		switch {
		case r.Method == "GET":
			c.Answer(200, "text/html; charset=utf-8", []string{
				"https://www.x.gov/news/secret", "https://www.x.gov/news/known", "https://data.x.gov/news", "https://www.y.gov/news",
				"https://www.x.gov/news/a#top", "https://www.x.gov/news/a", "https://www.x.gov/news/report.pdf", "https://www.x.gov/login",
				"https://www.x.gov/press-releases", "https://www.x.gov/contact", "javascript:void(0)",
			})
		case strings.HasSuffix(r.URL, "/news/a"):
			c.Answer(404, "text/html", nil)
		case strings.HasSuffix(r.URL, "/press-releases"):
			c.Answer(200, "text/html", []string{"https://www.x.gov/news/from-a-head"})
		default:
			c.Answer(200, "application/pdf", nil)
		}
	}
	if requests[0] != (Request{"GET", "https://www.x.gov/"}) || slices.ContainsFunc(requests[1:], func(r Request) bool { return r.Method != "HEAD" }) {
		t.Errorf("%v", requests)
	}
	want := []string{"https://www.x.gov/", "https://www.x.gov/news/a", "https://www.x.gov/press-releases"}
	var first []string
	for _, r := range requests {
		first = append(first, r.URL)
	}
	slices.Sort(first[1:3])
	if !reflect.DeepEqual(first[:3], want) {
		t.Errorf("%v, want first %v", first, want)
	}
	// Home gives five, of which two are links; the one page that was kept gives its link and four more.
	if len(requests) > 1+5+5 || !slices.Contains(first, "https://www.x.gov/press-releases/2026") {
		t.Errorf("%v", first)
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

// TestCrawlForbidden: without a word of robots.txt there is no crawl.
func TestCrawlForbidden(t *testing.T) {
	for name, robots := range map[string]func(string) (bool, bool){
		"unknown":   nil,
		"forbidden": func(string) (bool, bool) { return false, true },
	} {
		a := NewAnalyser(Options{Domain: "x.gov", Now: testNow, Robots: robots})
		if r, ok := a.Crawl("https://www.x.gov/").Next(); ok {
			t.Errorf("%s: wants %v", name, r)
		}
	}
}

// TestCrawlEnds: a site where every page is new cannot keep the crawl going.
func TestCrawlEnds(t *testing.T) {
	a := NewAnalyser(Options{Domain: "x.gov", Now: testNow, Robots: func(string) (bool, bool) { return true, true }})
	c := a.Crawl("https://x.gov/")
	n := 0
	for ; n < 1000; n++ {
		if _, ok := c.Next(); !ok {
			break
		}
		var links []string
		for i := range 50 {
			links = append(links, fmt.Sprintf("https://x.gov/news/story-%d-%d", n, i))
		}
		c.Answer(200, "text/html", links)
	}
	if n != 1+5+25 {
		t.Errorf("%d requests", n)
	}
}

func TestGenerate(t *testing.T) {
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

// TestCrawlManyLinks: a page costs in proportion to its links. Comparing each link with all others
// would make sixteen times as many cost some ninety times as much.
func TestCrawlManyLinks(t *testing.T) {
	cost := func(n int) time.Duration {
		links := make([]string, n)
		for i := range links {
			links[i] = fmt.Sprintf("https://x.gov/news/a-story-%d", i)
		}
		least := time.Hour
		for range 3 {
			c := NewAnalyser(Options{Domain: "x.gov", Now: testNow, Robots: func(string) (bool, bool) { return true, true }}).Crawl("https://x.gov/")
			c.Next()
			began := time.Now()
			c.Answer(200, "text/html", links)
			least = min(least, time.Since(began))
			if len(c.queue) != newPerPage {
				t.Fatalf("%d queued", len(c.queue))
			}
		}
		return least
	}
	few, many := cost(2_000), cost(32_000)
	t.Logf("2,000 links %v, 32,000 links %v", few, many)
	if many > 40*few {
		t.Errorf("16 times the links take %.0f times as long", float64(many)/float64(few))
	}
}

// TestCrawlAsksRobotsOfWhatItTakes: of many links only those that would be requested are matched
// against robots.txt, which may be slow.
func TestCrawlAsksRobotsOfWhatItTakes(t *testing.T) {
	asked := 0
	c := NewAnalyser(Options{Domain: "x.gov", Now: testNow, Robots: func(string) (bool, bool) { asked++; return true, true }}).Crawl("https://x.gov/")
	c.Next()
	asked = 0
	var links []string
	for i := range 1_000 {
		links = append(links, fmt.Sprintf("https://x.gov/news/a-story-%d", i))
	}
	c.Answer(200, "text/html", links)
	if len(c.queue) != newPerPage || asked > 2*newPerPage {
		t.Errorf("%d queued, robots.txt asked %d times", len(c.queue), asked)
	}
}
