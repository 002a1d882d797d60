package watch

import (
	"strconv"
	"strings"
	"time"
)

// Interval returns the period of a cron expression with five fields: exact for a number of minutes or hours, else a
// day.
func Interval(cron string) time.Duration {
	f := strings.Fields(cron)
	if len(f) != 5 || f[2] != "*" || f[3] != "*" || f[4] != "*" {
		return 24 * time.Hour
	}
	if n, ok := step(f[0], 59); ok && f[1] == "*" {
		return time.Duration(n) * time.Minute
	}
	if _, err := strconv.Atoi(f[0]); err != nil {
		return 24 * time.Hour
	}
	if n, ok := step(f[1], 23); ok {
		return time.Duration(n) * time.Hour
	}
	return 24 * time.Hour
}

// step parses "*" and "*/n".
func step(field string, most int) (n int, ok bool) {
	if field == "*" {
		return 1, true
	}
	text, ok := strings.CutPrefix(field, "*/")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 1 && n <= most
}
