package queues

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/ledger"
)

// domainDelivery is a delivery of a message about a domain.
type domainDelivery struct {
	Message
	work  *contract.DomainMessage
	start time.Time // of the work on it
}

// readDomain parses a message about a domain.
func readDomain(m Message, now time.Time) (domainDelivery, error) {
	work, err := contract.ParseDomain(m.Body())
	if err == nil && work.Force && work.RequestedAt.IsZero() {
		work.RequestedAt = firstSent(m, work)
	}
	return domainDelivery{m, work, now}, err
}

// change returns what the ledger records about the domain however the delivery ends.
func (d domainDelivery) change() ledger.DomainChange {
	return ledger.DomainChange{
		Partition: d.work.Partition, Domain: d.work.Domain, Queued: d.Sent(),
		RequiredSince: requiredSince(d.work.Force, d.work.RequestedAt),
	}
}

// firstSent returns when a message was first sent: requeuing for a busy domain does not count.
func firstSent(m Message, work *contract.DomainMessage) time.Time {
	if since := work.BusySince; !since.IsZero() && since.Before(m.Sent()) {
		return since
	}
	return m.Sent()
}

// latestStart is the age of an event after which no collection begins. A collection takes up to ten minutes,
// and the platform kills the event after thirteen, with everything that it has not recorded.
const latestStart = 150 * time.Second

// domainEvent is one batch of DOMAIN_QUEUE.
type domainEvent struct {
	start      time.Time
	consumer   *Consumer
	exclusions *contract.Exclusions
	batch      Batch
	leases     *eventLeases
	settlement *settlement
}

