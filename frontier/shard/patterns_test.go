package shard_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// pagesLike makes pages of a pattern.
func pagesLike(format string, from, n int) (list []frontier.NewPage) {
	for i := range n {
		list = append(list, frontier.NewPage{URL: fmt.Sprintf(format, from+i), Type: "news", Priority: 0.8})
	}
	return list
}

// scrapeTexts fetches everything that waits. text returns the digest of a page's text.
func (s *site) scrapeTexts(text func(url string) string) {
	s.Helper()
	for idle := 0; idle < 20; idle++ {
		l, _ := s.lease(frontier.LeaseRequest{Max: 20, PerHost: 20})
		r := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			idle = 0
			s.fetched[item.URL]++
			r.Results = append(r.Results, frontier.Result{ID: item.ID, Status: 200, TextSHA256: text(item.URL)})
		}
		if len(r.Results) > 0 {
			s.do(func() error {
				_, err := s.shard.Report(s.now, r)
				return err
			})
		}
		s.now += 2000
	}
}

func textOf(n int) string { return fmt.Sprintf("%064x", n+1) }

// host describes a host.
func (w *world) host(name string) (d frontier.HostDetail) {
	w.Helper()
	w.do(func() (err error) {
		d, err = w.shard.Host(w.now, name)
		return err
	})
	return d
}

// pattern describes a pattern of a.example; the zero value if nothing is known of it.
func (s *site) pattern(name string) (k frontier.ObservedPattern) {
	s.Helper()
	for _, k = range s.host("a.example").Patterns {
		if k.Pattern == name {
			return k
		}
	}
	return frontier.ObservedPattern{}
}

// TestPatterns: what becomes of the pages of a pattern is counted, how long after their dates they are fetched, and
// how often they change.
func TestPatterns(t *testing.T) {
	s := newSite(t)
	s.shard.Settings.VisitsPerDay = 10_000
	pages := append(pagesLike("https://a.example/news/2026/%d", 0, 10),
		pagesLike("https://a.example/about/%d", 0, 4)...)
	for i := range 10 {
		pages[i].LastMod = s.now.Seconds() - epoch.Seconds(1800+600*i)
	}
	s.put("a.example", pages)
	looks, began := 0, s.now
	for s.now < began+20*24*hour {
		l, _ := s.lease(frontier.LeaseRequest{Max: 20, PerHost: 20})
		r := frontier.Report{Lease: l.ID}
		for _, item := range l.Items {
			result := frontier.Result{ID: item.ID, Status: 200}
			switch {
			case strings.Contains(item.URL, "/about/"):
				result.Status = 404
			case item.Visits > 0:
				looks++
			}
			// changes every two days
			result.TextSHA256 = fmt.Sprintf("%08x%056d", hash(fmt.Sprint(s.now/(48*hour), item.URL)), 0)
			r.Results = append(r.Results, result)
		}
		if len(r.Results) > 0 {
			s.do(func() error {
				_, err := s.shard.Report(s.now, r)
				return err
			})
		}
		s.now += hour
	}
	news, about := s.pattern("news/0/*"), s.pattern("about/*")
	if about.Given != 4 || about.Gone != 4 || about.Fetched != 0 || about.DelayMinutes != nil ||
		about.ChangeHours != nil {
		t.Errorf("about: %+v", about)
	}
	if news.Given != 10 || news.Fetched != 10 || news.Copied != 0 || news.Dated != 10 || news.DelayMinutes == nil ||
		*news.DelayMinutes < 30 ||
		*news.DelayMinutes > 130 {
		t.Errorf("news: %+v", news)
	}
	if looks < 20 || news.Looks < 20 || news.Looks > int64(looks) || news.ChangeHours == nil ||
		*news.ChangeHours < 24 || *news.ChangeHours > 96 {
		t.Errorf("%d looks, %+v", looks, news)
	}
	s.invariants()
	s.setHost("a.example", frontier.HostChange{Forget: frontier.ForgetAll})
	if d := s.host("a.example"); len(d.Patterns) > 0 {
		t.Errorf("of a forgotten host: %+v", d.Patterns)
	}
}

// TestPatterns_Many: of a host with ever new patterns those are kept of which pages were given last.
func TestPatterns_Many(t *testing.T) {
	s := newSite(t)
	for i := range 60 {
		s.put("a.example", []frontier.NewPage{
			{URL: fmt.Sprintf("https://a.example/s%s/1", strings.Repeat("x", i)), Type: "news", Priority: 0.8}})
		s.scrape(hour, always(200))
	}
	d := s.host("a.example")
	if len(d.Patterns) != 48 || s.pattern("s"+strings.Repeat("x", 12)+"/*").Fetched != 1 {
		t.Errorf("%d patterns: %+v", len(d.Patterns), d.Patterns)
	}
	s.invariants()
}

