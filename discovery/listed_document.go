package discovery

import (
	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/contract"
)

// Discovery is intelligent_discovery of domain_metadata.json: which URLs of a domain matter. No list
// is nil.
type Discovery struct {
	// the MaxDiscovered that matter most, in an editor's order: see ranked
	URLs            []DiscoveredURL            `json:"discovered_urls"`
	URLsOmitted     int                        `json:"discovered_urls_omitted,omitempty"`
	Patterns        []URLPattern               `json:"url_patterns"` // most useful first
	PatternsOmitted int                        `json:"url_patterns_omitted,omitempty"`
	Categories      map[classify.Type]Category `json:"content_categories"` // types that occur
	Strategy        CrawlStrategy              `json:"crawl_strategy"`
	Stats           Stats                      `json:"discovery_stats"`
	Errors          []Failure                  `json:"errors"` // what kept the discovery from being complete
	ErrorsOmitted   int                        `json:"errors_omitted,omitempty"`
}

// DiscoveredURL is a URL that matters.
type DiscoveredURL struct {
	URL string `json:"url"`
	// as it stands where it was found; null for its canonical form
	RawURL *string `json:"raw_url"`
	// by robots.txt of its host; null where that was not read or takes too long to match
	Allowed *bool `json:"allowed"`
	// in a feed, a news sitemap, a raw record or a link of the home page
	Title          *string                 `json:"title"`
	Language       *string                 `json:"language"`
	Lastmod        *contract.Time          `json:"lastmod"` // as found with it, else the day in the URL
	Classification classify.Classification `json:"classification"`
	NewsValue      NewsValue               `json:"news_value"`
	Method         Method                  `json:"discovery_method"`
	ParentCategory string                  `json:"parent_category"` // the first segment of its path, "root" for none
	// From sitemaps: one of the protocol's words, and a number from 0 to 1 (0.5 where they state none); null when none
	// lists it.
	Changefreq      *string  `json:"changefreq"`
	SitemapPriority *float64 `json:"sitemap_priority"`
	Priority        float64  `json:"priority_score"` // 0 to 1
	Action          Action   `json:"recommended_action"`
}

// URLPattern generalises similar URLs, with placeholders such as {year} and {slug} for segments that differ.
type URLPattern struct {
	Pattern     string        `json:"pattern"`
	ContentType classify.Type `json:"content_type"` // of most of its URLs
	Confidence  float64       `json:"confidence"`
	// URLs that were found, newest names first; none for a pattern that is only expected
	Examples []string `json:"examples"`
	// Observed counts what scrapers saw of its pages; null if they saw none.
	Observed *contract.Observed `json:"observed"`
}

// Category is a summary of the URLs of one type.
type Category struct {
	Count           int      `json:"count"`
	Examples        []string `json:"examples"` // highest priority first
	AveragePriority float64  `json:"avg_priority"`
}

// CrawlStrategy is the recommended extent of a crawl.
type CrawlStrategy struct {
	MaxDepth           int      `json:"max_depth"`
	MaxURLsPerCategory int      `json:"max_urls_per_category"`
	AllowedPatterns    []string `json:"allowed_patterns"`
	RespectRobots      bool     `json:"respect_robots"`
}

// Stats counts URLs. A URL that was found in several places counts once.
type Stats struct {
	Analyzed         int      `json:"total_urls_analyzed"`  // high, medium and low together
	High             int      `json:"high_priority_urls"`   // priority ≥ 0.7
	Medium           int      `json:"medium_priority_urls"` // ≥ 0.4
	Low              int      `json:"low_priority_urls"`
	Excluded         Excluded `json:"excluded_urls"`
	Traps            Traps    `json:"trap_reasons"` // Excluded.Trap by reason
	ProcessingTimeMS int64    `json:"processing_time_ms"`
}

// Excluded counts the URLs that were excluded, by reason.
type Excluded struct {
	Trap     int `json:"trap"`               // would lead a crawler astray
	Asset    int `json:"asset"`              // images, scripts, fonts, audio and video
	Robots   int `json:"robots"`             // forbidden by robots.txt
	Operator int `json:"operator,omitempty"` // excluded by operators of the engine
	External int `json:"external"`           // of another domain, or not http
}

// Traps counts the URLs that would lead a crawler astray, by reason.
type Traps struct {
	TooLong  int `json:"too_long"`         // more than MaxURLLength characters
	TooDeep  int `json:"too_deep"`         // more than MaxSegments segments
	Repeated int `json:"repeated_segment"` // one segment three times
	Session  int `json:"session_id"`
	Calendar int `json:"endless_calendar"`
}

