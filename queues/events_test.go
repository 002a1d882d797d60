package queues_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/queues"
)

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }
func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// collecting makes f collect with the real step 3, on a web whose hosts all name more sitemaps than a collection
// requests.
func (f *fixture) collecting(t *testing.T, requests int) *fetchtest.Web {
	web := &fetchtest.Web{Clock: wallClock{}, Serve: func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
		page := fetchtest.Page{Body: "<urlset></urlset>", Latency: time.Millisecond}
		if base, ok := strings.CutSuffix(r.URL, "/robots.txt"); ok {
			page.Body = ""
			for i := range 30 {
				page.Body += fmt.Sprintf("Sitemap: %s/sitemap-%d.xml\n", base, i)
			}
		}
		return page, true
	}}
	limits := collector.Limits{
		MaxRequestsPerDomain: requests, RobotsTimeout: 10 * time.Second, SitemapTimeout: 15 * time.Second,
		PageTimeout:     5 * time.Second,
		MaxSitemapBytes: 50 << 20, DomainDeadline: 2 * time.Minute,
	}
	c := &collector.Collector{Bucket: f.bucket, Transport: web, Frontier: f.shards.remotes(), Clock: wallClock{},
		Model: embedded.Load, UserAgent: "NewsforkBot/1.0", Limits: limits, Log: slog.New(slog.DiscardHandler)}
	f.NewBatch = queues.Collections(c)
	return web
}

// Forty hosts in two partitions, three raw files each, every message sent twice, six events at once: each document
// still costs exactly one collection.
func TestDomain_CollectedOnceByManyEvents(t *testing.T) {
	const hosts, files, events, requests = 40, 3, 6, 6
	f := newFixture(t)
	web := f.collecting(t, requests)
	var messages [][]byte
	for i := range hosts {
		for _, category := range []string{"news", "finance"} {
			for n := range files {
				body := strings.ReplaceAll(strings.ReplaceAll(domainBody(fmt.Sprintf("site%d.sg", i)), "raw_0001",
					fmt.Sprintf("raw_%04d", n+1)), "news", category)
				body = strings.Replace(body, "/a", fmt.Sprintf("/a-%d", n), 1)
				messages = append(messages, []byte(body), []byte(body))
			}
		}
	}
	random := rand.New(rand.NewPCG(7, 9))
	for range 2 { // close together, so that a batch often has several messages of one domain
		for i := range messages {
			k := min(i+random.IntN(8), len(messages)-1)
			messages[i], messages[k] = messages[k], messages[i]
		}
	}

	var mu sync.Mutex
	resent := 0
	next := func() (batch []queues.Message) {
		mu.Lock()
		defer mu.Unlock()
		sent := f.domains.Sent()
		for ; resent < len(sent); resent++ { // deliver requeued messages at once
			messages = append(messages, sent[resent].Body)
		}
		for len(messages) > 0 && len(batch) < 5 {
			batch = append(batch, &message{id: fmt.Sprint(len(messages)), body: string(messages[0]), attempts: 1})
			messages = messages[1:]
		}
		return batch
	}
	var wg sync.WaitGroup
	for range events {
		wg.Go(func() {
			for batch := next(); len(batch) > 0; batch = next() {
				f.Handle(t.Context(), "newsfork-domain-dev", batch)
				for _, m := range batch {
					if m := m.(*message); m.settled != "ack" {
						t.Errorf("%s: %s", m.body, m.settled)
					}
				}
			}
		})
	}
	wg.Wait()
	if n, limit := len(web.Visits()), 2*hosts*requests; n > limit {
		t.Errorf("%d requests, want at most %d", n, limit)
	}
	asked := map[string]int{}
	for _, v := range web.Visits() {
		if strings.HasSuffix(v.URL, "/robots.txt") {
			asked[v.Host]++
		}
	}
	for host, n := range asked {
		if n != 2 {
			t.Errorf("%s was collected %d times for its two documents", host, n)
		}
	}
	for i := range hosts {
		for _, category := range []string{"news", "finance"} {
			key := fmt.Sprintf("prod/country=sg/category=%s/date=2026-01-28/site%d.sg/domain_metadata.json", category,
				i)
			body, err := f.bucket.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			var d contract.Document
			if _, err := text.ReadFrom(body); err != nil || json.Unmarshal(text.Bytes(), &d) != nil ||
				len(d.URLs) != files || len(d.Source.RawFilePaths) != files {
				t.Errorf("%s: %v, %d URLs of %v", key, err, len(d.URLs), d.Source.RawFilePaths)
			}
		}
	}
}
