package collector_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
)

// TestStages: each stage has the time for which it waited for answers, and nothing counts twice. A merge has no stages.
func TestStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := healthy()
		for url, latency := range map[string]time.Duration{
			"https://example.com/robots.txt":  100 * time.Millisecond,
			"https://example.com/sitemap.xml": 200 * time.Millisecond,
			"https://example.com/":            300 * time.Millisecond,
		} {
			page := pages[url]
			page.Latency = latency
			pages[url] = page
		}
		w := newWorld(pages, nil)
		var log bytes.Buffer
		w.Log = contract.NewLogger(&log)
		var all []collector.Stages
		w.Timed = func(s collector.Stages) { all = append(all, s) }
		began := time.Now()
		if err := w.collect(t, message(1), false); err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		if len(all) != 1 {
			t.Fatalf("%d collections were timed", len(all))
		}
		sum := time.Duration(0)
		for stage, spent := range all[0] {
			sum += spent
			if least := map[string]time.Duration{"robots": 100, "sitemaps": 200, "home_page": 300}[stage]; spent <
				least*time.Millisecond || least > 0 && spent > 2*least*time.Millisecond {
				t.Errorf("%s: %v", stage, spent)
			}
		}
		if politeness := 3 * time.Second; len(all[0]) != 9 || sum > took-politeness || sum < (took-politeness)/2 {
			t.Errorf("%v, %v in all of %v", all[0], sum, took)
		}
		var line struct {
			Event  string           `json:"event"`
			Stages map[string]int64 `json:"stages_ms"`
		}
		for text := range bytes.Lines(log.Bytes()) {
			line.Event = ""
			if err := json.Unmarshal(text, &line); err != nil {
				t.Fatal(err)
			}
		}
		if line.Event != "domain_collector_complete" || line.Stages["sitemaps"] != all[0]["sitemaps"].Milliseconds() {
			t.Errorf("logged %+v", line)
		}
		if err := w.collect(t, message(2, "https://example.com/c"), false); err != nil {
			t.Fatal(err)
		}
		if len(all) != 1 {
			t.Errorf("a merge was timed: %v", all[1:])
		}
	})
}
