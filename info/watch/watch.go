// Package watch has the alarms of the Info service: the database is nearly full; and three per source: it fails, it has
// been silent for too long, its daily calls are nearly used up.
package watch

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/info"
	"github.com/newsfork/seed-engine/info/store"
	"github.com/newsfork/seed-engine/ledger"
)

// Thresholds from which alarms fire.
const (
	failingAfter = 3  // collections in a row
	quotaPercent = 80 // of the calls of a day
	fullPercent  = 70 // of what the database can hold
)

// Sources maps each source that is on to its collection interval.
type Sources map[string]time.Duration

// rule is one alarm.
type rule struct {
	name, unit string
	threshold  func(interval time.Duration) float64
	value      func(s *store.Source, now time.Time) *float64 // nil if unknown
	text       func(s *store.Source, value float64) string
}

var rules = []rule{
	{
		name: "source_failing", unit: "count",
		threshold: func(time.Duration) float64 { return failingAfter },
		value:     func(s *store.Source, _ time.Time) *float64 { v := float64(s.Failures); return &v },
		text: func(s *store.Source, v float64) string {
			if v == 0 {
				return "no failed collection since the last that succeeded"
			}
			return fmt.Sprintf("%.0f failed collections in a row, the last: %s", v, excerpt(s.Error))
		},
	},
	{
		name: "source_stale", unit: "ms",
		threshold: func(interval time.Duration) float64 { return float64(info.Patience(interval).Milliseconds()) },
		value: func(s *store.Source, now time.Time) *float64 {
			since := s.SucceededAt
			if since.IsZero() {
				since = s.ExpectedAt
			}
			if since.IsZero() {
				return nil
			}
			v := float64(max(0, now.Sub(since).Milliseconds()))
			return &v
		},
		text: func(_ *store.Source, v float64) string {
			return fmt.Sprintf("the last collection that succeeded was %.0f minutes ago", math.Floor(v/60_000))
		},
	},
	{
		name: "quota_nearly_spent", unit: "percent",
		threshold: func(time.Duration) float64 { return quotaPercent },
		value: func(s *store.Source, _ time.Time) *float64 {
			q := day(s)
			if q == nil || q.Allowed <= 0 {
				return nil
			}
			v := math.Floor(float64(q.Used)/float64(q.Allowed)*1000) / 10
			return &v
		},
		text: func(s *store.Source, _ float64) string {
			q := day(s)
			return fmt.Sprintf("%d of the day's %d calls are used", q.Used, q.Allowed)
		},
	},
}

// day returns the quota of the provider's day, nil without a quota or without calls today.
func day(s *store.Source) *info.Quota {
	i := slices.IndexFunc(s.Quotas, func(q info.Quota) bool { return strings.HasPrefix(q.Period, info.DayWindow) })
	if i < 0 {
		return nil
	}
	return &s.Quotas[i]
}

// excerpt shortens a message for an alarm.
func excerpt(s string) string {
	const max = 200 // characters
	if r := []rune(s); len(r) > max {
		return string(r[:max]) + "…"
	}
	return s
}

// Database is the size of a database and what it can hold, in bytes; 0 if unknown.
type Database struct{ Bytes, Limit int64 }

// full returns the alarm of a database that is nearly full.
func (d Database) full() contract.Alarm {
	a := contract.Alarm{Text: "Info service: the size of the database is unknown"}
	a.Name, a.Unit, a.Threshold, a.State = "database_full", "percent", fullPercent, contract.AlarmOK
	if d.Bytes > 0 && d.Limit > 0 {
		v := math.Floor(float64(d.Bytes)/float64(d.Limit)*1000) / 10
		a.Value, a.Text = &v, fmt.Sprintf("Info service: the database has %d of %d MB", d.Bytes/1e6, d.Limit/1e6)
		if v >= fullPercent {
			a.State = contract.AlarmFiring
		}
	}
	return a
}

