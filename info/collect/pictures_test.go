package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/sources"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/robots"
)

const ogPage = `<html><head><meta property="og:image" content="https://img.example/x.jpg"></head></html>`

// onWeb returns a collector in the time of a bubble, whose requests go to a web.
func onWeb(t *testing.T, web *fetchtest.Web, list ...info.Source) *Collector {
	t.Helper()
	w := newWorld(t, list...)
	c := w.Collector
	c.Transport, c.Interval, c.Now, c.Owner = web, time.Second, time.Now, "0123456789abcdef"
	c.Sleep = func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return c
}

func store1(t *testing.T, c *Collector, urls ...string) {
	t.Helper()
	var list []store.New
	for i, u := range urls {
		a, _, drop := info.Draft{URL: u, Title: fmt.Sprintf("t%d", i), PublishedAt: time.Now()}.Article(info.Naver,
			time.Now())
		if drop != "" {
			t.Fatalf("%s: %s", u, drop)
		}
		list = append(list, store.New{Article: a})
	}
	if _, err := c.Store.Upsert(ctx, list); err != nil {
		t.Fatal(err)
	}
}

func pictures(t *testing.T, c *Collector) (n int) {
	t.Helper()
	p, err := c.Store.Page(ctx, info.Query{Category: info.All, HasImage: true, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(p.Articles)
}

func count(web *fetchtest.Web, part string) (n int) {
	for _, u := range web.URLs() {
		if strings.Contains(u, part) {
			n++
		}
	}
	return n
}

// judge checks that no request was sent that the robots.txt of its host forbids, and that pauses were kept.
func judge(t *testing.T, web *fetchtest.Web, interval time.Duration, rules map[string]string) {
	t.Helper()
	last, known := map[string]fetchtest.Visit{}, map[string]bool{}
	for _, v := range web.Visits() {
		group := robots.Parse([]byte(rules[v.Host])).Agent("NewsforkBot/1.0")
		if !strings.HasSuffix(v.URL, "/robots.txt") && !group.Allowed(v.URL) {
			t.Errorf("%s was requested, which robots.txt forbids", v.URL)
		}
		pause := interval
		if delay, ok := group.CrawlDelay(); ok && known[v.Host] {
			pause = max(pause, delay)
		}
		known[v.Host] = known[v.Host] || strings.HasSuffix(v.URL, "/robots.txt")
		if before, ok := last[v.Host]; ok && v.Start.Sub(before.End) < pause {
			t.Errorf("%s was requested %v after %s, not %v", v.URL, v.Start.Sub(before.End), before.URL, pause)
		}
		last[v.Host] = v
	}
}

// robots.txt is obeyed, and pauses hold within a collection and between two.
func TestPictures_Robots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := map[string]string{"slow.example": "User-agent: *\nCrawl-delay: 3\nDisallow: /private/",
			"closed.example": "User-agent: *\nDisallow: /", "none.example": ""}
		web := &fetchtest.Web{Clock: fetch.SystemClock(), Serve: func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			u, _ := url.Parse(r.URL)
			if u.Path != "/robots.txt" {
				return fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"}, Body: ogPage,
					Latency: 100 * time.Millisecond}, true
			}
			if rules[u.Host] == "" {
				return fetchtest.Page{Status: 404}, true
			}
			return fetchtest.Page{Header: map[string]string{"Content-Type": "text/plain"}, Body: rules[u.Host]}, true
		}}
		c := onWeb(t, web)
		store1(t, c, "https://slow.example/1", "https://slow.example/2", "https://slow.example/private/3",
			"https://closed.example/1", "https://closed.example/2", "https://none.example/1", "https://none.example/2")
		c.Run(ctx)
		if n := pictures(t, c); n != 4 {
			t.Errorf("%d pictures", n)
		}
		store1(t, c, "https://slow.example/4", "https://slow.example/5")
		requests := len(web.Visits())
		c.Run(ctx) // the hosts were visited in this minute
		if n := len(web.Visits()); n != requests {
			t.Errorf("%d requests to hosts that had just been visited", n-requests)
		}
		time.Sleep(visitTime)
		c.Run(ctx)
		if n := pictures(t, c); n != 6 {
			t.Errorf("%d pictures in the end", n)
		}
		if n := count(web, "slow.example/robots.txt"); n != 1 {
			t.Errorf("robots.txt was requested %d times within a day", n)
		}
		judge(t, web, c.Interval, rules)
	})
}

