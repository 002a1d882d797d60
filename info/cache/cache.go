// Package cache keeps the newest articles of every category ready for readers, in KV or in Redis. The
// store has all of them; what a cache does not have, or not any more, is read there.
package cache

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/info"
)

const (
	// Size is how many articles of a category are cached.
	Size = 200
	// TTL is how long they are, unless they are refreshed.
	TTL = time.Hour
	// articleTTL is how long Redis keeps an article, as the record has it.
	articleTTL = 24 * time.Hour
	// Stale is after how long without a collection something must be wrong with it, and after how long without a
	// refresh readers refresh the cache themselves. The collection does so every Heartbeat even when nothing
	// changes: at every second of its runs, which are five minutes apart, or nearly.
	Stale     = 15 * time.Minute
	Heartbeat = 9*time.Minute + 30*time.Second
)

// Feed is a category as it is cached: its newest articles, newest first.
type Feed struct {
	Category info.Category
	Articles []info.Article
	Complete bool // there are no others
	// CollectedAt is when a collection last began, as far as what is cached shows it.
	CollectedAt time.Time
}

// Item is an article on a page.
type Item struct {
	Cursor info.Cursor
	JSON   []byte // an info.Public
}

// Answer is what a cache has for a query.
type Answer struct {
	Items       []Item // those behind the query's cursor that match, one more than its limit at most
	Complete    bool   // there are no others, neither here nor in the store
	Total       int    // articles of the category in the cache
	RefreshedAt time.Time
	CollectedAt time.Time // see Feed
	Expires     time.Time
}

// Cache is a cache. Errors have the kind contract.Storage.
type Cache interface {
	// Name is kv or redis.
	Name() string
	// Page answers a query that is Plain; nil when the category is not cached.
	Page(ctx context.Context, q info.Query) (*Answer, error)
	// Refresh replaces feeds.
	Refresh(ctx context.Context, feeds []Feed, now time.Time) error
	// Ping reports whether the cache answers.
	Ping(ctx context.Context) error
}
