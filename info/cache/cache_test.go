//go:build unix

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/redis"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

var ctx = context.Background()

// database is a database and the store on it.
type database struct {
	db    store.DB
	store *store.Store
}

func d1(t *testing.T) database {
	t.Helper()
	db, err := sqlite.OpenWith(store.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return database{db, store.NewD1(db)}
}

func pg(t *testing.T) database {
	t.Helper()
	server, url := infotest.Postgres(t)
	db, err := postgres.New(url, server.Dial)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := store.MigratePostgres(ctx, db, ""); err != nil {
		t.Fatal(err)
	}
	return database{db, store.NewPostgres(db)}
}

func kv(*testing.T) func() cache.Cache {
	return func() cache.Cache { return cache.NewKV(&cache.Memory{}) }
}

func redisURL(s *infotest.Server) string {
	return "redis://:" + url.QueryEscape(infotest.Password) + "@" + s.Address + "/3"
}

func client(t *testing.T, s *infotest.Server) *redis.Client {
	t.Helper()
	c, err := redis.New(redisURL(s), func(ctx context.Context, address string, _ bool) (net.Conn,
		error) {
		return s.Dial(ctx, address)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func onRedis(t *testing.T) func() cache.Cache {
	t.Helper()
	c := client(t, infotest.Redis(t))
	return func() cache.Cache {
		if _, err := c.Do(ctx, []string{"FLUSHALL"}); err != nil {
			t.Fatal(err)
		}
		return cache.NewRedis(c)
	}
}

// TestPairs runs the suite on every store with every cache.
func TestPairs(t *testing.T) {
	for _, s := range []struct {
		name string
		open func(*testing.T) database
	}{{"d1", d1}, {"postgres", pg}} {
		for _, c := range []struct {
			name string
			open func(*testing.T) func() cache.Cache
		}{{"kv", kv}, {"redis", onRedis}} {
			t.Run(s.name+"+"+c.name, func(t *testing.T) {
				database, empty := s.open(t), c.open(t)
				for _, c := range infotest.PairCases {
					t.Run(c.Name, func(t *testing.T) {
						infotest.Wipe(t, database.db, database.store.Name())
						c.Run(t, database.store, empty())
					})
				}
			})
		}
	}
}

// Ten thousand articles from sources that are up to three hours late.
func TestPairs_LateSources(t *testing.T) {
	n, nothing := 10_000, func(time.Time) {}
	if testing.Short() {
		n = 1000
	}
	t.Run("d1+kv", func(t *testing.T) {
		var now time.Time
		m := &cache.Memory{Lag: time.Minute, Now: func() time.Time { return now }}
		infotest.LateSources(t, d1(t).store, cache.NewKV(m), n, func(at time.Time) { now = at })
	})
	t.Run("postgres+redis", func(t *testing.T) {
		infotest.LateSources(t, pg(t).store, onRedis(t)(), n, nothing)
	})
}

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func upsert(t *testing.T, s *store.Store, articles ...info.Article) {
	t.Helper()
	var list []store.New
	for _, a := range articles {
		list = append(list, store.New{Article: a})
	}
	if _, err := s.Upsert(ctx, list); err != nil {
		t.Fatal(err)
	}
}

// An unchanged category is written again only because of its age.
func TestKV_Writes(t *testing.T) {
	s, m := d1(t).store, &cache.Memory{}
	k := cache.NewKV(m)
	at := time.Now()
	a := infotest.Article(info.Naver, 1, at)
	a.Category = info.AI
	upsert(t, s, a)
	for _, c := range []struct {
		after time.Duration
		add   info.Category
		puts  int
	}{{0, "", 4}, {time.Minute, "", 0}, {2 * time.Minute, info.AI, 2}, {3 * time.Minute, "", 0},
		{11 * time.Minute, "", 2}, {12 * time.Minute, "", 2}} {
		if c.add != "" {
			b := infotest.Article(info.Naver, 2, at)
			b.Category = c.add
			upsert(t, s, b)
		}
		before := m.Puts
		if _, err := cache.FillNow(ctx, k, s, "x", at.Add(c.after)); err != nil {
			t.Fatal(err)
		}
		if m.Puts-before != c.puts {
			t.Errorf("after %v: %d values written, not %d", c.after, m.Puts-before, c.puts)
		}
	}
}

// KV can return the previous value for a minute. A change that is reverted within that minute must not be taken for
// no change.
func TestKV_LastChange(t *testing.T) {
	s, at := d1(t).store, time.Now()
	m := &cache.Memory{Lag: time.Minute, Now: func() time.Time { return at }}
	k := cache.NewKV(m)
	for i := range 2 {
		upsert(t, s, infotest.Article(info.Naver, i, at.Add(-time.Duration(i)*time.Second)))
	}
	change := func(after time.Duration, deleted bool) {
		t.Helper()
		at = at.Add(after)
		if _, err := s.SetDeleted(ctx, "naver_000001", deleted); err != nil {
			t.Fatal(err)
		}
		if _, err := cache.FillNow(ctx, k, s, "x", at); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(want int) {
		t.Helper()
		at = at.Add(time.Minute)
		if a, err := k.Page(ctx, info.Query{Category: info.All, Limit: 10}); err != nil || a == nil ||
			len(a.Items) != want {
			t.Errorf("%d articles are shown, not %d: %v", len(a.Items), want, err)
		}
	}
	change(0, false)
	change(2*time.Minute, true)
	change(20*time.Second, false)
	shown(2)
	change(0, true)
	change(time.Second, false)
	change(time.Second, true)
	shown(1)

	// A refresher that is killed before it records its writes.
	change(0, false)
	at = at.Add(2 * time.Minute)
	if _, err := s.SetDeleted(ctx, "naver_000001", true); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.FillNow(ctx, k, killed{s}, "x", at); err == nil {
		t.Fatal("it was not killed")
	}
	change(20*time.Second, false)
	shown(2)
}

// killed is a store whose user dies before it records that the cache was filled.
type killed struct{ cache.Store }

func (killed) SetRefreshed(context.Context, string, time.Time, map[info.Category]string) error {
	return errGone
}

// Only one of the readers that miss the cache fills it, even while KV lags.
func TestFill_OneRefresher(t *testing.T) {
	for name, c := range map[string]cache.Cache{"kv": cache.NewKV(&cache.Memory{Lag: time.Minute}),
		"redis": onRedis(t)()} {
		s := &counting{Store: d1(t).store}
		upsert(t, s.Store, infotest.Article(info.Naver, 1, time.Now()))
		for wave := range 3 {
			var done sync.WaitGroup
			for i := range 20 {
				done.Go(func() {
					r := cache.Reader{Cache: c, Store: s, Kind: "d1", Owner: fmt.Sprint(wave, i), Log: discard(),
						Now: time.Now}
					if _, err := r.Page(ctx, info.Query{Category: info.All, Limit: 10}); err != nil {
						t.Error(err)
					}
				})
			}
			done.Wait()
		}
		if s.fills != 4 {
			t.Errorf("%s: %d pages were read to fill the cache, not four", name, s.fills)
		}
	}
}

// counting counts the slow reads of pages for the cache.
type counting struct {
	*store.Store
	mu    sync.Mutex
	fills int
}

func (c *counting) Page(ctx context.Context, q info.Query) (info.Page, error) {
	if q.Limit == cache.Size {
		c.mu.Lock()
		c.fills++
		c.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
	return c.Store.Page(ctx, q)
}

// succeed records a collection that is stale after a quarter of an hour.
func succeed(t *testing.T, s *store.Store, at time.Time) {
	t.Helper()
	if err := s.Succeed(ctx, store.Success{Source: info.Feed, Now: at, StaleAt: at.Add(15 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
}

// Readers of an old cache get it at once, and one of them refreshes it afterwards. It stays marked as stale until
// the next collection.
func TestReader_StaleWhileRevalidate(t *testing.T) {
	for name, c := range map[string]cache.Cache{"kv": kv(t)(), "redis": onRedis(t)()} {
		t.Run(name, func(t *testing.T) {
			s := &counting{Store: d1(t).store}
			began := time.Now()
			now := began
			succeed(t, s.Store, began)
			upsert(t, s.Store, infotest.Article(info.Naver, 1, began))
			if _, err := cache.FillNow(ctx, c, s, "x", began); err != nil {
				t.Fatal(err)
			}
			upsert(t, s.Store, infotest.Article(info.Naver, 2, began))
			s.fills = 0
			q := info.Query{Category: info.All, Limit: 10}
			var mu sync.Mutex
			var later []func(context.Context)
			afterwards := func() { // all at once
				var done sync.WaitGroup
				for _, work := range later {
					done.Go(func() { work(ctx) })
				}
				done.Wait()
				later = nil
			}
			readers := make([]*cache.Reader, 20)
			for i := range readers {
				readers[i] = &cache.Reader{Cache: c, Store: s, Kind: "d1", Owner: fmt.Sprint(i), Log: discard(),
					Now: func() time.Time { return now },
					Background: func(work func(context.Context)) {
						mu.Lock()
						defer mu.Unlock()
						later = append(later, work)
					}}
			}
			read := func(what string, items int, stale bool) {
				t.Helper()
				for _, r := range readers {
					got, err := r.Page(ctx, q)
					if err != nil || got.Source != c.Name() || len(got.Items) != items || got.Stale != stale {
						t.Fatalf("%s: %d from %s, stale %v, %v", what, len(got.Items), got.Source, got.Stale, err)
					}
				}
			}
			read("at first", 1, false)
			if afterwards(); s.fills > 0 {
				t.Errorf("a fresh cache is refreshed, %d pages read", s.fills)
			}
			now = began.Add(cache.Stale + time.Second)
			read("an old cache", 1, true)
			read("an old cache again", 1, true)
			if len(later) != len(readers) || s.fills > 0 {
				t.Errorf("%d refreshes were begun, %d pages read before readers had their answer", len(later),
					s.fills)
			}
			if afterwards(); s.fills != 4 {
				t.Errorf("%d pages were read, not four", s.fills)
			}
			read("after the refresh", 2, true)
			if afterwards(); s.fills != 4 {
				t.Error("a cache that was just refreshed is refreshed again")
			}
			succeed(t, s.Store, now)
			if filled, err := cache.Fill(ctx, c, s, "collector", now); err != nil || !filled {
				t.Fatal(filled, err)
			}
			read("after a collection", 2, false)
		})
	}
}

// A cache with all of a page serves it without the store, but marks it.
func TestReader_StoreGone(t *testing.T) {
	for name, c := range map[string]cache.Cache{"kv": kv(t)(), "redis": onRedis(t)()} {
		t.Run(name, func(t *testing.T) {
			s := &faulty{Store: d1(t).store}
			upsert(t, s.Store.(*store.Store), infotest.Article(info.Naver, 1, time.Now()))
			if _, err := cache.FillNow(ctx, c, s, "x", time.Now()); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			var later func(context.Context)
			r := &cache.Reader{Cache: c, Store: s, Kind: "d1", Owner: "r", Log: discard(),
				Now:        func() time.Time { return now },
				Background: func(work func(context.Context)) { later = work }}
			read := func(what string, stale bool) {
				t.Helper()
				got, err := r.Page(ctx, info.Query{Category: info.All, Limit: 10})
				if err != nil || got.Source != c.Name() || len(got.Items) != 1 || got.More || got.Stale != stale {
					t.Errorf("%s: %d from %s, more %v, stale %v, %v", what, len(got.Items), got.Source, got.More,
						got.Stale, err)
				}
			}
			looks := func(what string) {
				t.Helper()
				if later == nil {
					t.Fatalf("%s: nothing is done after the answer", what)
				}
				later(ctx)
				later = nil
			}
			read("at first", false)
			looks("at first")
			pages := s.pages
			for range 5 {
				read("a second later", false)
				now = now.Add(time.Second - time.Millisecond)
			}
			if later != nil || s.pages != pages {
				t.Error("the store is asked again within five seconds")
			}
			now = now.Add(time.Second)
			s.err = errGone
			read("the store is gone, which no one noticed", false)
			looks("the store is gone")
			read("the store is gone", true)
			now = now.Add(2 * cache.TTL)
			s.err = nil
			pages = s.pages
			if read("an old cache, while the store is gone as far as one knows", true); s.pages != pages {
				t.Error("a reader waited for a store that is gone")
			}
			looks("it is back")
			read("it is back, and the cache was refreshed", false)
		})
	}
}

// Readers do not wait for a hanging store, and not long after the answer. A client that hangs up does not count
// against the store.
func TestReader_StoreHangs(t *testing.T) {
	s, k := &faulty{Store: d1(t).store}, kv(t)()
	upsert(t, s.Store.(*store.Store), infotest.Article(info.Naver, 1, time.Now()))
	if _, err := cache.FillNow(ctx, k, s, "x", time.Now()); err != nil {
		t.Fatal(err)
	}
	r := &cache.Reader{Cache: k, Store: s, Kind: "d1", Owner: "r", Log: discard(), Now: time.Now}
	s.hangs = true
	left, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if got, err := r.Page(left, info.Query{Category: info.All, Limit: 10}); err != nil || got.Stale {
		t.Errorf("after a client that went away: stale %v, %v", got.Stale, err)
	}
	began := time.Now()
	r = &cache.Reader{Cache: k, Store: s, Kind: "d1", Owner: "r", Log: discard(), Now: time.Now}
	if got, err := r.Page(ctx, info.Query{Category: info.All, Limit: 10}); err != nil || !got.Stale ||
		time.Since(began) > 10*time.Second {
		t.Errorf("stale %v after %v, %v", got.Stale, time.Since(began), err)
	}
}

var errGone = &contract.Error{Kind: contract.Storage, Message: "gone"}

// faulty is a store that can fail or hang, and counts its pages.
type faulty struct {
	cache.Store
	err   error
	hangs bool
	pages int
}

func (f *faulty) Page(ctx context.Context, q info.Query) (info.Page, error) {
	f.pages++
	if f.hangs {
		<-ctx.Done()
		return info.Page{}, &contract.Error{Kind: contract.Storage, Err: ctx.Err()}
	}
	if f.err != nil {
		return info.Page{}, f.err
	}
	return f.Store.Page(ctx, q)
}

// If the cache cannot be written, that is tried once a minute, not by every reader.
func TestReader_RefreshFails(t *testing.T) {
	s, m := &counting{Store: d1(t).store}, &cache.Memory{}
	upsert(t, s.Store, infotest.Article(info.Naver, 1, time.Now()))
	now, k := time.Now(), cache.NewKV(readOnly{m})
	r := &cache.Reader{Cache: k, Store: s, Kind: "d1", Owner: "r", Log: discard(),
		Now: func() time.Time { return now }}
	read := func(fills int) {
		t.Helper()
		for range 20 {
			if got, err := r.Page(ctx, info.Query{Category: info.All, Limit: 10}); err != nil || got.Source != "d1" ||
				len(got.Items) != 1 {
				t.Fatal(got, err)
			}
		}
		if s.fills != fills {
			t.Errorf("%d pages were read to fill the cache, not %d", s.fills, fills)
		}
	}
	read(4)
	now = now.Add(time.Minute)
	read(8)
	now = now.Add(time.Minute)
	m.Fail = func() error { return errors.New("KV is down") }
	read(8)
}

// readOnly is a namespace that cannot be written.
type readOnly struct{ *cache.Memory }

func (readOnly) Put(context.Context, string, []byte, time.Duration) error {
	return errors.New("KV PUT failed: 429 Too Many Requests")
}

func TestReader_Degraded(t *testing.T) {
	s := d1(t).store
	var list []info.Article
	for i := range 230 {
		list = append(list, infotest.Article(info.Naver, i, time.Now().Add(-time.Duration(i)*time.Second)))
	}
	upsert(t, s, list...)
	succeed(t, s, time.Now())
	m := &cache.Memory{}
	k := cache.NewKV(m)
	if _, err := cache.FillNow(ctx, k, s, "x", time.Now()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	r := cache.Reader{Cache: k, Store: s, Kind: "d1", Owner: "r", Log: discard(),
		Now: func() time.Time { return now }}
	page := func(from *info.Cursor) (cache.Result, error) {
		return r.Page(ctx, info.Query{Category: info.All, From: from, Limit: 50})
	}
	read := func(what string, from *info.Cursor) cache.Result {
		t.Helper()
		result, err := page(from)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		return result
	}

	if got := read("all is well", nil); got.Stale || got.Source != "kv" {
		t.Errorf("%+v", got)
	}
	now = now.Add(cache.Stale + time.Second)
	if got := read("the collector has stopped", nil); !got.Stale || got.Source != "kv" || len(got.Items) != 50 {
		t.Errorf("stale %v from %s", got.Stale, got.Source)
	}
	r.Store = &faulty{Store: s, err: errGone}
	now = now.Add(2 * cache.TTL)
	if got := read("the store is gone", nil); !got.Stale || got.Source != "kv" || !got.More || len(got.Items) != 50 {
		t.Errorf("stale %v from %s", got.Stale, got.Source)
	}
	from := info.CursorOf(&list[189])
	if got := read("the last page of the cache", &from); len(got.Items) != 10 || !got.More || !got.Stale {
		t.Errorf("%d items, more %v", len(got.Items), got.More)
	}
	from = info.CursorOf(&list[199])
	if _, err := page(&from); contract.KindOf(err) != contract.Storage {
		t.Errorf("behind the cache: %v", err)
	}
	r.Store, now = s, time.Now()
	m.Fail = func() error { return errors.New("KV is down") }
	if got := read("the cache is gone", nil); got.Source != "d1" || len(got.Items) != 50 || got.Stale {
		t.Errorf("%+v", got)
	}
}

// Keys, types and lifetimes are those documented.
func TestRedis_Keys(t *testing.T) {
	server := infotest.Redis(t)
	c, s := client(t, server), d1(t).store
	r := cache.NewRedis(c)
	a := infotest.Article(info.Naver, 1, time.Now())
	a.Category = info.Energy
	upsert(t, s, a)
	if _, err := cache.FillNow(ctx, r, s, "x", time.Now()); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]struct {
		kind string
		ttl  int64
	}{"news:feed:all": {"zset", 3600}, "news:feed:energy": {"zset", 3600}, "news:article:" + a.ID: {"hash", 86400},
		"news:meta:all": {"hash", 3600}, "news:feed:ai": {"none", -2}, "news:lock:all": {"none", -2}} {
		replies, err := c.Do(ctx, []string{"TYPE", key}, []string{"TTL", key})
		if err != nil {
			t.Fatal(err)
		}
		if ttl := replies[1].(int64); replies[0] != want.kind || ttl > want.ttl || ttl < want.ttl-5 {
			t.Errorf("%s: %v for %v s", key, replies[0], ttl)
		}
	}
	if ok, err := r.Lock(ctx, "one"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if ok, _ := r.Lock(ctx, "two"); ok {
		t.Error("two refreshers")
	}
	replies, _ := c.Do(ctx, []string{"TTL", "news:lock:all"})
	if ttl := replies[0].(int64); ttl < 25 || ttl > 30 {
		t.Errorf("the lock lasts %d s", ttl)
	}
	if err := r.Unlock(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	if ok, _ := r.Lock(ctx, "three"); ok {
		t.Error("the lock was taken off by another")
	}

	// An evicted article, and a server that restarts without data.
	if _, err := c.Do(ctx, []string{"DEL", "news:article:" + a.ID}); err != nil {
		t.Fatal(err)
	}
	if answer, err := r.Page(ctx, info.Query{Category: info.All, Limit: 5}); err != nil || answer != nil {
		t.Errorf("%+v, %v", answer, err)
	}
	server.Kill()
	if _, err := r.Page(ctx, info.Query{Category: info.All, Limit: 5}); contract.KindOf(err) != contract.Storage {
		t.Errorf("%v", err)
	}
	server.Start()
	if answer, err := r.Page(ctx, info.Query{Category: info.All, Limit: 5}); err != nil || answer != nil {
		t.Errorf("%+v, %v", answer, err)
	}
}

// With any cursor, a page begins with the first article after it.
func TestKV_Bisection(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 50, cache.Size} {
		var list []info.Article
		for i := range n {
			// Three per second.
			a := infotest.Article(info.Naver, i, time.UnixMilli(int64(1_700_000_000_000-i/3*1000)))
			a.ID = fmt.Sprintf("a_%03d", 900-i)
			a.Title = strings.Repeat("x", i%7*100)
			list = append(list, a)
		}
		k := cache.NewKV(&cache.Memory{})
		if err := k.Refresh(ctx, []cache.Feed{{Category: info.All, Articles: list, Complete: true}},
			time.Now()); err != nil {
			t.Fatal(err)
		}
		cursors := []info.Cursor{{At: 0}, {At: 1_900_000_000_000}}
		for i := range list {
			c := info.CursorOf(&list[i])
			cursors = append(cursors, c, info.Cursor{At: c.At, ID: ""}, info.Cursor{At: c.At, ID: c.ID + "z"},
				info.Cursor{At: c.At + 1, ID: c.ID})
		}
		for _, c := range cursors {
			var want []info.Cursor
			for i := range list {
				if place := info.CursorOf(&list[i]); c.Before(place) && len(want) < 6 {
					want = append(want, place)
				}
			}
			answer, err := k.Page(ctx, info.Query{Category: info.All, From: &c, Limit: 5})
			if err != nil || answer == nil {
				t.Fatal(answer, err)
			}
			var got []info.Cursor
			for _, item := range answer.Items {
				got = append(got, item.Cursor)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d articles, behind %v: %v, not %v", n, c, got, want)
			}
		}
	}
}

// While the store is down, Redis keeps its feeds for up to a day, whoever notices: a reader or a collection. Readers of
// the meta key see that they are stale.
func TestRedis_Outage(t *testing.T) {
	c, s := client(t, infotest.Redis(t)), &faulty{Store: d1(t).store}
	r := cache.NewRedis(c)
	upsert(t, s.Store.(*store.Store), infotest.Article(info.Naver, 1, time.Now()))
	began := time.Now()
	if _, err := cache.FillNow(ctx, r, s, "x", began); err != nil {
		t.Fatal(err)
	}
	meta := func() (ttl time.Duration, stale string) {
		t.Helper()
		replies, err := c.Do(ctx, []string{"TTL", "news:feed:all"}, []string{"TTL", "news:meta:all"},
			[]string{"HGET", "news:meta:all", "is_stale"})
		if err != nil {
			t.Fatal(err)
		}
		if replies[0] != replies[1] {
			t.Errorf("the feed lives for %v s, its description for %v s", replies[0], replies[1])
		}
		stale, _ = replies[2].(string)
		return time.Duration(replies[0].(int64)) * time.Second, stale
	}
	if ttl, stale := meta(); ttl < 3590*time.Second || stale != "false" {
		t.Errorf("fresh: %v, stale %s", ttl, stale)
	}
	s.err = errGone
	now := began
	reader := &cache.Reader{Cache: r, Store: s, Kind: "d1", Owner: "r", Log: discard(),
		Now: func() time.Time { return now }}
	for hours, want := range map[float64]time.Duration{0.9: time.Hour, 5: time.Hour, 23.5: 30 * time.Minute,
		24.1: 10 * time.Second} {
		for _, key := range []string{"news:feed:all", "news:meta:all"} {
			if _, err := c.Do(ctx, []string{"EXPIRE", key, "10"}); err != nil {
				t.Fatal(err)
			}
		}
		now = began.Add(time.Duration(hours * float64(time.Hour)))
		*reader = cache.Reader{Cache: r, Store: s, Kind: "d1", Owner: "r", Log: discard(), Now: reader.Now}
		got, err := reader.Page(ctx, info.Query{Category: info.All, Limit: 10})
		if err != nil || got.Source != "redis" || len(got.Items) != 1 {
			t.Errorf("after %v hours: %d from %s, %v", hours, len(got.Items), got.Source, err)
		}
		if ttl, stale := meta(); ttl > want || ttl < want-5*time.Second || stale != "true" && hours < 24 {
			t.Errorf("after %v hours: %v, stale %s", hours, ttl, stale)
		}
	}

	// A collection of an hour ago is old news even when it is written.
	s.err = nil
	succeed(t, s.Store.(*store.Store), began)
	if _, err := cache.FillNow(ctx, r, s, "x", began.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, stale := meta(); stale != "true" {
		t.Errorf("refreshed an hour after the last collection: stale %s", stale)
	}
}
