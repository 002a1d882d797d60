package handlers_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/handlers"
	"github.com/newsfork/seed-engine/ledger"
	"github.com/newsfork/seed-engine/r2"
)

func TestReadiness_Failure(t *testing.T) {
	f := newFixture(t, nil)
	f.db.Fail = func() error { return errors.New("no such binding") }
	r := f.do(t, "GET", "/health/ready", "")
	if r.status != 503 || r.Error.Code != "storage_error" || !strings.Contains(string(r.Data), `"d1":"failed"`) ||
		!strings.Contains(string(r.Data), `"r2":"ok"`) {
		t.Errorf("got %d %s %+v", r.status, r.Data, r.Error)
	}
}

func TestReadiness_NotMigrated(t *testing.T) {
	f := newFixture(t, nil)
	if _, err := f.db.Batch(t.Context(), []ledger.Statement{
		{SQL: `DELETE FROM d1_migrations WHERE name > '0003'`}}); err != nil {
		t.Fatal(err)
	}
	r := f.do(t, "GET", "/health/ready", "")
	if r.status != 503 || !strings.Contains(r.Error.Message, "make deploy-staging") ||
		!strings.Contains(string(r.Data), `"d1":"not_migrated"`) {
		t.Errorf("got %d %s %+v", r.status, r.Data, r.Error)
	}
}

// The route is public, so it must not cost calls of R2 and D1 without limit.
func TestReadiness_Cached(t *testing.T) {
	f := newFixture(t, nil)
	var lists, pings atomic.Int32
	f.bucket.Fail = func(op, _ string) error {
		if op == "list" {
			lists.Add(1)
		}
		return nil
	}
	f.db.Fail = func() error { pings.Add(1); return nil }
	var together sync.WaitGroup
	for range 50 {
		together.Go(func() {
			if w := f.raw(t, "GET", "/health/ready", ""); w.Code != 200 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	together.Wait()
	if lists.Load() != 1 || pings.Load() != 1 {
		t.Errorf("50 requests asked R2 %d times and D1 %d times, want once", lists.Load(), pings.Load())
	}
	f.db.Fail = func() error { pings.Add(1); return errors.New("down") }
	f.now = f.now.Add(handlers.ReadinessAge - time.Millisecond)
	if r := f.do(t, "GET", "/health/ready", ""); r.status != 200 {
		t.Errorf("within the age of an answer: %d", r.status)
	}
	f.now = f.now.Add(time.Millisecond)
	for range 5 {
		if r := f.do(t, "GET", "/health/ready", ""); r.status != 503 {
			t.Errorf("after it: %d", r.status)
		}
	}
	if lists.Load() != 2 || pings.Load() != 2 {
		t.Errorf("R2 was asked %d times and D1 %d times, want twice", lists.Load(), pings.Load())
	}
}

// Callers that hang up do not get around the limit, and their checks are not taken for failures.
func TestReadiness_CallerGone(t *testing.T) {
	f := newFixture(t, nil)
	lists := 0
	ctx, hangUp := context.WithCancel(t.Context())
	f.api.Bucket = bucketThat{f.bucket, func(ctx context.Context) error { lists++; hangUp(); return ctx.Err() }}
	for range 5 {
		f.rawWith(t, ctx, "GET", "/health/ready", "")
	}
	if r := f.do(t, "GET", "/health/ready", ""); r.status != 200 || lists != 1 {
		t.Errorf("the next caller: %d %s, when R2 was asked %d times", r.status, r.Data, lists)
	}
}

// bucketThat runs list before each listing.
type bucketThat struct {
	bucket
	list func(context.Context) error
}

func (b bucketThat) List(ctx context.Context, o r2.ListOptions) (*r2.Page, error) {
	if err := b.list(ctx); err != nil {
		return nil, err
	}
	return b.bucket.List(ctx, o)
}

func TestLiveness(t *testing.T) {
	f := newFixture(t, nil)
	for _, path := range []string{"/health", "/health/live"} {
		want := `{"success":true,"data":{"status":"ok","version":"` + contract.Version + `"}}`
		if w := f.raw(t, "GET", path, ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}
