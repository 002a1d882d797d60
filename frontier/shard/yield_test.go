package shard_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
)

// section is a pattern of a simulated site.
type section struct {
	useful float64 // share of its pages
	copies bool    // the others are copies, and not gone
	given  int
}

// steeredSite is a site of sections whose pages have scores that say nothing about how many of them are useful.
type steeredSite struct {
	*world
	random   *rand.Rand
	sections map[string]*section
	scores   map[string]float64 // by URL
	rows     int                // of leases and reports
	given    []string           // sections in their order
}

func newSteeredSite(t *testing.T, seed uint64, sections, pages int) *steeredSite {
	s := &steeredSite{world: newWorld(t), random: rand.New(rand.NewPCG(seed, 1)), sections: map[string]*section{},
		scores: map[string]float64{}}
	s.shard.Settings.Delay = 0
	var list []frontier.NewPage
	for i := range sections {
		name, k := fmt.Sprintf("s%c%c", 'a'+i%26, 'a'+i/26), &section{copies: i/3%2 == 0}
		switch i % 3 {
		case 0:
			k.useful = 0.02 + 0.15*s.random.Float64()
		case 1:
			k.useful = 0.4 + 0.3*s.random.Float64()
		case 2:
			k.useful = 0.85 + 0.15*s.random.Float64()
		}
		s.sections[name] = k
		for n := range pages {
			url := fmt.Sprintf("https://a.example/%s/%d", name, n)
			s.scores[url] = 0.6 + 0.19*s.random.Float64()
			list = append(list, frontier.NewPage{URL: url, Type: "news", Priority: s.scores[url]})
		}
	}
	slices.SortFunc(list, func(a, b frontier.NewPage) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.URL, b.URL))
	})
	for part := range slices.Chunk(list, 500) {
		s.put("a.example", part)
	}
	return s
}

func (s *steeredSite) section(url string) *section { return s.sections[strings.Split(url, "/")[3]] }

// fetch leases up to n pages, and reports what they are. It returns what was to be expected of them.
func (s *steeredSite) fetch(n int) (worth float64) {
	s.Helper()
	l, rows := s.lease(frontier.LeaseRequest{Max: n, PerHost: min(n, 20)})
	s.rows += rows
	report := frontier.Report{Lease: l.ID}
	for _, item := range l.Items {
		k := s.section(item.URL)
		k.given++
		s.given = append(s.given, strings.Split(item.URL, "/")[3])
		worth += k.useful * s.scores[item.URL]
		result := frontier.Result{ID: item.ID, Status: 200, TextSHA256: fmt.Sprintf("%08x%056d", hash(item.URL), 0)}
		if s.random.Float64() >= k.useful {
			if k.copies {
				result.TextSHA256 = strings.Repeat("ab", 32)
			} else {
				result.Status = 404
			}
		}
		report.Results = append(report.Results, result)
	}
	if len(l.Items) > 0 {
		s.rows += s.do(func() error {
			_, err := s.shard.Report(s.now, report)
			return err
		})
	}
	s.now += 1000
	return worth
}

// best returns what the n best pages are worth to who knows all sections.
func (s *steeredSite) best(n int) (worth float64) {
	var list []float64
	for url, score := range s.scores {
		list = append(list, score*s.section(url).useful)
	}
	slices.SortFunc(list, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, w := range list[:n] {
		worth += w
	}
	return worth
}

// TestYield_Steers: of 40 sections, a third of them copies, empty or gone, the first 500 fetches bring nine tenths of
// what they would bring to a scraper that knew the sections, and no section is given up.
func TestYield_Steers(t *testing.T) {
	for seed := range uint64(4) {
		s := newSteeredSite(t, seed, 40, 50)
		got := 0.0
		for n := 0; n < 500; n = len(s.given) {
			got += s.fetch(5)
		}
		blind := 0.0
		for url, score := range s.scores {
			blind += score * s.section(url).useful * 500 / 2000
		}
		share := got / s.best(500)
		t.Logf("seed %d: %.3f of the best, %.3f without steering; %.2f rows a page", seed, share, blind/s.best(500),
			float64(s.rows)/500)
		if share < 0.9 {
			t.Errorf("seed %d: the first 500 fetches bring %.3f of the best", seed, share)
		}
		for len(s.given) < 1000 {
			s.fetch(5)
		}
		for name, k := range s.sections {
			if k.given == 0 {
				t.Errorf("seed %d: %s is never given", seed, name)
			}
		}
		s.invariants()
	}
}

// TestYield_Sinks: a section that proves to be copies, or to be closed by a login or a paywall, sinks below the median
// of what waits within some ten fetches.
func TestYield_Sinks(t *testing.T) {
	t.Run("copies", func(t *testing.T) { sinks(t, false) })
	t.Run("closed", func(t *testing.T) { sinks(t, true) })
}

// sinks plays a host with a section that is worth nothing: its pages are copies, or each has a text of its own before
// which something stands.
func sinks(t *testing.T, closed bool) {
	s := newSite(t)
	s.put("a.example", append(pagesLike("https://a.example/copies/%d/show", 0, 40),
		pagesLike("https://a.example/news/%d", 0, 60)...))
	text := func(url string) string {
		if strings.Contains(url, "/copies/") && !closed {
			return strings.Repeat("ab", 32)
		}
		return fmt.Sprintf("%08x%056d", hash(url), 0)
	}
	var given []string
	for len(given) < 50 {
		s.now += hour
		l, _ := s.lease(frontier.LeaseRequest{Max: 5, PerHost: 5})
		r := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			given = append(given, item.URL)
			r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: 200, TextSHA256: text(item.URL),
				Closed: closed && strings.Contains(item.URL, "/copies/")})
		}
		s.do(func() error {
			_, err := s.shard.Report(s.now, r)
			return err
		})
	}
	copies := 0
	for _, url := range given[10:] {
		if strings.Contains(url, "/copies/") {
			copies++
		}
	}
	if copies > 6 { // the exploring ones
		t.Errorf("%d of 40 pages are copies: %q", copies, given)
	}
	var waiting []float64
	for i := range 60 {
		if x := s.state(fmt.Sprintf("https://a.example/news/%d", i)); x.State == "due" {
			waiting = append(waiting, x.Priority)
		}
	}
	slices.Sort(waiting)
	for i := range 40 {
		if x := s.state(fmt.Sprintf("https://a.example/copies/%d/show", i)); x.State == "due" {
			if x.Priority >= waiting[len(waiting)/2] || x.Yield >= 1 {
				t.Errorf("%+v, others %v", x, waiting)
			}
		}
	}
	if k := s.pattern("copies/0/*"); k.Refused || closed != (k.Closed > 3) || closed != (k.Copied == 0) {
		t.Errorf("%+v", k)
	}
	s.invariants()
}
