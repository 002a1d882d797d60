package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/ledger"
)

func acquire(t T, db ledger.DB, owner string, ttl time.Duration, domains ...string) map[string]time.Duration {
	t.Helper()
	busy, err := ledger.New(db).Acquire(ctx, owner, domains, ttl)
	must(t, "Acquire", err)
	return busy
}

func names(busy map[string]time.Duration) []string {
	names := []string{}
	for name := range busy {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func leaseExcludes(t T, db ledger.DB, name string) {
	a, b, c := name+"a.example", name+"b.example", name+"c.example"
	expect(t, "busy at first", names(acquire(t, db, "one", time.Minute, a, b, a)), []string{})
	busy := acquire(t, db, "two", time.Minute, b, c)
	expect(t, "busy for another", names(busy), []string{b})
	if busy[b] > time.Minute || busy[b] < 50*time.Second {
		t.Errorf("it remains busy for %v, want about a minute", busy[b])
	}
	expect(t, "busy for the first", names(acquire(t, db, "one", time.Minute, a, b, c)), []string{c})
	expect(t, "busy for a third", names(acquire(t, db, "three", time.Minute, a, b, c)), []string{a, b, c})
}

const short = 100 * time.Millisecond

func leaseExpires(t T, db ledger.DB, name string) {
	acquire(t, db, "one", short, name)
	time.Sleep(2 * short)
	expect(t, "busy after its time", names(acquire(t, db, "two", time.Minute, name)), []string{})
	expect(t, "busy for the first", names(acquire(t, db, "one", time.Minute, name)), []string{name})
}

func leaseAgain(t T, db ledger.DB, name string) {
	acquire(t, db, "one", short, name)
	acquire(t, db, "one", time.Minute, name)
	time.Sleep(2 * short)
	expect(t, "busy", names(acquire(t, db, "two", time.Minute, name)), []string{name})
}

func release(t T, db ledger.DB, releases ...ledger.Release) {
	t.Helper()
	must(t, "Record", ledger.New(db).Record(ctx, ledger.Changes{Releases: releases}))
}

func leaseRelease(t T, db ledger.DB, name string) {
	a, b := name+"a", name+"b"
	acquire(t, db, "one", time.Minute, a)
	acquire(t, db, "two", time.Minute, b)
	release(t, db, ledger.Release{Domain: a, Owner: "one"}, ledger.Release{Domain: b, Owner: "one"}, ledger.Release{Domain: name + "none", Owner: "one"})
	expect(t, "busy", names(acquire(t, db, "three", time.Minute, a, b)), []string{b})
}

func leaseCoolDown(t T, db ledger.DB, name string) {
	a, b := name+"a", name+"b"
	acquire(t, db, "one", time.Minute, a, b)
	release(t, db, ledger.Release{Domain: a, Owner: "one", CoolDown: 3 * short}, ledger.Release{Domain: b, Owner: "one"})
	for _, owner := range []string{"two", "one"} {
		busy := acquire(t, db, owner, time.Minute, a)
		expect(t, "busy while it cools down", names(busy), []string{a})
		if busy[a] > 3*short {
			t.Errorf("it cools down for %v, want at most %v", busy[a], 3*short)
		}
	}
	time.Sleep(4 * short)
	expect(t, "busy afterwards", names(acquire(t, db, "two", time.Minute, a)), []string{})
}

func leaseRenew(t T, db ledger.DB, name string) {
	l := ledger.New(db)
	a, b, c := name+"a", name+"b", name+"c"
	acquire(t, db, "one", short, a, b)
	lost, err := l.Renew(ctx, "one", []string{a}, time.Minute)
	must(t, "Renew", err)
	expect(t, "lost", len(lost), 0)
	time.Sleep(2 * short)
	expect(t, "busy", names(acquire(t, db, "two", time.Minute, a, b)), []string{a})
	lost, err = l.Renew(ctx, "one", []string{a, b, c}, time.Minute)
	must(t, "Renew", err)
	slices.Sort(lost)
	expect(t, "lost", lost, []string{b, c})
	expect(t, "busy for the first", names(acquire(t, db, "one", time.Minute, a, b)), []string{b})

	acquire(t, db, "two", short, b)
	_, err = l.Renew(ctx, "one", []string{b}, time.Minute)
	must(t, "Renew", err)
	time.Sleep(2 * short)
	expect(t, "busy after another tried to renew", names(acquire(t, db, "three", time.Minute, b)), []string{})
}

func leaseRace(t T, db ledger.DB, name string) {
	var wg sync.WaitGroup
	busy, errs := make([]map[string]time.Duration, 5), make([]error, 5)
	for i := range busy {
		wg.Go(func() {
			busy[i], errs[i] = ledger.New(db).Acquire(ctx, fmt.Sprint("owner", i), []string{name}, time.Minute)
		})
	}
	wg.Wait()
	must(t, "Acquire", errors.Join(errs...))
	holders := 0
	for _, b := range busy {
		holders += 1 - len(b)
	}
	expect(t, "holders", holders, 1)
}
