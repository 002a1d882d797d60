package handlers

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/httpapi"
	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/page"
)

// reportURLs records the outcomes of leased items. Repeated reports are accepted and change nothing.
func (a frontierRoutes) reportURLs(w http.ResponseWriter, r *http.Request) error {
	if err := a.reserve(w, r, maxURLsBytes, listMemory); err != nil {
		return err
	}
	report, refused, err := a.readReport(r)
	if err != nil {
		return err
	}
	if report.Scraper, err = scraperOf(r); err != nil {
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

// maxErrorText caps the length of an error, in bytes.
const maxErrorText = 500

// readReport returns a report, and how many of the URLs that were found exceed what one report may have.
func (a frontierRoutes) readReport(r *http.Request) (report frontier.Report, refused int, err error) {
	if err := onlyQuery(r); err != nil {
		return report, 0, err
	}
	var body struct {
		LeaseID string          `json:"lease_id"`
		Results json.RawMessage `json:"results"`
	}
	if err := httpapi.ReadJSONUpTo(r, maxURLsBytes, &body); err != nil {
		return report, 0, err
	}
	if body.LeaseID == "" {
		return report, 0, contract.Invalid("lease_id", "is missing; send the lease_id of the lease")
	}
	if body.Results == nil || string(body.Results) == "null" {
		return report, 0, contract.Invalid("results", "is missing; send a list with the outcome of each item")
	}
	results, more, err := httpapi.Elements(body.Results, "results", frontier.MaxResults)
	n := len(results) + more
	if err := firstError(err, within("results", &n, 0, frontier.MaxResults)); err != nil {
		return report, 0, err
	}
	list, err := httpapi.DecodeList[reportResult](results, "results")
	if err != nil {
		return report, 0, err
	}
	report.Lease = body.LeaseID
	assess := a.assessor(r.Context(), discovery.FromLink)
	room := frontier.MaxFound
	for i := range list {
		field := httpapi.Element("results", i)
		urls, surplus, err := httpapi.Elements(list[i].URLs, field+".urls", room)
		if err != nil {
			return report, 0, err
		}
		room, refused = room-len(urls), refused+surplus
		result, err := list[i].result(field, urls, assess, a.Now())
		if err != nil {
			return report, 0, err
		}
		report.Results = append(report.Results, result)
	}
	return report, refused, nil
}

// maxHostWait is maxDelay for the numbers of a report.
const maxHostWait = float64(maxDelay)

// reportResult is the outcome of one item.
type reportResult struct {
	ID           string          `json:"id"`
	Status       *int            `json:"status"`
	Error        *string         `json:"error"`
	FetchedAt    *string         `json:"fetched_at"`
	ETag         string          `json:"etag"`
	LastModified string          `json:"last_modified"`
	SHA256       string          `json:"sha256"`
	TextSHA256   string          `json:"text_sha256"`
	DuplicateOf  string          `json:"duplicate_of"`
	RedirectedTo string          `json:"redirected_to"`
	RetryAfter   *float64        `json:"retry_after_seconds"`
	CrawlDelay   *float64        `json:"crawl_delay_seconds"`
	URLs         json.RawMessage `json:"urls"`
	Page         *reportedPage   `json:"page"`
	Type         string          `json:"type"`
	Paywalled    bool            `json:"paywalled"`
}

// reportedPage holds a scraper's evidence of a page: page.Evidence with dates in any form that sites write.
type reportedPage struct {
	Title         string          `json:"title"`
	H1            string          `json:"h1"`
	Headings      json.RawMessage `json:"headings"`
	Breadcrumb    json.RawMessage `json:"breadcrumb"`
	Text          string          `json:"text"`
	Words         int             `json:"words"`
	Links         int             `json:"links"`
	Dates         int             `json:"dates"`
	Forms         int             `json:"forms"`
	Documents     int             `json:"documents"`
	Language      string          `json:"lang"`
	Canonical     string          `json:"canonical"`
	Published     string          `json:"published"`
	PublishedFrom string          `json:"published_from"`
	Modified      string          `json:"modified"`
	ModifiedFrom  string          `json:"modified_from"`
	Noindex       bool            `json:"noindex"`
	Paywall       string          `json:"paywall"`
}

// title returns the name of the page: its heading, else its title. A heading with which a longer title ends is the
// name of the site.
func (p *reportedPage) title() string {
	h1, title := page.Line(p.H1, page.MaxTitle), page.Line(p.Title, page.MaxTitle)
	if h1 != "" && len(h1) < len(title) && strings.HasSuffix(title, h1) {
		return title
	}
	return cmp.Or(h1, title)
}

// plausible parses a date of a page. It returns 0 for what is not a date, or cannot be that of a page.
func plausible(date string, now time.Time) epoch.Seconds {
	if at, ok := markup.ParseDate([]byte(date)); ok && markup.Plausible(at, now) {
		return epoch.SecondsOf(at)
	}
	return 0
}

// result returns the result of an item, on whose page urls were found.
func (p *reportResult) result(field string, urls []json.RawMessage, assess assessor, now time.Time) (
	result frontier.Result, err error) {
	if err := p.check(field + "."); err != nil {
		return result, err
	}
	result = frontier.Result{
		ID: p.ID, ETag: p.ETag, LastModified: p.LastModified, SHA256: p.SHA256, TextSHA256: p.TextSHA256,
		RedirectedTo: p.RedirectedTo, Copy: p.DuplicateOf != "", CopyOf: p.DuplicateOf, Type: p.Type,
		Closed: p.Paywalled,
	}
	if p.Page != nil {
		result.Title = p.Page.title()
		if len(p.Page.Canonical) <= contract.MaxLinkBytes {
			result.Canonical = p.Page.Canonical
		}
		result.Published, result.Modified = plausible(p.Page.Published, now), plausible(p.Page.Modified, now)
	}
	if p.Status != nil {
		// RFC 9110 (15): one of no class is a fault of the server, as is one of 1xx as the last answer.
		if result.Status = *p.Status; result.Status < 200 || result.Status > 599 {
			result.Status = http.StatusInternalServerError
		}
	} else {
		result.Error = page.Line(*p.Error, frontier.MaxFaultBytes)
		result.Unresolved = *p.Error == contract.ReportUnresolved
		result.Forbidden = *p.Error == contract.ReportForbidden
		result.NoRobots = *p.Error == contract.ReportNoRobots
		result.NotFetched = *p.Error == contract.ReportNotFetched
	}
	if p.RetryAfter != nil {
		result.RetryAfter = int64(math.Ceil(min(*p.RetryAfter, maxHostWait)))
	}
	if p.CrawlDelay != nil {
		result.CrawlDelay = int64(min(max(*p.CrawlDelay, 0), maxHostWait) * 1000)
	}
	list, err := httpapi.DecodeList[foundURL](urls, field+".urls")
	if err != nil {
		return result, err
	}
	for _, f := range list {
		if f.URL == "" { // counted as invalid: one bad link does not lose a report
			result.Found = append(result.Found, frontier.FoundURL{})
			continue
		}
		found := frontier.NewPage{URL: f.URL, Title: f.Title}
		if found.Type, found.Priority, err = assess(f.URL, "", time.Time{}); err != nil {
			return result, err
		}
		if day := discovery.DayOf(f.URL, now); !day.IsZero() {
			found.LastMod = epoch.SecondsOf(day) // decides whether the page is news for the feed
		}
		result.Found = append(result.Found, frontier.FoundURL{NewPage: found})
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
	if p.Type != "" {
		if err := checkType(field+"type", p.Type); err != nil {
			return err
		}
	}
	if p.Page != nil {
		if err := p.Page.check(field + "page."); err != nil {
			return err
		}
	}
	if p.RetryAfter != nil && *p.RetryAfter < 0 {
		return contract.Invalid(field+"retry_after_seconds", "must not be negative, got %v", *p.RetryAfter)
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

// maxPageLines caps the headings and the breadcrumb of a page. A scraper sends a few; others have no use.
const maxPageLines = 1000

// check refuses counts below 0, false dates and endless lists. Texts that are too long are cut.
func (p *reportedPage) check(field string) error {
	for _, list := range []struct {
		name  string
		lines json.RawMessage
	}{{"headings", p.Headings}, {"breadcrumb", p.Breadcrumb}} {
		lines, more, err := httpapi.Elements(list.lines, field+list.name, maxPageLines)
		n := len(lines) + more
		if err := firstError(err, within(field+list.name, &n, 0, maxPageLines)); err != nil {
			return err
		}
		for i, line := range lines {
			if line[0] != '"' {
				return contract.Invalid(httpapi.Element(field+list.name, i), "must be a string, got %.80s", line)
			}
		}
	}
	for _, count := range []struct {
		name string
		n    int
	}{{"words", p.Words}, {"links", p.Links}, {"dates", p.Dates}, {"forms", p.Forms}, {"documents", p.Documents}} {
		if count.n < 0 {
			return contract.Invalid(field+count.name, "must not be negative, got %d", count.n)
		}
	}
	for _, date := range [][2]string{{"published", p.Published}, {"modified", p.Modified}} {
		if _, ok := markup.ParseDate([]byte(date[1])); !ok && date[1] != "" {
			return contract.Invalid(field+date[0], "%.80q is not a date; use a form such as %q", date[1],
				"2026-01-28T09:00:00Z")
		}
	}
	return nil
}

// checkDigest checks a SHA-256, which may be left out.
func checkDigest(field, digest string) error {
	if b, err := hex.DecodeString(digest); err != nil || len(b) != 32 && digest != "" {
		return contract.Invalid(field, "%.80q is not a SHA-256; use 64 hexadecimal digits", digest)
	}
	return nil
}
