package collector_test

import (
	"context"
	"encoding/json"
	"errors"
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
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/r2"
)

// found is the result of discovery in a document.
func found(t *testing.T, d *contract.Document) (discovery.Discovery, discovery.FetchContract) {
	t.Helper()
	var found discovery.Discovery
	var how discovery.FetchContract
	if err := json.Unmarshal(d.Discovery, &found); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(d.Contract, &how); err != nil {
		t.Fatal(err)
	}
	return found, how
}

// TestHosts_International: a domain with an internationalised name is one domain, however its sitemap, its
// pages and raw files spell it.
func TestHosts_International(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ascii, native = "xn--3e0bj9ghtquur.kr", "한국뉴스.kr"
		w := newWorld(map[string]fetchtest.Page{
			"https://" + ascii + "/robots.txt": {Body: "User-agent: *\nDisallow: /private\nSitemap: https://" + native +
				"/sitemap.xml\n"},
			"https://" + ascii + "/sitemap.xml": {Body: "<urlset><url><loc>https://" + native +
				"/news/2026/01/a</loc><lastmod>2026-01-31</lastmod></url></urlset>"},
			"https://" + ascii + "/": {Header: map[string]string{"Content-Type": "text/html"},
				Body: `<a href="https://www.` + native + `/">www</a><a href="https://` + native +
					`/press-releases">Press</a>`},
			"https://" + ascii + "/press-releases": {Header: map[string]string{"Content-Type": "text/html"}},
		}, nil)
		m := message(1)
		m.Domain, m.RegistrableDomain, m.DomainURL = ascii, ascii, "https://"+native+"/"
		for _, u := range []string{"https://" + native + "/news/2026/01/b", "https://" + native + "/private/c",
			"https://%ED%95%9C%EA%B5%AD%EB%89%B4%EC%8A%A4.kr/news/2026/01/d"} {
			m.URLs = append(m.URLs, contract.URL{URL: u, Path: "/"})
		}
		doc, err := w.NewBatch(nil).Visit("example.com").Collect(t.Context(), m, false)
		if err != nil {
			t.Fatal(err)
		}
		checkSchema(t, w.read(t, contract.DomainDir{Partition: partition, Domain: ascii}.Document()))
		for _, u := range doc.URLs {
			private := strings.Contains(u.URL, "private")
			if u.Action == nil || (*u.Action == "ignore") != private || u.Allowed == nil || *u.Allowed == private {
				t.Errorf("%s: action %v, allowed %v", u.URL, *u.Action, u.Allowed)
			}
		}
		d, _ := found(t, doc)
		if d.Stats.Analyzed != 4 || d.Stats.Excluded.External != 0 || d.Stats.Excluded.Robots != 1 {
			t.Errorf("%+v", d.Stats)
		}
		methods := map[discovery.Method]int{}
		for _, u := range d.URLs {
			methods[u.Method]++
			if !strings.HasPrefix(u.URL, "https://"+ascii+"/") {
				t.Errorf("shown as %s", u.URL)
			}
		}
		if methods[discovery.FromSitemap] != 1 || methods[discovery.FromResearch] != 2 ||
			methods[discovery.FromLink] != 1 {
			t.Errorf("%v", methods)
		}
	})
}

// listed are the URLs of a document beyond those it holds itself, with the size of the largest list.
func (w *world) listed(t *testing.T, d *contract.Document) (all []contract.DocumentURL) {
	t.Helper()
	for _, key := range d.URLsFiles {
		var list []contract.DocumentURL
		if err := json.Unmarshal(w.read(t, key), &list); err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 || len(list) > contract.MaxInlineURLs {
			t.Errorf("%s has %d URLs", key, len(list))
		}
		all = append(all, list...)
	}
	return all
}

