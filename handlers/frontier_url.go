package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/collector"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
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
	answer := contract.FrontierURL{URL: url, State: s.State, Why: s.Why, WhyCode: s.WhyCode,
		DueAt:      contract.AtMillis(s.DueAt),
		LeaseUntil: contract.AtMillis(s.LeaseUntil), Checks: []contract.FrontierCheck{},
		Reason:   contract.Text(s.Reason),
		Attempts: s.Attempts, LastStatus: statusOf(s.LastStatus), LastFailure: failureOf(s.Fault), Visits: s.Visits,
		Fetched: contract.AtMillis(s.Fetched.Millis())}
	if s.Reason != "" {
		answer.Priority = &s.Priority
	}
	canonical, _ := markup.AppendCanonical(nil, []byte(url))
	e := a.collected(r.Context(), &s, string(canonical))
	a.explain(r.Context(), &answer, &s, e)
	if answer.Priority != nil {
		answer.ScoreWhy = contract.Text(e.score(&s, a.Now()))
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

// explain adds who keeps a URL from being given, if somebody does. What operators decide counts at once, even if the
// URL's shard does not know of it yet.
func (a frontierRoutes) explain(ctx context.Context, u *contract.FrontierURL, s *frontier.URLState, e collected) {
	controls, _, err := a.Controls.Read(ctx)
	if err != nil { // then those that were read last
		a.Log.Warn("controls_failed", "error_type", contract.KindOf(err), "error", err.Error())
	}
	host := hostOfURL(e.url)
	if x := controls.Excluding(e.url); x != nil {
		u.State, u.StoppedBy = contract.URLExcluded, x.Stop()
		u.WhyCode = contract.WhyExcluded
		u.Why = "operators excluded the " + x.Kind + " " + x.Value
		return
	}
	switch {
	case s.State == contract.URLLeased, s.State == contract.URLExcluded:
		return // allowed again, which its shard does not know yet
	case s.Rule != "":
		u.State, u.StoppedBy = contract.URLForbidden, robotsStop(host, s.Rule)
		u.WhyCode = contract.WhyForbidden
		u.Why = "the robots.txt of its host forbids it: " + s.Rule
		return
	}
	switch e.verdict() {
	case robotsForbids:
		u.State, u.StoppedBy = contract.URLForbidden, robotsStop(host, "")
		u.WhyCode = contract.WhyForbidden
		u.Why = "the robots.txt that the last collection read forbids it"
		return
	case robotsUnreadable:
		if s.State == contract.URLUnknown {
			u.State, u.StoppedBy = contract.URLForbidden, robotsStop(host, "")
			u.WhyCode = contract.WhyRobotsUnreadable
			u.Why = "the last collection could not read the robots.txt of its domain" + e.robotsError() +
				"; until one can, all is forbidden"
			return
		}
	}
	if s.State == contract.URLUnknown {
		a.explainUnknown(ctx, u, s, e)
	}
	switch {
	case s.BlockedUntil > 0:
		u.StoppedBy = &contract.FrontierStop{Kind: contract.StopBlock, Until: contract.AtMillis(s.BlockedUntil)}
	case controls.Pipeline.Paused && s.State != contract.URLUnknown:
		u.StoppedBy = controls.Pipeline.Stop()
		if s.State == contract.URLDue {
			u.State = contract.URLWaiting
			u.WhyCode = contract.WhyPaused
			u.Why = "operators paused the pipeline, and scrapers get nothing until it is resumed"
		}
	}
}

// explainUnknown explains why a URL is not in the frontier, if the collections of its domain tell.
func (a frontierRoutes) explainUnknown(ctx context.Context, u *contract.FrontierURL, s *frontier.URLState,
	e collected) {
	listed, err := e.lists(ctx)
	if err != nil {
		dir := contract.DomainDir{Partition: s.Evidence.Partition, Domain: s.Domain}
		a.Log.Warn("evidence_unreadable", "error_type", contract.KindOf(err), "error", err.Error(), "key",
			dir.Document())
	}
	if listed {
		u.WhyCode = contract.WhyFound
		u.Why = "the last collection found it; better pages of its domain come first, and it is put in its turn"
		return
	}
	domain, _ := contract.RegistrableDomain(hostOfURL(e.url))
	records, err := a.Ledger.Domain(ctx, domain, contract.Filter{})
	switch {
	case err != nil:
		a.Log.Warn("ledger_failed", "error_type", contract.KindOf(err), "error", err.Error())
	case len(records) == 0:
	case records[0].Retry != nil:
		u.WhyCode = contract.WhyCollecting
		u.Why = fmt.Sprintf("the collection of its domain failed at attempt %d of %d: %s", records[0].Retry.Attempt,
			records[0].Retry.Of, records[0].Retry.ErrorMessage)
	case records[0].State == contract.Pending:
		u.WhyCode = contract.WhyCollecting
		u.Why = "its domain waits to be collected"
	case records[0].State == contract.Failed && records[0].ErrorMessage != nil:
		u.WhyCode = contract.WhyNotCollected
		u.Why = "the last collection of its domain failed: " + *records[0].ErrorMessage
	}
}

// robotsStop returns what the robots.txt of a host forbids. rule is the line that does, or "".
func robotsStop(host, rule string) *contract.FrontierStop {
	return &contract.FrontierStop{Kind: contract.StopRobots, Rule: contract.Text(rule),
		By: contract.Text("https://" + host + "/robots.txt")}
}

// hostOfURL returns the host of a canonical URL.
func hostOfURL(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// robotsVerdict is the verdict on a URL by the robots.txt stored with a collection.
type robotsVerdict int

const (
	robotsAllows robotsVerdict = iota
	robotsForbids
	robotsUnreadable // forbids nothing for good: what waits, waits until it can be read
)

// collected holds the result of a domain's last collection. doc and stored are nil if there is none, or none that can
// be read.
type collected struct {
	url    string // canonical
	doc    *contract.Document
	stored *collector.Stored
}

func (a frontierRoutes) collected(ctx context.Context, s *frontier.URLState, url string) (e collected) {
	e.url = url
	if s.Evidence.At == 0 {
		return e
	}
	dir := contract.DomainDir{Partition: s.Evidence.Partition, Domain: s.Domain}
	data, err := domainRoutes(a).document(ctx, dir.Document())
	if err == nil && data != nil {
		var doc contract.Document
		if err = json.Unmarshal(data, &doc); err == nil {
			e.doc = &doc
			e.stored, err = a.Evidence.Stored(ctx, dir, &doc, func(string) bool { return false })
		}
	}
	if err != nil {
		a.Log.Warn("evidence_unreadable", "error_type", contract.KindOf(err), "error", err.Error(), "key",
			dir.Document())
	}
	return e
}

// verdict returns what the robots.txt stored with the collection says about the URL.
func (e collected) verdict() robotsVerdict {
	if e.doc == nil {
		return robotsAllows
	}
	if txt := &e.doc.Technical.RobotsTxt; !txt.Exists && !txt.AllowsCrawling {
		return robotsUnreadable
	}
	if e.stored != nil {
		if look, _ := e.stored.Look(e.url); look.Allowed != nil && !*look.Allowed {
			return robotsForbids
		}
	}
	return robotsAllows
}

// robotsError returns why robots.txt could not be read, in brackets, if the collection says so.
func (e collected) robotsError() string {
	if why := e.doc.Technical.RobotsTxt.Error; why != nil {
		return " (" + *why + ")"
	}
	return ""
}

// lists reports whether the collection stored the URL.
func (e collected) lists(ctx context.Context) (listed bool, err error) {
	if e.stored != nil {
		err = e.stored.URLs(ctx, func(u *contract.ListedURL) { listed = listed || u.URL == e.url })
	}
	return listed, err
}

// score returns the summands of a page's priority now, in words. The collection knows all but the date, which counts as
// the frontier has it; of a page that was put, the frontier only knows the sum.
func (e collected) score(s *frontier.URLState, now time.Time) string {
	var parts []discovery.Part
	if e.stored != nil && !e.stored.Lost {
		parts, _, _ = e.stored.Parts(e.url, discovery.Generated)
	}
	var date time.Time
	if s.LastMod > 0 {
		date = s.LastMod.Time()
	}
	others := learntSince
	switch {
	case len(parts) == 0:
		others = "its type (" + strings.ReplaceAll(s.Type, "_", " ") + "), host and URL, when it was put"
	case s.Yield > 0 && s.Yield < 1: // a shard of the version before sends 0
		others = fmt.Sprintf("pages like it are gone, copies or closed, which leaves %.2f of its worth", s.Yield)
	case s.Yield > 1:
		others = fmt.Sprintf("pages like it are there and no copies, which makes its worth %.2f-fold", s.Yield)
	}
	return discovery.Sum(append(parts, discovery.Dated(date, now)), s.Priority, others)
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
