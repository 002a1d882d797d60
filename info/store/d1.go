package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// bare selects the stored articles that are about to get a snippet.
const bare = `FROM json_each(?1) CROSS JOIN news_articles AS a ON a.url_key = value->>'url_key'
WHERE a.snippet = '' AND a.is_deleted = 0 AND a.search_id IS NOT NULL AND value->>'snippet' <> ''`

var d1 = dialect{
	name: "d1", migrations: "d1_migrations", newest: "0013_small.sql", noTable: "no such table",
	now: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
	columns: `id, url, url_key, title, snippet, source, source_name, source_icon_url, thumbnail_url, video_url, ` +
		`category, keywords, ai_tag, published_at`,
	live:    `is_deleted = 0`,
	no:      "0",
	yes:     "1",
	list:    `SELECT value FROM json_each(?1)`,
	instant: func(placeholder string) string { return placeholder },
	millis:  func(column string) string { return column },
	arrived: "created_at",
	tried:   func() string { return "thumbnail_tried" },
	indexed: func(grams []string, at epoch.Millis) string {
		return strings.Join(append(grams, stretchesOf(at)...), " ")
	},
	search: searchD1,
	upsert: []string{
		`UPDATE news_cache SET changed_at = max({now}, changed_at + 1) WHERE name = 'arrivals'`,

		// Articles that lack a snippet are indexed again, before they get it.
		`DELETE FROM news_search WHERE rowid IN (SELECT a.search_id ` + bare + `)`,
		`INSERT INTO news_search (rowid, grams) SELECT a.search_id, value->>'grams' ` + bare,

		`INSERT INTO news_articles (id, url, url_key, title, snippet, source, source_name, source_icon_url,
thumbnail_url, video_url, category, evidence, keywords, ai_tag, published_at, created_at, updated_at, search_id)
SELECT value->>'id', value->>'url', value->>'url_key', value->>'title', value->>'snippet', value->>'source',
value->>'source_name',
nullif(value->>'source_icon_url', ''), nullif(value->>'thumbnail_url', ''),
nullif(value->>'video_url', ''),
nullif(value->>'category', ''), value->>'evidence', value->>'keywords', nullif(value->>'ai_tag', ''),
value->>'published_at', arrivals.changed_at, arrivals.changed_at, CASE WHEN slot < 4096 THEN (unit << 12) + slot END
FROM news_cache AS arrivals, (SELECT value, unit, (SELECT coalesce(max(search_id) % 4096 + 1, 0) FROM news_articles
WHERE search_id BETWEEN unit << 12 AND (unit << 12) + 4095)
+ row_number() OVER (PARTITION BY unit ORDER BY key) - 1 AS slot
FROM (SELECT key, value, value->>'published_at' >> 16 AS unit FROM json_each(?1)))
WHERE arrivals.name = 'arrivals'
ON CONFLICT (url_key) DO UPDATE SET
snippet = CASE snippet WHEN '' THEN excluded.snippet ELSE snippet END,
source_icon_url = coalesce(source_icon_url, excluded.source_icon_url),
thumbnail_url = coalesce(thumbnail_url, excluded.thumbnail_url),
video_url = coalesce(video_url, excluded.video_url),
category = coalesce(category, excluded.category),
evidence = CASE WHEN category IS NULL THEN excluded.evidence ELSE evidence END,
keywords = coalesce(keywords, excluded.keywords),
ai_tag = coalesce(ai_tag, excluded.ai_tag),
updated_at = max(excluded.updated_at, created_at + 1)
WHERE is_deleted = 0 AND (snippet = '' AND excluded.snippet <> ''
OR source_icon_url IS NULL AND excluded.source_icon_url IS NOT NULL
OR thumbnail_url IS NULL AND excluded.thumbnail_url IS NOT NULL
OR video_url IS NULL AND excluded.video_url IS NOT NULL
OR category IS NULL AND excluded.category IS NOT NULL
OR keywords IS NULL AND excluded.keywords IS NOT NULL
OR ai_tag IS NULL AND excluded.ai_tag IS NOT NULL)
ON CONFLICT DO NOTHING
RETURNING created_at = updated_at AS inserted`,

		`UPDATE news_cache SET changed_at = {now} WHERE name = 'feeds' AND changes() > 0`,

		// The articles that arrived in this transaction.
		`INSERT INTO news_search (rowid, grams) SELECT a.search_id, value->>'grams' FROM news_cache AS arrivals
CROSS JOIN json_each(?1) CROSS JOIN news_articles AS a ON a.id = value->>'id' AND a.created_at = arrivals.changed_at
WHERE arrivals.name = 'arrivals' AND a.search_id IS NOT NULL`,
	},
	saved: 3,
	prune: []string{
		`DELETE FROM news_search WHERE rowid IN
(SELECT search_id FROM news_articles WHERE published_at < ?1 AND search_id IS NOT NULL ORDER BY published_at, id
LIMIT ?2)`,
		`DELETE FROM news_articles WHERE id IN (SELECT id FROM news_articles WHERE published_at < ?1
ORDER BY published_at, id LIMIT ?2)
RETURNING 1 AS removed`,
	},
}

