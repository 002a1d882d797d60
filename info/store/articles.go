package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// row is an article as a parameter of statements.
type row struct {
	ID            string       `json:"id"`
	URL           string       `json:"url"`
	Key           string       `json:"url_key"`
	Title         string       `json:"title"`
	Snippet       string       `json:"snippet"`
	Source        string       `json:"source"`
	SourceName    string       `json:"source_name"`
	SourceIconURL string       `json:"source_icon_url"`
	ThumbnailURL  string       `json:"thumbnail_url"`
	VideoURL      string       `json:"video_url"`
	Category      string       `json:"category"`
	Evidence      any          `json:"evidence"`
	Keywords      []string     `json:"keywords"`
	AITag         string       `json:"ai_tag"`
	PublishedAt   epoch.Millis `json:"published_at"`

	Grams string `json:"grams,omitempty"` // if the article is new, or takes the snippet
}

// New is an article to store.
type New struct{ info.Article }

func (s *Store) rowOf(n *New) row {
	r := row{
		ID: n.ID, URL: n.URL, Key: n.Key, Title: n.Title, Snippet: n.Snippet, Source: n.Source,
		SourceName:    n.SourceName,
		SourceIconURL: n.SourceIconURL, ThumbnailURL: n.ThumbnailURL,
		VideoURL: n.VideoURL,
		Category: string(n.Category), Keywords: n.Keywords, AITag: n.AITag,
		PublishedAt: epoch.MillisOf(n.PublishedAt),
	}
	if len(n.Evidence) > 0 {
		r.Evidence = n.Evidence
	}
	r.Grams = s.indexed(info.Grams(n.Searchable()), r.PublishedAt)
	return r
}

// bareArticle is a stored article without a snippet.
type bareArticle struct {
	Key         string       `json:"url_key"`
	Title       string       `json:"title"`
	PublishedAt epoch.Millis `json:"published_at"`
}

// completed prepares rows with snippets for stored articles that lack one: the search index gets what the articles
// will contain, under their own titles and times.
func (s *Store) completed(ctx context.Context, op string, rows []row) error {
	with := map[string]*row{}
	for i, r := range rows {
		if r.Snippet != "" {
			with[r.Key] = &rows[i]
		}
	}
	if len(with) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(with))
	results, err := s.batch(ctx, op, s.statement(`SELECT url_key, title, `+s.millis("published_at")+` AS published_at
FROM news_articles WHERE url_key IN (`+s.list+`) AND snippet = '' AND `+s.live, encode(keys)))
	if err != nil {
		return err
	}
	bare, err := decode[bareArticle](op, results[0])
	for _, b := range bare {
		r := with[b.Key]
		whole := info.Article{Title: b.Title, Snippet: r.Snippet}
		r.Grams = s.indexed(info.Grams(whole.Searchable()), b.PublishedAt)
	}
	return err
}

// maxBatch is the number of articles in a transaction. It keeps the parameter below D1's limit of 2 MB even with
// the longest texts.
const maxBatch = 25

// Saved counts stored articles.
type Saved struct {
	Inserted int
	Updated  int // existing ones with filled gaps
}

// Upsert stores articles, distinct in id and key. Existing articles keep their fields and get missing ones; deleted
// ones stay deleted. Articles whose id belongs to another one are skipped. Changes show in Cached. Articles arrive
// in the order of transactions, whatever the clocks of their collectors say.
func (s *Store) Upsert(ctx context.Context, articles []New) (Saved, error) {
	const op = "store.Upsert"
	var saved Saved
	for piece := range slices.Chunk(articles, maxBatch) {
		rows := make([]row, len(piece))
		for i := range piece {
			rows[i] = s.rowOf(&piece[i])
		}
		if err := s.completed(ctx, op, rows); err != nil {
			return saved, err
		}
		list := encode(rows)
		var statements []ledger.Statement
		for _, sql := range s.upsert {
			statements = append(statements, s.statement(sql, list))
		}
		results, err := s.batch(ctx, op, statements...)
		if err != nil {
			return saved, err
		}
		done, err := decode[struct {
			Inserted bit `json:"inserted"`
		}](op, results[s.saved])
		if err != nil {
			return saved, err
		}
		for _, d := range done {
			if d.Inserted {
				saved.Inserted++
			} else {
				saved.Updated++
			}
		}
	}
	return saved, nil
}

// bit is a boolean, which SQLite stores as a number.
type bit bool

func (b *bit) UnmarshalJSON(text []byte) error {
	*b = string(text) == "true" || string(text) == "1"
	return nil
}

// Known describes what a stored article lacks. A deleted one lacks nothing.
type Known struct {
	Snippet, Icon, Thumbnail, Video, Category, Keywords, Tag bool
}

