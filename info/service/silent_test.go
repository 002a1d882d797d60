//go:build unix

package service_test

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger"
)

// onServers returns a world with two articles on a PostgreSQL and a Redis server.
func onServers(t *testing.T) (w *world, database, cache *infotest.Server) {
	t.Helper()
	database, address := infotest.Postgres(t)
	cache = infotest.Redis(t)
	db, err := postgres.New(address, database.Dial)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := store.MigratePostgres(context.Background(), db, ""); err != nil {
		t.Fatal(err)
	}
	w = newWorld(t, map[string]string{"FEEDS": "https://feeds.example/rss", "HYPERDRIVE": address,
		"REDIS_URL": "redis://:" + url.QueryEscape(infotest.Password) + "@" + cache.Address})
	w.bound["HYPERDRIVE"] = true
	w.pages["feeds.example/rss"] = feed("one", "two")
	if err := w.collector.Cron(context.Background(), "*/5 * * * *"); err != nil {
		t.Fatal(err)
	}
	return w, database, cache
}

// took returns how long a call takes.
func took(call func()) time.Duration {
	began := time.Now()
	call()
	return time.Since(began)
}

// A Redis that accepts and never answers costs one page a third of a second, and the next ones nothing.
func TestService_SilentRedis(t *testing.T) {
	w, _, redis := onServers(t)
	page := func() {
		t.Helper()
		if titles, source := w.titles(""); strings.Join(titles, " ") != "one two" || source != "postgres" {
			t.Errorf("%v from %s", titles, source)
		}
	}
	w.titles("")
	redis.Freeze()
	if d := took(page); d > 1500*time.Millisecond {
		t.Errorf("the first page took %v", d)
	}
	before := w.dials(redis.Address)
	for range 20 {
		page()
	}
	if n := w.dials(redis.Address) - before; n != 0 {
		t.Errorf("%d of 20 pages waited for it", n)
	}
	if d := took(func() { do(w.api, "GET", "/api/v1/info/health/ready", "") }); d > 3*time.Second {
		t.Errorf("readiness took %v", d)
	}
	redis.Thaw()
	w.later += 10 * time.Second
	if titles, source := w.titles(""); len(titles) != 2 || source != "redis" {
		t.Errorf("it answers again: %v from %s", titles, source)
	}
}

// A database that accepts and never answers costs one reader a few seconds. The others get what the cache has, or an
// error at once.
func TestService_SilentPostgres(t *testing.T) {
	w, db, _ := onServers(t)
	w.titles("")
	db.Freeze()
	search := func() {
		t.Helper()
		if a := do(w.api, "GET", "/api/v1/info/news?q=one", ""); a.Code != 503 || a.Header().Get("Retry-After") == "" {
			t.Errorf("%d %s", a.Code, a.Body)
		}
	}
	if d := took(search); d > 6*time.Second {
		t.Errorf("the first search took %v", d)
	}
	before := w.dials(db.Address)
	for range 20 {
		search()
		if a := do(w.api, "GET", "/api/v1/info/news/count?cursor=1", ""); a.Code != 503 {
			t.Errorf("%d %s", a.Code, a.Body)
		}
		if titles, source := w.titles(""); len(titles) != 2 || source != "redis" {
			t.Errorf("%v from %s", titles, source)
		}
	}
	if n := w.dials(db.Address) - before; n > 1 { // the probe
		t.Errorf("%d of 60 readers waited for it", n)
	}
	db.Thaw()
	w.later += 10 * time.Second
	if titles, source := w.titles("?q=one"); len(titles) != 1 || source != "postgres" {
		t.Errorf("it answers again: %v from %s", titles, source)
	}
}

// While Redis rests after a failure and the database fails, pages come from Redis all the same.
func TestService_RestingRedisWithoutStore(t *testing.T) {
	w, db, redis := onServers(t)
	redis.Freeze()
	w.titles("")
	redis.Thaw()
	db.Kill()
	if titles, source := w.titles(""); len(titles) != 2 || source != "redis" {
		t.Errorf("%v from %s", titles, source)
	}
}

// slow is a D1 that does not answer in time.
type slow struct{ calls int }

func (s *slow) Batch(context.Context, []ledger.Statement) ([]ledger.Result, error) {
	s.calls++
	return nil, os.ErrDeadlineExceeded
}

// A D1 that does not answer in time is spared for a while, by readers alone.
func TestService_SilentD1(t *testing.T) {
	w := newWorld(t, map[string]string{"FEEDS": "https://feeds.example/rss"})
	d1 := &slow{}
	w.platform.D1 = d1
	w.rebind()
	for range 5 {
		if a := do(w.api, "GET", "/api/v1/info/news?q=one", ""); a.Code != 503 || d1.calls != 1 {
			t.Errorf("%d after %d calls", a.Code, d1.calls)
		}
	}
	w.later += 10 * time.Second
	do(w.api, "GET", "/api/v1/info/news?q=one", "")
	if d1.calls != 2 {
		t.Errorf("%d calls after the pause", d1.calls)
	}
	for n := range 3 {
		if w.operate("GET", "/api/v1/info/status", ""); d1.calls != 3+n {
			t.Errorf("operators wait for %d calls", d1.calls-2)
		}
	}
}
