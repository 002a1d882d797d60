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
	indexed: func(grams []string, ms int64) string { return strings.Join(append(grams, stretchesOf(ms)...), " ") },
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

// Of the lists of the index, a search looks through so many entries, each gram's through its share: nearReach at first, and
// where that gives less than a page farReach, or filteredReach when each article found may have to be read for nothing.
const (
	nearReach     = 200
	farReach      = 6_000
	filteredReach = 1_000
)

// searchD1 reads the index from the newest row on, as far as the page needs: a common word costs no more than a rare one.
// Common words that hardly ever meet would have their lists read to the end, as would a filter that few articles pass; so it
// looks no further than the list of one of its grams does with its share of the reach. A rare word's ends before
// that, and everything was looked at.
//
// It looks at whole milliseconds, whose rows are in no order in the index: the page is cut after they were put in order.
func searchD1(s *Store, q *info.Query) ledger.Statement {
	var c, f conditions
	terms, lists := match(&c, q.Search)
	f.args = c.args
	s.filter(&f, q, "a.")
	limit := f.arg(int64(q.Limit + 1))
	grams := 0
	for _, t := range q.Search {
		grams += len(t.Grams)
	}
	share := func(reach int) string { return f.arg(int64(max(reach/grams, 1))) }
	l := look{older: !q.Newer}
	near, far := l.reach(share(nearReach)), l.reach(share(farReach))
	switch filtered := q.Category != info.All && q.Category != "" || q.Source != "" || q.HasImage; {
	case filtered:
		far = l.reach(share(filteredReach))
	case grams == 1: // what its list has is found
		near = `CASE WHEN max(begin) >= 0 THEN ` + l.end() + ` END`
	}
	// Tables of one row follow, each made of those before it. SQLite makes a table once if it is joined, and for each use
	// if it is asked for a value; it keeps to the order of the index if what bounds it is not joined.
	look := func(columns, begin, edge string) string {
		expression := `(SELECT terms FROM search)`
		if grams > 1 {
			expression = l.stretches(begin, edge) + " || " + expression
		}
		return columns + ` news_search CROSS JOIN news_articles AS a ON a.search_id = news_search.rowid` + f.where() + ` AND news_search.grams MATCH
CASE WHEN ` + edge + ` IS NULL THEN '""' ELSE ` + expression + ` END AND news_search.rowid ` + l.choose("<", ">=") + ` ` + begin +
			` << 20 AND news_search.rowid ` + l.choose(">=", "<") + ` ` + edge + ` << 20`
	}
	hits := func(begin, edge string) string {
		return `(SELECT json_group_array(hit) FROM (` + look(`SELECT news_search.rowid AS hit FROM`, begin, edge) + ` ORDER BY news_search.rowid` + l.direction() + ` LIMIT ` + limit + `))`
	}
	columns := "a." + strings.ReplaceAll(s.columns, ", ", ", a.")
	return s.statement(`WITH search(terms) AS MATERIALIZED (SELECT `+terms+`),
lists(list) AS MATERIALIZED (`+lists+`),
place(begin) AS MATERIALIZED (SELECT `+l.begin()+` FROM news_articles AS a`+f.where()+order(q, "a.")+` LIMIT 1),
near(begin, edge) AS MATERIALIZED (SELECT max(begin), `+near+` FROM lists, place),
first(hits) AS MATERIALIZED (SELECT `+hits("near.begin", "near.edge")+` FROM near),
far(begin, edge) AS MATERIALIZED (SELECT near.edge, CASE WHEN near.edge = `+l.end()+` OR json_array_length(first.hits) = `+limit+`
THEN near.edge ELSE (SELECT `+far+` FROM lists, place) END FROM near, first),
second(hits) AS MATERIALIZED (SELECT `+hits("far.begin", "far.edge")+` FROM far),
last(begin, edge) AS MATERIALIZED (SELECT place.begin, (SELECT `+l.farthest("value")+`
FROM (SELECT value FROM json_each(first.hits) UNION ALL SELECT value FROM json_each(second.hits))) FROM place, first, second),
page AS MATERIALIZED (`+look(`SELECT `+columns+` FROM last CROSS JOIN`, "last.begin", "last.edge")+order(q, "a.")+` LIMIT `+limit+`)
SELECT nullif(far.edge, `+l.end()+`) AS edge, page.* FROM far LEFT JOIN page ON true`+order(q, "page."), f.args...)
}

