package connection

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

type line struct{ closed atomic.Bool }

func (l *line) Close() error {
	l.closed.Store(true)
	return nil
}

var errLost, errRefused, errDown = errors.New("lost"), errors.New("refused"), errors.New("down")

func TestConnection_IsKept(t *testing.T) {
	ctx := context.Background()
	var opened []*line
	down := false
	k := &Kept[*line]{
		Open: func(context.Context) (*line, error) {
			if down {
				return nil, errDown
			}
			opened = append(opened, &line{})
			return opened[len(opened)-1], nil
		},
		Survives: func(err error) bool { return err == errRefused },
	}
	check := func(what string, err, want error, lines, open int) {
		t.Helper()
		closed := 0
		for _, l := range opened {
			if l.closed.Load() {
				closed++
			}
		}
		if err != want || len(opened) != lines || len(opened)-closed != open {
			t.Errorf("%s: %v, not %v; %d connections, not %d; %d open, not %d", what, err, want, len(opened), lines,
				len(opened)-closed, open)
		}
	}
	answers := func(errs ...error) func(*line) error {
		return func(*line) error {
			err := errs[0]
			errs = errs[1:]
			return err
		}
	}
	check("unused", nil, nil, 0, 0)
	check("a call", k.Do(ctx, answers(nil)), nil, 1, 1)
	check("another", k.Do(ctx, answers(nil)), nil, 1, 1)
	check("one that is refused", k.Do(ctx, answers(errRefused)), errRefused, 1, 1)
	check("a connection that is lost", k.Do(ctx, answers(errLost, nil)), nil, 2, 1)
	check("one that is lost, and refused then", k.Do(ctx, answers(errLost, errRefused)), errRefused, 3, 1)
	check("lost twice", k.Do(ctx, answers(errLost, errLost)), errLost, 4, 0)
	check("a server that does not answer", k.Do(ctx, answers(os.ErrDeadlineExceeded)), os.ErrDeadlineExceeded, 5, 0)
	check("once", k.Once(ctx, answers(errLost)), errLost, 6, 0)
	down = true
	check("a server that is down", k.Do(ctx, answers()), errDown, 6, 0)
	down = false
	ended, cancel := context.WithCancel(ctx)
	check("a context that ends", k.Do(ended, func(*line) error {
		cancel()
		return errLost
	}), context.Canceled, 7, 0)
	check("one that has ended", k.Do(ended, answers()), context.Canceled, 7, 0)
	if _, ok := k.Take(); ok {
		t.Error("there is a connection to take")
	}
	check("again", k.Do(ctx, answers(nil)), nil, 8, 1)
	if c, ok := k.Take(); !ok || c != opened[7] {
		t.Error("there is no connection to take")
	}
	check("one that was taken", k.Do(ctx, answers(nil)), nil, 9, 2)
}

func TestBreaker(t *testing.T) {
	now, until := time.UnixMilli(1000), &atomic.Int64{}
	b := &Breaker{Until: until, Pause: time.Second, Now: func() time.Time { return now }}
	calls := 0
	call := func(ctx context.Context, err error) error {
		return b.Do(ctx, func() error {
			calls++
			return err
		})
	}
	check := func(what string, got, want error, n int) {
		t.Helper()
		if got != want || calls != n {
			t.Errorf("%s: %v after %d calls, not %v after %d", what, got, calls, want, n)
		}
	}
	ctx := context.Background()
	gone, cancel := context.WithCancel(ctx)
	cancel()
	check("a success", call(ctx, nil), nil, 1)
	check("a refusal", call(ctx, errRefused), errRefused, 2)
	check("a client that went away", call(gone, os.ErrDeadlineExceeded), os.ErrDeadlineExceeded, 3)
	check("a timeout", call(ctx, os.ErrDeadlineExceeded), os.ErrDeadlineExceeded, 4)
	now = now.Add(time.Second - time.Millisecond)
	check("a moment later", call(ctx, nil), ErrPaused, 4)
	now = now.Add(time.Millisecond)
	check("a second later", call(ctx, nil), nil, 5)
	b.Trips = func(error) bool { return true }
	check("any failure", call(ctx, errRefused), errRefused, 6)
	check("after it", call(ctx, nil), ErrPaused, 6)
	b = nil
	check("none", call(ctx, errRefused), errRefused, 7)
}
