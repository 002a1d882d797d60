//go:build unix

package store_test

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/infotest"
	"github.com/newsfork/seed-engine/info/postgres"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

// The bench uses 500,000 and also judges times, which mean nothing with fewer.
var (
	scale   = flag.Int("articles", 10_000, "how many articles TestSearch_Cost stores")
	timed   = flag.Bool("timed", false, "whether TestSearch_Cost judges times")
	request = flag.Duration("request", time.Millisecond,
		"what a reader's request for a page behind the cache takes on workerd")
)

const (
	maxGrowth = 2                // times the first page, for a page at the end
	maxSearch = 5                // times a page
	free      = time.Millisecond // shorter than a Worker's round trip to its database, so not judged
)

// filters are all filters, each with the D1 index that a page uses.
var filters = []struct {
	info.Query
	index string
}{
	{info.Query{Category: info.All}, "news_by_time ("},
	{info.Query{Category: info.AI}, "news_by_category (category=?"},
	{info.Query{Category: info.All, Source: info.Seed}, "news_by_source (source=?"},
	{info.Query{Category: info.Energy, Source: info.Seed}, "news_by_source_category (source=? AND category=?"},
	{info.Query{Category: info.AI, Source: info.Seed}, "news_by_source_category (source=? AND category=?"}, // none
	{info.Query{Category: info.All, HasImage: true}, "news_with_image ("},
	{info.Query{Category: info.AI, HasImage: true}, "news_with_image_by_category (category=?"},
	{info.Query{Category: info.All, Source: info.Seed, HasImage: true}, "news_with_image_by_source (source=?"}, // few
	{info.Query{Category: info.Energy, Source: info.Seed, HasImage: true},
		"news_with_image_by_source_category (source=? AND category=?"},
}

// With any filter, a page uses an index and costs the same at the end as at the beginning.
func TestSearch_Cost(t *testing.T) {
	if testing.Short() {
		t.Skip("fills both stores")
	}
	newest := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	fill := func(t *testing.T, writers ...*store.Store) {
		t.Helper()
		began := time.Now()
		pieces := make(chan []info.Article)
		var running sync.WaitGroup
		for _, s := range writers {
			running.Go(func() {
				for list := range pieces {
					rows := make([]store.New, len(list))
					for i, a := range list {
						rows[i].Article = a
					}
					if _, err := s.Upsert(context.Background(), rows); err != nil {
						t.Error(err)
					}
				}
			})
		}
		corpus := slices.Collect(infotest.Corpus(*scale, newest))
		for list := range slices.Chunk(corpus, 50) {
			pieces <- list
		}
		close(pieces)
		running.Wait()
		t.Logf("%d articles stored in %v", *scale, time.Since(began).Round(time.Second))
	}
	t.Run("d1", func(t *testing.T) {
		db, err := sqlite.OpenFile(filepath.Join(t.TempDir(), "d1.sqlite"), store.Migrations)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		s := store.NewD1(db)
		fill(t, s)
		p := &plans{DB: db, t: t, prefix: "EXPLAIN QUERY PLAN "}
		// The bench judges searches on workerd by whole requests: SQLite runs here as translated code, which is
		// slower.
		cost(t, s, func() error { return nil }, store.NewD1(p), newest, 0, func(q *info.Query) {
			if len(q.Search) == 0 && strings.Contains(p.last, "TEMP B-TREE") ||
				regexp.MustCompile(`"SCAN (a|news_articles)"`).MatchString(p.last) {
				t.Errorf("%s: %s", describe(q), p.last)
			}
		})
	})
	t.Run("postgres", func(t *testing.T) {
		server, url := infotest.Postgres(t)
		open := func() *postgres.DB {
			db, err := postgres.New(url, server.Dial)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			return db
		}
		db := open()
		migrate(t, db)
		s := store.NewPostgres(db)
		fill(t, s, store.NewPostgres(open()), store.NewPostgres(open()), store.NewPostgres(open()))
		if err := db.Script(context.Background(), "VACUUM ANALYZE news_articles"); err != nil { // as autovacuum does
			t.Fatal(err)
		}
		p := &plans{DB: db, t: t, prefix: "EXPLAIN ANALYZE "}
		// Connections belong to events, so each page has its own.
		cost(t, s, db.Close, store.NewPostgres(p), newest, maxSearch, func(q *info.Query) {
			const most = 1000 // rows read but not shown
			for _, n := range regexp.MustCompile(`Rows Removed by Filter: (\d+)`).FindAllStringSubmatch(p.last, -1) {
				if rows, _ := strconv.Atoi(n[1]); rows > most && len(q.Search) == 0 {
					t.Errorf("%s: %s", describe(q), p.last)
				}
			}
			if strings.Contains(p.last, "Seq Scan") || len(q.Search) == 0 &&
				(!strings.Contains(p.last, "Index Scan using ") || strings.Contains(p.last, "Sort")) {
				t.Errorf("%s: %s", describe(q), p.last)
			}
		})
	})
}