// lists are the keys of all lists of URLs of the domain, described by its document or not.
func (w *world) lists(t *testing.T) (keys []string) {
	t.Helper()
	list, err := w.bucket.List(t.Context(), r2.ListOptions{Prefix: dir.Prefix() + "urls/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Objects {
		keys = append(keys, o.Key)
	}
	return keys
}

// many is a message with n URLs, a tenth of them forbidden and a tenth dated by the sitemap.
func many(file, n int) *contract.DomainMessage {
	m := message(file)
	for i := range n {
		path := fmt.Sprintf("/news/story-%06d-%d", i, file)
		switch i % 10 {
		case 1:
			path = "/private" + path
		case 2:
			path = fmt.Sprintf("/contact/%06d", i)
		}
		m.URLs = append(m.URLs, contract.URL{URL: "https://example.com" + path, Path: path})
	}
	return m
}

// TestSitemaps_ListsAreScored: the URLs beyond those of the document are scored like those in it, by all
// findings about the domain, and lists that were replaced are gone.
func TestSitemaps_ListsAreScored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		var sitemap strings.Builder
		sitemap.WriteString("<urlset>")
		for i := range 300 { // the last in order, which are in a list
			fmt.Fprintf(&sitemap,
				"<url><loc>https://example.com/news/story-%06d-1</loc><lastmod>2026-01-31</lastmod></url>",
				5_599-i*10)
		}
		w.web.Pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: sitemap.String() + "</urlset>"}
		if err := w.collect(t, many(1, 5_600), false); err != nil {
			t.Fatal(err)
		}
		check := func(want, private int) {
			t.Helper()
			d := w.document(t)
			listed := w.listed(t, d)
			if len(d.URLs)+len(listed) != want || d.Processing.TotalURLs != want {
				t.Errorf("%d URLs in the document and %d in lists, of %d", len(d.URLs), len(listed), want)
			}
			dated, forbidden := 0, 0
			for _, u := range slices.Concat(d.URLs, listed) {
				if u.Type == nil || u.Priority == nil || u.Action == nil || u.Allowed == nil {
					t.Fatalf("%s has no score: %+v", u.URL, u)
				}
				closed := strings.Contains(u.URL, "/private/")
				if *u.Allowed == closed || closed != (*u.Action == "ignore") {
					t.Fatalf("%s: allowed %v, action %s", u.URL, *u.Allowed, *u.Action)
				}
				switch {
				case closed:
					forbidden++
				case *u.Priority >= 0.85: // 0.075 more than without a date
					dated++
				}
				if strings.Contains(u.URL, "/contact/") && *u.Type != "contact" {
					t.Fatalf("%s is %s", u.URL, *u.Type)
				}
			}
			if dated != 300 || forbidden != private {
				t.Errorf("%d dated, %d forbidden", dated, forbidden)
			}
			if keys := w.lists(t); !slices.Equal(slices.Sorted(slices.Values(d.URLsFiles)), keys) {
				t.Errorf("lists %v, described are %v", keys, d.URLsFiles)
			}
		}
		check(5_600, 560)
		before := w.document(t)
		if err := w.collect(t, many(1, 5_600), false); err != nil {
			t.Fatal(err)
		}
		if after := w.document(t); after.Revision != before.Revision ||
			!slices.Equal(after.URLsFiles, before.URLsFiles) {
			t.Error("the same URLs make another document")
		}
		time.Sleep(time.Minute)
		if err := w.collect(t, many(2, 5_600), false); err != nil {
			t.Fatal(err)
		}
		check(11_200-560, 1120) // contact pages are the same
	})
}

