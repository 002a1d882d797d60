// Package settings reads the variables that an environment of wrangler.jsonc sets. An invalid value is an error
// that names the variable; nothing falls back silently.
package settings

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
)

// Settings is the configuration of one environment; docs/settings.md explains the variables.
type Settings struct {
	Environment          string // development, staging or production
	UserAgent            string
	RequestInterval      time.Duration
	MaxCrawlDelay        time.Duration
	MaxRequestsPerDomain int
	PageProbes           int // pages of a domain that a collection looks at
	RobotsTimeout        time.Duration
	SitemapTimeout       time.Duration
	PageTimeout          time.Duration
	MaxSitemapBytes      int64
	FetchRetries         int
	FetchRetryBase       time.Duration
	RetryDelay           time.Duration // of a queue message's first retry; doubles with each further one
	DomainDeadline       time.Duration // without politeness waits
	ReuseWindow          time.Duration // how long evidence of a domain is reused for its other partitions
	FrontierShards       int
	URLsPerDomain        int // pages that a collection puts into the frontier
	// AnnouncementsPerDomain caps the pages of a domain that the feed announces in a day.
	AnnouncementsPerDomain int
	MaxHostsPerDomain      int           // fetched from concurrently
	Location               string        // where the shards of the frontier are placed
	Freshness              bool          // whether due entry points are checked again
	RefreshesPerMinute     int           // per shard
	RefreshesPerDay        int           // all shards together
	SectionLimit           int           // URLs of a host's section that scrapers find before it is a trap
	RevisitsPerDay         int           // pages that are fetched again, all shards together
	MinRefresh             time.Duration // bounds of the time between two checks of an entry point
	MaxRefresh             time.Duration
	FeedRetention          time.Duration // how long the feed keeps its items
	FeedWebhookURL         string        // "": the feed is not delivered
	FeedWebhookSecret      string        // signs deliveries
	AlertWebhookURL        string
	AlertWebhookSecret     string // signs posts about alarms; "": they are not signed
	// PublicURL is where operators open the engine's dashboard, for links in posts about alarms, or "".
	PublicURL string
	// InfoCollectorURL is the Info service's collector, to which the dashboard links, or "".
	InfoCollectorURL string
	LedgerRetention  time.Duration // how long the ledger keeps finished rows
	LogSample        int           // percent of domains and raw files whose routine lines are logged
	APIToken         string        // "": the API answers only in development
	APITokenPrevious string
	ScraperToken     string // leases, reports and puts URLs of the frontier, and reads
	ReadToken        string
	Signing          Signing
	ScraperUserAgent string // which scrapers are asked to send
	OperatorContact  string // mail address or URL shown on the page about the bot, or ""
}

// Development is the environment in which the API needs no token.
const Development = "development"

// DefaultUserAgent is the User-Agent of requests unless USER_AGENT is set.
const DefaultUserAgent = "NewsforkBot/1.0 (+https://newsfork.com/bot)"

// Secrets are the settings whose values appear in no message, log line or configuration file; they are set with
// `wrangler secret put`. A webhook's URL is a secret because anyone who has it can post.
var Secrets = []string{"ALERT_WEBHOOK_URL", "FEED_WEBHOOK_URL", "FEED_WEBHOOK_SECRET", "ALERT_WEBHOOK_SECRET",
	"API_TOKEN", "API_TOKEN_PREVIOUS", "SCRAPER_TOKEN", "READ_TOKEN", "SIGNING_KEY"}

// minSecret is the minimum length of a signing secret, and of a token outside development, in characters.
const minSecret = 16

