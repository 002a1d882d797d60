package shard_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// month is a month of sites that publish, correct, delete and move pages, with three scrapers.
type month struct {
	*world
	random *rand.Rand
	sites  []*liveSite
	pages  map[string]*monthPage // by URL

	asked      map[string]epoch.Millis // when a host was asked last
	impolite   int
	requests   int
	revisits   int
	largestDay int // revisits
	today      int
	daily      []int
	crashed    int
}

// liveSite is a site with a habit.
type liveSite struct {
	domain   string
	dates    bool // its listings have true dates; else none
	restamps bool // its listings always say today
	perDay   float64
	delay    epoch.Millis
	listed   []*monthPage // newest last
	down     [2]epoch.Millis
	refuses  [2]epoch.Millis
	looked   epoch.Millis
}

type monthPage struct {
	site      *liveSite
	url       string
	published epoch.Millis
	version   int
	changed   epoch.Millis // last correction; 0: none
	seen      int          // version that was fetched; -1: never
	deleted   bool
	movedTo   *monthPage
	visits    int
	asked     []ask
	waits     []epoch.Millis // corrections that were not seen yet
	corrected []epoch.Millis // how long the others took
}

// ask is a request for a page.
type ask struct {
	at       epoch.Millis
	reason   string
	answered bool // by the page itself
}

func newMonth(t *testing.T, seed uint64, sites int) *month {
	m := &month{world: newWorld(t), random: rand.New(rand.NewPCG(seed, 15)), pages: map[string]*monthPage{},
		asked: map[string]epoch.Millis{}}
	m.shard.Settings.URLsPerDomain = 0
	m.shard.Settings.VisitsPerDay = int64(sites) * 25 // of 50 to 100 pages a site
	for i := range sites {
		s := &liveSite{domain: fmt.Sprintf("site%d.example", i), perDay: 0.5 + m.random.ExpFloat64()*2, delay: 1000}
		switch u := m.random.Float64(); {
		case u < 0.5:
			s.dates = true
		case u < 0.7:
			s.restamps = true
		}
		m.sites = append(m.sites, s)
		for range 10 + m.random.IntN(20) {
			m.publish(s, m.now-epoch.Millis(m.random.Int64N(90*24*hour)))
		}
	}
	// two outages of many sites, and a firewall
	for i, s := range m.sites {
		switch i % 10 {
		case 0:
			s.down = [2]epoch.Millis{m.now + 5*24*hour, m.now + 5*24*hour + hour/2}
		case 1:
			s.down = [2]epoch.Millis{m.now + 12*24*hour, m.now + 12*24*hour + 20*hour}
		case 2:
			s.refuses = [2]epoch.Millis{m.now + 18*24*hour, m.now + 19*24*hour}
		}
	}
	return m
}

func (m *month) publish(s *liveSite, at epoch.Millis) *monthPage {
	p := &monthPage{site: s, url: fmt.Sprintf("https://www.%s/news/article-%d", s.domain, len(m.pages)), published: at,
		seen: -1}
	m.pages[p.url] = p
	s.listed = append(s.listed, p)
	return p
}

// live is an hour of the sites: new pages, corrections, deletions, and a look at each listing every three hours.
func (m *month) live() {
	for i, s := range m.sites {
		for n := s.perDay / 24; m.random.Float64() < n; n-- {
			m.publish(s, m.now)
		}
		for _, p := range s.listed[max(0, len(s.listed)-30):] {
			age := float64(m.now-p.published) / float64(24*hour)
			if p.deleted || p.movedTo != nil || age > 3 {
				continue
			}
			if m.random.Float64() < 0.03*max(0.05, 1-age) { // articles are corrected early
				p.version++
				p.changed = m.now
				if p.seen >= 0 {
					p.waits = append(p.waits, m.now)
				}
			}
			switch m.random.IntN(10_000) {
			case 0:
				p.deleted = true
			case 1:
				p.movedTo = m.publish(s, p.published)
			}
		}
		if int(m.now/hour)%3 == i%3 {
			m.look(s)
		}
	}
}

