package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

// TestWhatAScraperShouldKnowFirst: exclusions, refusals and moves are said before the details.
func TestWhatAScraperShouldKnowFirst(t *testing.T) {
	lines := func(d contract.Document) (list []string) {
		addDocument(&d, func(label, format string, args ...any) { list = append(list, label+": "+fmt.Sprintf(format, args...)) })
		return list
	}
	for want, d := range map[string]contract.Document{
		"excluded: by operators of the engine: nobody is to fetch anything": {Excluded: true, Blocked: true},
		"blocked: it refuses everything but robots.txt: HTTP 403: No":       {Blocked: true, BlockedReason: contract.Text("HTTP 403: No")},
		"moved to: www.new.example":                                         {MovedTo: contract.Text("www.new.example")},
	} {
		if got := lines(d); !slices.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	out := true
	if got := domainRow(&contract.DomainRecord{Domain: "a.example", State: contract.Processed, Excluded: &out}); !strings.Contains(got, "\texcluded\t") {
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