// Limits of a search: the entries of index lists to look through, shared among the grams; fewer if articles
// found might be read in vain. A few lists are enough to find out how far that reaches, since every gram must
// match.
const (
	maxEntries  = 4_000
	maxRows     = 1_000 // if texts have to be read, as grams in a row are only in a few
	maxFiltered = 400
	maxLists    = 2
)

// searchD1 reads the index from the newest row on, as far as the page needs, so that a common word costs no more
// than a rare one. Without a limit, common words that rarely occur together, or a narrow filter, would scan whole
// lists; so it looks no further than one of the lists reaches with its share of entries. The list of a rare word
// ends before that, and everything was looked at.
// It looks at whole units of time (see 0013_small.sql), whose rows are unordered in the index: the page is cut after
// sorting. The index has no positions: whether grams stand in a row is seen in the texts.
func searchD1(s *Store, q *info.Query) ledger.Statement {
	var c, f, texts conditions
	terms, lists := match(&c, q.Search)
	f.args = c.args
	s.filter(&f, q, "a.")
	inRow(&f, &texts, q.Search)
	grams, entries := 0, maxEntries
	for _, t := range q.Search {
		grams += len(t.Grams)
	}
	filtered := q.Category != info.All && q.Category != "" || q.Source != "" || q.HasImage
	switch {
	case filtered:
		entries = maxFiltered
	case len(texts.terms) > 0:
		entries = maxRows
	}
	l := look{older: !q.Newer, share: f.arg(int64(max(entries/grams, 1))), limit: f.arg(int64(q.Limit + 1))}
	far := l.far()
	if grams == 1 && !filtered { // every entry of its list matches
		far = `SELECT begin, ` + l.end() + ` FROM passing`
	}
	// Each of the following tables has one row and uses those before it. SQLite computes a table once if it is
	// joined, but at each use if it is a subquery; it keeps the order of the index if the bounds are not joined.
	found := func(columns, begin, edge string) string {
		expression := `(SELECT terms FROM search)`
		if grams > 1 {
			expression = l.stretches(begin, edge) + " || " + expression
		}
		return columns + ` news_search CROSS JOIN news_articles AS a
ON a.search_id = news_search.rowid` + f.where() + texts.more() + ` AND news_search.news_search MATCH
CASE WHEN ` + edge + ` IS NULL THEN '""' ELSE ` + expression + ` END
AND news_search.rowid` + l.choose(" < ", " >= ") + begin + ` >> 4
AND news_search.rowid` + l.choose(" >= ", " < ") + edge + ` >> 4`
	}
	columns := "a." + strings.ReplaceAll(s.columns, ", ", ", a.")
	return s.statement(`WITH search(terms) AS MATERIALIZED (SELECT `+terms+`),
lists(list) AS MATERIALIZED (`+lists+`),
passing(begin) AS MATERIALIZED (SELECT (a.published_at >> 16)`+l.choose(" + 1", "")+` << 16
FROM news_articles AS a`+f.where()+order(q, "a.")+` LIMIT 1),
far(begin, edge) AS MATERIALIZED (`+far+`),
hits(list) AS MATERIALIZED (SELECT (SELECT json_group_array(hit)
FROM (`+found(`SELECT news_search.rowid AS hit FROM`, "far.begin", "far.edge")+
		` ORDER BY news_search.rowid`+l.choose(" DESC", "")+` LIMIT `+l.limit+`)) FROM far),
last(begin, edge) AS MATERIALIZED (SELECT far.begin, (SELECT `+l.behind("value")+` FROM json_each(hits.list))
FROM far, hits),
page AS MATERIALIZED (`+found(`SELECT `+columns+` FROM last CROSS JOIN`, "last.begin", "last.edge")+order(q, "a.")+`
LIMIT `+l.limit+`)
SELECT nullif(far.edge, `+l.end()+`) AS edge, page.* FROM search LEFT JOIN far ON true LEFT JOIN page
ON true`+order(q, "page."), f.args...)
}

// inRow adds the conditions that texts of articles have the words of which the index has only the parts. Their
// characters might be composed or not.
func inRow(args, texts *conditions, search info.Search) {
	for _, t := range search {
		if len(t.Grams) == 1 {
			continue
		}
		word := t.Word()
		text := "a.title || ' ' || a.snippet"
		term := fmt.Sprintf("instr(%s, %s) > 0", text, args.arg(word))
		if apart := norm.NFD.String(word); apart != word {
			term = fmt.Sprintf("(%s OR instr(%s, %s) > 0)", term, text, args.arg(apart))
		}
		texts.and(term)
	}
}

// look generates the parts of a search that depend on its direction. Rows are numbered by units of time; an edge is a
// time in milliseconds, at which a unit begins, that separates the rows looked at from the others.
type look struct {
	older        bool
	share, limit string // entries of a list, articles
}

func (l look) choose(older, newer string) string {
	if l.older {
		return older
	}
	return newer
}

