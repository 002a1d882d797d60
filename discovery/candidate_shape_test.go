package discovery

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/markup"
)

// TestShapes: what stands for a URL when there are many has, nearly always, the type of the URL.
func TestShapes(t *testing.T) {
	c := embedded.Model().NewClassifier(classify.Context{})
	s := newShapes(c)
	n, different := 0, 0
	for _, name := range []string{"urls.jsonl", "urls2.jsonl"} {
		f, err := os.Open("../classify/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for l := bufio.NewScanner(f); l.Scan(); n++ {
			var u struct{ URL string }
			if err := json.Unmarshal(l.Bytes(), &u); err != nil {
				t.Fatal(err)
			}
			b, ok := markup.AppendCanonical(nil, []byte(u.URL))
			if !ok {
				t.Fatalf("%s is no URL", u.URL)
			}
			p := parsePage(string(b))
			class, confidence := c.Best(p.url)
			shape, shapeConfidence := s.classify(&p)
			if class != shape {
				different++
				t.Logf("%s: %s %.2f, by its shape %s %.2f", p.url, class.Type(), confidence, shape.Type(),
					shapeConfidence)
			}
		}
	}
	if n < 4000 || different*200 > n {
		t.Errorf("%d of %d differ", different, n)
	}
}

// TestShapes_Exactly: what is scored once for all titles changes no class, with and without evidence of other pages.
func TestShapes_Exactly(t *testing.T) {
	model := embedded.Model()
	c, s := model.NewClassifier(classify.Context{}), newShapes(model.NewClassifier(classify.Context{}))
	site := classify.Lean(&[classify.Classes]int32{3, 0, 7, 1})
	n := 0
	check := func(url string) {
		b, ok := markup.AppendCanonical(nil, []byte(url))
		if !ok {
			t.Fatalf("%s is no URL", url)
		}
		p := parsePage(string(b))
		for _, of := range []*classify.Site{nil, &site} {
			v, ok := s.exactly(&p, of)
			if !ok {
				continue
			}
			n++
			if want := c.Judge(p.url, classify.Text{}, of); v != want {
				t.Errorf("%s: %s %.2f, by itself %s %.2f; sums %v, %v", p.url, v.Class.Type(), v.Confidence,
					want.Class.Type(), want.Confidence, v, want)
			}
		}
	}
	for _, name := range []string{"urls.jsonl", "urls2.jsonl"} {
		f, err := os.Open("../classify/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for l := bufio.NewScanner(f); l.Scan(); {
			var u struct{ URL string }
			if err := json.Unmarshal(l.Bytes(), &u); err != nil {
				t.Fatal(err)
			}
			check(u.URL)
			title := "/minister-opens-new-bridge-over-river"
			if at, query, ok := strings.Cut(u.URL, "?"); ok {
				check(strings.TrimSuffix(at, "/") + title + "?" + query)
			} else {
				check(strings.TrimSuffix(at, "/") + title)
				check(strings.TrimSuffix(at, "/") + "/annual-report-of-the-ministry-of-health-2019.pdf")
			}
		}
	}
	for _, s := range sitemapSightings(2000) {
		check(string(s.Loc))
	}
	if n < 8000 {
		t.Errorf("%d URLs with titles", n)
	}
}

// TestShapes_SureFrames: a frame that leaves no doubt decides for its titles, in whatever order they come; any
// other does not.
func TestShapes_SureFrames(t *testing.T) {
	c := embedded.Model().NewClassifier(classify.Context{})
	sure := []string{
		"https://www.herald.example/news/2026/01/28/minister-opens-new-bridge-over-river",
		"https://www.herald.example/news/2026/01/28/frequently-asked-questions-about-the-new-bridge",
		"https://www.herald.example/news/2025/11/02/annual-report-of-the-ministry-of-health",
		"https://www.herald.example/news/2026/01/28/annual-report-of-the-ministry-of-health",
	}
	for i := range sure {
		s := newShapes(c)
		first := ""
		for j := range sure {
			p := parsePage(sure[(i+j)%len(sure)])
			class, confidence := s.classify(&p)
			got := fmt.Sprint(class.Type(), confidence)
			if first = cmp.Or(first, got); got != first || class.Type() != classify.News {
				t.Errorf("%s: %s, %s before", p.url, got, first)
			}
		}
	}
	s := newShapes(c)
	p := parsePage(sure[0]) // is not of the run of those that follow
	s.classify(&p)
	for _, url := range []string{
		"https://www.herald.example/news/2026/01/28/minister-opens-new-bridge-over-river.pdf",
		"https://www.example.gov/frequently-asked-questions-about-the-new-bridge",
		"https://www.example.gov/annual-report-of-the-ministry-of-health",
		// judged together with its path
		"https://www.herald.example/news/2026/01/28/annual-report-of-the-ministry-of-health.pdf",
	} {
		p := parsePage(url)
		want, wantConfidence := c.Best(url)
		if class, confidence := s.classify(&p); class != want || confidence != wantConfidence {
			t.Errorf("%s: %s %.2f, want %s %.2f", url, class.Type(), confidence, want.Type(), wantConfidence)
		}
	}
}

// TestShapes_TitleBeforeQuery: a URL that ends in a title, after a frame that leaves doubt, is the same the first
// time, when its frame is scored, and later; what follows the title in the URL stays behind it.
func TestShapes_TitleBeforeQuery(t *testing.T) {
	c := embedded.Model().NewClassifier(classify.Context{})
	for _, url := range []string{
		"https://www.example.gov/minister-opens-new-bridge-over-river?id=7",
		"https://www.example.gov/services/minister-opens-new-bridge-over-river?view=print&lang=en",
		"https://www.example.gov/bridges/minister-opens-new-bridge-over-river/",
		"https://www.example.gov/press-releases-of-the-ministry-of-health?page=a",
	} {
		p := parsePage(url)
		s := newShapes(c)
		wantClass, want := c.Best(url)
		for _, when := range []string{"first", "then"} {
			if class, confidence := s.classify(&p); class != wantClass || confidence != want {
				t.Errorf("%s, %s: %s %.2f, want %s %.2f", url, when, class.Type(), confidence, wantClass.Type(), want)
			}
		}
	}
}
