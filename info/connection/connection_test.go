package connection

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
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
	check("once", k.Once(ctx, answers(errLost)), errLost, 5, 0)
	down = true
	check("a server that is down", k.Do(ctx, answers()), errDown, 5, 0)
	down = false
	ended, cancel := context.WithCancel(ctx)
	check("a context that ends", k.Do(ended, func(*line) error {
		cancel()
		return errLost
	}), errLost, 6, 0)
	check("one that has ended", k.Do(ended, answers()), context.Canceled, 6, 0)
	if _, ok := k.Take(); ok {
		t.Error("there is a connection to take")
	}
	check("again", k.Do(ctx, answers(nil)), nil, 7, 1)
	if c, ok := k.Take(); !ok || c != opened[6] {
		t.Error("there is no connection to take")
	}
	check("one that was taken", k.Do(ctx, answers(nil)), nil, 8, 2)
}
