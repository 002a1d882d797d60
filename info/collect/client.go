package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/info"
)

const (
	callTimeout = 20 * time.Second // of a call, including its body
	maxHops     = 3
	// busyFor is the time until a host that others visit is tried again.
	busyFor = time.Minute
)

// client makes the calls of a source after counting them.
type client struct {
	collector *Collector
	source    info.Source
	transport fetch.Transport
	looking   *looking // of the run

	used map[string]int // calls before this run, by window

	mu    sync.Mutex
	calls int
}

var _ info.Client = (*client)(nil)

func (l *looking) client(s info.Source) *client {
	c := l.Collector
	t := c.Transport
	if via := c.Via[s.Name()]; via != nil {
		t = via
	}
	return &client{collector: c, source: s, transport: t, looking: l, used: map[string]int{}}
}

// budgetError marks a call that its limits forbade.
type budgetError struct{ window string }

func (e *budgetError) Error() string { return "the limit of " + e.window + " is reached" }

// Do implements info.Client.
func (c *client) Do(ctx context.Context, call info.Call) (*info.Answer, error) {
	if err := c.spend(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.calls++
	c.mu.Unlock()
	target := call.URL
	for hop := 0; ; hop++ {
		if hop > 0 || !call.Trusted {
			u, err := fetch.Guard(target)
			if err != nil {
				return nil, &info.UpstreamError{Class: info.Refused, Source: c.source.Name(), Err: err}
			}
			target = u.String()
		}
		answer, err := c.once(ctx, target, call)
		if errors.Is(err, fetch.ErrHostBusy) {
			return nil, &info.UpstreamError{Class: info.Throttled, Source: c.source.Name(), RetryAfter: busyFor,
				Err: err}
		}
		if err != nil {
			return nil, &info.UpstreamError{Class: info.Broken, Source: c.source.Name(), Err: err}
		}
		next := location(target, answer)
		if !call.Follow || next == "" || hop == maxHops {
			return answer, nil
		}
		target = next
	}
}

// Spare implements info.Client.
func (c *client) Spare(needed int) bool {
	now := c.collector.Now()
	c.mu.Lock()
	calls := c.calls
	c.mu.Unlock()
	interval := max(c.collector.Schedule[c.source.Name()], time.Minute)
	for _, l := range c.source.Limits() {
		w := l.Window(now)
		runs := 1 + int(w.Ends.Sub(now)/interval) // this one, of which the other queries may be still to come
		if c.used[w.Name]+calls+runs*needed >= w.Calls {
			return false
		}
	}
	return true
}

// spend counts a call.
func (c *client) spend(ctx context.Context) error {
	now := c.collector.Now()
	limits := c.source.Limits()
	windows := make([]info.Window, len(limits))
	for i, l := range limits {
		windows[i] = l.Window(now)
	}
	full, err := c.collector.Store.Spend(ctx, c.source.Name(), windows)
	if err != nil || full == nil {
		return err
	}
	e := &info.UpstreamError{Class: info.Spent, Source: c.source.Name(), Err: &budgetError{full.Name}}
	for i, w := range windows {
		if w.Name == full.Name && limits[i].Length > 0 {
			e.Class, e.RetryAfter = info.Throttled, max(full.Ends.Sub(now), time.Second)
		}
	}
	return e
}

func (c *client) once(ctx context.Context, target string, call info.Call) (*info.Answer, error) {
	header := call.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("User-Agent", c.collector.UserAgent)
	var resp *fetch.Response
	if call.Follow { // a website, not an API
		leave, err := c.looking.turn(ctx, target)
		if err != nil {
			return nil, err
		}
		defer func() { leave(resp) }()
	}
	resp, err := c.transport.Do(ctx, &fetch.Request{Method: http.MethodGet, URL: target, Header: header,
		Timeout: callTimeout})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, call.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > call.MaxBytes {
		return nil, fmt.Errorf("the answer is longer than %d bytes", call.MaxBytes)
	}
	return &info.Answer{URL: target, Status: resp.Status, Header: resp.Header, Body: body}, nil
}

// location returns the target of a redirect, or "".
func location(from string, a *info.Answer) string {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		base, err := url.Parse(from)
		if err != nil {
			return ""
		}
		if u, err := base.Parse(a.Header.Get("Location")); err == nil && a.Header.Get("Location") != "" {
			return u.String()
		}
	}
	return ""
}

var errNotAPage = errors.New("not a web page")
