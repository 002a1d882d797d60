package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/markup"
	"github.com/newsfork/seed-engine/sitemap"
)

func sitemapCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sitemap [flags] FILE|-…",
		Short: "what a sitemap or feed holds, and what is wrong with it",
		Long: `Reads sitemaps (urlset, index, plain text) and feeds (RSS, Atom) however they are compressed,
encoded or broken; "-" is standard input. It shows the form of each, how many URLs it lists, of
how many sitemaps, news titles among them, the oldest and newest lastmod, and whether it is cut
short or over the protocol's limits. Nothing is fetched.

With --json there is one line for each file
  {"file", "kind" (urlset, index, rss, atom, text or invalid), "url_count", "child_sitemaps",
   "first_loc", "last_loc", "lastmod_min", "lastmod_max", "news_titles", "truncated",
   "over_limit", "error"}
with null for what is not there. A document that is no sitemap is an answer too, with its error.`,
		Example: `  curl -s https://example.com/sitemap.xml.gz | seedctl sitemap -
  seedctl sitemap --base https://example.com/sitemap.xml --json *.xml`,
		ValidArgsFunction: files,
	}
	base := cmd.Flags().String("base", "",
		"`URL` of the document, to resolve relative locs (without it they do not count)")
	asJSON := cmd.Flags().Bool("json", false, "print one JSON object for each file")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if len(names) == 0 {
			return usageError("name a file, or - for standard input")
		}
		if _, valid := markup.Resolve(*base, []byte("/")); *base != "" && !valid {
			return usageError(fmt.Sprintf("--base %q is no absolute http or https URL", *base))
		}
		return showSitemaps(cmd, names, *base, *asJSON)
	}
	return cmd
}

// showSitemaps prints what sitemaps contain, also after one that cannot be read.
func showSitemaps(cmd *cobra.Command, names []string, base string, asJSON bool) error {
	out := cmd.OutOrStdout()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	rows := []string{"FILE\tKIND\tURLS\tSITEMAPS\tNEWS\tOLDEST\tNEWEST\tNOTES"}
	var failed error
	for _, name := range names {
		report, err := readSitemap(name, base, cmd.InOrStdin())
		switch {
		case err == nil && asJSON:
			err = encoder.Encode(report)
		case err == nil:
			rows = append(rows, report.row())
		}
		if err != nil {
			complain(cmd, "%s", inWords(err))
			failed = errReported
		}
	}
	if err := tableIf(len(rows) > 1, out, rows); err != nil {
		return err
	}
	return failed
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