// end returns the edge after everything.
func (l look) end() string { return l.choose("0", "4398046511104") }

// behind returns the edge after the last of the rows.
func (l look) behind(row string) string {
	return l.choose("min("+row+") >> 12 << 16", "(max("+row+") >> 12) + 1 << 16")
}

// far computes the edges between the first and the last counted entries of the lists: nothing before the first
// entry of any list has all grams.
func (l look) far() string {
	first, last := l.choose("max", "min"), l.choose("min", "max")
	return `SELECT ` + l.choose("(min(span->>0) >> 12) + 1 << 16", "max(span->>0) >> 12 << 16") + `, ` +
		l.behind(`iif(span->>2 < `+l.share+`, `+l.choose("0", "274877906943")+`, span->>1)`) + `
FROM (SELECT (SELECT json_array(` + first + `(row), ` + last + `(row), count(*)) FROM (SELECT rowid AS row
FROM news_search WHERE news_search MATCH list
AND rowid` + l.choose(" < ", " >= ") + `begin >> 4 ORDER BY rowid` + l.choose(" DESC", "") + `
LIMIT ` + l.share + `)) AS span FROM lists, passing)
HAVING count(*) > 0 AND count(*) = count(span->>0)`
}

// stretches returns an expression that no row outside the stretches of time between two edges matches. It uses the
// shortest stretches that are few enough. FTS5 checks bounds of rowid only for matches, so without this it would
// look further. If there are too many stretches, the words are rare.
func (l look) stretches(begin, end string) string {
	outermost := `(SELECT published_at FROM news_articles WHERE is_deleted = 0 ORDER BY published_at` +
		l.choose("", " DESC") + ` LIMIT 1)`
	end = l.choose(`max(`+end+`, `+outermost+`)`, `min(`+end+`, `+outermost+` + 1)`)
	return fmt.Sprintf(`(WITH RECURSIVE span(first, last) AS MATERIALIZED (SELECT %s / 1000, (%s - 1) / 1000),
size(bits) AS (SELECT CASE WHEN (last >> 9) - (first >> 9) < 16 THEN 9 WHEN (last >> 12) - (first >> 12) < 16 THEN 12
WHEN (last >> 15) - (first >> 15) < 16 THEN 15 WHEN (last >> 18) - (first >> 18) < 4 THEN 18 END FROM span),
stretch(n) AS (SELECT first >> bits FROM span, size UNION ALL SELECT n + 1 FROM stretch, span, size
WHERE n < last >> bits)
SELECT CASE WHEN bits THEN '(' || group_concat('"' || char(57341 + bits / 3) || n || '"', ' OR ') || ') AND '
ELSE '' END
FROM stretch, size)`, l.choose(end, begin), l.choose(begin, end))
}

// stretchesOf returns the grams that an expression of stretches matches for a time: private-use characters, which
// occur in no word, with the numbers of the stretches of 512 seconds and of 8, 64 and 512 times as much.
func stretchesOf(at epoch.Millis) (grams []string) {
	for bits := 9; bits <= 18; bits += 3 {
		grams = append(grams, fmt.Sprintf("%c%d", 57341+bits/3, at.Seconds()>>bits))
	}
	return grams
}

// match returns a search in FTS5's language as an SQL expression, and a query for its parts that have index lists.
// Terms are quoted, so they cannot contain operators.
func match(c *conditions, search info.Search) (terms, lists string) {
	var all, beginnings []string
	grams := []string{}
	for _, t := range search {
		term := `"` + strings.Join(t.Grams, `" AND "`) + `"`
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
	lists = `SELECT '"' || value || '"' AS list FROM json_each(` + c.arg(encode(grams)) + `)` +
		strings.Join(beginnings, "") + fmt.Sprintf(` LIMIT %d`, maxLists)
	return strings.Join(all, " || ' AND ' || "), lists
}

// prefixes are the lengths, in characters, of prefixes with index lists, as in the migration.
var prefixes = []int{1, 3, 4}

// maxEndings caps the words that a prefix stands for; beyond it, their lists are merged.
const maxEndings = 30

// endings returns the expression for a prefix without a list of its own: any of the words that begin with it. FTS5
// reads lists of words as far as a page needs, but would merge all of them for a prefix. Each word is found from
// the previous one, since a step costs as much as all positions of a word.
func endings(term, beginning string) string {
	const first = `(SELECT term FROM news_search_terms WHERE term >= `
	const end = ` || char(1114111)` // Unicode's last character
	return fmt.Sprintf(`(WITH RECURSIVE words(word) AS (SELECT `+first+`%[2]s LIMIT 1)
UNION ALL SELECT `+first+`word || char(1) LIMIT 1) FROM words WHERE word < %[2]s`+end+` LIMIT %[3]d)
SELECT CASE WHEN count(*) BETWEEN 1 AND %[4]d THEN '("' || group_concat(word, '" OR "') || '")' ELSE %[1]s END
FROM words WHERE word < %[2]s`+end+`)`, term, beginning, maxEndings+2, maxEndings)
}
