// Package queues moves work between the steps. Producers send within the platform's limits. The consumer passes each
// message to its step and settles it on its own. Messages that keep failing go to the dead-letter queue, and are
// stored with the reason.
package queues

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/processor"
)

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
	Process(ctx context.Context, m *contract.SeedMessage, sender processor.Sender) (processor.Result, error)
}

// Batch is step 3 for the messages of one event. Its visits and refreshes share connections and the turns of hosts.
type Batch interface {
	// Visit starts the visit to a domain, once a batch.
	Visit(domain string) Visit
	// Hosts returns what the event learned about the hosts of a registrable domain.
	Hosts(domain string) []frontier.HostFindings
	// BeginRefreshes requests the hosts of the refreshes that follow, all at once.
	BeginRefreshes(ctx context.Context, list []*contract.Refresh)
	// Refresh looks at one entry point again.
	Refresh(ctx context.Context, r *contract.Refresh) (collector.Refreshed, error)
}

// Visit is the work of one event on one domain; see collector.Visit. A forced message always has its requested_at.
type Visit interface {
	// Done reports whether Collect would send no request for the message. It may be called before Begin, and at once
	// for messages of several partitions.
	Done(ctx context.Context, m *contract.DomainMessage) (bool, error)
	// Begin starts collections under the domain's lease. Without it Collect may only be called for messages that are
	// done.
	Begin(l collector.Lease)
	// MayReuse reports whether Collect may well send no request, although the message is not done.
	MayReuse(m *contract.DomainMessage) bool
	// ReadyAt returns when the hosts to which the event sent requests are ready for the next one.
	ReadyAt() time.Time
	// Collect works on one message. last is true on its final delivery.
	Collect(ctx context.Context, m *contract.DomainMessage, last bool) (*contract.Document, error)
	// End returns what the release of the lease reports.
	End() collector.Outcome
}

// Collections returns a Consumer's NewBatch for a collector.
func Collections(c *collector.Collector) func(excluded func(link string) bool) Batch {
	return func(excluded func(link string) bool) Batch { return collections{c.NewBatch(excluded)} }
}

// collections is a collector.Batch whose visits are Visits.
type collections struct{ *collector.Batch }

func (c collections) Visit(domain string) Visit { return c.Batch.Visit(domain) }

// Requeuer sends a message to its queue again.
type Requeuer interface {
	SendOne(ctx context.Context, body []byte, delay time.Duration) error
}

// DomainQueue sends to DOMAIN_QUEUE.
type DomainQueue interface {
	processor.Sender
	Requeuer
}

// Recorder writes to the ledger.
type Recorder interface {
	Record(ctx context.Context, c ledger.Changes) error
}

// Consumer handles the batches of the three queues.
type Consumer struct {
	Orchestrator Orchestrator
	Processor    Processor
	NewBatch     func(excluded func(link string) bool) Batch
	DeadLetters  *deadletters.Store
	Leases       *Leases
	Controls     *controls.Store
	Ledger       Recorder
	Seeds        Requeuer
	Domains      DomainQueue
	DLQ          Requeuer
	Version      string        // of the Worker
	RetryDelay   time.Duration // before the first retry; it doubles
	Log          *slog.Logger
	Now          func() time.Time
}

// Handle works through a batch and acknowledges or retries each of its messages. It never panics.
func (c *Consumer) Handle(ctx context.Context, queue string, messages []Message) {
	start := c.Now()
	defer func() {
		c.Log.Info("batch_complete", "queue", queue, "messages", len(messages),
			"duration_ms", c.Now().Sub(start).Milliseconds())
	}()
	switch contract.QueueRole(queue) {
	case contract.SeedQueue:
		if _, ok := c.admit(ctx, queue, messages); ok {
			c.handleSeeds(ctx, queue, messages)
		}
	case contract.DomainQueue:
		c.handleDomains(ctx, queue, messages)
	case contract.DeadLetterQueue:
		c.handleDeadLetters(ctx, queue, messages)
	default:
		c.Log.Error("queue_unknown_failed", "error_type", contract.Internal, "queue", queue, "messages", len(messages))
		for _, m := range messages {
			m.Retry(c.RetryDelay)
		}
	}
}

// admit returns the exclusions, and reports whether the pipeline may work. If it is paused, or the operators'
// decisions cannot be read, admit settles the messages.
func (c *Consumer) admit(ctx context.Context, queue string, messages []Message) (*contract.Exclusions, bool) {
	decisions, exclusions, err := c.Controls.Read(ctx)
	switch {
	case err != nil: // without the exclusions nothing may be fetched
		c.retryAll(ctx, queue, messages, err)
		return nil, false
	case decisions.Pipeline.Paused:
		c.requeuePaused(ctx, queue, messages, decisions.Pipeline)
		return nil, false
	}
	return exclusions, true
}

// retryAll fails all messages of a batch with one error. Refreshes are acknowledged: the frontier sends them again.
func (c *Consumer) retryAll(ctx context.Context, queue string, messages []Message, err error) {
	s := c.newSettlement(queue)
	for _, m := range messages {
		if isRefresh(queue, m) {
			c.logFailure("refresh_failed", m, err)
			m.Ack()
			continue
		}
		c.logFailure(contract.QueueRole(queue)+"_message_failed", m, err)
		s.end(m, c.Now(), err)
	}
	s.settle(ctx)
}

func (c *Consumer) logFailure(event string, m Message, err error, fields ...any) {
	fields = append(fields, "error_type", contract.KindOf(err), "error", err.Error(), "message_id", m.ID(), "attempt",
		m.Attempts())
	var p *panicked
	if errors.As(err, &p) {
		fields = append(fields, "stack", p.stack)
	}
	c.Log.Error(event, fields...)
}

// requiredSince returns when a forced message was requested, or zero if it is not forced.
func requiredSince(force bool, requested time.Time) time.Time {
	if force {
		return requested
	}
	return time.Time{}
}
