package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	pgEpoch = `timestamptz 'epoch' + `
	pgRows  = `jsonb_to_recordset(?1::jsonb) AS n(id text, url text, url_key text, title text, snippet text, source text, source_name text,
source_icon_url text, thumbnail_url text, video_url text, category text, evidence jsonb, keywords text[], ai_tag text,
published_at bigint, grams text)`
)

var postgres = dialect{
	name: "postgres", migrations: "news_migrations", newest: "0009_crons.sql", noTable: "does not exist",
	dollars: true,
	now:     `(extract(epoch from clock_timestamp()) * 1000)::bigint`,
	columns: `id, url, url_key, title, snippet, source, source_name, source_icon_url, thumbnail_url, video_url, category, to_json(keywords) AS keywords, ai_tag,
(extract(epoch from published_at) * 1000)::bigint AS published_at`,
	live: `is_deleted = FALSE`,
	no:   "FALSE",
	yes:  "TRUE",
	list: `SELECT jsonb_array_elements_text(?1::jsonb) AS value`,
	instant: func(placeholder string) string {
		return "(" + pgEpoch + placeholder + "::bigint * interval '1 millisecond')"
	},
	arrived: "(extract(epoch from created_at) * 1000)::bigint",
	millis:  func(column string) string { return "(extract(epoch from " + column + ") * 1000)::bigint" },
	tried:   func() string { return "coalesce((extract(epoch from thumbnail_tried) * 1000)::bigint, 0)" },
	indexed: func(grams []string, _ epoch.Millis) string { return vector(grams) },
	search:  searchPostgres,
	upsert: []string{
		`UPDATE news_cache SET changed_at = greatest({now}, changed_at + 1) WHERE name = 'arrivals'`,

		// In order of keys, so that concurrent transactions cannot deadlock.
		`WITH saved AS (INSERT INTO news_articles (id, url, url_key, title, snippet, source, source_name,
source_icon_url, thumbnail_url, video_url, category, evidence, keywords, ai_tag, published_at, created_at, updated_at, grams)
SELECT id, url, url_key, title, snippet, source, source_name, nullif(source_icon_url, ''), nullif(thumbnail_url, ''),
nullif(video_url, ''), nullif(category, ''), evidence, keywords, nullif(ai_tag, ''),
` + pgEpoch + `published_at * interval '1 millisecond', moment, moment, grams::tsvector
FROM ` + pgRows + `, (SELECT ` + pgEpoch + `changed_at * interval '1 millisecond' AS moment FROM news_cache
WHERE name = 'arrivals') AS arrivals
WHERE NOT EXISTS (SELECT 1 FROM news_articles AS a WHERE a.id = n.id AND a.url_key <> n.url_key)
ORDER BY url_key
ON CONFLICT (url_key) DO UPDATE SET
snippet = CASE news_articles.snippet WHEN '' THEN excluded.snippet ELSE news_articles.snippet END,
grams = CASE WHEN news_articles.snippet = '' AND excluded.snippet <> '' THEN excluded.grams
ELSE news_articles.grams END,
source_icon_url = coalesce(news_articles.source_icon_url, excluded.source_icon_url),
thumbnail_url = coalesce(news_articles.thumbnail_url, excluded.thumbnail_url),
video_url = coalesce(news_articles.video_url, excluded.video_url),
category = coalesce(news_articles.category, excluded.category),
evidence = CASE WHEN news_articles.category IS NULL THEN excluded.evidence ELSE news_articles.evidence END,
keywords = coalesce(news_articles.keywords, excluded.keywords),
ai_tag = coalesce(news_articles.ai_tag, excluded.ai_tag),
updated_at = greatest(excluded.updated_at, news_articles.created_at + interval '1 millisecond')
WHERE news_articles.is_deleted = FALSE AND (news_articles.snippet = '' AND excluded.snippet <> ''
OR news_articles.source_icon_url IS NULL AND excluded.source_icon_url IS NOT NULL
OR news_articles.thumbnail_url IS NULL AND excluded.thumbnail_url IS NOT NULL
OR news_articles.video_url IS NULL AND excluded.video_url IS NOT NULL
OR news_articles.category IS NULL AND excluded.category IS NOT NULL
OR news_articles.keywords IS NULL AND excluded.keywords IS NOT NULL
OR news_articles.ai_tag IS NULL AND excluded.ai_tag IS NOT NULL)
RETURNING created_at = updated_at AS inserted),
marked AS (UPDATE news_cache SET changed_at = {now} WHERE name = 'feeds' AND EXISTS (SELECT 1 FROM saved))
SELECT inserted FROM saved`,
	},
	saved: 1,
	size:  `SELECT pg_database_size(current_database()) AS bytes`,
	prune: []string{
		`DELETE FROM news_articles WHERE id IN (SELECT id FROM news_articles
WHERE published_at < ` + pgEpoch + `?1::bigint * interval '1 millisecond' ORDER BY published_at, id LIMIT ?2::bigint)
RETURNING 1 AS removed`,
	},
}

// maxPosition is the last position in a tsvector, which all later grams share.
const maxPosition = 16383

// maxLexeme is the longest word in a tsvector, in bytes. Searches are shorter.
const maxLexeme = 2046

