package shard_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/frontiertest"
)

const (
	minute = 60_000
	hour   = 60 * minute
)

// site answers what a shard gives out, and knows what of it was fetched.
type site struct {
	*world
	fetched map[string]int
}

func newSite(t *testing.T) *site {
	w := newWorld(t)
	w.shard.Settings.URLsPerDomain = 0 // the default
	return &site{w, map[string]int{}}
}

// scrape leases and reports for a time. answer returns the status of a page: 0 for no response, and crash for a scraper
// that does not report.
const crash = -1

func (s *site) scrape(for_ epoch.Millis, answer func(url string) int) (requests int) {
	s.Helper()
	for end := s.now + for_; s.now < end; {
		l, _ := s.lease(frontier.LeaseRequest{Max: 50, PerHost: 5, Seconds: 60})
		r := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			status := answer(item.URL)
			requests++
			if status == crash {
				continue
			}
			if s.now += 1000; status == 200 {
				s.fetched[item.URL]++
			}
			r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: status})
		}
		if len(r.Results) > 0 {
			s.do(func() error {
				_, err := s.shard.Report(s.now, r)
				return err
			})
		}
		s.now += max(1000, epoch.Millis(l.RetryAfter)*1000)
	}
	return requests
}

func always(status int) func(string) int { return func(string) int { return status } }

func (s *site) expectAll(what string, n int) {
	s.Helper()
	if len(s.fetched) != n {
		s.Errorf("%s: %d of %d pages were fetched", what, len(s.fetched), n)
	}
	for url, times := range s.fetched {
		if times > 1 {
			s.Errorf("%s: %s was fetched %d times", what, url, times)
		}
	}
	s.invariants()
}

// TestLife_Outage: however a site fails, and for however long, its pages come when it is back, and until then it is
// asked seldom.
func TestLife_Outage(t *testing.T) {
	needsNoRace(t)
	t.Parallel()
	for _, o := range []struct {
		name   string
		status int
		lasts  time.Duration
		most   int // requests meanwhile
	}{
		{"an answer of a broken server", 500, 30 * time.Minute, 20},
		{"another", 502, 24 * time.Hour, 30},
		{"no answer", 0, 30 * time.Minute, 20},
		{"none for a week", 0, 7 * 24 * time.Hour, 40},
		{"overload", 503, 30 * time.Minute, 40},
		{"a firewall", 403, 24 * time.Hour, 30},
		{"a login", 401, 24 * time.Hour, 30},
		{"a scraper that crashes", crash, 24 * time.Hour, 20_000},
	} {
		t.Run(o.name, func(t *testing.T) {
			s := newSite(t)
			s.put("a.example", articles("a.example", 0, 500))
			s.scrape(5*minute, always(200))
			if n := s.scrape(epoch.Millis(o.lasts.Milliseconds()), always(o.status)); n > o.most {
				t.Errorf("%d requests while it failed", n)
			}
			s.scrape(24*hour+60*minute*5, always(200))
			s.expectAll(o.name, 500)
		})
	}
}

// TestLife_RefusesSome: a site that refuses for a day now this page, now that, loses none of them: one that lets some
// requests through, and one that lets a few through at a time.
func TestLife_RefusesSome(t *testing.T) {
	t.Parallel()
	const pages, day = 60, 24 * hour
	random := rand.New(rand.NewPCG(1, 5))
	some := func(percent int) func(*site) func(string) int {
		return func(s *site) func(string) int {
			began := s.now
			return func(string) int {
				if s.now-began < day && random.IntN(100) >= percent {
					return 403
				}
				return 200
			}
		}
	}
	for name, answers := range map[string]func(*site) func(string) int{
		"half of the requests": some(50), "one in twenty": some(5),
		"three in a quarter of an hour": func(s *site) func(string) int {
			var let []epoch.Millis
			return func(string) int {
				if len(let) >= 3 && let[len(let)-3] > s.now-15*minute {
					return 403
				}
				let = append(let, s.now)
				return 200
			}
		},
	} {
		s := newSite(t)
		s.put("a.example", articles("a.example", 0, pages))
		for answer, end := answers(s), s.now+3*day; s.now < end; s.now += 10 * minute {
			s.scrape(1000, answer)
		}
		s.expectAll(name, pages)
	}
}

// TestLife_BrokenPages: pages that fail while their host is well do not hold it up, and are given up; pages that are
// refused as well. Nobody asks for them all the time.
func TestLife_BrokenPages(t *testing.T) {
	needsNoRace(t)
	t.Parallel()
	for _, status := range []int{500, 403, 0} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := newSite(t)
			list := articles("a.example", 0, 200)
			s.put("a.example", list)
			bad := map[string]bool{list[20].URL: true, list[70].URL: true, list[120].URL: true}
			asked := map[string]int{}
			answer := func(url string) int {
				if bad[url] {
					asked[url]++
					return status
				}
				return 200
			}
			s.scrape(4*hour, answer)
			s.expectAll("within hours", 197)
			s.scrape(7*24*hour, answer)
			for url := range bad {
				if asked[url] < 2 || asked[url] > 20 {
					t.Errorf("%s was asked for %d times", url, asked[url])
				}
			}
		})
	}
}

