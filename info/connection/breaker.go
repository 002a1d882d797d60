package connection

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrPaused is the error of a call that a Breaker did not make.
var ErrPaused = errors.New("not asked: it did not answer a moment ago")

// Cell is a shared number, initially 0.
type Cell interface {
	Load() int64
	Store(n int64)
}

// Breaker keeps callers from waiting for a server that does not answer: after a failure, calls fail at once until a
// pause is over. A nil Breaker makes every call.
type Breaker struct {
	Until Cell // epoch.Millis; end of the pause
	Pause time.Duration
	Now   func() time.Time
	// Trips reports whether an error begins a pause; nil: a timeout does.
	Trips func(err error) bool
}

// Do makes a call, or returns ErrPaused.
func (b *Breaker) Do(ctx context.Context, call func() error) error {
	if b == nil {
		return call()
	}
	if b.Now().UnixMilli() < b.Until.Load() {
		return ErrPaused
	}
	err := call()
	trips := b.Trips
	if trips == nil {
		trips = TimedOut
	}
	// A caller that went away says nothing about the server.
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) && trips(err) {
		b.Until.Store(b.Now().Add(b.Pause).UnixMilli())
	}
	return err
}

// TimedOut reports whether an error means that a server did not answer in time.
func TimedOut(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}

// Deadline returns the deadline of an operation that may take limit: that of ctx, if it is sooner.
func Deadline(ctx context.Context, limit time.Duration) time.Time {
	at := time.Now().Add(limit)
	if end, ok := ctx.Deadline(); ok && end.Before(at) {
		return end
	}
	return at
}
