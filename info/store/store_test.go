//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

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
	if _, err := store.MigratePostgres(context.Background(), db, ""); err != nil {
		t.Fatal(err)
	}
}

func TestD1(t *testing.T) {
	db := openD1(t)
	for _, c := range infotest.StoreCases {
		t.Run(c.Name, func(t *testing.T) {
			infotest.Wipe(t, db, "d1")
			c.Run(t, store.NewD1(db))
		})
	}
}

func TestPostgres(t *testing.T) {
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

// plans records and explains the statements of a database.
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
	p.last = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(results[len(results)-1].Rows))
	return p.DB.Batch(ctx, statements)
}

// No query sorts, or begins anywhere but at its cursor.
func TestPage_Indexes(t *testing.T) {
	p := &plans{DB: openD1(t), t: t, prefix: "EXPLAIN QUERY PLAN "}
	s := store.NewD1(p)
	from := &info.Cursor{At: 1_769_601_600_000, ID: "naver_1"}
	for _, f := range filters {
		for _, newer := range []bool{false, true} {
			q := f.Query
			q.From, q.Newer, q.Limit = from, newer, 10
			if _, err := s.Page(context.Background(), q); err != nil {
				t.Fatal(err)
			}
			want := "SEARCH news_articles USING INDEX " + f.index
			if !strings.HasSuffix(want, "(") {
				want += " AND "
			}
			want += "(published_at,id)<(?,?)"
			if newer {
				want = "SEARCH news_articles USING INDEX news_by_arrival ((created_at,id)>(?,?))"
			}
			if !strings.Contains(p.last, want) || strings.Contains(p.last, "TEMP B-TREE") {
				t.Errorf("%s: %s", describe(&q), p.last)
			}
		}
	}
}

// Articles indexed before a rebuild of the index are still found.
func TestSearch_IndexKept(t *testing.T) {
	files := fstest.MapFS{"migrations/0002b_articles.sql": {Data: []byte(`
INSERT INTO news_articles (id, url, url_key, title, snippet, source, source_name, published_at, created_at,
updated_at, search_id)
VALUES ('a', 'u', 'k', '폐배터리를 재활용', '', 'naver', 'n', 5, 1, 1, 5 << 20), ('b', 'v', 'l', 'Solar', '', 'naver', 'n',
6, 1, 1, 6 << 20);
INSERT INTO news_search (rowid, grams) VALUES (5 << 20, '폐배 배터 터리 리를 를 재활 활용 용'), (6 << 20, 'solar');`)}}
	names, _ := fs.Glob(store.Migrations, "migrations/*.sql")
	for _, name := range names {
		sql, _ := store.Migrations.ReadFile(name)
		files[name] = &fstest.MapFile{Data: sql}
	}
	db, err := sqlite.OpenWith(files)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := store.NewD1(db)
	for q, want := range map[string]string{"배터리": "a", "재활": "a", "배터": "a", "를": "a", "리배": "", "solar": "b",
		"sol*": "b", "sola*": "b", "solar*": "b", "so": ""} {
		page, err := s.Page(context.Background(),
			info.Query{Category: info.All, Search: info.ParseSearch(q), Limit: 5})
		if err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, a := range page.Articles {
			found += a.ID
		}
		if found != want {
			t.Errorf("%s: found %q, not %q", q, found, want)
		}
	}
}

type broken struct{ err error }

func (b broken) Batch(context.Context, []ledger.Statement) ([]ledger.Result, error) {
	return nil, b.err
}

func TestStore_ErrorKinds(t *testing.T) {
	cause := errors.New("gone")
	for _, s := range []*store.Store{store.NewD1(broken{cause}), store.NewPostgres(broken{cause})} {
		if _, err := s.Page(context.Background(), info.Query{Limit: 1}); contract.KindOf(err) != contract.Storage ||
			!errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	}
}

