package alarms

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/ledger"
)

// rule is one alarm. It fires when its value is above its threshold, and ends when the value has been below recovery
// of the threshold for calmFor. A value that is not known does not end it: silence is not recovery.
type rule struct {
	name      string
	subject   string // of the sentence that is posted
	threshold float64
	unit      string         // one of contract.Percent, Milliseconds and Count
	window    int            // minutes over which its value is taken; 0 for the current value
	failing   ledger.Failing // whose errors are counted when it begins; "": none
	value     func(counts) *float64
}

const (
	recovery = 0.8
	calmFor  = 10 * time.Minute
)

// minReported is the number of reported URLs and entry points below which their failures are not judged: single
// URLs fail every day.
const minReported = 20

// rules are all alarms, in the order of a status. The first four are those of the workflow document. A new alarm
// also needs its name and explanation in the dashboard's lang files (alarm.NAME and alarm.about.NAME) and a line in
// docs/operations.md; a test compares them.
var rules = []rule{
	{
		name: "file_failures", failing: ledger.FailingFiles,
		subject: "Files that fail", threshold: 5, unit: contract.Percent, window: 60,
		value: func(c counts) *float64 { return finishedShare(c.FilesFailed, c.FilesProcessed) },
	},
	{
		name: "domain_failures", failing: ledger.FailingDomains,
		subject: "Domains that fail", threshold: 10, unit: contract.Percent, window: 60,
		value: func(c counts) *float64 { return finishedShare(c.DomainsFailed, c.DomainsProcessed) },
	},
	{
		name: "slow_domains", subject: "Average processing of a domain", threshold: 5000, unit: contract.Milliseconds,
		window: 60,
		value:  func(c counts) *float64 { return average(c.DurationMS, c.DomainsProcessed) },
	},
	{
		name: "dead_letters", subject: "Dead letters neither replayed nor discarded", threshold: 100,
		unit: contract.Count, failing: ledger.FailingLetters,
		value: func(c counts) *float64 { n := float64(c.DeadLetters.Stored); return &n },
	},
	{
		name: "frontier_behind", subject: "The entry point that is due longest waits", threshold: 3_600_000,
		unit:  contract.Milliseconds,
		value: func(c counts) *float64 { return entryDelay(c.reading) },
	},
	{
		name: "refresh_failures", subject: "Reported URLs and entry points that failed", threshold: 20,
		unit: contract.Percent, window: 60,
		value: func(c counts) *float64 {
			answers, faults := c.reading.FrontierWindow(60)
			return share(float64(faults), float64(answers-faults), minReported)
		},
	},
	{
		name: "refresh_ceiling", subject: "The day's refreshes that are used up", threshold: 80,
		unit: contract.Percent,
		value: func(c counts) *float64 {
			last, _ := c.reading.NewestFrontier()
			v := float64(last.Used) / 10
			return &v
		},
	},
	{
		name: "frontier_damaged", subject: "Damaged rows of the frontier in quarantine", threshold: 0,
		unit:  contract.Count,
		value: ofShards(0, func(last ledger.FrontierReading) float64 { return float64(last.Quarantined) }),
	},
	{
		name: "frontier_full", subject: "Of the 10 GB that the largest shard of the frontier may have", threshold: 70,
		unit: contract.Percent,
		value: ofShards(70, func(last ledger.FrontierReading) float64 {
			return math.Round(float64(last.LargestShard)/contract.MaxShardBytes*1000) / 10
		}),
	},
	{
		name: "feed_webhook", subject: "The webhook of the feed has taken nothing", threshold: 3_600_000,
		unit: contract.Milliseconds,
		value: func(c counts) *float64 {
			v := float64(c.reading.FeedFailing.Milliseconds())
			return &v
		},
	},
}

// counts is the input of a rule's value.
type counts struct {
	ledger.Window // the rule's
	DeadLetters   contract.DeadLetterCounts
	reading       *ledger.AlarmReading
}

// ofShards returns the value of a rule about all shards of the frontier: that of the newest reading. While not all
// of them answer, it is known only if it is above the threshold already.
func ofShards(threshold float64, value func(ledger.FrontierReading) float64) func(counts) *float64 {
	return func(c counts) *float64 {
		last, known := c.reading.NewestFrontier()
		v := value(last)
		if known && !last.Complete && v <= threshold {
			return nil
		}
		return &v
	}
}

// finishedShare is the share of files or domains. If all failed, few are enough.
func finishedShare(failed, processed float64) *float64 {
	if failed > 0 && processed == 0 {
		return share(failed, processed, 1)
	}
	return share(failed, processed, contract.MinFinished)
}

// share returns the percentage that failed, with one decimal, or nil if fewer than least ended.
func share(failed, processed, least float64) *float64 {
	if failed+processed < least {
		return nil
	}
	v := math.Round(failed/(failed+processed)*1000) / 10
	return &v
}

// average returns nil if too few were finished.
func average(sum, n float64) *float64 {
	if n < contract.MinFinished {
		return nil
	}
	v := math.Round(sum / n)
	return &v
}

// entryDelay returns how long the oldest due entry point had waited at the last reading, in milliseconds.
func entryDelay(reading *ledger.AlarmReading) *float64 {
	v := 0.0
	if f, ok := reading.NewestFrontier(); ok && !f.OldestEntry.IsZero() {
		v = max(0, float64(f.At.Sub(f.OldestEntry).Milliseconds()))
	}
	return &v
}

// Windows returns the windows, in minutes, that the ledger must count for Judge.
func Windows() []int {
	var minutes []int
	for _, r := range rules {
		if r.window > 0 && !slices.Contains(minutes, r.window) {
			minutes = append(minutes, r.window)
		}
	}
	return minutes
}

// Judge returns the state of every alarm in a fixed order.
func Judge(reading ledger.AlarmReading) []contract.AlarmState {
	states := make([]contract.AlarmState, len(rules))
	for i, r := range rules {
		states[i] = r.judge(reading)
	}
	return states
}

func (r *rule) judge(reading ledger.AlarmReading) contract.AlarmState {
	s := contract.AlarmState{
		Name: r.name, State: contract.AlarmOK, Threshold: r.threshold, Unit: r.unit,
		Since: contract.At(reading.At), // replaced below if the cron has saved this state
		Value: r.value(counts{reading.Windows[r.window], reading.DeadLetters, &reading}),
	}
	if r.window > 0 {
		s.Window = &r.window
	}
	saved, ok := reading.Saved(r.name)
	switch {
	case s.Value != nil && *s.Value > s.Threshold:
		s.State = contract.AlarmFiring
	case saved.State != contract.AlarmFiring:
	case !calmAt(&s) || saved.CalmSince.IsZero() || reading.At.Sub(saved.CalmSince) < calmFor:
		s.State = contract.AlarmFiring
	}
	if ok && saved.State == s.State {
		s.Since = contract.At(saved.Since)
	}
	return s
}

// calmAt reports whether an alarm's value is low enough for the alarm to end, if it stays there.
func calmAt(s *contract.AlarmState) bool { return s.Value != nil && *s.Value <= recovery*s.Threshold }

// sentence describes the alarm's state for people.
func (r *rule) sentence(s *contract.AlarmState) string {
	value := "too few finished or reported to tell"
	if s.Value != nil {
		value = s.Number(*s.Value)
	}
	over := ""
	if r.window > 0 {
		over = fmt.Sprintf(" over the last %d minutes", r.window)
	}
	return fmt.Sprintf("%s: %s%s; the limit is %s.", r.subject, value, over, s.Number(s.Threshold))
}
