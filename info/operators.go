package info

import (
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// Answers of the collector to operators.

// Report is the outcome of collecting from a source.
type Report struct {
	Source  string `json:"source"`
	Skipped string `json:"skipped,omitempty"` // "busy", or the Class of the error that it rests after
	// NotBefore is the end of the source's rest, or null.
	NotBefore *contract.Time `json:"not_before,omitempty"`
	Error     string         `json:"error,omitempty"`
	Kind      contract.Kind  `json:"-"` // of Error
	Counts    Counts         `json:"counts"`
}

// Counts counts the work of a collection.
type Counts struct {
	Calls      int   `json:"calls"`
	Articles   int   `json:"articles"` // distinct ones
	Inserted   int   `json:"inserted"`
	Updated    int   `json:"updated"`
	Thumbnails int   `json:"thumbnails"` // found
	Failed     int   `json:"failed_requests"`
	Gaps       int   `json:"gaps"` // queries with more new articles than were taken
	Drops      Drops `json:"dropped"`
}

// Collections are the outcomes of the requested sources.
type Collections struct {
	Collections []Report `json:"collections"`
}

// Replayed is the outcome of replaying dead letters.
type Replayed struct {
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Inserted  int `json:"inserted"` // articles
}

// Quota is the use of a window.
type Quota struct {
	Period  string    `json:"period"`
	Used    int       `json:"used"`
	Allowed int       `json:"allowed"`
	Ends    time.Time `json:"ends_at"`
}

// Status is the state of collecting.
type Status struct {
	Sources   []SourceStatus   `json:"sources"`
	Alarms    []contract.Alarm `json:"alarms"` // those that fire
	UpdatedAt *contract.Time   `json:"updated_at"`
	Cache     CacheStatus      `json:"cache"`
	Database  DatabaseStatus   `json:"database"`
}

// DatabaseStatus is the size of the database.
type DatabaseStatus struct {
	Name  string `json:"name"`  // d1 or postgres
	Bytes int64  `json:"bytes"` // 0 if unknown
	Limit int64  `json:"limit_bytes"`
}

// CacheStatus shows whether the cache has the last change.
type CacheStatus struct {
	Name        string         `json:"name"`  // kv or redis; "": there is none
	Error       *string        `json:"error"` // why readers get nothing from it, or null
	ChangedAt   *contract.Time `json:"changed_at"`
	RefreshedAt *contract.Time `json:"refreshed_at"`
}

// SourceStatus is the state of a source.
type SourceStatus struct {
	Name        string          `json:"name"`
	On          bool            `json:"on"`
	StartedAt   *contract.Time  `json:"started_at"`
	SucceededAt *contract.Time  `json:"succeeded_at"`
	FailedAt    *contract.Time  `json:"failed_at"`
	Failures    int             `json:"failures"` // since the last success
	ErrorClass  *string         `json:"error_class"`
	Error       *string         `json:"error"`
	NotBefore   *contract.Time  `json:"not_before"` // null if it does not rest
	Last        json.RawMessage `json:"last"`       // Counts of the last successful collection
	Quotas      []Quota         `json:"quotas"`
	DeadLetters int             `json:"dead_letters"`
	Feeds       []FeedStatus    `json:"feeds,omitempty"` // of the source "feed"
}

// FeedStatus is the state of a feed.
type FeedStatus struct {
	URL         string         `json:"url"`
	SucceededAt *contract.Time `json:"succeeded_at"`
	FailedAt    *contract.Time `json:"failed_at"` // null if it has succeeded since
	Error       *string        `json:"error"`
	Items       int            `json:"items"`      // of its last answer that brought any
	NotBefore   *contract.Time `json:"not_before"` // end of the pause that it asked for, or null
}

// Found is an article as operators find it.
type Found struct {
	ID          string         `json:"id"`
	URL         string         `json:"url"`
	Title       string         `json:"title"`
	SourceName  string         `json:"source_name"`
	PublishedAt *contract.Time `json:"published_at"`
	Deleted     bool           `json:"is_deleted"`
}

// FoundArticles are the articles that operators asked for.
type FoundArticles struct {
	Articles []Found `json:"articles"`
}

// Takedown is the outcome of taking an article down, or of restoring it.
type Takedown struct {
	ID        string `json:"id"`
	Deleted   bool   `json:"is_deleted"`
	Refreshed bool   `json:"refreshed"` // the cache shows it; else the next collection does that
}

// CollectorHealth is the collector's answer to whether it runs.
type CollectorHealth struct {
	Status  string       `json:"status"`
	Service string       `json:"service"`
	Crons   []CronStatus `json:"crons"` // nil if the database does not answer
}

// CronStatus is the last run of a cron.
type CronStatus struct {
	Cron      string         `json:"cron"`
	BeganAt   *contract.Time `json:"began_at"`   // null if it never ran
	EndedAt   *contract.Time `json:"ended_at"`   // before began_at while it runs, or if it was killed
	Outcome   *string        `json:"outcome"`    // ok or failed, of the run that ended last
	ErrorType *string        `json:"error_type"` // kind of its error
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
