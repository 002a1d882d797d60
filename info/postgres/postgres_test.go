//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/ledger"
)

var ctx = context.Background()

func batch(t *testing.T, db *postgres.DB, sql string, args ...any) ledger.Result {
	t.Helper()
	results, err := db.Batch(ctx, []ledger.Statement{{SQL: sql, Args: args}})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

func code(err error) string {
	var e *postgres.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestDB(t *testing.T) {
	server, url := infotest.Postgres(t)
	db, err := postgres.New(url, server.Dial)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	t.Run("values", func(t *testing.T) {
		r := batch(t, db,
			`SELECT $1::text AS "a""b", $2::bigint AS n, $3::text AS none, true AS yes, '{"x": [1]}'::jsonb AS j, `+
				`'q"' AS q, 1.5::numeric AS d`, "한글\n", int64(-7), nil)
		if got := string(r.Rows); got != `[{"a\"b":"한글\n","n":-7,"none":null,"yes":true,"j":{"x": [1]},`+
			`"q":"q\"","d":"1.5"}]` {
			t.Errorf("%s", got)
		}
		if r := batch(t, db, `SELECT 1 AS n WHERE false`); string(r.Rows) != "[]" || r.Changes != 0 {
			t.Errorf("%+v", r)
		}
		if _, err := db.Batch(ctx, []ledger.Statement{{SQL: `SELECT $1`, Args: []any{1.5}}}); err == nil {
			t.Error("a float was taken")
		}
	})
	t.Run("all or nothing", func(t *testing.T) {
		batch(t, db, `CREATE TABLE pairs (a int PRIMARY KEY)`)
		_, err := db.Batch(ctx,
			[]ledger.Statement{{SQL: `INSERT INTO pairs VALUES (1), (2)`}, {SQL: `INSERT INTO pairs VALUES (2)`}})
		if code(err) != "23505" {
			t.Errorf("%v", err)
		}
		if r := batch(t, db, `SELECT a FROM pairs`); string(r.Rows) != "[]" {
			t.Errorf("%s", r.Rows)
		}
		if r := batch(t, db, `INSERT INTO pairs SELECT generate_series(1, 5)`); r.Changes != 5 {
			t.Errorf("%d rows inserted", r.Changes)
		}
		if r := batch(t, db, `DELETE FROM pairs WHERE a > $1::int`, int64(3)); r.Changes != 2 {
			t.Errorf("%d rows deleted", r.Changes)
		}
	})
	t.Run("a statement that takes too long", func(t *testing.T) {
		hasty, err := postgres.New(url, server.Dial)
		if err != nil {
			t.Fatal(err)
		}
		hasty.Timeout = 100 * time.Millisecond
		defer hasty.Close()
		began := time.Now()
		if _, err := hasty.Batch(ctx, []ledger.Statement{{SQL: `SELECT pg_sleep(20)`}}); code(err) != "57014" ||
			time.Since(began) > 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		batch(t, hasty, `SELECT 1`)
	})
	t.Run("a context that ends", func(t *testing.T) {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if _, err := db.Batch(short, []ledger.Statement{{SQL: `SELECT pg_sleep(20)`}}); err == nil {
			t.Error("it was waited for")
		}
		batch(t, db, `SELECT 1`)
	})
	t.Run("a server that goes and comes back", func(t *testing.T) {
		batch(t, db, `SELECT 1`)
		server.Stop()
		if _, err := db.Batch(ctx, []ledger.Statement{{SQL: `SELECT 1`}}); err == nil {
			t.Error("a server that is gone answered")
		}
		server.Start()
		batch(t, db, `SELECT 1`)
		if r := batch(t, db, `SELECT count(*) AS n FROM pairs`); string(r.Rows) != `[{"n":3}]` {
			t.Errorf("%s", r.Rows)
		}
	})
	t.Run("a wrong password", func(t *testing.T) {
		wrong, err := postgres.New(strings.Replace(url, "p%40ss", "other", 1), server.Dial)
		if err != nil {
			t.Fatal(err)
		}
		_, err = wrong.Batch(ctx, []ledger.Statement{{SQL: `SELECT 1`}})
		if code(err) != "28P01" || strings.Contains(err.Error(), "other") {
			t.Errorf("%v", err)
		}
	})
}

func TestNew_ConnectionStrings(t *testing.T) {
	for _, s := range []string{"", "mysql://u:secret@h/d", "postgres://h/d", "postgres://u:secret@/d", "u:secret@h",
		"postgres://u:sec ret@h:x/d"} {
		if _, err := postgres.New(s, nil); err == nil || strings.Contains(err.Error(), "sec") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// Whatever a server answers, a batch fails in finite time.
func TestDB_LyingServer(t *testing.T) {
	const (
		ok    = "R\x00\x00\x00\x08\x00\x00\x00\x00"
		ready = "Z\x00\x00\x00\x05I"
	)
	for name, speech := range map[string]string{
		"hangs up":                "",
		"speaks HTTP":             "HTTP/1.1 400 Bad Request\r\n\r\n",
		"a length of 4 GB":        "R\xff\xff\xff\xff",
		"SCRAM without beginning": "R\x00\x00\x00\x0c\x00\x00\x00\x0bx=y",
		"only a final signature":  "R\x00\x00\x00\x10\x00\x00\x00\x0cv=AAAA",
		"rows nobody described":   ok + ready + "D\x00\x00\x00\x06\x00\x00",
		"fewer results":           ok + ready + ready,
	} {
		db, err := postgres.New("postgres://u:p@h/d", func(context.Context, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				go io.Copy(io.Discard, server)
				server.Write([]byte(speech))
				time.Sleep(50 * time.Millisecond)
				server.Close()
			}()
			return client, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Batch(ctx, []ledger.Statement{{SQL: `SELECT 1`}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
