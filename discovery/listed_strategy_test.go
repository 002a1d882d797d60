package discovery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/newsfork/seed-engine/classify/embedded"
)

var placeholder = regexp.MustCompile(`\\\{[a-z]+\\\}`)

// matchPatterns reports whether a URL has one of the patterns, as docs/contract.md explains them.
func matchPatterns(patterns []string, url string) bool {
	p := parsePage(url)
	path := "/" + strings.Join(p.parts(), "/")
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		path := path
		if strings.Contains(pattern, "?") {
			path += "?" + p.query
		}
		re := placeholder.ReplaceAllString(regexp.QuoteMeta(pattern), "[^/?&]*")
		return regexp.MustCompile("^" + re + "$").MatchString(path)
	})
}

// TestAllowedPatterns_ByPages: patterns stand in the order of how many pages they have, however many of those are
// listed.
func TestAllowedPatterns_ByPages(t *testing.T) {
	a := NewAnalyser(testOptions())
	var press []candidate
	add := func(section string, pages int) {
		for i := range pages {
			u := fmt.Sprintf("https://www.example.gov/%s/%d", section, 1000+i)
			a.Add(&Sighting{Loc: []byte(u), Lastmod: testNow, Method: FromFeed})
			a.Score(u)
			if section == "press" {
				p := parsePage(u)
				press = append(press, a.assess(&p, rankOf(FromFeed), uint32(testNow.Unix())))
			}
		}
	}
	add("news", 4)
	add("press", 3)
	if got := (strategy{a}).allowedPatterns(nil, press); !slices.Equal(got, []string{"/news/{id}", "/press/{id}"}) {
		t.Errorf("%q", got)
	}
}

// checkStrategy checks the advice for a site: every pattern was seen there, and no page that is recommended is
// outside.
func checkStrategy(t *testing.T, site string, a *Analyser, urls []string) {
	t.Helper()
	good := []string{}
	for _, u := range urls {
		if a.Score(u).Action.isGood() {
			a.urls.canonical([]byte(u))
			good = append(good, string(a.urls.buf))
		}
	}
	d := a.Result()
	for _, u := range d.URLs {
		if u.Action.isGood() {
			good = append(good, u.URL)
		}
	}
	for _, p := range a.Pages() {
		parsed := parsePage(p.URL)
		if action(p.Priority, p.Type, parsed.isLogin()).isGood() {
			good = append(good, p.URL)
		}
	}
	allowed := d.Strategy.AllowedPatterns
	if len(allowed) == 0 { // which restricts nothing
		if len(good) > 0 && !a.worthwhile.loose && !a.worthwhile.scored[noNode] {
			t.Errorf("%s: no patterns for %d pages", site, len(good))
		}
		return
	}
	if len(allowed) > maxAllowedPatterns {
		t.Errorf("%s: %d patterns", site, len(allowed))
	}
	for _, u := range good {
		if !matchPatterns(allowed, u) {
			t.Errorf("%s: %s has none of %q", site, u, allowed)
		}
	}
	all := make([]string, len(urls))
	for i, u := range urls {
		a.urls.canonical([]byte(u))
		all[i] = string(a.urls.buf)
	}
	for _, pattern := range allowed {
		if !slices.ContainsFunc(all, func(u string) bool { return matchPatterns([]string{pattern}, u) }) {
			t.Errorf("%s: nothing there has %s", site, pattern)
		}
	}
}

// TestStrategy: over the sites of the ranking and those of the labelled URLs, the patterns of the strategy are such
// that were seen, and no page that is recommended is outside of them.
func TestStrategy(t *testing.T) {
	for r, a := range rankings(t, 500) {
		var urls []string
		for u := range r.grades {
			urls = append(urls, u)
		}
		slices.Sort(urls)
		checkStrategy(t, r.path, a, urls)
	}
	data, err := os.ReadFile("../classify/testdata/urls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	sites := map[string][]string{}
	for line := range bytes.Lines(data) {
		var labelled struct{ URL string }
		if err := json.Unmarshal(line, &labelled); err != nil {
			t.Fatal(err)
		}
		if domain, err := publicsuffix.EffectiveTLDPlusOne(parsePage(labelled.URL + "/").host); err == nil {
			sites[domain] = append(sites[domain], labelled.URL)
		}
	}
	for domain, urls := range sites {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: domain, Now: testNow, Pages: 500})
		for i, u := range urls {
			add(a, u, []Method{FromFeed, FromSitemap, FromResearch}[i%3], ago(time.Duration(i)*time.Hour))
		}
		checkStrategy(t, domain, a, urls)
	}
	// A site with more sections than patterns fit.
	a := ministry()
	var urls []string
	for i := range 200 {
		urls = append(urls, fmt.Sprintf("https://www.mom.gov.sg/%c%c-news/topic-%c/story-of-the-town-%d.html", 'a'+i%20,
			'a'+i%7, 'a'+i%3, i))
		add(a, urls[i], FromFeed, ago(time.Hour))
	}
	checkStrategy(t, "many sections", a, urls)
	if n := len(a.Result().Strategy.AllowedPatterns); n == 0 {
		t.Error("many sections: no patterns")
	}
}

