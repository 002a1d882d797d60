package handlers

import (
	"net/http"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/robots"
)

// Visits serve programs that fetch pages which the frontier does not lease, such as the Info service. A visitor holds
// the registrable domain of a host, as a collector does: nobody else sends requests to its hosts meanwhile.

const (
	minVisitSeconds = 5
	maxVisitSeconds = 120
)

// visitOwner is the prefix of visitors' names among the owners of domains. Those of collectors are random texts
// without a dash.
const visitOwner = "visit-"

// visitor names a visit: the host and whoever visits it.
type visitor struct {
	Host    string `json:"host"`
	Visitor string `json:"visitor"`
}

// check returns the registrable domain and the owner of a visit.
func (v *visitor) check() (domain, owner string, err error) {
	if err := contract.CheckDomain("host", v.Host); err != nil {
		return "", "", err
	}
	if n := len(v.Visitor); n < 8 || n > 64 {
		return "", "", contract.Invalid("visitor",
			"must have 8 to 64 characters, got %d; make up a name for each visit", n)
	}
	domain, ok := contract.RegistrableDomain(v.Host)
	if !ok {
		domain = v.Host
	}
	return domain, visitOwner + v.Visitor, nil
}

// beginVisit grants the host to the visitor, or answers with the reason against it. Repeated, it prolongs the visit.
func (a frontierRoutes) beginVisit(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		visitor
		Seconds *int64 `json:"seconds"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return err
	}
	domain, owner, err := body.check()
	if err != nil {
		return err
	}
	if err := within("seconds", body.Seconds, minVisitSeconds, maxVisitSeconds); err != nil {
		return err
	}
	controls, exclusions, err := a.Controls.Read(r.Context())
	switch {
	case err != nil:
		return err
	case exclusions.Domain(domain):
		return refuseVisit(w, contract.VisitExcluded, 0)
	case controls.Pipeline.Paused:
		return refuseVisit(w, contract.VisitBusy, pausedRetryAfter*time.Second)
	}
	now := a.Now()
	answer, err := a.Frontier.Of(domain).Acquire(r.Context(), frontier.AcquireRequest{Domain: domain, Owner: owner,
		Seconds: *body.Seconds, Hosts: []string{body.Host}, Try: true})
	switch {
	case err != nil:
		return shardAway(w, err)
	case answer.Excluded:
		return refuseVisit(w, contract.VisitExcluded, 0)
	case !answer.Granted:
		return refuseVisit(w, contract.VisitBusy, time.Duration(answer.RetryIn)*time.Millisecond)
	}
	host := answer.Hosts[0]
	reason, wait := "", time.Duration(0)
	switch ends := epoch.MillisOf(now).Add(time.Duration(*body.Seconds) * time.Second); {
	case host.Excluded:
		reason = contract.VisitExcluded
	case host.Unresolved > epoch.MillisOf(now):
		reason, wait = contract.VisitUnresolved, host.Unresolved.Time().Sub(now)
	case max(host.ReadyAt, host.BlockedUntil) >= ends:
		reason, wait = contract.VisitBusy, max(host.ReadyAt, host.BlockedUntil).Time().Sub(now)
	}
	if reason != "" {
		// If this fails, the visit ends by itself.
		_, err := a.Frontier.Of(domain).Release(r.Context(), frontier.ReleaseRequest{Domain: domain, Owner: owner})
		if err != nil {
			a.Log.Warn("frontier_failed", "error_type", contract.KindOf(err), "error", err.Error(),
				"registrable_domain", domain)
		}
		return refuseVisit(w, reason, wait)
	}
	httpapi.Succeed(w, http.StatusOK, contract.FrontierVisit{Granted: true,
		ExpiresAt: contract.At(now.Add(time.Duration(*body.Seconds) * time.Second).UTC()),
		ReadyAt:   contract.AtMillis(max(host.ReadyAt, host.BlockedUntil)), Delay: seconds(host.Delay)})
	return nil
}

func refuseVisit(w http.ResponseWriter, reason string, wait time.Duration) error {
	answer := contract.FrontierVisit{Reason: &reason}
	if wait > 0 {
		s := int64((wait + time.Second - 1) / time.Second)
		answer.RetryAfter = &s
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

// endVisit returns the host, with what the visitor has learned of it. It is harmless if the visit is over.
func (a frontierRoutes) endVisit(w http.ResponseWriter, r *http.Request) error {
	if err := onlyQuery(r); err != nil {
		return err
	}
	var body struct {
		visitor
		AskedAt       *time.Time `json:"asked_at"`
		CrawlDelay    float64    `json:"crawl_delay_seconds"`
		RobotsExpires *time.Time `json:"robots_expires_at"`
		RetryAfter    int64      `json:"retry_after_seconds"`
		Throttled     bool       `json:"throttled"`
		Unresolved    bool       `json:"unresolved"`
	}
	if err := httpapi.ReadJSON(r, &body); err != nil {
		return err
	}
	domain, owner, err := body.check()
	if err != nil {
		return err
	}
	if err := firstError(
		within("crawl_delay_seconds", &body.CrawlDelay, 0, float64(maxDelay)),
		within("retry_after_seconds", &body.RetryAfter, 0, maxDelay),
	); err != nil {
		return err
	}
	now := a.Now()
	visit := frontier.HostFindings{Host: body.Host, RetryAfter: body.RetryAfter, Throttled: body.Throttled,
		Unresolved: body.Unresolved}
	if body.AskedAt != nil {
		visit.AskedAt = max(epoch.MillisOf(earliest(*body.AskedAt, now)), 0)
	}
	if body.RobotsExpires != nil && body.RobotsExpires.After(now) {
		visit.RobotsExpires = epoch.MillisOf(earliest(*body.RobotsExpires, now.Add(robots.MaxAge)))
		visit.Delay = int64(body.CrawlDelay * 1000)
	}
	released, err := a.Frontier.Of(domain).Release(r.Context(),
		frontier.ReleaseRequest{Domain: domain, Owner: owner, Hosts: []frontier.HostFindings{visit}})
	if err != nil {
		return shardAway(w, err)
	}
	httpapi.Succeed(w, http.StatusOK, contract.FrontierVisitEnded{Ended: released})
	return nil
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
