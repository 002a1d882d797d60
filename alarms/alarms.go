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
	MarkAlarms(ctx context.Context, at time.Time, calm, restless []string) error
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
	r := Reporter{Records: w.Ledger, Webhook: w.Webhook, URL: w.URL, Environment: w.Environment, Log: w.Log,
		Now: w.Now}
	return r.Report(ctx, current, reading.Saved)
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
