package contract

// FeedPage answers GET /api/v1/feed.
type FeedPage struct {
	Items      []FeedItem `json:"items"`
	NextCursor string     `json:"next_cursor"` // also set on the last page, to continue later
	HasMore    bool       `json:"has_more"`
	Followed
}

// Followed describes what a page lacks.
type Followed struct {
	Unavailable []string `json:"unavailable"` // shards that did not answer: their items come later
	// items after the cursor are gone: it is older than the retention, or than a rebuilt shard
	Expired bool `json:"expired"`
}

// Sources of the date of a feed item.
const (
	DateFromListing = "listing" // a feed, a sitemap, a URL, or whoever put the page
	DateFromPage    = "page"    // the page itself, as a scraper reported
)

// FeedItem is a URL that is new.
type FeedItem struct {
	URL      string  `json:"url"`
	Domain   string  `json:"domain"` // its registrable domain
	Host     string  `json:"host"`
	Title    *string `json:"title"`
	Type     string  `json:"type"`           // one of the 23 content types
	Priority float64 `json:"priority_score"` // when it was found
	LastMod  *Time   `json:"lastmod"`
	// DateSource is the source of LastMod: listing or page; null without a date.
	DateSource *string `json:"date_source"`
	FoundAt    Time    `json:"found_at"`
	// FoundBy is feed, news_sitemap, sitemap, link, research or scraper; null for a URL that was put.
	FoundBy   *string   `json:"found_by"`
	Snippet   *string   `json:"snippet"` // if the source has one
	Image     *string   `json:"image"`   // URL, if the source has one
	Partition Partition `json:"partition_info"`
	Event     string    `json:"event"` // new, updated or removed
}

// FeedDelivery is the body of a post to FEED_WEBHOOK_URL.
type FeedDelivery struct {
	ID      string     `json:"id"` // the same when it is posted again
	Items   []FeedItem `json:"items"`
	Cursor  string     `json:"cursor"`   // next_cursor of the feed after these items
	HasMore bool       `json:"has_more"` // another delivery follows at once
	// Expired is true if items before these exceeded the retention and were never delivered.
	Expired     bool   `json:"expired"`
	Environment string `json:"environment"`
}

// FeedWebhook answers GET /api/v1/feed/webhook.
type FeedWebhook struct {
	Enabled   bool          `json:"enabled"`    // FEED_WEBHOOK_URL is set
	Cursor    *string       `json:"cursor"`     // end of the last confirmed delivery; null before the first
	BatchSize int           `json:"batch_size"` // most items in the next delivery
	Held      *HeldDelivery `json:"held"`       // null unless the last attempt failed
}

// HeldDelivery is a delivery that the receiver has not accepted. No other is posted before it.
type HeldDelivery struct {
	ID           string   `json:"id"`
	Attempts     int      `json:"attempts"`
	FailingSince *Time    `json:"failing_since"`
	NextAttempt  *Time    `json:"next_attempt"`
	Error        string   `json:"error"` // of the last attempt; "" if it was one of an earlier version
	URLs         []string `json:"urls"`  // of its items
}

// FeedSkipped answers POST /api/v1/feed/webhook/{id}/skip.
type FeedSkipped struct {
	ID      string `json:"id"`
	Skipped int    `json:"skipped"` // items: each has a dead letter
	Cursor  string `json:"cursor"`  // after them
}

// ChangesPage answers GET /api/v1/seeds/changes.
type ChangesPage struct {
	Items      []ContractChange `json:"items"`
	NextCursor string           `json:"next_cursor"`
	HasMore    bool             `json:"has_more"`
	Followed
}

// ContractChange is the newest revision of a contract.
type ContractChange struct {
	Domain    string    `json:"domain"`
	Partition Partition `json:"partition_info"`
	Revision  int       `json:"revision"`
	ChangedAt Time      `json:"changed_at"`
	Reachable bool      `json:"reachable"`
	Excluded  bool      `json:"excluded"` // an operator excluded the domain: do not use the contract
	Key       string    `json:"key"`      // of the document in R2
}

// JSONFeed is the feed in the format of https://www.jsonfeed.org/version/1.1/.
type JSONFeed struct {
	Version     string         `json:"version"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	NextURL     string         `json:"next_url"`
	Items       []JSONFeedItem `json:"items"`
}

// JSONFeedItem is an item of a JSONFeed. Newsfork has the fields that the format lacks.
type JSONFeedItem struct {
	ID            string   `json:"id"`
	URL           string   `json:"url"`
	Title         string   `json:"title,omitempty"`
	ContentText   string   `json:"content_text"`
	Image         string   `json:"image,omitempty"`
	DatePublished *Time    `json:"date_published,omitempty"`
	Tags          []string `json:"tags"`
	Newsfork      FeedItem `json:"_newsfork"`
}
