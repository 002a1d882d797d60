package discovery

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// TestObserve: a pattern is told what was seen of its pages, a URL how often pages like it change.
func TestObserve(t *testing.T) {
	hours := 80.0
	news := &contract.Observed{Given: 9, Fetched: 8, Looks: 30, Changes: 7, ChangeHours: &hours}
	first := &contract.Observed{Given: 3, Fetched: 2}
	d := Discovery{
		URLs: []DiscoveredURL{{URL: "https://a.example/news/1", NewsValue: NewsValue{Frequency: Daily}},
			{URL: "https://a.example/old/1", NewsValue: NewsValue{Frequency: Daily}},
			{URL: "https://a.example/about", NewsValue: NewsValue{Frequency: Static}}},
		Patterns: []URLPattern{
			{Pattern: "/{slug}/{id}", Examples: []string{"https://a.example/old/2", "https://a.example/news/2"}},
			{Pattern: "/press/{id}", Examples: []string{"https://a.example/press/1"}}, {Pattern: "/expected/{id}"}},
	}
	d.Observe(func(url string) *contract.Observed {
		switch {
		case strings.Contains(url, "/news/"):
			return news
		case strings.Contains(url, "/old/"):
			return first
		}
		return nil
	})
	for i, want := range []Frequency{Weekly, Daily, Static} {
		if got := d.URLs[i].NewsValue.Frequency; got != want {
			t.Errorf("%s: %s, want %s", d.URLs[i].URL, got, want)
		}
	}
	for i, want := range []*contract.Observed{news, nil, nil} {
		if got := d.Patterns[i].Observed; got != want {
			t.Errorf("%s: %+v, want %+v", d.Patterns[i].Pattern, got, want)
		}
	}
}

// TestKeep: what was observed stands in the next discovery as well.
func TestKeep(t *testing.T) {
	hours := 80.0
	before := Discovery{
		URLs:     []DiscoveredURL{{URL: "https://a.example/news/1", NewsValue: NewsValue{Frequency: Weekly}}},
		Patterns: []URLPattern{{Pattern: "/news/{id}", Observed: &contract.Observed{Fetched: 8, ChangeHours: &hours}}},
	}
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	d := Discovery{
		URLs: []DiscoveredURL{{URL: "https://a.example/news/1", NewsValue: NewsValue{Frequency: Daily}},
			{URL: "https://a.example/news/2", NewsValue: NewsValue{Frequency: Daily}}},
		Patterns: []URLPattern{{Pattern: "/press/{id}"}, {Pattern: "/news/{id}"}},
	}
	if !d.Keep(text) || d.Patterns[0].Observed != nil || d.Patterns[1].Observed == nil ||
		d.Patterns[1].Observed.Fetched != 8 ||
		d.URLs[0].NewsValue.Frequency != Weekly || d.URLs[1].NewsValue.Frequency != Daily {
		t.Errorf("%+v", d)
	}
	for _, none := range []string{"", "{}", `{"url_patterns":[{"pattern":"/news/{id}","observed":null}]}`} {
		if new(Discovery).Keep([]byte(none)) {
			t.Errorf("%q: something was kept", none)
		}
	}
}
