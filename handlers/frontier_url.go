package handlers

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/markup"
)

// frontierURL shows the state of one URL.
func (a frontierRoutes) frontierURL(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "url")
	if err != nil {
		return err
	}
	url := q.text("url")
	if url == "" {
		q.fail(contract.Invalid("url", "is missing; send an http or https URL"))
	}
	if q.err != nil {
		return q.err
	}
	s, err := a.Frontier.URL(r.Context(), url)
	if err != nil {
		return shardAway(w, err)
	}
	answer := contract.FrontierURL{URL: url, State: s.State, Why: s.Why, DueAt: contract.AtMillis(s.DueAt),
		LeaseUntil: contract.AtMillis(s.LeaseUntil), Checks: []contract.FrontierCheck{},
		Reason:   contract.Text(s.Reason),
		Attempts: s.Attempts, LastStatus: statusOf(s.LastStatus), Visits: s.Visits,
		Fetched: contract.AtMillis(s.Fetched.Millis())}
	if s.Reason != "" {
		answer.Priority = &s.Priority
	}
	if s.State != stateExcluded && s.State != stateLeased && a.forbidden(r.Context(), &s, url) {
		answer.State, answer.Why = stateForbidden, "the robots.txt that the last collection read forbids it"
	}
	if e := s.Entry; e != nil {
		answer.Entry = &contract.FrontierEntry{
			Method: e.Method, Interval: e.Interval, ETag: contract.Text(e.ETag),
			LastModified: contract.Text(e.LastModified),
			ChangedAt:    contract.AtMillis(e.ChangedAt), Failures: e.Failures,
		}
		answer.LastStatus = statusOf(e.LastStatus)
		answer.Checks = checksOf(e)
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

// States of URLs that are not the frontier's alone.
const (
	stateExcluded  = "excluded"
	stateLeased    = "leased"
	stateForbidden = "forbidden"
)

// forbidden reports whether the robots.txt stored with the last collection of a URL's domain forbids it. One that
// could not be read forbids nothing for good: its pages wait until it can be.
func (a frontierRoutes) forbidden(ctx context.Context, s *frontier.URLState, url string) bool {
	if s.Evidence.At == 0 {
		return false
	}
	dir := contract.DomainDir{Partition: s.Evidence.Partition, Domain: s.Domain}
	var doc contract.Document
	data, err := domainRoutes(a).document(ctx, dir.Document())
	if err == nil && data != nil {
		if err = json.Unmarshal(data, &doc); err == nil {
			if txt := &doc.Technical.RobotsTxt; !txt.Exists && !txt.AllowsCrawling {
				return false
			}
			var stored *collector.Stored
			if stored, err = a.Evidence.Stored(ctx, dir, &doc, func(string) bool { return false }); err == nil {
				canonical, _ := markup.AppendCanonical(nil, []byte(url))
				look, _ := stored.Look(string(canonical))
				return look.Allowed != nil && !*look.Allowed
			}
		}
	}
	if err != nil {
		a.Log.Warn("evidence_unreadable", "error_type", contract.KindOf(err), "error", err.Error(), "key",
			dir.Document())
	}
	return false
}

// checksOf returns the last checks of an entry point.
func checksOf(e *frontier.EntryState) []contract.FrontierCheck {
	checks := []contract.FrontierCheck{}
	for _, c := range e.Checks {
		checks = append(checks, contract.FrontierCheck{At: *contract.AtMillis(max(c.At, 1).Millis()),
			Status: statusOf(c.Status), Changed: c.Changed})
	}
	return checks
}
