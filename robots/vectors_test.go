package robots

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMeta: sitemaps, delays, web pages and signals, from files of the kinds that sites serve.
func TestMeta(t *testing.T) {
	var cases []struct {
		Name          string
		BaseURL       string `json:"base_url"`
		Agent         string
		RobotsTxt     string     `json:"robots_txt"`
		RobotsTxtB64  []byte     `json:"robots_txt_b64"` // where the text is no UTF-8
		CrawlDelay    *float64   `json:"crawl_delay"`
		DelayAny      []*float64 `json:"delay_any"`
		Sitemaps      []string
		SitemapsAny   [][]string        `json:"sitemaps_any"`
		IsHTML        bool              `json:"is_html"`
		RootAllowed   *bool             `json:"root_allowed"`
		ContentSignal map[string]string `json:"content_signal"`
	}
	readJSON(t, "testdata/meta.json", &cases)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			body := []byte(c.RobotsTxt)
			if c.RobotsTxtB64 != nil {
				body = c.RobotsTxtB64
			}
			f := Parse(body)
			g := f.Agent(c.Agent)
			if got := f.Sitemaps(c.BaseURL); !slices.ContainsFunc(append(c.SitemapsAny, c.Sitemaps),
				func(s []string) bool { return slices.Equal(s, got) }) {
				t.Errorf("sitemaps %q", got)
			}
			delay, delayed := g.CrawlDelay()
			if !slices.ContainsFunc(append(c.DelayAny, c.CrawlDelay), func(s *float64) bool {
				return (s != nil) == delayed && (s == nil || *s == delay.Seconds())
			}) {
				t.Errorf("delay %v %v", delay, delayed)
			}
			if f.IsHTML != c.IsHTML {
				t.Errorf("IsHTML %v", f.IsHTML)
			}
			if c.RootAllowed != nil && g.Allowed("/") != *c.RootAllowed {
				t.Errorf("root allowed %v", g.Allowed("/"))
			}
			if c.ContentSignal != nil && !maps.Equal(g.ContentSignals(), c.ContentSignal) {
				t.Errorf("signals %v", g.ContentSignals())
			}
		})
	}
}

// TestCorpus_Expectations reads expectations of public test suites, which are kept outside of the
// project. All of them hold.
func TestCorpus_Expectations(t *testing.T) {
	var cases []struct {
		Name         string
		RobotsTxt    string `json:"robots_txt"`
		RobotsTxtB64 []byte `json:"robots_txt_b64"`
		Agent, URL   string
		Allowed      bool
	}
	readJSON(t, sharedVector(t, "robots.json"), &cases)
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		body := []byte(c.RobotsTxt)
		if c.RobotsTxtB64 != nil {
			body = c.RobotsTxtB64
		}
		if got := Parse(body).Allowed(c.Agent, c.URL); got != c.Allowed {
			t.Errorf("%s: %v: %q for %s, %s", c.Name, got, body, c.Agent, c.URL)
		}
	}
}

type probe struct {
	Agent, URL string
	Allowed    bool
}

// eachSharedFile reads real robots.txt files with the verdicts of Google's parser.
func eachSharedFile(t *testing.T, do func(site string, body []byte, probes []probe)) {
	t.Helper()
	file, err := os.Open(sharedVector(t, "robots_corpus.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var c struct {
			Site         string
			RobotsTxt    string `json:"robots_txt"`
			RobotsTxtB64 []byte `json:"robots_txt_b64"`
			Probes       []probe
		}
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		body := []byte(c.RobotsTxt)
		if c.RobotsTxtB64 != nil {
			body = c.RobotsTxtB64
		}
		do(c.Site, body, c.Probes)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestCorpus_RealFiles: we part from Google's parser in one thing, on purpose. It does not know that
// /robots.txt is always allowed.
func TestCorpus_RealFiles(t *testing.T) {
	probes, differ := 0, 0
	eachSharedFile(t, func(site string, body []byte, list []probe) {
		f := Parse(body)
		for _, p := range list {
			probes++
			if g := f.Agent(p.Agent); g.Allowed(p.URL) != p.Allowed {
				differ++
				if !strings.HasSuffix(p.URL, "/robots.txt") || p.Allowed {
					rule, _ := g.Match(p.URL)
					t.Errorf("%s: %s, %s: Google says %v, we decide by %+v", site, p.Agent, p.URL, p.Allowed, rule)
				}
			}
		}
	})
	t.Logf("%d disagreements in %d probes", differ, probes)
	if probes == 0 || differ > 5 {
		t.Errorf("%d disagreements in %d probes", differ, probes)
	}
}

// sharedVector returns the path of a file that is kept beside the repository, and skips the test
// where it is not there.
func sharedVector(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "vectors", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("needs third-party data that is not part of the project: %v", err)
	}
	return path
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
