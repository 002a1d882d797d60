package contract

// Pipeline answers GET /api/v1/pipeline and POST …/pause and …/resume.
type Pipeline struct {
	Paused bool    `json:"paused"`
	Since  *Time   `json:"since"` // of the last change; null when it was never paused
	By     *string `json:"by"`    // the name of the token that changed it
	Reason *string `json:"reason"`
}

// Kinds of exclusions.
const (
	ExcludeDomain = "domain" // a registrable domain with all its hosts
	ExcludeHost   = "host"   // one host
	ExcludeURL    = "url"    // URLs that match a pattern
)

// Exclusion rules out what must not be fetched.
type Exclusion struct {
	Kind      string  `json:"kind"`
	Value     string  `json:"value"` // a domain, a host, or a URL in which * stands for any characters
	Reason    *string `json:"reason"`
	CreatedAt Time    `json:"created_at"`
	CreatedBy string  `json:"created_by"` // the name of the token
}

// ExclusionPage answers GET /api/v1/exclusions.
type ExclusionPage struct {
	Exclusions []Exclusion `json:"exclusions"`
	Cursor     *string     `json:"cursor"` // ?cursor= of the next page
}
