package frontiertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

func (s *testShard) feed(r frontier.FeedRequest) (p frontier.FeedPage) {
	s.t.Helper()
	if r.Limit == 0 {
		r.Limit = 200
	}
	s.do(func() (err error) {
		p, err = s.s.Feed(ctx, r)
		return err
	})
	return p
}

func (s *testShard) changes(after int64, limit int) (p frontier.ChangesPage) {
	s.t.Helper()
	s.do(func() (err error) {
		p, err = s.s.Changes(ctx, frontier.ChangesRequest{After: after, Limit: limit})
		return err
	})
	return p
}

func (s *testShard) begin(url, owner string) (r frontier.RefreshGrant) {
	s.t.Helper()
	s.do(func() (err error) {
		list, err := s.s.BeginRefreshes(ctx, []frontier.RefreshRequest{{Domain: "a.example", URL: url, Owner: owner}})
		if err == nil {
			r = list[0]
		}
		return err
	})
	return r
}

func (s *testShard) end(r frontier.RefreshResult) (e frontier.RefreshEnd) {
	s.t.Helper()
	r.Domain = "a.example"
	s.do(func() (err error) {
		e, err = s.s.EndRefresh(ctx, r)
		return err
	})
	return e
}

// tick returns the messages of a tick.
func (s *testShard) tick() (messages []contract.Refresh) {
	s.t.Helper()
	return s.tickBehind(0)
}

// tickBehind is tick while the oldest message of the queue was sent at that time.
func (s *testShard) tickBehind(oldest epoch.Millis) (messages []contract.Refresh) {
	s.t.Helper()
	var tick shard.Tick
	s.do(func() (err error) {
		tick, err = s.local.Tick(s.now, shard.TickRequest{Shard: "shard-0", Oldest: oldest})
		return err
	})
	for _, body := range tick.Messages {
		list, ok, err := contract.ParseRefreshes(body)
		if !ok || err != nil {
			s.t.Fatalf("%s is no refresh: %v", body, err)
		}
		messages = append(messages, list...)
	}
	if tick.AlarmAt <= s.now {
		s.t.Errorf("the next alarm is %d ms ago", s.now-tick.AlarmAt)
	}
	return messages
}

func (s *testShard) fails(field string, f func() error) {
	s.t.Helper()
	var e *contract.Error
	if err := s.db.Transaction(f); !errors.As(err, &e) || e.Kind != contract.Validation || e.Field != field {
		s.t.Errorf("a wrong %s: %v", field, err)
	}
}

func digest(s string) string { return strings.Repeat(fmt.Sprintf("%02x", s[0]), 32) }

func urlsOf(items []frontier.FeedItem) (urls []string) {
	for _, i := range items {
		urls = append(urls, i.URL)
	}
	return urls
}

// feedNew: what is dated within two days, or after the domain was looked at before, or said to be fresh; once.
func feedNew(t T, db DB) {
	s := newShard(t, db)
	const now = epoch.Seconds(noon / 1000)
	page := func(name string, lastmod epoch.Seconds) frontier.NewPage {
		return frontier.NewPage{URL: "https://a.example/" + name, Title: name, Type: "news", Priority: 0.7,
			LastMod: lastmod,
			FoundBy: "sitemap"}
	}
	put := func(since epoch.Millis, pages ...frontier.NewPage) {
		t.Helper()
		s.do(func() error {
			_, err := s.s.Put(ctx, frontier.Put{Domain: "a.example", Partition: kr, Pages: pages, Since: since})
			return err
		})
	}
	fresh := page("fresh", 0)
	fresh.Fresh, fresh.FoundBy, fresh.Snippet, fresh.Image = true, "feed", "What it says", "https://a.example/i.jpg"
	first := []frontier.NewPage{page("today", now-3600), page("old", now-3*86_400), page("undated", 0), fresh,
		page("2099", now+60*86_400)}
	put(0, first...)
	expect(t, "new", urlsOf(s.feed(frontier.FeedRequest{}).Items),
		[]string{"https://a.example/today", "https://a.example/fresh"})
	item := s.feed(frontier.FeedRequest{}).Items[1]
	item.Sequence = 0
	expect(t, "an item", item, frontier.FeedItem{FoundAt: noon, URL: "https://a.example/fresh", Domain: "a.example",
		Title: "fresh", Type: "news", Priority: 0.7,
		Snippet: "What it says", Image: "https://a.example/i.jpg", FoundBy: "feed", Partition: kr, Event: "new"})
	put(0, first...)
	expect(t, "put again", len(s.feed(frontier.FeedRequest{}).Items), 2)
	s.wait(10 * 86_400_000)
	put(noon, page("while-away", now+3600), page("older", now-10*86_400))
	expect(t, "after it was looked at before", urlsOf(s.feed(frontier.FeedRequest{}).Items)[2:],
		[]string{"https://a.example/while-away"})
	expect(t, "nothing after the end",
		len(s.feed(frontier.FeedRequest{After: s.feed(frontier.FeedRequest{}).Next}).Items), 0)
	lease := s.lease(1)
	r := frontier.Result{ID: lease.Items[0].ID, Status: 200, Found: []frontier.FoundURL{
		{NewPage: frontier.NewPage{URL: "https://a.example/found", LastMod: s.now.Seconds()}},
		{NewPage: frontier.NewPage{URL: "https://a.example/archive"}}}}
	s.report(lease, r)
	items := s.feed(frontier.FeedRequest{}).Items
	expect(t, "found by a scraper", []string{items[3].URL, items[3].FoundBy},
		[]string{"https://a.example/found", "scraper"})
	expect(t, "items", len(items), 4)
}

