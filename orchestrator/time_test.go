package orchestrator_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
	"github.com/newsfork/seed-engine/r2"
)

// slow is a world in which every listing and every send takes a while. It plays bucket, queue and
// clock.
type slow struct {
	*r2.Memory
	*queue
	now   time.Time
	takes time.Duration
}

func (s *slow) List(ctx context.Context, o r2.ListOptions) (*r2.Page, error) {
	s.now = s.now.Add(s.takes)
	if err := ctx.Err(); err != nil { // as the bindings do
		return nil, err
	}
	return s.Memory.List(ctx, o)
}

func (s *slow) Send(ctx context.Context, b *contract.Batch) error {
	s.now = s.now.Add(s.takes)
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.queue.Send(ctx, b)
}

func slowWorld(t *testing.T, takes time.Duration, keys ...string) (*slow, *inFlight, *orchestrator.Orchestrator) {
	t.Helper()
	s := &slow{Memory: bucketOf(t, keys...), queue: &queue{}, now: time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC),
		takes: takes}
	l := &inFlight{}
	return s, l, &orchestrator.Orchestrator{
		Bucket: s, Queue: s, Ledger: l, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return s.now },
		Sleep: noSleep,
	}
}

// An orchestration with slow calls runs to its end. No run exceeds its time by much, and none ends without a
// continuation or an error.
func TestTime(t *testing.T) {
	var keys, want []string
	for _, country := range []string{"de", "sg"} {
		for n := range 1200 {
			k := key(country, "news", "2026-01-28", n)
			keys = append(keys, k)
			if n%3 == 0 {
				keys = append(keys, k+".success")
			} else {
				want = append(want, k)
			}
		}
	}
	for _, takes := range []time.Duration{time.Second, 6 * time.Second, time.Minute} {
		for _, f := range []contract.Filter{{}, {Category: "news"}, {Force: true}} {
			s, l, o := slowWorld(t, takes, keys...)
			next := contract.Continuation{Filter: f, RequestedAt: s.now}
			var total orchestrator.Result
			for runs := 1; ; runs++ {
				began := s.now
				s.more = nil
				r, err := o.Run(t.Context(), next)
				if err != nil {
					t.Fatal(err)
				}
				// The two listings before the first file, what remains of a batch, and the continuation.
				if took, limit := s.now.Sub(began), orchestrator.MaxTime+4*takes; took > limit {
					t.Errorf("%s a call: a run took %s, want at most %s", takes, took, limit)
				}
				total.FilesFound += r.FilesFound
				total.Sent += r.Sent
				total.Skipped += r.Skipped
				if len(l.at) != len(s.files) {
					t.Fatalf("%s a call: the ledger has %d of %d files", takes, len(l.at), len(s.files))
				}
				if !r.Continued {
					break
				}
				if runs == 100 {
					t.Fatalf("%s a call, %+v: no end; at %q", takes, f, s.more[0].Cursor)
				}
				next = s.more[0]
			}
			expected := want
			if f.Force {
				expected = slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k[len(k)-1] == 's' })
			}
			if !slices.Equal(s.files, expected) {
				t.Errorf("%s a call, %+v: queued %d files, want %d, each once", takes, f, len(s.files), len(expected))
			}
			if sums := (orchestrator.Result{FilesFound: 2400, Sent: len(expected),
				Skipped: 2400 - len(expected)}); total != sums {
				t.Errorf("%s a call, %+v: %+v, want %+v", takes, f, total, sums)
			}
		}
	}
}

// The send of the continuation fails, when the time of the run is over.
func TestContinuation_IsRetried(t *testing.T) {
	var keys []string
	for n := range 1000 {
		keys = append(keys, key("sg", "news", "2026-01-28", n))
	}
	s, l, o := slowWorld(t, 6*time.Second, keys...)
	s.fail = func(nth int) error {
		if nth == 4 { // after a listing and three batches
			return errors.New("the queue is busy")
		}
		return nil
	}
	r, err := o.Run(t.Context(), contract.Continuation{})
	if err != nil || r != (orchestrator.Result{FilesFound: 300, Sent: 300, Continued: true}) {
		t.Errorf("got %+v, %v", r, err)
	}
	if len(l.at) != 300 || len(s.more) != 1 {
		t.Errorf("%d files on record, continuations %v", len(l.at), s.more)
	}
}

// The caller hangs up after a few sends: finished work is recorded, and a continuation does the rest.
func TestContinuation_CallerHangsUp(t *testing.T) {
	var keys []string
	for n := range 3000 {
		keys = append(keys, key("sg", "news", "2026-01-28", n))
	}
	s, l, o := slowWorld(t, time.Millisecond, keys...)
	ctx, hangUp := context.WithCancel(t.Context())
	s.fail = func(nth int) error {
		if nth == 3 {
			hangUp()
		}
		return nil
	}
	r, err := o.Run(ctx, contract.Continuation{})
	if err != nil || r != (orchestrator.Result{FilesFound: 300, Sent: 300, Continued: true}) {
		t.Fatalf("got %+v, %v", r, err)
	}
	if len(l.at) != 300 || len(s.more) != 1 {
		t.Fatalf("%d files on record, continuations %v", len(l.at), s.more)
	}
	if r, err = o.Run(t.Context(), s.more[0]); err != nil || r.Sent != 2700 {
		t.Errorf("then: %+v, %v", r, err)
	}
	if !slices.Equal(s.files, keys) {
		t.Errorf("queued %d files, want 3,000, each once", len(s.files))
	}
}
