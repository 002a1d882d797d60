package contract

import "encoding/json"

// Status answers GET /api/v1/seeds/status: the progress of the pipeline in the partitions that the filter
// selects.
type Status struct {
	Stats
	DeadLetters DeadLetterCounts `json:"dead_letters"` // of the whole engine, regardless of the filter
	Alarms      []AlarmState     `json:"alarms"`       // every alarm, firing or not, in a fixed order
	Webhook     AlarmWebhook     `json:"alarm_webhook"`
	// Queues is by role: seed, domain, dlq; null if the platform does not report it.
	Queues    map[string]*Backlog `json:"queues"`
	Paused    bool                `json:"paused"`
	UpdatedAt Time                `json:"updated_at"` // when the numbers were read
	// Partitions is set with by=partition: newest date first, at most MaxPartitions.
	Partitions []PartitionStats `json:"partitions,omitempty"`
	Errors     []ErrorCount     `json:"errors,omitempty"` // with by=error_type: most frequent first
	// Rejections are examples of rejected records in the newest partitions, at most MaxRejections.
	Rejections []FileRejection `json:"rejections"`
	Trend      []TrendHour     `json:"trend,omitempty"` // with trend=N: N hours up to now, oldest first
}

// MaxPartitions caps the partitions that a Status lists.
const MaxPartitions = 500

// Stats counts files and domains as the workflow document shows them.
type Stats struct {
	Processing ProcessingStats `json:"processing_stats"`
	Collection CollectionStats `json:"collection_stats"`
	Excluded   int64           `json:"domains_excluded"` // excluded by operators; not counted elsewhere
	Barred     BarrierCounts   `json:"domains_barred"`
	Discarded  int64           `json:"files_discarded"` // by operators, as broken for good; not counted elsewhere
	// Records are those of the processed files.
	Records         int64 `json:"records_total"`
	RecordsRejected int64 `json:"records_rejected"` // of these; not collected
	// AvgFileMS is per processed file whose duration was measured; 0 without one.
	AvgFileMS int64 `json:"avg_file_time_ms"`
}

// BarrierCounts counts domains, in any state, whose last collection found nothing that may be fetched, by its Barrier.
type BarrierCounts struct {
	Forbidden int64 `json:"forbidden"`
	Refuses   int64 `json:"refuses"`
	Empty     int64 `json:"nothing"`
}

// ProcessingStats counts by state: total is the sum of processed, failed and pending.
type ProcessingStats struct {
	FilesTotal       int64 `json:"files_total"`
	FilesProcessed   int64 `json:"files_processed"`
	FilesFailed      int64 `json:"files_failed"`  // given up
	FilesPending     int64 `json:"files_pending"` // uploaded or queued, and not finished
	DomainsTotal     int64 `json:"domains_total"`
	DomainsProcessed int64 `json:"domains_processed"`
	DomainsFailed    int64 `json:"domains_failed"` // nothing of the domain answered, or given up
	DomainsPending   int64 `json:"domains_pending"`
}

// CollectionStats describes the processed domains. Rates divide by domains_total, have two decimals, and are 0
// without domains.
type CollectionStats struct {
	RobotsFound  int64   `json:"robots_txt_found"`
	RobotsRate   float64 `json:"robots_txt_rate"`
	SitemapFound int64   `json:"sitemap_xml_found"`
	SitemapRate  float64 `json:"sitemap_xml_rate"`
	// AvgProcessingMS is per domain, without politeness waits; 0 if none is processed.
	AvgProcessingMS int64 `json:"avg_processing_time_ms"`
}

// PartitionStats is the Stats of one partition.
type PartitionStats struct {
	Partition Partition `json:"partition_info"`
	Stats
	UpdatedAt Time `json:"updated_at"` // of the last change
}

// ErrorCount counts the files and domains that failed with an error type.
type ErrorCount struct {
	ErrorType string `json:"error_type"`
	Files     int64  `json:"files"`
	Domains   int64  `json:"domains"`
}

