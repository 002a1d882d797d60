package engine_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// publisher is a web of news sites with one feed each. All feeds list three old articles; those of hosts named live-…
// also get a new article every minute, until there are as many as articles.
type publisher struct {
	began    time.Time
	articles int
	dated    bool
	listed   int // new articles in a feed; 0 means 20

	mu      sync.Mutex
	answers map[string]map[int][]time.Time // times of feed responses, by host and status
	down    map[string]bool
}

func (p *publisher) published(n int) time.Time { return p.began.Add(time.Duration(n) * time.Minute) }

func (p *publisher) Serve(r *fetch.Request, _ int) (fetchtest.Page, bool) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return fetchtest.Page{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	host, now := u.Hostname(), time.Now()
	if p.down[host] {
		return fetchtest.Fail(fetch.ErrConnRefused), true
	}
	switch u.Path {
	case "/robots.txt":
		return fetchtest.Page{Body: "User-agent: *\nDisallow: /private\n",
			Header: map[string]string{"Content-Type": "text/plain"}}, true
	case "/":
		return fetchtest.Page{
			Body:   `<html><head><link rel="alternate" type="application/rss+xml" href="/feed.xml"></head></html>`,
			Header: map[string]string{"Content-Type": "text/html"},
		}, true
	case "/feed.xml":
	default:
		return fetchtest.Page{Status: 404}, true
	}
	newest := -1
	if strings.HasPrefix(host, "live-") {
		newest = min(int(now.Sub(p.began)/time.Minute), p.articles-1)
	}
	etag := fmt.Sprintf(`"%d"`, newest)
	page := fetchtest.Page{Status: 200, Header: map[string]string{"ETag": etag, "Content-Type": "application/rss+xml"}}
	if r.Header.Get("If-None-Match") == etag {
		page.Status = 304
	} else {
		page.Body = p.feed(host, newest)
	}
	if p.answers == nil {
		p.answers = map[string]map[int][]time.Time{}
	}
	if p.answers[host] == nil {
		p.answers[host] = map[int][]time.Time{}
	}
	p.answers[host][page.Status] = append(p.answers[host][page.Status], now)
	return page, true
}

func (p *publisher) feed(host string, newest int) string {
	var items strings.Builder
	item := func(name string, at time.Time) {
		fmt.Fprintf(&items, "<item><title>Article %s</title><link>https://%s/news/%s</link>"+
			"<description>&lt;p&gt;About &lt;b&gt;%s&lt;/b&gt; &amp;amp; more&lt;/p&gt;</description>"+
			"<enclosure url=\"/%s.jpg\" type=\"image/jpeg\"/>", name, host, name, name, name)
		if p.dated {
			fmt.Fprintf(&items, "<pubDate>%s</pubDate>", at.UTC().Format(time.RFC1123Z))
		}
		items.WriteString("</item>")
	}
	for n := newest; n >= max(0, newest-cmp.Or(p.listed, 20)+1); n-- {
		item(fmt.Sprintf("article-%d", n), p.published(n))
	}
	for n := range 3 {
		item(fmt.Sprintf("old-story-%d", n), p.began.AddDate(0, -1, 0))
	}
	fmt.Fprintf(&items, "<lastBuildDate>%s</lastBuildDate>", time.Now().UTC().Format(time.RFC1123Z))
	return `<rss version="2.0"><channel><title>` + host + `</title>` + items.String() + `</channel></rss>`
}

func (p *publisher) asked(host string, status int) []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answers[host][status]
}

// live runs the alarms of all shards and delivers messages for a simulated span d.
func live(t *testing.T, w *enginetest.World, d time.Duration) {
	t.Helper()
	next := map[string]time.Time{}
	for end := time.Now().Add(d); time.Now().Before(end); {
		for _, name := range w.Frontier.Names() {
			if time.Now().Before(next[name]) {
				continue
			}
			at, err := w.Alarm(name)
			if err != nil {
				at = time.Now().Add(time.Minute)
			}
			next[name] = at
		}
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
			_ = w.Broker.DrainFor(t.Context(), 5*time.Second) // later messages wait for the next round
			time.Sleep(time.Second)
		}
	}
}

