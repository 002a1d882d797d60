package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/fetch"
	"github.com/newsfork/seed-engine/page"
	"github.com/newsfork/seed-engine/robots"
)

// pageReport is the output of "seedctl inspect --page --json" for one page.
type pageReport struct {
	File string         `json:"file,omitempty"`
	URL  string         `json:"url,omitempty"`
	Page *page.Evidence `json:"page"`
}

// inspectPages prints the evidence of pages: files, or URLs that are fetched.
func inspectPages(cmd *cobra.Command, targets []string, visitor *pageVisitor, asJSON bool) error {
	out := cmd.OutOrStdout()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	var failed error
	for i, target := range targets {
		report, err := readPage(cmd.InOrStdin(), target, visitor)
		if err != nil {
			complain(cmd, "%s: %s", plain(target), inWords(err))
			failed = errReported
			continue
		}
		if asJSON {
			err = encoder.Encode(report)
		} else {
			if i > 0 {
				fmt.Fprintln(out)
			}
			err = table(out, report.rows()...)
		}
		if err != nil {
			return err
		}
	}
	return failed
}

// readPage reads the evidence of a URL, a file, or standard input if target is "-".
func readPage(in io.Reader, target string, visitor *pageVisitor) (*pageReport, error) {
	if strings.Contains(target, "://") {
		return visitor.visit(target)
	}
	if target != "-" {
		file, err := os.Open(target)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	evidence, err := page.Extract(in, page.Source{})
	return &pageReport{File: target, Page: evidence}, err
}

// pageVisitor fetches single pages, each after the robots.txt of its host.
type pageVisitor struct {
	agent string
	web   fetch.Transport
	clock fetch.Clock
}

// visit fetches a page.
func (v *pageVisitor) visit(link string) (*pageReport, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	const timeout = 20 * time.Second
	var session *fetch.Session
	rules := func(ctx context.Context, authority *url.URL) (func(string) bool, error) {
		a, err := session.Fetch(ctx, fetch.Target{URL: authority.String() + "/robots.txt", Timeout: timeout,
			MaxBytes: robots.MaxBytes + 1, Whole: true, Robots: true})
		result := robots.Evaluate(robots.Fetched{Status: a.Status, Redirects: len(a.Hops), Failed: err != nil,
			ContentType: a.Header.Get("Content-Type"), Body: a.Content})
		if result.Access == robots.Unreachable && err != nil {
			return nil, err
		}
		return result.File.Agent(v.agent).Allowed, nil
	}
	session = fetch.NewSession(fetch.Config{UserAgent: v.agent, Rules: rules, Interval: time.Second,
		MaxRequests: 20, MaxRedirects: 5, Deadline: time.Minute}, v.web, v.clock, fetch.NewLimiter(2))
	defer session.Close()
	a, err := session.Fetch(ctx, fetch.Target{URL: link, Accept: "text/html, application/xhtml+xml, */*;q=0.5",
		Timeout: timeout, MaxBytes: page.MaxBytes})
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, fmt.Errorf("the server answered with HTTP status %d", a.Status)
	}
	evidence, err := page.Extract(a.Body, page.Source{URL: a.URL, ContentType: a.Header.Get("Content-Type")})
	return &pageReport{URL: a.URL, Page: evidence}, err
}

// rows are the lines of a table about the page.
func (r *pageReport) rows() []string {
	e := r.Page
	rows := []string{"page\t" + plain(r.File+r.URL)}
	add := func(label, value string) {
		if value != "" {
			rows = append(rows, label+"\t"+plain(value))
		}
	}
	dated := func(at time.Time, from page.DateSource) string {
		if at.IsZero() {
			return ""
		}
		return at.Format(time.RFC3339) + ", from " + string(from)
	}
	add("title", e.Title)
	add("h1", e.H1)
	for _, h := range e.Headings {
		add("heading", h)
	}
	add("breadcrumb", strings.Join(e.Breadcrumb, " › "))
	add("text", e.Text)
	add("counts", strings.Join([]string{count(e.Words, "word"), count(e.Links, "link"), count(e.Dates, "date"),
		count(e.Forms, "form"), count(e.Documents, "document")}, ", "))
	add("language", e.Language)
	add("canonical", e.Canonical)
	add("published", dated(e.Published, e.PublishedFrom))
	add("modified", dated(e.Modified, e.ModifiedFrom))
	if e.Noindex {
		add("robots", "noindex")
	}
	add("paywall", string(e.Paywall))
	return rows
}

// givenPage is evidence from other programs: headings and the breadcrumb might be one text, and counts lists.
type givenPage map[string]json.RawMessage

// evidence returns it as that of a page. Fields that it does not know are ignored.
func (g givenPage) evidence() (*page.Evidence, error) {
	for _, name := range []string{"headings", "breadcrumb"} {
		var text string
		if json.Unmarshal(g[name], &text) != nil {
			continue
		}
		parts := []string{}
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n>›»|", r) }) {
			parts = append(parts, part)
		}
		g[name], _ = json.Marshal(parts)
	}
	for _, name := range []string{"words", "links", "dates", "forms", "documents"} {
		var list []json.RawMessage
		if json.Unmarshal(g[name], &list) == nil {
			g[name], _ = json.Marshal(len(list))
		}
	}
	data, err := json.Marshal(map[string]json.RawMessage(g))
	if err != nil {
		return nil, err
	}
	ev := new(page.Evidence)
	if err := json.Unmarshal(data, ev); err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	ev.Bound()
	return ev, nil
}
