package handlers

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/httpapi"
)

// reportURLs records the outcomes of leased items. Repeated reports are accepted and change nothing.
func (a frontierRoutes) reportURLs(w http.ResponseWriter, r *http.Request) error {
	report, refused, err := a.readReport(r)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(report.Results, func(r frontier.Result) bool { return len(r.Found) > 0 }) {
		controls, _, _ := a.Controls.Read(r.Context()) // without R2 the last ones that were read
		if err := refusePaused(w, &controls); err != nil {
			return err
		}
	}
	reported, err := a.Frontier.Report(r.Context(), report)
	answer := contract.FrontierReported{Accepted: reported.Accepted, Late: reported.Late, Unknown: reported.Unknown,
		Results: []contract.FrontierOutcome{}, Found: contract.FrontierFoundURLs(reported.Found), Added: reported.Added,
		Refused: refused}
	answer.Found.Over += refused
	for i, outcome := range reported.Outcomes {
		if slices.Contains(reported.Failed, i) {
			answer.NotTaken = append(answer.NotTaken, report.Results[i].ID)
			continue
		}
		answer.Results = append(answer.Results,
			contract.FrontierOutcome{ID: report.Results[i].ID, Outcome: string(outcome)})
	}
	if err != nil {
		a.server().Fail(w, r, shardAway(w, err), answer)
		return nil
	}
	httpapi.Succeed(w, http.StatusOK, answer)
	return nil
}

// Scraper errors with a meaning beyond "no answer".
const (
	unresolved = "unresolved"        // the host's name has no address
	forbidden  = "robots_disallowed" // robots.txt forbids the URL: not fetched
	noRobots   = "robots_unknown"    // robots.txt cannot be read: not fetched
	notFetched = "not_fetched"       // no time left: not fetched
)

// maxErrorText caps the length of an error, in bytes.
const maxErrorText = 500

// readReport returns a report, and how many of the URLs that were found exceed what one report may have.
func (a frontierRoutes) readReport(r *http.Request) (report frontier.Report, refused int, err error) {
	if err := onlyQuery(r); err != nil {
		return report, 0, err
	}
	var body struct {
		LeaseID string             `json:"lease_id"`
		Results *[]json.RawMessage `json:"results"`
	}
	if err := httpapi.ReadJSONUpTo(r, maxURLsBytes, &body); err != nil {
		return report, 0, err
	}
	if body.LeaseID == "" {
		return report, 0, contract.Invalid("lease_id", "is missing; send the lease_id of the lease")
	}
	if body.Results == nil {
		return report, 0, contract.Invalid("results", "is missing; send a list with the outcome of each item")
	}
	n := len(*body.Results)
	if err := within("results", &n, 0, frontier.MaxResults); err != nil {
		return report, 0, err
	}
	list, err := httpapi.DecodeList[reportResult](*body.Results, "results")
	if err != nil {
		return report, 0, err
	}
	report.Lease = body.LeaseID
	assess := a.assessor(r.Context(), discovery.FromLink)
	room := frontier.MaxFound
	for i := range list {
		p := &list[i]
		if surplus := len(p.URLs) - room; surplus > 0 {
			p.URLs, refused = p.URLs[:room], refused+surplus
		}
		room -= len(p.URLs)
		result, err := p.result(httpapi.Element("results", i), assess, a.Now())
		if err != nil {
			return report, 0, err
		}
		report.Results = append(report.Results, result)
	}
	return report, refused, nil
}

// maxCrawlDelay is the longest Crawl-delay that counts, in seconds.
const maxCrawlDelay = 24 * 60 * 60

// reportResult is the outcome of one item.
type reportResult struct {
	ID           string            `json:"id"`
	Status       *int              `json:"status"`
	Error        *string           `json:"error"`
	FetchedAt    *string           `json:"fetched_at"`
	ETag         string            `json:"etag"`
	LastModified string            `json:"last_modified"`
	SHA256       string            `json:"sha256"`
	TextSHA256   string            `json:"text_sha256"`
	DuplicateOf  string            `json:"duplicate_of"`
	RedirectedTo string            `json:"redirected_to"`
	RetryAfter   *int64            `json:"retry_after_seconds"`
	CrawlDelay   *float64          `json:"crawl_delay_seconds"`
	URLs         []json.RawMessage `json:"urls"`
}

