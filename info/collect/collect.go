// Package collect fetches articles from their sources and stores them, within the limits of providers and at most
// once at a time per source.
package collect

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/cache"
	"github.com/newsfork/seed-engine/info/store"
)

// Store is the part of package store that a collection uses.
type Store interface {
	cache.Store
	Begin(ctx context.Context, source string, now, staleAt time.Time) (store.Source, error)
	Succeed(ctx context.Context, r store.Success) error
	Fail(ctx context.Context, f store.Failure) error
	Rest(ctx context.Context, source, class string, notBefore time.Time) error
	Spend(ctx context.Context, source string, windows []info.Window) (*info.Window, error)
	Sources(ctx context.Context) ([]store.Source, error)
	Left(ctx context.Context, source string, w info.Window, left int) error
	Known(ctx context.Context, keys []string) (map[string]store.Known, error)
	Upsert(ctx context.Context, articles []store.New) (store.Saved, error)
	Add(ctx context.Context, failed []store.Letter, now time.Time) error
	DeadLetters(ctx context.Context, source string, limit int) ([]store.Letter, error)
	Resolve(ctx context.Context, source, request string) (bool, error)
	Visits() store.Visits
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
	Nth(ctx context.Context, n int) (time.Time, error)
	Forget(ctx context.Context) error
}

// Collector collects from sources.
type Collector struct {
	Sources   []info.Source
	Store     Store
	Cache     cache.Cache // nil if there is none
	Transport fetch.Transport
	// Via maps sources that Transport does not reach, such as one behind a service binding, to their transports.
	Via       map[string]fetch.Transport
	UserAgent string
	Interval  time.Duration            // least pause between two requests to a host of articles
	Schedule  map[string]time.Duration // how often each source is collected
	Engine    *Engine                  // decides who sends requests to such hosts; nil: the store does
	// Default is the category of articles that fit none; "" leaves them without.
	Default   info.Category
	Retention time.Duration // how long articles are kept after publication
	// MaxArticles is the number of articles that are kept; 0: all of them.
	MaxArticles int
	Owner       string // names this run in leases
	Log         *slog.Logger
	Now         func() time.Time
	Sleep       func(ctx context.Context, d time.Duration) error
}

const (
	deadline = 5 * time.Minute // of a collection
	// leaseTTL is a little longer than a collection, so that a killed collection delays only the next one.
	leaseTTL = deadline + time.Minute
	// askTimeout limits the calls of a source. The time left is for storing their answers.
	askTimeout = 4 * time.Minute
)

// Run collects from the named sources side by side, looks for pictures, and refreshes the cache if anything changed.
// Neither the failure of a source nor its silence affects the others.
func (c *Collector) Run(ctx context.Context, names ...string) []info.Report {
	var chosen []info.Source
	for _, s := range c.Sources {
		if slices.Contains(names, s.Name()) {
			chosen = append(chosen, s)
		}
	}
	reports := make([]info.Report, len(chosen))
	l := c.looking()
	var running sync.WaitGroup
	for i, s := range chosen {
		running.Go(func() {
			defer func() { // a panic in this goroutine would end the program
				if thrown := recover(); thrown != nil {
					reports[i] = c.failed(info.Report{Source: s.Name()}, info.Recovered(thrown))
				}
			}()
			reports[i] = c.source(ctx, s, l)
		})
	}
	running.Wait()
	l.illustrate(ctx, reports)
	c.refresh(ctx)
	return reports
}

func (c *Collector) refresh(ctx context.Context) {
	if c.Cache == nil {
		return
	}
	if _, err := cache.Fill(ctx, c.Cache, c.Store, c.Owner, c.Now()); err != nil {
		c.Log.Warn("info_cache_failed", "error_type", contract.KindOf(err), "error", err.Error())
		// Readers keep what they have if it is the store that fails.
		if err := c.Cache.Extend(ctx, c.Now()); err != nil {
			c.Log.Warn("info_cache_failed", "error_type", contract.KindOf(err), "error", err.Error())
		}
	}
}

