package shard_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

func (s *site) restore(pages []frontier.Snapshot) {
	s.Helper()
	for _, page := range pages {
		s.do(func() error { _, err := s.shard.Restore(s.now, page); return err })
	}
	s.invariants()
}

// TestRestore_OverWhatIsInChunks: a host whose row says nothing of its URLs, since all of them are in a chunk, is not
// taken for one of which nothing is known.
func TestRestore_OverWhatIsInChunks(t *testing.T) {
	s := newSite(t)
	list := articles("a.example", 0, 64)
	take := func() frontier.Lease {
		l, _ := s.lease(frontier.LeaseRequest{Max: 1})
		s.now += 1000
		return l
	}
	var old []frontier.Snapshot
	for i := 0; i < len(list); i += 8 {
		s.put("a.example", list[i:i+8])
		if i == 48 {
			old = s.export()
		}
		for stats := s.stats(); stats.URLs > 0 && stats.Done < 63; stats = s.stats() {
			s.reportAll(take(), 200)
		}
	}
	s.now += 1000
	l := take()
	s.do(func() error {
		_, err := s.shard.Report(s.now, frontier.Report{Lease: l.ID, Results: []frontier.Result{
			{ID: l.Items[0].ID, Status: 200, RedirectedTo: "https://a.example/the-65th"}}})
		return err
	})
	check := func(what string, s *site) {
		t.Helper()
		if stats := s.stats(); stats.URLs != 0 || stats.Done != 64 {
			t.Errorf("%s: %d pages wait, %d are done", what, stats.URLs, stats.Done)
		}
	}
	s.restore(old)
	check("an older snapshot", s)
	other := newSite(t)
	other.exclude(frontier.Exclusion{Kind: "host", Value: "a.example", Domain: "a.example"})
	other.restore(s.export())
	check("into a host that is excluded", other)
}