// Judge returns all alarms in a fixed order, those of sources first. Those of sources that are off are ok.
func Judge(on Sources, list []store.Source, d Database, saved []ledger.SavedAlarm, now time.Time) []contract.Alarm {
	before := byName(saved)
	var judged []contract.Alarm
	add := func(a contract.Alarm) {
		if s, ok := before(a.Key()); ok && s.State == a.State {
			a.Since = contract.At(s.Since)
		}
		judged = append(judged, a)
	}
	for _, name := range info.Sources {
		interval, isOn := on[name]
		i := slices.IndexFunc(list, func(s store.Source) bool { return s.Name == name })
		for _, r := range rules {
			a := contract.Alarm{Source: name, Text: "Info service, " + name + ": "}
			a.Name, a.Unit, a.Threshold, a.State = r.name, r.unit, r.threshold(interval), contract.AlarmOK
			if isOn && i >= 0 {
				a.Value = r.value(&list[i], now)
			}
			switch {
			case !isOn:
				a.Text += "it is off"
			case a.Value == nil:
				a.Text += "there is nothing to judge it by"
			default:
				a.Text += r.text(&list[i], *a.Value)
				if *a.Value >= a.Threshold {
					a.State = contract.AlarmFiring
				}
			}
			add(a)
		}
	}
	add(d.full())
	return judged
}

func byName(saved []ledger.SavedAlarm) func(name string) (ledger.SavedAlarm, bool) {
	return (&ledger.AlarmReading{SavedAlarms: saved}).Saved
}

// Store reads what alarms are judged by, and keeps their states.
type Store interface {
	alarms.Records
	Expect(ctx context.Context, sources []string, now time.Time) error
	Sources(ctx context.Context) ([]store.Source, error)
	Alarms(ctx context.Context) ([]ledger.SavedAlarm, error)
	Size(ctx context.Context) (int64, error)
	Acquire(ctx context.Context, name, owner string, ttl time.Duration) (bool, error)
	Release(ctx context.Context, name, owner string) error
}

// Watch runs after each cron.
type Watch struct {
	Sources     Sources
	Store       Store
	Limit       int64 // what the database can hold, in bytes
	Webhook     alarms.Webhook
	URL         string // of the webhook; "": changes are only logged
	Environment string
	Owner       string // names this run in leases
	Log         *slog.Logger
	Now         func() time.Time
}

// lease keeps two crons of one minute from judging at the same time.
const lease = "watch"

// Run judges the alarms, and logs and posts those that changed. If another run is active, it does nothing.
func (w *Watch) Run(ctx context.Context) error {
	ok, err := w.Store.Acquire(ctx, lease, w.Owner, alarms.MaxPosting)
	if err != nil || !ok {
		return err
	}
	defer func() {
		// If this fails the lease expires.
		if err := w.Store.Release(context.WithoutCancel(ctx), lease, w.Owner); err != nil {
			w.Log.Warn("info_store_failed", "error_type", contract.KindOf(err), "error", err.Error())
		}
	}()
	now := w.Now()
	var names []string
	for _, name := range info.Sources {
		if _, on := w.Sources[name]; on {
			names = append(names, name)
		}
	}
	list, err := w.Store.Sources(ctx)
	if err != nil {
		return err
	}
	if unexpected(list, names) {
		if err := w.Store.Expect(ctx, names, now); err != nil {
			return err
		}
	}
	saved, err := w.Store.Alarms(ctx)
	if err != nil {
		return err
	}
	size, err := w.Store.Size(ctx)
	if err != nil {
		return err
	}
	r := alarms.Reporter{Records: w.Store, Webhook: w.Webhook, URL: w.URL, Environment: w.Environment, Log: w.Log,
		Now: w.Now}
	return r.Report(ctx, Judge(w.Sources, list, Database{size, w.Limit}, saved, now), byName(saved))
}

// unexpected reports whether one of the names has no recorded expectation.
func unexpected(list []store.Source, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		i := slices.IndexFunc(list, func(s store.Source) bool { return s.Name == name })
		return i < 0 || list[i].ExpectedAt.IsZero()
	})
}
