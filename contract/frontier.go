package contract

import "encoding/json"

// Answers of the frontier's routes; docs/frontier.md explains them to authors of scrapers. Absent values are null.

// FrontierLease answers POST /api/v1/frontier/lease.
type FrontierLease struct {
	LeaseID    *string                       `json:"lease_id"` // null when there are no items
	ExpiresAt  *Time                         `json:"expires_at"`
	Items      []FrontierItem                `json:"items"` // best first
	Hosts      map[string]FrontierLeasedHost `json:"hosts"`
	RetryAfter *int64                        `json:"retry_after_seconds"` // null when there are items
	StoppedBy  *FrontierStop                 `json:"stopped_by"`          // null unless operators keep all items back
}

// Kinds of FrontierStop.
const (
	StopExclusion = "exclusion"
	StopRobots    = "robots"
	StopBlock     = "block"
	StopPause     = "pause"
)

// FrontierStop is a decision that keeps URLs from being given, and whose it is.
type FrontierStop struct {
	Kind   string  `json:"kind"`
	Rule   *string `json:"rule"`   // the exclusion, or the line of robots.txt, if it is known
	By     *string `json:"by"`     // the name of the operator's token, or the host's robots.txt; null if it is not kept
	Reason *string `json:"reason"` // the operator's
	Since  *Time   `json:"since"`
	Until  *Time   `json:"until"` // null if it does not end by itself
}

// FrontierLeasedHost is a host of which a lease has items.
type FrontierLeasedHost struct {
	Delay  float64        `json:"delay"` // seconds between two requests
	Robots FrontierRobots `json:"robots"`
}

// Whether the engine has the robots.txt of a host.
const (
	RobotsFresh   = "fresh"   // its URL has the rules for the items' user_agent
	RobotsPartial = "partial" // the engine does not have all of its rules
	RobotsUnread  = "unread"  // the engine has not read it, or not within a day, or for another user agent
)

// FrontierRobots describes the engine's copy of a host's robots.txt.
type FrontierRobots struct {
	Status    string  `json:"status"`
	ExpiresAt *Time   `json:"expires_at"` // null unless it is fresh, as is URL
	URL       *string `json:"url"`        // path at the engine
}

// FrontierRenewed answers POST /api/v1/frontier/lease/{lease_id}/renew.
type FrontierRenewed struct {
	ExpiresAt Time `json:"expires_at"`
}

// FrontierReleased answers POST /api/v1/frontier/lease/{lease_id}/release.
type FrontierReleased struct {
	Released int `json:"released"` // items that come back
}

// Errors of scrapers' reports that say more than that there was no answer.
const (
	ReportUnresolved = "unresolved"        // the host's name has no address
	ReportForbidden  = "robots_disallowed" // robots.txt forbids the URL: not fetched
	ReportNoRobots   = "robots_unknown"    // robots.txt cannot be read: not fetched
	ReportNotFetched = "not_fetched"       // no time left: not fetched
)

// Reasons why a host is not given to a visitor.
const (
	VisitBusy       = "busy" // somebody else has its domain, or it is not ready
	VisitExcluded   = "excluded"
	VisitUnresolved = "unresolved" // its name did not resolve
)

// FrontierVisit answers POST /api/v1/frontier/visit.
type FrontierVisit struct {
	Granted    bool    `json:"granted"`
	Reason     *string `json:"reason"` // busy, excluded or unresolved; null if granted
	ExpiresAt  *Time   `json:"expires_at"`
	ReadyAt    *Time   `json:"ready_at"`            // no request before; null for at once
	Delay      float64 `json:"delay_seconds"`       // between two requests to the host
	RetryAfter *int64  `json:"retry_after_seconds"` // null if granted, or if it is not worth a retry
}

// FrontierVisitEnded answers POST /api/v1/frontier/visit/end.
type FrontierVisitEnded struct {
	Ended bool `json:"ended"` // false if the visit was over
}

// FrontierItem is a leased URL.
type FrontierItem struct {
	ID           string    `json:"id"`
	URL          string    `json:"url"`
	Host         string    `json:"host"`
	Domain       string    `json:"domain"` // its registrable domain
	Kind         string    `json:"kind"`   // page or entry
	Method       *string   `json:"method"` // of an entry point: rss, news_sitemap, html …
	Type         string    `json:"type"`   // one of the 23 content types
	Priority     float64   `json:"priority"`
	Title        *string   `json:"title"`
	LastMod      *Time     `json:"lastmod"`
	Reason       *string   `json:"reason"` // of a page: new, lastmod, revisit or requested
	Visit        *int      `json:"visit"`  // of a page: 1 is the first
	Fetched      *Time     `json:"last_fetched_at"`
	ETag         *string   `json:"etag"` // of the last fetch, for If-None-Match
	LastModified *string   `json:"last_modified"`
	CrawlDelay   float64   `json:"crawl_delay_seconds"` // between two requests to the host
	UserAgent    string    `json:"user_agent"`
	Partition    Partition `json:"partition_info"`

	Usage *FrontierUsage `json:"usage"` // what the site says about the use of its content; null if it says nothing
}

