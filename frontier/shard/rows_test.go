package shard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/frontiertest"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

const noon = 1_769_601_600_000

var partition = contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"}

// world is a shard with a clock for tests that count.
type world struct {
	testing.TB
	db    *sqlite.DB
	shard shard.Shard
	now   epoch.Millis
}

func newWorld(t testing.TB) *world {
	db := open(t)
	return &world{TB: t, db: db, shard: shard.Shard{DB: db,
		Settings: shard.Settings{Delay: time.Second, URLsPerDomain: 100_000}}, now: noon}
}

// do runs an operation and gives the rows that it wrote.
func (w *world) do(f func() error) int {
	w.Helper()
	before := w.db.Written
	if err := w.db.Transaction(f); err != nil {
		w.Fatal(err)
	}
	return w.db.Written - before
}

func (w *world) put(domain string, pages []frontier.NewPage, entries ...frontier.NewEntry) int {
	w.Helper()
	return w.do(func() error {
		_, err := w.shard.Put(w.now, frontier.Put{Domain: domain, Partition: partition, Pages: pages, Entries: entries})
		return err
	})
}

func (w *world) lease(r frontier.LeaseRequest) (l frontier.Lease, rows int) {
	w.Helper()
	if r.Seconds == 0 {
		r.Seconds = 120
	}
	rows = w.do(func() (err error) {
		l, err = w.shard.Lease(w.now, r)
		return err
	})
	return l, rows
}

func (w *world) report(l frontier.Lease, status int) int {
	w.Helper()
	r := frontier.Report{Lease: l.ID}
	for _, item := range l.Items {
		r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: status})
	}
	return w.do(func() error {
		_, err := w.shard.Report(w.now, r)
		return err
	})
}

func (w *world) stats() (stats frontier.Stats) {
	w.Helper()
	w.do(func() (err error) {
		stats, err = w.shard.Stats(w.now)
		return err
	})
	return stats
}

var articles = frontiertest.Articles

func (w *world) ceiling(what string, got, most float64) {
	w.Helper()
	w.Logf("%s: %.3g (at most %g)", what, got, most)
	if got > most {
		w.Errorf("%s: %.4g, must be at most %g", what, got, most)
	}
}

// Pages that displace others cost no more than the first ones.
func TestRows_OfAFullDomain(t *testing.T) {
	for _, hosts := range []int{1, 5, 50} {
		w := newWorld(t)
		w.shard.Settings.URLsPerDomain = 0 // the default
		w.put("warm.example", frontiertest.Articles("warm.example", 0, 1))
		most := 0
		for round := range 20 {
			host := fmt.Sprintf("h%d.a.example", round%hosts)
			rows := w.put("a.example", frontiertest.Articles(host, 500*round, 500))
			if round > 0 {
				most = max(most, rows)
			}
			if got := w.stats().URLs; got > 501 {
				t.Fatalf("%d pages wait", got)
			}
			w.invariants()
		}
		w.ceiling(fmt.Sprintf("rows of a put of 500 URLs into a full domain of %d hosts", hosts), float64(most), 10)
	}
}

// The few URLs that a page links to do not thin out a full domain each time.
func TestRows_OfFoundURLs(t *testing.T) {
	w := newWorld(t)
	w.shard.Settings.URLsPerDomain = 0 // the default
	const domains, links = 60, 10
	for i := range domains {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, articles("www."+host, 0, 500))
	}
	rows, reported, most := 0, 0, int64(0)
	for round := range 20 {
		w.now += 10_000
		l, written := w.lease(frontier.LeaseRequest{Max: domains})
		r := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			result := frontier.Result{ID: item.ID, Status: 200}
			for k := range links {
				result.Found = append(result.Found,
					frontier.FoundURL{
						NewPage: frontier.NewPage{URL: fmt.Sprintf("https://%s/found/%d/%d", item.Host, round, k),
							Priority: 0.9}})
			}
			r.Results = append(r.Results, result)
		}
		rows += written + w.do(func() error {
			_, err := w.shard.Report(w.now, r)
			return err
		})
		reported += len(l.Items)
		most = max(most, w.stats().URLs)
		w.invariants()
	}
	w.ceiling("rows a URL leased and reported, with the links found there", float64(rows)/float64(reported), 2)
	w.ceiling("pages of a full domain", float64(most)/domains, 500+500/8)
}

