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
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
)

const (
	// leaseTime is the term of a lease. Another event takes over the domains of a killed event after that.
	leaseTime = 30 * time.Second
	// maxReadyWait caps the wait of a collection for a host. If it takes longer, the domain is released and the
	// message sent again.
	maxReadyWait = 30 * time.Second
	// maxNamed caps the hosts whose state is requested with a lease.
	maxNamed = 16
)

// Leases ensure that only one event at a time sends requests to the hosts of a registrable domain. The frontier grants
// them to collectors and scrapers alike. A domain whose shard does not answer gets no requests.
type Leases struct {
	Frontier client.Frontier
	Queue    Requeuer // DOMAIN_QUEUE
	Sleep    func(ctx context.Context, d time.Duration) error
	Log      *slog.Logger
	Now      func() time.Time
}

// refusal is the reason why a domain or host gets no requests now.
type refusal struct {
	err  *contract.Error // matches fetch.ErrHostBusy or fetch.ErrFrontier
	wait time.Duration   // until the next attempt; 0 if unknown
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func busy(name, why string, wait time.Duration) *refusal {
	return &refusal{&contract.Error{Kind: contract.Timeout, Op: "queues.Leases",
		Message: "host busy: " + name + " " + why, Err: fetch.ErrHostBusy}, wait}
}

func unavailable(name string) *refusal {
	return &refusal{&contract.Error{Kind: contract.Storage, Op: "queues.Leases",
		Message: "frontier unavailable: the shard of " + name + " did not answer", Err: fetch.ErrFrontier}, 0}
}

// eventLeases are the leases of one event.
type eventLeases struct {
	*Leases
	ctx    context.Context // of the event
	owner  string
	visits func(domain string) []frontier.HostFindings

	mu     sync.Mutex
	leases map[string]*lease // by registrable domain
}

// begin starts the leases of an event. visits returns what the event learned about the hosts of a domain.
func (l *Leases) begin(ctx context.Context, visits func(domain string) []frontier.HostFindings) *eventLeases {
	return &eventLeases{Leases: l, ctx: ctx, owner: rand.Text(), visits: visits, leases: map[string]*lease{}}
}

// of returns the lease of a registrable domain, which might not be taken yet.
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

// lease is the right of an event to send requests to the hosts of a registrable domain. Its collections share the
// lease, which ends with the last of them.
type lease struct {
	*eventLeases
	domain string

	mu       sync.Mutex // held during acquire and release, too
	users    int
	under    context.Context // ends with the lease; nil while there is none
	end      context.CancelFunc
	hosts    map[string]frontier.HostState
	evidence frontier.Evidence // of the domain's last complete collection, by this event or before it
	before   time.Time         // when the previous lease ended; zero if there was none
	retryAt  time.Time         // when a collection that found a host not ready is tried again; zero if none is

	keeping sync.WaitGroup // renew and watch
	ends    atomic.Int64   // epoch.Millis, by this clock
}

// errCollected is returned when a domain is not leased because it has its contract.
var errCollected = errors.New("the domain was collected")

// leaseOptions are the options for taking a lease.
type leaseOptions struct {
	hosts  []string
	waits  bool                // if the domain is busy, scrapers leave it to this event once it is free
	unless *contract.Partition // refuse with errCollected if the domain has its contract there
}

// take adds a user to the lease. The first user acquires it; later ones may add hosts.
func (l *lease) take(ctx context.Context, o leaseOptions) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.acquire(ctx, o); err != nil {
		return err
	}
	l.users++
	return nil
}

// acquire acquires the lease, or renews it for the state of hosts that were not named before.
func (l *lease) acquire(ctx context.Context, o leaseOptions) error {
	if l.under != nil {
		if l.under.Err() != nil {
			return busy(l.domain, "was given to another", 0)
		}
		if !slices.ContainsFunc(o.hosts, func(host string) bool { _, asked := l.hosts[host]; return !asked }) {
			return nil
		}
	}
	since := l.Now()
	answer, err := l.Frontier.Of(l.domain).Acquire(ctx, frontier.AcquireRequest{
		Domain: l.domain, Owner: l.owner, Seconds: int64(leaseTime / time.Second), Hosts: o.hosts, Try: !o.waits,
		Unless: o.unless,
	})
	switch {
	case err != nil:
		return l.failed(err)
	// since this event read the exclusions, or until the shard reads them: the next event decides
	case answer.Excluded:
		return busy(l.domain, "is excluded from the frontier", 0)
	case answer.Collected:
		return errCollected
	case !answer.Granted:
		return busy(l.domain, "is leased to another", time.Duration(answer.RetryIn)*time.Millisecond)
	}
	for _, state := range answer.Hosts {
		l.hosts[state.Host] = state
	}
	l.ends.Store(since.Add(leaseTime).UnixMilli())
	if l.under == nil {
		l.evidence, l.before = answer.Evidence, answer.LastOwned.Time()
		l.under, l.end = context.WithCancel(l.eventLeases.ctx) // the lease might outlive the collection that took it
		l.keeping.Go(l.renew)
		l.keeping.Go(l.watch)
	}
	return nil
}

