package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// readsRobots makes the session of w read the robots.txt of every authority first. It forbids /private and records the
// authorities whose rules were requested.
func readsRobots(w **world, asked *[]string) func(*fetch.Config) {
	return func(c *fetch.Config) {
		c.Rules = func(ctx context.Context, authority *url.URL) (func(string) bool, error) {
			*asked = append(*asked, authority.String())
			a, err := (*w).session.Fetch(ctx, fetch.Target{URL: authority.JoinPath("robots.txt").String(),
				Robots: true, Whole: true})
			if err != nil {
				return nil, fmt.Errorf("no robots.txt: %w", err)
			}
			if a.Status >= 500 {
				return nil, &contract.Error{Kind: contract.Network, Message: "it is down", Err: fetch.ErrRobotsUnknown}
			}
			return func(link string) bool { return !strings.Contains(link, "/private") }, nil
		}
	}
}

// Before the first request to an authority, including redirects, its rules are requested until they are known.
func TestRules_EveryAuthority(t *testing.T) {
	var w *world
	var asked []string
	w = newWorld(map[string]fetchtest.Page{
		"https://a.example/":           {},
		"https://a.example/to-b":       fetchtest.Redirect(302, "https://b.example/x"),
		"https://a.example/to-private": fetchtest.Redirect(302, "https://b.example/private"),
		"https://b.example/x":          fetchtest.Redirect(302, "http://b.example/x"),
		"http://b.example/x":           {},
		"https://c.example/robots.txt": {Status: 503},
		"https://d.example/robots.txt": fetchtest.Redirect(301, "https://e.example/private/robots"),
		"https://d.example/":           {},
		"https://e.example/":           {},
	}, readsRobots(&w, &asked), func(c *fetch.Config) { c.Retries = 0; c.MaxRequests = 100 })
	w.session.SetRules("https://a.example", func(string) bool { return true })

	w.fetch(t, "https://a.example/")
	w.fetch(t, "https://a.example/to-b")
	w.fetch(t, "https://d.example/")
	for link, want := range map[string]error{
		"https://a.example/to-private": fetch.ErrDisallowed,
		"https://b.example/private":    fetch.ErrDisallowed,
		"https://c.example/":           fetch.ErrRobotsUnknown,
		"https://c.example/again":      fetch.ErrRobotsUnknown,
	} {
		if a, err := w.session.Fetch(t.Context(), fetch.Target{URL: link}); !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v; want %v", link, a, err, want)
		}
	}
	want := []string{
		"https://a.example/", "https://a.example/to-b",
		"https://b.example/robots.txt", "https://b.example/x", "http://b.example/robots.txt", "http://b.example/x",
		"https://d.example/robots.txt", "https://e.example/private/robots", "https://d.example/",
	}
	if got := w.URLs()[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("visits\n%q, want\n%q", got, want)
	}
	slices.Sort(asked)
	if want := []string{"http://b.example", "https://b.example", "https://c.example", "https://c.example",
		"https://d.example"}; !slices.Equal(asked, want) {
		t.Errorf("asked for the rules of %q, want %q", asked, want)
	}
}

// A request that robots.txt prevented is not retried, and the budget includes requests for robots.txt.
func TestRules_Limits(t *testing.T) {
	var w *world
	var asked []string
	w = newWorld(map[string]fetchtest.Page{
		"https://a.example/robots.txt": {},
		"https://b.example/robots.txt": {},
	}, readsRobots(&w, &asked), func(c *fetch.Config) { c.MaxRequests = 1 })
	began := w.clock.Now()
	if a, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/private"}); !errors.Is(err,
		fetch.ErrDisallowed) || a.Requests != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if waited := w.clock.Now().Sub(began); waited > 0 {
		t.Errorf("waited %v to try a forbidden request again", waited)
	}
	if _, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://b.example/"}); !errors.Is(err,
		fetch.ErrBudget) {
		t.Errorf("without budget: %v", err)
	}
	if got := w.URLs(); !slices.Equal(got, []string{"https://a.example/robots.txt"}) {
		t.Errorf("visits %q", got)
	}
}

// The robots.txt of an excluded host is not requested.
func TestRules_ExcludedHosts(t *testing.T) {
	var w *world
	var asked []string
	w = newWorld(map[string]fetchtest.Page{"https://a.example/": {}}, readsRobots(&w, &asked), func(c *fetch.Config) {
		c.Excluded = func(link string) bool { return strings.Contains(link, "a.example") }
	})
	if _, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"}); !errors.Is(err,
		fetch.ErrExcluded) || len(w.Visits()) > 0 {
		t.Errorf("%v, visits %q", err, w.URLs())
	}
}

func TestRetries_AreCounted(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{
		"https://a.example/down": {Status: 500},
		"https://a.example/to":   fetchtest.Redirect(302, "/down"),
		"https://a.example/up":   {},
	}, func(c *fetch.Config) { c.MaxRequests = 100; c.Interval = time.Millisecond })
	for link, want := range map[string]int{"/down": 3, "/to": 3, "/up": 0} {
		if a := w.fetch(t, "https://a.example"+link); a.Retries != want {
			t.Errorf("%s: %d retries, want %d", link, a.Retries, want)
		}
	}
	w = newWorld(map[string]fetchtest.Page{"https://a.example/robots.txt": fetchtest.Fail(fetch.ErrReset),
		"http://a.example/robots.txt": fetchtest.Fail(fetch.ErrReset)})
	if o, err := w.session.Origin(t.Context(), "a.example", "", "/robots.txt", fetch.Target{}); err == nil ||
		o.Answer.Retries != 3 {
		t.Errorf("%d retries of a domain that does not answer (%v), want 3", o.Answer.Retries, err)
	}
}