// TestLife_Gone: a page that is gone does not come back by being listed, but when its date is newer, and after 30 days.
func TestLife_Gone(t *testing.T) {
	for _, status := range []int{404, 410} {
		s := newSite(t)
		page := frontier.NewPage{URL: "https://a.example/x", Type: "news", LastMod: s.now.Seconds() - 86_400}
		put := func(want frontier.Verdict) {
			t.Helper()
			s.do(func() error {
				a, err := s.shard.Put(s.now, frontier.Put{Domain: "a.example", Partition: partition,
					Pages: []frontier.NewPage{page}})
				if err == nil && a.Pages[0] != want {
					t.Errorf("%d: %s, want %s", status, a.Pages[0], want)
				}
				return err
			})
		}
		put(frontier.Accepted)
		s.scrape(minute, always(status))
		put(frontier.Duplicate)
		s.now += 2 * hour
		put(frontier.Duplicate)
		page.LastMod = s.now.Seconds() - 60
		put(frontier.Accepted)
		put(frontier.Duplicate)
		s.scrape(minute, always(status))
		page.LastMod = 0
		s.now += 29 * 24 * hour
		put(frontier.Duplicate)
		s.now += 2 * 24 * hour
		put(frontier.Accepted)
		s.invariants()
	}
}

// TestLife_BeforeItIsPublished: a page that somebody links to before it is there is fetched once its site lists it.
func TestLife_BeforeItIsPublished(t *testing.T) {
	s := newSite(t)
	const url = "https://a.example/2026/01/28/soon"
	s.do(func() error {
		_, err := s.shard.Put(s.now, frontier.Put{Domain: "a.example", Partition: partition, Found: true,
			Pages: []frontier.NewPage{{URL: url}}})
		return err
	})
	s.scrape(minute, always(404))
	s.now += 10 * minute
	s.put("a.example", []frontier.NewPage{{URL: url, Type: "news", LastMod: s.now.Seconds() - 60}})
	s.scrape(minute, always(200))
	s.expectAll("published", 1)
}

// TestLife_NewerDate: a page comes back as soon as its site says that it changed, and once.
func TestLife_NewerDate(t *testing.T) {
	s := newSite(t)
	list := articles("a.example", 0, 100)
	s.put("a.example", list)
	s.scrape(10*minute, always(200))
	s.expectAll("at first", 100)
	put := func(what string, changed int, by epoch.Seconds, want int) {
		t.Helper()
		for i := range changed {
			list[i].LastMod = s.now.Seconds() + by
		}
		clear(s.fetched)
		s.put("a.example", list)
		s.put("a.example", list)
		s.scrape(10*minute, always(200))
		s.expectAll(what, want)
	}
	put("of the hour of the fetch, before it", 20, -15*60, 0)
	s.now += 3 * hour
	put("nothing new", 0, 0, 0)
	put("newer dates", 20, -3600, 20)
	s.now += 3 * hour
	put("ahead of the clock", 20, 30*86_400, 0)
	put("all are stamped anew", 100, -60, 0)
	s.now += 3 * hour
	put("a few", 10, -60, 10)
}

// TestLife_Displaced: pages that better ones displaced are taken when they are put again.
func TestLife_Displaced(t *testing.T) {
	s := newSite(t)
	worse, better := frontiertest.Articles("a.example", 0, 300), frontiertest.Articles("a.example", 1000, 400)
	for i := range worse {
		worse[i].Priority = 0.1
	}
	for i := range better {
		better[i].Priority = 0.9
	}
	s.put("a.example", worse)
	s.put("a.example", better)
	for range 4 {
		s.put("a.example", worse)
		s.put("a.example", better)
		s.scrape(30*minute, always(200))
	}
	s.expectAll("all", 700)
}

// TestLife_Emptied: what an operator took out of a queue does not come back for 30 days.
func TestLife_Emptied(t *testing.T) {
	s := newSite(t)
	list := articles("a.example", 0, 100)
	s.put("a.example", list)
	s.do(func() error {
		_, err := s.shard.SetHost(s.now, "a.example", frontier.HostChange{Empty: true})
		return err
	})
	s.invariants()
	s.put("a.example", list)
	s.scrape(30*minute, always(200))
	s.expectAll("at once", 0)
	s.now += 31 * 24 * hour
	s.put("a.example", list)
	s.scrape(30*minute, always(200))
	s.expectAll("later", 100)
}

// TestLife_AnnouncedOnce: an article is announced when its site first lists it with a date, even if it was mentioned
// before; not when its date changes, and not when an old one gets a date.
func TestLife_AnnouncedOnce(t *testing.T) {
	s := newSite(t)
	announced := func() (n int) {
		s.do(func() error {
			page, err := s.shard.Feed(s.now, frontier.FeedRequest{Limit: 200})
			n = len(page.Items)
			return err
		})
		return n
	}
	mention := func(url string, found bool) {
		s.do(func() error {
			_, err := s.shard.Put(s.now, frontier.Put{Domain: "a.example", Partition: partition, Found: found,
				Pages: []frontier.NewPage{{URL: url, Type: "news"}}})
			return err
		})
	}
	list := func(url string, ago epoch.Seconds) {
		s.put("a.example", []frontier.NewPage{{URL: url, Type: "news", LastMod: s.now.Seconds() - ago}})
	}
	step := func(what string, want int) {
		t.Helper()
		if got := announced(); got != want {
			t.Errorf("%s: %d announced, want %d", what, got, want)
		}
	}
	mention("https://a.example/sidebar", true)
	mention("https://a.example/menu", false)
	step("mentioned", 0)
	s.scrape(10*minute, always(200)) // both are fetched meanwhile
	list("https://a.example/sidebar", 600)
	list("https://a.example/menu", 600)
	step("listed with a date", 2)
	s.now += 5 * hour
	list("https://a.example/sidebar", 60)
	step("with a newer date", 2)
	list("https://a.example/archive", 90*86_400)
	s.now += 5 * hour
	list("https://a.example/archive", 60)
	step("an old article that was corrected", 2)
	mention("https://a.example/old", false)
	s.scrape(10*minute, always(200))
	s.now += 60 * 24 * hour
	list("https://a.example/old", 60)
	step("an old page that gets a date", 2)
	s.invariants()
}
