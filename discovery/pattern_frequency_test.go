package discovery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
)

// streams and noStreams are rules by which a site dates the i-th page of a section: the days on which items appeared,
// and dates that say nothing of what the pages are.
var streams = map[string]func(i int) time.Time{
	"a day each":         func(i int) time.Time { return ago(time.Duration(i)*day + time.Hour) },
	"two a week":         func(i int) time.Time { return ago(time.Duration(7*(i/2)+3*(i%2))*day + time.Hour) },
	"more often of late": func(i int) time.Time { return ago(time.Duration(i*i/20+i)*day + time.Hour) },
}

var noStreams = map[string]func(i int) time.Time{
	"none":             func(int) time.Time { return time.Time{} },
	"the same second":  func(int) time.Time { return ago(day) },
	"a second each":    func(i int) time.Time { return ago(day + time.Duration(i)*time.Second) },
	"the future":       func(i int) time.Time { return testNow.Add(time.Duration(i+2) * day) },
	"before the web":   func(i int) time.Time { return time.Date(1970, 1, 2+i, 0, 0, 0, 0, time.UTC) },
	"two edits of all": func(i int) time.Time { return ago(time.Duration(100+300*(i%2)) * day) },
	"a few of many dated": func(i int) time.Time {
		return map[bool]time.Time{true: ago(time.Duration(i) * day)}[i%8 == 0]
	},
}

// section returns an analyser that has 160 pages of a section, dated by a rule, in any order.
func section(path string, at func(i int) time.Time) *Analyser {
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.com", Now: testNow})
	for _, i := range rand.Perm(160) {
		add(a, fmt.Sprintf(path, i), FromSitemap, at(i))
	}
	return a
}

// TestRhythm: a section whose URLs are dated day by day is a stream of dated items, where their words leave doubt;
// dates that are made up as a sitemap is written say nothing.
func TestRhythm(t *testing.T) {
	const path, url = "https://www.x.com/lorem/%d.html", "https://www.x.com/lorem/7.html"
	classified := func(at func(i int) time.Time) classify.Classification {
		k, _ := section(path, at).Classify(url)
		return k
	}
	want := classified(noStreams["none"])
	if want.PrimaryType == classify.News || slices.Contains(
		want.Evidence.DomainContext, "neighbours_dated_day_by_day") {
		t.Fatalf("without dates %+v", want)
	}
	for name, at := range streams {
		if got := classified(at); got.PrimaryType != classify.News ||
			!slices.Contains(got.Evidence.DomainContext, "neighbours_dated_day_by_day") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, at := range noStreams {
		if got := classified(at); got.PrimaryType != want.PrimaryType || got.Confidence != want.Confidence {
			t.Errorf("%s: %+v, without dates %+v", name, got, want)
		}
	}
}

// TestRhythm_SureWords: no dates change the type of pages whose words leave no doubt, nor make news of other items
// that are dated.
func TestRhythm_SureWords(t *testing.T) {
	rules := map[string]func(i int) time.Time{
		"random": func(i int) time.Time { return ago(time.Duration(keyOf(fmt.Sprint(i))%900) * day) }}
	for _, lies := range []map[string]func(int) time.Time{streams, noStreams} {
		for name, at := range lies {
			rules[name] = at
		}
	}
	for path, want := range map[string]classify.Type{
		"https://www.x.com/faq/how-do-i-renew-my-licence-%d":                classify.FAQ,
		"https://www.x.com/contact/office-%d":                               classify.Contact,
		"https://www.x.com/about-us/history/chapter-%d":                     classify.About,
		"https://www.x.com/services/apply-online/permit-%d":                 classify.Service,
		"https://www.x.com/events/concert-in-the-park-number-%d":            classify.Event,
		"https://www.x.com/press-releases/minister-opens-bridge-number-%d":  classify.PressRelease,
		"https://www.x.com/publications/annual-report/%d.pdf":               classify.Report,
		"https://www.x.com/guides/how-to-choose-a-school/step-%d-explained": classify.Guide,
	} {
		for name, at := range rules {
			if k, _ := section(path, at).Classify(fmt.Sprintf(path, 7)); k.PrimaryType != want {
				t.Errorf("%s, %s: %+v, want %s", path, name, k, want)
			}
		}
	}
}

// TestRhythm_Bounded: dates alone make a page that says nothing likely news, never sure.
func TestRhythm_Bounded(t *testing.T) {
	const path = "https://www.x.com/view/%d"
	k, _ := section(path, streams["a day each"]).Classify(fmt.Sprintf(path, 7))
	if k.Confidence > 0.8 {
		t.Errorf("%+v", k)
	}
}

// TestEffectiveDays: over how many days pages are spread.
func TestEffectiveDays(t *testing.T) {
	for _, c := range []struct {
		days []uint16
		want float64
	}{
		{nil, 0},
		{[]uint16{3, 1, 4, 2}, 4},
		{[]uint16{3, 1, 2, 2, 1, 3}, 3},
		{slices.Repeat([]uint16{5}, 8), 1},
		{[]uint16{5, 5, 5, 9}, 1.6},
	} {
		if got := effectiveDays(c.days); got != c.want {
			t.Errorf("%v: %v, want %v", c.days, got, c.want)
		}
	}
}
