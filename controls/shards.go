package controls

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

// Shards has the frontier obey exclusions. What changes is noted with the exclusions themselves, so that
// nothing is forgotten: a shard that does not answer at the time is asked again by the cron. Until it
// obeys, what it gives out is to be filtered by the exclusions, as the API does.
type Shards struct {
	Store    *Store
	Frontier Frontier
	// Documents are the contracts of domains; nil for none.
	Documents Documents
	Log       *slog.Logger
	Now       func() time.Time
}

// Frontier is frontier.Remotes.
type Frontier interface {
	Exclude(ctx context.Context, x frontier.Exclusion, excluded bool) error
}

// Documents brings the contract of a domain in line with the exclusions, after one was made or, with lifted, taken
// back. It may be called again.
type Documents interface {
	Review(ctx context.Context, domain string, lifted bool) error
}

const (
	// settled is how old a change is before the cron confirms it: no call of the request that made the change
	// is under way any more, which might undo a later one.
	settled = 30 * time.Second
	// runTime is how long a run goes on to the next change.
	runTime = 20 * time.Second
)

// Apply has the shards obey a change at once, as far as they answer.
func (s *Shards) Apply(ctx context.Context, kind, value string) {
	c, _, err := s.Store.Read(ctx)
	if err == nil {
		err = s.apply(ctx, &c, kind, value)
	}
	s.failed(kind, value, err)
}

// Run confirms the changes that are settled: those which all shards obey are no longer noted.
func (s *Shards) Run(ctx context.Context) error {
	began := s.Now()
	c, _, err := s.Store.Read(ctx)
	if err != nil || len(c.Unconfirmed) == 0 {
		return err
	}
	changes := slices.Clone(c.Unconfirmed)
	rand.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] }) // none waits behind a frozen shard for ever
	var done []contract.ExclusionChange
	for _, x := range changes {
		if began.Sub(x.At.Time) < settled {
			continue
		}
		err := s.apply(ctx, &c, x.Kind, x.Value)
		s.failed(x.Kind, x.Value, err)
		if err == nil || contract.KindOf(err) == contract.Validation { // which another call would not change
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

// domainOf is the registrable domain that an exclusion is about, "" for a pattern of several.
func domainOf(kind, value string) string {
	if kind == contract.ExcludeURL {
		_, value, _ = strings.Cut(value, "://")
		value, _, _ = strings.Cut(value, "/")
		value = strings.TrimPrefix(value, "*.")
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(value)
	if err != nil || strings.Contains(domain, "*") {
		return ""
	}
	return domain
}

func (s *Shards) failed(kind, value string, err error) {
	if err != nil {
		s.Log.Error("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(), "exclusion", kind+" "+value)
	}
}