// TrendHour counts what was finished in one hour.
type TrendHour struct {
	Hour             Time  `json:"hour"` // its beginning
	FilesProcessed   int64 `json:"files_processed"`
	FilesFailed      int64 `json:"files_failed"`
	DomainsProcessed int64 `json:"domains_processed"`
	DomainsFailed    int64 `json:"domains_failed"`
	AvgProcessingMS  int64 `json:"avg_processing_time_ms"` // of the domains processed in it
}

// Backlog counts the messages waiting in a queue, as last reported by the platform.
type Backlog struct {
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
	// Oldest is the time at which the oldest message was sent; nil if unknown or without messages.
	Oldest *Time `json:"oldest"`
}

// DomainState is the progress of a domain in a partition.
type DomainState string

// The states of a domain.
const (
	Pending   DomainState = "pending"
	Processed DomainState = "processed"
	Failed    DomainState = "failed"
	Excluded  DomainState = "excluded"
)

// DiscardedFile is the state of a raw file that an operator discarded as broken for good. The other states of files
// are the first three of a domain.
const DiscardedFile = "discarded"

// DomainRecord is the ledger's record of one domain in one partition.
type DomainRecord struct {
	Domain      string      `json:"domain"`
	Partition   Partition   `json:"partition_info"`
	State       DomainState `json:"state"`
	Robots      *bool       `json:"robots_exists"` // these three are null before the first collection
	Sitemap     *bool       `json:"sitemap_exists"`
	DurationMS  *int64      `json:"processing_duration_ms"` // without politeness waits
	CollectedAt *Time       `json:"collected_at"`
	QueuedAt    *Time       `json:"queued_at"` // when it was last queued
	// Revision is the document's; null before the first, and for records of earlier versions.
	Revision  *int  `json:"revision"`
	ChangedAt *Time `json:"changed_at"` // when the document was written
	// Excluded is true if operators exclude the domain now; null if the exclusions cannot be read.
	Excluded     *bool   `json:"excluded"`
	ErrorType    *string `json:"error_type"`    // of a failed domain
	ErrorMessage *string `json:"error_message"` // of a failed domain
	// CrawlingAllowed is false if robots.txt forbids everything that was found, or cannot be read; null if the last
	// collection was one of an earlier version.
	CrawlingAllowed *bool    `json:"crawling_allowed"`
	Barrier         *Barrier `json:"barrier"` // why nothing may be fetched; null if something may be
	// BarrierReason is what a domain that refuses everything answered, or why its robots.txt could not be read.
	BarrierReason *string      `json:"barrier_reason"`
	Retry         *DomainRetry `json:"retry"` // of a pending domain whose collection failed
}

// DomainRetry is the last failed attempt of a domain that is retried.
type DomainRetry struct {
	Attempt      int    `json:"attempt"` // that failed; 1 is the first
	Of           int    `json:"of"`
	ErrorType    Kind   `json:"error_type"`
	ErrorMessage string `json:"error_message"`
	FailedAt     Time   `json:"failed_at"`
	NextAt       *Time  `json:"next_at"` // about then; null after the last
}

// DomainPage answers GET /api/v1/seeds/domains.
type DomainPage struct {
	Domains []DomainRecord `json:"domains"`
	Cursor  *string        `json:"cursor"` // ?cursor= of the next page
}

// URLsPage answers GET /api/v1/seeds/domains/{domain}/urls.
type URLsPage struct {
	Domain    string    `json:"domain"`
	Partition Partition `json:"partition_info"`
	Revision  int       `json:"revision"` // of the document; URLs of another one can be in another order
	Total     int       `json:"total"`    // URLs on all pages
	// Omitted counts URLs that were found but are on no page, since nothing stored names them; null if unknown.
	Omitted *int        `json:"urls_omitted"`
	URLs    []ListedURL `json:"urls"` // highest score first
	// Unavailable names the shard of the frontier that did not answer, so that URLs that only it has are missing.
	Unavailable []string `json:"unavailable"`
	Cursor      *string  `json:"cursor"` // ?cursor= of the next page
}