// Read reads all settings through get, which returns the value of a variable and whether it is set.
func Read(get func(name string) (string, bool)) (*Settings, error) {
	r := reader{get: get}
	s := &Settings{
		Environment:            r.oneOf("ENVIRONMENT", Development, "staging", "production"),
		UserAgent:              r.text("USER_AGENT", DefaultUserAgent),
		RequestInterval:        r.duration("REQUEST_INTERVAL_MS", 1000, time.Millisecond),
		MaxCrawlDelay:          r.duration("MAX_CRAWL_DELAY_MS", 30000, time.Millisecond),
		MaxRequestsPerDomain:   int(r.number("MAX_REQUESTS_PER_DOMAIN", 20, 1, 1000)),
		PageProbes:             int(r.number("PAGE_PROBES", 3, 0, 1000)),
		RobotsTimeout:          r.timeout("ROBOTS_TIMEOUT_MS", 10000),
		SitemapTimeout:         r.timeout("SITEMAP_TIMEOUT_MS", 15000),
		PageTimeout:            r.timeout("PAGE_TIMEOUT_MS", 5000),
		MaxSitemapBytes:        r.number("MAX_SITEMAP_BYTES", 52428800, 1, 1<<30),
		FetchRetries:           int(r.number("FETCH_RETRIES", 3, 0, 10)),
		FetchRetryBase:         r.duration("FETCH_RETRY_BASE_MS", 1000, time.Millisecond),
		RetryDelay:             r.duration("RETRY_DELAY_SECONDS", 120, time.Second),
		DomainDeadline:         r.timeout("DOMAIN_DEADLINE_MS", 120000),
		ReuseWindow:            r.duration("REUSE_WINDOW_MINUTES", 60, time.Minute),
		FrontierShards:         int(r.number("FRONTIER_SHARDS", 16, 1, 1024)),
		URLsPerDomain:          int(r.number("FRONTIER_URLS_PER_DOMAIN", 500, 1, 5000)),
		AnnouncementsPerDomain: int(r.number("ANNOUNCEMENTS_PER_DOMAIN", 500, 1, 100_000)),
		MaxHostsPerDomain:      int(r.number("MAX_HOSTS_PER_DOMAIN", 4, 1, 1000)),
		Location:               r.oneOf("LOCATION", "apac", "weur", "eeur", "wnam", "enam", "oc"),
		Freshness:              r.oneOf("FRESHNESS", "on", "off") == "on",
		RefreshesPerMinute:     int(r.number("REFRESHES_PER_MINUTE", 60, 1, 1000)),
		RefreshesPerDay:        int(r.number("REFRESHES_PER_DAY", 500_000, 1, 1_000_000_000)),
		SectionLimit:           int(r.number("SECTION_LIMIT", 5000, 1, 1_000_000)),
		RevisitsPerDay:         int(r.number("REVISITS_PER_DAY", 200_000, 0, 1_000_000_000)),
		MinRefresh:             r.interval("MIN_REFRESH_SECONDS", 5400),
		MaxRefresh:             r.interval("MAX_REFRESH_SECONDS", 7776000),
		FeedRetention:          time.Duration(r.number("FEED_RETENTION_DAYS", 14, 1, 365)) * 24 * time.Hour,
		FeedWebhookURL:         r.webURL("FEED_WEBHOOK_URL"),
		FeedWebhookSecret:      r.text("FEED_WEBHOOK_SECRET", ""),
		AlertWebhookURL:        r.webURL("ALERT_WEBHOOK_URL"),
		AlertWebhookSecret:     r.text("ALERT_WEBHOOK_SECRET", ""),
		PublicURL:              strings.TrimRight(r.webURL("PUBLIC_URL"), "/"),
		InfoCollectorURL:       r.webURL("INFO_COLLECTOR_URL"),
		LedgerRetention:        time.Duration(r.number("LEDGER_RETENTION_DAYS", 180, 1, 3650)) * 24 * time.Hour,
		LogSample:              int(r.number("LOG_SAMPLE", 100, 1, 100)),
		APIToken:               r.text("API_TOKEN", ""),
		APITokenPrevious:       r.text("API_TOKEN_PREVIOUS", ""),
		ScraperToken:           r.text("SCRAPER_TOKEN", ""),
		ReadToken:              r.text("READ_TOKEN", ""),
		Signing:                r.signing(),
		OperatorContact:        r.contact("OPERATOR_CONTACT"),
	}
	s.ScraperUserAgent = r.text("SCRAPER_USER_AGENT", s.UserAgent)
	for _, name := range []string{"USER_AGENT", "SCRAPER_USER_AGENT"} {
		if v := r.text(name, s.UserAgent); productToken(v) == "" {
			r.fail(name, v, `a text that begins with a product token of letters, "_" or "-", such as "NewsforkBot/1.0"`)
		}
	}
	if u := s.FeedWebhookURL; s.Environment != Development && u != "" &&
		!strings.HasPrefix(strings.ToLower(u), "https://") {
		r.fail("FEED_WEBHOOK_URL", u, "a URL that begins with https://")
	}
	if n := len(s.FeedWebhookSecret); n < minSecret && (n > 0 || s.FeedWebhookURL != "") {
		r.fail("FEED_WEBHOOK_SECRET", s.FeedWebhookSecret,
			"at least "+strconv.Itoa(minSecret)+" random characters; deliveries are signed with it")
	}
	if n := len(s.AlertWebhookSecret); n > 0 && n < minSecret {
		r.fail("ALERT_WEBHOOK_SECRET", s.AlertWebhookSecret,
			"at least "+strconv.Itoa(minSecret)+" random characters; posts about alarms are signed with it")
	}
	for name, token := range map[string]string{"API_TOKEN": s.APIToken, "API_TOKEN_PREVIOUS": s.APITokenPrevious,
		"SCRAPER_TOKEN": s.ScraperToken, "READ_TOKEN": s.ReadToken} {
		if n := len(token); s.Environment != Development && n > 0 && n < minSecret {
			r.fail(name, token, "at least "+strconv.Itoa(minSecret)+" random characters")
		}
	}
	if s.MaxRefresh < s.MinRefresh {
		r.fail("MAX_REFRESH_SECONDS", r.text("MAX_REFRESH_SECONDS", ""), "at least MIN_REFRESH_SECONDS")
	}
	return s, r.err
}