// follower reads the feed from where it stopped, and checks that no URL appears twice.
type follower struct {
	cursor string
	found  map[string]contract.FeedItem
}

func (f *follower) read(t *testing.T, w *enginetest.World) {
	t.Helper()
	if f.found == nil {
		f.found = map[string]contract.FeedItem{}
	}
	for more := true; more; {
		p := enginetest.Data[contract.FeedPage](w, "GET", "/api/v1/feed?limit=7&cursor="+f.cursor, "")
		for _, i := range p.Items {
			if _, twice := f.found[i.URL]; twice {
				t.Errorf("%s is in the feed twice", i.URL)
			}
			f.found[i.URL] = i
		}
		f.cursor, more = p.NextCursor, p.HasMore
	}
}

// startSites collects hosts whose entry points are refreshed every least to most seconds.
func startSites(t *testing.T, w *enginetest.World, p *publisher, least, most int, hosts ...string) {
	t.Helper()
	p.began = time.Now()
	w.Web.Serve = p.Serve
	w.Variables["MIN_REFRESH_SECONDS"], w.Variables["MAX_REFRESH_SECONDS"] = fmt.Sprint(least), fmt.Sprint(most)
	var records []string
	for _, host := range hosts {
		records = append(records, fmt.Sprintf(`{"url":"https://%s/about"}`, host))
	}
	upload(t, w, day, 1, "["+strings.Join(records, ",")+"]")
	orchestrate(w, "{}")
	w.Drain()
}

// A site that never changes costs a few 304 responses, at growing intervals.
func TestAlive_SilentSite(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for three weeks of simulated time")
	}
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		p := &publisher{dated: true}
		startSites(t, w, p, 5400, 90*86_400, "still-a.sg")
		live(t, w, 20*24*time.Hour)
		times := p.asked("still-a.sg", 304)
		if len(times) < 3 || len(times) > 20 { // its feed and its sitemap
			t.Errorf("it was asked %d times: %v", len(times), times)
		}
		if n := len(times); n > 5 && times[n-1].Sub(times[n-3]) <= times[3].Sub(times[1]) {
			t.Errorf("the intervals do not grow: %v", times)
		}
		if n := len(p.asked("still-a.sg", 200)); n > 6 {
			t.Errorf("it was collected %d times", n)
		}
		var f follower
		if f.read(t, w); len(f.found) > 0 {
			t.Errorf("%v", f.found)
		}
	})
}

// Every article reaches the feed within two intervals, exactly once, although messages are delivered twice.
func TestAlive_PublishingSite(t *testing.T) {
	for name, dated := range map[string]bool{"dated": true, "undated": false} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				p := &publisher{articles: 200, dated: dated}
				startSites(t, w, p, 60, 90, "live-a.sg")
				r := rand.New(rand.NewPCG(1, 2))
				var f follower
				for time.Since(p.began) < 215*time.Minute {
					live(t, w, 10*time.Minute)
					for _, body := range w.Broker.Waiting(enginetest.Domains) {
						if r.IntN(2) == 0 {
							if err := w.Broker.Producer(enginetest.Domains).SendOne(t.Context(), []byte(body),
								0); err != nil {
								t.Fatal(err)
							}
						}
					}
					f.read(t, w)
				}
				first := 0
				if !dated {
					first = 20 // without dates, articles in the first feed do not count as new
				}
				for n := first; n < p.articles; n++ {
					item, ok := f.found[fmt.Sprintf("https://live-a.sg/news/article-%d", n)]
					if !ok {
						t.Errorf("article %d is not in the feed", n)
						continue
					}
					// Two intervals of at most 90 s, the pause between two ticks, and the time in the queue.
					if late := item.FoundAt.Sub(p.published(n)); late > 4*time.Minute {
						t.Errorf("article %d was found %s after it was published", n, late)
					}
					if *item.Title != fmt.Sprint("Article article-", n) || *item.FoundBy != "feed" ||
						item.Type != "news" || item.Partition != day {
						t.Errorf("%+v", item)
					}
					if item.Snippet == nil || item.Image == nil {
						t.Errorf("%+v", item)
					} else if *item.Snippet != fmt.Sprintf("About article-%d & more", n) ||
						*item.Image != fmt.Sprintf("https://live-a.sg/article-%d.jpg", n) {
						t.Errorf("%q %q", *item.Snippet, *item.Image)
					}
				}
				for url := range f.found {
					if strings.Contains(url, "old-story") {
						t.Errorf("%s is not new", url)
					}
				}
				if n := len(w.Broker.Lost()); n > 0 {
					t.Errorf("%d messages were lost", n)
				}
				if letters := w.Keys("dlq/", ""); len(letters) > 0 {
					t.Errorf("dead letters: %v", letters)
				}
			})
		})
	}
}

