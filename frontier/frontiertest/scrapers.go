package frontiertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

func putLeaseReport(t T, db DB) {
	s := newShard(t, db)
	a := s.put("a.example", frontier.NewPage{URL: "https://www.a.example/news/1?id=2", Title: "Title",
		Type: "press_release", Priority: 0.75, LastMod: noon/1000 - 3600})
	expect(t, "verdicts", a, frontier.PutAnswer{Pages: []frontier.Verdict{frontier.Accepted},
		Entries: []frontier.Verdict{}, Added: 1})
	l := s.lease(10)
	if len(l.Items) != 1 {
		t.Fatalf("leased %d items", len(l.Items))
	}
	item := l.Items[0]
	expect(t, "item", item, frontier.Item{ID: item.ID, URL: "https://www.a.example/news/1?id=2", Host: "www.a.example",
		Domain: "a.example", Kind: "page",
		Type: "press_release", Priority: 0.75, Title: "Title", LastMod: noon/1000 - 3600, CrawlDelay: 1000,
		Partition: kr,
		Reason:    "new"})
	expect(t, "expiry", l.ExpiresAt, s.now+60_000)
	expect(t, "while it is leased", len(s.lease(10).Items), 0)
	expect(t, "leased", s.stats().Leased, int64(1))
	expect(t, "report", s.settle(l, 200), frontier.ReportAnswer{Accepted: 1})
	stats := s.stats()
	expect(t, "done, left, leased", []int64{stats.Done, stats.URLs, stats.Leased}, []int64{1, 0, 0})
	s.wait(1_000_000)
	empty := s.lease(10)
	expect(t, "after it was reported", len(empty.Items), 0)
	expect(t, "retry after", empty.RetryAfter, int64(60))
}

func putOnce(t T, db DB) {
	s := newShard(t, db)
	list := pages("a.example", 700, 0.5)
	expect(t, "added", s.put("a.example", list...).Added, 700)
	expect(t, "added again", s.put("a.example", list...).Added, 0)
	expect(t, "by the other scheme", s.put("a.example",
		frontier.NewPage{URL: strings.Replace(list[5].URL, "https:", "http:", 1)}).Pages[0], frontier.Duplicate)
	seen := map[string]bool{}
	for len(seen) < 700 {
		l := s.request(frontier.LeaseRequest{Max: 20, PerHost: 20})
		if len(l.Items) == 0 {
			t.Fatalf("%d of 700 URLs came", len(seen))
		}
		for _, url := range urls(l) {
			if seen[url] {
				t.Errorf("%s came twice", url)
			}
			seen[url] = true
		}
		s.settle(l, 200)
		s.wait(1000)
	}
	expect(t, "added when all are done", s.put("a.example", list...).Added, 0)
	expect(t, "left", s.stats().URLs, int64(0))
}

func verdicts(t T, db DB) {
	s := newShard(t, db)
	long := "https://a.example/" + strings.Repeat("x", frontier.MaxURL)
	var list []frontier.NewPage
	for _, url := range []string{"https://a.example/", "https://a.example/", "http://b.a.example/x",
		"http://b.a.example:8080/x", "ftp://a.example/", "https://a.example/a b", "https://a.example/#x",
		"https://u@a.example/", "https://10.0.0.1/", "https://A.example/", "https://nota.example/", long,
		"https://a.example/\xff", "", "https://a.example/\x00", "https:///x", "https://localhost/",
		"https://a.example:443/?utm_source=x", "HTTPS://a.example"} {
		list = append(list, frontier.NewPage{URL: url})
	}
	bad, foreign, twice := frontier.InvalidURL, frontier.ForeignHost, frontier.Duplicate
	expect(t, "verdicts", s.put("a.example", list...).Pages,
		[]frontier.Verdict{frontier.Accepted, twice, frontier.Accepted, bad, bad, frontier.Accepted, twice,
			bad, bad, twice, foreign, frontier.Trapped, bad, bad, bad, bad, bad, twice, twice})
	s.do(func() error {
		page, err := s.s.Hosts(ctx, frontier.HostsRequest{Limit: 10})
		traps := map[string]int64{}
		for _, h := range page.Hosts {
			traps[h.Host] = h.Traps
		}
		expect(t, "traps by host", traps, map[string]int64{"a.example": 1, "b.a.example": 0})
		return err
	})
}

func oneOfAHost(t T, db DB) {
	s := newShard(t, db)
	for i := range 20 {
		host := fmt.Sprintf("a%d.example", i)
		s.put(host, pages(host, 5, 0.5)...)
	}
	l := s.lease(50)
	hosts := map[string]int{}
	for _, item := range l.Items {
		hosts[item.Host]++
	}
	expect(t, "hosts", len(hosts), 20)
	expect(t, "items", len(l.Items), 20)
}

