package discovery

import (
	"strings"
	"testing"
	"time"
)

// TestParts: the summands of a page are its priority, each said in words.
func TestParts(t *testing.T) {
	a := ministry()
	for i, path := range []string{"/newsroom/press-releases/2026/minister-opens-bridge-over-the-river", "/faq/levy",
		"/search?q=levy&sort=date", "/", "/a/8812"} {
		var lastmod time.Time
		if i%2 == 0 {
			lastmod = ago(time.Duration(i*20) * day)
		}
		add(a, "https://www.mom.gov.sg"+path, methods[2+i%4], lastmod)
	}
	for _, u := range a.Result().URLs {
		parts, date, ok := a.Parts(u.URL, Generated)
		if !ok {
			t.Fatalf("%s is not known", u.URL)
		}
		why := Sum(append(parts, Dated(date, testNow)), u.Priority, "MORE")
		sum := 0.0
		for _, p := range append(parts, Dated(date, testNow)) {
			sum += p.Points
		}
		if strings.Contains(why, "MORE") || sum < u.Priority-leastRest || sum > u.Priority+leastRest {
			t.Errorf("%s: %v is not %v: %s", u.URL, u.Priority, sum, why)
		}
	}
	const want = "0.160 press release + 0.100 government host + 0.040 4 segments deep" +
		" + 0.200 sure of its type by 1.00 + 0.180 readable URL by 0.9 + 0.060 linked + 0.150 dated 2026-01-28"
	parts, date, _ := a.Parts(releases+"/2026/minister-opens-bridge-over-the-river", Generated)
	if got := Sum(append(parts, Dated(date, testNow)), 0.89, ""); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, c := range []struct {
		priority float64
		want     string
	}{{0.7, " - 0.190 learnt"}, {1, " + 0.110 learnt"}} {
		if got := Sum(append(parts, Dated(date, testNow)), c.priority, "learnt"); got != want+c.want {
			t.Errorf("%s, want %s", got, want+c.want)
		}
	}
	if _, _, ok := a.Parts("https://www.mom.gov.sg/none", Generated); ok {
		t.Error("an unknown page has parts")
	}
}
