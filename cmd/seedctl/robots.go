package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/temoto/robotstxt"

	"github.com/newsfork/seed-engine/robots"
)

func robotsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "robots [flags] FILE|- [URL…]",
		Short: "what a robots.txt file allows, and by which line",
		Long: `Reads a robots.txt file ("-" is standard input) by RFC 9309 and shows the group that applies to
the crawler, its Crawl-delay, Content-Signal and sitemaps, and for each URL the verdict with the
line that decides. URLs may be paths; without any, the verdict is on "/". Nothing is fetched.

With --jsonl every line of standard input is a question
  {"robots_txt" or "robots_txt_b64", "base_url"?, "agent", "url"?}
and every line of the output its answer
  {"allowed", "crawl_delay" (seconds or null), "sitemaps", "is_html"}
or {"error"}, after which the exit code is 1 once all others are answered.`,
		Example: `  curl -s https://example.com/robots.txt | seedctl robots - /news/ /search?q=x
  seedctl robots --agent Googlebot-News --compare robots.txt`,
		ValidArgsFunction: files,
	}
	flags := cmd.Flags()
	agent := flags.String("agent", "NewsforkBot/1.0 (+https://newsfork.com/bot)",
		"`User-Agent` of the crawler, or its product token")
	base := flags.String("base", "",
		"`URL` of the file, to resolve relative sitemaps (default: that of the first absolute URL asked about)")
	asJSON := flags.Bool("json", false, "print one JSON object")
	compare := flags.Bool("compare", false,
		"show where temoto/robotstxt, a common parser, decides otherwise;\nwithout URLs, try some for every "+
			"rule of the group")
	lines := flags.Bool("jsonl", false, "answer questions on standard input, one JSON object a line")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		in, out := cmd.InOrStdin(), cmd.OutOrStdout()
		switch {
		case *lines && (flags.NFlag() > 1 || len(args) > 0):
			return usageError("--jsonl takes no other flags, files or URLs; send agent and url in each line")
		case *lines:
			return answerLines(in, out, answerRobots)
		case len(args) == 0:
			return usageError("name a file, or - for standard input")
		}
		body, err := readInput(args[0], in)
		if err != nil {
			return err
		}
		report := reportRobots(args[0], body, *agent, *base, args[1:], *compare)
		if *asJSON {
			encoder := json.NewEncoder(out)
			encoder.SetEscapeHTML(false)
			return encoder.Encode(report)
		}
		_, err = io.WriteString(out, report.text())
		return err
	}
	return cmd
}

// readInput reads a file, or in when its name is "-".
func readInput(name string, in io.Reader) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

// robotsReport is the output of "seedctl robots", and its --json form.
type robotsReport struct {
	File           string            `json:"file"`
	Agent          string            `json:"agent"` // the product token
	Group          *robotsGroup      `json:"group"` // null: no group applies
	Rules          int               `json:"rules"`
	CrawlDelay     *float64          `json:"crawl_delay"` // seconds
	ContentSignals map[string]string `json:"content_signals"`
	Sitemaps       []string          `json:"sitemaps"`
	IsHTML         bool              `json:"is_html"`
	Truncated      bool              `json:"truncated"`
	URLs           []robotsVerdict   `json:"urls"`
	Compare        *robotsCompare    `json:"compare,omitempty"`

	baseMissing bool // there are relative sitemaps, and nothing to resolve them against
}

type robotsGroup struct {
	UserAgent string `json:"user_agent"`
	Line      int    `json:"line"`
}

// robotsVerdict is about one URL. Line and Rule are null when no rule matches.
type robotsVerdict struct {
	URL     string  `json:"url"`
	Allowed bool    `json:"allowed"`
	Line    *int    `json:"line"`
	Rule    *string `json:"rule"`
}

// robotsCompare shows where temoto/robotstxt decides differently. Error is its reason to reject the
// whole file.
type robotsCompare struct {
	Tried       int             `json:"tried"`
	Error       *string         `json:"error"`
	Differences []robotsVerdict `json:"differences"` // our verdicts; the other's are the opposite
}

func reportRobots(name string, body []byte, agent, base string, urls []string, compare bool) robotsReport {
	f := robots.Parse(body)
	g := f.Agent(agent)
	if base == "" {
		base = robotsURL(urls...)
	}
	r := robotsReport{
		File:           name,
		Agent:          robots.ProductToken(agent),
		Rules:          len(g.Rules()),
		CrawlDelay:     delaySeconds(g),
		ContentSignals: g.ContentSignals(),
		Sitemaps:       f.Sitemaps(base),
		IsHTML:         f.IsHTML,
		Truncated:      f.Truncated,
	}
	r.baseMissing = len(r.Sitemaps) < len(f.Sitemaps("https://host.invalid/robots.txt"))
	if g.Name != "" {
		r.Group = &robotsGroup{g.Name, g.Line}
	}
	asked := urls
	if len(asked) == 0 {
		asked = []string{"/"}
	}
	for _, u := range asked {
		r.URLs = append(r.URLs, verdict(g, u))
	}
	if compare {
		if len(urls) == 0 {
			asked = probes(g)
		}
		r.Compare = compareRobots(body, g, r.Agent, asked)
	}
	return r
}

func verdict(g *robots.Group, u string) robotsVerdict {
	v := robotsVerdict{URL: u, Allowed: g.Allowed(u)}
	if rule, ok := g.Match(u); ok {
		text := rule.String()
		v.Line, v.Rule = &rule.Line, &text
	}
	return v
}

