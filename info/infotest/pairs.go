package infotest

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/store"
)

// PairCase is a property of a store with a cache in front of it. It begins with an empty store and cache.
type PairCase struct {
	Name string
	Run  func(t T, s *store.Store, c cache.Cache)
}

// PairCases is the suite, which every pair of a store and a cache must pass.
var PairCases = []PairCase{
	{"an empty cache", emptyCache},
	{"articles as they were stored", cachedArticles},
	{"the edge of the cache", cacheEdge},
	{"filters and the edge", cacheFilters},
	{"ties at the edge", cacheTies},
	{"what changed is refreshed", refreshes},
	{"pages while the cache is refreshed", pagesUnderRefresh},
}

func reader(s *store.Store, c cache.Cache) *cache.Reader {
	return &cache.Reader{Cache: c, Store: s, Kind: s.Name(), Owner: "reader", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now}
}

func fill(t T, s *store.Store, c cache.Cache) {
	t.Helper()
	_, err := cache.FillNow(ctx, c, s, "test", time.Now())
	must(t, "FillNow", err)
}

func read(t T, r *cache.Reader, q info.Query) cache.Result {
	t.Helper()
	result, err := r.Page(ctx, q)
	must(t, "Page", err)
	return result
}

func cursors(items []cache.Item) string {
	var list []string
	for _, i := range items {
		list = append(list, i.Cursor.String())
	}
	return strings.Join(list, " ")
}

// through reads all pages of a query, and says where each came from.
func through(t T, r *cache.Reader, q info.Query, between func()) (items []cache.Item, from []string) {
	t.Helper()
	for {
		p := read(t, r, q)
		items, from = append(items, p.Items...), append(from, p.Source)
		if !p.More || len(p.Items) == 0 {
			return items, from
		}
		q.From = &p.Items[len(p.Items)-1].Cursor
		if between != nil {
			between()
		}
	}
}

// whole is the order in which the store alone gives the articles of a query.
func whole(t T, s *store.Store, q info.Query) string {
	t.Helper()
	q.Limit = 5000
	var list []string
	for _, a := range page(t, s, q).Articles {
		list = append(list, info.CursorOf(&a).String())
	}
	return strings.Join(list, " ")
}

func many(t T, s *store.Store, n int, step time.Duration) {
	t.Helper()
	var list []info.Article
	for i := range n {
		a := Article(info.Sources[i%4], i, noon.Add(-time.Duration(i)*step))
		a.Category = append(info.Categories, "")[i%4]
		if i%3 == 0 {
			a.ThumbnailURL = "https://i.example/"
		}
		list = append(list, a)
	}
	put(t, s, list...)
}

func emptyCache(t T, s *store.Store, c cache.Cache) {
	a, err := c.Page(ctx, info.Query{Category: info.All, Limit: 10})
	must(t, "Page", err)
	if a != nil {
		t.Fatalf("an empty cache answers %+v", a)
	}
	must(t, "Ping", c.Ping(ctx))
	put(t, s, Article(info.Naver, 1, noon))
	r := reader(s, c)
	expect(t, "from the store", read(t, r, info.Query{Category: info.All, Limit: 10}).Source, s.Name())
	expect(t, "filled by the first reader", read(t, r, info.Query{Category: info.All, Limit: 10}).Source, c.Name())
	none := read(t, r, info.Query{Category: info.AI, Limit: 10})
	expect(t, "a category without articles", []any{none.Source, len(none.Items), none.More}, []any{c.Name(), 0, false})
}

func cachedArticles(t T, s *store.Store, c cache.Cache) {
	full := info.Article{
		ID: "9f3c", Key: "a.example/x", URL: "https://a.example/x?a=1&b=<2>", Title: "한글 \"&\" <b> \\ 🌱", Snippet: "x", Source: info.NewsData, SourceName: "A",
		SourceIconURL: "https://a.example/i", ThumbnailURL: "https://a.example/t", VideoURL: "https://a.example/v", PublishedAt: noon,
		Category: info.Energy, Keywords: []string{"a, b", `"c"`}, AITag: "tag",
	}
	bare := Article(info.Naver, 1, noon.Add(-time.Minute))
	put(t, s, full, bare)
	r := reader(s, nil)
	want := read(t, r, info.Query{Category: info.All, Limit: 10})
	fill(t, s, c)
	r = reader(s, c)
	got := read(t, r, info.Query{Category: info.All, Limit: 10})
	expect(t, "from", got.Source, c.Name())
	for i := range want.Items {
		expect(t, "article", string(got.Items[i].JSON), string(want.Items[i].JSON))
	}
	expect(t, "first", string(got.Items[0].JSON), string(contract.Encode(full.Public())))
	expect(t, "total", got.Total, 2)
	if age := time.Since(got.RefreshedAt); age < 0 || age > time.Minute || got.Expires.Sub(got.RefreshedAt) != cache.TTL || got.Stale {
		t.Errorf("refreshed at %v, expires at %v, stale %v", got.RefreshedAt, got.Expires, got.Stale)
	}
}

