package frontiertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

func collectorExcludes(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 5, 0.5)...)
	a := s.acquire("a.example", "first", 120, "a.example", "www.a.example")
	expect(t, "granted", a, frontier.Acquired{Granted: true,
		Hosts: []frontier.HostState{{Host: "a.example", Delay: 1000}, {Host: "www.a.example", Delay: 1000}}})
	expect(t, "again", s.acquire("a.example", "first", 120).Granted, true)
	expect(t, "by another", s.acquire("a.example", "second", 120), frontier.Acquired{RetryIn: 120_000})
	expect(t, "leased meanwhile", len(s.lease(5).Items), 0)
	s.put("a.example", pages("www.a.example", 5, 0.5)...)
	expect(t, "another host of the domain", len(s.lease(5).Items), 0)
	s.wait(60_000)
	expect(t, "released by another", s.release("a.example", "second"), false)
	expect(t, "released", s.release("a.example", "first", frontier.HostFindings{Host: "a.example",
		AskedAt: s.now}), true)
	expect(t, "released twice", s.release("a.example", "first"), false)
	expect(t, "the one that waits goes first", len(s.lease(5).Items), 0)
	expect(t, "by another", s.acquire("a.example", "second", 120).Granted, true)
	s.release("a.example", "second")
	expect(t, "within the delay", urls(s.lease(5)), []string{pages("www.a.example", 1, 0)[0].URL})
	s.wait(1000)
	expect(t, "after it", len(s.lease(5).Items), 1)
}

func collectorFirst(t T, db DB) {
	s := newShard(t, db)
	for i := range 9 {
		s.put("a.example", pages(fmt.Sprintf("h%d.a.example", i), 5, 0.5)...)
	}
	l := s.lease(2)
	s.wait(1000)
	expect(t, "while scrapers have hosts", s.acquire("a.example", "c", 60), frontier.Acquired{RetryIn: 59_000})
	expect(t, "other hosts meanwhile", len(s.lease(5).Items), 0)
	s.settle(l, 200)
	expect(t, "when they have finished", len(s.lease(5).Items), 0)
	expect(t, "the collector", s.acquire("a.example", "c", 60).Granted, true)
	expect(t, "released", s.release("a.example", "c"), true)
	s.wait(1000)
	expect(t, "scrapers after that", len(s.lease(9).Items), 4)

	// A collector that waits and never comes back is not waited for without end.
	s.acquire("a.example", "lost", 60)
	s.wait(300_000)
	expect(t, "scrapers after the lost one", len(s.lease(9).Items), 4)
}

// lostCollector: hosts that were parked because their domain was full are let in too when the
// collector that came next never comes back.
func lostCollector(t T, db DB) {
	s := newShard(t, db)
	for i := range 9 {
		s.put("a.example", pages(fmt.Sprintf("h%d.a.example", i), 1, 0.5)...)
	}
	l := s.lease(9)
	expect(t, "hosts at once", len(l.Items), 4)
	s.acquire("a.example", "c", 60)
	s.settle(l, 200)
	expect(t, "granted", s.acquire("a.example", "c", 60).Granted, true)
	s.wait(60_000)
	s.lease(9) // lets them in
	expect(t, "when it may just have asked", len(s.lease(9).Items)+int(s.stats().Leased), 0)
	s.wait(1000)
	s.lease(9)
	expect(t, "when its time is over", len(s.lease(9).Items)+int(s.stats().Leased) > 0, true)
}

func collectorTime(t T, db DB) {
	s := newShard(t, db)
	renew := func(owner string) (kept bool) {
		s.do(func() (err error) {
			kept, err = s.s.Renew(ctx, "a.example", owner, 60)
			return err
		})
		return kept
	}
	s.put("a.example", pages("a.example", 5, 0.5)...)
	expect(t, "what nobody has", renew("c"), false)
	s.acquire("a.example", "c", 60)
	s.lease(1) // parks the host
	s.wait(59_999)
	expect(t, "in time", renew("c"), true)
	expect(t, "of another", renew("d"), false)
	s.wait(59_999)
	expect(t, "before its end", len(s.lease(1).Items), 0)
	s.wait(1)
	expect(t, "at its end", renew("c"), false)
	s.lease(1) // lets the host in
	expect(t, "scrapers while it may just have asked", len(s.lease(1).Items), 0)
	s.wait(1000)
	expect(t, "scrapers after its delay", len(s.lease(1).Items), 1)
	expect(t, "released too late", s.release("a.example", "c"), false)
}

func collectorLearned(t T, db DB) {
	s := newShard(t, db)
	s.acquire("a.example", "c", 60)
	s.wait(10_000)
	s.release("a.example", "c",
		frontier.HostFindings{Host: "a.example", Delay: 45_000, AskedAt: s.now - 2000,
			RobotsExpires: s.now + 86_400_000},
		frontier.HostFindings{Host: "gone.a.example", Unresolved: true},
		frontier.HostFindings{Host: "busy.a.example", AskedAt: s.now, RetryAfter: 300},
		frontier.HostFindings{Host: "hot.a.example", AskedAt: s.now, Throttled: true})
	a := s.acquire("a.example", "d", 60, "a.example", "gone.a.example", "busy.a.example", "hot.a.example")
	expect(t, "states", a.Hosts, []frontier.HostState{
		{Host: "a.example", Delay: 45_000, ReadyAt: s.now + 43_000, RobotsExpires: s.now + 86_400_000},
		{Host: "gone.a.example", Delay: 1000, Unresolved: s.now + 3_600_000},
		{Host: "busy.a.example", Delay: 2000, ReadyAt: s.now + 300_000},
		{Host: "hot.a.example", Delay: 2000, ReadyAt: s.now + 2000},
	})
	s.wait(5000)
	s.release("a.example", "d", frontier.HostFindings{Host: "gone.a.example", AskedAt: s.now})
	a = s.acquire("a.example", "e", 60, "gone.a.example")
	expect(t, "one that resolves again", a.Hosts[0].Unresolved, epoch.Millis(0))
}

