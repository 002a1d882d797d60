//go:build unix

package store_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

func openD1(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.OpenWith(store.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// migrate applies the migrations to an empty PostgreSQL database.
func migrate(t *testing.T, db *postgres.DB) {
	t.Helper()
	names, err := fs.Glob(store.Migrations, "postgres/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		sql, _ := store.Migrations.ReadFile(name)
		if err := db.Script(context.Background(), string(sql)); err != nil {
			t.Fatal(name, err)
		}
	}
}

func TestD1Conforms(t *testing.T) {
	db := openD1(t)
	for _, c := range infotest.StoreCases {
		t.Run(c.Name, func(t *testing.T) {
			infotest.Wipe(t, db, "d1")
			c.Run(t, store.NewD1(db))
		})
	}
}

func TestPostgresConforms(t *testing.T) {
	server, url := infotest.Postgres(t)
	db, err := postgres.New(url, server.Dial)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	migrate(t, db)
	for _, c := range infotest.StoreCases {
		t.Run(c.Name, func(t *testing.T) {
			infotest.Wipe(t, db, "postgres")
			c.Run(t, store.NewPostgres(db))
		})
	}
}

// plans records the statements of a database and explains them.
type plans struct {
	store.DB
	t      *testing.T
	prefix string
	last   string
}

func (p *plans) Batch(ctx context.Context, statements []ledger.Statement) ([]ledger.Result, error) {
	explained := make([]ledger.Statement, len(statements))
	for i, s := range statements {
		explained[i] = ledger.Statement{SQL: p.prefix + s.SQL, Args: s.Args}
	}
	results, err := p.DB.Batch(ctx, explained)
	if err != nil {
		p.t.Fatal(err)
	}
	p.last = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(results[0].Rows))
	return p.DB.Batch(ctx, statements)
}

// TestPagesAreReadFromIndexes: no query sorts, or begins anywhere but at its cursor.
func TestPagesAreReadFromIndexes(t *testing.T) {
	p := &plans{DB: openD1(t), t: t, prefix: "EXPLAIN QUERY PLAN "}
	s := store.NewD1(p)
	from := &info.Cursor{At: 1_769_601_600_000, ID: "naver_1"}
	for _, c := range []struct {
		q    info.Query
		want string
	}{
		{info.Query{Category: info.All, From: from}, "SEARCH news_articles USING INDEX news_by_time ((published_at,id)<(?,?))"},
		{info.Query{Category: info.AI, From: from}, "SEARCH news_articles USING INDEX news_by_category (category=? AND (published_at,id)<(?,?))"},
		{info.Query{Category: info.All, Source: info.Naver, From: from}, "SEARCH news_articles USING INDEX news_by_source (source=? AND (published_at,id)<(?,?))"},
		{info.Query{Category: info.All, Source: info.Naver}, "USING INDEX news_by_source (source=?)"},
		{info.Query{Category: info.All, HasImage: true, From: from}, "SEARCH news_articles USING INDEX news_by_time ((published_at,id)<(?,?))"},
		{info.Query{Category: info.All, From: from, Newer: true}, "SEARCH news_articles USING INDEX news_by_time ((published_at,id)>(?,?))"},
	} {
		c.q.Limit = 10
		if _, err := s.Page(context.Background(), c.q); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.last, c.want) || strings.Contains(p.last, "TEMP B-TREE") {
			t.Errorf("%+v: %s", c.q, p.last)
		}
	}
}

type broken struct{ err error }

func (b broken) Batch(context.Context, []ledger.Statement) ([]ledger.Result, error) {
	return nil, b.err
}

func TestErrorsHaveAKind(t *testing.T) {
	cause := errors.New("gone")
	for _, s := range []*store.Store{store.NewD1(broken{cause}), store.NewPostgres(broken{cause})} {
		if _, err := s.Page(context.Background(), info.Query{Limit: 1}); contract.KindOf(err) != contract.Storage || !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	}
}