// failed logs the error of a shard. It returns an error that another attempt cannot fix unchanged, and a refusal for
// any other.
func (l *lease) failed(err error) error {
	l.Log.Error("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(),
		"registrable_domain", l.domain)
	switch contract.KindOf(err) {
	case contract.Validation, contract.Parse, contract.Internal:
		return err
	}
	return unavailable(l.domain)
}

// renew renews the lease until it ends, or somebody else has it.
func (l *lease) renew() {
	for l.Sleep(l.under, leaseTime/3) == nil {
		at := l.Now()
		kept, err := l.Frontier.Of(l.domain).Renew(l.under, l.domain, l.owner, int64(leaseTime/time.Second))
		switch {
		case l.under.Err() != nil:
			return
		case err != nil:
			l.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(),
				"registrable_domain", l.domain)
		case kept:
			l.ends.Store(at.Add(leaseTime).UnixMilli())
		default:
			l.lose()
			return
		}
	}
}

// watch ends the lease when it expires, even while renew waits for the shard.
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

// lose ends the lease and cancels the work under it: another event might send requests already.
func (l *lease) lose() {
	l.Log.Warn("lease_lost", "registrable_domain", l.domain)
	l.end()
}

// release removes a user from the lease. The last release ends it and tells the shard what was learned about the
// hosts. It fails if the shard did not take the contracts that were rewritten under the lease.
func (l *lease) release(ctx context.Context, o collector.Outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	changes := o.Changes
	if !o.Evidence.At.IsZero() {
		l.evidence = frontier.Evidence{Partition: o.Evidence.Partition, At: epoch.MillisOf(o.Evidence.At)}
	}
	if l.users--; l.users > 0 {
		return l.announce(ctx, changes)
	}
	lost := l.under.Err() != nil
	l.end()
	l.keeping.Wait()
	request := frontier.ReleaseRequest{Domain: l.domain, Owner: l.owner, Hosts: l.visits(l.domain),
		Evidence: l.evidence, Changes: changes, Returns: epoch.MillisOf(l.retryAt)}
	tries := 2 // so that a Retry-After is not lost
	if lost && len(changes) == 0 {
		tries = 1
	}
	err := l.call(ctx, tries, func(shard client.Shard) error {
		_, err := shard.Release(ctx, request)
		return err
	})
	if !lost { // a lost lease is not taken again in this event
		l.under, l.retryAt = nil, time.Time{}
		clear(l.hosts)
	}
	switch {
	case err == nil:
		return nil
	case len(changes) > 0:
		return l.failed(err)
	}
	l.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(),
		"registrable_domain", l.domain)
	return nil // the lease expires
}

// reserve reserves the domain, after the lease, for a collection that is retried in wait.
func (l *lease) reserve(wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.Now().Add(wait); at.After(l.retryAt) {
		l.retryAt = at
	}
}

// announce sends the shard rewritten contracts while the lease still has users.
func (l *lease) announce(ctx context.Context, changes []frontier.Change) error {
	if len(changes) == 0 {
		return nil
	}
	err := l.call(ctx, 2, func(shard client.Shard) error {
		return shard.Changed(ctx, frontier.Changed{Domain: l.domain, Changes: changes})
	})
	if err != nil {
		return l.failed(err)
	}
	return nil
}

// call calls the shard of the domain, with retries.
func (l *lease) call(ctx context.Context, tries int, do func(client.Shard) error) (err error) {
	for try := 1; ; try++ {
		if err = do(l.Frontier.Of(l.domain)); err == nil || try == tries || l.Sleep(ctx, time.Second) != nil {
			return err
		}
	}
}

// forVisit describes the lease to a visit, whose requests ask admit.
func (l *lease) forVisit(admit fetch.Admit) collector.Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := collector.Lease{Domain: l.domain, Owner: l.owner, LastOwned: l.before, Admit: admit,
		Usage: l.usageOf}
	if l.evidence.At != 0 {
		g.Evidence = collector.Evidence{Partition: l.evidence.Partition, At: l.evidence.At.Time()}
	}
	return g
}