// refusedFresh: an archive that is put at once is not announced. Pages that were refused are not seen: they can be
// put again.
func refusedFresh(t T, db DB) {
	s := newShard(t, db)
	s.local.URLsPerHost = 10
	list := pages("a.example", 60, 0.5)
	for i := range list {
		list[i].Fresh = true
	}
	count := func(a frontier.PutAnswer, v frontier.Verdict) (n int) {
		for _, got := range a.Pages {
			if got == v {
				n++
			}
		}
		return n
	}
	first := s.put("a.example", list...)
	expect(t, "verdicts", []int{count(first, frontier.Accepted), count(first, frontier.HostFull)}, []int{10, 50})
	expect(t, "announced", len(s.feed(frontier.FeedRequest{}).Items), 0)
	for range 10 {
		s.settle(s.lease(1), 200)
		s.wait(1000)
	}
	again := s.put("a.example", list...)
	expect(t, "put again", []int{count(again, frontier.Duplicate), count(again, frontier.Accepted)}, []int{10, 10})
}

// feedPages: read in pages of any size while more is put, each item comes once and in its order.
func feedPages(t T, db DB) {
	s := newShard(t, db)
	const all = 700
	put := 0
	more := func(n int) {
		pages := make([]frontier.NewPage, min(n, all-put))
		for i := range pages {
			pages[i] = frontier.NewPage{URL: fmt.Sprintf("https://a.example/%d", put), LastMod: s.now.Seconds(),
				Snippet: strings.Repeat("s", put%400)}
			put++
		}
		s.put("a.example", pages...)
	}
	more(1)
	var read []string
	after := int64(0)
	for i := 0; len(read) < all; i++ {
		if i > 10*all {
			t.Fatalf("%d items were read", len(read))
		}
		p := s.feed(frontier.FeedRequest{After: after, Limit: 1 + i%50})
		read = append(read, urlsOf(p.Items)...)
		if after = p.Next; !p.More {
			s.wait(int64(i%3) * 1000)
			more(1 + i%37)
		}
	}
	for i, url := range read {
		expect(t, "item", url, fmt.Sprintf("https://a.example/%d", i))
	}
	s.wait(-3600_000) // the clock goes back
	s.put("a.example", frontier.NewPage{URL: "https://a.example/late", LastMod: s.now.Seconds()})
	expect(t, "after the clock went back", urlsOf(s.feed(frontier.FeedRequest{After: after}).Items),
		[]string{"https://a.example/late"})
}

