package engine_test

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
)

// asks returns the number of requests for a host's feed.
func (p *publisher) asks(host string) int { return len(p.asked(host, 200)) + len(p.asked(host, 304)) }

// complete checks that the feed has each article of a host exactly once, and that no message failed for good.
func (p *publisher) complete(t *testing.T, w *enginetest.World, f *follower, host string) {
	t.Helper()
	f.read(t, w)
	missing := 0
	for n := range p.articles {
		if _, ok := f.found[fmt.Sprintf("https://%s/news/article-%d", host, n)]; !ok {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d of %d articles are not in the feed", missing, p.articles)
	}
	if letters := w.Keys("dlq/", ""); len(letters) > 0 || len(w.Broker.Lost()) > 0 {
		t.Errorf("dead letters %v, lost %v", letters, w.Broker.Lost())
	}
}

// newest checks that the changes list exactly the newest revision of each contract.
func newest(t *testing.T, w *enginetest.World) {
	t.Helper()
	for _, c := range enginetest.Data[contract.ChangesPage](w, "GET", "/api/v1/seeds/changes", "").Items {
		if d := w.Document(c.Partition, c.Domain); d == nil || d.Revision != c.Revision {
			t.Errorf("announced %+v, which is not what is stored", c)
		}
	}
}

// A site publishes an article every minute and something fails for a while. Afterwards the feed has each article
// exactly once, and no host was requested while that was forbidden.
func TestComplete_AfterFaults(t *testing.T) {
	const host = "live-a.sg"
	ask := func(method, path string) func(*testing.T, *enginetest.World) {
		return func(t *testing.T, w *enginetest.World) {
			body := map[string]string{"PUT": "{}", "POST": "{}"}[method]
			if a := w.Ask(method, path, body); !a.Success {
				t.Fatalf("%+v", a)
			}
		}
	}
	excluded := func(kind, value string) (begin, end func(*testing.T, *enginetest.World)) {
		path := "/api/v1/exclusions/" + kind + "/" + value
		return ask("PUT", path), ask("DELETE", path)
	}
	type fault struct {
		begin, end func(*testing.T, *enginetest.World)
		during     func(*testing.T, *enginetest.World) // once a minute
		quiet      bool                                // no host may be requested
		later      time.Duration                       // time to recover beyond an hour
		minutes    int                                 // of the fault; 0 means 30
	}
	faults := map[string]fault{
		"delivered twice": {during: func(t *testing.T, w *enginetest.World) {
			for _, body := range w.Broker.Waiting(enginetest.Domains) {
				if err := w.Broker.Producer(enginetest.Domains).SendOne(t.Context(), []byte(body), 0); err != nil {
					t.Fatal(err)
				}
			}
		}},
		"paused": {begin: ask("POST", "/api/v1/pipeline/pause"), end: ask("POST", "/api/v1/pipeline/resume"),
			quiet: true},
		"D1 away": {
			begin: func(_ *testing.T, w *enginetest.World) {
				w.Database.Fail = func() error { return errors.New("D1 is away") }
			},
			end: func(_ *testing.T, w *enginetest.World) { w.Database.Fail = nil },
		},
		"shard frozen": {
			begin: func(_ *testing.T, w *enginetest.World) {
				w.Frontier.Fail = func(string, string) error {
					return &contract.Error{Kind: contract.Timeout, Op: "frontier.Call", Message: "no answer"}
				}
			},
			end: func(_ *testing.T, w *enginetest.World) { w.Frontier.Fail = nil }, quiet: true,
		},
		"answers of the shard get lost": {
			begin: func(_ *testing.T, w *enginetest.World) {
				var calls atomic.Int64
				w.Frontier.Lose = func(string, string) bool { return calls.Add(1)%3 == 0 }
			},
			end: func(_ *testing.T, w *enginetest.World) { w.Frontier.Lose = nil },
		},
		"bucket away": {
			begin: func(_ *testing.T, w *enginetest.World) {
				w.Bucket.Fail = func(string, string) error { return errors.New("R2 is away") }
			},
			// after 14 minutes collections would become dead letters
			end: func(_ *testing.T, w *enginetest.World) { w.Bucket.Fail = nil }, quiet: true, minutes: 10,
		},
	}
	for kind, value := range map[string]string{"domain": host, "host": host,
		"url": "https%3A%2F%2Flive-a.sg%2Ffeed*"} {
		begin, end := excluded(kind, value)
		// excluded domains are checked every six hours
		faults[kind+" excluded"] = fault{begin: begin, end: end, quiet: true, later: 7 * time.Hour}
	}
	for name, c := range faults {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				p := &publisher{articles: 90, dated: true, listed: 90}
				startSites(t, w, p, 60, 90, host)
				var f follower
				live(t, w, 20*time.Minute)
				f.read(t, w)
				if c.begin != nil {
					c.begin(t, w)
				}
				before := p.asks(host)
				for range cmp.Or(c.minutes, 30) {
					live(t, w, time.Minute)
					if c.during != nil {
						c.during(t, w)
					}
				}
				if n := p.asks(host) - before; c.quiet && n > 0 {
					t.Errorf("%d requests during the fault, want none", n)
				} else if !c.quiet && n == 0 {
					t.Error("no requests during the fault")
				}
				if c.end != nil {
					c.end(t, w)
				}
				live(t, w, time.Hour+2*time.Minute+c.later) // the last article comes after 89 minutes
				p.complete(t, w, &f, host)
				newest(t, w)
			})
		})
	}
}

