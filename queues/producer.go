package queues

import (
	"context"
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// MaxDelay is the platform's limit for the delay of a message
// (developers.cloudflare.com/queues/platform/limits/).
const MaxDelay = 24 * time.Hour

// Producer sends JSON messages to a queue. Its errors have the kind contract.Storage, or contract.Validation for
// messages that the platform would reject.
type Producer interface {
	// Send sends a batch: all of its messages or, on an error, none. It does nothing for an empty batch.
	Send(ctx context.Context, b *contract.Batch) error
	// SendOne sends one message with a delay of at most MaxDelay, which is rounded up to seconds.
	SendOne(ctx context.Context, body []byte, delay time.Duration) error
}

// Check returns an error for a message or delay that the platform would reject.
func Check(body []byte, delay time.Duration) error {
	switch {
	case !json.Valid(body):
		return contract.Invalid("message", "must be one JSON value")
	case !contract.Fits(len(body)):
		return contract.Invalid("message", "must have at most %[2]d bytes, got %[1]d; store its content in R2",
			len(body), contract.MaxMessageBytes-contract.MessageOverhead)
	case delay < 0 || delay > MaxDelay:
		return contract.Invalid("delay", "must be between 0 and %s, got %s", MaxDelay, delay)
	}
	return nil
}

// Seconds returns a delay in seconds, rounded up.
func Seconds(delay time.Duration) int64 {
	return int64((delay + time.Second - 1) / time.Second)
}

// SendFault wraps the error of a send. It returns nil for nil.
func SendFault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &contract.Error{Kind: contract.Storage, Op: op, Message: "the queue did not accept the messages; try again",
		Err: err}
}
