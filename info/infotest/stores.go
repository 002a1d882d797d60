// Package infotest has what tests of the Info service share: PostgreSQL and Redis servers, and the conformance
// suites of stores and caches.
package infotest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/test/cases"
)

// T is the part of testing.T that cases use.
type T = cases.T

var must, expect = cases.Must, cases.Expect

// StoreCase is a property of a store. It begins with an empty one.
type StoreCase struct {
	Name string
	Run  func(t T, s *store.Store)
}

// StoreCases is the suite.
var StoreCases = []StoreCase{
	{"an article as it was stored", roundTrip},
	{"a known article takes only what it lacked", completes},
	{"ids that another article has", sameID},
	{"a deleted article stays deleted", deleted},
	{"pages while articles come and go", pagesUnderChange},
	{"pages of one millisecond", ties},
	{"filters", filters},
	{"what is new since a cursor", newer},
	{"what is new while many write", arrivalRace},
	{"search", search},
	{"a snippet that comes later is searched", laterSnippet},
	{"pages of a search", searchPages},
	{"searches for beginnings", beginnings},
	{"a search that takes many looks", manyLooks},
	{"articles whose pages may have a picture", wanting},
	{"old articles are removed", prune},
	{"a lease excludes others", lease},
	{"of many takers one gets the lease", leaseRace},
	{"quotas", quotas},
	{"of many calls no more than allowed are counted", quotaRace},
	{"what is remembered of a source", sources},
	{"only successes keep news young", staleness},
	{"requests that failed", letters},
	{"which changes the cache has", cached},
	{"alarms and their changes", alarms},
	{"the last run of each cron", crons},
	{"an export has everything", export},
	{"any text", anyText},
	{"nothing", nothing},
}

// Wipe empties the tables of a store's database.
func Wipe(t T, db store.DB, name string) {
	t.Helper()
	var statements []ledger.Statement
	for _, table := range []string{"news_articles", "news_leases", "news_quotas", "news_sources", "news_dead_letters",
		"news_alarms", "news_alarm_changes", "news_cached", "news_hosts", "news_robots", "news_crons"} {
		statements = append(statements, ledger.Statement{SQL: "DELETE FROM " + table})
	}
	statements = append(statements, ledger.Statement{SQL: "UPDATE news_cache SET changed_at = 0, refreshed_at = 0"},
		ledger.Statement{SQL: "DELETE FROM news_cache WHERE name IN ('kv', 'redis')"})
	if name == "d1" {
		statements = append(statements, ledger.Statement{
			SQL: "INSERT INTO news_search (news_search) VALUES ('delete-all')"})
	}
	_, err := db.Batch(ctx, statements)
	must(t, "wipe", err)
}

var (
	ctx  = context.Background()
	noon = time.Date(2026, 1, 28, 12, 0, 0, 123e6, time.UTC)
)

// Article returns article n of a source, published at a time.
func Article(source string, n int, at time.Time) info.Article {
	url := fmt.Sprintf("https://%s.example/%d", source, n)
	return info.Article{
		ID: fmt.Sprintf("%s_%06d", source, n), Key: info.Key(url), URL: url, Title: fmt.Sprintf("기사 %d", n),
		Source: source, SourceName: source,
		PublishedAt: at.UTC().Truncate(time.Millisecond),
	}
}

func put(t T, s *store.Store, articles ...info.Article) store.Saved {
	t.Helper()
	list := make([]store.New, len(articles))
	for i, a := range articles {
		list[i].Article = a
	}
	saved, err := s.Upsert(ctx, list)
	must(t, "Upsert", err)
	return saved
}

func page(t T, s *store.Store, q info.Query) info.Page {
	t.Helper()
	p, err := s.Page(ctx, q)
	must(t, "Page", err)
	return p
}

func ids(articles []info.Article) []string {
	list := []string{}
	for _, a := range articles {
		list = append(list, a.ID)
	}
	return list
}

// Scroll reads all pages of a query, calling between between pages.
func Scroll(read func(q info.Query) info.Page, q info.Query, between func()) (all []info.Article, sizes []int) {
	for {
		p := read(q)
		all = append(all, p.Articles...)
		sizes = append(sizes, len(p.Articles))
		next := p.Next
		if len(p.Articles) > 0 && next == nil {
			last := info.CursorOf(&p.Articles[len(p.Articles)-1])
			next = &last
		}
		if !p.More || next == nil || q.From != nil && !q.From.Before(*next) { // no progress
			return all, sizes
		}
		q.From = next
		if between != nil {
			between()
		}
	}
}

func scroll(t T, s *store.Store, q info.Query, between func()) (all []info.Article, sizes []int) {
	t.Helper()
	return Scroll(func(q info.Query) info.Page { return page(t, s, q) }, q, between)
}

func roundTrip(t T, s *store.Store) {
	full := info.Article{
		ID: "9f3c1a77d2e4b6508c1d2e3f4b5b6e10", Key: "a.example/x", URL: "HTTPS://www.A.example:443/x?utm_source=n#f",
		Title:   `"Quoted" & 'so' <b>🌱`,
		Snippet: "한글 \\ {} $1 ?1", Source: info.NewsData, SourceName: "A", SourceIconURL: "https://a.example/i.png",
		ThumbnailURL: "https://a.example/t.jpg", VideoURL: "https://a.example/v.mp4", PublishedAt: noon,
		Category: info.Energy,
		Keywords: []string{"a, b", `"c"`, "한글", `\d`}, AITag: "tag",
	}
	bare := info.Article{ID: "naver_1", Key: "b.example", URL: "http://b.example", Title: "T", Source: info.Naver,
		SourceName: "b.example", PublishedAt: noon.Add(-time.Millisecond)}
	with := full
	with.Evidence = []info.Match{{Category: info.Energy, Keyword: "solar", Field: "title", Points: 4}}
	expect(t, "saved", put(t, s, with, bare), store.Saved{Inserted: 2})
	expect(t, "page", page(t, s, info.Query{Category: info.All, Limit: 10}).Articles, []info.Article{full, bare})
	one, err := s.Article(ctx, full.ID)
	must(t, "Article", err)
	expect(t, "one article", one, &full)
	none, err := s.Article(ctx, "nobody")
	must(t, "Article", err)
	if none != nil {
		t.Errorf("%+v for an id that no article has", none)
	}
}

