package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"github.com/newsfork/seed-engine/frontier/sqlite"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/engine/enginetest"
)

// Rows written dominate the cost of a shard, so the rows of one collection are capped, from acquire to release: of
// a news site like the median of real ones, and of the smallest and the largest.
func TestFrontier_RowsOfACollection(t *testing.T) {
	for _, c := range []struct{ urls, domains, rows int }{{3, 40, 9}, {200, 40, 10}, {5000, 5, 14}} {
		t.Run(fmt.Sprint(c.urls), func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				w.Web.Serve = (&enginetest.NewsSites{URLs: c.urls}).Serve
				collect := func(chunk int) (rows float64) {
					before := w.Frontier.Written()
					var records []string
					for i := range c.domains {
						records = append(records, fmt.Sprintf(`{"url":"https://full-%d.sg/"}`, chunk*c.domains+i))
					}
					upload(t, w, day, chunk, "["+strings.Join(records, ",")+"]")
					orchestrate(w, "{}")
					w.Drain()
					return float64(w.Frontier.Written()-before) / float64(c.domains)
				}
				collect(1) // creates the tables
				clear(sqlite.Tally)
				rows := collect(2)
				for _, k := range slices.Sorted(maps.Keys(sqlite.Tally)) {
					t.Logf("%.2f %s", float64(sqlite.Tally[k])/float64(c.domains), k)
				}
				t.Logf("%.2f rows a domain", rows)
				if rows > float64(c.rows) || rows < 3 {
					t.Errorf("%.2f rows a domain, want at most %d", rows, c.rows)
				}
			})
		})
	}
}
