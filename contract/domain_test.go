package contract_test

import (
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

func TestWithinDomain(t *testing.T) {
	for _, c := range []struct {
		host, domain string
		want         bool
	}{
		{"mom.gov.sg", "mom.gov.sg", true}, {"www.mom.gov.sg", "mom.gov.sg", true},
		{"notmom.gov.sg", "mom.gov.sg", false},
		{"gov.sg", "mom.gov.sg", false}, {"", "a.sg", false}, {".a.sg", "a.sg", true}, {"a.sg", "", false},
	} {
		if got := contract.WithinDomain(c.host, c.domain); got != c.want {
			t.Errorf("%q within %q: %v", c.host, c.domain, got)
		}
		if got := contract.WithinDomain([]byte(c.host), c.domain); got != c.want {
			t.Errorf("bytes: %q within %q: %v", c.host, c.domain, got)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.8.0.1": true, "::1": true,
		"": false, "localhost.example": false, "10.0.0.1": false, "0.0.0.0": false, "[::1]": false} {
		if got := contract.IsLoopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestTimeliness(t *testing.T) {
	const day = 24 * time.Hour
	for age, want := range map[time.Duration]float64{-day: 1, 0: 1, day - 1: 1, day: 0.8, 7 * day: 0.6, 30 * day: 0.4,
		90 * day: 0.2, 900 * day: 0.2} {
		if got := contract.Timeliness(age); got != want {
			t.Errorf("%v: %g, want %g", age, got, want)
		}
	}
}
