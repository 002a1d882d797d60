package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/ledger"
)

// A receiver that refuses everything must not turn the whole feed into dead letters. So items are skipped only up to
// maxSkipDebt: a skipped item adds skipCost, an accepted one takes 1 off. That allows ten, and then one for a hundred
// accepted items. Beyond that the receiver counts as failing.
const (
	skipCost    = 100
	maxSkipDebt = 10 * skipCost
)

func maySkip(d *ledger.FeedDelivery) bool { return d.SkipDebt+skipCost <= maxSkipDebt }

// accepted records that the receiver has accepted a delivery of n items: the next one may be twice as large.
func accepted(d *ledger.FeedDelivery, n int) {
	d.SkipDebt = max(d.SkipDebt-n, 0)
	if d.Batch *= 2; d.Batch >= maxItems {
		d.Batch = 0
	}
}

// batchSize returns the largest number of items in the next delivery.
func batchSize(d *ledger.FeedDelivery) int { return cmp.Or(d.Batch, maxItems) }

// skip skips a delivery of at most one item, after its dead letter is stored. If the run is killed before the
// cursor is saved, the item is posted once more.
func (r *drain) skip(ctx context.Context, batch *contract.FeedDelivery, cause error) error {
	if err := r.store(ctx, batch, contract.KindOf(cause), contract.MessageOf(cause), r.state.Failures); err != nil {
		return err
	}
	r.state.SkipDebt += skipCost
	r.Log.Error("feed_delivery_skipped", "error_type", contract.KindOf(cause), "error", contract.MessageOf(cause),
		"id", batch.ID, "items", len(batch.Items))
	return nil
}

// store stores a dead letter for each item of a delivery. Its message is the delivery of this item alone.
func (s *Sender) store(ctx context.Context, batch *contract.FeedDelivery, kind contract.Kind, reason string,
	retries int) error {
	queue := contract.QueueName(contract.WebhookQueue, s.Environment)
	now := s.Now()
	var messages []deadletters.Message
	for _, item := range batch.Items {
		one := *batch
		one.Items = []contract.FeedItem{item}
		messages = append(messages, deadletters.Message{
			ID: letterID(&item), Body: contract.Encode(one), Sent: now,
			Failure: &ledger.Failure{Work: ledger.Work{Queue: queue, Key: item.URL}, ErrorType: kind,
				ErrorMessage: reason, Attempt: retries + 1, FailedAt: now},
		})
	}
	dlq := contract.QueueName(contract.DeadLetterQueue, s.Environment)
	return errors.Join(s.DeadLetters.Put(ctx, dlq, messages)...)
}

// letterID returns the id of an item's dead letter, the same however often it is stored.
func letterID(i *contract.FeedItem) string {
	sum := sha256.Sum256([]byte(i.FoundAt.UTC().Format(time.RFC3339Nano) + " " + i.URL))
	return hex.EncodeToString(sum[:16])
}
