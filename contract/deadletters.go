package contract

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// DeadLetter is what the dead-letter consumer stores for a message that was given up.
type DeadLetter struct {
	OriginalMessage json.RawMessage   `json:"original_message"`
	ErrorInfo       DeadLetterError   `json:"error_info"`
	Context         DeadLetterContext `json:"context"`
}

// Encode returns the dead letter as it is stored: indented, except for the message, whose bytes are kept.
func (d *DeadLetter) Encode() []byte {
	const indent = "  "
	out := append([]byte("{\n"+indent+`"original_message": `), d.OriginalMessage...)
	for _, member := range []struct {
		name  string
		value any
	}{{"error_info", d.ErrorInfo}, {"context", d.Context}} {
		out = append(out, ",\n"+indent+`"`+member.name+`": `...)
		var value bytes.Buffer
		if err := json.Indent(&value, Encode(member.value), indent, indent); err != nil {
			panic(err) // it was encoded just now
		}
		out = append(out, value.Bytes()...)
	}
	return append(out, "\n}\n"...)
}

// DeadLetterError is the reason: the last failure recorded for the work that the message requested.
type DeadLetterError struct {
	ErrorType    Kind      `json:"error_type"`
	ErrorMessage string    `json:"error_message"`
	RetryCount   int       `json:"retry_count"`
	FailedAt     time.Time `json:"failed_at"`
}

// DeadLetterContext is where it failed.
type DeadLetterContext struct {
	QueueName            string `json:"queue_name"`
	WorkerVersion        string `json:"worker_version"`
	ProcessingDurationMS int64  `json:"processing_duration_ms"` // of the last attempt
}

// DeadLetterState is what became of a dead letter.
type DeadLetterState string

// The states of a dead letter. A message that fails again after its replay is a new dead letter.
const (
	Stored    DeadLetterState = "stored"
	Replayed  DeadLetterState = "replayed"
	Discarded DeadLetterState = "discarded"
)

// DeadLetterCounts counts dead letters by state.
type DeadLetterCounts struct {
	Stored    int64 `json:"stored"`
	Replayed  int64 `json:"replayed"`
	Discarded int64 `json:"discarded"`
}

// DeadLetterRecord is one line of the list of dead letters.
type DeadLetterRecord struct {
	ID         string          `json:"id"` // of the message that was given up
	State      DeadLetterState `json:"state"`
	ResolvedAt *Time           `json:"resolved_at"` // when it was replayed or discarded
	ResolvedBy *string         `json:"resolved_by"` // the name of the token it was requested with
	// what the message requested; the same for a message and its replays
	Work      string     `json:"work"`
	Partition *Partition `json:"partition_info"`
	Domain    *string    `json:"domain"`
	// operators rule its domain out: it is not replayed; null where their decisions could not be read
	Excluded  *bool   `json:"excluded"`
	Key       string  `json:"key"`        // of the stored dead letter
	QueueRole *string `json:"queue_role"` // the role of QueueName; null when it is none of the pipeline's
	DeadLetterError
	DeadLetterContext
}

// About reports whether a dead letter is about a domain that is excluded.
func (d *DeadLetterRecord) About(x *Exclusions) bool { return d.Domain != nil && x.Domain(*d.Domain) }

// DeadLetterPage answers GET /api/v1/dlq.
type DeadLetterPage struct {
	DeadLetters []DeadLetterRecord `json:"dead_letters"`
	Cursor      *string            `json:"cursor"` // ?cursor= of the next page
}

// DeadLetterDetail answers GET /api/v1/dlq/{id}.
type DeadLetterDetail struct {
	DeadLetterRecord
	// as stored, with the original message; null when it is gone from R2
	Letter   *DeadLetter        `json:"letter"`
	Attempts []Attempt          `json:"attempts"` // recorded failures of the same work, oldest first
	History  []DeadLetterRecord `json:"history"`  // the other dead letters of the same work, oldest first
}

// Attempt is one failed delivery.
type Attempt struct {
	MessageID    string `json:"message_id"`
	Attempt      int    `json:"attempt"` // 1 for the first delivery
	ErrorType    Kind   `json:"error_type"`
	ErrorMessage string `json:"error_message"`
	FailedAt     Time   `json:"failed_at"`
	DurationMS   int64  `json:"duration_ms"`
	Version      string `json:"worker_version"`
}

// DeadLetterFilter selects dead letters; empty fields match all.
type DeadLetterFilter struct {
	Queue     string `json:"queue,omitempty"` // its role: seed or domain
	ErrorType string `json:"error_type,omitempty"`
	Country   string `json:"country,omitempty"`
	Category  string `json:"category,omitempty"`
	Date      string `json:"date,omitempty"`
	Domain    string `json:"domain,omitempty"`
}

// DeadLetterChoice is the body of POST /api/v1/dlq/replay and …/discard: exactly one of its fields.
type DeadLetterChoice struct {
	IDs    []string          `json:"ids,omitempty"`
	Filter *DeadLetterFilter `json:"filter,omitempty"`
	All    bool              `json:"all,omitempty"`
}

// MinPrefix is how many characters of an id stand for the whole at least, where no other begins with them.
const MinPrefix = 4

// MaxResolved is how many dead letters one call replays or discards.
const MaxResolved = 500

// Resolved answers POST /api/v1/dlq/replay and …/discard.
type Resolved struct {
	// replayed or discarded by this call, with those that were discarded because their raw file ended
	Done      int64        `json:"done"`
	Skipped   int64        `json:"skipped"`   // of the ids: replayed or discarded before
	Failed    []Unresolved `json:"failed"`    // these stay as they were
	Remaining int64        `json:"remaining"` // still stored and matching: call again
}

// Unresolved is a dead letter that could not be replayed or discarded.
type Unresolved struct {
	ID      string `json:"id"`
	Code    string `json:"code"` // not_found, excluded or an error type
	Message string `json:"message"`
}

// Validate reports the first error.
func (c *DeadLetterChoice) Validate() error {
	ways := 0
	for _, there := range []bool{c.IDs != nil, c.Filter != nil, c.All} {
		if there {
			ways++
		}
	}
	switch {
	case ways != 1:
		return Invalid("ids", "exactly one of ids, filter and all chooses dead letters; send %s",
			`{"ids":["…"]}, {"filter":{…}} or {"all":true}`)
	case c.IDs != nil && (len(c.IDs) == 0 || len(c.IDs) > MaxResolved):
		return Invalid("ids", "has %d ids; send 1 to %d", len(c.IDs), MaxResolved)
	case c.Filter == nil:
		return nil
	}
	f := c.Filter
	if *f == (DeadLetterFilter{}) {
		return Invalid("filter", "is empty; send what to choose by, or %s", `{"all":true}`)
	}
	if f.Queue != "" && f.Queue != SeedQueue && f.Queue != DomainQueue {
		return Invalid("filter.queue", "%q is not a queue of the pipeline; send %s or %s", clip(f.Queue), SeedQueue,
			DomainQueue)
	}
	if f.ErrorType != "" && !slices.Contains(Kinds, f.ErrorType) {
		return Invalid("filter.error_type", "%q is none of them; send %s", clip(f.ErrorType),
			strings.Join(Kinds, ", "))
	}
	return Filter{Country: f.Country, Category: f.Category, Date: f.Date}.Validate("filter.")
}