func completes(t T, s *store.Store) {
	a := Article(info.Naver, 1, noon)
	put(t, s, a)
	b := Article(info.NewsData, 1, noon.Add(time.Hour))
	b.Key, b.Title, b.Snippet, b.ThumbnailURL, b.Keywords, b.Category = a.Key, "Another", "Snippet",
		"https://i.example/", []string{"k"}, info.AI
	saved, err := s.Upsert(ctx, []store.New{{Article: b}})
	must(t, "Upsert", err)
	expect(t, "saved", saved, store.Saved{Updated: 1})
	want := a
	want.Snippet, want.ThumbnailURL, want.Keywords, want.Category = b.Snippet, b.ThumbnailURL, b.Keywords, b.Category
	expect(t, "the article", page(t, s, info.Query{Category: info.All, Limit: 10}).Articles, []info.Article{want})
	expect(t, "in its category", ids(page(t, s, info.Query{Category: info.AI, Limit: 10}).Articles), []string{a.ID})

	c := b
	c.Snippet, c.ThumbnailURL, c.Category = "Third", "https://other.example/", info.Energy
	expect(t, "what it has stays", put(t, s, c), store.Saved{})
	expect(t, "the same again", put(t, s, a, Article(info.Naver, 2, noon)), store.Saved{Inserted: 1})
	known, err := s.Known(ctx, []string{a.Key, Article(info.Naver, 2, noon).Key, "new.example"})
	must(t, "Known", err)
	expect(t, "known", known, map[string]store.Known{a.Key: {Icon: true, Video: true, Tag: true},
		Article(info.Naver, 2, noon).Key: {Snippet: true, Icon: true, Thumbnail: true, Video: true, Category: true,
			Keywords: true, Tag: true}})
	video := info.Article{VideoURL: "https://v.example/"}
	expect(t, "takes", []bool{known[a.Key].Takes(&c), known[a.Key].Takes(&video)}, []bool{false, true})
}

func sameID(t T, s *store.Store) {
	a, b := Article(info.NewsData, 1, noon), Article(info.NewsData, 2, noon)
	b.ID = a.ID
	put(t, s, a)
	expect(t, "saved", put(t, s, b, Article(info.NewsData, 3, noon)), store.Saved{Inserted: 1})
	expect(t, "articles", len(page(t, s, info.Query{Category: info.All, Limit: 10}).Articles), 2)
}

func deleted(t T, s *store.Store) {
	a := Article(info.Naver, 1, noon)
	put(t, s, a, Article(info.Naver, 2, noon))
	found, err := s.SetDeleted(ctx, a.ID, true)
	must(t, "SetDeleted", err)
	again, err := s.SetDeleted(ctx, a.ID, true)
	must(t, "SetDeleted", err)
	none, err := s.SetDeleted(ctx, "naver_none", true)
	must(t, "SetDeleted", err)
	expect(t, "found", []bool{found, again, none}, []bool{true, true, false})
	a.Snippet = "more"
	expect(t, "saved", put(t, s, a), store.Saved{})
	expect(t, "listed", ids(page(t, s, info.Query{Category: info.All, Limit: 10}).Articles), []string{"naver_000002"})
	expect(t, "searched", len(page(t, s, info.Query{Search: info.ParseSearch("기사"), Limit: 10}).Articles), 1)
	one, err := s.Article(ctx, a.ID)
	must(t, "Article", err)
	if one != nil {
		t.Errorf("a deleted article is shown")
	}
	back, err := s.SetDeleted(ctx, a.ID, false)
	must(t, "SetDeleted", err)
	expect(t, "back", []any{back, len(page(t, s, info.Query{Category: info.All, Limit: 10}).Articles)},
		[]any{true, 2})
}

// pagesUnderChange: an article that stays throughout is on exactly one page.
func pagesUnderChange(t T, s *store.Store) {
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	add := func(count int) {
		var list []info.Article
		for range count {
			n++
			source := info.Sources[r.IntN(4)]
			a := Article(source, n, noon.Add(-time.Duration(r.IntN(60))*time.Minute)) // whole minutes: many ties
			a.Category = append(info.Categories, "")[r.IntN(4)]
			list = append(list, a)
		}
		put(t, s, list...)
	}
	add(150)
	for round := range 6 {
		q := info.Query{Category: []info.Category{info.All, info.AI}[round%2], Limit: 1 + r.IntN(20)}
		before, _ := scroll(t, s, info.Query{Category: q.Category, Limit: info.MaxLimit}, nil)
		gone := map[string]bool{}
		all, _ := scroll(t, s, q, func() {
			switch r.IntN(3) {
			case 0:
				add(1 + r.IntN(3))
			case 1:
				victim := before[r.IntN(len(before))].ID
				_, err := s.SetDeleted(ctx, victim, true)
				must(t, "SetDeleted", err)
				gone[victim] = true
			default:
				a := before[r.IntN(len(before))]
				a.Snippet = "now with text"
				put(t, s, a)
			}
		})
		seen := map[string]bool{}
		for i, a := range all {
			if seen[a.ID] {
				t.Errorf("round %d: %s is on two pages", round, a.ID)
			}
			seen[a.ID] = true
			if i > 0 {
				if x, y := info.CursorOf(&all[i-1]), info.CursorOf(&a); !x.Before(y) {
					t.Errorf("round %d: %s does not stand before %s", round, x, y)
				}
			}
		}
		for _, a := range before {
			if !seen[a.ID] && !gone[a.ID] {
				t.Errorf("round %d, %d a page: %s is on no page", round, q.Limit, a.ID)
			}
		}
	}
}

func ties(t T, s *store.Store) {
	var list []info.Article
	for i := range 53 {
		list = append(list, Article(info.Sources[i%4], i, noon))
	}
	list[7].ID, list[8].ID, list[9].ID = "Z-9", "a_B", "A_b" // locales order letters differently than bytes
	put(t, s, list...)
	want := slices.SortedFunc(slices.Values(ids(list)), func(a, b string) int { return strings.Compare(b, a) })
	for limit := 1; limit <= info.MaxLimit; limit++ {
		all, sizes := scroll(t, s, info.Query{Category: info.All, Limit: limit}, nil)
		expect(t, fmt.Sprintf("%d a page", limit), ids(all), want)
		for i, size := range sizes[:len(sizes)-1] {
			if size != limit {
				t.Errorf("page %d of %d has %d", i, limit, size)
			}
		}
		if sizes[len(sizes)-1] == 0 {
			t.Errorf("%d a page: the one before the last says that there are more", limit)
		}
	}
	whole := info.Cursor{At: epoch.MillisOf(noon) + 1}
	expect(t, "behind the millisecond after",
		len(page(t, s, info.Query{Category: info.All, From: &whole, Limit: 50}).Articles), 50)
	at := info.Cursor{At: epoch.MillisOf(noon)}
	expect(t, "behind the millisecond", len(page(t, s,
		info.Query{Category: info.All, From: &at, Limit: 50}).Articles), 0)
}

