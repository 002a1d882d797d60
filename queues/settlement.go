package queues

import (
	"context"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/ledger"
)

// settlement gathers the results of one event's messages, and writes them to the ledger at once. It is safe for
// concurrent use until settle is called.
type settlement struct {
	consumer *Consumer
	queue    string

	mu       sync.Mutex
	failures []failure
	changes  ledger.Changes
}

// failure is a message that will be retried.
type failure struct {
	message  Message
	err      error
	duration time.Duration
}

func (c *Consumer) newSettlement(queue string) *settlement {
	return &settlement{consumer: c, queue: queue}
}

// record adds to the changes for the ledger.
func (s *settlement) record(add func(c *ledger.Changes)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.changes)
}

// end acknowledges a message if err is nil. Otherwise settle retries it. start is the beginning of its processing.
func (s *settlement) end(m Message, start time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failures = append(s.failures, failure{message: m, err: err, duration: s.consumer.Now().Sub(start)})
		return
	}
	m.Ack()
	s.changes.Finished = append(s.changes.Finished, s.workOf(m))
}

// workOf returns the work that a message requests. A message about a domain may have 100 KB and is not parsed twice.
func (s *settlement) workOf(m Message) ledger.Work {
	if d, ok := m.(domainDelivery); ok {
		return deadletters.WorkOfDomain(s.queue, d.work)
	}
	return deadletters.WorkOf(s.queue, m.Body())
}

// settle writes the changes and the reasons of failures to the ledger, and then retries the failed messages, so that
// a dead letter finds its reason there. If the ledger fails, dead letters have no reason.
func (s *settlement) settle(ctx context.Context) {
	c := s.consumer
	failures := make([]ledger.Failure, len(s.failures))
	for i, f := range s.failures {
		failures[i] = ledger.Failure{
			Work:      s.workOf(f.message),
			MessageID: f.message.ID(), Attempt: f.message.Attempts(),
			ErrorType: contract.KindOf(f.err), ErrorMessage: contract.Reason(f.err),
			WorkerVersion: c.Version, Duration: f.duration, FailedAt: c.Now(),
		}
	}
	s.changes.Failures = append(s.changes.Failures, failures...)
	if err := c.Ledger.Record(ctx, s.changes); err != nil {
		c.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", s.queue)
	}
	for i, f := range s.failures {
		if failures[i].ErrorType == contract.Parse && s.giveUp(ctx, f.message, &failures[i]) {
			f.message.Ack()
			continue
		}
		f.message.Retry(min(c.RetryDelay<<min(f.message.Attempts()-1, 10), MaxDelay))
	}
}

// giveUp stores a malformed message as a dead letter without retries, and reports whether that succeeded. It
// is stored under the message's id, so a redelivery overwrites it with itself.
func (s *settlement) giveUp(ctx context.Context, m Message, why *ledger.Failure) bool {
	letter := deadletters.Message{ID: m.ID(), Body: m.Body(), Sent: m.Sent(), Failure: why}
	err := s.consumer.DeadLetters.Put(ctx, contract.SiblingQueue(s.queue, contract.DeadLetterQueue),
		[]deadletters.Message{letter})[0]
	if err != nil {
		s.consumer.logFailure("dead_letter_failed", m, err)
	}
	return err == nil
}