func (s *testShard) putAs(p frontier.Put) (a frontier.PutAnswer) {
	s.t.Helper()
	s.do(func() (err error) {
		a, err = s.s.Put(ctx, p)
		return err
	})
	return a
}

func (s *testShard) releaseWith(r frontier.ReleaseRequest) (released bool) {
	s.t.Helper()
	s.do(func() (err error) {
		released, err = s.s.Release(ctx, r)
		return err
	})
	return released
}

func (s *testShard) mirror(domain, digest string) string {
	s.t.Helper()
	var a frontier.MirrorAnswer
	s.do(func() (err error) {
		a, err = s.s.Mirror(ctx, frontier.MirrorRequest{Domain: domain, Digest: digest})
		return err
	})
	return a.Of
}

// digestOf makes a SHA-256 of one hexadecimal digit.
func digestOf(c string) string { return strings.Repeat(c, 64) }

// usage: what a site says about the use of its content is leased with its pages, and told to the next collector.
// A Content-Signal is part of the rules, but changes nothing of what is allowed.
func usage(t T, db DB) {
	s := newShard(t, db)
	s.acquire("a.example", "c", 60, "a.example")
	said := "1764340000\nheader noai"
	visit := func(rules string, said *string) {
		s.putAs(frontier.Put{Domain: "a.example", Partition: kr, Owner: "c", Visits: []frontier.HostFindings{
			{Host: "a.example", RobotsExpires: s.now + 86_400_000, Rules: &rules, Usage: said}}})
	}
	page := frontier.NewPage{URL: "https://a.example/news/1", Type: "news", Priority: 0.5}
	visit("User-agent:*\nContent-Signal:ai-train=no\n", &said)
	expect(t, "accepted", s.put("a.example", page).Pages, []frontier.Verdict{frontier.Accepted})
	expect(t, "for the collector", s.acquire("a.example", "c", 60, "a.example").Hosts[0].Usage, said)
	visit(frontier.PartialRules+"User-agent:*\nContent-Signal:ai-train=no\nDisallow:/x\n", nil)
	s.release("a.example", "c")
	s.wait(5000)
	item := s.lease(1).Items[0]
	expect(t, "leased", []string{item.Signals, item.Usage}, []string{"ai-train=no", said})
	s.acquire("b.example", "c", 60)
	long := strings.Repeat("x", frontier.MaxUsage+1)
	var err error
	s.do(func() error {
		_, err = s.s.Put(ctx, frontier.Put{Domain: "b.example", Partition: kr, Owner: "c",
			Visits: []frontier.HostFindings{{Host: "b.example", Usage: &long}}})
		return nil
	})
	expect(t, "too long", contract.KindOf(err), contract.Validation)
}

// scrapers: they are counted by name, those without one together, and a repeated report counts once.
func scrapers(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 3, 0.5)...)
	began := s.now
	nameless := s.lease(1)
	s.report(nameless, frontier.Result{ID: nameless.Items[0].ID, Status: 404})
	s.wait(10_000)
	leased := s.now
	l := s.request(frontier.LeaseRequest{Max: 2, PerHost: 2, Seconds: 60, Scraper: "one"})
	report := frontier.Report{Lease: l.ID, Scraper: "two", Results: []frontier.Result{
		{ID: l.Items[0].ID, Status: 200}, {ID: l.Items[1].ID, Status: 500}}}
	s.wait(10_000)
	for range 2 {
		s.do(func() error {
			_, err := s.s.Report(ctx, report)
			return err
		})
	}
	expect(t, "counts", s.stats().Scrapers, []frontier.ScraperCounts{
		{First: began.Seconds(), Last: began.Seconds(), Leased: 1, Fetched: 1},
		{Name: "one", First: leased.Seconds(), Last: leased.Seconds(), Leased: 2},
		{Name: "two", First: s.now.Seconds(), Last: s.now.Seconds(), Fetched: 1, Failed: 1}})
	s.request(frontier.LeaseRequest{Max: 2, Seconds: 60, Scraper: "idle"}) // leases nothing
	for i := range 20 {
		domain := fmt.Sprintf("d%d.example", i)
		s.put(domain, frontier.NewPage{URL: "https://" + domain + "/", Type: "news"})
		s.wait(2000)
		s.request(frontier.LeaseRequest{Max: 1, Seconds: 60, Host: domain, Scraper: fmt.Sprint("s", i)})
	}
	names := s.stats().Scrapers
	expect(t, "bounded", []any{len(names), slices.ContainsFunc(names, func(c frontier.ScraperCounts) bool {
		return c.Name == "one" || c.Name == "idle"
	})}, []any{16, false})
}

