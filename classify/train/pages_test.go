package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
)

// What only the evidence says is learnt from it, and holds for domains that were not seen.
func TestPages_Learnt(t *testing.T) {
	var lines strings.Builder
	for i := range 120 {
		word, label := "xyzzy", "event"
		if i%2 == 0 {
			word, label = "plugh", "report"
		}
		fmt.Fprintf(&lines, `{"url":"https://www.d%d.example/a1010","label":%q,"page":{"text":"a %s among `+
			`others","words":40}}`+"\n",
			i, label, word)
	}
	dir := fstest.MapFS{pagesSet: {Data: []byte(lines.String())}, unseenDomains: oneUnseen()}
	all, err := readPages(dir, pagesSet)
	if err != nil || len(all) != 120 {
		t.Fatalf("%d pages, %v", len(all), err)
	}
	words, err := readLexicon(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(".." + modelFile)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := classify.ModelWeights(file)
	if err != nil {
		t.Fatal(err)
	}
	if all, err = prepare(all, weights, words); err != nil {
		t.Fatal(err)
	}
	predictions, err := crossValidatePages(all, nil, pageDefaults)
	if err != nil {
		t.Fatal(err)
	}
	if f := measure(predictions, (*prediction).best); f.n != 120 || f.accuracy < 0.99 {
		t.Errorf("with evidence: %s", f)
	}
	alone := measure(predictions, func(p *prediction) lexicon.Role {
		for _, e := range all {
			if e.example == p.example {
				return e.alone
			}
		}
		return lexicon.Unknown
	})
	if alone.accuracy > 0.6 {
		t.Errorf("the URL alone: %s", alone)
	}
}

// oneUnseen is a list of the domain unseen.example.
func oneUnseen() *fstest.MapFile {
	sum := sha256.Sum256([]byte("unseen.example"))
	return &fstest.MapFile{Data: fmt.Appendf(nil, "%x\n", sum[:8])}
}

// TestPages_Written: the hosts of written pages are made up, so none is among those of labelled pages.
func TestPages_Written(t *testing.T) {
	dir, domains := os.DirFS(".."), map[string]string{}
	for _, name := range []string{pagesSet, pagesHeldOut} {
		pages, err := readPages(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range pages {
			domains[domainOf(e.url)] = name
		}
	}
	written, err := readPages(dir, pagesWritten)
	if err != nil || len(written) < 1000 {
		t.Fatalf("%d written pages, %v", len(written), err)
	}
	for _, e := range written {
		if name := domains[domainOf(e.url)]; name != "" {
			t.Errorf("%s is of a domain of %s", e.url, name)
		}
	}
}

func TestPages_Refused(t *testing.T) {
	for name, line := range map[string]string{
		"no page": `{"url":"https://a.example/x","label":"news"}`,
		"no type": `{"url":"https://a.example/x","label":"nonsense","page":{}}`,
		"unseen":  `{"url":"https://www.unseen.example/x","label":"news","page":{}}`,
	} {
		dir := fstest.MapFS{pagesSet: {Data: []byte(line)}, unseenDomains: oneUnseen()}
		if all, err := readPages(dir, pagesSet); err == nil {
			t.Errorf("%s: %v", name, all)
		}
	}
	if all, err := readPages(fstest.MapFS{}, pagesSet); all != nil || err != nil {
		t.Errorf("without a file: %v, %v", all, err)
	}
}

// Quantised weights give the same scores, up to their steps.
func TestPages_Quantised(t *testing.T) {
	w := &linear.PageWeights{}
	for b := range w.Keep {
		w.Keep[b] = 1
	}
	w.Rows[7][3], w.Rows[9][3], w.Rows[9][5] = 2, -0.5, 1
	p, err := linear.ParsePages(linear.QuantisePages(w))
	if err != nil {
		t.Fatal(err)
	}
	e := &pageExample{features: []uint32{7, 9}}
	if s := p.Scores(e.without, e.features, e.known); s[3] < 1.48 || s[3] > 1.52 || s[5] < 0.98 || s[5] > 1.02 ||
		s[0] != 0 {
		t.Errorf("%v", s)
	}
	if _, err := linear.ParsePages([]byte("nsp1")); err == nil {
		t.Error("a file that is cut off is accepted")
	}
}
