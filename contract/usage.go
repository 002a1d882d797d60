package contract

// Usage holds a site's reservations about the use of its content, beside the Content-Signal of its robots.txt.
type Usage struct {
	Directives []UsageDirective `json:"directives"`        // of the home page
	TDM        []TDMRule        `json:"tdm"`               // the first whose location matches a path decides
	CheckedAt  *Time            `json:"tdmrep_checked_at"` // when tdmrep.json was requested; null if it never answered
}

// Sources of what a site says about the use of its content.
const (
	UsageHeader = "header" // of the home page
	UsageMeta   = "meta"   // element of the home page
	UsageFile   = "tdmrep.json"
)

// Directives that forbid a use by AI.
const (
	NoAI      = "noai"
	NoImageAI = "noimageai"
)

// UsageDirective is a directive of X-Robots-Tag, or of the meta element that says the same.
type UsageDirective struct {
	Name   string `json:"name"`
	Source string `json:"source"`
}

// TDMRule is a rule of the TDM Reservation Protocol: whether the rights to text and data mining are reserved.
type TDMRule struct {
	Location string  `json:"location"` // pattern of paths, as in robots.txt
	Reserved bool    `json:"reserved"`
	Policy   *string `json:"policy"` // URL that says how to acquire them
	Source   string  `json:"source"`
}

// FrontierUsage holds a site's reservations about a leased page.
type FrontierUsage struct {
	ContentSignals map[string]string `json:"content_signals"` // each yes or no
	NoAI           bool              `json:"noai"`
	NoImageAI      bool              `json:"noimageai"`
	TDMReserved    *bool             `json:"tdm_reserved"` // null if it does not say
	TDMPolicy      *string           `json:"tdm_policy"`
}