// handleDomains collects the domains of a batch in parallel, and the messages of one domain one after another. A
// domain that needs requests is leased first. If it is busy, its messages are requeued.
func (c *Consumer) handleDomains(ctx context.Context, queue string, messages []Message) {
	e := &domainEvent{start: c.Now(), consumer: c, settlement: c.newSettlement(queue)}
	e.batch = c.NewBatch(func(link string) bool { return e.exclusions.URL(link) })
	e.leases = c.Leases.begin(ctx, e.batch.Hosts)
	work := e.read(messages)
	lanes := e.lanes(work.domains)
	// Read at the same time: the checkpoints, the leases, and what operators decided.
	looked := lookForCheckpoints(ctx, lanes)
	e.speculate(ctx, lanes)
	var ok bool
	e.exclusions, ok = c.admit(ctx, queue, messages)
	looked.Wait()
	if !ok {
		for _, l := range lanes {
			l.abandon(ctx)
		}
		return
	}
	for _, f := range work.malformed {
		c.logFailure(f.event, f.Message, f.err)
		e.settlement.end(f.Message, e.start, f.err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { e.refreshAll(ctx, work.refreshes) })
	for _, l := range lanes {
		e.triage(ctx, l)
		wg.Go(func() { e.handle(ctx, l) })
	}
	wg.Wait()
	e.settlement.settle(ctx)
}

// domainWork is the parsed messages of a batch.
type domainWork struct {
	domains   []domainDelivery
	refreshes []refreshDelivery
	malformed []malformed
}

// malformed is a message that could not be parsed.
type malformed struct {
	Message
	event string // of the log
	err   error
}

// read parses the messages of a batch.
func (e *domainEvent) read(messages []Message) (w domainWork) {
	for _, m := range messages {
		refreshes, ok, err := contract.ParseRefreshes(m.Body())
		switch {
		case err != nil:
			w.malformed = append(w.malformed, malformed{m, "refresh_failed", err})
			continue
		case ok:
			w.refreshes = append(w.refreshes, refreshDelivery{m, refreshes})
			continue
		}
		d, err := readDomain(m, e.start)
		if err != nil {
			w.malformed = append(w.malformed, malformed{m, "domain_message_failed", err})
			continue
		}
		w.domains = append(w.domains, d)
	}
	return w
}

// lookForCheckpoints starts reading the checkpoint of each delivery. Visits cache the results, and triage reports
// the errors.
func lookForCheckpoints(ctx context.Context, lanes []*lane) *sync.WaitGroup {
	looks := new(sync.WaitGroup)
	for _, l := range lanes {
		seen := map[contract.Partition]bool{}
		for _, d := range l.deliveries {
			if seen[d.work.Partition] {
				continue
			}
			seen[d.work.Partition] = true
			looks.Go(func() {
				_ = recovered(func() error { _, err := l.visit.Done(ctx, d.work); return err })
			})
		}
	}
	return looks
}

// finished is a delivery whose domain was collected, with its record for the ledger.
type finished struct {
	delivery domainDelivery
	change   ledger.DomainChange
}

// lane is the messages of one domain, and the visit to it.
type lane struct {
	domain     string
	visit      Visit
	deliveries []domainDelivery
	unfinished bool       // some message needs the lease
	access     *access    // the lease; nil without one
	finished   []finished // done once the frontier has taken what the release reports

	// speculative is the lease that was requested in case it is needed; nil if none was. Once answered is closed, err
	// is why it was not granted.
	speculative *lease
	err         error
	answered    chan struct{}
}

// lanes groups deliveries by domain.
func (e *domainEvent) lanes(list []domainDelivery) (lanes []*lane) {
	of := map[string]*lane{}
	for _, d := range list {
		l := of[d.work.Domain]
		if l == nil {
			l = &lane{domain: d.work.Domain, visit: e.batch.Visit(d.work.Domain)}
			of[l.domain], lanes = l, append(lanes, l)
		}
		l.deliveries = append(l.deliveries, d)
	}
	return lanes
}

// speculate requests leases while the checkpoints are read, before it is known which domains need one. The shard
// refuses a domain that has its contract, at the cost of no row. It does nothing after a pause, when messages are
// redelivered over and over.
func (e *domainEvent) speculate(ctx context.Context, lanes []*lane) {
	if e.consumer.Controls.WasPaused() {
		return
	}
	for _, l := range lanes {
		work := l.deliveries[0].work
		if fetch.Registrable(work.Domain) != work.Domain {
			continue
		}
		// a lease that turns out to be needed is requested again, and waited for
		o := leaseOptions{hosts: l.hosts(work.Domain)}
		if !slices.ContainsFunc(l.deliveries, func(d domainDelivery) bool {
			return d.work.Force || d.work.Partition != work.Partition
		}) {
			o.unless = &work.Partition
		}
		l.speculative, l.answered = e.leases.of(work.Domain), make(chan struct{})
		go func() {
			defer close(l.answered)
			l.err = recovered(func() error { return l.speculative.take(ctx, o) })
		}()
	}
}

// speculated waits for the speculative lease. It returns nil if the lease may be requested again: because none was,
// because the contract that prevented it was deleted or has to be renewed, or so that scrapers leave a busy domain to
// this event.
func (l *lane) speculated() (own *lease, err error) {
	if l.speculative != nil {
		<-l.answered
	}
	if errors.Is(l.err, errCollected) || errors.Is(l.err, fetch.ErrHostBusy) {
		return nil, nil
	}
	return l.speculative, l.err
}

// abandon releases the speculative lease. If that fails, it expires.
func (l *lane) abandon(ctx context.Context) {
	_ = recovered(func() error {
		if own, err := l.speculated(); own != nil && err == nil {
			return own.release(ctx, collector.Outcome{})
		}
		return nil
	})
}

// hosts returns the hosts of a registrable domain that its messages name.
func (l *lane) hosts(domain string) []string {
	hosts := []string{domain, "www." + domain}
	for _, d := range l.deliveries {
		hosts = append(hosts, d.work.Domain)
		if u, err := fetch.Guard(d.work.DomainURL); err == nil && fetch.Registrable(u.Hostname()) == domain {
			hosts = append(hosts, u.Hostname())
		}
	}
	return leasable(hosts...)
}

// triage settles the deliveries of a lane that operators excluded, or whose checkpoint cannot be read, and finds out
// whether one of the others needs the lease.
func (e *domainEvent) triage(ctx context.Context, l *lane) {
	list := l.deliveries
	l.deliveries = nil
	for _, d := range list {
		var err error
		switch {
		case e.exclusions.Domain(l.domain):
			err = collector.ErrExcluded
		case !l.unfinished:
			var done bool
			done, err = l.visit.Done(ctx, d.work)
			l.unfinished = err == nil && !done
		}
		if err == nil {
			l.deliveries = append(l.deliveries, d)
		} else {
			e.settle(ctx, d, err)
		}
	}
}

// handle works through a lane. Collections need a lease, and their messages are done once the frontier has taken what
// its release reports. Merges need none.
func (e *domainEvent) handle(ctx context.Context, l *lane) {
	var err error
	var abandoned sync.WaitGroup
	if l.unfinished {
		err = e.begin(ctx, l)
	} else {
		abandoned.Go(func() { l.abandon(ctx) })
	}
	for _, d := range l.deliveries {
		d.start = e.consumer.Now()
		if err != nil {
			e.settle(ctx, d, err)
		} else {
			e.work(ctx, l, d)
		}
	}
	if l.access != nil {
		e.end(ctx, l)
	}
	abandoned.Wait()
}

// begin leases the registrable domain of a lane for the visit. The speculative lease serves if there is one.
func (e *domainEvent) begin(ctx context.Context, l *lane) error {
	own, err := l.speculated()
	if own == nil && err == nil {
		domain := fetch.Registrable(l.domain)
		own = e.leases.of(domain)
		err = recovered(func() error { return own.take(ctx, leaseOptions{hosts: l.hosts(domain), waits: true}) })
	}
	if err == nil {
		l.access = &access{leases: e.leases, own: own}
		l.visit.Begin(own.forVisit(l.access.Admit))
	}
	return err
}

// end releases the lease of a lane, and settles the deliveries that waited for that: if the frontier did not take
// their changes, they are sent again.
func (e *domainEvent) end(ctx context.Context, l *lane) {
	var outcome collector.Outcome
	if l.whole() {
		outcome = l.visit.End()
	}
	err := l.access.own.release(ctx, outcome)
	for _, f := range l.finished {
		if err != nil {
			e.settle(ctx, f.delivery, err)
		} else {
			e.finish(f.delivery, f.change, nil)
		}
	}
}

// whole reports whether the lane's domain is the leased one. A domain that is not registrable is collected under the
// lease of another, which reports nothing about it.
func (l *lane) whole() bool { return l.access != nil && l.access.own.domain == l.domain }

// work collects or merges the domain of one delivery.
func (e *domainEvent) work(ctx context.Context, l *lane, d domainDelivery) {
	under := ctx
	change := d.change()
	var err error
	if l.access != nil {
		under = l.access.own.under
		l.access.forced = change.RequiredSince
		err = e.mayBegin(ctx, l, d)
	}
	if err == nil {
		err = recovered(func() error {
			document, err := l.visit.Collect(under, d.work, d.Attempts() > contract.MaxRetries)
			if err == nil {
				outcome := contract.OutcomeOf(document)
				change.Outcome, change.SatisfiedUpTo = &outcome, change.RequiredSince
			}
			return err
		})
		err = e.refusalOf(ctx, l, err)
	}
	if l.access != nil {
		l.access.release(ctx)
		if why := (*refusal)(nil); errors.As(err, &why) && why.wait > 0 {
			l.access.own.reserve(why.wait)
		}
	}
	switch {
	case err != nil:
		e.settle(ctx, d, err)
	case l.whole():
		l.finished = append(l.finished, finished{d, change})
	default:
		e.finish(d, change, nil)
	}
}

// mayBegin returns why a collection is left to a later event: another event has the lease now, this event is too old
// to finish one more collection, or the domain's first host is not ready soon. A message that is done always may
// begin.
func (e *domainEvent) mayBegin(ctx context.Context, l *lane, d domainDelivery) (err error) {
	own := l.access.own
	switch wait := max(own.readyIn(l.domain), e.readyIn(l)); {
	case own.under.Err() != nil:
		err = busy(own.domain, "was given to another", 0)
	case d.start.Sub(e.start) > latestStart:
		err = busy(own.domain, "took so long that this event has no time for more", leaseTime)
	case wait > maxReadyWait && !l.visit.MayReuse(d.work):
		err = busy(own.domain, "is not ready for that long", wait)
	}
	if err != nil {
		if done, failure := l.visit.Done(ctx, d.work); done || failure != nil {
			err = failure
		}
	}
	return err
}

// readyIn returns how long the hosts of a lane's domain are not ready, by their answers in this event.
func (e *domainEvent) readyIn(l *lane) time.Duration { return l.visit.ReadyAt().Sub(e.leases.Now()) }

// refusalOf returns a refusal if a collection failed because its lease was lost, or because of a host that answered
// in this event that it is not ready. It returns other errors unchanged.
func (e *domainEvent) refusalOf(ctx context.Context, l *lane, err error) error {
	switch {
	case err == nil, l.access == nil, errors.Is(err, collector.ErrExcluded):
	case l.access.own.under.Err() != nil && ctx.Err() == nil:
		err = busy(l.access.own.domain, "was given to another", 0)
	case errors.Is(err, fetch.ErrHostBusy) && !errors.As(err, new(*refusal)):
		err = busy(l.access.own.domain, "is not ready", e.readyIn(l))
	}
	return err
}

// settle ends a delivery that was not collected. It records an exclusion, sends the message again after a refusal, and
// retries it after any other error.
func (e *domainEvent) settle(ctx context.Context, d domainDelivery, err error) {
	var why *refusal
	if !errors.As(err, &why) && errors.Is(err, fetch.ErrFrontier) {
		why = unavailable(d.work.Domain)
	}
	if why != nil {
		err = recovered(func() error { return e.leases.requeue(ctx, d, why) })
	}
	switch {
	case errors.Is(err, collector.ErrExcluded):
		e.exclude(d)
	case err != nil:
		e.fail(d, err)
	default:
		d.Ack() // it was sent again
	}
}

// exclude ends a delivery whose domain is excluded.
func (e *domainEvent) exclude(d domainDelivery) {
	e.consumer.Log.Info("domain_excluded", "domain_id", d.work.DomainID, "registrable_domain", d.work.Domain)
	change := d.change()
	change.Excluded = e.consumer.Now()
	e.finish(d, change, nil)
}

// fail ends a delivery that will be retried.
func (e *domainEvent) fail(d domainDelivery, err error) {
	e.consumer.logFailure("domain_collector_failed", d, err, "domain_id", d.work.DomainID,
		"registrable_domain", d.work.Domain)
	e.finish(d, d.change(), err)
}

// finish settles a delivery and records its result in the ledger.
func (e *domainEvent) finish(d domainDelivery, change ledger.DomainChange, err error) {
	e.settlement.record(func(l *ledger.Changes) { l.Domains = append(l.Domains, change) })
	e.settlement.end(d, d.start, err)
}