// TestCopies_Trap: a section whose pages are ever the same under new URLs is a trap: others of it wait behind real
// pages, then are refused, but for one a day; real pages beside it are not touched.
func TestCopies_Trap(t *testing.T) {
	s := newSite(t)
	s.shard.Settings.VisitsPerDay = 10_000
	same := func(url string) string {
		if strings.Contains(url, "/list/") {
			return strings.Repeat("ab", 32)
		}
		return fmt.Sprintf("%x%056x", "abcd", len(url)*7919+int(url[len(url)-1])+int(url[len(url)-2])*256)
	}
	s.put("a.example", pagesLike("https://a.example/list/%d/show", 0, 12))
	s.scrapeTexts(same)
	if k := s.pattern("list/0/*"); k.Fetched != 12 || k.Copied != 11 || k.Refused {
		t.Fatalf("%+v", k)
	}
	if n := s.host("a.example").Scheduled; n != 1 {
		t.Errorf("%d of the copies are looked at again", n)
	}
	s.put("a.example", append(pagesLike("https://a.example/list/%d/show", 20, 1),
		pagesLike("https://a.example/news/%d", 10, 1)...))
	if copy, real := s.state("https://a.example/list/20/show"),
		s.state("https://a.example/news/10"); copy.Priority >= real.Priority/2 {
		t.Errorf("a likely copy is worth %g, a real page %g", copy.Priority, real.Priority)
	}
	s.put("a.example", pagesLike("https://a.example/list/%d/show", 30, 12))
	s.scrapeTexts(same)
	got := s.verdicts(frontier.Put{Domain: "a.example",
		Pages: append(pagesLike("https://a.example/list/%d/show", 100, 5),
			pagesLike("https://a.example/news/%d", 20, 2)...)})
	if fmt.Sprint(got) != "[trap trap trap trap trap accepted accepted]" {
		t.Errorf("%v", got)
	}
	if d := s.host("a.example"); d.Traps != 5 || !s.pattern("list/0/*").Refused {
		t.Errorf("%d traps, %+v", d.Traps, d.Patterns)
	}
	s.now += 25 * hour
	got = s.verdicts(frontier.Put{Domain: "a.example", Pages: pagesLike("https://a.example/list/%d/show", 100, 5)})
	if fmt.Sprint(got) != "[accepted trap trap trap trap]" {
		t.Errorf("a day later: %v", got)
	}
	s.invariants()
	s.setHost("a.example", frontier.HostChange{Forget: frontier.ForgetAll})
	got = s.verdicts(frontier.Put{Domain: "a.example", Pages: pagesLike("https://a.example/list/%d/show", 200, 1)})
	if fmt.Sprint(got) != "[accepted]" {
		t.Errorf("of a forgotten host: %v", got)
	}
	s.invariants()
}

// TestCopies_Wall: a wall that answers every page with the same text makes its pages copies; when it has fallen, the
// page that is tried each day shows it, and the others come.
func TestCopies_Wall(t *testing.T) {
	s := newSite(t)
	fallen := false
	text := func(url string) string {
		if fallen {
			return fmt.Sprintf("%08x%056d", hash(url), 0)
		}
		return strings.Repeat("ab", 32)
	}
	s.put("a.example", pagesLike("https://a.example/news/%d", 0, 30))
	s.scrapeTexts(text)
	got := s.verdicts(frontier.Put{Domain: "a.example", Pages: pagesLike("https://a.example/news/%d", 100, 3)})
	if fmt.Sprint(got) != "[trap trap trap]" {
		t.Fatalf("behind the wall: %v", got)
	}
	fallen = true
	s.now += 25 * hour
	s.put("a.example", pagesLike("https://a.example/news/%d", 100, 3))
	s.scrapeTexts(text)
	got = s.verdicts(frontier.Put{Domain: "a.example", Pages: pagesLike("https://a.example/news/%d", 100, 3)})
	if fmt.Sprint(got) != "[duplicate accepted accepted]" {
		t.Errorf("after it: %v", got)
	}
	s.invariants()
}

// TestCopies_None: pages are no copies of themselves, whose texts are empty, or that say nothing of them.
func TestCopies_None(t *testing.T) {
	const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for name, text := range map[string]func(string) string{
		"different": func(url string) string { return textOf(len(url)*1000+int(url[len(url)-1])) + "" },
		"empty":     func(string) string { return nothing },
		"not told":  func(string) string { return "" },
	} {
		s := newSite(t)
		s.shard.Settings.VisitsPerDay = 10_000
		if name == "different" {
			text = func(url string) string { return fmt.Sprintf("%08x%056d", hash(url), 0) }
		}
		s.put("a.example", pagesLike("https://a.example/list/%d", 0, 60))
		for range 3 {
			s.scrapeTexts(text)
			s.now += 3 * 24 * hour
		}
		if k := s.pattern("list/*"); k.Fetched != 60 || k.Copied > 0 {
			t.Errorf("%s: %+v", name, k)
		}
		s.invariants()
	}
}

