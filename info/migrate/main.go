// Command migrate applies the migrations of the Info service's PostgreSQL that a database lacks, and records them. The
// database is that of the variable DATABASE_URL; LAST names the last migration of one that was migrated by hand.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/store"
)

func main() {
	if err := run(os.Getenv("DATABASE_URL"), os.Getenv("LAST")); err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

func run(address, last string) error {
	if address == "" {
		return errors.New("set URL to postgres://user:password@host:port/database")
	}
	u, err := url.Parse(address)
	if err != nil {
		return errors.New("URL is invalid; use postgres://user:password@host:port/database")
	}
	db, err := postgres.New(address, dialer(u))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	applied, err := store.MigratePostgres(ctx, db, last)
	for _, name := range applied {
		fmt.Println("applied", name)
	}
	if err == nil && len(applied) == 0 {
		fmt.Println("nothing to apply")
	}
	return err
}

// dialer encrypts connections (www.postgresql.org/docs/current/protocol-flow.html, SSL Session Encryption), except with
// sslmode=disable and to a server of this machine without TLS.
func dialer(u *url.URL) func(ctx context.Context, address string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil || u.Query().Get("sslmode") == "disable" {
			return conn, err
		}
		var answer [1]byte
		if _, err = conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err == nil {
			_, err = conn.Read(answer[:])
		}
		switch {
		case err != nil:
		case answer[0] == 'S':
			secure := tls.Client(conn, &tls.Config{ServerName: u.Hostname()})
			if err = secure.HandshakeContext(ctx); err == nil {
				return secure, nil
			}
		case contract.IsLoopback(u.Hostname()):
			return conn, nil
		default:
			err = errors.New("the server offers no TLS; add ?sslmode=disable to send the password in the clear")
		}
		conn.Close()
		return nil, err
	}
}
