package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/engine/enginetest"
)

// Rows written dominate the cost of a shard, so the rows of one collection are capped, from acquire to release: of
// a news site like the median of real ones, and of the smallest and the largest.
func TestFrontier_RowsOfACollection(t *testing.T) {
	if testing.Short() {
		t.Skip("counts rows of 85 collections")
	}
	for _, c := range []struct {
		urls, domains int
		rows          float64
	}{{3, 40, 10.5}, {200, 40, 12.5}, {5000, 5, 18}} {
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
				rows := collect(2)
				t.Logf("%.2f rows a domain", rows)
				if rows > c.rows || rows < 3 {
					t.Errorf("%.2f rows a domain, want at most %g", rows, c.rows)
				}
			})
		})
	}
}