// look puts what a site's listing has, as a refresh does.
func (m *month) look(s *liveSite) {
	if m.now >= s.down[0] && m.now < s.down[1] {
		return
	}
	var list []frontier.NewPage
	for _, p := range s.listed[max(0, len(s.listed)-40):] {
		if p.deleted || p.movedTo != nil {
			continue
		}
		page := frontier.NewPage{URL: p.url, Type: "news", Priority: 0.7, FoundBy: "feed"}
		switch {
		case s.restamps:
			page.LastMod = m.now.Seconds() - 1
		case s.dates:
			page.LastMod = max(p.published, p.changed).Seconds()
		}
		list = append(list, page)
	}
	m.do(func() error {
		_, err := m.shard.Put(m.now, frontier.Put{Domain: s.domain, Partition: partition, Pages: list, Since: s.looked})
		return err
	})
	s.looked = m.now
}

// scrape is a scraper's hour. One that crashes keeps its lease and reports nothing.
func (m *month) scrape(leases int, crashes bool) {
	for range leases {
		l, _ := m.lease(frontier.LeaseRequest{Max: 60, PerHost: 5, Seconds: 120})
		if len(l.Items) == 0 {
			return
		}
		if crashes {
			m.crashed += len(l.Items)
			return
		}
		r := frontier.Report{Lease: l.ID}
		at := map[string]epoch.Millis{}
		for _, item := range l.Items {
			when := max(m.now, at[item.Host])
			at[item.Host] = when + epoch.Millis(item.CrawlDelay)
			if last, ok := m.asked[item.Host]; ok && when < last+epoch.Millis(1000) {
				m.impolite++
			}
			m.asked[item.Host] = when
			r.Results = append(r.Results, m.fetch(item, when))
		}
		m.now += 10_000
		m.do(func() error {
			_, err := m.shard.Report(m.now, r)
			return err
		})
	}
}

func (m *month) fetch(item frontier.Item, at epoch.Millis) frontier.Result {
	m.requests++
	p := m.pages[item.URL]
	result := frontier.Result{ID: item.ID}
	p.asked = append(p.asked, ask{at: at, reason: item.Reason})
	ask := &p.asked[len(p.asked)-1]
	defer func() { ask.answered = result.Status > 0 && result.Status != 403 }()
	if item.Reason == "revisit" {
		m.revisits++
		m.today++
	}
	switch s := p.site; {
	case at >= s.down[0] && at < s.down[1]:
		return result
	case at >= s.refuses[0] && at < s.refuses[1]:
		result.Status = 403
		return result
	case p.deleted:
		result.Status = 404
		return result
	}
	if to := p.movedTo; to != nil {
		p.visits++
		p.waits = nil
		result.Status, result.RedirectedTo = 301, to.url
		p = to
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, p.url, p.version)))
	if result.Status == 0 {
		result.Status, result.ETag, result.TextSHA256 = 200, digest[:16], digest
	}
	if item.ETag != "" && item.ETag == result.ETag {
		result = frontier.Result{ID: item.ID, Status: 304}
	}
	p.visits++
	p.seen = p.version
	for _, since := range p.waits {
		p.corrected = append(p.corrected, at-since)
	}
	p.waits = nil
	return result
}

// TestMonth: through two outages, a day of a firewall and a scraper that crashes daily, every page is fetched, nine of
// ten corrections are seen within a day, the budget is kept, and nobody is asked too often.
func TestMonth(t *testing.T) {
	needsNoRace(t)
	t.Parallel()
	sites, days := 300/slowness, 30
	if testing.Short() {
		sites, days = 60/slowness, 20
	}
	m := newMonth(t, 2026, sites)
	began := m.now
	for m.now < began+epoch.Millis(days)*24*hour {
		next := m.now + hour
		m.live()
		m.scrape(3, m.now/hour%24 == 7)
		m.scrape(20, false)
		m.scrape(20, false)
		if m.now/hour%24 == 0 {
			m.daily = append(m.daily, m.today)
			m.largestDay, m.today = max(m.largestDay, m.today), 0
		}
		if m.now >= next {
			t.Logf("an hour took %d s", (m.now-next+hour)/1000)
		}
		m.now = max(m.now, next)
	}
	m.verify()
	m.invariants()
}

