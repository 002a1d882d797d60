package sitemap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// expectation is one case of testdata/corpus/expected.json, whose note defines the fields. Fields
// ending in Any list every accepted value and replace the one without.
type expectation struct {
	File        string
	BaseURL     string `json:"base_url"`
	ContentType string `json:"content_type"`

	Kind           Kind
	KindAny        []Kind     `json:"kind_any"`
	URLCount       int        `json:"url_count"`
	URLCountAny    []int      `json:"url_count_any"`
	FirstLoc       *string    `json:"first_loc"`
	LastLoc        *string    `json:"last_loc"`
	LastLocAny     []string   `json:"last_loc_any"`
	LastmodMin     *string    `json:"lastmod_min"`
	LastmodMinAny  []string   `json:"lastmod_min_any"`
	LastmodMax     *string    `json:"lastmod_max"`
	LastmodMaxAny  []string   `json:"lastmod_max_any"`
	ChildSitemaps  []string   `json:"child_sitemaps"`
	ChildAny       [][]string `json:"child_any"`
	ChildCount     *int       `json:"child_count"`
	FirstChild     string     `json:"first_child"`
	LastChild      string     `json:"last_child"`
	NewsTitles     int        `json:"news_titles"`
	FirstNewsTitle string     `json:"first_news_title"`
	Error          *bool      // null: either is accepted
	Truncated      bool
	OverLimit      *bool  `json:"over_limit"` // unstated: either is accepted
	MustNotContain string `json:"must_not_contain"`
	MaxMS          int    `json:"max_ms"`

	LastmodParsed  *int    `json:"lastmod_parsed"`
	LastmodMaxReal *string `json:"lastmod_max_plausible"`
	OverlongLocs   *int    `json:"overlong_locs"`
	ItemTitles     *int    `json:"item_titles"`
	Images         *int
	Videos         *int
	Alternates     *int
	NewsEntries    *int    `json:"news_entries"`
	IsNews         *bool   `json:"is_news"`
	NewsDateMin    *string `json:"news_date_min"`
	NewsDateMax    *string `json:"news_date_max"`
}

func corpus(t testing.TB) []expectation {
	data, err := os.ReadFile("testdata/corpus/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []expectation }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cases) < 53 {
		t.Fatalf("%d cases in the corpus, want at least 53", len(doc.Cases))
	}
	return doc.Cases
}

// document is the result of Parse with every entry.
type document struct {
	Summary
	entries []string // one line each, all fields
	titles  []string // of news
	kids    []string
}

var clock = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

func parse(t testing.TB, r io.Reader, base string, o Options) document {
	t.Helper()
	var d document
	if o.Now.IsZero() {
		o.Now = clock
	}
	s, err := Parse(r, base, o, func(e *Entry) {
		line := fmt.Sprintf(
			"%s child=%v lastmod=%s freq=%s prio=%v title=%q news=%v %q %s %q %q images=%d videos=%d alternates=%d",
			e.Loc, e.Child, e.Lastmod.Format(time.RFC3339Nano), e.Changefreq, e.Priority, e.Title,
			e.News.Present, e.News.Title, e.News.Date.Format(time.RFC3339Nano), e.News.Name, e.News.Language, e.Images,
			e.Videos, e.Alternates)
		if len(d.entries) < 5000 {
			d.entries = append(d.entries, line)
		}
		if e.News.Title != nil {
			d.titles = append(d.titles, string(e.News.Title))
		}
		if e.Child {
			d.kids = append(d.kids, string(e.Loc))
		}
	})
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	d.Summary = s
	return d
}