// forbidden: pages that a host's robots.txt forbids are refused, and dropped when its rules change.
func forbidden(t T, db DB) {
	s := newShard(t, db)
	s.acquire("a.example", "c", 60, "a.example")
	rule := func(rules string) {
		s.putAs(frontier.Put{Domain: "a.example", Partition: kr, Owner: "c", Visits: []frontier.HostFindings{
			{Host: "a.example", RobotsExpires: s.now + 86_400_000, Rules: &rules}}})
	}
	page := func(path string) frontier.NewPage {
		return frontier.NewPage{URL: "https://a.example" + path, Type: "news", Priority: 0.5}
	}
	all := []frontier.NewPage{page("/private/1"), page("/private/open"), page("/search?q=a"), page("/news/1")}
	expect(t, "before the rules are known", s.put("a.example", all...).Pages,
		[]frontier.Verdict{frontier.Accepted, frontier.Accepted, frontier.Accepted, frontier.Accepted})
	rule("User-agent:*\nAllow:/private/open\nDisallow:/private/\nDisallow:/*?q=\n")
	expect(t, "dropped", []string{s.state(all[0].URL).State, s.state(all[1].URL).State, s.state(all[2].URL).State,
		s.state(all[3].URL).State}, []string{"known", "due", "known", "due"})
	expect(t, "put again", s.put("a.example", append(all, page("/private/2"))...).Pages, []frontier.Verdict{
		frontier.Disallowed, frontier.Duplicate, frontier.Disallowed, frontier.Duplicate, frontier.Disallowed})
	s.release("a.example", "c")
	s.wait(5000)
	l := s.request(frontier.LeaseRequest{Max: 10, PerHost: 10, Seconds: 60})
	expect(t, "leased", len(l.Items), 2)
	expect(t, "rules that are fresh", []any{l.Items[0].RobotsExpires, l.Items[0].RobotsPartial},
		[]any{s.now - 5000 + 86_400_000, false})
	results := make([]frontier.Result, len(l.Items))
	for i := range results {
		results[i] = frontier.Result{ID: l.Items[i].ID, Status: 200}
	}
	results[0].Found = []frontier.FoundURL{{NewPage: page("/private/3")}, {NewPage: page("/news/2")}}
	s.report(l, results...)
	expect(t, "found", []int{s.found.Forbidden, s.found.Added}, []int{1, 1})
	s.acquire("a.example", "c", 60, "a.example")
	rule("")
	expect(t, "allowed again", s.put("a.example", all...).Pages,
		[]frontier.Verdict{frontier.Accepted, frontier.Duplicate, frontier.Accepted, frontier.Duplicate})
	expect(t, "waiting", s.stats().URLs, int64(3))
	expect(t, "rules", s.host("a.example").Rules, "")
	rule("User-agent:*\nDisallow:/private/\n")
	s.release("a.example", "c", frontier.HostFindings{Host: "a.example", RobotsExpires: s.now + 86_400_000})
	expect(t, "with the same robots.txt", s.host("a.example").Rules, "User-agent:*\nDisallow:/private/\n")
	s.acquire("a.example", "c", 60, "a.example")
	s.release("a.example", "c", frontier.HostFindings{Host: "a.example", RobotsExpires: s.now + 86_400_001})
	expect(t, "when another one was read", s.host("a.example").Rules,
		frontier.PartialRules+"User-agent:*\nDisallow:/private/\n")
	s.wait(5000)
	expect(t, "partial", s.lease(1).Items[0].RobotsPartial, true)
	s.wait(86_400_000)
	expect(t, "expired", s.lease(1).Items[0].RobotsExpires, epoch.Millis(0))
}

// learnedWithPut: what comes with the put of the collector that has the domain counts once, also when
// the release repeats it, and nothing of one that has lost it.
func learnedWithPut(t T, db DB) {
	s := newShard(t, db)
	hosts := []string{"a.example", "hot.a.example", "gone.a.example"}
	state := func() []frontier.HostState { return s.acquire("a.example", "c", 60, hosts...).Hosts }
	put := frontier.Put{Domain: "a.example", Partition: kr, Owner: "c", Visits: []frontier.HostFindings{
		{Host: "a.example", Delay: 3000, AskedAt: s.now, RetryAfter: 100},
		{Host: "hot.a.example", AskedAt: s.now, Throttled: true},
		{Host: "gone.a.example", Unresolved: true},
	}}
	s.putAs(put)
	expect(t, "of one that does not have it", state()[0], frontier.HostState{Host: "a.example", Delay: 1000})
	s.putAs(put)
	want := []frontier.HostState{
		{Host: "a.example", Delay: 6000, ReadyAt: s.now + 100_000},
		{Host: "hot.a.example", Delay: 2000, ReadyAt: s.now + 2000},
		{Host: "gone.a.example", Delay: 1000, Unresolved: s.now + 3_600_000},
	}
	expect(t, "with the put", state(), want)
	s.wait(1000)
	s.release("a.example", "c", put.Visits...)
	expect(t, "repeated by the release", state(), want)
	put.Visits[1].AskedAt = s.now
	s.putAs(put)
	expect(t, "of another request", state()[1], frontier.HostState{Host: "hot.a.example", Delay: 4000,
		ReadyAt: s.now + 4000})
	s.wait(60_000)
	put.Visits[1].AskedAt = s.now
	s.putAs(put)
	expect(t, "when it is too late", s.acquire("a.example", "d", 60, hosts...).Hosts[1].Delay, int64(4000))
	expectInvalid(t, "a host of another domain", db.Transaction(func() error {
		_, err := s.s.Put(ctx, frontier.Put{Domain: "a.example", Partition: kr, Owner: "d",
			Visits: []frontier.HostFindings{{Host: "b.example"}}})
		return err
	}))
}

