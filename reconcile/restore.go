package reconcile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/r2"
)

// Limits of one call.
const (
	maxSnapshotPages = 20
	maxSnapshotBytes = 64 << 20 // of a page, which has a megabyte or a single host
)

// Restorer rebuilds shards of the frontier from their last snapshots. It keeps what a shard already has. Each host
// goes to the shard that its domain belongs to now, so snapshots from another number of shards can be restored, too.
type Restorer struct {
	Bucket   Bucket
	Frontier client.Frontier
	MaxPages int // 0 means the constant
}

// place is the content of a cursor.
type place struct {
	Shard  string        `json:"s"`           // whose snapshots are read; "" before the first one
	Only   bool          `json:"o,omitempty"` // no other shard follows
	Name   string        `json:"d,omitempty"` // of the snapshot: its date and times; if Page is 0, find an earlier one
	Page   int           `json:"p,omitempty"` // next to read, from 1; 0 before the first
	Taken  epoch.Millis  `json:"t,omitempty"` // of the previous page
	Done   *epoch.Millis `json:"b,omitempty"` // Born of the last snapshot that was restored as a whole
	Live   bool          `json:"l,omitempty"` // read the shards themselves, not their snapshots
	From   int64         `json:"f,omitempty"` // start of the next page of those
	Strays bool          `json:"x,omitempty"` // some snapshot has hosts of other shards
	Second bool          `json:"2,omitempty"` // restore those: each shard has its own hosts by now
}

func isShard(name string) bool {
	_, ok := client.ShardNumber(name)
	return ok
}

