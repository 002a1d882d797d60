package cache

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/newsfork/seed-engine/info/connection"
)

const (
	// probeInterval separates probes of an idle store.
	probeInterval = 5 * time.Second
	// probeTimeout limits a probe.
	probeTimeout = 3 * time.Second
)

// Cell is a shared number, initially 0.
type Cell = connection.Cell

// Pulse tracks whether the store answers readers. The zero value serves one Reader; with shared cells, all readers
// share their observations.
type Pulse struct {
	// Due is the time of the next probe, Silent the time since which the store has not answered, 0 if it answers.
	// Both are epoch.Millis.
	Due, Silent Cell

	due, silent atomic.Int64
}

func (p *Pulse) cells() (due, silent Cell) {
	if p.Due == nil {
		return &p.due, &p.silent
	}
	return p.Due, p.Silent
}

// gone reports whether the store is down.
func (p *Pulse) gone(now time.Time) bool {
	_, silent := p.cells()
	since := silent.Load()
	return since != 0 && now.UnixMilli()-since > probeTimeout.Milliseconds()
}

// claim reports whether a probe is due, and postpones the next one.
func (p *Pulse) claim(now time.Time) bool {
	due, _ := p.cells()
	return claim(due, now, probeInterval)
}

// ask calls the store. If the call takes too long, other readers see the store as down, even if this instance dies
// before the answer.
func (p *Pulse) ask(ctx context.Context, now time.Time, question func(ctx context.Context) error) error {
	_, silent := p.cells()
	before := silent.Load()
	if before == 0 {
		silent.Store(now.UnixMilli())
	}
	hurried, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := question(hurried)
	if ctx.Err() != nil {
		silent.Store(before) // the event ended: nothing is known about the store
		return err
	}
	p.answered(err, now)
	return err
}

// answered records the store's answer.
func (p *Pulse) answered(err error, now time.Time) {
	due, silent := p.cells()
	due.Store(now.Add(probeInterval).UnixMilli())
	if err == nil {
		silent.Store(0)
	} else {
		silent.Store(1)
	}
}

// claim reports whether something is due, and if so postpones it by d.
func claim(due Cell, now time.Time, d time.Duration) bool {
	if due.Load() > now.UnixMilli() {
		return false
	}
	due.Store(now.Add(d).UnixMilli())
	return true
}
