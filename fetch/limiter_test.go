package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
)

// counting counts the requests that wait for headers.
type counting struct {
	fetch.Transport
	mu                  sync.Mutex
	waiting, maxWaiting int
}

func (c *counting) Do(ctx context.Context, r *fetch.Request) (*fetch.Response, error) {
	c.mu.Lock()
	c.waiting++
	c.maxWaiting = max(c.maxWaiting, c.waiting)
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.waiting--
		c.mu.Unlock()
	}()
	return c.Transport.Do(ctx, r)
}

// Twelve sessions request hosts whose headers take 3 s. Five wait for headers at once, and waiting for a connection
// does not count towards the timeout.
func TestLimiter_Slots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := fetch.SystemClock()
		web := &fetchtest.Web{Clock: clock, Serve: func(*fetch.Request, int) (fetchtest.Page, bool) {
			return fetchtest.Page{Body: "x", Latency: 3 * time.Second, Reading: 500 * time.Millisecond}, true
		}}
		transport := &counting{Transport: web}
		limiter := fetch.NewLimiter(fetch.MaxConnections)
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				s := fetch.NewSession(config(), transport, clock, limiter)
				defer s.Close()
				a, err := s.Fetch(t.Context(), fetch.Target{URL: fmt.Sprintf("https://h%d.example/", i),
					Timeout: 4 * time.Second, Whole: true})
				if err != nil || a.Requests != 1 {
					t.Errorf("%d: %+v, %v", i, a, err)
				}
			})
		}
		wg.Wait()
		if transport.maxWaiting != 5 {
			t.Errorf("%d requests waited at once", transport.maxWaiting)
		}
		// three rounds of 3 s; bodies are read meanwhile
		if took := time.Since(start); took != 9500*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// Domains that all redirect to one host take turns there, bodies included.
func TestLimiter_SessionsOfOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := fetch.SystemClock()
		pages := map[string]fetchtest.Page{"https://shared.example/": {Body: "x", Latency: 100 * time.Millisecond,
			Reading: 2 * time.Second}}
		for i := range 8 {
			pages[fmt.Sprintf("https://h%d.example/", i)] = fetchtest.Redirect(302, "https://shared.example/")
		}
		web := &fetchtest.Web{Clock: clock, Pages: pages}
		limiter := fetch.NewLimiter(fetch.MaxConnections)
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				s := fetch.NewSession(config(), web, clock, limiter)
				defer s.Close()
				a, err := s.Fetch(t.Context(), fetch.Target{URL: fmt.Sprintf("https://h%d.example/", i),
					Timeout: 10 * time.Second})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := io.ReadAll(a.Body); err != nil {
					t.Error(err)
				}
				if wait := s.Stats(); wait.Elapsed-wait.PolitenessWait != 2100*time.Millisecond {
					t.Errorf("waiting for the turn of others is politeness: %+v", wait)
				}
			})
		}
		wg.Wait()
		if d := closest(web.Visits()); d < time.Second {
			t.Errorf("pause %v", d)
		}
		if took := time.Since(start); took < 8*2100*time.Millisecond+7*time.Second {
			t.Errorf("took only %v", took)
		}
	})
}

// Requests leave one connection free, so calls of the stores wait only for each other.
func TestLimiter_Connections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := fetch.SystemClock()
		web := &fetchtest.Web{Clock: clock, Serve: func(*fetch.Request, int) (fetchtest.Page, bool) {
			return fetchtest.Page{Body: "x", Latency: time.Minute}, true
		}}
		transport := &counting{Transport: web}
		limiter := fetch.NewLimiter(fetch.MaxConnections)
		cfg := config()
		cfg.Deadline = 0
		var wg sync.WaitGroup
		for i := range 2 * fetch.MaxConnections {
			wg.Go(func() {
				s := fetch.NewSession(cfg, transport, clock, limiter)
				defer s.Close()
				if _, err := s.Fetch(t.Context(), fetch.Target{URL: fmt.Sprintf("https://h%d.example/",
					i)}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		for range 10 {
			wg.Go(func() {
				release, err := limiter.Connect(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second)
				release()
			})
		}
		time.Sleep(time.Second / 2)
		short, cancel := context.WithTimeout(t.Context(), time.Second/4)
		defer cancel()
		if _, err := limiter.Connect(short); contract.KindOf(err) != contract.Timeout {
			t.Errorf("a seventh: %v", err)
		}
		time.Sleep(10 * time.Second)
		if release, err := limiter.Connect(t.Context()); err != nil || time.Since(start) > 11*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		} else {
			release()
		}
		wg.Wait()
		if transport.maxWaiting != fetch.MaxConnections-1 {
			t.Errorf("%d requests at once", transport.maxWaiting)
		}
	})
}