// TestState_Lost: without the state of the discovery a merge keeps what is in the document, and scores
// new URLs.
func TestState_Lost(t *testing.T) {
	stored := func(state string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) { w.keepState(t, state) }
	}
	carried := func(state string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			d := w.document(t)
			d.State = state
			w.put(t, dir.Document(), asJSON(d))
		}
	}
	const corrupt, damaged, other = `{"version":1,"seen":"AAAA`,
		`{"version":1,"domain":"example.com","seen":"AAAA","nodes":[]}`, `{"version":0}`
	for name, spoil := range map[string]func(*testing.T, *world){
		"lost": stored(""), "corrupt": stored(corrupt), "damaged": stored(damaged),
		"of another version": stored(other),
		"carried, corrupt":   carried(corrupt), "carried, damaged": carried(damaged),
		"carried, of another version": carried(other),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(healthy(), nil)
				w.web.Pages["https://example.com/feed"] = fetchtest.Page{
					Body: "<rss><channel><title>x</title><item><link>https://example.com/news/dated</link>" +
						"<pubDate>Sat, 31 Jan " +
						"2026 09:00:00 GMT</pubDate></item></channel></rss>"}
				w.web.Pages["https://example.com/"] = fetchtest.Page{
					Header: map[string]string{"Content-Type": "text/html"},
					Body:   `<link rel="alternate" type="application/rss+xml" href="/feed">`}
				if err := w.collect(t, message(2, "https://example.com/news/dated", "https://example.com/private/x",
					"https://example.com/contact"), false); err != nil {
					t.Fatal(err)
				}
				before := w.document(t)
				time.Sleep(time.Minute)
				spoil(t, w)
				// The contact page gets its description from a lower raw file.
				if err := w.collect(t, message(1, "https://example.com/contact", "https://example.com/news/more",
					"https://example.com/private/y"), false); err != nil {
					t.Fatal(err)
				}
				after := w.document(t)
				if string(after.Discovery) != string(before.Discovery) ||
					string(after.Contract) != string(before.Contract) ||
					!after.ValidUntil.Equal(before.ValidUntil.Time) {
					t.Error("the discovery, the contract or its validity changed")
				}
				scores := map[string]contract.DocumentURL{}
				for _, u := range after.URLs {
					if u.Type == nil || u.Priority == nil || u.Action == nil || u.Allowed == nil {
						t.Fatalf("%s has no score", u.URL)
					}
					scores[u.URL] = u
				}
				for _, u := range before.URLs {
					now := scores[u.URL]
					if *now.Type != *u.Type || *now.Priority != *u.Priority || *now.Action != *u.Action ||
						*now.Allowed != *u.Allowed {
						t.Errorf("%s was %s %v %s %v, is %s %v %s %v", u.URL, *u.Type, *u.Priority, *u.Action,
							*u.Allowed, *now.Type, *now.Priority, *now.Action, *now.Allowed)
					}
				}
				if u := scores["https://example.com/contact"]; u.SourceFile != "raw_0001" {
					t.Errorf("described by %s", u.SourceFile)
				}
				if u := scores["https://example.com/news/more"]; *u.Type != "news" || *u.Action == "ignore" {
					t.Errorf("new: %s %s", *u.Type, *u.Action)
				}
				if u := scores["https://example.com/private/y"]; *u.Allowed || *u.Action != "ignore" {
					t.Errorf("new and forbidden: %v %s", *u.Allowed, *u.Action)
				}
			})
		})
	}
}

