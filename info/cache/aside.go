package cache

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/connection"
)

// Reader reads pages from the cache as far as it reaches, then from the store, without a visible seam. Either can
// fail.
type Reader struct {
	Cache Cache // nil if there is none
	Store Store
	Kind  string // the store's name
	Owner string // names this reader in leases
	// Background runs work after the current answer; nil: at once.
	Background func(work func(ctx context.Context))
	Log        *slog.Logger
	Now        func() time.Time
	Pulse      Pulse // of the store
	// Breaker spares readers a cache that fails; nil: every page asks it.
	Breaker *connection.Breaker

	rests   atomic.Int64 // epoch.Millis; this reader does not fill the cache before
	extends atomic.Int64 // epoch.Millis; this reader does not extend the cache's lifetime before
}

// Result is a page and its origin.
type Result struct {
	Items       []Item
	More        bool
	Next        *info.Cursor // see info.Page
	Arrived     info.Cursor  // see info.Page
	Source      string       // kv, redis, d1 or postgres
	Total       int          // articles of the category in the cache; 0 if unknown
	RefreshedAt time.Time    // last refresh of the cache; zero if unknown
	Expires     time.Time
	// Stale is true if no source has succeeded within its interval, or if the store is down and the page is what is
	// left in the cache.
	Stale bool
}

// Page reads one page.
func (r *Reader) Page(ctx context.Context, q info.Query) (Result, error) {
	now := r.Now()
	breaker := r.Breaker
	if r.Pulse.gone(now) { // nothing else has the page
		breaker = nil
	}
	a, cacheErr := r.fromCache(ctx, q, breaker)
	missing := r.Cache != nil && q.Plain() && a == nil && cacheErr == nil
	if a != nil && r.suffices(a, &q, now) {
		r.lookAfter(ctx, now, now.Sub(a.RefreshedAt) > Stale)
		return r.cached(a, &q, now), nil
	}
	p, err := r.Store.Page(ctx, q)
	if len(q.Search) == 0 && ctx.Err() == nil { // a search can time out when a page would not
		r.Pulse.answered(err, now)
	}
	if err != nil {
		if errors.Is(cacheErr, connection.ErrPaused) {
			a, _ = r.fromCache(ctx, q, nil)
		}
		if a == nil || len(a.Items) == 0 {
			return Result{}, err
		}
		r.storeFailed(err)
		if r.extendDue(now) {
			r.background(ctx, func(ctx context.Context) { r.extend(ctx, now) })
		}
		return r.cached(a, &q, now), nil
	}
	r.lookAfter(ctx, now, missing || a != nil && now.Sub(a.RefreshedAt) > Stale)
	result := Result{Items: make([]Item, len(p.Articles)), More: p.More, Next: p.Next, Arrived: p.Arrived,
		Source: r.Kind}
	for i := range p.Articles {
		article := &p.Articles[i]
		result.Items[i] = Item{info.CursorOf(article), article.AppendPublic(nil)}
	}
	if a != nil {
		result.Total, result.RefreshedAt, result.Expires, result.Stale = a.Total, a.RefreshedAt, a.Expires,
			stale(a.StaleAt, now)
	}
	return result, nil
}

// fromCache reads what the cache has of a page, or nil.
func (r *Reader) fromCache(ctx context.Context, q info.Query, b *connection.Breaker) (a *Answer, err error) {
	if r.Cache == nil || !q.Plain() {
		return nil, nil
	}
	err = b.Do(ctx, func() error {
		a, err = r.Cache.Page(ctx, q)
		return err
	})
	if err != nil && !errors.Is(err, connection.ErrPaused) {
		r.failed(err)
	}
	return a, err
}

// suffices reports whether the cache can answer: with all of a page, if fresh, or with any part of it while the
// store is down.
func (r *Reader) suffices(a *Answer, q *info.Query, now time.Time) bool {
	whole := len(a.Items) > q.Limit || a.Complete
	return whole && now.Before(a.Expires) || len(a.Items) > 0 && r.Pulse.gone(now)
}

// cached returns a page from the cache.
func (r *Reader) cached(a *Answer, q *info.Query, now time.Time) Result {
	items := a.Items[:min(len(a.Items), q.Limit)]
	return Result{
		Items: items, More: len(a.Items) > len(items) || !a.Complete, Arrived: a.Arrived, Source: r.Cache.Name(),
		Total:       a.Total,
		RefreshedAt: a.RefreshedAt, Expires: a.Expires, Stale: r.Pulse.gone(now) || stale(a.StaleAt, now),
	}
}

// settle is the time until a refresh has reached all readers: KV can lag a minute.
const settle = time.Minute

// lookAfter refreshes an old or empty cache and probes the store, each when due and without delaying the current
// reader. At most one reader a minute refreshes. If the store cannot be asked for that lease, at most one of this
// instance does.
func (r *Reader) lookAfter(ctx context.Context, now time.Time, old bool) {
	refresh := old && claim(&r.rests, now, settle)
	check := r.Cache != nil && r.Pulse.claim(now)
	if !refresh && !check {
		return
	}
	work := func(ctx context.Context) {
		if check {
			r.check(ctx, now)
		}
		if refresh && !r.Pulse.gone(now) {
			r.refresh(ctx, now)
		}
	}
	r.background(ctx, work)
}

func (r *Reader) background(ctx context.Context, work func(ctx context.Context)) {
	if r.Background == nil {
		work(ctx)
		return
	}
	r.Background(work)
}

// extendDue reports whether this reader is to extend the cache's lifetime, at most once a minute.
func (r *Reader) extendDue(now time.Time) bool { return claim(&r.extends, now, settle) }

// extend keeps the cache while the store is down.
func (r *Reader) extend(ctx context.Context, now time.Time) {
	if err := r.Cache.Extend(ctx, now); err != nil {
		r.failed(err)
	}
}

// check probes the store with a query for its newest article.
func (r *Reader) check(ctx context.Context, now time.Time) {
	if err := r.Pulse.ask(ctx, now, func(ctx context.Context) error {
		_, err := r.Store.Page(ctx, info.Query{Category: info.All, Limit: 1})
		return err
	}); err != nil {
		r.storeFailed(err)
		if r.extendDue(now) {
			r.extend(ctx, now)
		}
	}
}

// Article reads one article as an info.Public, or nil if it is missing or deleted.
func (r *Reader) Article(ctx context.Context, id string) (json []byte, err error) {
	if r.Cache != nil {
		err := r.Breaker.Do(ctx, func() error {
			json, err = r.Cache.Article(ctx, id)
			return err
		})
		if err != nil && !errors.Is(err, connection.ErrPaused) {
			r.failed(err)
		}
		if json != nil {
			return json, nil
		}
	}
	a, err := r.Store.Article(ctx, id)
	if err != nil || a == nil {
		return nil, err
	}
	return a.AppendPublic(nil), nil
}

// refresh fills the cache for the next reader.
func (r *Reader) refresh(ctx context.Context, now time.Time) {
	ok, err := r.Store.Acquire(ctx, "revalidate", r.Owner, settle)
	if err == nil && ok {
		_, err = FillNow(ctx, r.Cache, r.Store, r.Owner, now)
	}
	if err != nil {
		r.failed(err)
	}
}

func (r *Reader) failed(err error) {
	r.Log.Warn("info_cache_failed", "error_type", contract.KindOf(err), "error", err.Error())
}

func (r *Reader) storeFailed(err error) {
	r.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error())
}