// lastOwned: the next owner learns when the one before gave the domain back or lost it.
func lastOwned(t T, db DB) {
	s := newShard(t, db)
	expect(t, "at first", s.acquire("a.example", "c", 60).LastOwned, epoch.Millis(0))
	s.wait(5000)
	s.releaseWith(frontier.ReleaseRequest{Domain: "a.example", Owner: "c"})
	returned := s.now
	s.wait(5000)
	expect(t, "when it was given back", s.acquire("a.example", "d", 60).LastOwned, returned)
	s.wait(70_000)
	expect(t, "when it was lost", s.acquire("a.example", "e", 60).LastOwned, s.now-10_000)
	expect(t, "of another domain", s.acquire("b.example", "e", 60).LastOwned, epoch.Millis(0))
}

func evidence(t T, db DB) {
	s := newShard(t, db)
	expect(t, "at first", s.acquire("a.example", "c", 60).Evidence, frontier.Evidence{})
	of := func(date string, at epoch.Millis) frontier.Evidence {
		return frontier.Evidence{Partition: contract.Partition{Country: "kr", Category: "news", Date: date}, At: at}
	}
	release := func(owner string, e frontier.Evidence) bool {
		return s.releaseWith(frontier.ReleaseRequest{Domain: "a.example", Owner: owner, Evidence: e})
	}
	release("other", of("2026-01-01", s.now))
	release("c", of("2026-01-28", s.now))
	s.wait(1000)
	expect(t, "of the last collection", s.acquire("a.example", "d", 60).Evidence, of("2026-01-28", s.now-1000))
	expect(t, "for one that must wait", s.acquire("a.example", "e", 60).Evidence, of("2026-01-28", s.now-1000))
	release("d", frontier.Evidence{})
	s.acquire("a.example", "e", 60)
	release("e", of("2026-01-27", s.now-2000))
	expect(t, "of an older one", s.acquire("a.example", "e", 60).Evidence, of("2026-01-28", s.now-1000))
	release("e", of("2026-01-29", s.now+86_400_000))
	expect(t, "of one in the future", s.acquire("a.example", "e", 60).Evidence, of("2026-01-29", s.now))
	expectInvalid(t, "of no partition", db.Transaction(func() error {
		_, err := s.s.Release(ctx, frontier.ReleaseRequest{Domain: "a.example", Owner: "e",
			Evidence: frontier.Evidence{At: 1}})
		return err
	}))
}

func mirrorDigests(t T, db DB) {
	s := newShard(t, db)
	const day = 86_400_000
	expect(t, "the first", s.mirror("a.example", digestOf("a")), "")
	expect(t, "the first again", s.mirror("a.example", digestOf("a")), "")
	expect(t, "another", s.mirror("b.example", digestOf("a")), "a.example")
	expect(t, "another digest", s.mirror("b.example", digestOf("b")), "")
	s.wait(80 * day)
	expect(t, "which is seen again", s.mirror("a.example", digestOf("a")), "")
	s.wait(80 * day)
	expect(t, "and still counts", s.mirror("b.example", digestOf("a")), "a.example")
	s.wait(10 * day)
	expect(t, "which is gone for long", s.mirror("c.example", digestOf("a")), "")
	expect(t, "and is one itself when it returns", s.mirror("a.example", digestOf("a")), "c.example")
	for i := range 100 { // of one bucket
		s.mirror("x.example", fmt.Sprintf("aaaa%08x%052x", i, 0))
	}
	expect(t, "which a full bucket has lost", s.mirror("a.example", digestOf("a")), "")
	expect(t, "and not the newest", s.mirror("y.example", fmt.Sprintf("aaaa%08x%052x", 99, 0)), "x.example")
	original := func(domain string) (of string) {
		s.do(func() error {
			a, err := s.s.Mirror(ctx, frontier.MirrorRequest{Domain: domain, Digest: digestOf("c"), Original: true})
			of = a.Of
			return err
		})
		return of
	}
	expect(t, "a copy first", s.mirror("a.example", digestOf("c")), "")
	expect(t, "the original", []string{original("b.example"), original("b.example")}, []string{"", ""})
	expect(t, "the copy after it", s.mirror("a.example", digestOf("c")), "b.example")
	expect(t, "the original again", s.mirror("b.example", digestOf("c")), "")
	for _, digest := range []string{"", "a", strings.Repeat("A", 64), strings.Repeat("x", 64),
		strings.Repeat("a", 66)} {
		expectInvalid(t, digest, db.Transaction(func() error {
			_, err := s.s.Mirror(ctx, frontier.MirrorRequest{Domain: "a.example", Digest: digest})
			return err
		}))
	}
}