func feedFilters(t T, db DB) {
	s := newShard(t, db)
	page := func(name, kind string, priority float64) frontier.NewPage {
		return frontier.NewPage{URL: "https://a.example/" + name, Type: kind, Priority: priority, LastMod: noon / 1000}
	}
	s.put("a.example", page("1", "news", 0.9), page("2", "policy", 0.3))
	s.putIn(contract.Partition{Country: "sg", Category: "gov", Date: "2026-01-28"}, "b.example",
		[]frontier.NewPage{{URL: "https://b.example/3", Type: "news", Priority: 0.5, LastMod: noon / 1000}}, nil)
	for _, c := range []struct {
		r    frontier.FeedRequest
		want []string
	}{
		{frontier.FeedRequest{Types: []string{"news"}}, []string{"https://a.example/1", "https://b.example/3"}},
		{frontier.FeedRequest{MinScore: 0.5}, []string{"https://a.example/1", "https://b.example/3"}},
		{frontier.FeedRequest{Country: "kr"}, []string{"https://a.example/1", "https://a.example/2"}},
		{frontier.FeedRequest{Category: "gov"}, []string{"https://b.example/3"}},
		{frontier.FeedRequest{Country: "fr"}, nil},
	} {
		p := s.feed(c.r)
		expect(t, fmt.Sprintf("%+v", c.r), urlsOf(p.Items), c.want)
		expect(t, "nothing is left to look at", len(s.feed(frontier.FeedRequest{After: p.Next}).Items), 0)
	}
	s.fails("types", func() error {
		_, err := s.s.Feed(ctx, frontier.FeedRequest{Limit: 1, Types: []string{"poem"}})
		return err
	})
	s.fails("limit", func() error { _, err := s.s.Feed(ctx, frontier.FeedRequest{}); return err })
	s.fails("limit", func() error { _, err := s.s.Changes(ctx, frontier.ChangesRequest{Limit: 201}); return err })
}

func feedRetention(t T, db DB) {
	s := newShard(t, db)
	for i := range 20 {
		s.put("a.example", frontier.NewPage{URL: fmt.Sprintf("https://a.example/%d", i), LastMod: s.now.Seconds()})
		s.wait(86_400_000)
	}
	after := s.feed(frontier.FeedRequest{}).Next
	s.tick()
	kept := urlsOf(s.feed(frontier.FeedRequest{}).Items)
	if len(kept) < 14 || len(kept) > 16 || kept[len(kept)-1] != "https://a.example/19" {
		t.Errorf("after 20 days %q are kept", kept)
	}
	s.wait(100 * 86_400_000)
	s.tick()
	s.put("a.example", frontier.NewPage{URL: "https://a.example/new", LastMod: s.now.Seconds()})
	expect(t, "after the last one that was read", urlsOf(s.feed(frontier.FeedRequest{After: after}).Items),
		[]string{"https://a.example/new"})
}

func changes(t T, db DB) {
	s := newShard(t, db)
	changed := func(domain string, revision int, reachable bool, date string) {
		t.Helper()
		p := kr
		p.Date = date
		s.do(func() error {
			return s.s.Changed(ctx, frontier.Changed{Domain: domain,
				Changes: []frontier.Change{{Partition: p, Revision: revision, ChangedAt: s.now, Reachable: reachable}}})
		})
		s.wait(1000)
	}
	read := func(after int64) (list []string) {
		t.Helper()
		for _, c := range s.changes(after, 200).Items {
			list = append(list,
				fmt.Sprintf("%s %s %d %t %t", c.Domain, c.Partition.Date, c.Revision, c.Reachable, c.Excluded))
		}
		return list
	}
	changed("a.example", 1, true, "2026-01-28")
	changed("b.example", 1, false, "2026-01-28")
	changed("a.example", 2, true, "2026-01-28")
	changed("a.example", 1, true, "2026-01-29")
	expect(t, "changes", read(0), []string{"b.example 2026-01-28 1 false false", "a.example 2026-01-28 2 true false",
		"a.example 2026-01-29 1 true false"})
	end := s.changes(0, 200).Next
	changed("a.example", 2, true, "2026-01-28") // delivered twice
	changed("a.example", 1, true, "2026-01-28") // out of order
	expect(t, "nothing new", read(end), []string(nil))
	s.do(func() error {
		return s.s.Exclude(ctx, frontier.Exclusion{Kind: contract.ExcludeDomain, Value: "a.example"}, true)
	})
	expect(t, "excluded", read(end), []string{"a.example 2026-01-28 2 true true", "a.example 2026-01-29 1 true true"})
	s.do(func() error {
		return s.s.Exclude(ctx, frontier.Exclusion{Kind: contract.ExcludeDomain, Value: "a.example"}, false)
	})
	expect(t, "allowed again", read(end), []string{"a.example 2026-01-28 2 true false",
		"a.example 2026-01-29 1 true false"})
	seen := map[string]bool{}
	for after, more := int64(0), true; more; {
		p := s.changes(after, 1)
		for _, c := range p.Items {
			seen[c.Domain+c.Partition.Date] = true
		}
		after, more = p.Next, p.More
	}
	expect(t, "in pages of one", len(seen), 3)
}