// ListedURL is one of a domain's URLs: from its document, or described in the same way.
type ListedURL struct {
	DocumentURL
	Source  string `json:"source"`  // the first that has it of research, discovery, sitemap and frontier
	Lastmod *Time  `json:"lastmod"` // null if unknown
	// ScoreWhy lists the summands of priority_score in words; null if the analysis does not have the URL.
	ScoreWhy *string `json:"score_why"`
	// State in the frontier: waiting, leased, fetched, gone, known, excluded, forbidden or unknown; null if its
	// shard does not answer.
	State *string `json:"state"`
}

// DomainDetail answers GET /api/v1/seeds/domains/{domain}.
type DomainDetail struct {
	Domain    string    `json:"domain"`
	Partition Partition `json:"partition_info"`
	Excluded  bool      `json:"excluded"` // by operators
	// ExcludedBy are the exclusions that rule out the domain as a whole.
	ExcludedBy []Exclusion     `json:"excluded_by"`
	Key        string          `json:"key"`      // of the document
	Document   json.RawMessage `json:"document"` // domain_metadata.json; null before the first collection
	Record     *DomainRecord   `json:"record"`   // null when the ledger has none
	// Partitions are those selected by the query in which the ledger has the domain, newest first, at most 100.
	Partitions []Partition `json:"partitions"`
	// EntryPoints are the domain's entry points in the frontier; null if their shard does not answer.
	EntryPoints []EntryHistory `json:"entry_points"`
}

// EntryHistory is an entry point with its last checks. The method collect stands for the whole domain.
type EntryHistory struct {
	URL         string          `json:"url"`
	Method      string          `json:"method"`
	Interval    int64           `json:"interval_seconds"` // between two checks
	CheckedAt   *Time           `json:"checked_at"`       // the last time
	ChangedAt   *Time           `json:"changed_at"`       // the last time it had something new
	NextCheckAt *Time           `json:"next_check_at"`
	Failures    int             `json:"failures"` // in a row
	Checks      []FrontierCheck `json:"checks"`   // the last ones, oldest first, at most 10
}

// DomainQueued answers POST /api/v1/seeds/domains/{domain}/collect.
type DomainQueued struct {
	Domain      string    `json:"domain"`
	Partition   Partition `json:"partition_info"`
	RequestedAt Time      `json:"requested_at"` // collections before then are repeated
}

// Restored answers POST /api/v1/frontier/restore: the work of one call.
type Restored struct {
	Snapshots []Snapshotted `json:"snapshots"` // begun by this call
	Pages     int64         `json:"pages"`
	Hosts     int64         `json:"hosts"` // to which something was added
	Done      bool          `json:"done"`
	Cursor    *string       `json:"cursor"` // to send with the next call; null when done
}

// SnapshotsOrdered answers POST /api/v1/frontier/snapshot.
type SnapshotsOrdered struct {
	Shards      []string `json:"shards"`      // that store a snapshot within a minute or so
	Unavailable []string `json:"unavailable"` // that did not answer
}

// FrontierImported answers POST /api/v1/frontier/import.
type FrontierImported struct {
	Hosts int64 `json:"hosts"` // to which something was added
}

// Snapshotted names a snapshot of a shard.
type Snapshotted struct {
	Shard string `json:"shard"`
	Date  string `json:"date"`
}

// Reconciled answers POST /api/v1/seeds/reconcile: the work of one call.
type Reconciled struct {
	Partition   Partition `json:"partition_info"`
	Files       int64     `json:"files"`
	Domains     int64     `json:"domains"`
	DeadLetters int64     `json:"dead_letters"`
	Queued      int64     `json:"frontier_added"` // pages and entry points that the frontier lacked
	Done        bool      `json:"done"`
	Cursor      *string   `json:"cursor"` // to send with the next call; null when done
}