const (
	refreshTries = 10
	refreshPause = time.Second // KV accepts one write a second
)

// Refresh fills the cache with the current articles. A refresh that has begun before might miss them, so Refresh
// waits for it; done is false if that takes too long. The next collection then refreshes the cache.
func (c *Collector) Refresh(ctx context.Context) (done bool, err error) {
	if c.Cache == nil {
		return true, nil
	}
	for try := 1; ; try++ {
		done, err = cache.FillNow(ctx, c.Cache, c.Store, c.Owner, c.Now())
		if done && err == nil || try == refreshTries || c.Sleep(ctx, refreshPause) != nil {
			return done && err == nil, err
		}
	}
}

// source collects from one source, unless another run does.
func (c *Collector) source(ctx context.Context, s info.Source, l *looking) (r info.Report) {
	r.Source = s.Name()
	began := c.Now()
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	name := "collect:" + s.Name()
	ok, err := c.Store.Acquire(ctx, name, c.Owner, leaseTTL)
	switch {
	case err != nil:
		return c.failed(r, err)
	case !ok:
		r.Skipped = "busy"
		return c.skipped(r, time.Time{})
	}
	defer func() {
		// Even after the deadline: otherwise the next collection waits for the lease to expire.
		if err := c.Store.Release(context.WithoutCancel(ctx), name, c.Owner); err != nil {
			c.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error(), "source",
				s.Name())
		}
	}()
	state, err := c.Store.Begin(ctx, s.Name(), began, c.staleAt(s, began))
	if err != nil {
		return c.failed(r, err)
	}
	if state.NotBefore.After(began) {
		r.Skipped = state.ErrorClass
		return c.skipped(r, state.NotBefore)
	}
	client := l.client(s)
	for _, q := range state.Quotas {
		client.used[q.Period] = q.Used
	}
	hurried, enough := context.WithTimeout(ctx, askTimeout)
	defer enough()
	b, err := s.Collect(hurried, client, state.State, began)
	r.Counts.Calls = client.calls
	for _, f := range b.Failures {
		c.panicked(s.Name(), f.Request, f.Err)
	}
	if err != nil {
		return c.gaveUp(ctx, s, state, b, err, r)
	}
	if err := c.save(ctx, s, state, b, &r.Counts); err != nil {
		return c.failed(r, err)
	}
	c.Log.Info("info_collected", "source", r.Source, "calls", r.Counts.Calls, "articles", r.Counts.Articles,
		"inserted", r.Counts.Inserted, "updated", r.Counts.Updated, "dropped", r.Counts.Drops,
		"failed_requests", r.Counts.Failed, "gaps", r.Counts.Gaps,
		"duration_ms", c.Now().Sub(began).Milliseconds())
	return r
}

// save stores a batch.
func (c *Collector) save(ctx context.Context, s info.Source, state store.Source, b info.Batch,
	counts *info.Counts) error {
	young, old := c.young(b.Articles)
	articles, repeated := info.Merge(young)
	counts.Articles, counts.Drops = len(articles), b.Drops
	counts.Failed, counts.Gaps = len(b.Failures), b.Gaps
	if counts.Drops == nil {
		counts.Drops = info.Drops{}
	}
	if repeated > 0 {
		counts.Drops[info.Repeated] += repeated
	}
	if old > 0 {
		counts.Drops[info.TooOld] += old
	}
	asked := c.Now() // the answers count for the windows of this time
	saved, err := c.put(ctx, articles)
	counts.Inserted, counts.Updated = saved.Inserted, saved.Updated
	if err != nil {
		return err
	}
	now := c.Now()
	failed := letters(s.Name(), b.Failures)
	if err := c.Store.Succeed(ctx, store.Success{Source: s.Name(), State: b.State, Counts: counts, Failed: failed,
		Now: now, StaleAt: c.staleAt(s, now)}); err != nil {
		return err
	}
	c.count(ctx, s, b, asked)
	c.forget(ctx, s, state, b)
	return nil
}

