package webhook

import (
	"context"
	"fmt"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/ledger"
)

// State describes the webhook to operators.
func (s *Sender) State(ctx context.Context) (contract.FeedWebhook, error) {
	d, err := s.Ledger.FeedDelivery(ctx)
	if err != nil {
		return contract.FeedWebhook{}, err
	}
	out := contract.FeedWebhook{Enabled: s.URL != "", Cursor: contract.Text(d.Cursor), BatchSize: batchSize(&d)}
	batch, err := s.held(ctx, &d)
	if err != nil || batch == nil {
		return out, err
	}
	out.Held = &contract.HeldDelivery{ID: batch.ID, Attempts: d.Failures, FailingSince: contract.At(d.FailingSince),
		NextAttempt: contract.At(d.NextAt), Error: d.Error, URLs: []string{}}
	for _, item := range batch.Items {
		out.Held.URLs = append(out.Held.URLs, item.URL)
	}
	return out, nil
}

// Skip skips the held delivery with an id, and returns nil if it is not held. Each of its items becomes a dead letter.
// by is the name of the operator's token. A run that posts the delivery at the same time might still deliver it.
func (s *Sender) Skip(ctx context.Context, id, by string) (*contract.FeedSkipped, error) {
	d, err := s.Ledger.FeedDelivery(ctx)
	if err != nil {
		return nil, err
	}
	batch, err := s.held(ctx, &d)
	if err != nil || batch == nil || batch.ID != id {
		return nil, err
	}
	// Claimed, so that no run delivers it while the dead letters are stored.
	attempts, failing := d.Failures, d.FailingSince
	d.NextAt = s.Now().Add(claimTime)
	saved, err := s.Ledger.SaveFeedDelivery(ctx, &d)
	if err != nil || !saved {
		return nil, err
	}
	tried := "1 attempt"
	if attempts > 1 {
		tried = fmt.Sprintf("%d attempts", attempts)
	}
	reason := fmt.Sprintf("%s skipped the delivery after %s since %s", by, tried,
		failing.UTC().Format("2006-01-02 15:04"))
	if d.Error != "" {
		reason += ": " + d.Error
	}
	if err := s.store(ctx, batch, contract.Network, reason, attempts-1); err != nil {
		return nil, err
	}
	d = d.After(batch.Cursor)
	d.SkipDebt = 0
	if saved, err = s.Ledger.SaveFeedDelivery(ctx, &d); err != nil || !saved {
		return nil, err
	}
	s.Log.Warn("feed_delivery_skipped", "id", id, "items", len(batch.Items), "by", by)
	return &contract.FeedSkipped{ID: id, Skipped: len(batch.Items), Cursor: batch.Cursor}, nil
}

// held returns the pending delivery if its last attempt failed, else nil.
func (s *Sender) held(ctx context.Context, d *ledger.FeedDelivery) (*contract.FeedDelivery, error) {
	if d.Pending == "" || d.Failures == 0 {
		return nil, nil
	}
	from, err := client.ParseCursor(d.Cursor, s.Shards)
	if err != nil {
		return nil, err
	}
	to, err := client.ParseCursor(d.Pending, s.Shards)
	if err != nil {
		return nil, err
	}
	page, err := s.Frontier.FeedBetween(ctx, from, to, maxItems)
	if err != nil {
		return nil, &contract.Error{Kind: contract.Storage, Op: "webhook.held",
			Message: "a shard of the frontier did not answer; try again", Err: err}
	}
	return s.batch(ctx, from, &page)
}
