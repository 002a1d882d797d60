package queues

import (
	"context"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/ledger"
)

// settlement collects how the messages of one event ended and what the ledger has to record of it, all
// in one write. It is safe for concurrent use until settle is called.
type settlement struct {
	consumer *Consumer
	queue    string

	mu       sync.Mutex
	failures []failure
	changes  ledger.Changes
}

// failure is a message that is to be retried.
type failure struct {
	message  Message
	err      error
	duration time.Duration
}

func (c *Consumer) newSettlement(queue string) *settlement {
	return &settlement{consumer: c, queue: queue}
}

// record adds to what is written to the ledger.
func (s *settlement) record(add func(c *ledger.Changes)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.changes)
}

// end notes how the work on a message that began at start ended. It acknowledges the message when err
// is nil; retries wait for settle.
func (s *settlement) end(m Message, start time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failures = append(s.failures, failure{message: m, err: err, duration: s.consumer.Now().Sub(start)})
		return
	}
	m.Ack()
	s.changes.Finished = append(s.changes.Finished, deadletters.WorkOf(s.queue, m.Body()))
}

// settle writes to the ledger what was recorded, and why messages failed. Only then it retries the failed messages, so that a dead letter can say why. The ledger being unavailable
// stops nothing: a dead letter then has no reason.
func (s *settlement) settle(ctx context.Context) {
	c := s.consumer
	for _, f := range s.failures {
		s.changes.Failures = append(s.changes.Failures, ledger.Failure{
			Work:      deadletters.WorkOf(s.queue, f.message.Body()),
			MessageID: f.message.ID(), Attempt: f.message.Attempts(),
			ErrorType: contract.KindOf(f.err), ErrorMessage: f.err.Error(),
			WorkerVersion: c.Version, Duration: f.duration, FailedAt: c.Now(),
		})
	}
	if err := c.Ledger.Record(ctx, s.changes); err != nil {
		c.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", s.queue)
	}
	for _, f := range s.failures {
		f.message.Retry(min(c.RetryDelay<<min(f.message.Attempts()-1, 10), MaxDelay))
	}
}