// Takes reports whether the article would be completed by another description.
func (k Known) Takes(a *info.Article) bool {
	return k.Snippet && a.Snippet != "" || k.Icon && a.SourceIconURL != "" || k.Thumbnail && a.ThumbnailURL != "" ||
		k.Video && a.VideoURL != "" || k.Category && a.Category != "" || k.Keywords && len(a.Keywords) > 0 ||
		k.Tag && a.AITag != ""
}

// Known looks up articles by key. New ones are absent from known.
func (s *Store) Known(ctx context.Context, keys []string) (known map[string]Known, err error) {
	const op = "store.Known"
	lacks := func(condition, name string) string { return `, ` + s.live + ` AND ` + condition + ` AS ` + name }
	null := func(column string) string { return lacks(column+` IS NULL`, column) }
	results, err := s.batch(ctx, op, s.statement(`SELECT url_key`+lacks(`snippet = ''`, "snippet")+
		null("source_icon_url")+null("thumbnail_url")+null("video_url")+null("category")+null("keywords")+
		null("ai_tag")+` FROM news_articles WHERE url_key IN (`+s.list+`)`, encode(keys)))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		Key       string `json:"url_key"`
		Snippet   bit    `json:"snippet"`
		Icon      bit    `json:"source_icon_url"`
		Thumbnail bit    `json:"thumbnail_url"`
		Video     bit    `json:"video_url"`
		Category  bit    `json:"category"`
		Keywords  bit    `json:"keywords"`
		Tag       bit    `json:"ai_tag"`
	}](op, results[0])
	known = make(map[string]Known, len(rows))
	for _, r := range rows {
		known[r.Key] = Known{Snippet: bool(r.Snippet), Icon: bool(r.Icon), Thumbnail: bool(r.Thumbnail),
			Video: bool(r.Video), Category: bool(r.Category), Keywords: bool(r.Keywords), Tag: bool(r.Tag)}
	}
	return known, err
}

// Page reads one page.
func (s *Store) Page(ctx context.Context, q info.Query) (info.Page, error) {
	const op = "store.Page"
	switch {
	case len(q.Search) > 0:
		return s.searched(ctx, q)
	case q.Newer:
		return s.arrivals(ctx, q)
	}
	var c conditions
	s.filter(&c, &q, "news_articles.")
	results, err := s.batch(ctx, op, lastArrival(s), s.statement(`SELECT `+s.columns+` FROM news_articles`+
		c.where()+order(&q, "news_articles.")+` LIMIT `+c.arg(int64(q.Limit+1)), c.args...))
	if err != nil {
		return info.Page{}, err
	}
	articles, err := scanArticles(op, results[1])
	page := q.Cut(articles)
	page.Arrived = arrivedBy(results[0])
	return page, err
}

// scanArticles decodes rows by hand: reflection doubled the time of a page.
func scanArticles(op string, r ledger.Result) ([]info.Article, error) {
	rows := gjson.ParseBytes(r.Rows)
	if !rows.IsArray() {
		return nil, ledger.Fault(op, errors.New("the rows are no list"))
	}
	articles := []info.Article{}
	rows.ForEach(func(_, row gjson.Result) bool {
		articles = append(articles, articleOf(row))
		return true
	})
	return articles, nil
}

func articleOf(row gjson.Result) (a info.Article) {
	row.ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "id":
			a.ID = value.Str
		case "url":
			a.URL = value.Str
		case "url_key":
			a.Key = value.Str
		case "title":
			a.Title = value.Str
		case "snippet":
			a.Snippet = value.Str
		case "source":
			a.Source = value.Str
		case "source_name":
			a.SourceName = value.Str
		case "source_icon_url":
			a.SourceIconURL = value.Str
		case "thumbnail_url":
			a.ThumbnailURL = value.Str
		case "video_url":
			a.VideoURL = value.Str
		case "category":
			a.Category = info.Category(value.Str)
		case "keywords":
			a.Keywords = keywords(value)
		case "ai_tag":
			a.AITag = value.Str
		case "published_at":
			a.PublishedAt = epoch.Millis(value.Int()).Time()
		}
		return true
	})
	return a
}

// keywords decodes a list of strings, which SQLite has as JSON in a string.
func keywords(value gjson.Result) []string {
	if value.Type == gjson.String {
		value = gjson.Parse(value.Str)
	}
	if !value.IsArray() {
		return nil
	}
	list := []string{}
	for _, k := range value.Array() {
		list = append(list, k.Str)
	}
	return list
}

