package frontier

import (
	"cmp"

	"github.com/newsfork/seed-engine/contract"
)

// Shard is the frontier of some registrable domains, in a database of its own. Each method is one
// operation: it does everything in one go, waits for nothing, and must be one transaction that the
// caller rolls back when the method returns an error. now is the time in milliseconds since 1970,
// asked once for the operation.
//
// Errors are contract.Errors of kind Validation for what the caller must correct, ErrNewer, or what
// the database gave.
type Shard struct {
	DB     DB
	Number int // its own, from 0; see ShardOf
	Settings

	alarm int64               // ms, by when what its operations queued wants a Tick; 0: nothing does
	hash  func(string) uint64 // for tests of collisions
}

// Settings of a shard. A zero means the default.
type Settings struct {
	Delay          int64 // ms between two requests to a host that asks for nothing else (0)
	HostsPerDomain int   // hosts of one registrable domain that are leased at once (4)
	URLsPerHost    int64 // pages that a host has at most (100,000)
	URLsPerDomain  int64 // pages of a registrable domain, of which the best are kept (500)
	MinRefresh     int64 // bounds of the interval of an entry point in seconds (5,400 and 7,776,000)
	MaxRefresh     int64
	Retention      int64 // ms for which the feed and the changes are kept (14 days)
	PerMinute      int64 // refreshes a minute; 0: entry points are not refreshed
	PerDay         int64 // refreshes a day (UTC); 0: no more than PerMinute allows
	Shards         int   // how many shards there are; 0: this one has all domains
}

func (s Settings) withDefaults() Settings {
	s.HostsPerDomain = cmp.Or(s.HostsPerDomain, 4)
	s.URLsPerHost = cmp.Or(s.URLsPerHost, 100_000)
	s.URLsPerDomain = cmp.Or(s.URLsPerDomain, 500)
	s.MinRefresh = cmp.Or(s.MinRefresh, 5400)
	s.MaxRefresh = max(cmp.Or(s.MaxRefresh, 90*86_400), s.MinRefresh)
	s.Retention = cmp.Or(s.Retention, 14*86_400_000)
	return s
}

// Bounds of one operation.
const (
	MaxPut          = 5000 // pages and entry points of a Put
	MaxLease        = 500  // items of a lease
	MaxPerHost      = 20
	MinLeaseSeconds = 10
	MaxLeaseSeconds = 900
	MaxResults      = 500
	MaxFound        = 5000 // URLs in a report
	MaxURL          = 2083 // bytes, in its canonical form
	maxTitle        = 200
	maxOwner        = 200
	maxAcquire      = 64   // hosts that a collector names
	maxOwnership    = 3600 // seconds for which a collector may have a domain
)

// checkRange reports a number out of its bounds.
func checkRange[T int | int64](field string, v, least, most T) error {
	if v < least || v > most {
		return contract.Invalid(field, "%d is out of range; send %d to %d", v, least, most)
	}
	return nil
}