// look writes the parts of a search that depend on its direction. Rows are numbered by time; an edge is a time in milliseconds, up to
// which the rows on the side of the beginning are looked at.
type look struct{ older bool }

func (l look) choose(older, newer string) string {
	if l.older {
		return older
	}
	return newer
}

func (l look) direction() string { return l.choose(" DESC", " ASC") }

// end is the edge of having looked at everything.
func (l look) end() string { return l.choose("0", "4398046511104") }

// begin is the edge before an article.
func (l look) begin() string { return "a.published_at" + l.choose(" + 1", "") }

// farthest is the edge behind the last one of rows.
func (l look) farthest(row string) string {
	return l.choose("min("+row+") >> 20", "(max("+row+") >> 20) + 1")
}

// reach is the edge behind the nth entry of that one of all lists in which it is the farthest.
func (l look) reach(n string) string {
	return l.farthest(`coalesce((SELECT rowid FROM news_search WHERE grams MATCH list AND rowid ` + l.choose("<", ">=") +
		` begin << 20 ORDER BY rowid` + l.direction() + ` LIMIT 1 OFFSET ` + n + `), ` + l.choose("0", "4398046511103 << 20") + `)`)
}

// stretches is the expression that no row matches outside of the stretches of time between two edges, the shortest of
// which there are few enough. FTS5, which minds bounds of rowid only where it finds something, then looks no further either.
// Where there would be too many, words are rare.
func (l look) stretches(begin, end string) string {
	everything := end + ` = ` + l.end()
	outermost := `(SELECT published_at FROM news_articles WHERE is_deleted = 0 ORDER BY published_at` + l.choose("", " DESC") + ` LIMIT 1)`
	end = l.choose(`max(`+end+`, `+outermost+`)`, `min(`+end+`, `+outermost+` + 1)`)
	return fmt.Sprintf(`(WITH RECURSIVE span(first, last) AS MATERIALIZED (SELECT %s / 1000, (%s - 1) / 1000),
size(bits) AS (SELECT CASE WHEN (last >> 9) - (first >> 9) < 16 THEN 9 WHEN (last >> 12) - (first >> 12) < 16 THEN 12
WHEN (last >> 15) - (first >> 15) < 16 THEN 15 WHEN (last >> 18) - (first >> 18) < iif(%s, 8, 32) THEN 18 END FROM span),
stretch(n) AS (SELECT first >> bits FROM span, size UNION ALL SELECT n + 1 FROM stretch, span, size WHERE n < last >> bits)
SELECT CASE WHEN bits THEN '(' || group_concat('"' || char(57341 + bits / 3) || n || '"', ' OR ') || ') AND ' ELSE '' END
FROM stretch, size)`, l.choose(end, begin), l.choose(begin, end), everything)
}

// stretchesOf are the grams by which rows are found that an expression of stretches matches, of a time in milliseconds: characters for
// private use, of which there are none in words, and the numbers of the stretches of 512 seconds and of 8, 64 and 512
// times as much.
func stretchesOf(ms int64) (grams []string) {
	for bits := 9; bits <= 18; bits += 3 {
		grams = append(grams, fmt.Sprintf("%c%d", 57341+bits/3, ms/1000>>bits))
	}
	return grams
}

// match writes a search in FTS5's language, as an expression of SQL, and a query for its parts that have lists in the index.
// Terms are quoted, so that nothing in them means anything there.
func match(c *conditions, search info.Search) (terms, lists string) {
	var all, beginnings []string
	grams := []string{}
	for _, t := range search {
		term := `"` + strings.Join(t.Grams, " ") + `"`
		if t.Prefix {
			term += " *"
		}
		place := c.arg(term)
		if beginning := t.Grams[0]; t.Prefix && !slices.Contains(prefixes, utf8.RuneCountInString(beginning)) {
			place = endings(place, c.arg(beginning))
		}
		if t.Prefix {
			beginnings = append(beginnings, " UNION ALL SELECT "+place)
		} else {
			grams = append(grams, t.Grams...)
		}
		all = append(all, place)
	}
	lists = `SELECT '"' || value || '"' FROM json_each(` + c.arg(encode(grams)) + `)` + strings.Join(beginnings, "")
	return strings.Join(all, " || ' AND ' || "), lists
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
