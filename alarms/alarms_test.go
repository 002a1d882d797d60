package alarms_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

var noon = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)

// webhook keeps what it was told, or fails.
type webhook struct {
	schema *jsonschema.Schema
	t      *testing.T
	told   []string
	ids    []string
	err    error
}

func (w *webhook) Post(_ context.Context, url, id string, body []byte, timeout time.Duration) error {
	if w.err != nil {
		return w.err
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		w.t.Error(err)
	}
	if err := w.schema.Validate(v); err != nil {
		w.t.Errorf("%s does not fit its schema: %v", body, err)
	}
	var c contract.AlarmChange
	if err := json.Unmarshal(body, &c); err != nil || c.ID != id || url != "https://hooks.example/x" || timeout <= 0 {
		w.t.Errorf("%s to %s: %v", body, url, err)
	}
	w.told, w.ids = append(w.told, c.Alarm+" "+c.State), append(w.ids, id)
	return nil
}

func alarmSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := contract.Schemas.Open("schemas/alarm_change.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	doc, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("alarm.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("alarm.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryChangeIsToldOnce(t *testing.T) {
	db, err := sqlite.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l := ledger.New(db)
	hook := &webhook{t: t, schema: alarmSchema(t)}
	now := noon
	w := &alarms.Watch{
		Ledger: l, Webhook: hook, URL: "https://hooks.example/x", Environment: "staging",
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
	}
	run := func(what string, want ...string) {
		t.Helper()
		hook.told = nil
		if err := w.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if !slices.Equal(hook.told, want) {
			t.Errorf("%s: told %v, want %v", what, hook.told, want)
		}
	}
	unreachable := func(n int) {
		t.Helper()
		var c ledger.Changes
		for i := range n {
			o := &contract.Outcome{CollectedAt: now, ErrorType: "network_error"}
			c.Domains = append(c.Domains, ledger.DomainChange{Partition: contract.Partition{Country: "sg", Category: "news", Date: "2026-01-28"}, Domain: fmt.Sprintf("d%d-%d.sg", now.Unix(), i), Outcome: o})
		}
		if err := l.Record(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	run("all is well")
	unreachable(20)
	run("an alarm begins", "domain_failures firing")
	now = now.Add(time.Minute)
	run("it goes on")

	now = now.Add(time.Hour)
	hook.err = errors.New("the webhook is away")
	run("it ends while the webhook is away")
	now = now.Add(time.Minute)
	unreachable(30)
	run("and begins again")
	hook.err = nil
	now = now.Add(time.Minute)
	run("the webhook is back", "domain_failures ok", "domain_failures firing")
	run("everything was told")

	w.URL = ""
	now = now.Add(2 * time.Hour)
	run("nobody is to be told")
	w.URL = "https://hooks.example/x"
	run("what ended while nobody was to be told is no news any more")

	slices.Sort(hook.ids)
	if len(slices.Compact(hook.ids)) != 3 {
		t.Errorf("ids: %v", hook.ids)
	}
	db.Fail = func() error { return errors.New("D1 is away") }
	if err := w.Run(t.Context()); contract.KindOf(err) != contract.Storage {
		t.Errorf("without the ledger: %v", err)
	}
}
