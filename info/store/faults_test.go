//go:build unix

package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger"
)

const upserted = 120 // articles: five transactions

func toUpsert() (list []store.New) {
	for i := range upserted {
		list = append(list, store.New{Article: infotest.Article(info.Naver, i, noon)})
	}
	return list
}

var noon = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)

// once checks that every article is listed once, and found once.
func once(t *testing.T, s *store.Store, when string) {
	t.Helper()
	for what, q := range map[string]info.Query{"listed": {Category: info.All},
		"found": {Category: info.All, Search: info.ParseSearch("기사")}} {
		seen := map[string]int{}
		q.Limit = info.MaxLimit
		all, _ := infotest.Scroll(func(q info.Query) info.Page {
			p, err := s.Page(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}, q, nil)
		for _, a := range all {
			seen[a.ID]++
		}
		if len(all) != upserted || len(seen) != upserted {
			t.Errorf("%s: %d articles are %s, %d different ones", when, len(all), what, len(seen))
		}
	}
}

// Wherever the server crashes and restarts during five transactions, every article is stored and found exactly
// once.
func TestPostgres_CrashDuringUpsert(t *testing.T) {
	server, url := infotest.Postgres(t)
	open := func(crash *infotest.Crash) *postgres.DB {
		crash.Server = server
		db, err := postgres.New(url, crash.Dial)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	calm := open(&infotest.Crash{})
	migrate(t, calm)
	for at := 1; ; at++ {
		infotest.Wipe(t, calm, "postgres")
		crash := &infotest.Crash{At: at, Signal: []os.Signal{syscall.SIGKILL, syscall.SIGQUIT}[at%2]}
		s := store.NewPostgres(open(crash))
		saved, err := s.Upsert(context.Background(), toUpsert())
		happened := crash.Happened()
		if err != nil {
			if _, err = s.Upsert(context.Background(), toUpsert()); err != nil { // as the next collection does
				t.Fatalf("crash at operation %d: %v", at, err)
			}
		} else if saved.Updated > 0 {
			t.Errorf("crash at operation %d: an article that was stored twice changed: %+v", at, saved)
		}
		once(t, s, fmt.Sprintf("crash at operation %d", at))
		if !happened {
			if at < 8 {
				t.Errorf("only %d operations", at-1)
			}
			return
		}
	}
}

// A takedown whose first answer is lost must not report a missing article.
func TestPostgres_CrashDuringTakedown(t *testing.T) {
	server, url := infotest.Postgres(t)
	open := func(crash *infotest.Crash) *store.Store {
		crash.Server = server
		db, err := postgres.New(url, crash.Dial)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if crash.At == 0 {
			migrate(t, db)
		}
		return store.NewPostgres(db)
	}
	calm := open(&infotest.Crash{})
	for at := 1; ; at++ {
		a := infotest.Article(info.Feed, at, noon)
		if _, err := calm.Upsert(context.Background(), []store.New{{Article: a}}); err != nil {
			t.Fatal(err)
		}
		crash := &infotest.Crash{At: at, Signal: syscall.SIGKILL}
		found, err := open(crash).SetDeleted(context.Background(), a.ID, true)
		if shown, _ := calm.Article(context.Background(), a.ID); err == nil && (!found || shown != nil) {
			t.Errorf("crash at operation %d: found %v, shown %v", at, found, shown != nil)
		}
		if !crash.Happened() {
			return
		}
	}
}

// A restart during a transaction undoes it and keeps the earlier ones; the next collection completes the work.
func TestPostgres_RestartDuringStatement(t *testing.T) {
	server, url := infotest.Postgres(t)
	db, err := postgres.New(url, server.Dial)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	migrate(t, db)
	// The hundredth article, in the fourth transaction, waits for the restart.
	if err := db.Script(context.Background(),
		`CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN NEW; END';
CREATE TRIGGER stall BEFORE INSERT ON news_articles FOR EACH ROW
WHEN (NEW.id = 'naver_000099') EXECUTE FUNCTION stall()`); err != nil {
		t.Fatal(err)
	}
	watch, err := postgres.New(url, server.Dial)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	failed := make(chan error)
	s := store.NewPostgres(db)
	go func() {
		_, err := s.Upsert(context.Background(), toUpsert())
		failed <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); number(t, watch,
		`SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep'`) == 0; time.Sleep(
		10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the statement does not wait")
		}
	}
	server.Stop() // the collector's one retry fails, too
	if err := <-failed; contract.KindOf(err) != contract.Storage {
		t.Errorf("%v", err)
	}
	server.Start()
	if n := number(t, watch, `SELECT count(*) AS n FROM news_articles`); n != 75 {
		t.Errorf("%d articles are stored after the restart", n)
	}
	if err := watch.Script(context.Background(), `DROP TRIGGER stall ON news_articles`); err != nil {
		t.Fatal(err)
	}
	saved, err := s.Upsert(context.Background(), toUpsert())
	if err != nil || saved != (store.Saved{Inserted: 45}) {
		t.Errorf("%+v, %v", saved, err)
	}
	once(t, s, "after the restart")
}

func number(t *testing.T, db store.DB, sql string) int {
	t.Helper()
	results, err := db.Batch(context.Background(), []ledger.Statement{{SQL: sql}})
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct{ N int }
	if err := json.Unmarshal(results[0].Rows, &rows); err != nil {
		t.Fatal(err)
	}
	return rows[0].N
}

// Migrations are applied once, in order, with their record; a database that was migrated by hand goes on from there.
func TestMigratePostgres(t *testing.T) {
	server, url := infotest.Postgres(t)
	db, err := postgres.New(url, server.Dial)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx := context.Background()
	files, _ := fs.Glob(store.Migrations, "postgres/*.sql")
	migrated := func(what, last string, want int) {
		t.Helper()
		applied, err := store.MigratePostgres(ctx, db, last)
		if err != nil || len(applied) != want {
			t.Errorf("%s: %v, %v", what, applied, err)
		}
	}
	migrated("an empty database", "", len(files))
	migrated("again", "", 0)
	a := infotest.Article(info.Naver, 1, time.Now())
	if _, err := store.NewPostgres(db).Upsert(ctx, []store.New{{Article: a}}); err != nil {
		t.Error(err)
	}
	forget := func(tables string) {
		t.Helper()
		if err := db.Script(ctx, tables); err != nil {
			t.Fatal(err)
		}
	}
	s := store.NewPostgres(db)
	if err := s.Ready(ctx); err != nil {
		t.Errorf("migrated, and not ready: %v", err)
	}
	lacking := func(what string) {
		t.Helper()
		var lacks *store.NotMigratedError
		if err := s.Ready(ctx); !errors.As(err, &lacks) || lacks.Migration != path.Base(files[len(files)-1]) {
			t.Errorf("%s: %v", what, err)
		}
	}
	forget("DROP TABLE news_migrations")
	lacking("without a record")
	for _, last := range []string{"", "0009_nothing.sql"} {
		_, err := store.MigratePostgres(ctx, db, last)
		if err == nil || !strings.Contains(err.Error(), "0001_news.sql") {
			t.Errorf("a database without a record, last %q: %v", last, err)
		}
	}
	migrated("migrated by hand", path.Base(files[len(files)-1]), 0)
	forget("DELETE FROM news_migrations WHERE name = '" + path.Base(files[len(files)-1]) + "'")
	lacking("without the last one")
	if applied, err := store.MigratePostgres(ctx, db, ""); err == nil || len(applied) != 0 {
		t.Errorf("a migration that fails: %v, %v", applied, err)
	}
	r, err := db.Batch(ctx, []ledger.Statement{{SQL: `SELECT count(*) AS n FROM news_migrations`}})
	if want := fmt.Sprintf(`[{"n":%d}]`, len(files)-1); err != nil || string(r[0].Rows) != want {
		t.Errorf("%s recorded, not %s; %v", r[0].Rows, want, err)
	}
}
