package discovery

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// sitemapFacts are the URLs of a sitemap: articles by date and title, pages, databases.
func sitemapFacts(domain string, n int) []Fact {
	facts := site(rand.New(rand.NewPCG(3, 3)), n)
	for i := range facts {
		facts[i].Loc = fmt.Appendf(facts[i].Loc, "/%s-%d", domain, i)
		facts[i].Method = FromSitemap
	}
	return facts
}

// BenchmarkAdd is the analysis of one URL of a sitemap of 50,000.
func BenchmarkAdd(b *testing.B) {
	facts := sitemapFacts("page", 50_000)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		a := NewAnalyser(testOptions())
		for i := range facts {
			a.Add(&facts[i])
		}
		n += len(facts)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/URL")
}

// BenchmarkFiveDomains holds five analyses of 50,000 URLs at once, with their results and states, and
// reports the memory that they keep, and all that the program took from the system.
func BenchmarkFiveDomains(b *testing.B) {
	facts := sitemapFacts("page", 50_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		all := make([]*Analyser, 5)
		for i := range all {
			all[i] = NewAnalyser(testOptions())
		}
		for i := range facts {
			for _, a := range all {
				a.Add(&facts[i])
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

// BenchmarkResult is what comes after the last URL.
func BenchmarkResult(b *testing.B) {
	facts := sitemapFacts("page", 50_000)
	a := NewAnalyser(testOptions())
	for i := range facts {
		a.Add(&facts[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		a.Result()
		a.Contract(Terms{})
	}
	b.ReportMetric(float64(len(a.State().Seen))/float64(a.seen.count), "bytes/entry")
	b.ReportMetric(float64(len(a.tree.nodes)), "nodes")
}
