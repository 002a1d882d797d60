package frontier

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedLimits: the table of docs/frontier.md has the limits of this package.
func TestDocumentedLimits(t *testing.T) {
	page, err := os.ReadFile("../docs/frontier.md")
	if err != nil {
		t.Fatal(err)
	}
	_, limits, _ := strings.Cut(string(page), "\n## Limits\n")
	for _, c := range []struct {
		row    string
		values []int
	}{
		{"items of a lease", []int{1, MaxLease}},
		{"`per_host`", []int{1, MaxPerHost}},
		{"`lease_seconds`", []int{MinLeaseSeconds, MaxLeaseSeconds}},
		{"results of a report", []int{MaxResults}},
		{"URLs in a report, over all results", []int{MaxFound}},
		{"URLs of a put", []int{MaxPut}},
		{"a URL", []int{MaxURL}},
		{"attempts of a page", []int{maxTries}},
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

// TestDocumentedReasons: docs/frontier.md explains every verdict by which a page is refused.
func TestDocumentedReasons(t *testing.T) {
	page, err := os.ReadFile("../docs/frontier.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []Verdict{InvalidURL, Trapped, ForeignHost, Excluded, Mirrored, HostFull, DomainFull, TooManyHosts} {
		if !strings.Contains(string(page), "\n| `"+string(v)+"` | ") {
			t.Errorf("docs/frontier.md does not explain %s", v)
		}
	}
}