// TestState_Location: a merge scores alike whether the document carries the state or an object of its own has it, as
// it does for many URLs and did in earlier versions. One that is not needed any more is deleted.
func TestState_Location(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		merged := func(apart bool) *contract.Document {
			w := newWorld(healthy(), nil)
			if err := w.collect(t, message(1, "https://example.com/news/one"), false); err != nil {
				t.Fatal(err)
			}
			if w.exists(t, dir.Discovery()) || w.document(t).State == "" {
				t.Error("a small state is an object of its own")
			}
			time.Sleep(time.Minute)
			if apart {
				w.keepState(t, w.document(t).State)
			}
			time.Sleep(time.Minute)
			if err := w.collect(t, message(2, "https://example.com/news/two"), false); err != nil {
				t.Fatal(err)
			}
			d := w.document(t)
			if (d.State == "") != apart || w.exists(t, dir.Discovery()) != apart {
				t.Errorf("apart %v: the state is elsewhere after a merge", apart)
			}
			if apart {
				m := message(1, "https://example.com/news/one")
				m.Force, m.RequestedAt = true, time.Now().Add(time.Minute)
				time.Sleep(time.Hour)
				if err := w.collect(t, m, false); err != nil {
					t.Fatal(err)
				}
				if w.exists(t, dir.Discovery()) || w.document(t).State == "" {
					t.Error("the object is still there after another collection")
				}
			}
			return stable(d)
		}
		if a, b := merged(false), merged(true); !equal(a, b) {
			t.Errorf("%s\n%s", asJSON(a), asJSON(b))
		}

		pages := healthy()
		var list strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&list, "https://example.com/news/%d/a-headline-of-an-article\n", i*7919)
		}
		pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: list.String()}
		w := newWorld(pages, nil)
		for n := range 2 {
			if err := w.collect(t, message(n, fmt.Sprintf("https://example.com/press/%d", n)), false); err != nil {
				t.Fatal(err)
			}
			if d := w.document(t); d.State != "" || !w.exists(t, dir.Discovery()) {
				t.Error("the document carries a large state")
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestRobots_Lost: when the stored robots.txt is lost, a merge leaves it open whether URLs are allowed.
func TestRobots_Lost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		if err := w.collect(t, message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		if err := w.bucket.Delete(t.Context(), dir.Robots()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := w.collect(t, message(2, "https://example.com/private/x"), false); err != nil {
			t.Fatal(err)
		}
		for _, u := range w.document(t).URLs {
			if u.Allowed != nil {
				t.Errorf("%s: allowed %v", u.URL, *u.Allowed)
			}
		}
	})
}

// TestMerge_KeepsProcessingTime: a merge sends no requests, so the time that discovery took stays.
func TestMerge_KeepsProcessingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		html := map[string]string{"Content-Type": "text/html"}
		w := newWorld(healthy(), nil)
		w.web.Pages["https://example.com/"] = fetchtest.Page{Header: html, Body: `<a href="/press-releases">Press</a>`}
		w.web.Pages["https://example.com/press-releases"] = fetchtest.Page{Header: html,
			Latency: 300 * time.Millisecond}
		for n := 1; n <= 3; n++ {
			if err := w.collect(t, message(n, fmt.Sprintf("https://example.com/%d", n)), false); err != nil {
				t.Fatal(err)
			}
			if d, _ := found(t, w.document(t)); d.Stats.ProcessingTimeMS < 300 {
				t.Errorf("revision %d: processing_time_ms is %d", n, d.Stats.ProcessingTimeMS)
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestSitemaps_BoundMemory: the memory of a merge does not grow with the lists of its document.
func TestSitemaps_BoundMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory")
	}
	synctest.Test(t, func(t *testing.T) {
		live := func(n int) uint64 {
			w := newWorld(healthy(), nil)
			if err := w.collect(t, many(1, n), false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			gauge := &heapGauge{Memory: w.bucket}
			w.Collector.Bucket = gauge
			if err := w.collect(t, many(99, 10), false); err != nil {
				t.Fatal(err)
			}
			d := w.document(t)
			t.Logf("%d URLs, %d lists: %d KiB live at most", d.Processing.TotalURLs, len(d.URLsFiles), gauge.peak>>10)
			return gauge.peak
		}
		few, all := live(10_000), live(25_000)
		if all > few+3<<20 {
			t.Errorf("25,000 URLs take %d KiB more than 10,000", (all-few)>>10)
		}
	})
}

// heapGauge measures the peak of the live heap, without the bucket's own content, at every Put.
type heapGauge struct {
	*r2.Memory
	peak uint64
}

func (g *heapGauge) Put(ctx context.Context, key string, body []byte, o *r2.PutOptions) (*r2.Object, error) {
	stored := uint64(0)
	if page, err := g.List(ctx, r2.ListOptions{}); err == nil {
		for _, object := range page.Objects {
			stored += uint64(object.Size)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > stored {
		g.peak = max(g.peak, m.HeapAlloc-stored)
	}
	return g.Memory.Put(ctx, key, body, o)
}

// excludes are exclusions by URL pattern.
func excludes(patterns ...string) func(link string) bool {
	var list []contract.Exclusion
	for _, p := range patterns {
		list = append(list, contract.Exclusion{Kind: contract.ExcludeURL, Value: p})
	}
	return contract.NewExclusions(list).URL
}

// busy is a site with a feed, a sitemap, a section page and a blog, which operators may want to exclude.
func busy() map[string]fetchtest.Page {
	pages := healthy()
	var sitemap, feed strings.Builder
	for i := range 9 {
		fmt.Fprintf(&sitemap,
			"<url><loc>https://example.com/blog/news/story-%d-of-the-day</loc><lastmod>2026-01-2%d</lastmod></url>", i,
			i)
		fmt.Fprintf(&sitemap,
			"<url><loc>https://example.com/news/story-%d-of-the-day</loc><lastmod>2026-01-1%d</lastmod></url>", i, i)
		fmt.Fprintf(&feed, "<item><link>https://example.com/blog/news/story-%d-of-the-day</link></item>", i)
	}
	html := map[string]string{"Content-Type": "text/html"}
	pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: "<urlset>" + sitemap.String() +
		"<url><loc>https://example.com/blog/news</loc></url><url><loc>https://example.com/news</loc></url></urlset>"}
	pages["https://example.com/blog/feed"] = fetchtest.Page{Body: "<rss><channel><title>x</title>" + feed.String() +
		"</channel></rss>"}
	pages["https://example.com/"] = fetchtest.Page{Header: html,
		Body: `<link rel="alternate" type="application/rss+xml" href="/blog/feed"><a ` +
			`href="/blog/press-releases">Press</a>`}
	pages["https://example.com/blog/press-releases"] = fetchtest.Page{Header: html}
	return pages
}

// TestExclusions_ReachTheContract: what operators excluded is nowhere named as worth a visit, whether it
// was excluded before the collection or before a merge, and whether the state of the discovery is there.
func TestExclusions_ReachTheContract(t *testing.T) {
	blog := excludes("https://example.com/blog/*")
	for name, lose := range map[string]bool{"stored": false, "lost": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(busy(), nil)
				named := func() int {
					d := w.document(t)
					return strings.Count(string(d.Discovery), "/blog/") + strings.Count(string(d.Contract), "/blog/")
				}
				if err := w.collect(t, message(1, "https://example.com/blog/news/raw-one",
					"https://example.com/news/raw-two"), false); err != nil {
					t.Fatal(err)
				}
				if named() == 0 {
					t.Fatal("the blog is not named at all")
				}
				time.Sleep(time.Minute)
				if lose {
					w.keepState(t, "")
				}
				raw := func() {
					t.Helper()
					for _, u := range w.document(t).URLs {
						out := strings.Contains(u.URL, "/blog/")
						if *u.Allowed == out || (*u.Action == "ignore") != out {
							t.Errorf("%s: allowed %v, %s", u.URL, *u.Allowed, *u.Action)
						}
					}
				}
				if _, err := w.NewBatch(blog).Visit("example.com").Collect(t.Context(),
					message(2, "https://example.com/blog/news/raw-three"), false); err != nil {
					t.Fatal(err)
				}
				if n := named(); n > 0 {
					t.Errorf("merged: the blog is named %d times: %s %s", n, w.document(t).Discovery,
						w.document(t).Contract)
				}
				raw()
				time.Sleep(time.Minute)
				visits := len(w.web.Visits())
				m := message(3, "https://example.com/blog/news/raw-four")
				m.Force, m.RequestedAt = true, time.Now()
				if _, err := w.NewBatch(blog).Visit("example.com").Collect(t.Context(), m, false); err != nil {
					t.Fatal(err)
				}
				if n := named(); n > 0 {
					t.Errorf("collected: the blog is named %d times", n)
				}
				raw()
				d, _ := found(t, w.document(t))
				if d.Stats.Excluded.Operator != 13 { // 9 stories, their section, 3 raw ones
					t.Errorf("%d excluded", d.Stats.Excluded.Operator)
				}
				if len(d.Errors) > 0 || len(d.URLs) == 0 {
					t.Errorf("errors %v, %d URLs", d.Errors, len(d.URLs))
				}
				for _, v := range w.web.Visits()[visits:] {
					if strings.Contains(v.URL, "/blog/") {
						t.Errorf("asked for %s", v.URL)
					}
				}
			})
		})
	}
}

