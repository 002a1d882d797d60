package engine_test

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// stopped writes a stop without its times.
func stopped(s *contract.FrontierStop) string {
	if s == nil {
		return ""
	}
	text := s.Kind
	for _, part := range []*string{s.Rule, s.By, s.Reason} {
		text += "|"
		if part != nil {
			text += *part
		}
	}
	return text
}

// Whatever keeps a URL from being given is named, with whose decision it is: robots.txt, exclusions, blocks and a
// pause.
func TestFrontierURL_StoppedBy(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		serve := manySitemaps(30)
		w.Web.Serve = func(r *fetch.Request, n int) (fetchtest.Page, bool) {
			switch r.URL {
			case "https://shut.sg/robots.txt":
				return fetchtest.Page{Status: 200, Body: "User-agent: *\nDisallow: /\n"}, true
			case "https://down.sg/robots.txt":
				return fetchtest.Page{Status: 503}, true
			case "https://many.sg/sitemap.xml":
				var b strings.Builder
				for n := range 600 { // of which 500 may wait
					fmt.Fprintf(&b, "<url><loc>https://many.sg/news/story-%d</loc></url>", n)
				}
				return fetchtest.Page{Status: 200, Header: map[string]string{"Content-Type": "application/xml"},
					Body: "<urlset>" + b.String() + "</urlset>"}, true
			}
			if strings.Contains(r.URL, "gone.sg/") {
				return fetchtest.Fail(fetch.ErrNotResolved), true
			}
			return serve(r, n)
		}
		upload(t, w, day, 1, `[{"url": "https://one.sg/private/research-8"}, {"url": "https://shut.sg/news/1"},
			{"url": "https://down.sg/news/1"}, {"url": "https://two.sg/about"},
			{"url": "https://www.gone.sg/news/1"}, {"url": "https://many.sg/news/story-1"}]`)
		orchestrate(w, "{}")
		w.Drain()
		ask := func(address, state, stop, why string) *contract.FrontierURL {
			t.Helper()
			s := enginetest.Data[contract.FrontierURL](w, "GET",
				"/api/v1/frontier/url?url="+url.QueryEscape(address), "")
			if s.State != state || stopped(s.StoppedBy) != stop || !strings.Contains(s.Why, why) {
				t.Errorf("%s is %s (%q), stopped by %q; want %s (%q), by %q", address, s.State, s.Why,
					stopped(s.StoppedBy), state, why, stop)
			}
			return &s
		}
		const story, about, entry = "https://two.sg/news/story-of-the-day-3", "https://two.sg/about",
			"https://two.sg/sitemap.xml"
		const private = "robots|Disallow: /private|https://one.sg/robots.txt|"
		ask("https://one.sg/private/research-8", "forbidden", private, "Disallow: /private")
		ask("https://one.sg/private/never-seen", "forbidden", private, "Disallow: /private")
		ask("https://shut.sg/news/1", "forbidden", "robots|Disallow: /|https://shut.sg/robots.txt|", "Disallow: /")
		ask("https://down.sg/news/1", "forbidden", "robots||https://down.sg/robots.txt|",
			"could not read the robots.txt of its domain (HTTP 503)")
		ask("https://one.sg/news/never-seen", "unknown", "", "named it")
		ask("https://www.gone.sg/news/1", "unknown", "",
			"the last collection of its domain failed: https://gone.sg/robots.txt: the ")
		waits := ""
		for _, u := range enginetest.Data[contract.URLsPage](w, "GET", "/api/v1/seeds/domains/many.sg/urls", "").URLs {
			if u.State != nil && *u.State == "unknown" {
				waits = u.URL
			}
		}
		ask(waits, "unknown", "", "the last collection found it; better pages of its domain come first")
		if s := ask(story, "due", "", "its host's turn comes"); s.ScoreWhy == nil ||
			!strings.Contains(*s.ScoreWhy, " news + 0.040 host of no sector + ") ||
			!strings.Contains(*s.ScoreWhy, " in a sitemap + ") || strings.Contains(*s.ScoreWhy, "learnt") {
			t.Errorf("the score of %s is %v", story, *cmp.Or(s.ScoreWhy, new(string)))
		}
		listed := enginetest.Data[contract.URLsPage](w, "GET", "/api/v1/seeds/domains/two.sg/urls", "")
		for _, u := range listed.URLs {
			if u.ScoreWhy == nil || strings.Contains(*u.ScoreWhy, "learnt") {
				t.Errorf("the score of %s is %v: %v", u.URL, u.Priority, *cmp.Or(u.ScoreWhy, new(string)))
			}
		}

		until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		block := func(until time.Time) {
			w.Ask("POST", "/api/v1/frontier/hosts/two.sg", `{"block_until": "`+until.Format(time.RFC3339)+`"}`)
		}
		block(until)
		// The entry point is not due before the block ends.
		if s := ask(entry, "waiting", "block|||", "its turn comes at"); !s.StoppedBy.Until.Equal(until) {
			t.Errorf("blocked until %v, want %v", s.StoppedBy.Until, until)
		}
		until = until.Add(240 * time.Hour)
		block(until)
		for _, address := range []string{story, about, entry} {
			if s := ask(address, "waiting", "block|||", "operators blocked its host until"); !s.DueAt.Equal(until) {
				t.Errorf("%s is due at %v, want %v", address, s.DueAt, until)
			}
		}

		w.Ask("PUT", "/api/v1/exclusions/url/https%3A%2F%2Ftwo.sg%2Fnews%2F*", `{"reason": "complaint"}`)
		const complaint = "exclusion|url https://two.sg/news/*|development|complaint"
		ask(story, "excluded", complaint, "the url https://two.sg/news/*")
		ask(about, "waiting", "block|||", "blocked")
		// Of hosts that no shard knows, too.
		w.Ask("PUT", "/api/v1/exclusions/host/never.sg", "{}")
		ask("https://never.sg/news/1", "excluded", "exclusion|host never.sg|development|", "the host never.sg")
		w.Ask("PUT", "/api/v1/exclusions/domain/shut.sg", "{}")
		ask("https://www.shut.sg/news/1", "excluded", "exclusion|domain shut.sg|development|", "the domain shut.sg")

		lease := func(place, stop string) {
			t.Helper()
			l := enginetest.Data[contract.FrontierLease](w, "POST", "/api/v1/frontier/lease",
				`{"max": 1, "lease_seconds": 60`+place+`}`)
			if got := stopped(l.StoppedBy); got != stop || stop != "" && (len(l.Items) > 0 || l.RetryAfter == nil) {
				t.Errorf("a lease of %q: %d items, stopped by %q, want %q", place, len(l.Items), got, stop)
			}
		}
		lease(`, "domain": "shut.sg"`, "exclusion|domain shut.sg|development|")
		lease(`, "host": "www.shut.sg"`, "exclusion|domain shut.sg|development|")
		lease(`, "host": "two.sg"`, "block|||")
		lease(`, "host": "never-heard-of.sg"`, "")
		lease("", "")
		w.Ask("POST", "/api/v1/pipeline/pause", `{"reason": "moving"}`)
		lease("", "pause||development|moving")
		ask("https://one.sg/news/story-of-the-day-3", "waiting", "pause||development|moving", "paused the pipeline")
		ask(story, "excluded", complaint, "two.sg/news/*")
		ask("https://one.sg/news/never-seen", "unknown", "", "named it")
	})
}