// A batch of articles with the longest texts is within D1's limits.
func TestUpsert_LongestTexts(t *testing.T) {
	var articles []store.New
	for i := range 50 {
		a := infotest.Article(info.Feed, i, time.Now())
		a.Title, a.Snippet = strings.Repeat("\U00020000", info.MaxTitle),
			strings.Repeat("\U00020001", info.MaxSnippet)
		a.ThumbnailURL = "https://a.example/" + strings.Repeat("a", info.MaxURL-20)
		articles = append(articles, store.New{Article: a})
	}
	if saved, err := store.NewD1(openD1(t)).Upsert(context.Background(), articles); err != nil ||
		saved.Inserted != 50 {
		t.Errorf("%+v %v", saved, err)
	}
}

// A stretch of time with more articles than it has numbers in the search index: all are stored, the rest is not found.
func TestSearch_FullStretch(t *testing.T) {
	const numbers, beyond = 4096, 30
	s := store.NewD1(openD1(t))
	at := time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)
	put := func(first, last int, at time.Time) {
		t.Helper()
		var list []store.New
		for i := first; i < last; i++ {
			list = append(list, store.New{Article: infotest.Article(info.Feed, i, at)})
		}
		if saved, err := s.Upsert(context.Background(), list); err != nil || saved.Inserted != last-first {
			t.Fatalf("%+v %v", saved, err)
		}
	}
	put(0, numbers+beyond, at)
	put(numbers+beyond, numbers+2*beyond, at.Add(2*time.Minute)) // of another stretch
	page, err := s.Page(context.Background(),
		info.Query{Category: info.All, Search: info.ParseSearch("기사"), Limit: 2 * numbers})
	if err != nil || len(page.Articles) != numbers+beyond {
		t.Errorf("found %d; %v", len(page.Articles), err)
	}
}

// An article costs no more than this, with its share of all indexes: one whose title has 70 to 120 characters and
// whose snippet has 200 to 300, half of its words Korean, with URLs of 100 bytes for itself and for a picture.
func TestD1_BytesPerArticle(t *testing.T) {
	const articles, most = 4000, 2500
	db := openD1(t)
	s := store.NewD1(db)
	r := rand.New(rand.NewPCG(1, 2))
	frequent := rand.NewZipf(r, 1.1, 5, 20_000) // as words are
	words := make([]string, 20_001)
	for i := range words {
		first, letter := 'a', func() int { return r.IntN(26) }
		size := 2 + r.IntN(8)
		if i%2 == 0 {
			first, letter, size = '가', func() int { return r.IntN(700) * 15 }, 2+r.IntN(3)
		}
		for range size {
			words[i] += string(first + rune(letter()))
		}
	}
	text := func(chars int) string {
		var b []rune
		for len(b) < chars {
			b = append(b, []rune(words[frequent.Uint64()]+" ")...)
		}
		return strings.TrimSpace(string(b[:chars]))
	}
	url := func(format string, args ...any) string {
		u := fmt.Sprintf(format, args...)
		return u + strings.Repeat("x", max(0, 100-len(u)))
	}
	for list := range slices.Chunk(slices.Collect(infotest.Corpus(articles, time.Now())), 25) {
		rows := make([]store.New, len(list))
		for i, a := range list {
			a.Title, a.Snippet = text(70+r.IntN(51)), text(200+r.IntN(101))
			a.URL = url("https://www.press%d.co.kr/news/articleView.html?idxno=%d&section=", r.IntN(200), r.IntN(1e7))
			a.Key = info.Key(a.URL)
			a.ID = fmt.Sprintf("%s_%012x", a.Source, r.Uint64()>>16)
			a.Evidence = []info.Match{{Category: a.Category, Keyword: "기후변화", Field: "title", Points: 4}}
			if a.ThumbnailURL != "" {
				a.ThumbnailURL = url("https://cdn.press.co.kr/news/photo/202601/%d_%d.jpg", r.IntN(1e7), i)
			}
			rows[i].Article = a
		}
		saved, err := s.Upsert(context.Background(), rows)
		if err != nil || saved.Inserted != len(rows) {
			t.Fatal(saved, err)
		}
	}
	size, err := s.Size(context.Background())
	t.Logf("%d bytes an article", size/articles)
	if err != nil || size/articles > most {
		t.Errorf("%d bytes an article, more than %d; %v", size/articles, most, err)
	}
}
