package shard_test

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
)

// find puts URLs of a.example as found by scrapers, and counts those refused as traps.
func (s *site) find(pages []frontier.NewPage) (trapped int) {
	s.Helper()
	var verdicts []frontier.Verdict
	s.do(func() (err error) {
		answer, err := s.shard.Put(s.now, frontier.Put{Domain: "a.example", Partition: partition, Pages: pages,
			Found: true})
		verdicts = answer.Pages
		return err
	})
	for _, v := range verdicts {
		if v == frontier.Trapped {
			trapped++
		}
	}
	return trapped
}

// TestSections: a section whose URLs have no end is a trap, but for one URL a day, unless the site lists it, a page
// of it is dated, or operators accept it.
func TestSections(t *testing.T) {
	const wall = "https://a.example/wall/step-%d"
	for _, c := range []struct {
		name, found string
		vouch       func(s *site)
		want        int // of 30, the limit being 10
	}{
		{"without end", wall, nil, 19},
		{"of a language", "https://a.example/en/wall/step-%d", nil, 19},
		{"of a program", "https://a.example/list.do?p=%d", nil, 19},
		{"on the first level", "https://a.example/step-%d", nil, 0},
		{"of a language, on its first level", "https://a.example/en/step-%d", nil, 0},
		{"by the query of the home page", "https://a.example/?p=%d", nil, 0},
		{"many sections", "https://a.example/%d/a", nil, 0},
		{"that the site lists", wall, func(s *site) { s.put("a.example", pagesLike(wall, 1000, 1)) }, 0},
		{"of which another is listed", wall, func(s *site) {
			s.put("a.example", pagesLike("https://a.example/news/%d", 0, 1))
		}, 19},
		{"of which a page is dated", wall, func(s *site) {
			s.now += hour
			l, _ := s.lease(frontier.LeaseRequest{Max: 1, PerHost: 1})
			s.do(func() error {
				_, err := s.shard.Report(s.now, frontier.Report{Lease: l.ID, Results: []frontier.Result{
					{ID: l.Items[0].ID, Status: 200, Published: s.now.Seconds() - 3600}}})
				return err
			})
		}, 0},
		{"of which operators say that it is none", wall, func(s *site) {
			if n := s.find(pagesLike(wall, 500, 20)); n == 0 {
				s.Error("no trap yet")
			}
			if d := s.host("a.example"); d.TrapExample != fmt.Sprintf(wall, 519) || d.Traps == 0 {
				s.Errorf("%d traps, such as %q", d.Traps, d.TrapExample)
			}
			s.do(func() error {
				_, err := s.shard.SetHost(s.now, "a.example", frontier.HostChange{Forget: frontier.ForgetTraps})
				return err
			})
			if d := s.host("a.example"); d.TrapExample != "" || d.Traps != 0 {
				s.Errorf("%d traps, such as %q", d.Traps, d.TrapExample)
			}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.shard.Settings.SectionLimit = 10
			first := s.find(pagesLike(c.found, 0, 5))
			if c.vouch != nil {
				c.vouch(s)
			}
			if n := first + s.find(pagesLike(c.found, 5, 25)); n != c.want {
				t.Errorf("%d are refused, want %d", n, c.want)
			}
			if c.want > 0 {
				s.now += 25 * hour
				if n := s.find(pagesLike(c.found, 30, 5)); n != 4 {
					t.Errorf("%d of 5 are refused the day after", n)
				}
			}
			s.invariants()
		})
	}
}

// TestSections_Dated: URLs with a day are never counted.
func TestSections_Dated(t *testing.T) {
	s := newSite(t)
	s.shard.Settings.SectionLimit = 10
	pages := pagesLike("https://a.example/stories/%d", 0, 30)
	for i := range pages {
		pages[i].LastMod = s.now.Seconds() - 3600
	}
	if n := s.find(pages); n != 0 {
		t.Errorf("%d are refused", n)
	}
}

// TestPermuted: a page that scrapers find under the parameters of a known one, in another order, is that one.
func TestPermuted(t *testing.T) {
	s := newSite(t)
	s.put("a.example", []frontier.NewPage{
		{URL: "https://a.example/list?b=2&a=1&c=3", Type: "news", Priority: 0.5},
		{URL: "https://a.example/list?a=1&b=2&c=3&d=4", Type: "news", Priority: 0.5}})
	for url, want := range map[string]frontier.Verdict{
		"https://a.example/list?a=1&b=2&c=3":      frontier.Duplicate,
		"https://a.example/list?c=3&b=2&a=1":      frontier.Duplicate,
		"https://a.example/list?c=3&a=1&b=2":      frontier.Duplicate,
		"https://a.example/list?b=2&c=3&a=1":      frontier.Duplicate,
		"https://a.example/list?a=1&c=3&b=2":      frontier.Duplicate,
		"https://a.example/list?d=4&a=1&c=3&b=2":  frontier.Duplicate,
		"https://a.example/list?a=1&b=2":          frontier.Accepted,
		"https://a.example/list?b=3&a=1&c=2":      frontier.Accepted,
		"https://a.example/other?a=1&b=2&c=3":     frontier.Accepted,
		"https://a.example/list?a=1&b=2&c=3&e=4":  frontier.Accepted,
		"https://a.example/list?a=1&b=2&c=3&d=40": frontier.Accepted,
	} {
		if got := s.verdicts(frontier.Put{Domain: "a.example", Found: true,
			Pages: []frontier.NewPage{{URL: url, Type: "news", Priority: 0.5}}}); got[0] != want {
			t.Errorf("%s is %v, want %v", url, got[0], want)
		}
	}
	got := s.verdicts(frontier.Put{Domain: "a.example", Found: true, Pages: []frontier.NewPage{
		{URL: "https://a.example/x?a=1&b=2", Type: "news"}, {URL: "https://a.example/x?b=2&a=1", Type: "news"}}})
	if got[0] != frontier.Accepted || got[1] != frontier.Duplicate {
		t.Errorf("in one call: %v", got)
	}
	if got := s.verdicts(frontier.Put{Domain: "a.example", Pages: []frontier.NewPage{
		{URL: "https://a.example/list?c=3&b=2&a=1", Type: "news"}}}); got[0] != frontier.Accepted {
		t.Errorf("listed by the site: %v", got)
	}
	s.invariants()
}
