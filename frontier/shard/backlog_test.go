package shard_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// library is a domain of which more is stored than the frontier takes. It does what the engine does with messages.
type library struct {
	*site
	pages   []frontier.NewPage // best first
	refills int
	lost    int // messages that get lost, of the next ones
}

func newLibrary(t *testing.T, pages int) *library {
	l := &library{site: newSite(t)}
	for i := range pages {
		host := [...]string{"lib.example", "www.lib.example", "img.lib.example"}[i%7%3]
		l.pages = append(l.pages, frontier.NewPage{URL: fmt.Sprintf("https://%s/b/%d", host, i), Type: "article",
			Priority: 1 - float64(i)/float64(pages)})
	}
	return l
}

// collect puts the best pages as a collection does.
func (l *library) collect() {
	l.Helper()
	best := l.pages[:min(500, len(l.pages))]
	l.do(func() error {
		_, err := l.shard.Put(l.now, frontier.Put{Domain: "lib.example", Partition: partition, Pages: best,
			Stored: &frontier.StoredPages{Collected: true, More: len(best) == 500}})
		return err
	})
}

// tick does the work of an alarm, and that of the messages it sends.
func (l *library) tick() (messages int) {
	l.Helper()
	var tick shard.Tick
	l.do(func() (err error) {
		tick, err = l.shard.Tick(l.now, shard.TickRequest{Shard: "shard-0"})
		return err
	})
	for _, r := range refreshesOf(l, tick) {
		if r.Method != frontier.MethodRefill {
			continue
		}
		if messages++; l.lost > 0 {
			l.lost--
			continue
		}
		l.refill(&r)
	}
	return messages
}

func (l *library) refill(r *contract.Refresh) {
	l.Helper()
	l.refills++
	from, _ := strconv.Atoi(r.From)
	for room := r.Want; room > 0 && from < len(l.pages); {
		next := min(from+room, len(l.pages))
		put := frontier.Put{Domain: r.Domain, Partition: r.Partition, Pages: l.pages[from:next],
			Stored: &frontier.StoredPages{From: r.From, Next: strconv.Itoa(next), More: next < len(l.pages)}}
		l.do(func() error {
			answer, err := l.shard.Put(l.now, put)
			room = answer.Room
			return err
		})
		from, r.From = next, strconv.Itoa(next)
	}
}

// work fetches pages for a time, with an alarm each minute.
func (l *library) work(minutes int, answer func(url string) int) {
	l.Helper()
	for range minutes {
		l.scrape(minute, answer)
		l.tick()
	}
}

// TestBacklog_FinishesADomain: all 50,000 pages of a domain are fetched, the better ones first, though only 500 wait.
func TestBacklog_FinishesADomain(t *testing.T) {
	needsNoRace(t)
	t.Parallel()
	l := newLibrary(t, 50_000)
	l.shard.Settings.Delay = 1 // ms
	at := map[string]int{}
	for i := range l.pages {
		at[l.pages[i].URL] = i
	}
	l.collect()
	order, most := 0, int64(0)
	for range 20_000 {
		most = max(most, l.stats().URLs)
		lease, _ := l.lease(frontier.LeaseRequest{Max: 60, PerHost: 20})
		for _, item := range lease.Items {
			if rank := at[item.URL]; rank > order+1500 {
				t.Fatalf("page %d was given as the %dth", rank, order)
			}
			l.fetched[item.URL]++
			order++
		}
		if len(lease.Items) > 0 {
			l.report(lease, 200)
		}
		if l.now += 100; order%100 < 60 {
			l.tick()
		}
		if order == len(l.pages) {
			break
		}
	}
	l.expectAll("at the end", 50_000)
	if most > 500 || l.refills > 300 {
		t.Errorf("%d pages waited, %d refills", most, l.refills)
	}
	for range 30 {
		l.now += hour
		if n := l.tick(); n > 1 { // one to find the end
			t.Fatalf("%d messages of a finished domain", n)
		}
	}
	if n := l.tick(); n > 0 {
		t.Error("a finished domain still wants more")
	}
}

// TestBacklog_LostMessages: whatever becomes of a message, the domain is finished.
func TestBacklog_LostMessages(t *testing.T) {
	l := newLibrary(t, 2000)
	l.collect()
	l.lost = 3
	l.work(60*24, always(200))
	l.expectAll("a day later", 2000)
}

