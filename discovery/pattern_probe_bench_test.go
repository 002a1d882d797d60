package discovery

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	pages "github.com/newsfork/seed-engine/page"
)

// BenchmarkProbes is what probes cost a domain of which three pages are read, each as large as pages are read at most:
// to choose them, to read them, and to conclude what they say of their patterns. ms/domain is the least of all rounds,
// which other programs disturb little.
func BenchmarkProbes(b *testing.B) {
	a := NewAnalyser(testOptions())
	for i := range 50 {
		for p := range 4 {
			a.Add(&Sighting{Loc: fmt.Appendf(nil, "https://www.example.gov/zz%cq/a%d0101", 'a'+p, i+10),
				Method: FromSitemap})
		}
	}
	var body strings.Builder
	body.WriteString("<!doctype html><html lang=en><head><title>Press release: new bridge</title>" +
		"<meta property=article:published_time content=2026-01-28T09:00:00Z></head><body><nav>")
	for i := range 150 {
		fmt.Fprintf(&body, "<li><a href=/section/page-%d>Page number %d of the menu</a></li>\n", i, i)
	}
	body.WriteString("</nav><main><h1>Press release</h1>")
	for body.Len() < pages.MaxBytes {
		body.WriteString("<p class=text>The Ministry of Transport <b>announced today</b> that the new bridge is open " +
			"to traffic. It connects two districts, the Minister said on 28 January 2026.</p>\n")
	}
	html := []byte(body.String())[:pages.MaxBytes]
	least := time.Hour
	for b.Loop() {
		began := time.Now()
		a.seenPages, a.concluded = nil, conclusions{}
		probes := probing(a).Probes(3)
		if len(probes) != 3 {
			b.Fatal(probes)
		}
		for _, p := range probes {
			source := pages.Source{URL: p.URL, ContentType: "text/html; charset=utf-8"}
			ev, err := pages.Extract(bytes.NewReader(html), source)
			if err != nil {
				b.Fatal(err)
			}
			probing(a).Saw(p.URL, ev, testNow)
		}
		if k, _ := a.Classify("https://www.example.gov/zzaq/a130101"); k.PrimaryType == "unknown" {
			b.Fatal(k)
		}
		least = min(least, time.Since(began))
	}
	b.ReportMetric(float64(least.Microseconds())/1000, "ms/domain")
}