// mirrorDomain: only the entry points of a mirror are fetched; its pages wait until it stops being one.
func mirrorDomain(t T, db DB) {
	s := newShard(t, db)
	for i := range 6 {
		s.put("a.example", pages(fmt.Sprintf("h%d.a.example", i), 2, 0.5)...)
	}
	mirror := func(of string) frontier.PutAnswer {
		s.acquire("a.example", "c", 60)
		defer s.release("a.example", "c")
		return s.putAs(frontier.Put{Domain: "a.example", Partition: kr, Owner: "c", MirrorOf: of,
			Pages: pages("new.a.example", 3, 0.5),
			Entries: []frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://a.example/feed"}, Method: "feed",
				Interval: 7200}}})
	}
	a := mirror("b.example")
	expect(t, "verdicts", [][]frontier.Verdict{a.Pages, a.Entries},
		[][]frontier.Verdict{{"mirror", "mirror", "mirror"}, {"accepted"}})
	expect(t, "of scrapers", s.put("a.example", frontier.NewPage{URL: "https://a.example/x"}).Pages,
		[]frontier.Verdict{frontier.Mirrored})
	expect(t, "leased", len(s.lease(100).Items), 0)
	s.wait(7200_000 * 9 / 8)
	l := s.request(frontier.LeaseRequest{Max: 10, Kinds: []string{frontier.KindEntry}})
	expect(t, "entry points", len(l.Items), 1)
	s.settle(l, 304)
	s.wait(1000)
	expect(t, "leased later", len(s.lease(100).Items), 0)
	expect(t, "pages that wait", s.stats().URLs, int64(12))
	s.putAs(frontier.Put{Domain: "a.example", Partition: kr, Owner: "d"})
	expect(t, "after a put of nobody", len(s.lease(100).Items), 0)
	expect(t, "when it is no mirror", mirror("").Added, 3)
	done := 0
	for range 40 {
		l := s.lease(100)
		done += len(l.Items)
		s.settle(l, 200)
		s.wait(1000)
	}
	expect(t, "leased when it is none", done, 15)
}

func operators(t T, db DB) {
	s := newShard(t, db)
	set := func(host string, change frontier.HostChange) (found bool) {
		s.do(func() (err error) {
			found, err = s.s.SetHost(ctx, host, change)
			return err
		})
		return found
	}
	number := func(n int64) *int64 { return &n }
	s.put("a.example", pages("a.example", 100, 0.5)...)
	expect(t, "a host that is unknown", set("b.example", frontier.HostChange{Empty: true}), false)
	expect(t, "block", set("a.example", frontier.HostChange{BlockUntil: new(s.now + 7_200_000)}), true)
	s.wait(3_600_000)
	expect(t, "while it is blocked", len(s.lease(1).Items), 0)
	set("a.example", frontier.HostChange{BlockUntil: new(epoch.Millis)})
	l := s.lease(1)
	expect(t, "after it was unblocked", len(l.Items), 1)
	set("a.example", frontier.HostChange{Delay: number(30_000)})
	s.settle(l, 200)
	s.acquire("a.example", "c", 60)
	s.release("a.example", "c", frontier.HostFindings{Host: "a.example", Delay: 2000}) // the operator's is more
	s.wait(29_000)
	expect(t, "within the operator's delay", len(s.lease(1).Items), 0)
	s.wait(4000)
	l = s.lease(1)
	expect(t, "after it", len(l.Items), 1)
	set("a.example", frontier.HostChange{Empty: true})
	expect(t, "left when it is emptied", s.stats().URLs, int64(1)) // the leased one
	s.settle(l, 200)
	s.wait(100_000)
	expect(t, "after it was emptied", len(s.lease(1).Items), 0)
	expect(t, "put again", s.put("a.example", pages("a.example", 100, 0.5)...).Added, 0)
}

func exclusions(t T, db DB) {
	s := newShard(t, db)
	exclude := func(kind, value, domain string, on bool) {
		t.Helper()
		s.do(func() error {
			return s.s.Exclude(ctx, frontier.Exclusion{Kind: kind, Value: value, Domain: domain}, on)
		})
	}
	for _, domain := range []string{"a.example", "b.example", "c.example"} {
		s.put(domain, append(pages(domain, 50, 0.5), pages("www."+domain, 50, 0.5)...)...)
	}
	exclude(contract.ExcludeDomain, "a.example", "", true)
	exclude(contract.ExcludeHost, "www.b.example", "b.example", true)
	exclude(contract.ExcludeURL, "https://c.example/articles/*", "", true)
	hosts := func() (list []string) {
		for _, item := range s.lease(100).Items {
			list = append(list, item.Host)
		}
		slices.Sort(list)
		return list
	}
	expect(t, "hosts", hosts(), []string{"b.example", "www.c.example"})
	expect(t, "acquire", s.acquire("a.example", "c", 60), frontier.Acquired{Excluded: true})
	expect(t, "verdicts", []frontier.Verdict{s.put("a.example", frontier.NewPage{URL: "https://a.example/x"}).Pages[0],
		s.put("b.example", frontier.NewPage{URL: "https://www.b.example/x"}).Pages[0],
		s.put("c.example", frontier.NewPage{URL: "https://c.example/articles/x"}).Pages[0]},
		[]frontier.Verdict{frontier.Excluded, frontier.Excluded, frontier.Excluded})
	expect(t, "state", s.state("https://a.example/articles/x/0").State, "excluded")
	exclude(contract.ExcludeDomain, "a.example", "", false)
	exclude(contract.ExcludeHost, "www.b.example", "b.example", false)
	exclude(contract.ExcludeURL, "https://c.example/articles/*", "", false)
	expect(t, "hosts that came back", hosts(), []string{"a.example", "www.a.example", "www.b.example"})
	exclude(contract.ExcludeDomain, "new.example", "", true)
	expect(t, "a domain that was unknown", s.put("new.example", frontier.NewPage{URL: "https://new.example/"}).Pages[0],
		frontier.Excluded)
}

