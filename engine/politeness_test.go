package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/frontier"
)

const interval = 200 * time.Millisecond

// polite checks the web's log: requests to one host must be at least interval apart.
func polite(t *testing.T, visits []fetchtest.Visit) {
	t.Helper()
	last := map[string]time.Time{}
	for _, v := range visits {
		if before, ok := last[v.Host]; ok && v.Start.Sub(before) < interval {
			t.Errorf("%s was requested %v after the request before it", v.URL, v.Start.Sub(before))
		}
		last[v.Host] = v.End
	}
}

// collections counts the requests for robots.txt by host.
func collections(visits []fetchtest.Visit) map[string]int {
	n := map[string]int{}
	for _, v := range visits {
		if strings.HasSuffix(v.URL, "/robots.txt") {
			n[v.Host]++
		}
	}
	return n
}

// put puts pages of a host into the frontier.
func put(t *testing.T, w *enginetest.World, host string, pages int) {
	t.Helper()
	var list []frontier.NewPage
	for i := range pages {
		list = append(list, frontier.NewPage{URL: fmt.Sprintf("https://%s/page/%d", host, i), Priority: 0.5})
	}
	if _, err := w.Frontier.Remotes().Put(t.Context(), day, list); err != nil {
		t.Fatal(err)
	}
}

// scrape leases, fetches and reports pages until ctx ends. It returns the number of pages.
func scrape(ctx context.Context, t *testing.T, w *enginetest.World, seconds int64) (fetched int) {
	r := w.Frontier.Remotes()
	for ctx.Err() == nil {
		lease, err := r.Lease(ctx, epoch.Now(), frontier.LeaseRequest{Max: 10, Seconds: seconds})
		if ctx.Err() != nil {
			return fetched
		}
		if err != nil {
			t.Error(err)
			return fetched
		}
		report := frontier.Report{Lease: lease.ID}
		for _, item := range lease.Items {
			answer, err := w.Web.Do(context.WithoutCancel(ctx),
				&fetch.Request{Method: "GET", URL: item.URL, Timeout: time.Second})
			if err != nil {
				t.Error(err)
				continue
			}
			answer.Body.Close()
			fetched++
			report.Results = append(report.Results, frontier.Result{ID: item.ID, Status: answer.Status})
		}
		if len(report.Results) == 0 {
			time.Sleep(time.Second)
		} else if _, err := r.Report(context.WithoutCancel(ctx), report); err != nil {
			t.Error(err)
		}
	}
	return fetched
}

// Concurrent events and scrapers together send a host one request at a time, with its pause in between. Each host is
// collected once, and its second document reuses the evidence.
func TestPoliteness_EventsAndScrapers(t *testing.T) {
	const hosts, scrapers = 40, 4
	other := day
	other.Category = "finance"
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{Latency: 20 * time.Millisecond}).Serve
		maps.Copy(w.Variables, map[string]string{"REQUEST_INTERVAL_MS": "200", "MAX_REQUESTS_PER_DOMAIN": "6"})
		w.Broker.Events, w.Broker.Copies, w.Broker.Shuffle = 6, 2, rand.New(rand.NewPCG(1, 2))
		for _, p := range []contract.Partition{day, other} {
			for i := range hosts {
				host := fmt.Sprintf("site-%d.sg", i)
				w.Send(enginetest.Domains, domainMessage(p, host, 1, "https://"+host+"/a"))
			}
		}
		for i := range hosts {
			put(t, w, fmt.Sprintf("site-%d.sg", i), 100) // enough that there is always a page to lease
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		fetched := make([]int, scrapers)
		for n := range scrapers {
			wg.Go(func() { fetched[n] = scrape(ctx, t, w, 30) })
		}
		began := time.Now()
		w.Drain()
		took := time.Since(began)
		stop()
		wg.Wait()
		visits := w.Web.Visits()
		polite(t, visits)
		asked := collections(visits)
		for i := range hosts {
			host := fmt.Sprintf("site-%d.sg", i)
			if asked[host] != 1 {
				t.Errorf("%s was collected %d times for its two documents", host, asked[host])
			}
			reused := 0
			for _, p := range []contract.Partition{day, other} {
				d := w.Document(p, host)
				if d == nil || d.Technical.SitemapXML.URLCount != 3 {
					t.Fatalf("%s, %s: %+v", p.Category, host, d)
				}
				if d.Technical.ReusedFrom != nil {
					reused++
				}
			}
			if reused != 1 {
				t.Errorf("%d documents of %s reuse the other", reused, host)
			}
		}
		if len(w.Events("domain_busy")) == 0 || len(w.Keys("dlq/", "")) > 0 {
			t.Errorf("%d domains busy, dead letters %v", len(w.Events("domain_busy")), w.Keys("dlq/", ""))
		}
		for n, pages := range fetched {
			if pages < 100 {
				t.Errorf("scraper %d fetched %d pages", n, pages)
			}
		}
		// A batch waits a minute, and a scraper's lease lasts half a minute.
		if took > 15*time.Minute {
			t.Errorf("scrapers kept the collectors waiting for %v", took)
		}
	})
}

