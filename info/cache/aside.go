package cache

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
)

// Reader reads pages from the cache as far as it reaches, else from the store: readers see no edge between
// them. Either may fail.
type Reader struct {
	Cache Cache // nil: there is none
	Store Store
	Kind  string // the store's name
	Owner string // names this reader when it fills the cache
	// Background runs work once the current reader has its answer; nil: at once.
	Background func(work func(ctx context.Context))
	Log        *slog.Logger
	Now        func() time.Time

	rests atomic.Int64 // milliseconds since 1970: this reader does not fill the cache before
}

// Result is a page, and where it comes from.
type Result struct {
	Items       []Item
	More        bool
	Source      string    // kv, redis, d1 or postgres
	Total       int       // articles of the category in the cache; 0 when that is unknown
	RefreshedAt time.Time // of the cache; zero when that is unknown
	Expires     time.Time
	// Stale: there has been no collection for so long that something must be wrong, or the store does not
	// answer and this is what the cache still has.
	Stale bool
}

// Page reads one page.
func (r *Reader) Page(ctx context.Context, q info.Query) (Result, error) {
	now := r.Now()
	var a *Answer
	missing := false
	if r.Cache != nil && q.Plain() {
		var err error
		if a, err = r.Cache.Page(ctx, q); err != nil {
			r.failed(err)
		} else if a == nil {
			missing = true
		} else if now.Sub(a.RefreshedAt) > Stale {
			r.revalidate(ctx, now)
		}
	}
	if a != nil && now.Before(a.Expires) && (len(a.Items) > q.Limit || a.Complete) {
		return r.cached(a, &q, now), nil
	}
	p, err := r.Store.Page(ctx, q)
	if err != nil {
		if a == nil || len(a.Items) == 0 {
			return Result{}, err
		}
		r.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error())
		result := r.cached(a, &q, now)
		result.More = result.More || !a.Complete // the store has more, once it answers
		result.Stale = true
		return result, nil
	}
	result := Result{Items: make([]Item, len(p.Articles)), More: p.More, Source: r.Kind}
	for i := range p.Articles {
		article := &p.Articles[i]
		result.Items[i] = Item{info.CursorOf(article), contract.Encode(article.Public())}
	}
	if a != nil {
		result.Total, result.RefreshedAt, result.Expires, result.Stale = a.Total, a.RefreshedAt, a.Expires, now.Sub(a.CollectedAt) > Stale
	}
	if missing && r.rests.Load() <= now.UnixMilli() {
		r.fill(ctx, now)
	}
	return result, nil
}

// cached makes a page of what the cache has.
func (r *Reader) cached(a *Answer, q *info.Query, now time.Time) Result {
	items := a.Items
	more := len(items) > q.Limit
	if more {
		items = items[:q.Limit]
	}
	return Result{Items: items, More: more, Source: r.Cache.Name(), Total: a.Total, RefreshedAt: a.RefreshedAt, Expires: a.Expires, Stale: now.Sub(a.CollectedAt) > Stale}
}

// settle is how long a refresh may take to be seen by all readers: KV's values may be a minute old.
const settle = time.Minute

// revalidate refreshes a cache that has become old, in the background: of all readers one a minute, and of
// those of this instance as well while the store cannot be asked for that.
func (r *Reader) revalidate(ctx context.Context, now time.Time) {
	rests := r.rests.Load()
	if rests > now.UnixMilli() || !r.rests.CompareAndSwap(rests, now.Add(settle).UnixMilli()) {
		return
	}
	work := func(ctx context.Context) {
		if ok, err := r.Store.Acquire(ctx, "revalidate", r.Owner, settle); err != nil {
			r.failed(err)
		} else if ok {
			r.fill(ctx, now)
		}
	}
	if r.Background == nil {
		work(ctx)
		return
	}
	r.Background(work)
}

// fill makes the next reader find the cache filled. One of many readers who miss it does so; when that fails,
// this one lets a minute pass before it tries again.
func (r *Reader) fill(ctx context.Context, now time.Time) {
	if _, err := FillNow(ctx, r.Cache, r.Store, r.Owner, now); err != nil {
		r.rests.Store(now.Add(settle).UnixMilli())
		r.failed(err)
	}
}

func (r *Reader) failed(err error) {
	r.Log.Warn("info_cache_failed", "error_type", contract.KindOf(err), "error", err.Error())
}