func severalOfAHost(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 40, 0.5)...)
	l := s.request(frontier.LeaseRequest{Max: 100, PerHost: 5})
	expect(t, "items", len(l.Items), 5)
	s.report(l, frontier.Result{ID: l.Items[0].ID, Status: 200})
	s.wait(5000)
	expect(t, "while four are not reported", len(s.lease(1).Items), 0)
	for _, item := range l.Items[1:] {
		s.report(l, frontier.Result{ID: item.ID, Status: 200})
	}
	expect(t, "at once after that", len(s.lease(1).Items), 0)
	s.wait(1000)
	expect(t, "after the delay", len(s.lease(1).Items), 1)
	// A host that is asked every 20 s gives no more than can be fetched within the lease.
	s.acquire("slow.example", "c", 60)
	s.release("slow.example", "c", frontier.HostFindings{Host: "slow.example", Delay: 20_000})
	s.put("slow.example", pages("slow.example", 40, 0.5)...)
	expect(t, "items of a slow host", len(s.request(frontier.LeaseRequest{Max: 100, PerHost: 5, Seconds: 60}).Items), 3)
}

func fewHosts(t T, db DB) {
	s := newShard(t, db)
	for i := range 6 {
		host := fmt.Sprintf("h%d.example", i)
		s.put(host, pages(host, 5, 0.5)...)
	}
	for _, want := range []struct{ max, hosts, items int }{{100, 2, 6}, {4, 2, 4}, {100, 3, 6}, {100, 1, 0}} {
		l := s.request(frontier.LeaseRequest{Max: want.max, PerHost: 3, MaxHosts: want.hosts})
		hosts := map[string]bool{}
		for _, item := range l.Items {
			hosts[item.Host] = true
		}
		expect(t, fmt.Sprintf("items of %+v", want), len(l.Items), want.items)
		expect(t, fmt.Sprintf("hosts of %+v", want), len(hosts), (want.items+2)/3)
	}
}

func delay(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 5, 0.5)...)
	s.settle(s.lease(1), 200)
	s.wait(999)
	l := s.lease(1)
	expect(t, "1 ms too early", len(l.Items), 0)
	expect(t, "retry after", l.RetryAfter, int64(1))
	s.wait(1)
	expect(t, "in time", len(s.lease(1).Items), 1)
}

func longDelay(t T, db DB) {
	s := newShard(t, db)
	s.acquire("a.example", "c", 60)
	s.release("a.example", "c", frontier.HostFindings{Host: "a.example", Delay: 120_000, AskedAt: s.now})
	s.put("a.example", pages("a.example", 3, 0.5)...)
	for range 2 {
		s.wait(119_999)
		expect(t, "too early", len(s.lease(1).Items), 0)
		s.wait(16_001) // it is looked at by slots of a wait's eighth at most
		l := s.lease(1)
		if len(l.Items) != 1 {
			t.Fatalf("nothing after the delay")
		}
		expect(t, "delay", l.Items[0].CrawlDelay, int64(120_000))
		s.settle(l, 200)
	}
}

// delayChanges: a host keeps the longest delay that anybody read in its robots.txt, a day at most; a setting that was
// raised holds for hosts that are known, and an operator overrules all but that.
func delayChanges(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 9, 0.5)...)
	interval := func() int64 {
		defer s.release("a.example", "c")
		return s.acquire("a.example", "c", 60, "a.example").Hosts[0].Delay
	}
	reported := func(delay int64) {
		t.Helper()
		s.wait(7 * 86_400_000)
		l := s.lease(1)
		if len(l.Items) != 1 {
			t.Fatalf("%d items", len(l.Items))
		}
		s.report(l, frontier.Result{ID: l.Items[0].ID, Status: 200, CrawlDelay: delay})
	}
	reported(30_000)
	expect(t, "a scraper read a Crawl-delay", interval(), int64(30_000))
	reported(20_000)
	expect(t, "another read a shorter one", interval(), int64(30_000))
	s.local.Settings.Delay = 45 * time.Second
	expect(t, "the setting is raised", interval(), int64(45_000))
	s.local.Settings.Delay = 0
	expect(t, "and lowered", interval(), int64(30_000))
	reported(1e12)
	expect(t, "a mistake in robots.txt", interval(), int64(86_400_000))
	s.acquire("a.example", "c", 60)
	s.release("a.example", "c", frontier.HostFindings{Host: "a.example", Delay: 1e12, RobotsExpires: s.now + 1000})
	expect(t, "which a collector reads too", interval(), int64(86_400_000))
	five := int64(5000)
	s.do(func() error {
		_, err := s.s.SetHost(ctx, "a.example", frontier.HostChange{Delay: &five})
		return err
	})
	expect(t, "an operator overrules it", interval(), five)
	s.local.Settings.Delay = 7 * time.Second
	expect(t, "but not the setting", interval(), int64(7000))
}

