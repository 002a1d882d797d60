package queues

import (
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	// leaseTime is how long a lease holds without renewal: so much later another event may take over
	// the domains of one that was killed.
	leaseTime = 30 * time.Second
	// maxBusy is how long a message may be sent anew because its domain is busy.
	maxBusy = time.Hour
)

// Leases lets one event at a time send requests to a domain's hosts. Without the ledger the work
// goes on unleased, and the log says so.
type Leases struct {
	Ledger LeaseLedger
	Queue  Requeuer // DOMAIN_QUEUE
	Sleep  func(ctx context.Context, d time.Duration) error
	Log    *slog.Logger
	Now    func() time.Time
}

// LeaseLedger keeps leases by its own clock.
type LeaseLedger interface {
	Acquire(ctx context.Context, owner string, domains []string, ttl time.Duration) (busy map[string]time.Duration, err error)
	Renew(ctx context.Context, owner string, domains []string, ttl time.Duration) (lost []string, err error)
}

// held is the leases of one event.
type held struct {
	*Leases
	owner   string
	busy    map[string]time.Duration // domains of others, and how long they remain so
	mu      sync.Mutex
	domains map[string]context.CancelFunc // ours, and what stops the work on them
	stop    context.CancelFunc
	renewed chan struct{} // closed when renewal has ended
}

// acquire takes the leases of an event and keeps them until release.
func (l *Leases) acquire(ctx context.Context, domains []string) *held {
	h := &held{Leases: l, owner: rand.Text(), domains: map[string]context.CancelFunc{}, stop: func() {}, renewed: make(chan struct{})}
	if len(domains) == 0 {
		close(h.renewed)
		return h
	}
	busy, err := l.Ledger.Acquire(ctx, h.owner, domains, leaseTime)
	if err != nil {
		l.Log.Warn("lease_failed", "error_type", contract.KindOf(err), "error", err.Error(), "domains", len(domains))
		close(h.renewed)
		return h
	}
	h.busy = busy
	for _, d := range domains {
		if _, taken := busy[d]; !taken {
			h.domains[d] = func() {}
		}
	}
	renewing, stop := context.WithCancel(ctx)
	h.stop = stop
	go func() {
		defer close(h.renewed)
		h.renew(renewing)
	}()
	return h
}

// under gives the context of the work on a domain, which ends when its lease is lost.
func (h *held) under(ctx context.Context, domain string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ours := h.domains[domain]; ours {
		h.domains[domain] = cancel
	}
	return ctx, cancel
}

// renew extends the leases while the event works. Work whose lease was lost is stopped: another
// event is at it.
func (h *held) renew(ctx context.Context) {
	for h.Sleep(ctx, leaseTime/3) == nil {
		h.mu.Lock()
		domains := make([]string, 0, len(h.domains))
		for d := range h.domains {
			domains = append(domains, d)
		}
		h.mu.Unlock()
		lost, err := h.Ledger.Renew(ctx, h.owner, domains, leaseTime)
		if err != nil && ctx.Err() == nil {
			h.Log.Warn("lease_failed", "error_type", contract.KindOf(err), "error", err.Error(), "domains", len(domains))
		}
		h.mu.Lock()
		for _, d := range lost {
			if stop, ours := h.domains[d]; ours {
				h.Log.Warn("lease_lost", "registrable_domain", d)
				stop()
				delete(h.domains, d)
			}
		}
		h.mu.Unlock()
	}
}

// release ends renewal and gives the records that give the leases up. freeAt says when a domain's
// hosts may be asked again, which whoever comes next has to wait for.
func (h *held) release(freeAt func(domain string) time.Time) []ledger.Release {
	h.stop()
	<-h.renewed
	var releases []ledger.Release
	for d := range h.domains {
		releases = append(releases, ledger.Release{Domain: d, Owner: h.owner, CoolDown: max(0, freeAt(d).Sub(h.Now()))})
	}
	return releases
}

// requeue sends the message of a busy domain again for when the lease may be over, without counting
// as a retry. It returns an error when the domain has been busy for too long or the message could not
// be sent.
func (h *held) requeue(ctx context.Context, d domainDelivery) error {
	body, since := d.Body(), d.work.BusySince
	if since.IsZero() {
		since = h.Now()
		// A message without room for it goes without, and may be sent anew for longer.
		if marked := contract.WithBusySince(body, since); contract.Fits(len(marked)) {
			body = marked
		}
	}
	if h.Now().Sub(since) > maxBusy {
		return &contract.Error{Kind: contract.Timeout, Op: "queues.Leases", Field: d.work.Domain, Message: "other events have kept the domain busy for an hour"}
	}
	wait := h.busy[d.work.Domain]
	wait = min(wait+mathrand.N(wait/4+time.Second), MaxDelay)
	h.Log.Info("domain_busy", "registrable_domain", d.work.Domain, "delay_ms", wait.Milliseconds(), "busy_since", since.UTC())
	return h.Queue.SendOne(ctx, body, wait)
}
