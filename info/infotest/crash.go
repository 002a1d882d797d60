//go:build unix

package infotest

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

// Crash dials connections to a server that crashes at one of the operations on them, and is started again at
// once: before a write, so that nothing of it arrives, or before a read, when what was asked for may be done
// and only its answer is lost.
type Crash struct {
	Server *Server
	At     int       // the number of the operation, from 1; 0: never
	Signal os.Signal // with which the server ends

	mu sync.Mutex
	n  int
}

// Happened reports whether the connections saw as many operations.
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
	c.operation(10 * time.Millisecond) // time enough for the server to answer, mostly
	return c.Conn.Read(p)
}