func accepts[T comparable](t *testing.T, what string, got, want T, any []T) {
	t.Helper()
	if got != want && !slices.Contains(any, got) {
		t.Errorf("%s = %v, want %v %v", what, got, want, any)
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

func (x *expectation) check(t *testing.T, d document) {
	t.Helper()
	accepts(t, "kind", d.Kind, x.Kind, x.KindAny)
	accepts(t, "url_count", d.URLs, x.URLCount, x.URLCountAny)
	accepts(t, "first_loc", d.FirstLoc, text(x.FirstLoc), nil)
	accepts(t, "last_loc", d.LastLoc, text(x.LastLoc), x.LastLocAny)
	accepts(t, "lastmod_min", stamp(d.LastmodMin), text(x.LastmodMin), x.LastmodMinAny)
	accepts(t, "lastmod_max", stamp(d.LastmodMax), text(x.LastmodMax), x.LastmodMaxAny)
	accepts(t, "news_titles", d.NewsTitles, x.NewsTitles, nil)
	accepts(t, "truncated", d.Truncated, x.Truncated, nil)
	if x.OverLimit != nil {
		accepts(t, "over_limit", d.OverLimit, *x.OverLimit, nil)
	}
	if x.Error != nil && (d.Problem != "") != *x.Error {
		t.Errorf("problem = %q, want one: %v", d.Problem, *x.Error)
	}
	if d.Children != len(d.kids) {
		t.Errorf("children = %d, but %d were given", d.Children, len(d.kids))
	}
	switch {
	case x.ChildCount != nil:
		if len(d.kids) != *x.ChildCount || d.kids[0] != x.FirstChild || d.kids[len(d.kids)-1] != x.LastChild {
			t.Errorf("%d children", len(d.kids))
		}
	case !slices.Equal(d.kids, x.ChildSitemaps):
		if !slices.ContainsFunc(x.ChildAny, func(a []string) bool { return slices.Equal(a, d.kids) }) {
			t.Errorf("children = %q, want %q", d.kids, x.ChildSitemaps)
		}
	}
	if x.FirstNewsTitle != "" && (len(d.titles) == 0 || d.titles[0] != x.FirstNewsTitle) {
		t.Errorf("news titles %q, want %q first", d.titles, x.FirstNewsTitle)
	}
	if x.MustNotContain != "" && strings.Contains(fmt.Sprint(d), x.MustNotContain) {
		t.Errorf("%q is in %v", x.MustNotContain, d)
	}
	for what, c := range map[string]struct {
		want *int
		got  int
	}{
		"lastmod_parsed": {x.LastmodParsed, d.Lastmods},
		"overlong_locs":  {x.OverlongLocs, d.OverlongLocs},
		"item_titles":    {x.ItemTitles, d.ItemTitles},
		"images":         {x.Images, d.Images},
		"videos":         {x.Videos, d.Videos},
		"alternates":     {x.Alternates, d.Alternates},
		"news_entries":   {x.NewsEntries, d.NewsEntries},
	} {
		if c.want != nil && c.got != *c.want {
			t.Errorf("%s = %d, want %d", what, c.got, *c.want)
		}
	}
	for what, c := range map[string]struct {
		want *string
		got  time.Time
	}{
		"lastmod_max_plausible": {x.LastmodMaxReal, d.Newest},
		"news_date_min":         {x.NewsDateMin, d.NewsDateMin},
		"news_date_max":         {x.NewsDateMax, d.NewsDateMax},
	} {
		if c.want != nil && stamp(c.got) != *c.want {
			t.Errorf("%s = %s, want %s", what, stamp(c.got), *c.want)
		}
	}
	if x.IsNews != nil && (d.NewsEntries > 0) != *x.IsNews {
		t.Errorf("news entries = %d, want some: %v", d.NewsEntries, *x.IsNews)
	}
}

// pieces reads a document in pieces of random length.
type pieces struct {
	data []byte
	rnd  *rand.Rand
}

func (c *pieces) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:1+c.rnd.IntN(min(len(c.data), 1<<c.rnd.IntN(17)))])
	c.data = c.data[n:]
	return n, nil
}

func TestParse_Corpus(t *testing.T) {
	for _, x := range corpus(t) {
		t.Run(x.File, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/corpus", x.File))
			if err != nil {
				t.Fatal(err)
			}
			o := Options{ContentType: x.ContentType}
			began := time.Now()
			whole := parse(t, bytes.NewReader(data), x.BaseURL, o)
			if ms := time.Since(began).Milliseconds(); x.MaxMS > 0 && ms > int64(x.MaxMS) {
				t.Errorf("took %d ms, more than %d", ms, x.MaxMS)
			}
			x.check(t, whole)

			// However it arrives, and without the header.
			rnd := rand.New(rand.NewPCG(1, uint64(len(data))))
			for name, r := range map[string]io.Reader{
				"byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
				"in pieces":    &pieces{data, rnd},
				"error last":   iotest.DataErrReader(bytes.NewReader(data)),
			} {
				if d := parse(t, r, x.BaseURL, o); fmt.Sprint(d) != fmt.Sprint(whole) {
					t.Errorf("%s: %v, want %v", name, d, whole)
				}
			}
			x.check(t, parse(t, bytes.NewReader(data), x.BaseURL, Options{}))
		})
	}
}
