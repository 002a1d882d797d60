package discovery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/markup"
)

var testNow = time.Date(2026, 1, 28, 15, 30, 0, 0, time.UTC)

func testOptions() Options {
	return Options{Model: embedded.Model(), Domain: "example.gov", Now: testNow, Robots: func(url string) (bool, bool) {
		return !strings.Contains(url, "/private/"), strings.HasPrefix(url, "https://www.example.gov/")
	}}
}

// site makes the sightings of a site with sections, dated articles, databases, traps and repetitions.
func site(r *rand.Rand, n int) []Sighting {
	sections := strings.Fields("news newsroom press-releases policies services about events statistics reports contact")
	titles := strings.Fields("minister opens new bridge over river annual budget for schools health plan water roads")
	var sightings []Sighting
	for i := range n {
		section := sections[r.IntN(len(sections))]
		at := testNow.Add(-time.Duration(r.IntN(500)*12) * time.Hour)
		var slug []string
		for range 1 + r.IntN(6) {
			slug = append(slug, titles[r.IntN(len(titles))])
		}
		title := strings.Join(slug, "-")
		var path string
		switch r.IntN(12) {
		case 0:
			path = fmt.Sprintf("/%s/%s", section, title)
		case 1, 2:
			path = fmt.Sprintf("/%s/%d/%02d/%s", section, at.Year(), at.Month(), title)
		case 3:
			path = fmt.Sprintf("/%s/%d", section, i)
		case 4:
			path = fmt.Sprintf("/city/town%c%c/%s.html", 'a'+r.IntN(26), 'a'+r.IntN(26), section)
		case 5:
			path = fmt.Sprintf("/bbs/view.do?seq=%d&menuId=%d", i, r.IntN(9))
		case 6:
			path = fmt.Sprintf("/private/%s", title)
		case 7:
			path = fmt.Sprintf("/a/b/a/b/a/%d", i)
		case 8:
			path = fmt.Sprintf("/en/%s/%s?utm_source=x%d", section, title, i)
		case 9:
			path = fmt.Sprintf("/images/%s.jpg", title)
		case 10:
			path = fmt.Sprintf("/%s/%c%c/%c%c/%c/x", section, 'a'+r.IntN(26), 'a'+r.IntN(26), 'a'+r.IntN(26),
				'a'+r.IntN(26),
				'a'+r.IntN(26))
		default:
			path = "/" + section
		}
		host := "www.example.gov"
		if r.IntN(10) == 0 {
			host = "data.example.gov"
		}
		f := Sighting{Loc: []byte("https://" + host + path), Method: methods[1+r.IntN(len(methods)-1)]}
		if r.IntN(3) > 0 {
			f.Lastmod = at
		}
		if r.IntN(2) == 0 {
			f.Title = []byte(strings.ReplaceAll(title, "-", " ") + []string{"", " | Press releases", " | " +
				"FAQ"}[r.IntN(3)])
		}
		sightings = append(sightings, f)
	}
	return sightings
}

// outcome is every result of an Analyser, as one text.
func outcome(t *testing.T, a *Analyser) string {
	t.Helper()
	b, err := json.MarshalIndent([]any{a.Result(), a.Contract(Terms{}), a.State(),
		a.Score("https://www.example.gov/news")}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAnalyser_OrderAndMerges: neither the order of the sightings nor when they come, with the state stored in
// between, changes anything.
func TestAnalyser_OrderAndMerges(t *testing.T) {
	menu := []Link{{"https://www.example.gov/reports", "Publications"},
		{"https://www.example.gov/bbs/list.do?menuId=3", "Press releases"},
		{"https://www.example.gov/services/", "Tenders"}}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 7))
		sightings := site(r, 3000)
		for i := range sightings {
			sightings[i].Source = SourceID(r.IntN(3))
		}
		begin := func() *Analyser {
			a := NewAnalyser(testOptions())
			a.Source(Source{Method: RSSEntry, URL: "https://www.example.gov/rss", Read: true})
			a.Source(Source{Method: SitemapEntry, URL: "https://www.example.gov/sitemap.xml", Read: true})
			a.Learn(menu)
			return a
		}
		whole := begin()
		for i := range sightings {
			whole.Add(&sightings[i])
		}
		want := outcome(t, whole)
		for range 3 {
			r.Shuffle(len(sightings), func(i, j int) { sightings[i], sightings[j] = sightings[j], sightings[i] })
			a := begin()
			for i := range sightings {
				if r.IntN(len(sightings)/3) == 0 {
					a = stored(t, a)
				}
				a.Add(&sightings[i])
			}
			if got := outcome(t, a); got != want {
				t.Fatalf("seed %d: %s", seed, firstDifference(got, want))
			}
		}
	}
}

