// Package postgres runs statements on a PostgreSQL server over any connection, such as Hyperdrive's socket. It uses
// only the protocol codec of pgx: all of pgx would be a third of a Worker, most of it TLS, which the platform
// provides, and types, where rows here are JSON.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info/connection"
	"github.com/newsfork/seed-engine/ledger"
)

// DB is a connection to a server, reopened when it is lost. It is safe for concurrent use; batches are serialised.
type DB struct {
	// Timeout limits a statement, 0 means 15 s; ConnectTimeout limits the opening of a connection, 0 means 10 s.
	Timeout, ConnectTimeout time.Duration

	dial   func(ctx context.Context, address string) (net.Conn, error)
	config config

	kept connection.Kept[*link]
}

// link is an open connection.
type link struct {
	net.Conn
	wire *pgproto3.Frontend
}

// config is a parsed connection string.
type config struct{ address, user, password, database string }

// New returns a DB for a connection string (postgres://user:password@host:port/database). dial opens connections,
// encrypted if necessary. Errors do not contain the string.
func New(connection string, dial func(ctx context.Context, address string) (net.Conn, error)) (*DB, error) {
	u, err := url.Parse(connection)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Hostname() == "" ||
		u.User.Username() == "" {
		return nil, errors.New("invalid connection string; use postgres://user:password@host:port/database")
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	c := config{address: net.JoinHostPort(u.Hostname(), port), user: u.User.Username(),
		database: strings.TrimPrefix(u.Path, "/")}
	c.password, _ = u.User.Password()
	if c.database == "" {
		c.database = c.user
	}
	d := &DB{dial: dial, config: c}
	d.kept.Open, d.kept.Survives = d.connect, survives
	return d, nil
}

// Error is the server's error for a statement (www.postgresql.org/docs/current/errcodes-appendix.html).
type Error struct {
	Code    string
	Message string
	fatal   bool // the server closes the connection
}

// survives reports whether the connection is usable after an error: the server answered and does not close it.
func survives(err error) bool {
	var server *Error
	return errors.As(err, &server) && !server.fatal
}

func (e *Error) Error() string { return "postgres: " + e.Message + " (SQLSTATE " + e.Code + ")" }

// errProtocol is the error of an unexpected message.
var errProtocol = errors.New("postgres: protocol error")

// Batch runs statements in one transaction. If the connection is lost, it is reopened and the batch is repeated,
// although the transaction might have been committed: statements must be idempotent. A batch that timed out is not
// repeated.
func (d *DB) Batch(ctx context.Context, statements []ledger.Statement) (results []ledger.Result, err error) {
	err = d.kept.Do(ctx, func(l *link) error {
		results, err = l.run(ctx, statements, cmp.Or(d.Timeout, 15*time.Second))
		return err
	})
	return results, err
}

// Close ends the connection. The next batch opens another.
func (d *DB) Close() error {
	if l, ok := d.kept.Take(); ok {
		l.wire.Send(&pgproto3.Terminate{})
		l.wire.Flush() // best effort
		l.Close()
	}
	return nil
}

// grace is the additional time for an answer on the network.
const grace = time.Second

// run runs statements in one transaction.
func (l *link) run(ctx context.Context, statements []ledger.Statement, timeout time.Duration) ([]ledger.Result, error) {
	if err := l.SetDeadline(connection.Deadline(ctx, timeout+grace)); err != nil {
		return nil, err
	}
	// Everything up to Sync is one transaction (www.postgresql.org/docs/current/protocol-flow.html, 55.2.3).
	limit := ledger.Statement{SQL: `SELECT set_config('statement_timeout', $1, true)`,
		Args: []any{strconv.FormatInt(timeout.Milliseconds(), 10)}}
	for _, s := range append([]ledger.Statement{limit}, statements...) {
		parameters, err := encode(s.Args)
		if err != nil {
			return nil, err
		}
		l.wire.Send(&pgproto3.Parse{Query: s.SQL})
		l.wire.Send(&pgproto3.Bind{Parameters: parameters})
		l.wire.Send(&pgproto3.Describe{ObjectType: 'P'})
		l.wire.Send(&pgproto3.Execute{})
	}
	l.wire.Send(&pgproto3.Sync{})
	if err := l.wire.Flush(); err != nil {
		return nil, err
	}
	results, err := l.read()
	if err == nil && len(results) != len(statements)+1 {
		err = errProtocol
	}
	if err != nil {
		return nil, err
	}
	return results[1:], nil
}

// read reads the answers to a batch, until the server is ready for the next one.
func (l *link) read() (results []ledger.Result, failure error) {
	var r *rows
	for {
		m, err := l.wire.Receive()
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *pgproto3.RowDescription:
			r = newRows(m.Fields)
		case *pgproto3.NoData:
			r = newRows(nil)
		case *pgproto3.DataRow:
			if r == nil || len(m.Values) != len(r.columns) {
				return nil, errProtocol
			}
			r.add(m.Values)
		case *pgproto3.CommandComplete:
			results = append(results, ledger.Result{Changes: changes(string(m.CommandTag)), Rows: r.json()})
			r = nil
		case *pgproto3.ErrorResponse:
			failure = &Error{Code: m.Code, Message: m.Message, fatal: m.Severity == "FATAL" || m.Severity == "PANIC"}
			if m.Severity == "FATAL" || m.Severity == "PANIC" {
				return nil, failure
			}
		case *pgproto3.ReadyForQuery:
			return results, failure
		}
	}
}

// changes returns the number of changed rows from a command tag such as "INSERT 0 5" or "UPDATE 5".
func changes(tag string) int64 {
	if strings.HasPrefix(tag, "SELECT") {
		return 0
	}
	n, _ := strconv.ParseInt(tag[strings.LastIndexByte(tag, ' ')+1:], 10, 64)
	return n
}

// encode returns parameters as text; the server infers their types.
func encode(args []any) ([][]byte, error) {
	parameters := make([][]byte, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
		case string:
			parameters[i] = append([]byte{}, v...)
		case int64:
			parameters[i] = strconv.AppendInt(nil, v, 10)
		case epoch.Millis:
			parameters[i] = strconv.AppendInt(nil, int64(v), 10)
		default:
			return nil, fmt.Errorf("type %T not supported for parameter %d", arg, i+1)
		}
	}
	return parameters, nil
}

// Script runs statements without parameters, separated by semicolons, in one transaction.
func (d *DB) Script(ctx context.Context, sql string) error {
	return d.kept.Once(ctx, func(l *link) error {
		if err := l.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		l.wire.Send(&pgproto3.Query{String: sql})
		if err := l.wire.Flush(); err != nil {
			return err
		}
		_, err := l.read()
		return err
	})
}
