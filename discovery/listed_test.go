package discovery

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/classify/hosts"
)

func add(a *Analyser, url string, m Method, lastmod time.Time) {
	a.Add(&Sighting{Loc: []byte(url), Method: m, Lastmod: lastmod})
}

// ministry is mom.gov.sg of contract/domain_metadata.example.json.
func ministry() *Analyser {
	return NewAnalyser(Options{Model: embedded.Model(), Domain: "mom.gov.sg", Now: testNow,
		Context: classify.Context{Authority: "gov"},
		Robots:  func(url string) (bool, bool) { return !strings.Contains(url, "/forbidden"), true }})
}

const releases = "https://www.mom.gov.sg/newsroom/press-releases"

// TestResult_Formulas works the formulas out by hand for the example of the contract.
func TestResult_Formulas(t *testing.T) {
	a := ministry()
	add(a, releases+"/2026", FromSitemap, ago(2*day))
	add(a, releases+"/2025", FromSitemap, ago(40*day))
	d := a.Result()
	u := d.URLs[0]
	c := embedded.Model().Classify(releases+"/2026", classify.Context{Authority: "gov"})
	// 0.4 × 0.8 press release, 0.3 × 0.8 two days, 0.2 × 1 gov.sg, 0.1 × 0.8 three segments
	want := NewsValue{Relevance: 0.8, Timeliness: 0.8, Authority: 1, Accessibility: 0.8, Frequency: Weekly,
		Overall: 0.84}
	if c.PrimaryType != classify.PressRelease || u.URL != releases+"/2026" || u.NewsValue != want ||
		!reflect.DeepEqual(u.Classification, c) {
		t.Errorf("%+v, want %+v and %+v", u, c, want)
	}
	// 0.5 × 0.84 + 0.2 × confidence + 0.2 × 1 + 0.1 × 0.8, which is 0.88 and more
	if p := round(0.42 + 0.2*c.Confidence + 0.2 + 0.08); c.Confidence < 0.9 || u.Priority != p ||
		u.Action != ImmediateCrawl {
		t.Errorf("confidence %v, priority %v %s, want %v %s", c.Confidence, u.Priority, u.Action, p, ImmediateCrawl)
	}
	pattern := URLPattern{releases[len("https://www.mom.gov.sg"):] + "/{year}", classify.PressRelease, 0.3,
		[]string{releases + "/2026", releases + "/2025"}, nil}
	if !reflect.DeepEqual(d.Patterns[0], pattern) {
		t.Errorf("%+v, want %+v", d.Patterns[0], pattern)
	}
	categories := map[classify.Type]Category{ // the list of a past year is an archive here as well
		classify.PressRelease: {Count: 1, Examples: []string{releases + "/2026"}, AveragePriority: d.URLs[0].Priority},
		classify.Archive:      {Count: 1, Examples: []string{releases + "/2025"}, AveragePriority: d.URLs[1].Priority},
	}
	if !reflect.DeepEqual(d.Categories, categories) {
		t.Errorf("%+v, want %+v", d.Categories, categories)
	}
	if d.Strategy.AllowedPatterns[0] != pattern.Pattern || !d.Strategy.RespectRobots {
		t.Errorf("%+v", d.Strategy)
	}
	s := a.Score(releases)
	// Research found it, which is no reason to fetch it at once, undated: 0.5 × (0.32 + 0.09 + 0.2 + 0.1) + 0.2 ×
	// confidence + 0.2 + 0.09
	c = embedded.Model().Classify(releases, classify.Context{Authority: "gov"})
	if p := round(0.355 + 0.2*c.Confidence + 0.29); s.Type != classify.PressRelease || s.Priority != p ||
		s.Action != ScheduledCrawl || s.Allowed == nil || !*s.Allowed {
		t.Errorf("%+v, want priority %v", s, p)
	}
}

