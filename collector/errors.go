package collector

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
)

// The error_types of requests that were not sent.
const (
	disallowed    = "robots_disallowed" // robots.txt forbids it
	unknownRobots = "robots_unknown"    // robots.txt of its host was not read
	excluded      = "excluded"          // an operator excluded it
)

// ErrExcluded is returned when operators have excluded every host of the domain. Nothing is written then.
var ErrExcluded = fetch.ErrExcluded

// postponed reports whether a request was not sent because its host is busy or not ready.
func postponed(err error) bool {
	return errors.Is(err, fetch.ErrHostBusy) || errors.Is(err, fetch.ErrFrontier)
}

// failed returns the document's description of an error.
func failed(err error) contract.Failure {
	var e *contract.Error
	message := contract.Reason(err)
	if errors.As(err, &e) && e.Message != "" {
		message = e.Message
	}
	kind := string(contract.KindOf(err))
	switch {
	case errors.Is(err, fetch.ErrDisallowed):
		kind = disallowed
	case errors.Is(err, fetch.ErrRobotsUnknown):
		kind = unknownRobots
	case errors.Is(err, fetch.ErrExcluded):
		kind = excluded
	}
	return contract.Failure{Error: contract.ShortText(message), ErrorType: contract.Text(kind)}
}

// retryable reports whether a failed request is worth repeating: it failed, and not because of a limit.
func retryable(failure error) bool {
	kind := contract.KindOf(failure)
	return failure != nil && (kind == contract.Network || kind == contract.Timeout)
}

// noteFailure records a failure that made the discovery incomplete, in the document's errors and in the log. It
// ignores missing files, which have no error_type, and URLs that robots.txt forbids or operators excluded.
func (g *gathering) noteFailure(link string, retries int, why contract.Failure) {
	if why.ErrorType == nil || *why.ErrorType == disallowed || *why.ErrorType == excluded {
		return
	}
	t := discovery.NetworkFailure
	switch contract.Kind(*why.ErrorType) {
	case contract.Timeout:
		t = discovery.TimeoutFailure
	case contract.Parse:
		t = discovery.ParsingFailure
	case contract.Internal:
		t = discovery.ClassificationFailure
	}
	f := discovery.Failure{Type: t, ErrorType: *why.ErrorType, URL: link[:min(len(link), contract.MaxLinkBytes)],
		Message: *why.Error, RetryCount: retries}
	if !g.found.analysis.analyser.Fail(f) {
		return
	}
	g.collector.Log.Error("url_discovery_error", "domain_id", g.message.DomainID,
		"registrable_domain", g.message.Domain,
		"type", f.Type, "error_type", f.ErrorType, "url", f.URL, "message", f.Message, "retry_count", f.RetryCount)
}

// addSighting adds a URL to the analysis. A URL on which the analysis panics is skipped, so that it does not cost the
// domain its document.
func (g *gathering) addSighting(f *discovery.Sighting) {
	defer func() {
		if broken := recover(); broken != nil {
			err := &contract.Error{Kind: contract.Internal, Op: "collector.addSighting",
				Message: fmt.Sprintf("the URL could not be classified: %v", broken)}
			g.collector.Log.Error("discovery_failed", "error_type", err.Kind, "error", err.Message,
				"domain_id", g.message.DomainID, "stack", string(debug.Stack()))
			g.noteFailure(string(f.Loc), 0, failed(err))
		}
	}()
	g.found.analysis.analyser.Add(f)
}

// noteMiss records that the home page, a feed or a page was not read although it might exist. It reports whether more
// requests may be sent.
func (g *gathering) noteMiss(link string, a *fetch.Answer, failure error) bool {
	if g.noteLimit(failure) {
		return false
	}
	why := failed(failure)
	g.noteFailure(link, a.Retries, why)
	g.found.failed = g.found.failed || !g.crawling && retryable(failure)
	if kind := contract.Kind(*why.ErrorType); kind == contract.Network || kind == contract.Timeout ||
		kind == unknownRobots || postponed(failure) {
		g.found.partial = g.found.partial || !g.crawling
	}
	return true
}
