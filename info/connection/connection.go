// Package connection keeps a connection to a server for as long as it is good, and opens another when it was lost.
package connection

import (
	"context"
	"io"
	"sync"
)

// Kept is at most one connection. It is safe for concurrent use; calls follow one another.
type Kept[C io.Closer] struct {
	// Open opens a connection that is ready for calls.
	Open func(ctx context.Context) (C, error)
	// Survives reports whether a connection is good after a call that failed with err; nil: none is.
	Survives func(err error) bool

	mu   sync.Mutex
	conn *C // nil when there is none
}

// Do makes a call, on a connection that is opened when there is none. When the connection is lost, another is opened
// and the call is made once more, although what it asked for may have been done before the answer was lost: it must
// bear that. A connection is closed when ctx ends during a call.
func (k *Kept[C]) Do(ctx context.Context, call func(c C) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.once(ctx, call)
	if err != nil && k.conn == nil && ctx.Err() == nil {
		err = k.once(ctx, call)
	}
	return err
}

// Once makes a call that does not bear to be made twice.
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
	}
	return err
}

// Take gives the connection away, if there is one. The next call opens another.
func (k *Kept[C]) Take() (c C, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conn == nil {
		return c, false
	}
	c, k.conn = *k.conn, nil
	return c, true
}
