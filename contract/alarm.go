package contract

import (
	"math"
	"strconv"
)

// States of an alarm.
const (
	AlarmOK     = "ok"
	AlarmFiring = "firing"
)

// MinFinished is the number of files or domains below which the rate or average of an alarm's window is not judged.
// If all that ended failed, the rate is judged however few there are.
const MinFinished = 3

// AlarmState is the current state of an alarm.
type AlarmState struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Value     *float64 `json:"value"`     // null while fewer than MinFinished were finished within the window
	Threshold float64  `json:"threshold"` // it fires above this
	Unit      string   `json:"unit"`      // percent, ms or count
	Window    *int     `json:"window_minutes"`
	Since     *Time    `json:"since"` // when the cron first saw the state; until then, the time of the answer
}

// Units of the value of an alarm.
const (
	Percent      = "percent"
	Milliseconds = "ms"
	Count        = "count"
)

// Number formats a value of the alarm, or its threshold, with its unit.
func (s *AlarmState) Number(v float64) string {
	unit := ""
	switch {
	case s.Unit == Milliseconds && s.Threshold >= 60_000: // long spans in minutes
		v, unit = math.Floor(v/60_000), " minutes"
	case s.Unit == Milliseconds:
		unit = " ms"
	case s.Unit == Percent:
		unit = " %"
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + unit
}

// Alarm is the state of an alarm with a sentence for people.
type Alarm struct {
	AlarmState
	Source string      `json:"source,omitempty"` // if there is an alarm of this name for each source
	Cause  *AlarmCause `json:"-"`
	Text   string      `json:"text"`
}

// Key returns the name under which the alarm's state is saved.
func (a *Alarm) Key() string {
	if a.Source == "" {
		return a.Name
	}
	return a.Name + ":" + a.Source
}

// AlarmChange is the body of a post to ALERT_WEBHOOK_URL when an alarm begins or ends. Its JSON Schema is
// schemas/alarm_change.schema.json. Slack and similar services show Text.
type AlarmChange struct {
	ID          string   `json:"id"` // the same when an unconfirmed change is posted again
	Alarm       string   `json:"alarm"`
	Source      string   `json:"source,omitempty"` // set by the Info service, which has alarms per source
	State       string   `json:"state"`
	Value       *float64 `json:"value"` // null if the alarm ended because too few were finished
	Threshold   float64  `json:"threshold"`
	Unit        string   `json:"unit"`
	Window      *int     `json:"window_minutes"`
	At          Time     `json:"at"`
	Since       *Time    `json:"since,omitempty"` // when the alarm began
	Environment string   `json:"environment"`
	Text        string   `json:"text"`
	// Cause is the most frequent error when the alarm begins; nil for alarms of other things than failures.
	Cause *AlarmCause `json:"cause,omitempty"`
	URL   string      `json:"url,omitempty"` // of the page of alarms, if PUBLIC_URL is set
}

// AlarmCause is the most frequent error of what an alarm counts.
type AlarmCause struct {
	ErrorType string `json:"error_type"`
	Count     int64  `json:"count"`
	Of        int64  `json:"of"` // failures in all
}

// TrialAlarm is the name of the alarm of a trial.
const TrialAlarm = "trial"

// AlarmWebhook describes the receiver of changes of alarms.
type AlarmWebhook struct {
	Enabled bool `json:"enabled"` // ALERT_WEBHOOK_URL is set
	Signed  bool `json:"signed"`  // ALERT_WEBHOOK_SECRET is set
	// Refused is null while the receiver takes what is posted.
	Refused *AlarmsRefused `json:"refused"`
}

// AlarmsRefused describes posts to the webhook of alarms that fail. Each run of the cron posts again.
type AlarmsRefused struct {
	Since    Time   `json:"since"`    // when the first post failed
	Attempts int64  `json:"attempts"` // since then
	Waiting  int64  `json:"waiting"`  // changes of alarms to be posted
	Error    string `json:"error"`    // of the last post, "the webhook answered 500"
}

// AlarmTrial answers POST /api/v1/alarms/test.
type AlarmTrial struct {
	ID     string `json:"id"` // of the post
	Signed bool   `json:"signed"`
}
