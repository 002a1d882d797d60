package fetch

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// RetryAfter parses a Retry-After field (RFC 9110, 10.2.3) and returns the pause that it requests, from 0 to a day. If
// date, the response's Date field, can be parsed, an HTTP date is compared with that instead of now. ok is false for a
// value that is neither a number of seconds nor an HTTP date.
func RetryAfter(value, date string, now time.Time) (d time.Duration, ok bool) {
	value = strings.TrimSpace(value)
	if digits(value) {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(contract.MaxObeyed/time.Second) {
			return contract.MaxObeyed, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if sent, err := http.ParseTime(strings.TrimSpace(date)); err == nil {
		now = sent
	}
	return min(max(0, at.Sub(now)), contract.MaxObeyed), true
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