// FrontierReported answers POST /api/v1/frontier/report.
type FrontierReported struct {
	Accepted int               `json:"accepted"` // repeated ones included
	Late     int               `json:"late"`     // after the lease, but before anybody else was given the host
	Unknown  int               `json:"unknown"`  // no such item, or others were given it
	Results  []FrontierOutcome `json:"results"`
	Found    FrontierFoundURLs `json:"found"`
	Added    int               `json:"added"`               // found URLs that are new
	Refused  int               `json:"refused,omitempty"`   // found URLs beyond what one report may have
	NotTaken []string          `json:"not_taken,omitempty"` // with 503: ids of results to report again
}

// FrontierOutcome is the outcome of one result: accepted, late or unknown.
type FrontierOutcome struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
}

// FrontierFoundURLs counts the URLs that a report found, by what became of them.
type FrontierFoundURLs struct {
	Added     int `json:"added"`
	Known     int `json:"known"`
	Excluded  int `json:"excluded"`
	Forbidden int `json:"forbidden"` // by robots.txt
	Trap      int `json:"trap"`
	Mirror    int `json:"mirror"`
	Invalid   int `json:"invalid"`
	Over      int `json:"over"` // a limit
}

// FrontierPut answers POST /api/v1/frontier/urls.
type FrontierPut struct {
	Accepted   int           `json:"accepted"`
	Duplicates int           `json:"duplicates"`
	Rejected   []RejectedURL `json:"rejected"`
	NotTaken   []string      `json:"not_taken,omitempty"` // with 503: URLs to put again
}

// RejectedURL is a URL that the frontier refused.
type RejectedURL struct {
	URL    string `json:"url"`
	Reason string `json:"reason"`
}

// FrontierCounts counts the content of a shard, or of all shards.
type FrontierCounts struct {
	Hosts     int64 `json:"hosts"`
	URLs      int64 `json:"urls"`    // pages that wait or are leased
	Entries   int64 `json:"entries"` // entry points
	Due       int64 `json:"due"`     // hosts with something that may be fetched now
	Leased    int64 `json:"leased"`  // pages and entry points
	Done      int64 `json:"done"`    // pages, ever
	Failed    int64 `json:"failed"`  // pages that were given up, ever
	OldestDue *Time `json:"oldest_due"`

	Bytes       int64 `json:"bytes"`       // of the shard's database, which has at most MaxShardBytes
	Quarantined int64 `json:"quarantined"` // damaged rows
	Withheld    int64 `json:"withheld"`    // pages that were not announced since their domain had too many that day

	Scheduled int64 `json:"scheduled"` // pages that are to be fetched again
	Revisited int64 `json:"revisited"` // pages that were given again on schedule, ever
	// the worth from which a page is fetched again; of all shards, the highest
	Threshold float64 `json:"revisit_threshold"`

	AnsweredToday  int64 `json:"answered_today"`  // reported answers of pages and entry points, since 00:00 UTC
	RefreshedToday int64 `json:"refreshed_today"` // looks of the engine at entry points, since 00:00 UTC
}

// MaxShardBytes is the size that the platform allows the database of a shard (10 GB).
const MaxShardBytes = 10_000_000_000

// FrontierStats answers GET /api/v1/frontier/stats.
type FrontierStats struct {
	FrontierCounts
	Found       []FrontierFound   `json:"found"`       // new URLs of the last 24 hours, oldest first, every hour
	Scrapers    []FrontierScraper `json:"scrapers"`    // by name
	Shards      []FrontierShard   `json:"shards"`      // those that answered, including empty ones
	Unavailable []string          `json:"unavailable"` // names of those that did not; they are not counted
}

// FrontierScraper counts what a scraper did since it was seen first, or what all that do not name themselves did.
type FrontierScraper struct {
	Name    string `json:"name"` // "" of those without a name
	First   Time   `json:"first_seen_at"`
	Last    Time   `json:"last_seen_at"` // its last lease with items, or report
	Leased  int64  `json:"leased"`       // items
	Fetched int64  `json:"fetched"`      // items whose server answered, 404 and 429 included
	Failed  int64  `json:"failed"`       // items without an answer, or with 5xx but 503; entry points without success
}

// FrontierFound counts the new URLs of the feed in one hour.
type FrontierFound struct {
	Hour  Time             `json:"hour"` // its beginning
	Count int64            `json:"count"`
	Types map[string]int64 `json:"types"` // by content type, without zeros
}