// While a collector waits for a domain, scrapers get no further page of it.
func TestPoliteness_CollectorGoesFirst(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		put(t, w, "late.sg", 100)
		r := w.Frontier.Remotes()
		lease := func() frontier.Lease {
			l, err := r.Lease(t.Context(), epoch.Now(), frontier.LeaseRequest{Max: 1, Seconds: 120})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		first := lease()
		if len(first.Items) != 1 {
			t.Fatal("there is nothing to lease")
		}
		w.Send(enginetest.Domains, domainMessage(day, "late.sg", 1, "https://late.sg/a"))
		began := time.Now()
		time.AfterFunc(80*time.Second, func() { // 20 s after the delivery of the message
			report := frontier.Report{Lease: first.ID, Results: []frontier.Result{{ID: first.Items[0].ID,
				Status: 200}}}
			if _, err := r.Report(context.WithoutCancel(t.Context()), report); err != nil {
				t.Error(err)
			}
		})
		time.AfterFunc(90*time.Second, func() {
			if l := lease(); len(l.Items) > 0 {
				t.Error("a scraper got a page while the collector waited")
			}
		})
		w.Drain()
		if len(w.Events("domain_busy")) == 0 {
			t.Error("the collector never waited")
		}
		if d := w.Document(day, "late.sg"); d == nil || time.Since(began) > 5*time.Minute {
			t.Errorf("%v after %v", d != nil, time.Since(began))
		}
	})
}

// If the event that leased a domain is killed, another event collects the domain once the lease has expired, and not
// before.
func TestLease_OfAKilledEventExpires(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		began := time.Now()
		r := frontier.AcquireRequest{Domain: "late.sg", Owner: "killed", Seconds: 120}
		if a, err := w.Frontier.Remotes().Of("late.sg").Acquire(t.Context(), r); err != nil || !a.Granted {
			t.Fatal(a, err)
		}
		w.Send(enginetest.Domains, domainMessage(day, "late.sg", 1, "https://late.sg/a"))
		w.Drain()
		if d := w.Document(day, "late.sg"); d == nil || d.Revision != 1 {
			t.Fatalf("%+v", d)
		}
		if first := w.Web.Visits()[0].Start.Sub(began); first < 2*time.Minute || first > 5*time.Minute {
			t.Errorf("the first request was after %v", first)
		}
	})
}

// If a collection is killed between two requests, another event repeats it within the term of a lease, and the host
// still gets its pause.
func TestLease_KilledHalfWay(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["REQUEST_INTERVAL_MS"] = "200"
		var died time.Time
		sites := &enginetest.Sites{}
		w.Web.Serve = func(r *fetch.Request, nth int) (fetchtest.Page, bool) {
			if strings.HasSuffix(r.URL, "/sitemap.xml") && died.IsZero() {
				died = time.Now()
				w.Kill = func(int) bool { w.Kill = nil; return true }
			}
			return sites.Serve(r, nth)
		}
		message := domainMessage(day, "late.sg", 1, "https://late.sg/a")
		w.Send(enginetest.Domains, message)
		w.Drain()
		if died.IsZero() || w.Document(day, "late.sg") == nil || len(w.Keys("dlq/", "")) > 0 {
			t.Fatalf("died %v, dead letters %v", died, w.Keys("dlq/", ""))
		}
		polite(t, w.Web.Visits())
		for _, v := range w.Web.Visits() {
			if after := v.Start.Sub(died); after > 0 && after < 10*time.Second {
				t.Errorf("%s was requested %v after the event died", v.URL, after)
			}
		}
	})
}