func filters(t T, s *store.Store) {
	var list []info.Article
	for i := range 120 {
		a := Article(info.Sources[i%4], i, noon.Add(-time.Duration(i)*time.Second))
		a.Category = append(info.Categories, "")[i%3]
		if i%5 == 0 {
			a.ThumbnailURL = "https://i.example/"
		}
		list = append(list, a)
	}
	put(t, s, list...)
	for _, q := range []info.Query{
		{Category: info.Energy}, {Category: info.All, Source: info.Feed}, {Category: info.AI, Source: info.Naver},
		{Category: info.All, HasImage: true},
		{Category: info.Environment, Source: info.Seed, HasImage: true}, {Category: info.All},
	} {
		var want []string
		for _, a := range list {
			if (q.Category == info.All || a.Category == q.Category) && (q.Source == "" || a.Source == q.Source) &&
				(!q.HasImage || a.ThumbnailURL != "") {
				want = append(want, a.ID)
			}
		}
		q.Limit = 7
		all, sizes := scroll(t, s, q, nil)
		expect(t, fmt.Sprintf("%+v", q), ids(all), want)
		for i, size := range sizes[:len(sizes)-1] { // filters must not shorten pages
			if size != q.Limit {
				t.Errorf("%+v: page %d has %d", q, i, size)
			}
		}
	}
}

// newer: what arrived since a page was read is new, however old it is.
func newer(t T, s *store.Store) {
	empty := page(t, s, info.Query{Category: info.All, Limit: 5})
	put(t, s, Article(info.Naver, 0, noon))
	first := page(t, s, info.Query{Category: info.All, Limit: 5})
	var list []info.Article
	for i := range 60 { // three transactions, older and older
		a := Article(info.Sources[i%4], 1+i, noon.Add(-time.Duration(i)*time.Minute))
		a.Category = append(info.Categories, "")[i%4]
		list = append(list, a)
	}
	put(t, s, list...)
	known := list[3]
	known.Snippet = "more"
	put(t, s, known) // has arrived before
	_, err := s.SetDeleted(ctx, list[9].ID, true)
	must(t, "SetDeleted", err)

	since := func(q info.Query) (found []string) {
		t.Helper()
		for from := *q.From; ; {
			q.From, q.Newer = &from, true
			n, capped, err := s.Count(ctx, q)
			must(t, "Count", err)
			p := page(t, s, q)
			if capped || p.More != (n > len(p.Articles)) || p.More && len(p.Articles) < q.Limit {
				t.Errorf("%d articles of %d on a page, more %v, capped %v", len(p.Articles), n, p.More, capped)
			}
			found = append(ids(p.Articles), found...)
			if from = p.Arrived; !p.More {
				return found
			}
		}
	}
	ofCategory := func(c info.Category) (want []string) {
		for _, a := range list {
			if a.ID != list[9].ID && (c == info.All || a.Category == c) {
				want = append(want, a.ID)
			}
		}
		slices.Sort(want)
		return want
	}
	for _, limit := range []int{1, 7, 50} {
		for _, c := range []info.Category{info.All, info.Energy} {
			got := since(info.Query{Category: c, From: &first.Arrived, Limit: limit})
			slices.Sort(got)
			expect(t, fmt.Sprintf("%s, %d a page", c, limit), got, ofCategory(c))
		}
	}
	expect(t, "since the empty page", len(since(info.Query{Category: info.All, From: &empty.Arrived, Limit: 50})), 60)
	last := page(t, s, info.Query{Category: info.All, Limit: 1}).Arrived
	nothing := page(t, s, info.Query{Category: info.All, From: &last, Newer: true, Limit: 5})
	expect(t, "nothing newer", nothing, info.Page{Articles: []info.Article{}, Arrived: last})

	// However many others arrive, a page of a rare filter looks through no more than MaxArrivals at once.
	list = nil
	for i := range store.MaxArrivals + 200 {
		list = append(list, Article(info.Feed, 1000+i, noon.Add(-time.Duration(i)*time.Minute)))
	}
	list[store.MaxArrivals+100].Category = info.AI
	put(t, s, list...)
	q := info.Query{Category: info.AI, From: &last, Newer: true, Limit: 5}
	n, capped, err := s.Count(ctx, q)
	must(t, "Count", err)
	expect(t, "counted", []any{n, capped}, []any{0, true})
	p := page(t, s, q)
	expect(t, "a page without articles", []any{len(p.Articles), p.More}, []any{0, true})
	q.From = &p.Arrived
	p = page(t, s, q)
	expect(t, "the next page", []any{ids(p.Articles), p.More}, []any{ids(list[store.MaxArrivals+100:][:1]), false})
}

// arrivalRace: of many transactions at once none puts articles before a position that a reader already has.
func arrivalRace(t T, s *store.Store) {
	seen := map[string]int{}
	position := page(t, s, info.Query{Category: info.All, Limit: 1}).Arrived
	look := func() bool {
		q := info.Query{Category: info.All, From: &position, Newer: true, Limit: 50}
		p, err := s.Page(ctx, q)
		must(t, "Page", err)
		for _, a := range p.Articles {
			seen[a.ID]++
		}
		position = p.Arrived
		return p.More
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		race(8, func(writer int) {
			for i := range 10 {
				list := []store.New{}
				for n := range 30 { // two transactions
					at := noon.Add(-time.Duration(n*writer) * time.Minute)
					list = append(list, store.New{Article: Article(info.Feed, writer*1000+i*30+n, at)})
				}
				if _, err := s.Upsert(ctx, list); err != nil {
					t.Errorf("Upsert: %v", err)
				}
			}
		})
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		for look() {
		}
	}
	expect(t, "seen", len(seen), 8*10*30)
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was seen %d times", id, n)
		}
	}
}