// Whichever call kills the event, the feed has every article exactly once.
func TestRefresh_Killed(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		// The site's feed is long: if refreshes die one after the other, articles would drop out of a short one unseen.
		p := &publisher{articles: 60, dated: true, listed: 60}
		startSites(t, w, p, 60, 90, "live-a.sg")
		r := rand.New(rand.NewPCG(3, 4))
		deaths := 0
		w.Kill = func(int) bool {
			if r.IntN(12) == 0 {
				deaths++
				return true
			}
			return false
		}
		var f follower
		live(t, w, 62*time.Minute)
		w.Kill = nil
		live(t, w, 30*time.Minute)
		f.read(t, w)
		if deaths < 5 {
			t.Errorf("%d events died", deaths)
		}
		missing := 0
		for n := range p.articles {
			if _, ok := f.found[fmt.Sprintf("https://live-a.sg/news/article-%d", n)]; !ok {
				t.Log("missing", n)
				missing++
			}
		}
		if missing > 0 {
			t.Errorf("%d articles are not in the feed", missing)
		}
	})
}

// No host is requested during a pause, an exclusion or a shard's outage. Refreshes continue afterwards.
func TestRefresh_Suspended(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		p := &publisher{articles: 1000, dated: true}
		startSites(t, w, p, 60, 600, "live-a.sg")
		asked := func() int { return len(p.asked("live-a.sg", 200)) + len(p.asked("live-a.sg", 304)) }
		quiet := func(what string) {
			t.Helper()
			before := asked()
			live(t, w, 20*time.Minute)
			if n := asked() - before; n > 0 {
				t.Errorf("%s: %d requests", what, n)
			}
		}
		busy := func(what string) {
			t.Helper()
			before := asked()
			live(t, w, 60*time.Minute)
			if asked() == before {
				t.Errorf("%s: no requests", what)
			}
		}
		busy("at first")
		w.Ask("POST", "/api/v1/pipeline/pause", "{}")
		quiet("paused")
		w.Ask("POST", "/api/v1/pipeline/resume", "")
		busy("resumed")
		if a := w.Ask("PUT", "/api/v1/exclusions/domain/live-a.sg", "{}"); !a.Success {
			t.Fatalf("%+v", a)
		}
		quiet("excluded")
		w.Ask("DELETE", "/api/v1/exclusions/domain/live-a.sg", "")
		live(t, w, 7*time.Hour) // excluded domains are checked every six hours
		busy("allowed again")
		w.Frontier.Freeze(shardOf("live-a.sg"))
		before := asked()
		w.Drain()
		time.Sleep(20 * time.Minute)
		if asked() > before {
			t.Error("a host of a frozen shard got a request")
		}
		w.Frontier.Thaw(shardOf("live-a.sg"))
		busy("thawed")
		var f follower
		f.read(t, w)
	})
}