// A host that cannot say what it forbids gets no other request.
func TestPictures_RobotsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &fetchtest.Web{Clock: fetch.SystemClock(), Pages: map[string]fetchtest.Page{
			"https://broken.example/robots.txt": {Status: 503}, "https://broken.example/1": {Body: ogPage}}}
		c := onWeb(t, web)
		store1(t, c, "https://broken.example/1")
		for range 12 {
			c.Run(ctx)
			time.Sleep(5 * time.Minute)
		}
		if n := count(web, "/1"); n != 0 || count(web, "robots.txt") > 2 {
			t.Errorf("%d pages, %v", n, web.URLs())
		}
	})
}

// Pages beyond ten of a domain, or beyond a hundred of a run, are looked for by the next runs.
func TestPictures_LookedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &fetchtest.Web{Clock: fetch.SystemClock(), Serve: func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			return fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"}, Body: ogPage}, true
		}}
		c := onWeb(t, web)
		var urls []string
		for i := range 25 {
			urls = append(urls, fmt.Sprintf("https://big.example/%d", i))
		}
		for i := range 130 {
			urls = append(urls, fmt.Sprintf("https://h%d.example/", i))
		}
		store1(t, c, urls...)
		for range 4 {
			c.Run(ctx)
			time.Sleep(5 * time.Minute)
		}
		if n := pictures(t, c); n != len(urls) {
			t.Errorf("%d pictures of %d", n, len(urls))
		}
	})
}

// ask is the API of an engine in memory as a transport.
type ask struct{ world *enginetest.World }

func (a ask) Do(_ context.Context, r *fetch.Request) (*fetch.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, err
	}
	answer := a.world.Ask(r.Method, u.RequestURI(), string(r.Body))
	body, err := json.Marshal(map[string]any{"success": answer.Success, "data": answer.Data})
	content := io.NopCloser(strings.NewReader(string(body)))
	return &fetch.Response{Status: answer.Status, Header: answer.Header, Body: content}, err
}

func engineOf(w *enginetest.World) *Engine {
	return &Engine{Transport: ask{w}, Endpoint: "https://engine.example"}
}

// The bound engine decides who sends requests to a host, and what nobody fetches.
func TestPictures_Engine(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			return fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"}, Body: ogPage}, true
		}
		c := onWeb(t, w.Web)
		c.Engine = engineOf(w)
		w.Ask("PUT", "/api/v1/exclusions/domain/out.example", `{}`)
		w.Ask("PUT", "/api/v1/exclusions/url/"+url.PathEscape("https://part.example/secret/*"), `{}`)
		enginetest.Data[contract.FrontierVisit](w, "POST", "/api/v1/frontier/visit",
			`{"host":"busy.example","visitor":"somebody-else","seconds":60}`)
		store1(t, c, "https://out.example/1", "https://part.example/secret/1", "https://part.example/2",
			"https://busy.example/1", "https://free.example/1")
		c.Run(ctx)
		if n := count(w.Web, "out.example") + count(w.Web, "secret") + count(w.Web, "busy.example"); n > 0 {
			t.Errorf("%v", w.Web.URLs())
		}
		if n := pictures(t, c); n != 2 {
			t.Errorf("%d pictures", n)
		}
		v := enginetest.Data[contract.FrontierVisit](w, "POST", "/api/v1/frontier/visit",
			`{"host":"free.example","visitor":"somebody-else","seconds":60}`)
		if !v.Granted {
			t.Errorf("the host was not given back: %+v", v)
		}
		time.Sleep(2 * time.Minute)
		c.Run(ctx)
		if n := pictures(t, c); n != 3 {
			t.Errorf("%d pictures when the host is free", n)
		}
	})
}

// refusing is an engine that does not answer.
type refusing struct{}

func (refusing) Do(context.Context, *fetch.Request) (*fetch.Response, error) {
	body := io.NopCloser(strings.NewReader(`{"success":false}`))
	return &fetch.Response{Status: 403, Header: http.Header{}, Body: body}, nil
}

