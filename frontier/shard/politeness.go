package shard

import (
	"time"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// How a host's answers change when it may be fetched from again.
//
// Its interval is the delay it asks for. A 429 or 503 doubles it, from slowBase up to maxSlow, once for all
// that was asked under one lease; every calmAnswers other answers halve it again. A Retry-After is obeyed
// besides: it may ask for more, and one that always asks for less does not keep the host from slowing down.
// A host whose name does not resolve is left alone for an hour.
const (
	calmAnswers   = 8
	unresolvedFor = time.Hour

	// noRobotsFor is the time that a host is left alone whose robots.txt cannot be read: everything is forbidden then
	// (RFC 9309, 2.3.1.4), which is no fault of its pages.
	noRobotsFor = time.Hour

	// retryBase is the time after which a page is tried again whose host answered 5xx or not at all; each time it is
	// 2^retryShift times as long.
	retryBase  = time.Minute
	retryShift = 3
)

// outcome is the meaning of a response for the page.
type outcome int

const (
	fetched   outcome = iota
	gone              // refused for good
	failed            // to be tried again, a few times
	postponed         // to be asked for later, which is no fault of the page
)

// answered updates the host from a response, and returns its outcome.
func (c *call) answered(h *store.Host, r *frontier.Result) outcome {
	h.Change()
	switch {
	case r.NotFetched:
		return postponed
	case r.Forbidden:
		return gone
	case r.NoRobots:
		wait := seconds(r.RetryAfter) // a 429 or 503, which also slows the host down
		if wait == 0 {
			wait = noRobotsFor
		}
		h.Ready = max(h.Ready, c.now.Add(wait))
		return postponed
	case r.Unresolved:
		h.Unresolved = c.now.Add(unresolvedFor)
		return failed
	case throttled(r):
		h.Ready = max(h.Ready, c.now.Add(seconds(r.RetryAfter)))
		return postponed
	case r.Status == 0:
		return failed
	}
	calm(h)
	switch {
	case r.Status >= 500:
		return failed
	case r.Status >= 400:
		return gone
	}
	return fetched
}

// throttled reports whether the answer asks for fewer requests.
func throttled(r *frontier.Result) bool { return r.Status == 429 || r.Status == 503 }

// slowDown doubles a host's interval.
func slowDown(h *store.Host) { h.Slow, h.Calm = min(h.Slow+1, store.MaxDoublings), 0 }

// calm counts a good answer, and halves the interval after calmAnswers of them.
func calm(h *store.Host) {
	if h.Slow == 0 {
		return
	}
	if h.Calm++; h.Calm >= calmAnswers {
		h.Slow--
		h.Calm = 0
	}
}
