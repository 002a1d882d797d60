package client

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// Cursor holds the position of a reader of the feed or the changes in the log of each shard.
// The empty Cursor is the beginning of what is kept.
type Cursor []int64

const (
	cursorVersion = 1    // the first byte of a cursor
	maxShards     = 1024 // that a cursor may have
)

// ParseCursor decodes what String made. Shards that were added since are read from their beginning.
func ParseCursor(text string, shards int) (Cursor, error) {
	c := make(Cursor, shards)
	if text == "" {
		return c, nil
	}
	wrong := contract.Invalid("cursor",
		"is not one of this route; send next_cursor of the page before, or none to begin")
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 1 || b[0] != cursorVersion {
		return nil, wrong
	}
	for n, b := 0, b[1:]; len(b) > 0; n++ {
		v, size := binary.Uvarint(b)
		if size <= 0 || v >= 1<<53 || n >= maxShards {
			return nil, wrong
		}
		if n < shards {
			c[n] = int64(v)
		}
		b = b[size:]
	}
	return c, nil
}

// String encodes the cursor for a URL.
func (c Cursor) String() string {
	b := []byte{cursorVersion}
	for _, v := range c {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// AllFeed is a page of the feed of all shards.
type AllFeed struct {
	Items []frontier.FeedItem // by the time at which they were found, as far as the shards' order allows
	Followed
}

// AllChanges is a page of the changes of all shards.
type AllChanges struct {
	Items []frontier.ChangeItem
	Followed
}

// Followed holds the positions at which a page began and ended.
type Followed struct {
	From    Cursor // where it began: of a shard from whose beginning it was read, before the first item that is kept
	Next    Cursor
	More    bool
	Silent  []string // shards that did not answer: what they have comes later
	Expired bool     // what the cursor had not reached was older than the logs are kept, and is gone
}

// Feed reads on from a cursor: every item once, whatever is added meanwhile. A shard that does not
// answer contributes nothing, and is where it was in the cursor; it is an error only if none answers.
func (r Frontier) Feed(ctx context.Context, from Cursor, f frontier.FeedRequest) (AllFeed, error) {
	items, how, err := follow(r, "frontier.Feed", from, f.Limit,
		func(n int, after int64) (logTail[frontier.FeedItem], error) {
			return r.feedOf(ctx, n, after, f)
		}, placeOf)
	return AllFeed{items, how}, err
}

// FeedBetween reads again what is between two cursors, of which a page of at most limit items led from one to the
// other. All shards that have some of it must answer.
func (r Frontier) FeedBetween(ctx context.Context, from, to Cursor, limit int) (AllFeed, error) {
	runs := make([]logTail[frontier.FeedItem], r.Shards)
	errs := each(r.Shards, func(n int) (err error) {
		if to[n] <= from[n] {
			return nil
		}
		if runs[n], err = r.feedOf(ctx, n, from[n], frontier.FeedRequest{Limit: limit}); err != nil {
			return err
		}
		items := runs[n].items
		runs[n].items = slices.DeleteFunc(items, func(i frontier.FeedItem) bool { return i.Sequence > to[n] })
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		return AllFeed{}, contract.Wrap(contract.Storage, "frontier.FeedBetween", err)
	}
	items, _ := mergeRuns(runs, limit, placeOf)
	return AllFeed{items, Followed{From: from, Next: to, Expired: anyExpired(runs)}}, nil
}

func (r Frontier) feedOf(ctx context.Context, shard int, after int64,
	f frontier.FeedRequest) (logTail[frontier.FeedItem], error) {
	f.After = after
	p, err := r.Shard(shard).Feed(ctx, f)
	return logTail[frontier.FeedItem]{p.Items, p.Next, p.More, p.Expired}, err
}

// Changes is Feed for the contracts that changed.
func (r Frontier) Changes(ctx context.Context, from Cursor, limit int) (AllChanges, error) {
	items, how, err := follow(r, "frontier.Changes", from, limit,
		func(n int, after int64) (logTail[frontier.ChangeItem], error) {
			p, err := r.Shard(n).Changes(ctx, frontier.ChangesRequest{After: after, Limit: limit})
			return logTail[frontier.ChangeItem]{p.Items, p.Next, p.More, p.Expired}, err
		}, func(i frontier.ChangeItem) (int64, epoch.Millis) { return i.Sequence, i.ChangedAt })
	return AllChanges{items, how}, err
}

// logTail holds the records of one shard after a position in its log.
type logTail[Item any] struct {
	items   []Item
	next    int64
	more    bool
	expired bool
}

func anyExpired[Item any](runs []logTail[Item]) bool {
	return slices.ContainsFunc(runs, func(r logTail[Item]) bool { return r.expired })
}

// follow reads a log of all shards and merges up to limit items by their time. The cursor moves past what
// was taken of a shard, or past all that the shard looked at when all was taken.
func follow[Item any](r Frontier, op string, from Cursor, limit int,
	ask func(shard int, after int64) (logTail[Item], error),
	place func(Item) (number int64, time epoch.Millis)) (items []Item,
	how Followed, err error) {
	runs := make([]logTail[Item], r.Shards)
	errs := each(r.Shards, func(n int) (err error) {
		runs[n], err = ask(n, from[n])
		return err
	})
	if err := refused(errs); err != nil {
		return nil, how, err
	}
	if !slices.Contains(errs, nil) {
		return nil, how, errSilent(op, errs...)
	}
	items, taken := mergeRuns(runs, limit, place)
	how.From, how.Expired = slices.Clone(from), anyExpired(runs)
	for n := range runs {
		if len(runs[n].items) > 0 && from[n] == 0 { // for a reader that is away from now on to learn what is gone
			first, _ := place(runs[n].items[0])
			how.From[n] = max(first-1, 0)
		}
	}
	how.Next = slices.Clone(how.From)
	for n := range runs {
		switch {
		case errs[n] != nil:
			how.Silent = append(how.Silent, shardName(n))
		case taken[n] < len(runs[n].items):
			how.More = true
			if taken[n] > 0 {
				how.Next[n], _ = place(runs[n].items[taken[n]-1])
			}
		default:
			how.Next[n], how.More = cmp.Or(runs[n].next, from[n]), how.More || runs[n].more
		}
	}
	return items, how, nil
}

// mergeRuns returns up to limit items of all runs by their time, each run in its order, and how many are of each.
func mergeRuns[Item any](runs []logTail[Item], limit int,
	place func(Item) (number int64, time epoch.Millis)) (items []Item,
	taken []int) {
	taken = make([]int, len(runs))
	for len(items) < limit {
		first, at := -1, epoch.Millis(0)
		for n := range runs {
			if taken[n] == len(runs[n].items) {
				continue
			}
			if _, t := place(runs[n].items[taken[n]]); first < 0 || t < at {
				first, at = n, t
			}
		}
		if first < 0 {
			break
		}
		items = append(items, runs[first].items[taken[first]])
		taken[first]++
	}
	return items, taken
}

func placeOf(i frontier.FeedItem) (number int64, time epoch.Millis) { return i.Sequence, i.FoundAt }
