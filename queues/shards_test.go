package queues_test

import (
	"context"
	"sync"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// shards is a frontier of one shard.
type shards struct {
	fail func(operation string) error // called before every operation
	lie  func(operation string) []byte

	mu    sync.Mutex
	db    *sqlite.DB
	calls map[string]int // by operation
}

func newShards(t *testing.T) *shards {
	t.Helper()
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &shards{db: db, calls: map[string]int{}}
}

func (s *shards) remotes() client.Frontier { return client.Frontier{Caller: s, Shards: 1} }

// Call implements client.Caller.
func (s *shards) Call(_ context.Context, _, operation string, request []byte) (answer []byte, err error) {
	if s.fail != nil {
		if err := s.fail(operation); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[operation]++
	if s.lie != nil {
		if answer := s.lie(operation); answer != nil {
			return answer, nil
		}
	}
	shard := shard.Shard{DB: s.db}
	rollBack := &contract.Error{Kind: contract.Internal}
	err = s.db.Transaction(func() error {
		a := shard.Serve(epoch.Now(), operation, request)
		answer = a.Text
		if !a.OK {
			return rollBack
		}
		return nil
	})
	if err == rollBack {
		err = nil
	}
	return answer, err
}

// acquire leases a domain to another owner, and returns whether that was granted.
func (s *shards) acquire(t *testing.T, domain string, hosts ...string) frontier.Acquired {
	t.Helper()
	a, err := s.remotes().Of(domain).Acquire(t.Context(), frontier.AcquireRequest{Domain: domain,
		Owner: "another event", Seconds: 60, Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// release releases a domain leased by acquire.
func (s *shards) release(t *testing.T, domain string, visits ...frontier.HostFindings) {
	t.Helper()
	if _, err := s.remotes().Of(domain).Release(t.Context(),
		frontier.ReleaseRequest{Domain: domain, Owner: "another event", Hosts: visits}); err != nil {
		t.Fatal(err)
	}
}
