package reconcile

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/r2"
)

// Limits of one call.
const (
	maxSnapshotPages = 20
	maxSnapshotBytes = 64 << 20 // of a page; one has a megabyte, or one host
)

// Restorer rebuilds shards of the frontier from their last snapshots. What a shard has already stays as it
// is. Each host goes to the shard that its domain has now, so snapshots of another number of shards can
// be restored, too.
type Restorer struct {
	Bucket   Bucket
	Frontier frontier.Remotes
	MaxPages int // 0 means the constant
}

// place is where a call goes on.
type place struct {
	Shard string `json:"s"`           // whose snapshots are read; "" before the first one
	Only  bool   `json:"o,omitempty"` // no other shard follows
	Day   string `json:"d,omitempty"` // of the snapshot; where Page is 0 an earlier one is to be found
	Page  int    `json:"p,omitempty"` // to be read next, from 1; 0: there is none yet
	Taken int64  `json:"t,omitempty"` // see frontier.SnapshotOrder; of the page before
	Live  bool   `json:"l,omitempty"` // what the shards have now is read, not their snapshots
	From  int64  `json:"f,omitempty"` // where the next page of that begins
}

func isShard(name string) bool {
	_, ok := frontier.ShardNumber(name)
	return ok
}

// Run restores the next pages, from the cursor that the call before gave; for "" from the beginning of one
// shard, or of all for "". With live it moves what the shards have now to where it belongs, instead of reading
// their snapshots.
func (r *Restorer) Run(ctx context.Context, shard string, live bool, cursor string) (out contract.Restored, err error) {
	out.Snapshots = []contract.Snapshotted{}
	if shard != "" && !isShard(shard) {
		return out, contract.Invalid("shard", "is not the name of a shard; send one like \"shard-3\", or none for all")
	}
	at := place{Shard: shard, Only: shard != "", Live: live}
	if cursor != "" {
		at = place{}
		if err := contract.DecodeCursor(cursor, &at); err != nil || at.Page < 0 || at.From < 0 || at.From > frontier.MaxExport || at.Live != live || !isShard(at.Shard) || shard != "" && shard != at.Shard {
			return out, contract.BadCursor()
		}
	}
	pages := r.MaxPages
	if pages == 0 {
		pages = maxSnapshotPages
	}
	for ; pages > 0 && !out.Done; pages-- {
		if out.Done, err = r.step(ctx, &at, &out); err != nil {
			return out, err
		}
	}
	if !out.Done {
		out.Cursor = contract.EncodeCursor(at)
	}
	return out, nil
}

// step finds the next snapshot, or restores its next page.
func (r *Restorer) step(ctx context.Context, at *place, out *contract.Restored) (done bool, err error) {
	if at.Shard == "" {
		return r.next(ctx, at)
	}
	if at.Live {
		return r.move(ctx, at, out)
	}
	if at.Page == 0 {
		day, err := r.latest(ctx, at.Shard, at.Day)
		if err != nil || day == "" {
			return r.after(ctx, at, err)
		}
		at.Day, at.Page = day, 1
		out.Snapshots = append(out.Snapshots, contract.Snapshotted{Shard: at.Shard, Date: day})
		return false, nil
	}
	page, err := r.read(ctx, at)
	if errors.Is(err, r2.ErrNotFound) || err == nil && at.Page > 1 && page.Taken != at.Taken { // it was never finished
		at.Page = 0
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at.Taken = page.Taken
	if err := r.restore(ctx, page.Split(r.Frontier.Shards), out); err != nil {
		return false, err
	}
	if page.Next == 0 {
		return r.after(ctx, at, nil)
	}
	at.Page++
	return false, nil
}

// move restores the next page of what a shard has now and other shards should have.
func (r *Restorer) move(ctx context.Context, at *place, out *contract.Restored) (done bool, err error) {
	n, _ := frontier.ShardNumber(at.Shard)
	page, err := r.Frontier.Shard(n).Export(ctx, at.From)
	if err != nil {
		return false, err
	}
	parts := page.Split(r.Frontier.Shards)
	delete(parts, n)
	if err := r.restore(ctx, parts, out); err != nil {
		return false, err
	}
	if at.From = page.Next; page.Next == 0 {
		return r.after(ctx, at, nil)
	}
	return false, nil
}

// after goes on to the shard after this one.
func (r *Restorer) after(ctx context.Context, at *place, err error) (done bool, _ error) {
	if err != nil || at.Only {
		return at.Only, err
	}
	return r.next(ctx, at)
}

// next goes on to the next shard that has snapshots, in the order of keys.
func (r *Restorer) next(ctx context.Context, at *place) (done bool, err error) {
	o := r2.ListOptions{Prefix: contract.SnapshotRoot, Delimiter: "/"}
	dirs, err := r.dirs(ctx, o)
	if err != nil {
		return false, err
	}
	for _, dir := range dirs {
		if at.Shard == "" || dir > contract.SnapshotDir(at.Shard) {
			*at = place{Shard: strings.TrimSuffix(strings.TrimPrefix(dir, contract.SnapshotRoot), "/"), Live: at.Live}
			return false, nil
		}
	}
	return true, nil
}

// latest gives the day of the last snapshot of a shard, of those before a day unless that is "".
func (r *Restorer) latest(ctx context.Context, shard, before string) (day string, err error) {
	dirs, err := r.dirs(ctx, r2.ListOptions{Prefix: contract.SnapshotDir(shard), Delimiter: "/"})
	for _, dir := range dirs {
		if _, t, ok := contract.ParseSnapshot(dir); ok {
			if d := t.Format(time.DateOnly); d > day && (before == "" || d < before) {
				day = d
			}
		}
	}
	return day, err
}

func (r *Restorer) dirs(ctx context.Context, o r2.ListOptions) (dirs []string, err error) {
	for {
		page, err := r.Bucket.List(ctx, o)
		if err != nil {
			return nil, contract.Wrap(contract.Storage, "reconcile.Restore", err)
		}
		dirs = append(dirs, page.Prefixes...)
		if !page.Truncated {
			return dirs, nil
		}
		o.Cursor = page.Cursor
	}
}

func (r *Restorer) read(ctx context.Context, at *place) (page frontier.Snapshot, err error) {
	const op = "reconcile.Restore"
	day, err := time.Parse(time.DateOnly, at.Day)
	if err != nil {
		return page, contract.BadCursor()
	}
	key := contract.SnapshotPage(contract.Snapshot(at.Shard, day), at.Page)
	body, err := r.Bucket.Get(ctx, key)
	if err != nil {
		return page, contract.Wrap(contract.Storage, op, err)
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxSnapshotBytes))
	if err != nil {
		return page, contract.Wrap(contract.Storage, op, err)
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return page, &contract.Error{Kind: contract.Storage, Op: op, Message: key + " is not a page of a snapshot", Err: err}
	}
	return page, nil
}

// restore sends each host and domain of a page to its shard.
func (r *Restorer) restore(ctx context.Context, parts map[int]frontier.Snapshot, out *contract.Restored) error {
	out.Pages++
	for n, part := range parts {
		restored, err := r.Frontier.Shard(n).Restore(ctx, part)
		if err != nil {
			return err
		}
		out.Hosts += int64(restored)
	}
	return nil
}
