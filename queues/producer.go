package queues

import (
	"encoding/json"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// MaxDelay is the longest that the platform holds a message back
// (developers.cloudflare.com/queues/platform/limits/).
const MaxDelay = 24 * time.Hour

// Backlog is what waits in a queue, as the platform last counted it.
type Backlog struct {
	Messages int64
	Bytes    int64
	Oldest   time.Time // when the oldest message was sent; zero when there is none or it is not known
}

// checkOne refuses what the platform would not take as a message.
func checkOne(body []byte, delay time.Duration) error {
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

// seconds rounds a delay up to what the platform counts in.
func seconds(delay time.Duration) int64 {
	return int64((delay + time.Second - 1) / time.Second)
}

func sendFault(op string, err error) error {
	if err == nil {
		return nil
	}
	return &contract.Error{Kind: contract.Storage, Op: op, Message: "the queue did not take the messages; try again", Err: err}
}
