//go:build unix

package infotest

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

// Crash dials connections to a server that crashes at one of their operations and is restarted at once: before a
// write, so that nothing arrives, or before a read, when the work might be done and only the answer is lost.
type Crash struct {
	Server *Server
	At     int       // number of the operation, from 1; 0: never
	Signal os.Signal // that ends the server

	mu sync.Mutex
	n  int
}

// Happened reports whether that operation was reached.
func (c *Crash) Happened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.At > 0 && c.n >= c.At
}

// Dial connects to the server.
func (c *Crash) Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := c.Server.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return &crashing{conn, c}, nil
}

func (c *Crash) operation(patience time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n != c.At {
		return
	}
	time.Sleep(patience)
	c.Server.end(c.Signal)
	c.Server.Start()
}

type crashing struct {
	net.Conn
	*Crash
}

func (c *crashing) Write(p []byte) (int, error) {
	c.operation(0)
	return c.Conn.Write(p)
}

func (c *crashing) Read(p []byte) (int, error) {
	c.operation(10 * time.Millisecond) // usually enough for the server to answer
	return c.Conn.Read(p)
}
