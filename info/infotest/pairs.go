package infotest

import (
	"context"
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

// PairCase is a property of a store with a cache. It begins with both empty.
type PairCase struct {
	Name string
	Run  func(t T, s *store.Store, c cache.Cache)
}

// PairCases is the suite for every pair of store and cache.
var PairCases = []PairCase{
	{"an empty cache", emptyCache},
	{"articles as they were stored", cachedArticles},
	{"the edge of the cache", cacheEdge},
	{"filters and the edge", cacheFilters},
	{"ties at the edge", cacheTies},
	{"what changed is refreshed", refreshes},
	{"pages while the cache is refreshed", pagesUnderRefresh},
	{"one article, from the cache first", oneArticle},
	{"an article that was taken down", takenDown},
}

func reader(s *store.Store, c cache.Cache) *cache.Reader {
	return &cache.Reader{Cache: c, Store: s, Kind: s.Name(), Owner: "reader",
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now}
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

// through reads all pages of a query, and the source of each.
func through(t T, r *cache.Reader, q info.Query, between func()) (items []cache.Item, from []string) {
	t.Helper()
	for {
		p := read(t, r, q)
		items, from = append(items, p.Items...), append(from, p.Source)
		if len(p.Items) > 0 && q.From != nil && !q.From.Before(p.Items[0].Cursor) {
			t.Fatalf("the page behind %s begins with %s", q.From, p.Items[0].Cursor)
		}
		if !p.More || len(p.Items) == 0 {
			return items, from
		}
		q.From = &p.Items[len(p.Items)-1].Cursor
		if between != nil {
			between()
		}
	}
}

// whole returns the store's order of a query's articles.
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
	expect(t, "a category without articles", []any{none.Source, len(none.Items), none.More},
		[]any{c.Name(), 0, false})
}

func cachedArticles(t T, s *store.Store, c cache.Cache) {
	full := info.Article{
		ID: "9f3c", Key: "a.example/x", URL: "https://a.example/x?a=1&b=<2>", Title: "한글 \"&\" <b> \\ 🌱",
		Snippet: "x", Source: info.NewsData, SourceName: "A",
		SourceIconURL: "https://a.example/i", ThumbnailURL: "https://a.example/t", VideoURL: "https://a.example/v",
		PublishedAt: noon,
		Category:    info.Energy, Keywords: []string{"a, b", `"c"`}, AITag: "tag",
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
	if age := time.Since(got.RefreshedAt); age < 0 || age > time.Minute ||
		got.Expires.Sub(got.RefreshedAt) != cache.TTL || got.Stale {
		t.Errorf("refreshed at %v, expires at %v, stale %v", got.RefreshedAt, got.Expires, got.Stale)
	}
}

func cacheEdge(t T, s *store.Store, c cache.Cache) {
	many(t, s, 330, time.Second)
	fill(t, s, c)
	r := reader(s, c)
	items, from := through(t, r, info.Query{Category: info.All, Limit: 10}, nil)
	expect(t, "all pages", cursors(items), whole(t, s, info.Query{Category: info.All}))
	if from[0] != c.Name() || from[len(from)-1] != s.Name() {
		t.Errorf("pages came from %v", from)
	}
	// Starts from before the edge to after it, with pages of every size.
	before := items[cache.Size-info.MaxLimit-3].Cursor
	want := strings.Fields(whole(t, s, info.Query{Category: info.All, From: &before}))
	for limit := 1; limit <= info.MaxLimit; limit++ {
		q := info.Query{Category: info.All, From: &before, Limit: limit}
		var got []string
		for len(got) < 2*info.MaxLimit {
			p := read(t, r, q)
			if len(p.Items) != limit || !p.More {
				t.Fatalf("%d a page: one of %d behind %d, more %v", limit, len(p.Items), len(got), p.More)
			}
			got = append(got, strings.Fields(cursors(p.Items))...)
			q.From = &p.Items[limit-1].Cursor
		}
		expect(t, fmt.Sprintf("%d a page", limit), strings.Join(got, " "), strings.Join(want[:len(got)], " "))
	}
	items, from = through(t, r, info.Query{Category: info.AI, Limit: 10}, nil)
	expect(t, "a category that the cache has whole", cursors(items), whole(t, s, info.Query{Category: info.AI}))
	expect(t, "its last page comes from", from[len(from)-1], c.Name())
}

func cacheFilters(t T, s *store.Store, c cache.Cache) {
	many(t, s, 450, time.Second)
	fill(t, s, c)
	r := reader(s, c)
	for _, q := range []info.Query{
		{Category: info.All, Source: info.Feed}, {Category: info.All, HasImage: true},
		{Category: info.Energy, Source: info.NewsData, HasImage: true}, {Category: info.AI, Source: info.Naver},
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
	expect(t, "cached", cursors(read(t, reader(s, c), info.Query{Category: info.All, Limit: 10}).Items),
		whole(t, s, info.Query{Category: info.All}))
	must(t, "Acquire", func() error { _, err := cache.FillNow(ctx, c, s, "other", time.Now()); return err }())
}

// pagesUnderRefresh: an article that stays throughout is on exactly one page, whatever changes and whenever the
// cache is refreshed.
func pagesUnderRefresh(t T, s *store.Store, c cache.Cache) {
	r := rand.New(rand.NewPCG(3, 4))
	many(t, s, 300, time.Second)
	fill(t, s, c)
	n := 1000
	for round, q := range []info.Query{
		{Category: info.All, Limit: 11}, {Category: info.All, Limit: 1 + r.IntN(info.MaxLimit)},
		{Category: info.Energy, Limit: 7}, {Category: info.All, Source: info.Feed, Limit: 9},
		{Category: info.All, HasImage: true, Limit: 1 + r.IntN(info.MaxLimit)},
	} {
		before := page(t, s, info.Query{Category: q.Category, Source: q.Source, HasImage: q.HasImage,
			Limit: 5000}).Articles
		gone := map[string]bool{}
		items, _ := through(t, reader(s, c), q, func() {
			for range r.IntN(4) {
				n++
				a := Article(info.Feed, n, noon.Add(time.Duration(r.IntN(600)-300)*time.Second))
				a.Category = info.Energy
				put(t, s, a)
			}
			switch r.IntN(5) {
			case 0:
				victim := before[r.IntN(len(before))]
				_, err := s.SetDeleted(ctx, victim.ID, true)
				must(t, "SetDeleted", err)
				gone[victim.ID] = true
			case 1:
				a := before[r.IntN(len(before))]
				a.Snippet, a.ThumbnailURL = "now with text", "https://i.example/late"
				put(t, s, a)
			case 2:
				fill(t, s, c)
			}
		})
		seen := map[string]bool{}
		for i, item := range items {
			if seen[item.Cursor.ID] {
				t.Errorf("round %d: %s is on two pages", round, item.Cursor)
			}
			seen[item.Cursor.ID] = true
			if i > 0 && !items[i-1].Cursor.Before(item.Cursor) {
				t.Errorf("round %d: %s does not stand before %s", round, items[i-1].Cursor, item.Cursor)
			}
		}
		for _, a := range before {
			if !seen[a.ID] && !gone[a.ID] {
				t.Errorf("round %d, %d a page: %s is on no page", round, q.Limit, a.ID)
			}
		}
	}
}

// away is a store that is down for readers.
type away struct{ cache.Store }

func (away) Page(context.Context, info.Query) (info.Page, error) {
	return info.Page{}, &contract.Error{Kind: contract.Storage, Message: "the store is down"}
}

func (away) Article(context.Context, string) (*info.Article, error) {
	return nil, &contract.Error{Kind: contract.Storage, Message: "the store is down"}
}

func oneArticle(t T, s *store.Store, c cache.Cache) {
	full := Article(info.NewsData, 1, noon)
	full.Keywords, full.Category, full.ThumbnailURL, full.Snippet = []string{"a, b"}, info.AI, "https://i.example/", "x"
	put(t, s, full, Article(info.Naver, 2, noon.Add(-time.Hour)))
	r := reader(s, c)
	get := func(id string) string {
		t.Helper()
		json, err := r.Article(ctx, id)
		must(t, "Article", err)
		return string(json)
	}
	want := string(contract.Encode(full.Public()))
	expect(t, "from the store", get(full.ID), want)
	fill(t, s, c)
	expect(t, "from the cache", get(full.ID), want)
	expect(t, "none", get("nobody"), "")
	r.Store = away{s}
	expect(t, "without the store", get(full.ID), want)
	if _, err := r.Article(ctx, "nobody"); contract.KindOf(err) != contract.Storage {
		t.Errorf("an article that the cache lacks, without the store: %v", err)
	}
}

// An article that is taken down leaves the cache with the next refresh, even if it is in no feed any more.
func takenDown(t T, s *store.Store, c cache.Cache) {
	a, b := Article(info.Naver, 1, noon), Article(info.Naver, 2, noon.Add(time.Minute))
	put(t, s, a, b)
	fill(t, s, c)
	for i := range cache.Size { // newer ones
		put(t, s, Article(info.Feed, i, noon.Add(time.Duration(i+1)*time.Hour)))
	}
	fill(t, s, c)
	for _, id := range []string{a.ID, Article(info.Feed, 7, noon).ID} {
		_, err := s.SetDeleted(ctx, id, true)
		must(t, "SetDeleted", err)
		fill(t, s, c)
		json, err := reader(s, c).Article(ctx, id)
		must(t, "Article", err)
		expect(t, id, string(json), "")
	}
	json, err := reader(s, c).Article(ctx, b.ID)
	must(t, "Article", err)
	expect(t, "another", len(json) > 0, true)
	taken, err := s.TakenDown(ctx, time.Now().Add(time.Hour))
	must(t, "TakenDown", err)
	expect(t, "taken down since then", len(taken), 0)
}
