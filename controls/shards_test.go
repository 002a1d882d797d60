package controls_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/controls"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/r2"
)

// obedient is a frontier that notes what it was told last of each exclusion, when it answers.
type obedient struct {
	mu    sync.Mutex
	last  map[string]bool
	calls int
	fail  func(value string) error
}

func (o *obedient) Exclude(_ context.Context, x frontier.Exclusion, excluded bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	if o.fail != nil {
		if err := o.fail(x.Value); err != nil {
			return err
		}
	}
	o.last[x.Kind+" "+x.Value] = excluded
	return nil
}

type shardsFixture struct {
	*controls.Shards
	frontier *obedient
}

func newShards() *shardsFixture {
	sleep := func(ctx context.Context, d time.Duration) error { time.Sleep(d); return ctx.Err() }
	f := &shardsFixture{frontier: &obedient{last: map[string]bool{}}}
	f.Shards = &controls.Shards{
		Store: &controls.Store{Bucket: r2.NewMemory(), Sleep: sleep}, Frontier: f.frontier,
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	}
	return f
}

// change excludes a domain, or no longer, as the API does.
func (f *shardsFixture) change(t *testing.T, domain string, excluded bool) {
	t.Helper()
	_, err := f.Store.Change(t.Context(), func(c *contract.Controls) error {
		c.Exclusions = slices.DeleteFunc(c.Exclusions, func(x contract.Exclusion) bool { return x.Value == domain })
		if excluded {
			c.Exclusions = append(c.Exclusions, contract.Exclusion{Kind: contract.ExcludeDomain, Value: domain})
		}
		c.Note(contract.ExcludeDomain, domain, time.Now())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *shardsFixture) unconfirmed(t *testing.T) int {
	t.Helper()
	c, _, err := f.Store.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(c.Unconfirmed)
}

func (f *shardsFixture) run(t *testing.T) {
	t.Helper()
	time.Sleep(time.Minute)
	if err := f.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestShards_AtOnce: and the cron confirms it once, then has nothing to do.
func TestShards_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShards()
		f.change(t, "out.sg", true)
		f.Apply(t.Context(), "domain", "out.sg")
		if !f.frontier.last["domain out.sg"] {
			t.Error("the frontier was not told")
		}
		if err := f.Run(t.Context()); err != nil || f.unconfirmed(t) != 1 || f.frontier.calls != 1 {
			t.Errorf("the request may be under way still: %v, %d calls", err, f.frontier.calls)
		}
		for range 3 {
			f.run(t)
		}
		if f.unconfirmed(t) != 0 || f.frontier.calls != 2 {
			t.Errorf("%d unconfirmed, %d calls", f.unconfirmed(t), f.frontier.calls)
		}
	})
}

// TestShards_Later: what a frozen shard missed is repeated, beside what others obey at once.
func TestShards_Later(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShards()
		frozen := errors.New("no answer")
		f.frontier.fail = func(value string) error {
			if value == "frozen.sg" {
				return frozen
			}
			return nil
		}
		for _, domain := range []string{"a.sg", "frozen.sg", "z.sg"} {
			f.change(t, domain, true)
			f.Apply(t.Context(), "domain", domain)
			time.Sleep(time.Second)
		}
		f.run(t)
		if f.unconfirmed(t) != 1 || f.frontier.last["domain frozen.sg"] {
			t.Errorf("%d unconfirmed", f.unconfirmed(t))
		}
		f.frontier.fail = nil
		f.run(t)
		if f.unconfirmed(t) != 0 || !f.frontier.last["domain frozen.sg"] {
			t.Errorf("%d unconfirmed", f.unconfirmed(t))
		}
	})
}

// TestShards_LastChangeWins: a call that comes late, after one for a later change, is put right.
func TestShards_LastChangeWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShards()
		f.change(t, "out.sg", true)
		time.Sleep(2 * time.Second)
		f.change(t, "out.sg", false)
		f.Apply(t.Context(), "domain", "out.sg")
		// of the first request
		if err := f.frontier.Exclude(t.Context(), frontier.Exclusion{Kind: "domain", Value: "out.sg"},
			true); err != nil {
			t.Fatal(err)
		}
		f.run(t)
		if f.frontier.last["domain out.sg"] || f.unconfirmed(t) != 0 {
			t.Errorf("excluded %v, %d unconfirmed", f.frontier.last["domain out.sg"], f.unconfirmed(t))
		}
	})
}

// TestShards_Refuse: what shards will never take is not repeated for ever.
func TestShards_Refuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShards()
		f.frontier.fail = func(string) error { return contract.Invalid("value", "there are too many") }
		f.change(t, "out.sg", true)
		f.run(t)
		if f.unconfirmed(t) != 0 {
			t.Error("it is repeated")
		}
	})
}