// Without the engine's answer, the Worker's own rules apply.
func TestPictures_EngineGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		web := &fetchtest.Web{Clock: fetch.SystemClock(), Serve: func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			if strings.HasSuffix(r.URL, "/robots.txt") {
				return fetchtest.Page{Body: "User-agent: *\nDisallow: /no"}, true
			}
			return fetchtest.Page{Header: map[string]string{"Content-Type": "text/html"}, Body: ogPage}, true
		}}
		c := onWeb(t, web)
		c.Engine = &Engine{Transport: refusing{}, Endpoint: "https://engine.example"}
		store1(t, c, "https://a.example/1", "https://a.example/no", "https://a.example/2")
		c.Run(ctx)
		if n := pictures(t, c); n != 2 {
			t.Errorf("%d pictures", n)
		}
		judge(t, web, c.Interval, map[string]string{"a.example": "User-agent: *\nDisallow: /no"})
	})
}

// An hour of the engine and the Info service together: they collect the same sites, whose articles lack pictures.
func TestPictures_AnHourWithTheEngine(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["REQUEST_INTERVAL_MS"], w.Variables["FRESHNESS"] = "1000", "on"
		w.Variables["MIN_REFRESH_SECONDS"], w.Variables["MAX_REFRESH_SECONDS"] = "300", "900"
		rules := map[string]string{}
		var feeds, raw []string
		for i := range 5 {
			host := fmt.Sprintf("www.site%d.example", i)
			rules[host] = fmt.Sprintf("User-agent: *\nCrawl-delay: %d\nDisallow: /private/\n"+
				"Sitemap: https://%s/feed.xml", i, host)
			feeds = append(feeds, "https://"+host+"/feed.xml")
			raw = append(raw, fmt.Sprintf(`{"url":"https://%s/","source_type":"media"}`, host))
		}
		began := time.Now()
		w.Web.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
			u, _ := url.Parse(r.URL)
			host, known := u.Hostname(), rules[u.Hostname()] != ""
			page := func(kind, body string) (fetchtest.Page, bool) {
				return fetchtest.Page{Header: map[string]string{"Content-Type": kind}, Body: body,
					Latency: 50 * time.Millisecond}, true
			}
			switch {
			case !known:
				return fetchtest.Page{}, false
			case u.Path == "/robots.txt":
				return page("text/plain", rules[host])
			case u.Path == "/feed.xml":
				var items strings.Builder
				for n := range 3 + int(time.Since(began)/(4*time.Minute)) {
					section := "news"
					if n%4 == 3 {
						section = "private"
					}
					at := began.Add(time.Duration(n)*4*time.Minute - time.Hour).UTC().Format(time.RFC1123Z)
					fmt.Fprintf(&items, "<item><title>Article %d</title><link>https://%s/%s/%d</link>"+
						"<pubDate>%s</pubDate></item>", n, host, section, n, at)
				}
				return page("application/rss+xml", "<rss><channel><title>S</title>"+items.String()+"</channel></rss>")
			case u.Path == "/":
				return page("text/html", `<html><a href="/news/1">Article 1</a><a href="/news/2">Article 2</a></html>`)
			}
			return page("text/html", ogPage)
		}
		c := onWeb(t, w.Web, &sources.Feeds{URLs: feeds})
		c.Engine = engineOf(w)
		if a := w.Ask("PUT", "/api/v1/datasets/sg/news/2026-01-28/raw_0001?orchestrate=true",
			"["+strings.Join(raw, ",")+"]"); !a.Success {
			t.Fatalf("%+v", a)
		}
		busy := 0 // collections that found the engine at all five sites
		for minute := range 60 {
			done := make(chan struct{})
			go func() {
				defer close(done)
				w.Drain()
				w.Cron()
				for _, shard := range w.Frontier.Names() {
					if _, err := w.Alarm(shard); err != nil {
						t.Error(err)
					}
				}
				w.Drain()
			}()
			if minute%5 == 0 {
				for _, r := range c.Run(ctx, info.Feed) {
					switch {
					case strings.HasSuffix(r.Error, fetch.ErrHostBusy.Error()):
						busy++
					case r.Error != "":
						t.Errorf("minute %d: %+v", minute, r)
					}
				}
			}
			<-done
			time.Sleep(time.Minute)
		}
		if busy > 2 {
			t.Errorf("%d of 12 collections read no feed", busy)
		}
		if n := pictures(t, c); n < 50 {
			t.Errorf("only %d pictures after %d requests", n, len(w.Web.Visits()))
		}
		engines := 0
		for _, v := range w.Web.Visits() {
			if v.Header.Get("User-Agent") != c.UserAgent {
				engines++
			}
		}
		if engines < 30 {
			t.Errorf("the engine sent only %d requests", engines)
		}
		judge(t, w.Web, time.Second, rules)
	})
}