func search(t T, s *store.Store) {
	titles := []string{
		"전기차 폐배터리를 재활용하는 공장", "배터리 화재", "터리배 이야기", "Battery recycling plant opens", "물 관리", "하천의 물을 살린다", "강물",
		"AI로 폐기물 선별", "AIRPORT opens", "Café énergie", "日本のニュース", "A & B: 'quoted' \"text\"",
		norm.NFD.String("수소충전소"), // decomposed, as some systems write it
	}
	var list []info.Article
	for i, title := range titles {
		a := Article(info.Naver, i, noon.Add(-time.Duration(i)*time.Minute))
		a.Title = title
		list = append(list, a)
	}
	list[4].Snippet = "수질과 배터리"
	put(t, s, list...)
	for q, want := range map[string][]int{
		"배터리":         {0, 1, 4},
		"폐배터리":        {0},
		"재활용 배터리":     {0},
		"물":           {4, 5, 6, 7}, // at the end of 강물 and 폐기물
		"ai":          {7},
		"AI로":         {7},
		"battery":     {3},
		"BATTERY 배터리": {},
		"recycl*":     {3},
		"recycl":      {},
		"énergie":     {9},
		"ニュース":        {10},
		"quoted":      {11},
		"수소충전소":       {12},
		"소충전":         {12},
		"없는말":         {},
		"opens":       {3, 8},
	} {
		wanted := []string{}
		for _, i := range want {
			wanted = append(wanted, list[i].ID)
		}
		got := page(t, s, info.Query{Category: info.All, Search: info.ParseSearch(q), Limit: 50})
		expect(t, q, ids(got.Articles), wanted)
	}
}

// beginnings: a prefix of any number of words finds the newest articles with any of them.
func beginnings(t T, s *store.Store) {
	var list []info.Article
	for i := range 40 {
		a := Article(info.Naver, i, noon.Add(-time.Duration(i*7%40)*time.Minute))
		a.Title = fmt.Sprintf("climat%02d 배터리", i)
		if i%2 == 1 {
			a.Title = fmt.Sprintf("Climat%02d recycling", i)
		}
		list = append(list, a)
	}
	put(t, s, list...)
	for q, has := range map[string]func(i int) bool{
		"climat*":           func(int) bool { return true },
		"climat1*":          func(i int) bool { return i/10 == 1 },
		"CLIMAT1* 배터리":      func(i int) bool { return i/10 == 1 && i%2 == 0 },
		"climat2* recycl*":  func(i int) bool { return i/10 == 2 && i%2 == 1 },
		"climat07*":         func(i int) bool { return i == 7 },
		"climat1* climat2*": func(int) bool { return false },
		"climatx*":          func(int) bool { return false },
		"zzzzzzzz*":         func(int) bool { return false },
	} {
		var want []string
		for _, a := range page(t, s, info.Query{Category: info.All, Limit: 50}).Articles {
			var i int
			if _, err := fmt.Sscanf(strings.ToLower(a.Title), "climat%d", &i); err != nil {
				t.Fatalf("%s: %v", a.Title, err)
			}
			if has(i) {
				want = append(want, a.ID)
			}
		}
		all, _ := scroll(t, s, info.Query{Category: info.All, Search: info.ParseSearch(q), Limit: 7}, nil)
		expect(t, q, ids(all), append([]string{}, want...))
	}
}

func laterSnippet(t T, s *store.Store) {
	a, b, c := Article(info.Naver, 1, noon), Article(info.Naver, 2, noon), Article(info.Naver, 3, noon)
	a.Title, b.Title, c.Title, c.Snippet = "태양광 발전", "풍력 발전", "수소", "처음"
	put(t, s, a, b, c)
	finds := func(what, q string, want ...string) {
		t.Helper()
		found := ids(page(t, s, info.Query{Category: info.All, Search: info.ParseSearch(q), Limit: 10}).Articles)
		slices.Sort(found)
		expect(t, what+", "+q, found, append([]string{}, want...))
	}
	// From another source, under another title and id and with another time; one is new.
	from := func(x info.Article, title, snippet string) info.Article {
		y := Article(info.NewsData, 7, noon.Add(-100*time.Hour))
		y.Key, y.Title, y.Snippet = x.Key, title, snippet
		y.ID += x.ID
		return y
	}
	d := Article(info.Feed, 4, noon)
	d.Title, d.Snippet = "배터리", "재활용 recycling"
	put(t, s, from(a, "Solar", "재활용 recycling plant"), from(c, "Hydrogen", "나중"), d)
	finds("the snippet", "재활용", d.ID, a.ID)
	finds("the snippet", "recycling plant", a.ID)
	finds("its beginning", "recycl*", d.ID, a.ID)
	finds("with the title", "태양광 recycling", a.ID)
	finds("the title", "태양광", a.ID)
	finds("another's title", "Solar")
	finds("one without", "풍력", b.ID)
	finds("a snippet that was refused", "나중")
	finds("the one that it had", "처음", c.ID)
	put(t, s, from(a, "Solar", "again"))
	finds("a second snippet", "again")
	_, err := s.SetDeleted(ctx, b.ID, true)
	must(t, "SetDeleted", err)
	put(t, s, from(b, "Wind", "바람"))
	finds("one that was taken down", "바람")
	n, err := s.Prune(ctx, noon.Add(time.Hour), 10)
	must(t, "Prune", err)
	expect(t, "removed", n, 4)
	finds("removed", "재활용")
}

func searchPages(t T, s *store.Store) {
	var list []info.Article
	for i := range 60 {
		// three milliseconds of 20
		a := Article(info.Sources[i%2], i, noon.Add(-time.Duration(i/20)*time.Millisecond))
		a.Title = "태양광 발전"
		if i%3 == 0 {
			a.Title = "풍력"
		}
		list = append(list, a)
	}
	put(t, s, list...)
	for _, source := range []string{"", info.Naver} {
		var want []string
		for _, a := range page(t, s, info.Query{Category: info.All, Limit: 100}).Articles {
			if a.Title == "태양광 발전" && (source == "" || a.Source == source) {
				want = append(want, a.ID)
			}
		}
		for _, limit := range []int{1, 3, 7, 50} {
			all, _ := scroll(t, s, info.Query{Category: info.All, Source: source, Search: info.ParseSearch("태양광"),
				Limit: limit}, nil)
			expect(t, fmt.Sprintf("%q, %d a page", source, limit), ids(all), want)
		}
		q := info.Query{Category: info.All, Source: source, Search: info.ParseSearch("태양광"), Newer: true, Limit: 4}
		at := len(want) - 3
		for _, a := range list {
			if a.ID == want[at] {
				from := info.CursorOf(&a)
				q.From = &from
			}
		}
		expect(t, "newer", ids(page(t, s, q).Articles), want[at-4:at])
	}
}

