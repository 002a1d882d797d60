package discovery

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
	pages "github.com/newsfork/seed-engine/page"
)

// undecided is a site with a pattern of keys below a section that no lexicon has, and with news.
func undecided() *Analyser {
	a := NewAnalyser(testOptions())
	for i := range 12 {
		for _, path := range []string{"/zzkq/a%d0101", "/news/2026/01/%02d/minister-opens-new-bridge",
			"/title-of-a-page-below-the-root-%d"} {
			a.Add(&Sighting{Loc: fmt.Appendf(nil, "https://www.example.gov"+path, i+10), Method: FromSitemap})
		}
	}
	return a
}

var pressRelease = &pages.Evidence{
	Title: "Press release: Ministry opens new bridge | Ministry of Transport", H1: "Press release",
	Headings: []string{"Media contact"}, Breadcrumb: []string{"Home", "Newsroom", "Press releases"},
	Text: "For immediate release. The Ministry of Transport announced today that the new bridge is open to traffic. " +
		"“The bridge connects two districts,” the Minister said in a statement. Press contact: press@example.gov",
	Words: 420, Links: 60, Dates: 2, Published: testNow, PublishedFrom: pages.FromMeta,
}

// One page of each pattern that is open is asked for, and none of those that are sure or right below the root.
func TestAnalyser_Probes(t *testing.T) {
	a := undecided()
	probes := probing(a).Probes(3)
	if len(probes) != 1 || !strings.HasPrefix(probes[0].URL, "https://www.example.gov/zzkq/a") ||
		probes[0].Pattern != "/zzkq/{id}" {
		t.Fatalf("probes %+v", probes)
	}
	if got := probing(a).Probes(0); got != nil {
		t.Errorf("none wanted, but %+v", got)
	}
	probing(a).Saw(probes[0].URL, pressRelease, testNow)
	if again := probing(a).Probes(3); len(again) != 0 {
		t.Errorf("a pattern that was seen is asked for again: %+v", again)
	}
	forbidden := NewAnalyser(Options{Model: testOptions().Model, Domain: "example.gov", Now: testNow,
		Robots: func(string) (bool, bool) { return false, true }})
	unread := NewAnalyser(Options{Model: testOptions().Model, Domain: "example.gov", Now: testNow})
	few := NewAnalyser(testOptions())
	fed := NewAnalyser(testOptions())
	for i := range 12 {
		s := Sighting{Loc: fmt.Appendf(nil, "https://www.example.gov/zzkq/a%d0101", i+10), Method: FromSitemap}
		forbidden.Add(&s)
		unread.Add(&s)
		if i < minProbed-1 {
			few.Add(&s)
		}
		s.Method = FromFeed
		fed.Add(&s)
	}
	for name, a := range map[string]*Analyser{"forbidden": forbidden, "of an unread robots.txt": unread, "few": few,
		"of a feed": fed} {
		if probes := probing(a).Probes(3); len(probes) != 0 {
			t.Errorf("%s: %+v", name, probes)
		}
	}
}

// What one page says counts for all of its pattern, and only for these.
func TestAnalyser_Saw(t *testing.T) {
	const other = "https://www.example.gov/zzkq/a130101"
	a := undecided()
	const elsewhere = "https://www.example.gov/news/2026/01/12/minister-opens-new-bridge"
	before, _ := a.Classify(elsewhere)
	if k, _ := a.Classify(other); k.PrimaryType == classify.PressRelease {
		t.Fatalf("%+v already", k)
	}
	probing(a).Saw(probing(a).Probes(1)[0].URL, pressRelease, testNow)
	k, _ := a.Classify(other)
	if k.PrimaryType != classify.PressRelease || !strings.Contains(strings.Join(k.Evidence.DomainContext, " "),
		"pattern_page_press_release") {
		t.Errorf("%+v", k)
	}
	if after, _ := a.Classify(elsewhere); !reflect.DeepEqual(after, before) {
		t.Errorf("another pattern: %+v, was %+v", after, before)
	}
	probing(a).Saw("https://www.example.gov/unheard-of", pressRelease, testNow) // of no pattern
}

// A page that says no more than its URL makes nobody surer.
func TestAnalyser_SawNoMore(t *testing.T) {
	a := undecided()
	url := probing(a).Probes(1)[0].URL
	w := witness{url: url, pattern: "/zzkq/{id}", at: testNow, types: map[classify.Type]float64{}}
	for c, x := range a.classifier.PageEvidence(url, classify.Text{}, nil) {
		w.types[classify.Class(c).Type()] = math.Exp(x)
	}
	probing(a).witness(w)
	got, _ := a.Classify("https://www.example.gov/zzkq/a130101")
	want := a.classifier.Classify("https://www.example.gov/zzkq/a130101")
	if got.PrimaryType != want.PrimaryType || math.Abs(got.Confidence-want.Confidence) > 0.05 {
		t.Errorf("%s at %v, by its URL %s at %v", got.PrimaryType, got.Confidence, want.PrimaryType, want.Confidence)
	}
}

// What was learnt is in the stored state, so that a merge asks nothing again. A later collection recalls it for 90
// days.
func TestAnalyser_Recall(t *testing.T) {
	a := undecided()
	url := probing(a).Probes(1)[0].URL
	probing(a).Saw(url, pressRelease, testNow)
	data, err := json.Marshal(a.State())
	if err != nil {
		t.Fatal(err)
	}
	state, err := ParseState(data)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := Restore(state, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(restored.State()); string(again) != string(data) {
		t.Errorf("restored differs:\n%s\n%s", again, data)
	}
	for name, c := range map[string]struct {
		later  time.Duration
		lost   bool // the site lists the page no longer
		probes int
	}{"soon": {0, false, 0}, "after 89 days": {89 * day, false, 0}, "after 91 days": {91 * day, false, 1},
		"the page is gone": {day, true, 0}} {
		o := testOptions()
		o.Now = testNow.Add(c.later)
		b := NewAnalyser(o)
		for i := range 12 {
			if loc := fmt.Sprintf("https://www.example.gov/zzkq/a%d0101", i+10); loc != url || !c.lost {
				b.Add(&Sighting{Loc: []byte(loc), Method: FromSitemap})
			}
		}
		probing(b).Recall(state)
		if got := probing(b).Probes(3); len(got) != c.probes {
			t.Errorf("%s: %+v", name, got)
		}
		k, _ := b.Classify("https://www.example.gov/zzkq/a120101")
		if isPress := k.PrimaryType == classify.PressRelease; isPress != (c.probes == 0) {
			t.Errorf("%s: %s", name, k.PrimaryType)
		}
	}
}

// A page that says nothing is not fetched again, and changes nothing. Only so many pages are kept.
func TestAnalyser_SawNothing(t *testing.T) {
	a := undecided()
	url := probing(a).Probes(1)[0].URL
	before, _ := a.Classify(url)
	probing(a).Saw(url, nil, testNow)
	if k, _ := a.Classify(url); !reflect.DeepEqual(k, before) || len(probing(a).Probes(3)) != 0 {
		t.Errorf("%+v, was %+v, probes %+v", k, before, probing(a).Probes(3))
	}
	for i := range 2 * maxWitnesses {
		probing(a).witness(witness{url: fmt.Sprint(i), at: testNow.Add(time.Duration(i) * time.Second)})
	}
	if len(a.seenPages) != maxWitnesses || a.seenPages[0].url != fmt.Sprint(2*maxWitnesses-1) {
		t.Errorf("%d kept, first %s", len(a.seenPages), a.seenPages[0].url)
	}
}

func probing(a *Analyser) Probing { return Probing{a} }
