package classify

import (
	"math"

	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/pagetext"
	"github.com/newsfork/seed-engine/page"
)

// ClassifyPage is ClassifyText for a page whose evidence was seen. A home page keeps the type of its URL whatever it
// says.
func (c *Classifier) ClassifyPage(url string, t Text, ev *page.Evidence) Classification {
	if ev == nil {
		return c.ClassifyText(url, t)
	}
	sums := c.sumsOfPage(url, t, ev)
	return c.classification(&sums, t.Anchor == "" && ev.H1 == "")
}

// PageEvidence returns the logarithms of the probabilities of the types of a page whose evidence was seen.
func (c *Classifier) PageEvidence(url string, t Text, ev *page.Evidence) (s Site) {
	sums := c.sumsOfPage(url, t, ev)
	p := c.model.Probabilities(&sums)
	for i := range s {
		s[i] = math.Log(max(p[i], 1e-9))
	}
	return s
}

func (c *Classifier) sumsOfPage(url string, t Text, ev *page.Evidence) linear.Sums {
	sums := c.sums(url)
	if ev == nil || c.reading.IsFront() {
		return c.sumsIn(url, t, nil)
	}
	_, confidence := c.best(&sums)
	t.Title, t.Anchor = pagetext.Texts(ev, t.Title, t.Anchor, confidence)
	sums = c.sumsIn(url, t, nil)
	if c.pages == nil || !whole(ev) {
		return sums
	}
	best, confidence := c.best(&sums)
	known := pagetext.Known{Class: uint8(best), Confidence: confidence}
	if c.extractor == nil {
		c.extractor = new(pagetext.Extractor)
	}
	scores := c.pages.Scores(c.model.Logits(&sums), c.extractor.Extract(&c.reading, ev, known), known)
	return c.model.SetLogits(&scores)
}

// whole reports whether evidence has a page's text. Weights of evidence were learnt from such pages, and mislead about
// others.
func whole(ev *page.Evidence) bool { return ev.Text != "" && ev.Words > 0 }

// poolWeight is the weight of what the URLs of a pattern look like by themselves, where the page of one was seen.
const poolWeight = 0.3

// Verdict returns what the evidence of a page says about all pages of its pattern, of which n counts the classes that
// their URLs look like. URLs of class Unknown say nothing.
func (s *Site) Verdict(n *[Classes]int32) (verdict Site) {
	unknown, _ := ClassOf(Unknown)
	counts := *n
	counts[unknown] = 0
	sum := 0.0
	for _, k := range counts {
		sum += float64(k)
	}
	for c := range verdict {
		share := (float64(counts[c]) + neighbourDoubt/float64(Classes)) / (sum + neighbourDoubt)
		verdict[c] = s[c] + poolWeight*math.Log(share)
	}
	top := verdict[verdict.Best()]
	for c := range verdict {
		verdict[c] = max(verdict[c]-top, -neighbourFurthest)
	}
	return verdict
}
