// Package connection keeps a connection to a server open and replaces it when it is lost.
package connection

import (
	"context"
	"io"
	"sync"
)

// Kept holds at most one connection. It is safe for concurrent use; calls are serialised.
type Kept[C io.Closer] struct {
	// Open opens a connection that is ready for calls.
	Open func(ctx context.Context) (C, error)
	// Survives reports whether the connection is usable after a call failed with err; nil means it never is.
	Survives func(err error) bool

	mu   sync.Mutex
	conn *C // nil if closed
}

// Do makes a call, opening a connection if necessary. If the connection is lost, it opens another and repeats the
// call, which might have taken effect: calls must be idempotent. A call that timed out is not repeated: the next one
// would wait as long. If ctx ends during a call, the connection is closed.
func (k *Kept[C]) Do(ctx context.Context, call func(c C) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.once(ctx, call)
	if err != nil && k.conn == nil && ctx.Err() == nil && !TimedOut(err) {
		err = k.once(ctx, call)
	}
	return err
}

// Once makes a call that must not be repeated.
func (k *Kept[C]) Once(ctx context.Context, call func(c C) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.once(ctx, call)
}

func (k *Kept[C]) once(ctx context.Context, call func(c C) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if k.conn == nil {
		c, err := k.Open(ctx)
		if err != nil {
			return err
		}
		k.conn = &c
	}
	c := *k.conn
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	err := call(c)
	if err != nil && (k.Survives == nil || !k.Survives(err)) {
		c.Close()
		k.conn = nil
		if ended := ctx.Err(); ended != nil { // err only says that the connection was closed
			err = ended
		}
	}
	return err
}

// Take removes and returns the connection, if there is one. The next call opens another.
func (k *Kept[C]) Take() (c C, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn == nil {
		return c, false
	}
	c, k.conn = *k.conn, nil
	return c, true
}
