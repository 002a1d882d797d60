package fetch_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

func TestOrigin(t *testing.T) {
	const (
		s, h   = "https://d.example", "http://d.example"
		ws, wh = "https://www.d.example", "http://www.d.example"
	)
	page := fetchtest.Page{Body: "User-agent: *"}
	refused, lost, unresolved := fetchtest.Fail(fetch.ErrConnRefused), fetchtest.Fail(nil),
		fetchtest.Fail(fetch.ErrNotResolved)
	to := func(url string) fetchtest.Page { return fetchtest.Redirect(301, url+"/robots.txt") }
	for _, c := range []struct {
		name   string
		alt    string
		pages  map[string]fetchtest.Page // by origin
		times  map[string]int            // pages by origin that are replaced by page after so many requests
		origin string
		https  bool
		status int
		kind   contract.Kind // of the error
		visits []string      // origins, in order
	}{
		{name: "https", pages: map[string]fetchtest.Page{s: page}, origin: s, https: true, status: 200,
			visits: []string{s}},
		{name: "404 is an answer", pages: map[string]fetchtest.Page{s: {Status: 404}}, alt: "www.d.example", origin: s,
			https: true, status: 404, visits: []string{s}},
		{name: "503 is an answer, and retried", pages: map[string]fetchtest.Page{s: {Status: 503}},
			alt: "www.d.example", origin: s, https: true, status: 503, visits: []string{s, s, s, s}},
		{name: "http only", pages: map[string]fetchtest.Page{s: refused, h: page}, origin: h, status: 200,
			visits: []string{s, h}},
		{name: "http redirects to https after all", pages: map[string]fetchtest.Page{s: lost, h: to(s)},
			times: map[string]int{s: 1}, origin: s, https: true, status: 200, visits: []string{s, h, s}},
		{name: "bare domain does not resolve", alt: "www.d.example",
			pages: map[string]fetchtest.Page{s: unresolved, ws: page}, origin: ws, https: true, status: 200,
			visits: []string{s, ws}},
		{name: "bare domain refuses", alt: "www.d.example", pages: map[string]fetchtest.Page{s: refused, h: refused,
			ws: page}, origin: ws, https: true, status: 200, visits: []string{s, h, ws}},
		{name: "www over http only", alt: "www.d.example", pages: map[string]fetchtest.Page{s: unresolved, ws: refused,
			wh: page}, origin: wh, status: 200, visits: []string{s, ws, wh}},
		{name: "redirect to www", alt: "www.d.example", pages: map[string]fetchtest.Page{s: to(ws), ws: page},
			origin: ws, https: true, status: 200, visits: []string{s, ws}},
		{name: "redirect to http", pages: map[string]fetchtest.Page{s: to(h), h: page}, origin: h, https: true,
			status: 200, visits: []string{s, h}},
		{name: "robots.txt kept elsewhere", pages: map[string]fetchtest.Page{s: fetchtest.Redirect(302,
			"https://static.d.example/all-robots.txt"), "https://static.d.example": page}, origin: s, https: true,
			status: 200, visits: []string{s, "https://static.d.example"}},
		{name: "robots.txt of another domain", pages: map[string]fetchtest.Page{s: to("https://owner.example"),
			"https://owner.example": page}, origin: s, https: true, status: 200,
			visits: []string{s, "https://owner.example"}},
		{name: "http that redirects to another domain", pages: map[string]fetchtest.Page{s: refused,
			h: to("https://owner.example"), "https://owner.example": page}, origin: h, status: 200,
			visits: []string{s, h, "https://owner.example"}},
		{name: "redirect into the private network", alt: "www.d.example",
			pages: map[string]fetchtest.Page{s: fetchtest.Redirect(302, "http://10.0.0.1/"), ws: page}, origin: s,
			https: true, status: 302, kind: contract.Validation, visits: []string{s}},
		{name: "answers, then breaks", pages: map[string]fetchtest.Page{s: to(ws), ws: lost}, origin: s, https: true,
			status: 301, kind: contract.Network, visits: []string{s, ws, ws, ws, ws}},
		{name: "dead", alt: "www.d.example", pages: map[string]fetchtest.Page{s: refused, h: refused, ws: refused,
			wh: refused}, origin: s, kind: contract.Network, visits: []string{s, h, ws, wh, s, s, s}},
		{name: "no such name", alt: "www.d.example", pages: map[string]fetchtest.Page{}, origin: s,
			kind: contract.Network, visits: []string{s, ws, s, s, s}},
		{name: "only www may be there", alt: "www.d.example",
			pages: map[string]fetchtest.Page{s: unresolved, ws: lost, wh: lost}, times: map[string]int{ws: 2},
			origin: ws, https: true, status: 200, visits: []string{s, ws, wh, ws, ws}},
		{name: "comes back on a retry", pages: map[string]fetchtest.Page{s: lost, h: lost},
			times: map[string]int{s: 2}, origin: s, https: true, status: 200, visits: []string{s, h, s, s}},
		{name: "alt of another domain is none", alt: "www.other.example",
			pages: map[string]fetchtest.Page{s: unresolved, "https://www.other.example": page}, origin: s,
			kind: contract.Network, visits: []string{s, s, s, s}},
		{name: "alt is the domain", alt: "d.example", pages: map[string]fetchtest.Page{s: refused, h: page}, origin: h,
			status: 200, visits: []string{s, h}},
		{name: "alt is the domain, and dead", alt: "d.example",
			pages: map[string]fetchtest.Page{s: refused, h: refused}, origin: s, kind: contract.Network,
			visits: []string{s, h, s, s, s}},
		{name: "a body that breaks off", pages: map[string]fetchtest.Page{s: {Body: "User",
			Cut: fetch.Failure(fetch.ErrReset, nil)}}, origin: s, https: true, status: 200, kind: contract.Network,
			visits: []string{s, s, s, s}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(nil)
			asked := map[string]int{}
			w.Serve = func(r *fetch.Request, _ int) (fetchtest.Page, bool) {
				u, _ := fetch.Guard(r.URL)
				origin := u.Scheme + "://" + u.Host
				asked[origin]++
				if n, ok := c.times[origin]; ok && asked[origin] > n {
					return page, true
				}
				p, ok := c.pages[origin]
				return p, ok
			}
			o, err := w.session.Origin(t.Context(), "d.example", c.alt, "/robots.txt",
				fetch.Target{Timeout: 10 * time.Second, Whole: true})
			if got := o.Scheme + "://" + o.Host; got != c.origin || o.HTTPS != c.https || o.Answer.Status != c.status {
				t.Errorf("origin %s, https %v, status %d", got, o.HTTPS, o.Answer.Status)
			}
			if (err != nil) != (c.kind != "") || err != nil && contract.KindOf(err) != c.kind {
				t.Errorf("error %v", err)
			}
			var visits []string
			for _, v := range w.Visits() {
				u, _ := fetch.Guard(v.URL)
				visits = append(visits, u.Scheme+"://"+u.Host)
			}
			if !reflect.DeepEqual(visits, c.visits) || o.Answer.Requests != len(visits) {
				t.Errorf("asked %v (%d), want %v", visits, o.Answer.Requests, c.visits)
			}
			if d := closest(w.Visits()); d < time.Second {
				t.Errorf("pause %v", d)
			}
			if c.status == 200 && c.kind == "" && string(o.Answer.Content) != page.Body {
				t.Errorf("content %q", o.Answer.Content)
			}
		})
	}
}

