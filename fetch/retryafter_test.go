package fetch

import (
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 28, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		value, date string
		want        time.Duration
		ok          bool
	}{
		{"0", "", 0, true},
		{"120", "", 2 * time.Minute, true},
		{" 7\t", "", 7 * time.Second, true},
		{"0007", "", 7 * time.Second, true},
		{"99999999999", "", contract.MaxObeyed, true},
		{"99999999999999999999999999", "", contract.MaxObeyed, true},
		{"Wed, 28 Jan 2026 15:00:30 GMT", "", 30 * time.Second, true},
		{"Wednesday, 28-Jan-26 15:00:30 GMT", "", 30 * time.Second, true},
		{"Wed Jan 28 15:00:30 2026", "", 30 * time.Second, true},
		{"Wed, 28 Jan 2026 14:00:00 GMT", "", 0, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", "", contract.MaxObeyed, true},
		// the sender's clock is an hour ahead
		{"Wed, 28 Jan 2026 16:00:30 GMT", "Wed, 28 Jan 2026 16:00:00 GMT", 30 * time.Second, true},
		{"Wed, 28 Jan 2026 15:00:30 GMT", "yesterday", 30 * time.Second, true},
		{"", "", 0, false},
		{"-5", "", 0, false},
		{"+5", "", 0, false},
		{"1.5", "", 0, false},
		{"5s", "", 0, false},
		{"soon", "", 0, false},
		{"2026-01-28T15:00:30Z", "", 0, false},
	} {
		if got, ok := RetryAfter(c.value, c.date, now); got != c.want || ok != c.ok {
			t.Errorf("%q at %q: %v, %v; want %v, %v", c.value, c.date, got, ok, c.want, c.ok)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "0", "120", "-1", "99999999999999999999", "Wed, 28 Jan 2026 15:00:30 GMT",
		"Wed Jan 28 15:00:30 2026", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		f.Add(s, "")
		f.Add("Wed, 28 Jan 2026 15:00:30 GMT", s)
	}
	now := time.Date(2026, 1, 28, 15, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, value, date string) {
		d, ok := RetryAfter(value, date, now)
		if d < 0 || d > contract.MaxObeyed || !ok && d != 0 {
			t.Fatalf("%q at %q: %v, %v", value, date, d, ok)
		}
	})
}