// Run restores the next pages, from the cursor of the previous call or "". It restores one shard, or all of them for
// "". With live it moves hosts between the shards to where they belong, instead of reading snapshots.
func (r *Restorer) Run(ctx context.Context, shard string, live bool, cursor string) (out contract.Restored,
	err error) {
	out.Snapshots = []contract.Snapshotted{}
	if shard != "" && !isShard(shard) {
		return out, contract.Invalid("shard",
			"is not the name of a shard; send a name such as \"shard-3\", or none for all")
	}
	at := place{Shard: shard, Only: shard != "", Live: live}
	if cursor != "" {
		at = place{}
		if err := contract.DecodeCursor(cursor, &at); err != nil || at.Page < 0 || at.From < 0 ||
			at.From > frontier.MaxExport || at.Live != live || !isShard(at.Shard) || shard != "" && shard != at.Shard {
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
		s, found, err := r.latest(ctx, at)
		if err == nil && !found && at.Name == "" && at.Only {
			err = r.noSnapshot(ctx, at.Shard)
		}
		if err != nil || !found {
			return r.after(ctx, at, err)
		}
		at.Name, at.Page = snapshotName(s), 1
		if n, _ := client.ShardNumber(at.Shard); !at.Second || n >= r.Frontier.Shards { // else it was listed before
			out.Snapshots = append(out.Snapshots, contract.Snapshotted{Shard: at.Shard, Date: s.Date})
		}
		return false, nil
	}
	s, ok := at.snapshot()
	if !ok {
		return false, contract.BadCursor()
	}
	page, err := r.read(ctx, contract.SnapshotPage(s.Dir(), at.Page))
	// the snapshot is incomplete
	if errors.Is(err, r2.ErrNotFound) || err == nil && at.Page > 1 && page.Taken != at.Taken {
		at.Page = 0
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at.Taken = page.Taken
	if err := r.restore(ctx, r.parts(at, page), out); err != nil {
		return false, err
	}
	if at.Page++; page.Next == 0 {
		at.Page, at.Done = 0, &s.Born
	}
	return false, nil
}

// parts returns what of a page to restore now, by shard. When all shards are restored, each gets its own hosts first:
// a former place of a host might have an older state of it.
func (r *Restorer) parts(at *place, page frontier.Snapshot) map[int]frontier.Snapshot {
	all := split(page, r.Frontier.Shards)
	if at.Only {
		return all
	}
	n, _ := client.ShardNumber(at.Shard)
	own, has := all[n]
	delete(all, n)
	if at.Second {
		return all
	}
	at.Strays = at.Strays || len(all) > 0
	if !has {
		return nil
	}
	return map[int]frontier.Snapshot{n: own}
}

// noSnapshot returns the error for a shard without a snapshot.
func (r *Restorer) noSnapshot(ctx context.Context, shard string) error {
	numbers, err := r.snapshotted(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, n := range numbers {
		names = append(names, r.Frontier.Shard(n).Name())
	}
	if len(names) == 0 {
		return contract.Invalid("shard", "%s has no snapshot, and no other shard has one; shards store them daily",
			shard)
	}
	return contract.Invalid("shard", "%s has no snapshot; send one of %s", shard, strings.Join(names, ", "))
}

// move moves the next page of a shard's content that belongs to other shards.
func (r *Restorer) move(ctx context.Context, at *place, out *contract.Restored) (done bool, err error) {
	n, _ := client.ShardNumber(at.Shard)
	page, err := r.Frontier.Shard(n).Export(ctx, at.From)
	if err != nil {
		return false, err
	}
	if at.Only && at.From == 0 && n >= r.Frontier.Shards && page.Next == 0 && len(page.Hosts)+len(page.Domains) == 0 {
		return false, contract.Invalid("shard",
			"%s has nothing; send the name of a shard up to shard-%d, or of a former one that has hosts", at.Shard,
			r.Frontier.Shards-1)
	}
	parts := split(page, r.Frontier.Shards)
	delete(parts, n)
	if err := r.restore(ctx, parts, out); err != nil {
		return false, err
	}
	if at.From = page.Next; page.Next == 0 {
		return r.after(ctx, at, nil)
	}
	return false, nil
}

// after continues with the next shard.
func (r *Restorer) after(ctx context.Context, at *place, err error) (done bool, _ error) {
	if err != nil || at.Only {
		return at.Only, err
	}
	return r.next(ctx, at)
}

// next continues with the next shard, in the order of their numbers. Live shards need no snapshots.
func (r *Restorer) next(ctx context.Context, at *place) (done bool, err error) {
	numbers, err := r.snapshotted(ctx)
	if err != nil {
		return false, err
	}
	if at.Live {
		for n := range r.Frontier.Shards {
			numbers = append(numbers, n)
		}
		slices.Sort(numbers)
	}
	last := -1
	if at.Shard != "" {
		last, _ = client.ShardNumber(at.Shard)
	}
	for ; ; last = -1 {
		for _, n := range numbers {
			if n > last && at.visits(n, r.Frontier.Shards) {
				*at = place{Shard: r.Frontier.Shard(n).Name(), Live: at.Live, Strays: at.Strays, Second: at.Second}
				return false, nil
			}
		}
		if at.Live || at.Second {
			return true, nil
		}
		at.Second = true
	}
}

// visits reports whether a shard's snapshots are to be read: former shards have no hosts of their own.
func (at *place) visits(n, shards int) bool {
	return at.Live || at.Second == (n >= shards) || at.Second && at.Strays
}

// snapshotted returns the numbers of the shards that have snapshots, in ascending order.
func (r *Restorer) snapshotted(ctx context.Context) (numbers []int, err error) {
	dirs, err := r.dirs(ctx, r2.ListOptions{Prefix: contract.SnapshotRoot, Delimiter: "/"})
	for _, dir := range dirs {
		name := strings.TrimSuffix(strings.TrimPrefix(dir, contract.SnapshotRoot), "/")
		if n, ok := client.ShardNumber(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// latest returns the next snapshot of a shard to restore: the last one, or the last before the cursor's. Once a
// snapshot of a database is restored as a whole, its others are not needed. A shard that was lost and works again has
// snapshots of the lost database and of its new one.
func (r *Restorer) latest(ctx context.Context, at *place) (last contract.Snapshot, found bool, err error) {
	before, limited := at.snapshot()
	dirs, err := r.dirs(ctx, r2.ListOptions{Prefix: contract.SnapshotDir(at.Shard), Delimiter: "/"})
	for _, dir := range dirs {
		s, ok := contract.ParseSnapshot(dir)
		if !ok || limited && compareSnapshots(s, before) >= 0 || at.Done != nil && s.Born == *at.Done {
			continue
		}
		if !found || compareSnapshots(s, last) > 0 {
			last, found = s, true
		}
	}
	return last, found, err
}

func compareSnapshots(a, b contract.Snapshot) int {
	return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.Taken, b.Taken))
}

// snapshotName returns the last part of a snapshot's directory.
func snapshotName(s contract.Snapshot) string {
	return strings.TrimSuffix(strings.TrimPrefix(s.Dir(), contract.SnapshotDay(s.Shard, "")), "/")
}

// snapshot returns the snapshot that is read, or that was read last.
func (at *place) snapshot() (contract.Snapshot, bool) {
	return contract.ParseSnapshot(contract.SnapshotDay(at.Shard, at.Name) + "/")
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

func (r *Restorer) read(ctx context.Context, key string) (page frontier.Snapshot, err error) {
	const op = "reconcile.Restore"
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
		return page, &contract.Error{Kind: contract.Storage, Op: op, Message: key + " is not a page of a snapshot",
			Err: err}
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

// Import restores a page of an export, and returns the number of hosts to which something was added.
func (r *Restorer) Import(ctx context.Context, page frontier.Snapshot) (hosts int64, err error) {
	var out contract.Restored
	err = r.restore(ctx, split(page, r.Frontier.Shards), &out)
	return out.Hosts, err
}

// split divides a page of a snapshot by the shards to which its hosts and domains belong.
func split(s frontier.Snapshot, shards int) map[int]frontier.Snapshot {
	parts := map[int]frontier.Snapshot{}
	part := func(domain string) (int, frontier.Snapshot) {
		n := placement.ShardOf(domain, shards)
		p, there := parts[n]
		if !there {
			p = frontier.Snapshot{Version: s.Version, Classes: s.Classes, Patterns: s.Patterns}
		}
		return n, p
	}
	for _, h := range s.Hosts {
		if domain := client.Registrable(h.Host); domain != "" { // the list of public suffixes may be another one now
			h.Domain = domain
		}
		n, p := part(h.Domain)
		p.Hosts = append(p.Hosts, h)
		parts[n] = p
	}
	for _, d := range s.Domains {
		n, p := part(d.Domain)
		p.Domains = append(p.Domains, d)
		parts[n] = p
	}
	return parts
}
