package contract

import (
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// SchemaVersion is the version of domain_metadata.json that this program writes.
const SchemaVersion = "1.0"

// Document is domain_metadata.json: what is known about one domain, for the scrapers that fetch it. Its JSON Schema
// is schemas/domain_metadata.schema.json. Absent values are null, never "".
type Document struct {
	SchemaVersion     string  `json:"schema_version"`
	Revision          int     `json:"revision"` // grows by one with every rewrite
	Domain            string  `json:"domain"`
	DomainID          string  `json:"domain_id"`
	RegistrableDomain string  `json:"registrable_domain"`
	Authority         *string `json:"authority"`
	Country           string  `json:"country"` // upper case
	Category          string  `json:"category"`
	CollectedAt       Time    `json:"collected_at"`
	ValidUntil        Time    `json:"valid_until"` // when to expect the next revision
	Reachable         bool    `json:"reachable"`   // false: nothing of the domain answered
	Partial           bool    `json:"partial"`     // true: cut short by a limit or a failure
	// Excluded is true if operators have excluded the domain.
	Excluded bool `json:"excluded"`
	// Blocked is true if the site refused every page, sitemap and feed that was requested.
	Blocked       bool    `json:"blocked"`
	BlockedReason *string `json:"blocked_reason"` // its answer, if blocked
	// MovedTo is the host of another domain to which the home page redirects permanently.
	MovedTo     *string        `json:"moved_to"`
	URLs        []DocumentURL  `json:"urls"`                   // sorted by URL, the first MaxInlineURLs
	URLsFiles   []string       `json:"urls_files"`             // R2 keys of the lists with the others, in order
	URLsOmitted int            `json:"urls_omitted,omitempty"` // URLs in neither
	Robots      RobotsSummary  `json:"robots"`
	Sitemap     SitemapSummary `json:"sitemap"`
	Source      Source         `json:"source"`
	Technical   Technical      `json:"technical_metadata"`
	// Discovery and Contract are written by package discovery: which URLs matter, and how to fetch them.
	Discovery json.RawMessage `json:"intelligent_discovery"`
	Contract  json.RawMessage `json:"fetch_contract"`
	// Usage is absent from documents of earlier versions.
	Usage      *Usage     `json:"usage,omitempty"`
	Processing Processing `json:"processing_metadata"`
	// State is internal: JSON that a merge needs to score again. It is absent if it is stored as an object of its
	// own, and in documents of earlier versions.
	State string `json:"discovery_state,omitempty"`
}

// DocumentURL is one raw URL of the domain.
type DocumentURL struct {
	URL             string   `json:"url"`     // in canonical form (markup.AppendCanonical)
	RawURL          *string  `json:"raw_url"` // as in the raw file; null if that is canonical
	Title           *string  `json:"title"`
	Path            string   `json:"path"`
	DiscoveryMethod *string  `json:"discovery_method"`
	Language        *string  `json:"language"`
	DiscoveredAt    *string  `json:"discovered_at"`         // as in the raw file
	Confidence      *float64 `json:"confidence"`            // Research's, as in the raw file
	SourceFile      string   `json:"source_file,omitempty"` // the raw_NNNN with this description
	// The following are null in the lists of urls_files that earlier versions wrote.
	Type     *string  `json:"type"`               // content type
	Priority *float64 `json:"priority_score"`     // 0 to 1
	Action   *string  `json:"recommended_action"` // what a scraper should do with it
	// Allowed is the verdict of robots.txt; null if the host's was not fetched or takes too long to match; false if
	// operators excluded the URL.
	Allowed *bool `json:"allowed"`
}

// RobotsSummary is the outcome of fetching robots.txt, as the workflow document names it.
type RobotsSummary struct {
	StatusCode    int      `json:"status_code"` // 0 when nothing answered
	ContentLength int64    `json:"content_length"`
	Exists        bool     `json:"exists"`
	FetchedAt     *Time    `json:"fetched_at"`
	SitemapURLs   []string `json:"sitemap_urls"`
	URLsOmitted   int      `json:"sitemap_urls_omitted,omitempty"`
	Failure
}

// SitemapSummary is the outcome of fetching the root sitemap, as the workflow document names it.
type SitemapSummary struct {
	// StatusCode is that of the root sitemap, or of the request that Error describes; 404 with an ErrorType if
	// nothing was requested or nothing answered.
	StatusCode    int     `json:"status_code"`
	ContentLength int64   `json:"content_length"` // bytes, decompressed
	Exists        bool    `json:"exists"`
	FetchedAt     *Time   `json:"fetched_at"`
	URLCount      int     `json:"url_count"` // over all sitemaps read
	URL           *string `json:"url"`
	Failure
}

// Failure is the reason why something is missing. Both fields are null if nothing failed.
type Failure struct {
	Error     *string `json:"error"`
	ErrorType *string `json:"error_type"` // a Kind, robots_disallowed, robots_unknown or excluded
}

// Source names the raw files that the URLs came from.
type Source struct {
	RawFilePath  string   `json:"raw_file_path"` // the first of RawFilePaths
	RawFilePaths []string `json:"raw_file_paths"`
	// Omitted counts messages with new content from raw files that are not in RawFilePaths.
	Omitted int `json:"raw_file_paths_omitted,omitempty"`
}

// Technical describes the site.
type Technical struct {
	RobotsTxt  RobotsTxt  `json:"robots_txt"`
	SitemapXML SitemapXML `json:"sitemap_xml"`
	Feeds      []Feed     `json:"feeds"`
	// FeedsOmitted counts feeds that the site declares or submits and that are not in Feeds.
	FeedsOmitted int        `json:"feeds_omitted,omitempty"`
	ServerInfo   ServerInfo `json:"server_info"`
	ReusedFrom   *string    `json:"reused_from"` // key of the document whose evidence was reused
	// MirrorOf is a domain that was seen before with the same home page and sitemap. Documents of earlier versions
	// lack it.
	MirrorOf *string `json:"mirror_of"`
}

// RobotsTxt describes robots.txt and its verdict on this crawler.
type RobotsTxt struct {
	Exists            bool              `json:"exists"`
	Size              int64             `json:"size"` // bytes received, up to the limit
	LastModified      *Time             `json:"last_modified"`
	ETag              *string           `json:"etag"` // as sent, with its quotes
	SHA256            *string           `json:"sha256"`
	AllowsCrawling    bool              `json:"allows_crawling"`     // RFC 9309 verdict for our product token on "/"
	CrawlDelaySeconds *float64          `json:"crawl_delay_seconds"` // as in the file
	ContentSignals    map[string]string `json:"content_signals"`     // {} if there are none
	SignalsOmitted    int               `json:"content_signals_omitted,omitempty"`
	SitemapURLs       []string          `json:"sitemap_urls"` // at most MaxSitemapURLs
	URLsOmitted       int               `json:"sitemap_urls_omitted,omitempty"`
	Failure
}

// SitemapXML describes the root sitemap and, in Documents, every sitemap that was requested.
type SitemapXML struct {
	Exists       bool              `json:"exists"`
	Size         int64             `json:"size"` // bytes, decompressed
	LastModified *Time             `json:"last_modified"`
	ETag         *string           `json:"etag"`
	SHA256       *string           `json:"sha256"` // of the stored, decompressed bytes
	Kind         *string           `json:"kind"`   // urlset, index, text, rss, atom
	URLCount     int               `json:"url_count"`
	LastUpdated  *Time             `json:"last_updated"` // newest lastmod, else Last-Modified
	Truncated    bool              `json:"truncated"`
	Documents    []SitemapDocument `json:"documents"`
	// DocumentsOmitted counts requested sitemaps that are not in Documents. NotRead counts sitemaps that the site
	// names and a limit kept from being requested, up to 65,536.
	DocumentsOmitted int `json:"documents_omitted,omitempty"`
	NotRead          int `json:"sitemaps_not_read,omitempty"`
	Failure
}

// SitemapDocument is one sitemap that was requested.
type SitemapDocument struct {
	URL         string  `json:"url"`
	FoundBy     string  `json:"found_by"` // robots, well_known, index, link
	Kind        *string `json:"kind"`
	StatusCode  int     `json:"status_code"` // 0 when nothing answered
	URLCount    int     `json:"url_count"`
	NewsCount   int     `json:"news_count"` // entries with a news title
	LastUpdated *Time   `json:"last_updated"`
	Error       *string `json:"error"`
}

// Feed is a syndication feed that was read.
type Feed struct {
	URL         string  `json:"url"`
	Kind        string  `json:"kind"` // rss, atom, json
	Title       *string `json:"title"`
	FoundBy     string  `json:"found_by"` // link, well_known; robots or index if submitted as a sitemap
	ItemCount   int     `json:"item_count"`
	LastUpdated *Time   `json:"last_updated"` // newest item
}

// ServerInfo describes the server that answered.
type ServerInfo struct {
	Server            *string `json:"server"`
	ContentEncoding   *string `json:"content_encoding"`
	SupportsHTTPS     bool    `json:"supports_https"`
	ResponseTimeAvgMS *int64  `json:"response_time_avg_ms"` // to the headers, over the answered requests
	EffectiveHost     *string `json:"effective_host"`       // the host that answered
	Requests          int     `json:"requests"`             // sent for this document, redirects and retries counted
}

// Processing describes how the document was made.
type Processing struct {
	ProcessedAt          Time      `json:"processed_at"`
	ProcessingDurationMS int64     `json:"processing_duration_ms"` // without PolitenessWaitMS
	PolitenessWaitMS     int64     `json:"politeness_wait_ms"`
	TotalURLs            int       `json:"total_urls"`
	Partition            Partition `json:"partition_info"`
	Version              string    `json:"version"` // of this program
}

// Time is a moment in a document: RFC 3339 in UTC, to the second.
type Time struct{ time.Time }

// At returns t as a document's Time, or nil for the zero time.
func At(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// AtMillis is At for a stored instant.
func AtMillis(at epoch.Millis) *Time { return At(at.Time()) }

// MarshalJSON writes RFC 3339 UTC without fractions.
func (t Time) MarshalJSON() ([]byte, error) { return t.Append(nil), nil }

// Append appends what MarshalJSON writes.
func (t Time) Append(b []byte) []byte {
	return append(t.UTC().AppendFormat(append(b, '"'), time.RFC3339), '"')
}

// Text returns s for a nullable field: nil if it is empty.
func Text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