// TestResult_Ministry works out what the other pages of the example's site are worth: the news value,
// and the priority without the share of the confidence, which decides no action here.
func TestResult_Ministry(t *testing.T) {
	const site = "https://www.mom.gov.sg"
	for _, c := range []struct {
		path    string
		age     time.Duration // of its lastmod, 0 for none
		class   classify.Type
		value   NewsValue
		without float64 // priority without 0.2 × confidence
		action  Action
	}{
		// 0.4 × 0.8 + 0.3 × 0.4 + 0.2 × 1 + 0.1 × 0.8; 0.36 + 0.2 × 1 + 0.1 × 0.8
		{"/newsroom/speeches/speech-2", 54 * day, classify.PressRelease, NewsValue{0.8, 0.4, 1, 0.8, Weekly, 0.72},
			0.64, ImmediateCrawl},
		// 0.4 × 0.6 + 0.3 × 0.2 + 0.2 × 1 + 0.1 × 0.8; 0.29 + 0.2 + 0.08
		{"/newsroom/announcements/announcement-5", 100 * day, classify.Announcement,
			NewsValue{0.6, 0.2, 1, 0.8, Weekly, 0.58}, 0.57, ScheduledCrawl},
		// 0.4 × 0 + 0.3 × 0.2 + 0.2 × 1 + 0.1 × 1; 0.18 + 0.2 + 0.08
		{"/legislation/act-3", 453 * day, classify.Legislation, NewsValue{0, 0.2, 1, 1, Irregular, 0.36}, 0.46,
			ScheduledCrawl},
		// undated: 0.4 × 0 + 0.3 × 0.3 + 0.2 × 1 + 0.1 × 1; 0.195 + 0.2 + 0.08
		{"/faq/question-4", 0, classify.FAQ, NewsValue{0, 0.3, 1, 1, Irregular, 0.39}, 0.475, ScheduledCrawl},
		// the same but for two parameters: 0.195 + 0.2 × 0.9 + 0.08; a search is never worth more than this
		{"/search?q=levy&sort=date", 0, classify.Search, NewsValue{0, 0.3, 1, 1, Irregular, 0.39}, 0.455, LowPriority},
	} {
		a := ministry()
		var lastmod time.Time
		if c.age > 0 {
			lastmod = ago(c.age)
		}
		add(a, site+c.path, FromSitemap, lastmod)
		u := a.Result().URLs[0]
		if k := u.Classification; k.PrimaryType != c.class || k.Confidence < 0.9 {
			t.Errorf("%s: %s %v, want %s", c.path, k.PrimaryType, k.Confidence, c.class)
		}
		if u.NewsValue != c.value {
			t.Errorf("%s: %+v, want %+v", c.path, u.NewsValue, c.value)
		}
		if p := round(c.without + 0.2*u.Classification.Confidence); u.Priority != p || u.Action != c.action {
			t.Errorf("%s: priority %v %s, want %v %s", c.path, u.Priority, u.Action, p, c.action)
		}
	}
}

// TestResult_EachInput moves one input of the formulas after the other, and works out where the priority
// goes.
func TestResult_EachInput(t *testing.T) {
	type input struct {
		url        string
		class      classify.Type
		confidence float64
		method     Method
		lastmod    time.Time
	}
	base := input{"https://www.x.gov/news/opening", classify.News, 0.8, FromSitemap, ago(2 * day)}
	for _, c := range []struct {
		name string
		move func(*input)
		want int // thousandths
	}{
		// 0.5 × (0.36 + 0.24 + 0.2 + 0.1) + 0.2 × 0.8 + 0.2 × 1 + 0.1 × 0.8
		{"nothing", func(*input) {}, 890},
		{"relevance", func(i *input) { i.class = classify.Announcement }, 830},
		{"timeliness", func(i *input) { i.lastmod = ago(20 * day) }, 860},
		{"no date", func(i *input) { i.lastmod = time.Time{} }, 815},
		// 0.03 less for its form
		{"date in the URL", func(i *input) {
			i.url, i.lastmod = "https://www.x.gov/2026/01/27/opening", time.Time{}
		}, 860},
		{"authority", func(i *input) { i.url = "https://www.x.com/news/opening" }, 830},
		{"accessibility", func(i *input) { i.url += "/speech" }, 880},
		{"confidence", func(i *input) { i.confidence = 0.3 }, 790},
		{"method", func(i *input) { i.method = Generated }, 850},
		{"better method", func(i *input) { i.method = FromFeed }, 910},
		{"quality: fourth segment", func(i *input) { i.url += "/speech/text" }, 860}, // 0.01 of it for accessibility
		{"quality: a parameter", func(i *input) { i.url += "?a=1" }, 870},
		{"quality: three parameters", func(i *input) { i.url += "?a=1&b=2&c=3" }, 850},
		{"quality: no word", func(i *input) { i.url = "https://www.x.gov/2026/01" }, 850},
		{"quality: not a page", func(i *input) { i.url += ".pdf" }, 870},
		{"quality: length", func(i *input) { i.url += strings.Repeat("-ceremony", 20) }, 850},
	} {
		i := base
		c.move(&i)
		p := parsePage(i.url)
		date := uint32(0)
		if !i.lastmod.IsZero() {
			date = uint32(i.lastmod.Unix())
		}
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: domainOf(i.url), Now: testNow})
		class, _ := classify.ClassOf(i.class)
		if got := a.scorer.score(&p, class, i.confidence, rankOf(i.method), date); got.priority != c.want {
			t.Errorf("%s: %d, want %d", c.name, got.priority, c.want)
		}
	}
}

