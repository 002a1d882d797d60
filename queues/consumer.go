// Package queues moves work between the steps: producers that send within the platform's limits, and
// the consumer that hands each message to its step and settles it on its own. A message that keeps
// failing ends on the dead-letter queue, whose consumer stores it with the reason.
package queues

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
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
	// Done reports whether Collect will not ask the domain for anything.
	Done(ctx context.Context, m *contract.DomainMessage) (bool, error)
	Collect(ctx context.Context, m *contract.DomainMessage, last bool) (*contract.Document, error)
	// FreeAt is when the hosts that were asked for a domain may be asked again.
	FreeAt(domain string) time.Time
}

// Consumer handles the batches of the three queues.
type Consumer struct {
	Orchestrator Orchestrator
	Processor    Processor
	NewBatch     func(excluded func(link string) bool) Batch
	Letters      *DeadLetters
	Leases       *Leases
	RetryDelay   time.Duration // of the first retry; doubles with every further one
	Log          *slog.Logger
	Now          func() time.Time
}

// Handle works through a batch and settles each of its messages: Ack when done, Retry when failed.
// It never panics.
func (c *Consumer) Handle(ctx context.Context, queue string, messages []Message) {
	switch Role(queue) {
	case Seed:
		c.handleSeeds(ctx, queue, messages)
	case Domain:
		c.handleDomains(ctx, queue, messages)
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

// outcome collects what became of the messages of an event. It may be used by several goroutines.
type outcome struct {
	*Consumer
	mu       sync.Mutex
	failures []failed
	finished []Message
}

// of notes how one message ended, and acknowledges it when err is nil. Retries wait for settle.
func (o *outcome) of(m Message, start time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		m.Ack()
		o.finished = append(o.finished, m)
		return
	}
	o.failures = append(o.failures, failed{message: m, err: err, duration: o.Now().Sub(start)})
}

// settle records why messages failed, in one write with the releases, and only then retries them, so
// that a dead letter can say why.
func (o *outcome) settle(ctx context.Context, queue string, releases []ledger.Release) {
	o.Letters.record(ctx, queue, o.failures, o.finished, releases)
	for _, f := range o.failures {
		f.message.Retry(o.RetryDelay << min(f.message.Attempts()-1, 10))
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

func (c *Consumer) handleSeeds(ctx context.Context, queue string, messages []Message) {
	o := &outcome{Consumer: c}
	for _, m := range messages {
		o.of(m, c.Now(), c.seed(ctx, m))
	}
	o.settle(ctx, queue, nil)
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

// delivery of a message about a domain, decoded.
type domainDelivery struct {
	Message
	work *contract.DomainMessage
}

// handleDomains collects the domains of a batch side by side, and the messages of one domain one
// after another. Domains that have to be asked for anything are leased first; those that another event
// is asking wander.
func (c *Consumer) handleDomains(ctx context.Context, queue string, messages []Message) {
	o := &outcome{Consumer: c}
	batch := c.NewBatch(nil)
	lanes := map[string][]domainDelivery{}
	var toAsk []string
	for _, m := range messages {
		start := c.Now()
		work, err := contract.ParseDomain(m.Body())
		if err != nil {
			c.logFailure("domain_message_failed", m, err)
			o.of(m, start, err)
			continue
		}
		if !slices.Contains(toAsk, work.Domain) {
			done, err := batch.Done(ctx, work)
			if err != nil {
				c.logFailure("domain_collector_failed", m, err, "domain_id", work.DomainID, "registrable_domain", work.Domain)
				o.of(m, start, err)
				continue
			}
			if !done {
				toAsk = append(toAsk, work.Domain)
			}
		}
		lanes[work.Domain] = append(lanes[work.Domain], domainDelivery{m, work})
	}
	leases := c.Leases.acquire(ctx, toAsk)
	var wg sync.WaitGroup
	for _, lane := range lanes {
		wg.Go(func() {
			for _, d := range lane {
				start := c.Now()
				o.of(d, start, c.domain(ctx, batch, leases, d))
			}
		})
	}
	wg.Wait()
	o.settle(ctx, queue, leases.release(batch.FreeAt))
}

func (c *Consumer) domain(ctx context.Context, batch Batch, leases *held, d domainDelivery) error {
	err := recovered(func() error {
		if _, busy := leases.busy[d.work.Domain]; busy {
			return leases.wander(ctx, d.work)
		}
		ctx, cancel := leases.under(ctx, d.work.Domain)
		defer cancel()
		_, err := batch.Collect(ctx, d.work, d.Attempts() > MaxRetries)
		return err
	})
	if err != nil {
		c.logFailure("domain_collector_failed", d, err, "domain_id", d.work.DomainID, "registrable_domain", d.work.Domain)
	}
	return err
}

func (c *Consumer) logFailure(event string, m Message, err error, fields ...any) {
	fields = append(fields, "error_type", contract.KindOf(err), "error", err.Error(), "message_id", m.ID(), "attempt", m.Attempts())
	c.Log.Error(event, fields...)
}
