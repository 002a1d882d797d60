package contract

import (
	"net"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"golang.org/x/net/publicsuffix"
)

// RegistrableDomain returns the registrable domain of a canonical host without a port: its public suffix
// (publicsuffix.org) and one label more. ok is false for single labels and public suffixes.
func RegistrableDomain(host string) (domain string, ok bool) {
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	return domain, err == nil
}

// WithinDomain reports whether a host, without port, is a domain or below it.
func WithinDomain[Host string | []byte](host Host, domain string) bool {
	above := len(host) - len(domain)
	return above >= 0 && string(host[above:]) == domain && (above == 0 || host[above-1] == '.')
}

// MaxObeyed caps the delay that a host may ask for, in robots.txt or with Retry-After: a mistake there does not take
// the host away for good.
const MaxObeyed = epoch.Day

// IsLoopback reports whether a host, without port, is this machine: localhost or a loopback address.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Undated is the timeliness of a page without a plausible date: it does not count as one of the oldest.
const Undated = 0.3

// Timeliness returns the timeliness of a page by the age of its date.
func Timeliness(age time.Duration) float64 {
	const day = epoch.Day
	switch {
	case age < day:
		return 1
	case age < 7*day:
		return 0.8
	case age < 30*day:
		return 0.6
	case age < 90*day:
		return 0.4
	}
	return 0.2
}