// TestResult_InputsMoveIt: each input of the scores moves what is shown.
func TestResult_InputsMoveIt(t *testing.T) {
	score := func(url string, m Method, lastmod time.Time) float64 {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: domainOf(url), Now: testNow})
		add(a, url, m, lastmod)
		return a.Result().URLs[0].Priority
	}
	const url = "https://www.x.gov/news/opening"
	base := score(url, FromSitemap, ago(2*day))
	for name, other := range map[string]float64{
		"type":       score("https://www.x.gov/about/opening", FromSitemap, ago(2*day)),
		"lastmod":    score(url, FromSitemap, ago(20*day)),
		"no lastmod": score(url, FromSitemap, time.Time{}),
		"authority":  score("https://www.x.com/news/opening", FromSitemap, ago(2*day)),
		"depth":      score("https://www.x.gov/news/opening/of/this", FromSitemap, ago(2*day)),
		"parameters": score(url+"?a=1", FromSitemap, ago(2*day)),
		"method":     score(url, Generated, ago(2*day)),
		"no word":    score("https://www.x.gov/news/12345", FromSitemap, time.Time{}),
		"file":       score(url+".pdf", FromSitemap, ago(2*day)),
	} {
		if other >= base {
			t.Errorf("%s: %v is not below %v", name, other, base)
		}
	}
	if score(url, FromFeed, ago(2*day)) <= base {
		t.Error("a feed is worth no more than a sitemap")
	}
}

func domainOf(url string) string {
	p := parsePage(url)
	return strings.TrimPrefix(p.host, "www.")
}

func TestResult_Excluded(t *testing.T) {
	a := ministry()
	for _, u := range []string{
		"https://www.mom.gov.sg/a/a/a", "https://www.mom.gov.sg/a/a/a", // once
		"https://www.mom.gov.sg/" + strings.Repeat("x", 2100),
		"https://www.mom.gov.sg/x?PHPSESSID=1", "https://www.mom.gov.sg/calendar/2050/01/01",
		"https://www.mom.gov.sg/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u",
		"https://www.mom.gov.sg/logo.PNG", "https://www.mom.gov.sg/app.js?v=3",
		"https://www.mom.gov.sg/forbidden/news",
		"https://www.example.com/news", "https://notmom.gov.sg/news", "javascript:void(0)",
		"https://www.mom.gov.sg/news?utm_source=a", "https://www.mom.gov.sg/news?utm_source=b", // one page
	} {
		add(a, u, FromSitemap, time.Time{})
	}
	d := a.Result()
	if want := (Excluded{Trap: 5, Asset: 2, Robots: 1, External: 3}); d.Stats.Excluded != want {
		t.Errorf("%+v, want %+v", d.Stats.Excluded, want)
	}
	if want := (Traps{TooLong: 1, TooDeep: 1, Repeated: 1, Session: 1, Calendar: 1}); d.Stats.Traps != want {
		t.Errorf("%+v, want %+v", d.Stats.Traps, want)
	}
	if d.Stats.Analyzed != 1 || len(d.URLs) != 1 || d.URLs[0].URL != "https://www.mom.gov.sg/news" {
		t.Errorf("%+v %+v", d.Stats, d.URLs)
	}
	for _, u := range []string{"https://www.mom.gov.sg/forbidden/news", "https://www.mom.gov.sg/a/a/a",
		"https://www.mom.gov.sg/logo.png", "nonsense"} {
		if s := a.Score(u); s.Action != Ignore {
			t.Errorf("%s: %+v", u, s)
		}
	}
}

