package collector_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// undecided is a site of which nobody could say by the URLs what their pages are: all patterns are keys.
func undecided(patterns int, page string) map[string]fetchtest.Page {
	pages := map[string]fetchtest.Page{
		"https://example.com/robots.txt": {Body: "User-agent: *\nDisallow: /closed/\nSitemap: " +
			"https://example.com/sitemap.xml\n",
			Header: map[string]string{"Content-Type": "text/plain"}},
		"https://example.com/": {Body: "<title>x</title>", Header: map[string]string{"Content-Type": "text/html"}},
	}
	var locs strings.Builder
	for i := range 12 {
		for p := range patterns {
			loc := fmt.Sprintf("https://example.com/zz%cq/a%d0101", 'a'+p, i+10)
			pages[loc] = fetchtest.Page{Body: page,
				Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}}
			locs.WriteString("<url><loc>" + loc + "</loc></url>")
		}
		fmt.Fprintf(&locs, "<url><loc>https://example.com/closed/zz/a%d0101</loc></url>", i+10)
	}
	pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: "<urlset>" + locs.String() + "</urlset>",
		Header: map[string]string{"Content-Type": "application/xml"}}
	return pages
}

const pressPage = "<title>Press release</title><h1>Press release</h1><p>For immediate release: the bridge reopens " +
	"on Monday.</p>"

// probed returns the pages that were fetched.
func (w *world) probed() (urls []string) {
	for _, v := range w.web.Visits() {
		if v.Method == http.MethodGet && strings.Contains(v.URL, "/zz") {
			urls = append(urls, v.URL)
		}
	}
	return urls
}

// typesOf counts the types of the listed URLs.
func (w *world) types(t *testing.T) map[classify.Type]int {
	t.Helper()
	var found discovery.Discovery
	if err := json.Unmarshal(w.document(t).Discovery, &found); err != nil {
		t.Fatal(err)
	}
	counts := map[classify.Type]int{}
	for _, u := range found.URLs {
		counts[u.Classification.PrimaryType]++
	}
	return counts
}

// One page of each open pattern is fetched, at most PageProbes of them, and gives the type to the whole pattern.
// Another collection, or a merge, asks nothing again, until 90 days have passed.
func TestProbes(t *testing.T) {
	for _, c := range []struct{ patterns, limit, want int }{{1, 3, 1}, {5, 3, 3}, {5, 0, 0}, {2, 10, 2}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(undecided(c.patterns, pressPage), func(l *collector.Limits) { l.PageProbes = c.limit })
			m := message(1)
			if err := w.collect(t, m, false); err != nil {
				t.Fatal(err)
			}
			if got := w.probed(); len(got) != c.want {
				t.Fatalf("%d patterns, at most %d: looked at %q", c.patterns, c.limit, got)
			}
			if got := w.types(t)[classify.PressRelease]; (got > 0) != (c.want > 0) {
				t.Errorf("%d press releases after %d probes", got, c.want)
			}
			if c.patterns > 1 {
				return
			}
			if err := w.collect(t, message(2, "https://example.com/zzaq/a990101"), false); err != nil {
				t.Fatal(err)
			}
			if got := w.types(t); len(w.probed()) != 1 || got[classify.PressRelease] == 0 {
				t.Errorf("after a merge: looked at %q, types %v", w.probed(), got)
			}
			for i, days := range []time.Duration{30, 70} {
				time.Sleep(days * 24 * time.Hour)
				m.Force, m.RequestedAt = true, time.Now()
				if err := w.collect(t, m, false); err != nil {
					t.Fatal(err)
				}
				if got := w.types(t); len(w.probed()) != 1+i || got[classify.PressRelease] == 0 {
					t.Errorf("%d days later: looked at %q, types %v", days, w.probed(), got)
				}
			}
		})
	}
}

// Where the URLs tell the types, nothing is fetched.
func TestProbes_NoneWhereSure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		var locs strings.Builder
		for i := range 20 {
			fmt.Fprintf(&locs,
				"<url><loc>https://example.com/news/2026/01/%02d/minister-opens-new-bridge</loc></url>", i+1)
		}
		pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: "<urlset>" + locs.String() + "</urlset>"}
		w := newWorld(pages, nil)
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		for _, v := range w.web.Visits() {
			if v.Method == http.MethodGet && strings.Contains(v.URL, "/news/2026") {
				t.Errorf("looked at %s", v.URL)
			}
		}
	})
}

// Whatever the page does, the collection is complete, and its URLs keep the types that they had.
func TestProbes_BadPages(t *testing.T) {
	for name, c := range map[string]struct {
		page  fetchtest.Page
		again bool // it is looked at again by the next collection
	}{
		"gone": {fetchtest.Page{Status: 404, Body: pressPage}, false},
		"a PDF": {fetchtest.Page{Body: pressPage,
			Header: map[string]string{"Content-Type": "application/pdf"}}, false},
		"moves to a login":  {fetchtest.Redirect(302, "https://example.com/login/"), false},
		"broken":            {fetchtest.Page{Status: 500}, true},
		"too many requests": {fetchtest.Page{Status: 429}, true},
		"hangs":             {fetchtest.Hang(), true},
		"cut off":           {fetchtest.Page{Body: pressPage, Cut: fetch.ErrNotResolved}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pages := undecided(1, "")
				for url := range pages {
					if strings.Contains(url, "/zz") {
						pages[url] = c.page
					}
				}
				pages["https://example.com/login/"] = fetchtest.Page{Body: pressPage,
					Header: map[string]string{"Content-Type": "text/html"}}
				w := newWorld(pages, nil)
				m := message(1)
				if err := w.collect(t, m, false); err != nil {
					t.Fatal(err)
				}
				d := w.document(t)
				if got := w.types(t); d.Partial || !d.Reachable || got[classify.PressRelease] > 0 ||
					len(w.probed()) != 1 {
					t.Errorf("partial %v, types %v, looked at %q", d.Partial, got, w.probed())
				}
				time.Sleep(24 * time.Hour)
				m.Force, m.RequestedAt = true, time.Now()
				if err := w.collect(t, m, false); err != nil {
					t.Fatal(err)
				}
				if again := len(w.probed()) == 2; again != c.again {
					t.Errorf("looked at %q", w.probed())
				}
			})
		})
	}
}

// Probes are among the requests that a domain may cost, with its pauses; the crawl leaves them some.
func TestProbes_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(undecided(5, pressPage), func(l *collector.Limits) { l.MaxRequestsPerDomain = 5 })
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		visits := w.web.Visits()
		if len(visits) > 5 || len(w.probed()) == 0 {
			t.Errorf("%d requests: %q", len(visits), w.web.URLs())
		}
		for i := 1; i < len(visits); i++ {
			if visits[i].Start.Sub(visits[i-1].End) < time.Second {
				t.Errorf("%s follows after %v", visits[i].URL, visits[i].Start.Sub(visits[i-1].End))
			}
		}
	})
}
