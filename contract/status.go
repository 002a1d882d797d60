package contract

import "encoding/json"

// Status answers GET /api/v1/seeds/status: the progress of the pipeline in the partitions that the filter
// selects.
type Status struct {
	Stats
	DeadLetters DeadLetterCounts `json:"dead_letters"` // of the whole engine, whatever the filter
	Alarms      []AlarmState     `json:"alarms"`       // every alarm, firing or not, in a fixed order
	// by role: seed, domain, dlq; null when the platform does not report it
	Queues    map[string]*Backlog `json:"queues"`
	Paused    bool                `json:"paused"`
	UpdatedAt Time                `json:"updated_at"` // when the numbers were read
	// with by=partition: newest date first, at most MaxPartitions
	Partitions []PartitionStats `json:"partitions,omitempty"`
	Errors     []ErrorCount     `json:"errors,omitempty"` // with by=error_type: most frequent first
	// why records were rejected, examples of the newest partitions, at most MaxRejections
	Rejections []FileRejection `json:"rejections"`
	Trend      []TrendHour     `json:"trend,omitempty"` // with trend=N: N hours up to now, oldest first
}

// MaxPartitions is how many partitions a Status lists.
const MaxPartitions = 500

// Stats counts files and domains as the workflow document shows them.
type Stats struct {
	Processing ProcessingStats `json:"processing_stats"`
	Collection CollectionStats `json:"collection_stats"`
	Excluded   int64           `json:"domains_excluded"` // excluded by operators; in no other number
	Discarded  int64           `json:"files_discarded"`  // by operators, as broken for good; in no other number
	// Records are those of the processed files.
	Records         int64 `json:"records_total"`
	RecordsRejected int64 `json:"records_rejected"` // of these; nothing is collected for them
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

// CollectionStats is about the processed domains. Rates divide by domains_total and have two
// decimals; they are 0 when there are no domains.
type CollectionStats struct {
	RobotsFound  int64   `json:"robots_txt_found"`
	RobotsRate   float64 `json:"robots_txt_rate"`
	SitemapFound int64   `json:"sitemap_xml_found"`
	SitemapRate  float64 `json:"sitemap_xml_rate"`
	// of a domain, politeness waits left out; 0 when none is processed
	AvgProcessingMS int64 `json:"avg_processing_time_ms"`
}

// PartitionStats is the Stats of one partition.
type PartitionStats struct {
	Partition Partition `json:"partition_info"`
	Stats
	UpdatedAt Time `json:"updated_at"` // of the last change
}

// ErrorCount is how many files and domains failed with an error type.
type ErrorCount struct {
	ErrorType string `json:"error_type"`
	Files     int64  `json:"files"`
	Domains   int64  `json:"domains"`
}

// TrendHour counts what was finished within one hour.
type TrendHour struct {
	Hour             Time  `json:"hour"` // its beginning
	FilesProcessed   int64 `json:"files_processed"`
	FilesFailed      int64 `json:"files_failed"`
	DomainsProcessed int64 `json:"domains_processed"`
	DomainsFailed    int64 `json:"domains_failed"`
	AvgProcessingMS  int64 `json:"avg_processing_time_ms"` // of the domains processed in it
}

// Backlog is what is waiting in a queue, as the platform last counted it.
type Backlog struct {
	Messages int64 `json:"messages"`
	Bytes    int64 `json:"bytes"`
	// when the oldest message was sent; nil when there is none or the platform does not say
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

// DiscardedFile is the state of a raw file that is broken for good, as an operator decided. Its other states are the
// first three of a domain.
const DiscardedFile = "discarded"

// DomainRecord is the ledger's record of one domain in one partition.
type DomainRecord struct {
	Domain      string      `json:"domain"`
	Partition   Partition   `json:"partition_info"`
	State       DomainState `json:"state"`
	Robots      *bool       `json:"robots_exists"` // these three are null before the first collection
	Sitemap     *bool       `json:"sitemap_exists"`
	DurationMS  *int64      `json:"processing_duration_ms"` // politeness waits left out
	CollectedAt *Time       `json:"collected_at"`
	QueuedAt    *Time       `json:"queued_at"` // when it was last queued
	// of its document; null before the first, and for what earlier versions recorded
	Revision  *int  `json:"revision"`
	ChangedAt *Time `json:"changed_at"` // when that was written
	// operators rule the domain out now; null where their decisions could not be read
	Excluded     *bool   `json:"excluded"`
	ErrorType    *string `json:"error_type"`    // of a failed domain
	ErrorMessage *string `json:"error_message"` // of a failed domain
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
	Revision  int       `json:"revision"` // of the document; another one may order its URLs differently
	Total     int       `json:"total"`    // URLs on all pages
	// URLs that were found and are on no page, since nothing stored names them; null where nobody can say
	Omitted *int        `json:"urls_omitted"`
	URLs    []ListedURL `json:"urls"` // highest score first
	// Unavailable names the shard of the frontier that did not answer: URLs that only it has are missing. Else it is
	// empty.
	Unavailable []string `json:"unavailable"`
	Cursor      *string  `json:"cursor"` // ?cursor= of the next page
}

// ListedURL is one of all URLs of a domain: one of its document, or described in the same way.
type ListedURL struct {
	DocumentURL
	Source  string `json:"source"`  // research, discovery, sitemap or frontier: the first of these that has it
	Lastmod *Time  `json:"lastmod"` // null when nothing says it
}

// DomainDetail answers GET /api/v1/seeds/domains/{domain}.
type DomainDetail struct {
	Domain    string          `json:"domain"`
	Partition Partition       `json:"partition_info"`
	Excluded  bool            `json:"excluded"` // by operators
	Key       string          `json:"key"`      // of the document
	Document  json.RawMessage `json:"document"` // domain_metadata.json; null before the first collection
	Record    *DomainRecord   `json:"record"`   // null when the ledger has none
	// in which the ledger has the domain, of those that the query selects, newest first, at most 100
	Partitions []Partition `json:"partitions"`
	// EntryPoints are those of the domain as the frontier has them now; null where its shard does not answer.
	EntryPoints []EntryHistory `json:"entry_points"`
}

// EntryHistory is how an entry point was found when it was looked at. The one of method collect stands for the whole
// domain.
type EntryHistory struct {
	URL         string          `json:"url"`
	Method      string          `json:"method"`
	Interval    int64           `json:"interval_seconds"` // between two looks
	CheckedAt   *Time           `json:"checked_at"`       // the last time
	ChangedAt   *Time           `json:"changed_at"`       // when it last had something new
	NextCheckAt *Time           `json:"next_check_at"`
	Failures    int             `json:"failures"` // in a row
	Checks      []FrontierCheck `json:"checks"`   // the last ones, oldest first, at most 10
}

// DomainQueued answers POST /api/v1/seeds/domains/{domain}/collect.
type DomainQueued struct {
	Domain      string    `json:"domain"`
	Partition   Partition `json:"partition_info"`
	RequestedAt Time      `json:"requested_at"` // what was collected before then is collected again
}

// Restored answers POST /api/v1/frontier/restore: what one call took from snapshots.
type Restored struct {
	Snapshots []Snapshotted `json:"snapshots"` // that it began
	Pages     int64         `json:"pages"`
	Hosts     int64         `json:"hosts"` // that their shards did not have
	Done      bool          `json:"done"`
	Cursor    *string       `json:"cursor"` // to send with the next call; null when done
}

// Snapshotted names a snapshot of a shard.
type Snapshotted struct {
	Shard string `json:"shard"`
	Date  string `json:"date"`
}

// Reconciled answers POST /api/v1/seeds/reconcile: what one call read from R2.
type Reconciled struct {
	Partition   Partition `json:"partition_info"`
	Files       int64     `json:"files"`
	Domains     int64     `json:"domains"`
	DeadLetters int64     `json:"dead_letters"`
	Queued      int64     `json:"frontier_added"` // pages and entry points that the frontier did not have
	Done        bool      `json:"done"`
	Cursor      *string   `json:"cursor"` // to send with the next call; null when done
}
