package discovery

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
)

// TestContract: feeds, news sitemaps, sitemaps, listings, with the values of the tables for each.
func TestContract(t *testing.T) {
	a := ministry()
	rss := a.Source(Source{Method: RSSEntry, URL: "https://www.mom.gov.sg/rss/press-releases.xml", Read: true})
	a.Source(Source{Method: AtomEntry, URL: "https://www.mom.gov.sg/declared.atom"})
	a.Source(Source{Method: RSSEntry, URL: "https://www.mom.gov.sg/forbidden.rss", Read: true})
	sitemap := a.Source(Source{Method: SitemapEntry, URL: "https://www.mom.gov.sg/sitemap.xml", Read: true})
	news := a.Source(Source{Method: NewsSitemapEntry, URL: "https://www.mom.gov.sg/news.xml", Read: true})
	for i := range 8 {
		a.Add(&Sighting{Loc: fmt.Appendf(nil, "%s/2026/release-%c", releases, 'a'+i), Method: FromFeed,
			Lastmod: ago(time.Duration(i) * day), Source: rss})
		a.Add(&Sighting{Loc: fmt.Appendf(nil, "https://www.mom.gov.sg/newsroom/story-%c", 'a'+i),
			Method:  FromNewsSitemap,
			Lastmod: ago(time.Duration(40+i) * day), Source: news})
		a.Add(&Sighting{Loc: fmt.Appendf(nil, "https://www.mom.gov.sg/p%d/contact", i), Method: FromSitemap,
			Lastmod: ago(time.Duration(i) * 7 * day), Source: sitemap})
		a.Add(&Sighting{Loc: fmt.Appendf(nil, "https://www.mom.gov.sg/p%d/events", i), Method: FromSitemap,
			Source: sitemap})
	}
	add(a, releases, FromResearch, time.Time{})
	expires := testNow.Add(24 * time.Hour)
	c := a.Contract(Terms{UserAgent: "Bot/1.0", Allowed: true, CrawlDelay: 1500 * time.Millisecond,
		RobotsExpires: expires, ContentSignals: map[string]string{"search": "yes"}})
	page := parsePage(releases)
	_, confidence := siteView{a}.classOf(&page)
	listing := listingConfidence(confidence)
	press, stories := classify.PressRelease, classify.News
	allowed := true
	want := []EntryPoint{
		{Method: RSSEntry, URL: "https://www.mom.gov.sg/rss/press-releases.xml", ContentType: &press,
			IntervalMinutes: 720,
			Confidence:      0.9},
		{Method: AtomEntry, URL: "https://www.mom.gov.sg/declared.atom", IntervalMinutes: 4320, Confidence: 0.5},
		{Method: NewsSitemapEntry, URL: "https://www.mom.gov.sg/news.xml", ContentType: &stories, IntervalMinutes: 720,
			Confidence: 0.6},
		{Method: SitemapEntry, URL: "https://www.mom.gov.sg/sitemap.xml", IntervalMinutes: 2880, Confidence: 0.7},
		{Method: HTMLEntry, URL: releases, ContentType: &press, IntervalMinutes: 720, Confidence: listing},
	}
	for i := range want {
		want[i].Allowed = &allowed
	}
	got := text(t, c.EntryPoints)
	if w := text(t, want); got != w {
		t.Errorf("got\n%s\nwant\n%s", got, w)
	}
	if c.UserAgent != "Bot/1.0" || !c.Allowed || c.CrawlDelaySeconds != 1.5 || c.MaxConcurrency != 1 ||
		!c.RobotsExpiresAt.Equal(expires) || c.ContentSignals["search"] != "yes" {
		t.Errorf("%+v", c)
	}
	if until := c.ValidUntil(testNow); until != testNow.Add(12*time.Hour) {
		t.Errorf("valid until %v", until)
	}
}

