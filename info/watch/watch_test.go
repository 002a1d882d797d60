package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/info/watch"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

var noon = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)

func TestInterval(t *testing.T) {
	for cron, want := range map[string]time.Duration{
		"*/5 * * * *": 5 * time.Minute, "* * * * *": time.Minute, "17 * * * *": time.Hour,
		"0 */6 * * *": 6 * time.Hour,
		"17 3 * * *":  24 * time.Hour, "*/5 * * * 1": 24 * time.Hour, "0,30 * * * *": 24 * time.Hour,
		"*/0 * * * *": 24 * time.Hour, "": 24 * time.Hour,
	} {
		if got := watch.Interval(cron); got != want {
			t.Errorf("%q: %v, not %v", cron, got, want)
		}
	}
}

func TestJudge(t *testing.T) {
	on := watch.Sources{info.Naver: 5 * time.Minute, info.NewsData: 30 * time.Minute}
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for _, c := range []struct {
		what string
		s    store.Source
		want string // what fires
	}{
		{"never begun", store.Source{Name: info.Naver}, ""},
		{"just succeeded", store.Source{Name: info.Naver, SucceededAt: noon}, ""},
		{"two failures", store.Source{Name: info.Naver, SucceededAt: noon, Failures: 2, Error: "e"}, ""},
		{"three failures", store.Source{Name: info.Naver, SucceededAt: noon, Failures: 3, Error: "e"},
			"source_failing 3"},
		{"nothing for almost 15 minutes", store.Source{Name: info.Naver,
			SucceededAt: ago(15*time.Minute - time.Second)}, ""},
		{"nothing for 15 minutes", store.Source{Name: info.Naver, SucceededAt: ago(15 * time.Minute)},
			"source_stale 900000"},
		{"every half an hour, 44 minutes", store.Source{Name: info.NewsData, SucceededAt: ago(44 * time.Minute)}, ""},
		{"every half an hour, 45 minutes", store.Source{Name: info.NewsData, SucceededAt: ago(45 * time.Minute)},
			"source_stale 2700000"},
		{"never succeeded, though begun again and again",
			store.Source{Name: info.Naver, ExpectedAt: ago(time.Hour), StartedAt: noon}, "source_stale 3600000"},
		{"most of the day's calls", store.Source{Name: info.Naver, SucceededAt: noon,
			Quotas: []info.Quota{{Period: "day:2026-01-28", Used: 19_999, Allowed: 25_000}}}, ""},
		{"80 % of them", store.Source{Name: info.Naver, SucceededAt: noon,
			Quotas: []info.Quota{{Period: "900s:1", Used: 1, Allowed: 30},
				{Period: "day:2026-01-28", Used: 20_000, Allowed: 25_000}}}, "quota_nearly_spent 80"},
		{"a window that is full", store.Source{Name: info.NewsData, SucceededAt: noon,
			Quotas: []info.Quota{{Period: "900s:1", Used: 30, Allowed: 30}}}, ""},
		{"one that is off", store.Source{Name: info.Feed, Failures: 9, SucceededAt: ago(time.Hour)}, ""},
	} {
		var fires []string
		judged := watch.Judge(on, []store.Source{c.s}, watch.Database{}, nil, noon)
		for _, a := range judged {
			if a.State == contract.AlarmFiring {
				fires = append(fires, fmt.Sprintf("%s %.0f", a.Name, *a.Value))
				if a.Source != c.s.Name || !strings.HasPrefix(a.Text, "Info service, "+c.s.Name+": ") {
					t.Errorf("%s: %+v", c.what, a)
				}
			}
		}
		if got := strings.Join(fires, ", "); got != c.want || len(judged) != 13 {
			t.Errorf("%s: %q, not %q", c.what, got, c.want)
		}
	}
}

func TestJudge_Database(t *testing.T) {
	for size, want := range map[int64]string{0: "ok", 6_999_000_000: "ok", 7_000_000_000: "firing",
		11_000_000_000: "firing"} {
		judged := watch.Judge(nil, nil, watch.Database{Bytes: size, Limit: 10_000_000_000}, nil, noon)
		a := judged[len(judged)-1]
		if a.Key() != "database_full" || a.State != want || (a.Value == nil) != (size == 0) {
			t.Errorf("%d bytes: %+v", size, a)
		}
	}
}

// hook records posts and validates them against the schema.
type hook struct {
	t      *testing.T
	schema *jsonschema.Schema
	posted int
}

func (h *hook) Post(_ context.Context, _ string, _ http.Header, body []byte, _ time.Duration) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(string(body)))
	if err == nil {
		err = h.schema.Validate(v)
	}
	if err != nil {
		h.t.Errorf("%s: %v", body, err)
	}
	h.posted++
	return nil
}

func newWatch(t *testing.T) (*watch.Watch, *store.Store, *sqlite.DB, *hook) {
	t.Helper()
	db, err := sqlite.OpenWith(store.Migrations)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	text, err := contract.Schemas.ReadFile("schemas/alarm_change.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("alarm.json", doc); err != nil {
		t.Fatal(err)
	}
	h := &hook{t: t, schema: c.MustCompile("alarm.json")}
	s := store.NewD1(db)
	return &watch.Watch{
		Sources: watch.Sources{info.Naver: 5 * time.Minute}, Store: s, Webhook: h, URL: "https://hooks.example/",
		Environment: "staging", Owner: "one",
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon },
	}, s, db, h
}

// Posts match the schema of the engine's alarms, also for sources that are turned off.
func TestWatch_Posts(t *testing.T) {
	w, s, _, h := newWatch(t)
	if err := s.Fail(t.Context(), store.Failure{Source: info.Naver, Class: "refused",
		Message: strings.Repeat("가", 500), NotBefore: noon, Now: noon}); err != nil {
		t.Fatal(err)
	}
	run := func(what string, want int) {
		t.Helper()
		h.posted = 0
		if err := w.Run(t.Context()); err != nil || h.posted != want {
			t.Errorf("%s: posted %d, %v", what, h.posted, err)
		}
	}
	run("one failure", 0)
	for range 2 {
		if err := s.Fail(t.Context(), store.Failure{Source: info.Naver, Class: "refused",
			Message: strings.Repeat("가", 500), NotBefore: noon, Now: noon}); err != nil {
			t.Fatal(err)
		}
	}
	run("three of them", 1)
	run("still", 0)
	w.Sources = watch.Sources{}
	run("it is turned off", 1)
}

// Only one of two concurrent crons posts. A killed one delays the next only until its lease ends.
func TestWatch_OneRun(t *testing.T) {
	w, s, db, h := newWatch(t)
	for range 3 {
		if err := s.Fail(t.Context(), store.Failure{Source: info.Naver, Class: "refused", Message: "e",
			NotBefore: noon, Now: noon}); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := s.Acquire(t.Context(), "watch", "another", time.Hour); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := w.Run(t.Context()); err != nil || h.posted != 0 {
		t.Errorf("beside another run: %d %v", h.posted, err)
	}
	if _, err := db.Batch(t.Context(), []ledger.Statement{
		{SQL: `UPDATE news_leases SET expires_at = 1`}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err != nil || h.posted != 1 {
		t.Errorf("after a run that was killed: %d %v", h.posted, err)
	}
	db.Fail = func() error { return errors.New("D1 is away") }
	if err := w.Run(t.Context()); contract.KindOf(err) != contract.Storage {
		t.Errorf("%v", err)
	}
}
