package shard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/frontiertest"
)

// state returns the state of a URL.
func (w *world) state(url string) (state frontier.URLState) {
	w.Helper()
	w.do(func() (err error) {
		state, err = w.shard.URL(w.now, url)
		return err
	})
	return state
}

// verdicts puts pages in some way, and returns what became of each.
func (w *world) verdicts(p frontier.Put) []frontier.Verdict {
	w.Helper()
	var answer frontier.PutAnswer
	p.Partition = partition
	w.do(func() (err error) {
		answer, err = w.shard.Put(w.now, p)
		return err
	})
	return answer.Pages
}

func (w *world) setHost(host string, change frontier.HostChange) {
	w.Helper()
	w.do(func() error {
		found, err := w.shard.SetHost(w.now, host, change)
		if err == nil && !found {
			w.Errorf("there is no %s", host)
		}
		return err
	})
}

// TestRefetch: an operator brings back pages that were fetched or are gone, before better ones, and their next fetch
// knows of the last.
func TestRefetch(t *testing.T) {
	s := newSite(t)
	pages := frontiertest.Articles("a.example", 0, 3)
	s.put("a.example", pages)
	s.scrape(hour, func(url string) int {
		return map[bool]int{true: 404, false: 200}[url == pages[1].URL]
	})
	better := frontiertest.Articles("a.example", 10, 500)
	for i := range better {
		better[i].Priority = 1
	}
	s.put("a.example", better)
	for i := range pages {
		pages[i].Refetch, pages[i].Priority = true, 0.1
	}
	got := s.verdicts(frontier.Put{Domain: "a.example", Pages: pages})
	if fmt.Sprint(got) != "[accepted accepted accepted]" {
		t.Fatal(got)
	}
	if got := s.verdicts(frontier.Put{Domain: "a.example", Pages: pages}); fmt.Sprint(got) !=
		"[duplicate duplicate duplicate]" {
		t.Errorf("again: %v", got)
	}
	seen := map[string]frontier.Item{}
	for range 200 {
		l, _ := s.lease(frontier.LeaseRequest{Max: 20, PerHost: 20})
		for _, item := range l.Items {
			seen[item.URL] = item
		}
		s.report(l, 200)
		s.now += 2000
	}
	for i, want := range []string{"requested 1", "requested 0", "requested 1"} {
		item := seen[pages[i].URL]
		if got := fmt.Sprint(item.Reason, " ", item.Visits); got != want {
			t.Errorf("%s: %s, want %s", pages[i].URL, got, want)
		}
	}
	s.invariants()
}

// TestRefetch_OneTooMany: a page that found no place, or lost it, is fetched before better ones when operators ask for
// it, as is one that nobody had named.
func TestRefetch_OneTooMany(t *testing.T) {
	s := newSite(t)
	list := frontiertest.Articles("a.example", 0, 503)
	for i := range list {
		list[i].Priority = 1
	}
	list[0].Priority, list[501].Priority, list[502].Priority = 0.2, 0.1, 0.1
	s.put("a.example", list[:1])
	if got := s.verdicts(frontier.Put{Domain: "a.example", Pages: list[1:502]})[500]; got != frontier.DomainFull {
		t.Fatal(got)
	}
	asked := []frontier.NewPage{list[0], list[501], list[502]}
	for i := range asked {
		asked[i].Refetch = true
	}
	if got := fmt.Sprint(s.verdicts(frontier.Put{Domain: "a.example", Pages: asked})); got !=
		"[accepted accepted accepted]" {
		t.Error(got)
	}
	for _, page := range asked {
		if state := s.state(page.URL); state.Reason != "requested" {
			t.Errorf("%s: %+v", page.URL, state)
		}
	}
	s.scrape(2*hour, always(200))
	s.expectAll("in the end", 500)
}

