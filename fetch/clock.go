package fetch

import (
	"context"
	"time"
)

// Clock measures time and waits.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or with the error of ctx once that is done.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock returns the machine's clock, for native programs. In a Worker, Go's timers end with the event in which
// they were set.
func SystemClock() Clock { return systemClock{} }

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
