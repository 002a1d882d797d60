package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
)

// TestPipeline_LargeFiles: eight domains of 2,000 URLs and one of 20,000, mixed in one file.
func TestPipeline_LargeFiles(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		sizes := map[string]int{"large.sg": 20_000}
		for i := range 8 {
			sizes[fmt.Sprintf("site-%d.sg", i)] = 2000
		}
		var lines []string
		for domain, n := range sizes {
			for i := range n {
				lines = append(lines,
					fmt.Sprintf(
						`{"url":"https://www.%s/news/2026/%d/a-headline-of-usual-length","title":"Headline %d — `+
							`\"quoted\" & more","source_type":"media"}`, domain, i, i))
			}
		}
		// records of one domain do not stand together
		slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[30:], b[30:]) })
		w.Put(raw(day, 1), "["+strings.Join(lines, ",")+"]")
		w.Send(enginetest.Seeds, seed(1))
		w.Drain()
		for domain, n := range sizes {
			d := w.Document(day, domain)
			if d == nil || d.Processing.TotalURLs != n || len(d.URLs) != min(n, 5000) {
				t.Fatalf("%s: %+v", domain, d)
			}
			all := slices.Clone(d.URLs)
			for _, key := range d.URLsFiles {
				var list []contract.DocumentURL
				if !w.Read(key, &list) {
					t.Fatalf("%s: there is no %s", domain, key)
				}
				all = append(all, list...)
			}
			seen := map[string]bool{}
			for _, u := range all {
				seen[u.URL] = true
				if u.Title == nil || !strings.HasPrefix(*u.Title, "Headline ") {
					t.Errorf("%s: its title is %v", u.URL, u.Title)
				}
			}
			if len(all) != n || len(seen) != n || !slices.IsSortedFunc(all,
				func(a, b contract.DocumentURL) int { return strings.Compare(a.URL, b.URL) }) {
				t.Errorf("%s: %d URLs, %d different", domain, len(all), len(seen))
			}
		}
		if letters := w.Keys("dlq/", ""); len(letters) > 0 {
			t.Errorf("dead letters: %v", letters)
		}
	})
}
