// Package cache keeps the newest articles of every category for readers, in KV or in Redis. Other articles are read
// from the store.
package cache

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/info"
)

const (
	// Size is the number of articles cached per category.
	Size = 200
	// TTL is the lifetime of a feed without a refresh.
	TTL = time.Hour
	// maxTTL is the lifetime of an article, and of a feed while the store is down.
	maxTTL = 24 * time.Hour
	// Stale is the age of the last refresh from which readers refresh the cache themselves. Collections refresh it
	// every Heartbeat, which is about every second run, even if nothing changed.
	Stale     = 15 * time.Minute
	Heartbeat = 9*time.Minute + 30*time.Second
)

// Feed is a cached category: its newest articles, newest first.
type Feed struct {
	Category info.Category
	Articles []info.Article
	Complete bool // the category has no other articles
	// StaleAt is the time at which no source has succeeded within its interval any more; zero: never.
	StaleAt time.Time
	Arrived info.Cursor // see info.Page
}

// Item is an article on a page.
type Item struct {
	Cursor info.Cursor
	JSON   []byte // an info.Public
}

// Answer is a cache's answer to a query.
type Answer struct {
	Items       []Item // matches after the cursor, at most one more than the limit
	Complete    bool   // the store has no other articles either
	Total       int    // articles of the category in the cache
	RefreshedAt time.Time
	StaleAt     time.Time   // see Feed
	Arrived     info.Cursor // see info.Page
	Expires     time.Time
}

// stale reports whether no source has succeeded within its interval.
func stale(at, now time.Time) bool { return !at.IsZero() && now.After(at) }

// Cache stores feeds. Errors have kind contract.Storage.
type Cache interface {
	// Name returns "kv" or "redis".
	Name() string
	// Page answers a Plain query, with nil if the category is not cached.
	Page(ctx context.Context, q info.Query) (*Answer, error)
	// Article returns the article with an id as an info.Public, or nil if it is not cached.
	Article(ctx context.Context, id string) (json []byte, err error)
	// Refresh replaces feeds.
	Refresh(ctx context.Context, feeds []Feed, now time.Time) error
	// Drop removes articles from what Article returns.
	Drop(ctx context.Context, ids []string) error
	// Extend keeps feeds for another TTL, up to maxTTL after their last refresh, and marks them as stale. It is for
	// times in which the store is down.
	Extend(ctx context.Context, now time.Time) error
	// Ping reports whether the cache answers.
	Ping(ctx context.Context) error
}

// Two reports whether two caches were filled within an hour: the Workers of the service disagree on theirs. filled maps
// their names to the times when they were.
func Two(filled map[string]time.Time, now time.Time) bool {
	recent := 0
	for _, at := range filled {
		if now.Sub(at) < TTL {
			recent++
		}
	}
	return recent > 1
}
