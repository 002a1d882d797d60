// Package alarms has the rules of the alarms, judges them by what the ledger counts, and posts to a
// webhook when an alarm begins and when it ends.
package alarms

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
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
	// claimTime keeps other runs from posting what this one posts, and is over when it was killed.
	claimTime = maxPosts*postTimeout + time.Minute
)

// Ledger counts what the alarms are judged by, and keeps their states, and their changes until they
// are posted.
type Ledger interface {
	Alarms(ctx context.Context, at time.Time, windows []int) (ledger.AlarmReading, error)
	SaveAlarms(ctx context.Context, at time.Time, updates []ledger.AlarmUpdate, post bool) error
	ClaimAlarmChanges(ctx context.Context, n int, ttl time.Duration) ([]ledger.AlarmNotice, error)
	SettleAlarmChanges(ctx context.Context, posted, unposted []string, at time.Time) error
	SaveFrontierReading(ctx context.Context, r ledger.FrontierReading) error
}

// Webhook posts JSON. It succeeds only with a 2xx answer. id is equal for one change however often
// it is posted. What the log may show of an error is the Message of a *contract.Error.
type Webhook interface {
	Post(ctx context.Context, url, id string, body []byte, timeout time.Duration) error
}

// readingInterval is the time between two looks at the shards of the frontier, each of which costs a request
// a shard and a row of the ledger.
const readingInterval = 5 * time.Minute

// Watch runs by cron.
type Watch struct {
	// Frontier reads the shards of the frontier. On an error the alarms about it stay as they are.
	Frontier    func(ctx context.Context) (ledger.FrontierReading, error)
	Ledger      Ledger
	Webhook     Webhook
	URL         string // of the webhook; without one changes are only logged
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
}

// Run records which alarms changed since the last run, and posts what was not posted yet, oldest
// first. What the webhook does not take is tried again by the next run; that is no error.
func (w *Watch) Run(ctx context.Context) error {
	if err := w.saveChanges(ctx, w.Now()); err != nil || w.URL == "" {
		return err
	}
	notices, err := w.Ledger.ClaimAlarmChanges(ctx, maxPosts, claimTime)
	if err != nil || len(notices) == 0 {
		return err
	}
	var posted, unposted []string
	for _, n := range notices {
		if len(unposted) == 0 { // later changes do not overtake one that failed
			err := w.Webhook.Post(ctx, w.URL, n.ID, []byte(n.Body), postTimeout)
			if err == nil {
				posted = append(posted, n.ID)
				continue
			}
			w.Log.Error("alarm_webhook_failed", "error_type", contract.KindOf(err), "error", reason(err), "id", n.ID)
		}
		unposted = append(unposted, n.ID)
	}
	return w.Ledger.SettleAlarmChanges(ctx, posted, unposted, w.Now())
}

// saveChanges compares every alarm with its state at the last run, and saves and logs what changed.
func (w *Watch) saveChanges(ctx context.Context, at time.Time) error {
	reading, err := w.Ledger.Alarms(ctx, at, Windows())
	if err != nil {
		return err
	}
	if err := w.readFrontier(ctx, at, &reading); err != nil {
		return err
	}
	var updates []ledger.AlarmUpdate
	var changes []contract.AlarmChange
	for i := range rules {
		s := rules[i].judge(reading)
		saved, ok := reading.Saved(s.Name)
		if ok && saved.State == s.State {
			continue
		}
		u := ledger.AlarmUpdate{Name: s.Name, State: s.State}
		if ok || s.State == contract.AlarmFiring { // that an alarm is well from the start is no news
			c := contract.AlarmChange{
				ID: rand.Text(), Alarm: s.Name, State: s.State, Value: s.Value, Threshold: s.Threshold, Unit: s.Unit,
				Window: s.Window, At: contract.Time{Time: at.UTC()}, Environment: w.Environment, Text: rules[i].sentence(&s, w.Environment),
			}
			body, err := json.Marshal(c)
			if err != nil {
				panic(err) // it is plain data
			}
			u.Notice = &ledger.AlarmNotice{ID: c.ID, Body: string(body), At: at.UnixMilli()}
			changes = append(changes, c)
		}
		updates = append(updates, u)
	}
	if err := w.Ledger.SaveAlarms(ctx, at, updates, w.URL != ""); err != nil {
		return err
	}
	for _, c := range changes {
		w.Log.Warn("alarm_changed", "alarm", c.Alarm, "state", c.State, "value", c.Value, "threshold", c.Threshold, "text", c.Text)
	}
	return nil
}

// readFrontier adds a look at the frontier to a reading whose last one is old.
func (w *Watch) readFrontier(ctx context.Context, at time.Time, reading *ledger.AlarmReading) error {
	if last, ok := reading.NewestFrontier(); ok && at.Sub(last.At) < readingInterval {
		return nil
	}
	fresh, err := w.Frontier(ctx)
	if err != nil {
		w.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error())
		return nil
	}
	fresh.At = at.UTC().Truncate(time.Minute)
	reading.Frontier = append(reading.Frontier, fresh)
	return w.Ledger.SaveFrontierReading(ctx, fresh)
}

// reason is what the log says of a failed post: our own message, never its cause. Messages of the
// platform repeat the URL, and anyone who has that may post.
func reason(err error) string {
	var e *contract.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return "the webhook could not be asked; see that ALERT_WEBHOOK_URL is right"
}