func cacheEdge(t T, s *store.Store, c cache.Cache) {
	many(t, s, 330, time.Second)
	fill(t, s, c)
	r := reader(s, c)
	for _, limit := range []int{7, 10, 50} {
		items, from := through(t, r, info.Query{Category: info.All, Limit: limit}, nil)
		expect(t, fmt.Sprintf("%d a page", limit), cursors(items), whole(t, s, info.Query{Category: info.All}))
		if from[0] != c.Name() || from[len(from)-1] != s.Name() {
			t.Errorf("pages came from %v", from)
		}
	}
	items, from := through(t, r, info.Query{Category: info.AI, Limit: 10}, nil)
	expect(t, "a category that the cache has whole", cursors(items), whole(t, s, info.Query{Category: info.AI}))
	expect(t, "its last page comes from", from[len(from)-1], c.Name())
}

func cacheFilters(t T, s *store.Store, c cache.Cache) {
	many(t, s, 450, time.Second)
	fill(t, s, c)
	r := reader(s, c)
	for _, q := range []info.Query{
		{Category: info.All, Source: info.Feed}, {Category: info.All, HasImage: true}, {Category: info.Energy, Source: info.NewsData, HasImage: true}, {Category: info.AI, Source: info.Naver},
	} {
		q.Limit = 9
		items, _ := through(t, r, q, nil)
		expect(t, fmt.Sprintf("%+v", q), cursors(items), whole(t, s, q))
	}
}

func cacheTies(t T, s *store.Store, c cache.Cache) {
	many(t, s, 260, 0) // one millisecond
	fill(t, s, c)
	for _, limit := range []int{1, 13, 50} {
		items, _ := through(t, reader(s, c), info.Query{Category: info.All, Limit: limit}, nil)
		expect(t, fmt.Sprintf("%d a page", limit), cursors(items), whole(t, s, info.Query{Category: info.All}))
	}
}

func refreshes(t T, s *store.Store, c cache.Cache) {
	many(t, s, 5, time.Second)
	filled := func() bool {
		t.Helper()
		ok, err := cache.Fill(ctx, c, s, "test", time.Now())
		must(t, "Fill", err)
		return ok
	}
	expect(t, "at first", filled(), true)
	expect(t, "nothing changed", filled(), false)
	time.Sleep(2 * time.Millisecond)
	_, err := s.SetDeleted(ctx, "naver_000000", true)
	must(t, "SetDeleted", err)
	expect(t, "a deletion", filled(), true)
	expect(t, "cached", cursors(read(t, reader(s, c), info.Query{Category: info.All, Limit: 10}).Items), whole(t, s, info.Query{Category: info.All}))
	must(t, "Acquire", func() error { _, err := cache.FillNow(ctx, c, s, "other", time.Now()); return err }())
}

func pagesUnderRefresh(t T, s *store.Store, c cache.Cache) {
	r := rand.New(rand.NewPCG(3, 4))
	many(t, s, 300, time.Second)
	fill(t, s, c)
	before := strings.Fields(whole(t, s, info.Query{Category: info.All}))
	n := 1000
	items, _ := through(t, reader(s, c), info.Query{Category: info.All, Limit: 11}, func() {
		for range r.IntN(4) {
			n++
			put(t, s, Article(info.Feed, n, noon.Add(time.Duration(r.IntN(600)-300)*time.Second)))
		}
		if r.IntN(3) == 0 {
			fill(t, s, c)
		}
	})
	seen := map[string]bool{}
	for _, i := range items {
		if seen[i.Cursor.String()] {
			t.Errorf("%s is on two pages", i.Cursor)
		}
		seen[i.Cursor.String()] = true
	}
	for _, id := range before {
		if !seen[id] {
			t.Errorf("%s is on no page", id)
		}
	}
}