// A domain whose candidates all hang fails in time, with the back-off of one Fetch.
func TestOrigin_HangingDomain(t *testing.T) {
	w := newWorld(nil)
	w.Serve = func(*fetch.Request, int) (fetchtest.Page, bool) { return fetchtest.Hang(), true }
	o, err := w.session.Origin(t.Context(), "d.example", "www.d.example", "/robots.txt",
		fetch.Target{Timeout: 10 * time.Second})
	if contract.KindOf(err) != contract.Timeout || o.HTTPS || o.Answer.Requests != 7 {
		t.Errorf("%+v, %v", o, err)
	}
	if st := w.session.Stats(); st.Elapsed-st.PolitenessWait > 77*time.Second || st.Answered != 0 {
		t.Errorf("%+v", st)
	}
}

func TestOrigin_Limits(t *testing.T) {
	dead := func(*fetch.Request, int) (fetchtest.Page, bool) { return fetchtest.Fail(nil), true }
	w := newWorld(nil, func(c *fetch.Config) { c.MaxRequests = 3 })
	w.Serve = dead
	if o, err := w.session.Origin(t.Context(), "d.example", "www.d.example", "/robots.txt",
		fetch.Target{}); contract.KindOf(err) != contract.Network || o.Answer.Requests != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	w = newWorld(nil, func(c *fetch.Config) { c.Deadline = 15 * time.Second })
	w.Serve = func(*fetch.Request, int) (fetchtest.Page, bool) { return fetchtest.Hang(), true }
	if o, err := w.session.Origin(t.Context(), "d.example", "www.d.example", "/robots.txt",
		fetch.Target{Timeout: 10 * time.Second}); contract.KindOf(err) != contract.Timeout || o.Answer.Requests != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	w = newWorld(nil, func(c *fetch.Config) { c.Retries = 0 })
	w.Serve = dead
	if o, err := w.session.Origin(t.Context(), "d.example", "www.d.example", "/robots.txt",
		fetch.Target{}); contract.KindOf(err) != contract.Network || o.Answer.Requests != 4 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestOrigin_ClosesOpenResponse(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://d.example/robots.txt": {}, "https://d.example/": {}})
	if _, err := w.session.Fetch(t.Context(), fetch.Target{URL: "https://d.example/"}); err != nil {
		t.Fatal(err)
	}
	if o, err := w.session.Origin(t.Context(), "d.example", "", "/robots.txt", fetch.Target{}); err != nil ||
		o.Answer.Status != 200 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestOrigin_NotADomain(t *testing.T) {
	w := newWorld(map[string]fetchtest.Page{"https://www.gov.sg/robots.txt": {}})
	for _, domain := range []string{"localhost", "gov.sg", "10.0.0.1", ""} {
		o, err := w.session.Origin(t.Context(), domain, "", "/robots.txt", fetch.Target{})
		if !errors.Is(err, fetch.ErrUnsafe) || o.Answer == nil || o.Answer.Status != 0 {
			t.Errorf("%q: %+v, %v", domain, o, err)
		}
	}
	if len(w.Visits()) != 0 {
		t.Errorf("visits %v", w.URLs())
	}
}
