// Package queues moves work between the steps: producers that send within the platform's limits, and
// the consumer that hands each message to its step and settles it on its own. A message that keeps
// failing ends on the dead-letter queue, whose consumer stores it with the reason.
package queues

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/processor"
	"github.com/newsfork/seed-engine/r2"
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

// Batch is step 3 for the messages of one event: they share connections and the turns of hosts.
// Collect is never called twice at once for one domain; last is the message's final delivery. Forced
// messages have the time that they count from.
type Batch interface {
	// Done reports whether Collect would not ask the domain for anything now.
	Done(ctx context.Context, m *contract.DomainMessage) (bool, error)
	Collect(ctx context.Context, m *contract.DomainMessage, last bool) (*contract.Document, error)
	// FreeAt is when the hosts that were asked for a domain may be asked again.
	FreeAt(domain string) time.Time
}

// Requeuer sends a message to its queue again.
type Requeuer interface {
	SendOne(ctx context.Context, body []byte, delay time.Duration) error
}

// DomainQueue is DOMAIN_QUEUE.
type DomainQueue interface {
	processor.Sender
	Requeuer
}

// Recorder is what the consumer needs of the ledger.
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
	RetryDelay   time.Duration // of the first retry; doubles with every further one
	Log          *slog.Logger
	Now          func() time.Time
}

// Handle works through a batch and settles each of its messages: Ack when done, Retry when failed.
// It never panics.
func (c *Consumer) Handle(ctx context.Context, queue string, messages []Message) {
	role := contract.QueueRole(queue)
	var excluded *contract.Exclusions
	if role == contract.SeedQueue || role == contract.DomainQueue {
		decisions, exclusions, err := c.Controls.Read(ctx)
		switch {
		case err != nil: // what is excluded is not known, so nothing is fetched
			c.fail(ctx, queue, messages, err)
			return
		case decisions.Pipeline.Paused:
			c.holdBack(ctx, queue, messages, decisions.Pipeline)
			return
		}
		excluded = exclusions
	}
	switch role {
	case contract.SeedQueue:
		c.handleSeeds(ctx, queue, messages)
	case contract.DomainQueue:
		c.handleDomains(ctx, queue, messages, excluded)
	case contract.DeadLetterQueue:
		c.handleDeadLetters(ctx, queue, messages)
	default:
		c.Log.Error("queue_unknown_failed", "error_type", contract.Internal, "queue", queue, "messages", len(messages))
		for _, m := range messages {
			m.Retry(c.RetryDelay)
		}
	}
}

// fail has all messages of a batch delivered again.
func (c *Consumer) fail(ctx context.Context, queue string, messages []Message, err error) {
	o := &outcome{Consumer: c}
	for _, m := range messages {
		c.logFailure(contract.QueueRole(queue)+"_message_failed", m, err)
		o.of(m, c.Now(), err)
	}
	o.settle(ctx, queue, nil)
}

// The delay of messages that a pause holds back grows with the pause: a long one then costs
// little, and a short one is over soon after it ends.
const (
	leastHold = time.Second
	firstHold = 30 * time.Second // unless three times the delay of a retry is shorter
	mostHold  = 30 * time.Minute
)

// holdBack sends the messages of a paused pipeline anew, with a delay, so that however long the
// pause, none is given up.
func (c *Consumer) holdBack(ctx context.Context, queue string, messages []Message, pause contract.Pipeline) {
	delay := min(3*c.RetryDelay, firstHold)
	if pause.Since != nil {
		delay = max(delay, c.Now().Sub(pause.Since.Time)/2)
	}
	delay = min(max(delay, leastHold), mostHold)
	resend := c.Seeds
	if contract.QueueRole(queue) == contract.DomainQueue {
		resend = c.Domains
	}
	for _, m := range messages {
		if err := resend.SendOne(ctx, contract.AsJSON(m.Body()), delay); err != nil {
			c.logFailure(contract.QueueRole(queue)+"_message_failed", m, err)
			m.Retry(delay)
			continue
		}
		m.Ack()
	}
	c.Log.Info("messages_held_back", "queue", queue, "count", len(messages), "delay_ms", delay.Milliseconds())
}

// outcome collects what became of the messages of an event. It may be used by several goroutines.
type outcome struct {
	*Consumer
	mu       sync.Mutex
	failures []failed
	finished []Message
	changes  ledger.Changes
}

