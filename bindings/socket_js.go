//go:build js && wasm

package bindings

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall/js"
	"time"

	"github.com/newsfork/seed-engine/worker"
)

// dialTimeout limits Dial unless its context ends sooner.
const dialTimeout = 10 * time.Second

// Dial opens a TCP connection, which the platform encrypts if encrypted is true. Close it before the
// current event ends.
func Dial(ctx context.Context, address string, encrypted bool) (net.Conn, error) {
	secure, limit := "0", dialTimeout
	if encrypted {
		secure = "1"
	}
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, max(time.Until(end), time.Millisecond))
	}
	number, _, err := worker.Ask("socketOpen", nil, address, secure, strconv.FormatInt(limit.Milliseconds(), 10))
	if err != nil {
		return nil, timedOut(err)
	}
	handle := worker.ParseHandle(number)
	return &connection{handle: handle, ReadCloser: handle.Reader(), address: socketAddress(address)}, nil
}

// timedOut returns the error of Go for a time that is over.
func timedOut(err error) error {
	if worker.ErrorName(err) == "TimeoutError" {
		return fmt.Errorf("%w: %w", os.ErrDeadlineExceeded, err)
	}
	return err
}

// connection is a socket as a net.Conn. Reads and writes share a deadline.
type connection struct {
	io.ReadCloser
	handle  worker.Handle
	address socketAddress
}

func (c *connection) Write(p []byte) (int, error) {
	if _, _, err := worker.Ask("socketWrite", p, c.handle.String()); err != nil {
		return 0, timedOut(err)
	}
	return len(p), nil
}

func (c *connection) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	return n, timedOut(err)
}

func (c *connection) SetReadDeadline(t time.Time) error  { return c.SetDeadline(t) }
func (c *connection) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

func (c *connection) SetDeadline(t time.Time) error {
	var ms int64
	if !t.IsZero() {
		ms = max(time.Until(t).Milliseconds(), 1)
	}
	_, _, err := worker.Ask("socketExpire", nil, c.handle.String(), strconv.FormatInt(ms, 10))
	return err
}

func (c *connection) LocalAddr() net.Addr  { return socketAddress("") }
func (c *connection) RemoteAddr() net.Addr { return c.address }

type socketAddress string

func (socketAddress) Network() string  { return "tcp" }
func (a socketAddress) String() string { return string(a) }

// Bound reports whether the current event has a binding or variable called name.
func Bound(name string) bool {
	v := worker.Env(name)
	return !v.IsUndefined() && !v.IsNull()
}

// Hyperdrive returns the connection string of a Hyperdrive binding, or "" if it is not bound.
func Hyperdrive(name string) string {
	v := worker.Env(name)
	if v.Type() != js.TypeObject {
		return ""
	}
	if s := v.Get("connectionString"); s.Type() == js.TypeString {
		return s.String()
	}
	return ""
}