// TestExclusions_Host: a domain all of whose hosts are excluded is neither asked nor written down as failed.
func TestExclusions_Host(t *testing.T) {
	for _, last := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(healthy(), nil)
			_, err := w.NewBatch(excludes("https://example.com/*")).Visit("example.com").Collect(t.Context(),
				message(1, "https://example.com/a"), last)
			if !errors.Is(err, collector.ErrExcluded) {
				t.Errorf("got %v", err)
			}
			if len(w.web.Visits()) > 0 || w.exists(t, dir.Document()) || w.exists(t, dir.Checkpoint()) {
				t.Errorf("%d requests; a document or checkpoint", len(w.web.Visits()))
			}
		})
	}
}

// TestExclusions_Sitemap: what an operator excluded is not blamed on robots.txt.
func TestExclusions_Sitemap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		if _, err := w.NewBatch(excludes("https://example.com/*.xml",
			"https://example.com/sitemap*")).Visit("example.com").Collect(t.Context(),
			message(1, "https://example.com/a"), false); err != nil {
			t.Fatal(err)
		}
		d := w.document(t)
		if s := d.Sitemap; s.Exists || s.ErrorType == nil || *s.ErrorType != "excluded" || d.Partial {
			t.Errorf("sitemap %+v, partial %v", s, d.Partial)
		}
	})
}

