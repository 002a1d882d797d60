package ledger

import (
	"context"
	"time"

	"github.com/newsfork/seed-engine/epoch"
)

// FeedDelivery is the progress of delivering the feed to the webhook.
type FeedDelivery struct {
	Cursor       string    // end of the last delivery; "" before the first
	Pending      string    // end of the unconfirmed delivery; "" for none
	Failures     int       // in a row
	NextAt       time.Time // earliest next attempt: a run is active, or backing off
	FailingSince time.Time // zero while deliveries succeed
	Error        string    // of the last failed attempt; "" while deliveries succeed
	Batch        int       // most items of the next delivery; 0 unless the receiver has refused larger ones
	SkipDebt     int       // items that the receiver has to accept until all that were skipped are forgiven

	version int64
}

// After returns the progress after the pending delivery, which ends at cursor.
func (d FeedDelivery) After(cursor string) FeedDelivery {
	d.Cursor, d.Pending, d.Failures, d.NextAt, d.FailingSince = cursor, "", 0, time.Time{}, time.Time{}
	d.Error = ""
	return d
}

const (
	selectFeedDelivery = `SELECT version, cursor, pending, failures, next_at, failing_since, batch, skip_debt,
error FROM feed_delivery`

	// The first version is inserted; a later one replaces its predecessor only. If nothing changes, another run was
	// faster.
	insertFeedDelivery = `INSERT INTO feed_delivery (id, version, cursor, pending, failures, next_at, failing_since,
batch, skip_debt, error)
VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING`

	updateFeedDelivery = `UPDATE feed_delivery SET version = ?1, cursor = ?2, pending = ?3, failures = ?4,
next_at = ?5, failing_since = ?6, batch = ?7, skip_debt = ?8, error = ?9
WHERE id = 1 AND version = ?1 - 1`

	// Runs try at least every hour. Without runs the state means nothing.
	selectFeedFailing = `SELECT ?1 - failing_since AS ms FROM feed_delivery WHERE failing_since > 0
AND next_at > ?1 - 7200000`
)

// FeedDelivery reads the progress.
func (l *Ledger) FeedDelivery(ctx context.Context) (d FeedDelivery, err error) {
	const op = "ledger.FeedDelivery"
	results, err := l.batch(ctx, op, Statement{SQL: selectFeedDelivery})
	if err != nil {
		return d, err
	}
	rows, err := decode[struct {
		Version      int64        `json:"version"`
		Cursor       string       `json:"cursor"`
		Pending      string       `json:"pending"`
		Failures     int          `json:"failures"`
		NextAt       epoch.Millis `json:"next_at"`
		FailingSince epoch.Millis `json:"failing_since"`
		Batch        int          `json:"batch"`
		SkipDebt     int          `json:"skip_debt"`
		Error        string       `json:"error"`
	}](op, results[0])
	for _, row := range rows {
		d = FeedDelivery{row.Cursor, row.Pending, row.Failures, row.NextAt.Time(),
			row.FailingSince.Time(), row.Error, row.Batch, row.SkipDebt, row.Version}
	}
	return d, err
}

// SaveFeedDelivery saves the progress in one row. It reports false, and saves nothing, if another run has saved
// since d was read.
func (l *Ledger) SaveFeedDelivery(ctx context.Context, d *FeedDelivery) (saved bool, err error) {
	sql := updateFeedDelivery
	if d.version == 0 {
		sql = insertFeedDelivery
	}
	args := []any{d.version + 1, d.Cursor, d.Pending, int64(d.Failures), epoch.MillisOf(d.NextAt),
		epoch.MillisOf(d.FailingSince), int64(d.Batch), int64(d.SkipDebt), d.Error}
	results, err := l.batch(ctx, "ledger.SaveFeedDelivery", Statement{sql, args})
	if err != nil || results[0].Changes == 0 {
		return false, err
	}
	d.version++
	return true, nil
}
