package discovery

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"
)

// sitemapSightings are the URLs of a sitemap as publishing systems write them: articles by date, articles
// with a number, articles at the root, records of a database, pages in sections.
func sitemapSightings(n int) []Sighting {
	r := rand.New(rand.NewPCG(3, 3))
	words := strings.Fields(
		"minister opens new bridge over river annual budget for schools health plan water roads election final market" +
			" team wins report police storm city council vote energy prices rise trade talks summit leader says " +
			"people after year first")
	sections := strings.Fields("news politics business sport culture world press-releases services about")
	sightings := make([]Sighting, n)
	for i := range sightings {
		at := testNow.Add(-time.Duration(r.IntN(2000*24)) * time.Hour)
		var slug []string
		for range 4 + r.IntN(6) {
			slug = append(slug, words[r.IntN(len(words))])
		}
		title, section := strings.Join(slug, "-"), sections[r.IntN(len(sections))]
		var path string
		switch r.IntN(10) {
		case 0, 1, 2, 3:
			path = fmt.Sprintf("/%s/%s/%s", section, at.Format("2006/01/02"), title)
		case 4, 5:
			path = fmt.Sprintf("/%s/%s-%d.html", section, title, i)
		case 6, 7:
			path = fmt.Sprintf("/%s-%d/", title, i)
		case 8:
			path = fmt.Sprintf("/bbs/view.do?menu=%d&seq=%d", r.IntN(20), i)
		default:
			path = fmt.Sprintf("/%s/%s/%s-%d", section, words[r.IntN(len(words))], words[r.IntN(len(words))], i)
		}
		sightings[i] = Sighting{Loc: []byte("https://www.example.gov" + path), Lastmod: at, Method: FromSitemap}
	}
	return sightings
}

// BenchmarkAdd is the analysis of one URL of a sitemap of 50,000.
func BenchmarkAdd(b *testing.B) {
	sightings := sitemapSightings(50_000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		a := NewAnalyser(testOptions())
		for i := range sightings {
			a.Add(&sightings[i])
		}
		n += len(sightings)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/URL")
}

// BenchmarkResult_FiveDomains keeps five analyses of 50,000 URLs at once, with their results and states, and
// reports the memory that they keep, and all that the program took from the system.
func BenchmarkResult_FiveDomains(b *testing.B) {
	sightings := sitemapSightings(50_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		all := make([]*Analyser, 5)
		for i := range all {
			all[i] = NewAnalyser(testOptions())
		}
		for i := range sightings {
			for _, a := range all {
				a.Add(&sightings[i])
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		for _, a := range all {
			a.Result()
			a.State()
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-kept")
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.Sys-before.Sys)/(1<<20), "MiB-grown")
	}
}

// BenchmarkResult measures the work after the last URL.
func BenchmarkResult(b *testing.B) {
	sightings := sitemapSightings(50_000)
	a := NewAnalyser(testOptions())
	for i := range sightings {
		a.Add(&sightings[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		a.Result()
		a.Contract(Terms{})
	}
	b.ReportMetric(float64(len(a.State().Seen))/float64(a.seen.count), "bytes/entry")
	b.ReportMetric(float64(len(a.tree.nodes)), "nodes")
}
