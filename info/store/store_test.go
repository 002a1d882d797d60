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

// An article of the usual length costs no more than this, with its share of ten indexes and of the search index.
func TestD1_BytesPerArticle(t *testing.T) {
	const articles, most = 4000, 4100
	db := openD1(t)
	s := store.NewD1(db)
	r := rand.New(rand.NewPCG(1, 2))
	frequent := rand.NewZipf(r, 1.1, 5, 20_000) // as words are
	words := make([]string, 20_001)
	for i := range words {
		for range 2 + r.IntN(3) {
			words[i] += string(rune('가' + r.IntN(700)*15))
		}
	}
	text := func(chars int) string {
		var b strings.Builder
		for b.Len() < 3*chars {
			b.WriteString(words[frequent.Uint64()] + " ")
		}
		return strings.TrimSpace(b.String())
	}
	for list := range slices.Chunk(slices.Collect(infotest.Corpus(articles, time.Now())), 25) {
		rows := make([]store.New, len(list))
		for i, a := range list {
			a.Title, a.Snippet = text(35), text(130)
			a.URL = fmt.Sprintf("https://www.press%d.co.kr/news/articleView.html?idxno=%d", r.IntN(200), r.IntN(1e7))
			a.Key = info.Key(a.URL) + a.ID
			a.Evidence = []info.Match{{Category: a.Category, Keyword: "기후변화", Field: "title", Points: 4}}
			if a.ThumbnailURL != "" {
				a.ThumbnailURL = fmt.Sprintf("https://cdn.press.co.kr/news/photo/202601/%d_%d.jpg", r.IntN(1e7), i)
			}
			rows[i].Article = a
		}
		if _, err := s.Upsert(context.Background(), rows); err != nil {
			t.Fatal(err)
		}
	}
	size, err := s.Size(context.Background())
	t.Logf("%d bytes an article", size/articles)
	if err != nil || size/articles > most {
		t.Errorf("%d bytes an article, not %d; %v", size/articles, most, err)
	}
}
