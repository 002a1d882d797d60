package frontiertest

import (
	"fmt"

	"github.com/newsfork/seed-engine/frontier"
)

func putAll(t T, db DB) {
	s := newShard(t, db)
	var all frontier.PutAll
	for i := range 30 {
		domain := fmt.Sprintf("a%d.example", i%20)
		all.Puts = append(all.Puts, frontier.Put{Domain: domain, Partition: kr, Pages: pages(domain, 1+i%3, 0.5)})
	}
	for round := range 2 {
		s.do(func() error {
			answers, err := s.s.PutAll(ctx, all)
			if err == nil && len(answers) != 30 {
				t.Fatalf("%d answers", len(answers))
			}
			for i, a := range answers {
				want := 1 + i%3
				if first := 1 + (i-20)%3; i >= 20 {
					want = max(0, want-first) // after the first put of the domain
				}
				if round > 0 {
					want = 0
				}
				expect(t, fmt.Sprintf("put %d of round %d", i, round), a.Added, want)
			}
			return err
		})
	}
	all.Puts[29].Domain = "x"
	expectInvalid(t, "one that is wrong", db.Transaction(func() error {
		_, err := s.s.PutAll(ctx, all)
		return err
	}))
	expect(t, "hosts", s.stats().Hosts, int64(20))
}

// ranked makes pages whose priorities go from 0 up by thousandths.
func ranked(host string, from, to int) (list []frontier.NewPage) {
	for i := from; i < to; i++ {
		list = append(list, frontier.NewPage{URL: fmt.Sprintf("https://%s/ranked/%d", host, i),
			Priority: float64(i) / 1000})
	}
	return list
}

func count(list []frontier.Verdict, v frontier.Verdict) (n int) {
	for _, got := range list {
		if got == v {
			n++
		}
	}
	return n
}

func bestOfDomain(t T, db DB) {
	s := newShard(t, db)
	s.local.Settings.URLsPerDomain = 500
	expect(t, "of 700", s.put("a.example", ranked("a.example", 0, 700)...).Added, 500)
	// those below were refused
	for i, want := range map[int]string{0: "unknown", 199: "unknown", 200: "due", 699: "due"} {
		expect(t, fmt.Sprint("state of page ", i), s.state(fmt.Sprintf("https://a.example/ranked/%d", i)).State, want)
	}
	expect(t, "the same again", s.put("a.example", ranked("a.example", 0, 700)...).Added, 0)
	a := s.put("a.example", append(ranked("a.example", 800, 900), ranked("a.example", 100, 200)...)...)
	expect(t, "better ones", count(a.Pages[:100], frontier.Accepted), 100)
	expect(t, "worse ones", count(a.Pages[100:], frontier.DomainFull), 100)
	expect(t, "those for which they made room", []string{s.state("https://a.example/ranked/299").State,
		s.state("https://a.example/ranked/300").State}, []string{"known", "due"})
	expect(t, "pages", s.stats().URLs, int64(500))
	expect(t, "of the same score", s.put("a.example",
		frontier.NewPage{URL: "https://a.example/same", Priority: 0.3}).Pages, []frontier.Verdict{frontier.DomainFull})
	expect(t, "of another domain", s.put("b.example", ranked("b.example", 0, 300)...).Added, 300)

	// Fetched pages free space for those that were refused.
	for range 10 {
		s.settle(s.request(frontier.LeaseRequest{Max: 20, PerHost: 20}), 200)
		s.wait(1000)
	}
	expect(t, "put when there is room", s.put("a.example", ranked("a.example", 100, 200)...).Added, 100)
	seen := map[string]bool{}
	for range 100 {
		l := s.request(frontier.LeaseRequest{Max: 40, PerHost: 20})
		for _, url := range urls(l) {
			if seen[url] {
				t.Errorf("%s came twice", url)
			}
			seen[url] = true
		}
		s.settle(l, 200)
		s.wait(1000)
	}
	stats := s.stats()
	expect(t, "left, fetched", []int64{stats.URLs, stats.Done}, []int64{0, 900})
}

// newestOfEquals: of pages of one score the newest stay, then those that were put first.
func newestOfEquals(t T, db DB) {
	s := newShard(t, db)
	s.local.Settings.URLsPerDomain = 500
	alike := make([]frontier.NewPage, 700)
	for i := range alike {
		alike[i] = frontier.NewPage{URL: fmt.Sprintf("https://c.example/alike/%d", i), Priority: 0.5,
			LastMod: s.now.Seconds() - 9*86_400}
		if i >= 600 {
			alike[i].LastMod += 86_400
		}
	}
	got := s.put("c.example", alike...).Pages
	expect(t, "the first, the last, the newer of equals",
		[]int{count(got[:400], frontier.Accepted), count(got[400:600], frontier.Accepted),
			count(got[600:], frontier.Accepted)}, []int{400, 0, 100})
}

func bestOfHosts(t T, db DB) {
	s := newShard(t, db)
	s.local.Settings.URLsPerDomain = 500
	for i := range 5 {
		host := fmt.Sprintf("h%d.a.example", i)
		expect(t, "added", s.put("a.example", ranked(host, 0, 100)...).Added, 100)
	}
	l := s.request(frontier.LeaseRequest{Max: 4}) // leased ones stay
	added := s.put("a.example", ranked("www.a.example", 500, 600)...).Added
	expect(t, "of a host that is new, which takes the place of another's", added == 99 || added == 100, true)
	expect(t, "pages", s.stats().URLs, int64(500))
	expect(t, "worse ones", s.put("a.example", ranked("worse.a.example", 0, 1)...).Pages,
		[]frontier.Verdict{frontier.DomainFull})
	expect(t, "report", s.settle(l, 200), frontier.ReportAnswer{Accepted: 4})
	for range 300 {
		s.settle(s.request(frontier.LeaseRequest{Max: 100, PerHost: 20}), 200)
		s.wait(1000)
	}
	stats := s.stats()
	expect(t, "left, fetched", []int64{stats.URLs, stats.Done}, []int64{0, 500})
	s.do(func() error {
		_, err := s.s.PutAll(ctx, frontier.PutAll{Puts: []frontier.Put{
			{Domain: "b.example", Partition: kr, Pages: ranked("x.b.example", 0, 400)},
			{Domain: "b.example", Partition: kr, Pages: ranked("y.b.example", 0, 400)}}})
		return err
	})
	expect(t, "pages of two puts at once", s.stats().URLs, int64(500))
}