// manyLooks: a search finds the same articles however many pages, perhaps short or empty, it takes.
func manyLooks(t T, s *store.Store) {
	var chars []rune
	for i := range 60 {
		chars = append(chars, '가'+rune(28*i))
	}
	// the same grams, in one sequence and in two
	whole, apart := string(chars), string(chars[:30])+" "+string(chars[29:])
	var list []info.Article
	for i := range 500 {
		// Many in the first hour, then fewer and fewer.
		a := Article(info.Sources[i%4], i, noon.Add(-time.Duration(i*i/3)*time.Minute))
		if a.Title = apart; i%77 == 76 || i == 499 {
			a.Title = whole
		}
		if i%7 == 0 {
			a.ThumbnailURL = "https://i.example/"
		}
		list = append(list, a)
	}
	for i := range 300 { // one second
		list = append(list, Article(info.Feed, 1000+i, noon.Add(-time.Hour+time.Duration(i)*time.Millisecond)))
		list[len(list)-1].Title = apart
	}
	put(t, s, list...)
	_, err := s.SetDeleted(ctx, list[153].ID, true) // one of the matches
	must(t, "SetDeleted", err)
	all := page(t, s, info.Query{Category: info.All, Limit: 1000}).Articles
	for _, q := range []info.Query{{}, {Source: info.Naver}, {HasImage: true}, {Source: info.Seed, HasImage: true}} {
		var want []string
		for _, a := range all {
			if a.Title == whole && (q.Source == "" || a.Source == q.Source) && (!q.HasImage || a.ThumbnailURL != "") {
				want = append(want, a.ID)
			}
		}
		q.Category, q.Search = info.All, info.ParseSearch(whole)
		for _, q.Limit = range []int{2, 50} {
			found, _ := scroll(t, s, q, nil)
			expect(t, fmt.Sprintf("%q, image %t, %d a page", q.Source, q.HasImage, q.Limit), ids(found),
				append([]string{}, want...))
		}
		newer := q
		newer.Newer, newer.From, newer.Limit = true, &info.Cursor{}, 2
		var found []string
		for range 2000 {
			p := page(t, s, newer)
			found = append(ids(p.Articles), found...)
			switch {
			case p.Next != nil:
				newer.From = p.Next
			case len(p.Articles) > 0:
				first := info.CursorOf(&p.Articles[0])
				newer.From = &first
			}
			if !p.More {
				break
			}
		}
		expect(t, fmt.Sprintf("%q, image %t, upwards", q.Source, q.HasImage), append([]string{}, found...),
			append([]string{}, want...))
	}
}

// wanting: each page is looked at for a picture, however many there are, and once more a day later.
func wanting(t T, s *store.Store) {
	const all, atOnce = 130, 50
	var list []info.Article
	for i := range all {
		list = append(list, Article(info.Sources[i%4], i, noon))
	}
	list[3].ThumbnailURL = "https://i.example/given"
	put(t, s, list...)
	_, err := s.SetDeleted(ctx, list[4].ID, true)
	must(t, "SetDeleted", err)
	now, visits := time.Now(), s.Visits()
	wanted := func(at time.Time) []info.Article {
		t.Helper()
		found, err := visits.Wanting(ctx, at, atOnce)
		must(t, "Wanting", err)
		return found
	}
	looked := map[string]bool{}
	for range all {
		found := wanted(now)
		if len(found) == 0 {
			break
		}
		var pictures []store.Picture
		for i, a := range found {
			if looked[a.ID] || a.URL == "" || a.Source == "" {
				t.Errorf("%+v, looked at %v", a, looked[a.ID])
			}
			looked[a.ID] = true
			p := store.Picture{ID: a.ID}
			if i%2 == 0 {
				p.URL = "https://i.example/found"
			}
			pictures = append(pictures, p)
		}
		must(t, "SetPictures", visits.SetPictures(ctx, pictures, now))
	}
	expect(t, "looked at", []any{len(looked), looked[list[3].ID], looked[list[4].ID]}, []any{all - 2, false, false})
	must(t, "SetPictures", visits.SetPictures(ctx, []store.Picture{{ID: list[3].ID, URL: "https://i.example/other"}},
		now))
	one, err := s.Article(ctx, list[3].ID)
	must(t, "Article", err)
	expect(t, "the picture that it had", one.ThumbnailURL, list[3].ThumbnailURL)
	pictured := page(t, s, info.Query{Category: info.All, HasImage: true, Limit: all}).Articles
	expect(t, "with a picture", len(pictured), (all-2)/2+1)
	expect(t, "within a day", len(wanted(now.Add(23*time.Hour))), 0)
	again := 0
	for at := now.Add(24*time.Hour + time.Minute); ; {
		found := wanted(at)
		if len(found) == 0 {
			break
		}
		var pictures []store.Picture
		for _, a := range found {
			pictures = append(pictures, store.Picture{ID: a.ID})
		}
		must(t, "SetPictures", visits.SetPictures(ctx, pictures, at))
		again += len(found)
	}
	expect(t, "a day later", again, (all-2)/2)
	expect(t, "two days later", len(wanted(now.Add(49*time.Hour))), 0)
}

func prune(t T, s *store.Store) {
	var list []info.Article
	for i := range 10 {
		list = append(list, Article(info.Naver, i, noon.Add(-time.Duration(i)*time.Hour)))
	}
	put(t, s, list...)
	before := noon.Add(-5*time.Hour - time.Minute)
	removed := []int{}
	for range 3 {
		n, err := s.Prune(ctx, before, 3)
		must(t, "Prune", err)
		removed = append(removed, n)
	}
	expect(t, "removed", removed, []int{3, 1, 0})
	for n, want := range map[int]time.Time{1: list[0].PublishedAt, 6: list[5].PublishedAt, 7: {}} {
		at, err := s.Nth(ctx, n)
		must(t, "Nth", err)
		expect(t, fmt.Sprintf("article %d", n), at, want)
	}
	size, err := s.Size(ctx)
	must(t, "Size", err)
	if size < 10_000 {
		t.Errorf("the database has %d bytes", size)
	}
	expect(t, "left", ids(page(t, s, info.Query{Category: info.All, Limit: 50}).Articles), ids(list[:6]))
	expect(t, "found", len(page(t, s, info.Query{Category: info.All, Search: info.ParseSearch("기사"),
		Limit: 50}).Articles), 6)
	expect(t, "stored again", put(t, s, list[9]), store.Saved{Inserted: 1})
	expect(t, "found again", len(page(t, s,
		info.Query{Category: info.All, Search: info.ParseSearch("기사"), Limit: 50}).Articles), 7)
}