// TestCrawl_WithoutHomePage: without a home page the raw URLs suggest what to look at.
func TestCrawl_WithoutHomePage(t *testing.T) {
	html := map[string]string{"Content-Type": "text/html"}
	for name, home := range map[string]fetchtest.Page{
		"missing":   {Status: 404, Header: html},
		"forbidden": {Status: 403, Header: html},
		"broken":    {Status: 500, Header: html},
		"of JSON":   {Header: map[string]string{"Content-Type": "application/json"}},
		"busy":      {Status: 503, Header: html},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, large := range []bool{false, true} {
					pages := healthy()
					pages["https://example.com/"] = home
					pages["https://example.com/press-releases/2026"] = fetchtest.Page{
						Header: map[string]string{"Content-Type": "text/html",
							"Last-Modified": "Sat, 31 Jan 2026 10:00:00 GMT"}}
					w := newWorld(pages, nil)
					m := message(1)
					for i := range 4 {
						m.URLs = append(m.URLs,
							contract.URL{
								URL:  fmt.Sprintf("https://example.com/press-releases/2024/release-%d-of-the-year", i),
								Path: "/"})
					}
					if large {
						m.URLsPath, m.URLsCount = dir.URLList("raw_0001", 1), len(m.URLs)
						body, _ := json.Marshal(m.URLs)
						if _, err := w.bucket.Put(t.Context(), m.URLsPath, body, nil); err != nil {
							t.Fatal(err)
						}
						m.URLs = nil
					}
					if err := w.collect(t, m, false); err != nil {
						t.Fatal(err)
					}
					var heads []string
					for _, v := range w.web.Visits() {
						if v.Method == "HEAD" {
							heads = append(heads, v.URL)
						}
					}
					if name == "busy" {
						if len(heads) > 0 {
							t.Errorf("asked for %v", heads)
						}
						continue
					}
					d, _ := found(t, w.document(t))
					i := slices.IndexFunc(d.URLs,
						func(u discovery.DiscoveredURL) bool {
							return u.URL == "https://example.com/press-releases/2026"
						})
					if i < 0 {
						t.Fatalf("large list %v: asked for %v, found %v", large, heads, d.URLs)
					}
					if u := d.URLs[i]; u.Method != discovery.Generated || u.NewsValue.Timeliness != 1 {
						t.Errorf("found by %s, timeliness %v", u.Method, u.NewsValue.Timeliness)
					}
				}
			})
		})
	}
}

