package frontier

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"

	"github.com/newsfork/seed-engine/contract"
)

// Cursor is how far a reader of the feed, or of the changes, has got in each shard: a number of its log.
// The empty Cursor is the beginning of what is kept.
type Cursor []int64

// cursorVersion is the first byte of a cursor.
const cursorVersion = 1

// ParseCursor decodes what String made. Shards that were added since are read from their beginning.
func ParseCursor(text string, shards int) (Cursor, error) {
	c := make(Cursor, shards)
	if text == "" {
		return c, nil
	}
	wrong := contract.Invalid("cursor", "is not one of this route; send next_cursor of the page before, or none to begin")
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

// maxShards bounds what a cursor may have.
const maxShards = 1024

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
	Items []FeedItem // by the time at which they were found, as far as the shards' order allows
	Next  Cursor
	More  bool
}

// Feed reads on from a cursor: every item once, whatever is added meanwhile. A shard that does not
// answer contributes nothing, and is where it was in the cursor; it is an error only if none answers.
func (r Remotes) Feed(ctx context.Context, from Cursor, f FeedRequest) (AllFeed, error) {
	items, next, more, err := follow(r, "frontier.Feed", from, f.Limit, func(n int, after int64) (run[FeedItem], error) {
		request := f
		request.After = after
		p, err := r.Shard(n).Feed(ctx, request)
		return run[FeedItem]{p.Items, p.Next, p.More}, err
	}, func(i *FeedItem) (int64, int64) { return i.Sequence, i.FoundAt })
	return AllFeed{items, next, more}, err
}

// AllChanges is a page of the changes of all shards.
type AllChanges struct {
	Items []ChangeItem
	Next  Cursor
	More  bool
}

// Changes is Feed for the contracts that changed.
func (r Remotes) Changes(ctx context.Context, from Cursor, limit int) (AllChanges, error) {
	items, next, more, err := follow(r, "frontier.Changes", from, limit, func(n int, after int64) (run[ChangeItem], error) {
		p, err := r.Shard(n).Changes(ctx, ChangesRequest{After: after, Limit: limit})
		return run[ChangeItem]{p.Items, p.Next, p.More}, err
	}, func(i *ChangeItem) (int64, int64) { return i.Sequence, i.ChangedAt })
	return AllChanges{items, next, more}, err
}

// run is what a shard gives after a number of its log.
type run[Item any] struct {
	items []Item
	next  int64
	more  bool
}

// follow reads a log of all shards and merges up to limit items by their time. The cursor moves past what
// was taken of a shard, or past all that the shard looked at when all was taken.
func follow[Item any](r Remotes, op string, from Cursor, limit int, ask func(shard int, after int64) (run[Item], error), place func(*Item) (number, time int64)) (items []Item, next Cursor, more bool, err error) {
	runs := make([]run[Item], r.Shards)
	errs := each(r.Shards, func(n int) (err error) {
		runs[n], err = ask(n, from[n])
		return err
	})
	if err := refused(errs); err != nil {
		return nil, nil, false, err
	}
	answered := slices.Contains(errs, nil)
	if !answered {
		return nil, nil, false, errSilent(op, errs...)
	}
	next = slices.Clone(from)
	taken := make([]int, r.Shards)
	for len(items) < limit {
		first, at := -1, int64(0)
		for n := range runs {
			if taken[n] == len(runs[n].items) {
				continue
			}
			if _, t := place(&runs[n].items[taken[n]]); first < 0 || t < at {
				first, at = n, t
			}
		}
		if first < 0 {
			break
		}
		item := &runs[first].items[taken[first]]
		next[first], _ = place(item)
		items = append(items, *item)
		taken[first]++
	}
	for n := range runs {
		switch {
		case errs[n] != nil:
		case taken[n] < len(runs[n].items):
			more = true
		default:
			next[n], more = cmp.Or(runs[n].next, from[n]), more || runs[n].more
		}
	}
	return items, next, more, nil
}
