package frontier

import (
	"errors"
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// OpenTwin is set by package frontier_test, since the twin imports frontier.
var OpenTwin func(testing.TB) (DB, func(func() error) error)

// TestCollisions gives all names one of three ids.
func TestCollisions(t *testing.T) {
	db, transaction := OpenTwin(t)
	s := &Shard{DB: db, hash: func(name string) uint64 { return (1<<40 - 1 - hash64(name)%3) << 24 }}
	partition := contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}
	put := func(i int) (added int) {
		if err := transaction(func() error {
			a, err := s.Put(1e12, Put{Domain: fmt.Sprintf("d%d.example", i), Partition: partition, Pages: []NewPage{{URL: fmt.Sprintf("https://d%d.example/1", i)}, {URL: fmt.Sprintf("https://www.d%d.example/2", i)}}})
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
	var lease Lease
	if err := transaction(func() (err error) {
		lease, err = s.Lease(1e12, LeaseRequest{Max: 100, Seconds: 60})
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
	for _, err := range Audit(db, transaction) {
		t.Error(err)
	}
	// What collides too often fails, and takes nothing from anybody.
	err := transaction(func() error {
		for i := 6; i < 60; i++ {
			if _, err := s.Put(1e12, Put{Domain: fmt.Sprintf("d%d.example", i), Partition: partition, Pages: []NewPage{{URL: fmt.Sprintf("https://d%d.example/1", i)}}}); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, errCollisions) {
		t.Errorf("got %v, want %v", err, errCollisions)
	}
}

// TestVersions: a program works on with what the next version wrote, unless that says it cannot.
func TestVersions(t *testing.T) {
	db, transaction := OpenTwin(t)
	s := &Shard{DB: db}
	do := func(f func(*call) error) error {
		return transaction(func() error { return s.run(1e12, f) })
	}
	set := func(reader int64) error {
		return do(func(c *call) error {
			c.state.version, c.state.reader, c.state.tail = version+1, reader, "a counter of the next version"
			return nil
		})
	}
	if err := set(version); err != nil {
		t.Fatal(err)
	}
	if err := do(func(c *call) error { c.state.hosts++; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := do(func(c *call) error {
		if c.state.version != version+1 || c.state.tail != "a counter of the next version" {
			t.Errorf("the next version's state became %+v", c.state)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := set(version + 1); err != nil {
		t.Fatal(err)
	}
	if err := do(func(*call) error { return nil }); !errors.Is(err, ErrNewer) {
		t.Errorf("got %v, want %v", err, ErrNewer)
	}
}