// TestCrawl_RedirectedPage: a page that was looked at stands under the URL that answered.
func TestCrawl_RedirectedPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		html := map[string]string{"Content-Type": "text/html"}
		pages := healthy()
		pages["https://example.com/"] = fetchtest.Page{Header: html, Body: `<a href="/news/latest-stories">News</a>`}
		pages["https://example.com/news/latest-stories"] = fetchtest.Redirect(301, "/newsroom/stories")
		pages["https://example.com/newsroom/stories"] = fetchtest.Page{Header: html}
		w := newWorld(pages, nil)
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		d, _ := found(t, w.document(t))
		var links []string
		for _, u := range d.URLs {
			if u.Method == discovery.FromLink {
				links = append(links, u.URL)
			}
		}
		if !slices.Equal(links, []string{"https://example.com/newsroom/stories"}) {
			t.Errorf("found %v", links)
		}
	})
}

// TestSitemaps_Hints: what a sitemap says beside dates is in the document, and counts where dates do not.
func TestSitemaps_Hints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(healthy(), nil)
		w.web.Pages["https://example.com/sitemap.xml"] = fetchtest.Page{Body: `<urlset>
			<url><loc>https://example.com/news/aa</loc><changefreq>hourly</changefreq><priority>0.2</priority></url>
			<url><loc>https://example.com/news/bb</loc><changefreq>monthly</changefreq><priority>0.9</priority></url>
			<url><loc>https://example.com/</loc></url></urlset>`}
		if err := w.collect(t, message(1, "https://example.com/news/cc"), false); err != nil {
			t.Fatal(err)
		}
		check := func() {
			t.Helper()
			d, _ := found(t, w.document(t))
			got := map[string]string{}
			var order []string
			for _, u := range d.URLs {
				said, priority := "null", "null"
				if u.Changefreq != nil {
					said = *u.Changefreq
				}
				if u.SitemapPriority != nil {
					priority = fmt.Sprint(*u.SitemapPriority)
				}
				path := strings.TrimPrefix(u.URL, "https://example.com")
				got[path] = fmt.Sprint(u.ParentCategory, " ", said, " ", priority, " ", u.NewsValue.Frequency)
				if strings.HasPrefix(path, "/news/") && u.Method == discovery.FromSitemap {
					order = append(order, path)
				}
			}
			want := map[string]string{
				"/news/aa": "news hourly 0.2 real_time", "/news/bb": "news monthly 0.9 monthly",
				"/news/cc": "news null null daily",
				"/":        "root null 0.5 irregular",
			}
			if !maps.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
			if !slices.Equal(order, []string{"/news/bb", "/news/aa"}) {
				t.Errorf("order %v, the sitemap prefers bb", order)
			}
		}
		check()
		time.Sleep(time.Minute)
		// research is worth more
		if err := w.collect(t, message(2, "https://example.com/news/aa"), false); err != nil {
			t.Fatal(err)
		}
		d, _ := found(t, w.document(t))
		if d.URLs[0].URL != "https://example.com/news/aa" && d.URLs[1].URL != "https://example.com/news/aa" {
			t.Errorf("%v", d.URLs)
		}
		for _, u := range d.URLs {
			if u.URL == "https://example.com/news/aa" && (u.Changefreq == nil || *u.Changefreq != "hourly" ||
				u.Method != discovery.FromResearch) {
				t.Errorf("merged: %+v", u)
			}
		}
	})
}
