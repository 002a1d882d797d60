package client

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// Lease returns URLs of all shards: of one chosen at random, and of the others what is missing. A shard
// that does not answer is left out; it is an error only if none does.
//
// The lease's ID names the shards' leases, and each item's ID the one of them to which it belongs.
func (r Frontier) Lease(ctx context.Context, now epoch.Millis, request frontier.LeaseRequest) (frontier.Lease, error) {
	if err := request.Validate(); err != nil {
		return frontier.Lease{}, err
	}
	l := leaseOfAll{remotes: r, now: now, request: request, wants: request.Wants(), gave: map[int]bool{},
		partly: map[int]int{},
		again:  frontier.MaxRetryAfter * time.Second}
	l.choose()
	for width := 1; l.missing() > 0 && len(l.shards) > 0 && l.parts+width <= maxParts; width = maxParallel {
		if err := l.ask(ctx, width); err != nil {
			return frontier.Lease{}, err
		}
	}
	return l.finish()
}

// maxPartly limits how often a shard looks at the next part of its queues for one lease.
const maxPartly = 3

// leaseOfAll is a lease over shards at work.
type leaseOfAll struct {
	remotes  Frontier
	now      epoch.Millis
	request  frontier.LeaseRequest
	wants    string
	shards   []int // that may have more, in the order in which they are asked
	lease    frontier.Lease
	parts    int // leases of shards in it
	hosts    int // in it
	gave     map[int]bool
	partly   map[int]int   // how often a shard gave what it had in a part of its queues
	again    time.Duration // after which a shard may have something
	answered bool          // by any shard, now or shortly before
	errs     []error
}

// choose puts the shards that are worth asking in a random order. A domain is in one of them.
func (l *leaseOfAll) choose() {
	shards := rand.Perm(l.remotes.Shards)
	if domain := cmp.Or(l.request.Domain, Registrable(l.request.Host)); domain != "" {
		shards = []int{placement.ShardOf(domain, l.remotes.Shards)}
	}
	for _, n := range shards {
		left, idle, silent := l.remotes.Idle.Left(n, l.wants, l.now)
		if !idle {
			l.shards = append(l.shards, n)
			continue
		}
		l.again = min(l.again, left)
		l.answered = l.answered || !silent
	}
}

func (l *leaseOfAll) missing() int { return l.request.Room(len(l.lease.Items), l.hosts) }

// ask asks the next shards for what is missing, each for its share. Those that gave all of it may be
// asked again.
func (l *leaseOfAll) ask(ctx context.Context, width int) error {
	hosts := l.request.MaxHosts - l.hosts
	n := min(width, len(l.shards), l.missing(), hosts)
	asked, others := l.shards[:n], l.shards[n:]
	shares, leases := make([]frontier.LeaseRequest, n), make([]frontier.Lease, n)
	for i := range shares {
		shares[i] = l.request
		shares[i].Max, shares[i].MaxHosts = (l.missing()+i)/n, (hosts+i)/n
	}
	errs := each(n, func(i int) (err error) {
		leases[i], err = l.remotes.Shard(asked[i]).Lease(ctx, shares[i])
		return err
	})
	if err := refused(errs); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil { // the scraper hung up; that says nothing of the shards
		return contract.Wrap(contract.Timeout, "frontier.Lease", err)
	}
	l.shards = append([]int(nil), others...)
	for i, shard := range asked {
		given := hostsOf(leases[i].Items)
		switch {
		case errs[i] != nil:
			l.errs = append(l.errs, errs[i])
			l.remotes.Idle.Silent(shard, l.now)
			continue
		case len(leases[i].Items) == 0 && l.gave[shard]:
			// It is empty because of this lease: once that is reported, it might have items at once.
		case len(leases[i].Items) == 0:
			again := time.Duration(max(leases[i].RetryAfter, 1)) * time.Second
			l.remotes.Idle.Empty(shard, l.wants, l.now, l.now.Add(again))
			l.again = min(l.again, again)
		case shares[i].Room(len(leases[i].Items), given) <= 0,
			leases[i].More && l.partly[shard] < maxPartly:
			l.shards = append(l.shards, shard)
			if leases[i].More {
				l.partly[shard]++
			}
		}
		l.answered = true
		l.hosts += given
		l.add(shard, &leases[i])
	}
	return nil
}

// add takes over what a shard gave.
func (l *leaseOfAll) add(shard int, part *frontier.Lease) {
	if len(part.Items) == 0 {
		return
	}
	l.parts++
	l.gave[shard] = true
	id := strconv.Itoa(shard) + "." + part.ID
	number, _, _ := strings.Cut(id, "-") // the report as a whole names the rest
	for _, item := range part.Items {
		item.ID = number + "." + item.ID
		l.lease.Items = append(l.lease.Items, item)
	}
	if l.lease.ID == "" {
		l.lease.ID, l.lease.ExpiresAt = id, part.ExpiresAt
		return
	}
	l.lease.ID += "," + id
	l.lease.ExpiresAt = min(l.lease.ExpiresAt, part.ExpiresAt)
}

