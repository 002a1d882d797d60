package shard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// TestFeed_Events: the feed tells what is new, and to those who ask for it what changed and what is gone.
func TestFeed_Events(t *testing.T) {
	s := newLooks(t, 1_000_000)
	changes := epoch.Millis(0)
	s.text = func(url string, at epoch.Millis) string {
		if url == "https://a.example/statistics" && at >= changes {
			return "changed"
		}
		return url
	}
	dated := frontier.NewPage{URL: "https://a.example/article", Title: "Title", Type: "news", Priority: 0.9,
		FoundBy: "feed",
		LastMod: s.now.Seconds() - 60}
	changes = s.now + 1
	changes += 10 * 24 * hour
	s.put("a.example", []frontier.NewPage{dated,
		{URL: "https://a.example/statistics", Type: "statistics", Priority: 0.9}})
	all := frontier.LeaseRequest{Max: 10, PerHost: 5, Seconds: 60}
	feed := func(events ...string) (list []string) {
		t.Helper()
		s.do(func() error {
			page, err := s.shard.Feed(s.now, frontier.FeedRequest{Limit: 200, Events: events})
			for _, i := range page.Items {
				list = append(list, fmt.Sprint(i.Event, " ", i.URL[len("https://a.example/"):]))
			}
			return err
		})
		return list
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if got := feed(frontier.FeedEvents...); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
		if got := feed(); !slices.Equal(got, want[:1]) {
			t.Errorf("%s: by default %q", what, got)
		}
		s.invariants()
	}
	s.scrape(all)
	expect("at first", "new article")
	s.now += 5 * hour
	dated.LastMod = s.now.Seconds() - 60
	s.put("a.example", []frontier.NewPage{dated})
	expect("a newer date", "new article", "updated article")
	s.scrape(all)
	expect("and its fetch", "new article", "updated article")
	for range 40 {
		s.now += 24 * hour
		s.scrape(all)
	}
	expect("a text that changed", "new article", "updated article", "updated statistics")
	s.now += 30 * 24 * hour
	l, _ := s.lease(all)
	if len(l.Items) == 0 {
		t.Fatal("nothing comes back")
	}
	s.report(l, 410)
	want := []string{"new article", "updated article", "updated statistics"}
	for _, item := range l.Items {
		want = append(want, "removed "+item.URL[len("https://a.example/"):])
	}
	expect("what is gone", want...)
	if s := s.stats(); len(s.Found) != 0 {
		t.Errorf("what changed is counted as new: %+v", s.Found)
	}
}

// A page knows best what it is called and when it was published, and who fetched it what it is: what the feed says when
// it changes is corrected. That makes it no new page.
func TestFeed_Corrected(t *testing.T) {
	s := newLooks(t, 1_000_000)
	s.put("a.example", []frontier.NewPage{{URL: "https://a.example/x", Title: "Title of a list", Type: "statistics",
		Priority: 0.9}})
	published := s.now.Seconds() - 40*24*3600
	report := func(digest string, r frontier.Result) {
		t.Helper()
		l, _ := s.lease(frontier.LeaseRequest{Max: 10, PerHost: 5, Seconds: 60})
		if len(l.Items) != 1 {
			t.Fatalf("%d items", len(l.Items))
		}
		r.ID, r.TextSHA256 = l.Items[0].ID, strings.Repeat(digest, 64)
		s.do(func() error {
			_, err := s.shard.Report(s.now, frontier.Report{Lease: l.ID, Results: []frontier.Result{r}})
			return err
		})
		s.now += 30 * 24 * hour
	}
	report("1", frontier.Result{Status: 200, Title: "Own title", Type: "report", Published: published})
	report("2", frontier.Result{Status: 200, Title: "Own title", Type: "report"})
	report("3", frontier.Result{Status: 200, Title: "Another title", Published: s.now.Seconds() + 1e6})
	var items []frontier.FeedItem
	s.do(func() error {
		page, err := s.shard.Feed(s.now, frontier.FeedRequest{Limit: 200, Events: frontier.FeedEvents})
		items = page.Items
		return err
	})
	if len(items) != 2 {
		t.Fatalf("%+v", items)
	}
	for i, title := range []string{"Own title", "Another title"} {
		if got := items[i]; got.Event != frontier.EventUpdated || got.Title != title || got.Type != "report" ||
			got.LastMod != published {
			t.Errorf("item %d: %+v", i, got)
		}
	}
	s.invariants()
}

