package enginetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
)

// pages puts one page for each domain, and returns the last error.
func pages(t *testing.T, r client.Frontier, domains ...string) (err error) {
	for _, domain := range domains {
		_, e := r.Of(domain).Put(t.Context(), frontier.Put{
			Domain: domain, Partition: contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"},
			Pages: []frontier.NewPage{{URL: "https://" + domain + "/a", Priority: 0.5}},
		})
		err = errors.Join(err, e)
	}
	return err
}

func urls(t *testing.T, r client.Frontier, domain string) int64 {
	t.Helper()
	s, err := r.Of(domain).Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.URLs
}

// A frozen shard fails its own callers only.
func TestShard_FrozenIsATimeout(t *testing.T) {
	Run(t, func(t *testing.T, w *World) {
		r := w.Frontier.Remotes() // newsfork.com is on shard-10
		w.Frontier.Freeze("shard-10")
		start := time.Now()
		err := pages(t, r, "newsfork.com")
		if contract.KindOf(err) != contract.Timeout || time.Since(start) != client.CallTimeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if err := pages(t, r, "a.example"); err != nil {
			t.Error(err)
		}
		w.Frontier.Thaw("shard-10")
		if urls(t, r, "newsfork.com") != 0 || urls(t, r, "a.example") != 1 || w.Frontier.Written() == 0 {
			t.Error("a put to the frozen shard had an effect, or a put to another had none")
		}
	})
}

// A failed call has no effect; a call whose response is lost has one.
func TestShard_Faults(t *testing.T) {
	Run(t, func(t *testing.T, w *World) {
		r := w.Frontier.Remotes()
		broken := errors.New("broken")
		w.Frontier.Fail = func(_, operation string) error {
			if operation == "put" {
				return broken
			}
			return nil
		}
		if err := pages(t, r, "a.example"); contract.KindOf(err) != contract.Storage || !errors.Is(err, broken) ||
			urls(t, r, "a.example") != 0 {
			t.Error(err)
		}
		w.Frontier.Fail = nil
		w.Frontier.Lose = func(_, operation string) bool { return operation == "put" }
		if err := pages(t, r, "a.example"); contract.KindOf(err) != contract.Timeout || urls(t, r, "a.example") != 1 {
			t.Error(err)
		}
	})
}

// Calls of shards count as calls to the platform. An event can die with one, and the call then has no effect.
func TestShard_CallsAreCounted(t *testing.T) {
	Run(t, func(t *testing.T, w *World) {
		w.Kill = func(nth int) bool { return nth == 2 }
		died := w.event(t.Context(), func(_ context.Context, i *instance) {
			r := client.Frontier{Caller: caller{w.Frontier, &i.life}, Shards: 16}
			if err := pages(t, r, "a.example"); err != nil {
				t.Error(err)
			}
			if err := pages(t, r, "b.example", "c.example"); contract.KindOf(err) != contract.Storage {
				t.Error(err)
			}
		})
		r := w.Frontier.Remotes()
		if !died || w.Calls() != 2 || urls(t, r, "a.example") != 1 || urls(t, r, "b.example") != 0 ||
			urls(t, r, "c.example") != 0 {
			t.Errorf("died: %t, %d calls", died, w.Calls())
		}
	})
}
