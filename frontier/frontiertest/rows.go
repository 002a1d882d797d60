package frontiertest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// Articles makes n pages of a host, numbered from from, of all bands and with URLs such as news sites have.
func Articles(host string, from, n int) []frontier.NewPage {
	r := rand.New(rand.NewPCG(uint64(len(host)), uint64(from)))
	list := make([]frontier.NewPage, n)
	for i := range list {
		list[i] = frontier.NewPage{
			URL:      fmt.Sprintf("https://%s/news/2026/01/%02d/article-about-something-%d.html", host, i%28+1, from+i),
			Type:     []string{"news", "press_release", "policy"}[i%3],
			Priority: r.Float64(),
			LastMod:  epoch.Seconds(noon/1000 - 2*86_400 - 1 - r.Int64N(58*86_400)), // nothing that is new
		}
	}
	return list
}

// counted is a database that counts the rows that are written.
type counted struct {
	DB
	rows int
}

func (c *counted) Run(sql string, args ...any) (*store.Rows, error) {
	rows, err := c.DB.Run(sql, args...)
	if err == nil {
		c.rows += rows.Written
	}
	return rows, err
}

// written returns the rows that were written since it was last asked.
func (c *counted) written() int {
	rows := c.rows
	c.rows = 0
	return rows
}

func ceiling(t T, what string, rows, most float64) {
	t.Helper()
	if rows > most {
		t.Errorf("%s: %.4g rows, must be at most %g", what, rows, most)
	}
}

// rowsOfADomain counts what the collection of one domain writes: acquire, look for mirrors, put, release with
// the contract that was written.
func rowsOfADomain(t T, db DB) {
	c := &counted{DB: db}
	s := newShard(t, c)
	s.local.PerMinute = 60
	s.put("warm.example", Articles("warm.example", 0, 1)...) // creates the tables
	c.written()
	s.acquire("a.example", "c", 120, "www.a.example", "a.example")
	acquire := c.written()
	s.mirror("a.example", digestOf("a"))
	mirror := c.written()
	feed := []frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://www.a.example/feed"}, Method: "feed",
		Interval: 7200}}
	visit := frontier.HostFindings{Host: "www.a.example", Delay: 2000, AskedAt: s.now,
		RobotsExpires: s.now + 86_400_000}
	list := Articles("www.a.example", 0, 500)
	list[0].LastMod = noon/1000 - 60 // for the feed
	s.putAs(frontier.Put{Domain: "a.example", Partition: kr, Pages: list, Entries: feed, Owner: "c",
		Visits: []frontier.HostFindings{visit}})
	put := c.written()
	s.releaseWith(frontier.ReleaseRequest{Domain: "a.example", Owner: "c", Hosts: []frontier.HostFindings{visit},
		Evidence: frontier.Evidence{Partition: kr, At: s.now},
		Changes:  []frontier.Change{{Partition: kr, Revision: 1, ChangedAt: s.now}}})
	release := c.written()
	expect(t, "something was counted", acquire > 0 && mirror > 0 && put > 0 && release > 0, true)
	ceiling(t, "a put of 500 URLs", float64(put), 5)
	ceiling(t, "a domain's collection", float64(acquire+mirror+put+release), 9)
	s.put("b.example", Articles("www.b.example", 0, 200)...)
	ceiling(t, "a put of 200 URLs", float64(c.written()), 4)
	s.put("a.example", Articles("www.a.example", 0, 500)...)
	ceiling(t, "the same put again", float64(c.written()), 0)
	s.put("a.example", Articles("www.a.example", 500, 500)...)
	ceiling(t, "a put of 500 others", float64(c.written()), 4)
	today := frontier.NewPage{URL: "https://www.a.example/today", LastMod: noon / 1000}
	s.put("a.example", frontier.NewPage{URL: "https://www.a.example/undated"})
	undated := c.written()
	s.put("a.example", today)
	ceiling(t, "a page for the feed, more than another", float64(c.written()-undated), 1)
}

// rowsOfRefreshes: a refresh that found nothing writes the host's row once, and shares a row with the refreshes that
// began together with it. Ticks write the pointers of many hosts at once.
func rowsOfRefreshes(t T, db DB) {
	const domains, hours = 250, 40
	c := &counted{DB: db}
	s := newShard(t, c)
	s.local.PerMinute = 60
	for i := range domains {
		domain := fmt.Sprintf("a%d.example", i)
		s.putIn(kr, domain, nil, []frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://" + domain + "/feed"},
			Method: "rss", Interval: 5400, Status: 200}})
	}
	c.written()
	ticks, refreshes, begun, one := 0, 0, 0, 0
	for range hours * 60 {
		s.wait(60_000)
		messages := s.tick()
		ticks += c.written()
		for list := range slices.Chunk(messages, contract.MaxRefreshes) {
			begin := make([]frontier.RefreshRequest, len(list))
			for i, m := range list {
				begin[i] = frontier.RefreshRequest{Domain: m.Domain, URL: m.URL, Owner: fmt.Sprint(s.now, m.Domain)}
			}
			s.do(func() error {
				grants, err := s.s.BeginRefreshes(ctx, begin)
				if err != nil {
					return err
				}
				for i, r := range grants {
					if !r.Granted {
						return fmt.Errorf("%+v", r)
					}
					if _, err := s.s.EndRefresh(ctx, frontier.RefreshResult{Domain: list[i].Domain, URL: list[i].URL,
						Owner: begin[i].Owner, Status: 304, Visit: frontier.HostFindings{AskedAt: s.now}}); err != nil {
						return err
					}
				}
				return nil
			})
			refreshes += len(list)
			begun++
		}
		one += c.written()
	}
	if refreshes < 4*domains {
		t.Errorf("%d refreshes", refreshes)
	}
	ceiling(t, "a refresh that found nothing, and one row for those that begin together", float64(one-begun)/
		float64(refreshes), 1)
	ceiling(t, "its share of the ticks", float64(ticks)/float64(refreshes), 0.15)
}

// rowsOfAURL counts what it costs to lease and report a URL, over whole back queues.
func rowsOfAURL(most float64, request frontier.LeaseRequest) func(T, DB) {
	return func(t T, db DB) {
		const hosts, urls = 150, 60
		c := &counted{DB: db}
		s := newShard(t, c)
		for i := range hosts {
			host := fmt.Sprintf("a%d.example", i)
			s.put(host, Articles("www."+host, 0, urls)...)
		}
		c.written()
		for leased := 0; leased < hosts*urls; s.wait(1000) {
			l := s.request(request)
			leased += len(l.Items)
			if len(l.Items) > 0 {
				s.wait(2000)
				s.settle(l, 200)
			}
		}
		ceiling(t, "a URL leased and reported", float64(c.written())/hosts/urls, most)
	}
}