func retryAfter(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 2, 0.5)...)
	l := s.lease(1)
	s.report(l, frontier.Result{ID: l.Items[0].ID, Status: 429, RetryAfter: 600})
	s.wait(599_999)
	expect(t, "too early", len(s.lease(1).Items), 0)
	s.wait(75_001)
	expect(t, "after it", len(s.lease(1).Items), 1)
	expect(t, "both are still there", s.stats().URLs, int64(2))
}

func slowDown(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 100, 0.5)...)
	interval := func() int64 {
		for range 10_000 {
			if l := s.lease(1); len(l.Items) == 1 {
				s.settle(l, 200)
				return l.Items[0].CrawlDelay
			}
			s.wait(500)
		}
		t.Fatalf("nothing came")
		return 0
	}
	expect(t, "at first", interval(), int64(1000))
	for _, want := range []int64{2000, 4000, 8000} {
		s.wait(20_000)
		l := s.lease(1)
		s.settle(l, 503)
		expect(t, "items of a host that is overloaded", len(s.request(frontier.LeaseRequest{Max: 9, PerHost: 9}).Items),
			0)
		s.wait(want - 1)
		expect(t, "too early", len(s.lease(1).Items), 0)
	}
	var seen []int64
	for range 30 {
		if v := interval(); len(seen) == 0 || seen[len(seen)-1] != v {
			seen = append(seen, v)
		}
	}
	expect(t, "recovery", seen, []int64{8000, 4000, 2000, 1000})
	stats := s.stats()
	expect(t, "nothing is lost", stats.URLs+stats.Done+stats.Leased, int64(100))
}

// failingHost: a host that does not answer, or as a broken server, rests for longer each time, and loses no page.
func failingHost(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 1, 0.5)...)
	for i, wait := range []int64{60_000, 300_000, 1_500_000, 7_200_000, 7_200_000} {
		l := s.lease(1)
		if len(l.Items) != 1 {
			t.Fatalf("attempt %d: nothing", i+1)
		}
		s.settle(l, []int{500, 0, 502, 0, 599}[i])
		s.wait(wait - 1000)
		expect(t, "too early", len(s.lease(1).Items), 0)
		s.wait(wait/2 + 2000)
	}
	stats := s.stats()
	expect(t, "after five attempts", []int64{stats.URLs, stats.Failed, stats.Answers, stats.Faults},
		[]int64{1, 0, 5, 5})
	s.settle(s.lease(1), 200)
	expect(t, "its state", s.state(pages("a.example", 1, 0)[0].URL).State, "fetched")
}

// failingPage: a page for which the server is broken three times, while it answers for others, is given up.
func failingPage(t T, db DB) {
	s := newShard(t, db)
	list := pages("a.example", 60, 0.5)
	s.put("a.example", list...)
	bad, tries := list[0].URL, 0
	for range 100 {
		l := s.lease(1)
		for _, item := range l.Items {
			status := 200
			if item.URL == bad {
				tries++
				status = 500
			}
			s.report(l, frontier.Result{ID: item.ID, Status: status})
		}
		s.wait(600_000)
	}
	stats := s.stats()
	expect(t, "its attempts", tries >= 3 && tries <= 8, true)
	expect(t, "left, fetched, given up", []int64{stats.URLs, stats.Done, stats.Failed}, []int64{0, 59, 1})
	expect(t, "its state", s.state(bad).State, "gone")
}

// noRobots: a page whose robots.txt cannot be read comes back however often, an hour later or when the host says so.
func noRobots(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 2, 0.5)...)
	for range 5 {
		l := s.lease(1)
		expect(t, "leased", len(l.Items), 1)
		s.report(l, frontier.Result{ID: l.Items[0].ID, NoRobots: true})
		s.wait(3_500_000)
		expect(t, "before the hour is over", len(s.lease(1).Items), 0)
		s.wait(700_000)
	}
	l := s.lease(1)
	s.report(l, frontier.Result{ID: l.Items[0].ID, NoRobots: true, RetryAfter: 120})
	s.wait(240_000)
	l = s.lease(1)
	expect(t, "after its Retry-After", len(l.Items), 1)
	s.settle(l, 200)
	stats := s.stats()
	expect(t, "URLs, answers and faults", []int64{stats.URLs, stats.Answers, stats.Faults, stats.Failed},
		[]int64{1, 1, 0, 0})

	s.putIn(kr, "b.example", nil, []frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://b.example/feed"},
		Method: "rss", Interval: 7200}})
	s.wait(8_200_000)
	l = s.request(frontier.LeaseRequest{Max: 1, Kinds: []string{frontier.KindEntry}})
	expect(t, "entry points", urls(l), []string{"https://b.example/feed"})
	s.report(l, frontier.Result{ID: l.Items[0].ID, NoRobots: true})
	if e := s.state("https://b.example/feed"); e.Entry == nil || e.Entry.Failures != 0 || len(e.Entry.Checks) != 0 {
		t.Errorf("the entry point: %+v", e.Entry)
	}
}

