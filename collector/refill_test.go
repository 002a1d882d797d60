package collector_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// refills does what the alarm of the domain's shard asks for, and returns how many refills that were.
func (w *world) refills(t *testing.T) (n int) {
	t.Helper()
	text, err := w.frontier.Call(t.Context(), w.Frontier.Of("example.com").Name(), "tick",
		[]byte(`{"shard":"shard-0"}`))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Answer shard.Tick }
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	for _, m := range answer.Answer.Messages {
		list, _, err := contract.ParseRefreshes(m)
		if err != nil {
			t.Fatal(err)
		}
		r := &list[0]
		if r.Method != frontier.MethodRefill {
			continue
		}
		n++
		if _, err := w.NewBatch(nil).Refresh(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// fetchAll leases and reports pages until nothing is left, and returns them in their order.
func (w *world) fetchAll(t *testing.T) (urls []string) {
	t.Helper()
	shard := w.Frontier.Of("example.com")
	for idle := 0; idle < 30; {
		lease, err := shard.Lease(t.Context(), frontier.LeaseRequest{Max: 20, PerHost: 20, Seconds: 60})
		if err != nil {
			t.Fatal(err)
		}
		report := frontier.Report{Lease: lease.ID}
		for _, item := range lease.Items {
			urls = append(urls, item.URL)
			report.Results = append(report.Results, frontier.Result{ID: item.ID, Status: 200})
		}
		if idle++; len(lease.Items) > 0 {
			idle = 0
			if _, err := shard.Report(t.Context(), report); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		w.refills(t)
	}
	return urls
}

// fetchable returns the URLs of the domain that may be fetched, as the API lists them, with their places.
func (w *world) fetchable(t *testing.T) map[string]int {
	t.Helper()
	stored, err := w.Stored(t.Context(), contract.DomainDir{Partition: partition, Domain: "example.com"}, w.document(t),
		func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	best := collector.Ranking{Limit: 1e6}
	if err := stored.URLs(t.Context(), func(u *contract.ListedURL) {
		if (u.Allowed == nil || *u.Allowed) && *u.Action != string(discovery.Ignore) {
			best.Add(u)
		}
	}); err != nil {
		t.Fatal(err)
	}
	places := map[string]int{}
	for i, u := range best.Sorted() {
		places[u.URL] = i
	}
	return places
}

// TestRefill_FinishesADomain: all that is stored of a domain and may be fetched is fetched once, best first, without
// another request to it.
func TestRefill_FinishesADomain(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches 3,000 pages")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(3000), nil)
		w.frontier.open(t)
		var raw []string
		for i := range 700 {
			raw = append(raw, fmt.Sprintf("https://example.com/raw/report-%d", i))
		}
		if err := w.collect(t, message(1, raw...), false); err != nil {
			t.Fatal(err)
		}
		asked := len(w.web.URLs())
		fetched := w.fetchAll(t)
		places := w.fetchable(t)
		if len(places) < 3500 {
			t.Errorf("%d URLs may be fetched", len(places))
		}
		times := map[string]int{}
		for i, url := range fetched {
			times[url]++
			// Research's URLs are among the first whatever their worth.
			if place, ok := places[url]; ok && place > i+1000 && !strings.Contains(url, "/raw/") {
				t.Errorf("%s, the %dth, was fetched as the %dth", url, place, i)
			}
		}
		for url := range places {
			if times[url] != 1 {
				t.Errorf("%s was fetched %d times", url, times[url])
			}
		}
		if n := len(w.web.URLs()); n != asked {
			t.Errorf("%d requests", n-asked)
		}
		time.Sleep(24 * time.Hour)
		if n := w.refills(t); n > 0 {
			t.Errorf("%d refills of a finished domain", n)
		}
	})
}

// indexedSite returns a site whose sitemap is an index of three, with 700 pages each.
func indexedSite() map[string]fetchtest.Page {
	site := newsSite(10)
	var index strings.Builder
	for part := range 3 {
		child := fmt.Sprintf("https://example.com/part-%d.xml", part)
		fmt.Fprintf(&index, "<sitemap><loc>%s</loc></sitemap>", child)
		var urls strings.Builder
		for i := range 700 {
			fmt.Fprintf(&urls, "<url><loc>https://example.com/news/2026/01/part-%d-story-%d</loc></url>", part, i)
		}
		site[child] = fetchtest.Page{Body: "<urlset>" + urls.String() + "</urlset>",
			Header: map[string]string{"Content-Type": "application/xml"}}
	}
	site["https://example.com/sitemap.xml"] = fetchtest.Page{
		Body:   "<sitemapindex>" + index.String() + "</sitemapindex>",
		Header: map[string]string{"Content-Type": "application/xml", "ETag": `"i1"`}}
	return site
}

// TestRefill_SitemapIndex: a domain whose sitemap is an index is finished as well.
func TestRefill_SitemapIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(indexedSite(), nil)
		w.frontier.open(t)
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		asked := len(w.web.URLs())
		places := w.fetchable(t)
		if len(places) < 2100 {
			t.Errorf("%d URLs may be fetched", len(places))
		}
		times := map[string]int{}
		for _, url := range w.fetchAll(t) {
			times[url]++
		}
		for url := range places {
			if times[url] != 1 {
				t.Errorf("%s was fetched %d times", url, times[url])
			}
		}
		if n := len(w.web.URLs()); n != asked {
			t.Errorf("%d requests", n-asked)
		}
	})
}

