package collector

import (
	"fmt"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/robots"
)

// TestShortRules: if there are too many rules, all Allow rules stay, and the shortest Disallow rules.
func TestShortRules(t *testing.T) {
	group := func(text string) *robots.Group { return robots.Parse([]byte("User-agent: *\n" + text)).Agent("bot") }
	for text, want := range map[string]string{
		"":                           "",
		"Allow: /a":                  "",
		"Disallow:":                  "",
		"Disallow: /b\nAllow: /b/c$": "User-agent:*\nAllow:/b/c$\nDisallow:/b\n",
		"Disallow: /abc\nDisallow: /*?q=\nDisallow: /": "User-agent:*\nDisallow:/\nDisallow:/abc\nDisallow:/*?q=\n",
	} {
		if got := shortRules(group(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	var many strings.Builder
	many.WriteString("Allow: /section/open\n")
	for i := range 400 {
		fmt.Fprintf(&many, "Disallow: /section/%s%d\n", strings.Repeat("x", i%20), i)
	}
	short := shortRules(group(many.String()))
	kept := group(strings.TrimPrefix(short, frontier.PartialRules+rulesHead))
	if !strings.HasPrefix(short, frontier.PartialRules) || len(short) > frontier.MaxRules ||
		len(kept.Rules()) < 150 || kept.Allowed("/section/0") ||
		!kept.Allowed("/section/open") {
		t.Errorf("%d bytes, %d rules", len(short), len(kept.Rules()))
	}
	many.Reset()
	for i := range 400 {
		fmt.Fprintf(&many, "Allow: /section/%d\n", i)
	}
	if short := shortRules(group(many.String() + "Disallow: /section/\n")); short != frontier.PartialRules {
		t.Errorf("without all that is allowed: %q", short)
	}
}