// Two sessions that need each other's host while their own response is open do not deadlock; synctest would fail.
func TestLimiter_NoDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := fetch.SystemClock()
		web := &fetchtest.Web{Clock: clock, Pages: map[string]fetchtest.Page{
			"https://a.example/": {Body: "x"}, "https://b.example/": {Body: "x"},
			"https://a.example/x": fetchtest.Redirect(301, "https://b.example/"),
			"https://b.example/x": fetchtest.Redirect(301, "https://a.example/"),
		}}
		limiter := fetch.NewLimiter(2)
		var wg sync.WaitGroup
		for _, own := range []string{"a", "b"} {
			wg.Go(func() {
				s := fetch.NewSession(config(), web, clock, limiter)
				defer s.Close()
				for _, path := range []string{"", "x", "", "x"} {
					if _, err := s.Fetch(t.Context(),
						fetch.Target{URL: "https://" + own + ".example/" + path}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if d := closest(web.Visits()); d < time.Second {
			t.Errorf("pause %v", d)
		}
	})
}

// A session that waits for a host beyond its MaxWall sends no request.
func TestLimiter_WaitBeyondMaxWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := fetch.SystemClock()
		web := &fetchtest.Web{Clock: clock, Pages: map[string]fetchtest.Page{"https://a.example/": {Body: "x"}}}
		limiter := fetch.NewLimiter(fetch.MaxConnections)
		holder := fetch.NewSession(config(), web, clock, limiter)
		if _, err := holder.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"}); err != nil {
			t.Fatal(err)
		}
		cfg := config()
		cfg.MaxWall, cfg.Interval = time.Minute, 0
		s := fetch.NewSession(cfg, web, clock, limiter)
		time.AfterFunc(2*time.Minute, holder.Close)
		if a, err := s.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"}); !errors.Is(err,
			fetch.ErrDeadline) || a.Requests != 0 {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

// If the transport panics and the event recovers, the host and the connection are free again.
func TestLimiter_TransportPanics(t *testing.T) {
	clock := fetchtest.NewClock(epoch)
	web := &fetchtest.Web{Clock: clock, Serve: func(_ *fetch.Request, nth int) (fetchtest.Page, bool) {
		if nth == 0 {
			panic("the transport broke")
		}
		return fetchtest.Page{}, true
	}}
	limiter := fetch.NewLimiter(2)
	ask := func() (err error) {
		defer func() {
			if recover() != nil {
				err = errors.New("recovered")
			}
		}()
		s := fetch.NewSession(config(), web, clock, limiter)
		defer s.Close()
		_, err = s.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"})
		return err
	}
	if first, second := ask(), ask(); first == nil || second != nil {
		t.Errorf("%v, then %v", first, second)
	}
}

func TestLimiter_ContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := fetch.SystemClock()
		web := &fetchtest.Web{Clock: clock, Pages: map[string]fetchtest.Page{"https://a.example/": {Body: "x"},
			"https://b.example/": fetchtest.Hang()}}
		limiter := fetch.NewLimiter(2)
		holder := fetch.NewSession(config(), web, clock, limiter)
		if _, err := holder.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := fetch.NewSession(config(), web, clock, limiter)
		if _, err := s.Fetch(ctx, fetch.Target{URL: "https://a.example/"}); err == nil { // its turn is taken
			t.Error("two requests to one host at once")
		}
		holder.Close()

		hanging, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { // takes the only connection of requests
			if _, err := holder.Fetch(hanging, fetch.Target{URL: "https://b.example/"}); err == nil {
				t.Error("a hanging host answered")
			}
		})
		synctest.Wait()
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if a, err := s.Fetch(ctx, fetch.Target{URL: "https://a.example/"}); err == nil || a.Requests != 0 {
			t.Errorf("no connection was free: %+v, %v", a, err)
		}
		stop()
		wg.Wait()
		// The host and the connection are free again.
		if _, err := s.Fetch(t.Context(), fetch.Target{URL: "https://a.example/"}); err != nil {
			t.Error(err)
		}
	})
}
