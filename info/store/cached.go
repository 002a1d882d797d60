package store

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/ledger"
)

// cacheRecords is the part of a Store about the state of the cache.
type cacheRecords struct{ *base }

// Cached shows which changes the cache has: all, if ChangedAt is not after RefreshedAt.
type Cached struct {
	ChangedAt, RefreshedAt time.Time
	// StaleAt is the time at which no source has succeeded within its interval any more, unless one does before; zero
	// before the first collection.
	StaleAt time.Time
	Written map[info.Category]string // digest last written; "" if uncertain
	// Filled maps the name of each cache that was ever filled to the time when it was last filled.
	Filled map[string]time.Time
}

// unrecorded is the patience with a source whose collector did not record any: one of the version before. It collected
// each source every half an hour at least.
var unrecorded = info.Patience(30 * time.Minute)

// Cached reads the state of the cache.
func (s *cacheRecords) Cached(ctx context.Context) (Cached, error) {
	const op = "store.Cached"
	results, err := s.batch(ctx, op, s.statement(`SELECT changed_at, refreshed_at,
coalesce((SELECT max(CASE WHEN succeeded_at > 0 AND stale_at < succeeded_at + CAST(?1 AS BIGINT)
THEN succeeded_at + CAST(?2 AS BIGINT) ELSE stale_at END) FROM news_sources), 0) AS stale_at
FROM news_cache WHERE name = 'feeds'`, info.Patience(0).Milliseconds(), unrecorded.Milliseconds()),
		s.statement(`SELECT category, digest FROM news_cached`),
		s.statement(`SELECT name, changed_at FROM news_cache WHERE name IN ('kv', 'redis')`))
	if err != nil {
		return Cached{}, err
	}
	rows, err := decode[struct {
		ChangedAt   epoch.Millis `json:"changed_at"`
		RefreshedAt epoch.Millis `json:"refreshed_at"`
		StaleAt     epoch.Millis `json:"stale_at"`
	}](op, results[0])
	if err != nil || len(rows) == 0 {
		return Cached{}, err
	}
	written, err := decode[struct {
		Category info.Category `json:"category"`
		Digest   string        `json:"digest"`
	}](op, results[1])
	c := Cached{ChangedAt: rows[0].ChangedAt.Time(),
		RefreshedAt: rows[0].RefreshedAt.Time(), StaleAt: rows[0].StaleAt.Time()}
	for _, w := range written {
		if c.Written == nil {
			c.Written = map[info.Category]string{}
		}
		c.Written[w.Category] = w.Digest
	}
	if err != nil {
		return c, err
	}
	filled, err := decode[struct {
		Name string       `json:"name"`
		At   epoch.Millis `json:"changed_at"`
	}](op, results[2])
	for _, f := range filled {
		if c.Filled == nil {
			c.Filled = map[string]time.Time{}
		}
		c.Filled[f.Name] = f.At.Time()
	}
	return c, err
}

// SetRefreshing records that categories are about to be written to the cache.
func (s *cacheRecords) SetRefreshing(ctx context.Context, categories []info.Category) error {
	var statements []ledger.Statement
	for _, c := range categories {
		statements = append(statements, s.written(c, ""))
	}
	_, err := s.batch(ctx, "store.SetRefreshing", statements...)
	return err
}

// SetRefreshed records that a cache was filled with the state of a time, and with which digests.
func (s *cacheRecords) SetRefreshed(ctx context.Context, cache string, at time.Time,
	written map[info.Category]string) error {
	statements := []ledger.Statement{s.statement(`UPDATE news_cache SET refreshed_at = ?1 WHERE name = 'feeds'`,
		epoch.MillisOf(at)),
		s.statement(`INSERT INTO news_cache (name, changed_at, refreshed_at) VALUES (?1, {now}, 0)
ON CONFLICT (name) DO UPDATE SET changed_at = excluded.changed_at`, cache)}
	for _, c := range slices.Sorted(maps.Keys(written)) { // concurrent transactions lock rows in the same order
		statements = append(statements, s.written(c, written[c]))
	}
	_, err := s.batch(ctx, "store.SetRefreshed", statements...)
	return err
}

func (s *cacheRecords) written(c info.Category, digest string) ledger.Statement {
	return s.statement(`INSERT INTO news_cached (category, digest) VALUES (?1, ?2) ON CONFLICT (category) DO UPDATE
SET digest = excluded.digest`,
		string(c), digest)
}

// maxTakenDown caps the result of TakenDown.
const maxTakenDown = 10_000

// TakenDown returns the articles that were deleted softly since a time.
func (s *cacheRecords) TakenDown(ctx context.Context, since time.Time) (ids []string, err error) {
	const op = "store.TakenDown"
	results, err := s.batch(ctx, op, s.statement(`SELECT id FROM news_articles
WHERE is_deleted = `+s.yes+` AND updated_at >= `+s.instant("?1")+` ORDER BY updated_at DESC LIMIT CAST(?2 AS INTEGER)`,
		epoch.MillisOf(since), int64(maxTakenDown)))
	if err != nil {
		return nil, err
	}
	rows, err := decode[struct {
		ID string `json:"id"`
	}](op, results[0])
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return ids, err
}