// TestRefetch_Waiting: a page that waits already is fetched before better ones when operators ask for it, wherever in
// the queue it is and whatever it waits for, and once.
func TestRefetch_Waiting(t *testing.T) {
	s := newSite(t)
	s.shard.Settings.URLsPerDomain = 5000
	list := frontiertest.Articles("a.example", 0, 3000)
	for i := range list {
		list[i].Priority = []float64{1, 0.7, 0.5}[i%3]
	}
	asked := []frontier.NewPage{list[2], list[1501], list[2999]}
	s.put("a.example", list[2:3])
	refused, _ := s.lease(frontier.LeaseRequest{Max: 1})
	s.report(refused, 403) // it comes back in an hour
	s.put("a.example", list)
	s.now += 10_000
	leased, _ := s.lease(frontier.LeaseRequest{Max: 1})
	if len(leased.Items) != 1 {
		t.Fatal("nothing is leased")
	}
	for i := range asked {
		asked[i].Refetch, asked[i].Priority = true, 0.1
	}
	asked = append(asked, frontier.NewPage{URL: leased.Items[0].URL, Refetch: true})
	before := s.stats()
	if got := fmt.Sprint(s.verdicts(frontier.Put{Domain: "a.example", Pages: append(asked, asked[0])})); got !=
		"[accepted accepted accepted duplicate duplicate]" {
		t.Errorf("the first time: %s", got)
	}
	if got := fmt.Sprint(s.verdicts(frontier.Put{Domain: "a.example", Pages: asked})); got !=
		"[duplicate duplicate duplicate duplicate]" {
		t.Errorf("the second time: %s", got)
	}
	s.invariants()
	if after := s.stats(); after.URLs != before.URLs {
		t.Errorf("%d pages wait, %d before", after.URLs, before.URLs)
	}
	s.report(leased, 200)
	given := map[string]int{}
	for range 300 {
		s.now += 5000
		l, _ := s.lease(frontier.LeaseRequest{Max: 20, PerHost: 20})
		for _, item := range l.Items {
			given[item.URL] = len(given)
			if requested := item.Reason == "requested"; requested != (len(given) <= 3) {
				t.Errorf("%s is given as the %d., with reason %s", item.URL, len(given), item.Reason)
			}
		}
		s.report(l, 200)
	}
	if stats := s.stats(); len(given) != 2999 || stats.URLs != 0 {
		t.Errorf("%d pages were given, %d wait", len(given), stats.URLs)
	}
	s.invariants()
}

// TestRemove: what is taken out does not come, from the queue, from the schedule, or by another put without a newer
// date.
func TestRemove(t *testing.T) {
	s := newSite(t)
	s.shard.Settings.VisitsPerDay = 1000
	pages := frontiertest.Articles("a.example", 0, 40)
	s.put("a.example", pages)
	s.put("b.example", frontiertest.Articles("b.example", 0, 1))
	l, _ := s.lease(frontier.LeaseRequest{Max: 10, PerHost: 10})
	leased := map[string]bool{}
	for _, item := range l.Items {
		leased[item.URL] = true
	}
	s.report(frontier.Lease{ID: l.ID, Items: l.Items[:2]}, 200) // on schedule
	urls := append([]frontier.NewPage{{URL: "https://never.a.example/"}, {URL: "https://a.example/never"},
		{URL: "mailto:x"},
		{URL: "https://b.example/news/0"}}, pages...)
	got := s.verdicts(frontier.Put{Domain: "a.example", Pages: urls, Remove: true})
	counts := map[frontier.Verdict]int{}
	for i, v := range got {
		if counts[v]++; i >= 4 && v == frontier.InLease && !leased[urls[i].URL] {
			t.Errorf("%s is not leased", urls[i].URL)
		}
	}
	if counts[frontier.UnknownURL] != 3 || counts[frontier.InvalidURL] != 1 ||
		counts[frontier.InLease]+counts[frontier.Removed] != 40 || counts[frontier.Removed] < 30 {
		t.Errorf("%v", counts)
	}
	s.report(frontier.Lease{ID: l.ID, Items: l.Items[2:]}, 200)
	s.invariants()
	s.put("a.example", pages)
	before := len(s.fetched)
	s.scrape(24*hour, always(200))
	for url := range s.fetched {
		if !leased[url] && !strings.Contains(url, "b.example") {
			t.Errorf("%s was fetched", url)
		}
	}
	_ = before
	for i := range pages {
		pages[i].LastMod = s.now.Seconds()
	}
	s.put("a.example", pages[20:25])
	s.scrape(hour, always(200))
	if len(s.fetched) < 5 {
		t.Errorf("%d pages with newer dates", len(s.fetched))
	}
	s.invariants()
}

// TestForget: a host that is forgotten is fetched again, but not what a scraper has now, and nothing is announced
// twice.
func TestForget(t *testing.T) {
	l := newLibrary(t, 700)
	l.shard.Settings.VisitsPerDay = 1000
	l.do(func() error {
		_, err := l.shard.Restore(l.now,
			frontier.Snapshot{Version: 2, Domains: []frontier.DomainSnapshot{{Domain: "lib.example",
				Evidence: frontier.Evidence{Partition: partition, At: l.now}}}})
		return err
	})
	l.collect()
	l.work(60*6, always(200))
	l.expectAll("before", 700)
	first := l.fetched
	l.fetched = map[string]int{}
	for _, host := range []string{"lib.example", "www.lib.example", "img.lib.example"} {
		l.setHost(host, frontier.HostChange{Forget: frontier.ForgetAll})
	}
	l.invariants()
	l.work(60*12, always(200))
	for url := range first {
		if l.fetched[url] == 0 {
			t.Errorf("%s was not fetched again", url)
		}
	}
	l.invariants()
}

