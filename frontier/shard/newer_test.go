package shard_test

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
)

// newspaper is a site with a feed, and a scraper that asks as soon as it may. All times are minutes of the same day,
// from its beginning.
type newspaper struct {
	*looks
	began epoch.Millis
	page  frontier.NewPage
	text_ int // changes when the page does
}

// newNewspaper returns a site whose pages stay on the schedule, with fewer visits a day, or not.
func newNewspaper(t *testing.T, visits int64) *newspaper {
	n := &newspaper{looks: newLooks(t, visits)}
	n.began = n.now/(24*hour)*(24*hour) + 24*hour
	n.text = func(url string, _ epoch.Millis) string { return fmt.Sprint(url, n.text_) }
	n.page = frontier.NewPage{URL: "https://a.example/news/1", Type: "policy", Priority: 0.5}
	return n
}

func (n *newspaper) at(minutes float64) epoch.Millis { return n.began + epoch.Millis(minutes*minute) }

// list puts the page with a date, in minutes, at a time, and fetches what that brings. It returns how often.
func (n *newspaper) list(at, date float64) (fetched int) {
	n.Helper()
	n.now = max(n.now, n.at(at))
	n.page.LastMod = n.at(date).Seconds()
	n.put("a.example", []frontier.NewPage{n.page})
	for _, item := range n.scrape(frontier.LeaseRequest{Max: 10, PerHost: 5, Seconds: 60}) {
		if item.Reason != "revisit" {
			fetched++
		}
	}
	return fetched
}

// TestVisit_SameHour: a date brings a page back once if it is later than the last fetch, also in the hour of that, and
// one that is not never does, however often it is listed.
func TestVisit_SameHour(t *testing.T) {
	t.Parallel()
	const ten = 600
	for _, visits := range []int64{0, 1000} {
		for _, c := range []struct {
			name            string
			published       float64   // date at first, fetched at 10:15
			corrected       float64   // date afterwards
			changes         bool      // the page
			listed          []float64 // when it is
			want            int       // fetches after the first one
			everyTenMinutes bool      // until 14:00, instead of listed
		}{
			{name: "corrected within the hour", published: ten + 5, corrected: ten + 40, changes: true,
				everyTenMinutes: true, want: 1},
			{name: "a new date of the hour, of the same page", published: ten + 5, corrected: ten + 40,
				everyTenMinutes: true, want: 1},
			{name: "the date of the publication stays", published: ten + 5, corrected: ten + 5, everyTenMinutes: true},
			{name: "before the fetch", published: ten + 5, corrected: ten + 9, everyTenMinutes: true},
			{name: "the second of the fetch", published: ten + 5, corrected: ten + 15, everyTenMinutes: true},
			{name: "hours alone, the same", published: ten, corrected: ten, everyTenMinutes: true},
			{name: "hours alone, the next", published: ten, corrected: ten + 60, changes: true, everyTenMinutes: true,
				want: 1},
			{name: "days alone, the same", published: 0, corrected: 0, everyTenMinutes: true},
			{name: "days alone, the next", published: 0, corrected: 24 * 60, changes: true,
				listed: []float64{24*60 + 5, 24*60 + 15, 24*60 + 65}, want: 1},
			{name: "ahead of the clock from the first time on", published: ten + 50, corrected: ten + 50,
				everyTenMinutes: true},
			{name: "ahead, into the next hour", published: ten + 63, corrected: ten + 63, everyTenMinutes: true},
			{name: "ahead, later", published: ten + 5, corrected: ten + 70, changes: true, everyTenMinutes: true,
				want: 1},
			{name: "far ahead", published: ten + 5, corrected: ten + 30*24*60, everyTenMinutes: true},
			{name: "in the time zone of the site", published: ten + 180, corrected: ten + 180, everyTenMinutes: true,
				want: 1},
		} {
			t.Run(fmt.Sprint(c.name, ", ", visits), func(t *testing.T) {
				n := newNewspaper(t, visits)
				if got := n.list(ten+15, c.published); got != 1 {
					t.Fatalf("%d fetches at first", got)
				}
				if c.changes {
					n.text_++
				}
				got := 0
				if c.everyTenMinutes {
					for at := ten + 20.0; at < 14*60; at += 10 {
						// Before it is corrected, the page has its first date.
						date := c.corrected
						if at < c.corrected && c.corrected < ten+60 && c.published != c.corrected {
							date = c.published
						}
						got += n.list(at, date)
					}
				}
				for _, at := range c.listed {
					got += n.list(at, c.corrected)
				}
				if got != c.want {
					t.Errorf("%d fetches, want %d", got, c.want)
				}
				n.invariants()
			})
		}
	}
}

// TestVisit_TwoCorrections: each correction of an hour is seen, a page that only gets new dates is fetched once for
// all of its hour.
func TestVisit_TwoCorrections(t *testing.T) {
	for _, changes := range []bool{true, false} {
		n := newNewspaper(t, 1000)
		n.list(605, 601)
		got := 0
		for at := 610.0; at < 660; at += 10 {
			if changes {
				n.text_++
			}
			got += n.list(at, at-1)
		}
		if want := map[bool]int{true: 5, false: 1}[changes]; got != want {
			t.Errorf("changes %v: %d fetches, want %d", changes, got, want)
		}
		n.invariants()
	}
}

// TestVisit_CorrectedWhileLeased: what is corrected after a page was leased may not be in the copy that is reported.
func TestVisit_CorrectedWhileLeased(t *testing.T) {
	n := newNewspaper(t, 1000)
	n.now, n.page.LastMod = n.at(601), n.at(600).Seconds()
	n.put("a.example", []frontier.NewPage{n.page})
	l, _ := n.lease(frontier.LeaseRequest{Max: 1, Seconds: 900})
	n.now, n.page.LastMod = n.at(610), n.at(609).Seconds()
	n.put("a.example", []frontier.NewPage{n.page}) // a scraper has it
	n.now = n.at(614)
	n.report(l, 200)
	if got := n.list(620, 609); got != 1 {
		t.Errorf("%d fetches of the corrected page", got)
	}
	if got := n.list(630, 609); got != 0 {
		t.Errorf("%d fetches of a page that did not change since", got)
	}
	n.invariants()
}

// TestVisit_SameHourOfMany: where a host has so many pages that only the hours of their fetches are known, a date of
// that hour does not count, so that none is fetched over and over.
func TestVisit_SameHourOfMany(t *testing.T) {
	n := newNewspaper(t, 1000)
	n.now = n.at(610)
	list := articles("a.example", 0, 200)
	for i := range list {
		list[i].LastMod = n.at(605).Seconds()
	}
	n.put("a.example", list)
	all := frontier.LeaseRequest{Max: 100, PerHost: 20, Seconds: 60}
	if got := len(n.scrape(all)); got != 200 {
		t.Fatalf("%d pages", got)
	}
	again := map[string]int{}
	for at := 620.0; at < 800; at += 10 {
		n.now = n.at(at)
		for i := range 10 {
			list[i].LastMod = n.at(619).Seconds()
		}
		n.put("a.example", list)
		for _, item := range n.scrape(all) {
			if item.Reason == "lastmod" {
				again[item.URL]++
			}
		}
	}
	for url, times := range again {
		if times > 1 {
			t.Errorf("%s was fetched %d times", url, times)
		}
	}
	t.Logf("%d of 10 came back", len(again))
	n.invariants()
}
