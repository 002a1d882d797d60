//go:build unix

package store_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/store"
)

// TestPostgresCrashesDuringAnUpsert: wherever the server goes, and comes back, in the course of three
// transactions, every article is there once in the end, and is found once.
func TestPostgresCrashesDuringAnUpsert(t *testing.T) {
	const articles = 120 // three transactions
	noon := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	var list []store.New
	for i := range articles {
		list = append(list, store.New{Article: infotest.Article(info.Naver, i, noon)})
	}
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
		saved, err := s.Upsert(context.Background(), list, noon)
		happened := crash.Happened()
		if err != nil {
			if _, err = s.Upsert(context.Background(), list, noon); err != nil { // as the next collection does
				t.Fatalf("crash at operation %d: %v", at, err)
			}
		} else if saved.Updated > 0 {
			t.Errorf("crash at operation %d: an article that was stored twice changed: %+v", at, saved)
		}
		for what, q := range map[string]info.Query{"listed": {Category: info.All}, "found": {Category: info.All, Search: info.ParseSearch("기사")}} {
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
			if len(all) != articles || len(seen) != articles {
				t.Errorf("crash at operation %d: %d articles are %s, %d different ones", at, len(all), what, len(seen))
			}
		}
		if !happened {
			if at < 8 {
				t.Errorf("only %d operations", at-1)
			}
			return
		}
	}
}
