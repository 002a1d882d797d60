package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/frontier/sqlite"
)

// shard is a shard's object as an engine serves it.
type shard struct {
	engine *engine.Engine
	db     *sqlite.DB
}

var errRefused = errors.New("refused")

func (s shard) Call(_ context.Context, name, operation string, request []byte) (answer []byte, err error) {
	err = s.db.Transaction(func() error {
		a := s.engine.CallShard(s.db, name, 1_769_601_600_000, operation, request)
		if answer = a.Text; !a.OK {
			return errRefused
		}
		return nil
	})
	if errors.Is(err, errRefused) {
		err = nil
	}
	return answer, err
}

func newShard(t *testing.T, variables map[string]string) client.Shard {
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	e := engine.New(engine.Platform{
		Clock: fetch.SystemClock(), Webhook: func(string) alarms.Webhook { return nil },
		Version:  func() string { return "" },
		Variable: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
		Local:    func() bool { return true },
		Log:      contract.NewLogger(t.Output()),
	})
	return client.Frontier{Caller: shard{e, db}, Shards: 1}.Shard(0)
}

func TestShard_FollowsTheSettings(t *testing.T) {
	s := newShard(t, map[string]string{"REQUEST_INTERVAL_MS": "1500", "MAX_HOSTS_PER_DOMAIN": "1",
		"MIN_REFRESH_SECONDS": "60", "MAX_REFRESH_SECONDS": "120"})
	url := func(host, path string) frontier.NewPage {
		return frontier.NewPage{URL: "https://" + host + ".a.example/" + path, Priority: 0.5}
	}
	_, err := s.Put(t.Context(), frontier.Put{
		Domain: "a.example", Partition: contract.Partition{Country: "kr", Category: "news", Date: "2026-01-28"},
		Pages: []frontier.NewPage{url("x", "1"), url("y", "1")},
		Entries: []frontier.NewEntry{{NewPage: url("x", "often"), Interval: 1},
			{NewPage: url("x", "seldom"), Interval: 9999}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int64{"often": 60, "seldom": 120} {
		if state, err := s.URL(t.Context(), url("x", path).URL); err != nil || state.Entry.Interval != want {
			t.Errorf("%s: %+v, %v", path, state.Entry, err)
		}
	}
	lease, err := s.Lease(t.Context(), frontier.LeaseRequest{Max: 10, Seconds: 60})
	if err != nil || len(lease.Items) != 1 || lease.Items[0].CrawlDelay != 1500 {
		t.Errorf("leased %+v, %v: one host of the domain at once", lease.Items, err)
	}
}

func TestShard_WrongSetting(t *testing.T) {
	_, err := newShard(t, map[string]string{"MAX_REFRESH_SECONDS": "1"}).Stats(t.Context())
	var e *contract.Error
	if !errors.As(err, &e) || e.Kind != contract.Validation || e.Field != "MAX_REFRESH_SECONDS" {
		t.Error(err)
	}
}

// fillShards puts pages of some domains into the frontier, and returns the shards' statistics.
func fillShards(t *testing.T, w *enginetest.World) map[string]frontier.Stats {
	t.Helper()
	r := w.Frontier.Remotes()
	for i := range 40 {
		domain := fmt.Sprintf("site%d.example", i)
		p := frontier.Put{Domain: domain, Partition: contract.Partition{Country: "kr", Category: "news",
			Date: "2026-01-28"}}
		for n := range i + 1 {
			p.Pages = append(p.Pages, frontier.NewPage{URL: fmt.Sprintf("https://www.%s/%d", domain, n),
				Priority: 0.5})
		}
		if _, err := r.Of(domain).Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return allStats(t, w)
}

func allStats(t *testing.T, w *enginetest.World) map[string]frontier.Stats {
	t.Helper()
	all := map[string]frontier.Stats{}
	r := w.Frontier.Remotes()
	for n := range r.Shards {
		s, err := r.Shard(n).Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("shard-%d", n)] = s
	}
	return all
}

// The last snapshot restores a destroyed shard. Seven days are kept, and an alarm that dies at any of its calls is
// made up for by the next one.
func TestShard_DailySnapshots(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["FRONTIER_SHARDS"] = "3"
		before := fillShards(t, w)
		for range 10 {
			for _, name := range w.Frontier.Names() {
				if died := w.Calls(); died%3 == 0 { // the first call of every third alarm
					w.Kill = func(nth int) bool { return nth == died+1 }
					if _, err := w.Alarm(name); err == nil {
						t.Error("an alarm that died ended well")
					}
					w.Kill = nil
				}
				next, err := w.Alarm(name)
				if err != nil || !next.After(time.Now()) {
					t.Fatal(next, err)
				}
			}
			time.Sleep(24 * time.Hour)
		}
		days := map[string]map[string]bool{}
		for _, key := range w.Keys("frontier/", ".json") {
			s, ok := contract.ParseSnapshot(key[:strings.LastIndex(key, "/")+1])
			if !ok || days[s.Shard][s.Date] {
				t.Fatal(key)
			}
			if days[s.Shard] == nil {
				days[s.Shard] = map[string]bool{}
			}
			days[s.Shard][s.Date] = true
		}
		if len(days) != 3 || len(days["shard-0"]) != 7 || len(days["shard-1"]) != 7 || len(days["shard-2"]) != 7 {
			t.Errorf("snapshots of %v", days)
		}
		w.Frontier.Wipe("shard-0")
		w.Frontier.Wipe("shard-2")
		if s := allStats(t, w); s["shard-0"].URLs != 0 || s["shard-1"].URLs == 0 {
			t.Errorf("%+v", s)
		}
		if a := w.Ask("POST", "/api/v1/frontier/restore", `{"shard":"shard-x"}`); a.Status != 400 ||
			a.Error.Field != "shard" {
			t.Errorf("%d %+v", a.Status, a.Error)
		}
		hosts, body := int64(0), `{}`
		for done := false; !done; {
			r := enginetest.Data[contract.Restored](w, "POST", "/api/v1/frontier/restore", body)
			if hosts += r.Hosts; !r.Done {
				body = fmt.Sprintf(`{"cursor":%q}`, *r.Cursor)
			}
			done = r.Done
		}
		for name, s := range allStats(t, w) {
			if s.URLs != before[name].URLs || s.Hosts != before[name].Hosts {
				t.Errorf("%s has %+v, had %+v", name, s, before[name])
			}
		}
		if want := before["shard-0"].Hosts + before["shard-2"].Hosts; hosts != want {
			t.Errorf("%d hosts restored, want %d", hosts, want)
		}
	})
}

// A domain that moved to another shard keeps its pages. They are leased from the new shard only, and the old shard
// refuses the domain.
func TestShard_NumberChanges(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["FRONTIER_SHARDS"] = "3"
		fillShards(t, w)
		for _, name := range w.Frontier.Names() {
			if _, err := w.Alarm(name); err != nil {
				t.Fatal(err)
			}
		}
		before := w.Frontier.Remotes()
		w.Variables["FRONTIER_SHARDS"] = "5"
		w.Deploy()
		now := w.Frontier.Remotes()
		moved := 0
		for i := range 40 {
			domain := fmt.Sprintf("site%d.example", i)
			if placement.ShardOf(domain, 5) == placement.ShardOf(domain, 3) {
				continue
			}
			moved++
			_, err := before.Of(domain).Acquire(t.Context(),
				frontier.AcquireRequest{Domain: domain, Owner: "o", Seconds: 60})
			if contract.KindOf(err) != contract.Storage {
				t.Errorf("%s at its old place: %v", domain, err)
			}
			if _, err := before.Of(domain).Put(t.Context(), frontier.Put{Domain: domain,
				Partition: contract.Partition{Country: "kr", Category: "news",
					Date: "2026-01-28"}}); contract.KindOf(err) != contract.Storage {
				t.Errorf("%s at its old place: %v", domain, err)
			}
		}
		restored := enginetest.Data[contract.Restored](w, "POST", "/api/v1/frontier/restore", "{}")
		if !restored.Done || restored.Hosts != int64(moved) || moved == 0 {
			t.Errorf("%d moved, %+v", moved, restored)
		}
		given := map[string]bool{}
		for {
			leased := 0
			for n := range now.Shards {
				l, err := now.Shard(n).Lease(t.Context(), frontier.LeaseRequest{Max: 500, Seconds: 60})
				if err != nil {
					t.Fatal(err)
				}
				results := frontier.Report{Lease: l.ID}
				for _, item := range l.Items {
					if given[item.URL] || placement.ShardOf(item.Domain, 5) != n {
						t.Errorf("shard %d gives %s", n, item.URL)
					}
					given[item.URL] = true
					results.Results = append(results.Results, frontier.Result{ID: item.ID, Status: 200})
				}
				if leased += len(l.Items); len(l.Items) > 0 {
					if _, err := now.Shard(n).Report(t.Context(), results); err != nil {
						t.Fatal(err)
					}
				}
			}
			if leased == 0 {
				break
			}
			time.Sleep(time.Minute)
		}
		if want := 40 * 41 / 2; len(given) != want {
			t.Errorf("%d URLs were given, want %d", len(given), want)
		}
	})
}