// changesOnRelease: contracts that were rewritten under a lease come with its end, even when another has the domain
// by then.
func changesOnRelease(t T, db DB) {
	s := newShard(t, db)
	finish := func(owner string, revision int) (released bool) {
		t.Helper()
		s.do(func() (err error) {
			released, err = s.s.Release(ctx, frontier.ReleaseRequest{Domain: "a.example", Owner: owner,
				Changes: []frontier.Change{{Partition: kr, Revision: revision, ChangedAt: s.now, Reachable: true}}})
			return err
		})
		return released
	}
	revisions := func(what string, want ...int) {
		t.Helper()
		var got []int
		for _, c := range s.changes(0, 200).Items {
			got = append(got, c.Revision)
		}
		expect(t, what, got, want)
	}
	s.acquire("a.example", "one", 60)
	expect(t, "released", finish("one", 1), true)
	revisions("with the release", 1)
	s.acquire("a.example", "two", 60)
	expect(t, "released by one who has lost it", finish("one", 2), false)
	revisions("of the one who has lost it", 2)
	expect(t, "the other still has it", s.acquire("a.example", "three", 60).Granted, false)
	expect(t, "released by the other", finish("two", 3), true)
	revisions("of the other", 3)
	expect(t, "it is free", s.acquire("a.example", "three", 60).Granted, true)
}

const feedURL = "https://a.example/feed"

// newFeed is a shard that refreshes, with one feed that was just read.
func newFeed(t T, db DB) *testShard {
	s := newShard(t, db)
	s.local.PerMinute = 60
	s.putIn(kr, "a.example", nil, []frontier.NewEntry{{NewPage: frontier.NewPage{URL: feedURL}, Method: "rss",
		Interval: 7200, ETag: `"1"`, SHA256: digest("1")}})
	return s
}

func refresh(t T, db DB) {
	s := newFeed(t, db)
	expect(t, "too early", len(s.tick()), 0)
	s.wait(2 * 7200_000)
	due := s.tick()
	expect(t, "messages", due, []contract.Refresh{{Domain: "a.example", URL: feedURL, Method: "rss", ETag: `"1"`,
		SHA256: digest("1")[:32], Partition: kr, QueuedAt: s.now}})
	expect(t, "sent once", len(s.tick()), 0)
	r := s.begin(feedURL, "one")
	expect(t, "granted", []any{r.Granted, r.Entry.ETag, r.SHA256, r.Since, r.Host.Host, r.Partition},
		[]any{true, `"1"`, digest("1")[:32], epoch.Millis(noon), "a.example", kr})
	s.wait(1000)
	end := s.end(frontier.RefreshResult{URL: feedURL, Owner: "one", Status: 304,
		Visit: frontier.HostFindings{AskedAt: s.now}})
	expect(t, "unchanged", []any{end.Accepted, end.Changed, end.Interval, end.DueAt},
		[]any{true, false, int64(31_019), s.now + 31_019_000})
	expect(t, "over", s.begin(feedURL, "two").Over, true)
	expect(t, "ended twice", s.end(frontier.RefreshResult{URL: feedURL, Owner: "one", Status: 304}).Accepted, false)
	s.wait(3600_000)
	expect(t, "not due", len(s.tick()), 0)
	for len(s.tick()) == 0 {
		s.wait(60_000)
	}
	s.wait(1000)
	expect(t, "granted again", s.begin(feedURL, "three").Granted, true)
	pages := []frontier.NewPage{{URL: "https://a.example/1", Fresh: true, FoundBy: "feed"},
		{URL: "https://a.example/2", LastMod: s.now.Seconds() - 3600, FoundBy: "feed"},
		{URL: "https://a.example/3", LastMod: noon/1000 - 86_400*9}}
	end = s.end(frontier.RefreshResult{URL: feedURL, Owner: "three", Status: 200, ETag: `"2"`, SHA256: digest("2"),
		Pages: pages, Visit: frontier.HostFindings{AskedAt: s.now}})
	expect(t, "changed", []any{end.Changed, end.Interval, end.Added, end.Announced}, []any{true, int64(22_038), 3, 2})
	expect(t, "in the feed", urlsOf(s.feed(frontier.FeedRequest{}).Items),
		[]string{"https://a.example/1", "https://a.example/2"})
	expect(t, "checks", len(s.state(feedURL).Entry.Checks), 3)
	// A lost refresh is sent again.
	for len(s.tick()) == 0 {
		s.wait(60_000)
	}
	s.wait(901_000)
	expect(t, "sent again", len(s.tick()), 1)
}

