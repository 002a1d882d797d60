package collector_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// earlier is a frontier of a version that does not begin refreshes together.
type earlier struct{ *shards }

func (e earlier) Call(ctx context.Context, shard, operation string, request []byte) ([]byte, error) {
	if operation == "begin_refreshes" {
		operation = "not_yet_known"
	}
	return e.shards.Call(ctx, shard, operation, request)
}

// TestRefresh_Together: a refresh that began with others needs no call of its own to begin, unless the shard is of an
// earlier version or the others took so long that its grant would end meanwhile.
func TestRefresh_Together(t *testing.T) {
	for name, c := range map[string]struct {
		earlier bool
		after   time.Duration
		calls   int  // of begin_refresh
		busy    bool // its host is, until the grant is over
	}{
		"at once":            {},
		"in the second half": {after: 119 * time.Second},
		"too late":           {after: 121 * time.Second, calls: 1, busy: true},
		"an earlier version": {earlier: true, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := collected(t)
				if c.earlier {
					w.Frontier.Caller = earlier{w.frontier}
				}
				if due := w.state(t, "example.com", feedURL).DueAt; due > epoch.Now() {
					time.Sleep(time.Until(due.Time()) + time.Second)
				}
				r := &contract.Refresh{Domain: "example.com", URL: feedURL, Method: "rss", Partition: partition,
					QueuedAt: epoch.Now()}
				b, before := w.NewBatch(nil), len(w.web.URLs())
				b.BeginRefreshes(t.Context(), []*contract.Refresh{r})
				time.Sleep(c.after)
				done, err := b.Refresh(t.Context(), r)
				if err != nil || (done.Again > 0) != c.busy {
					t.Errorf("%+v, %v", done, err)
				}
				if asked := len(w.web.URLs()) - before; (asked == 0) != c.busy {
					t.Errorf("%d requests", asked)
				}
				if n := w.frontier.real.Calls("begin_refresh"); n != c.calls {
					t.Errorf("%d calls, want %d", n, c.calls)
				}
			})
		})
	}
}
