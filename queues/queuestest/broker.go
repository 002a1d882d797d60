// Package queuestest has a fake of the platform's queues. Its broker delivers batches, redelivers, delays and moves
// messages to dead-letter queues as configured in wrangler.jsonc. It uses package time, so delays take no time under
// testing/synctest.
package queuestest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/queues"
)

// Queue configures a queue and its consumer, with the field names of wrangler.jsonc.
type Queue struct {
	Name            string        `json:"queue"`
	MaxBatchSize    int           `json:"max_batch_size"`
	MaxBatchTimeout time.Duration `json:"-"` // how long a batch waits for more messages
	MaxRetries      int           `json:"max_retries"`
	DeadLetterQueue string        `json:"dead_letter_queue"` // if empty, failed messages are lost
}

// Broker is a set of queues. Set its fields before the first use. Its methods are safe for concurrent use.
type Broker struct {
	// Consume handles a batch. Messages that it does not settle are redelivered.
	Consume func(ctx context.Context, queue string, messages []queues.Message)
	// Events caps the batches handled at once; 0 means 1.
	Events int
	// Shuffle, if set, makes the size and the messages of batches random.
	Shuffle *rand.Rand
	// Copies is the number of copies that are delivered of each message; 0 means 1. The platform promises at least
	// one.
	Copies int
	// Withhold, if set, reports whether a message stays in its queue.
	Withhold func(queue string, body []byte) bool
	// Fail, if set, is called before each send. Its error becomes a fault of the queue.
	Fail func(queue string, bodies [][]byte) error

	mu      sync.Mutex
	queues  []Queue
	waiting map[string][]*message
	lost    []string
	ids     int
}

// New returns a broker with empty queues.
func New(configuration ...Queue) *Broker {
	return &Broker{queues: configuration, waiting: map[string][]*message{}}
}

// Lost returns the bodies of messages that failed for good without a dead-letter queue.
func (b *Broker) Lost() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lost)
}

// Waiting returns the bodies of the messages that are in a queue.
func (b *Broker) Waiting(queue string) (bodies []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.waiting[queue] {
		bodies = append(bodies, string(m.body))
	}
	return bodies
}

// Drain delivers all pending messages except withheld ones.
func (b *Broker) Drain(ctx context.Context) error { return b.DrainFor(ctx, 1<<62) }

// DrainFor is like Drain but stops after d.
func (b *Broker) DrainFor(ctx context.Context, d time.Duration) error {
	end := time.Now().Add(d)
	for ctx.Err() == nil {
		batches, next := b.due(time.Now())
		if len(batches) == 0 {
			if next.IsZero() || next.After(end) {
				return nil
			}
			time.Sleep(time.Until(next))
			continue
		}
		var events sync.WaitGroup
		for _, batch := range batches {
			events.Go(func() { b.deliver(ctx, batch) })
		}
		events.Wait()
	}
	return ctx.Err()
}

type batch struct {
	queue    Queue
	messages []*message
}

// due removes and returns the batches that are delivered now. Without any, next is the time of the next batch, or
// zero if the queues are empty.
func (b *Broker) due(now time.Time) (batches []batch, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queues {
		for len(batches) < max(1, b.Events) {
			taken, at := b.take(q, now)
			if taken == nil {
				if !at.IsZero() && (next.IsZero() || at.Before(next)) {
					next = at
				}
				break
			}
			batches = append(batches, batch{q, taken})
		}
	}
	return batches, next
}

// take removes and returns a batch that is full or has waited long enough. Without one, at is the time of the next
// batch, or zero if the queue is empty.
func (b *Broker) take(q Queue, now time.Time) (taken []*message, at time.Time) {
	var ready []*message
	for _, m := range b.waiting[q.Name] {
		switch {
		case b.Withhold != nil && b.Withhold(q.Name, m.body):
		case m.due.After(now):
			if at.IsZero() || m.due.Before(at) {
				at = m.due
			}
		default:
			ready = append(ready, m)
		}
	}
	if len(ready) == 0 {
		return nil, at
	}
	slices.SortStableFunc(ready, func(x, y *message) int { return x.due.Compare(y.due) })
	if full := ready[0].due.Add(q.MaxBatchTimeout); len(ready) < q.MaxBatchSize && full.After(now) {
		if at.IsZero() || full.Before(at) {
			at = full
		}
		return nil, at
	}
	n := min(len(ready), q.MaxBatchSize)
	if b.Shuffle != nil {
		b.Shuffle.Shuffle(len(ready), func(i, j int) { ready[i], ready[j] = ready[j], ready[i] })
		n = 1 + b.Shuffle.IntN(n)
	}
	taken = ready[:n]
	b.waiting[q.Name] = slices.DeleteFunc(b.waiting[q.Name],
		func(m *message) bool { return slices.Contains(taken, m) })
	return taken, time.Time{}
}

