package shard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// mergeShard is a shard with a clock.
type mergeShard struct {
	*testing.T
	db    *sqlite.DB
	shard shard.Shard
	now   epoch.Millis
}

func newMergeShard(t *testing.T) *mergeShard {
	db := open(t)
	return &mergeShard{t, db, shard.Shard{DB: db, Settings: shard.Settings{URLsPerDomain: 1000}}, 1_769_601_600_000}
}

func (s *mergeShard) do(f func() error) {
	s.Helper()
	if err := s.db.Transaction(f); err != nil {
		s.Fatal(err)
	}
}

func (s *mergeShard) put(domain, category string, urls ...string) frontier.PutAnswer {
	s.Helper()
	p := frontier.Put{Domain: domain,
		Partition: contract.Partition{Country: "sg", Category: category, Date: "2026-01-28"}}
	for _, url := range urls {
		p.Pages = append(p.Pages, frontier.NewPage{URL: url, Priority: 0.5})
	}
	var answer frontier.PutAnswer
	s.do(func() (err error) { answer, err = s.shard.Put(s.now, p); return err })
	return answer
}

func (s *mergeShard) entry(domain, url string, checked bool) {
	s.Helper()
	e := frontier.NewEntry{NewPage: frontier.NewPage{URL: url}, Method: "feed", Interval: 7200}
	if checked {
		e.Status, e.ETag = 200, `"first"`
	}
	s.do(func() error {
		_, err := s.shard.Put(s.now, frontier.Put{Domain: domain,
			Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"},
			Entries:   []frontier.NewEntry{e}})
		return err
	})
}

// fetch leases up to so many pages, and reports them with a status.
func (s *mergeShard) fetch(most, status int) (urls []string) {
	s.Helper()
	for len(urls) < most {
		s.now = s.now.Add(time.Minute)
		s.do(func() error {
			l, err := s.shard.Lease(s.now,
				frontier.LeaseRequest{Max: min(most-len(urls), 20), PerHost: 20, Seconds: 60})
			if err != nil || len(l.Items) == 0 {
				most = 0
				return err
			}
			r := frontier.Report{Lease: l.ID}
			for _, i := range l.Items {
				urls = append(urls, i.URL+" "+i.Partition.Category)
				r.Results = append(r.Results, frontier.Result{ID: i.ID, Status: status})
			}
			_, err = s.shard.Report(s.now, r)
			return err
		})
	}
	return urls
}

func (s *mergeShard) stats() (st frontier.Stats) {
	s.Helper()
	s.do(func() (err error) { st, err = s.shard.Stats(s.now); return err })
	return st
}

func (s *mergeShard) export() (page frontier.Snapshot) {
	s.Helper()
	s.do(func() (err error) { page, err = s.shard.Export(s.now, 0); return err })
	return page
}

func (s *mergeShard) restore(page frontier.Snapshot) (n int) {
	s.Helper()
	s.do(func() (err error) { n, err = s.shard.Restore(s.now, page); return err })
	return n
}

func (s *mergeShard) audit() {
	s.Helper()
	for _, wrong := range store.Audit(s.db, s.db.Transaction) {
		s.Error(wrong)
	}
}

// A host that exists gets what the snapshot has and it lacks: waiting pages, what was seen, entry points. Its own
// stays, and a page that is restored twice changes nothing.
func TestRestore_Merges(t *testing.T) {
	const domain, site = "a.example", "https://www.a.example/"
	old := newMergeShard(t)
	var urls []string
	for i := range 301 {
		urls = append(urls, fmt.Sprintf("%s%d", site, i))
	}
	old.put(domain, "policy", urls...)
	old.entry(domain, site+"feed.xml", true)
	old.entry(domain, site+"both.xml", false)
	fetched, gone := old.fetch(40, 200), old.fetch(10, 404)
	live := newMergeShard(t)
	live.now = old.now
	live.put(domain, "news", site+"new", site+"300", fetched[0][:len(fetched[0])-len(" policy")])
	live.entry(domain, site+"both.xml", true)
	live.fetch(1, 200)
	before := live.stats()
	if n := live.restore(old.export()); n != 1 {
		t.Errorf("%d hosts are restored, want 1", n)
	}
	live.audit()
	once := live.stats()
	if n := live.restore(old.export()); n != 0 {
		t.Errorf("%d hosts are restored the second time", n)
	}
	live.audit()
	if again := live.stats(); again.URLs != once.URLs || again.Done != once.Done || again.Failed != once.Failed ||
		again.Entries != once.Entries {
		t.Errorf("restored twice %+v, once %+v", again, once)
	}
	// Of 302 URLs the live host knew three, one of them fetched.
	if once.URLs != before.URLs+250 || once.Done != before.Done+39 || once.Failed != before.Failed+int64(len(gone)) ||
		once.Entries != 2 {
		t.Errorf("after %+v, before %+v", once, before)
	}
	for _, url := range urls {
		if v := live.put(domain, "news", url).Pages[0]; v != frontier.Duplicate {
			t.Fatalf("%s: %s", url, v)
		}
	}
	waiting := once.URLs
	policy := 0
	given := map[string]bool{}
	for _, line := range live.fetch(1000, 200) {
		var url, category string
		fmt.Sscan(line, &url, &category)
		if given[url] {
			t.Errorf("%s is given twice", url)
		}
		if given[url] = true; category == "policy" {
			policy++
		}
	}
	if int64(len(given)) != waiting || policy != 250 {
		t.Errorf("%d were given, %d of them as in the snapshot, want %d", len(given), policy, waiting)
	}
	if s := live.stats(); s.URLs != 0 {
		t.Errorf("%+v", s)
	}
}

// TestRestore_CountsOfMergedHosts: what a host gets counts as what it is, fetched or gone, whichever of it the host
// knew.
func TestRestore_CountsOfMergedHosts(t *testing.T) {
	const domain = "a.example"
	for _, knows := range []int{200, 404} {
		old, live := newMergeShard(t), newMergeShard(t)
		var urls []string
		for i := range 30 {
			urls = append(urls, fmt.Sprintf("https://a.example/%d", i))
		}
		old.put(domain, "news", urls...)
		both := map[int][]string{200: old.fetch(12, 200), 404: old.fetch(7, 404)}
		live.now = old.now
		for _, line := range both[knows] {
			url, _, _ := strings.Cut(line, " ")
			live.put(domain, "news", url)
		}
		live.fetch(len(both[knows]), knows)
		live.restore(old.export())
		live.audit()
		if s := live.stats(); s.Done != 12 || s.Failed != 7 || s.URLs != 11 {
			t.Errorf("a host that knew those with %d: %d done, %d failed, %d wait; want 12, 7, 11", knows, s.Done,
				s.Failed, s.URLs)
		}
	}
}

// A merged host has no more pages than hosts may have. The others can be put again.
func TestRestore_MergesUpToTheLimit(t *testing.T) {
	old, live := newMergeShard(t), newMergeShard(t)
	live.shard.URLsPerHost = 100
	var urls []string
	for i := range 150 {
		urls = append(urls, fmt.Sprintf("https://a.example/%d", i))
	}
	old.put("a.example", "news", urls...)
	live.put("a.example", "news", "https://a.example/new")
	live.restore(old.export())
	live.audit()
	if s := live.stats(); s.URLs != 100 || s.Done+s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	live.fetch(100, 200)
	accepted := 0
	for _, v := range live.put("a.example", "news", urls...).Pages {
		if v == frontier.Accepted {
			accepted++
		}
	}
	if accepted != 51 {
		t.Errorf("%d pages are accepted, want 51", accepted)
	}
}
