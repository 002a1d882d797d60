package frontiertest

import (
	"fmt"
	"slices"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

func (s *testShard) pagesAt(domain string, at epoch.Seconds) (list []frontier.PageInfo) {
	s.t.Helper()
	s.do(func() (err error) {
		list, err = s.s.Pages(ctx, frontier.PagesRequest{Domain: domain, At: at})
		return err
	})
	return list
}

// domainPages: all pages of a domain are listed that are not done, wherever they lie, with the priorities of a time.
func domainPages(t T, db DB) {
	s := newShard(t, db)
	const dated = "https://www.a.example/dated"
	at := s.now.Seconds()
	put := append(pages("a.example", 100, 0.5), frontier.NewPage{URL: dated, Title: "제목", Type: "press_release",
		Priority: 0.9, LastMod: at - 3600})
	s.put("a.example", put...)
	s.putIn(kr, "a.example", nil, []frontier.NewEntry{{NewPage: frontier.NewPage{URL: feedURL}, Method: "rss",
		Interval: 7200}})
	s.put("b.example", pages("b.example", 3, 0.5)...)
	listed := func() (list []string) {
		for _, p := range s.pagesAt("a.example", at) {
			list = append(list, p.URL)
		}
		slices.Sort(list)
		return list
	}
	var want []string
	for _, p := range put {
		want = append(want, p.URL)
	}
	slices.Sort(want)
	expect(t, "pages that wait", listed(), want)

	s.wait(40 * 86_400_000)
	leased := s.request(frontier.LeaseRequest{Max: 2, PerHost: 1})
	expect(t, "with leased ones", listed(), want)
	list := s.pagesAt("a.example", at)
	i := slices.IndexFunc(list, func(p frontier.PageInfo) bool { return p.URL == dated })
	expect(t, "a page", list[i], frontier.PageInfo{URL: dated, Title: "제목", Type: "press_release", Priority: 0.9,
		LastMod: at - 3600})
	later := s.pagesAt("a.example", s.now.Seconds())
	expect(t, "its priority later", fmt.Sprint(later[i].Priority < 0.9), "true")

	s.settle(leased, 200)
	for _, item := range leased.Items {
		want = slices.DeleteFunc(want, func(url string) bool { return url == item.URL })
	}
	expect(t, "without those that are done", listed(), want)
	expect(t, "of a domain without any", len(s.pagesAt("c.example", at)), 0)
	s.do(func() error {
		_, err := s.s.Pages(ctx, frontier.PagesRequest{Domain: "A"})
		expectInvalid(t, "of no domain", err)
		return nil
	})
}
