package cache

import (
	"context"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/store"
)

// Store is the part of package store that fills a cache.
type Store interface {
	Page(ctx context.Context, q info.Query) (info.Page, error)
	Article(ctx context.Context, id string) (*info.Article, error)
	TakenDown(ctx context.Context, since time.Time) (ids []string, err error)
	Cached(ctx context.Context) (store.Cached, error)
	SetRefreshing(ctx context.Context, categories []info.Category) error
	SetRefreshed(ctx context.Context, cache string, at time.Time, written map[info.Category]string) error
	Acquire(ctx context.Context, name, owner string, ttl time.Duration) (bool, error)
	Release(ctx context.Context, name, owner string) error
}

const lease = "refresh"

// Fill refreshes a cache from the store, unless another caller does or the cache has all changes and was refreshed
// within a Heartbeat. owner names the caller.
func Fill(ctx context.Context, c Cache, s Store, owner string, now time.Time) (filled bool, err error) {
	state, err := s.Cached(ctx)
	if err != nil {
		return false, err
	}
	if !state.ChangedAt.After(state.RefreshedAt) && fresh(ctx, c, state.StaleAt, now) {
		return false, nil
	}
	return FillNow(ctx, c, s, owner, now)
}

// fresh reports whether the cache was refreshed within a Heartbeat and is stale no more than that too early.
func fresh(ctx context.Context, c Cache, staleAt, now time.Time) bool {
	a, err := c.Page(ctx, info.Query{Category: info.All, Limit: 1})
	return err == nil && a != nil && now.Sub(a.RefreshedAt) < Heartbeat &&
		staleAt.Sub(a.StaleAt) < Heartbeat
}

// FillNow refreshes a cache from the store, unless another caller does.
func FillNow(ctx context.Context, c Cache, s Store, owner string, now time.Time) (filled bool, err error) {
	lock := func() (bool, error) { return s.Acquire(ctx, lease, owner, lockTTL) }
	unlock := func() { _ = s.Release(ctx, lease, owner) } // otherwise it expires
	if l, ok := c.(interface {
		Lock(ctx context.Context, owner string) (bool, error)
		Unlock(ctx context.Context, owner string) error
	}); ok {
		lock = func() (bool, error) { return l.Lock(ctx, owner) }
		unlock = func() { _ = l.Unlock(ctx, owner) }
	}
	if ok, err := lock(); err != nil || !ok {
		return false, err
	}
	defer unlock()
	state, err := s.Cached(ctx) // before the articles: the next fill gets later changes
	if err != nil {
		return false, err
	}
	var feeds []Feed
	written := map[info.Category]string{}
	for _, category := range append([]info.Category{info.All}, info.Categories...) {
		p, err := s.Page(ctx, info.Query{Category: category, Limit: Size})
		if err != nil {
			return false, err
		}
		f := Feed{category, p.Articles, !p.More, state.StaleAt, p.Arrived}
		digest := f.digest()
		same, err := has(ctx, c, f, state.Written[category] == digest, now)
		if err != nil {
			return false, err
		}
		if !same {
			feeds, written[category] = append(feeds, f), digest
		}
	}
	if err := write(ctx, c, s, feeds, now); err != nil {
		return false, err
	}
	// Articles that left the feeds stay readable, except those that were taken down.
	ids, err := s.TakenDown(ctx, now.Add(-maxTTL))
	if err == nil && len(ids) > 0 {
		err = c.Drop(ctx, ids)
	}
	if err != nil {
		return false, err
	}
	return true, s.SetRefreshed(ctx, c.Name(), state.ChangedAt, written)
}

// has reports whether a cache with expensive writes already has a feed. It can return an older value than the last
// one written, so both must equal the feed.
func has(ctx context.Context, c Cache, f Feed, written bool, now time.Time) (bool, error) {
	sparing, ok := c.(interface {
		Has(ctx context.Context, f Feed, now time.Time) (bool, error)
	})
	if !ok || !written {
		return false, nil
	}
	return sparing.Has(ctx, f, now)
}

func write(ctx context.Context, c Cache, s Store, feeds []Feed, now time.Time) error {
	if len(feeds) == 0 {
		return nil
	}
	var categories []info.Category
	for _, f := range feeds {
		categories = append(categories, f.Category)
	}
	slices.Sort(categories) // concurrent transactions lock rows in the same order
	if err := s.SetRefreshing(ctx, categories); err != nil {
		return err
	}
	return c.Refresh(ctx, feeds, now)
}
