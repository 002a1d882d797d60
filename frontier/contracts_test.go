package frontier

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// TestContractsOfTheVersionBefore: it kept the contracts of a domain in a table of their own, and may do so again after
// a rollback. What is newer counts.
func TestContractsOfTheVersionBefore(t *testing.T) {
	db, transaction := OpenTwin(t)
	s := Shard{DB: db}
	now := int64(1769601600000)
	change := func(date string, revision int) {
		t.Helper()
		now += 1000
		p := contract.Partition{Country: "kr", Category: "news", Date: date}
		err := transaction(func() error {
			return s.Changed(now, Changed{"a.example", []Change{{Partition: p, Revision: revision, ChangedAt: now, Reachable: true}}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		var got []string
		err := transaction(func() error {
			page, err := s.Changes(now, ChangesRequest{Limit: 10})
			for _, c := range page.Items {
				got = append(got, fmt.Sprint(c.Partition.Date, " ", c.Revision))
			}
			return err
		})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, %v, want %v", what, got, err, want)
		}
	}
	// before moves what a domain's row has to where the version before had it.
	before := func() {
		t.Helper()
		err := transaction(func() error {
			return s.run(now, func(c *call) error {
				m, _, err := c.findDomain("a.example")
				if err != nil {
					return err
				}
				data := []byte(m.contracts)
				m.contracts = ""
				c.changeDomain(m)
				return c.writeData("contracts", map[int64][]byte{m.id: data})
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change("2026-01-28", 1)
	change("2026-01-29", 4)
	before()
	expect("of the version before", "2026-01-28 1", "2026-01-29 4")
	change("2026-01-29", 4)
	expect("known there", "2026-01-28 1", "2026-01-29 4")
	change("2026-01-28", 2)
	expect("one is newer", "2026-01-29 4", "2026-01-28 2")
	before()
	change("2026-01-30", 1)
	expect("after a rollback", "2026-01-29 4", "2026-01-28 2", "2026-01-30 1")
}
