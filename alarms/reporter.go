package alarms

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	// maxPosts is how many changes one run posts: there are few alarms, so more wait only after the
	// webhook was away.
	maxPosts = 20
	// postTimeout is how long the webhook has to answer.
	postTimeout = 10 * time.Second
	// MaxPosting is how long one Report may take to post. The changes that it posts are kept from other runs
	// for that long, also when it was killed.
	MaxPosting = maxPosts*postTimeout + time.Minute
)

// Records keep the states of alarms, and their changes until they are posted.
type Records interface {
	SaveAlarms(ctx context.Context, at time.Time, updates []ledger.AlarmUpdate, post bool) error
	ClaimAlarmChanges(ctx context.Context, n int, ttl time.Duration) ([]ledger.AlarmNotice, error)
	SettleAlarmChanges(ctx context.Context, posted, unposted []string, at time.Time) error
}

// Webhook posts JSON. It succeeds only with a 2xx answer. What the log may show of an error is the Message of
// a *contract.Error.
type Webhook interface {
	Post(ctx context.Context, url string, header http.Header, body []byte, timeout time.Duration) error
}

// unasked is what the log says of a failed post otherwise, never its cause. Messages of the platform repeat the URL,
// and anyone who has that may post.
const unasked = "the webhook could not be asked; see that ALERT_WEBHOOK_URL is right"

// Reporter logs and posts when an alarm begins and when it ends, once for each change.
type Reporter struct {
	Records     Records
	Webhook     Webhook
	URL         string // of the webhook; without one changes are only logged
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
}

// Report records which alarms changed since they were saved, and posts what was not posted yet, oldest first.
// What the webhook does not take is tried again by the next Report; that is no error.
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
		if len(unposted) == 0 { // later changes do not overtake one that failed
			header := http.Header{"Idempotency-Key": {n.ID}} // the same for one change however often it is posted
			err := r.Webhook.Post(ctx, r.URL, header, []byte(n.Body), postTimeout)
			if err == nil {
				posted = append(posted, n.ID)
				continue
			}
			r.Log.Error("alarm_webhook_failed", "error_type", contract.KindOf(err), "error",
				cmp.Or(contract.MessageOf(err), unasked), "id", n.ID)
		}
		unposted = append(unposted, n.ID)
	}
	return r.Records.SettleAlarmChanges(ctx, posted, unposted, r.Now())
}

// saveChanges compares every alarm with its saved state, and saves and logs what changed.
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
		if ok || a.State == contract.AlarmFiring { // that an alarm is well from the start is no news
			c := r.change(a, at)
			u.Notice = &ledger.AlarmNotice{ID: c.ID, Body: string(contract.Encode(c)), At: at.UnixMilli()}
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
	return contract.AlarmChange{
		ID: rand.Text(), Alarm: a.Name, Source: a.Source, State: a.State, Value: a.Value, Threshold: a.Threshold,
		Unit: a.Unit, Window: a.Window,
		At: contract.Time{Time: at.UTC()}, Environment: r.Environment, Text: verb + " (" + r.Environment + "): " +
			a.Text,
	}
}
