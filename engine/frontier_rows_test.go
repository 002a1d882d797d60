package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/engine/enginetest"
)

// Rows written dominate the cost of a shard, so the rows of one collection are capped, from acquire to release.
func TestFrontier_RowsOfACollection(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		const domains = 40
		collect := func(chunk int) (rows float64) {
			before := w.Frontier.Written()
			var records []string
			for i := range domains {
				records = append(records, fmt.Sprintf(`{"url":"https://full-%d.sg/news/a"}`, chunk*domains+i))
			}
			upload(t, w, day, chunk, "["+strings.Join(records, ",")+"]")
			orchestrate(w, "{}")
			w.Drain()
			return float64(w.Frontier.Written()-before) / domains
		}
		collect(1) // creates the tables
		if rows := collect(2); rows > 10 {
			t.Errorf("%.2f rows a domain, want at most 10", rows)
		} else {
			t.Logf("%.2f rows a domain", rows)
		}
	})
}
