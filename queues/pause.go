package queues

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// The delay of messages grows with the pause: a long pause costs little, and work resumes soon after a short one.
const (
	minPauseDelay   = time.Second
	firstPauseDelay = 30 * time.Second // unless three times the delay of a retry is shorter
	maxPauseDelay   = 30 * time.Minute
)

// requeuePaused sends the messages of a paused pipeline again with a delay. New messages have used no retries, so none
// becomes a dead letter however long the pause lasts.
func (c *Consumer) requeuePaused(ctx context.Context, queue string, messages []Message, pause contract.Pipeline) {
	delay := c.pauseDelay(pause)
	role := contract.QueueRole(queue)
	requeuer := c.Seeds
	if role == contract.DomainQueue {
		requeuer = c.Domains
	}
	for _, m := range messages {
		if isRefresh(queue, m) {
			m.Ack()
			continue
		}
		if err := requeuer.SendOne(ctx, contract.AsJSON(m.Body()), delay); err != nil {
			c.logFailure(role+"_message_failed", m, err)
			m.Retry(delay)
			continue
		}
		m.Ack()
	}
	c.Log.Info("messages_held_back", "queue", queue, "count", len(messages), "delay_ms", delay.Milliseconds())
}

func (c *Consumer) pauseDelay(pause contract.Pipeline) time.Duration {
	delay := min(3*c.RetryDelay, firstPauseDelay)
	if pause.Since != nil {
		delay = max(delay, c.Now().Sub(pause.Since.Time)/2)
	}
	return min(max(delay, minPauseDelay), maxPauseDelay)
}
