package queues

import (
	"context"
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// MaxDelay is the longest that the platform holds a message back
// (developers.cloudflare.com/queues/platform/limits/).
const MaxDelay = 24 * time.Hour

// Producer sends JSON messages to a queue. Errors have the kind contract.Storage, or
// contract.Validation for what the platform would not take.
type Producer interface {
	// Send sends a batch: all of its messages or, on an error, none. An empty batch is nothing to do.
	Send(ctx context.Context, b *contract.Batch) error
	// SendOne sends one message that is delivered after delay, in whole seconds and at most MaxDelay.
	SendOne(ctx context.Context, body []byte, delay time.Duration) error
}

// Check refuses what the platform would not take as a message.
func Check(body []byte, delay time.Duration) error {
	switch {
	case !json.Valid(body):
		return contract.Invalid("message", "is not JSON; send one JSON value")
	case !contract.Fits(len(body)):
		return contract.Invalid("message", "has %d bytes; send at most %d, or put its content into R2", len(body), contract.MaxMessageBytes-contract.MessageOverhead)
	case delay < 0 || delay > MaxDelay:
		return contract.Invalid("delay", "is %s; send 0 to %s", delay, MaxDelay)
	}
	return nil
}

// Seconds rounds a delay up to what the platform counts in.
func Seconds(delay time.Duration) int64 {
	return int64((delay + time.Second - 1) / time.Second)
}

// SendFault makes the error of a queue that did not take messages; nil for nil.
func SendFault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &contract.Error{Kind: contract.Storage, Op: op, Message: "the queue did not take the messages; try again", Err: err}
}
