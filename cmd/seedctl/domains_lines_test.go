package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

// TestDomains_AdviceForScrapers: exclusions, refusals and moves are said before the details.
func TestDomains_AdviceForScrapers(t *testing.T) {
	lines := func(d contract.Document) (list []string) {
		addDocument(&d, func(label, format string, args ...any) {
			list = append(list,
				label+": "+fmt.Sprintf(format, args...))
		})
		return list
	}
	for want, d := range map[string]contract.Document{
		"excluded: by operators of the engine: nobody is to fetch anything": {Excluded: true, Blocked: true},
		"blocked: it refuses every page, sitemap and feed that was asked for: HTTP 403: No": {Blocked: true,
			BlockedReason: contract.Text("HTTP 403: No")},
		"moved to: www.new.example": {MovedTo: contract.Text("www.new.example")},
	} {
		if got := lines(d); !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	out := true
	if got := domainRow(&contract.DomainRecord{Domain: "a.example", State: contract.Processed,
		Excluded: &out}); !strings.Contains(got, "\texcluded\t") {
		t.Errorf("of an excluded domain: %s", got)
	}
	d := contract.Document{Excluded: true}
	d.Technical.RobotsTxt.Exists, d.Technical.RobotsTxt.AllowsCrawling = true, true
	for _, line := range lines(d) {
		if strings.Contains(line, "allows crawling") {
			t.Errorf("of an excluded domain: %s", line)
		}
	}
}

// TestDomains_RefusedRobots: where robots.txt is refused as the rest is, sitemaps were asked for.
// Only where nothing answered they were not.
func TestDomains_RefusedRobots(t *testing.T) {
	document := func(status int, f contract.Failure) *contract.Document {
		return &contract.Document{
			Robots:  contract.RobotsSummary{StatusCode: status},
			Sitemap: contract.SitemapSummary{StatusCode: max(status, 404)},
			Technical: contract.Technical{RobotsTxt: contract.RobotsTxt{AllowsCrawling: status != 0, Failure: f},
				SitemapXML: contract.SitemapXML{Failure: f}},
		}
	}
	refused := document(403, contract.Failure{Error: contract.Text("HTTP 403")})
	refused.Sitemap.StatusCode = 403
	for want, doc := range map[string]*contract.Document{
		"robots.txt: status 403, which forbids nothing|sitemap: status 403": refused,
		"robots.txt: too slow|sitemap: not asked for, since robots.txt could not be read": document(0, contract.Failure{
			Error: contract.Text("too slow"), ErrorType: contract.Text(string(contract.Timeout)),
		}),
		"robots.txt: status 200, a web page is served in its place, which forbids nothing|" +
			"sitemap: status 404, a web page is served in its place": document(200, contract.Failure{
			Error: contract.Text("a web page is served in its place"),
		}),
	} {
		var got []string
		addDocument(doc, func(label, format string, args ...any) {
			if label == "robots.txt" || label == "sitemap" {
				got = append(got, label+": "+fmt.Sprintf(format, args...))
			}
		})
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

// TestDomains_SilentHost: neither its name nor a time was measured.
func TestDomains_SilentHost(t *testing.T) {
	var text string
	addDocument(&contract.Document{Technical: contract.Technical{ServerInfo: contract.ServerInfo{Requests: 5}}},
		func(label, format string, args ...any) {
			text += label + ": " + fmt.Sprintf(format, args...) + "\n"
		})
	if !strings.Contains(text, "server: nothing answered 5 requests\n") {
		t.Error(text)
	}
}

// A processed domain of which nothing may be fetched says why, as long as it is neither excluded nor queued again.
func TestDomains_Barrier(t *testing.T) {
	out, no := true, false
	for want, d := range map[string]contract.DomainRecord{
		"\tforbidden\tno\t": {State: contract.Processed, Barrier: ptr(contract.Forbidden), CrawlingAllowed: &no},
		"\trefuses\t-\t":    {State: contract.Processed, Barrier: ptr(contract.Refuses)},
		"\trefuses\t-\t-\t-\t-\tHTTP 403": {State: contract.Processed, Barrier: ptr(contract.Refuses),
			BarrierReason: ptr("HTTP 403")},
		"\tnothing to fetch\tyes\t": {State: contract.Processed, Barrier: ptr(contract.Empty),
			CrawlingAllowed: &out},
		"\texcluded\t-\t":  {State: contract.Processed, Barrier: ptr(contract.Empty), Excluded: &out},
		"\tpending\t-\t":   {State: contract.Pending, Barrier: ptr(contract.Empty)},
		"\tprocessed\t-\t": {State: contract.Processed},
	} {
		if got := domainRow(&d); !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// TestDomains_Retried: a domain that is being retried says which attempt failed, why, and when the next one is.
func TestDomains_Retried(t *testing.T) {
	for next, want := range map[*contract.Time]string{
		ptr(at("09:29:00")): "attempt 2 of 4 failed at 2026-01-28 09:25:00: network_error: connection refused; " +
			"again at 2026-01-28 09:29:00",
		nil: "attempt 2 of 4 failed at 2026-01-28 09:25:00: network_error: connection refused",
	} {
		d := sampleDomain()
		record := *d.Record
		record.State, d.Record = contract.Pending, &record
		record.Retry = &contract.DomainRetry{Attempt: 2, Of: 4, ErrorType: contract.Network,
			ErrorMessage: "connection refused", FailedAt: at("09:25:00"), NextAt: next}
		var b strings.Builder
		if err := writeDomain(&b, &d); err != nil || !strings.Contains(b.String(), want+"\n") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

// TestDomains_NextTry: a failed domain says when it is collected again.
func TestDomains_NextTry(t *testing.T) {
	d := sampleDomain()
	record := *d.Record
	record.State, record.ErrorType, d.Record = contract.Failed, contract.Text("timeout_error"), &record
	d.EntryPoints = []contract.EntryHistory{
		{Method: "rss", NextCheckAt: ptr(at("10:00:00"))},
		{Method: frontier.MethodCollect, NextCheckAt: ptr(at("11:00:00")), Failures: 2},
	}
	want := regexp.MustCompile(`(?m)^next try +2026-01-28 11:00:00, after 2 failures in a row$`)
	for _, state := range []contract.DomainState{contract.Failed, contract.Processed} {
		record.State = state
		var b strings.Builder
		if err := writeDomain(&b, &d); err != nil || want.MatchString(b.String()) != (state == contract.Failed) {
			t.Errorf("%s: %v\n%s", state, err, b.String())
		}
	}
}

// TestAlarms_Refused: what the webhook does not take is said.
func TestAlarms_Refused(t *testing.T) {
	s := contract.Status{Webhook: contract.AlarmWebhook{Enabled: true, Signed: true,
		Refused: &contract.AlarmsRefused{Since: at("09:00:00"), Attempts: 12, Waiting: 1,
			Error: "the webhook answered 500"}}}
	want := "\nchanges are posted and signed\nthe webhook has not taken them since 2026-01-28 09:00:00: " +
		"the webhook answered 500, posted in vain 12 times; to be posted: 1 change\n"
	var b strings.Builder
	if err := writeAlarms(&b, &s); err != nil || !strings.HasSuffix(b.String(), want) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestHost_NextRequest: a host gets its next request once something is due and nothing holds it.
func TestHost_NextRequest(t *testing.T) {
	moments := func(minute int) *contract.Time {
		return &contract.Time{Time: time.Date(2026, 1, 28, 9, minute, 0, 0, time.UTC)}
	}
	for want, h := range map[string]contract.FrontierHost{
		"nothing of it waits": {ReadyAt: moments(5)},
		"2026-01-28 09:01:00": {DueAt: moments(1)},
		"2026-01-28 09:02:00": {DueAt: moments(2), ReadyAt: moments(1)},
		"2026-01-28 09:03:00": {DueAt: moments(2), ReadyAt: moments(3)},
		"2026-01-28 09:04:00": {DueAt: moments(2), ReadyAt: moments(3), UnresolvedUntil: moments(4)},
		"2026-01-28 09:07:00": {DueAt: moments(2), UnresolvedUntil: moments(4), BlockedUntil: moments(7)},
	} {
		if got := nextText(&h); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestHistory_Collections: the entry point of a whole domain has no status of its own.
func TestHistory_Collections(t *testing.T) {
	ok := 200
	var b strings.Builder
	err := writeHistory(&b, []contract.EntryHistory{
		{Method: "collect", URL: "https://a.example/robots.txt", Checks: []contract.FrontierCheck{{Status: &ok}, {}}},
		{Method: "rss", URL: "https://a.example/rss", Checks: []contract.FrontierCheck{{Status: &ok, Changed: true}}},
	})
	if err != nil || !strings.Contains(b.String(), " done -  ") || !strings.Contains(b.String(), " 200+  ") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
