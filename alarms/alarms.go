// Package alarms judges alarms by what the ledger counts, and posts to a webhook when one begins or ends.
package alarms

import (
	"context"
	"log/slog"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

// Ledger counts what alarms are judged by, and keeps their states.
type Ledger interface {
	Records
	Alarms(ctx context.Context, at time.Time, windows []int) (ledger.AlarmReading, error)
	SaveFrontierReading(ctx context.Context, r ledger.FrontierReading) error
	NoteRefusedAlarm(ctx context.Context, id, cause string, at time.Time) error
	MarkAlarms(ctx context.Context, at time.Time, calm, restless []string) error
	LeadingError(ctx context.Context, of ledger.Failing, since time.Time) (*contract.AlarmCause, error)
}

// readingInterval is the time between two readings of the frontier. Each costs a request per shard and a row of the
// ledger.
const readingInterval = 5 * time.Minute

// Watch runs by cron.
type Watch struct {
	// Frontier reads the shards of the frontier. If it fails, the frontier's alarms keep their state.
	Frontier    func(ctx context.Context) (ledger.FrontierReading, error)
	Ledger      Ledger
	Webhook     Webhook
	URL         string // of the webhook; "": changes are only logged
	Secret      string // signs posts; "": they are not signed
	Page        string // URL of the page of alarms, or ""
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
}

// Run saves the alarms that changed since the last run and posts pending changes, oldest first. The next run
// repeats failed posts.
func (w *Watch) Run(ctx context.Context) error {
	at := w.Now()
	reading, err := w.Ledger.Alarms(ctx, at, Windows())
	if err != nil {
		return err
	}
	if err := w.readFrontier(ctx, at, &reading); err != nil {
		return err
	}
	current := make([]contract.Alarm, len(rules))
	var calm, restless []string
	for i, s := range Judge(reading) {
		current[i] = contract.Alarm{AlarmState: s, Text: rules[i].sentence(&s)}
		saved, _ := reading.Saved(s.Name)
		if s.State == contract.AlarmFiring && saved.State != contract.AlarmFiring {
			current[i].Cause = w.cause(ctx, at, &rules[i])
		}
		if saved.State != contract.AlarmFiring || s.State != contract.AlarmFiring {
			continue
		}
		switch isCalm, wasCalm := calmAt(&s), !saved.CalmSince.IsZero(); {
		case isCalm && !wasCalm:
			calm = append(calm, s.Name)
		case wasCalm && !isCalm:
			restless = append(restless, s.Name)
		}
	}
	if err := w.Ledger.MarkAlarms(ctx, at, calm, restless); err != nil {
		return err
	}
	r := w.reporter()
	r.Refused = w.Ledger.NoteRefusedAlarm // a trial is not noted, and needs no ledger
	return r.Report(ctx, current, reading.Saved)
}

func (w *Watch) reporter() *Reporter {
	return &Reporter{Records: w.Ledger, Webhook: w.Webhook, URL: w.URL, Secret: w.Secret, Page: w.Page,
		Environment: w.Environment, Log: w.Log, Now: w.Now}
}

// Trial posts a trial to the webhook; see Reporter.
func (w *Watch) Trial(ctx context.Context, by string) (contract.AlarmTrial, error) {
	return w.reporter().Trial(ctx, by)
}

// cause returns the most frequent error of what a rule counts, or nil. An alarm is reported without it as well.
func (w *Watch) cause(ctx context.Context, at time.Time, r *rule) *contract.AlarmCause {
	if r.failing == "" {
		return nil
	}
	since := time.Time{}
	if r.window > 0 {
		since = at.Add(-time.Duration(r.window) * time.Minute)
	}
	cause, err := w.Ledger.LeadingError(ctx, r.failing, since)
	if err != nil {
		w.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
		return nil
	}
	return cause
}

// readFrontier adds a new reading of the frontier if the last one is old.
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
