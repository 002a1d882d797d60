package collect

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
)

const (
	maxReplays = 200 // per source and day
	replaying  = 5 * time.Minute
	pruneBatch = 500
	maxPruned  = 100_000 // per day
)

// Replay repeats failed requests of a source, or of all sources that are on for "", oldest failure first.
// Successful ones are resolved; failed ones stay with one more attempt and do not stop the others. A source whose
// quota is spent is skipped. The next replay continues what exceeds the time.
func (c *Collector) Replay(ctx context.Context, source string) (done info.Replayed, err error) {
	hurried, cancel := context.WithTimeout(ctx, replaying)
	defer cancel()
	l := c.looking()
	defer l.endVisits(context.WithoutCancel(ctx))
	for _, s := range c.Sources {
		if source == "" || source == s.Name() {
			if err := l.replay(ctx, hurried, s, &done); err != nil {
				return done, err
			}
		}
	}
	c.Log.Info("info_replayed", "succeeded", done.Succeeded, "failed", done.Failed, "inserted", done.Inserted)
	return done, nil
}

// replay repeats the requests of one source while there is time to ask it, which leaves time to store the answers.
func (l *looking) replay(ctx, hurried context.Context, s info.Source, done *info.Replayed) error {
	c := l.Collector
	list, err := c.Store.DeadLetters(ctx, s.Name(), maxReplays)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return nil
	}
	known, err := c.Store.Sources(ctx)
	if err != nil {
		return err
	}
	for _, k := range known { // failures alone do not stop a replay
		if class := info.Class(k.ErrorClass); k.Name == s.Name() && k.NotBefore.After(c.Now()) &&
			(class == info.Spent || class == info.Throttled) {
			return nil
		}
	}
	client := l.client(s)
	for _, letter := range list {
		now := c.Now()
		b, err := replayOne(hurried, s, client, letter.Request, now)
		if err != nil && hurried.Err() != nil {
			return nil // not the request's fault
		}
		if err == nil {
			young, _ := c.young(b.Articles)
			merged, _ := info.Merge(young)
			saved, failure := c.put(ctx, merged)
			if failure != nil {
				return failure
			}
			done.Inserted += saved.Inserted
			if _, failure = c.Store.Resolve(ctx, s.Name(), letter.Request); failure != nil {
				return failure
			}
			done.Succeeded++
			continue
		}
		done.Failed++
		c.panicked(s.Name(), letter.Request, err)
		c.warn(s, c.Store.Add(ctx, letters(s.Name(), []info.Failure{{Request: letter.Request, Err: err}}), now))
		if class := info.ClassOf(err); class == info.Spent || class == info.Throttled {
			c.warn(s, c.Store.Rest(ctx, s.Name(), string(class), c.restsUntil(s, err, 0, now)))
			return nil
		}
	}
	return nil
}

// replayOne repeats a request. One that panics must not keep the others, and the day's other work, from being done.
func replayOne(ctx context.Context, s info.Source, c info.Client, request string, now time.Time) (b info.Batch,
	err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			b, err = info.Batch{}, info.Recovered(thrown)
		}
	}()
	return s.Replay(ctx, c, request, now)
}

// Daily replays dead letters and prunes old rows.
func (c *Collector) Daily(ctx context.Context) error {
	_, err := c.Replay(ctx, "")
	removed := 0
	if err == nil {
		removed, err = c.prune(ctx)
	}
	if err == nil {
		err = c.Store.Forget(ctx)
	}
	if removed > 0 {
		c.Log.Info("info_pruned", "removed", removed)
	}
	c.refresh(ctx)
	return contract.Wrap(contract.Storage, "collect.Daily", err)
}

// prune deletes articles that are older than the retention or beyond the number that is kept.
func (c *Collector) prune(ctx context.Context) (removed int, err error) {
	var before time.Time
	if c.Retention > 0 {
		before = c.Now().Add(-c.Retention)
	}
	if c.MaxArticles > 0 {
		oldest, err := c.Store.Nth(ctx, c.MaxArticles)
		if err != nil {
			return 0, err
		}
		if oldest.After(before) {
			before = oldest
		}
	}
	for !before.IsZero() && removed < maxPruned {
		n, err := c.Store.Prune(ctx, before, pruneBatch)
		if removed += n; n < pruneBatch || err != nil {
			return removed, err
		}
	}
	return removed, nil
}
