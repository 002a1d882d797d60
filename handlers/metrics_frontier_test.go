package handlers

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
)

// TestMetrics_DueVisits: pages that wait for the budget of revisits are not due entry points.
func TestMetrics_DueVisits(t *testing.T) {
	total := &frontier.Stats{}
	total.Due[0], total.Due[frontier.EntryLane], total.Due[frontier.VisitLane] = 1, 2, 4
	total.OldestDue[frontier.EntryLane], total.OldestDue[frontier.VisitLane] = 9_000, 1_000
	var e exposition
	e.frontier(total, 10_000)
	w := httptest.NewRecorder()
	e.WriteAnswer(w)
	for _, line := range []string{`frontier_due{kind="page"} 1`, `frontier_due{kind="entry"} 2`,
		`frontier_oldest_due_seconds{kind="entry"} 1`} {
		if !strings.Contains(w.Body.String(), "newsfork_seed_"+line+"\n") {
			t.Errorf("no line %q in %s", line, w.Body)
		}
	}
}
