package engine_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// A domain of which nothing may be fetched is found by why, whether robots.txt forbids it, cannot be read, the site
// refuses everything, or has nothing.
func TestDomains_Barriers(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		serve := manySitemaps(10)
		w.Web.Serve = func(r *fetch.Request, n int) (fetchtest.Page, bool) {
			_, rest, _ := strings.Cut(r.URL, "://")
			host, path, _ := strings.Cut(rest, "/")
			switch strings.TrimPrefix(host, "www.") {
			case "shut.sg":
				if path == "robots.txt" {
					return fetchtest.Page{Status: 200, Body: "User-agent: *\nDisallow: /\n"}, true
				}
			case "unread.sg":
				return fetchtest.Page{Status: 503}, true
			case "wall.sg":
				return fetchtest.Page{Status: 403, Body: "no"}, true
			case "half.sg": // its home page alone is forbidden
				if path == "robots.txt" {
					return fetchtest.Page{Status: 200, Body: "User-agent: *\nDisallow: /$\n"}, true
				}
			}
			return serve(r, n)
		}
		upload(t, w, day, 1, `[{"url": "https://one.sg/news/1"}, {"url": "https://shut.sg/news/1"},
			{"url": "https://unread.sg/news/1"}, {"url": "https://wall.sg/news/1"}, {"url": "https://half.sg/news/1"}]`)
		orchestrate(w, "{}")
		w.Drain()
		for domain, want := range map[string]contract.Barrier{"one.sg": contract.Clear, "shut.sg": contract.Forbidden,
			"unread.sg": contract.Forbidden, "wall.sg": contract.Refuses, "half.sg": contract.Clear} {
			d := enginetest.Data[contract.DomainDetail](w, "GET", "/api/v1/seeds/domains/"+domain, "").Record
			got := contract.Clear
			if d.Barrier != nil {
				got = *d.Barrier
			}
			if got != want || *d.CrawlingAllowed != (want != contract.Forbidden) || d.State != contract.Processed {
				t.Errorf("%s is %s: barrier %q, want %q; it may be crawled: %v", domain, d.State, got, want,
					*d.CrawlingAllowed)
			}
		}
		list := func(query string) (names []string) {
			page := enginetest.Data[contract.DomainPage](w, "GET", "/api/v1/seeds/domains?"+query, "")
			for _, d := range page.Domains {
				names = append(names, d.Domain)
			}
			return names
		}
		if got := strings.Join(list("barrier=forbidden"), " "); got != "shut.sg unread.sg" {
			t.Errorf("forbidden: %s", got)
		}
		if got := strings.Join(list("barrier=refuses&country=sg"), " "); got != "wall.sg" {
			t.Errorf("refuses: %s", got)
		}
		if got := w.Status("").Barred; got != (contract.BarrierCounts{Forbidden: 2, Refuses: 1}) {
			t.Errorf("counted %+v", got)
		}
		if a := w.Ask("GET", "/api/v1/seeds/domains?barrier=other", ""); a.Status != 400 || a.Error.Field != "barrier" {
			t.Errorf("%d %+v", a.Status, a.Error)
		}
	})
}

// A domain whose collection failed says how often, why, and when it is tried again, until it is given up or done.
func TestDomains_Retry(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		w.Bucket.Fail = func(op, key string) error {
			if op == "put" && strings.Contains(key, "/full-0.sg/") {
				return errors.New("the store is down")
			}
			return nil
		}
		upload(t, w, day, 1, records("full-0.sg"))
		orchestrate(w, "{}")
		var drained sync.WaitGroup
		drained.Go(w.Drain)
		attempts := map[int]*contract.DomainRetry{}
		state := contract.Pending
		for state == contract.Pending {
			time.Sleep(10 * time.Second)
			page := enginetest.Data[contract.DomainPage](w, "GET", "/api/v1/seeds/domains", "")
			if len(page.Domains) == 0 {
				continue
			}
			d := page.Domains[0]
			if state = d.State; d.Retry != nil {
				attempts[d.Retry.Attempt] = d.Retry
				one := enginetest.Data[contract.DomainDetail](w, "GET", "/api/v1/seeds/domains/full-0.sg", "").Record
				if string(contract.Encode(one.Retry)) != string(contract.Encode(d.Retry)) {
					t.Errorf("the domain's own page has %+v, its row %+v", one.Retry, d.Retry)
				}
			}
		}
		drained.Wait()
		if state != contract.Failed || len(attempts) != 4 {
			t.Fatalf("it ended as %s after %+v", state, attempts)
		}
		for n := 1; n <= 4; n++ {
			r := attempts[n]
			if r.Of != 4 || r.ErrorType != contract.Storage || r.ErrorMessage == "" || (r.NextAt == nil) != (n == 4) {
				t.Errorf("attempt %d: %+v", n, r)
			}
			if n < 4 {
				if late := attempts[n+1].FailedAt.Sub(r.NextAt.Time); late < 0 || late > 2*time.Minute {
					t.Errorf("attempt %d was announced for %v, and failed at %v", n+1, r.NextAt, attempts[n+1].FailedAt)
				}
			}
		}
		if d := enginetest.Data[contract.DomainPage](w, "GET", "/api/v1/seeds/domains", ""); d.Domains[0].Retry != nil {
			t.Errorf("it was given up, and has %+v", d.Domains[0].Retry)
		}
	})
}
