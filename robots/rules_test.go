package robots

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// corpusCase is a case of testdata/rules.txt, whose head explains the format.
type corpusCase struct {
	name   string
	body   []byte
	expect []string
}

func readCorpus(t testing.TB) []corpusCase {
	t.Helper()
	text, err := os.ReadFile("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	for _, part := range strings.Split(string(text), "\n=== ")[1:] {
		name, rest, _ := strings.Cut(part, "\n")
		body, expect, ok := strings.Cut("\n"+rest, "\n---\n")
		if !ok {
			t.Fatalf("%s: no expectations", name)
		}
		cases = append(cases, corpusCase{name, []byte(strings.TrimPrefix(body+"\n", "\n")),
			strings.Split(strings.TrimSpace(expect), "\n")})
	}
	if len(cases) < 50 {
		t.Fatalf("%d cases", len(cases))
	}
	return cases
}

func TestCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		t.Run(c.name, func(t *testing.T) { c.check(t, Parse(c.body)) })
	}
}

// TestCorpus_LineEnds reads the corpus with the other line ends, and without the last one.
func TestCorpus_LineEnds(t *testing.T) {
	for _, c := range readCorpus(t) {
		for _, end := range []string{"\r", "\r\n"} {
			c.check(t, Parse(bytes.ReplaceAll(c.body, []byte("\n"), []byte(end))))
		}
		c.check(t, Parse(bytes.TrimSuffix(c.body, []byte("\n"))))
	}
}

// TestCorpus_Encodings reads the corpus as the encodings that are recognised.
func TestCorpus_Encodings(t *testing.T) {
	for _, c := range readCorpus(t) {
		c.check(t, Parse(append([]byte("\ufeff"), c.body...)))
		for _, big := range []bool{false, true} {
			c.check(t, Parse(encodeUTF16("\ufeff"+string(c.body), big)))
			if len(c.body) > 1 && c.body[0] < 0x80 && c.body[1] < 0x80 {
				c.check(t, Parse(encodeUTF16(string(c.body), big)))
			}
		}
	}
}

func (c corpusCase) check(t *testing.T, f *File) {
	t.Helper()
	var (
		g    *Group
		html bool
	)
	list := func(words []string) []string {
		if slices.Equal(words, []string{"-"}) {
			return []string{}
		}
		return words
	}
	for _, line := range c.expect {
		verb, rest, _ := strings.Cut(line, " ")
		words := strings.Fields(rest)
		switch verb {
		case "agent":
			g = f.Agent(rest)
		case "group":
			got := "-"
			if g.Name != "" {
				got = fmt.Sprint(g.Name, " ", g.Line)
			}
			if got != rest {
				t.Errorf("%s: %s, got %s", c.name, line, got)
			}
		case "allow", "deny":
			for _, u := range words {
				if g.Allowed(u) != (verb == "allow") {
					rule, _ := g.Match(u)
					t.Errorf("%s: want %s %s, got %+v", c.name, verb, u, rule)
				}
			}
		case "rule":
			got := "-"
			if r, ok := g.Match(words[0]); ok {
				got = strconv.Itoa(r.Line)
			}
			if got != words[1] {
				t.Errorf("%s: %s, got line %s", c.name, line, got)
			}
		case "delay":
			got := "-"
			if d, ok := g.CrawlDelay(); ok {
				got = fmt.Sprint(d.Seconds())
			}
			if got != rest {
				t.Errorf("%s: %s, got %s", c.name, line, got)
			}
		case "signals":
			want := map[string]string{}
			for _, w := range list(words) {
				name, answer, _ := strings.Cut(w, "=")
				want[name] = answer
			}
			if got := g.ContentSignals(); !maps.Equal(got, want) {
				t.Errorf("%s: %s, got %v", c.name, line, got)
			}
		case "sitemaps":
			if got := f.Sitemaps("https://news.example/robots.txt"); !slices.Equal(got, list(words)) {
				t.Errorf("%s: %s, got %q", c.name, line, got)
			}
		case "html":
			html = true
		default:
			t.Fatalf("%s: what is %q?", c.name, line)
		}
	}
	if f.IsHTML != html || f.Truncated {
		t.Errorf("%s: IsHTML %v, Truncated %v", c.name, f.IsHTML, f.Truncated)
	}
}
