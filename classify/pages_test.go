package classify_test

import (
	"testing"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/page"
)

// A heading tells what a URL does not; a home page keeps the type of its URL.
func TestClassifyPage(t *testing.T) {
	c := embedded.Model().NewClassifier(classify.Context{})
	ev := &page.Evidence{Title: "Press release | Example", H1: "Press release"}
	for url, want := range map[string]classify.Type{
		"https://www.example.org/a1010":      classify.PressRelease,
		"https://www.example.org/":           c.Classify("https://www.example.org/").PrimaryType,
		"https://www.example.org/index.html": c.Classify("https://www.example.org/index.html").PrimaryType,
		"https://www.example.org/en/":        c.Classify("https://www.example.org/en/").PrimaryType,
	} {
		if got := c.ClassifyPage(url, classify.Text{}, ev); got.PrimaryType != want {
			t.Errorf("%s is %s, want %s", url, got.PrimaryType, want)
		}
	}
	const url = "https://www.example.org/a1010"
	with := c.PageEvidence(url, classify.Text{}, ev)
	if with.Best().Type() != classify.PressRelease {
		t.Errorf("most probable: %s", with.Best().Type())
	}
	if got, want := c.ClassifyPage(url, classify.Text{}, nil), c.Classify(url); got.PrimaryType != want.PrimaryType ||
		got.Confidence != want.Confidence {
		t.Errorf("without evidence %+v, want %+v", got, want)
	}
}

// The pool of a pattern counts less than its page, but decides where the page does not.
func TestSite_Verdict(t *testing.T) {
	news, _ := classify.ClassOf(classify.News)
	event, _ := classify.ClassOf(classify.Event)
	var pool [classify.Classes]int32
	pool[news], pool[event] = 12, 8
	var page classify.Site
	for c := range page {
		page[c] = -6
	}
	page[news], page[event] = -1.6, -0.4
	if got := page.Verdict(&pool); got.Best() != event {
		t.Errorf("a page of events among some news: %s", got.Best().Type())
	}
	page[news] = page[event]
	if got := page.Verdict(&pool); got.Best() != news {
		t.Errorf("a page that could be either, among more news: %s", got.Best().Type())
	}
	unknown, _ := classify.ClassOf(classify.Unknown)
	pool = [classify.Classes]int32{}
	pool[unknown] = 100
	page[event] = -2
	if got := page.Verdict(&pool); got.Best() != news || got[event] != page[event]-page[news] {
		t.Errorf("URLs that say nothing: %s, %v", got.Best().Type(), got[event])
	}
}