func unresolvedHost(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 2, 0.5)...)
	l := s.lease(1)
	s.report(l, frontier.Result{ID: l.Items[0].ID, Unresolved: true})
	s.wait(3_599_999)
	expect(t, "within the hour", len(s.lease(1).Items), 0)
	s.wait(600_000)
	expect(t, "after it", len(s.lease(1).Items), 1)
}

func notFetched(t T, db DB) {
	s := newShard(t, db)
	feed := []frontier.NewEntry{
		{NewPage: frontier.NewPage{URL: "https://b.example/feed"}, Method: "rss", Interval: 7200}}
	list := pages("a.example", 2, 0.5)
	s.put("a.example", list...)
	s.putIn(kr, "b.example", nil, feed)
	for range 5 { // for want of time: that is no attempt
		l := s.request(frontier.LeaseRequest{Max: 2, PerHost: 2})
		expect(t, "given again", len(l.Items), 2)
		s.report(l, frontier.Result{ID: l.Items[0].ID, NotFetched: true},
			frontier.Result{ID: l.Items[1].ID, NotFetched: true})
		s.wait(2000)
	}
	l := s.request(frontier.LeaseRequest{Max: 2, PerHost: 2})
	s.report(l, frontier.Result{ID: l.Items[0].ID, Forbidden: true},
		frontier.Result{ID: l.Items[1].ID, NotFetched: true})
	stats := s.stats()
	expect(t, "one is gone, and no answer counts",
		[]int64{stats.URLs, stats.Failed, stats.Answers, stats.Faults, stats.Leased}, []int64{1, 1, 0, 0, 0})
	expect(t, "the forbidden one does not return", s.state(l.Items[0].URL).State, "gone")

	s.wait(8_200_000)
	entry := frontier.LeaseRequest{Max: 1, Kinds: []string{frontier.KindEntry}}
	l = s.request(entry)
	expect(t, "the entry point is due", len(l.Items), 1)
	s.report(l, frontier.Result{ID: l.Items[0].ID, NotFetched: true})
	s.wait(2000)
	l = s.request(entry)
	expect(t, "the entry point is still due", len(l.Items), 1)
	expect(t, "and was not checked", len(s.state(l.Items[0].URL).Entry.Checks), 0)
}

func expiredLease(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 3, 0.5)...)
	first := s.lease(1)
	s.wait(59_999)
	expect(t, "before it is over", len(s.lease(1).Items), 0)
	s.wait(1001)
	second := s.lease(1)
	expect(t, "in the lease that follows, past the delay", len(second.Items), 1)
	s.settle(second, 200)
	for range 20 { // it costs a page nothing
		s.wait(100_000)
		expect(t, "again", len(s.lease(1).Items), 1)
	}
	s.wait(100_000)
	stats := s.stats()
	expect(t, "nothing is lost", []int64{stats.URLs, stats.Done, stats.Failed, stats.Leased}, []int64{2, 1, 0, 1})
	expect(t, "report of the first", s.settle(first, 200), frontier.ReportAnswer{Unknown: 1})
	expect(t, "which changes nothing", s.stats(), stats)
}

func reportTwice(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 3, 0.5)...)
	s.put("b.example", pages("b.example", 3, 0.5)...)
	mine, other := s.lease(1), s.lease(1)
	foreign := frontier.Result{ID: other.Items[0].ID, Status: 200}
	expect(t, "an item of another lease", s.report(mine, foreign), frontier.ReportAnswer{Unknown: 1})
	expect(t, "what is no id", s.report(mine, frontier.Result{ID: "x", Status: 200}), frontier.ReportAnswer{Unknown: 1})
	expect(t, "what is no URL", s.report(mine, frontier.Result{ID: mine.Items[0].ID[:11] + "000000000000"}),
		frontier.ReportAnswer{Unknown: 1})
	expect(t, "what is no lease", s.report(frontier.Lease{ID: "zzzzzzzzzzz"}, foreign),
		frontier.ReportAnswer{Unknown: 1})
	expect(t, "nothing happened", s.stats().Leased, int64(2))
	result := frontier.Result{ID: mine.Items[0].ID, Status: 200,
		Found: []frontier.FoundURL{{NewPage: frontier.NewPage{URL: "https://" + mine.Items[0].Host + "/found"}}}}
	expect(t, "report", s.report(mine, result, result), frontier.ReportAnswer{Accepted: 2, Added: 1})
	before := s.stats()
	expect(t, "again", s.report(mine, result), frontier.ReportAnswer{Accepted: 1})
	expect(t, "which changes nothing", s.stats(), before)
	s.wait(60_000)
	expect(t, "late", s.report(other, foreign), frontier.ReportAnswer{Late: 1})
	expect(t, "which counts", s.stats().Done, int64(2))
	s.put("c.example", pages("c.example", 500, 0.5)...) // so many that most of what was seen is in chunks
	s.wait(60_000)
	l := s.lease(3)
	at := slices.IndexFunc(l.Items, func(i frontier.Item) bool { return i.Host == "c.example" })
	result = frontier.Result{ID: l.Items[at].ID, Status: 200}
	expect(t, "twice in one report", s.report(l, result, result, result), frontier.ReportAnswer{Accepted: 3})
	expect(t, "which counts once", s.stats().Done, int64(3))
}

