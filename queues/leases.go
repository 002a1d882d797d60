package queues

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
)

const (
	// leaseTime is how long a lease lasts without renewal: that long after an event was killed
	// another one may take over its domains.
	leaseTime = 30 * time.Second
	// maxReadyWait is how long a collection waits for a host that is not ready; its domain is released, and the
	// message sent again, when it takes longer.
	maxReadyWait = 30 * time.Second
	// maxNamed is how many hosts of a domain are asked about when it is leased.
	maxNamed = 16
)

// Leases let only one event at a time ask the hosts of a registrable domain: the frontier leases them to
// collectors and scrapers alike. While the frontier does not answer, its domains are left alone.
type Leases struct {
	Frontier frontier.Remotes
	Queue    Requeuer // DOMAIN_QUEUE
	Sleep    func(ctx context.Context, d time.Duration) error
	Log      *slog.Logger
	Now      func() time.Time
}

// refusal is why a domain or a host may not be asked now.
type refusal struct {
	err  *contract.Error // matches fetch.ErrHostBusy or fetch.ErrFrontier
	wait time.Duration   // until it is worth trying again; 0 when nothing says when
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func busy(name, why string, wait time.Duration) *refusal {
	return &refusal{&contract.Error{Kind: contract.Timeout, Op: "queues.Leases", Message: "host busy: " + name + " " + why, Err: fetch.ErrHostBusy}, wait}
}

func unavailable(name string) *refusal {
	return &refusal{&contract.Error{Kind: contract.Storage, Op: "queues.Leases", Message: "frontier unavailable: who may ask " + name + " could not be found out", Err: fetch.ErrFrontier}, 0}
}

// eventLeases are the leases of one event.
type eventLeases struct {
	*Leases
	ctx    context.Context // of the event
	owner  string
	visits func(domain string) []frontier.Visit

	mu     sync.Mutex
	leases map[string]*lease // by registrable domain
}

// begin is for an event under ctx. visits returns what was learned of the hosts of a domain.
func (l *Leases) begin(ctx context.Context, visits func(domain string) []frontier.Visit) *eventLeases {
	return &eventLeases{Leases: l, ctx: ctx, owner: rand.Text(), visits: visits, leases: map[string]*lease{}}
}

// of returns the lease of a registrable domain, which may have to be taken.
func (e *eventLeases) of(domain string) *lease {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.leases[domain]
	if l == nil {
		l = &lease{eventLeases: e, domain: domain, hosts: map[string]frontier.HostState{}}
		e.leases[domain] = l
	}
	return l
}

// lease is the right of an event to ask the hosts of a registrable domain. Its collections share it: it
// is released when the last of them has.
type lease struct {
	*eventLeases
	domain string

	mu    sync.Mutex // also while the shard is called for the beginning or the end of the lease
	users int
	under context.Context // ends with the lease; nil while there is none
	end   context.CancelFunc
	hosts map[string]frontier.HostState
	// evidence is where the last complete collection of the domain lies: that of others when the lease began, and
	// that of this event when it ends.
	evidence frontier.Evidence
	before   time.Time // when the lease before this one ended; zero for none

	keeping sync.WaitGroup // renew and watch
	ends    atomic.Int64   // ms since 1970, by this clock
}

// errCollected says that a domain was not leased because it has its contract.
var errCollected = errors.New("the domain was collected")

// taking is how a lease is taken.
type taking struct {
	hosts  []string
	waits  bool                // scrapers leave a busy domain to the next collector
	unless *contract.Partition // where the domain is not leased if it has its contract there: errCollected
}

// take makes the caller a user of the lease, which begins with the first one, and asks about hosts that
// were not asked about.
func (l *lease) take(ctx context.Context, t taking) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ask(ctx, t); err != nil {
		return err
	}
	l.users++
	return nil
}

// ask calls the shard unless there is a lease and the hosts were asked about.
func (l *lease) ask(ctx context.Context, t taking) error {
	if l.under != nil {
		if l.under.Err() != nil {
			return busy(l.domain, "was given to another", 0)
		}
		if !slices.ContainsFunc(t.hosts, func(host string) bool { _, asked := l.hosts[host]; return !asked }) {
			return nil
		}
	}
	since := l.Now()
	answer, err := l.Frontier.Of(l.domain).Acquire(ctx, frontier.AcquireRequest{
		Domain: l.domain, Owner: l.owner, Seconds: int64(leaseTime / time.Second), Hosts: t.hosts, Try: !t.waits, Unless: t.unless,
	})
	switch {
	case err != nil:
		return l.failed(err)
	case answer.Excluded: // since the event began, or no longer: the next event decides by what operators say then
		return busy(l.domain, "is excluded from the frontier", 0)
	case answer.Collected:
		return errCollected
	case !answer.Granted:
		return busy(l.domain, "is being asked by another", time.Duration(answer.RetryIn)*time.Millisecond)
	}
	for _, state := range answer.Hosts {
		l.hosts[state.Host] = state
	}
	l.ends.Store(since.Add(leaseTime).UnixMilli())
	if l.under == nil {
		l.evidence, l.before = answer.Evidence, contract.FromMillis(answer.LastOwned)
		l.under, l.end = context.WithCancel(l.eventLeases.ctx) // it may outlive the collection that took it
		l.keeping.Go(l.renew)
		l.keeping.Go(l.watch)
	}
	return nil
}

