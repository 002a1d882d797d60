// Package webhook delivers the feed of new URLs to an address of the operators: in batches, in order and signed.
//
// Nothing is queued for it. The shards of the frontier keep the feed, and a delivery is what is between two cursors, so one
// row has all that there is to remember: up to where the receiver has confirmed, up to where the delivery goes that is
// under way, and when to try again. A delivery that was not confirmed is repeated as it was, under its id; the next one
// begins only after that.
package webhook

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/ledger"
)

const (
	// maxItems is how many items a delivery has, some 50 KB of them.
	maxItems = 100
	// postTimeout is how long the receiver has to answer.
	postTimeout = 10 * time.Second
	// maxRun and maxDeliveries are after how long, and how many, a run begins no more; the next minute's run goes on.
	maxRun        = 40 * time.Second
	maxDeliveries = 100
	// claimTime keeps other runs from delivering what this one delivers, and is over when it was killed. It is longer than
	// a delivery can take: its posting, and shards and database that answer late.
	claimTime = 2 * time.Minute
	// maxPause is the longest time between two tries; the first one is a minute, then it doubles.
	maxPause = time.Hour
)

// Frontier has the feed.
type Frontier interface {
	Feed(ctx context.Context, from frontier.Cursor, f frontier.FeedRequest) (frontier.AllFeed, error)
	FeedBetween(ctx context.Context, from, to frontier.Cursor, limit int) (frontier.AllFeed, error)
}

// Ledger keeps how far the feed was delivered.
type Ledger interface {
	FeedDelivery(ctx context.Context) (ledger.FeedDelivery, error)
	SaveFeedDelivery(ctx context.Context, d *ledger.FeedDelivery) (saved bool, err error)
}

// Poster posts JSON. It succeeds only with a 2xx answer, and follows no redirect. What the log may show of an error is the
// Message of a *contract.Error.
type Poster interface {
	Post(ctx context.Context, url string, header http.Header, body []byte, timeout time.Duration) error
}

// Sender delivers what is new when it is run, which is to be every minute. Two may run at once.
type Sender struct {
	Frontier    Frontier
	Shards      int
	Exclusions  func(ctx context.Context) (*contract.Exclusions, error)
	Ledger      Ledger
	Poster      Poster
	URL, Secret string // without a URL nothing is delivered
	Environment string
	Log         *slog.Logger
	Now         func() time.Time
}

// Run delivers what is new, unless an earlier failure or another run has it wait. That the receiver does not take it is no
// error: a later run tries again.
func (s *Sender) Run(ctx context.Context) error {
	if s.URL == "" {
		return nil
	}
	began := s.Now()
	d, err := s.Ledger.FeedDelivery(ctx)
	if err != nil || began.Before(d.NextAt) {
		return err
	}
	r := &run{Sender: s, state: d}
	for n := 0; err == nil && !r.over && n < maxDeliveries && s.Now().Sub(began) <= maxRun; n++ {
		err = r.deliver(ctx)
	}
	if err == nil && r.claimed {
		r.state.NextAt = time.Time{}
		_, err = s.Ledger.SaveFeedDelivery(ctx, &r.state)
	}
	return err
}

// run is one run of a Sender.
type run struct {
	*Sender
	state   ledger.FeedDelivery
	claimed bool // the stored state keeps other runs away, and lacks what was delivered last
	over    bool
}

// deliver delivers the next batch.
func (r *run) deliver(ctx context.Context) error {
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
		r.over, r.claimed = true, false // another run is at it
		return err
	}
	r.claimed = true
	if err := r.post(ctx, batch); err != nil {
		return r.failed(ctx, batch, err)
	}
	r.Log.Info("feed_delivered", "id", batch.ID, "items", len(batch.Items), "tries", d.Failures+1)
	d.Cursor, d.Pending, d.Failures, d.FailingSince = batch.Cursor, "", 0, time.Time{}
	r.over = !batch.HasMore
	return nil
}

// next is the delivery that was begun and not confirmed, or what is new; nil for nothing.
func (r *run) next(ctx context.Context) (*contract.FeedDelivery, error) {
	from, err := frontier.ParseCursor(r.state.Cursor, r.Shards)
	if err != nil {
		return nil, err
	}
	page := r.begun(ctx, from)
	if page == nil {
		fresh, err := r.Frontier.Feed(ctx, from, frontier.FeedRequest{Limit: maxItems})
		if err != nil {
			return nil, err
		}
		if slices.Equal(fresh.Next, from) {
			return nil, nil
		}
		page = &fresh
		from, r.state.Cursor = fresh.From, fresh.From.String() // so that what expires before the first delivery is missed
	}
	exclusions, err := r.Exclusions(ctx)
	if err != nil {
		return nil, err
	}
	batch := &contract.FeedDelivery{
		ID: idOf(from, page.Next), Items: []contract.FeedItem{}, Cursor: page.Next.String(), HasMore: page.More, Expired: page.Expired, Environment: r.Environment,
	}
	for i := range page.Items {
		if !exclusions.URL(page.Items[i].URL) {
			batch.Items = append(batch.Items, page.Items[i].Shown())
		}
	}
	return batch, nil
}

// begun reads again what the delivery has that was not confirmed; nil where there is none, or where it cannot be read any
// more: it is too old, or a shard does not answer. Its items then come in another delivery.
func (r *run) begun(ctx context.Context, from frontier.Cursor) *frontier.AllFeed {
	if r.state.Pending == "" {
		return nil
	}
	to, err := frontier.ParseCursor(r.state.Pending, r.Shards)
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

// idOf is the same for a delivery however often it is tried.
func idOf(from, to frontier.Cursor) string {
	sum := sha256.Sum256([]byte(from.String() + " " + to.String()))
	return hex.EncodeToString(sum[:16])
}

// post posts a delivery. One of which operators excluded everything counts as taken.
func (r *run) post(ctx context.Context, batch *contract.FeedDelivery) error {
	if len(batch.Items) == 0 && !batch.Expired {
		return nil
	}
	body := contract.Encode(batch)
	return r.Poster.Post(ctx, r.URL, http.Header{
		"Idempotency-Key": {batch.ID},
		SignatureHeader:   {Sign(r.Secret, r.Now(), body)},
	}, body, postTimeout)
}

// failed has the delivery tried again later.
func (r *run) failed(ctx context.Context, batch *contract.FeedDelivery, cause error) error {
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
	r.Log.Error("feed_webhook_failed", "error_type", contract.KindOf(cause), "error", cmp.Or(contract.MessageOf(cause), "the webhook could not be asked; see that FEED_WEBHOOK_URL is right"),
		"id", batch.ID, "tries", d.Failures, "next_at", d.NextAt.UTC())
	r.over, r.claimed = true, false
	_, err := r.Ledger.SaveFeedDelivery(ctx, d)
	return err
}

// SignatureHeader is the header with the signature of a delivery.
const SignatureHeader = "X-Newsfork-Signature"

// Sign signs a body: "t=", the time in seconds since 1970, ",v1=" and in hexadecimal the HMAC-SHA256 of the time, a dot
// and the body. A receiver that compares the time refuses what somebody sends again later.
func Sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}