func entryPoints(t T, db DB) {
	s := newShard(t, db)
	digest := func(c string) string { return strings.Repeat(c, 64) }
	feed := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://a.example/feed", Type: "news", Priority: 0.9},
		Method: "feed", Interval: 7200, ETag: `"1"`, SHA256: digest("a")}
	a := s.putIn(kr, "a.example", pages("a.example", 3, 0.5), []frontier.NewEntry{feed})
	expect(t, "verdict", a.Entries, []frontier.Verdict{frontier.Accepted})
	expect(t, "as a page", s.put("a.example", feed.NewPage).Pages[0], frontier.Duplicate)
	due := func() frontier.Lease {
		return s.request(frontier.LeaseRequest{Max: 10, Kinds: []string{frontier.KindEntry}, Seconds: 900})
	}
	expect(t, "before its interval", len(due().Items), 0)
	s.wait(7200_000 * 9 / 8)
	l := due()
	if len(l.Items) != 1 {
		t.Fatalf("not due after its interval")
	}
	item := l.Items[0]
	expect(t, "item", []string{item.URL, item.Kind, item.Method, item.ETag, item.Type},
		[]string{feed.URL, "entry", "feed", `"1"`, "news"})
	expect(t, "pages meanwhile", len(s.lease(1).Items), 0)
	check := func(l frontier.Lease, r frontier.Result, interval int64) {
		t.Helper()
		r.ID = l.Items[0].ID
		expect(t, "report", s.report(l, r).Accepted, 1)
		state := s.state(feed.URL)
		expect(t, "interval", state.Entry.Interval, interval)
		expect(t, "state", state.State, "waiting")
	}
	again := func() frontier.Lease {
		t.Helper()
		for range 1000 {
			if l := due(); len(l.Items) > 0 {
				return l
			}
			s.wait(3600_000)
		}
		t.Fatalf("it is never due again")
		return frontier.Lease{}
	}
	check(l, frontier.Result{Status: 304}, 27_210)
	s.wait(1000)
	page := s.lease(1)
	expect(t, "pages after that", len(page.Items), 1)
	s.settle(page, 200)
	check(again(), frontier.Result{Status: 200, ETag: `"2"`, SHA256: digest("a")}, 42_318)
	check(again(), frontier.Result{Status: 200, ETag: `"3"`, SHA256: digest("b")}, 35_553)
	s.wait(35_552_000)
	l = again()
	failedAt := s.now
	check(l, frontier.Result{Status: 500}, 35_553)
	state := s.state(feed.URL)
	expect(t, "asked again in an hour", state.DueAt, failedAt+3_600_000)
	expect(t, "of the last answer that was one", state.Entry.ETag, `"3"`)
	var statuses []int
	var changed []bool
	for _, c := range state.Entry.Checks {
		statuses, changed = append(statuses, c.Status), append(changed, c.Changed)
	}
	expect(t, "checks", statuses, []int{200, 304, 200, 200, 500})
	expect(t, "changed", changed, []bool{false, false, false, true, false})
	expect(t, "put again", s.putIn(kr, "a.example", nil,
		[]frontier.NewEntry{{NewPage: feed.NewPage, Method: "feed", Interval: 7200}}).Entries,
		[]frontier.Verdict{frontier.Updated})
	expect(t, "which keeps its history", len(s.state(feed.URL).Entry.Checks), 5)
	expect(t, "removed", s.putIn(kr, "a.example", nil, []frontier.NewEntry{{NewPage: feed.NewPage}}).Entries,
		[]frontier.Verdict{frontier.Removed})
	stats := s.stats()
	expect(t, "entries, answers and faults", []int64{stats.Entries, stats.Answers, stats.Faults}, []int64{0, 5, 1})
	expect(t, "of them today", stats.Answered, int64(2))
	s.wait(86_400_000)
	expect(t, "of them a day later", s.stats().Answered, int64(0))
}