// TestRefill_UnchangedSitemap: a site that answers 304 when its sitemap is looked at again, or with the same sitemap,
// leaves the stored pages as they are: those that wait behind the others are fetched all the same.
func TestRefill_UnchangedSitemap(t *testing.T) {
	const root = "https://example.com/sitemap.xml"
	for _, status := range []int{304, 200} {
		synctest.Test(t, func(t *testing.T) {
			site := indexedSite()
			w := newWorld(site, nil)
			w.frontier.open(t)
			if err := w.collect(t, message(1), false); err != nil {
				t.Fatal(err)
			}
			places := w.fetchable(t)
			conditional := 0
			w.web.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
				if r.URL != root {
					return fetchtest.Page{}, false
				}
				if r.Header.Get("If-None-Match") == `"i1"` {
					conditional++
				}
				return fetchtest.Page{Status: status, Body: site[root].Body, Header: site[root].Header}, true
			}
			look := func() {
				if due := w.state(t, "example.com", root).DueAt; due > epoch.Now() {
					time.Sleep(time.Until(due.Time()) + time.Second)
				}
				if done, err := w.NewBatch(nil).Refresh(t.Context(), &contract.Refresh{Domain: "example.com", URL: root,
					Method: "sitemap", Partition: partition, QueuedAt: epoch.Now()}); err != nil || done.Again > 0 {
					t.Fatalf("%+v, %v", done, err)
				}
			}
			look()
			times := map[string]int{}
			for _, url := range w.fetchAll(t) {
				times[url]++
			}
			look()
			if conditional != 2 {
				t.Errorf("%d: %d conditional requests", status, conditional)
			}
			for _, url := range w.fetchAll(t) {
				times[url]++
			}
			for url := range places {
				if times[url] != 1 {
					t.Errorf("%d: %s was fetched %d times", status, url, times[url])
				}
			}
			if len(places) < 2100 {
				t.Errorf("%d URLs may be fetched", len(places))
			}
		})
	}
}

// TestRefill_DocumentIsGone: nothing is asked for again and again.
func TestRefill_DocumentIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(2000), nil)
		w.frontier.open(t)
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		dir := contract.DomainDir{Partition: partition, Domain: "example.com"}
		if err := w.Bucket.Delete(t.Context(), dir.Document()); err != nil {
			t.Fatal(err)
		}
		if n := len(w.fetchAll(t)); n < 400 || n > 520 {
			t.Errorf("%d pages", n)
		}
		for range 3 {
			time.Sleep(time.Hour)
			if n := w.refills(t); n > 0 {
				t.Errorf("%d refills", n)
			}
		}
	})
}

// TestRefill_BadPosition: a message that nobody sent costs nothing and says why.
func TestRefill_BadPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(20), nil)
		w.frontier.open(t)
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		_, err := w.NewBatch(nil).Refresh(t.Context(),
			&contract.Refresh{Domain: "example.com", URL: "https://example.com/",
				Method: frontier.MethodRefill, From: "???", Partition: partition, QueuedAt: epoch.Now()})
		if contract.KindOf(err) != contract.Validation {
			t.Errorf("got %v", err)
		}
	})
}

// TestObserved: the next collection writes into the document what scrapers saw of the domain's pages.
func TestObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(newsSite(60), nil)
		w.frontier.open(t)
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		if o := w.observed(t); o != nil {
			t.Errorf("before anything was fetched: %+v", o)
		}
		fetched := w.fetchAll(t)
		again := message(1)
		again.Force, again.RequestedAt = true, time.Now()
		merged := message(2, "https://example.com/another/page")
		for _, m := range []*contract.DomainMessage{again, merged} {
			if err := w.collect(t, m, false); err != nil {
				t.Fatal(err)
			}
			if o := w.observed(t); o == nil || o.Fetched < 60 || o.Fetched > int64(len(fetched)) ||
				o.Dated != o.Fetched || o.Gone > 0 {
				t.Errorf("after %d pages: %+v", len(fetched), o)
			}
		}
	})
}

// observed returns what the document says that was seen of the news of the domain.
func (w *world) observed(t *testing.T) *contract.Observed {
	t.Helper()
	var found discovery.Discovery
	if err := json.Unmarshal(w.document(t).Discovery, &found); err != nil {
		t.Fatal(err)
	}
	for _, p := range found.Patterns {
		if strings.HasPrefix(p.Pattern, "/news/") {
			return p.Observed
		}
	}
	t.Fatalf("%+v", found.Patterns)
	return nil
}
