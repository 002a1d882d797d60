package info

import (
	"fmt"
	"time"
)

// Limit is how many calls a provider allows in a window.
type Limit struct {
	Calls  int
	Length time.Duration  // of a window; 0 is a day of Zone
	Zone   *time.Location // in which a day begins; nil is UTC
}

// Window is a period in which calls are counted.
type Window struct {
	Name  string    // the same for all times of the period
	Ends  time.Time // when the next one begins
	Calls int       // allowed
}

// DayWindow begins the names of windows that are a day.
const DayWindow = "day:"

// Window returns the period of the limit that now lies in.
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

// Korea is the zone of Naver's quota day.
var Korea = time.FixedZone("Asia/Seoul", 9*3600)