func statsAndHosts(t T, db DB) {
	s := newShard(t, db)
	empty := s.stats()
	expect(t, "an empty shard", empty, frontier.Stats{Bytes: empty.Bytes})
	expect(t, "has a size", empty.Bytes >= 4096 && empty.Bytes < 1<<20, true)
	for i := range 25 {
		host := fmt.Sprintf("a%d.example", i)
		s.putIn(kr, host, pages(host, i+1, 0.5), []frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://" + host +
			"/feed"}, Method: "feed", Interval: 7200}})
		s.wait(1000)
	}
	l := s.lease(3)
	stats := s.stats()
	expect(t, "counters", []int64{stats.Hosts, stats.URLs, stats.Entries, stats.Leased}, []int64{25, 325, 25, 3})
	expect(t, "due", stats.Due, [6]int64{0, 0, 22, 0, 0, 0})
	expect(t, "oldest", stats.OldestDue[2], epoch.Millis(noon+3000))
	s.settle(l, 200)
	list := func(r frontier.HostsRequest) (names []string) {
		r.Limit = 7
		for range 10 {
			var page frontier.HostsPage
			s.do(func() (err error) {
				page, err = s.s.Hosts(ctx, r)
				return err
			})
			for _, h := range page.Hosts {
				names = append(names, h.Host)
			}
			if r.Cursor = page.Next; r.Cursor == "" {
				return names
			}
		}
		t.Fatalf("pages without end")
		return nil
	}
	s.do(func() error {
		page, err := s.s.Hosts(ctx, frontier.HostsRequest{Sort: "size", Limit: 1})
		expect(t, "pages and the entry point that waits", []int64{page.Hosts[0].URLs, page.Hosts[0].Due},
			[]int64{25, 25})
		return err
	})
	unique := list(frontier.HostsRequest{})
	slices.Sort(unique)
	expect(t, "hosts", len(slices.Compact(unique)), 25)
	expect(t, "by size", list(frontier.HostsRequest{Sort: "size"})[:3],
		[]string{"a24.example", "a23.example", "a22.example"})
	expect(t, "by due", list(frontier.HostsRequest{Sort: "due"})[:2], []string{"a3.example", "a4.example"})
	until := s.now + 1000
	s.do(func() error {
		_, err := s.s.SetHost(ctx, "a7.example", frontier.HostChange{BlockUntil: &until})
		return err
	})
	expect(t, "blocked", list(frontier.HostsRequest{Blocked: true}), []string{"a7.example"})
}

func urlState(t T, db DB) {
	s := newShard(t, db)
	list := pages("a.example", 200, 0.5)
	s.put("a.example", list...)
	brief := func(url string) [2]any {
		state := s.state(url)
		if state.Why == "" || state.WhyCode == "" {
			t.Errorf("%s: %s without a reason", url, state.State)
		}
		return [2]any{state.State, state.LeaseUntil}
	}
	never := epoch.Millis(0)
	for _, p := range list {
		expect(t, "queued", brief(p.URL), [2]any{"due", never})
	}
	l := s.lease(1)
	expect(t, "leased", brief(l.Items[0].URL), [2]any{"leased", l.ExpiresAt})
	gone := l.Items[0].URL
	s.settle(l, 404)
	expect(t, "gone", brief(gone), [2]any{"gone", never})
	s.wait(1000)
	l = s.lease(1)
	fetched := l.Items[0].URL
	s.settle(l, 200)
	expect(t, "fetched", brief(fetched), [2]any{"fetched", never})
	expect(t, "another host", brief("https://b.example/"), [2]any{"unknown", never})
	expect(t, "another path", brief("https://a.example/x"), [2]any{"unknown", never})

	states := func(urls ...string) (states []string) {
		s.do(func() (err error) {
			states, err = s.s.URLs(ctx, "a.example", urls)
			return err
		})
		return states
	}
	put := func(p frontier.Put) (answer frontier.PutAnswer) {
		p.Domain, p.Partition = "a.example", kr
		s.do(func() (err error) {
			answer, err = s.s.Put(ctx, p)
			return err
		})
		return answer
	}
	expect(t, "states", states(gone, fetched, "https://a.example/x", "https://b.example/"),
		[]string{"gone", "fetched", "unknown", "unknown"})
	again := []frontier.NewPage{{URL: gone, Refetch: true}, {URL: fetched, Refetch: true}}
	expect(t, "refetched", put(frontier.Put{Pages: again}).Pages,
		[]frontier.Verdict{frontier.Accepted, frontier.Accepted})
	expect(t, "states", states(gone, fetched), []string{"waiting", "waiting"})
	expect(t, "removed", put(frontier.Put{Pages: again, Remove: true}).Pages,
		[]frontier.Verdict{frontier.Removed, frontier.Removed})
	expect(t, "states", states(gone, fetched), []string{"gone", "gone"})
	s.do(func() error {
		_, err := s.s.SetHost(ctx, "a.example", frontier.HostChange{Forget: frontier.ForgetAll})
		return err
	})
	expect(t, "states", states(gone, fetched, list[199].URL), []string{"known", "known", "known"})
	stored := &frontier.StoredPages{Collected: true, More: true}
	expect(t, "room", put(frontier.Put{Pages: list, Stored: stored}).Room > 0, true)
	var host frontier.HostDetail
	s.do(func() (err error) {
		host, err = s.s.Host(ctx, "a.example")
		return err
	})
	expect(t, "host", []any{host.Host, host.DomainURLs, len(host.Backlogs)}, []any{"a.example", int64(200), 1})
}