// reportForged: numbers of leases, ids of hosts and hashes of paths can be guessed; what the shard adds to them
// cannot.
func reportForged(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 5, 0.5)...)
	s.put("b.example", pages("b.example", 5, 0.5)...)
	mine, other := s.lease(1), s.lease(1)
	number, _, _ := strings.Cut(other.ID, "-")
	ends := strings.LastIndexByte(other.Items[0].ID, '-')
	item, mineTag := other.Items[0].ID[:ends], mine.Items[0].ID[ends:]
	found := []frontier.FoundURL{{NewPage: frontier.NewPage{URL: "https://" + other.Items[0].Host + "/found"}}}
	before := s.stats()
	for name, forged := range map[string]struct{ lease, item string }{
		"a number":                       {number, other.Items[0].ID},
		"a number and item by hashes":    {number, item},
		"another seal":                   {number + mine.ID[strings.IndexByte(mine.ID, '-'):], other.Items[0].ID},
		"a seal that is cut":             {other.ID[:len(other.ID)-1], other.Items[0].ID},
		"an item without its seal":       {other.ID, item},
		"an item with another's seal":    {other.ID, item + mineTag},
		"an item of another lease":       {mine.ID, other.Items[0].ID},
		"an item in an earlier spelling": {mine.ID, strings.ToUpper(mine.Items[0].ID)},
	} {
		for _, r := range []frontier.Result{{Status: 404}, {NoRobots: true, RetryAfter: 3600},
			{Status: 200, Found: found}} {
			r.ID = forged.item
			expect(t, name, s.report(frontier.Lease{ID: forged.lease}, r), frontier.ReportAnswer{Unknown: 1})
		}
	}
	expect(t, "nothing happened", s.stats(), before)
	// What a repeated report found on another shard counts only if the lease held the item.
	s.report(mine, frontier.Result{ID: mine.Items[0].ID, Status: 200})
	var answer frontier.ReportAnswer
	s.do(func() (err error) {
		answer, err = s.s.Report(ctx, frontier.Report{Lease: mine.ID, Partitions: true, Results: []frontier.Result{
			{ID: mine.Items[0].ID, Status: 200}, {ID: item + mineTag, Status: 200}}})
		return err
	})
	expect(t, "repeated", []int{answer.Accepted, answer.Unknown}, []int{1, 1})
	expect(t, "its partition", answer.Partitions[0].Validate("") == nil, true)
	expect(t, "that of an item it never held", answer.Partitions[1], contract.Partition{})
}

