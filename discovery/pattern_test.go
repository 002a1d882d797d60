package discovery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPattern_QueriesGiveWay: queries of which each URL has another, as with numbers that keep pages from being
// cached, do not become patterns without end, among which every further URL would be looked up. Nor does their
// order matter, or whether they come in two parts.
func TestPattern_QueriesGiveWay(t *testing.T) {
	for name, url := range map[string]func(i int) string{
		"numbers that are no field": func(i int) string {
			return fmt.Sprintf("https://www.example.gov/news/%d-title?%d", i%500, 1_700_000_000+i)
		},
		"names of fields": func(i int) string {
			return fmt.Sprintf("https://www.example.gov/news/list.php?field%d=1",
				i)
		},
		"parameters of files": func(i int) string {
			return fmt.Sprintf("https://www.example.gov/news/%d.html;version=1.%d", i%500, i)
		},
		"parameters of one file": func(i int) string {
			return fmt.Sprintf("https://www.example.gov/news/index.html;version=1.%d", i)
		},
		"below names": func(i int) string {
			return fmt.Sprintf("https://www.example.gov/s%d/a%d?field%d=1", i%60, i%5, i)
		},
	} {
		var urls []string
		for i := range 4 * maxQueries {
			urls = append(urls, url(i))
		}
		first := ""
		for seed := range uint64(4) {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(urls), func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
			a := NewAnalyser(testOptions())
			for i, u := range urls {
				if i == len(urls)/2 && seed > 1 {
					a = stored(t, a)
				}
				a.Add(&Sighting{Loc: []byte(u), Method: FromSitemap})
			}
			nodes, _ := a.tree.store()
			var tokens []string
			beside := map[int]int{}
			for _, n := range nodes {
				tokens = append(tokens, fmt.Sprint(nodes[n.Parent].Token, "/", n.Token))
				beside[n.Parent]++
				if beside[n.Parent] > maxQueries+100 {
					t.Fatalf("%s: %d patterns beside each other", name, beside[n.Parent])
				}
			}
			slices.Sort(tokens)
			if got := fmt.Sprint(tokens); first == "" {
				first = got
			} else if got != first {
				t.Errorf("%s: another order: %d patterns, not the same\n%.300s\n%.300s", name, len(tokens), got, first)
			}
		}
	}
}
