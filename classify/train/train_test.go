package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/internal/lexicon"
	"github.com/newsfork/seed-engine/classify/internal/linear"
	"github.com/newsfork/seed-engine/classify/internal/urltext"
)

// TestTraining cross-validates, and checks that the embedded weights and the tables of the docs are
// what the program makes of the files in the repository.
func TestTraining(t *testing.T) {
	if testing.Short() {
		t.Skip("trains six models")
	}
	examples, err := readExamples(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	predictions := crossValidate(examples, defaults)

	// The present quality, rounded down; docs/classification.md states the goals.
	measured := from(labelled, predictions)
	all := measure(measured, (*prediction).best)
	t.Log(all)
	if all.accuracy < 0.765 || all.secondary < 0.855 || all.macroF1 < 0.775 {
		t.Errorf("worse than before: %s", all)
	}
	if before := measure(measured, baseline); before.accuracy > 0.2 {
		t.Errorf("the substring rules: %s", before)
	}

	for set, least := range map[string]struct {
		figures
		gain float64 // of the texts over the URLs alone
	}{
		firstTexts:  {figures{n: 500, accuracy: 0.635, secondary: 0.73}, 0.02},
		secondTexts: {figures{n: 1200, accuracy: 0.61, secondary: 0.75}, 0.08},
		thirdTexts:  {figures{n: 4400, accuracy: 0.635, secondary: 0.755}, 0.02},
		fourthTexts: {figures{n: 9000, accuracy: 0.635, secondary: 0.755}, 0.04},
	} {
		of := func(o origin) figures {
			return measure(filter(from(o, predictions), inSet(set)), (*prediction).best)
		}
		texts, alone := of(pair), of(bare)
		t.Logf("%s: with texts %s, without them %s", set, texts, alone)
		if texts.n < least.n || texts.accuracy < least.accuracy || texts.secondary < least.secondary ||
			texts.accuracy < alone.accuracy+least.gain {
			t.Errorf("%s: %s, without them %s", set, texts, alone)
		}
	}

	weights := linear.Quantise(fit(examples, defaults), calibrate(predictions))
	testCalibrated(t, predictions)
	pages, pageTable, err := trainPages(os.DirFS(".."), weights, pageDefaults)
	if err != nil {
		t.Fatal(err)
	}
	model, err := pack(os.DirFS(".."), weights, pages)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{modelFile: model, sumFile: []byte(classify.ModelSum(model) + "\n")} {
		if got, err := os.ReadFile(".." + name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is out of date: run go generate ./classify (%v)", name, err)
		}
	}

	heldOut, err := readHeldOut(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	held := predict(weights, heldOut)
	for name, parts := range map[string]map[string]string{
		notesFile: tables(predictions, held), // but for the learning curve, which takes long
		guideFile: guideTables(held, pageTable),
	} {
		page, err := os.ReadFile(".." + name)
		if err != nil {
			t.Fatal(err)
		}
		filled, err := fillIn(page, parts)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(page, filled) {
			t.Errorf("the tables of %s are out of date: run go generate ./classify", name)
		}
	}
}

// testCalibrated: of the confident predictions at least as many are right as their confidence promises, of URLs alone
// and with texts; in each language with 50 of these, and ten of the confident ones, up to one standard error.
func testCalibrated(t *testing.T, predictions []*prediction) {
	for _, o := range []origin{labelled, pair} {
		all := from(o, predictions)
		urls, sure := map[string]int{}, filter(all, func(p *prediction) bool { return p.confidence() >= 0.9 })
		for _, p := range all {
			urls[p.lang]++
		}
		if f := measure(sure, (*prediction).best); f.n < 1000 || f.accuracy < 0.91 {
			t.Errorf("of predictions of 0.9 and more: %s", f)
		}
		for lang, n := range urls {
			f := measure(filter(sure, func(p *prediction) bool { return p.lang == lang }), (*prediction).best)
			if deviation := math.Sqrt(0.9 * 0.1 / float64(max(f.n, 1))); n >= 50 && f.n >= 10 &&
				f.accuracy < 0.9-deviation-1e-9 {
				t.Errorf("of predictions of 0.9 and more in %s: %s", lang, f)
			}
		}
	}
}

// TestExamples_Addresses: nothing is learned from rows that name a person's mailbox or telephone.
func TestExamples_Addresses(t *testing.T) {
	row := func(url, title, anchor string) []byte {
		return fmt.Appendf(nil, `{"url": %q, "title": %q, "anchor": %q, "label": "contact"}`, url, title, anchor)
	}
	for _, bad := range [][]byte{
		row("https://example.org/contacts/a.person@example.org", "", ""),
		row("https://example.org/?to=a.person%40example.org", "", ""),
		row("https://example.org/contact", "Write to a.person@mail.example.org", ""),
		row("https://example.org/contact", "", "förnamn@example.no"),
		row("mailto:someone", "", ""),
		row("https://wa.me/15550100", "", ""),
	} {
		if _, err := parseLabelled(bad); err == nil {
			t.Errorf("%s is learned from", bad)
		}
	}
	for _, good := range [][]byte{
		row("https://social.example.org/@office", "Careers@Office", "Follow us @office"),
		row("https://example.org/information.htm?id=12027@morfOrgScience", "", ""),
	} {
		if _, err := parseLabelled(good); err != nil {
			t.Error(err)
		}
	}
}

// TestUnseen_Refuse: rows of domains that quality is measured with outside are refused, with their number, whatever the
// host below the domain and its case are; a broken list is no empty one.
func TestUnseen_Refuse(t *testing.T) {
	sum := sha256.Sum256([]byte("example.co.uk"))
	list := func(text string) fs.FS { return fstest.MapFS{unseenDomains: {Data: []byte(text)}} }
	never, err := readUnseen(list(fmt.Sprintf("# comment\n%x\n", sum[:8])))
	if err != nil {
		t.Fatal(err)
	}
	err = never.refuse("rows", []*example{{url: "https://example.org/"}, {url: "https://WWW.Example.co.uk/a"},
		{url: "http://b.example.co.uk:8080/"}, {url: "https://b.example.co.uk./"}, {url: "https://anexample.co.uk/"}})
	if err == nil || !strings.Contains(err.Error(), "3 of 5") || !strings.Contains(err.Error(), "WWW.Example.co.uk/a") {
		t.Errorf("%v", err)
	}
	if err := never.refuse("rows", []*example{{url: "https://example.org/"}}); err != nil {
		t.Error(err)
	}
	for _, broken := range []string{"", "# none\n", "example.co.uk\n", "0123456789abcdef0\n"} {
		if _, err := readUnseen(list(broken)); err == nil {
			t.Errorf("%q is a list of domains", broken)
		}
	}
}

// TestUnseen_Rows: none of the files has such a row: the list has domains, and reading refuses none.
func TestUnseen_Rows(t *testing.T) {
	never, err := readUnseen(os.DirFS(".."))
	if err != nil || len(never) < 1000 {
		t.Fatalf("%d domains, %v", len(never), err)
	}
	for _, name := range []string{firstSet, secondSet, thirdSet, firstTexts, secondTexts, thirdTexts, fourthTexts,
		heldOut} {
		rows, err := readLabelled(os.DirFS(".."), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := never.refuse(name, rows); err != nil {
			t.Error(err)
		}
	}
}

// TestExamples_Copies: a written URL that is a labelled one but for case and numbers would
// leak into the measured predictions.
func TestExamples_Copies(t *testing.T) {
	for _, same := range [][2]string{
		{"https://www.example.com/News/123/", "http://example.com/news/7"},
		{"https://example.com/a?id=1", "https://example.com/A?id=22"},
	} {
		if outline(same[0]) != outline(same[1]) {
			t.Errorf("%s and %s differ", same[0], same[1])
		}
	}
	if outline("https://example.com/a") == outline("https://example.com/b") {
		t.Error("different paths are equal")
	}
}

// TestFoldOf_Domain: hosts of a registrable domain share a fold.
func TestFoldOf_Domain(t *testing.T) {
	if foldOf("https://a.example.co.uk/x") != foldOf("http://b.example.co.uk:8080/y") {
		t.Error("hosts of one domain are in two folds")
	}
}

// TestExamples_Thinned: a step of training leaves out the share of features that it is told, and every hashed one
// that is rare.
func TestExamples_Thinned(t *testing.T) {
	const last = uint16(urltext.PlainFeatures - 1) // a hashed feature
	f := &urltext.Features{}
	for p := range uint16(10_000) {
		f.Plain = append(f.Plain, p%1000, last-p%5000)
	}
	often := make([]*example, defaults.least)
	for i := range often {
		often[i] = &example{features: urltext.Features{Plain: []uint16{last}}}
	}
	d := &descent{set: defaults, common: common(often, defaults.least)}
	if d.common[last-1] || !d.common[last] || !d.common[0] {
		t.Error("not the rare hashed features have no weights")
	}
	d.set.dropout = 0
	all := len(d.thinned(f, &expander{state: 1}).Plain)
	d.set.dropout = 0.35
	if n := len(d.thinned(f, &expander{state: 1}).Plain); math.Abs(float64(n)/float64(all)-0.65) > 0.03 {
		t.Errorf("%d of %d features stay, want 65 %%", n, all)
	}
}

// TestExamples_People: what annotators said of URLs that are held out is read with them.
func TestExamples_People(t *testing.T) {
	row := `{"url": "https://example.org/a", "label": "news", "first": "news", "second": "guide", "alone": %q}`
	all, err := parseLabelled(fmt.Appendf(nil, row, "unknown"))
	if err != nil || all[0].people != (people{lexicon.News, lexicon.Guide, lexicon.Unknown}) {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := parseLabelled(fmt.Appendf(nil, row, "page")); err == nil {
		t.Error("a type that is none is read")
	}
}