// The patterns of a site with few pages match tomorrow's article, and no section that was not seen.
func TestAllowedPatterns_NextArticle(t *testing.T) {
	a := ministry()
	var urls []string
	see := func(path string) {
		urls = append(urls, "https://www.mom.gov.sg"+path)
		add(a, urls[len(urls)-1], FromFeed, ago(time.Hour))
	}
	for i := range 10 {
		see(fmt.Sprintf("/faq/question-%d", i+1))
		see(fmt.Sprintf("/post-%d.html", i+1))
	}
	for _, path := range []string{
		"/news", "/news/2026/bridge-reopens", "/news/2026/ferry-runs", "/newsroom/press-releases",
		"/newsroom/press-releases/2026/01/tunnel-opens",
		"/stories/mayor-resigns.html", "/updates",
	} {
		see(path)
	}
	checkStrategy(t, "few pages", a, urls)
	got := a.Result().Strategy.AllowedPatterns
	for path, want := range map[string]bool{
		"/faq/question-11": true, "/post-11.html": true, "/news/2027/school-opens": true,
		"/newsroom/press-releases/2026/02/road-closes": true,
		"/stories/mayor-elected.html":                  true, "/news": true, "/newsroom/press-releases": true,
		"/updates":   true,
		"/downloads": false, "/downloads/form-1": false, "/newsroom/speeches": false,
		"/stories/mayor-elected.pdf": false,
		"/about":                     false,
	} {
		if matchPatterns(got, "https://www.mom.gov.sg"+path) != want {
			t.Errorf("%s: want %t of %q", path, want, got)
		}
	}
}

// TestAllowedPatterns_NumberedArticles: numbered names of the first level are articles if there are three of one
// series, recommended or not.
func TestAllowedPatterns_NumberedArticles(t *testing.T) {
	a := NewAnalyser(testOptions())
	var best []candidate
	see := func(path string, recommended bool) {
		u := "https://www.example.gov" + path
		a.Add(&Sighting{Loc: []byte(u), Lastmod: testNow, Method: FromSitemap})
		if recommended {
			best = append(best, candidate{url: u, class: newsClass, priority: 700, confidence: 0.9, order: 700})
		}
	}
	for i := range 8 {
		see(fmt.Sprintf("/shipping-%d", i+1), i < 2)
	}
	for i, path := range []string{"/area-1", "/mp3", "/web-2"} {
		see(path, i < 2)
	}
	for n := range a.tree.nodes {
		a.tree.nodes[n].good = false
	}
	got := strategy{a}.allowedPatterns(nil, best)
	slices.Sort(got)
	if !slices.Equal(got, []string{"/area-1", "/mp3", "/{slug}"}) {
		t.Errorf("%q", got)
	}
}

// TestAllowedPatterns_DeepPages: a page that is worth fetching and too deep for a pattern leaves the strategy without
// any.
func TestAllowedPatterns_DeepPages(t *testing.T) {
	a := ministry()
	add(a, releases+"/2026", FromFeed, ago(time.Hour))
	add(a, "https://www.mom.gov.sg/news/a/b/c/d/e/f/g/minister-opens-bridge-over-the-river", FromFeed, ago(time.Hour))
	if d := a.Result(); len(d.Strategy.AllowedPatterns) != 0 {
		t.Errorf("%q", d.Strategy.AllowedPatterns)
	}
	restored, err := Restore(a.State(), a.o)
	if err != nil || len(restored.Result().Strategy.AllowedPatterns) != 0 {
		t.Errorf("restored: %v", err)
	}
}