func acquire(t T, s *store.Store, name, owner string, ttl time.Duration) bool {
	t.Helper()
	ok, err := s.Acquire(ctx, name, owner, ttl)
	must(t, "Acquire", err)
	return ok
}

func lease(t T, s *store.Store) {
	expect(t, "free", acquire(t, s, "collect:naver", "one", time.Minute), true)
	expect(t, "taken", acquire(t, s, "collect:naver", "two", time.Minute), false)
	expect(t, "another", acquire(t, s, "collect:feed", "two", time.Minute), true)
	expect(t, "extended", acquire(t, s, "collect:naver", "one", time.Minute), true)
	must(t, "Release", s.Release(ctx, "collect:naver", "two"))
	expect(t, "not the owner's", acquire(t, s, "collect:naver", "two", time.Minute), false)
	must(t, "Release", s.Release(ctx, "collect:naver", "one"))
	expect(t, "released", acquire(t, s, "collect:naver", "two", 50*time.Millisecond), true)
	time.Sleep(80 * time.Millisecond)
	expect(t, "expired", acquire(t, s, "collect:naver", "three", time.Minute), true)
}

func race(n int, do func(i int)) {
	var done sync.WaitGroup
	for i := range n {
		done.Add(1)
		go func() {
			defer done.Done()
			do(i)
		}()
	}
	done.Wait()
}

func leaseRace(t T, s *store.Store) {
	var mu sync.Mutex
	winners := 0
	race(30, func(i int) {
		ok, err := s.Acquire(ctx, "refresh", fmt.Sprint(i), time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Errorf("Acquire: %v", err)
		}
		if ok {
			winners++
		}
	})
	expect(t, "winners", winners, 1)
}

func quotas(t T, s *store.Store) {
	ends := time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC()
	day := info.Window{Name: "day:1", Ends: ends.Add(time.Hour), Calls: 5}
	first, second := info.Window{Name: "900s:1", Ends: ends, Calls: 2},
		info.Window{Name: "900s:2", Ends: ends, Calls: 9}
	spend := func(windows ...info.Window) string {
		t.Helper()
		full, err := s.Spend(ctx, info.NewsData, windows)
		must(t, "Spend", err)
		if full == nil {
			return ""
		}
		return full.Name
	}
	var got []string
	for range 3 {
		got = append(got, spend(day, first))
	}
	for range 4 {
		got = append(got, spend(day, second))
	}
	expect(t, "full windows", got, []string{"", "", first.Name, "", "", "", day.Name})
	must(t, "Left", s.Left(ctx, info.Naver, info.Window{Name: "day:1", Ends: ends, Calls: 100}, 30))
	must(t, "Left", s.Left(ctx, info.Naver, info.Window{Name: "day:1", Ends: ends, Calls: 100}, 90))
	_, err := s.Begin(ctx, info.Naver, noon, noon)
	must(t, "Begin", err)
	src, err := s.Begin(ctx, info.NewsData, noon, noon)
	must(t, "Begin", err)
	expect(t, "used", src.Quotas, []info.Quota{
		{Period: "900s:1", Used: 2, Allowed: 2, Ends: ends}, {Period: "900s:2", Used: 3, Allowed: 9, Ends: ends},
		{Period: "day:1", Used: 5, Allowed: 5, Ends: ends.Add(time.Hour)},
	})
	all, err := s.Sources(ctx)
	must(t, "Sources", err)
	expect(t, "as the provider counts", all[0].Quotas,
		[]info.Quota{{Period: "day:1", Used: 70, Allowed: 100, Ends: ends}})
	expect(t, "no limits", spend(), "")
	expect(t, "a limit that was raised", spend(info.Window{Name: "day:1", Ends: day.Ends, Calls: 6}), "")
}

func quotaRace(t T, s *store.Store) {
	windows := []info.Window{{Name: "day:1", Ends: time.Now().Add(time.Hour), Calls: 10}}
	var mu sync.Mutex
	allowed := 0
	race(30, func(int) {
		full, err := s.Spend(ctx, info.Naver, windows)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Errorf("Spend: %v", err)
		} else if full == nil {
			allowed++
		}
	})
	expect(t, "allowed", allowed, 10)
}

func sources(t T, s *store.Store) {
	first, err := s.Begin(ctx, info.Feed, noon, noon.Add(time.Hour))
	must(t, "Begin", err)
	expect(t, "at first", first, store.Source{Name: info.Feed, StartedAt: noon})
	must(t, "Fail", s.Fail(ctx, store.Failure{Source: info.Feed, State: []byte(`{"a":0}`), Class: string(info.Broken),
		Message: "it did not answer", NotBefore: noon.Add(time.Minute), Now: noon}))
	must(t, "Fail", s.Fail(ctx, store.Failure{Source: info.Feed, Class: string(info.Broken), Message: "nor now",
		NotBefore: noon.Add(2 * time.Minute), Now: noon.Add(time.Second)}))
	failed, err := s.Begin(ctx, info.Feed, noon.Add(time.Minute), noon.Add(2*time.Hour))
	must(t, "Begin", err)
	expect(t, "failed", failed, store.Source{
		Name: info.Feed, State: []byte(`{"a":0}`), StartedAt: noon.Add(time.Minute),
		FailedAt: noon.Add(time.Second), Failures: 2,
		ErrorClass: string(info.Broken), Error: "nor now", NotBefore: noon.Add(2 * time.Minute),
	})
	must(t, "Succeed", s.Succeed(ctx, store.Success{Source: info.Feed, State: []byte(`{"a":1}`),
		Counts: map[string]int{"inserted": 3}, Now: noon.Add(time.Hour)}))
	must(t, "Succeed", s.Succeed(ctx, store.Success{Source: info.Feed, Counts: map[string]int{"inserted": 0},
		Now: noon.Add(2 * time.Hour)}))
	must(t, "Rest", s.Rest(ctx, info.Feed, string(info.Spent), noon.Add(3*time.Hour)))
	all, err := s.Sources(ctx)
	must(t, "Sources", err)
	expect(t, "succeeded", all, []store.Source{{
		Name: info.Feed, State: []byte(`{"a":1}`), StartedAt: noon.Add(time.Minute),
		SucceededAt: noon.Add(2 * time.Hour), FailedAt: noon.Add(time.Second),
		ErrorClass: string(info.Spent), NotBefore: noon.Add(3 * time.Hour), Counts: []byte(`{"inserted":0}`),
	}})
}

