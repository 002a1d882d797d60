package handlers

import "testing"

// A heading that is the name of the site is not the title of its page.
func TestReportedPage_Title(t *testing.T) {
	for want, p := range map[string]reportedPage{
		"Bridge opens":            {H1: " Bridge  opens ", Title: "Bridge opens | Ministry"},
		"Bridge opens | Ministry": {H1: "Ministry", Title: "Bridge opens | Ministry"},
		"Only title":              {Title: "Only title"},
		"The same":                {H1: "The same", Title: "The same"},
		"A better heading":        {H1: "A better heading", Title: "Home"},
	} {
		if got := p.title(); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}
