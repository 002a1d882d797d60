package collector

import (
	"log/slog"
	"time"

	"github.com/newsfork/seed-engine/fetch"
)

// The stages of a collection whose times are measured, in their order.
const (
	robotsStage   = "robots"
	sitemapsStage = "sitemaps"
	homeStage     = "home_page"
	feedsStage    = "feeds"
	pagesStage    = "pages"    // HEAD requests to pages, and pages read for their type
	frontierStage = "frontier" // calls of a shard: mirrors, and the put
	analysisStage = "analysis" // the document's scores, patterns, contract and state
	choiceStage   = "choice"   // of the frontier's pages
	documentStage = "document" // encoding and storing it, the evidence and the checkpoint
)

// Stages are the times that one collection took, by stage.
type Stages map[string]time.Duration

// stopwatch measures stages, without politeness waits. They include the work on other domains of the event meanwhile.
// In production the clock stands still while nothing is awaited, so the time of computing counts for the stage that
// waits next. A nil stopwatch measures nothing.
type stopwatch struct {
	clock fetch.Clock
	since time.Time
	spent Stages

	session *fetch.Session // nil before the collection has one
	waited  time.Duration  // politeness waits of the session up to the last stage
}

func newStopwatch(clock fetch.Clock) *stopwatch {
	return &stopwatch{clock: clock, since: clock.Now(), spent: Stages{}}
}

// restart leaves out the time since the last stage.
func (w *stopwatch) restart() {
	if w != nil {
		w.since = w.clock.Now()
	}
}

// lap adds the time since the last stage to a stage.
func (w *stopwatch) lap(stage string) {
	if w == nil {
		return
	}
	now, waited := w.clock.Now(), w.waited
	if w.session != nil {
		waited = w.session.Stats().PolitenessWait
	}
	w.spent[stage] += now.Sub(w.since) - (waited - w.waited)
	w.since, w.waited = now, waited
}

// LogValue implements slog.LogValuer: milliseconds by stage.
func (s Stages) LogValue() slog.Value {
	var list []slog.Attr
	for _, stage := range [...]string{robotsStage, sitemapsStage, homeStage, feedsStage, pagesStage, frontierStage,
		analysisStage, choiceStage, documentStage} {
		if spent, ok := s[stage]; ok {
			list = append(list, slog.Int64(stage, spent.Milliseconds()))
		}
	}
	return slog.GroupValue(list...)
}