// TestResult_FoundTwice: a URL in several places counts once, with the best method and the latest date.
func TestResult_FoundTwice(t *testing.T) {
	a := ministry()
	add(a, releases, FromSitemap, ago(40*day))
	add(a, releases, FromFeed, time.Time{})
	add(a, releases, FromResearch, ago(2*day))
	add(a, releases, FromLink, testNow.AddDate(1, 0, 0)) // cannot be true
	d := a.Result()
	if d.Stats.Analyzed != 1 || d.URLs[0].Method != FromFeed || d.URLs[0].NewsValue.Timeliness != 0.8 ||
		d.Categories[classify.PressRelease].Count != 1 {
		t.Errorf("%+v", d)
	}
	if d.Stats.High+d.Stats.Medium+d.Stats.Low != 1 || d.Categories[classify.PressRelease].AveragePriority < 0.8 {
		t.Errorf("%+v", d.Stats)
	}
}

func TestResult_TopList(t *testing.T) {
	a := ministry()
	for i := range 500 {
		add(a, fmt.Sprintf("https://www.mom.gov.sg/newsroom/%d", i), FromSitemap, ago(time.Duration(i)*time.Hour))
	}
	d := a.Result()
	if len(d.URLs) != MaxDiscovered || d.Stats.Analyzed != 500 {
		t.Fatalf("%d of %+v", len(d.URLs), d.Stats)
	}
	number := func(u DiscoveredURL) string { return fmt.Sprintf("%40s", u.URL) } // hours ago, too
	if !slices.IsSortedFunc(d.URLs, func(x, y DiscoveredURL) int {
		if x.Priority != y.Priority {
			return int(1000 * (y.Priority - x.Priority))
		}
		return strings.Compare(number(x), number(y))
	}) {
		t.Error("not sorted by priority, then the newest first")
	}
}

// TestResult_Unlimited: beyond the URLs that are remembered, nothing grows and everything still counts.
func TestResult_Unlimited(t *testing.T) {
	if testing.Short() {
		t.Skip("250,000 URLs")
	}
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.com", Now: testNow})
	n := 250_000
	for i := range n {
		add(a, fmt.Sprintf("https://x.com/%d/story-%d", i%1000, i), FromSitemap, testNow)
	}
	if a.seen.count != maxSeen || a.stats.Analyzed != n || len(a.tree.nodes) > maxNodes {
		t.Errorf("%d remembered of %d, %d nodes", a.seen.count, a.stats.Analyzed, len(a.tree.nodes))
	}
}

func TestResult_GovernmentPatterns(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range governmentLibrary {
		suffix, expected := g.suffix, g.patterns
		if seen[suffix] {
			t.Errorf("%s twice", suffix)
		}
		seen[suffix] = true
		if hosts.SectorOf("ministry."+suffix) != hosts.Government {
			t.Errorf("%s is no government's", suffix)
		}
		list := governmentPatterns("ministry." + suffix)
		if len(list) != len(everyGovernment)+len(expected) {
			t.Errorf("%s: %v", suffix, list)
		}
		for _, p := range list {
			generate(p, testNow)
			if _, ok := classify.ClassOf(p.ContentType); !ok || p.Confidence <= 0 || p.Confidence > 0.9 ||
				p.Pattern[0] != '/' {
				t.Errorf("%+v", p)
			}
		}
	}
	if len(seen) < 24 {
		t.Errorf("only %d suffixes", len(seen))
	}
	if governmentPatterns("example.com") != nil || len(governmentPatterns("ministry.gov.fj")) != len(everyGovernment) {
		t.Error("patterns for the wrong domains")
	}
}

