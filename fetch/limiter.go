package fetch

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// MaxConnections caps the operations of one event that wait for an answer at once: requests for their headers, and
// calls of stores and queues. The platform queues a seventh while its timeout runs
// (developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections).
const MaxConnections = 6

// Limiter is shared by the sessions of one event. It holds the connections that wait for an answer, and the turns of
// hosts, so that two domains that redirect to one host are polite to it together. It is safe for concurrent use.
type Limiter struct {
	connections chan struct{}
	fetches     chan struct{} // of them, those of requests: slow hosts leave one to the stores
	mu          sync.Mutex    // guards hosts and every host's times
	hosts       map[string]*host
}

// NewLimiter returns the Limiter of an event with n connections, usually MaxConnections, and at least two.
func NewLimiter(n int) *Limiter {
	return &Limiter{connections: make(chan struct{}, n), fetches: make(chan struct{}, n-1), hosts: map[string]*host{}}
}

// Connect waits for a connection for a call of a store. Call release when it has its answer.
func (l *Limiter) Connect(ctx context.Context) (release func(), err error) {
	if err := acquire(ctx, l.connections); err != nil {
		return nil, err
	}
	return func() { <-l.connections }, nil
}

// connectFetch is like Connect for a request.
func (l *Limiter) connectFetch(ctx context.Context) (free func(), err error) {
	if err := acquire(ctx, l.fetches); err != nil {
		return nil, err
	}
	disconnect, err := l.Connect(ctx)
	if err != nil {
		release(l.fetches)
		return nil, err
	}
	return func() {
		disconnect()
		release(l.fetches)
	}, nil
}

// host is the state of one host name during the event.
type host struct {
	turn      chan struct{} // a semaphore for its requests
	last      time.Time     // end of the last request, the body included
	delay     time.Duration // its Crawl-delay, or the longer delay of the frontier
	readyAt   time.Time     // because of requests before this event
	notBefore time.Time     // from its Retry-After
	learned   Visit
}

// Visit holds what an event learned about a host, for those that send requests to it later.
type Visit struct {
	Host          string
	AskedAt       time.Time     // end of the last request, the body included; zero for none
	Delay         time.Duration // its Crawl-delay, 0 without one; only if RobotsExpires is set
	RobotsExpires time.Time     // when its robots.txt expires; zero if it was not read
	RetryAt       time.Time     // by its last Retry-After; zero without one
	Throttled     bool          // its last answer was 429 or 503
	Unresolved    bool          // its name does not resolve
}

// Visits returns what was learned about the hosts for which belongs returns true.
func (l *Limiter) Visits(belongs func(host string) bool) []Visit {
	l.mu.Lock()
	defer l.mu.Unlock()
	var visits []Visit
	for name, h := range l.hosts {
		if h.learned == (Visit{}) || !belongs(name) {
			continue
		}
		h.learned.Host = name
		visits = append(visits, h.learned)
	}
	slices.SortFunc(visits, func(a, b Visit) int { return strings.Compare(a.Host, b.Host) })
	return visits
}

// ReadyAt returns the time when every host that this event sent a request to, and for which belongs returns true, is
// ready for the next one. interval is Config.Interval.
func (l *Limiter) ReadyAt(interval time.Duration, belongs func(host string) bool) (at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, h := range l.hosts {
		if h.last.IsZero() && h.notBefore.IsZero() || !belongs(name) {
			continue
		}
		for _, t := range [...]time.Time{h.due(interval), h.notBefore} {
			if t.After(at) {
				at = t
			}
		}
	}
	return at
}

// learn changes the state of a host.
func (l *Limiter) learn(h *host, change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *Limiter) host(name string) *host {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts[name]
	if h == nil {
		h = &host{turn: make(chan struct{}, 1)}
		l.hosts[name] = h
	}
	return h
}

// due returns when the pause after the last request is over.
func (h *host) due(interval time.Duration) time.Time {
	due := h.readyAt
	if pause := max(interval, h.delay); pause > 0 && !h.last.IsZero() {
		if next := h.last.Add(pause + tick); next.After(due) {
			due = next
		}
	}
	return due
}

// tick is the resolution of the platform's clock. Its time may be that old, so pauses are longer by a tick.
const tick = time.Millisecond

func (l *Limiter) times(h *host, interval time.Duration) (due, notBefore time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return h.due(interval), h.notBefore
}

// delay returns the pause that h wants after a request of this event, or 0 before the first one.
func (l *Limiter) delay(h *host) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.last.IsZero() {
		return 0
	}
	return h.delay
}

// admit applies the frontier's terms to h.
func (l *Limiter) admit(h *host, a Admission) {
	l.learn(h, func() {
		h.delay = max(h.delay, a.Delay)
		if a.ReadyAt.After(h.readyAt) {
			h.readyAt = a.ReadyAt
		}
	})
}

// answered notes whether a response throttles us, and for how long.
func (l *Limiter) answered(h *host, resp *Response, now time.Time) {
	refused := resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusServiceUnavailable
	pause, stated := RetryAfter(resp.Header.Get("Retry-After"), resp.Header.Get("Date"), now)
	l.learn(h, func() {
		h.learned.Unresolved = false
		h.learned.Throttled = refused
		if refused && stated {
			h.notBefore = now.Add(pause)
			h.learned.RetryAt = h.notBefore
		}
	})
}

// leave ends the turn of a request.
func (l *Limiter) leave(h *host, now time.Time) {
	l.learn(h, func() { h.last, h.learned.AskedAt = now, now })
	release(h.turn)
}

// Turn waits until a host is ready for a request that no Session sends. Afterwards leave must be called, with the
// response or nil.
func (l *Limiter) Turn(ctx context.Context, c Clock, name string, a Admission, interval time.Duration) (
	leave func(resp *Response), err error) {
	h := l.host(name)
	l.admit(h, a)
	if err := acquire(ctx, h.turn); err != nil {
		return nil, err
	}
	due, notBefore := l.times(h, interval)
	if notBefore.After(due) {
		due = notBefore
	}
	if wait := due.Sub(c.Now()); wait > 0 {
		if err := c.Sleep(ctx, wait); err != nil {
			release(h.turn)
			return nil, err
		}
	}
	return func(resp *Response) {
		now := c.Now()
		if resp != nil {
			l.answered(h, resp, now)
		}
		l.leave(h, now)
	}, nil
}

// tryAcquire acquires the semaphore c if it is free.
func tryAcquire(c chan struct{}) bool {
	select {
	case c <- struct{}{}:
		return true
	default:
		return false
	}
}

// acquire waits for the semaphore c.
func acquire(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return contract.Wrap(contract.Timeout, "fetch.Limiter", ctx.Err())
	}
}

func release(c chan struct{}) { <-c }
