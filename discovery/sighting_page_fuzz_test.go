package discovery

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/markup"
)

// FuzzFollowing: a page parsed behind others is as if it had been the first.
func FuzzFollowing(f *testing.F) {
	f.Add(
		[]byte(
			"https://a.gov/news/2026/01/28/a-story-of-four-words\n" +
				"https://a.gov/news/2026/01/28/another-story-of-more-words\nhttps://a.gov/news/2026/01/28/"))
	f.Add(
		[]byte(
			"https://a.gov/news/2026/02\nhttps://a.gov/news/2026/02/x.html?a=1/2\nhttps://a.gov/news/2026/?a=b\n" +
				"http://a.gov/news\nhttp://a.gov"))
	f.Add(
		[]byte(
			"https://a.gov/a-long-name-of-a-section/\nhttps://a.gov/a-long-name-of-a-section/x\n" +
				"https://a.gov/a-long-name-of-a-section//x//\nhttps://a.gov/a-long-name-of-a-section"))
	f.Add(
		[]byte(
			"https://a.gov/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/21\n" +
				"https://a.gov/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18/19/20/22/23"))
	f.Add([]byte("https://a.gov:8080/en/page/1\nhttps://a.gov:8080/en/page/2\nhttps://a.gov/en/page/2"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		var p page
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			url, ok := markup.AppendCanonical(nil, line)
			if !ok {
				continue
			}
			before := p.url
			p.parse(string(url))
			if want := parsePage(string(url)); p.meaning() != want.meaning() || p.sectionKey() != want.sectionKey() {
				t.Fatalf("%s behind %s:\n%+v\nnot\n%+v", url, before, p.meaning(), want.meaning())
			}
		}
	})
}

// meaning is p without what earlier pages left in the fields of segments that it has not.
func (p *page) meaning() page {
	m := *p
	m.alike, m.placed, m.places, m.growth, m.key, m.keyed = false, 0, [maxPatternDepth]nodeID{}, 0, 0, 0
	for i := len(p.parts()); i < MaxSegments; i++ {
		m.segments[i], m.kinds[i], m.bodies[i], m.ends[i] = "", 0, 0, 0
	}
	return m
}

// FuzzFollowing_Add: what an Analyser makes of a URL does not depend on what it remembers of the one before.
func FuzzFollowing_Add(f *testing.F) {
	f.Add(
		[]byte(
			"https://www.example.gov/news/2026/01/28/a-story-of-four-words 1\n" +
				"https://www.example.gov/news/2026/01/28/another-story-of-more-words 900\n" +
				"https://www.example.gov/news/2026/01/28/a-b-c-d 2\n" +
				"https://www.example.gov/news/2026/01/28/the-last-story-of-all.pdf 3\n" +
				"https://www.example.gov/private/a-b-c-d-e 4"))
	f.Add(
		[]byte(
			"https://www.example.gov/x/minister-opens-new-bridge 5\n" +
				"https://www.example.gov/x/annual-report-of-the-year?a=b 5\n" +
				"https://www.example.gov/x/budget-for-schools-and-roads 500"))
	f.Add(
		[]byte(
			"https://www.example.gov/x/private/a-story-of-four-words 5\n" +
				"https://data.example.gov/x/a-story-of-five-more-words 5\nhttps://www.example.gov/private/x 5"))
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, "https://www.example.gov/s%c%c/t%c/a-story-of-four-words 7\n", 'a'+i%26, 'a'+i%7, 'a'+i%25)
	}
	f.Add([]byte(many.String()))
	f.Fuzz(func(t *testing.T, lines []byte) {
		following, alone := NewAnalyser(testOptions()), NewAnalyser(testOptions())
		for line := range bytes.SplitSeq(lines, []byte("\n")) {
			loc, number, _ := bytes.Cut(line, []byte(" "))
			n, _ := strconv.Atoi(string(number))
			s := Sighting{Loc: loc, Method: methods[1+(n&0xff)%(len(methods)-1)],
				Lastmod: testNow.Add(-time.Duration(n) * time.Hour)}
			following.Add(&s)
			alone.page, alone.estimated, alone.urls.canoniser, alone.urls.inside = page{}, estimate{timeliness: -1},
				markup.Canoniser{}, nil
			alone.Add(&s)
		}
		if got, want := outcome(t, following), outcome(t, alone); got != want {
			t.Fatal(firstDifference(got, want))
		}
	})
}