// SameProduct reports whether scrapers use the name for which the engine reads robots.txt.
func (s *Settings) SameProduct() bool {
	return strings.EqualFold(productToken(s.ScraperUserAgent), productToken(s.UserAgent))
}

// productToken returns the part of a User-Agent that selects the group of robots.txt (RFC 9309, 2.2.1).
func productToken(userAgent string) string {
	return userAgent[:len(userAgent)-len(strings.TrimLeft(userAgent,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"))]
}

// reader keeps the first error, so that Read is a plain table.
type reader struct {
	get func(string) (string, bool)
	err error
}

// fail quotes the value, shortened, unless it is a secret.
func (r *reader) fail(name, v, want string) {
	if r.err != nil {
		return
	}
	if slices.Contains(Secrets, name) || slices.Contains(InfoSecrets, name) {
		r.err = contract.Invalid(name, "has an invalid value; set it to %s", want)
		return
	}
	r.err = contract.Invalid(name, "%q is not valid; set it to %s", shortened(v), want)
}

func shortened(v string) string {
	const max = 40 // characters
	if r := []rune(v); len(r) > max {
		return string(r[:max]) + "…"
	}
	return v
}

func (r *reader) text(name, fallback string) string {
	if v, ok := r.get(name); ok && v != "" {
		return v
	}
	return fallback
}

// oneOf defaults to the first value.
func (r *reader) oneOf(name string, values ...string) string {
	v := r.text(name, values[0])
	for _, w := range values {
		if v == w {
			return v
		}
	}
	r.fail(name, v, strings.Join(values, ", "))
	return v
}

func (r *reader) number(name string, fallback, min, max int64) int64 {
	v := r.text(name, "")
	if v == "" {
		return fallback
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < min || n > max {
		r.fail(name, v, "a whole number from "+strconv.FormatInt(min, 10)+" to "+strconv.FormatInt(max, 10))
	}
	return n
}

// duration accepts 0.
func (r *reader) duration(name string, fallback int64, unit time.Duration) time.Duration {
	return time.Duration(r.number(name, fallback, 0, int64(24*time.Hour/unit))) * unit
}

// timeout accepts a millisecond to ten minutes, the wall time of one collection.
func (r *reader) timeout(name string, fallback int64) time.Duration {
	return time.Duration(r.number(name, fallback, 1, 600_000)) * time.Millisecond
}

// interval accepts a second to a year.
func (r *reader) interval(name string, fallback int64) time.Duration {
	return time.Duration(r.number(name, fallback, 1, 365*int64(epoch.Day/time.Second))) * time.Second
}

func (r *reader) webURL(name string) string {
	v := r.text(name, "")
	if v != "" && !isWebURL(v) {
		r.fail(name, v, "an absolute http or https URL without a user name")
	}
	return v
}

// contact reads a mail address or a web address.
func (r *reader) contact(name string) string {
	v := strings.TrimPrefix(r.text(name, ""), "mailto:")
	if user, host, mail := strings.Cut(v, "@"); v == "" || isWebURL(v) ||
		mail && user != "" && strings.Contains(host, ".") && !strings.ContainsAny(v, " \"<>:/") {
		return v
	}
	r.fail(name, v, "a mail address, or an absolute http or https URL")
	return v
}
