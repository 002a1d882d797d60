package discovery

import (
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
)

// TestAssess: a URL by itself gets what it would get as one of the listed pages, and a type that is known counts.
func TestAssess(t *testing.T) {
	now := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	a := NewAnalyser(Options{Model: embedded.Model(), Now: now})
	const url = "https://news.mom.gov.sg/news/article-about-rules"
	kind, plain := a.Assess(url, FromResearch, time.Time{}, "")
	if kind != classify.News || plain != a.Score(url).Priority {
		t.Errorf("%s %v, and by itself %v", kind, plain, a.Score(url).Priority)
	}
	if _, fresh := a.Assess(url, FromResearch, now.Add(-time.Hour), ""); fresh < plain+0.1 {
		t.Errorf("of today %v, without a date %v", fresh, plain)
	}
	if _, found := a.Assess(url, FromLink, time.Time{}, ""); found >= plain {
		t.Errorf("found on a page %v, by research %v", found, plain)
	}
	if kind, priority := a.Assess(url, FromResearch, time.Time{}, classify.FAQ); kind != classify.FAQ ||
		priority >= plain {
		t.Errorf("known to be another type: %s %v", kind, priority)
	}
	if kind, priority := a.Assess("mailto:a@b.sg", FromResearch, now, classify.News); kind != classify.Unknown ||
		priority != 0 {
		t.Errorf("no URL: %s %v", kind, priority)
	}
	if n := a.Result().Stats.Analyzed; n != 0 {
		t.Errorf("%d were added", n)
	}
}

// TestDayOf: a day, or the first of a month, that stands in a URL and can be.
func TestDayOf(t *testing.T) {
	now := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	for url, want := range map[string]time.Time{
		"https://a.example/2026/01/28/bridge": time.Date(2026, 1, 28, 0, 0, 0, 0, time.UTC),
		"https://a.example/news/20260127":     time.Date(2026, 1, 27, 0, 0, 0, 0, time.UTC),
		"https://a.example/2026/01/bridge":    time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		"https://a.example/2026/bridge":       {},
		"https://a.example/2026/02/30/bridge": {},
		"https://a.example/2031/01/28/bridge": {},
		"https://a.example/bridge":            {},
		"mailto:2026/01/28/@a.example":        {},
	} {
		if got := DayOf(url, now); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}
