package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/fetch/fetchtest"
	"github.com/newsfork/seed-engine/frontier"
)

// manyFeeds is a site whose feeds have a new item at every request.
type manyFeeds struct {
	mu    sync.Mutex
	asked map[string][]time.Time
	all   []time.Time
}

func (f *manyFeeds) Serve(r *fetch.Request, _ int) (fetchtest.Page, bool) {
	path := strings.TrimPrefix(r.URL, "https://many.sg")
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.all = append(f.all, now)
	switch {
	case path == "/robots.txt":
		return fetchtest.Page{Body: "User-agent: *\n", Header: map[string]string{"Content-Type": "text/plain"}}, true
	case path == "/":
		return fetchtest.Page{Body: "<html></html>", Header: map[string]string{"Content-Type": "text/html"}}, true
	case !strings.HasPrefix(path, "/feed-"):
		return fetchtest.Page{Status: 404}, true
	}
	f.asked[path] = append(f.asked[path], now)
	item := ""
	for at := now.Truncate(10 * time.Minute); now.Sub(at) < 4*time.Hour; at = at.Add(-10 * time.Minute) {
		item += fmt.Sprintf("<item><title>News</title><link>https://many.sg/news%s/%d</link><pubDate>"+
			"%s</pubDate></item>",
			path, at.Unix(), at.UTC().Format(time.RFC1123Z))
	}
	return fetchtest.Page{Body: `<rss version="2.0"><channel><title>A</title>` + item + `</channel></rss>`,
		Header: map[string]string{"Content-Type": "application/rss+xml"}}, true
}

// Twenty busy feeds of one host are each refreshed at their interval, one request at a time at the host's pace.
func TestSchedule_ManyFeedsOfOneHost(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		const feeds, interval = 20, 90 * time.Minute
		site := &manyFeeds{asked: map[string][]time.Time{}}
		w.Variables["REQUEST_INTERVAL_MS"] = "1000"
		w.Web.Serve = site.Serve
		upload(t, w, day, 1, `[{"url":"https://many.sg/about"}]`)
		orchestrate(w, "{}")
		w.Drain()
		put := frontier.Put{Domain: "many.sg", Partition: day}
		for i := range feeds {
			put.Entries = append(put.Entries,
				frontier.NewEntry{NewPage: frontier.NewPage{URL: fmt.Sprintf("https://many.sg/feed-%d.xml", i)},
					Method: "rss", Interval: int64(interval / time.Second)})
		}
		if _, err := w.Frontier.Remotes().Of("many.sg").Put(t.Context(), put); err != nil {
			t.Fatal(err)
		}
		live(t, w, 20*time.Hour)
		if len(site.asked) != feeds {
			t.Errorf("%d feeds were asked", len(site.asked))
		}
		for path, times := range site.asked {
			for i := 1; i < len(times); i++ {
				if gap := times[i].Sub(times[i-1]); gap > interval+interval/4 {
					t.Errorf("%s was not asked for %s", path, gap)
				}
			}
			if len(times) < 10 {
				t.Errorf("%s was asked %d times in 20 hours", path, len(times))
			}
		}
		for i := 1; i < len(site.all); i++ {
			if gap := site.all[i].Sub(site.all[i-1]); gap < time.Second {
				t.Fatalf("two requests within %s", gap)
			}
		}
	})
}

// A domain whose document was deleted leaves the schedule when its next collection is due. Its host then gets no
// request until the domain is queued again.
func TestSchedule_DeletedDocument(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for five days of simulated time")
	}
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		p := &publisher{articles: 1 << 20, dated: true}
		startSites(t, w, p, 600, 3600, "live-a.sg", "live-b.sg")
		asked := func(host string) int { return len(p.asked(host, 200)) + len(p.asked(host, 304)) }
		live(t, w, 26*time.Hour)
		if asked("live-a.sg") < 10 {
			t.Fatalf("it was asked %d times", asked("live-a.sg"))
		}
		for _, key := range w.Keys(contract.DomainDir{Partition: day, Domain: "live-a.sg"}.Prefix(), "") {
			if err := w.Bucket.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		live(t, w, 48*time.Hour)
		before, other := asked("live-a.sg"), asked("live-b.sg")
		live(t, w, 48*time.Hour)
		if n := asked("live-a.sg") - before; n > 0 {
			t.Errorf("%d requests", n)
		}
		if asked("live-b.sg") == other {
			t.Error("the other domain is not asked any more")
		}
		if n := len(w.Events("domain_unscheduled")); n != 1 {
			t.Errorf("%d events say so", n)
		}
		if letters := w.Keys("dlq/", ""); len(letters) > 0 {
			t.Errorf("dead letters: %v", letters)
		}
		orchestrate(w, `{"force":true}`)
		w.Drain()
		before = asked("live-a.sg")
		if live(t, w, 4*time.Hour); asked("live-a.sg") == before || w.Document(day, "live-a.sg") == nil {
			t.Error("it is not asked again after it was queued once more")
		}
	})
}