// TestContract_Spellings: an entry point has the canonical form, and its own beside it; in two spellings it is one.
func TestContract_Spellings(t *testing.T) {
	a := ministry()
	a.Source(Source{Method: RSSEntry, URL: "https://www.MOM.gov.sg//rss.xml?utm_source=menu#top"})
	a.Source(Source{Method: RSSEntry, URL: "https://www.mom.gov.sg/rss.xml", Read: true})
	a.Source(Source{Method: SitemapEntry, URL: "https://www.mom.gov.sg/map s.xml"})
	c := a.Contract(Terms{Allowed: true, Home: "https://www.mom.gov.sg/"})
	if got, want := text(t, c.EntryPoints),
		`[{"method":"rss","url":"https://www.mom.gov.sg/rss.xml","raw_url":null,"allowed":true,"content_type":null,`+
			`"interval_minutes":4320,"confidence":0.6,"etag":null,"last_modified":null,"charset":null,`+
			`"checked_at":null,"changed_at":null,"next_check_at":null,"checks":null},`+
			`{"method":"sitemap","url":"https://www.mom.gov.sg/map%20s.xml","raw_url":"https://www.mom.gov.sg/map `+
			`s.xml","allowed":true,"content_type":null,"interval_minutes":4320,"confidence":0.5,"etag":null,`+
			`"last_modified":null,"charset":null,"checked_at":null,"changed_at":null,"next_check_at":null,`+
			`"checks":null}]`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestContract_HomePage: a site that may be crawled and has nothing better has its home page as an entry point.
func TestContract_HomePage(t *testing.T) {
	const home = "https://www.mom.gov.sg/"
	for name, test := range map[string]struct {
		change func(*Options)
		terms  Terms
		want   int
	}{
		"nothing else":   {func(*Options) {}, Terms{Allowed: true, Home: home}, 1},
		"unknown robots": {func(o *Options) { o.Robots = nil }, Terms{Allowed: true, Home: home}, 1},
		"forbidden":      {func(*Options) {}, Terms{Home: home}, 0},
		"no host":        {func(*Options) {}, Terms{Allowed: true}, 0},
		"excluded": {func(o *Options) { o.Excluded = func(url string) bool { return url == home } },
			Terms{Allowed: true, Home: home}, 0},
	} {
		o := testOptions()
		test.change(&o)
		c := NewAnalyser(o).Contract(test.terms)
		if len(c.EntryPoints) != test.want || test.want > 0 &&
			(c.EntryPoints[0].URL != home || c.EntryPoints[0].Method != HTMLEntry ||
				c.EntryPoints[0].IntervalMinutes == 0) {
			t.Errorf("%s: %+v", name, c.EntryPoints)
		}
	}
}

// One of many numbered pages of a name does not list news.
func TestContract_NumberedPages(t *testing.T) {
	a := ministry()
	add(a, "https://www.mom.gov.sg/news-3", FromSitemap, ago(day))
	add(a, "https://www.mom.gov.sg/news", FromSitemap, ago(day))
	if c := a.Contract(Terms{}); len(c.EntryPoints) != 1 || c.EntryPoints[0].URL != "https://www.mom.gov.sg/news" {
		t.Errorf("%+v", c.EntryPoints)
	}
}

// What feeds and news sitemaps list is an article, even if its name looks like that of a listing: it is a page to
// fetch and no entry point, in whatever order it was found.
func TestContract_ArticlesOfNewsLists(t *testing.T) {
	const (
		section = releases
		topic   = "https://www.mom.gov.sg/newsroom/2026/topic"
		plan    = "https://www.mom.gov.sg/environment-waste-plan"
	)
	for name, order := range map[string][]Method{
		"listed by news only":            {FromFeed},
		"linked first":                   {FromLink, FromFeed},
		"in a news sitemap":              {FromNewsSitemap},
		"in a sitemap, then in the news": {FromSitemap, FromNewsSitemap, FromLink},
	} {
		t.Run(name, func(t *testing.T) {
			o := ministry().o
			o.Pages = 10
			a := NewAnalyser(o)
			add(a, section, FromLink, ago(day))
			for _, m := range order {
				add(a, topic, m, ago(day))
				add(a, plan, m, ago(day))
			}
			a.Learn([]Link{{topic, "Newsroom"}, {plan, "Press releases"}})
			b, err := Restore(a.State(), a.o)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range []*Analyser{a, b} {
				c := a.Contract(Terms{})
				if len(c.EntryPoints) != 1 || c.EntryPoints[0].URL != section {
					t.Errorf("%+v", c.EntryPoints)
				}
			}
			for _, url := range []string{topic, plan} {
				if !slices.ContainsFunc(a.Pages(), func(p Page) bool { return p.URL == url }) {
					t.Errorf("%s is not a page to fetch: %+v", url, a.Pages())
				}
				if p := parsePage(url); (ranking{a}).isListing(&p) {
					t.Errorf("%s ranks as a listing", url)
				}
			}
		})
	}
}

// Many articles that look like listings do not displace the site's listings.
func TestContract_ListingsBesideManyArticles(t *testing.T) {
	a := ministry()
	urls := []string{releases, "https://www.mom.gov.sg/newsroom/announcements"}
	topics := strings.Fields("water air road school harbour park tax museum bridge river forest budget energy housing")
	for i := range len(topics) * len(topics) {
		add(a, fmt.Sprintf("https://www.mom.gov.sg/%s-news/%s", topics[i/len(topics)], topics[i%len(topics)]),
			FromNewsSitemap, ago(day))
	}
	for _, url := range urls {
		add(a, url, FromLink, time.Time{})
	}
	var got []string
	for _, e := range a.Contract(Terms{}).EntryPoints {
		got = append(got, e.URL)
	}
	slices.Sort(got)
	slices.Sort(urls)
	if !slices.Equal(got, urls) {
		t.Errorf("got %q, want %q", got, urls)
	}
}

// TestLists_ByItself: whether a page lists others does not depend on what was classified before.
func TestLists_ByItself(t *testing.T) {
	for _, before := range []string{"https://www.mom.gov.sg/", "https://www.mom.gov.sg/news"} {
		a := ministry()
		for url, want := range map[string]bool{
			"https://www.mom.gov.sg/news": true, "https://www.mom.gov.sg/story-1": false,
			"https://www.mom.gov.sg/": false,
		} {
			add(a, url, FromSitemap, time.Time{})
			a.classifier.Best(before)
			if got := a.isList(url); got != want {
				t.Errorf("%s after %s: %v, want %v", url, before, got, want)
			}
		}
	}
}

// Absent lists are [] or {}, and the domain is collected again all the same.
func TestContract_Empty(t *testing.T) {
	c := ministry().Contract(Terms{UserAgent: "Bot/1.0"})
	if got := text(t, c); got != `{"user_agent":"Bot/1.0","allowed":false,"crawl_delay_seconds":0,`+
		`"max_concurrency":1,"robots_expires_at":null,"content_signals":{},"entry_points":[]}` {
		t.Error(got)
	}
	if until := c.ValidUntil(testNow); until != testNow.Add(72*time.Hour) {
		t.Errorf("valid until %v", until)
	}
	d := ministry().Result()
	d.Patterns = d.Patterns[:0]
	if got := text(t, d); got != `{"discovered_urls":[],"url_patterns":[],"content_categories":{},`+
		`"crawl_strategy":{"max_depth":2,"max_urls_per_category":20,"allowed_patterns":[],"respect_robots":true},`+
		`"discovery_stats":{"total_urls_analyzed":0,"high_priority_urls":0,"medium_priority_urls":0,`+
		`"low_priority_urls":0,"excluded_urls":{"trap":0,"asset":0,"robots":0,"external":0},`+
		`"trap_reasons":{"too_long":0,"too_deep":0,"repeated_segment":0,"session_id":0,"endless_calendar":0},`+
		`"processing_time_ms":0},"errors":[]}` {
		t.Error(got)
	}
}

func TestSource_Twice(t *testing.T) {
	a := ministry()
	s := Source{Method: RSSEntry, URL: "https://www.mom.gov.sg/rss"}
	one := a.Source(s)
	s.Read = true
	if two := a.Source(s); two != one || len(a.sources.list) != 1 || !a.sources.list[0].Read {
		t.Errorf("%v %v %+v", one, two, a.sources)
	}
}

func TestFail_Limit(t *testing.T) {
	a := ministry()
	for i := range 60 {
		a.Fail(Failure{Type: TimeoutFailure, URL: fmt.Sprintf("https://www.mom.gov.sg/%d", i), Message: "no answer",
			RetryCount: 3})
	}
	e := a.Result().Errors
	if len(e) != 50 {
		t.Errorf("%d failures, want the first 50", len(e))
	}
	for i := range e {
		if want := (Failure{Type: TimeoutFailure, URL: fmt.Sprintf("https://www.mom.gov.sg/%d", i),
			Message: "no answer", RetryCount: 3}); e[i] != want {
			t.Errorf("failure %d is %+v, want %+v", i, e[i], want)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSource_Many: a page may declare thousands of feeds; each is found again without comparing it
// with all others, which would make sixteen times as many cost some 200 times as much.
func TestSource_Many(t *testing.T) {
	declare := func(n int) {
		a := NewAnalyser(testOptions())
		for i := range n {
			a.Source(Source{Method: RSSEntry, URL: fmt.Sprintf("https://x.gov/feeds/%d.xml", i)})
		}
		if id := a.Source(Source{Method: AtomEntry, URL: "https://x.gov/feeds/7.xml", Read: true}); id != 8 ||
			len(a.sources.list) != n || a.sources.list[7].Method != AtomEntry {
			t.Fatalf("a feed found again is source %d of %d", id, len(a.sources.list))
		}
	}
	// The same number of sources on 16 pages and on one: both take so long that other activity on the machine slows
	// them down alike. The fastest of several runs, since it only ever slows down.
	cost := func(pages int) time.Duration {
		began := time.Now()
		for range pages {
			declare(57_600 / pages)
		}
		return time.Since(began)
	}
	few, many := cost(16), cost(1)
	for range 15 {
		if many <= 5*few {
			return
		}
		few, many = min(few, cost(16)), min(many, cost(1))
	}
	t.Errorf("on one page they take %.0f times as long: %v and %v", float64(many)/float64(few), few, many)
}
