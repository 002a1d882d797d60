package contract_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
)

func exclusions(t testing.TB, entries ...string) *contract.Exclusions {
	t.Helper()
	var list []contract.Exclusion
	for _, e := range entries {
		kind, value, _ := strings.Cut(e, " ")
		value, err := contract.CheckExclusion(kind, value)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, contract.Exclusion{Kind: kind, Value: value})
	}
	return contract.NewExclusions(list)
}

func TestExclusions(t *testing.T) {
	x := exclusions(t, "domain out.sg", "host www.half.sg", "url https://HALF.sg/private/*",
		"url http://*.half.sg/*.pdf", "url https://half.sg/exact", "host www.xn--3e0b707e.kr")
	for link, want := range map[string]bool{
		"https://out.sg/":                    true,
		"http://www.out.sg/a":                true,
		"https://a.b.out.sg./":               true,
		"https://notout.sg/":                 false,
		"https://out.sg.example/":            false,
		"https://www.half.sg/":               true,
		"https://half.sg/":                   false,
		"https://sub.www.half.sg/":           false,
		"https://half.sg/private/":           true,
		"http://half.sg/private/x?y=1":       true,
		"https://half.sg/privateer":          false,
		"https://half.sg/Private/x":          false,
		"https://files.half.sg/a/b.pdf":      true,
		"https://files.half.sg/a/b.pdf?x":    false,
		"https://half.sg/b.pdf":              false,
		"https://half.sg/exact":              true,
		"https://half.sg/exact?x":            false,
		"https://half.sg/exactly":            false,
		"https://other.sg/private/":          false,
		"https://other.sg/half.sg/private/x": false,
		"https://half.sg:443/private/x":      true,
		"https://www.xn--3e0b707e.kr/100%/x": true, // stray percent signs are common
		"https://xn--3e0b707e.kr/100%":       false,
		"https://other.sg?/private/":         false,
		"https://half.sg#/private/":          false,
		"/private/":                          true,
		"mailto:x@half.sg":                   true,
		"https://user@out.sg/":               true,
		"://":                                true,
	} {
		if got := x.URL(link); got != want {
			t.Errorf("%s: excluded is %v, want %v", link, got, want)
		}
	}
	if !x.Domain("out.sg") || x.Domain("half.sg") || x.Domain("www.half.sg") {
		t.Error("domains: only out.sg is excluded whole")
	}
	if none := exclusions(t); none.URL("https://out.sg/") || none.Domain("out.sg") {
		t.Error("nothing is excluded, and yet it is")
	}
}

// Whatever excludes a domain as a whole, Domain reports it and Reach includes it.
func TestExclusions_Domains(t *testing.T) {
	for _, c := range []struct {
		exclusions string
		excluded   string // of a.gov.sg, b.gov.sg and c.sg
	}{
		{"domain a.gov.sg", "a.gov.sg"},
		{"domain gov.sg", "a.gov.sg b.gov.sg"},
		{"host a.gov.sg", ""},
		{"host a.gov.sg, host www.a.gov.sg", "a.gov.sg"},
		{"host c.sg, url http://www.c.sg/*", "c.sg"},
		{"url https://c.sg/*", ""},
		{"url https://*c.sg/*", "c.sg"},
		{"url https://*.c.sg/*", ""},
		{"url https://*.gov.sg/*", "a.gov.sg b.gov.sg"},
		{"url https://*/news/*", ""},
		{"url https://*/*", "a.gov.sg b.gov.sg c.sg"},
	} {
		x := exclusions(t, strings.Split(c.exclusions, ", ")...)
		names, ends := x.Reach()
		var excluded []string
		for _, domain := range []string{"a.gov.sg", "b.gov.sg", "c.sg"} {
			if !x.Domain(domain) {
				continue
			}
			excluded = append(excluded, domain)
			if !slices.Contains(names, domain) &&
				!slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(domain, end) }) {
				t.Errorf("%s: %s is out of reach: %q, %q", c.exclusions, domain, names, ends)
			}
		}
		if got := strings.Join(excluded, " "); got != c.excluded {
			t.Errorf("%s: %q, want %q", c.exclusions, got, c.excluded)
		}
	}
}

