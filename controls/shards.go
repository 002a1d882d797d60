package controls

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

// Shards makes the frontier obey exclusions. Pending changes are stored with the exclusions, and the cron repeats
// them for shards that do not answer. Until then, whatever those shards return has to be filtered, as the API does.
type Shards struct {
	Store    *Store
	Frontier Frontier
	// Documents updates the contracts of domains; nil for none.
	Documents Documents
	Log       *slog.Logger
	Now       func() time.Time
}

// Frontier is client.Frontier.
type Frontier interface {
	Exclude(ctx context.Context, x frontier.Exclusion, excluded bool) error
}

// Documents updates the contract of a domain after an exclusion was added or, with lifted, removed. It may be called
// again.
type Documents interface {
	Review(ctx context.Context, domain string, lifted bool) error
}

const (
	// settled is the age at which the cron confirms a change. By then no call of the request that made the change is
	// pending, which might undo a later change.
	settled = 30 * time.Second
	// runTime is the time after which a run starts no further change.
	runTime = 20 * time.Second
)

// Apply sends a change to the shards. Those that do not answer get it by Run.
func (s *Shards) Apply(ctx context.Context, kind, value string) {
	c, _, err := s.Store.Read(ctx)
	if err == nil {
		err = s.apply(ctx, &c, kind, value)
	}
	s.failed(kind, value, err)
}

// Run sends the settled changes again, and forgets those that all shards have accepted.
func (s *Shards) Run(ctx context.Context) error {
	began := s.Now()
	c, _, err := s.Store.Read(ctx)
	if err != nil || len(c.Unconfirmed) == 0 {
		return err
	}
	changes := slices.Clone(c.Unconfirmed)
	// so that none waits behind a frozen shard forever
	rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	var done []contract.ExclusionChange
	for _, x := range changes {
		if began.Sub(x.At.Time) < settled {
			continue
		}
		err := s.apply(ctx, &c, x.Kind, x.Value)
		s.failed(x.Kind, x.Value, err)
		if err == nil || contract.KindOf(err) == contract.Validation { // another call would fail, too
			done = append(done, x)
		}
		if s.Now().Sub(began) > runTime {
			break
		}
	}
	if len(done) == 0 {
		return nil
	}
	_, err = s.Store.Change(ctx, func(c *contract.Controls) error {
		c.Unconfirmed = slices.DeleteFunc(slices.Clone(c.Unconfirmed), func(x contract.ExclusionChange) bool {
			return slices.ContainsFunc(done, func(y contract.ExclusionChange) bool {
				return x.Kind == y.Kind && x.Value == y.Value && x.At.Equal(y.At.Time)
			})
		})
		return nil
	})
	return err
}

func (s *Shards) apply(ctx context.Context, c *contract.Controls, kind, value string) error {
	excluded := c.Excludes(kind, value)
	if err := s.Frontier.Exclude(ctx, frontier.Exclusion{Kind: kind, Value: value}, excluded); err != nil {
		return err
	}
	if domain := domainOf(kind, value); domain != "" && s.Documents != nil {
		return s.Documents.Review(ctx, domain, !excluded)
	}
	return nil
}

// domainOf returns the registrable domain of an exclusion, or "" for a pattern of several.
func domainOf(kind, value string) string {
	if kind == contract.ExcludeURL {
		_, value, _ = strings.Cut(value, "://")
		value, _, _ = strings.Cut(value, "/")
		value = strings.TrimPrefix(value, "*.")
	}
	domain, ok := contract.RegistrableDomain(value)
	if !ok || strings.Contains(domain, "*") {
		return ""
	}
	return domain
}

func (s *Shards) failed(kind, value string, err error) {
	if err != nil {
		s.Log.Error("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(),
			"exclusion", kind+" "+value)
	}
}