func refreshBudget(t T, db DB) {
	s := newShard(t, db)
	s.local.PerMinute, s.local.PerDay = 5, 12
	for i := range 30 {
		host := fmt.Sprintf("a%d.example", i)
		s.putIn(kr, host, nil,
			[]frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://" + host + "/1"}, Method: "rss",
				Interval: 5400},
				{NewPage: frontier.NewPage{URL: "https://" + host + "/2"}, Method: "rss", Interval: 5400}})
	}
	s.wait(7200_000)
	seen := map[string]bool{}
	var sent []int
	for range 4 {
		list := s.tick()
		sent = append(sent, len(list))
		for _, m := range list {
			if seen[m.Domain] {
				t.Errorf("%s twice", m.Domain)
			}
			seen[m.Domain] = true
		}
		s.wait(60_000)
	}
	expect(t, "messages a minute, then no more that day", sent, []int{5, 5, 2, 0})
	expect(t, "stats", s.stats().Refreshed, int64(12))
	s.wait(86_400_000)
	expect(t, "the next day", len(s.tick()), 5)
}

func refreshExcludes(t T, db DB) {
	s := newFeed(t, db)
	s.put("a.example", frontier.NewPage{URL: "https://a.example/page", Priority: 0.9})
	s.wait(7200_000)
	expect(t, "granted", s.begin(feedURL, "one").Granted, true)
	expect(t, "another refresh", s.begin(feedURL, "two").RetryIn > 0, true)
	expect(t, "a scraper", len(s.lease(1).Items), 0)
	s.do(func() error {
		a, err := s.s.Acquire(ctx, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
		// though the refresh has it for 120 s: most end before
		expect(t, "a collector", []any{a.Granted, a.RetryIn}, []any{false, int64(10_000)})
		return err
	})
	s.wait(241_000)
	expect(t, "an end that comes too late", s.end(frontier.RefreshResult{URL: feedURL, Owner: "one",
		Status: 200}).Accepted, false)
	s.do(func() error {
		a, err := s.s.Acquire(ctx, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
		expect(t, "a collector after that", a.Granted, true)
		return err
	})
	expect(t, "a refresh meanwhile", s.begin(feedURL, "three").RetryIn, int64(60_000))
	s.do(func() error {
		_, err := s.s.Release(ctx, frontier.ReleaseRequest{Domain: "a.example", Owner: "c"})
		return err
	})
	s.wait(20_000) // the host was queued for the end of the first refresh, and a little later
	l := s.lease(1)
	expect(t, "a scraper after that", len(l.Items), 1)
	expect(t, "a refresh while a scraper has the host", s.begin(feedURL, "four").RetryIn > 0, true)
	s.put("a.example", frontier.NewPage{URL: "https://a.example/page2", Priority: 0.9})
	s.settle(l, 200)
	s.wait(5000)
	expect(t, "the refresh goes first", len(s.lease(1).Items), 0)
	expect(t, "granted", s.begin(feedURL, "four").Granted, true)
	expect(t, "skipped", s.end(frontier.RefreshResult{URL: feedURL, Owner: "four", Skipped: true}).Accepted, true)
	expect(t, "which stays due", s.begin(feedURL, "five").Granted, true)
	s.end(frontier.RefreshResult{URL: feedURL, Owner: "five", Status: 304,
		Visit: frontier.HostFindings{AskedAt: s.now}})
	s.wait(5000)
	expect(t, "then a scraper", len(s.lease(1).Items), 1)
}

// sentOnce: while the queue is not delivered, an entry point has one message in it.
func sentOnce(t T, db DB) {
	s := newFeed(t, db)
	s.wait(9 * 3600_000)
	began := epoch.Millis(s.now)
	expect(t, "it is due", len(s.tickBehind(0)), 1)
	sent := 0
	for range 11 * 60 {
		s.wait(60_000)
		sent += len(s.tickBehind(began))
		due := s.stats().OldestDue[frontier.EntryLane] // else no alarm says that the queue stands still
		if waits := s.now.Sub(began); due == 0 || s.now.Sub(due) < waits-20*60_000_000_000 {
			t.Fatalf("%v after its message the entry point is said to be due since %d, now %d", waits, due, s.now)
		}
	}
	expect(t, "messages while the queue stands still", sent, 0)
	for range 16 {
		s.wait(60_000)
		sent += len(s.tickBehind(epoch.Millis(s.now - 30_000)))
	}
	expect(t, "the queue moves on, and its message was lost", sent, 1)
	for range 16 {
		s.wait(60_000)
		sent += len(s.tickBehind(0))
	}
	expect(t, "the queue is empty", sent, 2)
	oldest := epoch.Millis(s.now)
	for range 30 * 60 {
		s.wait(60_000)
		sent += len(s.tickBehind(oldest))
	}
	if sent < 4 || sent > 40 {
		t.Errorf("%d messages where the queue stands still for more than a day", sent)
	}
}

func notRefreshed(t T, db DB) {
	s := newFeed(t, db)
	s.wait(7200_000)
	x := frontier.Exclusion{Kind: contract.ExcludeDomain, Value: "a.example"}
	s.do(func() error { return s.s.Exclude(ctx, x, true) })
	expect(t, "an excluded domain", len(s.tick()), 0)
	expect(t, "nothing to do", s.begin(feedURL, "one").Over, true)
	s.do(func() error { return s.s.Exclude(ctx, x, false) })
	s.wait(7 * 3600_000)
	expect(t, "allowed again", len(s.tick()), 1)
	s.wait(901_000)
	until := s.now + 3600_000
	s.do(func() error {
		_, err := s.s.SetHost(ctx, "a.example", frontier.HostChange{BlockUntil: &until})
		return err
	})
	expect(t, "a blocked host", len(s.tick()), 0)
	s.wait(2 * 3600_000)
	expect(t, "not blocked any more", len(s.tick()), 1)
	s.do(func() error {
		return s.s.Exclude(ctx, frontier.Exclusion{Kind: contract.ExcludeURL, Value: "https://a.example/fe*"}, true)
	})
	s.wait(901_000)
	expect(t, "an excluded URL", len(s.tick()), 0)
	s.local.PerMinute = 0
	s.wait(30 * 86_400_000)
	expect(t, "switched off", len(s.tick()), 0)
	s.do(func() error {
		return s.s.Exclude(ctx, frontier.Exclusion{Kind: contract.ExcludeURL, Value: "https://a.example/fe*"}, false)
	})
	expect(t, "scrapers are given it then",
		len(s.request(frontier.LeaseRequest{Max: 1, Kinds: []string{"entry"}}).Items),
		1)
}

// collectDue: a domain that could not be reached is due after 1, 6 and 24 hours, then weekly.
func collectDue(t T, db DB) {
	s := newShard(t, db)
	s.local.PerMinute = 60
	entry := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://a.example/robots.txt"},
		Method: frontier.MethodCollect, Interval: 86_400, Failed: true}
	for _, hours := range []int64{1, 6, 24, 168, 168} {
		s.putIn(kr, "a.example", nil, []frontier.NewEntry{entry})
		s.wait(hours*3600_000 - 1000)
		expect(t, fmt.Sprint("before ", hours, " hours"), len(s.tick()), 0)
		s.wait(hours*450_000 + 1000) // seconds are rounded
		m := s.tick()
		expect(t, fmt.Sprint("after ", hours, " hours"), len(m), 1)
		expect(t, "method", m[0].Method, "collect")
	}
	s.wait(901_000)
	expect(t, "a collection may take long", len(s.tick()), 0)
	s.wait(3600_000)
	expect(t, "sent again", len(s.tick()), 1)
	entry.Failed, entry.Status, entry.SHA256 = false, 200, digest("c")
	s.putIn(kr, "a.example", nil, []frontier.NewEntry{entry})
	expect(t, "reached", s.state(entry.URL).Entry.Failures, 0)
	if _, err := json.Marshal(s.state(entry.URL)); err != nil {
		t.Errorf("%v", err)
	}
}
