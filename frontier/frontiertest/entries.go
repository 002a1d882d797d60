package frontiertest

import (
	"fmt"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

// newEntries is a shard that refreshes, with a host of some feeds that are due.
func newEntries(t T, db DB, feeds int) *testShard {
	s := newShard(t, db)
	s.local.PerMinute = 60
	var entries []frontier.NewEntry
	for i := range feeds {
		entries = append(entries, frontier.NewEntry{NewPage: frontier.NewPage{URL: entryURL(i)}, Method: "rss",
			Interval: 5400 + int64(i)})
	}
	s.putIn(kr, "a.example", nil, entries)
	s.wait(7200_000)
	return s
}

// wipe empties a shard.
func wipe(t T, db DB) {
	t.Helper()
	for _, table := range []string{"state", "hosts", "domains", "parts", "queue", "leases", "due", "feed", "changes",
		"mirrors"} {
		err := db.Transaction(func() error {
			_, err := db.Run("DROP TABLE IF EXISTS " + table)
			return err
		})
		if err != nil {
			t.Fatalf("%v", err)
		}
	}
}

func entryURL(i int) string { return fmt.Sprintf("https://a.example/feed-%d", i) }

// entriesTakeTurns: an entry point of which nothing comes, be it a domain that is never collected or a feed whose
// refreshes die, keeps no other one of its host waiting.
func entriesTakeTurns(t T, db DB) {
	s := newShard(t, db)
	s.local.PerMinute = 60
	const stuck = "https://a.example/stuck"
	s.putIn(kr, "a.example", nil, []frontier.NewEntry{
		{NewPage: frontier.NewPage{URL: "https://a.example/robots.txt"}, Method: frontier.MethodCollect,
			Interval: 5400},
		{NewPage: frontier.NewPage{URL: stuck}, Method: "rss", Interval: 5400},
		{NewPage: frontier.NewPage{URL: feedURL}, Method: "rss", Interval: 5400},
	})
	sent := map[string]int{}
	for range 2 * 24 * 60 {
		s.wait(60_000)
		for _, m := range s.tick() {
			sent[m.URL]++
			if m.Method == frontier.MethodCollect {
				continue // what was to collect it is gone
			}
			owner := fmt.Sprint(s.now)
			if begun := s.begin(m.URL, owner); begun.Granted && m.URL != stuck {
				s.end(frontier.RefreshResult{URL: m.URL, Owner: owner, Status: 200, SHA256: fmt.Sprintf("%064x", s.now),
					Visit: frontier.HostFindings{AskedAt: s.now}})
			}
		}
	}
	if n := len(s.state(feedURL).Entry.Checks); n < 4 || sent[feedURL] != n { // at growing intervals
		t.Errorf("the feed was asked %d times, and sent %d times", n, sent[feedURL])
	}
	if sent["https://a.example/robots.txt"] < 24 || sent[stuck] < 48 {
		t.Errorf("sent %v: what is stuck is tried again", sent)
	}
}

// refreshGoesOn: whoever ends a refresh is given the next entry point of the host that is due, at the host's pace, and
// the host stays its own meanwhile.
func refreshGoesOn(t T, db DB) {
	s := newEntries(t, db, 5)
	messages := s.tick()
	expect(t, "messages", len(messages), 1)
	expect(t, "granted", s.begin(messages[0].URL, "owner-0").Granted, true)
	url, asked := messages[0].URL, map[string]bool{}
	for i := range 5 {
		asked[url] = true
		s.wait(2000)
		end := s.end(frontier.RefreshResult{URL: url, Owner: fmt.Sprint("owner-", i), Status: 304,
			Visit: frontier.HostFindings{AskedAt: s.now}, Next: fmt.Sprint("owner-", i+1)})
		expect(t, "accepted", end.Accepted, true)
		expect(t, "ended twice", s.end(frontier.RefreshResult{URL: url, Owner: fmt.Sprint("owner-", i),
			Status: 304}).Accepted, false)
		if i == 4 {
			expect(t, "nothing is left", end.Next == nil, true)
			break
		}
		expect(t, "another refresh", s.begin(end.Next.URL, "other").RetryIn, int64(121_000)) // and the delay after it
		expect(t, "after the last request", end.Next.Host.ReadyAt, s.now+1000)
		expect(t, "what is known of it", []any{end.Next.Granted, end.Next.Method, end.Next.Partition,
			end.Next.Entry.Interval > 0}, []any{true, "rss", kr, true})
		url = end.Next.URL
	}
	expect(t, "entry points", len(asked), 5)
	expect(t, "counted", s.stats().Refreshed, int64(5))
}

// refreshGoesOnWithin: not beyond what the settings allow, nor when a collector waits, nor with what only a message
// can have done. The host is checked again soon then.
func refreshGoesOnWithin(t T, db DB) {
	next := func(s *testShard, want bool, what string) {
		t.Helper()
		messages := s.tick()
		if len(messages) == 0 {
			t.Fatalf("%s: no message", what)
		}
		url, owner := messages[0].URL, fmt.Sprint(what, s.now)
		expect(t, what+": granted", s.begin(url, owner).Granted, true)
		if what == "a collector waits" {
			s.do(func() error {
				_, err := s.s.Acquire(ctx, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
				return err
			})
		}
		end := s.end(frontier.RefreshResult{URL: url, Owner: owner, Status: 304,
			Visit: frontier.HostFindings{AskedAt: s.now},
			Next:  owner + "'"})
		expect(t, what, end.Next != nil, want)
	}
	again := func(s *testShard, what string, minutes int) {
		t.Helper()
		for range minutes {
			if s.wait(60_000); len(s.tick()) > 0 {
				return
			}
		}
		t.Errorf("%s: no message within %d minutes", what, minutes)
	}
	for what, change := range map[string]func(*testShard){
		"one a minute":      func(s *testShard) { s.local.PerMinute = 1 },
		"a collector waits": func(s *testShard) {},
		"the rest is excluded": func(s *testShard) {
			for i := range 3 {
				s.do(func() error {
					return s.s.Exclude(ctx, frontier.Exclusion{Kind: contract.ExcludeURL, Value: entryURL(i + 1)}, true)
				})
			}
		},
		"a domain that is due": func(s *testShard) {
			for i := range 3 {
				s.putIn(kr, "a.example", nil, []frontier.NewEntry{{NewPage: frontier.NewPage{URL: entryURL(i + 1)}}})
			}
			s.putIn(kr, "a.example", nil,
				[]frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://a.example/robots.txt"},
					Method: frontier.MethodCollect, Interval: 5400}})
			s.wait(5400_000)
		},
	} {
		wipe(t, db)
		s := newEntries(t, db, 4)
		change(s)
		next(s, false, what)
		switch what {
		case "the rest is excluded":
		case "a collector waits":
			again(s, what, 6)
		default:
			again(s, what, 2)
		}
	}
}
