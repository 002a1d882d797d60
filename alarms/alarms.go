// Package alarms watches the ledger and tells a webhook when an alarm begins and when it ends.
package alarms

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	// maxPosts is how many changes one run posts: there are four alarms, so more wait only after
	// the webhook was away.
	maxPosts = 20
	// postTimeout is how long the webhook has to answer.
	postTimeout = 10 * time.Second
	// claimTime keeps other runs from posting what this one posts, and is over when it was killed.
	claimTime = maxPosts*postTimeout + time.Minute
)

// Ledger judges the alarms, and keeps their changes until they are posted.
type Ledger interface {
	CheckAlarms(ctx context.Context, at time.Time, environment string, tell bool) ([]contract.AlarmChange, error)
	ClaimAlarmChanges(ctx context.Context, n int, ttl time.Duration) ([]ledger.AlarmNotice, error)
	SettleAlarmChanges(ctx context.Context, posted, rest []string, at time.Time) error
}

// Webhook posts JSON. It succeeds only with a 2xx answer. id is equal for one change however often
// it is posted. What the log may show of an error is the Message of a *contract.Error.
type Webhook interface {
	Post(ctx context.Context, url, id string, body []byte, timeout time.Duration) error
}

// Watch runs by cron.
type Watch struct {
	Ledger      Ledger
	Webhook     Webhook
	URL         string // of the webhook; without one nobody is told, but the log
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
}

// Run notes which alarms changed since the last run, and posts what was not posted yet, oldest
// first. What the webhook does not take is tried again by the next run; that is no error.
func (w *Watch) Run(ctx context.Context) error {
	changes, err := w.Ledger.CheckAlarms(ctx, w.Now(), w.Environment, w.URL != "")
	if err != nil {
		return err
	}
	for _, c := range changes {
		w.Log.Warn("alarm_changed", "alarm", c.Alarm, "state", c.State, "value", c.Value, "threshold", c.Threshold, "text", c.Text)
	}
	if w.URL == "" {
		return nil
	}
	notices, err := w.Ledger.ClaimAlarmChanges(ctx, maxPosts, claimTime)
	if err != nil || len(notices) == 0 {
		return err
	}
	var posted, rest []string
	for _, n := range notices {
		if len(rest) == 0 { // later changes do not overtake one that failed
			err := w.Webhook.Post(ctx, w.URL, n.ID, []byte(n.Body), postTimeout)
			if err == nil {
				posted = append(posted, n.ID)
				continue
			}
			w.Log.Error("alarm_webhook_failed", "error_type", contract.KindOf(err), "error", reason(err), "id", n.ID)
		}
		rest = append(rest, n.ID)
	}
	return w.Ledger.SettleAlarmChanges(ctx, posted, rest, w.Now())
}

// reason is what the log says of a failed post: our own message, never its cause. Messages of the
// platform repeat the URL, and whoever has that may post.
func reason(err error) string {
	var e *contract.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return "the webhook could not be asked; see that ALERT_WEBHOOK_URL is right"
}
