package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
)

const classifyHelp = `seedctl classify: which of 23 content types a URL leads to

Usage:
  seedctl classify [flags] URL…
  seedctl classify --jsonl < lines
  seedctl classify --site FILE|-

Tells by the URL whether it leads to news, a press release, legislation, statistics and so on;
docs/classification.md explains the types and how often the answer is right. Nothing is fetched.

With --jsonl every line of standard input is a question
  {"url", "title"?, "anchor"?, "authority"?}
where title is that of the page and anchor the text of a link to it, and every line of the output
its answer
  {"url", "primary_type", "secondary_types", "confidence" (0 to 1), "evidence"}
or {"error"}, after which the exit code is 1 once all others are answered.

With --site every line of FILE is a URL, or
  {"url", "title"?, "anchor"?, "lastmod"?, "method"?}
with how it was found (feed, news_sitemap, sitemap, research or link). The URLs of a domain are
judged together: those of one pattern with the rhythm of their dates, those in lists of news, and
what the links with an anchor name. The answers are those of --jsonl, in the order of the lines,
which makes no difference.

Examples:
  seedctl classify https://www.example.gov/newsroom/press-releases/2026
  jq -c '{url: .loc, title: .title}' urls.json | seedctl classify --jsonl
  seedctl classify --site urls.txt | jq -r '[.primary_type, .url] | @tsv'
`

// classified is the answer for one URL.
type classified struct {
	URL string `json:"url"`
	classify.Classification
}

// runClassify prints the content types of URLs.
func runClassify(args []string, in io.Reader, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("classify", flag.ContinueOnError)
	authority := flags.String("authority", "", "`kind` of the source where the host does not tell: gov, edu or org")
	asJSON := flags.Bool("json", false, "print one JSON object a URL")
	lines := flags.Bool("jsonl", false, "answer questions on standard input, one JSON object a line")
	site := flags.String("site", "",
		"`file` of URLs, a line each, of which those of a domain are judged together; - is standard input")
	urls, code, ok := parseArgs(flags, classifyHelp, args, out, errOut)
	if !ok {
		return code
	}
	if *site != "" {
		if len(urls) > 0 {
			fmt.Fprintln(errOut, "seedctl classify: --site takes no URLs; write them into its file")
			return exitUsage
		}
		return classifySite(*site, classify.Context{Authority: *authority}, in, out, errOut)
	}
	if *lines {
		if flags.NFlag() > 1 || len(urls) > 0 {
			fmt.Fprintln(errOut,
				"seedctl classify: --jsonl takes no other flags or URLs; send url, title and authority in each line")
			return exitUsage
		}
		return answerLines("classify", in, out, errOut, answerClassify())
	}
	if len(urls) == 0 {
		fmt.Fprintln(errOut, "seedctl classify: name a URL (\"seedctl classify --help\" explains)")
		return exitUsage
	}
	classifier := embedded.Model().NewClassifier(classify.Context{Authority: *authority})
	w := bufio.NewWriter(out)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	code = exitOK
	for _, u := range urls {
		if parsed, err := url.Parse(u); err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" ||
			parsed.Host == "" {
			fmt.Fprintf(errOut, "seedctl classify: %s is not an http or https URL\n", plain(strconv.Quote(u)))
			code = exitInput
			continue
		}
		answer := classified{u, classifier.Classify(u)}
		if *asJSON {
			encoder.Encode(answer) // an error of w stays with it until Flush
			continue
		}
		answer.print(w)
	}
	if err := w.Flush(); err != nil {
		return unusable(errOut, "classify", err)
	}
	return code
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
		return classified{*question.URL, classifier.ClassifyText(*question.URL,
			classify.Text{Title: question.Title, Anchor: question.Anchor})}, nil
	}
}