// TestForget_Failures: a host that failed is asked again at once, and keeps what it has.
func TestForget_Failures(t *testing.T) {
	s := newSite(t)
	pages := frontiertest.Articles("a.example", 0, 20)
	s.put("a.example", pages)
	s.scrape(6*hour, always(503))
	s.scrape(6*hour, always(0))
	s.scrape(3*hour, always(500)) // the last of them begins a rest of two hours
	s.now += minute
	if got := s.state(pages[19].URL); got.DueAt < s.now {
		t.Fatalf("%+v", got)
	}
	s.setHost("a.example", frontier.HostChange{Forget: frontier.ForgetFailures})
	s.scrape(3*minute, always(200))
	if len(s.fetched) < 5 {
		t.Errorf("%d pages", len(s.fetched))
	}
	s.invariants()
	if _, err := s.shard.SetHost(s.now, "a.example", frontier.HostChange{Forget: "it"}); contract.KindOf(err) !=
		contract.Validation {
		t.Error(err)
	}
}

// TestWhy: for each thing that can stand in the way of a page the frontier says so.
func TestWhy(t *testing.T) {
	const page = "https://a.example/news/0"
	article := frontier.NewPage{URL: page, Priority: 0.5}
	for name, c := range map[string]struct {
		do    func(*site)
		state string
		why   string
	}{
		"nothing": {func(*site) {}, "unknown", "its domain was never collected"},
		"another host": {func(s *site) {
			s.put("a.example", articles("www.a.example", 0, 1))
		}, "unknown", "but not its host; it has www.a.example"},
		"not named": {func(s *site) {
			s.put("a.example", articles("a.example", 5, 1))
		}, "unknown", "no collection, put or report"},
		"nothing stands": {func(s *site) {}, "due", "it is leased when its host's turn comes"},
		"domain excluded": {func(s *site) {
			s.exclude(frontier.Exclusion{Kind: contract.ExcludeDomain, Value: "a.example"})
		}, "excluded", "its domain"},
		"host excluded": {func(s *site) {
			s.exclude(frontier.Exclusion{Kind: contract.ExcludeHost, Value: "a.example", Domain: "a.example"})
		}, "excluded", "its host"},
		"pattern excluded": {func(s *site) {
			s.exclude(frontier.Exclusion{Kind: contract.ExcludeURL, Value: "https://a.example/news/*"})
		}, "excluded", "a pattern"},
		"blocked": {func(s *site) {
			until := s.now + hour
			s.setHost("a.example", frontier.HostChange{BlockUntil: &until})
		}, "waiting", "operators blocked its host until"},
		"leased": {func(s *site) { s.lease(frontier.LeaseRequest{Max: 1}) }, "leased", "a scraper has it until"},
		"another page leased": {func(s *site) {
			s.put("a.example", []frontier.NewPage{{URL: "https://a.example/best", Priority: 1}})
			s.lease(frontier.LeaseRequest{Max: 1})
		}, "due", "other pages of its host"},
		"host failed": {func(s *site) {
			s.put("a.example", []frontier.NewPage{{URL: "https://a.example/best", Priority: 1}})
			l, _ := s.lease(frontier.LeaseRequest{Max: 1})
			s.report(l, 500)
		}, "waiting", "its host failed once in a row"},
		"host refuses": {func(s *site) {
			s.put("a.example", frontiertest.Articles("a.example", 10, 5))
			for range 3 {
				l, _ := s.lease(frontier.LeaseRequest{Max: 1})
				s.report(l, 403)
				s.now += 2000
			}
			s.now -= 1500
		}, "waiting", "refused"},
		"delay": {func(s *site) {
			s.put("a.example", []frontier.NewPage{{URL: "https://a.example/best", Priority: 1}})
			l, _ := s.lease(frontier.LeaseRequest{Max: 1})
			s.report(l, 200)
		}, "waiting", "its host is ready again at"},
		"not resolved": {func(s *site) {
			s.put("a.example", []frontier.NewPage{{URL: "https://a.example/best", Priority: 1}})
			l, _ := s.lease(frontier.LeaseRequest{Max: 1})
			s.do(func() error {
				_, err := s.shard.Report(s.now,
					frontier.Report{Lease: l.ID, Results: []frontier.Result{{ID: l.Items[0].ID, Unresolved: true}}})
				return err
			})
		}, "waiting", "did not resolve"},
		"refused": {func(s *site) {
			l, _ := s.lease(frontier.LeaseRequest{Max: 1})
			s.report(l, 403)
		}, "waiting", "it failed or was refused once"},
		"collected": {func(s *site) {
			s.do(func() error {
				_, err := s.shard.Acquire(s.now, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
				return err
			})
		}, "due", "a collection has its domain"},
		"mirror": {func(s *site) {
			s.do(func() error {
				if _, err := s.shard.Acquire(s.now,
					frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60}); err != nil {
					return err
				}
				_, err := s.shard.Put(s.now,
					frontier.Put{Domain: "a.example", Partition: partition, Owner: "c", MirrorOf: "b.example"})
				return err
			})
		}, "waiting", "shows the pages of b.example"},
		"fetched": {func(s *site) { s.scrape(minute, always(200)) }, "fetched", "not worth another visit"},
		"gone": {func(s *site) {
			s.scrape(minute, always(404))
		}, "gone", "it does not exist, was refused, or was taken out"},
		"displaced": {func(s *site) {
			better := frontiertest.Articles("a.example", 10, 500)
			for i := range better {
				better[i].Priority = 1
			}
			s.put("a.example", better)
		}, "known", "better pages of its domain waited"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			if c.state != "unknown" {
				s.put("a.example", []frontier.NewPage{article})
			}
			c.do(s)
			got := s.state(page)
			if got.State != c.state || !strings.Contains(got.Why, c.why) ||
				strings.Contains(got.Why, " 1 pages") {
				t.Errorf("%s: %s, want %s: %s", got.State, got.Why, c.state, c.why)
			}
		})
	}
}