// Only successes make news younger. An interval that became shorter counts from the next collection on.
func staleness(t T, s *store.Store) {
	check := func(what string, want time.Time) {
		t.Helper()
		c, err := s.Cached(ctx)
		must(t, "Cached", err)
		expect(t, what, c.StaleAt, want)
	}
	begin := func(source string, at time.Duration, patience time.Duration) {
		t.Helper()
		_, err := s.Begin(ctx, source, noon.Add(at), noon.Add(at+patience))
		must(t, "Begin", err)
	}
	succeed := func(source string, at time.Duration, patience time.Duration) {
		t.Helper()
		must(t, "Succeed", s.Succeed(ctx, store.Success{Source: source, Counts: 0, Now: noon.Add(at),
			StaleAt: noon.Add(at + patience)}))
	}
	must(t, "Expect", s.Expect(ctx, []string{info.Feed}, noon))
	check("never collected", time.Time{})
	begin(info.Feed, 0, time.Hour)
	check("begun", noon.Add(time.Hour))
	begin(info.Feed, 10*time.Minute, time.Hour)
	must(t, "Fail", s.Fail(ctx, store.Failure{Source: info.Feed, Class: string(info.Broken), Now: noon}))
	must(t, "Rest", s.Rest(ctx, info.Feed, string(info.Spent), noon))
	check("begun again, and failed", noon.Add(time.Hour))
	succeed(info.Feed, 20*time.Minute, time.Hour)
	check("succeeded", noon.Add(80*time.Minute))
	begin(info.Naver, 20*time.Minute, 15*time.Minute)
	succeed(info.Naver, 20*time.Minute, 15*time.Minute)
	check("a second source, which is collected more often", noon.Add(80*time.Minute))
	begin(info.Feed, 30*time.Minute, 15*time.Minute)
	check("a shorter interval", noon.Add(45*time.Minute))
	// A collector of the version before records no such time.
	must(t, "Succeed", s.Succeed(ctx, store.Success{Source: info.Feed, Counts: 0, Now: noon.Add(40 * time.Minute)}))
	check("a success of the version before", noon.Add(85*time.Minute))
	must(t, "Succeed", s.Succeed(ctx, store.Success{Source: info.Feed, Counts: 0, Now: noon.Add(time.Hour),
		StaleAt: noon.Add(70 * time.Minute)})) // recorded an hour before, by a collector that was replaced since
	check("successes of the version before after one of this", noon.Add(105*time.Minute))
}

func export(t T, s *store.Store) {
	var list []info.Article
	for i := range 25 {
		a := Article(info.Sources[i%4], i, noon.Add(-time.Duration(i)*time.Minute))
		a.Snippet, a.Keywords = `"&" <b> 한글`, []string{"a, b", `"c"`}
		if i%2 == 0 {
			a.ThumbnailURL, a.Category = "https://i.example/", info.AI
		}
		list = append(list, a)
	}
	put(t, s, list...)
	_, err := s.SetDeleted(ctx, list[7].ID, true)
	must(t, "SetDeleted", err)
	slices.SortFunc(list, func(a, b info.Article) int { return strings.Compare(a.ID, b.ID) })
	var all []info.Article
	for after := ""; ; {
		page, err := s.Export(ctx, after, 10)
		must(t, "Export", err)
		for _, a := range page {
			all, after = append(all, a.Article), a.ID
			if a.Deleted != (a.ID == Article(info.Sources[3], 7, noon).ID) {
				t.Errorf("%s: deleted is %v", a.ID, a.Deleted)
			}
			public := info.Exported{Public: a.Public()}
			again, err := public.Article()
			must(t, "Article", err)
			expect(t, "read again", again, a.Article)
		}
		if len(page) < 10 {
			break
		}
	}
	expect(t, "all articles", all, list)
}

func crons(t T, s *store.Store) {
	check := func(what string, want ...store.Cron) {
		t.Helper()
		list, err := s.Crons(ctx)
		must(t, "Crons", err)
		expect(t, what, list, want)
	}
	check("none")
	must(t, "BeginCron", s.BeginCron(ctx, "*/5 * * * *", noon))
	check("under way", store.Cron{Expression: "*/5 * * * *", BeganAt: noon})
	must(t, "EndCron", s.EndCron(ctx, "*/5 * * * *", contract.Network, noon.Add(time.Second)))
	must(t, "BeginCron", s.BeginCron(ctx, "17 3 * * *", noon))
	must(t, "EndCron", s.EndCron(ctx, "17 3 * * *", "", noon.Add(time.Minute)))
	must(t, "BeginCron", s.BeginCron(ctx, "*/5 * * * *", noon.Add(time.Hour)))
	check("again", store.Cron{Expression: "*/5 * * * *", BeganAt: noon.Add(time.Hour), EndedAt: noon.Add(time.Second),
		ErrorKind: contract.Network},
		store.Cron{Expression: "17 3 * * *", BeganAt: noon, EndedAt: noon.Add(time.Minute)})
	must(t, "Forget", s.Forget(ctx)) // they are of long ago
	check("forgotten")
}

func letters(t T, s *store.Store) {
	letter := func(request string) store.Letter {
		return store.Letter{Source: info.Naver, Request: request, Class: string(info.Broken), Error: "500"}
	}
	must(t, "Fail", s.Fail(ctx, store.Failure{Source: info.Naver, Class: string(info.Broken), Message: "500",
		NotBefore: noon, Now: noon, Failed: []store.Letter{letter("환경"), letter("a")}}))
	must(t, "Succeed", s.Succeed(ctx, store.Success{Source: info.Naver, Failed: []store.Letter{letter("환경")},
		Now: noon.Add(time.Hour)}))
	list, err := s.DeadLetters(ctx, "", 10)
	must(t, "DeadLetters", err)
	expect(t, "letters", list, []store.Letter{
		{Source: info.Naver, Request: "a", Class: string(info.Broken), Error: "500", Attempts: 1, FirstAt: noon,
			LastAt: noon},
		{Source: info.Naver, Request: "환경", Class: string(info.Broken), Error: "500", Attempts: 2, FirstAt: noon,
			LastAt: noon.Add(time.Hour)},
	})
	found, err := s.Resolve(ctx, info.Naver, "환경")
	must(t, "Resolve", err)
	again, err := s.Resolve(ctx, info.Naver, "환경")
	must(t, "Resolve", err)
	expect(t, "resolved", []bool{found, again}, []bool{true, false})
	all, err := s.Sources(ctx)
	must(t, "Sources", err)
	expect(t, "counted", all[0].DeadLetters, 1)
	none, err := s.DeadLetters(ctx, info.Feed, 10)
	must(t, "DeadLetters", err)
	expect(t, "of another source", len(none), 0)
}

