// Package client sends the frontier's operations to its shards: Shard to one of them, Frontier to all of them. A
// put goes to the shards of its domains, a lease to as many shards as it takes.
//
// Each shard does its part of an operation in a transaction of its own. If one does not answer, the others' parts are
// done all the same, and the answer says which part was not. The caller may repeat the whole operation: no shard does
// its part twice.
package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/idle"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// Caller sends an operation to the shard with a name. The shard runs it in one transaction; see shard.Shard.Serve. An
// error means that there was no answer. The operation might have been done all the same.
type Caller interface {
	Call(ctx context.Context, shard, operation string, request []byte) (answer []byte, err error)
}

// CallTimeout is the time that a Caller waits for an answer. A shard answers in milliseconds, or in a tenth of a second
// if it has to start.
const CallTimeout = 5 * time.Second

// Frontier is the client of all shards.
type Frontier struct {
	Caller Caller
	Shards int          // see placement.ShardOf
	Idle   *idle.Shards // shards that had nothing to lease; nil remembers none
}

// Of returns the shard of a registrable domain.
func (r Frontier) Of(domain string) Shard { return r.Shard(placement.ShardOf(domain, r.Shards)) }

// Shard returns a shard by its number, from 0.
func (r Frontier) Shard(n int) Shard { return Shard{r.Caller, shardName(n)} }

// ShardNumber returns the number of the shard with a name.
func ShardNumber(name string) (n int, ok bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "shard-"))
	return n, err == nil && n >= 0 && name == shardName(n)
}

// shardName returns the name of a shard. The platform finds its database by it, so it never changes.
func shardName(n int) string { return "shard-" + strconv.Itoa(n) }

// maxParallel is the number of shards that one operation calls at once.
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
func (r Frontier) ofURL(url string) (Shard, error) {
	l, ok := link.Parse(url)
	if domain := Registrable(l.Host); ok && domain != "" {
		return r.Of(domain), nil
	}
	return Shard{}, contract.Invalid("url", "%.80q is not an http or https URL of a registrable domain", url)
}

// URL returns the state of one URL.
func (r Frontier) URL(ctx context.Context, url string) (frontier.URLState, error) {
	shard, err := r.ofURL(url)
	if err != nil {
		return frontier.URLState{}, err
	}
	return shard.URL(ctx, url)
}

// SetHost changes a host, and reports whether there is one.
func (r Frontier) SetHost(ctx context.Context, host string, change frontier.HostChange) (found bool, err error) {
	shard, err := r.ofHost(host)
	if err != nil {
		return false, err
	}
	return shard.SetHost(ctx, host, change)
}

// Host describes a host. The name of an unknown host is "".
func (r Frontier) Host(ctx context.Context, host string) (d frontier.HostDetail, err error) {
	shard, err := r.ofHost(host)
	if err != nil {
		return d, err
	}
	return shard.Host(ctx, host)
}

// ofHost returns the shard of a host.
func (r Frontier) ofHost(host string) (shard Shard, err error) {
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

// OrderSnapshots makes all shards store a snapshot soon. It returns the names of the shards that will, and of the
// silent ones. It fails only if no shard answers.
func (r Frontier) OrderSnapshots(ctx context.Context) (ordered, silent []string, err error) {
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
func (r Frontier) Exclude(ctx context.Context, x frontier.Exclusion, excluded bool) error {
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
func (r Frontier) Mirror(ctx context.Context, m frontier.MirrorRequest) (of string, err error) {
	answer, err := r.Of(m.Digest).Mirror(ctx, m)
	return answer.Of, err
}
