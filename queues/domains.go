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

// domainDelivery is a delivery of a message about a domain, and when work on it began.
type domainDelivery struct {
	Message
	work  *contract.DomainMessage
	start time.Time
}

// readDomain reads a message about a domain, on which work begins now.
func readDomain(m Message, now time.Time) (domainDelivery, error) {
	work, err := contract.ParseDomain(m.Body())
	if err == nil && work.Force && work.RequestedAt.IsZero() {
		work.RequestedAt = firstSent(m, work)
	}
	return domainDelivery{m, work, now}, err
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
// another. Domains that have to be asked for anything are leased first; messages of those that may not
// be asked now are requeued.
func (c *Consumer) handleDomains(ctx context.Context, queue string, messages []Message) {
	e := &domainEvent{start: c.Now(), consumer: c, settlement: c.newSettlement(queue)}
	e.batch = c.NewBatch(func(link string) bool { return e.exclusions.URL(link) })
	e.leases = c.Leases.begin(ctx, e.batch.Visits)
	work := e.read(messages)
	// Looked for at the same time: the checkpoints, the leases, and what operators decided.
	looked := e.lookForCheckpoints(ctx, work.domains)
	lanes := lanesOf(work.domains)
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
	for _, d := range work.refreshes {
		wg.Go(func() { e.refresh(ctx, d) })
	}
	for _, l := range lanes {
		e.sort(ctx, l)
		wg.Go(func() { e.handle(ctx, l) })
	}
	wg.Wait()
	e.settlement.settle(ctx)
}

// domainWork is what a batch asks for.
type domainWork struct {
	domains   []domainDelivery
	refreshes []refreshDelivery
	malformed []malformed
}

// malformed is a message that cannot be read.
type malformed struct {
	Message
	event string // of the log
	err   error
}

// read reads the messages of a batch.
func (e *domainEvent) read(messages []Message) (w domainWork) {
	for _, m := range messages {
		refresh, ok, err := contract.ParseRefresh(m.Body())
		switch {
		case err != nil:
			w.malformed = append(w.malformed, malformed{m, "refresh_failed", err})
			continue
		case ok:
			w.refreshes = append(w.refreshes, refreshDelivery{m, refresh})
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

// lookForCheckpoints begins to look for the checkpoints of deliveries, each once. sort asks for what that found, and reports
// its errors.
func (e *domainEvent) lookForCheckpoints(ctx context.Context, list []domainDelivery) *sync.WaitGroup {
	looks := new(sync.WaitGroup)
	sought := map[string]bool{}
	for _, d := range list {
		key := d.work.Dir().Checkpoint()
		if sought[key] {
			continue
		}
		sought[key] = true
		looks.Go(func() {
			_ = recovered(func() error { _, err := e.batch.Look(ctx, d.work); return err })
		})
	}
	return looks
}

// finished is a delivery whose domain was collected, and what the ledger is to record of it.
type finished struct {
	delivery domainDelivery
	change   ledger.DomainChange
}

// lane is the messages of one domain.
type lane struct {
	deliveries []domainDelivery
	unfinished bool // the domain has to be asked for something

	// The lease that was asked for in case it is needed, and why there is none, once answered is closed; nil where none was
	// asked for.
	speculative *lease
	err         error
	answered    chan struct{}
}

// lanesOf groups deliveries by domain.
func lanesOf(list []domainDelivery) (lanes []*lane) {
	of := map[string]*lane{}
	for _, d := range list {
		l := of[d.work.Domain]
		if l == nil {
			l = &lane{}
			of[d.work.Domain], lanes = l, append(lanes, l)
		}
		l.deliveries = append(l.deliveries, d)
	}
	return lanes
}

// speculate asks for the leases of the domains while it is being found out which of them are needed. A domain that has
// its contract is not leased, which costs the shard no row. While the pipeline is paused, messages come again and
// again: then none is asked for.
func (e *domainEvent) speculate(ctx context.Context, lanes []*lane) {
	if e.consumer.Controls.WasPaused() {
		return
	}
	for _, l := range lanes {
		work := l.deliveries[0].work
		if fetch.Registrable(work.Domain) != work.Domain {
			continue
		}
		t := taking{hosts: l.hosts(work.Domain)} // only one that is needed is waited for
		if !slices.ContainsFunc(l.deliveries, func(d domainDelivery) bool { return d.work.Force || d.work.Partition != work.Partition }) {
			t.unless = &work.Partition
		}
		l.speculative, l.answered = e.leases.of(work.Domain), make(chan struct{})
		go func() {
			defer close(l.answered)
			l.err = recovered(func() error { return l.speculative.take(ctx, t) })
		}()
	}
}

// taken waits for the speculative lease. own is nil where there is none, and it may be asked for: since the contract
// that the domain has was deleted, or is to be made again, or for scrapers to leave a busy domain to this event.
func (l *lane) taken() (own *lease, err error) {
	if l.speculative == nil {
		return nil, nil
	}
	if <-l.answered; errors.Is(l.err, errCollected) || errors.Is(l.err, fetch.ErrHostBusy) {
		return nil, nil
	}
	return l.speculative, l.err
}

// abandon gives the speculative lease back. Where that fails, it ends by itself.
func (l *lane) abandon(ctx context.Context) {
	_ = recovered(func() error {
		if own, err := l.taken(); own != nil && err == nil {
			return own.release(ctx, nil)
		}
		return nil
	})
}

// hosts are those of a registrable domain that its messages name.
func (l *lane) hosts(domain string) []string {
	hosts := []string{domain, "www." + domain}
	for _, d := range l.deliveries {
		hosts = append(hosts, d.work.Domain)
		if u, err := fetch.Guard(d.work.DomainURL); err == nil && fetch.Registrable(u.Hostname()) == domain {
			hosts = append(hosts, u.Hostname())
		}
	}
	return askable(hosts...)
}

// sort ends the deliveries of a lane that need no collection or cannot have one.
func (e *domainEvent) sort(ctx context.Context, l *lane) {
	list := l.deliveries
	l.deliveries = nil
	for _, d := range list {
		if e.exclusions.Domain(d.work.Domain) {
			e.exclude(d)
			continue
		}
		if !l.unfinished {
			done, err := e.batch.Done(ctx, d.work)
			if err != nil {
				e.fail(d, err)
				continue
			}
			l.unfinished = !done
		}
		l.deliveries = append(l.deliveries, d)
	}
}

// handle works through a lane, with a lease of its domain if that has to be asked for anything.
func (e *domainEvent) handle(ctx context.Context, l *lane) {
	var a *access
	var err error
	if l.unfinished {
		if a, err = e.lease(ctx, l); err == nil {
			domain := l.deliveries[0].work.Domain
			e.batch.Leased(domain, e.leases.owner, a.own.endBefore())
			e.batch.Admit(domain, a.Admit)
			if domain == a.own.domain {
				e.batch.Reuse(domain, a.own.reusable())
				e.batch.Defer(domain)
				a.ends = true
				defer func() {
					a.own.collected(e.batch.Gathered(domain))
					e.finish(ctx, a.finished, a.own.release(ctx, e.batch.Changes(domain)))
				}()
			} else { // a message for a domain that is none is collected for itself
				defer func() { _ = a.own.release(ctx, nil) }()
			}
		}
	} else {
		var abandoned sync.WaitGroup
		abandoned.Go(func() { l.abandon(ctx) })
		defer abandoned.Wait()
	}
	for _, d := range l.deliveries {
		d.start = e.consumer.Now()
		if err != nil {
			e.postpone(ctx, d, err)
			continue
		}
		e.work(ctx, d, a)
	}
}

// lease leases the registrable domain of a lane, unless it has its speculative lease.
func (e *domainEvent) lease(ctx context.Context, l *lane) (*access, error) {
	own, err := l.taken()
	if own == nil && err == nil {
		domain := fetch.Registrable(l.deliveries[0].work.Domain)
		own = e.leases.of(domain)
		err = recovered(func() error { return own.take(ctx, taking{hosts: l.hosts(domain), waits: true}) })
	}
	if err != nil {
		return nil, err
	}
	return &access{leases: e.leases, own: own}, nil
}

// work does what a delivery asks for. a is nil when its domain was collected before.
func (e *domainEvent) work(ctx context.Context, d domainDelivery, a *access) {
	under := ctx
	if a != nil {
		under = a.own.under
		if err := e.mayBegin(ctx, d, a.own); err != nil {
			e.postpone(ctx, d, err)
			return
		}
		a.forced = requiredSince(d.work.Force, d.work.RequestedAt)
		defer a.release(ctx)
	}
	outcome, err := e.collect(under, d)
	switch {
	case err == nil:
		change := d.change()
		change.Outcome, change.SatisfiedUpTo = &outcome, change.RequiredSince
		if a != nil && a.ends {
			a.finished = append(a.finished, finished{d, change})
			return
		}
		e.end(d, change, nil)
	case errors.Is(err, collector.ErrExcluded):
		e.exclude(d)
	case under.Err() != nil && ctx.Err() == nil:
		e.postpone(ctx, d, busy(a.own.domain, "was given to another", 0))
	case a != nil && errors.Is(err, fetch.ErrHostBusy) && !errors.As(err, new(*refusal)): // as a host said in this event
		e.postpone(ctx, d, busy(a.own.domain, "is to be left alone", e.saidReadyIn(a.own.domain)))
	default:
		e.postpone(ctx, d, err)
	}
}

// saidReadyIn returns after how long the hosts of a domain may be asked, by what they said in this event.
func (e *domainEvent) saidReadyIn(domain string) time.Duration {
	return e.batch.ReadyAt(domain).Sub(e.leases.Now())
}

// finish ends deliveries whose domain was collected, when its lease was given back with what they changed. With err the
// frontier did not take that, and they are sent again.
func (e *domainEvent) finish(ctx context.Context, list []finished, err error) {
	for _, f := range list {
		if err != nil {
			e.postpone(ctx, f.delivery, err)
		} else {
			e.end(f.delivery, f.change, nil)
		}
	}
}

// mayBegin returns why the domain of a delivery has to be left to a later event, if it has to: another event
// has leased it, this one collected it for so long that it would not live to see the end of one more
// collection, or the host with which a collection begins is to be left alone. Of the others it may need none.
func (e *domainEvent) mayBegin(ctx context.Context, d domainDelivery, own *lease) error {
	var why *refusal
	switch wait := max(own.readyIn(d.work.Domain), e.saidReadyIn(own.domain)); {
	case own.under.Err() != nil:
		why = busy(own.domain, "was given to another", 0)
	case d.start.Sub(e.start) > latestStart:
		why = busy(own.domain, "was asked for so long that there is no time for more", leaseTime)
	case wait > maxReadyWait && !e.batch.MayReuse(d.work):
		why = busy(own.domain, "is to be left alone for that long", wait)
	default:
		return nil
	}
	if done, err := e.batch.Done(ctx, d.work); done || err != nil {
		return err
	}
	return why
}

// postpone ends a delivery that could not be worked on: its message is sent again when its domain may not be
// asked now, and retried after any other error.
func (e *domainEvent) postpone(ctx context.Context, d domainDelivery, err error) {
	var why *refusal
	if !errors.As(err, &why) && errors.Is(err, fetch.ErrFrontier) {
		why = unavailable(d.work.Domain)
	}
	if why != nil {
		err = recovered(func() error { return e.leases.requeue(ctx, d, why) })
	}
	if err != nil {
		e.fail(d, err)
		return
	}
	d.Ack() // another message stands for its work now
}

// collect collects a domain, unless its lease is lost before it is done.
func (e *domainEvent) collect(ctx context.Context, d domainDelivery) (outcome contract.Outcome, err error) {
	err = recovered(func() error {
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