// filter adds the conditions of a query on the columns of table, which ends in a dot.
func (s *Store) filter(c *conditions, q *info.Query, table string) {
	c.and(table + s.live)
	if q.Category != info.All && q.Category != "" {
		c.and(table + "category = " + c.arg(string(q.Category)))
	}
	if q.Source != "" {
		c.and(table + "source = " + c.arg(q.Source))
	}
	if q.HasImage {
		c.and(table + "thumbnail_url IS NOT NULL")
	}
	if q.From != nil {
		comparison := "<"
		if q.Newer {
			comparison = ">"
		}
		c.and("(" + table + "published_at, " + table + "id) " + comparison + " (" + s.instant(c.arg(q.From.At)) +
			", " + c.arg(q.From.ID) + ")")
	}
}

// order returns the ORDER BY clause. It names the table: PostgreSQL would otherwise sort by the selected
// published_at, a number, without an index.
func order(q *info.Query, table string) string {
	direction := " DESC"
	if q.Newer {
		direction = " ASC"
	}
	return " ORDER BY " + table + "published_at" + direction + ", " + table + "id" + direction
}

// Article returns an article, or nil if it is missing or deleted.
func (s *Store) Article(ctx context.Context, id string) (*info.Article, error) {
	const op = "store.Article"
	results, err := s.batch(ctx, op, s.statement(`SELECT `+s.columns+` FROM news_articles WHERE id = ?1 AND `+s.live,
		id))
	if err != nil {
		return nil, err
	}
	articles, err := scanArticles(op, results[0])
	if err != nil || len(articles) == 0 {
		return nil, err
	}
	return &articles[0], nil
}

// Found is an article that might be deleted.
type Found struct {
	info.Article
	Deleted bool
}

// Find returns the article with an id or with a key (see info.Key), even if it is deleted, or nil.
func (s *Store) Find(ctx context.Context, id, key string) (*Found, error) {
	const op = "store.Find"
	results, err := s.batch(ctx, op, s.statement(`SELECT `+s.columns+` FROM news_articles WHERE id = ?1 OR url_key = ?2
ORDER BY id LIMIT 1`, id, key),
		s.statement(`SELECT 1 AS deleted FROM news_articles WHERE (id = ?1 OR url_key = ?2) AND NOT `+s.live, id, key))
	if err != nil {
		return nil, err
	}
	articles, err := scanArticles(op, results[0])
	if err != nil || len(articles) == 0 {
		return nil, err
	}
	deleted, err := decode[struct{}](op, results[1])
	return &Found{articles[0], len(deleted) > 0}, err
}

// SetDeleted deletes an article softly or restores it. It is idempotent. found is false if there is no such
// article.
func (s *Store) SetDeleted(ctx context.Context, id string, deleted bool) (found bool, err error) {
	const op = "store.SetDeleted"
	from, to := s.live, strings.Replace(s.live, s.no, s.yes, 1)
	if !deleted {
		from, to = to, from
	}
	results, err := s.batch(ctx, op,
		s.statement(`UPDATE news_articles SET `+to+`, updated_at = `+s.instant("?2")+` WHERE id = ?1 AND `+from, id,
			time.Now().UnixMilli()),
		s.statement(`UPDATE news_cache SET changed_at = {now} WHERE name = 'feeds'`),
		// The number of updates proves nothing: the batch can run twice.
		s.statement(`SELECT id FROM news_articles WHERE id = ?1`, id))
	if err != nil {
		return false, err
	}
	rows, err := decode[struct{}](op, results[2])
	return len(rows) > 0, err
}

// Nth returns the time of publication of the n-th newest article, or zero if there are fewer.
func (s *Store) Nth(ctx context.Context, n int) (time.Time, error) {
	const op = "store.Nth"
	results, err := s.batch(ctx, op, s.statement(`SELECT `+s.millis("published_at")+` AS at FROM news_articles
WHERE `+s.live+order(&info.Query{}, "news_articles.")+` LIMIT 1 OFFSET CAST(?1 AS BIGINT)`, int64(n-1)))
	if err != nil {
		return time.Time{}, err
	}
	rows, err := decode[struct {
		At epoch.Millis `json:"at"`
	}](op, results[0])
	if err != nil || len(rows) == 0 {
		return time.Time{}, err
	}
	return rows[0].At.Time(), nil
}

// Prune deletes up to limit articles published before a time, oldest first.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	var statements []ledger.Statement
	for _, sql := range s.prune {
		statements = append(statements, s.statement(sql, epoch.MillisOf(before), int64(limit)))
	}
	const op = "store.Prune"
	results, err := s.batch(ctx, op, statements...)
	if err != nil {
		return 0, err
	}
	rows, err := decode[struct{}](op, results[len(results)-1]) // D1 also counts changes of the search index
	return len(rows), err
}
