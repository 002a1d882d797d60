package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
)

// A post about an alarm says why, since when and where to look, and is signed as the feed's deliveries are. Operators
// try the webhook before they need it.
func TestAlarms_Posts(t *testing.T) {
	const secret = "a secret of alarms, long"
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Web.Serve = (&enginetest.Sites{}).Serve
		a := w.Ask("POST", "/api/v1/alarms/test", "")
		if a.Status != 409 || a.Error.Code != "no_webhook" {
			t.Errorf("without a webhook: %d %+v", a.Status, a.Error)
		}
		if got := w.Status("").Webhook; got != (contract.AlarmWebhook{}) {
			t.Errorf("without a webhook: %+v", got)
		}
		w.Variables["ALERT_WEBHOOK_URL"], w.Variables["ALERT_WEBHOOK_SECRET"] = "https://alerts.example/x", secret
		w.Variables["PUBLIC_URL"] = "https://engine.example/"
		w.Deploy()
		check := func(p enginetest.Post) *contract.AlarmChange {
			t.Helper()
			if got := p.Header.Get(contract.SignatureHeader); got != contract.SignWebhook(secret, time.Now(), p.Body) {
				t.Errorf("the signature is %q", got)
			}
			const page = "https://engine.example/dashboard/#/alarms"
			if p.Change.URL != page || !strings.HasSuffix(p.Change.Text, " "+page) || p.ID != p.Change.ID {
				t.Errorf("posted %s", p.Body)
			}
			return &p.Change
		}
		if got := w.Status("").Webhook; got != (contract.AlarmWebhook{Enabled: true, Signed: true}) {
			t.Errorf("with a webhook: %+v", got)
		}
		trial := enginetest.Data[contract.AlarmTrial](w, "POST", "/api/v1/alarms/test", "")
		if c := check(w.Hooks.Posts()[0]); c.Alarm != contract.TrialAlarm || c.State != contract.AlarmOK ||
			c.ID != trial.ID || !trial.Signed || c.Since != nil || c.Cause != nil ||
			!strings.Contains(c.Text, "development tried") {
			t.Errorf("a trial: %+v", c)
		}
		w.Hooks.Refuse = 1
		if a := w.Ask("POST", "/api/v1/alarms/test", ""); a.Status != 502 || a.Error.Code != "webhook_refused" ||
			a.Error.Message != "alerts.example: the webhook answered 503" {
			t.Errorf("a trial that is refused: %d %+v", a.Status, a.Error)
		}

		upload(t, w, day, 1, plan{"full": 20, "down": 7, "hang": 3}.files(1)[0])
		orchestrate(w, "{}")
		w.Drain()
		posts := len(w.Hooks.Posts())
		began := time.Now()
		w.Cron()
		all := w.Hooks.Posts()[posts:]
		if len(all) != 1 {
			t.Fatalf("%d posts, want one", len(all))
		}
		c := check(all[0])
		if c.Alarm != "domain_failures" || c.Cause == nil || *c.Cause != (contract.AlarmCause{
			ErrorType: string(contract.Network), Count: 7, Of: 10}) ||
			!strings.Contains(c.Text, " Mostly network_error: 7 of 10.") || c.Since.Sub(began).Abs() > time.Minute {
			t.Errorf("posted %+v, %+v", c, c.Cause)
		}

		// It keeps its start while its value rises, falls for a moment, and is not known.
		time.Sleep(20 * time.Minute)
		w.Cron()
		for _, a := range w.Status("").Alarms {
			if a.Name == c.Alarm && (a.State != contract.AlarmFiring || !a.Since.Equal(c.Since.Time)) {
				t.Errorf("20 minutes later it is %s since %v, want %v", a.State, a.Since, c.Since)
			}
		}
		upload(t, w, nextDay, 1, plan{"full": 300}.files(1)[0])
		orchestrate(w, "{}")
		w.Drain()
		w.Cron()
		time.Sleep(15 * time.Minute)
		w.Cron()
		last := w.Hooks.Posts()
		end := check(last[len(last)-1])
		if end.Alarm != c.Alarm || end.State != contract.AlarmOK || !end.Since.Equal(c.Since.Time) ||
			end.Cause != nil || !end.At.After(end.Since.Time) {
			t.Errorf("it ended with %+v", end)
		}
	})
}
