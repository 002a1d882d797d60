package discovery

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	pages "github.com/newsfork/seed-engine/page"
)

var update = flag.Bool("update", false, "write the table of docs/classification.md")

// recordedPage is a labelled page of classify/testdata.
type recordedPage struct {
	URL       string          `json:"url"`
	Label     classify.Type   `json:"label"`
	Secondary []classify.Type `json:"secondary"`
	Page      *pages.Evidence `json:"page"`
}

// recordedSite is a host of which several pages were saved and labelled.
type recordedSite struct {
	host    string
	heldOut bool // the classifier was not trained on any page of its domain
	pages   map[string]recordedPage
}

// recordedSites returns the hosts of which at least minProbed pages were saved.
func recordedSites(t *testing.T) (sites []*recordedSite) {
	t.Helper()
	for _, file := range []string{"pages_heldout", "pages"} {
		data, err := os.ReadFile("../classify/testdata/" + file + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		byHost := map[string]*recordedSite{}
		for line := range bytes.Lines(data) {
			var p recordedPage
			if err := json.Unmarshal(line, &p); err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(p.URL)
			if err != nil {
				t.Fatal(err)
			}
			s := byHost[u.Host]
			if s == nil {
				s = &recordedSite{u.Host, file == "pages_heldout", map[string]recordedPage{}}
				byHost[u.Host] = s
				sites = append(sites, s)
			}
			s.pages[p.URL] = p
		}
	}
	sites = slices.DeleteFunc(sites, func(s *recordedSite) bool { return len(s.pages) < minProbed })
	slices.SortStableFunc(sites, func(x, y *recordedSite) int {
		switch {
		case x.heldOut != y.heldOut && x.heldOut:
			return -1
		case x.heldOut != y.heldOut:
			return 1
		}
		return cmp.Or(len(y.pages)-len(x.pages), strings.Compare(x.host, y.host))
	})
	return sites
}

// analyser returns an analyser that has the URLs of the site, as from a sitemap.
func (s *recordedSite) analyser() *Analyser {
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: strings.TrimPrefix(s.host, "www."), Now: testNow,
		Pages: len(s.pages), Robots: func(string) (allowed, decided bool) { return true, true }})
	var urls []string
	for u := range s.pages {
		urls = append(urls, u)
	}
	slices.Sort(urls)
	for _, u := range urls {
		a.Add(&Sighting{Loc: []byte(u), Method: FromSitemap})
	}
	return a
}

// right counts the URLs of the site to which an analysis gives the labelled type.
func (s *recordedSite) right(a *Analyser) (right int) {
	for u, p := range s.pages {
		if k, ok := a.Classify(u); ok && k.PrimaryType == p.Label {
			right++
		}
	}
	return right
}

// TestProbes_RecordedSites: docs/classification.md says how many URLs of recorded sites have their labelled type,
// before and after the pages were fetched for which the analysis asks.
func TestProbes_RecordedSites(t *testing.T) {
	var table strings.Builder
	table.WriteString("| site | pages | fetched | right before | right after |\n| --- | --- | --- | --- | --- |\n")
	asked, others, othersPages, othersRight := 0, 0, 0, 0
	for _, s := range recordedSites(t) {
		a := s.analyser()
		before := s.right(a)
		probes := probing(a).Probes(3)
		if len(probes) == 0 {
			others++
			othersPages += len(s.pages)
			othersRight += before
			continue
		}
		asked++
		for _, p := range probes {
			page, ok := s.pages[p.URL]
			if !ok {
				t.Errorf("%s: %s is no page of it", s.host, p.URL)
			}
			probing(a).Saw(p.URL, page.Page, testNow)
		}
		after := s.right(a)
		if after < before {
			t.Errorf("%s: %d of %d were right, %d are", s.host, before, len(s.pages), after)
		}
		name := s.host
		if s.heldOut {
			name += ", held out"
		}
		share := func(n int) float64 { return float64(n) / float64(len(s.pages)) }
		fmt.Fprintf(&table, "| %s | %d | %d | %.2f | %.2f |\n", name, len(s.pages), len(probes), share(before),
			share(after))
	}
	share := float64(othersRight) / float64(othersPages)
	fmt.Fprintf(&table, "| %d others | %d | 0 | %.2f | %.2f |\n", others, othersPages, share, share)
	if asked < 10 {
		t.Errorf("pages of %d sites are asked for", asked)
	}
	const name, begin, end = "../docs/classification.md", "<!-- discovery: probes -->\n", "<!-- end -->"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no %s", name, begin)
	case *update:
		if err := os.WriteFile(name, []byte(before+begin+table.String()+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	case old != table.String():
		t.Errorf("%s has another table than\n%s\ngo test ./discovery -run RecordedSites -update", name, table.String())
	}
}