// note adds to what the ledger is told.
func (o *outcome) note(add func(c *ledger.Changes)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	add(&o.changes)
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
	o.changes.Releases = releases
	o.record(ctx, queue)
	for _, f := range o.failures {
		f.message.Retry(min(o.RetryDelay<<min(f.message.Attempts()-1, 10), MaxDelay))
	}
}

// record writes the changes of the event to the ledger: also why messages of the queue failed, and which
// work was finished, whose reasons are no longer needed. The ledger being away stops nothing: a dead
// letter then only says less.
func (o *outcome) record(ctx context.Context, queue string) {
	for _, f := range o.failures {
		o.changes.Failures = append(o.changes.Failures, ledger.Failure{
			Work:      deadletters.WorkOf(queue, f.message.Body()),
			MessageID: f.message.ID(), Attempt: f.message.Attempts(),
			ErrorType: contract.KindOf(f.err), ErrorMessage: f.err.Error(),
			WorkerVersion: o.Version, Duration: f.duration, FailedAt: o.Now(),
		})
	}
	for _, m := range o.finished {
		o.changes.Finished = append(o.changes.Finished, deadletters.WorkOf(queue, m.Body()))
	}
	if err := o.Ledger.Record(ctx, o.changes); err != nil {
		o.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error(), "queue", queue)
	}
}

type failed struct {
	message  Message
	err      error
	duration time.Duration
}

func (c *Consumer) handleSeeds(ctx context.Context, queue string, messages []Message) {
	o := &outcome{Consumer: c}
	for _, m := range messages {
		o.of(m, c.Now(), c.seed(ctx, o, m))
	}
	o.settle(ctx, queue, nil)
}