// tickAt runs the alarm of a domain's shard on schedule until it sends a message. It returns how long that took, or 0
// if it sent none within the given time.
func tickAt(t *testing.T, w *enginetest.World, domain string, next *time.Time, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for next.Sub(began) <= within {
		time.Sleep(time.Until(*next))
		var err error
		if *next, err = w.Alarm(shardOf(domain)); err != nil {
			t.Fatal(err)
		}
		if len(w.Broker.Waiting(enginetest.Domains)) > 0 {
			return time.Since(began)
		}
	}
	return 0
}

// Switching FRESHNESS on or raising a ceiling takes effect without waking each object.
func TestSchedule_SettingsActWithinAnHour(t *testing.T) {
	for name, c := range map[string]struct{ variable, before, after string }{
		"switched on": {"FRESHNESS", "off", "on"},
		"raised":      {"REFRESHES_PER_DAY", "16", "1600"}, // 16 allows one refresh for each shard
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				p := &publisher{articles: 1 << 20, dated: true}
				startSites(t, w, p, 600, 3600, "live-a.sg")
				w.Variables[c.variable] = c.before
				w.Deploy()
				next := time.Now()
				for range 6 * 60 { // use up the ceiling
					if tickAt(t, w, "live-a.sg", &next, time.Minute) > 0 {
						w.Drain()
					}
					time.Sleep(time.Minute)
				}
				if _, err := w.Frontier.Remotes().Of("live-a.sg").Lease(t.Context(),
					frontier.LeaseRequest{Max: 1, Seconds: 60, Kinds: []string{"entry"}}); err != nil {
					t.Fatal(err)
				}
				if took := tickAt(t, w, "live-a.sg", &next, 3*time.Hour); took > 0 {
					t.Fatalf("it is refreshed after %s", took)
				}
				w.Variables[c.variable] = c.after
				w.Deploy()
				if took := tickAt(t, w, "live-a.sg", &next, time.Hour); took == 0 {
					t.Errorf("nothing is sent within an hour; the next alarm is in %s", time.Until(next))
				}
			})
		})
	}
}

// Refreshes that a pause suppresses do not count towards the daily ceiling.
func TestSchedule_Pause(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		p := &publisher{articles: 1 << 20, dated: true}
		startSites(t, w, p, 600, 3600, "live-a.sg", "live-b.sg")
		live(t, w, 2*time.Hour)
		refreshed := func() int64 {
			stats, err := w.Frontier.Remotes().Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return stats.Total.Refreshed
		}
		w.Ask("POST", "/api/v1/pipeline/pause", "{}")
		live(t, w, time.Minute)
		w.Drain()
		before := refreshed()
		live(t, w, 6*time.Hour)
		if n := refreshed() - before; before == 0 || n > 0 {
			t.Errorf("%d refreshes are counted in a pause, after %d", n, before)
		}
		w.Ask("POST", "/api/v1/pipeline/resume", "")
		if live(t, w, 10*time.Minute); refreshed() == before {
			t.Error("it does not go on within ten minutes")
		}
	})
}

// If announcing a rewritten contract fails, the next refresh announces it.
func TestSchedule_RewriteIsAnnouncedAgain(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		p := &publisher{articles: 1 << 20, dated: true}
		startSites(t, w, p, 600, 90*86_400, "live-a.sg")
		revision := func() int { return w.Document(day, "live-a.sg").Revision }
		refreshes := func() int { return len(w.Events("refresh_complete")) }
		refused, rewriting := false, false
		refuse := func(_, operation string) error {
			// only refreshes call "entries"
			rewriting = operation == "entries" || rewriting && operation == "changed"
			if operation != "changed" || !rewriting {
				return nil
			}
			refused = true
			return &contract.Error{Kind: contract.Storage, Op: "frontier.Call", Message: "no answer"}
		}
		for tries := 0; ; tries++ {
			if tries == 20 {
				t.Fatal("after every refresh that rewrites the contract comes a collection")
			}
			w.Frontier.Fail, refused = refuse, false
			for hours := 0; !refused; hours++ {
				if live(t, w, time.Hour); hours > 4*24 {
					t.Fatal("no refresh rewrites the contract")
				}
			}
			w.Frontier.Fail = nil
			rewritten, before := revision(), refreshes()
			for refreshes() == before {
				live(t, w, 10*time.Minute)
			}
			if revision() == rewritten {
				break
			}
		}
		var announced []int
		for _, c := range enginetest.Data[contract.ChangesPage](w, "GET", "/api/v1/seeds/changes", "").Items {
			announced = append(announced, c.Revision)
		}
		if fmt.Sprint(announced) != fmt.Sprint([]int{revision()}) {
			t.Errorf("announced %v, the document has revision %d", announced, revision())
		}
	})
}