func (w *world) exclude(x frontier.Exclusion) {
	w.Helper()
	w.do(func() error { return w.shard.Exclude(w.now, x, true) })
}

// TestURL_Page: of a page that waits it is told how often it was tried, of one that was fetched when, and when it
// is due.
func TestURL_Page(t *testing.T) {
	s := newSite(t)
	s.shard.Settings.VisitsPerDay = 1000
	s.put("a.example", []frontier.NewPage{{URL: "https://a.example/", Type: "news", Priority: 0.9}})
	l, _ := s.lease(frontier.LeaseRequest{Max: 1})
	s.report(l, 500)
	if got := s.state("https://a.example/"); got.Attempts != 1 || got.LastStatus != 500 || got.Reason != "new" ||
		got.Visits != 0 || got.Fetched != 0 ||
		got.Priority < 0.5 {
		t.Errorf("%+v", got)
	}
	s.scrape(4*hour, always(200))
	got := s.state("https://a.example/")
	if got.State != "fetched" || got.LastStatus != 200 || got.Reason != "revisit" || got.Visits < 1 ||
		got.DueAt <= s.now ||
		s.now.Seconds()-got.Fetched > epoch.Seconds(5*time.Hour/time.Second) {
		t.Errorf("%+v", got)
	}
}

// TestURLs: the states of many URLs, and a host in full.
func TestURLs(t *testing.T) {
	s := newSite(t)
	s.put("a.example", frontiertest.Articles("a.example", 0, 5))
	l, _ := s.lease(frontier.LeaseRequest{Max: 2, PerHost: 2})
	s.report(frontier.Lease{ID: l.ID, Items: l.Items[:1]}, 200)
	var urls []string
	for _, p := range frontiertest.Articles("a.example", 0, 6) {
		urls = append(urls, p.URL)
	}
	urls = append(urls, "https://other.example/", "nonsense", "https://www.a.example/")
	var got frontier.URLStates
	s.do(func() (err error) {
		got, err = s.shard.URLs(s.now, frontier.URLsRequest{Domain: "a.example", URLs: urls})
		return err
	})
	counts := map[string]int{}
	for _, state := range got.States {
		counts[state]++
	}
	if fmt.Sprint(counts) != "map[fetched:1 leased:1 unknown:4 waiting:3]" {
		t.Errorf("%v", counts)
	}
	var d frontier.HostDetail
	s.do(func() (err error) {
		d, err = s.shard.Host(s.now, "a.example")
		return err
	})
	if d.Host != "a.example" || d.URLs != 4 || d.DomainURLs != 4 || d.Limit != 500 || len(d.Leased) != 1 ||
		d.Leased[0] != l.Items[1].URL {
		t.Errorf("%+v", d)
	}
	s.do(func() (err error) {
		d, err = s.shard.Host(s.now, "none.example")
		return err
	})
	if d.Host != "" {
		t.Errorf("%+v", d)
	}
}