// foreignURLs: any page can link to another site, with any words. What it names is announced once it was fetched, or
// by the site itself, and never displaces what the site named.
func foreignURLs(t T, db DB) {
	s := newShard(t, db)
	s.local.URLsPerDomain = 10
	today := s.now.Seconds()
	s.put("a.example", pages("a.example", 1, 0.5)...)
	s.put("victim.example", pages("victim.example", 10, 0.4)...)
	feed := func() (titles []string) {
		t.Helper()
		var page frontier.FeedPage
		s.do(func() (err error) {
			page, err = s.s.Feed(ctx, frontier.FeedRequest{Limit: 200})
			return err
		})
		for _, i := range page.Items {
			titles = append(titles, i.URL+" "+i.Title)
		}
		return titles
	}
	forged := func(n int) frontier.FoundURL {
		return frontier.FoundURL{Domain: "victim.example",
			NewPage: frontier.NewPage{Type: "press_release", LastMod: today,
				URL: fmt.Sprintf("https://victim.example/newsroom/%d", n), Title: "forged", Priority: 0.84}}
	}
	lease := func(host string) (frontier.Lease, frontier.Item) {
		t.Helper()
		for range 100 {
			s.wait(60_000)
			for _, l := range []frontier.Lease{s.request(frontier.LeaseRequest{Max: 1})} {
				if len(l.Items) > 0 && strings.HasPrefix(l.Items[0].URL, host) {
					return l, l.Items[0]
				}
				s.settle(l, 200)
			}
		}
		t.Fatalf("%s is never leased", host)
		return frontier.Lease{}, frontier.Item{}
	}
	l, item := lease("https://a.example/")
	var found []frontier.FoundURL
	for n := range 600 {
		found = append(found, forged(n))
	}
	s.report(l, frontier.Result{ID: item.ID, Status: 200, Found: found})
	expect(t, "announced of what strangers name", len(feed()), 0)
	expect(t, "the site's own pages", s.state(pages("victim.example", 10, 0.4)[9].URL).State == "due", true)

	// One that the site itself names is announced by that, with its own title.
	own := forged(3).NewPage
	own.Title = "true"
	s.put("victim.example", own)
	expect(t, "named by the site", feed(), []string{"https://victim.example/newsroom/3 true"})

	// Others are announced when they were fetched.
	s.local.URLsPerDomain = 1000
	s.put("b.example", pages("b.example", 1, 0.5)...)
	l, item = lease("https://b.example/")
	found = []frontier.FoundURL{forged(700), forged(701)}
	s.report(l, frontier.Result{ID: item.ID, Status: 200, Found: found})
	expect(t, "before they are fetched", len(feed()), 1)
	for range 2 {
		l, item = lease("https://victim.example/newsroom/70")
		status := 200
		if strings.HasSuffix(item.URL, "701") {
			status = 404
		}
		s.report(l, frontier.Result{ID: item.ID, Status: status})
	}
	expect(t, "after one was there, and one was not", feed(), []string{"https://victim.example/newsroom/3 true",
		"https://victim.example/newsroom/700 "})
	s.put("victim.example", forged(700).NewPage)
	expect(t, "it is announced once", len(feed()), 2)

	// Some sites answer whatever they are asked with 200 and one text, which does not make it a page of theirs.
	s.put("c.example", pages("c.example", 1, 0.5)...)
	l, item = lease("https://c.example/")
	s.report(l, frontier.Result{ID: item.ID, Status: 200,
		Found: []frontier.FoundURL{forged(710), forged(711), forged(712), forged(713)}})
	for range 4 {
		l, item = lease("https://victim.example/newsroom/71")
		s.report(l, frontier.Result{ID: item.ID, Status: 200, TextSHA256: digest("not found")})
	}
	expect(t, "announced of what has one text", len(feed()), 3)

	// No domain fills the feed.
	s.local.Announcements = 5
	for n := range 20 {
		s.put("victim.example", forged(800+n).NewPage)
	}
	expect(t, "announcements of a day", len(feed()), 5)
	expect(t, "withheld", s.stats().Withheld, int64(18))
	s.wait(86_400_000)
	today = s.now.Seconds()
	s.put("victim.example", forged(900).NewPage)
	expect(t, "the day after", len(feed()), 6)
}

func foundURLs(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", pages("a.example", 1, 0.5)...)
	l := s.lease(1)
	found := func(url, domain string) frontier.FoundURL {
		return frontier.FoundURL{NewPage: frontier.NewPage{URL: url, Priority: 0.9}, Domain: domain}
	}
	a := s.report(l, frontier.Result{ID: l.Items[0].ID, Status: 200, RedirectedTo: "https://a.example/final",
		Found: []frontier.FoundURL{
			found("https://a.example/1", ""), found("https://www.a.example/2", "a.example"),
			found("https://b.example/3", "b.example"),
			found("https://c.example/4", ""), found(l.Items[0].URL, ""), found("https://a.example/final", ""),
			found("nonsense", "no domain"),
		}})
	expect(t, "report", a, frontier.ReportAnswer{Accepted: 1, Added: 3})
	expect(t, "found", s.found, frontier.FoundCounts{Added: 3, Known: 2, Invalid: 2})
	s.wait(1000)
	got := s.lease(10)
	list := urls(got)
	slices.Sort(list)
	expect(t, "leased", list, []string{"https://a.example/1", "https://b.example/3", "https://www.a.example/2"})
	expect(t, "partition", got.Items[0].Partition, kr)
}

func bands(t T, db DB) {
	s := newShard(t, db)
	for band, priority := range []float64{0.9, 0.7, 0.5, 0.1} {
		for i := range 60 {
			host := fmt.Sprintf("b%d-%d.example", band, i)
			s.put(host, pages(host, 1, priority)...)
		}
	}
	count := func(items []frontier.Item) (n [4]int) {
		for _, item := range items {
			n[item.Host[1]-'0']++
		}
		return n
	}
	expect(t, "a lease of 45", count(s.lease(45).Items), [4]int{24, 12, 6, 3})
	var items []frontier.Item
	for range 15 {
		items = append(items, s.lease(1).Items...)
	}
	expect(t, "15 leases of one", count(items), [4]int{8, 4, 2, 1})
	expect(t, "the others", len(s.lease(500).Items), 180)
}

