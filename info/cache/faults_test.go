//go:build unix

package cache_test

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/redis"
)

// Wherever the server crashes and returns without data, during filling or reading, readers get a whole page.
func TestRedis_Crash(t *testing.T) {
	server, s := infotest.Redis(t), d1(t).store
	var list []info.Article
	for i := range 30 {
		list = append(list, infotest.Article(info.Naver, i, time.Now().Add(-time.Duration(i)*time.Second)))
	}
	upsert(t, s, list...)
	connect := func(crash *infotest.Crash) *redis.Client {
		crash.Server = server
		c, err := redis.New(redisURL(server),
			func(ctx context.Context, address string, _ bool) (net.Conn, error) { return crash.Dial(ctx, address) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	calm := connect(&infotest.Crash{})
	for at := 1; ; at++ {
		if _, err := calm.Do(ctx, []string{"FLUSHALL"}); err != nil {
			t.Fatal(err)
		}
		crash := &infotest.Crash{At: at, Signal: syscall.SIGKILL}
		c := cache.NewRedis(connect(crash))
		if _, err := cache.FillNow(ctx, c, s, "collector", time.Now()); err != nil && !crash.Happened() {
			t.Fatal(err)
		}
		r := cache.Reader{Cache: c, Store: s, Kind: "d1", Owner: "reader", Log: discard(), Now: time.Now}
		for range 3 {
			got, err := r.Page(ctx, info.Query{Category: info.All, Limit: 20})
			if err != nil || len(got.Items) != 20 || !got.More || got.Items[0].Cursor != info.CursorOf(&list[0]) ||
				got.Items[19].Cursor != info.CursorOf(&list[19]) {
				t.Fatalf("crash at operation %d: %d items from %s, %v", at, len(got.Items), got.Source, err)
			}
		}
		if _, err := cache.FillNow(ctx, c, s, "collector", time.Now()); err != nil {
			t.Errorf("crash at operation %d: the next collection does not fill the cache: %v", at, err)
		}
		if !crash.Happened() {
			if at < 15 {
				t.Errorf("only %d operations", at-1)
			}
			return
		}
	}
}
