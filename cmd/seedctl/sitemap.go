package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/sitemap"
)

const sitemapHelp = `seedctl sitemap: what a sitemap or feed holds, and what is wrong with it

Usage:
  seedctl sitemap [flags] FILE|-…

Reads sitemaps (urlset, index, plain text) and feeds (RSS, Atom) however they are compressed,
encoded or broken; "-" is standard input. It shows the form of each, how many URLs it lists, of
how many sitemaps, news titles among them, the oldest and newest lastmod, and whether it is cut
short or over the protocol's limits. Nothing is fetched.

With --json there is one line for each file
  {"file", "kind" (urlset, index, rss, atom, text or invalid), "url_count", "child_sitemaps",
   "first_loc", "last_loc", "lastmod_min", "lastmod_max", "news_titles", "truncated",
   "over_limit", "error"}
with null for what is not there. A document that is no sitemap is an answer too, with its error.

Examples:
  curl -s https://example.com/sitemap.xml.gz | seedctl sitemap -
  seedctl sitemap --base https://example.com/sitemap.xml --json *.xml
`

// runSitemap prints what sitemaps contain.
func runSitemap(args []string, in io.Reader, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("sitemap", flag.ContinueOnError)
	base := flags.String("base", "", "`URL` of the document, to resolve relative locs (without it they do not count)")
	asJSON := flags.Bool("json", false, "print one JSON object for each file")
	files, code, ok := parseArgs(flags, sitemapHelp, args, out, errOut)
	if !ok {
		return code
	}
	if len(files) == 0 {
		fmt.Fprintln(errOut, "seedctl sitemap: name a file, or - for standard input (\"seedctl sitemap --help\" explains)")
		return exitUsage
	}
	if _, valid := markup.Resolve(*base, []byte("/")); *base != "" && !valid {
		fmt.Fprintf(errOut, "seedctl sitemap: --base %q is no absolute http or https URL\n", *base)
		return exitUsage
	}

	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	header := sync.OnceFunc(func() {
		fmt.Fprintln(table, "FILE\tKIND\tURLS\tSITEMAPS\tNEWS\tOLDEST\tNEWEST\tNOTES")
	})
	fail := func(err error) {
		code = unusable(errOut, "sitemap", err)
	}
	for _, name := range files {
		report, err := readSitemap(name, *base, in)
		if err != nil {
			fail(err)
			continue
		}
		if !*asJSON {
			header() // once there is a row
			fmt.Fprintln(table, report.row())
			continue
		}
		if err := encoder.Encode(report); err != nil {
			fail(err)
		}
	}
	if !*asJSON {
		if err := table.Flush(); err != nil {
			fail(err)
		}
	}
	return code
}

// sitemapReport is the --json form of one file. Dates are RFC 3339 in UTC.
type sitemapReport struct {
	File          string       `json:"file"`
	Kind          sitemap.Kind `json:"kind"`
	URLCount      int          `json:"url_count"`
	ChildSitemaps []string     `json:"child_sitemaps"`
	FirstLoc      *string      `json:"first_loc"`
	LastLoc       *string      `json:"last_loc"`
	LastmodMin    *string      `json:"lastmod_min"`
	LastmodMax    *string      `json:"lastmod_max"`
	NewsTitles    int          `json:"news_titles"`
	Truncated     bool         `json:"truncated"`
	OverLimit     bool         `json:"over_limit"`
	Error         *string      `json:"error"`

	skipped int
}

func readSitemap(name, base string, in io.Reader) (*sitemapReport, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	children := []string{}
	s, err := sitemap.Parse(in, base, sitemap.Options{}, func(e *sitemap.Entry) {
		if e.Child {
			children = append(children, string(e.Loc))
		}
	})
	if err != nil {
		return nil, err
	}
	return &sitemapReport{
		File:          name,
		Kind:          s.Kind,
		URLCount:      s.URLs,
		ChildSitemaps: children,
		FirstLoc:      orNull(s.FirstLoc),
		LastLoc:       orNull(s.LastLoc),
		LastmodMin:    dateOrNull(s.LastmodMin),
		LastmodMax:    dateOrNull(s.LastmodMax),
		NewsTitles:    s.NewsTitles,
		Truncated:     s.Truncated,
		OverLimit:     s.OverLimit,
		Error:         orNull(s.Problem),
		skipped:       s.Skipped,
	}, nil
}

// row is the report for people, with tabs between the columns.
func (r *sitemapReport) row() string {
	var notes []string
	if r.Truncated {
		notes = append(notes, "cut short")
	}
	if r.OverLimit {
		notes = append(notes, "over the limit")
	}
	if r.skipped > 0 {
		notes = append(notes, fmt.Sprintf("%d without a usable URL", r.skipped))
	}
	if r.Error != nil {
		notes = append(notes, *r.Error)
	}
	return fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s", strings.Map(printable, r.File), r.Kind, r.URLCount,
		len(r.ChildSitemaps), r.NewsTitles,
		shown(r.LastmodMin), shown(r.LastmodMax), strings.Join(notes, "; "))
}

func shown(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func dateOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return orNull(t.Format(time.RFC3339))
}
