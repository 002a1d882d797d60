package sitemap

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// site is a small web to walk over: a case of testdata/discovery_trees.json.
type site struct {
	Name          string
	Origin        string
	DefaultStatus int `json:"default_status"`
	Responses     map[string]struct {
		Status   int
		Location string
		Body     string
	}
	Expected struct {
		SitemapsOK  []string          `json:"sitemaps_ok"`
		URLsTotal   int               `json:"urls_total"`
		Source      map[string]Source `json:"source"`
		MaxFetches  map[string]int    `json:"max_fetches_of"`
		Errors      int               `json:"errors"`
		RootAllowed *bool             `json:"robots_root_allowed"`
		SitemapURLs []string          `json:"sitemap_urls"`
	}
}

// outcome is the result of a walk over a site.
type outcome struct {
	listed  []string
	allowed bool
	read    []string
	source  map[string]Source
	fetches map[string]int
	urls    int
	errors  int
}

// walk fetches robots.txt and what the walk asks for, at most budget requests.
func (s *site) walk(t *testing.T, budget int) outcome {
	t.Helper()
	o := outcome{allowed: true, source: map[string]Source{}, fetches: map[string]int{}}
	for line := range strings.Lines(s.Responses[s.Origin+"/robots.txt"].Body) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ": "); name {
		case "Sitemap":
			o.listed = append(o.listed, value)
		case "Disallow":
			o.allowed = o.allowed && value != "/"
		}
	}
	w := NewWalk(s.Origin, o.listed, budget, clock)
	for spent := 0; spent < budget; {
		c, more := w.Next()
		if !more {
			break
		}
		if !o.allowed {
			continue
		}
		url := c.URL
		for ; spent < budget; spent++ {
			o.fetches[url]++
			if to := s.Responses[url].Location; to != "" && w.Redirect(c, to) {
				url = to
				continue
			}
			break
		}
		spent++
		r, ok := s.Responses[url]
		switch {
		case !ok || r.Status != 200:
			if c.Source != FromWellKnown {
				o.errors++
			}
			continue
		}
		sum, err := Parse(strings.NewReader(r.Body), url, Options{Now: clock}, func(e *Entry) {
			if e.Child {
				w.Child(c, e.Loc, e.Lastmod)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Read(c, c.URL, &sum)
		if sum.Kind == Invalid {
			o.errors++
			continue
		}
		o.read = append(o.read, url)
		o.source[url] = c.Source
		o.urls += sum.URLs
	}
	return o
}

func TestWalk_Trees(t *testing.T) {
	data, err := os.ReadFile("testdata/discovery_trees.json")
	if err != nil {
		t.Fatal(err)
	}
	var sites []site
	if err := json.Unmarshal(data, &sites); err != nil {
		t.Fatal(err)
	}
	if len(sites) < 8 {
		t.Fatalf("%d sites, want at least 8", len(sites))
	}
	for _, s := range sites {
		t.Run(s.Name, func(t *testing.T) {
			o, x := s.walk(t, 20), s.Expected
			if x.SitemapsOK != nil {
				// Cases name every sitemap that answers but the indexes that hold nothing.
				if !slices.Equal(o.read, x.SitemapsOK) {
					t.Errorf("read %q, want %q", o.read, x.SitemapsOK)
				}
			}
			if o.urls != x.URLsTotal {
				t.Errorf("%d URLs, want %d", o.urls, x.URLsTotal)
			}
			for u, source := range x.Source {
				if o.source[u] != source {
					t.Errorf("%s was found by %s, want %s", u, o.source[u], source)
				}
			}
			for u, n := range o.fetches {
				if limit, ok := x.MaxFetches[u]; n > 1 || ok && n > limit {
					t.Errorf("%s was fetched %d times", u, n)
				}
			}
			if x.Errors > 0 && o.errors != x.Errors {
				t.Errorf("%d errors, want %d", o.errors, x.Errors)
			}
			if x.RootAllowed != nil && o.allowed != *x.RootAllowed {
				t.Errorf("allowed = %v", o.allowed)
			}
			if x.SitemapURLs != nil && !slices.Equal(o.listed, x.SitemapURLs) {
				t.Errorf("listed %q", o.listed)
			}
			if !o.allowed && len(o.fetches) > 0 {
				t.Errorf("forbidden, yet fetched %v", o.fetches)
			}
		})
	}
}

func day(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// drain takes all that a walk has to give.
func drain(w *Walk) []string {
	var all []string
	for {
		c, more := w.Next()
		if !more {
			return all
		}
		all = append(all, strings.TrimPrefix(c.URL, "https://a.example"))
	}
}

func TestWalk_Order(t *testing.T) {
	const origin = "https://a.example"
	w := NewWalk(origin, []string{origin + "/index.xml", origin + "/extra.xml"}, 20, clock)
	index, _ := w.Next()
	for _, c := range []struct {
		path    string
		lastmod time.Time
	}{
		{"/post_tag-sitemap.xml", day(2026, 3, 4)},
		{"/undated.xml", time.Time{}},
		{"/old.xml", day(2020, 1, 1)},
		{"/new.xml", day(2026, 3, 1)},
		{"/future.xml", day(2099, 1, 1)},
		{"/archive-2025-11.xml", time.Time{}},
		{"/2026/02/14.xml", time.Time{}},
		{"/news-sitemap.xml", time.Time{}},
		{"/new.xml", day(2026, 3, 1)},
	} {
		w.Child(index, []byte(origin+c.path), c.lastmod)
	}
	w.Read(index, index.URL, &Summary{Kind: Index, Children: 9})
	want := []string{"/news-sitemap.xml", "/extra.xml", "/new.xml", "/2026/02/14.xml", "/archive-2025-11.xml",
		"/old.xml",
		"/undated.xml", "/future.xml", "/post_tag-sitemap.xml"}
	if got := drain(w); !slices.Equal(got, want) {
		t.Errorf("asked for\n%q, want\n%q", got, want)
	}
}

func TestWalk_Guesses(t *testing.T) {
	const origin = "https://a.example"
	if got := drain(NewWalk(origin+"/", nil, 20, clock)); !slices.Equal(got, WellKnown) {
		t.Errorf("asked for %q", got)
	}
	for name, c := range map[string]struct {
		sum  Summary
		rest []string
	}{
		"a web page":      {Summary{Kind: Invalid}, WellKnown[1:]},
		"an empty urlset": {Summary{Kind: URLSet, Skipped: 3}, WellKnown[1:]},
		"a urlset":        {Summary{Kind: URLSet, URLs: 1}, wellKnownNews},
		"an index":        {Summary{Kind: Index, Children: 1}, wellKnownNews},
	} {
		w := NewWalk(origin, nil, 20, clock)
		first, _ := w.Next()
		w.Read(first, first.URL, &c.sum)
		if got := drain(w); !slices.Equal(got, c.rest) {
			t.Errorf("after %s: asked for %q, want %q", name, got, c.rest)
		}
	}
	// A listed sitemap that is also a well-known path is asked for once.
	w := NewWalk(origin, []string{"http://A.example:80/sitemap.xml#top"}, 20, clock)
	if got := drain(w); len(got) != len(WellKnown) || slices.Contains(got, "/sitemap.xml") {
		t.Errorf("asked for %q", got)
	}
}

// wellKnownNews are the well-known paths of news sitemaps.
var wellKnownNews = []string{"/news-sitemap.xml", "/sitemap-news.xml", "/sitemap_news.xml"}

// TestWalk_NewsBesideMain: a news sitemap at a well-known path is read although the site's main sitemap was guessed,
// before the children of that one, which may be more than can be read.
func TestWalk_NewsBesideMain(t *testing.T) {
	const origin = "https://a.example"
	index := Summary{Kind: Index, Children: 3}
	for name, c := range map[string]struct {
		listed   []string
		children []string
		read     map[string]*Summary
		want     []string
	}{
		"an index, untagged news": {nil, []string{"/1.xml", "/2.xml"},
			map[string]*Summary{"/sitemap.xml": &index, "/sitemap-news.xml": {Kind: URLSet, URLs: 9}},
			[]string{"/sitemap.xml", "/news-sitemap.xml", "/sitemap-news.xml", "/1.xml", "/2.xml"}},
		"the index names the news": {nil, []string{"/1.xml", "/news-sitemap.xml"},
			map[string]*Summary{"/sitemap.xml": &index, "/news-sitemap.xml": {Kind: URLSet, URLs: 9}},
			[]string{"/sitemap.xml", "/news-sitemap.xml", "/1.xml"}},
		"news at the path of another one": {nil, nil,
			map[string]*Summary{"/sitemap.xml": {Kind: URLSet, URLs: 9, NewsEntries: 9}, "/wp-sitemap.xml": &index},
			[]string{"/sitemap.xml", "/sitemap_index.xml", "/wp-sitemap.xml"}},
		"no news": {nil, []string{"/1.xml"}, map[string]*Summary{"/sitemap.xml": &index},
			[]string{"/sitemap.xml", "/news-sitemap.xml", "/sitemap-news.xml", "/sitemap_news.xml", "/1.xml"}},
		"the main one is named": {[]string{origin + "/map.xml"}, []string{"/1.xml"},
			map[string]*Summary{"/map.xml": &index}, []string{"/map.xml", "/1.xml"}},
		"what is named is missing": {[]string{origin + "/map.xml"}, nil,
			map[string]*Summary{"/sitemap.xml": {Kind: URLSet, URLs: 9}},
			[]string{"/map.xml", "/sitemap.xml", "/news-sitemap.xml", "/sitemap-news.xml", "/sitemap_news.xml"}},
	} {
		w := NewWalk(origin, c.listed, 20, clock)
		var asked []string
		for a, more := w.Next(); more; a, more = w.Next() {
			path := strings.TrimPrefix(a.URL, origin)
			asked = append(asked, path)
			if slices.Contains(c.children, path) != (a.Source == FromIndex) {
				t.Errorf("%s: %s was found by %s", name, path, a.Source)
			}
			if s := c.read[path]; s != nil {
				for i := range s.Children {
					if i < len(c.children) {
						w.Child(a, []byte(origin+c.children[i]), time.Time{})
					}
				}
				w.Read(a, a.URL, s)
			}
		}
		if !slices.Equal(asked, c.want) || w.Unread() != 0 {
			t.Errorf("%s: asked for\n%q, want\n%q; %d not read", name, asked, c.want, w.Unread())
		}
	}
}

func TestWalk_Redirects(t *testing.T) {
	const origin = "https://a.example"
	w := NewWalk(origin, []string{"http://a.example/one.xml", origin + "/two.xml", origin + "/three.xml"}, 20, clock)
	one, _ := w.Next()
	if !w.Redirect(one, origin+"/one.xml") {
		t.Error("not followed to https")
	}
	if !w.Redirect(one, origin+"/two.xml") {
		t.Error("not followed to a new document")
	}
	three, _ := w.Next()
	if three.URL != origin+"/three.xml" {
		t.Errorf("asked for %s, which one.xml led to already", three.URL)
	}
	if w.Redirect(three, origin+"/two.xml") || w.Redirect(three, origin+"/robots.txt") ||
		w.Redirect(three, "ftp://a.example/") {
		t.Error("followed to what was asked for already")
	}
}

func TestWalk_Cycles(t *testing.T) {
	const origin = "https://a.example"
	w := NewWalk(origin, []string{origin + "/a.xml"}, 20, clock)
	a, _ := w.Next()
	w.Child(a, []byte(origin+"/b.xml"), time.Time{})
	b, _ := w.Next()
	w.Child(b, []byte(origin+"/c.xml"), time.Time{})
	c, _ := w.Next()
	if c.Parent != origin+"/b.xml" || c.Source != FromIndex {
		t.Errorf("candidate %+v", c)
	}
	for _, u := range []string{"/a.xml", "/b.xml", "/c.xml", "/robots.txt"} {
		w.Child(c, []byte(origin+u), time.Time{})
	}
	w.Read(c, c.URL, &Summary{Kind: URLSet, URLs: 1})
	if again := drain(w); again != nil || w.Unread() != 0 {
		t.Errorf("asked for %q again, %d not read", again, w.Unread())
	}
}

// An index of any size costs the memory of what can be fetched.
func TestWalk_Best(t *testing.T) {
	const origin = "https://a.example"
	w := NewWalk(origin, []string{origin + "/index.xml"}, 5, clock)
	index, _ := w.Next()
	for i := range 5000 {
		w.Child(index, fmt.Appendf(nil, "%s/%d.xml", origin, i), day(2010, 1, 1).AddDate(0, 0, i*37%5000))
		if len(w.pending) > 5 {
			t.Fatalf("%d are remembered", len(w.pending))
		}
	}
	w.Read(index, index.URL, &Summary{Kind: Index, Children: 5000})
	got := drain(w)
	if len(got) != 5 {
		t.Fatalf("asked for %q", got)
	}
	for i, u := range got { // the five newest
		var n int
		fmt.Sscanf(u, "/%d.xml", &n)
		if n*37%5000 != 4999-i {
			t.Errorf("%s is number %d of the newest", u, i)
		}
	}
}

// TestWalk_Unread: every sitemap that is named counts once, however often and wherever.
func TestWalk_Unread(t *testing.T) {
	const origin = "https://a.example"
	w := NewWalk(origin, []string{origin + "/index.xml", origin + "/other.xml"}, 5, clock)
	index, _ := w.Next()
	for range 2 {
		for i := range 300 {
			w.Child(index, fmt.Appendf(nil, "%s/%d.xml", origin, i), day(2010, 1, 1).AddDate(0, 0, i))
		}
	}
	if n := w.Unread(); n != 301 {
		t.Errorf("%d are not read, want 300 children and a listed one", n)
	}
	w.Redirect(index, origin+"/7.xml")
	for i := range 3 {
		w.Next()
		if n := w.Unread(); n != 299-i {
			t.Errorf("%d are not read, want %d", n, 299-i)
		}
	}
	// A forgotten candidate returns when others have been read.
	drain(w)
	left := w.Unread()
	w.Child(index, []byte(origin+"/3.xml"), time.Time{})
	if n := w.Unread(); n != left {
		t.Errorf("%d are not read, want %d", n, left)
	}
	if got := drain(w); !slices.Equal(got, []string{"/3.xml"}) || w.Unread() != left-1 {
		t.Errorf("asked for %q, %d are not read", got, w.Unread())
	}
}

// A number of names without end costs a bounded amount of memory.
func TestWalk_ForgetsBounded(t *testing.T) {
	w := NewWalk("https://a.example", nil, 5, clock)
	for i := range 3 * maxForgotten {
		w.Child(Candidate{}, fmt.Appendf(nil, "https://a.example/%d.xml", i), time.Time{})
	}
	if len(w.forgotten) > maxForgotten || w.Unread() != maxForgotten+5 {
		t.Errorf("%d remembered, %d not read", len(w.forgotten), w.Unread())
	}
}

// A news sitemap lists two days only, so the walk still looks for the site's main sitemap, but for no other news.
func TestWalk_AfterNews(t *testing.T) {
	const origin = "https://a.example"
	w := NewWalk(origin, nil, 20, clock)
	var asked []string
	for {
		c, more := w.Next()
		if !more {
			break
		}
		path := strings.TrimPrefix(c.URL, origin)
		switch asked = append(asked, path); path {
		case "/news-sitemap.xml":
			w.Read(c, c.URL, &Summary{Kind: URLSet, URLs: 40, NewsEntries: 40})
		case "/sitemap.txt":
			w.Read(c, c.URL, &Summary{Kind: Text, URLs: 40})
		}
	}
	want := []string{"/sitemap.xml", "/sitemap_index.xml", "/wp-sitemap.xml", "/news-sitemap.xml",
		"/sitemap-index.xml", "/sitemap.xml.gz", "/sitemap_index.xml.gz", "/sitemap/sitemap.xml", "/sitemap.txt"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked for\n%q, want\n%q", asked, want)
	}
	// A name is enough: some sites leave out the tags.
	w = NewWalk(origin, nil, 20, clock)
	asked = nil
	for c, more := w.Next(); more; c, more = w.Next() {
		switch path := strings.TrimPrefix(c.URL, origin); path {
		case "/news-sitemap.xml", "/sitemap-index.xml":
			asked = append(asked, path)
			w.Read(c, c.URL, &Summary{Kind: URLSet, URLs: 40})
		}
	}
	if want := []string{"/news-sitemap.xml", "/sitemap-index.xml"}; !slices.Equal(asked, want) {
		t.Errorf("found %q, want %q", asked, want)
	}
	// The name that the site gives it decides as well. The children of an index of news wait for the search.
	w = NewWalk(origin, nil, 20, clock)
	guess, _ := w.Next()
	w.Child(guess, []byte(origin+"/news-1.xml"), time.Time{})
	w.Read(guess, origin+"/maps/news.xml", &Summary{Kind: Index, Children: 1})
	if got := drain(w); len(got) < 5 || got[len(got)-1] != "/news-1.xml" {
		t.Errorf("asked for %q", got)
	}
	// What robots.txt names is what the site has.
	w = NewWalk(origin, []string{origin + "/news.xml"}, 20, clock)
	news, _ := w.Next()
	w.Read(news, news.URL, &Summary{Kind: URLSet, URLs: 40, NewsEntries: 40})
	if c, more := w.Next(); more {
		t.Errorf("asked for %s", c.URL)
	}
}

// A host written in Unicode and in A-labels is one.
func TestWalk_InternationalHosts(t *testing.T) {
	if identity("https://한국뉴스.kr/x") != identity("https://xn--3e0bj9ghtquur.kr/x") {
		t.Error("one sitemap is asked for twice")
	}
}

func TestDate_InName(t *testing.T) {
	for u, want := range map[string]string{
		"https://a.example/sitemap-2024-05.xml":      "2024-05-01",
		"https://a.example/sitemaps/2024/12/31.xml":  "2024-12-31",
		"https://a.example/sitemap_20240501.xml.gz":  "2024-05-01",
		"https://a.example/posts-2023.xml":           "2023-01-01",
		"https://a.example/2019/sitemap-2024-05.xml": "2024-05-01",
		"https://a.example/day/1199.xml":             "",
		"https://a.example/sitemap-12345.xml":        "",
		"https://a.example/sitemap-2024-13.xml":      "",
		"https://a.example/sitemap.xml":              "",
		"":                                           "",
	} {
		got := ""
		if d := dateInName(u); !d.IsZero() {
			got = d.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", u, got, want)
		}
	}
}