// While a shard is frozen, its domains are not requested and lose nothing, and other domains are collected. Its own
// follow when it answers again.
func TestShard_Frozen(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{Latency: 20 * time.Millisecond}).Serve
		w.Broker.Events, w.Broker.Shuffle = 3, rand.New(rand.NewPCG(3, 5))
		frozen := shardOf("site-0.sg")
		const hosts = 30
		w.Frontier.Freeze(frozen)
		for i := range hosts {
			host := fmt.Sprintf("site-%d.sg", i)
			w.Send(enginetest.Domains, domainMessage(day, host, 1, "https://"+host+"/a"))
		}
		const lasts = 6 * time.Hour
		began := time.Now()
		time.AfterFunc(lasts, func() { w.Frontier.Thaw(frozen) })
		w.Drain()
		for _, v := range w.Web.Visits() {
			if shardOf(v.Host) == frozen && v.Start.Sub(began) < lasts {
				t.Errorf("%s was requested while its shard was frozen", v.URL)
			}
			if shardOf(v.Host) != frozen && v.Start.Sub(began) > time.Hour {
				t.Errorf("%s was requested after %v", v.URL, v.Start.Sub(began))
			}
		}
		asked := collections(w.Web.Visits())
		for i := range hosts {
			host := fmt.Sprintf("site-%d.sg", i)
			if d := w.Document(day, host); d == nil || !d.Reachable || asked[host] != 1 {
				t.Errorf("%s: collected %d times, %+v", host, asked[host], d)
			}
		}
		if took := time.Since(began); took > lasts+time.Hour || len(w.Keys("dlq/", "")) > 0 ||
			len(w.Events("frontier_failed")) == 0 {
			t.Errorf("done after %v, dead letters %v, %d failures logged", took, w.Keys("dlq/", ""),
				len(w.Events("frontier_failed")))
		}
	})
}

// A collection whose shard freezes stops within the term of its lease, and is repeated later.
func TestShard_FreezesHalfWay(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["REQUEST_INTERVAL_MS"] = "20000"
		var froze time.Time
		sites := &enginetest.Sites{}
		w.Web.Serve = func(r *fetch.Request, nth int) (fetchtest.Page, bool) {
			if froze.IsZero() {
				froze = time.Now()
				w.Frontier.Freeze(shardOf("late.sg"))
				time.AfterFunc(time.Hour, func() { w.Frontier.Thaw(shardOf("late.sg")) })
			}
			return sites.Serve(r, nth)
		}
		w.Send(enginetest.Domains, domainMessage(day, "late.sg", 1, "https://late.sg/a"))
		w.Drain()
		if d := w.Document(day, "late.sg"); d == nil || !d.Sitemap.Exists || d.Partial {
			t.Errorf("%+v", d)
		}
		for _, v := range w.Web.Visits() {
			if after := v.Start.Sub(froze); after > 30*time.Second && after < time.Hour {
				t.Errorf("%s was requested %v after the shard froze", v.URL, after)
			}
		}
		if len(w.Events("lease_lost")) != 1 || len(w.Keys("dlq/", "")) > 0 {
			t.Errorf("leases lost %d, dead letters %v", len(w.Events("lease_lost")), w.Keys("dlq/", ""))
		}
	})
}

// entangled is a web of two sites that each declare the other's feed.
func entangled(r *fetch.Request, _ int) (fetchtest.Page, bool) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return fetchtest.Page{}, false
	}
	p := fetchtest.Page{Status: 404, Latency: 500 * time.Millisecond}
	other := map[string]string{"one.sg": "two.sg", "two.sg": "one.sg"}[u.Hostname()]
	switch u.Path {
	case "/":
		p.Status, p.Body = 200, `<link rel="alternate" type="application/rss+xml" href="https://`+other+`/feed">`
	case "/feed":
		p.Status, p.Body = 200, `<rss version="2.0"><channel><item><link>https://`+u.Hostname()+
			`/x</link></item></channel></rss>`
	}
	return p, true
}