func describe(q *info.Query) string {
	text := fmt.Sprintf("category=%s source=%s has_image=%t", q.Category, q.Source, q.HasImage)
	for _, term := range q.Search {
		text += " " + strings.Join(term.Grams, "")
	}
	if q.From != nil {
		text += " behind " + q.From.String()
	}
	return text
}

// cost reads pages at the beginning and at the end, and checks their plans. end is the end of a Worker's event.
// search limits the time of a search; 0 means no limit.
func cost(t *testing.T, s *store.Store, end func() error, explained *store.Store, newest time.Time,
	search time.Duration, look func(q *info.Query)) {
	last := info.Cursor{At: epoch.MillisOf(infotest.Deep(*scale, newest))}
	fastest := func(q info.Query) time.Duration {
		t.Helper()
		if _, err := explained.Page(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		look(&q)
		if err := end(); err != nil {
			t.Fatal(err)
		}
		var times []time.Duration
		for range 15 {
			began := time.Now()
			if _, err := s.Page(context.Background(), q); err != nil {
				t.Fatal(err)
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			times = append(times, time.Since(began))
		}
		return slices.Min(times) // the least disturbed run
	}
	var page time.Duration // the first one
	row := func(what string, first, last, most time.Duration) {
		t.Helper()
		longest, request := max(first, last), max(*request, page)
		t.Logf("| %s | %.2f | %.2f | %.1f | %.1f |", what, ms(first), ms(last), float64(longest)/float64(page),
			float64(request+longest-page)/float64(request))
		if *timed && most > 0 && longest > max(most, free) {
			t.Errorf("%s: more than %.2f ms", what, ms(max(most, free)))
		}
	}
	t.Logf("A request for a page takes %.2f ms.", ms(*request))
	t.Log("| page of 10 | at the beginning, ms | at the end, ms | times the first page | the whole request |")
	for _, f := range filters {
		q := f.Query
		q.Limit = 10
		first := fastest(q)
		q.From = &last
		if f.index == filters[0].index {
			page = first
		}
		row(describe(&f.Query), first, fastest(q), maxGrowth*page)
	}
	// Readers wait for whole requests, so the limit is a multiple of one.
	var most time.Duration
	if search > 0 {
		most = page + (search-1)*max(*request, page)
	}
	for _, words := range infotest.Searches {
		for _, f := range []info.Query{{}, {Source: info.Seed, HasImage: true}} { // all, and few
			q := info.Query{Category: info.All, Source: f.Source, HasImage: f.HasImage,
				Search: info.ParseSearch(words), Limit: 10}
			first := fastest(q)
			q.From = &last
			row(describe(&q), first, fastest(q), most)
		}
	}
	for words, want := range map[string]int{infotest.Rare: *scale / 25_000, infotest.Common + " " + infotest.Other: 0,
		"정부산": 0} {
		began, found, looks := time.Now(), 0, 0
		infotest.Scroll(func(q info.Query) info.Page {
			p, err := s.Page(context.Background(), q)
			if err != nil {
				t.Fatal(err)
			}
			found, looks = found+len(p.Articles), looks+1
			return p
		}, info.Query{Category: info.All, Search: info.ParseSearch(words), Limit: 10}, func() { end() })
		t.Logf("All %d of %q are found in %d requests, %.0f ms.", found, words, looks, ms(time.Since(began)))
		if found != want {
			t.Errorf("%d of %q found, not %d", found, words, want)
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
