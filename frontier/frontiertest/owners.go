package frontiertest

import (
	"fmt"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// What collectors, refreshes and scrapers owe to one another, and operators may change.

// lostOwners: an owner that died may have asked its hosts until its time was over, so that the next one keeps their
// delay from then on, also that of a host about which it asks later.
func lostOwners(t T, db DB) {
	s := newFeed(t, db)
	s.put("a.example", pages("www.a.example", 5, 0.5)...)
	s.wait(7200_000)
	lost := s.now + 60_000
	s.acquire("a.example", "dead", 60)
	s.wait(60_000)
	a := s.acquire("a.example", "next", 60, "a.example")
	expect(t, "the next collector", a.Hosts[0].ReadyAt, lost+1000)
	a = s.acquire("a.example", "next", 60, "www.a.example")
	expect(t, "about another host", a.Hosts[0].ReadyAt, lost+1000)
	s.release("a.example", "next")
	expect(t, "a scraper after it", len(s.lease(1).Items), 0)
	expect(t, "a refresh after it", s.begin(feedURL, "one").Host.ReadyAt, lost+1000)
	s.wait(240_000)
	lost = s.now
	expect(t, "the refresh after a refresh that was lost", s.begin(feedURL, "two").Host.ReadyAt, lost+1000)
	s.end(frontier.RefreshResult{URL: feedURL, Owner: "two", Skipped: true})
	a = s.acquire("a.example", "last", 60, "a.example")
	expect(t, "a collector after both", a.Hosts[0].ReadyAt, lost+1000)
	s.release("a.example", "last")
	s.wait(1000)
	expect(t, "a scraper in the end", len(s.lease(1).Items), 1)
}

// refreshOfLargeDomain: a refresh keeps its host when its domain gets so many hosts meanwhile that only those in
// use are listed, and leaves the others to scrapers.
func refreshOfLargeDomain(t T, db DB) {
	s := newFeed(t, db)
	s.wait(7200_000)
	expect(t, "granted", s.begin(feedURL, "one").Granted, true)
	for i := range 9 {
		s.put("a.example", pages(fmt.Sprintf("h%d.a.example", i), 2, 0.5)...)
	}
	busy := func() (a frontier.Acquired) {
		s.do(func() (err error) {
			a, err = s.s.Acquire(ctx, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60, Try: true})
			return err
		})
		return a
	}
	expect(t, "a collector", busy(), frontier.Acquired{RetryIn: 10_000}) // though the refresh has it for four minutes
	l := s.lease(9)
	expect(t, "hosts for scrapers beside it", len(l.Items), 3)
	s.settle(l, 200)
	expect(t, "its end", s.end(frontier.RefreshResult{URL: feedURL, Owner: "one", Skipped: true}).Accepted, true)
	s.wait(1000)
	l = s.lease(9)
	expect(t, "hosts for scrapers after it", len(l.Items), 4)
	s.settle(l, 200)
	expect(t, "a collector after it", busy().Granted, true)
	s.release("a.example", "c")

	expect(t, "again, and lost", s.begin(feedURL, "two").Granted, true)
	s.wait(1000)
	s.lease(9)
	s.wait(240_000)
	s.lease(9) // lets in what was parked
	s.wait(1000)
	expect(t, "hosts for scrapers after one that was lost", len(s.lease(9).Items)+int(s.stats().Leased) >= 4, true)
}

// waitingCollector: a refresh that gets its host does not let scrapers in before a collector that waits.
func waitingCollector(t T, db DB) {
	s := newFeed(t, db)
	s.put("a.example", pages("www.a.example", 5, 0.5)...)
	s.wait(7200_000)
	l := s.lease(1)
	expect(t, "busy", s.acquire("a.example", "c", 60).Granted, false)
	expect(t, "a refresh of another host", s.begin(feedURL, "one").Granted, true)
	s.settle(l, 200)
	s.end(frontier.RefreshResult{URL: feedURL, Owner: "one", Skipped: true})
	s.wait(1000)
	expect(t, "scrapers", len(s.lease(1).Items), 0)
	expect(t, "the collector", s.acquire("a.example", "c", 60).Granted, true)
	s.release("a.example", "c")
	s.wait(1000)
	expect(t, "scrapers after it", len(s.lease(1).Items), 1)
}

