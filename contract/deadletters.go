package contract

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// DeadLetter is a stored message that was given up.
type DeadLetter struct {
	OriginalMessage json.RawMessage   `json:"original_message"`
	ErrorInfo       DeadLetterError   `json:"error_info"`
	Context         DeadLetterContext `json:"context"`
}

// Encode returns the dead letter as it is stored: indented, except the message, whose bytes are kept.
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

// DeadLetterError is the last failure recorded for the work that the message requested.
type DeadLetterError struct {
	ErrorType    Kind      `json:"error_type"`
	ErrorMessage string    `json:"error_message"`
	RetryCount   int       `json:"retry_count"`
	FailedAt     time.Time `json:"failed_at"`
}

// DeadLetterContext locates the failure of the message.
type DeadLetterContext struct {
	QueueName            string `json:"queue_name"`
	WorkerVersion        string `json:"worker_version"`
	ProcessingDurationMS int64  `json:"processing_duration_ms"` // of the last attempt
}

// DeadLetterState is the state of a dead letter.
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
	// Work identifies what the message requested; a message and its replays share it.
	Work      string     `json:"work"`
	Partition *Partition `json:"partition_info"`
	Domain    *string    `json:"domain"`
	// Excluded is true if operators have excluded the domain, so that it is not replayed; null if the exclusions
	// cannot be read.
	Excluded  *bool   `json:"excluded"`
	Key       string  `json:"key"`        // of the stored dead letter
	QueueRole *string `json:"queue_role"` // the role of QueueName; null if it is not a queue of the pipeline
	DeadLetterError
	DeadLetterContext
}

// About reports whether the dead letter is about an excluded domain.
func (d *DeadLetterRecord) About(x *Exclusions) bool { return d.Domain != nil && x.Domain(*d.Domain) }

// DeadLetterPage answers GET /api/v1/dlq.
type DeadLetterPage struct {
	DeadLetters []DeadLetterRecord `json:"dead_letters"`
	Cursor      *string            `json:"cursor"` // ?cursor= of the next page
}

// DeadLetterDetail answers GET /api/v1/dlq/{id}.
type DeadLetterDetail struct {
	DeadLetterRecord
	// Letter is the stored letter with the original message; null if it is gone from R2.
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
	Queue     string `json:"queue,omitempty"` // one of DeadLetterRoles
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

	// Queued leaves out letters that no queue takes again: those of the webhook. It does not apply to IDs.
	Queued bool `json:"-"`
}

// MinPrefix is the minimum length of an id's prefix that stands for the id, if it is unique.
const MinPrefix = 4

// MaxResolved caps the dead letters that one call replays or discards.
const MaxResolved = 500

// Resolved answers POST /api/v1/dlq/replay and …/discard.
type Resolved struct {
	// Done counts letters replayed or discarded by this call, including those discarded because their raw file
	// ended.
	Done      int64        `json:"done"`
	Skipped   int64        `json:"skipped"`   // ids that were replayed or discarded before
	Failed    []Unresolved `json:"failed"`    // unchanged
	Remaining int64        `json:"remaining"` // still stored and matching: call again
}

// Unresolved is a dead letter that could not be replayed or discarded.
type Unresolved struct {
	ID      string `json:"id"`
	Code    string `json:"code"` // not_found, excluded or an error type
	Message string `json:"message"`
}

// Validate returns the first error.
func (c *DeadLetterChoice) Validate() error {
	ways := 0
	for _, there := range []bool{c.IDs != nil, c.Filter != nil, c.All} {
		if there {
			ways++
		}
	}
	switch {
	case ways != 1:
		return Invalid("ids", "exactly one of ids, filter and all is required; send %s",
			`{"ids":["…"]}, {"filter":{…}} or {"all":true}`)
	case c.IDs != nil && (len(c.IDs) == 0 || len(c.IDs) > MaxResolved):
		return Invalid("ids", "must have between 1 and %d ids, got %d", MaxResolved, len(c.IDs))
	case c.Filter == nil:
		return nil
	}
	f := c.Filter
	if *f == (DeadLetterFilter{}) {
		return Invalid("filter", "is empty; send a condition, or %s", `{"all":true}`)
	}
	if f.Queue != "" && !slices.Contains(DeadLetterRoles, f.Queue) {
		return Invalid("filter.queue", "%q has no dead letters; use %s", clip(f.Queue),
			strings.Join(DeadLetterRoles, ", "))
	}
	if f.ErrorType != "" && !slices.Contains(Kinds, f.ErrorType) {
		return Invalid("filter.error_type", "%q is not an error type; use %s", clip(f.ErrorType),
			strings.Join(Kinds, ", "))
	}
	return Filter{Country: f.Country, Category: f.Category, Date: f.Date}.Validate("filter.")
}
