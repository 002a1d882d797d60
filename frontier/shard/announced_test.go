package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// announcer is a shard whose domains may announce three pages a day.
type announcer struct {
	*world
	pages int
}

const announcedADay = 3

func newAnnouncer(t *testing.T) *announcer {
	w := newWorld(t)
	w.shard.Settings.Announcements = announcedADay
	return &announcer{world: w}
}

// announce puts new pages of a domain, and returns how many of them were announced.
func (a *announcer) announce(domain string, n int) int {
	a.Helper()
	var list []frontier.NewPage
	for range n {
		a.pages++
		list = append(list, frontier.NewPage{URL: fmt.Sprintf("https://%s/new/%d", domain, a.pages),
			LastMod: a.now.Seconds() - 60})
	}
	before := a.stats().Withheld
	a.put(domain, list)
	return n - int(a.stats().Withheld-before)
}

// domainRow returns the row of the only domain.
func (a *announcer) domainRow() (record []byte) {
	a.Helper()
	if err := a.db.Query("SELECT record FROM domains", func(r *store.Rows) { record = slices.Clone(r.Blob()) }); err !=
		nil {
		a.Fatal(err)
	}
	return record
}

// TestAnnounced_Rows: a put that announces pages does not write the row of its domain.
func TestAnnounced_Rows(t *testing.T) {
	a := newAnnouncer(t)
	a.put("a.example", articles("a.example", 0, 1))
	before := a.domainRow()
	if n := a.announce("a.example", 2); n != 2 {
		t.Fatalf("%d pages are announced", n)
	}
	if !slices.Equal(a.domainRow(), before) {
		t.Error("the row was written")
	}
	a.invariants()
}

// TestAnnounced_Released: a domain that is released later costs its row once, however many domains there were.
func TestAnnounced_Released(t *testing.T) {
	a := newAnnouncer(t)
	for i := range 600 {
		domain := fmt.Sprintf("a%d.example", i)
		a.put(domain, articles(domain, 0, 1))
		a.pages++
		page := frontier.NewPage{URL: fmt.Sprintf("https://%s/new/%d", domain, a.pages), LastMod: a.now.Seconds() - 60}
		a.do(func() error {
			_, err := a.shard.Acquire(a.now, frontier.AcquireRequest{Domain: domain, Owner: "c", Seconds: 60})
			return err
		})
		put := a.do(func() error {
			_, err := a.shard.Put(a.now, frontier.Put{Domain: domain, Partition: partition, Owner: "c",
				Pages: []frontier.NewPage{page}})
			return err
		})
		release := a.do(func() error {
			_, err := a.shard.Release(a.now, frontier.ReleaseRequest{Domain: domain, Owner: "c"})
			return err
		})
		if put > 4 || release > 1 {
			t.Fatalf("domain %d: the put wrote %d rows and the release %d", i, put, release)
		}
	}
	a.invariants()
}

// TestAnnounced_Limit: what a domain announced counts, wherever it is stored, until the day is over.
func TestAnnounced_Limit(t *testing.T) {
	owner := func(a *announcer) error {
		if _, err := a.shard.Acquire(a.now,
			frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60}); err != nil {
			return err
		}
		_, err := a.shard.Release(a.now, frontier.ReleaseRequest{Domain: "a.example", Owner: "c"})
		return err
	}
	nothing := func(*announcer) error { return nil }
	for name, between := range map[string]func(*announcer) error{
		"at once":         nothing,
		"the row written": owner,
		"the row damaged": func(a *announcer) error {
			_, err := a.db.Run("UPDATE domains SET record = X'FF'")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAnnouncer(t)
			a.put("a.example", articles("a.example", 0, 1))
			if n := a.announce("a.example", 2); n != 2 {
				t.Errorf("%d pages are announced", n)
			}
			a.do(func() error { return between(a) })
			if n := a.announce("a.example", 2); n != 1 {
				t.Errorf("after that %d pages are announced", n)
			}
			if n := a.announce("a.example", 2); n != 0 {
				t.Errorf("beyond the limit %d pages are announced", n)
			}
			if n := a.stats().Withheld; n != 3 {
				t.Errorf("%d are withheld", n)
			}
			a.now += epoch.Millis(24 * hour)
			if n := a.announce("a.example", 5); n != announcedADay {
				t.Errorf("the next day %d pages are announced", n)
			}
			a.invariants()
		})
	}
}

