package fetch_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// admitting refuses hosts by name, and records the hosts that a session wants.
type admitting struct {
	refuse map[string]error
	give   fetch.Admission
	asked  []string
}

func (a *admitting) configure(c *fetch.Config) {
	c.Admit = func(_ context.Context, host string) (fetch.Admission, error) {
		a.asked = append(a.asked, host)
		return a.give, a.refuse[host]
	}
}

// A session asks for admission to a host once, before its first request, including redirects and robots.txt. If
// refused, it sends nothing, and asks again before the next request.
func TestAdmission_OncePerHost(t *testing.T) {
	busy := &contract.Error{Kind: contract.Timeout, Message: "host busy", Err: fetch.ErrHostBusy}
	a := &admitting{refuse: map[string]error{"busy.example": busy}}
	w := newWorld(map[string]fetchtest.Page{
		"https://a.example/":             {},
		"https://a.example/to-b":         fetchtest.Redirect(302, "https://b.example/"),
		"https://a.example/to-busy":      fetchtest.Redirect(302, "https://busy.example/"),
		"https://a.example/robots.txt":   fetchtest.Redirect(302, "https://busy.example/r"),
		"https://b.example/":             {},
		"https://b.example/to-forbidden": fetchtest.Redirect(302, "https://c.example/"),
		"https://busy.example/":          {}, "https://busy.example/r": {}, "https://c.example/": {},
	}, a.configure)
	w.session.SetRules("https://c.example", func(string) bool { return false })
	w.fetch(t, "https://a.example/")
	w.fetch(t, "https://a.example/to-b")
	for _, target := range []fetch.Target{
		{URL: "https://a.example/to-busy"}, {URL: "https://busy.example/"},
		{URL: "https://a.example/robots.txt", Robots: true},
	} {
		if answer, err := w.session.Fetch(t.Context(), target); !errors.Is(err, fetch.ErrHostBusy) ||
			contract.KindOf(err) != contract.Timeout || len(answer.Content) > 0 {
			t.Errorf("%s: %v", target.URL, err)
		}
	}
	if _, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://b.example/to-forbidden"}); !errors.Is(err,
		fetch.ErrDisallowed) {
		t.Error(err)
	}
	if want := []string{"a.example", "b.example", "busy.example", "busy.example",
		"busy.example"}; !slices.Equal(a.asked, want) {
		t.Errorf("asked for %v, want %v", a.asked, want)
	}
	if slices.ContainsFunc(w.URLs(), func(link string) bool {
		return slices.Contains([]string{"https://busy.example/", "https://busy.example/r", "https://c.example/"}, link)
	}) {
		t.Errorf("asked %v", w.URLs())
	}
}

// A session respects the ready time that comes with its admission.
func TestAdmission_ReadyAt(t *testing.T) {
	a := &admitting{give: fetch.Admission{Delay: 3 * time.Second, ReadyAt: epoch.Add(20 * time.Second)}}
	w := newWorld(map[string]fetchtest.Page{"https://a.example/": {}}, a.configure)
	w.fetch(t, "https://a.example/")
	w.fetch(t, "https://a.example/")
	if got, want := w.starts(), []float64{20, 23}; !reflect.DeepEqual(got, want) {
		t.Errorf("starts %v, want %v", got, want)
	}
	if wait := w.session.Stats().PolitenessWait.Round(time.Second); wait != 23*time.Second {
		t.Errorf("waited %v", wait)
	}
}

// Losing the admission cancels the pending request and its body, and prevents further ones.
func TestAdmission_Lost(t *testing.T) {
	for name, page := range map[string]fetchtest.Page{"answer": {Latency: time.Minute},
		"body": {Reading: time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lease, lose := context.WithCancel(t.Context())
				a := &admitting{give: fetch.Admission{Lease: lease}}
				cfg := config()
				a.configure(&cfg)
				web := &fetchtest.Web{Clock: fetch.SystemClock(),
					Pages: map[string]fetchtest.Page{"https://a.example/": page, "https://a.example/2": {}}}
				s := fetch.NewSession(cfg, web, fetch.SystemClock(), fetch.NewLimiter(2))
				began := time.Now()
				time.AfterFunc(2*time.Second, lose)
				if _, err := s.Fetch(t.Context(), fetch.Target{URL: "https://a.example/", Whole: true,
					Once: true}); err == nil {
					t.Error("no error")
				}
				if took := time.Since(began); took != 2*time.Second {
					t.Errorf("it ended after %v", took)
				}
				if _, err := s.Fetch(t.Context(), fetch.Target{URL: "https://a.example/2"}); !errors.Is(err,
					fetch.ErrHostBusy) {
					t.Error(err)
				}
				if len(web.Visits()) != 1 || len(a.asked) != 1 {
					t.Errorf("asked %v, for %v", web.URLs(), a.asked)
				}
			})
		})
	}
}

func TestVisits(t *testing.T) {
	header := map[string]string{"Retry-After": "90"}
	w := newWorld(map[string]fetchtest.Page{
		"https://a.example/": {}, "https://hot.example/": {Status: 429},
		"https://later.example/": {Status: 503, Header: header},
		"https://calm.example/":  {Status: 503}, "https://calm.example/2": {}, "https://other.test/": {},
	}, func(c *fetch.Config) { c.Retries = 0 })
	for _, link := range []string{
		"https://a.example/", "https://hot.example/", "https://later.example/", "https://calm.example/",
		"https://calm.example/2",
		"https://gone.example/", "https://other.test/",
	} {
		_, err := w.session.Fetch(t.Context(), fetch.Target{URL: link, Whole: true})
		if (err != nil) != (link == "https://gone.example/") {
			t.Error(link, err)
		}
	}
	w.session.SetRobots("a.example", time.Minute, epoch.Add(time.Hour))
	at := epoch.Add(time.Second + time.Millisecond) // of the second request for calm.example
	want := []fetch.Visit{
		{Host: "a.example", AskedAt: epoch, Delay: time.Minute, RobotsExpires: epoch.Add(time.Hour)},
		{Host: "calm.example", AskedAt: at},
		{Host: "gone.example", AskedAt: at, Unresolved: true},
		{Host: "hot.example", AskedAt: epoch, Throttled: true},
		{Host: "later.example", AskedAt: epoch, RetryAt: epoch.Add(90 * time.Second), Throttled: true},
	}
	example := func(host string) bool { return host != "other.test" }
	if got := w.limiter.Visits(example); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := w.limiter.Visits(func(host string) bool { return !example(host) }); len(got) != 1 ||
		got[0].Host != "other.test" {
		t.Errorf("elsewhere: %+v", got)
	}
}