// TestBacklog_Displaced: displaced pages are put again when the better ones are fetched, also on a site without other
// pages.
func TestBacklog_Displaced(t *testing.T) {
	for _, pages := range []int{500, 1500} {
		l := newLibrary(t, pages)
		l.do(func() error {
			_, err := l.shard.Restore(l.now,
				frontier.Snapshot{Version: 2, Domains: []frontier.DomainSnapshot{{Domain: "lib.example",
					Evidence: frontier.Evidence{Partition: partition, At: l.now}}}})
			return err
		})
		l.collect()
		better := make([]frontier.NewPage, 300)
		for i := range better {
			better[i] = frontier.NewPage{URL: fmt.Sprintf("https://lib.example/news/%d", i), Priority: 1}
		}
		l.put("lib.example", better)
		l.pages = append(better, l.pages...) // the next reading has them
		l.work(60*24, always(200))
		l.expectAll(fmt.Sprint(pages), pages+300)
	}
}

// TestBacklog_ManyAtOnce: more domains run out of pages at once than may ask for more. All are finished, without any
// report that would remind the shard of them.
func TestBacklog_ManyAtOnce(t *testing.T) {
	const domains, pages, limit = 90, 6, 2
	s := newSite(t)
	s.shard.URLsPerDomain = limit
	put := func(domain string, from int, collected bool) {
		to := min(from+limit, pages)
		stored := &frontier.StoredPages{Collected: collected, Next: strconv.Itoa(to), More: to < pages}
		if !collected {
			stored.From = strconv.Itoa(from)
		}
		if from == limit { // where a collection leaves off
			stored.From = ""
		}
		s.do(func() error {
			_, err := s.shard.Put(s.now, frontier.Put{Domain: domain, Partition: partition,
				Pages: articles(domain, 0, pages)[from:to], Stored: stored})
			return err
		})
	}
	for i := range domains {
		put(fmt.Sprintf("d%d.example", i), 0, true)
	}
	for range 60 {
		for s.stats().URLs > 0 {
			l, _ := s.lease(frontier.LeaseRequest{Max: 500, PerHost: limit})
			s.reportAll(l, 200)
			s.now += 2000
		}
		var tick shard.Tick
		s.do(func() (err error) {
			tick, err = s.shard.Tick(s.now, shard.TickRequest{Shard: "shard-0"})
			return err
		})
		for _, r := range refreshesOf(s, tick) {
			from, _ := strconv.Atoi(r.From)
			put(r.Domain, max(from, limit), false)
		}
		s.now += minute
	}
	s.invariants()
	if stats := s.stats(); stats.Done != domains*pages {
		t.Errorf("%d pages are fetched of %d", stats.Done, domains*pages)
	}
}

// TestBacklog_Excluded: of a domain that operators exclude nothing is asked for.
func TestBacklog_Excluded(t *testing.T) {
	l := newLibrary(t, 1000)
	l.collect()
	l.scrape(20*minute, always(200))
	l.do(func() error {
		return l.shard.Exclude(l.now, frontier.Exclusion{Kind: contract.ExcludeDomain, Value: "lib.example"}, true)
	})
	if n := l.tick(); n != 0 {
		t.Errorf("%d messages", n)
	}
	l.invariants()
}

// TestBacklog_Late: a put whose message is older than the newest collection moves nothing.
func TestBacklog_Late(t *testing.T) {
	l := newLibrary(t, 2000)
	l.collect()
	l.work(30, always(200))
	late := &contract.Refresh{Domain: "lib.example", From: "1900", Want: 50, Partition: partition}
	l.refill(late)
	l.work(60*24, always(200))
	l.expectAll("a day later", 2000)
}

// TestBacklog_Snapshot: a shard that is restored goes on where it was.
func TestBacklog_Snapshot(t *testing.T) {
	l := newLibrary(t, 2000)
	l.collect()
	l.work(8, always(200))
	pages := l.export()
	if last := pages[len(pages)-1].Domains; len(last) != 1 || len(last[0].Backlogs) != 1 ||
		last[0].Backlogs[0].Next == "" {
		t.Errorf("%+v", last)
	}
	r := newSite(t)
	for _, page := range pages {
		r.do(func() error {
			_, err := r.shard.Restore(noon, page)
			return err
		})
	}
	m := library{site: r, pages: l.pages}
	m.fetched = l.fetched
	m.work(60*24, always(200))
	m.expectAll("in the restored shard", 2000)
}

// export returns the pages of a snapshot as they are stored.
func (s *site) export() (pages []frontier.Snapshot) {
	s.Helper()
	for from, first := int64(0), true; first || from > 0; first = false {
		var page, read frontier.Snapshot
		s.do(func() (err error) {
			page, err = s.shard.Export(s.now, from)
			return err
		})
		text, err := json.Marshal(page)
		if err == nil {
			err = json.Unmarshal(text, &read)
		}
		if err != nil {
			s.Fatal(err)
		}
		pages, from = append(pages, read), page.Next
	}
	return pages
}