// TestAnnounced_Failed: an operation that fails counts nothing.
func TestAnnounced_Failed(t *testing.T) {
	a := newAnnouncer(t)
	a.put("a.example", articles("a.example", 0, 1))
	page := frontier.NewPage{URL: "https://a.example/failed", LastMod: a.now.Seconds() - 60}
	if err := a.db.Transaction(func() error {
		if _, err := a.shard.Put(a.now, frontier.Put{Domain: "a.example", Partition: partition,
			Pages: []frontier.NewPage{page}}); err != nil {
			return err
		}
		return errCrash
	}); err == nil {
		t.Fatal("it did not fail")
	}
	if n := a.announce("a.example", 5); n != announcedADay {
		t.Errorf("%d pages are announced", n)
	}
}

// TestAnnounced_Full: if more domains announce pages than are listed, the rows of the others are written.
func TestAnnounced_Full(t *testing.T) {
	const domains = 300
	a := newAnnouncer(t)
	name := func(i int) string { return fmt.Sprintf("a%d.example", i) }
	for i := range domains {
		a.put(name(i), articles(name(i), 0, 1))
	}
	small := len(a.stateRow(0))
	for i := range domains {
		a.announce(name(i), 1)
	}
	full := len(a.stateRow(0))
	if n := full - small; n < 2000 || n > 9000 {
		t.Errorf("the lists have %d bytes", n)
	}
	for i := range domains {
		if n := a.announce(name(i), 5); n != announcedADay-1 {
			t.Errorf("%s: %d pages are announced", name(i), n)
		}
	}
	a.now += epoch.Millis(24 * hour)
	if n := a.announce(name(0), 5); n != announcedADay {
		t.Errorf("the next day %d pages are announced", n)
	}
	if n := full - len(a.stateRow(0)); n < 2000 {
		t.Errorf("the next day the list is %d bytes shorter", n)
	}
	a.invariants()
}

// TestAnnounced_DamagedState: where the shard's counters are damaged, a domain may announce as many pages again.
func TestAnnounced_DamagedState(t *testing.T) {
	for _, data := range []string{"X'FF'", "substr(data, 1, length(data) - 1) || X'FF'",
		"substr(data, 1, length(data) - 1)"} {
		a := newAnnouncer(t)
		a.put("a.example", articles("a.example", 0, 1))
		a.put("b.example", articles("b.example", 0, 1))
		a.announce("a.example", 2)
		a.announce("b.example", 2)
		a.run("UPDATE state SET data = CAST(" + data + " AS BLOB) WHERE key = 0")
		if n := a.announce("a.example", 5); n < 1 || n > announcedADay {
			t.Errorf("%s: %d pages are announced", data, n)
		}
		a.announce("b.example", 5)
		a.invariants()
	}
}

// TestAnnounced_Before5: a shard of version 4 has no list.
func TestAnnounced_Before5(t *testing.T) {
	a := newAnnouncer(t)
	a.stats()
	a.run("UPDATE state SET data = ?1 WHERE key = 0", append([]byte{4, 4}, a.before5(a.stateRow(0))[2:]...))
	a.put("a.example", articles("a.example", 0, 1))
	if n := a.announce("a.example", 5); n != announcedADay {
		t.Errorf("%d pages are announced", n)
	}
	if version := a.stateRow(0)[:2]; version[0] != store.Version || version[1] != 5 {
		t.Errorf("version and reader %d", version)
	}
	a.invariants()
}
