// Package queues moves work between the steps: producers that send within the platform's limits, and
// the consumer that hands each message to its step and settles it on its own. A message that keeps
// failing ends on the dead-letter queue, whose consumer stores it with the reason.
package queues

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/processor"
	"github.com/newsfork/seed-engine/r2"
)

// MaxRetries is max_retries of both consumers in wrangler.jsonc: the delivery after that many
// retries is the last before the dead-letter queue.
const MaxRetries = 3

// Message is one delivery of a message.
type Message interface {
	ID() string
	Body() []byte
	Attempts() int // 1 for the first delivery
	Sent() time.Time
	Ack()
	Retry(delay time.Duration)
}

// Orchestrator continues step 1.
type Orchestrator interface {
	Run(ctx context.Context, c contract.Continuation) (orchestrator.Result, error)
}

// Processor is step 2.
type Processor interface {
	Process(ctx context.Context, m *contract.SeedMessage) (processor.Result, error)
}

// Batch is step 3 for the messages of one event: they share connections and the turns of hosts.
// Collect is never called twice at once for one domain; last is the message's final delivery.
type Batch interface {
	Collect(ctx context.Context, m *contract.DomainMessage, last bool) error
}

// Consumer handles the batches of the three queues.
type Consumer struct {
	Orchestrator Orchestrator
	Processor    Processor
	NewBatch     func() Batch
	Letters      *DeadLetters
	RetryDelay   time.Duration // of the first retry; doubles with every further one
	Log          *slog.Logger
	Now          func() time.Time
}

// Handle works through a batch and settles each of its messages: Ack when done, Retry when failed.
// It never panics.
func (c *Consumer) Handle(ctx context.Context, queue string, messages []Message) {
	switch Role(queue) {
	case Seed:
		c.settle(ctx, queue, messages, func(m Message) error { return c.seed(ctx, m) }, byMessage)
	case Domain:
		batch := c.NewBatch()
		c.settle(ctx, queue, messages, func(m Message) error { return c.domain(ctx, batch, m) }, byDomain)
	case DLQ:
		c.Letters.handle(ctx, queue, messages)
	default:
		c.Log.Error("queue_unknown_failed", "error_type", contract.Internal, "queue", queue, "messages", len(messages))
		for _, m := range messages {
			m.Retry(c.RetryDelay)
		}
	}
}

// Roles of the queues; their names are newsfork-{role}-{environment}.
const (
	Seed   = "seed"
	Domain = "domain"
	DLQ    = "dlq"
)

// Role is the part that a queue plays, by its name; "" when it is none of ours.
func Role(queue string) string {
	name, _ := strings.CutPrefix(queue, "newsfork-")
	role, _, _ := strings.Cut(name, "-")
	switch role {
	case Seed, Domain, DLQ:
		return role
	}
	return ""
}

// settle runs work for every message: those of one key one after another, keys side by side.
// Reasons of failures are recorded before the retries, in one write, so that a dead letter can say
// why.
func (c *Consumer) settle(ctx context.Context, queue string, messages []Message, work func(Message) error, key func(Message) string) {
	var (
		mu       sync.Mutex
		failures []failed
		finished []Message
		wg       sync.WaitGroup
	)
	lanes := map[string][]Message{}
	for _, m := range messages {
		lanes[key(m)] = append(lanes[key(m)], m)
	}
	for _, lane := range lanes {
		wg.Go(func() {
			for _, m := range lane {
				start := c.Now()
				err := work(m)
				mu.Lock()
				if err == nil {
					m.Ack()
					finished = append(finished, m)
				} else {
					failures = append(failures, failed{message: m, err: err, duration: c.Now().Sub(start)})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	c.Letters.record(ctx, queue, failures, finished)
	for _, f := range failures {
		f.message.Retry(c.RetryDelay << min(f.message.Attempts()-1, 10))
	}
}

type failed struct {
	message  Message
	err      error
	duration time.Duration
}

// recovered turns a panic of work into an internal error that carries the stack.
func recovered(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &contract.Error{Kind: contract.Internal, Op: "queues.Consumer", Message: fmt.Sprint("panic: ", r), Err: stack(debug.Stack())}
		}
	}()
	return work()
}

type stack []byte

func (s stack) Error() string { return string(s) }

func byMessage(m Message) string { return m.ID() }

// byDomain keys a message by the domain it is about.
func byDomain(m Message) string {
	d, err := contract.ParseDomain(m.Body())
	if err != nil {
		return m.ID()
	}
	return d.Domain
}

func (c *Consumer) seed(ctx context.Context, m Message) error {
	work, err := contract.ParseSeed(m.Body(), r2.RawPartition)
	if err == nil {
		err = recovered(func() error {
			switch {
			case work.Continue != nil:
				_, err := c.Orchestrator.Run(ctx, *work.Continue)
				return err
			case work.File != nil:
				_, err := c.Processor.Process(ctx, work.File)
				return err
			}
			return nil
		})
	}
	switch {
	case err == nil:
	case work.File != nil:
		c.logFailure("file_processing_failed", m, err, "file_path", work.File.FilePath)
	default:
		c.logFailure("seed_message_failed", m, err)
	}
	return err
}

func (c *Consumer) domain(ctx context.Context, batch Batch, m Message) error {
	d, err := contract.ParseDomain(m.Body())
	if err != nil {
		c.logFailure("domain_message_failed", m, err)
		return err
	}
	err = recovered(func() error { return batch.Collect(ctx, d, m.Attempts() > MaxRetries) })
	if err != nil {
		c.logFailure("domain_collector_failed", m, err, "domain_id", d.DomainID, "registrable_domain", d.Domain)
	}
	return err
}

func (c *Consumer) logFailure(event string, m Message, err error, fields ...any) {
	fields = append(fields, "error_type", contract.KindOf(err), "error", err.Error(), "message_id", m.ID(), "attempt", m.Attempts())
	c.Log.Error(event, fields...)
}