// TestRows_OfLargeDomains: a domain with more hosts than are leased at once lists the leased ones in
// its row, which costs a share of a row for the lease and one for the report.
func TestRows_OfLargeDomains(t *testing.T) {
	w := newWorld(t)
	const domains, hosts, urls = 25, 20, 10
	put := 0
	for i := range domains {
		var pages []frontier.NewPage
		for k := range hosts {
			pages = append(pages, frontiertest.Articles(fmt.Sprintf("h%d.a%d.example", k, i), 0, urls)...)
		}
		put += w.put(fmt.Sprintf("a%d.example", i), pages)
	}
	w.ceiling("rows a host of a put", float64(put)/domains/hosts, 1.2)
	rows, leased := 0, 0
	for leased < domains*hosts*urls {
		l, written := w.lease(frontier.LeaseRequest{Max: 100})
		if len(l.Items) == 0 {
			w.now += 1000
			continue
		}
		leased += len(l.Items)
		w.now += 2000
		rows += written + w.report(l, 200)
	}
	w.ceiling("rows a URL leased and reported", float64(rows)/float64(leased), 2.8)
}

// TestRows_OfARefresh: an entry point that has not changed costs two rows and its share of a block.
func TestRows_OfARefresh(t *testing.T) {
	w := newWorld(t)
	for i := range 200 {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, frontiertest.Articles(host, 0, 1),
			frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://" + host + "/feed"}, Method: "feed",
				Interval: 7200})
	}
	rows, checks := 0, 0
	for range 40 {
		w.now += 1_800_000
		for {
			l, written := w.lease(frontier.LeaseRequest{Max: 60, Kinds: []string{frontier.KindEntry}})
			if len(l.Items) == 0 {
				break
			}
			rows += written + w.report(l, 304)
			checks += len(l.Items)
		}
	}
	w.ceiling("rows of a refresh", float64(rows)/float64(checks), 1.3)
	if checks < 400 {
		t.Errorf("only %d checks", checks)
	}
}

// TestRows_BytesOfAURL: what a million URLs take.
func TestRows_BytesOfAURL(t *testing.T) {
	w := newWorld(t)
	const hosts, urls = 500, 40
	for i := range hosts {
		host := fmt.Sprintf("a%d.example", i)
		w.put(host, frontiertest.Articles("www."+host, 0, urls))
	}
	var size int64
	w.do(func() (err error) {
		size, err = w.db.Size()
		return err
	})
	w.ceiling("bytes a URL", float64(size)/hosts/urls, 100)
}

// TestRows_NoIndexes: an index entry costs as much as a row, and the twin does not count it.
func TestRows_NoIndexes(t *testing.T) {
	w := newWorld(t)
	w.put("a.example", frontiertest.Articles("a.example", 0, 1))
	if err := w.db.Query("SELECT name FROM sqlite_schema WHERE type = 'index'",
		func(r *store.Rows) { t.Errorf("there is an index: %s", r.Text()) }); err != nil {
		t.Fatal(err)
	}
}

// TestRows_OfTheState: a lease and its report write what the shard has once in one row each, where pages are to be
// fetched again, too.
func TestRows_OfTheState(t *testing.T) {
	s := newScheduled(t)
	s.put("a.example", articles("a.example", 0, 20))
	s.now += 10_000
	l, lease := s.lease(frontier.LeaseRequest{Max: 5, PerHost: 5})
	s.now += 1000
	report := s.report(l, 200)
	s.ceiling("rows of a lease: its own and of the state", float64(lease), 2)
	s.ceiling("rows of a report: of the lease, the host and of the state", float64(report), 3)
}

// TestRows_VisitsWithoutBudget: hosts whose visits are due cost a lease no rows once the budget is used up.
func TestRows_VisitsWithoutBudget(t *testing.T) {
	s := newLooks(t, 4) // a lease after a long time has one of them
	for site := range 60 {
		host := fmt.Sprintf("old%d.example", site)
		s.put(host, []frontier.NewPage{{URL: "https://" + host + "/", Type: "archive", Priority: 0.9}})
	}
	s.fetchAll()
	s.now += 30 * 24 * hour
	written := s.db.Written
	l, _ := s.lease(frontier.LeaseRequest{Max: 100, PerHost: 1})
	if len(l.Items) != 1 || l.Items[0].Reason != "revisit" {
		t.Fatalf("leased: %+v", l.Items)
	}
	if n := s.db.Written - written; n > 8 {
		t.Errorf("%d rows for a visit, of 60 that are due", n)
	}
	if l, _ = s.lease(frontier.LeaseRequest{Max: 100, PerHost: 1}); len(l.Items) > 0 || l.RetryAfter <= 1 {
		t.Errorf("without budget: %+v", l)
	}
}
