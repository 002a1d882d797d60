package fetch

import (
	"context"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// MaxWaiting is how many fetches of one event may wait for response headers at once. The platform
// lets six connections wait and makes the seventh wait in turn, its timeout running; the sixth is
// left to calls of the stores.
const MaxWaiting = 5

// Limiter is what the sessions of one event share: the slots of requests that wait for headers,
// and the turns of hosts, so that two domains that redirect to one host do not meet there. It is
// safe for concurrent use.
type Limiter struct {
	slots chan struct{}
	mu    sync.Mutex // guards hosts and every host's times
	hosts map[string]*host
}

// NewLimiter returns the Limiter of an event with n slots, usually MaxWaiting.
func NewLimiter(n int) *Limiter {
	return &Limiter{slots: make(chan struct{}, n), hosts: map[string]*host{}}
}

// host is the state of one host name during the event. The token in turn is the right to ask it.
type host struct {
	turn      chan struct{}
	last      time.Time     // end of the last request, the body included
	delay     time.Duration // its Crawl-delay
	notBefore time.Time     // from its Retry-After
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
	pause := max(interval, h.delay)
	if pause == 0 || h.last.IsZero() {
		return time.Time{}
	}
	return h.last.Add(pause + tick)
}

// tick is the grain of the platform's clock. A time it gives may lie that much in the past, so a
// pause measured with it must be longer by as much.
const tick = time.Millisecond

func (l *Limiter) times(h *host, interval time.Duration) (due, notBefore time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return h.due(interval), h.notBefore
}

// postpone makes h unavailable until a time, as its Retry-After asked.
func (l *Limiter) postpone(h *host, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.notBefore = until
}

// leave ends the turn of a request that ended now.
func (l *Limiter) leave(h *host, now time.Time) {
	l.mu.Lock()
	h.last = now
	l.mu.Unlock()
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
