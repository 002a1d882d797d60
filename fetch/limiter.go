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

// MaxConnections is how many operations of one event may wait for an answer at once: requests for their headers,
// calls of stores and queues. The platform makes the seventh wait in turn, its timeout running
// (developers.cloudflare.com/workers/platform/limits/#simultaneous-open-connections).
const MaxConnections = 6

// Limiter is what the sessions of one event share: the connections that wait for an answer,
// and the turns of hosts, so that two domains that redirect to one host do not meet there. It is
// safe for concurrent use.
type Limiter struct {
	connections chan struct{}
	fetches     chan struct{} // of them, those of requests: one is left to the stores, which answer sooner than slow hosts
	mu          sync.Mutex    // guards hosts and every host's times
	hosts       map[string]*host
}

// NewLimiter returns the Limiter of an event with n connections, usually MaxConnections, and at least two.
func NewLimiter(n int) *Limiter {
	return &Limiter{connections: make(chan struct{}, n), fetches: make(chan struct{}, n-1), hosts: map[string]*host{}}
}

// Connect waits for a connection for a call that is no request of a session. release gives it back, when the
// call has its answer.
func (l *Limiter) Connect(ctx context.Context) (release func(), err error) {
	if err := acquire(ctx, l.connections); err != nil {
		return nil, err
	}
	return func() { <-l.connections }, nil
}

// connectFetch is Connect for a request.
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

// host is the state of one host name during the event. The token in turn is the right to ask it.
type host struct {
	turn      chan struct{}
	last      time.Time     // end of the last request, the body included
	delay     time.Duration // its Crawl-delay, or what it was slowed down to
	readyAt   time.Time     // because of what was asked before this event
	notBefore time.Time     // from its Retry-After
	learned   Visit
}

// Visit is what an event learned of a host, for all that ask it afterwards.
type Visit struct {
	Host          string
	AskedAt       time.Time     // end of the last request, the body included; zero: it was not asked
	Delay         time.Duration // its Crawl-delay, 0 without one; only where RobotsExpires is set
	RobotsExpires time.Time     // when its robots.txt is to be read again; zero: it was not read
	RetryAt       time.Time     // what its last Retry-After asks for; zero without one
	Throttled     bool          // its last answer was 429 or 503
	Unresolved    bool          // its name does not resolve
}

// Visits returns what was learned of the hosts for which belongs returns true.
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

// ReadyAt returns when all of the hosts for which belongs returns true may be asked again that were asked
// before; interval is that of Config.
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

// due is when h may be asked again for the sake of politeness.
func (h *host) due(interval time.Duration) time.Time {
	due := h.readyAt
	if pause := max(interval, h.delay); pause > 0 && !h.last.IsZero() {
		if next := h.last.Add(pause + tick); next.After(due) {
			due = next
		}
	}
	return due
}

// tick is the grain of the platform's clock. A time it gives may lie that much in the past, so a
// pause measured with it must be longer by as much.
const tick = time.Millisecond

func (l *Limiter) times(h *host, interval time.Duration) (due, notBefore time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return h.due(interval), h.notBefore
}

// delay is the pause that h wants after a request of this event, 0 before the first one.
func (l *Limiter) delay(h *host) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.last.IsZero() {
		return 0
	}
	return h.delay
}

// admit takes over what was known of h before this event.
func (l *Limiter) admit(h *host, a Admission) {
	l.learn(h, func() {
		h.delay = max(h.delay, a.Delay)
		if a.ReadyAt.After(h.readyAt) {
			h.readyAt = a.ReadyAt
		}
	})
}

// answered takes from an answer whether the host wants to be asked less. A host that says for how long
// it wants no request is left alone until then.
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

// leave ends the turn of a request that ended now.
func (l *Limiter) leave(h *host, now time.Time) {
	l.learn(h, func() { h.last, h.learned.AskedAt = now, now })
	release(h.turn)
}

// tryAcquire takes room in c, a semaphore, if there is any.
func tryAcquire(c chan struct{}) bool {
	select {
	case c <- struct{}{}:
		return true
	default:
		return false
	}
}

// acquire waits for room in c.
func acquire(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return contract.Wrap(contract.Timeout, "fetch.Limiter", ctx.Err())
	}
}

func release(c chan struct{}) { <-c }
