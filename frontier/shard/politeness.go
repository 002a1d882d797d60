package shard

import (
	"fmt"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

// These rules derive a host's next ready time from its answers.
//
// A host's interval is its crawl delay. A 429 or 503 doubles it, from one second up to one hour, and once for each
// lease. Every calmAnswers other answers halve it again. A Retry-After is obeyed as well, but a short one does not
// keep the interval from doubling. A host whose name does not resolve is left alone for an hour.
//
// Failures count for the host, not for its pages. A host that does not answer, or answers as a broken server, rests
// for longer each time, and is then probed with one page. So does a host that refuses several pages in a row.
const (
	calmAnswers = 8

	// noRobotsFor is the rest of a host whose robots.txt cannot be read. Everything is forbidden then (RFC 9309,
	// 2.3.1.4), which is not the fault of its pages.
	noRobotsFor = time.Hour

	// maxTries is the number of times that the server may be broken for a page but not for others.
	maxTries = 3
	// retryBase is the wait before such a page is tried again. It grows by 2^retryShift each time, up to maxRetry.
	retryBase  = time.Minute
	retryShift = 3
	maxRetry   = day

	// refusing is the number of refused pages in a row from which refusals count for the host, not the pages.
	refusing = 3
	// maxRefusals is the number of refusals after which a page is given up; see refusedWaits.
	maxRefusals = 8
)

// refusedWaits are the times after which a refused page is requested again. A page that is refused once more is gone,
// unless the host refused its previous page as well. The second wait outlasts a day on which a site refuses pages at
// random.
var refusedWaits = [...]time.Duration{time.Hour, day}

// rests are the times for which a host rests after failures in a row. After restsADay more it rests for dailyRest.
var rests = [...]time.Duration{time.Minute, 5 * time.Minute, 25 * time.Minute, 2 * time.Hour}

const (
	restsADay = 12
	dailyRest = day
)

// restAfter returns how long a host rests after failures in a row.
func restAfter(failures int64) time.Duration {
	if failures > int64(len(rests)+restsADay) {
		return dailyRest
	}
	return rests[max(0, min(failures, int64(len(rests)))-1)]
}

// outcome is the consequence of a response for its page.
type outcome int

const (
	fetched    outcome = iota
	gone               // the page does not exist, or must not be fetched
	refused            // this page, or all pages of the host
	broken             // the server failed, for this page or for all
	unanswered         // no response, to this request or to all
	postponed          // to be tried later; not the fault of the page
)

// outcomeOf returns what a response means for the page. Statuses 408 and 425 ask for a repetition: RFC 9110, 15.5.9,
// and RFC 8470, 5.2.
func outcomeOf(r *frontier.Result) outcome {
	switch {
	case r.NotFetched, r.NoRobots, throttled(r), r.Status == 408, r.Status == 425:
		return postponed
	case r.Forbidden:
		return gone
	case r.Unresolved, r.Status == 0:
		return unanswered
	case r.Status >= 500:
		return broken
	case r.Status == 401, r.Status == 403, r.Status == 451:
		return refused
	case r.Status >= 400:
		return gone
	}
	return fetched
}

// recordResponse updates the host from a response to the URL of a hash.
func (c *call) recordResponse(h *store.Host, hash uint64, r *frontier.Result) {
	h.Change()
	o := outcomeOf(r)
	if o == unanswered || o == broken || o == refused || o == postponed && !r.NotFetched {
		recordFault(c, h, hash, r.Status, r.Error)
	}
	switch {
	case r.NoRobots:
		wait := seconds(r.RetryAfter) // a 429 or 503, which also slows the host down
		if wait == 0 {
			wait = noRobotsFor
		}
		h.Ready = max(h.Ready, c.now.Add(wait))
	case throttled(r):
		h.Ready = max(h.Ready, c.now.Add(seconds(r.RetryAfter)))
	case o == postponed || r.Forbidden: // no request was sent
	case o == unanswered || o == broken:
		if r.Unresolved {
			h.Unresolved = c.now.Add(frontier.UnresolvedFor)
		}
		if h.Failures == 0 || h.Ready <= c.now { // otherwise its lease has already counted one
			h.Failures++
			h.Ready = max(h.Ready, c.now.Add(restAfter(h.Failures)))
		}
	case o == refused:
		calm(h)
		h.Failures = 0
		if h.Refusals++; h.Refusals >= refusing {
			h.Ready = max(h.Ready, c.now.Add(restAfter(h.Refusals)))
		}
	default:
		calm(h)
		h.Failures, h.Refusals = 0, 0
		h.Fault.Answered(hash)
	}
}

// recordFault records the last failed request to a host. hash is that of its URL, or 0.
func recordFault(c *call, h *store.Host, hash uint64, status int, text string) {
	h.Fail(frontier.Fault{At: c.seconds(), Status: status, Error: cut(text, frontier.MaxFaultBytes)}, hash)
}

// faultText describes a failure: "with status 502", or "without an answer: " and why.
func faultText(f *frontier.Fault) string {
	switch {
	case f.Status != 0:
		return fmt.Sprintf("with status %d", f.Status)
	case f.Error == contract.ReportNoRobots:
		return "without a robots.txt that can be read"
	case f.Error != "":
		return "without an answer: " + f.Error
	}
	return "without an answer"
}

// probed reports whether a lease takes only one page of a host, to probe it.
func probed(h *store.Host) bool { return h.Slow > 0 || h.Failures > 0 || h.Refusals >= refusing }

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