// stored writes the state of an Analyser as JSON and continues with what was read from it.
func stored(t *testing.T, a *Analyser) *Analyser {
	t.Helper()
	data, err := json.Marshal(a.State())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ParseState(data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Restore(s, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			from := max(i-4, 0)
			return fmt.Sprintf("line %d: got\n%s\nwant\n%s", i, strings.Join(g[from:i+1], "\n"),
				strings.Join(w[from:i+1], "\n"))
		}
	}
	return "one is longer"
}

// TestAnalyser_Hints: the hints of a URL do not depend on their order, and survive the state.
func TestAnalyser_Hints(t *testing.T) {
	for changefreq, want := range map[string]Frequency{
		"always": RealTime, "hourly": RealTime, "daily": Daily, "weekly": Weekly, "monthly": Monthly, "yearly": Yearly,
		"never": Static,
		"":      Irregular, "sometimes": Irregular,
	} {
		if got := frequency(nil, testNow, classify.Service, SitemapHint(changefreq, -1)); got != want {
			t.Errorf("%s: %s, want %s", changefreq, got, want)
		}
	}
	dates := []uint32{}
	for i := range minDates {
		dates = append(dates, uint32(ago(time.Duration(10-i)*day).Unix()))
	}
	if got := frequency(dates, testNow, classify.News, SitemapHint("yearly", 1)); got != Daily {
		t.Errorf("by dates and a sitemap %s", got)
	}
	if h := SitemapHint("daily", 0.3).or(SitemapHint("monthly", 0.8)); h != SitemapHint("daily", 0.8) || !h.valid() {
		t.Errorf("united: %s %v", h.changefreq(), h)
	}
	sightings := []Sighting{
		{Loc: []byte("https://www.mom.gov.sg/news/a"), Method: FromSitemap, Hint: SitemapHint("daily", 0.3)},
		{Loc: []byte("https://www.mom.gov.sg/news/a"), Method: FromSitemap, Hint: SitemapHint("monthly", 0.8)},
		{Loc: []byte("https://www.mom.gov.sg/news/a"), Method: FromResearch},
		{Loc: []byte("https://www.mom.gov.sg/news/b"), Method: FromSitemap, Hint: SitemapHint("", -1)},
		{Loc: []byte("https://www.mom.gov.sg/news/c"), Method: FromSitemap},
	}
	var first string
	for range 20 {
		rand.Shuffle(len(sightings), func(i, j int) { sightings[i], sightings[j] = sightings[j], sightings[i] })
		a := ministry()
		for i := range sightings {
			a.Add(&sightings[i])
		}
		state, err := ParseState([]byte(text(t, a.State())))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Restore(state, Options{Model: embedded.Model(), Robots: a.o.Robots})
		if err != nil {
			t.Fatal(err)
		}
		got := text(t, b.Result().URLs)
		if first == "" {
			first = got
		}
		if got != first || got != text(t, a.Result().URLs) {
			t.Errorf("another order: %s, not %s", got, first)
		}
		if u := b.Result().URLs; *u[0].SitemapPriority != 0.8 || *u[0].Changefreq != "daily" ||
			*u[1].SitemapPriority != 0.5 || u[1].Changefreq != nil || u[2].SitemapPriority != nil {
			t.Errorf("%s", got)
		}
		// Later sightings of a URL are merged with earlier ones.
		b.Add(&Sighting{Loc: []byte("https://www.mom.gov.sg/news/b"), Method: FromFeed, Lastmod: testNow})
		if u := b.Result().URLs[0]; u.URL != "https://www.mom.gov.sg/news/b" || *u.SitemapPriority != 0.5 {
			t.Errorf("after the feed: %+v", u)
		}
	}
}