// failed logs that a shard gave an error, and returns what that means for its domain. What another
// attempt will not mend is returned as it is.
func (l *lease) failed(err error) error {
	l.Log.Error("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(), "registrable_domain", l.domain)
	switch contract.KindOf(err) {
	case contract.Validation, contract.Parse, contract.Internal:
		return err
	}
	return unavailable(l.domain)
}

// renew renews the lease until it ends. A lease that another has got ends.
func (l *lease) renew() {
	for l.Sleep(l.under, leaseTime/3) == nil {
		at := l.Now()
		kept, err := l.Frontier.Of(l.domain).Renew(l.under, l.domain, l.owner, int64(leaseTime/time.Second))
		switch {
		case l.under.Err() != nil:
			return
		case err != nil:
			l.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(), "registrable_domain", l.domain)
		case kept:
			l.ends.Store(at.Add(leaseTime).UnixMilli())
		default:
			l.lose()
			return
		}
	}
}

// watch ends the lease when it was not renewed in time, even while the shard is being waited for.
func (l *lease) watch() {
	for {
		left := time.UnixMilli(l.ends.Load()).Sub(l.Now())
		if left <= 0 {
			l.lose()
			return
		}
		if l.Sleep(l.under, left) != nil {
			return
		}
	}
}

// lose ends the lease and the work under it: another event may have begun to ask the hosts.
func (l *lease) lose() {
	l.Log.Warn("lease_lost", "registrable_domain", l.domain)
	l.end()
}

// release ends the use of the lease by one that took it. With the last one the lease ends, and the shard
// gets what was learned of the hosts, for those that ask them next. It gives an error when the shard did not take
// the contracts of the domain that were rewritten under the lease.
func (l *lease) release(ctx context.Context, o collector.Outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	changes := o.Changes
	if !o.Evidence.At.IsZero() {
		l.evidence = frontier.Evidence{Partition: o.Evidence.Partition, At: o.Evidence.At.UnixMilli()}
	}
	if l.users--; l.users > 0 {
		return l.announce(ctx, changes)
	}
	lost := l.under.Err() != nil
	l.end()
	l.keeping.Wait()
	request := frontier.ReleaseRequest{Domain: l.domain, Owner: l.owner, Hosts: l.visits(l.domain), Evidence: l.evidence, Changes: changes}
	tries := 2 // else a Retry-After might be lost
	if lost && len(changes) == 0 {
		tries = 1
	}
	err := l.call(ctx, tries, func(shard frontier.Remote) error {
		_, err := shard.Release(ctx, request)
		return err
	})
	if !lost { // what another has is not taken again in this event
		l.under = nil
		clear(l.hosts)
	}
	switch {
	case err == nil:
		return nil
	case len(changes) > 0:
		return l.failed(err)
	}
	l.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(), "registrable_domain", l.domain)
	return nil // the lease ends by itself
}

// announce sends the shard the contracts that were rewritten under a lease which others still use.
func (l *lease) announce(ctx context.Context, changes []frontier.Change) error {
	if len(changes) == 0 {
		return nil
	}
	err := l.call(ctx, 2, func(shard frontier.Remote) error {
		return shard.Changed(ctx, frontier.Changed{Domain: l.domain, Changes: changes})
	})
	if err != nil {
		return l.failed(err)
	}
	return nil
}

// call calls the shard of the domain, so many times where that fails.
func (l *lease) call(ctx context.Context, tries int, do func(frontier.Remote) error) (err error) {
	for try := 1; ; try++ {
		if err = do(l.Frontier.Of(l.domain)); err == nil || try == tries || l.Sleep(ctx, time.Second) != nil {
			return err
		}
	}
}

// granted describes the lease to a visit, whose requests ask admit.
func (l *lease) granted(admit fetch.Admit) collector.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := collector.Lease{Domain: l.domain, Owner: l.owner, LastOwned: l.before, Admit: admit}
	if l.evidence.At != 0 {
		g.Evidence = collector.Evidence{Partition: l.evidence.Partition, At: time.UnixMilli(l.evidence.At)}
	}
	return g
}

// readyIn returns after how long a host may be asked; not positive when it may be now, or was not asked about.
func (l *lease) readyIn(host string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return readyAt(l.hosts[host]).Sub(l.Now())
}

// readyAt returns when a host may be asked. One that is not asked anyway keeps nothing waiting.
func readyAt(state frontier.HostState) time.Time {
	if state.Excluded {
		return time.Time{}
	}
	return time.UnixMilli(max(state.ReadyAt, state.BlockedUntil))
}