// FrontierShard is one shard.
type FrontierShard struct {
	Name string `json:"name"`
	FrontierCounts
}

// States of a URL in FrontierURL.
const (
	URLDue       = "due"
	URLWaiting   = "waiting"
	URLLeased    = "leased"
	URLFetched   = "fetched"
	URLGone      = "gone"
	URLKnown     = "known" // but not chosen to be fetched
	URLExcluded  = "excluded"
	URLForbidden = "forbidden" // by robots.txt
	URLUnknown   = "unknown"
)

// FrontierURL answers GET /api/v1/frontier/url.
type FrontierURL struct {
	URL        string        `json:"url"`
	State      string        `json:"state"`
	Why        string        `json:"why"` // in words
	WhyCode    WhyCode       `json:"why_code"`
	StoppedBy  *FrontierStop `json:"stopped_by"`
	DueAt      *Time         `json:"due_at"`
	LeaseUntil *Time         `json:"lease_until"`
	LastStatus *int          `json:"last_status"` // of the last answer, as long as it waits or is on schedule
	// the last failure, if it is the URL's own and kept, or its host rests because of it
	LastFailure *FrontierFailure `json:"last_failure"`
	Checks      []FrontierCheck  `json:"checks"` // of an entry point, oldest first
	Entry       *FrontierEntry   `json:"entry"`  // null for pages

	// Set for a page that waits, is leased, or is on schedule; visits and last_fetched_at as far as they are kept.
	Reason   *string  `json:"reason"` // new, requested, lastmod or revisit
	Attempts int      `json:"attempts"`
	Visits   int      `json:"visits"`
	Fetched  *Time    `json:"last_fetched_at"` // to the hour or better
	Priority *float64 `json:"priority"`
	ScoreWhy *string  `json:"score_why"` // the summands of priority, in words
}

// FrontierCheck is one check of an entry point.
type FrontierCheck struct {
	At      Time `json:"at"`
	Status  *int `json:"status"`  // null when nothing answered
	Changed bool `json:"changed"` // its content differed from before
}

// FrontierEntry describes an entry point.
type FrontierEntry struct {
	Method       string  `json:"method"`
	Interval     int64   `json:"interval_seconds"`
	ETag         *string `json:"etag"`
	LastModified *string `json:"last_modified"`
	ChangedAt    *Time   `json:"changed_at"`
	Failures     int     `json:"failures"` // in a row
}

// FrontierHost is a host as GET /api/v1/frontier/hosts lists it.
type FrontierHost struct {
	Host            string  `json:"host"`
	Domain          string  `json:"domain"`
	URLs            int64   `json:"urls"`    // pages that wait or are leased
	Entries         int     `json:"entries"` // entry points
	Due             int64   `json:"due"`     // pages and entry points that may be fetched once the host is ready
	Done            int64   `json:"done"`
	Failed          int64   `json:"failed"`
	Traps           int64   `json:"traps"`         // URLs that were refused since their shape is a trap's
	Delay           float64 `json:"delay_seconds"` // between two requests
	ReadyAt         *Time   `json:"ready_at"`      // no request before then; null: ready now
	DueAt           *Time   `json:"due_at"`        // when something to fetch is due
	LeasedUntil     *Time   `json:"leased_until"`
	BlockedUntil    *Time   `json:"blocked_until"` // by an operator
	RobotsExpiresAt *Time   `json:"robots_expires_at"`
	UnresolvedUntil *Time   `json:"unresolved_until"` // its name did not resolve
	Excluded        bool    `json:"excluded"`
	Failures        int64   `json:"failures"` // in a row: no answer, or a broken server
	Refusals        int64   `json:"refusals"` // in a row: 401, 403 or 451

	LastFailure *FrontierFailure `json:"last_failure"` // also if it answered since; null if none is known
	ForbidsAll  bool             `json:"forbids_all"`  // its robots.txt allows us nothing
	// RobotsUnreadable: its robots.txt could not be read by those who asked last, so nothing of it is fetched for now.
	RobotsUnreadable bool `json:"robots_unreadable"`
}

// FrontierFailure is a request to a host that failed or was refused.
type FrontierFailure struct {
	At     Time    `json:"at"`
	Status *int    `json:"status"` // null if there was no answer
	Error  *string `json:"error"`  // why there was none, in the words of who asked; null if nobody said
}

// FrontierHostDetail answers GET /api/v1/frontier/hosts/{host}.
type FrontierHostDetail struct {
	FrontierHost
	Patterns []FrontierPattern `json:"patterns"`               // those of which pages were given last, the latest last
	Trap     *string           `json:"trap_example"`           // the last URL that was refused as a trap
	Override *float64          `json:"override_delay_seconds"` // the delay that an operator set; null for none
	Leased   []string          `json:"leased"`                 // URLs
	Revisits FrontierRevisits  `json:"revisits"`
	Of       FrontierDomain    `json:"of_domain"`
}

