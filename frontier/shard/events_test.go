package shard_test

import (
	"fmt"
	"slices"
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