func bandsOfHost(t T, db DB) {
	s := newShard(t, db)
	var list []frontier.NewPage
	for i, priority := range []float64{0.9, 0.7, 0.5, 0.1} {
		for k := range 100 {
			list = append(list,
				frontier.NewPage{URL: fmt.Sprintf("https://one.example/%d/%d", i, k), Priority: priority})
		}
	}
	s.put("one.example", list...)
	var n [4]int
	for range 30 {
		l := s.lease(1)
		for _, item := range l.Items {
			n[item.URL[len("https://one.example/")]-'0']++
		}
		s.settle(l, 200)
		s.wait(1000)
	}
	expect(t, "pages of each band in 30 leases", n, [4]int{16, 8, 4, 2})
}

func urgentMoves(t T, db DB) {
	s := newShard(t, db)
	for i := range 40 {
		host := fmt.Sprintf("a%d.example", i)
		s.put(host, pages(host, 3, 0.1)...)
	}
	s.put("a39.example", frontier.NewPage{URL: "https://a39.example/urgent", Priority: 1})
	l := s.lease(1)
	expect(t, "first", urls(l), []string{"https://a39.example/urgent"})
	s.settle(l, 200)
	s.wait(1000)
	seen := map[string]bool{}
	for _, item := range s.lease(100).Items {
		if seen[item.Host] {
			t.Errorf("%s came twice", item.Host)
		}
		seen[item.Host] = true
	}
	expect(t, "hosts after that", len(seen), 40)
}

func ages(t T, db DB) {
	s := newShard(t, db)
	s.put("a.example", frontier.NewPage{URL: "https://a.example/new", Priority: 0.85, LastMod: noon / 1000})
	s.put("b.example", frontier.NewPage{URL: "https://b.example/undated", Priority: 0.75})
	s.wait(200 * 86_400_000)
	got := map[string]float64{}
	for _, item := range s.lease(2).Items {
		got[item.Host] = item.Priority
	}
	expect(t, "priorities", got, map[string]float64{"a.example": 0.73, "b.example": 0.75})
}

func filters(t T, db DB) {
	s := newShard(t, db)
	sg := contract.Partition{Country: "sg", Category: "gov", Date: "2026-01-29"}
	for i := range 300 {
		host, p := fmt.Sprintf("a%d.example", i), kr
		if i%100 == 0 {
			p = sg
		}
		list := pages(host, 30, 0.5)
		for k := range list {
			if i%50 == 0 && k == 29 {
				list[k].Type = "policy" // deep in the queue of its host
			}
		}
		s.putIn(p, host, append(list, pages(host, 60, 0.5)[30:]...), nil)
	}
	l := s.request(frontier.LeaseRequest{Max: 50, Country: "sg"})
	expect(t, "of a country", len(l.Items), 3)
	for _, item := range l.Items {
		expect(t, "partition", item.Partition, sg)
	}
	s.settle(l, 200)
	l = s.request(frontier.LeaseRequest{Max: 50, Types: []string{"policy", "faq"}})
	expect(t, "of a type", len(l.Items), 3) // three hosts wait for their delay
	for _, item := range l.Items {
		expect(t, "type", item.Type, "policy")
	}
	s.settle(l, 200)
	s.wait(1000)
	l = s.request(frontier.LeaseRequest{Max: 50, Types: []string{"policy"}, Category: "gov"})
	expect(t, "of a type and category", len(l.Items), 3)
	s.settle(l, 200)
	s.wait(1000)
	expect(t, "of a type that is no more", len(s.request(frontier.LeaseRequest{Max: 50,
		Types: []string{"policy"}}).Items), 0)
	expect(t, "of another country", len(s.request(frontier.LeaseRequest{Max: 50, Country: "us"}).Items), 0)
	expect(t, "all others", len(s.lease(500).Items), 300)

	// A host of two partitions serves both.
	s.putIn(sg, "two.example", []frontier.NewPage{{URL: "https://two.example/sg"}}, nil)
	s.putIn(kr, "two.example", []frontier.NewPage{{URL: "https://two.example/kr"}}, nil)
	expect(t, "of one partition", urls(s.request(frontier.LeaseRequest{Max: 5, Country: "sg"})),
		[]string{"https://two.example/sg"})
}

func fairHosts(t T, db DB) {
	s := newShard(t, db)
	s.put("big.example", pages("big.example", 500, 0.5)...)
	for i := range 9 {
		host := fmt.Sprintf("a%d.example", i)
		s.put(host, pages(host, 10, 0.5)...)
	}
	n := map[string]int{}
	for range 50 {
		l := s.lease(1)
		for _, item := range l.Items {
			n[item.Host]++
		}
		s.settle(l, 200)
		s.wait(1000)
	}
	for host, got := range n {
		if got < 4 || got > 6 {
			t.Errorf("%s was asked %d times of 50: %v", host, got, n)
		}
	}
}