func (p *reportResult) result(field string, assess assessor, now time.Time) (result frontier.Result, err error) {
	if err := p.check(field + "."); err != nil {
		return result, err
	}
	result = frontier.Result{
		ID: p.ID, ETag: p.ETag, LastModified: p.LastModified, SHA256: p.SHA256, TextSHA256: p.TextSHA256,
		RedirectedTo: p.RedirectedTo, Copy: p.DuplicateOf != "",
	}
	if p.Status != nil {
		if result.Status = *p.Status; result.Status > 599 { // RFC 9110 (15): of no class, so a fault of the server
			result.Status = http.StatusInternalServerError
		}
	} else {
		result.Unresolved, result.Forbidden, result.NoRobots, result.NotFetched = *p.Error == unresolved,
			*p.Error == forbidden, *p.Error == noRobots, *p.Error == notFetched
	}
	if p.RetryAfter != nil {
		result.RetryAfter = *p.RetryAfter
	}
	if p.CrawlDelay != nil {
		result.CrawlDelay = int64(min(max(*p.CrawlDelay, 0), maxCrawlDelay) * 1000)
	}
	list, err := httpapi.DecodeList[foundURL](p.URLs, field+".urls")
	if err != nil {
		return result, err
	}
	for i, f := range list {
		if f.URL == "" {
			return result, contract.Invalid(httpapi.Element(field+".urls", i)+".url",
				"is missing; send an http or https URL")
		}
		page := frontier.NewPage{URL: f.URL, Title: f.Title}
		if page.Type, page.Priority, err = assess(f.URL, "", time.Time{}); err != nil {
			return result, err
		}
		if day := discovery.DayOf(f.URL, now); !day.IsZero() {
			page.LastMod = epoch.SecondsOf(day) // decides whether the page is news for the feed
		}
		result.Found = append(result.Found, frontier.FoundURL{NewPage: page})
	}
	return result, nil
}

// foundURL is a link found on a page.
type foundURL struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

func (p *reportResult) check(field string) error {
	switch {
	case p.ID == "":
		return contract.Invalid(field+"id", "is missing; send the item's id")
	case p.Status == nil && (p.Error == nil || *p.Error == ""):
		return contract.Invalid(field+"status",
			"is missing; send the HTTP status, or an error if there was no answer")
	case p.Status != nil && p.Error != nil:
		return contract.Invalid(field+"error", "cannot be combined with status; send one of the two")
	case p.Error != nil && len(*p.Error) > maxErrorText:
		return contract.Invalid(field+"error", "is longer than %d bytes; shorten it", maxErrorText)
	}
	if p.Status != nil {
		if err := within(field+"status", p.Status, 100, 999); err != nil {
			return err
		}
	}
	if p.RetryAfter != nil && *p.RetryAfter < 0 {
		return contract.Invalid(field+"retry_after_seconds", "must not be negative, got %d", *p.RetryAfter)
	}
	if p.FetchedAt != nil {
		if _, err := time.Parse(time.RFC3339, *p.FetchedAt); err != nil {
			return contract.Invalid(field+"fetched_at", "%.80q is not a time; use a form such as %q", *p.FetchedAt,
				"2026-01-28T09:00:00Z")
		}
	}
	if err := checkDigest(field+"sha256", p.SHA256); err != nil {
		return err
	}
	return checkDigest(field+"text_sha256", p.TextSHA256)
}

// checkDigest checks a SHA-256, which may be left out.
func checkDigest(field, digest string) error {
	if b, err := hex.DecodeString(digest); err != nil || len(b) != 32 && digest != "" {
		return contract.Invalid(field, "%.80q is not a SHA-256; use 64 hexadecimal digits", digest)
	}
	return nil
}
