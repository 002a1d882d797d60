package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
)

// classified is the answer for one URL.
type classified struct {
	URL string `json:"url"`
	classify.Classification
}

func classifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "classify [flags] URL…",
		Short: "which of 23 content types a URL leads to",
		Long: `Tells by the URL whether it leads to news, a press release, legislation, statistics and so on;
docs/classification.md explains the types and how often the answer is right. Nothing is fetched.

With --jsonl every line of standard input is a question
  {"url", "title"?, "anchor"?, "page"?, "authority"?}
where title is that of the page, anchor the text of a link to it, and page its evidence as seedctl
inspect shows it (title, h1, headings, breadcrumb, text, words, links, dates, forms, documents,
lang; each may be missing), and every line of the output its answer
  {"url", "primary_type", "secondary_types", "confidence" (0 to 1), "evidence"}
or {"error"}, after which the exit code is 1 once all others are answered.

With --site every line of FILE is a URL, or
  {"url", "title"?, "anchor"?, "lastmod"?, "method"?}
with how it was found (feed, news_sitemap, sitemap, research or link). The URLs of a domain are
judged together: those of one pattern with the rhythm of their dates, those in lists of news, and
what the links with an anchor name. The answers are those of --jsonl, in the order of the lines,
which makes no difference.`,
		Example: `  seedctl classify https://www.example.gov/newsroom/press-releases/2026
  jq -c '{url: .loc, title: .title}' urls.json | seedctl classify --jsonl
  seedctl classify --site urls.txt | jq -r '[.primary_type, .url] | @tsv'`,
	}
	flags := cmd.Flags()
	authority := flags.String("authority", "", "`kind` of the source where the host does not tell: gov, edu or org")
	completeFlag(cmd, "authority", oneOf("gov", "edu", "org"))
	asJSON := flags.Bool("json", false, "print one JSON object a URL")
	lines := flags.Bool("jsonl", false, "answer questions on standard input, one JSON object a line")
	site := flags.String("site", "",
		"`file` of URLs, a line each, of which those of a domain are judged together; - is standard input")
	completeFlag(cmd, "site", files)
	cmd.RunE = func(cmd *cobra.Command, urls []string) error {
		in, out := cmd.InOrStdin(), cmd.OutOrStdout()
		switch {
		case *site != "" && len(urls) > 0:
			return usageError("--site takes no URLs; write them into its file")
		case *site != "":
			return classifySite(*site, classify.Context{Authority: *authority}, in, out)
		case *lines && (flags.NFlag() > 1 || len(urls) > 0):
			return usageError("--jsonl takes no other flags or URLs; send url, title and authority in each line")
		case *lines:
			return answerLines(in, out, answerClassify())
		case len(urls) == 0:
			return usageError("name a URL")
		}
		return classifyURLs(cmd, urls, *authority, *asJSON)
	}
	return cmd
}

// classifyURLs prints the content types of URLs.
func classifyURLs(cmd *cobra.Command, urls []string, authority string, asJSON bool) error {
	classifier := embedded.Model().NewClassifier(classify.Context{Authority: authority})
	w := bufio.NewWriter(cmd.OutOrStdout())
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	var failed error
	for _, u := range urls {
		if parsed, err := url.Parse(u); err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" ||
			parsed.Host == "" {
			complain(cmd, "%s is not an http or https URL", plain(strconv.Quote(u)))
			failed = errReported
			continue
		}
		answer := classified{u, classifier.Classify(u)}
		if asJSON {
			encoder.Encode(answer) // an error of w stays with it until Flush
			continue
		}
		answer.print(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return failed
}

// print writes the answer for a person.
func (c *classified) print(w io.Writer) {
	fmt.Fprintf(w, "%-13s %3.0f %%  %s\n", c.PrimaryType, c.Confidence*100, c.URL)
	line := func(name string, words []string) {
		if len(words) > 0 {
			fmt.Fprintf(w, "  %-10s %s\n", name, strings.Join(words, " "))
		}
	}
	var others []string
	for _, t := range c.SecondaryTypes {
		others = append(others, string(t))
	}
	line("perhaps", others)
	line("path", c.Evidence.URLPatterns)
	line("words", c.Evidence.KeywordMatches)
	line("structure", c.Evidence.StructuralHints)
	line("domain", c.Evidence.DomainContext)
}

// answerClassify returns a function that answers a line of --jsonl. It keeps a classifier while the authority stays
// the same.
func answerClassify() func(line []byte) (any, error) {
	var classifier *classify.Classifier
	var authority string
	return func(line []byte) (any, error) {
		var question struct {
			URL       *string `json:"url"`
			Title     string  `json:"title"`
			Anchor    string  `json:"anchor"`
			Authority string  `json:"authority"`

			Page *givenPage `json:"page"`
		}
		if err := json.Unmarshal(line, &question); err != nil {
			return nil, err
		}
		if question.URL == nil || *question.URL == "" {
			return nil, errors.New(`no "url"`)
		}
		if classifier == nil || authority != question.Authority {
			authority = question.Authority
			classifier = embedded.Model().NewClassifier(classify.Context{Authority: authority})
		}
		text := classify.Text{Title: question.Title, Anchor: question.Anchor}
		if question.Page != nil {
			ev, err := question.Page.evidence()
			if err != nil {
				return nil, err
			}
			return classified{*question.URL, classifier.ClassifyPage(*question.URL, text, ev)}, nil
		}
		return classified{*question.URL, classifier.ClassifyText(*question.URL, text)}, nil
	}
}
