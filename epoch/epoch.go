// Package epoch has the two integer forms in which instants are stored and sent: milliseconds and seconds since 1970.
// Spans of time are time.Durations everywhere.
package epoch

import "time"

// Day is a day of UTC, which has no leap seconds here.
const Day = 24 * time.Hour

// Millis is an instant in milliseconds since 1970. The zero value means "not set".
type Millis int64

// Seconds is an instant in seconds since 1970. The zero value means "not set".
type Seconds int64

// Now returns the current instant.
func Now() Millis { return MillisOf(time.Now()) }

// MillisOf returns t in milliseconds, rounded down; the zero time is 0.
func MillisOf(t time.Time) Millis {
	if t.IsZero() {
		return 0
	}
	return Millis(t.UnixMilli())
}

// SecondsOf returns t in seconds, rounded down; the zero time is 0.
func SecondsOf(t time.Time) Seconds {
	if t.IsZero() {
		return 0
	}
	return Seconds(t.Unix())
}

// Time returns m in UTC; 0 is the zero time.
func (m Millis) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// Seconds returns m in seconds, rounded down.
func (m Millis) Seconds() Seconds {
	s := m / 1000
	if m%1000 < 0 {
		s--
	}
	return Seconds(s)
}

// Add returns the instant d after m.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// Sub returns how long m is after earlier.
func (m Millis) Sub(earlier Millis) time.Duration {
	return time.Duration(m-earlier) * time.Millisecond
}

// Time returns s in UTC; 0 is the zero time.
func (s Seconds) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0).UTC()
}

// Millis returns s in milliseconds.
func (s Seconds) Millis() Millis { return Millis(s) * 1000 }

// Add returns the instant d after s; fractions of a second are dropped.
func (s Seconds) Add(d time.Duration) Seconds { return s + Seconds(d/time.Second) }

// Sub returns how long s is after earlier.
func (s Seconds) Sub(earlier Seconds) time.Duration { return time.Duration(s-earlier) * time.Second }

// Day returns the number of whole days (UTC) from 1970 to s.
func (s Seconds) Day() int64 { return int64(s / secondsOfDay) }

// StartOf returns the first second of a day, which is counted in whole days (UTC) from 1970.
func StartOf(day int64) Seconds { return Seconds(day) * secondsOfDay }

const secondsOfDay = Seconds(Day / time.Second)