// deliver passes a batch to the consumer and settles its messages.
func (b *Broker) deliver(ctx context.Context, batch batch) {
	deliveries := make([]queues.Message, len(batch.messages))
	for i, m := range batch.messages {
		m.attempts++
		m.settlement = unsettled
		deliveries[i] = m
	}
	b.Consume(ctx, batch.queue.Name, deliveries)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range batch.messages {
		settlement, delay := m.settled()
		switch q := batch.queue; {
		case settlement == acknowledged:
		case m.attempts <= q.MaxRetries:
			m.due = time.Now().Add(delay)
			b.waiting[q.Name] = append(b.waiting[q.Name], m)
		case q.DeadLetterQueue != "":
			b.enqueue(q.DeadLetterQueue, &message{id: m.id, body: m.body, sent: time.Now(), due: time.Now()})
		default:
			b.lost = append(b.lost, string(m.body))
		}
	}
}

// enqueue adds the copies of a message.
func (b *Broker) enqueue(queue string, m *message) {
	for range max(1, b.Copies) {
		b.waiting[queue] = append(b.waiting[queue], &message{id: m.id, body: m.body, sent: m.sent, due: m.due})
	}
}

// Producer returns the producer of a queue.
func (b *Broker) Producer(queue string) queues.Producer { return producer{b, queue} }

type producer struct {
	broker *Broker
	queue  string
}

// Send implements queues.Producer.
func (p producer) Send(ctx context.Context, batch *contract.Batch) error {
	var bodies [][]byte
	for body := range batch.Messages() {
		bodies = append(bodies, bytes.Clone(body))
	}
	if len(bodies) == 0 {
		return nil
	}
	return queues.SendFault("queues.Send", p.send(ctx, bodies, 0))
}

// SendOne implements queues.Producer.
func (p producer) SendOne(ctx context.Context, body []byte, delay time.Duration) error {
	if err := queues.Check(body, delay); err != nil {
		return err
	}
	return queues.SendFault("queues.SendOne", p.send(ctx, [][]byte{bytes.Clone(body)},
		time.Duration(queues.Seconds(delay))*time.Second))
}

func (p producer) send(ctx context.Context, bodies [][]byte, delay time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, body := range bodies {
		if !json.Valid(body) {
			return errors.New("SyntaxError: the message is not JSON")
		}
	}
	b := p.broker
	if b.Fail != nil {
		if err := b.Fail(p.queue, bodies); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, body := range bodies {
		b.ids++
		now := time.Now()
		b.enqueue(p.queue, &message{id: fmt.Sprintf("m%05d", b.ids), body: body, sent: now, due: now.Add(delay)})
	}
	return nil
}

// Backlog returns the backlog of a queue.
func (b *Broker) Backlog(queue string) (waiting contract.Backlog) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.waiting[queue] {
		waiting.Messages++
		waiting.Bytes += int64(len(m.body))
		if waiting.Oldest == nil || m.sent.Before(waiting.Oldest.Time) {
			waiting.Oldest = contract.At(m.sent)
		}
	}
	return waiting
}

// How a message was settled.
const (
	unsettled = iota
	acknowledged
	retried
)

// message is a queues.Message. The first settlement of a delivery counts.
type message struct {
	id       string
	body     []byte
	attempts int
	sent     time.Time
	due      time.Time

	mu         sync.Mutex
	settlement int
	delay      time.Duration
}

func (m *message) ID() string      { return m.id }
func (m *message) Body() []byte    { return m.body }
func (m *message) Attempts() int   { return m.attempts }
func (m *message) Sent() time.Time { return m.sent }
func (m *message) Ack()            { m.settle(acknowledged, 0) }

func (m *message) Retry(delay time.Duration) { m.settle(retried, delay) }

func (m *message) settle(how int, delay time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settlement == unsettled {
		m.settlement, m.delay = how, delay
	}
}

func (m *message) settled() (how int, delay time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settlement, m.delay
}