// Unreachable domains are tried again after 1, 6 and 24 hours, then weekly, until they answer.
func TestSchedule_UnreachableDomains(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for a month of simulated time")
	}
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		p := &publisher{down: map[string]bool{"live-a.sg": true}, articles: 5, dated: true}
		startSites(t, w, p, 5400, 7776000, "live-a.sg")
		var attempts []time.Time
		last := 0
		record := contract.DomainDir{Partition: day, Domain: "live-a.sg"}
		for range 32 * 48 {
			live(t, w, 30*time.Minute)
			var d contract.Document
			if w.Read(record.Document(), &d) && d.Revision > last {
				last = d.Revision
				attempts = append(attempts, d.CollectedAt.Time)
			}
		}
		var hours []int
		for i := 1; i < len(attempts); i++ {
			hours = append(hours, int(attempts[i].Sub(attempts[i-1]).Hours()))
		}
		want := []int{1, 6, 24, 168, 168}
		if len(hours) < len(want) {
			t.Fatalf("collected again after %v hours", hours)
		}
		for i, h := range want {
			if hours[i] < h || hours[i] > h+h/6+2 {
				t.Errorf("collected again after %v hours, want about %v", hours, want)
				break
			}
		}
		p.mu.Lock()
		p.down = nil
		p.mu.Unlock()
		live(t, w, 9*24*time.Hour)
		var d contract.Document
		if !w.Read(record.Document(), &d) || !d.Reachable {
			t.Error("the document is not reachable although the host answers")
		}
		if got := stateOf(t, w, "https://live-a.sg/robots.txt"); got != "waiting" && got != "due" {
			t.Errorf("the domain as a whole is %s", got)
		}
	})
}

// The first collection of a site, like its refreshes, takes snippets and pictures from feeds and news sitemaps.
func TestFeed_DetailsOfPages(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		p := &publisher{}
		w.Web.Serve = func(r *fetch.Request, n int) (fetchtest.Page, bool) {
			now := time.Now().UTC()
			switch strings.TrimPrefix(r.URL, "https://press.sg") {
			case "/robots.txt":
				return fetchtest.Page{Body: "Sitemap: https://press.sg/news.xml\n",
					Header: map[string]string{"Content-Type": "text/plain"}}, true
			case "/news.xml":
				entry := func(n int, at time.Time) string {
					return fmt.Sprintf(
						`<url><loc>/news/%d?utm_source=map</loc><news:news><news:publication_date>%s</news:publication_date><news:title>T</news:title></news:news>
						<image:image><image:loc>/pictures/%d.jpg?a=1&amp;b=2</image:loc></image:image></url>`, n,
						at.Format(time.RFC3339), n)
				}
				return fetchtest.Page{
						Body: `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"
					xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">` + entry(1, now) +
							entry(2, now.AddDate(0, 0, -5)) + `</urlset>`,
						Header: map[string]string{"Content-Type": "application/xml"}},
					true
			case "/feed.xml":
				item := func(n int) string {
					return fmt.Sprintf(
						`<item><title>T</title><link>https://press.sg/news/%d</link><description>About `+
							`%d</description><pubDate>%s</pubDate></item>`, n, n, now.Format(time.RFC1123Z))
				}
				return fetchtest.Page{Body: `<rss version="2.0"><channel>` + item(1) + item(3) + `</channel></rss>`,
					Header: map[string]string{"Content-Type": "application/rss+xml"}}, true
			}
			return p.Serve(r, n)
		}
		upload(t, w, day, 1, `[{"url":"https://press.sg/about"}]`)
		orchestrate(w, "{}")
		w.Drain()
		var f follower
		f.read(t, w)
		got := map[string]string{}
		for url, i := range f.found {
			got[url] = fmt.Sprint(*cmp.Or(i.Snippet, new(string)), "|", *cmp.Or(i.Image, new(string)))
		}
		want := map[string]string{
			"https://press.sg/news/1": "About 1|https://press.sg/pictures/1.jpg?a=1&b=2",
			"https://press.sg/news/3": "About 3|",
		}
		if !maps.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}