func hostsAtOnce(t T, db DB) {
	s := newShard(t, db)
	var list []frontier.NewPage
	for i := range 30 {
		list = append(list, pages(fmt.Sprintf("h%d.a.example", i), 3, 0.5)...)
	}
	s.put("a.example", list...)
	s.put("b.example", pages("b.example", 1, 0.5)...)
	seen := map[string]bool{}
	for round := range 200 {
		l := s.lease(500)
		if round == 0 {
			expect(t, "hosts at once", len(l.Items), 5)
		}
		ofA := 0
		for _, item := range l.Items {
			if item.Domain == "a.example" {
				ofA++
			}
			if seen[item.URL] {
				t.Errorf("%s came twice", item.URL)
			}
			seen[item.URL] = true
		}
		if ofA > 4 {
			t.Fatalf("%d hosts of one domain at once", ofA)
		}
		if len(l.Items) > 0 {
			again := s.lease(500)
			if len(again.Items) > 0 && ofA == 4 {
				t.Fatalf("a fifth host of the domain: %v", urls(again))
			}
			if round%3 == 0 { // lost
				s.wait(61_000)
				for _, item := range l.Items {
					delete(seen, item.URL)
				}
			} else {
				s.settle(l, 200)
			}
			s.settle(again, 200)
			for _, item := range again.Items {
				seen[item.URL] = true
			}
		}
		s.wait(1000)
		if s.stats().URLs == 0 {
			break
		}
	}
	stats := s.stats()
	expect(t, "all came to an end", []int64{stats.URLs, stats.Leased, stats.Done + stats.Failed}, []int64{0, 0, 91})
}

func wrongRequests(t T, db DB) {
	s := newShard(t, db)
	for what, f := range map[string]func() error{
		"max": func() error {
			_, err := s.s.Lease(ctx, frontier.LeaseRequest{Max: 0, Seconds: 60})
			return err
		},
		"lease_seconds": func() error {
			_, err := s.s.Lease(ctx, frontier.LeaseRequest{Max: 1, Seconds: 9})
			return err
		},
		"per_host": func() error {
			_, err := s.s.Lease(ctx, frontier.LeaseRequest{Max: 1, Seconds: 60, PerHost: 21})
			return err
		},
		"max_hosts": func() error {
			_, err := s.s.Lease(ctx, frontier.LeaseRequest{Max: 1, Seconds: 60, MaxHosts: 501})
			return err
		},
		"types": func() error {
			_, err := s.s.Lease(ctx, frontier.LeaseRequest{Max: 1, Seconds: 60, Types: []string{"x"}})
			return err
		},
		"kinds": func() error {
			_, err := s.s.Lease(ctx, frontier.LeaseRequest{Max: 1, Seconds: 60, Kinds: []string{"x"}})
			return err
		},
		"domain":    func() error { _, err := s.s.Put(ctx, frontier.Put{Domain: "x", Partition: kr}); return err },
		"partition": func() error { _, err := s.s.Put(ctx, frontier.Put{Domain: "a.example"}); return err },
		"status": func() error {
			_, err := s.s.Report(ctx, frontier.Report{Results: []frontier.Result{{Status: 42}}})
			return err
		},
		"retry_after": func() error {
			_, err := s.s.Report(ctx, frontier.Report{Results: []frontier.Result{{RetryAfter: -1}}})
			return err
		},
		"owner": func() error {
			_, err := s.s.Acquire(ctx, frontier.AcquireRequest{Domain: "a.example", Seconds: 1})
			return err
		},
		"hosts": func() error {
			_, err := s.s.Acquire(ctx, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 1,
				Hosts: []string{"b.example"}})
			return err
		},
		"seconds": func() error { _, err := s.s.Renew(ctx, "a.example", "c", 0); return err },
		"limit":   func() error { _, err := s.s.Hosts(ctx, frontier.HostsRequest{}); return err },
		"cursor": func() error {
			_, err := s.s.Hosts(ctx, frontier.HostsRequest{Limit: 1, Cursor: "x"})
			return err
		},
		"url":       func() error { _, err := s.s.URL(ctx, "x"); return err },
		"exclusion": func() error { return s.s.Exclude(ctx, frontier.Exclusion{Kind: "x", Value: "a.example"}, true) },
	} {
		expectInvalid(t, what, db.Transaction(f))
	}
}

func large(t T, db DB) {
	s := newShard(t, db)
	var list []frontier.NewPage
	for i := range frontier.MaxPut {
		list = append(list, frontier.NewPage{URL: fmt.Sprintf("https://a.example/%s/%d", strings.Repeat("x", 1900), i),
			Title: strings.Repeat("제", 100)})
	}
	expect(t, "added", s.put("a.example", list...).Added, frontier.MaxPut)
	l := s.request(frontier.LeaseRequest{Max: 20, PerHost: 20})
	expect(t, "leased", len(l.Items), 20)
	expect(t, "title", l.Items[0].Title, strings.Repeat("제", 66))
	for _, item := range l.Items {
		s.report(l, frontier.Result{ID: item.ID, Status: 429})
	}
	expect(t, "left", s.stats().URLs, int64(frontier.MaxPut))
}
