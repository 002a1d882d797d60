// Package fetchtest stands in for the web and for time in the tests of packages that use fetch: a
// Transport that answers from memory and records every request with its time, and a Clock that only
// moves when someone sleeps.
package fetchtest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/fetch"
)

// Page is the response for a URL. The zero Page is an empty 200.
type Page struct {
	Status  int // 200 when 0
	Header  map[string]string
	Body    string
	Stream  io.Reader     // the body, instead of Body
	Latency time.Duration // until the headers
	Reading time.Duration // from the headers to the end of the body
	Err     error         // instead of an answer: see Fail
	Cut     error         // instead of the end of the body
}

// Fail is a Page that fails below HTTP with one of the errors of package fetch.
func Fail(what error) Page { return Page{Err: fetch.Failure(what, errors.New("as the test wants it"))} }

// Hang is a Page that never answers.
func Hang() Page { return Page{Latency: 1 << 62} }

// Redirect is a Page that sends the client elsewhere.
func Redirect(status int, location string) Page {
	return Page{Status: status, Header: map[string]string{"Location": location}}
}

// Visit is one exchange as the web saw it.
type Visit struct {
	Method, URL, Host string
	Header            http.Header
	Start             time.Time
	End               time.Time // when the body was closed, or the exchange failed; zero until then
	Timeout           time.Duration
}

// Web is a fetch.Transport. It is safe for concurrent use; set its fields before.
type Web struct {
	Clock fetch.Clock
	// Pages answers by URL. A URL that is not there gets a 404 if its host has another one, else
	// its host does not resolve.
	Pages map[string]Page
	// Serve, when set, is asked first; nth is 0 for the first request for that URL, then 1, …
	// ok is false to leave the answer to Pages.
	Serve func(r *fetch.Request, nth int) (p Page, ok bool)

	mu     sync.Mutex
	visits []Visit
	times  map[string]int
}

// Visits returns the exchanges so far, in the order in which they started.
func (w *Web) Visits() []Visit {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Visit(nil), w.visits...)
}

// URLs returns the URLs of Visits.
func (w *Web) URLs() []string {
	visits := w.Visits()
	urls := make([]string, len(visits))
	for i, v := range visits {
		urls[i] = v.URL
	}
	return urls
}

// Do implements fetch.Transport.
func (w *Web) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return nil, fetch.Failure(nil, err)
	}
	start := w.Clock.Now()
	w.mu.Lock()
	if w.times == nil {
		w.times = map[string]int{}
	}
	nth := w.times[r.URL]
	w.times[r.URL]++
	visit := len(w.visits)
	w.visits = append(w.visits, Visit{Method: r.Method, URL: r.URL, Host: u.Hostname(), Header: r.Header.Clone(),
		Start: start, Timeout: r.Timeout})
	w.mu.Unlock()
	end := func() {
		now := w.Clock.Now()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.visits[visit].End.IsZero() {
			w.visits[visit].End = now
		}
	}

	p := w.page(r, u, nth)
	deadline := start.Add(1 << 62)
	if r.Timeout > 0 {
		deadline = start.Add(r.Timeout)
	}
	x := &exchange{ctx: ctx, clock: w.Clock, deadline: deadline, end: end}
	if err := x.spend(p.Latency); err != nil {
		end()
		return nil, err
	}
	if p.Err != nil {
		end()
		return nil, p.Err
	}
	header := http.Header{}
	for name, value := range p.Header {
		header.Set(name, value)
	}
	status := p.Status
	if status == 0 {
		status = http.StatusOK
	}
	x.content, x.reading, x.cut = p.Stream, p.Reading, p.Cut
	if x.content == nil {
		x.content = strings.NewReader(p.Body)
	}
	return &fetch.Response{Status: status, Header: header, Body: x}, nil
}

func (w *Web) page(r *fetch.Request, u *url.URL, nth int) Page {
	if w.Serve != nil {
		if p, ok := w.Serve(r, nth); ok {
			return p
		}
	}
	if p, ok := w.Pages[r.URL]; ok {
		return p
	}
	for other := range w.Pages {
		if o, err := url.Parse(other); err == nil && o.Host == u.Host {
			return Page{Status: http.StatusNotFound}
		}
	}
	return Fail(fetch.ErrNotResolved)
}

// exchange is a request under way, and its body.
type exchange struct {
	ctx      context.Context
	clock    fetch.Clock
	deadline time.Time
	content  io.Reader
	reading  time.Duration
	cut      error
	end      func()
}

func (x *exchange) spend(d time.Duration) error {
	left := x.deadline.Sub(x.clock.Now())
	if err := x.clock.Sleep(x.ctx, min(d, left)); err != nil {
		return fetch.NoAnswer(err)
	}
	if d >= left {
		return fetch.NoAnswer(errors.New("as the test wants it"))
	}
	return nil
}

func (x *exchange) Read(p []byte) (int, error) {
	d := x.reading
	x.reading = 0
	if err := x.spend(d); err != nil {
		return 0, err
	}
	n, err := x.content.Read(p)
	if err == io.EOF && x.cut != nil {
		err = x.cut
	}
	return n, err
}

func (x *exchange) Close() error {
	x.end()
	return nil
}

// Clock is a fetch.Clock that starts at some time and moves on only when someone sleeps, at once.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts a Clock.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now implements fetch.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep implements fetch.Clock.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(max(0, d))
	return nil
}
