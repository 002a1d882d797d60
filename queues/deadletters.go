package queues

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
)

// storeDelay is the pause before another attempt to store a dead letter.
const storeDelay = 10 * time.Minute

// handleDeadLetters stores a batch of the dead-letter queue.
func (c *Consumer) handleDeadLetters(ctx context.Context, queue string, messages []Message) {
	letters := make([]deadletters.Message, len(messages))
	for i, m := range messages {
		letters[i] = deadletters.Message{ID: m.ID(), Body: m.Body(), Sent: m.Sent()}
	}
	for i, err := range c.DeadLetters.Put(ctx, queue, letters) {
		if err == nil {
			messages[i].Ack()
		} else {
			c.keepDeadLetter(ctx, messages[i], err)
		}
	}
}

// keepDeadLetter retries a dead letter that could not be stored. Its queue has no dead-letter queue of its own, so
// after the last delivery the message is sent again.
func (c *Consumer) keepDeadLetter(ctx context.Context, m Message, cause error) {
	c.Log.Error("dead_letter_failed", "error_type", contract.KindOf(cause), "error", cause.Error(),
		"message_id", m.ID(), "attempt", m.Attempts())
	if m.Attempts() > contract.MaxRetries {
		err := c.DLQ.SendOne(ctx, contract.AsJSON(m.Body()), storeDelay)
		if err == nil {
			m.Ack()
			return
		}
		c.Log.Error("dead_letter_lost_failed", "error_type", contract.KindOf(err), "error", err.Error(),
			"message_id", m.ID(), "original_message", string(m.Body()))
	}
	m.Retry(c.RetryDelay)
}
