package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/cmd/seedctl/internal/client"
	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/orchestrator"
)

// A selection that matches nothing for want of its category or country gets a hint, and no other does.
func TestHints(t *testing.T) {
	e := newEngine(t)
	s := contract.Status{UpdatedAt: at("09:30:00"), Alarms: []contract.AlarmState{},
		Queues: map[string]*contract.Backlog{"seed": nil, "domain": nil, "dlq": nil}}
	for _, p := range []contract.Partition{{Country: "sg", Category: "sports", Date: "2026-01-28"},
		{Country: "sg", Category: "news", Date: "2026-01-28"}, {Country: "kr", Category: "news", Date: "2026-01-27"}} {
		s.Partitions = append(s.Partitions, contract.PartitionStats{Partition: p, UpdatedAt: at("09:30:00")})
	}
	e.before = func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/api/v1/seeds/status":
			respond(w, 200, s)
		case "/api/v1/seeds/domains":
			respond(w, 200, contract.DomainPage{Domains: []contract.DomainRecord{}})
		case "/api/v1/dlq":
			respond(w, 200, contract.DeadLetterPage{DeadLetters: []contract.DeadLetterRecord{}})
		case "/api/v1/dlq/discard":
			respond(w, 200, contract.Resolved{Failed: []contract.Unresolved{}})
		case "/api/v1/seeds/orchestrate":
			respond(w, 200, orchestrator.Result{})
		case "/api/v1/seeds/reconcile":
			respond(w, 200, contract.Reconciled{Done: true})
		default:
			return false
		}
		return true
	}
	for line, want := range map[string]string{
		"domains --category sport": `there is nothing of the category "sport"; did ` +
			`you mean "sports"?`,
		"domains --category new --state failed": `there is nothing of the category "new"; did ` +
			`you mean "news"?`,
		"orchestrate --category government": `there is nothing of the category "government", ` +
			`only of news, sports`,
		"status --country kp": `there is nothing of the country "kp"; did ` +
			`you mean "kr"?`,
		"dlq list --category nwes": `there is nothing of the category "nwes"; did ` +
			`you mean "news"?`,
		"dlq discard --country sg --category sp": `there is nothing of the category "sp"; did you ` +
			`mean "sports"?`,
		"reconcile --country sg --category sport --date 2026-01-28": `there is nothing of the category "sport"; did ` +
			`you mean "sports"?`,
		"domains --country sg --category news": "",
		"domains --date 2026-01-29":            "",
		"domains":                              "",
	} {
		code, _, complaints := seedctl("", strings.Fields(line)...)
		got := strings.TrimSpace(complaints)
		if _, after, ok := strings.Cut(got, ": "); ok {
			got = after
		}
		if code != exitOK || got != want {
			t.Errorf("%s: %d, %q, want %q", line, code, got, want)
		}
	}
}

// The command line names commands, never routes: neither in its own texts, nor in what it passes on of the engine's.
func TestHints_SpeakNoHTTP(t *testing.T) {
	route := regexp.MustCompile(`\b(GET|POST|PUT|DELETE) (/|…)`)
	literal := regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	for _, room := range []string{"handlers", "contract", "controls", "deadletters", "orchestrator", "reconcile",
		"frontier", "ledger"} {
		files, err := filepath.Glob("../../" + room + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(room, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, quoted := range literal.FindAllString(string(source), -1) {
				message, err := strconv.Unquote(quoted)
				if err != nil || !route.MatchString(message) {
					continue
				}
				if said := (&client.Error{Message: message}).Error(); route.MatchString(said) {
					t.Errorf("%s: %s is passed on as %s", file, quoted, said)
				}
			}
		}
	}
	for name := range everyCommand() {
		code, help, _ := seedctl("", append(strings.Fields(name), "--help")...)
		if code != exitOK || route.MatchString(help) {
			t.Errorf("%s --help: %d, %s", name, code, route.FindString(help))
		}
	}
}

// An unknown or misspelt domain is answered with the one that was probably meant.
func TestHints_SimilarDomains(t *testing.T) {
	newEngine(t)
	for line, want := range map[string]string{
		"domains mom":          `did you mean "mom.gov.sg"?`,
		"domains gov.s":        `did you mean "mom.gov.sg"?`,
		"domains mom.gov.s":    `did you mean "mom.gov.sg"?`,
		"collect mom.gov.gs":   `did you mean "mom.gov.sg"?`,
		"domains example.test": "",
	} {
		code, _, complaints := seedctl("", strings.Fields(line)...)
		if code != exitFailed || (want == "") == strings.Contains(complaints, "did you mean") ||
			!strings.Contains(complaints, want) {
			t.Errorf("%s: %d, %s, want %s", line, code, complaints, want)
		}
	}
}

// TestPipeline_Words: what was never paused has no time since when.
func TestPipeline_Words(t *testing.T) {
	for want, p := range map[string]contract.Pipeline{
		"running, and never paused": {},
		"running, and never paused, by API_TOKEN, reason: all is well": {By: ptr("API_TOKEN"),
			Reason: ptr("all is well")},
		"running since 2026-01-28 09:30:00, by API_TOKEN, reason: -": {Since: ptr(at("09:30:00")),
			By: ptr("API_TOKEN")},
		"paused since 2026-01-28 09:30:00, by API_TOKEN, reason: a move": {Paused: true, Since: ptr(at("09:30:00")),
			By: ptr("API_TOKEN"), Reason: ptr("a move")},
	} {
		if got := pipelineText(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The status of a name that does not resolve is not shown, although the document has one (404, as the workflow
// document demands).
func TestDomains_NoStatusWithoutAnswer(t *testing.T) {
	lines := func(kind contract.Kind) (text string) {
		doc := sampleDocument()
		why := contract.Failure{Error: ptr("the name does not resolve"), ErrorType: ptr(string(kind))}
		doc.Reachable, doc.Sitemap.StatusCode, doc.Robots.StatusCode = false, 404, 0
		doc.Technical.RobotsTxt,
			doc.Technical.SitemapXML = contract.RobotsTxt{
			Failure: contract.Failure{Error: ptr("robots.txt: the name does not resolve"), ErrorType: why.ErrorType}},
			contract.SitemapXML{Failure: why}
		addDocument(&doc, func(label, format string, args ...any) {
			text += label + " " + fmt.Sprintf(format, args...) +
				"\n"
		})
		return text
	}
	if text := lines(contract.Network); strings.Contains(text, "404") ||
		!strings.Contains(text, "sitemap the name does not resolve\n") ||
		!strings.Contains(text, "robots.txt robots.txt: the name does not resolve\n") {
		t.Error(text)
	}
	for _, kind := range []contract.Kind{contract.Validation, "disallowed"} { // nothing was asked
		if text := lines(kind); strings.Contains(text, "404") || strings.Contains(text, "status 0") {
			t.Error(text)
		}
	}
	if text := lines(contract.Parse); !strings.Contains(text, "sitemap status 404, the name") {
		t.Error(text)
	}
}
