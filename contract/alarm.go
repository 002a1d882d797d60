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

// MinFinished is how many files or domains must have been finished within the window of an alarm: a rate or average
// of fewer means nothing.
const MinFinished = 20

// AlarmState is the current state of an alarm.
type AlarmState struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Value     *float64 `json:"value"`     // null while fewer than MinFinished were finished within the window
	Threshold float64  `json:"threshold"` // it fires above this
	Unit      string   `json:"unit"`      // percent, ms or count
	Window    *int     `json:"window_minutes"`
	Since     *Time    `json:"since"` // when the cron first saw the state; before it did, when the answer was given
}

// Units of the value of an alarm.
const (
	Percent      = "percent"
	Milliseconds = "ms"
	Count        = "count"
)

// Number writes a value of the alarm, or its threshold, with its unit for people.
func (s *AlarmState) Number(v float64) string {
	unit := ""
	switch {
	case s.Unit == Milliseconds && s.Threshold >= 60_000: // nobody counts hours in milliseconds
		v, unit = math.Floor(v/60_000), " minutes"
	case s.Unit == Milliseconds:
		unit = " ms"
	case s.Unit == Percent:
		unit = " %"
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + unit
}

// Alarm is an alarm as it stands, in words too.
type Alarm struct {
	AlarmState
	Source string `json:"source,omitempty"` // what it is about, where there is an alarm of this name for each
	Text   string `json:"text"`
}

// Key names the alarm where its state is saved.
func (a *Alarm) Key() string {
	if a.Source == "" {
		return a.Name
	}
	return a.Name + ":" + a.Source
}

// AlarmChange is what is posted to ALERT_WEBHOOK_URL when an alarm begins or ends. Its JSON Schema is
// schemas/alarm_change.schema.json. Slack and similar services show Text.
type AlarmChange struct {
	ID          string   `json:"id"` // the same when a change is posted again because it was not confirmed
	Alarm       string   `json:"alarm"`
	Source      string   `json:"source,omitempty"` // of the Info service, whose alarms are about one each
	State       string   `json:"state"`
	Value       *float64 `json:"value"` // null when it ended because too few were finished
	Threshold   float64  `json:"threshold"`
	Unit        string   `json:"unit"`
	Window      *int     `json:"window_minutes"`
	At          Time     `json:"at"`
	Environment string   `json:"environment"`
	Text        string   `json:"text"`
}