// Each run kills the event of a refresh at another call: before the lease, between shard and document, and between
// document and announcement.
func TestComplete_RefreshKilledAtEachCall(t *testing.T) {
	const host = "live-a.sg"
	step := 1
	if testing.Short() {
		step = 6
	}
	for nth := 1; ; nth += step {
		died := false
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
			p := &publisher{articles: 60, dated: true, listed: 60}
			startSites(t, w, p, 60, 90, host)
			live(t, w, 5*time.Minute)
			var f follower
			f.read(t, w)
			calls := -1 // of the event since it requested the feed; -1 before
			asks := p.asks(host)
			w.Kill = func(int) bool {
				if calls < 0 && p.asks(host) > asks {
					calls = 0
				}
				if calls >= 0 {
					calls++
				}
				died = died || calls == nth
				return calls == nth
			}
			live(t, w, 20*time.Minute)
			w.Kill = nil
			live(t, w, time.Hour)
			p.complete(t, w, &f, host)
			newest(t, w)
		})
		if t.Failed() || nth+step > 40 {
			if t.Failed() {
				t.Fatalf("killed at call %d after its first request", nth)
			}
			return
		}
		if !died {
			t.Fatalf("there is no call %d", nth)
		}
	}
}

// Each run kills the event of a second collection at another call. The event puts new articles before it writes the
// document, so its redelivery puts them again.
func TestComplete_CollectionKilledAtEachCall(t *testing.T) {
	const host = "live-a.sg"
	step := 1
	if testing.Short() {
		step = 6
	}
	for nth := 1; ; nth += step {
		died := false
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
			w.Variables["FRESHNESS"] = "off"
			p := &publisher{articles: 12, dated: true}
			startSites(t, w, p, 60, 90, host)
			time.Sleep(2 * time.Hour) // so that the evidence is too old to reuse
			if a := w.Ask("POST", "/api/v1/seeds/domains/"+host+"/collect", "{}"); !a.Success {
				t.Fatalf("%+v", a)
			}
			var f follower
			f.read(t, w)
			before, calls := w.Calls(), 0
			w.Kill = func(n int) bool {
				calls = n - before
				died = died || calls == nth
				return calls == nth
			}
			w.Drain()
			w.Kill = nil
			w.Drain()
			p.complete(t, w, &f, host)
			newest(t, w)
		})
		if t.Failed() {
			t.Fatalf("killed at call %d", nth)
		}
		if !died {
			if nth < 15 {
				t.Fatalf("there were %d calls", nth-1)
			}
			return
		}
	}
}
