package info

import (
	"fmt"
	"time"
)

// Limit is a provider's limit of calls per window.
type Limit struct {
	Calls  int
	Length time.Duration  // of a window; 0 means a day in Zone
	Zone   *time.Location // of the day; nil means UTC
}

// Window is a period in which calls are counted.
type Window struct {
	Name  string    // the same throughout the period
	Ends  time.Time // when the next window begins
	Calls int       // allowed
}

// DayWindow is the prefix of the names of daily windows.
const DayWindow = "day:"

// Window returns the limit's window at now.
func (l Limit) Window(now time.Time) Window {
	if l.Length > 0 {
		start := now.UTC().Truncate(l.Length)
		return Window{fmt.Sprintf("%ds:%d", int(l.Length.Seconds()), start.Unix()), start.Add(l.Length), l.Calls}
	}
	zone := l.Zone
	if zone == nil {
		zone = time.UTC
	}
	y, m, d := now.In(zone).Date()
	return Window{fmt.Sprintf(DayWindow+"%04d-%02d-%02d", y, m, d), time.Date(y, m, d+1, 0, 0, 0, 0, zone).UTC(),
		l.Calls}
}

// Korea is the time zone of Naver's daily quota.
var Korea = time.FixedZone("Asia/Seoul", 9*3600)
