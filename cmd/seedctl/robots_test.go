package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const robotsSample = `User-agent: *
Crawl-delay: 1.5
Content-Signal: search=yes, ai-train=no
Disallow: /*.php$
Disallow: /a
Allow: /a/b

User-agent: otherbot
Disallow: /
Sitemap: /s.xml
`

func TestRobots(t *testing.T) {
	file := filepath.Join(t.TempDir(), "robots.txt")
	if err := os.WriteFile(file, []byte(robotsSample), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := seedctl("", "robots", file, "https://news.example/a/b", "/a/c", "/x")
	want := "file       " + file + `
agent      NewsforkBot
group      User-agent: * (line 1), 3 rules
delay      1.5 s
signal     ai-train=no
signal     search=yes
sitemap    https://news.example/s.xml

allowed    https://news.example/a/b  (line 6: Allow: /a/b)
denied     /a/c  (line 5: Disallow: /a)
allowed    /x  (no rule)
`
	if code != exitOK || out != want || errOut != "" {
		t.Errorf("%d, %s\n%s\nwant\n%s", code, errOut, out, want)
	}

	// Flags may stand anywhere; "-" is standard input; without URLs the question is "/".
	code, out, _ = seedctl(robotsSample, "robots", "-", "--agent", "OtherBot/2.0 (+https://x.example)")
	want = `file       -
agent      OtherBot
group      User-agent: otherbot (line 8), 1 rule
           relative sitemaps are left out: give --base

denied     /  (line 9: Disallow: /)
`
	if code != exitOK || out != want {
		t.Errorf("%d\n%s\nwant\n%s", code, out, want)
	}

	for body, want := range map[string]string{
		"<html><body>Sorry":                        "a web page, not a robots.txt file",
		"User-agent: x\nDisallow: /":               "none: everything is allowed",
		strings.Repeat("#\n", 300_000):             "longer than 512000 bytes",
		"User-agent: *\nDisallow: /\x1b[31m\x07":   "group ",
		"User-agent: *\nSitemap: http://h/s.xml\n": "sitemap    http://h/s.xml",
	} {
		code, out, _ := seedctl(body, "robots", "-", "/\x1b[31m\x07")
		if code != exitOK || !strings.Contains(out, want) || strings.ContainsAny(out, "\x1b\x07") {
			t.Errorf("%.40q: %d, %q", body, code, out)
		}
	}
}

func TestRobots_JSON(t *testing.T) {
	code, out, errOut := seedctl(robotsSample, "robots", "--json", "--base", "https://h.example/robots.txt", "-", "/a",
		"/z")
	want := `{"file":"-","agent":"NewsforkBot","group":{"user_agent":"*","line":1},"rules":3,"crawl_delay":1.5,` +
		`"content_signals":{"ai-train":"no","search":"yes"},"sitemaps":["https://h.example/s.xml"],"is_html":false,` +
		`"truncated":false,` +
		`"urls":[{"url":"/a","allowed":false,"line":5,"rule":"Disallow: /a"},{"url":"/z","allowed":true,"line":null,` +
		`"rule":null}]}` + "\n"
	if code != exitOK || out != want || errOut != "" {
		t.Errorf("%d, %s\n%s", code, errOut, out)
	}
	_, out, _ = seedctl("", "robots", "--json", "-")
	want = `{"file":"-","agent":"NewsforkBot","group":null,"rules":0,"crawl_delay":null,"content_signals":{},` +
		`"sitemaps":[],` +
		`"is_html":false,"truncated":false,"urls":[{"url":"/","allowed":true,"line":null,"rule":null}]}` + "\n"
	if out != want {
		t.Error(out)
	}
}

func TestRobots_Compare(t *testing.T) {
	const differs = "User-agent: *\nDisallow: /a*b\nDisallow: /c\n"
	_, out, _ := seedctl(differs, "robots", "--compare", "-", "/x/ab", "/c", "https://h.example/y/ab?q=1")
	if !strings.Contains(out,
		"temoto/robotstxt decides otherwise on 2 of 3 URLs:\nallowed    /x/ab  (no rule)\nallowed    "+
			"https://h.example/y/ab?q=1  (no rule)\n") {
		t.Error(out)
	}
	// Without URLs the rules themselves suggest some.
	_, out, _ = seedctl(differs, "robots", "--compare", "-")
	if !strings.Contains(out, "decides otherwise on 1 of 8 URLs:\nallowed    /x/axb  (no rule)\n") {
		t.Error(out)
	}
	_, out, _ = seedctl("User-agent: *\nDisallow: /c\nAllow: e\n", "robots", "--compare", "-")
	if !strings.Contains(out, "temoto/robotstxt decides the same (8 URLs tried)") {
		t.Error(out)
	}
	_, out, _ = seedctl("Disallow: /\nUser-agent: *\nDisallow: /x", "robots", "--compare", "--json", "-", "/x")
	var report robotsReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Compare == nil ||
		report.Compare.Error == nil || report.Compare.Differences == nil {
		t.Errorf("%v: %s", err, out)
	}
	_, out, _ = seedctl("Disallow: /\nUser-agent: *\nDisallow: /x", "robots", "--compare", "-", "/x")
	if !strings.Contains(out, "temoto/robotstxt rejects the whole file: ") {
		t.Error(out)
	}
}

func TestRobots_Usage(t *testing.T) {
	for name, args := range map[string][]string{
		"no file":              {},
		"flags but no file":    {"--json"},
		"jsonl with a file":    {"--jsonl", "robots.txt"},
		"jsonl with other":     {"--jsonl", "--agent", "x"},
		"a flag with no value": {"-", "--agent"},
	} {
		if code, out, errOut := seedctl("", append([]string{"robots"}, args...)...); code != exitUsage || out != "" ||
			errOut == "" {
			t.Errorf("%s: %d, %q, %q", name, code, out, errOut)
		}
	}
	if code, out, errOut := seedctl("", "robots", filepath.Join(t.TempDir(), "none.txt")); code != exitFailed ||
		out != "" || !strings.Contains(errOut, "none.txt") {
		t.Errorf("no such file: %d, %q, %q", code, out, errOut)
	}
}

func TestRobots_JSONL(t *testing.T) {
	const (
		none    = `{"allowed":true,"crawl_delay":null,"sitemaps":[],"is_html":false}`
		missing = `{"error":"robots_txt: missing; send the file's text, or its bytes as robots_txt_b64"}`
	)
	for _, c := range []struct {
		name, question, answer string
	}{
		{"verdict", `{"robots_txt":"User-agent: *\nDisallow: /x\nCrawl-delay: 2","agent":"Bot",` +
			`"url":"https://h.example/x?y"}`,
			`{"allowed":false,"crawl_delay":2,"sitemaps":[],"is_html":false}`},
		{"no URL asks about /", `{"robots_txt":"User-agent: *\nDisallow: /$\nCrawl-delay: .25","agent":"Bot"}`,
			`{"allowed":false,"crawl_delay":0.25,"sitemaps":[],"is_html":false}`},
		{"an empty URL is the root too", `{"robots_txt":"User-agent: *\nDisallow: /$","agent":"Bot","url":""}`,
			`{"allowed":false,"crawl_delay":null,"sitemaps":[],"is_html":false}`},
		{"sitemaps, by base", `{"robots_txt":"Sitemap: s.xml?a&b","agent":"Bot",` +
			`"base_url":"https://h.example/robots.txt"}`,
			`{"allowed":true,"crawl_delay":null,"sitemaps":["https://h.example/s.xml?a&b"],"is_html":false}`},
		{"sitemaps, by URL", `{"robots_txt":"Sitemap: /s.xml","agent":"Bot","url":"http://h.example/a/b"}`,
			`{"allowed":true,"crawl_delay":null,"sitemaps":["http://h.example/s.xml"],"is_html":false}`},
		{"bytes", `{"robots_txt_b64":"//5VAHMAZQByAC0AYQBnAGUAbgB0ADoAIAAqAAoARABpAHMAYQBsAGwAbwB3ADoAIAAvAAoA",` +
			`"agent":"Bot"}`,
			`{"allowed":false,"crawl_delay":null,"sitemaps":[],"is_html":false}`},
		{"bytes win", `{"robots_txt":"User-agent: *\nDisallow: /","robots_txt_b64":"","agent":"Bot"}`, none},
		{"a web page", `{"robots_txt":"<!doctype html><p>No","agent":"Bot"}`,
			`{"allowed":true,"crawl_delay":null,"sitemaps":[],"is_html":true}`},
		{"fields of others", `{"robots_txt":"","agent":"","name":"x","allowed":false}`, none},
		{"no file", `{"agent":"Bot"}`, missing},
		{"null is no file", `{"robots_txt":null,"agent":"Bot"}`, missing},
		{"no agent", `{"robots_txt":""}`, `{"error":"agent: missing; send a User-Agent or product token"}`},
		{"no base64", `{"robots_txt_b64":"*","agent":"Bot"}`,
			`{"error":"not a question: illegal base64 data at input byte 0"}`},
		{"no JSON", `{"robots_txt":`, `{"error":"not a question: it ends too early to be JSON"}`},
		{"another type", `{"robots_txt":1,"agent":"Bot"}`,
			`{"error":"not a question: \"robots_txt\" cannot be a number"}`},
	} {
		code, out, _ := seedctl(c.question+"\n", "robots", "--jsonl")
		wantCode := exitOK
		if strings.HasPrefix(c.answer, `{"error"`) {
			wantCode = exitFailed
		}
		if out != c.answer+"\n" || code != wantCode {
			t.Errorf("%s: %d, %swant %s", c.name, code, out, c.answer)
		}
	}

	// A bad line does not keep the others from being answered; blank lines are no questions; the last
	// line may lack its end, and a line may be long.
	long := `{"robots_txt":"` + strings.Repeat(`#\n`, 250_000) + `","agent":"Bot"}`
	code, out, _ := seedctl("\nbad\r\n \n"+long+"\n"+`{"robots_txt":"","agent":"a"}`, "robots", "--jsonl")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if code != exitFailed || len(lines) != 3 || !strings.HasPrefix(lines[0], `{"error"`) || lines[1] != none ||
		lines[2] != none {
		t.Errorf("%d, %q", code, lines)
	}
	if code, out, _ := seedctl("", "robots", "--jsonl"); code != exitOK || out != "" {
		t.Errorf("nothing: %d, %q", code, out)
	}
}

// TestRobots_JSONLConversation: an answer comes before the next question is asked.
func TestRobots_JSONLConversation(t *testing.T) {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	done := make(chan int)
	go func() { done <- run([]string{"robots", "--jsonl"}, inRead, outWrite, io.Discard) }()
	answers := json.NewDecoder(outRead)
	for range 3 {
		if _, err := io.WriteString(inWrite, `{"robots_txt":"","agent":"Bot"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		var a robotsAnswer
		if err := answers.Decode(&a); err != nil || !a.Allowed {
			t.Fatalf("%v, %+v", err, a)
		}
	}
	inWrite.Close()
	if code := <-done; code != exitOK {
		t.Error(code)
	}
}

// broken fails like a closed pipe or a bad disk.
type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errors.New("bad disk") }
func (broken) Write([]byte) (int, error) { return 0, errors.New("closed pipe") }

func TestRobots_BrokenStreams(t *testing.T) {
	question := `{"robots_txt":"","agent":"Bot"}` + "\n"
	for name, code := range map[string]int{
		"reading lines":   run([]string{"robots", "--jsonl"}, broken{}, io.Discard, io.Discard),
		"writing answers": run([]string{"robots", "--jsonl"}, strings.NewReader(question), broken{}, io.Discard),
		"reading a file":  run([]string{"robots", "-"}, broken{}, io.Discard, io.Discard),
		"writing text":    run([]string{"robots", "-"}, strings.NewReader(""), broken{}, io.Discard),
		"writing JSON":    run([]string{"robots", "--json", "-"}, strings.NewReader(""), broken{}, io.Discard),
	} {
		if code != exitFailed {
			t.Errorf("%s: %d", name, code)
		}
	}
}
