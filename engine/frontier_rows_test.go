package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/engine/enginetest"
)

// TestRowsOfACollection: rows written are the price of a shard. What a domain's collection writes there, from
// acquire to release, does not grow unnoticed.
func TestRowsOfACollection(t *testing.T) {
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
		collect(1) // makes the tables
		if rows := collect(2); rows > 10 {
			t.Errorf("%.2f rows a domain, at most 10", rows)
		} else {
			t.Logf("%.2f rows a domain", rows)
		}
	})
}
