package discovery

import (
	"encoding/json"
	"testing"
)

var benchmarkURLs = []string{
	"https://www.example.gov/newsroom/press-releases/2026/minister-opens-new-bridge-over-the-river",
	"https://www.example.gov/employment-practices/employment-act",
	"https://www.example.gov/-/media/documents/annual-report-2025.pdf",
	"https://news.example.com/2026/01/28/politics/election-results-live-updates/index.html",
	"https://www.example.go.kr/bbs/list.do?bbsId=BBSMSTR_000000000031&pageIndex=2",
	"https://www.example.de/service/formulare/antrag-auf-wohngeld.html",
	"https://www.example.jp/%E3%81%8A%E7%9F%A5%E3%82%89%E3%81%9B/2025/04/index.html",
	"https://www.example.org/events/calendar?month=5&year=2026",
}

// BenchmarkClassify is the bulk path, host and path new with every URL.
func BenchmarkClassify(b *testing.B) {
	c := NewClassifier(Context{})
	c.Type(benchmarkURLs[0])
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Type(benchmarkURLs[i%len(benchmarkURLs)])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "URLs/s")
}

func TestShow(t *testing.T) {
	for _, u := range benchmarkURLs {
		b, _ := json.Marshal(Classify(u, Context{}))
		t.Log(u, string(b))
	}
}