// usageOf returns what a host says about the use of its content; "" if that is not known.
func (l *lease) usageOf(host string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hosts[host].Usage
}

// readyIn returns how long until a host is ready. It is not positive if the host is ready, or its state is unknown.
func (l *lease) readyIn(host string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return readyAt(l.hosts[host]).Sub(l.Now())
}

// readyAt returns when a host is ready. Nothing waits for an excluded host.
func readyAt(state frontier.HostState) time.Time {
	if state.Excluded {
		return time.Time{}
	}
	return max(state.ReadyAt, state.BlockedUntil).Time()
}

// access grants the collections of a domain, one after the other, their requests: to its own hosts, and to hosts of
// other domains, which it leases for one collection. It is used by one goroutine at a time.
type access struct {
	leases *eventLeases
	own    *lease
	taken  []*lease  // of other domains
	forced time.Time // when an operator requested the collection; zero if none did
}

// Admit implements fetch.Admit for the collections. It leases another domain if that is free and never waits for it,
// since two collections might wait for each other.
func (a *access) Admit(ctx context.Context, host string) (admission fetch.Admission, err error) {
	l := a.leases.of(fetch.Registrable(host))
	switch {
	case l == a.own:
		return l.admission(ctx, host, a.forced)
	case slices.Contains(a.taken, l):
		return l.admission(ctx, host, time.Time{})
	}
	if err := l.take(ctx, leaseOptions{hosts: leasable(host)}); err != nil {
		return admission, err
	}
	if admission, err = l.admission(ctx, host, time.Time{}); err != nil {
		_ = l.release(ctx, collector.Outcome{})
		return admission, err
	}
	a.taken = append(a.taken, l)
	return admission, nil
}

// release releases the other domains at the end of a collection.
func (a *access) release(ctx context.Context) {
	var wg sync.WaitGroup
	for _, l := range a.taken {
		wg.Go(func() { _ = l.release(ctx, collector.Outcome{}) })
	}
	wg.Wait()
	a.taken = nil
}

// admission returns the terms for requests to a host. A name that did not resolve is refused for a while, unless that
// was found out before the time forced.
func (l *lease) admission(ctx context.Context, host string, forced time.Time) (a fetch.Admission, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.acquire(ctx, leaseOptions{hosts: leasable(host)}); err != nil {
		return a, err
	}
	state, now := l.hosts[host], l.Now()
	ready := readyAt(state)
	switch {
	case state.Excluded:
		return a, busy(host, "is excluded from the frontier", 0)
	case state.Unresolved.Time().After(now) &&
		!forced.Add(frontier.UnresolvedFor).After(state.Unresolved.Time()):
		return a, fetch.Failure(fetch.ErrNotResolved, errors.New("it did not resolve within the last hour"))
	case ready.Sub(now) > maxReadyWait:
		return a, busy(host, "is not ready until "+ready.UTC().Format(time.RFC3339), ready.Sub(now))
	}
	return fetch.Admission{Lease: l.under, Delay: time.Duration(state.Delay) * time.Millisecond, ReadyAt: ready}, nil
}

// leasable returns the distinct hosts that are valid domain names, at most maxNamed: the frontier has no others.
func leasable(hosts ...string) (list []string) {
	for _, host := range hosts {
		if len(list) < maxNamed && contract.CheckDomain("host", host) == nil && !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	return list
}

// Delays of requeued messages.
const (
	// If it is unknown when a domain is free, the delay grows with the time that it has been busy.
	minUnknownDelay = 30 * time.Second
	maxUnknownDelay = 30 * time.Minute
	// maxJitter is short because the frontier reserves a free domain for a waiting collector only briefly.
	maxJitter = 15 * time.Second
	// maxScheduledWait ends the requeuing of a scheduled collection, counted from its due time. The frontier
	// schedules it again every hour, so a domain that is busy for longer would accumulate messages.
	maxScheduledWait = 50 * time.Minute
)

// requeue sends the message of a busy domain again, with a delay. Unlike a retry this is not counted as a failed
// delivery. A scheduled collection that would wait too long is dropped: the frontier schedules it again.
func (e *eventLeases) requeue(ctx context.Context, d domainDelivery, why *refusal) error {
	body, since := d.Body(), d.work.BusySince
	if since.IsZero() {
		since = e.Now()
		// A message that is too large for the field is sent without it.
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
	e.Log.Info("domain_busy", "registrable_domain", d.work.Domain, "delay_ms", wait.Milliseconds(),
		"busy_since", since.UTC(), "reason", why.err.Message, "requeued", requeued)
	if !requeued {
		return nil
	}
	return e.Queue.SendOne(ctx, body, wait)
}
