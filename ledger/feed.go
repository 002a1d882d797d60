package ledger

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// FeedDelivery is how far the feed was delivered to the webhook.
type FeedDelivery struct {
	Cursor       string    // up to which it was delivered; "" at the beginning
	Pending      string    // up to which the delivery goes that was begun and not confirmed; "" for none
	Failures     int       // in a row
	NextAt       time.Time // not to be tried before, since a run is at it or because of the failures
	FailingSince time.Time // zero while deliveries succeed

	version int64
}

const (
	selectFeedDelivery = `SELECT version, cursor, pending, failures, next_at, failing_since FROM feed_delivery`

	// The first version is inserted, a later one replaces that before it: otherwise another run was faster.
	insertFeedDelivery = `INSERT INTO feed_delivery (id, version, cursor, pending, failures, next_at, failing_since)
VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING`

	updateFeedDelivery = `UPDATE feed_delivery SET version = ?1, cursor = ?2, pending = ?3, failures = ?4, next_at = ?5, failing_since = ?6
WHERE id = 1 AND version = ?1 - 1`

	// A run tries at least every hour. What it left behind means nothing once there are no more runs.
	selectFeedFailing = `SELECT ?1 - failing_since AS ms FROM feed_delivery WHERE failing_since > 0 AND next_at > ?1 - 7200000`
)

// FeedDelivery reads how far the feed was delivered.
func (l *Ledger) FeedDelivery(ctx context.Context) (d FeedDelivery, err error) {
	const op = "ledger.FeedDelivery"
	results, err := l.batch(ctx, op, Statement{SQL: selectFeedDelivery})
	if err != nil {
		return d, err
	}
	rows, err := decode[struct {
		Version      int64  `json:"version"`
		Cursor       string `json:"cursor"`
		Pending      string `json:"pending"`
		Failures     int    `json:"failures"`
		NextAt       int64  `json:"next_at"`
		FailingSince int64  `json:"failing_since"`
	}](op, results[0])
	for _, row := range rows {
		d = FeedDelivery{row.Cursor, row.Pending, row.Failures, contract.FromMillis(row.NextAt),
			contract.FromMillis(row.FailingSince), row.Version}
	}
	return d, err
}

// SaveFeedDelivery keeps how far the feed was delivered, in one row. It reports false, and keeps nothing, if another run
// has done so since d was read or saved.
func (l *Ledger) SaveFeedDelivery(ctx context.Context, d *FeedDelivery) (saved bool, err error) {
	sql := updateFeedDelivery
	if d.version == 0 {
		sql = insertFeedDelivery
	}
	args := []any{d.version + 1, d.Cursor, d.Pending, int64(d.Failures), contract.Millis(d.NextAt),
		contract.Millis(d.FailingSince)}
	results, err := l.batch(ctx, "ledger.SaveFeedDelivery", Statement{sql, args})
	if err != nil || results[0].Changes == 0 {
		return false, err
	}
	d.version++
	return true, nil
}
