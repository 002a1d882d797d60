// Package webhook delivers the feed of new URLs to an address of the operators: in batches, in order and signed.
//
// It needs no queue. The shards of the frontier keep the feed, and a delivery is the items between two cursors. One
// row remembers the cursor that the receiver has confirmed, the cursor where the pending delivery ends, and when to
// try again. A delivery that was not confirmed is repeated unchanged under its id before the next one begins.
//
// If the receiver refuses the content of a delivery, its first half becomes the next delivery. A single item that is
// refused is skipped: it becomes a dead letter.
package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/alarms"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/deadletters"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	maxItems = 100 // of a delivery: some 50 KB

	// A run starts no delivery after maxRun, nor more than maxDeliveries. The next minute's run continues.
	maxRun        = 40 * time.Second
	maxDeliveries = 100

	// claimTime is the term of a run's claim to a delivery, so that no other run sends it and a killed run is
	// replaced. It covers the worst case for one delivery: the POST plus slow shards and database.
	claimTime = 2 * time.Minute

	// maxPause caps the time between two attempts, which starts at a minute and doubles.
	maxPause = time.Hour
)

// Frontier reads the feed.
type Frontier interface {
	Feed(ctx context.Context, from client.Cursor, f frontier.FeedRequest) (client.AllFeed, error)
	FeedBetween(ctx context.Context, from, to client.Cursor, limit int) (client.AllFeed, error)
}

// Ledger keeps the state of the delivery.
type Ledger interface {
	FeedDelivery(ctx context.Context) (ledger.FeedDelivery, error)
	SaveFeedDelivery(ctx context.Context, d *ledger.FeedDelivery) (saved bool, err error)
}

// DeadLetters stores what is skipped. Storing it again changes nothing.
type DeadLetters interface {
	Put(ctx context.Context, dlq string, messages []deadletters.Message) []error
}

// A Poster posts JSON. It follows no redirects and succeeds only with a 2xx status, see CheckStatus. Only the Message
// of a *contract.Error is safe to log.
type Poster interface {
	Post(ctx context.Context, url string, header http.Header, body []byte, timeout time.Duration) error
}

// A Sender delivers new items each time it runs, which should be every minute. Two runs may overlap.
type Sender struct {
	Frontier    Frontier
	Shards      int
	Exclusions  func(ctx context.Context) (*contract.Exclusions, error)
	Ledger      Ledger
	DeadLetters DeadLetters
	Poster      Poster
	URL, Secret string // nothing is delivered if URL is empty
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
}

// Run delivers new items unless it has to wait, after a failure or for another run. A receiver that refuses them is
// not an error: a later run tries again.
func (s *Sender) Run(ctx context.Context) error {
	if s.URL == "" {
		return nil
	}
	began := s.Now()
	d, err := s.Ledger.FeedDelivery(ctx)
	if err != nil || began.Before(d.NextAt) {
		return err
	}
	r := &drain{Sender: s, state: d}
	for n := 0; err == nil && !r.over && n < maxDeliveries && s.Now().Sub(began) <= maxRun; n++ {
		err = r.deliver(ctx)
	}
	if err == nil && r.claimed {
		r.state.NextAt = time.Time{}
		_, err = s.Ledger.SaveFeedDelivery(ctx, &r.state)
	}
	return err
}

// drain is one run of a Sender.
type drain struct {
	*Sender
	state   ledger.FeedDelivery
	claimed bool // the stored state claims a delivery; Run has to release it
	over    bool // nothing is left to deliver, or another run continues
}

// deliver delivers the next batch.
func (r *drain) deliver(ctx context.Context) error {
	batch, err := r.next(ctx)
	if err != nil {
		return err
	}
	if batch == nil {
		r.over = true
		return nil
	}
	d := &r.state
	d.Pending, d.NextAt = batch.Cursor, r.Now().Add(claimTime)
	saved, err := r.Ledger.SaveFeedDelivery(ctx, d)
	if err != nil || !saved {
		r.over, r.claimed = true, false // another run delivers it
		return err
	}
	r.claimed = true
	err = r.post(ctx, batch)
	switch {
	case err == nil:
		r.Log.Info("feed_delivered", "id", batch.ID, "items", len(batch.Items), "tries", d.Failures+1)
		accepted(d, len(batch.Items))
	case refused(err) && len(batch.Items) > 1:
		r.Log.Warn("feed_delivery_refused", "error_type", contract.KindOf(err), "error", contract.MessageOf(err),
			"id", batch.ID, "items", len(batch.Items))
		d.Batch, d.Pending, d.Failures = len(batch.Items)/2, "", 0
		return nil
	case refused(err) && maySkip(d):
		if err := r.skip(ctx, batch, err); err != nil {
			return err
		}
	default:
		return r.failed(ctx, batch, err)
	}
	*d = d.After(batch.Cursor)
	r.over = !batch.HasMore
	return nil
}

