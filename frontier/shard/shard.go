package shard

import (
	"cmp"
	"math"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier/link"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/frontier/shard/store"
	"github.com/newsfork/seed-engine/robots"
)

// call is one operation under way.
type call struct {
	tx        Store
	now       epoch.Millis
	number    int // of the shard
	settings  Settings
	thinnings int          // domains that dropped pages, see best.go
	alarm     epoch.Millis // see Shard
	parser    link.Parser
	links     map[string]parsedLink
	domains   map[string]string       // see domainOf
	rules     map[int64]*robots.Group // of hosts, by id
}

// parsedLink is the result of link.Parse.
type parsedLink struct {
	link.URL
	ok bool
}

// link is like link.Parse, but parses each URL once: a put needs it to load the host, to admit the URL and to describe
// it.
func (c *call) link(url string) (link.URL, bool) {
	l, known := c.links[url]
	if !known {
		l.URL, l.ok = parseLink(&c.parser, url)
		if c.links == nil {
			c.links = map[string]parsedLink{}
		}
		c.links[url] = l
	}
	return l.URL, l.ok
}

// registrableDomain is replaced by tests of another list of public suffixes.
var registrableDomain = contract.RegistrableDomain

// parseLink is replaced by a test that counts its calls.
var parseLink = (*link.Parser).Parse

func (c *call) seconds() epoch.Seconds { return c.now.Seconds() }

// hour returns the hour, in hours since 1970.
func (c *call) hour() int64 { return int64(c.seconds() / 3600) }

// today returns the day (UTC), in days since 1970.
func (c *call) today() int64 { return c.seconds().Day() }

// seconds and millis convert the numbers of a request, which may be too large for a time.Duration.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Second))) * time.Second
}

func millis(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// run does one operation between begin and flush.
func (s *Shard) run(now epoch.Millis, operation func(*call) error) error {
	tx, err := store.Begin(s.DB, now, s.hash)
	if err != nil {
		return err
	}
	c := &call{tx: tx, now: max(now, 0), number: s.Number, settings: s.Settings.withDefaults()}
	tx.LeastDelay = c.settings.Delay
	if s.pending > 0 {
		tx.State().LimitPending(s.pending)
	}
	if err := operation(c); err != nil {
		return err
	}
	if err := c.unparkAll(); err != nil {
		return err
	}
	if err := tx.Flush(); err != nil {
		return err
	}
	s.alarm = c.alarm
	return nil
}

// owns reports whether a registrable domain belongs to this shard. When the number of shards changes, some domains
// move to another one. Nothing that is left of them here is leased, or two shards would lease the same host at once.
func (c *call) owns(domain string) bool {
	return c.settings.Shards == 0 || placement.ShardOf(domain, c.settings.Shards) == c.number
}

// checkOwns returns an error for a domain that belongs to another shard. While a deploy changes the number of shards,
// Workers and shards disagree about it for minutes, so the error is one that callers retry.
func (c *call) checkOwns(domain string) error {
	if c.domainOf(domain) != domain {
		return contract.Invalid("domain", "%.80q is not a registrable domain by the current list of public suffixes",
			domain)
	}
	if c.owns(domain) {
		return nil
	}
	return &contract.Error{Kind: contract.Storage, Op: "frontier",
		Message: domain + " belongs to another shard, since their number was changed"}
}

// Shard is the frontier of some registrable domains, in a database of its own. Each method is one operation at the
// instant now. It waits for nothing. The caller runs it in one transaction, and rolls back if it returns an error.
//
// Errors are contract.Errors of kind Validation for what the caller must correct, ErrNewer, or the database's.
type Shard struct {
	DB     store.DB
	Number int // its own, from 0; see placement.ShardOf
	Settings

	alarm epoch.Millis        // by when the last operation needs a Tick; 0: it needs none
	hash  func(string) uint64 // for tests of collisions

	pending int // for tests: see store.State.LimitPending
}

// Settings of a shard. A zero means the default.
type Settings struct {
	Delay          time.Duration // between two requests to a host that asks for nothing else (0)
	HostsPerDomain int           // hosts of one registrable domain that are leased at once (4)
	URLsPerHost    int64         // pages that a host has at most (100,000)
	SectionLimit   int64         // URLs without a date of a host's section that scrapers find (5,000)
	URLsPerDomain  int64         // pages of a registrable domain, of which the best are kept (500)
	Announcements  int64         // pages of a registrable domain that are announced in a day (500)
	MinRefresh     time.Duration // bounds of the interval of an entry point (90 minutes and 90 days)
	MaxRefresh     time.Duration
	Retention      time.Duration // for which the feed and the changes are kept (14 days)
	PerMinute      int64         // refreshes a minute; 0: entry points are not refreshed
	PerDay         int64         // refreshes a day (UTC); 0: no more than PerMinute allows
	VisitsPerDay   int64         // pages that are fetched again a day; 0: none
	Shards         int           // number of shards; 0: this one has all domains
}

func (s Settings) withDefaults() Settings {
	s.HostsPerDomain = cmp.Or(s.HostsPerDomain, 4)
	s.URLsPerHost = cmp.Or(s.URLsPerHost, 100_000)
	s.SectionLimit = cmp.Or(s.SectionLimit, 5000)
	s.URLsPerDomain = cmp.Or(s.URLsPerDomain, 500)
	s.Announcements = cmp.Or(s.Announcements, 500)
	s.MinRefresh = cmp.Or(s.MinRefresh, 90*time.Minute)
	s.MaxRefresh = max(cmp.Or(s.MaxRefresh, 90*day), s.MinRefresh)
	s.Retention = cmp.Or(s.Retention, 14*day)
	return s
}