func hash(text string) (h uint32) {
	for _, c := range []byte(text) {
		h = h*16777619 ^ uint32(c)
	}
	return h
}

// TestCopies_Canonical: two URLs of a page become one. Its canonical URL is queued, the other never again. A home
// page or a page of another site is no canonical URL of a page.
func TestCopies_Canonical(t *testing.T) {
	const home, other, invalid = "https://a.example/", "https://b.example/1", "/print/1"
	for _, c := range []struct {
		name, canonical string
		status          int
		copies, added   int64
	}{
		{"another page", "https://a.example/story-1", 200, 1, 1},
		{"another page, with a tracker", "https://a.example/story-1?utm_source=x", 200, 1, 1},
		{"a page of another host of the site", "https://www.a.example/story-1", 200, 1, 1},
		{"a known page", "https://a.example/print?id=1&x=1", 200, 1, 0},
		{"itself", "https://a.example/print?id=0&x=1#top", 200, 0, 0},
		{"the home page", home, 200, 0, 0},
		{"another site", other, 200, 0, 0},
		{"no URL", invalid, 200, 0, 0},
		{"of an error", "https://a.example/story-1", 404, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.shard.Settings.VisitsPerDay = 10_000
			s.put("a.example", pagesLike("https://a.example/print?id=%d&x=1", 0, 2))
			l, _ := s.lease(frontier.LeaseRequest{Max: 2, PerHost: 2})
			r := frontier.Report{Lease: l.ID}
			for i, item := range l.Items {
				result := frontier.Result{ID: item.ID, Status: 200, TextSHA256: textOf(1000 * i)}
				if strings.Contains(item.URL, "id=0") {
					result.Status, result.Canonical = c.status, c.canonical
				}
				r.Results = append(r.Results, result)
			}
			var answer frontier.ReportAnswer
			for range 2 { // the second time nothing more comes of it
				s.do(func() (err error) {
					a, err := s.shard.Report(s.now, r)
					answer.Added += a.Added
					return err
				})
			}
			d, copied := s.host("a.example"), s.copies("a.example")
			if copied != c.copies || int64(answer.Added) != c.added || c.status == 200 && d.Scheduled != 2-c.copies {
				t.Errorf("%d copies, %d added, %d are looked at again", copied, answer.Added, d.Scheduled)
			}
			s.invariants()
		})
	}
}

// copies returns how many pages of a host were copies.
func (s *site) copies(host string) (n int64) {
	s.Helper()
	for _, p := range s.host(host).Patterns {
		n += p.Copied
	}
	return n
}

// TestCopies_Said: what the scraper calls a copy of another page is one, whatever its text, but not of itself, nor in a
// circle: one of the pages is looked at again.
func TestCopies_Said(t *testing.T) {
	const other, unnamed, invalid = "https://b.example/1", "-", "no URL"
	for _, c := range []struct {
		name   string
		said   []string // what each page is a copy of: the place of another one, a URL, or "" for none
		same   bool     // all have one text
		copies int64
	}{
		{"two of the first", []string{"", "0", "0"}, false, 2},
		{"of the same text", []string{"", "0", "0"}, true, 2},
		{"of another host", []string{other, other, ""}, false, 2},
		{"as the version before says it", []string{"", unnamed, unnamed}, false, 2},
		{"of itself", []string{"0", "1", "2"}, false, 0},
		{"of no page", []string{invalid, invalid, ""}, false, 0},
		{"of each other", []string{"1", "0", ""}, false, 1},
		{"of each other, with one text", []string{"1", "0", "0"}, true, 2},
		{"in a circle", []string{"1", "2", "0"}, false, 2},
		{"in a circle, with one text", []string{"1", "2", "0"}, true, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.shard.Settings.VisitsPerDay = 10_000
			s.put("a.example", pagesLike("https://a.example/print?id=%d&x=1", 0, 3))
			l, _ := s.lease(frontier.LeaseRequest{Max: 3, PerHost: 3})
			r := frontier.Report{Lease: l.ID}
			for i, item := range l.Items {
				result := frontier.Result{ID: item.ID, Status: 200, Copy: c.said[i] != "", CopyOf: c.said[i]}
				if at, err := strconv.Atoi(c.said[i]); err == nil {
					result.CopyOf = l.Items[at].URL
				} else if c.said[i] == unnamed {
					result.CopyOf = ""
				}
				if result.TextSHA256 = textOf(1000 * i); c.same {
					result.TextSHA256 = textOf(0)
				}
				r.Results = append(r.Results, result)
			}
			s.do(func() error {
				_, err := s.shard.Report(s.now, r)
				return err
			})
			d, copied := s.host("a.example"), s.copies("a.example")
			if d.Scheduled != 3-c.copies || copied != c.copies {
				t.Errorf("%d are looked at again, %+v", d.Scheduled, d.Patterns)
			}
			s.invariants()
		})
	}
}
