package discovery

import (
	"runtime"
	"testing"

	"github.com/newsfork/seed-engine/classify"
)

// TestFiveDomains: five domains with 50,000 URLs each are analysed at once in less than 64 MB,
// results and states included.
func TestFiveDomains(t *testing.T) {
	const limit = 64_000_000
	facts := sitemapFacts(50_000)
	classify.NewClassifier(classify.Context{}).Type("https://example.com/") // lexicon and model are there in any case
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := m.HeapInuse, uint64(0)
	look := func() {
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse) // with what the collector has not taken away yet
	}
	all := make([]*Analyser, 5)
	for i := range all {
		all[i] = NewAnalyser(testOptions())
	}
	for i := range facts {
		for _, a := range all {
			a.Add(&facts[i])
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
	if most < before || most-before > limit {
		t.Errorf("%d bytes", most-before)
	}
	t.Logf("%d bytes", most-before)
}
