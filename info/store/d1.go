package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

var d1 = dialect{
	name:    "d1",
	now:     `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
	columns: `id, url, url_key, title, snippet, source, source_name, source_icon_url, thumbnail_url, video_url, category, keywords, ai_tag, published_at`,
	live:    `is_deleted = 0`,
	no:      "0",
	yes:     "1",
	list:    `SELECT value FROM json_each(?1)`,
	instant: func(placeholder string) string { return placeholder },
	tried:   func() string { return "thumbnail_tried" },
	indexed: func(grams []string) string { return strings.Join(grams, " ") },
	search:  searchD1,
	upsert: []string{
		// The index first: what it takes are the articles that the second statement inserts. Where another
		// article has the search id, it takes none.
		`INSERT INTO news_search (rowid, grams) SELECT value->>'search_id', value->>'grams' FROM json_each(?1)
WHERE value->>'search_id' IS NOT NULL AND NOT EXISTS (SELECT 1 FROM news_articles
WHERE url_key = value->>'url_key' OR id = value->>'id' OR search_id = value->>'search_id')`,

		`INSERT INTO news_articles (id, url, url_key, title, snippet, source, source_name, source_icon_url, thumbnail_url, thumbnail_tried,
video_url, category, evidence, keywords, ai_tag, published_at, created_at, updated_at, search_id)
SELECT value->>'id', value->>'url', value->>'url_key', value->>'title', value->>'snippet', value->>'source', value->>'source_name',
nullif(value->>'source_icon_url', ''), nullif(value->>'thumbnail_url', ''), value->>'thumbnail_tried', nullif(value->>'video_url', ''),
nullif(value->>'category', ''), value->>'evidence', value->>'keywords', nullif(value->>'ai_tag', ''), value->>'published_at', ?2, ?2,
CASE WHEN EXISTS (SELECT 1 FROM news_articles WHERE search_id = value->>'search_id') THEN NULL ELSE value->>'search_id' END
FROM json_each(?1) WHERE true
ON CONFLICT (url_key) DO UPDATE SET
snippet = CASE snippet WHEN '' THEN excluded.snippet ELSE snippet END,
source_icon_url = coalesce(source_icon_url, excluded.source_icon_url),
thumbnail_url = coalesce(thumbnail_url, excluded.thumbnail_url),
thumbnail_tried = max(thumbnail_tried, excluded.thumbnail_tried),
video_url = coalesce(video_url, excluded.video_url),
category = coalesce(category, excluded.category),
evidence = CASE WHEN category IS NULL THEN excluded.evidence ELSE evidence END,
keywords = coalesce(keywords, excluded.keywords),
ai_tag = coalesce(ai_tag, excluded.ai_tag),
updated_at = max(excluded.updated_at, created_at + 1)
WHERE is_deleted = 0 AND (snippet = '' AND excluded.snippet <> ''
OR source_icon_url IS NULL AND excluded.source_icon_url IS NOT NULL
OR thumbnail_url IS NULL AND (excluded.thumbnail_url IS NOT NULL OR excluded.thumbnail_tried > thumbnail_tried)
OR video_url IS NULL AND excluded.video_url IS NOT NULL
OR category IS NULL AND excluded.category IS NOT NULL
OR keywords IS NULL AND excluded.keywords IS NOT NULL
OR ai_tag IS NULL AND excluded.ai_tag IS NOT NULL)
ON CONFLICT DO NOTHING
RETURNING created_at = updated_at AS inserted`,

		`UPDATE news_cache SET changed_at = {now} WHERE name = 'feeds' AND changes() > 0`,
	},
	saved: 1,
	prune: []string{
		`DELETE FROM news_search WHERE rowid IN
(SELECT search_id FROM news_articles WHERE published_at < ?1 AND search_id IS NOT NULL ORDER BY published_at, id LIMIT ?2)`,
		`DELETE FROM news_articles WHERE id IN (SELECT id FROM news_articles WHERE published_at < ?1 ORDER BY published_at, id LIMIT ?2)
RETURNING 1 AS removed`,
	},
}

// searchD1 reads the index from the newest row on, as far as the page needs: a common word costs no more
// than a rare one. Rows of one millisecond are in no order there, so the page is cut after all of them were
// put in order.
func searchD1(s *Store, q searchQuery) ledger.Statement {
	var c conditions
	terms := match(&c, q.Search)
	c.and("news_search.grams MATCH (SELECT terms FROM search)")
	first, last, direction := "min", ">=", "DESC"
	if q.Newer {
		first, last, direction = "max", "<", "ASC"
	}
	if q.From != nil {
		// In whole milliseconds; filter is exact.
		if at := c.arg(q.From.At); q.Newer {
			c.and("news_search.rowid >= (" + at + " << 20)")
		} else {
			c.and("news_search.rowid < ((" + at + " + 1) << 20)")
		}
	}
	s.filter(&c, &q.Query, "a.")
	limit := c.arg(int64(q.Limit + 1))
	const from = ` FROM news_search JOIN news_articles AS a ON a.search_id = news_search.rowid`
	bound := "(SELECT " + first + "(hit) FROM hits) >> 20"
	if q.Newer {
		bound = "(" + bound + ") + 1"
	}
	return s.statement(`WITH search(terms) AS MATERIALIZED (SELECT `+terms+`), hits AS (SELECT news_search.rowid AS hit`+from+c.where()+` ORDER BY news_search.rowid `+direction+` LIMIT `+limit+`)
SELECT a.`+strings.ReplaceAll(s.columns, ", ", ", a.")+from+c.where()+` AND news_search.rowid `+last+` ((`+bound+`) << 20)`+order(&q.Query, "a.")+` LIMIT `+limit, c.args...)
}

// match writes a search in FTS5's language, as an expression of SQL. Terms are quoted, so that nothing in them means
// anything there.
func match(c *conditions, search info.Search) string {
	var terms []string
	for _, t := range search {
		term := `"` + strings.Join(t.Grams, " ") + `"`
		if t.Prefix {
			term += " *"
		}
		place := c.arg(term)
		if beginning := t.Grams[0]; t.Prefix && !slices.Contains(prefixes, utf8.RuneCountInString(beginning)) {
			place = endings(place, c.arg(beginning))
		}
		terms = append(terms, place)
	}
	return strings.Join(terms, " || ' AND ' || ")
}

// prefixes are the lengths, in characters, of the beginnings that have lists in the index, as its migration says.
var prefixes = []int{1, 3, 4}

// maxEndings is how many words a beginning stands for at most, before all their lists are merged.
const maxEndings = 30

// endings is the expression for a beginning without a list of its own: one of the words that begin so. FTS5 reads the
// lists of words as far as a page needs, and would merge them all for a beginning. Each word is found from the one before,
// since a step costs as much as all the places of a word.
func endings(term, beginning string) string {
	const first = `(SELECT term FROM news_search_terms WHERE term >= `
	const end = ` || char(1114111)` // Unicode's last character
	return fmt.Sprintf(`(WITH RECURSIVE words(word) AS (SELECT `+first+`%[2]s LIMIT 1)
UNION ALL SELECT `+first+`word || char(1) LIMIT 1) FROM words WHERE word < %[2]s`+end+` LIMIT %[3]d)
SELECT CASE WHEN count(*) BETWEEN 1 AND %[4]d THEN '("' || group_concat(word, '" OR "') || '")' ELSE %[1]s END
FROM words WHERE word < %[2]s`+end+`)`, term, beginning, maxEndings+2, maxEndings)
}
