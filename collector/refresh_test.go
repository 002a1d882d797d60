package collector_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

const feedURL = "https://example.com/feed.xml"

// refresh refreshes the site's feed once it is due, and returns the URLs that were requested.
func (w *world) refresh(t *testing.T) (collector.Refreshed, []string) {
	t.Helper()
	if due := w.state(t, "example.com", feedURL).DueAt; due > epoch.Now() {
		time.Sleep(time.Until(due.Time()) + time.Second)
	}
	before := len(w.web.URLs())
	done, err := w.NewBatch(nil).Refresh(t.Context(), &contract.Refresh{
		Domain: "example.com", URL: feedURL, Method: "rss", Partition: partition, QueuedAt: epoch.Now(),
	})
	if err != nil || done.Again > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	return done, w.web.URLs()[before:]
}

// collected returns a world whose site was collected so long ago that its robots.txt has expired.
func collected(t *testing.T) *world {
	w := newWorld(newsSite(3), nil)
	w.frontier.open(t)
	w.frontier.real.Settings.MaxRefresh = 12 * time.Hour // robots.txt is good for two refreshes
	if err := w.collect(t, message(1), false); err != nil {
		t.Fatal(err)
	}
	time.Sleep(48 * time.Hour)
	return w
}

// TestRefresh_ReadsRobots: rules that are not those of the last collection hold at every refresh until the next one.
func TestRefresh_ReadsRobots(t *testing.T) {
	const robotsURL = "https://example.com/robots.txt"
	both, first := []string{robotsURL, feedURL}, []string{robotsURL}
	for name, c := range map[string]struct {
		body   string
		status int
		asked  [2][]string
		stale  bool
	}{
		"the same": {"User-agent: *\nDisallow: /private\n# made at noon\n", 200,
			[2][]string{both, {feedURL}}, false},
		"forbids the feed": {"User-agent: *\nDisallow: /feed.xml\n", 200, [2][]string{first, first}, true},
		"forbids other URLs": {"User-agent: *\nDisallow: /private\nDisallow: /news\n", 200, [2][]string{both, both},
			true},
		"allows more": {"", 404, [2][]string{both, both}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := collected(t)
				w.web.Pages[robotsURL] = fetchtest.Page{Body: c.body, Status: c.status}
				var again *contract.DomainMessage
				for n, want := range c.asked {
					done, asked := w.refresh(t)
					if !slices.Equal(asked, want) || (done.Collect != nil) != c.stale {
						t.Errorf("refresh %d asked for %v, want %v; collect %+v", n+1, asked, want, done.Collect)
					}
					again = done.Collect
				}
				if again == nil {
					return
				}
				if err := w.collect(t, again, false); err != nil {
					t.Fatal(err)
				}
				if name == "forbids the feed" {
					if e := w.state(t, "example.com", feedURL); e.Entry != nil {
						t.Errorf("it is still an entry point: %+v", e)
					}
				} else if done, asked := w.refresh(t); !slices.Contains(asked, feedURL) || done.Collect != nil {
					t.Errorf("after the collection it asked for %v; collect %+v", asked, done.Collect)
				}
			})
		})
	}
}

// TestRefresh_OneHost: where robots.txt redirects to another host a collection has to read it. That is no fault of
// the entry point.
func TestRefresh_OneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := collected(t)
		failures := w.state(t, "example.com", feedURL).Entry
		w.web.Pages["https://example.com/robots.txt"] = fetchtest.Redirect(301, "https://other.example/robots.txt")
		w.web.Pages["https://other.example/robots.txt"] = fetchtest.Page{Body: "User-agent: *\nDisallow: /private\n"}
		done, asked := w.refresh(t)
		if len(asked) != 1 || slices.ContainsFunc(asked, func(link string) bool {
			return strings.Contains(link,
				"other.example")
		}) {
			t.Errorf("asked for %v", asked)
		}
		if e := w.state(t, "example.com", feedURL).Entry; e.Failures != failures.Failures ||
			len(e.Checks) != len(failures.Checks) {
			t.Errorf("it counts as a failure: %+v", e)
		}
		if done.Collect == nil {
			t.Fatal("there is no collection")
		}
		if err := w.collect(t, done.Collect, false); err != nil {
			t.Fatal(err)
		}
		if done, asked = w.refresh(t); done.Collect != nil {
			t.Errorf("asked for %v, and collects again", asked)
		}
	})
}