// Two collections that need each other's domain do not wait for each other. Within one event they share their leases;
// in two events each skips the other's feed.
func TestLease_MutualCollections(t *testing.T) {
	for name, events := range map[string]int{"one event": 1, "two events": 2} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				w.Web.Serve = entangled
				w.Variables["REQUEST_INTERVAL_MS"] = "200"
				w.Broker.Events = events
				began := time.Now()
				for _, domain := range []string{"one.sg", "two.sg"} {
					w.Send(enginetest.Domains, domainMessage(day, domain, 1, "https://"+domain+"/a"))
					for i := range 8 * (events - 1) { // fill the first batch, so that the second site is in another
						pad := fmt.Sprintf("pad-%d-%s", i, domain)
						w.Send(enginetest.Domains, domainMessage(day, strings.ReplaceAll(pad, ".sg", "-x.sg"), 1,
							"https://x.sg/a"))
					}
				}
				w.Drain()
				polite(t, w.Web.Visits())
				for domain, other := range map[string]string{"one.sg": "two.sg", "two.sg": "one.sg"} {
					d := w.Document(day, domain)
					if d == nil {
						t.Fatalf("%s has no document", domain)
					}
					var found discovery.Discovery
					if err := json.Unmarshal(d.Discovery, &found); err != nil {
						t.Fatal(err)
					}
					busy := false
					for _, f := range found.Errors {
						busy = busy || f.URL == "https://"+other+"/feed" && strings.Contains(f.Message, "host busy")
					}
					read := slices.ContainsFunc(d.Technical.Feeds,
						func(f contract.Feed) bool { return f.URL == "https://"+other+"/feed" })
					if read == busy || busy != d.Partial {
						t.Errorf("%s: feed read %v, busy %v, partial %v", domain, read, busy, d.Partial)
					} else if events == 1 && busy {
						t.Errorf("%s found the other busy in its own event", domain)
					}
				}
				if took := time.Since(began); took > 3*time.Minute || len(w.Keys("dlq/", "")) > 0 {
					t.Errorf("it took %v, dead letters %v", took, w.Keys("dlq/", ""))
				}
			})
		})
	}
}

// A Retry-After also delays the domain's next message, without using up one of its attempts.
func TestPoliteness_RetryAfterAcrossEvents(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["REUSE_WINDOW_MINUTES"] = "0"
		sites := &enginetest.Sites{}
		var asked time.Time
		w.Web.Serve = func(r *fetch.Request, nth int) (fetchtest.Page, bool) {
			p, ok := sites.Serve(r, nth)
			if strings.HasSuffix(r.URL, "https://late.sg/") && nth == 0 {
				p.Status, p.Header = 429, map[string]string{"Retry-After": "3600"}
				asked = time.Now()
			}
			return p, ok
		}
		w.Send(enginetest.Domains, domainMessage(day, "late.sg", 1, "https://late.sg/a"))
		w.Drain()
		w.Send(enginetest.Domains, domainMessage(nextDay, "late.sg", 1, "https://late.sg/a"))
		w.Drain()
		for _, v := range w.Web.Visits() {
			if after := v.Start.Sub(asked); after > 0 && after < time.Hour {
				t.Errorf("%s was asked %v after the host wanted to be left alone for an hour", v.URL, after)
			}
		}
		if d := w.Document(nextDay, "late.sg"); d == nil || d.Partial || len(w.Keys("dlq/", "")) > 0 {
			t.Errorf("%+v, dead letters %v", d, w.Keys("dlq/", ""))
		}
	})
}

// Names that do not resolve are blocked for an hour, for all events.
func TestPoliteness_UnresolvedNames(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = func(*fetch.Request, int) (fetchtest.Page, bool) {
			return fetchtest.Fail(fetch.ErrNotResolved),
				true
		}
		began := time.Now()
		w.Send(enginetest.Domains, domainMessage(day, "gone.sg", 1, "https://gone.sg/a"))
		w.Drain()
		d := w.Document(day, "gone.sg")
		if d == nil || d.Reachable || d.Robots.Error == nil || !strings.Contains(*d.Robots.Error, "does not resolve") {
			t.Fatalf("%+v", d)
		}
		before := len(w.Web.Visits())
		for _, v := range w.Web.Visits()[1:] {
			if after := v.Start.Sub(began); after > 5*time.Minute && after < time.Hour {
				t.Errorf("it was asked again after %v", after)
			}
		}

		// An operator who has it collected again knows better.
		time.Sleep(time.Minute)
		w.Web.Serve = (&enginetest.Sites{}).Serve
		if a := w.Ask("POST", "/api/v1/seeds/domains/gone.sg/collect", "{}"); a.Status != 202 && a.Status != 200 {
			t.Fatalf("%d %+v", a.Status, a.Error)
		}
		w.Drain()
		if d := w.Document(day, "gone.sg"); !d.Reachable || len(w.Web.Visits()) == before {
			t.Errorf("collected again: %+v", d.Robots)
		}
	})
}