// TestState_WithoutHints: states that were stored before there were hints are read.
func TestState_WithoutHints(t *testing.T) {
	a := ministry()
	add(a, "https://www.mom.gov.sg/news/a", FromSitemap, testNow)
	if stored := text(t, a.State()); strings.Contains(stored, "hint") {
		t.Errorf("no hints, and stored: %s", stored)
	}
	a.Add(&Sighting{Loc: []byte("https://www.mom.gov.sg/news/b"), Method: FromSitemap, Hint: SitemapHint("daily", 1)})
	s := a.State()
	for _, hints := range [][]byte{{0}, {0, 0, 0}, {0, 0xff}, {0, 0x0f}} {
		s.Hints = hints
		if _, err := Restore(s, Options{Model: embedded.Model()}); err == nil {
			t.Errorf("hints %x are taken", hints)
		}
	}
	s.Hints = nil
	if _, err := Restore(s, Options{Model: embedded.Model()}); err != nil {
		t.Error(err)
	}
}

// TestAnalyser_URLsInARow: what an analyser keeps of a URL for those behind it changes no result.
func TestAnalyser_URLsInARow(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		o := Options{
			Model: embedded.Model(), Domain: "a.gov", Now: testNow,
			Robots:   func(url string) (allowed, decided bool) { return !strings.Contains(url, "/print"), true },
			Excluded: func(url string) bool { return strings.HasSuffix(url, "/x") },
		}
		kept, forgetful := NewAnalyser(o), NewAnalyser(o)
		urls := rowOf(rnd, 300)
		for i, url := range urls {
			if i == 200 {
				kept.Include("b.gov")
				forgetful.Include("b.gov")
			}
			forgetful.urls.canoniser, forgetful.urls.inside, forgetful.page,
				forgetful.shapes.streak = markup.Canoniser{}, nil,
				page{}, streak{}
			s := Sighting{Loc: []byte(url), Method: methods[rnd.IntN(len(methods))], Lastmod: ago(day * 3)}
			kept.Add(&s)
			forgetful.Add(&s)
			if i%16 == 0 {
				kept.Score(urls[rnd.IntN(i+1)])
			}
		}
		if have, want := stateText(t, kept), stateText(t, forgetful); !bytes.Equal(have, want) {
			t.Fatalf("%d:\n%s\nnot\n%s\nof\n%s", seed, have, want, strings.Join(urls, "\n"))
		}
	}
}

func stateText(t *testing.T, a *Analyser) []byte {
	b, err := json.Marshal([]any{a.State(), a.Result().Stats})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rowOf makes URLs each of which differs from the one before in little.
func rowOf(rnd *rand.Rand, n int) []string {
	one := func(list ...string) string { return list[rnd.IntN(len(list))] }
	host, path := "https://a.gov", []string{}
	urls := make([]string, n)
	for i := range urls {
		if rnd.IntN(6) == 0 {
			host = one("http", "https", "HTTPS", " https") + "://" +
				one("a.gov", "www.a.gov", "A.gov", "a.gov.", "a.gov:443", "a.gov:80", "a.gov:8080", "b.gov", "xa.gov",
					"u@a.gov",
					"a.gov:", "%61.gov", "한국.a.gov")
		}
		path = path[:min(len(path), rnd.IntN(10))]
		for range rnd.IntN(4) {
			path = append(path, one("news", "2026", "01", "28", "page", "2", "en", "ko", "a-headline-of-five-words",
				"amp",
				"print", "story-7.html", "x", "", ".", "..", "%2e", "a b", "é", "\xff", "x.amp.html", "http:",
				"%ea%b0%80",
				"art12345", "a;b=c.pdf", strings.Repeat("d/", 12)))
		}
		urls[i] = fmt.Sprint(host, one("/", "/", "/", "\\", ""), strings.Join(path, "/"), one("", "", "/", "//"),
			one("", "", "?a=1/2", "?", "?utm_x=1", "? ", "?a#b"), one("", "", "#", "#a?b/c", " ", "\t", "\u00a0",
				"\x85"))
	}
	return urls
}