// staleAt returns the time at which a success at now is too old.
func (c *Collector) staleAt(s info.Source, now time.Time) time.Time {
	return now.Add(info.Patience(c.Schedule[s.Name()]))
}

// young drops articles that Prune would remove the next day. Otherwise an article that was taken down would return
// once its row is pruned, if its source still lists it.
func (c *Collector) young(articles []info.Article) (young []info.Article, old int) {
	if c.Retention <= 0 {
		return articles, 0
	}
	from := c.Now().Add(-c.Retention)
	for _, a := range articles {
		if a.PublishedAt.Before(from) {
			old++
			continue
		}
		young = append(young, a)
	}
	return young, old
}

// put stores articles. Those that are known and lack nothing that these have are not sent to the database again.
func (c *Collector) put(ctx context.Context, articles []info.Article) (saved store.Saved, err error) {
	if len(articles) == 0 {
		return saved, nil
	}
	keys := make([]string, len(articles))
	for i := range articles {
		if articles[i].Category == "" {
			articles[i].Category = c.Default
		}
		keys[i] = articles[i].Key
	}
	known, err := c.Store.Known(ctx, keys)
	if err != nil {
		return saved, err
	}
	var list []store.New
	for _, a := range articles {
		if k, ok := known[a.Key]; !ok || k.Takes(&a) {
			list = append(list, store.New{Article: a})
		}
	}
	return c.Store.Upsert(ctx, list)
}

// count corrects our counts by the provider's, and lets the source rest if a request exceeded the quota.
func (c *Collector) count(ctx context.Context, s info.Source, b info.Batch, now time.Time) {
	for i, l := range s.Limits() {
		if i < len(b.Left) && b.Left[i] >= 0 {
			c.warn(s, c.Store.Left(ctx, s.Name(), l.Window(now), b.Left[i]))
		}
	}
	for _, f := range b.Failures {
		switch class := info.ClassOf(f.Err); {
		case f.Alone:
		case class == info.Spent, class == info.Throttled:
			c.warn(s, c.Store.Rest(ctx, s.Name(), string(class), c.restsUntil(s, f.Err, 0, now)))
		case class == info.Refused: // the key was refused after another request had succeeded
			c.warn(s, c.Store.Fail(ctx, store.Failure{Source: s.Name(), Class: string(class),
				Message: contract.Reason(f.Err), NotBefore: c.restsUntil(s, f.Err, 0, now), Now: now}))
		}
	}
}

// forget resolves the dead letters of requests that have succeeded since.
func (c *Collector) forget(ctx context.Context, s info.Source, state store.Source, b info.Batch) {
	if state.DeadLetters == 0 {
		return
	}
	failed := map[string]bool{}
	for _, f := range b.Failures {
		if failed[f.Request] = true; !f.Alone && info.ClassOf(f.Err).StopsSource() {
			return // later requests were not made
		}
	}
	list, err := c.Store.DeadLetters(ctx, s.Name(), 1000)
	c.warn(s, err)
	for _, l := range list {
		if !failed[l.Request] {
			_, err := c.Store.Resolve(ctx, s.Name(), l.Request)
			c.warn(s, err)
		}
	}
}

// warn logs that something other than the articles was not stored.
func (c *Collector) warn(s info.Source, err error) {
	if err != nil {
		c.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error(), "source", s.Name())
	}
}

// letters returns the dead letters of failures. Requests that met the end of a quota are repeated anyway.
func letters(source string, failures []info.Failure) (list []store.Letter) {
	for _, f := range failures {
		if class := info.ClassOf(f.Err); class != info.Spent && class != info.Throttled {
			list = append(list, store.Letter{Source: source, Request: f.Request, Class: string(class),
				Error: contract.Reason(f.Err)})
		}
	}
	return list
}