// TestLease_ReleaseIsLost: the domain is free again when the lease is over.
func TestLease_ReleaseIsLost(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Frontier.Fail = func(_, operation string) error {
			if operation == "release" {
				return errors.New("as the test wants it")
			}
			return nil
		}
		began := time.Now()
		w.Send(enginetest.Domains, domainMessage(day, "late.sg", 1, "https://late.sg/a"))
		w.Drain()
		w.Frontier.Fail = nil
		w.Send(enginetest.Domains, domainMessage(nextDay, "late.sg", 1, "https://late.sg/a"))
		w.Drain()
		if d := w.Document(nextDay, "late.sg"); d == nil || time.Since(began) > 5*time.Minute {
			t.Errorf("%v after %v", d != nil, time.Since(began))
		}
	})
}

// withRobots serves sites that all have the same robots.txt.
func withRobots(robots string) func(*fetch.Request, int) (fetchtest.Page, bool) {
	sites := &enginetest.Sites{}
	return func(r *fetch.Request, nth int) (fetchtest.Page, bool) {
		p, ok := sites.Serve(r, nth)
		if strings.HasSuffix(r.URL, "/robots.txt") {
			p.Body = robots
		}
		return p, ok
	}
}

// TestPoliteness_LongCrawlDelays hold for everybody: the next collection waits for one without using an attempt,
// scrapers get the host at its own pace, and what the collection left out waits in the frontier.
func TestPoliteness_LongCrawlDelays(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["REUSE_WINDOW_MINUTES"] = "0"
		w.Web.Serve = withRobots("User-agent: *\nCrawl-delay: 120\nSitemap: https://slow.sg/map.xml\n")
		w.Broker.Events = 2
		w.Send(enginetest.Domains, domainMessage(day, "slow.sg", 1, "https://slow.sg/a"))
		w.Send(enginetest.Domains, domainMessage(nextDay, "slow.sg", 1, "https://slow.sg/a"))
		w.Drain()
		last := time.Time{}
		for _, v := range w.Web.Visits() {
			if pause := v.Start.Sub(last); !last.IsZero() && pause < 2*time.Minute {
				t.Errorf("%s was requested after %v", v.URL, pause)
			}
			last = v.End
		}
		for _, p := range []contract.Partition{day, nextDay} {
			if d := w.Document(p, "slow.sg"); d == nil || !d.Partial || !d.Reachable {
				t.Errorf("%s: %+v", p.Date, d)
			}
		}
		for _, entry := range []string{"https://slow.sg/map.xml", "https://slow.sg/"} {
			if state := stateOf(t, w, entry); state == "unknown" {
				t.Errorf("%s is not in the frontier", entry)
			}
		}
		time.Sleep(130 * time.Second)
		lease, err := w.Frontier.Remotes().Lease(t.Context(), epoch.Now(),
			frontier.LeaseRequest{Max: 5, Seconds: 60})
		if err != nil || len(lease.Items) != 1 || lease.Items[0].CrawlDelay != 120_000 {
			t.Errorf("%+v, %v", lease, err)
		}
		if len(w.Keys("dlq/", "")) > 0 {
			t.Errorf("dead letters %v", w.Keys("dlq/", ""))
		}
	})
}