// FrontierPattern counts the pages of a host whose paths are alike.
type FrontierPattern struct {
	Pattern string `json:"pattern"` // of paths: digits are 0, and * is the last segment
	Refused bool   `json:"refused"` // nearly all are copies: others are refused as a trap, but for one a day
	Observed
}

// Observed counts what became of the pages of a pattern. What is long past counts less: the counts are halved when
// there are many, those of pages at 200 fetched ones or 400 given ones, those of looks at 2,000.
type Observed struct {
	Given   int64 `json:"given"`   // to scrapers, though they were not fetched yet
	Fetched int64 `json:"fetched"` // for the first time
	Gone    int64 `json:"gone"`    // refused, or not there
	Copied  int64 `json:"copied"`  // of the fetched: another page of the host shows the same text
	Closed  int64 `json:"closed"`  // of the fetched, and no copies: a login or a paywall stood before the content
	// of the fetched: the site said when they were published or changed
	Dated        int64  `json:"dated"`
	DelayMinutes *int64 `json:"median_delay_minutes"` // from that date to the fetch; null if none was dated
	// fetches that tell whether a page has changed since the one before
	Looks   int64 `json:"looks"`
	Changes int64 `json:"changes"` // how many of the looks found a change
	// ChangeHours is after how many hours a page changes; null while too few looks found a change.
	ChangeHours *float64 `json:"change_hours"`
}

// FrontierRevisits describes which pages of a host are fetched again.
type FrontierRevisits struct {
	Scheduled      int64   `json:"scheduled"`       // pages that are to be fetched again
	NextAt         *Time   `json:"next_at"`         // when the first of them is due
	LastmodTrusted bool    `json:"lastmod_trusted"` // newer dates bring pages back
	PerDay         int64   `json:"per_day"`         // budget of the host's shard; 0: none is fetched again
	Made           int64   `json:"made"`            // by the shard, ever
	ShardScheduled int64   `json:"shard_scheduled"`
	Threshold      float64 `json:"threshold"` // value of a look from which on the shard takes it
}

// FrontierDomain describes what the frontier has of a host's domain.
type FrontierDomain struct {
	URLs        int64       `json:"urls"`  // pages that wait or are leased
	Limit       int64       `json:"limit"` // of those
	MoreStored  []Partition `json:"more_stored"`
	OwnedUntil  *Time       `json:"owned_until"` // by a collection
	MirrorOf    *string     `json:"mirror_of"`
	CollectedAt *Time       `json:"collected_at"`
}

// FrontierRemoved answers DELETE /api/v1/frontier/urls.
type FrontierRemoved struct {
	Removed  int           `json:"removed"`
	Rejected []RejectedURL `json:"rejected"` // those that were not taken out, and why
	NotTaken []string      `json:"not_taken,omitempty"`
}

// FrontierHostPage answers GET /api/v1/frontier/hosts.
type FrontierHostPage struct {
	Hosts  []FrontierHost `json:"hosts"`
	Cursor *string        `json:"next_cursor"` // ?cursor= of the next page

	Unavailable []string `json:"unavailable"` // names of shards that did not answer, whose hosts are missing
}

// FrontierHostChanged answers POST /api/v1/frontier/hosts/{host}.
type FrontierHostChanged struct {
	Host string `json:"host"`
}

// FrontierExport answers GET /api/v1/frontier/shards/{shard}/export.
type FrontierExport struct {
	Shard    string          `json:"shard"`       // its name
	Snapshot json.RawMessage `json:"snapshot"`    // as the daily snapshots in R2 have it
	Cursor   *string         `json:"next_cursor"` // ?cursor= of the next page
}

// FrontierQuarantine answers GET /api/v1/frontier/shards/{shard}/quarantine.
type FrontierQuarantine struct {
	Shard  string                   `json:"shard"` // its name
	Rows   []FrontierQuarantinedRow `json:"rows"`  // oldest first
	Cursor *string                  `json:"next_cursor"`
}

// FrontierQuarantinedRow is a damaged row of a shard.
type FrontierQuarantinedRow struct {
	ID     int64  `json:"id"`
	At     Time   `json:"at"` // when it was met
	Table  string `json:"table"`
	Key    int64  `json:"key"`
	Name   string `json:"name"` // of its host or domain; "" if it has none
	Reason string `json:"reason"`
	Bytes  int64  `json:"bytes"`
}

// FrontierQuarantineChanged answers the routes that drop and restore a damaged row.
type FrontierQuarantineChanged struct {
	Shard string `json:"shard"`
	ID    int64  `json:"id"`
}