// TestRestore_Rules: a host that counts as one whose robots.txt was read has the rules of it, the newer ones, and
// nothing waits that they forbid.
func TestRestore_Rules(t *testing.T) {
	visit := func(s *site, rules string, delay int64, expires epoch.Millis) {
		s.do(func() error {
			_, err := s.shard.Acquire(s.now, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
			return err
		})
		s.do(func() error {
			_, err := s.shard.Release(s.now, frontier.ReleaseRequest{Domain: "a.example", Owner: "c",
				Hosts: []frontier.HostFindings{{Host: "a.example", Delay: delay, RobotsExpires: expires,
					Rules: &rules}}})
			return err
		})
	}
	read := func(s *site, rules string, delay int64, expires epoch.Millis) {
		s.put("a.example", articles("a.example", 0, 1))
		visit(s, rules, delay, expires)
	}
	blocked := frontier.Exclusion{Kind: "host", Value: "a.example", Domain: "a.example"}
	const newer = "User-agent: *\nDisallow: /closed\n"
	secret := []frontier.NewPage{{URL: "https://a.example/secret/1"}, {URL: "https://a.example/closed/1"}}
	older := newSite(t)
	read(older, "User-agent: *\nDisallow: /secret\n", 7000, older.now+20*hour)
	for _, c := range []struct {
		name  string
		there func(s *site)
		delay int64
		want  string
	}{
		{"over nothing", func(*site) {}, 7000, "[forbidden accepted]"},
		{"over pages", func(s *site) { s.put("a.example", secret) }, 7000, "[forbidden duplicate]"},
		{"over newer rules", func(s *site) { read(s, newer, 30_000, s.now+24*hour) }, 30_000, "[accepted forbidden]"},
		{"over newer rules of a host without pages", func(s *site) {
			s.do(func() error { // that is known since operators blocked it
				past := epoch.Millis(1)
				err := s.shard.Exclude(s.now, blocked, true)
				_, err2 := s.shard.SetHost(s.now, "a.example", frontier.HostChange{BlockUntil: &past})
				return errors.Join(err, err2)
			})
			visit(s, newer, 30_000, s.now+24*hour)
			s.do(func() error { return s.shard.Exclude(s.now, blocked, false) })
		}, 30_000, "[accepted forbidden]"},
	} {
		s := newSite(t)
		c.there(s)
		s.restore(older.export())
		verdicts := fmt.Sprint(s.verdicts(frontier.Put{Domain: "a.example", Pages: secret}))
		if d := s.host("a.example"); verdicts != c.want || d.Delay != c.delay {
			t.Errorf("%s: %s, delay %d, rules %q", c.name, verdicts, d.Delay, d.Rules)
		}
	}
}

// TestRestore_OfARunningShard: an export that is imported again and again while scrapers work gives nothing twice.
func TestRestore_OfARunningShard(t *testing.T) {
	s := newSite(t)
	s.shard.VisitsPerDay = 1_000_000
	for _, host := range []string{"a.example", "b.example"} {
		s.put(host, articles(host, 0, 40))
	}
	given := map[string]bool{}
	for i := range 150 {
		l, _ := s.lease(frontier.LeaseRequest{Max: 4, PerHost: 2, Seconds: 60})
		for _, item := range l.Items {
			if given[item.URL] {
				t.Errorf("%s is given twice", item.URL)
			}
			given[item.URL] = true
		}
		pages := s.export()
		if i%2 == 0 {
			s.reportAll(l, 200)
		}
		if i%7 == 3 {
			s.restore(pages)
			s.restore(pages)
		}
		s.reportAll(l, 200)
		s.now += 3000
	}
	if stats := s.stats(); stats.Done != 80 || stats.URLs != 0 || stats.Scheduled != 80 {
		t.Errorf("%+v", stats)
	}
}

// TestRestore_WhileLeased: a host that moves to another shard while a scraper, or a refresh, has it is given to nobody
// there before their time is over.
func TestRestore_WhileLeased(t *testing.T) {
	for _, there := range []bool{false, true} {
		from, to := newSite(t), newSite(t)
		from.put("a.example", articles("a.example", 0, 5))
		l, _ := from.lease(frontier.LeaseRequest{Max: 2, PerHost: 2, Seconds: 300})
		if there {
			to.put("a.example", articles("a.example", 50, 1))
		}
		from.now += 1000
		to.now = from.now
		to.restore(from.export())
		if again, _ := to.lease(frontier.LeaseRequest{Max: 5}); len(again.Items) > 0 {
			t.Errorf("known there: %v: %s is given to a second scraper", there, again.Items[0].URL)
		}
		to.now = l.ExpiresAt + minute
		if again, _ := to.lease(frontier.LeaseRequest{Max: 5, PerHost: 9}); len(again.Items) != 5 {
			t.Errorf("known there: %v: %d items after the lease", there, len(again.Items))
		}
	}
	from, to := newSite(t), newSite(t)
	from.shard.PerMinute = 60
	from.put("a.example", articles("a.example", 0, 5), frontier.NewEntry{
		NewPage: frontier.NewPage{URL: "https://a.example/feed"}, Method: "feed", Interval: 5400, Status: 200})
	from.now += 3 * hour
	from.do(func() error {
		_, err := from.shard.Tick(from.now, shard.TickRequest{Shard: "shard-0"})
		return err
	})
	var grant frontier.RefreshGrant
	from.do(func() (err error) {
		grant, err = from.shard.BeginRefresh(from.now, frontier.RefreshRequest{Domain: "a.example",
			URL: "https://a.example/feed", Owner: "refresh"})
		return err
	})
	if !grant.Granted {
		t.Fatalf("%+v", grant)
	}
	to.now = from.now + 1000
	to.restore(from.export())
	if again, _ := to.lease(frontier.LeaseRequest{Max: 5}); len(again.Items) > 0 {
		t.Errorf("%s is given while a refresh has its host", again.Items[0].URL)
	}
}

// TestRestore_SeenOnly: what the shard has only seen, and the snapshot has waiting, waits again. What was fetched or is
// gone since, or is forbidden now, does not.
func TestRestore_SeenOnly(t *testing.T) {
	older, s := newSite(t), newSite(t)
	list := articles("a.example", 0, 200)
	for i := range list {
		list[i].Priority = 0.5
	}
	older.put("a.example", list)
	pages := older.export()

	better := articles("a.example", 1000, 500)
	for i := range better {
		better[i].Priority = 1
	}
	s.put("a.example", list[:100])
	taken := map[string]bool{}
	for i, status := range []int{200, 404} {
		s.now += minute
		l, _ := s.lease(frontier.LeaseRequest{Max: 5, PerHost: 5, Seconds: 60})
		for _, item := range l.Items {
			taken[item.URL] = true
		}
		if s.reportAll(l, status); len(taken) != 5*(i+1) {
			t.Fatalf("%d pages", len(taken))
		}
	}
	s.put("a.example", better) // displaces the others
	known := 0
	for i := range list {
		if s.state(list[i].URL).State == "known" {
			known++
		}
	}
	if known != 90 {
		t.Fatalf("%d pages are only known", known)
	}
	rules := "User-agent: *\nDisallow: /*7.html\n" // since when some of the older pages must not wait
	s.do(func() error {
		_, err := s.shard.Acquire(s.now, frontier.AcquireRequest{Domain: "a.example", Owner: "c", Seconds: 60})
		return err
	})
	s.do(func() error {
		_, err := s.shard.Release(s.now, frontier.ReleaseRequest{Domain: "a.example", Owner: "c",
			Hosts: []frontier.HostFindings{{Host: "a.example", RobotsExpires: s.now + 24*hour, Rules: &rules}}})
		return err
	})
	waiting := s.stats().URLs
	s.restore(pages)
	s.restore(pages)
	allowed := 0
	for i := range list {
		url, state := list[i].URL, s.state(list[i].URL).State
		waits := state == "due" || state == "waiting"
		if wanted := !taken[url] && !strings.HasSuffix(url, "7.html"); waits != wanted {
			t.Errorf("%s is %s", url, state)
		} else if wanted {
			allowed++
		}
	}
	if stats := s.stats(); stats.URLs != waiting+int64(allowed) {
		t.Errorf("%d pages wait, want %d", stats.URLs, waiting+int64(allowed))
	}
	s.scrape(24*hour, always(200))
	if stats := s.stats(); stats.URLs != 0 {
		t.Errorf("%+v", stats)
	}
	for url := range taken {
		if s.fetched[url] > 0 {
			t.Errorf("%s was fetched again", url)
		}
	}
}

// TestRestore_Forgotten: a host that operators had forgotten gets from an older snapshot what waited in it.
func TestRestore_Forgotten(t *testing.T) {
	s := newSite(t)
	s.put("a.example", articles("a.example", 0, 30))
	pages := s.export()
	s.setHost("a.example", frontier.HostChange{Forget: frontier.ForgetAll})
	s.restore(pages)
	if stats := s.stats(); stats.URLs != 30 {
		t.Errorf("%d pages wait", stats.URLs)
	}
}