func snapshot(t T, db DB) {
	s := newShard(t, db)
	for i := range 40 {
		host := fmt.Sprintf("h%d.a%d.example", i, i%20)
		s.putIn(contract.Partition{Country: []string{"kr", "sg"}[i%2], Category: "news", Date: "2026-01-28"},
			fmt.Sprintf("a%d.example", i%20), pages(host, 200, 0.5),
			[]frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://" + host + "/feed"}, Method: "feed",
				Interval: 7200,
				ETag:     host}})
	}
	s.do(func() error {
		return s.s.Exclude(ctx, frontier.Exclusion{Kind: contract.ExcludeDomain, Value: "a19.example"}, true)
	})
	s.do(func() error { // of which nothing else is there
		return s.s.Exclude(ctx, frontier.Exclusion{Kind: contract.ExcludeDomain, Value: "ruled-out.example"}, true)
	})
	of := frontier.Evidence{Partition: kr, At: s.now}
	for domain, mirrorOf := range map[string]string{"a0.example": "", "mirror.example": "a0.example"} {
		s.acquire(domain, "c", 60)
		s.putAs(frontier.Put{Domain: domain, Partition: kr, Owner: "c", MirrorOf: mirrorOf})
		s.releaseWith(frontier.ReleaseRequest{Domain: domain, Owner: "c", Evidence: of})
	}
	s.settle(s.lease(10), 200)
	s.lease(10) // leased while it is exported
	var snapshots []frontier.Snapshot
	for from := int64(0); ; {
		s.do(func() error {
			page, err := s.s.Export(ctx, from)
			snapshots = append(snapshots, page)
			from = page.Next
			return err
		})
		if from == 0 {
			break
		}
	}
	before := s.stats()
	s.do(func() error { // as a new shard
		for _, table := range []string{"state", "hosts", "domains", "parts", "queue", "leases", "due", "feed",
			"changes",
			"mirrors"} {
			if _, err := db.Run("DELETE FROM " + table); err != nil {
				return err
			}
		}
		return nil
	})
	s.putIn(contract.Partition{Country: "us", Category: "gov", Date: "2026-01-28"}, "other.example",
		pages("other.example", 1, 0.5), nil)
	total := 0
	for range 2 {
		for _, page := range snapshots {
			s.do(func() error {
				n, err := s.s.Restore(ctx, page)
				total += n
				return err
			})
		}
	}
	expect(t, "restored", total, 40)
	after := s.stats()
	expect(t, "counters", []int64{after.Hosts, after.URLs, after.Entries, after.Done, after.Leased},
		[]int64{before.Hosts + 1, before.URLs + 1, before.Entries, before.Done, 0})
	expect(t, "what was done does not return", s.put("a1.example", pages("h1.a1.example", 200, 0.5)...).Added, 0)
	expect(t, "entry points", s.state("https://h1.a1.example/feed").Entry.ETag, "h1.a1.example")
	// it may have been allowed since
	expect(t, "what was excluded", s.state("https://h19.a19.example/feed").State != "excluded", true)
	expect(t, "without hosts", s.put("ruled-out.example", frontier.NewPage{URL: "https://ruled-out.example/"}).Pages,
		[]frontier.Verdict{frontier.Accepted})
	expect(t, "a mirror", s.put("mirror.example", frontier.NewPage{URL: "https://mirror.example/"}).Pages,
		[]frontier.Verdict{frontier.Mirrored})
	expect(t, "evidence", s.acquire("a0.example", "d", 60).Evidence, of)
	s.release("a0.example", "d")
	for _, item := range s.request(frontier.LeaseRequest{Max: 100, Country: "sg"}).Items {
		expect(t, "country", item.Partition.Country, "sg")
	}
	done := 0
	for range 300 {
		l := s.request(frontier.LeaseRequest{Max: 500, PerHost: 20})
		done += len(l.Items)
		s.settle(l, 200)
		s.wait(1000)
	}
	s.wait(100_000)
	done += len(s.request(frontier.LeaseRequest{Max: 500, PerHost: 20}).Items)
	s.local.Settings.PerMinute = 100
	s.wait(86_400_000)
	expect(t, "refreshes of what was restored", len(s.tick()) > 10, true)
	if left := s.stats().URLs; left > 400+100 { // those of the excluded domain and of leases
		t.Errorf("%d URLs are left, %d were leased", left, done)
	}
}

// unlessCollected: a domain that has its contract in a partition is not granted for that partition, at no row.
func unlessCollected(t T, db DB) {
	c := &counted{DB: db}
	s := newShard(t, c)
	acquire := func(owner string, unless contract.Partition) (a frontier.Acquired) {
		s.do(func() (err error) {
			a, err = s.s.Acquire(ctx,
				frontier.AcquireRequest{Domain: "a.example", Owner: owner, Seconds: 60, Unless: &unless})
			return err
		})
		return a
	}
	a := acquire("c", kr)
	expect(t, "before it was collected", a.Granted && !a.Collected, true)
	s.releaseWith(frontier.ReleaseRequest{Domain: "a.example", Owner: "c",
		Changes: []frontier.Change{{Partition: kr, Revision: 1, ChangedAt: s.now}}})
	c.written()
	a = acquire("d", kr)
	expect(t, "collected", !a.Granted && a.Collected && a.RetryIn == 0, true)
	expect(t, "rows written", c.written(), 0)
	expect(t, "to any other collector it is free", s.acquire("a.example", "e", 60).Granted, true)
	c.written()
	expect(t, "collected, while another has it", acquire("d", kr).Collected, true)
	expect(t, "rows written for it", c.written(), 0)
	another := kr
	another.Date = "2020-02-02"
	a = acquire("d", another)
	expect(t, "in another partition it is busy", !a.Granted && !a.Collected && a.RetryIn > 0, true)
}
