package alarms_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/ledger/sqlite"
)

var noon = time.Date(2026, 1, 28, 12, 0, 0, 0, time.UTC)

// webhook records posts, or fails.
type webhook struct {
	schema *jsonschema.Schema
	t      *testing.T
	posted []string
	ids    []string
	bodies [][]byte
	err    error
}

func (w *webhook) Post(_ context.Context, url string, header http.Header, body []byte, timeout time.Duration) error {
	id := header.Get("Idempotency-Key")
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
	w.posted, w.ids, w.bodies = append(w.posted, c.Alarm+" "+c.State), append(w.ids, id), append(w.bodies, body)
	return nil
}

func noFrontier(context.Context) (ledger.FrontierReading, error) {
	return ledger.FrontierReading{}, nil
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

func TestReport_PostsOnce(t *testing.T) {
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
		Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }, Frontier: noFrontier,
	}
	run := func(what string, want ...string) {
		t.Helper()
		hook.posted = nil
		if err := w.Run(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if !slices.Equal(hook.posted, want) {
			t.Errorf("%s: posted %v, want %v", what, hook.posted, want)
		}
	}
	finish := func(n int, reachable bool) {
		t.Helper()
		var c ledger.Changes
		for i := range n {
			o := &contract.Outcome{CollectedAt: now, Reachable: reachable}
			if !reachable {
				o.ErrorType = "network_error"
			}
			c.Domains = append(c.Domains, ledger.DomainChange{Partition: contract.Partition{Country: "sg",
				Category: "news", Date: "2026-01-28"}, Domain: fmt.Sprintf("d%d-%d.sg", now.Unix(), i), Outcome: o})
		}
		if err := l.Record(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	unreachable := func(n int) { t.Helper(); finish(n, false) }
	recover := func() { // many good domains, and ten minutes
		t.Helper()
		finish(60, true)
		run("good domains")
		now = now.Add(10 * time.Minute)
	}
	run("all is well")
	unreachable(20)
	run("an alarm begins", "domain_failures firing")
	now = now.Add(time.Minute)
	run("it goes on")

	now = now.Add(time.Hour)
	hook.err = errors.New("the webhook is away")
	recover()
	run("it ends while the webhook is away")
	now = now.Add(time.Minute)
	unreachable(30)
	run("and begins again")
	refused := func() *contract.AlarmsRefused {
		t.Helper()
		s, err := l.Status(t.Context(), ledger.StatusQuery{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s.Refused
	}
	if r := refused(); r == nil || r.Attempts != 2 || r.Waiting != 2 || r.Since.Time != now.Add(-time.Minute) ||
		r.Error != "the webhook could not be reached; check ALERT_WEBHOOK_URL" {
		t.Errorf("refused: %+v", r)
	}
	hook.err = nil
	now = now.Add(time.Minute)
	run("the webhook is back", "domain_failures ok", "domain_failures firing")
	run("everything was posted")
	if r := refused(); r != nil {
		t.Errorf("refused after the webhook took all: %+v", r)
	}

	w.URL = ""
	now = now.Add(2 * time.Hour)
	recover()
	run("without a webhook")
	w.URL = "https://hooks.example/x"
	run("what ended while there was no webhook is not posted later")

	slices.Sort(hook.ids)
	if len(slices.Compact(hook.ids)) != 3 {
		t.Errorf("ids: %v", hook.ids)
	}
	db.Fail = func() error { return errors.New("D1 is away") }
	if err := w.Run(t.Context()); contract.KindOf(err) != contract.Storage {
		t.Errorf("without the ledger: %v", err)
	}
}

// Platform messages about failed requests contain the URL, and a webhook's URL is a secret.
func TestReport_NoURLInLog(t *testing.T) {
	const secret = "https://user:pass@hooks.example/T0/B0/s3cret"
	for _, c := range []struct {
		err  error
		want string // of the log line
	}{
		{errors.New("Invalid URL: " + secret), `"error_type":"internal_error"`},
		{&url.Error{Op: "Post", URL: secret, Err: errors.New("connection refused")}, `"error_type":"internal_error"`},
		{&contract.Error{Kind: contract.Timeout, Message: "the webhook did not answer in time",
			Err: errors.New(secret)}, `"error":"the webhook did not answer in time"`},
		{fmt.Errorf("%s: %w", secret, &contract.Error{Kind: contract.Network, Message: "the webhook answered 503"}),
			`"error":"the webhook answered 503"`},
	} {
		db, err := sqlite.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		l := ledger.New(db)
		var changes ledger.Changes
		for i := range 20 {
			o := &contract.Outcome{CollectedAt: noon, ErrorType: "network_error"}
			changes.Domains = append(changes.Domains,
				ledger.DomainChange{Partition: contract.Partition{Country: "sg", Category: "news",
					Date: "2026-01-28"}, Domain: fmt.Sprintf("d%d.sg", i), Outcome: o})
		}
		if err := l.Record(t.Context(), changes); err != nil {
			t.Fatal(err)
		}
		var lines bytes.Buffer
		w := &alarms.Watch{
			Ledger: l, Webhook: &webhook{t: t, err: c.err}, URL: secret, Environment: "staging",
			Log: contract.NewLogger(&lines), Now: func() time.Time { return noon }, Frontier: noFrontier,
		}
		if err := w.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if text := lines.String(); !strings.Contains(text, "alarm_webhook_failed") ||
			!strings.Contains(text, c.want) {
			t.Errorf("%v: the log lacks %s:\n%s", c.err, c.want, text)
		} else if strings.Contains(text, "s3cret") || strings.Contains(text, "pass@") {
			t.Errorf("%v: the log shows the URL:\n%s", c.err, text)
		}
	}
}
