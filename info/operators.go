package info

import (
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// What the collector answers operators.

// Report is what became of the collection of a source.
type Report struct {
	Source  string `json:"source"`
	Skipped string `json:"skipped,omitempty"` // why nothing was asked: busy, or the class of what it rests from
	// NotBefore is until when the source rests; null where it does not, or is busy.
	NotBefore *contract.Time `json:"not_before,omitempty"`
	Error     string         `json:"error,omitempty"`
	Counts    Counts         `json:"counts"`
}

// Counts are the numbers of a collection.
type Counts struct {
	Calls      int   `json:"calls"`
	Articles   int   `json:"articles"` // distinct ones
	Inserted   int   `json:"inserted"`
	Updated    int   `json:"updated"`
	Thumbnails int   `json:"thumbnails"` // found
	Failed     int   `json:"failed_requests"`
	Drops      Drops `json:"dropped"`
}

// Collections are what became of each source that was to be collected.
type Collections struct {
	Collections []Report `json:"collections"`
}

// Replayed is what became of dead letters.
type Replayed struct {
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Inserted  int `json:"inserted"` // articles
}

// Quota is how far a window is used.
type Quota struct {
	Period  string    `json:"period"`
	Used    int       `json:"used"`
	Allowed int       `json:"allowed"`
	Ends    time.Time `json:"ends_at"`
}

// Status is how collecting stands.
type Status struct {
	Sources   []SourceStatus   `json:"sources"`
	Alarms    []contract.Alarm `json:"alarms"` // those that fire
	UpdatedAt *contract.Time   `json:"updated_at"`
	Cache     CacheStatus      `json:"cache"`
}

// CacheStatus says whether the cache has what changed last.
type CacheStatus struct {
	ChangedAt   *contract.Time `json:"changed_at"`
	RefreshedAt *contract.Time `json:"refreshed_at"`
}

// SourceStatus is how the collection of a source stands.
type SourceStatus struct {
	Name        string          `json:"name"`
	On          bool            `json:"on"`
	StartedAt   *contract.Time  `json:"started_at"`
	SucceededAt *contract.Time  `json:"succeeded_at"`
	FailedAt    *contract.Time  `json:"failed_at"`
	Failures    int             `json:"failures"` // since the last success
	ErrorClass  *string         `json:"error_class"`
	Error       *string         `json:"error"`
	NotBefore   *contract.Time  `json:"not_before"` // null when it may be asked
	Last        json.RawMessage `json:"last"`       // Counts of the last successful collection
	Quotas      []Quota         `json:"quotas"`
	DeadLetters int             `json:"dead_letters"`
}

// DeadLetter is a request that failed.
type DeadLetter struct {
	Source    string         `json:"source"`
	Request   string         `json:"request"`
	ErrorType string         `json:"error_class"`
	Error     string         `json:"error"`
	Attempts  int            `json:"attempts"`
	FirstAt   *contract.Time `json:"first_at"`
	LastAt    *contract.Time `json:"last_at"`
}