func cached(t T, s *store.Store) {
	state := func() store.Cached {
		c, err := s.Cached(ctx)
		must(t, "Cached", err)
		return c
	}
	expect(t, "at first", state(), store.Cached{})
	put(t, s, Article(info.Naver, 1, noon))
	changed := state()
	if changed.ChangedAt.IsZero() || time.Since(changed.ChangedAt).Abs() > time.Minute {
		t.Errorf("after an article: %+v", changed)
	}
	must(t, "SetRefreshing", s.SetRefreshing(ctx, []info.Category{info.All, info.AI}))
	expect(t, "being written", state().Written, map[info.Category]string{info.All: "", info.AI: ""})
	written := map[info.Category]string{info.All: "a", info.AI: "b"}
	must(t, "SetRefreshed", s.SetRefreshed(ctx, "kv", changed.ChangedAt, written))
	time.Sleep(2 * time.Millisecond)
	put(t, s, Article(info.Naver, 1, noon))
	after := state()
	if age := time.Since(after.Filled["kv"]); len(after.Filled) != 1 || age < -time.Minute || age > time.Minute {
		t.Errorf("filled: %v", after.Filled)
	}
	after.Filled = nil
	expect(t, "after the same article", after,
		store.Cached{ChangedAt: changed.ChangedAt, RefreshedAt: changed.ChangedAt, Written: written})
	must(t, "SetRefreshing", s.SetRefreshing(ctx, []info.Category{info.AI}))
	must(t, "SetRefreshed", s.SetRefreshed(ctx, "kv", changed.ChangedAt, map[info.Category]string{info.AI: "c"}))
	expect(t, "one of them", state().Written, map[info.Category]string{info.All: "a", info.AI: "c"})
	_, err := s.SetDeleted(ctx, "naver_000001", true)
	must(t, "SetDeleted", err)
	if c := state(); !c.ChangedAt.After(c.RefreshedAt) {
		t.Errorf("after a deletion: %+v", c)
	}
}

func anyText(t T, s *store.Store) {
	// The last has a word that is too long for PostgreSQL.
	for i, text := range []string{`'; DROP TABLE news_articles; --`, `{"a": [1]}`, "\\u0000 \\x", "💡" +
		strings.Repeat("가", 300), "?1 $1 {now} %s", `a"b'c`, strings.Repeat("ａ", 900)} {
		a := Article(info.Feed, i, noon.Add(-time.Duration(i)*time.Second))
		a.Title, a.Snippet, a.SourceName, a.Keywords, a.AITag = text, text, text, []string{text, ""}, text
		put(t, s, a)
		one, err := s.Article(ctx, a.ID)
		must(t, "Article", err)
		expect(t, text, one, &a)
		page(t, s, info.Query{Category: info.All, Search: info.ParseSearch(text), Limit: 5})
	}
}

func nothing(t T, s *store.Store) {
	expect(t, "saved", put(t, s), store.Saved{})
	expect(t, "page", page(t, s, info.Query{Category: info.All, Limit: 10}),
		info.Page{Articles: []info.Article{}, Arrived: info.Cursor{At: 1}})
	expect(t, "search", page(t, s, info.Query{Search: info.ParseSearch("x"), Limit: 10}),
		info.Page{Articles: []info.Article{}})
	known, err := s.Known(ctx, nil)
	must(t, "Known", err)
	expect(t, "known", len(known), 0)
	must(t, "Ready", s.Ready(ctx))
	must(t, "Forget", s.Forget(ctx))
}

func alarms(t T, s *store.Store) {
	must(t, "Expect", s.Expect(ctx, []string{info.Naver, info.Feed}, noon))
	must(t, "Expect once more", s.Expect(ctx, []string{info.Naver}, noon.Add(time.Hour)))
	list, err := s.Sources(ctx)
	must(t, "Sources", err)
	if len(list) != 2 || !list[1].ExpectedAt.Equal(noon) || !list[1].StartedAt.IsZero() {
		t.Errorf("expected sources: %+v", list)
	}

	save := func(state, id string, at time.Time, post bool) {
		t.Helper()
		u := ledger.AlarmUpdate{Name: "source_failing:naver", State: state,
			Notice: &ledger.AlarmNotice{ID: id, Body: `{"text":"실패"}`, At: epoch.MillisOf(at)}}
		must(t, "SaveAlarms", s.SaveAlarms(ctx, at, []ledger.AlarmUpdate{u,
			{Name: "source_stale:naver", State: contract.AlarmOK}}, post))
	}
	claim := func(what string, want ...string) {
		t.Helper()
		notices, err := s.ClaimAlarmChanges(ctx, 2, time.Minute)
		must(t, "ClaimAlarmChanges", err)
		ids := []string{}
		for _, n := range notices {
			ids = append(ids, n.ID)
		}
		expect(t, what, ids, append([]string{}, want...))
	}
	must(t, "nothing", s.SaveAlarms(ctx, noon, nil, true))
	save(contract.AlarmFiring, "a", noon, true)
	save(contract.AlarmFiring, "again", noon.Add(time.Second), true) // another cron sees the same change
	saved, err := s.Alarms(ctx)
	must(t, "Alarms", err)
	expect(t, "saved alarms", saved, []ledger.SavedAlarm{{Name: "source_failing:naver", State: contract.AlarmFiring,
		Since: noon}, {Name: "source_stale:naver", State: contract.AlarmOK, Since: noon}})
	save(contract.AlarmOK, "b", noon.Add(2*time.Second), true)
	save(contract.AlarmFiring, "unposted", noon.Add(3*time.Second), false)
	save(contract.AlarmOK, "c", noon.Add(4*time.Second), true)
	claim("the oldest two", "a", "b")
	claim("what others did not claim", "c")
	must(t, "Settle", s.SettleAlarmChanges(ctx, []string{"a"}, []string{"b", "c"}, noon))
	claim("what was given back", "b", "c")
	must(t, "Settle", s.SettleAlarmChanges(ctx, []string{"b", "c"}, nil, noon))
	must(t, "Settle nothing", s.SettleAlarmChanges(ctx, nil, nil, noon))
	claim("everything was posted")
	must(t, "Forget", s.Forget(ctx))
	save(contract.AlarmFiring, "a", noon.Add(5*time.Second), true) // its id is unused
	claim("a new one", "a")
}
