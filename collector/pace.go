package collector

import (
	"context"
	"io"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/robots"
	"github.com/newsfork/seed-engine/sitemap"
)

// Work on URLs is measured in the steps of robots.Group.Cost, of some 24 ns each in WebAssembly.
const (
	stepsPerURL   = 500       // for its analysis, in addition to matching
	stepsPerYield = 2_000_000 // between two pauses
)

// maxSteps caps the steps of matching a domain's URLs against robots.txt. Tests change it.
var maxSteps = robots.MaxSteps

// pace yields to other goroutines during long work. Go has one thread in WebAssembly, and timers fire only while
// every goroutine waits: without pauses no lease is renewed and no timeout fires.
type pace struct {
	ctx     context.Context
	clock   fetch.Clock
	expired func() error // returns why the work must end, or nil
	steps   int          // since the last pause
	err     error        // why the work must end
}

func newPace(ctx context.Context, clock fetch.Clock, expired func() error) *pace {
	return &pace{ctx: ctx, clock: clock, expired: expired}
}

// spend counts steps, and pauses when enough have been counted.
func (p *pace) spend(steps int) {
	if p.steps += steps; p.steps < stepsPerYield || p.err != nil {
		return
	}
	p.steps = 0
	if err := p.clock.Sleep(p.ctx, time.Millisecond); err != nil {
		p.err = contract.Wrap(contract.Timeout, "collector.pace", err)
		return
	}
	p.err = p.expired()
}

// parse is like sitemap.Parse, but ends early when the work must end.
func (g *gathering) parse(body io.Reader, base string, o sitemap.Options, fn func(*sitemap.Entry)) (sitemap.Summary,
	error) {
	s, err := sitemap.Parse(&paced{body, g.pace}, base, o, func(e *sitemap.Entry) {
		if g.pace.err == nil {
			fn(e)
		}
	})
	if g.pace.err != nil {
		g.noteLimit(g.pace.err)
		return s, g.pace.err
	}
	return s, err
}

// paced is a body that fails when the work must end.
type paced struct {
	io.Reader
	pace *pace
}

func (r *paced) Read(p []byte) (int, error) {
	if r.pace.err != nil {
		return 0, r.pace.err
	}
	return r.Reader.Read(p)
}
