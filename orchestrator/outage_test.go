package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
)

// pipeline delivers the continuations of an orchestration as the platform does: a message whose run
// fails is delivered three more times, then given up.
type pipeline struct {
	*orchestrator.Orchestrator
	queue    *unreliable
	runs     int
	givenUp  int
	messages int // files and continuations that were sent
}

const maxDeliveries = 4

func (p *pipeline) deliver(ctx context.Context, c contract.Continuation) {
	waiting := []contract.Continuation{c}
	for len(waiting) > 0 && p.runs < 1000 {
		next := waiting[0]
		waiting = waiting[1:]
		for n := 1; ; n++ {
			p.runs++
			_, err := p.Run(ctx, next)
			waiting = append(waiting, p.queue.continuations()...)
			if err == nil {
				break
			}
			if n == maxDeliveries {
				p.givenUp++
				break
			}
		}
	}
	p.messages = p.queue.taken
}

// unreliable is a queue that refuses some batches.
type unreliable struct {
	refuse func(nth int) bool
	sends  int
	taken  int
	files  map[string]int // how often each was sent
	more   []contract.Continuation
}

func (q *unreliable) Send(_ context.Context, b *contract.Batch) error {
	q.sends++
	if q.refuse(q.sends) {
		return errors.New("the queue is busy")
	}
	for body := range b.Messages() {
		var m struct {
			File        string                 `json:"file_path"`
			Orchestrate *contract.Continuation `json:"orchestrate"`
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		q.taken++
		if m.Orchestrate != nil {
			q.more = append(q.more, *m.Orchestrate)
		} else {
			q.files[m.File]++
		}
	}
	return nil
}

func (q *unreliable) continuations() []contract.Continuation {
	more := q.more
	q.more = nil
	return more
}

// 6,000 files are queued in events of 20 calls through a queue that refuses batches. A run that failed and yet sent
// its continuation would fork the orchestration at every failure.
func TestSend_FailuresDoNotMultiply(t *testing.T) {
	var keys []string
	for n := range 6000 {
		keys = append(keys, key("sg", "news", "2026-01-28", n))
	}
	b := bucketOf(t, keys...)
	everySeventh := func(nth int) bool { return nth%7 == 0 }
	outage := func(nth int) bool { return nth >= 30 && nth < 37 }
	type refusals struct {
		what        string
		refuse      func(int) bool
		ledger      *inFlight
		maxRuns     int
		maxMessages int
	}
	cases := []refusals{
		{"a send in seven fails", everySeventh, &inFlight{}, 10, 6010},
		{"a send in seven fails, and the ledger is away", everySeventh, &inFlight{err: errors.New("D1 is away")}, 10,
			6010},
		{"an outage outlasts the retries of a send", outage, &inFlight{}, 10, 6010},
		// Without the ledger a delivery sends again what the one before had sent.
		{"an outage, and the ledger is away", outage, &inFlight{err: errors.New("D1 is away")}, 10, 7010},
	}
	// Each of these is over before the continuation is sent, except the one that fails it.
	for phase := range 30 {
		outages := func(nth int) bool { return (nth+phase)%30 < 4 }
		cases = append(cases,
			refusals{fmt.Sprint("short outages, phase ", phase), outages, &inFlight{}, 10, 6010},
			refusals{fmt.Sprint("short outages, and the ledger is away, phase ", phase), outages,
				&inFlight{err: errors.New("D1 is away")}, 12, 10_000})
	}
	for _, c := range cases {
		q := &unreliable{refuse: c.refuse, files: map[string]int{}}
		p := &pipeline{queue: q, Orchestrator: &orchestrator.Orchestrator{
			Bucket: b, Queue: q, Ledger: c.ledger, Log: slog.New(slog.DiscardHandler), Now: time.Now, Sleep: noSleep,
			MaxCalls: 20,
		}}
		p.deliver(t.Context(), contract.Continuation{RequestedAt: time.Now()})
		t.Logf("%s: %d runs, %d messages, %d given up", c.what, p.runs, p.messages, p.givenUp)
		if p.runs > c.maxRuns || p.messages > c.maxMessages || p.givenUp > 0 {
			t.Errorf("%s: %d runs and %d messages, want at most %d and %d; %d given up", c.what, p.runs, p.messages,
				c.maxRuns, c.maxMessages, p.givenUp)
		}
		if len(q.files) != 6000 {
			t.Errorf("%s: %d of 6,000 files were queued", c.what, len(q.files))
		}
	}
}