// TestFeed_CorrectsAnnounced: what a page says about itself corrects what was announced, once, as an update whose date
// has its source; it is never announced as new again. A title that only adds the site's name corrects nothing.
func TestFeed_CorrectsAnnounced(t *testing.T) {
	s := newLooks(t, 1_000_000)
	now := s.now.Seconds()
	listed := func(path, title string) frontier.NewPage {
		return frontier.NewPage{URL: "https://a.example/" + path, Title: title, Type: "news", Priority: 0.9,
			FoundBy: "feed", LastMod: now - 3600}
	}
	pages := []frontier.NewPage{listed("title", "Read more"), listed("same", "Bridge opens"),
		listed("date", "Old news"), listed("modified", "Renewed"), listed("type", "Vacancy"), listed("copy", "One")}
	old := listed("archive", "Read more")
	old.LastMod = now - 90*24*3600 // was never announced
	undated := frontier.NewPage{URL: "https://a.example/undated", Title: "List", Type: "news", Priority: 0.9}
	s.put("a.example", append(pages, old, undated))
	published := now - 40*24*3600
	says := map[string]frontier.Result{
		"title":    {Title: "Minister opens bridge"},
		"same":     {Title: "Bridge  opens | Ministry", Published: now - 2*3600},
		"date":     {Title: "Old news", Published: published},
		"modified": {Title: "Renewed", Published: published, Modified: now - 1800},
		"type":     {Title: "Vacancy", Type: "service"},
		"copy":     {Title: "Sign in", Copy: true},
		"archive":  {Title: "Something else"},
		"undated":  {Title: "List", Published: published},
	}
	for range 10 {
		l, _ := s.lease(frontier.LeaseRequest{Max: 10, PerHost: 10, Seconds: 60})
		r := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			result := says[strings.TrimPrefix(item.URL, "https://a.example/")]
			result.ID, result.Status, result.TextSHA256 = item.ID, 200, fmt.Sprintf("%08x%056d", hash(item.URL), 0)
			r.Results = append(r.Results, result)
		}
		if len(r.Results) > 0 {
			s.do(func() error {
				_, err := s.shard.Report(s.now, r)
				return err
			})
		}
		s.now += 60_000
	}
	undated.LastMod = s.now.Seconds() // its feed stamps what is old
	undated.Fresh = true
	s.put("a.example", append(pages, undated))
	var got []string
	s.do(func() error {
		page, err := s.shard.Feed(s.now, frontier.FeedRequest{Limit: 200, Events: frontier.FeedEvents})
		for _, i := range page.Items {
			if path := i.URL[len("https://a.example/"):]; i.Event == frontier.EventUpdated && path != "undated" {
				got = append(got, fmt.Sprint(path, " ", i.Title, " ", i.Type, " ", now-i.LastMod, " ", i.OwnDate))
			} else if i.Event == frontier.EventNew && i.OwnDate || path == "undated" && i.Event == frontier.EventNew {
				t.Errorf("new: %+v", i)
			}
		}
		return err
	})
	slices.Sort(got)
	want := []string{
		"date Old news news 3456000 true",
		"title Minister opens bridge news 3600 false",
		"type Vacancy service 3600 false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("corrections\n%q, want\n%q", got, want)
	}
	s.invariants()
}

// TestFeed_ClockAhead: after a clock that was ahead was set back, the feed has what it announced before, and goes on
// with larger numbers.
func TestFeed_ClockAhead(t *testing.T) {
	for name, begins := range map[string]epoch.Millis{"new shard": 3 * 24 * hour, "later": 0} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			n := 0
			put := func() {
				n++
				w.put("a.example", []frontier.NewPage{{URL: fmt.Sprintf("https://a.example/%d", n), Fresh: true,
					Snippet: strings.Repeat("snippet ", 60)}})
			}
			read := func(after int64) (page frontier.FeedPage) {
				w.do(func() (err error) {
					page, err = w.shard.Feed(w.now, frontier.FeedRequest{Limit: 200, After: after})
					return err
				})
				return page
			}
			began := w.now
			w.now += begins
			put()
			w.now = began + 3*24*hour
			put()
			last := read(0).Next
			w.now = began
			for range 190 { // more than a block
				w.now += 1000
				put()
				if page := read(last); len(page.Items) != 1 || page.Next <= last || page.Expired {
					t.Fatalf("after %d page %d is read as %+v", last, n, page)
				} else {
					last = page.Next
				}
			}
			if blocks := w.count("SELECT count(*) FROM feed"); blocks < 2 {
				t.Errorf("%d blocks", blocks)
			}
			if page := read(0); len(page.Items) != n {
				t.Errorf("%d items of %d", len(page.Items), n)
			}
			if rows := w.quarantined(); len(rows) > 0 {
				t.Errorf("the quarantine has %+v", rows)
			}
		})
	}
}