func TestCheckExclusion(t *testing.T) {
	for _, c := range [][2]string{
		{"domain", "OUT.sg"}, {"domain", "sg"}, {"domain", ""}, {"host", "a b.sg"}, {"host", "https://a.sg"},
		{"url", "a.sg/x"}, {"url", "ftp://a.sg/"}, {"url", "https://a.sg"}, {"url", "https:///x"},
		{"url", "https://a.sg/" + strings.Repeat("x", 2000)},
		{"path", "/x"}, {"", ""},
	} {
		var e *contract.Error
		if _, err := contract.CheckExclusion(c[0], c[1]); !errors.As(err, &e) || e.Kind != contract.Validation ||
			e.Field == "" {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// A pattern applies to all ports of a host.
func TestExclusions_Ports(t *testing.T) {
	x := exclusions(t, "url https://a.sg:443/private/*", "url http://b.sg.:8080/*", "url https://*.c.sg:*/x")
	for link, want := range map[string]bool{
		"https://a.sg/private/x": true, "http://a.sg:80/private/": true, "https://a.sg/": false,
		"https://b.sg/": true, "https://www.c.sg/x": true, "https://c.sg/x": false,
	} {
		if got := x.URL(link); got != want {
			t.Errorf("%s: excluded is %v, want %v", link, got, want)
		}
	}
}

// An exclusion applies however a site percent-encodes the path.
func TestExclusions_Spellings(t *testing.T) {
	for pattern, spellings := range map[string][]string{
		"/한국/*":         {"/%ED%95%9C%EA%B5%AD/x", "/%ed%95%9c%ea%b5%ad/x"},
		"/%ed%95%9C/*":  {"/%ED%95%9C/x", "/%ed%95%9c/x"},
		"/private/*":    {"/%70rivate/x", "/priv%61te/%2e"},
		"/a b{c}/*":     {"/a%20b%7Bc%7D/", "/a%20b%7bc%7d/"},
		"/x?q='a'*":     {"/x?q=%27a%27"},
		"/x%2fy":        {"/x%2Fy"},
		"/100%*":        {"/100%", "/100%25", "/100%zz"},
		"/files/*%2A*":  {"/files/a%2a"},
		"/%70rivate2/*": {"/private2/x"},
	} {
		x := exclusions(t, "url https://a.kr"+pattern)
		for _, path := range spellings {
			if !x.URL("https://a.kr" + path) {
				t.Errorf("%s does not exclude %s", pattern, path)
			}
		}
		for _, path := range []string{"/x/y", "/%2570rivate/x", "/private%2Fx", "/files/a", "/files/a*"} {
			if x.URL("https://a.kr" + path) {
				t.Errorf("%s excludes %s", pattern, path)
			}
		}
	}
}

// FuzzExclusionPattern compares patterns with equivalent regular expressions.
func FuzzExclusionPattern(f *testing.F) {
	for _, s := range [][2]string{{"*", "a/b"}, {"a*b*c", "aXbXbc"}, {"*a", "aaab"}, {"a**b", "ab"}, {"", "x"},
		{"x*y*", "xy"}, {"*ab*ab", "abab"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if strings.ContainsAny(pattern+path, "%#?\\ \n\r\t") || len(pattern) > 50 || len(path) > 200 {
			t.Skip()
		}
		for _, r := range pattern + path {
			if r < 0x21 || r > 0x7e {
				t.Skip()
			}
		}
		x := exclusions(t, "url https://a.sg/"+pattern)
		want := regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) +
			`$`).MatchString(path)
		if got := x.URL("https://a.sg/" + path); got != want {
			t.Errorf("%q on %q: %v, want %v", pattern, path, got, want)
		}
	})
}

func TestOutcome_Metadata(t *testing.T) {
	d := &contract.Document{Reachable: false}
	d.Robots.Error, d.Robots.ErrorType = contract.Text("refused by 한국.kr\nnow"), contract.Text("network_error")
	d.Processing.ProcessingDurationMS = 1234
	for _, reachable := range []bool{false, true} {
		d.Reachable, d.Robots.Exists, d.Sitemap.Exists = reachable, reachable, false
		want := contract.OutcomeOf(d)
		got, ok := contract.ParseOutcome(want.Metadata())
		if !ok || got != want {
			t.Errorf("got %+v, %v; want %+v", got, ok, want)
		}
		for name, v := range want.Metadata() {
			if strings.Trim(v,
				" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~") !=
				"" {
				t.Errorf("%s: %q cannot travel as a header", name, v)
			}
			if name == "error" || name == "error_type" || name == "barrier" { // earlier versions wrote no barrier
				continue
			}
			m := want.Metadata()
			delete(m, name)
			if _, ok := contract.ParseOutcome(m); ok {
				t.Errorf("without %s it counts as whole", name)
			}
		}
	}
	if o := contract.OutcomeOf(&contract.Document{}); o.ErrorType != "network_error" || o.ErrorMessage == "" {
		t.Errorf("an unreachable domain without a reason: %+v", o)
	}
}

// What keeps a domain from being fetched is told from its document, and survives as metadata.
func TestOutcome_Barrier(t *testing.T) {
	no, yes := false, true
	forbidding := func(d *contract.Document) {
		d.URLs = []contract.DocumentURL{{Allowed: &no}}
	}
	const found, entries = `{"discovered_urls":[{"url":""}]}`, `{"entry_points":[{"url":""}]}`
	allowing := func(d *contract.Document) { d.Technical.RobotsTxt.AllowsCrawling = true }
	for want, change := range map[contract.Barrier]func(d *contract.Document){
		contract.Forbidden: forbidding,
		contract.Refuses: func(d *contract.Document) {
			d.Blocked, d.BlockedReason, d.Contract = true, contract.Text("HTTP 403"), []byte(entries)
		},
		contract.Empty: func(d *contract.Document) { forbidding(d); allowing(d) },
		"":             func(d *contract.Document) { d.Reachable = false },
	} {
		d := contract.Document{Reachable: true, Discovery: []byte(`{"discovered_urls":[]}`),
			Contract: []byte(`{"entry_points":[]}`)}
		change(&d)
		o := contract.OutcomeOf(&d)
		if got, ok := contract.ParseOutcome(o.Metadata()); !ok || o.Barrier != want || got.Barrier != want {
			t.Errorf("%q, read as %q; want %q", o.Barrier, got.Barrier, want)
		} else if got.ErrorMessage != o.ErrorMessage || got.ErrorType != o.ErrorType ||
			want == contract.Refuses && (o.ErrorMessage != "HTTP 403" || o.ErrorType != "") {
			t.Errorf("%q: error %q %q, read as %q", want, o.ErrorType, o.ErrorMessage, got.ErrorMessage)
		}
	}
	// A site that forbids its home page alone is fetched.
	unread := contract.Document{Reachable: true}
	forbidding(&unread)
	unread.Technical.RobotsTxt.Error = contract.Text("HTTP 500")
	if o := contract.OutcomeOf(&unread); o.Barrier != contract.Forbidden ||
		o.ErrorMessage != "robots.txt could not be read: HTTP 500" {
		t.Errorf("an unreadable robots.txt: %q %q", o.Barrier, o.ErrorMessage)
	}
	for what, change := range map[string]func(d *contract.Document){
		"a page of Research":  func(d *contract.Document) { d.URLs[0].Allowed = &yes },
		"another host's page": func(d *contract.Document) { d.URLs[0].Allowed = nil },
		"lists of URLs":       func(d *contract.Document) { d.URLsFiles = []string{"urls/raw_0001-1.json"} },
		"a discovered URL":    func(d *contract.Document) { d.Discovery = []byte(found) },
		"an entry point":      func(d *contract.Document) { d.Contract = []byte(entries) },
		"one page of two": func(d *contract.Document) {
			d.URLs = append(d.URLs, contract.DocumentURL{Allowed: &yes})
		},
	} {
		d := contract.Document{Reachable: true}
		forbidding(&d)
		change(&d)
		if o := contract.OutcomeOf(&d); o.Barrier != contract.Clear {
			t.Errorf("%s: %q", what, o.Barrier)
		}
	}
	if o, ok := contract.ParseOutcome(map[string]string{"collected_at": "2026-01-28T09:00:00Z", "barrier": "other",
		"reachable": "true", "robots_exists": "true", "sitemap_exists": "true",
		"processing_duration_ms": "1"}); !ok || o.Barrier != "" {
		t.Errorf("an unknown barrier: %+v, %v", o, ok)
	}
}

// Excluding names an exclusion of every URL that Exclusions matches, and of no other.
func TestControls_Excluding(t *testing.T) {
	c := contract.Controls{}
	for _, e := range []string{"domain out.sg", "host www.half.sg", "url https://half.sg/private/*",
		"url http://*.half.sg/*.pdf"} {
		kind, value, _ := strings.Cut(e, " ")
		c.Exclusions = append(c.Exclusions, contract.Exclusion{Kind: kind, Value: value})
	}
	x := contract.NewExclusions(c.Exclusions)
	for link, want := range map[string]string{
		"https://out.sg/":                 "domain out.sg",
		"https://a.b.OUT.sg./x":           "domain out.sg",
		"https://notout.sg/":              "",
		"https://www.half.sg":             "host www.half.sg",
		"https://sub.www.half.sg/":        "",
		"http://half.sg:443/private/x":    "url https://half.sg/private/*",
		"https://half.sg/%70rivate/x#top": "url https://half.sg/private/*",
		"https://files.half.sg/a/b.pdf":   "url http://*.half.sg/*.pdf",
		"https://other.sg?/private/":      "",
	} {
		got := ""
		if e := c.Excluding(link); e != nil {
			got = e.Kind + " " + e.Value
		}
		if got != want || x.URL(link) != (want != "") {
			t.Errorf("%s is excluded by %q (%v), want %q", link, got, x.URL(link), want)
		}
	}
}