func (c *Consumer) seed(ctx context.Context, o *outcome, m Message) error {
	work, err := contract.ParseSeed(m.Body(), r2.RawPartition)
	if err == nil {
		err = recovered(func() error {
			switch {
			case work.Continue != nil:
				_, err := c.Orchestrator.Run(ctx, *work.Continue)
				return err
			case work.File != nil:
				return c.file(ctx, o, m, work.File)
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

// file processes a raw file and notes what became of it, and of the domains that were sent.
func (c *Consumer) file(ctx context.Context, o *outcome, m Message, work *contract.SeedMessage) error {
	raw, _, _ := r2.ParseRaw(work.FilePath)
	if work.Force && work.RequestedAt.IsZero() {
		work.RequestedAt = m.Sent()
	}
	needed := neededBy(work.Force, work.RequestedAt)
	sender := c.newSender(ledger.Queued{Partition: work.Partition, At: c.Now(), RequiredSince: needed})
	change := ledger.FileChange{RawFile: contract.RawFile(raw), Queued: m.Sent()}
	found := false
	defer func() { // whatever was sent before a panic was sent
		o.note(func(l *ledger.Changes) {
			l.QueuedDomains = append(l.QueuedDomains, sender.unrecorded()...)
			if found {
				l.FoundFiles = append(l.FoundFiles, change)
			} else {
				l.Files = append(l.Files, change)
			}
		})
	}()
	result, err := c.Processor.Process(ctx, work, sender)
	if err != nil {
		return err
	}
	found = result.Skipped
	change.Processed, change.SatisfiedUpTo, change.Duration = c.Now(), needed, result.Duration
	return nil
}

// neededBy is when what a forced message asks for was asked for; zero for any other.
func neededBy(force bool, requested time.Time) time.Time {
	if force {
		return requested
	}
	return time.Time{}
}

// firstSent is when a message about a domain was sent, or first sent anew because the domain was busy.
func firstSent(m Message, work *contract.DomainMessage) time.Time {
	if since := work.BusySince; !since.IsZero() && since.Before(m.Sent()) {
		return since
	}
	return m.Sent()
}

// delivery of a message about a domain, decoded.
type domainDelivery struct {
	Message
	work *contract.DomainMessage
}

// handleDomains collects the domains of a batch side by side, and the messages of one domain one
// after another. Domains that have to be asked for anything are leased first; messages of those that
// another event is asking are sent again for later.
func (c *Consumer) handleDomains(ctx context.Context, queue string, messages []Message, excluded *contract.Exclusions) {
	o := &outcome{Consumer: c}
	batch := c.NewBatch(excluded.URL)
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
		if work.Force && work.RequestedAt.IsZero() {
			work.RequestedAt = firstSent(m, work)
		}
		if excluded.Domain(work.Domain) {
			c.excluded(o, m, work)
			o.of(m, start, nil)
			continue
		}
		if !slices.Contains(toAsk, work.Domain) {
			done, err := batch.Done(ctx, work)
			if err != nil {
				c.logFailure("domain_collector_failed", m, err, "domain_id", work.DomainID, "registrable_domain", work.Domain)
				o.domain(m, work, nil)
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
				c.domain(ctx, o, batch, leases, d)
			}
		})
	}
	wg.Wait()
	o.settle(ctx, queue, leases.release(batch.FreeAt))
}

func (c *Consumer) domain(ctx context.Context, o *outcome, batch Batch, leases *held, d domainDelivery) {
	start := c.Now()
	_, busy := leases.busy[d.work.Domain]
	var outcome *contract.Outcome
	err := recovered(func() error {
		if busy {
			return leases.requeue(ctx, d)
		}
		ctx, cancel := leases.under(ctx, d.work.Domain)
		defer cancel()
		document, err := batch.Collect(ctx, d.work, d.Attempts() > contract.MaxRetries)
		if err == nil {
			is := contract.OutcomeOf(document)
			outcome = &is
		}
		return err
	})
	if errors.Is(err, collector.ErrExcluded) {
		c.excluded(o, d, d.work)
		o.of(d, start, nil)
		return
	}
	if err != nil {
		c.logFailure("domain_collector_failed", d, err, "domain_id", d.work.DomainID, "registrable_domain", d.work.Domain)
	}
	if busy && err == nil {
		d.Ack() // it goes on as another message
		return
	}
	o.domain(d, d.work, func(change *ledger.DomainChange) {
		if outcome != nil {
			change.Outcome, change.SatisfiedUpTo = outcome, change.RequiredSince
		}
	})
	o.of(d, start, err)
}

// excluded notes that operators ruled a domain out.
func (c *Consumer) excluded(o *outcome, m Message, work *contract.DomainMessage) {
	c.Log.Info("domain_excluded", "domain_id", work.DomainID, "registrable_domain", work.Domain)
	o.domain(m, work, func(d *ledger.DomainChange) { d.Excluded = c.Now() })
}

// domain notes what became of a domain.
func (o *outcome) domain(m Message, work *contract.DomainMessage, say func(*ledger.DomainChange)) {
	change := ledger.DomainChange{
		Partition: work.Partition, Domain: work.Domain, Queued: m.Sent(), RequiredSince: neededBy(work.Force, work.RequestedAt),
	}
	if say != nil {
		say(&change)
	}
	o.note(func(l *ledger.Changes) { l.Domains = append(l.Domains, change) })
}

// storeDelay is how long a dead letter waits on its queue when it could not be stored.
const storeDelay = 10 * time.Minute

// handleDeadLetters stores a batch of the dead-letter queue.
func (c *Consumer) handleDeadLetters(ctx context.Context, queue string, messages []Message) {
	letters := make([]deadletters.Message, len(messages))
	for i, m := range messages {
		letters[i] = deadletters.Message{ID: m.ID(), Body: m.Body(), Sent: m.Sent()}
	}
	for i, err := range c.DeadLetters.Put(ctx, queue, letters) {
		if err == nil {
			messages[i].Ack()
		} else {
			c.keepDeadLetter(ctx, messages[i], err)
		}
	}
}

// keepDeadLetter makes sure that a dead letter that could not be stored is not lost: its queue has no
// dead-letter queue of its own, so after the last delivery the message is sent again.
func (c *Consumer) keepDeadLetter(ctx context.Context, m Message, cause error) {
	c.Log.Error("dead_letter_failed", "error_type", contract.KindOf(cause), "error", cause.Error(), "message_id", m.ID(), "attempt", m.Attempts())
	if m.Attempts() > contract.MaxRetries {
		err := c.DLQ.SendOne(ctx, contract.AsJSON(m.Body()), storeDelay)
		if err == nil {
			m.Ack()
			return
		}
		c.Log.Error("dead_letter_lost_failed", "error_type", contract.KindOf(err), "error", err.Error(), "message_id", m.ID(), "original_message", string(m.Body()))
	}
	m.Retry(c.RetryDelay)
}

func (c *Consumer) logFailure(event string, m Message, err error, fields ...any) {
	fields = append(fields, "error_type", contract.KindOf(err), "error", err.Error(), "message_id", m.ID(), "attempt", m.Attempts())
	var p *panicked
	if errors.As(err, &p) {
		fields = append(fields, "stack", p.stack)
	}
	c.Log.Error(event, fields...)
}