// refreshAfterScraper: the lease of a scraper that never reports ends for refreshes too, while nobody leases anything.
func refreshAfterScraper(t T, db DB) {
	s := newFeed(t, db)
	s.put("a.example", pages("a.example", 1, 0.5)...)
	s.wait(7200_000)
	expect(t, "leased", len(s.lease(1).Items), 1)
	expect(t, "a refresh meanwhile", s.begin(feedURL, "one").RetryIn, int64(60_000))
	s.wait(60_000)
	r := s.begin(feedURL, "one")
	expect(t, "a refresh when it is over", []any{r.Granted, r.Host.ReadyAt}, []any{true, s.now + 1000})
	s.wait(240_000)
	s.request(frontier.LeaseRequest{Max: 1, Seconds: 10})
	s.wait(2000)
	s.request(frontier.LeaseRequest{Max: 1, Seconds: 10})
	s.wait(10_000)
	s.tick()
	expect(t, "leased after a tick", s.stats().Leased, int64(0))
}

// throttled: a host that answers 503 for ever with a short Retry-After slows down like one that names none, and
// recovers as slowly.
func throttled(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 50, 0.5)...)
	for _, want := range []int64{2000, 4000, 8000} {
		s.wait(20_000)
		l := s.lease(1)
		s.report(l, frontier.Result{ID: l.Items[0].ID, Status: 503, RetryAfter: 1})
		s.wait(want - 1)
		expect(t, "too early", len(s.lease(1).Items), 0)
	}
	a := s.acquire("a.example", "c", 60, "a.example")
	expect(t, "for a collector", a.Hosts[0].Delay, int64(8000))
	s.release("a.example", "c", frontier.HostFindings{Host: "a.example", AskedAt: s.now, RetryAfter: 1})
	a = s.acquire("a.example", "c", 60, "a.example")
	expect(t, "after a collector met it", []int64{a.Hosts[0].Delay, int64(a.Hosts[0].ReadyAt - s.now)},
		[]int64{16_000, 16_000})
	s.release("a.example", "c")
	s.wait(16_000)
	for range 8 {
		s.wait(20_000)
		s.settle(s.lease(1), 200)
	}
	expect(t, "after eight answers", s.acquire("a.example", "c", 60, "a.example").Hosts[0].Delay, int64(8000))
}

// operatorsOverrule: what an operator decides about the pace of a host holds at once, whatever its answers had led to.
func operatorsOverrule(t T, db DB) {
	s := newShard(t, db)
	set := func(change frontier.HostChange) {
		s.do(func() error {
			found, err := s.s.SetHost(ctx, "a.example", change)
			expect(t, "found", found, true)
			return err
		})
	}
	state := func() frontier.HostState {
		defer s.release("a.example", "c")
		return s.acquire("a.example", "c", 60, "a.example").Hosts[0]
	}
	number := func(n int64) *int64 { return &n }
	s.put("a.example", pages("a.example", 50, 0.5)...)

	settle := func(r frontier.Result) {
		t.Helper()
		l := s.lease(1)
		if len(l.Items) != 1 {
			t.Fatalf("%d items", len(l.Items))
		}
		r.ID = l.Items[0].ID
		s.report(l, r)
	}
	settle(frontier.Result{Status: 200})
	set(frontier.HostChange{Delay: number(3600_000)})
	expect(t, "a delay that is set after a request", state().ReadyAt, s.now+3600_000)
	s.wait(1000)
	set(frontier.HostChange{Delay: number(5000)})
	expect(t, "one that is lowered", state().ReadyAt, s.now+4000)
	s.wait(3999)
	expect(t, "within it", len(s.lease(1).Items), 0)
	s.wait(1)
	settle(frontier.Result{Status: 503, RetryAfter: 7200})
	set(frontier.HostChange{Delay: number(1000)})
	expect(t, "a Retry-After is kept with another delay", state().ReadyAt, s.now+7200_000)
	s.wait(1000)
	set(frontier.HostChange{BlockUntil: new(epoch.Millis)})
	expect(t, "and ends with an unblocking", state(),
		frontier.HostState{Host: "a.example", Delay: 1000, ReadyAt: s.now + 1000})
	s.wait(1000)
	settle(frontier.Result{Unresolved: true})
	set(frontier.HostChange{BlockUntil: new(s.now + 1000)})
	s.wait(1000)
	expect(t, "while its name does not resolve", len(s.lease(1).Items), 0)
	set(frontier.HostChange{BlockUntil: new(epoch.Millis)})
	s.wait(1000)
	expect(t, "an unblocking ends that too", len(s.lease(1).Items), 1)

	s.local.PerMinute = 60
	s.putIn(kr, "a.example", nil, []frontier.NewEntry{{NewPage: frontier.NewPage{URL: feedURL}, Method: "rss",
		Interval: 7200}})
	set(frontier.HostChange{BlockUntil: new(s.now + 30*86_400_000)})
	s.wait(3 * 3600_000)
	expect(t, "refreshes while it is blocked", len(s.tick()), 0)
	set(frontier.HostChange{BlockUntil: new(epoch.Millis)})
	s.wait(60_000)
	expect(t, "refreshes when it is not", len(s.tick()), 1)
}
