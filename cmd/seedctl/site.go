package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/fetch"
)

// siteLine is a line of the file of --site.
type siteLine struct {
	URL     string           `json:"url"`
	Title   string           `json:"title"`
	Anchor  string           `json:"anchor"`
	Lastmod time.Time        `json:"lastmod"`
	Method  discovery.Method `json:"method"`
}

// readSiteLine reads a line: a URL, or an object.
func readSiteLine(line []byte) (l siteLine, err error) {
	if line[0] != '{' {
		return siteLine{URL: string(line)}, nil
	}
	if err := json.Unmarshal(line, &l); err != nil {
		return l, err
	}
	if l.URL == "" {
		return l, errors.New(`no "url"`)
	}
	return l, nil
}

// sites are the analyses of the domains in a file.
type sites struct {
	context   classify.Context
	now       time.Time
	analysers map[string]*discovery.Analyser
	links     map[string][]discovery.Link
}

// of returns the registrable domain of a URL, or "".
func (*sites) of(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return fetch.Registrable(u.Hostname())
}

func (s *sites) add(l *siteLine) {
	domain := s.of(l.URL)
	if domain == "" {
		return
	}
	a := s.analysers[domain]
	if a == nil {
		a = discovery.NewAnalyser(discovery.Options{Model: embedded.Model(), Domain: domain, Now: s.now,
			Context: s.context})
		s.analysers[domain] = a
	}
	method := l.Method
	if method == "" {
		method = discovery.FromSitemap
	}
	a.Add(&discovery.Sighting{Loc: []byte(l.URL), Title: []byte(l.Title), Lastmod: l.Lastmod, Method: method})
	if l.Anchor != "" {
		s.links[domain] = append(s.links[domain], discovery.Link{URL: l.URL, Text: l.Anchor})
	}
}

func (s *sites) answer(line []byte) (any, error) {
	l, err := readSiteLine(line)
	if err != nil {
		return nil, err
	}
	if a := s.analysers[s.of(l.URL)]; a != nil {
		if k, ok := a.Classify(l.URL); ok {
			return classified{l.URL, k}, nil
		}
	}
	return nil, fmt.Errorf("%q is no http or https URL", l.URL)
}

// classifySite prints the types of the URLs in a file, those of a domain judged together.
func classifySite(file string, c classify.Context, in io.Reader, out io.Writer) error {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	s := sites{context: c, now: time.Now(), analysers: map[string]*discovery.Analyser{},
		links: map[string][]discovery.Link{}}
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if l, err := readSiteLine(line); err == nil {
			s.add(&l)
		}
	}
	for domain, links := range s.links {
		s.analysers[domain].Learn(links)
	}
	return answerLines(bytes.NewReader(text), out, s.answer)
}
