package store

import (
	"fmt"
	"strings"

	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	pgEpoch = `timestamptz 'epoch' + `
	pgRows  = `jsonb_to_recordset(?1::jsonb) AS n(id text, url text, url_key text, title text, snippet text, source text, source_name text,
source_icon_url text, thumbnail_url text, thumbnail_tried bigint, video_url text, category text, evidence jsonb, keywords text[], ai_tag text,
published_at bigint, grams text)`
)

var postgres = dialect{
	name:    "postgres",
	dollars: true,
	now:     `(extract(epoch from clock_timestamp()) * 1000)::bigint`,
	columns: `id, url, url_key, title, snippet, source, source_name, source_icon_url, thumbnail_url, video_url, category, to_json(keywords) AS keywords, ai_tag,
(extract(epoch from published_at) * 1000)::bigint AS published_at`,
	live: `is_deleted = FALSE`,
	no:   "FALSE",
	yes:  "TRUE",
	list: `SELECT jsonb_array_elements_text(?1::jsonb)`,
	instant: func(placeholder string) string {
		return "(" + pgEpoch + placeholder + "::bigint * interval '1 millisecond')"
	},
	tried:   func() string { return "coalesce((extract(epoch from thumbnail_tried) * 1000)::bigint, 0)" },
	indexed: vector,
	search:  searchPostgres,
	upsert: []string{
		// In the order of keys, so that two transactions wait for each other's rows in the same order.
		`WITH saved AS (INSERT INTO news_articles (id, url, url_key, title, snippet, source, source_name, source_icon_url, thumbnail_url, thumbnail_tried,
video_url, category, evidence, keywords, ai_tag, published_at, created_at, updated_at, grams)
SELECT id, url, url_key, title, snippet, source, source_name, nullif(source_icon_url, ''), nullif(thumbnail_url, ''),
CASE WHEN thumbnail_tried > 0 THEN ` + pgEpoch + `thumbnail_tried * interval '1 millisecond' END,
nullif(video_url, ''), nullif(category, ''), evidence, keywords, nullif(ai_tag, ''),
` + pgEpoch + `published_at * interval '1 millisecond', moment, moment, grams::tsvector
FROM ` + pgRows + `, (SELECT ` + pgEpoch + `?2::bigint * interval '1 millisecond' AS moment) AS at
WHERE NOT EXISTS (SELECT 1 FROM news_articles AS a WHERE a.id = n.id AND a.url_key <> n.url_key)
ORDER BY url_key
ON CONFLICT (url_key) DO UPDATE SET
snippet = CASE news_articles.snippet WHEN '' THEN excluded.snippet ELSE news_articles.snippet END,
source_icon_url = coalesce(news_articles.source_icon_url, excluded.source_icon_url),
thumbnail_url = coalesce(news_articles.thumbnail_url, excluded.thumbnail_url),
thumbnail_tried = greatest(news_articles.thumbnail_tried, excluded.thumbnail_tried),
video_url = coalesce(news_articles.video_url, excluded.video_url),
category = coalesce(news_articles.category, excluded.category),
evidence = CASE WHEN news_articles.category IS NULL THEN excluded.evidence ELSE news_articles.evidence END,
keywords = coalesce(news_articles.keywords, excluded.keywords),
ai_tag = coalesce(news_articles.ai_tag, excluded.ai_tag),
updated_at = greatest(excluded.updated_at, news_articles.created_at + interval '1 millisecond')
WHERE news_articles.is_deleted = FALSE AND (news_articles.snippet = '' AND excluded.snippet <> ''
OR news_articles.source_icon_url IS NULL AND excluded.source_icon_url IS NOT NULL
OR news_articles.thumbnail_url IS NULL AND (excluded.thumbnail_url IS NOT NULL
OR excluded.thumbnail_tried > coalesce(news_articles.thumbnail_tried, timestamptz 'epoch'))
OR news_articles.video_url IS NULL AND excluded.video_url IS NOT NULL
OR news_articles.category IS NULL AND excluded.category IS NOT NULL
OR news_articles.keywords IS NULL AND excluded.keywords IS NOT NULL
OR news_articles.ai_tag IS NULL AND excluded.ai_tag IS NOT NULL)
RETURNING created_at = updated_at AS inserted),
marked AS (UPDATE news_cache SET changed_at = {now} WHERE name = 'feeds' AND EXISTS (SELECT 1 FROM saved))
SELECT inserted FROM saved`,
	},
	prune: []string{
		`DELETE FROM news_articles WHERE id IN (SELECT id FROM news_articles
WHERE published_at < ` + pgEpoch + `?1::bigint * interval '1 millisecond' ORDER BY published_at, id LIMIT ?2::bigint)
RETURNING 1 AS removed`,
	},
}

// maxPosition is the last position that a tsvector has; what follows is indexed there.
const maxPosition = 16383

// maxLexeme is the longest word, in bytes, that a tsvector takes. Readers search for nothing so long.
const maxLexeme = 2046

// vector writes grams as a tsvector, which PostgreSQL's own parser, whose idea of a letter depends on the
// locale, has no part in.
func vector(grams []string) string {
	var b strings.Builder
	for i, g := range grams {
		if len(g) > maxLexeme {
			continue // else PostgreSQL refuses all articles that are stored with this one
		}
		fmt.Fprintf(&b, "%s:%d ", quoted(g), min(i+1, maxPosition))
	}
	return b.String()
}

// quoted writes a lexeme. Grams are letters and digits, so there is nothing to escape.
func quoted(gram string) string { return "'" + gram + "'" }

// searchWindow is how many articles next to the cursor a search looks through first.
const searchWindow = 500

// searchPostgres looks through the articles next to the cursor, where a common word fills a page at once, and only
// when that gives less than a page has the index find all articles and sorts them. Left to itself PostgreSQL, which
// takes every word for evenly spread, reads everything in order for one that was common once; OFFSET 0
// keeps it from that.
func searchPostgres(s *Store, q searchQuery) ledger.Statement {
	const table = "news_articles."
	var c conditions
	s.filter(&c, &q.Query, table)
	candidates := ` FROM news_articles` + c.where()
	found := "grams @@ " + c.arg(tsquery(q.Search)) + "::tsquery"
	limit, sorted := c.arg(int64(q.Limit+1))+"::bigint", order(&q.Query, table)
	return s.statement(fmt.Sprintf(`WITH near AS MATERIALIZED (SELECT * FROM (SELECT *%s%s LIMIT %d) AS news_articles WHERE %s%s LIMIT %s),
enough AS MATERIALIZED (SELECT count(*) = %[6]s AS yes FROM near)
SELECT %[7]s FROM (SELECT * FROM near WHERE (SELECT yes FROM enough)
UNION ALL (SELECT *%[1]s AND %[4]s AND NOT (SELECT yes FROM enough) OFFSET 0)) AS news_articles%[2]s LIMIT %[6]s`,
		candidates, sorted, searchWindow, found, sorted, limit, s.columns), c.args...)
}

// tsquery writes a search in PostgreSQL's language.
func tsquery(search info.Search) string {
	var terms []string
	for _, t := range search {
		var row []string
		for i, g := range t.Grams {
			if g = quoted(g); t.Prefix && i == len(t.Grams)-1 {
				g += ":*"
			}
			row = append(row, g)
		}
		terms = append(terms, "("+strings.Join(row, " <-> ")+")")
	}
	return strings.Join(terms, " & ")
}