// TestState_Damaged: a state that cannot be used is an error, never a panic.
func TestState_Damaged(t *testing.T) {
	a := ministry()
	add(a, releases+"/2026", FromSitemap, ago(2*day))
	for name, spoil := range map[string]func(*State){
		"cut table":    func(s *State) { s.Seen = s.Seen[:len(s.Seen)-1] },
		"table":        func(s *State) { s.Seen = []byte("nonsense nonsense") },
		"no nodes":     func(s *State) { s.Nodes = nil },
		"parent":       func(s *State) { s.Nodes[1].Parent = 7 },
		"node missing": func(s *State) { s.Nodes = s.Nodes[:1] },
	} {
		s := a.State()
		spoil(s)
		if _, err := Restore(s, Options{Model: embedded.Model()}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, text := range []string{"", "{}", "[]", `{"version":99}`} {
		if _, err := ParseState([]byte(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// FuzzState: any discovery.json is refused or continued.
func FuzzState(f *testing.F) {
	a := ministry()
	a.Source(Source{Method: RSSEntry, URL: "https://www.mom.gov.sg/rss", Read: true})
	for i := range 3 {
		a.Add(&Sighting{Loc: fmt.Appendf(nil, "%s/%c", releases, 'a'+i), Method: FromSitemap, Lastmod: ago(day),
			Source: 1})
	}
	data, err := json.Marshal(a.State())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseState(data)
		if err != nil {
			return
		}
		a, err := Restore(s, Options{Model: embedded.Model()})
		if err != nil {
			return
		}
		add(a, "https://www.mom.gov.sg/newsroom/press-releases/another", FromSitemap, testNow)
		a.Result()
		a.Contract(Terms{})
		a.State()
	})
}

// TestCategories_AgreeWithList: a listed URL counts for the type with which it is listed, and is an example of no
// other.
func TestCategories_AgreeWithList(t *testing.T) {
	contradicted := 0
	for r, a := range rankings(t, 500) {
		d := a.Result()
		types, listed, total := map[string]classify.Type{}, map[classify.Type]int{}, 0
		for _, u := range d.URLs {
			types[u.URL] = u.Classification.PrimaryType
			listed[u.Classification.PrimaryType]++
			if record := a.seen.find(keyOf(u.URL)); record.class.Type() != u.Classification.PrimaryType {
				contradicted++
			}
		}
		for kind, c := range d.Categories {
			total += c.Count
			if c.Count < listed[kind] || c.AveragePriority <= 0 || c.AveragePriority > 1 {
				t.Errorf("%s: %s has %+v, of which %d are listed", r.path, kind, c, listed[kind])
			}
			for _, e := range c.Examples {
				if is, ok := types[e]; ok && is != kind {
					t.Errorf("%s: %s is an example of %s, listed as %s", r.path, e, kind, is)
				}
			}
		}
		if total != d.Stats.Analyzed {
			t.Errorf("%s: %d in categories of %d", r.path, total, d.Stats.Analyzed)
		}
	}
	if contradicted == 0 {
		t.Error("no URL is listed with another type than that of its shape: the test shows nothing")
	}
}

// TestCategories_Texts: the pages of a section count by what is known of it, those that are not listed too, and so
// does their pattern.
func TestCategories_Texts(t *testing.T) {
	const board = "https://www.example.go.kr/b7/"
	result := func(learn bool, pages int) Discovery {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "example.go.kr", Now: testNow})
		for i := range pages {
			add(a, fmt.Sprintf("%s%d", board, 88000+i), FromSitemap, ago(day))
		}
		if learn {
			a.Learn([]Link{{board, "보도자료"}})
		}
		return a.Result()
	}
	if alone := result(false, 400); alone.Categories[classify.PressRelease].Count > 0 ||
		alone.Patterns[0].ContentType == classify.PressRelease {
		t.Fatalf("without the menu %+v, %+v", alone.Categories, alone.Patterns[0])
	}
	for _, pages := range []int{2, 4, 40, 400} {
		got := result(true, pages)
		if k := got.Categories[classify.PressRelease]; len(got.Categories) != 1 || k.Count != pages ||
			len(k.Examples) != min(pages, categoryExamples) || k.AveragePriority < 0.6 || k.AveragePriority > 0.9 {
			t.Errorf("%d pages: %+v", pages, got.Categories)
		}
		if p := got.Patterns[0]; p.Pattern != "/b7/{id}" || p.ContentType != classify.PressRelease {
			t.Errorf("%d pages: %+v", pages, p)
		}
	}
}

// Unassessed URLs of a group have the class of most assessed ones, from three on.
func TestCategories_Usual(t *testing.T) {
	for _, c := range []struct {
		found  map[classify.Class]int32
		to     classify.Class
		others int
	}{
		{nil, newsClass, 0},
		{map[classify.Class]int32{archiveClass: 2}, newsClass, 0},
		{map[classify.Class]int32{archiveClass: 2, newsClass: 2}, newsClass, 0},
		{map[classify.Class]int32{archiveClass: 3}, archiveClass, 7},
		{map[classify.Class]int32{archiveClass: 3, newsClass: 2}, archiveClass, 5},
		{map[classify.Class]int32{archiveClass: 12}, archiveClass, 0},
	} {
		g := group{root, newsClass}
		o := outcomes{g: new(perClass)}
		for class, n := range c.found {
			o[g][class] = n
		}
		if to, others := o.outcomeOf(g, 10); to != c.to || others != c.others {
			t.Errorf("%v: %d of %s", c.found, others, to.Type())
		}
	}
}