// Failure is an error that the discovery survived.
type Failure struct {
	Type FailureType `json:"type"`
	// a contract.Kind, or robots_unknown; absent in documents of version 1.0.0
	ErrorType  string `json:"error_type,omitempty"`
	URL        string `json:"url"`
	Message    string `json:"message"`
	RetryCount int    `json:"retry_count"` // number of requests after the first
}

// FailureType is the kind of a Failure.
type FailureType string

// The kinds of failures.
const (
	NetworkFailure        FailureType = "network"
	ParsingFailure        FailureType = "parsing"
	ClassificationFailure FailureType = "classification"
	TimeoutFailure        FailureType = "timeout"
)

// FetchContract is fetch_contract of domain_metadata.json: how to fetch a domain.
type FetchContract struct {
	UserAgent         string            `json:"user_agent"`
	Allowed           bool              `json:"allowed"` // by robots.txt, for "/"
	CrawlDelaySeconds float64           `json:"crawl_delay_seconds"`
	MaxConcurrency    int               `json:"max_concurrency"`
	RobotsExpiresAt   *contract.Time    `json:"robots_expires_at"`
	ContentSignals    map[string]string `json:"content_signals"`
	EntryPoints       []EntryPoint      `json:"entry_points"` // best first
	EntriesOmitted    int               `json:"entry_points_omitted,omitempty"`
}

// EntryPoint is a document where new URLs of a domain appear.
type EntryPoint struct {
	Method          EntryMethod    `json:"method"`
	URL             string         `json:"url"`          // in canonical form
	RawURL          *string        `json:"raw_url"`      // as the site writes it; null for its canonical form
	Allowed         *bool          `json:"allowed"`      // by robots.txt of its host; null where that was not read
	ContentType     *classify.Type `json:"content_type"` // of most of what it lists; null when that is mixed
	IntervalMinutes int            `json:"interval_minutes"`
	Confidence      float64        `json:"confidence"`
	EntryAnswer
	EntryHistory
}

// EntryAnswer is the answer of an entry point to the collection; all fields are null if it was not fetched.
type EntryAnswer struct {
	ETag         *string        `json:"etag"` // as sent, with its quotes
	LastModified *contract.Time `json:"last_modified"`
	Charset      *string        `json:"charset"` // that the content was found to be in, by its WHATWG name
}

// EntryHistory lists the checks of an entry point. Documents of earlier versions lack it.
type EntryHistory struct {
	CheckedAt   *contract.Time           `json:"checked_at"`    // the last time
	ChangedAt   *contract.Time           `json:"changed_at"`    // when it last had something new; null if it never had
	NextCheckAt *contract.Time           `json:"next_check_at"` // null while nobody refreshes it
	Checks      []contract.FrontierCheck `json:"checks"`        // the last ones, oldest first, at most 10
}

// EntryMethod is the format of an entry point.
type EntryMethod string

// The formats of entry points. JSON Feed (https://www.jsonfeed.org/version/1.1/) is json_feed:
// it is a feed like the others for scores and order, but needs a reader of its own.
const (
	RSSEntry         EntryMethod = "rss"
	AtomEntry        EntryMethod = "atom"
	JSONFeedEntry    EntryMethod = "json_feed"
	NewsSitemapEntry EntryMethod = "news_sitemap"
	SitemapEntry     EntryMethod = "sitemap"
	HTMLEntry        EntryMethod = "html"
)

// Method is the way in which a URL was found.
type Method string

// The ways to find a URL.
const (
	FromFeed        Method = "feed"
	FromNewsSitemap Method = "news_sitemap"
	FromResearch    Method = "research" // a raw URL
	FromSitemap     Method = "sitemap"
	FromLink        Method = "link"      // a link of the home page
	Generated       Method = "generated" // by a pattern
)

// Action is the recommended treatment of a URL.
type Action string

// The actions, most urgent first.
const (
	ImmediateCrawl Action = "immediate_crawl"
	ScheduledCrawl Action = "scheduled_crawl"
	PeriodicCheck  Action = "periodic_check"
	LowPriority    Action = "low_priority"
	Ignore         Action = "ignore"
)

// NewsValue is the worth of a URL to a reader of news. All scores are from 0 to 1.
type NewsValue struct {
	Relevance     float64   `json:"news_relevance"`
	Timeliness    float64   `json:"timeliness"`
	Authority     float64   `json:"authority"`
	Accessibility float64   `json:"accessibility"`
	Frequency     Frequency `json:"update_frequency"`
	Overall       float64   `json:"overall_score"`
}

// Frequency is the rate at which pages of a kind change.
type Frequency string

// The frequencies.
const (
	RealTime  Frequency = "real_time"
	Daily     Frequency = "daily"
	Weekly    Frequency = "weekly"
	Monthly   Frequency = "monthly"
	Quarterly Frequency = "quarterly"
	Yearly    Frequency = "yearly"
	Irregular Frequency = "irregular"
	Static    Frequency = "static"
)