// Hosts that ask for a long delay are collected though scrapers always want the next page: a collector that found a
// host not ready is next.
func TestPoliteness_SlowHostsBesideScrapers(t *testing.T) {
	const hosts = 23
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["REUSE_WINDOW_MINUTES"] = "0"
		w.Web.Serve = withRobots("User-agent: *\nCrawl-delay: 300\n")
		collect := func(p contract.Partition) (done, tries int) {
			before := len(w.Events("domain_busy"))
			for i := range hosts {
				host := fmt.Sprintf("slow-%d.sg", i)
				w.Send(enginetest.Domains, domainMessage(p, host, 1, "https://"+host+"/a"))
			}
			w.Drain()
			for i := range hosts {
				if w.Document(p, fmt.Sprintf("slow-%d.sg", i)) != nil {
					done++
				}
			}
			return done, len(w.Events("domain_busy")) - before
		}
		collect(day) // so that the frontier knows the delays
		for i := range hosts {
			put(t, w, fmt.Sprintf("slow-%d.sg", i), 100)
		}
		ctx, stop := context.WithCancel(t.Context())
		var scraper sync.WaitGroup
		pages := 0
		scraper.Go(func() { pages = scrape(ctx, t, w, 30) })
		time.Sleep(20 * time.Minute)
		began := time.Now()
		done, tries := collect(nextDay)
		took := time.Since(began)
		stop()
		scraper.Wait()
		t.Logf("%d of %d, %d tries, %v, %d pages", done, hosts, tries, took, pages)
		if done != hosts || tries > 3*hosts || took > 30*time.Minute || pages < hosts || len(w.Keys("dlq/", "")) > 0 {
			t.Errorf("%d of %d domains were collected, with %d tries in %v; dead letters %v", done, hosts, tries, took,
				w.Keys("dlq/", ""))
		}
	})
}

// TestPoliteness_ThrottledHosts: a host that answers 429 without saying for how long is asked half as often
// afterwards.
func TestPoliteness_ThrottledHosts(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["REQUEST_INTERVAL_MS"] = "1000"
		sites := &enginetest.Sites{}
		w.Web.Serve = func(r *fetch.Request, nth int) (fetchtest.Page, bool) {
			p, ok := sites.Serve(r, nth)
			if r.URL == "https://hot.sg/" {
				p.Status = 429
			}
			return p, ok
		}
		w.Send(enginetest.Domains, domainMessage(day, "hot.sg", 1, "https://hot.sg/a"))
		w.Drain()
		r := frontier.AcquireRequest{Domain: "hot.sg", Owner: "a test", Seconds: 10, Hosts: []string{"hot.sg"}}
		a, err := w.Frontier.Remotes().Of("hot.sg").Acquire(t.Context(), r)
		if err != nil || !a.Granted || a.Hosts[0].Delay != 2000 {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// TestPoliteness_BlockedHostGathersNoMessages: a collection waits for the host with which it begins, not for the one
// that stands in where that does not answer. While operators block the first, the scheduled collections are left to
// the frontier rather than to the queue, which would gather one more every hour.
func TestPoliteness_BlockedHostGathersNoMessages(t *testing.T) {
	for blocked, waits := range map[string]bool{"www.a.sg": false, "a.sg": true} {
		t.Run(blocked, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				// then www.a.sg has the entry points
				p := &publisher{dated: true, began: time.Now(), down: map[string]bool{"a.sg": waits}}
				w.Web.Serve = p.Serve
				w.Variables["MIN_REFRESH_SECONDS"], w.Variables["MAX_REFRESH_SECONDS"] = "600", "7200"
				upload(t, w, day, 1, `[{"url":"https://www.a.sg/about"}]`)
				orchestrate(w, "{}")
				w.Drain()
				collected := func() time.Time { return w.Document(day, "a.sg").CollectedAt.Time }
				first := collected()
				block := func(until time.Time) {
					body := fmt.Sprintf(`{"block_until":%q}`, until.UTC().Format(time.RFC3339))
					enginetest.Data[contract.FrontierHost](w, "POST", "/api/v1/frontier/hosts/"+blocked, body)
				}
				block(time.Now().AddDate(0, 0, 30))
				began, most := len(w.Web.Visits()), 0
				for range 2 * 24 {
					live(t, w, time.Hour)
					most = max(most, len(w.Broker.Waiting(enginetest.Domains)))
				}
				for _, v := range w.Web.Visits()[began:] {
					if v.Host == blocked {
						t.Fatalf("%s was asked for", v.URL)
					}
				}
				last := collected()
				if most > 1 || last.Equal(first) != waits || waits == (len(w.Events("domain_busy")) == 0) {
					t.Errorf("%d messages wait, %d were busy; collected at %v, then at %v", most,
						len(w.Events("domain_busy")), first, last)
				}
				block(time.Now())
				live(t, w, 4*time.Hour)
				if !collected().After(last) || len(w.Keys("dlq/", "")) > 0 {
					t.Errorf("it was not collected when it was allowed again; dead letters %v", w.Keys("dlq/", ""))
				}
			})
		})
	}
}
