package discovery

import (
	"runtime"
	"testing"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
)

// TestAnalyser_FiveDomains: five domains with 50,000 URLs each are analysed at once in less than 64 MB,
// results and states included.
func TestAnalyser_FiveDomains(t *testing.T) {
	const limit = 64_000_000
	sightings := sitemapSightings(50_000)
	// lexicon and model are there in any case
	embedded.Model().NewClassifier(classify.Context{}).Type("https://example.com/")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, peak := m.HeapInuse, uint64(0)
	look := func() {
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapInuse) // including garbage not collected yet
	}
	all := make([]*Analyser, 5)
	for i := range all {
		all[i] = NewAnalyser(testOptions())
	}
	for i := range sightings {
		for _, a := range all {
			a.Add(&sightings[i])
		}
		if i%1000 == 0 {
			look()
		}
	}
	for _, a := range all {
		if d := a.Result(); d.Stats.Analyzed < 49_000 || len(d.URLs) != MaxDiscovered {
			t.Errorf("%d analysed, %d shown", d.Stats.Analyzed, len(d.URLs))
		}
		a.Contract(Terms{})
		a.State()
		look()
	}
	if peak < before || peak-before > limit {
		t.Errorf("%d bytes", peak-before)
	}
	t.Logf("%d bytes", peak-before)
}