// next returns the pending delivery, or a new one, or nil if there is nothing to deliver.
func (r *drain) next(ctx context.Context) (*contract.FeedDelivery, error) {
	from, err := client.ParseCursor(r.state.Cursor, r.Shards)
	if err != nil {
		return nil, err
	}
	page := r.pending(ctx, from)
	if page == nil {
		fresh, err := r.Frontier.Feed(ctx, from, frontier.FeedRequest{Limit: batchSize(&r.state)})
		if err != nil {
			return nil, err
		}
		if slices.Equal(fresh.Next, from) {
			return nil, nil
		}
		page = &fresh
		// so that items that expire before the first delivery are reported as expired
		from, r.state.Cursor = fresh.From, fresh.From.String()
	}
	return r.batch(ctx, from, page)
}

// batch returns the delivery of a page that begins after from, without excluded items.
func (s *Sender) batch(ctx context.Context, from client.Cursor,
	page *client.AllFeed) (*contract.FeedDelivery, error) {
	exclusions, err := s.Exclusions(ctx)
	if err != nil {
		return nil, err
	}
	batch := &contract.FeedDelivery{
		ID: idOf(from, page.Next), Items: []contract.FeedItem{}, Cursor: page.Next.String(), HasMore: page.More,
		Expired: page.Expired, Environment: s.Environment,
	}
	for i := range page.Items {
		if !exclusions.URL(page.Items[i].URL) {
			batch.Items = append(batch.Items, page.Items[i].Shown())
		}
	}
	return batch, nil
}

// pending reads the items of the pending delivery again. It returns nil if there is no pending delivery, if its items
// have expired, or if a shard does not answer. In the last two cases the items go into a new delivery.
func (r *drain) pending(ctx context.Context, from client.Cursor) *client.AllFeed {
	if r.state.Pending == "" {
		return nil
	}
	to, err := client.ParseCursor(r.state.Pending, r.Shards)
	if err != nil {
		return nil
	}
	page, err := r.Frontier.FeedBetween(ctx, from, to, maxItems)
	if err != nil || len(page.Items) == 0 {
		return nil
	}
	page.More = true
	return &page
}

// idOf returns the id of the delivery between two cursors, the same for every attempt.
func idOf(from, to client.Cursor) string {
	sum := sha256.Sum256([]byte(from.String() + " " + to.String()))
	return hex.EncodeToString(sum[:16])
}

// post posts a delivery. If operators excluded all its items, it counts as accepted.
func (r *drain) post(ctx context.Context, batch *contract.FeedDelivery) error {
	if len(batch.Items) == 0 && !batch.Expired {
		return nil
	}
	body := contract.Encode(batch)
	return r.Poster.Post(ctx, r.URL, http.Header{
		"Idempotency-Key":        {batch.ID},
		contract.SignatureHeader: {contract.SignWebhook(r.Secret, r.Now(), body)},
	}, body, alarms.PostTimeout)
}

// failed logs a failed post and schedules another attempt.
func (r *drain) failed(ctx context.Context, batch *contract.FeedDelivery, cause error) error {
	d := &r.state
	d.Failures++
	pause := maxPause
	if n := d.Failures - 1; n < 6 { // 32 minutes
		pause = min(time.Minute<<n, maxPause)
	}
	now := r.Now()
	d.NextAt = now.Add(pause).Truncate(time.Minute) // runs begin with a minute
	if d.FailingSince.IsZero() {
		d.FailingSince = now
	}
	d.Error = cmp.Or(contract.MessageOf(cause), "the request to the webhook failed; check FEED_WEBHOOK_URL")
	r.Log.Error("feed_webhook_failed", "error_type", contract.KindOf(cause), "error", d.Error,
		"id", batch.ID, "tries", d.Failures, "next_at", d.NextAt.UTC())
	r.over, r.claimed = true, false
	_, err := r.Ledger.SaveFeedDelivery(ctx, d)
	return err
}
