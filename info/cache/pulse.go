package cache

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// every is how often it is looked whether a store answers of which no page needs anything.
	every = 5 * time.Second
	// patience is how long it may take to.
	patience = 3 * time.Second
)

// Cell is a number, 0 at first.
type Cell interface {
	Load() int64
	Store(n int64)
}

// Pulse is whether the store answers, as far as readers have noticed. Its zero value is good for one Reader; with
// cells that readers share, all of them notice what one does.
type Pulse struct {
	// Due is from when on the store is to be asked, and Silent since when it is asked in vain, 0 when it answers;
	// both in milliseconds since 1970.
	Due, Silent Cell

	due, silent atomic.Int64
}

func (p *Pulse) cells() (due, silent Cell) {
	if p.Due == nil {
		return &p.due, &p.silent
	}
	return p.Due, p.Silent
}

// gone reports whether the store does not answer.
func (p *Pulse) gone(now time.Time) bool {
	_, silent := p.cells()
	since := silent.Load()
	return since != 0 && now.UnixMilli()-since > patience.Milliseconds()
}

// claim reports whether it is time to ask the store, and makes it so again only after a while.
func (p *Pulse) claim(now time.Time) bool {
	due, _ := p.cells()
	return claim(due, now, every)
}

// ask asks the store. Whoever looks meanwhile sees it silent once it has taken too long, also if this instance does
// not live to see an answer.
func (p *Pulse) ask(ctx context.Context, now time.Time, question func(ctx context.Context) error) error {
	_, silent := p.cells()
	before := silent.Load()
	if before == 0 {
		silent.Store(now.UnixMilli())
	}
	hurried, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := question(hurried)
	if ctx.Err() != nil {
		silent.Store(before) // the event ended, which says nothing of the store
		return err
	}
	p.answered(err, now)
	return err
}

// answered notes how the store answered.
func (p *Pulse) answered(err error, now time.Time) {
	due, silent := p.cells()
	due.Store(now.Add(every).UnixMilli())
	if err == nil {
		silent.Store(0)
	} else {
		silent.Store(1)
	}
}

// claim reports whether something is due, and when it is, makes it due again only after d.
func claim(due Cell, now time.Time, d time.Duration) bool {
	if due.Load() > now.UnixMilli() {
		return false
	}
	due.Store(now.Add(d).UnixMilli())
	return true
}