// vector returns grams as a tsvector. PostgreSQL's own parser is not used: its idea of a letter depends on the
// locale.
func vector(grams []string) string {
	var b strings.Builder
	for i, g := range grams {
		if len(g) > maxLexeme {
			continue // PostgreSQL would refuse the whole batch
		}
		fmt.Fprintf(&b, "%s:%d ", quoted(g), min(i+1, maxPosition))
	}
	return b.String()
}

// quoted returns a lexeme. Grams are letters and digits, so nothing needs escaping.
func quoted(gram string) string { return "'" + gram + "'" }

// Limits of a search.
const (
	maxRead  = 3_000 // articles
	maxFound = 200   // articles in one stretch, except a shortest one
	minSteps = 4     // stretches, regardless of time
	maxSteps = 160   // stretches
	maxTime  = 10    // milliseconds, after which no stretch is begun
	quick    = 1     // milliseconds; after a faster stretch a longer one follows
)

// searchPostgres looks through stretches of time from the cursor on until a page is full: longer stretches while
// that is quick, shorter ones where sorting costs too much, and none in which no article passes the filter.
// PostgreSQL's index has neither order nor positions: everything found in a stretch is read, and articles with all
// grams are read before their order is known.
func searchPostgres(s *Store, q *info.Query) ledger.Statement {
	const table = "news_articles."
	filter := *q
	filter.From = nil
	var c, f conditions
	s.filter(&c, q, table)
	f.args = c.args
	s.filter(&f, &filter, table)
	exact := f.arg(tsquery(q.Search)) + "::tsquery"
	edge, side, behind := "timestamptz 'infinity'", "<", "k"
	if q.Newer {
		side, behind = ">=", "k + 1"
	}
	if q.From != nil {
		at := q.From.At
		if !q.Newer {
			at++ // include the cursor's millisecond
		}
		edge = s.instant(f.arg(at))
	}
	return s.statement(strings.NewReplacer(
		"{edge}", edge, "{side}", side, "{behind}", behind, "{limit}", f.arg(int64(q.Limit+1))+"::bigint",
		"{columns}", s.columns,
		"{passing}", strings.Join(f.terms, " AND "), "{order}", order(q, table), "{matching}",
		exact+" AND "+strings.Join(c.terms, " AND "),
		"{terms}", f.arg(indexed(q.Search)),
	).Replace(fmt.Sprintf(`WITH RECURSIVE look AS (
SELECT 0 AS step, 1 AS level, 0::bigint AS read, {edge} AS edge, '{}'::text[] COLLATE "C" AS found,
FALSE AS through, clock_timestamp() AS clock
UNION ALL SELECT step + 1,
CASE WHEN crowded THEN level - 1 WHEN clock_timestamp() > clock + %[1]d * interval '1 millisecond' THEN level
ELSE least(level + 1, 3) END,
look.read + stretch.read,
CASE WHEN k IS NULL OR crowded THEN edge
ELSE timestamptz 'epoch' + (({behind}) << (9 + 3 * level)) * interval '1 second' END,
CASE WHEN crowded THEN found ELSE found || ids END, k IS NULL, clock_timestamp()
FROM look LEFT JOIN LATERAL (SELECT floor(extract(epoch FROM published_at))::bigint >> (9 + 3 * level) AS k
FROM news_articles WHERE {passing} AND published_at {side} look.edge{order} LIMIT 1) AS next ON TRUE,
LATERAL (SELECT count(*) AS read, count(*) > %[2]d AND level > 0 AS crowded,
coalesce(array_agg(id) FILTER (WHERE matches), '{}') AS ids
FROM (SELECT id, grams @@ {matching} AND published_at {side} look.edge AS matches FROM news_articles
WHERE news_terms(grams, published_at) @@ ({terms} || ' & ' || chr(57344 + level) || k)::tsquery LIMIT CASE level
WHEN 0 THEN NULL ELSE %[2]d + 1 END) AS found) AS stretch
WHERE NOT through AND cardinality(found) < {limit} AND look.read < %[3]d
AND (step < %[4]d OR step < %[5]d AND clock < statement_timestamp() + %[6]d * interval '1 millisecond'))
SELECT CASE WHEN NOT through THEN (extract(epoch FROM edge) * 1000)::bigint END AS edge, news_articles.*
FROM (SELECT * FROM look ORDER BY step DESC LIMIT 1) AS last
LEFT JOIN LATERAL (SELECT {columns} FROM news_articles WHERE id = ANY (found){order} LIMIT {limit}) AS news_articles
ON TRUE{order}`,
		quick, maxFound, maxRead, minSteps, maxSteps, maxTime)), f.args...)
}

// indexed returns the part of a search that the index decides: the grams and beginnings of grams of an article.
func indexed(search info.Search) string {
	var terms []string
	for _, t := range search {
		if t.Prefix {
			beginning := []rune(t.Grams[0])
			terms = append(terms, quoted("\uE004"+string(beginning[:min(len(beginning), slices.Max(prefixes))])))
			continue
		}
		for _, g := range t.Grams {
			terms = append(terms, quoted(g))
		}
	}
	return strings.Join(terms, " & ")
}

// tsquery returns a search in PostgreSQL's language.
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