// hostsOf counts the hosts of items.
func hostsOf(items []frontier.Item) int {
	hosts := map[string]bool{}
	for i := range items {
		hosts[items[i].Host] = true
	}
	return len(hosts)
}

// bestFirst orders items: what was requested, then by priority.
func bestFirst(a, b frontier.Item) int {
	if r := cmp.Compare(requested(&b), requested(&a)); r != 0 {
		return r
	}
	return cmp.Compare(b.Priority, a.Priority)
}

func requested(i *frontier.Item) int {
	if i.Reason == "requested" {
		return 1
	}
	return 0
}

func (l *leaseOfAll) finish() (frontier.Lease, error) {
	if len(l.lease.Items) > 0 {
		slices.SortStableFunc(l.lease.Items, bestFirst)
		return l.lease, nil
	}
	if !l.answered {
		return frontier.Lease{}, errSilent("frontier.Lease", l.errs...)
	}
	return frontier.Lease{ExpiresAt: l.now.Add(time.Duration(l.request.Seconds) * time.Second),
		RetryAfter: max(1, int64((l.again+time.Second-1)/time.Second))}, nil
}

// shardLease is the lease of one shard, as an item's ID names it: by the beginning of its id.
type shardLease struct {
	shard  int
	number string
}

func (r Frontier) parseShardLease(text string) (l shardLease, ok bool) {
	shard, number, ok := strings.Cut(text, ".")
	n, err := strconv.Atoi(shard)
	return shardLease{n, number}, ok && err == nil && n >= 0 && n < r.Shards && len(number) <= maxLeaseID
}

// maxParts is the number of leases of shards one lease has: it also bounds how many calls one report makes.
const maxParts = 128

// maxLeaseID is the length of a shard's lease ID: 63 bits in base 36, a hyphen, and 80 bits in base 32.
const maxLeaseID = 13 + 1 + 16

// parseItem takes an item's ID apart: the lease of its shard, and its ID there.
func (r Frontier) parseItem(id string) (l shardLease, item string, ok bool) {
	dot := strings.LastIndexByte(id, '.')
	if dot < 0 {
		return l, "", false
	}
	l, ok = r.parseShardLease(id[:dot])
	return l, id[dot+1:], ok
}

// parseLease takes a lease's ID apart: the whole IDs of the shards' leases.
func (r Frontier) parseLease(id string) map[shardLease]string {
	leases := map[shardLease]string{}
	for part := range strings.SplitSeq(id, ",") {
		name, _, _ := strings.Cut(part, "-")
		if l, ok := r.parseShardLease(name); ok && len(part) <= maxLeaseID+len("1024.") && len(leases) < maxParts {
			_, leases[l], _ = strings.Cut(part, ".")
		}
	}
	return leases
}

// RenewLease prolongs a lease with all its shards. It has the first end, and no hosts if the lease is over everywhere,
// or closed on one of them.
func (r Frontier) RenewLease(ctx context.Context, lease string, seconds int64) (renewed frontier.RenewedLease,
	err error) {
	parts := r.leaseParts(lease)
	answers := make([]frontier.RenewedLease, len(parts))
	errs := each(len(parts), func(i int) (err error) {
		answers[i], err = r.Shard(parts[i].shard).RenewLease(ctx,
			frontier.RenewLease{Lease: parts[i].lease, Seconds: seconds})
		return err
	})
	for _, a := range answers {
		if a.Closed {
			return a, leaseErrors("frontier.RenewLease", errs)
		}
		if a.Hosts > 0 && (renewed.Hosts == 0 || a.ExpiresAt < renewed.ExpiresAt) {
			renewed.ExpiresAt = a.ExpiresAt
		}
		renewed.Hosts += a.Hosts
	}
	return renewed, leaseErrors("frontier.RenewLease", errs)
}

// ReleaseLease ends a lease on all its shards, and returns the number of items that come back.
func (r Frontier) ReleaseLease(ctx context.Context, lease string) (items int, err error) {
	parts := r.leaseParts(lease)
	answers := make([]int, len(parts))
	errs := each(len(parts), func(i int) (err error) {
		answers[i], err = r.Shard(parts[i].shard).ReleaseLease(ctx, frontier.ReleaseLease{Lease: parts[i].lease})
		if err == nil {
			r.Idle.Forget(parts[i].shard)
		}
		return err
	})
	for _, n := range answers {
		items += n
	}
	return items, leaseErrors("frontier.ReleaseLease", errs)
}

// leasePart is the lease of one shard.
type leasePart struct {
	shard int
	lease string
}

func (r Frontier) leaseParts(id string) (parts []leasePart) {
	for l, lease := range r.parseLease(id) {
		parts = append(parts, leasePart{l.shard, lease})
	}
	return parts
}

// leaseErrors joins errors of shards: what the caller must correct, else that shards did not answer.
func leaseErrors(op string, errs []error) error {
	if err := refused(errs); err != nil {
		return err
	}
	if err := errors.Join(errs...); err != nil {
		return contract.Wrap(contract.Storage, op, err)
	}
	return nil
}
