package alarms

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	// maxPosts caps the changes that one run posts. More wait only after an outage of the webhook.
	maxPosts = 20
	// PostTimeout limits one post to a webhook.
	PostTimeout = 10 * time.Second
	// MaxPosting bounds the time that one Report takes to post. It reserves its changes for that long, even if it
	// is killed.
	MaxPosting = maxPosts*PostTimeout + time.Minute
)

// Records stores the states of alarms, and their changes until they are posted.
type Records interface {
	SaveAlarms(ctx context.Context, at time.Time, updates []ledger.AlarmUpdate, post bool) error
	ClaimAlarmChanges(ctx context.Context, n int, ttl time.Duration) ([]ledger.AlarmNotice, error)
	SettleAlarmChanges(ctx context.Context, posted, unposted []string, at time.Time) error
}

// Webhook posts JSON. Post succeeds only with a 2xx answer. Only the Message of a *contract.Error may be logged.
type Webhook interface {
	Post(ctx context.Context, url string, header http.Header, body []byte, timeout time.Duration) error
}

// unreachable is logged for a failed post without a message. The cause is never logged: messages of the platform
// repeat the URL, and anyone who has the URL can post.
const unreachable = "the webhook could not be reached; check ALERT_WEBHOOK_URL"

// Reporter logs and posts when an alarm begins and when it ends, once for each change.
type Reporter struct {
	Records     Records
	Webhook     Webhook
	URL         string // of the webhook; without one changes are only logged
	Secret      string // signs posts; "": they are not signed
	Page        string // URL of the page of alarms, or ""
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
	// Refused, if set, notes a change that was posted in vain.
	Refused func(ctx context.Context, id, cause string, at time.Time) error
}

// Report saves the alarms that changed and posts pending changes, oldest first. The next Report repeats failed
// posts.
func (r *Reporter) Report(ctx context.Context, current []contract.Alarm,
	saved func(key string) (ledger.SavedAlarm, bool)) error {
	if err := r.saveChanges(ctx, current, saved); err != nil || r.URL == "" {
		return err
	}
	notices, err := r.Records.ClaimAlarmChanges(ctx, maxPosts, MaxPosting)
	if err != nil || len(notices) == 0 {
		return err
	}
	var posted, unposted []string
	for _, n := range notices {
		if len(unposted) == 0 { // later changes must not overtake a failed one
			failed := r.post(ctx, n.ID, []byte(n.Body))
			if failed == nil {
				posted = append(posted, n.ID)
				continue
			}
			if r.Refused != nil {
				if err := r.Refused(ctx, n.ID, contract.MessageOf(failed), r.Now()); err != nil {
					r.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
				}
			}
		}
		unposted = append(unposted, n.ID)
	}
	return r.Records.SettleAlarmChanges(ctx, posted, unposted, r.Now())
}

// post posts a change, and logs a failure. The id is the same when the change is posted again.
func (r *Reporter) post(ctx context.Context, id string, body []byte) error {
	header := http.Header{"Idempotency-Key": {id}}
	if r.Secret != "" {
		header.Set(contract.SignatureHeader, contract.SignWebhook(r.Secret, r.Now(), body))
	}
	err := r.Webhook.Post(ctx, r.URL, header, body, PostTimeout)
	if err == nil {
		return nil
	}
	failed := &contract.Error{Kind: contract.KindOf(err), Op: "alarms.post",
		Message: cmp.Or(contract.MessageOf(err), unreachable)}
	r.Log.Error("alarm_webhook_failed", "error_type", failed.Kind, "error", failed.Message, "id", id)
	return failed
}

// ErrNoWebhook is returned when a trial has no webhook to be posted to.
var ErrNoWebhook = errors.New("there is no webhook: ALERT_WEBHOOK_URL is not set")

// Trial posts a made-up change, so that operators see whether their receiver takes posts. by names who asked.
func (r *Reporter) Trial(ctx context.Context, by string) (contract.AlarmTrial, error) {
	t := contract.AlarmTrial{ID: rand.Text(), Signed: r.Secret != ""}
	if r.URL == "" {
		return t, ErrNoWebhook
	}
	c := contract.AlarmChange{ID: t.ID, Alarm: contract.TrialAlarm, State: contract.AlarmOK, Unit: contract.Count,
		At: contract.Time{Time: r.Now().UTC()}, Environment: r.Environment, URL: r.Page,
		Text: r.withPage("Trial (" + r.Environment + "): " + by + " tried the webhook of alarms.")}
	err := r.post(ctx, t.ID, contract.Encode(c))
	if to, bad := url.Parse(r.URL); err != nil && bad == nil { // its path can be a secret
		err = &contract.Error{Kind: contract.KindOf(err), Op: "alarms.Trial",
			Message: to.Host + ": " + cmp.Or(contract.MessageOf(err), unreachable), Err: err}
	}
	return t, err
}

// withPage appends the address of the page of alarms to a sentence.
func (r *Reporter) withPage(text string) string {
	if r.Page == "" {
		return text
	}
	return text + " " + r.Page
}

// saveChanges saves and logs the alarms whose state differs from the saved one.
func (r *Reporter) saveChanges(ctx context.Context, current []contract.Alarm,
	saved func(key string) (ledger.SavedAlarm, bool)) error {
	at := r.Now()
	var updates []ledger.AlarmUpdate
	var changes []contract.AlarmChange
	for i := range current {
		a := &current[i]
		before, ok := saved(a.Key())
		if ok && before.State == a.State {
			continue
		}
		u := ledger.AlarmUpdate{Name: a.Key(), State: a.State}
		if ok || a.State == contract.AlarmFiring { // a new alarm that is well is not reported
			c := r.change(a, at)
			if c.Since = &c.At; a.State == contract.AlarmOK && ok {
				c.Since = contract.At(before.Since.UTC())
			}
			u.Notice = &ledger.AlarmNotice{ID: c.ID, Body: string(contract.Encode(c)), At: epoch.MillisOf(at)}
			changes = append(changes, c)
		}
		updates = append(updates, u)
	}
	if err := r.Records.SaveAlarms(ctx, at, updates, r.URL != ""); err != nil {
		return err
	}
	for _, c := range changes {
		args := []any{"alarm", c.Alarm, "state", c.State, "value", c.Value, "threshold", c.Threshold, "text", c.Text}
		if c.Source != "" {
			args = append(args, "source", c.Source)
		}
		r.Log.Warn("alarm_changed", args...)
	}
	return nil
}

func (r *Reporter) change(a *contract.Alarm, at time.Time) contract.AlarmChange {
	verb := "ALARM"
	if a.State == contract.AlarmOK {
		verb = "Recovered"
	}
	text := verb + " (" + r.Environment + "): " + a.Text
	if c := a.Cause; c != nil {
		text += fmt.Sprintf(" Mostly %s: %d of %d.", c.ErrorType, c.Count, c.Of)
	}
	return contract.AlarmChange{
		ID: rand.Text(), Alarm: a.Name, Source: a.Source, State: a.State, Value: a.Value, Threshold: a.Threshold,
		Unit: a.Unit, Window: a.Window,
		At: contract.Time{Time: at.UTC()}, Environment: r.Environment, Text: r.withPage(text), Cause: a.Cause,
		URL: r.Page,
	}
}