// access is what the collections of a domain, one after the other, may ask: its own hosts, and those of other
// domains while the collection has their leases. It is used by one goroutine at a time.
type access struct {
	leases *eventLeases
	own    *lease
	taken  []*lease  // of other domains
	forced time.Time // when an operator asked for the collection; zero when none did
}

// Admit is the fetch.Admit of the collections. A domain that is not its own it takes when nobody else has it,
// and keeps; it never waits for one, since another collection may wait for its own.
func (a *access) Admit(ctx context.Context, host string) (admission fetch.Admission, err error) {
	l := a.leases.of(fetch.Registrable(host))
	switch {
	case l == a.own:
		return l.admission(ctx, host, a.forced)
	case slices.Contains(a.taken, l):
		return l.admission(ctx, host, time.Time{})
	}
	if err := l.take(ctx, taking{hosts: askable(host)}); err != nil {
		return admission, err
	}
	if admission, err = l.admission(ctx, host, time.Time{}); err != nil {
		_ = l.release(ctx, collector.Outcome{})
		return admission, err
	}
	a.taken = append(a.taken, l)
	return admission, nil
}

// release ends the use of other domains, when a collection has ended.
func (a *access) release(ctx context.Context) {
	var wg sync.WaitGroup
	for _, l := range a.taken {
		wg.Go(func() { _ = l.release(ctx, collector.Outcome{}) })
	}
	wg.Wait()
	a.taken = nil
}

// unresolvedFor is how long the frontier leaves a name alone that did not resolve.
const unresolvedFor = time.Hour

// admission returns whether a host may be asked, by the lease of its domain. A name that did not resolve is not
// tried again for a while, unless that was found before the time forced.
func (l *lease) admission(ctx context.Context, host string, forced time.Time) (a fetch.Admission, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ask(ctx, taking{hosts: askable(host)}); err != nil {
		return a, err
	}
	state, now := l.hosts[host], l.Now()
	ready := readyAt(state)
	switch {
	case state.Excluded:
		return a, busy(host, "is excluded from the frontier", 0)
	case time.UnixMilli(state.Unresolved).After(now) && !forced.Add(unresolvedFor).After(time.UnixMilli(state.Unresolved)):
		return a, fetch.Failure(fetch.ErrNotResolved, errors.New("it did not within the last hour"))
	case ready.Sub(now) > maxReadyWait:
		return a, busy(host, "is to be left alone until "+ready.UTC().Format(time.RFC3339), ready.Sub(now))
	}
	return fetch.Admission{Lease: l.under, Delay: time.Duration(state.Delay) * time.Millisecond, ReadyAt: ready}, nil
}

// askable lists the hosts that the frontier may have: it has none whose names are no domains
// of the DNS's letters, digits and hyphens.
func askable(hosts ...string) (list []string) {
	for _, host := range hosts {
		if len(list) < maxNamed && contract.CheckDomain("host", host) == nil && !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	return list
}

// Delays of messages that are sent again.
const (
	// Where it is not known when a domain may be asked, the delay grows with the time that this has lasted.
	minUnknownDelay = 30 * time.Second
	maxUnknownDelay = 30 * time.Minute
	// maxJitter is short, since the frontier keeps scrapers from a domain for a collector only so long after it
	// has become free.
	maxJitter = 15 * time.Second
	// maxScheduledWait is for how long after it was due a scheduled collection is requeued. A domain that has to be
	// left alone for longer would gather one more message every hour, in which the frontier asks for it again.
	maxScheduledWait = 50 * time.Minute
)

// requeue sends the message of a domain that may not be asked now again, for when that is worth a try.
// Unlike a retry this does not count as a delivery, so that no message is given up for it. A scheduled collection is
// left to the frontier, which asks for it again, once the wait is too long.
func (e *eventLeases) requeue(ctx context.Context, d domainDelivery, why *refusal) error {
	body, since := d.Body(), d.work.BusySince
	if since.IsZero() {
		since = e.Now()
		// A message that has no room for the field goes without it.
		if marked := contract.WithBusySince(body, since); contract.Fits(len(marked)) {
			body = marked
		}
	}
	wait := why.wait
	jitter := min(wait/4, maxJitter)
	if wait <= 0 {
		wait = min(max(e.Now().Sub(since)/2, minUnknownDelay), maxUnknownDelay)
		jitter = wait / 4
	}
	wait = min(wait+mathrand.N(jitter+time.Second), MaxDelay)
	requeued := !d.work.Scheduled || e.Now().Add(wait).Sub(d.work.RequestedAt) < maxScheduledWait
	e.Log.Info("domain_busy", "registrable_domain", d.work.Domain, "delay_ms", wait.Milliseconds(), "busy_since", since.UTC(), "reason", why.err.Message, "requeued", requeued)
	if !requeued {
		return nil
	}
	return e.Queue.SendOne(ctx, body, wait)
}
