// Package redis sends commands to a Redis server over any connection, such as a Worker's socket.
package redis

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/info/connection"
)

// Client is a connection to a server, reopened when it is lost. It is safe for concurrent use; calls are
// serialised.
type Client struct {
	dial     func(ctx context.Context, address string, encrypted bool) (net.Conn, error)
	address  string
	tls      bool
	user     string
	password string
	database string

	kept connection.Kept[*link]
}

// link is an open connection.
type link struct {
	net.Conn
	in *bufio.Reader
}

// timeout limits a call, and the opening of a connection; the deadline of a call's context can be sooner.
const timeout = 5 * time.Second

// New returns a client for redis://user:password@host:port/database, or rediss:// with encryption. dial opens
// connections. Errors do not contain the URL.
func New(address string, dial func(ctx context.Context, address string, encrypted bool) (net.Conn, error)) (*Client,
	error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" {
		return nil, errors.New("invalid URL; use redis://user:password@host:port/database")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	c := &Client{dial: dial, address: net.JoinHostPort(u.Hostname(), port), tls: u.Scheme == "rediss",
		user: u.User.Username(), database: strings.Trim(u.Path, "/")}
	c.password, _ = u.User.Password()
	c.kept.Open = c.open
	return c, nil
}

// Error is the server's error for a command.
type Error string

func (e Error) Error() string { return "redis: " + string(e) }

// Reply is the answer to a command: a string, an int64, a []Reply, an Error, or nil.
type Reply any

// Do sends commands in one go and returns their replies, including the server's errors. If the connection is lost,
// it is reopened and the commands are sent again, unless they timed out: they must be idempotent.
func (c *Client) Do(ctx context.Context, commands ...[]string) (replies []Reply, err error) {
	err = c.kept.Do(ctx, func(l *link) error {
		replies, err = l.exchange(ctx, commands)
		return err
	})
	if err != nil {
		return nil, err
	}
	return replies, nil
}

// Close ends the connection. The next call opens another.
func (c *Client) Close() error {
	if l, ok := c.kept.Take(); ok {
		l.Close()
	}
	return nil
}

func (c *Client) open(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := c.dial(ctx, c.address, c.tls)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	l := &link{conn, bufio.NewReader(conn)}
	if err := c.signIn(ctx, l); err != nil {
		l.Close()
		return nil, cmp.Or(ctx.Err(), err)
	}
	return l, nil
}

func (c *Client) signIn(ctx context.Context, l *link) error {
	var commands [][]string
	switch {
	case c.password != "" && c.user != "":
		commands = append(commands, []string{"AUTH", c.user, c.password})
	case c.password != "":
		commands = append(commands, []string{"AUTH", c.password})
	}
	if c.database != "" && c.database != "0" {
		commands = append(commands, []string{"SELECT", c.database})
	}
	if len(commands) == 0 {
		return nil
	}
	replies, err := l.exchange(ctx, commands)
	for _, r := range replies {
		if e, ok := r.(Error); ok && err == nil {
			err = e
		}
	}
	return err
}

func (l *link) exchange(ctx context.Context, commands [][]string) ([]Reply, error) {
	if err := l.SetDeadline(connection.Deadline(ctx, timeout)); err != nil {
		return nil, err
	}
	var out []byte
	for _, command := range commands {
		out = fmt.Appendf(out, "*%d\r\n", len(command))
		for _, word := range command {
			out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	if _, err := l.Write(out); err != nil {
		return nil, err
	}
	replies := make([]Reply, len(commands))
	for i := range replies {
		var err error
		if replies[i], err = l.read(0); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// Limits of replies.
const (
	maxBulk  = 16 << 20
	maxItems = 1 << 20
	maxDepth = 4
)

var errProtocol = errors.New("redis: protocol error")

// read reads a reply (redis.io/docs/latest/develop/reference/protocol-spec/, RESP2).
func (l *link) read(depth int) (Reply, error) {
	line, err := l.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' || depth > maxDepth {
		return nil, errProtocol
	}
	kind, text := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+':
		return text, nil
	case '-':
		return Error(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return nil, errProtocol
	case kind == ':':
		return n, nil
	case n == -1:
		return nil, nil
	case kind == '$' && n >= 0 && n <= maxBulk:
		b := make([]byte, n+2)
		if _, err := io.ReadFull(l.in, b); err != nil {
			return nil, err
		}
		return string(b[:n]), nil
	case kind == '*' && n >= 0 && n <= maxItems:
		list := []Reply{}
		for range n {
			r, err := l.read(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
		return list, nil
	}
	return nil, errProtocol
}
