package shard

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
)

// TestDocs_Limits: the table of docs/frontier.md has the limits of this package.
func TestDocs_Limits(t *testing.T) {
	page, err := os.ReadFile("../../docs/frontier.md")
	if err != nil {
		t.Fatal(err)
	}
	_, limits, _ := strings.Cut(string(page), "\n## Limits\n")
	for _, c := range []struct {
		row    string
		values []int
	}{
		{"items of a lease", []int{1, frontier.MaxLease}},
		{"`per_host`", []int{1, frontier.MaxPerHost}},
		{"`max_hosts`", []int{1, frontier.MaxLease}},
		{"`lease_seconds`", []int{frontier.MinLeaseSeconds, frontier.MaxLeaseSeconds}},
		{"results of a report", []int{frontier.MaxResults}},
		{"URLs in a report, over all results", []int{frontier.MaxFound}},
		{"URLs of a put", []int{frontier.MaxPut}},
		{"a URL", []int{frontier.MaxURL}},
		{"attempts of a page for which only the server fails", []int{maxTries}},
		{"pages of a domain that wait", []int{int(Settings{}.withDefaults().URLsPerDomain)}},
	} {
		row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(c.row) + ` \| (.*) \|$`).FindStringSubmatch(limits)
		if row == nil {
			t.Errorf("docs/frontier.md has no limit %q", c.row)
			continue
		}
		numbers := regexp.MustCompile(`\d+`).FindAllString(strings.ReplaceAll(row[1], ",", ""), -1)
		if got, want := "["+strings.Join(numbers, " ")+"]", fmt.Sprint(c.values); got != want {
			t.Errorf("docs/frontier.md, %q: %s, the code has %s", c.row, got, want)
		}
	}
}

// TestDocs_Reasons: docs/frontier.md explains every verdict by which a page is refused.
func TestDocs_Reasons(t *testing.T) {
	page, err := os.ReadFile("../../docs/frontier.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []frontier.Verdict{frontier.InvalidURL, frontier.Trapped, frontier.ForeignHost, frontier.Excluded,
		frontier.Mirrored, frontier.HostFull, frontier.DomainFull, frontier.TooManyHosts} {
		if !strings.Contains(string(page), "\n| `"+string(v)+"` | ") {
			t.Errorf("docs/frontier.md does not explain %s", v)
		}
	}
}