func (m *month) verify() {
	m.Helper()
	missing, corrections, late, unseen, most := 0, 0, 0, 0, 0
	kinds := map[string][2]int{}
	for url, p := range m.pages {
		most = max(most, p.visits)
		if p.visits == 0 && !p.deleted && p.movedTo == nil && p.published < m.now-6*hour {
			missing++
			if missing < 5 {
				m.Logf("never fetched: %s, published %d h ago", url, (m.now-p.published)/hour)
			}
		}
		kind := strings.TrimSpace(fmt.Sprint(map[bool]string{true: "dates"}[p.site.dates],
			map[bool]string{true: "restamps"}[p.site.restamps]))
		for _, took := range p.corrected {
			corrections++
			k := kinds[kind]
			k[0]++
			if took > 24*hour {
				late++
				k[1]++
			}
			kinds[kind] = k
		}
		for _, since := range p.waits {
			if since < m.now-24*hour && !p.deleted && p.movedTo == nil {
				corrections++
				unseen++
				k := kinds[kind]
				k[0]++
				k[1]++
				kinds[kind] = k
			}
		}
	}
	m.Logf("%d pages, %d requests, %d of them revisits (at most %d a day, the budget is %d), %d items lost by crashes",
		len(m.pages),
		m.requests, m.revisits, m.largestDay, m.shard.Settings.VisitsPerDay, m.crashed)
	m.Logf("revisits by day: %v", m.daily)
	m.Logf("%d corrections, %d seen late, %d not at all; by habit %v; a page was fetched %d times at most", corrections,
		late, unseen, kinds, most)
	if missing > 0 {
		m.Errorf("%d pages were never fetched", missing)
	}
	if late+unseen > corrections/10 {
		m.Errorf("%d of %d corrections were not seen within a day", late+unseen, corrections)
	}
	if m.impolite > 0 {
		m.Errorf("%d impolite requests", m.impolite)
	}
	m.withinBudget()
	if s := m.stats(); s.Failed > int64(len(m.pages)/100) {
		m.Errorf("%d pages were given up: %+v", s.Failed, s)
	}
}

// withinBudget checks that no page is asked for more often than its budget: once because it is new, once for each
// newer date that its site gives it, and otherwise from the budget of the shard, of which at most a quarter of a day is
// saved. No page takes much more than its share of that, or all of it at once. Of a host whose dates are false few
// pages are asked for in vain, and one that is down, or refuses, costs a page few requests.
func (m *month) withinBudget() {
	m.Helper()
	budget := int(m.shard.Settings.VisitsPerDay)
	for first := range m.daily {
		sum := 0
		for i, n := range m.daily[first:] {
			if sum += n; sum > budget*(i+1)+budget/4+1 {
				m.Errorf("%d revisits in the %d days from day %d on, the budget is %d a day", sum, i+1, first, budget)
			}
		}
	}
	share := m.revisits/len(m.pages) + 1
	failures := 0
	believed := map[*liveSite]int{} // pages that came back by false dates
	for url, p := range m.pages {
		counts := map[string]int{}
		var last epoch.Millis
		failed := 0
		for _, a := range p.asked {
			if !a.answered {
				failed++
				continue
			}
			if counts[a.reason]++; a.reason == "revisit" && a.at-last < 2*hour {
				m.Errorf("%s is revisited %d minutes after the fetch before", url, (a.at-last)/minute)
			}
			last = a.at
		}
		failures = max(failures, failed)
		dates := p.version
		if !p.site.dates {
			dates = counts["lastmod"]
			believed[p.site] += dates
		}
		if counts["new"] > 1 || counts["lastmod"] > dates || counts["revisit"] > 6*share ||
			counts["requested"] > 0 {
			m.Errorf("%s was corrected %d times (with dates: %v), and asked for as %v; a share of the budget is %d",
				url, p.version, p.site.dates, counts, share)
		}
	}
	for s, n := range believed {
		if !s.restamps && n > 0 || n > 10 {
			m.Errorf("%d times a date of %s, which has none or says always now, brought a page back", n, s.domain)
		}
	}
	m.Logf("a page was asked for in vain %d times at most", failures)
	if failures > 5 {
		m.Errorf("a page was asked for %d times while its site did not answer", failures)
	}
}
