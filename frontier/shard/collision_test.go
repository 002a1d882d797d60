package shard

import (
	"errors"
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// OpenTwin is set by package frontier_test, since the twin imports frontier.
var OpenTwin func(testing.TB) (store.DB, func(func() error) error)

// TestCollisions returns all names one of three ids.
func TestCollisions(t *testing.T) {
	db, transaction := OpenTwin(t)
	s := &Shard{DB: db, hash: func(name string) uint64 { return (1<<40 - 1 - placement.Hash64(name)%3) << 24 }}
	partition := contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}
	put := func(i int) (added int) {
		if err := transaction(func() error {
			a, err := s.Put(1e12, frontier.Put{Domain: fmt.Sprintf("d%d.example", i), Partition: partition,
				Pages: []frontier.NewPage{{URL: fmt.Sprintf("https://d%d.example/1", i)},
					{URL: fmt.Sprintf("https://www.d%d.example/2", i)}}})
			added = a.Added
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return added
	}
	for i := range 6 {
		if n := put(i); n != 2 {
			t.Errorf("%d pages of domain %d were added", n, i)
		}
	}
	for i := range 6 {
		if n := put(i); n != 0 {
			t.Errorf("%d pages of domain %d were added again", n, i)
		}
	}
	var lease frontier.Lease
	if err := transaction(func() (err error) {
		lease, err = s.Lease(1e12, frontier.LeaseRequest{Max: 100, Seconds: 60})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	hosts := map[string]bool{}
	for _, item := range lease.Items {
		hosts[item.Host] = true
	}
	if len(hosts) != 12 {
		t.Errorf("%d of 12 hosts were leased", len(hosts))
	}
	for _, err := range store.Audit(db, transaction) {
		t.Error(err)
	}
	// What collides too often fails, and takes nothing from anybody.
	err := transaction(func() error {
		for i := 6; i < 60; i++ {
			if _, err := s.Put(1e12, frontier.Put{Domain: fmt.Sprintf("d%d.example", i), Partition: partition,
				Pages: []frontier.NewPage{{URL: fmt.Sprintf("https://d%d.example/1", i)}}}); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, store.ErrCollisions) {
		t.Errorf("got %v, want %v", err, store.ErrCollisions)
	}
}

// TestVersion_NewerShard: a program works on with what the next version wrote, unless that says it cannot.
func TestVersion_NewerShard(t *testing.T) {
	db, transaction := OpenTwin(t)
	s := &Shard{DB: db}
	do := func(f func(*call) error) error {
		return transaction(func() error { return s.run(1e12, f) })
	}
	set := func(reader int64) error {
		return do(func(c *call) error {
			c.tx.State().Version, c.tx.State().Reader, c.tx.State().Tail = store.Version+1, reader,
				"a counter of the next version"
			return nil
		})
	}
	if err := set(store.Version); err != nil {
		t.Fatal(err)
	}
	if err := do(func(c *call) error { c.tx.State().Hosts++; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := do(func(c *call) error {
		if c.tx.State().Version != store.Version+1 || c.tx.State().Tail != "a counter of the next version" {
			t.Errorf("the next version's state became %+v", c.tx.State())
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := set(store.Version + 1); err != nil {
		t.Fatal(err)
	}
	if err := do(func(*call) error { return nil }); !errors.Is(err, frontier.ErrNewer) {
		t.Errorf("got %v, want %v", err, frontier.ErrNewer)
	}
}