// probes makes paths that the rules of a group match, and others that only look like it.
func probes(g *robots.Group) []string {
	paths := []string{"/", "/robots.txt"}
	for _, rule := range g.Rules() {
		path := strings.ReplaceAll(strings.TrimSuffix(rule.Pattern, "$"), "*", "x")
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		paths = append(paths, path, path+"x", "/x"+path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func compareRobots(body []byte, g *robots.Group, token string, urls []string) *robotsCompare {
	c := &robotsCompare{Tried: len(urls), Differences: []robotsVerdict{}}
	data, err := robotstxt.FromBytes(body)
	if err != nil {
		reason := err.Error()
		c.Error = &reason
		return c
	}
	for _, u := range urls {
		path := u
		if parsed, err := url.Parse(u); err == nil && parsed.Host != "" {
			path = parsed.RequestURI()
		}
		if data.TestAgent(path, token) != g.Allowed(u) {
			c.Differences = append(c.Differences, verdict(g, u))
		}
	}
	return c
}

// text is the report for people.
func (r robotsReport) text() string {
	var b strings.Builder
	row := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", label, fmt.Sprintf(format, args...))
	}
	row("file", "%s", r.File)
	switch {
	case r.IsHTML:
		row("", "a web page, not a robots.txt file: everything is allowed")
	case r.Truncated:
		row("", "longer than %d bytes: the rest does not count", robots.MaxBytes)
	}
	row("agent", "%s", r.Agent)
	if r.Group != nil {
		row("group", "User-agent: %s (line %d), %s", r.Group.UserAgent, r.Group.Line, count(r.Rules, "rule"))
	} else {
		row("group", "none: everything is allowed")
	}
	if r.CrawlDelay != nil {
		row("delay", "%g s", *r.CrawlDelay)
	}
	for _, name := range slices.Sorted(maps.Keys(r.ContentSignals)) {
		row("signal", "%s=%s", name, r.ContentSignals[name])
	}
	for _, s := range r.Sitemaps {
		row("sitemap", "%s", s)
	}
	if r.baseMissing {
		row("", "relative sitemaps are left out: give --base")
	}
	b.WriteString("\n")
	for _, v := range r.URLs {
		row(v.word(), "%s  %s", v.URL, v.reason())
	}
	if c := r.Compare; c != nil {
		b.WriteString("\n")
		switch {
		case c.Error != nil:
			fmt.Fprintf(&b, "temoto/robotstxt rejects the whole file: %s\n", *c.Error)
		case len(c.Differences) == 0:
			fmt.Fprintf(&b, "temoto/robotstxt decides the same (%s tried)\n", count(c.Tried, "URL"))
		default:
			fmt.Fprintf(&b, "temoto/robotstxt decides otherwise on %d of %s:\n", len(c.Differences),
				count(c.Tried, "URL"))
			for _, v := range c.Differences {
				row(v.word(), "%s  %s", v.URL, v.reason())
			}
		}
	}
	return strings.Map(printable, b.String())
}

// printable keeps what a file contains from controlling the terminal.
func printable(r rune) rune {
	if r != '\n' && unicode.IsControl(r) {
		return '\ufffd'
	}
	return r
}

func (v robotsVerdict) word() string {
	if v.Allowed {
		return "allowed"
	}
	return "denied"
}

func (v robotsVerdict) reason() string {
	if v.Line == nil {
		return "(no rule)"
	}
	return fmt.Sprintf("(line %d: %s)", *v.Line, *v.Rule)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// robotsURL is the address of the robots.txt file for the first absolute URL, or "".
func robotsURL(urls ...string) string {
	for _, u := range urls {
		if parsed, err := url.Parse(u); err == nil && parsed.Host != "" {
			return parsed.Scheme + "://" + parsed.Host + "/robots.txt"
		}
	}
	return ""
}

func delaySeconds(g *robots.Group) *float64 {
	delay, ok := g.CrawlDelay()
	if !ok {
		return nil
	}
	seconds := delay.Seconds()
	return &seconds
}

// robotsQuestion is a line of --jsonl.
type robotsQuestion struct {
	RobotsTxt    *string `json:"robots_txt"`
	RobotsTxtB64 *[]byte `json:"robots_txt_b64"` // for bytes that JSON cannot hold; wins over the text
	BaseURL      string  `json:"base_url"`
	Agent        *string `json:"agent"`
	URL          *string `json:"url"`
}

type robotsAnswer struct {
	Allowed    bool     `json:"allowed"`
	CrawlDelay *float64 `json:"crawl_delay"`
	Sitemaps   []string `json:"sitemaps"`
	IsHTML     bool     `json:"is_html"`
}

// answerRobots answers one line of --jsonl.
func answerRobots(line []byte) (any, error) {
	var q robotsQuestion
	if err := json.Unmarshal(line, &q); err != nil {
		return nil, fmt.Errorf("not a question: %w", err)
	}
	var body []byte
	switch {
	case q.RobotsTxtB64 != nil:
		body = *q.RobotsTxtB64
	case q.RobotsTxt != nil:
		body = []byte(*q.RobotsTxt)
	default:
		return nil, errors.New("robots_txt: missing; send the file's text, or its bytes as robots_txt_b64")
	}
	if q.Agent == nil {
		return nil, errors.New("agent: missing; send a User-Agent or product token")
	}
	target := "/"
	if q.URL != nil {
		target = *q.URL
	}
	if q.BaseURL == "" {
		q.BaseURL = robotsURL(target)
	}
	f := robots.Parse(body)
	g := f.Agent(*q.Agent)
	return robotsAnswer{g.Allowed(target), delaySeconds(g), f.Sitemaps(q.BaseURL), f.IsHTML}, nil
}
