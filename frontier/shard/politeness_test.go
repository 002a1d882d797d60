package shard_test

import (
	"testing"

	"github.com/newsfork/seed-engine/frontier"
)

// A robots.txt that answers 429 or 503 with a short Retry-After slows the host down like any other answer: it was
// requested every second.
func TestReport_RobotsRetryAfterSlowsTheHostDown(t *testing.T) {
	w := newWorld(t)
	w.do(func() error {
		_, err := w.shard.Put(w.now, frontier.Put{Domain: "a.sg", Partition: partition,
			Pages: []frontier.NewPage{{URL: "https://www.a.sg/1", Priority: 0.9}}})
		return err
	})
	requests := 0
	for end := w.now + 6*3_600_000; w.now < end; w.now += 1000 {
		var l frontier.Lease
		w.do(func() (err error) {
			l, err = w.shard.Lease(w.now, frontier.LeaseRequest{Max: 1, Seconds: 60})
			return err
		})
		if len(l.Items) == 0 {
			continue
		}
		requests++
		w.do(func() error {
			_, err := w.shard.Report(w.now, frontier.Report{Lease: l.ID,
				Results: []frontier.Result{{ID: l.Items[0].ID, NoRobots: true, RetryAfter: 1}}})
			return err
		})
	}
	if requests > 30 {
		t.Errorf("%d requests in six hours", requests)
	}
}
