package engine_test

import (
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// delays holds the durations of operations in production, as in bench/latency/slow.mjs.
var delays = map[string]time.Duration{
	"R2.put": 120 * time.Millisecond, "R2.delete": 120 * time.Millisecond, "R2.head": 40 * time.Millisecond,
	"R2.get": 40 * time.Millisecond, "R2.list": 80 * time.Millisecond,
	"D1.batch": 25 * time.Millisecond, "queue.send": 30 * time.Millisecond, "object.call": 15 * time.Millisecond,
}

const originLatency = 100 * time.Millisecond

// slowWorld makes w as slow as production, with sites of three requests, and records when calls begin and end.
func slowWorld(w *enginetest.World) (calls *span) {
	w.Web.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
		u, err := url.Parse(r.URL)
		if err != nil {
			return fetchtest.Page{}, false
		}
		page := fetchtest.Page{Status: 200, Latency: originLatency}
		switch u.Path {
		case "/robots.txt":
			page.Body = "User-agent: *\nDisallow: /private\nSitemap: https://" + u.Host + "/sitemap.xml\n"
		case "/sitemap.xml":
			page.Body = "<urlset><url><loc>https://" + u.Host + "/news</loc></url><url><loc>https://" + u.Host +
				"/news/1</loc></url><url><loc>https://" + u.Host + "/news/2</loc></url></urlset>"
		case "/":
			page.Body = "<!doctype html><title>" + u.Host + "</title><p>Hello</p>"
		default:
			page.Status = 404
		}
		return page, true
	}
	// the first event of an instance also reads settings and model
	w.Send(enginetest.Domains, healthyMessage("first.sg"))
	w.Drain()
	calls = &span{}
	w.Slow = func(operation string) time.Duration {
		calls.mu.Lock()
		defer calls.mu.Unlock()
		now := time.Now()
		if calls.began.IsZero() {
			calls.began = now
		}
		calls.ended = now.Add(delays[operation])
		return delays[operation]
	}
	return calls
}

// span is the time from the start of the first call to the platform to the end of the last.
type span struct {
	mu           sync.Mutex
	began, ended time.Time
}

func healthyMessage(domain string) *contract.DomainMessage {
	p := contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}
	m := domainMessage(p, domain, 1, "https://"+domain+"/news/1")
	return &m
}

// The critical path of a domain, apart from its hosts, is checkpoint and lease at once, then put, document,
// checkpoint, release and ledger. Without a request interval, storing the evidence can add to it.
func TestCriticalPath(t *testing.T) {
	for _, c := range []struct {
		domains, interval int // ms
		stored, settled   time.Duration
	}{
		{1, 0, 301 * time.Millisecond, 341 * time.Millisecond},
		{5, 0, 520 * time.Millisecond, 560 * time.Millisecond},
		{1, 1000, 295 * time.Millisecond, 335 * time.Millisecond},
		{5, 1000, 295 * time.Millisecond, 335 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%d domains, an interval of %d ms", c.domains, c.interval), func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				w.Variables["REQUEST_INTERVAL_MS"] = fmt.Sprint(c.interval)
				calls := slowWorld(w)
				var messages []*contract.DomainMessage
				for n := range c.domains {
					messages = append(messages, healthyMessage(fmt.Sprintf("site-%d.sg", n)))
					w.Send(enginetest.Domains, messages[n])
				}
				w.Drain()
				var stored, polite time.Duration
				for _, m := range messages {
					d := w.Document(m.Partition, m.Domain)
					o, err := w.Bucket.Head(t.Context(), m.Dir().Checkpoint())
					if err != nil || d.Technical.ServerInfo.Requests != 3 {
						t.Fatalf("%d requests, %v", d.Technical.ServerInfo.Requests, err)
					}
					stored = max(stored, o.Uploaded.Sub(calls.began))
					polite = max(polite, time.Duration(d.Processing.PolitenessWaitMS)*time.Millisecond)
				}
				hosts := polite + 3*originLatency
				stored, settled := stored-hosts, calls.ended.Sub(calls.began)-hosts
				if stored > c.stored || settled > c.settled {
					t.Errorf("stored after %s, settled after %s, beside the %s of the hosts; want %s and %s", stored,
						settled, hosts, c.stored, c.settled)
				}
			})
		})
	}
}
