package collect

import (
	"context"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
)

const (
	maxReplays = 200 // of a day
	pruneBatch = 500
	maxPruned  = 20_000 // of a day
)

// Replay makes failed requests again: of one source, or of all when it is "". A request that succeeds is
// resolved; one that fails stays, with one attempt more. A source that is spent is left alone.
func (c *Collector) Replay(ctx context.Context, source string) (done info.Replayed, err error) {
	list, err := c.Store.DeadLetters(ctx, source, maxReplays)
	if err != nil {
		return done, err
	}
	skip := map[string]bool{}
	for _, l := range list {
		s := c.named(l.Source)
		if s == nil || skip[l.Source] || ctx.Err() != nil {
			continue
		}
		client := c.client(s)
		now := c.Now()
		b, err := s.Replay(ctx, client, l.Request, now)
		if err == nil {
			merged, _ := info.Merge(b.Articles)
			saved, _, failure := c.put(ctx, merged)
			if failure != nil {
				return done, failure
			}
			done.Inserted += saved.Inserted
			if _, failure = c.Store.Resolve(ctx, l.Source, l.Request); failure != nil {
				return done, failure
			}
			done.Succeeded++
			continue
		}
		done.Failed++
		c.warn(s, c.Store.Add(ctx, letters(l.Source, []info.Failure{{Request: l.Request, Err: err}}), now))
		if class := info.ClassOf(err); class == info.Spent || class == info.Throttled {
			skip[l.Source] = true
			c.warn(s, c.Store.Rest(ctx, l.Source, string(class), c.rests(s, err, 0, now)))
		}
	}
	c.Log.Info("info_replayed", "succeeded", done.Succeeded, "failed", done.Failed, "inserted", done.Inserted)
	return done, nil
}

func (c *Collector) named(name string) info.Source {
	for _, s := range c.Sources {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// Daily replays dead letters and removes what is too old.
func (c *Collector) Daily(ctx context.Context) error {
	_, err := c.Replay(ctx, "")
	removed := 0
	for err == nil && c.Retention > 0 && removed < maxPruned {
		var n int
		n, err = c.Store.Prune(ctx, c.Now().Add(-c.Retention), pruneBatch)
		if removed += n; n < pruneBatch {
			break
		}
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
