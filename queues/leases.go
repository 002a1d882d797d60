package queues

import (
	"context"
	"crypto/rand"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	// leaseTime is how long a lease lasts without renewal: that long after an event was killed
	// another one may take over its domains.
	leaseTime = 30 * time.Second
	// maxBusy is how long a message may be requeued because its domain is busy.
	maxBusy = time.Hour
)

// Leases let only one event at a time send requests to a domain's hosts. While the ledger is
// unavailable work continues without leases, and the log says so.
type Leases struct {
	Ledger LeaseLedger
	Queue  Requeuer // DOMAIN_QUEUE
	Sleep  func(ctx context.Context, d time.Duration) error
	Log    *slog.Logger
	Now    func() time.Time
}

// LeaseLedger stores leases, which expire by its clock.
type LeaseLedger interface {
	Acquire(ctx context.Context, owner string, domains []string, ttl time.Duration) (busy map[string]time.Duration, err error)
	Renew(ctx context.Context, owner string, domains []string, ttl time.Duration) (lost []string, err error)
}

// eventLeases are the leases of one event.
type eventLeases struct {
	*Leases
	owner   string
	mu      sync.Mutex
	busy    map[string]time.Duration      // domains leased by other events, and for how much longer
	domains map[string]context.CancelFunc // leased by this event; the function stops the work on the domain
	stop    context.CancelFunc
	renewed chan struct{} // closed when renewal has ended
}

// acquire leases domains for an event, as far as they are free, and renews the leases until release.
func (l *Leases) acquire(ctx context.Context, domains []string) *eventLeases {
	e := &eventLeases{Leases: l, owner: rand.Text(), busy: map[string]time.Duration{}, domains: map[string]context.CancelFunc{}, stop: func() {}, renewed: make(chan struct{})}
	if len(domains) == 0 {
		close(e.renewed)
		return e
	}
	busy, err := l.Ledger.Acquire(ctx, e.owner, domains, leaseTime)
	if err != nil {
		l.Log.Warn("lease_failed", "error_type", contract.KindOf(err), "error", err.Error(), "domains", len(domains))
		close(e.renewed)
		return e
	}
	maps.Copy(e.busy, busy)
	for _, d := range domains {
		if _, taken := busy[d]; !taken {
			e.domains[d] = func() {}
		}
	}
	renewing, stop := context.WithCancel(ctx)
	e.stop = stop
	go func() {
		defer close(e.renewed)
		e.renew(renewing)
	}()
	return e
}

// busyFor reports whether another event has leased a domain, and for how much longer.
func (e *eventLeases) busyFor(domain string) (remaining time.Duration, busy bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	remaining, busy = e.busy[domain]
	return remaining, busy
}

// under returns the context for the work on a domain. It ends when the lease is lost.
func (e *eventLeases) under(ctx context.Context, domain string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ours := e.domains[domain]; ours {
		e.domains[domain] = cancel
	}
	return ctx, cancel
}

// renew extends the leases until ctx ends. Work whose lease was lost is stopped, because another
// event may have begun it.
func (e *eventLeases) renew(ctx context.Context) {
	for e.Sleep(ctx, leaseTime/3) == nil {
		e.mu.Lock()
		domains := make([]string, 0, len(e.domains))
		for d := range e.domains {
			domains = append(domains, d)
		}
		e.mu.Unlock()
		lost, err := e.Ledger.Renew(ctx, e.owner, domains, leaseTime)
		if err != nil && ctx.Err() == nil {
			e.Log.Warn("lease_failed", "error_type", contract.KindOf(err), "error", err.Error(), "domains", len(domains))
		}
		e.mu.Lock()
		for _, d := range lost {
			if stop, ours := e.domains[d]; ours {
				e.Log.Warn("lease_lost", "registrable_domain", d)
				stop()
				delete(e.domains, d)
				e.busy[d] = leaseTime
			}
		}
		e.mu.Unlock()
	}
}

// release ends the renewal and returns what releases the leases in the ledger. freeAt returns when a
// domain's hosts may be asked again; until then the domain stays busy for other events.
func (e *eventLeases) release(freeAt func(domain string) time.Time) []ledger.Release {
	e.stop()
	<-e.renewed
	var releases []ledger.Release
	for d := range e.domains {
		releases = append(releases, ledger.Release{Domain: d, Owner: e.owner, CoolDown: max(0, freeAt(d).Sub(e.Now()))})
	}
	return releases
}

// requeue sends the message of a busy domain again, after the wait, when the lease may be over. Unlike a
// retry this does not count as a delivery. It returns an error when the domain has been busy for
// maxBusy or the message could not be sent.
func (e *eventLeases) requeue(ctx context.Context, d domainDelivery, wait time.Duration) error {
	body, since := d.Body(), d.work.BusySince
	if since.IsZero() {
		since = e.Now()
		// A message that has no room for the field goes without it, so maxBusy does not end its requeues.
		if marked := contract.WithBusySince(body, since); contract.Fits(len(marked)) {
			body = marked
		}
	}
	if e.Now().Sub(since) > maxBusy {
		return &contract.Error{Kind: contract.Timeout, Op: "queues.Leases", Field: d.work.Domain, Message: "other events have kept the domain busy for an hour"}
	}
	wait = min(wait+mathrand.N(wait/4+time.Second), MaxDelay)
	e.Log.Info("domain_busy", "registrable_domain", d.work.Domain, "delay_ms", wait.Milliseconds(), "busy_since", since.UTC())
	return e.Queue.SendOne(ctx, body, wait)
}
