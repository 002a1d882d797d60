package robots

import (
	"slices"
	"strings"
	"testing"
)

// TestStatus: what a fetch comes to, hop by hop, and the rules that then apply.
func TestStatus(t *testing.T) {
	type hop struct {
		Status      int
		Error       string
		ContentType string `json:"content_type"`
		Body        string
		Generator   *struct {
			Head       string
			PadLine    string `json:"pad_line"`
			PadToBytes int    `json:"pad_to_bytes"`
			Tail       string
		}
	}
	var cases []struct {
		Name         string
		Chain        []hop
		Rules        string
		RulesAny     []string `json:"rules_any"`
		Exists       bool
		ExistsAny    []bool   `json:"exists_any"`
		MustDisallow []string `json:"must_disallow"`
		MustAllow    []string `json:"must_allow"`
		Truncated    bool
	}
	readJSON(t, "testdata/status.json", &cases)
	names := map[Access]string{Successful: "parse", Unavailable: "allow_all", Unreachable: "disallow_all",
		NotModified: "cached"}
	stored := Parse([]byte("User-agent: *\nDisallow: /private\n"))
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			last := c.Chain[len(c.Chain)-1]
			body := last.Body
			if g := last.Generator; g != nil {
				var b strings.Builder
				b.WriteString(g.Head)
				for b.Len() < g.PadToBytes {
					b.WriteString(g.PadLine[max(0, len(g.PadLine)-(g.PadToBytes-b.Len())):])
				}
				b.WriteString(g.Tail)
				body = b.String()
			}
			got := Evaluate(Fetched{
				Status:      last.Status,
				Redirects:   len(c.Chain) - 1,
				Failed:      last.Error != "",
				ContentType: last.ContentType,
				Body:        []byte(body),
				Stored:      stored,
			})
			if !slices.Contains(append(c.RulesAny, c.Rules), names[got.Access]) {
				t.Errorf("%s, want %s", names[got.Access], c.Rules)
			}
			if got.Exists != c.Exists && !slices.Contains(c.ExistsAny, got.Exists) {
				t.Errorf("Exists %v", got.Exists)
			}
			if c.Truncated && !got.File.Truncated {
				t.Error("not truncated")
			}
			root, private := got.File.Allowed("Bot", "/"), got.File.Allowed("Bot", "/private/x")
			switch names[got.Access] {
			case "allow_all":
				if !root || !private {
					t.Errorf("allows / %v and /private/x %v", root, private)
				}
			case "disallow_all":
				if root || private {
					t.Errorf("allows / %v and /private/x %v", root, private)
				}
			case "cached":
				if !root || private {
					t.Errorf("allows / %v and /private/x %v", root, private)
				}
			}
			for _, path := range c.MustDisallow {
				if got.File.Allowed("Bot", path) {
					t.Errorf("allows %s", path)
				}
			}
			for _, path := range c.MustAllow {
				if !got.File.Allowed("Bot", path) {
					t.Errorf("disallows %s", path)
				}
			}
		})
	}
}

func TestEvaluate(t *testing.T) {
	const rules, page = "User-agent: *\nDisallow: /", "<html><body>Welcome"
	stored := Parse([]byte("User-agent: *\nDisallow: /x"))
	for _, c := range []struct {
		name   string
		in     Fetched
		access Access
		exists bool
		root   bool // is "/" allowed
	}{
		{"rules", Fetched{Status: 200, Body: []byte(rules)}, Successful, true, false},
		{"an empty file", Fetched{Status: 200}, Successful, true, true},
		{"rules served as a web page", Fetched{Status: 200, ContentType: "text/html", Body: []byte(rules)}, Successful,
			true,
			false},
		{"other success", Fetched{Status: 203, Body: []byte(rules)}, Successful, true, false},
		{"a web page", Fetched{Status: 200, ContentType: "text/plain", Body: []byte(page)}, Unavailable, false, true},
		{"words served as a web page", Fetched{Status: 200, ContentType: " Text/HTML; charset=utf-8",
			Body: []byte("Not Found")}, Unavailable, false, true},
		{"words served as text", Fetched{Status: 200, ContentType: "text/plain", Body: []byte("Not Found")}, Successful,
			true, true},
		{"no content", Fetched{Status: 205, Body: []byte(rules)}, Unavailable, false, true},
		{"4xx with rules", Fetched{Status: 404, Body: []byte(rules)}, Unavailable, false, true},
		{"4xx whose body broke off", Fetched{Status: 403, Failed: true}, Unavailable, false, true},
		{"5xx with a file in store", Fetched{Status: 500, Stored: stored}, Unreachable, false, false},
		{"statuses of nobody", Fetched{Status: 999}, Unreachable, false, false},
		{"a body that broke off", Fetched{Status: 200, Failed: true, Body: []byte("User-agent: *")}, Unreachable, false,
			false},
		{"nothing answered", Fetched{Failed: true}, Unreachable, false, false},
		{"nothing at all", Fetched{}, Unreachable, false, false},
		{"five redirects", Fetched{Status: 200, Redirects: 5, Body: []byte(rules)}, Successful, true, false},
		{"six", Fetched{Status: 200, Redirects: 6, Body: []byte(rules)}, Unavailable, false, true},
		{"a redirect not followed any more", Fetched{Status: 302, Redirects: 5}, Unavailable, false, true},
		{"a redirect nowhere", Fetched{Status: 301}, Unavailable, false, true},
		{"a redirect that must not be followed", Fetched{Status: 301, Failed: true}, Unreachable, false, false},
		{"a redirect to an error", Fetched{Status: 503, Redirects: 1}, Unreachable, false, false},
		{"304", Fetched{Status: 304, Stored: stored}, NotModified, true, true},
		{"304 after a redirect", Fetched{Status: 304, Redirects: 1, Stored: stored}, NotModified, true, true},
		{"304 to an unconditional request", Fetched{Status: 304}, Unreachable, false, false},
	} {
		got := Evaluate(c.in)
		if got.Access != c.access || got.Exists != c.exists || got.File.Allowed("Bot", "/") != c.root {
			t.Errorf("%s: %+v", c.name, got)
		}
		if got.Access == NotModified && got.File != stored {
			t.Errorf("%s: another file", c.name)
		}
	}
}