// gaveUp records a failed collection.
func (c *Collector) gaveUp(ctx context.Context, s info.Source, state store.Source, b info.Batch, err error,
	r info.Report) info.Report {
	var storage *contract.Error
	if errors.As(err, &storage) && storage.Kind == contract.Storage {
		return c.failed(r, err) // the call could not be counted, so it was not made
	}
	ctx = context.WithoutCancel(ctx)
	now, class := c.Now(), info.ClassOf(err)
	until := c.restsUntil(s, err, state.Failures, now)
	var ours *budgetError
	if errors.As(err, &ours) {
		r.Skipped = string(class)
		c.warn(s, c.Store.Rest(ctx, s.Name(), string(class), until))
		return c.skipped(r, until)
	}
	c.warn(s, c.Store.Fail(ctx, store.Failure{Source: s.Name(), State: b.State, Class: string(class),
		Message: contract.Reason(err), NotBefore: until, Failed: letters(s.Name(), b.Failures), Now: now}))
	r.Error, r.Kind = contract.Reason(err), info.Kind(err)
	r.Counts.Failed = len(b.Failures)
	c.Log.Error("info_collect_failed", append([]any{"error_type", info.Kind(err), "source", s.Name(), "class", class,
		"error", err.Error(), "not_before", until}, stackOf(err)...)...)
	return r
}

// restsUntil returns the end of a source's rest after an error. failures counts earlier ones.
func (c *Collector) restsUntil(s info.Source, err error, failures int, now time.Time) time.Time {
	var e *info.UpstreamError
	if errors.As(err, &e) && e.RetryAfter > 0 && e.Class != info.Spent {
		return now.Add(min(e.RetryAfter, 24*time.Hour))
	}
	limits := s.Limits()
	switch info.ClassOf(err) {
	case info.Spent:
		if len(limits) > 0 {
			return limits[0].Window(now).Ends
		}
		return now.Add(time.Hour)
	case info.Throttled:
		if len(limits) > 1 {
			return limits[1].Window(now).Ends
		}
		return now.Add(time.Minute)
	case info.Refused:
		return now.Add(doubled(5*time.Minute, failures, 6*time.Hour))
	}
	return now.Add(doubled(time.Minute, failures, time.Hour))
}

func doubled(d time.Duration, times int, most time.Duration) time.Duration {
	for ; times > 0 && d < most; times-- {
		d *= 2
	}
	return min(d, most)
}

// skipped reports a source that was skipped. until is zero if it does not rest.
func (c *Collector) skipped(r info.Report, until time.Time) info.Report {
	r.NotBefore = contract.At(until.UTC())
	c.Log.Info("info_source_skipped", "source", r.Source, "reason", r.Skipped, "until", until)
	return r
}

// failed reports a failure of the store. The next collection begins where this one did.
func (c *Collector) failed(r info.Report, err error) info.Report {
	r.Error, r.Kind = contract.Reason(err), contract.KindOf(err)
	c.Log.Error("info_collect_failed", append([]any{"error_type", contract.KindOf(err), "source", r.Source, "error",
		err.Error()}, stackOf(err)...)...)
	return r
}

// panicked logs a failed request if its error is a panic: others are a provider's or a website's, and are counted.
func (c *Collector) panicked(source, request string, err error) {
	if stack := stackOf(err); stack != nil {
		c.Log.Error("info_collect_failed", append([]any{"error_type", contract.KindOf(err), "source", source,
			"request", request, "error", err.Error()}, stack...)...)
	}
}

// stackOf returns the stack of a panic as an attribute of the log, or nothing.
func stackOf(err error) []any {
	var p *info.PanicError
	if errors.As(err, &p) {
		return []any{"stack", string(p.Stack)}
	}
	return nil
}
