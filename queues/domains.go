package queues

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

// domainDelivery is a delivery of a message about a domain, and when work on it began.
type domainDelivery struct {
	Message
	work  *contract.DomainMessage
	start time.Time
}

// change is what the ledger records of the domain however the delivery ends.
func (d domainDelivery) change() ledger.DomainChange {
	return ledger.DomainChange{
		Partition: d.work.Partition, Domain: d.work.Domain, Queued: d.Sent(),
		RequiredSince: requiredSince(d.work.Force, d.work.RequestedAt),
	}
}

// firstSent is when a message about a domain was sent, or first requeued because the domain was busy.
func firstSent(m Message, work *contract.DomainMessage) time.Time {
	if since := work.BusySince; !since.IsZero() && since.Before(m.Sent()) {
		return since
	}
	return m.Sent()
}

// latestStart is how long after the start of its event a collection may begin. Collections take up to ten
// minutes, and the event is killed after thirteen, with everything that it has not recorded. A domain that
// does not answer is given up before that, so that its other messages still share the failure.
const latestStart = 150 * time.Second

// domainEvent is the work on one batch of DOMAIN_QUEUE.
type domainEvent struct {
	start      time.Time
	consumer   *Consumer
	exclusions *contract.Exclusions
	batch      Batch
	leases     *eventLeases
	settlement *settlement
}

// handleDomains collects the domains of a batch in parallel, and the messages of one domain one after
// another. Domains that have to be asked for anything are leased first; messages of those that another
// event has leased are requeued.
func (c *Consumer) handleDomains(ctx context.Context, queue string, messages []Message, exclusions *contract.Exclusions) {
	e := &domainEvent{start: c.Now(), consumer: c, exclusions: exclusions, batch: c.NewBatch(exclusions.URL), settlement: c.newSettlement(queue)}
	messages, refreshes := e.split(messages)
	lanes, unfinished := e.sort(ctx, messages)
	e.leases = c.Leases.acquire(ctx, unfinished)
	var wg sync.WaitGroup
	for _, d := range refreshes {
		wg.Go(func() { e.refresh(ctx, d) })
	}
	for _, lane := range lanes {
		wg.Go(func() {
			for _, d := range lane {
				d.start = c.Now()
				e.handle(ctx, d)
			}
		})
	}
	wg.Wait()
	e.settlement.settle(ctx, e.leases.release(e.batch.FreeAt))
}

// split separates the refreshes from the other messages. It ends those that are malformed.
func (e *domainEvent) split(messages []Message) (others []Message, refreshes []refreshDelivery) {
	for _, m := range messages {
		work, ok, err := contract.ParseRefresh(m.Body())
		switch {
		case !ok:
			others = append(others, m)
		case err != nil:
			e.consumer.logFailure("refresh_failed", m, err)
			e.settlement.end(m, e.consumer.Now(), err)
		default:
			refreshes = append(refreshes, refreshDelivery{m, work})
		}
	}
	return others, refreshes
}

// sort groups the messages by domain, and lists the domains that have to be asked for anything. It
// ends messages that need no collection or cannot have one.
func (e *domainEvent) sort(ctx context.Context, messages []Message) (lanes map[string][]domainDelivery, unfinished []string) {
	lanes = map[string][]domainDelivery{}
	for _, m := range messages {
		start := e.consumer.Now()
		work, err := contract.ParseDomain(m.Body())
		if err != nil {
			e.consumer.logFailure("domain_message_failed", m, err)
			e.settlement.end(m, start, err)
			continue
		}
		if work.Force && work.RequestedAt.IsZero() {
			work.RequestedAt = firstSent(m, work)
		}
		d := domainDelivery{m, work, start}
		if e.exclusions.Domain(work.Domain) {
			e.exclude(d)
			continue
		}
		if !slices.Contains(unfinished, work.Domain) {
			done, err := e.batch.Done(ctx, work)
			if err != nil {
				e.fail(d, err)
				continue
			}
			if !done {
				unfinished = append(unfinished, work.Domain)
			}
		}
		lanes[work.Domain] = append(lanes[work.Domain], d)
	}
	return lanes, unfinished
}

// handle collects the domain of a delivery, or requeues the message when that is for a later event.
func (e *domainEvent) handle(ctx context.Context, d domainDelivery) {
	wait, later, err := e.busyFor(ctx, d)
	if err == nil && later {
		err = recovered(func() error { return e.leases.requeue(ctx, d, wait) })
	}
	switch {
	case err != nil:
		e.fail(d, err)
		return
	case later:
		d.Ack() // another message stands for its work now
		return
	}
	outcome, err := e.collect(ctx, d)
	switch {
	case errors.Is(err, collector.ErrExcluded):
		e.exclude(d)
	case err != nil:
		e.fail(d, err)
	default:
		change := d.change()
		change.Outcome, change.SatisfiedUpTo = &outcome, change.RequiredSince
		e.end(d, change, nil)
	}
}

// busyFor reports whether the domain of a delivery has to be left to a later event, and after how long
// that may come: another event has leased it, or this one collected it for so long that it would not
// live to see the end of one more collection.
func (e *domainEvent) busyFor(ctx context.Context, d domainDelivery) (wait time.Duration, busy bool, err error) {
	wait, busy = e.leases.busyFor(d.work.Domain)
	if busy || d.start.Sub(e.start) <= latestStart {
		return wait, busy, nil
	}
	done, err := e.batch.Done(ctx, d.work)
	return leaseTime, !done, err
}

// collect collects a domain, unless its lease is lost before it is done.
func (e *domainEvent) collect(ctx context.Context, d domainDelivery) (outcome contract.Outcome, err error) {
	err = recovered(func() error {
		ctx, cancel := e.leases.under(ctx, d.work.Domain)
		defer cancel()
		document, err := e.batch.Collect(ctx, d.work, d.Attempts() > contract.MaxRetries)
		if err == nil {
			outcome = contract.OutcomeOf(document)
		}
		return err
	})
	return outcome, err
}

// exclude ends a delivery whose domain operators excluded.
func (e *domainEvent) exclude(d domainDelivery) {
	e.consumer.Log.Info("domain_excluded", "domain_id", d.work.DomainID, "registrable_domain", d.work.Domain)
	change := d.change()
	change.Excluded = e.consumer.Now()
	e.end(d, change, nil)
}

// fail ends a delivery that is to be retried.
func (e *domainEvent) fail(d domainDelivery, err error) {
	e.consumer.logFailure("domain_collector_failed", d, err, "domain_id", d.work.DomainID, "registrable_domain", d.work.Domain)
	e.end(d, d.change(), err)
}

func (e *domainEvent) end(d domainDelivery, change ledger.DomainChange, err error) {
	e.settlement.record(func(l *ledger.Changes) { l.Domains = append(l.Domains, change) })
	e.settlement.end(d, d.start, err)
}
