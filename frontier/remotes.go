package frontier

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/link"
)

// mergeFound adds up the hours of two shards.
func mergeFound(a, b []FoundHour) []FoundHour {
	for _, h := range b {
		at, known := slices.BinarySearchFunc(a, h.Hour,
			func(f FoundHour, hour epoch.Millis) int { return cmp.Compare(f.Hour, hour) })
		if !known {
			a = slices.Insert(a, at, FoundHour{Hour: h.Hour, Types: map[string]int64{}})
		}
		for name, n := range h.Types {
			a[at].Types[name] += n
		}
	}
	return a
}

// Operations on all shards. Each shard does its part in a transaction of its own. Where one does not
// answer, the others' parts are done all the same, and the answer says what was not: the caller may
// repeat everything, since nothing that was done is done twice.

// maxParallel is the number of shards one operation asks at once.
const maxParallel = 6

// each calls f for each of n parts, maxParallel at a time, and gives the error of each.
func each(n int, f func(i int) error) []error {
	errs := make([]error, n)
	slots := make(chan struct{}, maxParallel)
	var group sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[i] = f(i)
		})
	}
	group.Wait()
	return errs
}

// errSilent is given when none of the shards that an operation needs has answered.
func errSilent(op string, errs ...error) error {
	return &contract.Error{Kind: contract.Storage, Op: op, Message: "no shard of the frontier answers; try again later",
		Err: errors.Join(errs...)}
}

// refused returns the error of a shard to which the request was wrong: the same at every shard.
func refused(errs []error) error {
	for _, err := range errs {
		if err != nil && contract.KindOf(err) == contract.Validation {
			return err
		}
	}
	return nil
}

// Registrable returns the registrable domain of a host with or without a port; "" if it has none, or none that a
// contract can name.
func Registrable(host string) string {
	domain, ok := contract.RegistrableDomain(link.Hostname(host))
	if !ok || contract.CheckDomain("", domain) != nil {
		return ""
	}
	return domain
}

// ofURL returns the shard of a URL.
func (r Remotes) ofURL(url string) (Remote, error) {
	l, ok := link.Parse(url)
	if domain := Registrable(l.Host); ok && domain != "" {
		return r.Of(domain), nil
	}
	return Remote{}, contract.Invalid("url", "%.80q is not an http or https URL of a registrable domain", url)
}

// URL returns the state of one URL.
func (r Remotes) URL(ctx context.Context, url string) (URLState, error) {
	shard, err := r.ofURL(url)
	if err != nil {
		return URLState{}, err
	}
	return shard.URL(ctx, url)
}

// SetHost changes a host, and reports whether there is one.
func (r Remotes) SetHost(ctx context.Context, host string, change HostChange) (found bool, err error) {
	shard, err := r.ofHost(host)
	if err != nil {
		return false, err
	}
	return shard.SetHost(ctx, host, change)
}

// Host describes a host; its name is "" if there is none.
func (r Remotes) Host(ctx context.Context, host string) (d HostDetail, err error) {
	shard, err := r.ofHost(host)
	if err != nil {
		return d, err
	}
	return shard.Host(ctx, host)
}

// ofHost returns the shard of a host.
func (r Remotes) ofHost(host string) (shard Remote, err error) {
	domain := ""
	if link.ValidHost(host) {
		domain = Registrable(host)
	}
	if domain == "" {
		return shard,
			contract.Invalid("host",
				"%.80q is not a host of a registrable domain; send its name in lower-case A-labels", host)
	}
	return r.Of(domain), nil
}

// OrderSnapshots makes all shards store a snapshot soon. It returns the names of those that do, and of those that
// do not answer. It is an error only if none answers.
func (r Remotes) OrderSnapshots(ctx context.Context) (ordered, silent []string, err error) {
	orders := make([]bool, r.Shards)
	errs := each(r.Shards, func(n int) (err error) {
		orders[n], err = r.Shard(n).OrderSnapshot(ctx)
		return err
	})
	if !slices.Contains(errs, nil) {
		return nil, nil, errSilent("frontier.OrderSnapshots", errs...)
	}
	for n, err := range errs {
		switch {
		case err != nil:
			silent = append(silent, shardName(n))
		case orders[n]:
			ordered = append(ordered, shardName(n))
		}
	}
	return ordered, silent, nil
}

// Exclude rules something out, or allows it again: a domain or host at its shard, URLs by a pattern
// at all of them. It may be repeated when a shard did not answer.
func (r Remotes) Exclude(ctx context.Context, x Exclusion, excluded bool) error {
	value, err := contract.CheckExclusion(x.Kind, x.Value)
	if err != nil {
		return err
	}
	switch x.Kind {
	case contract.ExcludeDomain:
		return r.Of(value).Exclude(ctx, x, excluded)
	case contract.ExcludeHost:
		if x.Domain = cmp.Or(x.Domain, Registrable(value)); x.Domain == "" {
			return contract.Invalid("value", "%.80q has no registrable domain", value)
		}
		return r.Of(x.Domain).Exclude(ctx, x, excluded)
	}
	return errors.Join(each(r.Shards, func(n int) error { return r.Shard(n).Exclude(ctx, x, excluded) })...)
}

// Mirror reports which registrable domain showed a digest first, "" when it is the one that asks; see
// Shard.Mirror. The digests lie with the shards like domains.
func (r Remotes) Mirror(ctx context.Context, m MirrorRequest) (of string, err error) {
	answer, err := r.Of(m.Digest).Mirror(ctx, m)
	return answer.Of, err
}

// AllStats counts what all shards have.
type AllStats struct {
	Total  Stats // of the shards that answered
	Shards []ShardStats
}

// ShardStats counts what one shard has.
type ShardStats struct {
	Name     string
	Answered bool // otherwise the numbers are missing
	Stats
}

// Stats counts what all shards have, the empty ones included. It is an error only if none answers.
func (r Remotes) Stats(ctx context.Context) (AllStats, error) {
	all := AllStats{Shards: make([]ShardStats, r.Shards)}
	answered := 0
	errs := each(r.Shards, func(n int) (err error) {
		s := &all.Shards[n]
		s.Name = shardName(n)
		s.Stats, err = r.Shard(n).Stats(ctx)
		s.Answered = err == nil
		return err
	})
	for i := range all.Shards {
		if all.Shards[i].Answered {
			answered++
			all.Total.add(&all.Shards[i].Stats)
		}
	}
	if answered == 0 {
		return all, errSilent("frontier.Stats", errs...)
	}
	return all, nil
}

func (s *Stats) add(other *Stats) {
	s.Hosts += other.Hosts
	s.URLs += other.URLs
	s.Entries += other.Entries
	s.Leased += other.Leased
	s.Refreshed += other.Refreshed
	s.Found = mergeFound(s.Found, other.Found)
	s.Done += other.Done
	s.Failed += other.Failed
	s.Answers += other.Answers
	s.Faults += other.Faults
	s.Bytes += other.Bytes
	s.Quarantined, s.Withheld = s.Quarantined+other.Quarantined, s.Withheld+other.Withheld
	s.Scheduled, s.Revisited = s.Scheduled+other.Scheduled, s.Revisited+other.Revisited
	s.Threshold = max(s.Threshold, other.Threshold)
	for lane := range Lanes {
		s.Due[lane] += other.Due[lane]
		if at := other.OldestDue[lane]; at > 0 && (s.OldestDue[lane] == 0 || at < s.OldestDue[lane]) {
			s.OldestDue[lane] = at
		}
	}
}
