package contract

// FeedPage answers GET /api/v1/feed.
type FeedPage struct {
	Items      []FeedItem `json:"items"`
	NextCursor string     `json:"next_cursor"` // also at the end, to go on from later
	HasMore    bool       `json:"has_more"`
	Followed
}

// Followed says what a page lacks.
type Followed struct {
	Unavailable []string `json:"unavailable"` // did not answer: what they have comes later
	Expired     bool     `json:"expired"`     // the cursor is older than what is kept: something after it is gone
}

// FeedItem is a URL that is new.
type FeedItem struct {
	URL      string  `json:"url"`
	Domain   string  `json:"domain"` // its registrable domain
	Host     string  `json:"host"`
	Title    *string `json:"title"`
	Type     string  `json:"type"`           // one of the 23 content types
	Priority float64 `json:"priority_score"` // when it was found
	LastMod  *Time   `json:"lastmod"`
	FoundAt  Time    `json:"found_at"`
	// feed, news_sitemap, sitemap, link, research, scraper; null of a URL that was put
	FoundBy   *string   `json:"found_by"`
	Snippet   *string   `json:"snippet"` // of its text, where the source has one
	Image     *string   `json:"image"`   // a URL, where the source has one
	Partition Partition `json:"partition_info"`
}

// FeedDelivery is what is posted to FEED_WEBHOOK_URL.
type FeedDelivery struct {
	ID      string     `json:"id"` // the same however often it is posted
	Items   []FeedItem `json:"items"`
	Cursor  string     `json:"cursor"`   // next_cursor of the feed after these items
	HasMore bool       `json:"has_more"` // another delivery follows at once
	// what was to be delivered before these items was too old by then, and is gone
	Expired     bool   `json:"expired"`
	Environment string `json:"environment"`
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

// JSONFeed is the feed as https://www.jsonfeed.org/version/1.1/ has it.
type JSONFeed struct {
	Version     string         `json:"version"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	NextURL     string         `json:"next_url"`
	Items       []JSONFeedItem `json:"items"`
}

// JSONFeedItem is an item of a JSONFeed; what the format has no field for is in Newsfork.
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
