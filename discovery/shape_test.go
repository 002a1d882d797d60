package discovery

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/markup"
)

// TestShapes: what stands for a URL when there are many has, nearly always, the type of the URL.
func TestShapes(t *testing.T) {
	f, err := os.Open("../classify/testdata/urls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := embedded.Model().NewClassifier(classify.Context{})
	s := newShapes(c)
	n, different := 0, 0
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
			t.Logf("%s: %s %.2f, by its shape %s %.2f", p.url, class.Type(), confidence, shape.Type(), shapeConfidence)
		}
	}
	if n < 900 || different*200 > n {
		t.Errorf("%d of %d differ", different, n)
	}
}

// TestTitleBeforeQuery: a URL that ends in a title is the same the first time, when its frame is scored,
// and later; what follows the title in the URL stays behind it.
func TestTitleBeforeQuery(t *testing.T) {
	c := embedded.Model().NewClassifier(classify.Context{})
	for _, url := range []string{
		"https://www.example.gov/news/minister-opens-new-bridge-over-river?id=7",
		"https://www.example.gov/statistics/minister-opens-new-bridge-over-river?view=print&lang=en",
		"https://www.example.gov/faq/minister-opens-new-bridge-over-river/",
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
