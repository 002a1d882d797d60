package collector

import (
	"context"
	"testing"

	"github.com/newsfork/seed-engine/robots"
)

// TestRulings_OfTheLastAuthority: the rules that were asked last apply to the URLs of their authority alone, and until
// others are read for it.
func TestRulings_OfTheLastAuthority(t *testing.T) {
	group := func(text string) *robots.Group {
		return robots.Parse([]byte("User-agent: *\n" + text)).Agent("NewsforkBot")
	}
	none, all := group("Disallow: /"), group("Disallow:")
	r := newRobotsRules(newPace(context.Background(), nil, func() error { return nil }))
	check := func(link string, allowed, ok bool) {
		t.Helper()
		for range 2 {
			if gotAllowed, gotOK := r.verdict(link); gotAllowed != allowed || gotOK != ok {
				t.Errorf("%s: %v %v, not %v %v", link, gotAllowed, gotOK, allowed, ok)
			}
		}
	}
	check("https://a.gov/x", false, false)
	r.add("https://a.gov", none)
	check("https://a.gov/x", false, true)
	check("http://a.gov/x", false, true) // by host
	check("https://a.gov.example/x", false, false)
	check("https://a.gov/x", false, true)
	r.add("http://a.gov", all)
	check("http://a.gov/x", true, true)
	check("https://a.gov/x", false, true)
	r.replace("https://a.gov", all)
	check("https://a.gov/x", true, true)
	check("https://b.gov/x", false, false)
	r.setFallback("b.gov", none)
	check("https://b.gov/x", false, true)
}
