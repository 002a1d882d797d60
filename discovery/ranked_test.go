package discovery

import (
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
)

// gradedSite is a site of testdata/ranking: its pages in an editor's order, each with a grade.
type gradedSite struct {
	path   string
	domain string
	grades map[string]int
	add    func(*Analyser)
}

func readRanking(t *testing.T, path string) gradedSite {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := gradedSite{path: path, grades: map[string]int{}}
	var sightings []Sighting
	var menu []Link
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if f[0] == "menu" {
			menu = append(menu, Link{f[1], f[2]})
			continue
		}
		if len(f) != 5 {
			t.Fatalf("%s: %q", path, line)
		}
		grade, err := strconv.Atoi(f[0])
		if err != nil {
			t.Fatalf("%s: %q", path, line)
		}
		p := parsePage(f[3])
		r.domain = strings.TrimPrefix(p.host, "www.")
		r.grades[f[3]] = grade
		s := Sighting{Loc: []byte(f[3]), Method: Method(f[1])}
		if age, err := strconv.Atoi(f[2]); err == nil {
			s.Lastmod = ago(time.Duration(age)*day + time.Hour)
		}
		if f[4] != "-" {
			s.Title = []byte(f[4])
		}
		sightings = append(sightings, s)
	}
	r.add = func(a *Analyser) {
		for i := range sightings {
			a.Add(&sightings[i])
		}
		a.Learn(menu)
	}
	return r
}

// gain is the discounted cumulative gain of the first ten grades.
func gain(grades []int) (sum float64) {
	for i, g := range grades[:min(len(grades), 10)] {
		sum += (math.Exp2(float64(g)) - 1) / math.Log2(float64(i+2))
	}
	return sum
}

// rankings are the sites of testdata/ranking, each with an analyser that has its pages.
func rankings(t *testing.T, pages int) iter.Seq2[gradedSite, *Analyser] {
	t.Helper()
	paths, err := filepath.Glob("testdata/ranking/*.tsv")
	if err != nil || len(paths) < 12 {
		t.Fatal(paths, err)
	}
	return func(yield func(gradedSite, *Analyser) bool) {
		for _, path := range paths {
			r := readRanking(t, path)
			a := NewAnalyser(Options{Model: embedded.Model(), Domain: r.domain, Now: testNow, Pages: pages})
			r.add(a)
			if !yield(r, a) {
				return
			}
		}
	}
}

// TestRanking: the list of what matters is close to an editor's, by the normalised discounted cumulative gain of its
// first ten URLs.
func TestRanking(t *testing.T) {
	sums, counts := map[string]float64{}, map[string]int{}
	for r, a := range rankings(t, 0) {
		var got, best []int
		var shown strings.Builder
		for i, u := range a.Result().URLs {
			got = append(got, r.grades[u.URL])
			if i < 12 {
				fmt.Fprintf(&shown, "\n\t%d %.3f %s %s", r.grades[u.URL], u.Priority, u.Classification.PrimaryType,
					u.URL)
			}
		}
		for _, g := range r.grades {
			best = append(best, g)
		}
		slices.SortFunc(best, func(x, y int) int { return y - x })
		score := gain(got) / gain(best)
		name := filepath.Base(r.path)
		set, _, _ := strings.Cut(name, "-")
		sums[set] += score
		counts[set]++
		t.Logf("%.3f %s%s", score, name, shown.String())
	}
	for set, sum := range sums {
		mean := sum / float64(counts[set])
		t.Logf("nDCG@10 of %d sites (%s): %.3f", counts[set], set, mean)
		if mean < 0.9 {
			t.Errorf("%s: %.3f", set, mean)
		}
	}
}

// shown are the paths of the URLs that matter, best first.
func shown(a *Analyser) (paths []string) {
	for _, u := range a.Result().URLs {
		p := parsePage(u.URL)
		paths = append(paths, strings.TrimPrefix(u.URL, p.origin()))
	}
	return paths
}

// TestRanking_Aside: nothing that an editor would not lead with stands above a dated article, however high its
// priority.
func TestRanking_Aside(t *testing.T) {
	const old = "/news/bridge-over-the-river-opened-to-all"
	for _, path := range []string{
		"/", "/en/", "/index.html", "/newsroom/press-releases/2024", "/newsroom/press-releases/2024/11",
		"/press-releases-2019", "/archive/2021",
		"/news/page/3", "/news?page=3", "/news?year=2023", "/news/privacy-policy", "/terms-of-use", "/login",
		"/news/login",
	} {
		a := ministry()
		add(a, "https://www.mom.gov.sg"+old, FromSitemap, ago(900*day))
		add(a, "https://www.mom.gov.sg"+path, FromFeed, ago(time.Hour))
		if got := shown(a); got[0] != old || got[1] != path {
			t.Errorf("%q", got)
		}
	}
}

// TestRanking_Unknown: a page of which nothing says what it is does not stand above a dated article.
func TestRanking_Unknown(t *testing.T) {
	a := ministry()
	add(a, "https://www.mom.gov.sg/news/bridge-over-the-river-opened-to-all", FromSitemap, ago(900*day))
	add(a, "https://www.mom.gov.sg/a/8812", FromSitemap, ago(time.Hour))
	if got := shown(a); got[1] != "/a/8812" {
		t.Errorf("%q", got)
	}
}

// TestRanking_FeedItems: what a feed or news sitemap lists is never unknown, whatever its URL, in whatever order it is
// found.
func TestRanking_FeedItems(t *testing.T) {
	for _, m := range []Method{FromFeed, FromNewsSitemap} {
		for _, order := range [][]Method{{m, FromSitemap}, {FromSitemap, m}} {
			a := ministry()
			source := a.Source(Source{Method: RSSEntry, URL: "https://www.mom.gov.sg/rss.xml", Read: true})
			for _, found := range order {
				a.Add(&Sighting{Loc: []byte("https://www.mom.gov.sg/a/8812"), Method: found, Lastmod: ago(time.Hour),
					Source: source})
			}
			u := a.Result().URLs[0]
			s := a.Score(u.URL)
			e := a.Contract(Terms{}).EntryPoints[0]
			if u.Classification.PrimaryType != classify.News || s.Type != classify.News ||
				u.NewsValue.Relevance != 0.9 ||
				e.ContentType == nil || *e.ContentType != classify.News {
				t.Errorf("%v: %+v, %+v, the feed %v", order, u, s, e.ContentType)
			}
		}
	}
}

// TestRanking_PastYears: the list of a past year is an archive, and stands below the releases that it lists, dated
// or not.
func TestRanking_PastYears(t *testing.T) {
	for _, list := range []string{"/2024", "?year=2024", "/2024/page/2", "/2024/11", "-2024"} {
		a := ministry()
		add(a, releases+list, FromFeed, ago(time.Hour))
		add(a, releases+"/2024/minister-opens-bridge-over-the-river", FromSitemap, time.Time{})
		add(a, releases+"/2026", FromSitemap, time.Time{})
		var got []string
		for _, u := range a.Result().URLs {
			got = append(got, strings.TrimPrefix(u.URL, releases)+" "+string(u.Classification.PrimaryType))
		}
		if want := []string{"/2026 press_release", "/2024/minister-opens-bridge-over-the-river press_release",
			list + " archive"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if s := a.Score(releases + list); s.Type != classify.Archive {
			t.Errorf("%s is %s", list, s.Type)
		}
	}
}

// TestRanking_Ties: of equals the newest comes first, never the first in alphabetical order.
func TestRanking_Ties(t *testing.T) {
	a := ministry()
	for i := range 200 {
		add(a, fmt.Sprintf("https://www.mom.gov.sg/newsroom/story-of-the-town-%03d", i), FromSitemap,
			ago(2*day+time.Duration(i)*time.Minute))
		add(a, fmt.Sprintf("https://www.mom.gov.sg/stories/%d/a-story-of-the-town", 1000+i), FromSitemap, time.Time{})
	}
	dates, numbers := []string{}, []string{}
	for _, p := range shown(a) {
		if strings.HasPrefix(p, "/newsroom/") {
			dates = append(dates, p)
		} else {
			numbers = append(numbers, p)
		}
	}
	if len(dates) == 0 || len(numbers) == 0 || dates[0] != "/newsroom/story-of-the-town-000" ||
		numbers[0] != "/stories/1199/a-story-of-the-town" ||
		!slices.IsSorted(dates) || !slices.IsSortedFunc(numbers,
		func(x, y string) int { return strings.Compare(y, x) }) {
		t.Errorf("%q\n%q", dates, numbers)
	}
	b := ministry()
	for _, name := range strings.Fields(
		"aquarium bridge cathedral dockyard embankment fountain gallery harbour island jetty") {
		add(b, "https://www.mom.gov.sg/news/the-new-"+name+"-of-the-town", FromSitemap, ago(2*day))
	}
	if got := shown(b); slices.IsSorted(got) {
		t.Errorf("%q", got)
	}
}

// TestRanking_OneSection: at most a third of the list is of one section, however many pages it has and however they
// are named.
func TestRanking_OneSection(t *testing.T) {
	a := ministry()
	for i := range 60 {
		for _, desk := range []string{"asia", "europe", "africa"} {
			add(a, fmt.Sprintf("https://www.mom.gov.sg/world/%s/%d/a-story-of-the-day", desk, i), FromFeed,
				ago(time.Hour))
		}
		add(a, fmt.Sprintf("https://www.mom.gov.sg/local/%d/a-story-of-the-town", i), FromSitemap, ago(900*day))
		add(a, fmt.Sprintf("https://www.mom.gov.sg/culture/%d/a-concert-of-the-day", i), FromSitemap, ago(900*day))
		add(a, fmt.Sprintf("https://www.mom.gov.sg/sports/%d/a-match-of-the-day", i), FromSitemap, ago(900*day))
	}
	count := map[string]int{}
	for _, p := range shown(a) {
		count[strings.Split(p, "/")[1]]++
	}
	if count["world"] > MaxDiscovered/3 || len(count) != 4 {
		t.Errorf("%v", count)
	}
}

// TestRanking_ResearchAlone: that Research names a page makes it no page to fetch at once.
func TestRanking_ResearchAlone(t *testing.T) {
	for m, want := range map[Method]Action{FromResearch: ScheduledCrawl, FromFeed: ImmediateCrawl} {
		a := ministry()
		add(a, releases+"/minister-opens-bridge-over-the-river", m, time.Time{})
		u := a.Result().URLs[0]
		pages := a.Score(u.URL)
		if u.Priority < 0.8 || u.Action != want || pages.Action != want {
			t.Errorf("%s: %v %s, as a raw URL %s", m, u.Priority, u.Action, pages.Action)
		}
	}
}

// TestRanking_Leading: the current listings of sections lead, one of each and no more than three sections; further
// ones of a section do not stand above its articles.
func TestRanking_Leading(t *testing.T) {
	a := ministry()
	for i := range 20 {
		add(a, fmt.Sprintf("https://www.mom.gov.sg/newsroom/press-releases/2026/minister-opens-bridge-number-%d", i),
			FromFeed, ago(time.Hour))
	}
	for i, path := range []string{"/newsroom/press-releases/2026", "/news", "/blog", "/press", "/newsroom/speeches"} {
		add(a, "https://www.mom.gov.sg"+path, FromSitemap, ago(time.Duration(i)*10*day))
	}
	got := shown(a)
	leading := got[:3]
	if !slices.Contains(leading, "/newsroom/press-releases/2026") || !slices.Contains(leading, "/news") {
		t.Errorf("%q lead", leading)
	}
	if at := slices.Index(got, "/newsroom/speeches"); at < 23 {
		t.Errorf("another listing of a section at %d", at)
	}
	for _, path := range got[3:23] {
		if !strings.HasPrefix(path, "/newsroom/press-releases/2026/") {
			t.Errorf("%s stands between the articles", path)
		}
	}
}

// TestRanking_NewestFirst: of articles of equal worth the newest comes first, and the day in the URL counts more than
// a lastmod that all pages share.
func TestRanking_NewestFirst(t *testing.T) {
	a := ministry()
	want := []string{"/news/2026/01/27/minister-opens-new-bridge", "/news/2026/01/25/minister-opens-new-school",
		"/news/2015/06/02/minister-opens-new-road"}
	for _, path := range want {
		add(a, "https://www.mom.gov.sg"+path, FromSitemap, ago(time.Hour))
	}
	if got := shown(a); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestRanking_Mixed: of one pattern there are at most a third, unless nothing else is left.
func TestRanking_Mixed(t *testing.T) {
	a := ministry()
	count := func() (alike int) {
		for _, path := range shown(a) {
			if strings.HasPrefix(path, "/newsroom/") {
				alike++
			}
		}
		return alike
	}
	for i := range 300 {
		add(a, fmt.Sprintf("https://www.mom.gov.sg/newsroom/minister-opens-bridge-number-%d", i), FromFeed,
			ago(time.Hour))
	}
	if n := count(); n != MaxDiscovered {
		t.Errorf("%d of a site that has nothing else", n)
	}
	for i := range 200 {
		add(a, fmt.Sprintf("https://www.mom.gov.sg/%s/question-about-permits-number-%d",
			[]string{"faq", "policies", "guides", "services"}[i%4], i), FromSitemap, ago(400*day))
	}
	if n := count(); n != maxAlike {
		t.Errorf("%d of one pattern, want %d", n, maxAlike)
	}
}

// harbourTimes is a newspaper whose stories are dated by their paths, and whose home page has a menu of sections.
func harbourTimes(robots func(string) (bool, bool)) *Analyser {
	const home = "https://harbour-times.sg/"
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "harbour-times.sg", Now: testNow, Robots: robots})
	for i := range 20 {
		for _, desk := range []string{"singapore", "business"} {
			add(a, fmt.Sprintf("%s2026/01/%s-story-%d", home, desk, i+1), FromFeed,
				ago(time.Duration(i+1)*day+time.Hour))
		}
	}
	var menu []Link
	for _, name := range []string{"singapore", "asia", "business", "opinion", "sport", "arts"} {
		add(a, home+name, FromSitemap, ago(time.Minute)) // made as it is asked for
		menu = append(menu, Link{home + name, name})
	}
	add(a, "https://www.harbour-times.sg/opinion", FromResearch, ago(time.Minute))
	add(a, home, FromSitemap, time.Time{})
	a.Learn(menu)
	return a
}

// TestRanking_LeadingNewspaper: no more than three listings stand above its stories, though it has more sections
// and all of them changed just now; that with www. is the same section, and does not lead where its robots.txt was
// not read.
func TestRanking_LeadingNewspaper(t *testing.T) {
	for name, robots := range map[string]func(string) (bool, bool){
		"www not read": func(url string) (bool, bool) { return true, !strings.HasPrefix(url, "https://www.") },
		"both read":    func(string) (bool, bool) { return true, true },
		"none asked":   nil,
	} {
		urls := harbourTimes(robots).Result().URLs
		sections := map[string]bool{}
		for i, u := range urls[:15] {
			if story := strings.Contains(u.URL, "-story-"); story != (i >= maxLeading) {
				t.Errorf("%s: %s at %d", name, u.URL, i)
			}
			if robots != nil && i < maxLeading && u.Allowed == nil {
				t.Errorf("%s: %s leads", name, u.URL)
			}
			if p := parsePage(u.URL); i < maxLeading {
				sections[p.sectionName()] = true
			}
		}
		if len(sections) != maxLeading {
			t.Errorf("%s: sections %v lead", name, sections)
		}
	}
}

// rankedSite returns the site of testdata/ranking with the name, and the URLs that matter there.
func rankedSite(t *testing.T, name string) (r gradedSite, paths []string, byPath map[string]DiscoveredURL) {
	t.Helper()
	r = readRanking(t, "testdata/ranking/"+name+".tsv")
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: r.domain, Now: testNow})
	r.add(a)
	byPath = map[string]DiscoveredURL{}
	for _, u := range a.Result().URLs {
		p := parsePage(u.URL)
		path := strings.TrimPrefix(u.URL, p.origin())
		paths = append(paths, path)
		byPath[path] = u
	}
	return r, paths, byPath
}

// TestRanking_StaticGuides: undated pages of a section are no announcements where the site dates what it publishes,
// whatever the section's name suggests.
func TestRanking_StaticGuides(t *testing.T) {
	r := readRanking(t, "testdata/ranking/tune-manpower-sg.tsv")
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: r.domain, Now: testNow})
	r.add(a)
	guides := 0
	for url := range r.grades {
		if strings.Contains(url, "/employment-practices/") {
			guides++
			if s := a.Score(url); s.Type == classify.Announcement {
				t.Errorf("%s is an announcement, priority %v", url, s.Priority)
			}
		}
		if strings.Contains(url, "/newsroom/announcements/") {
			if s := a.Score(url); s.Type != classify.Announcement {
				t.Errorf("%s is %s", url, s.Type)
			}
		}
	}
	if guides != 20 {
		t.Errorf("%d guides", guides)
	}
}

// TestRanking_NewsroomSections: the directories of a newsroom are sections, of which one does not crowd out the
// others.
func TestRanking_NewsroomSections(t *testing.T) {
	_, paths, _ := rankedSite(t, "tune-manpower-sg")
	count := map[string]int{}
	for _, path := range paths {
		if f := strings.Split(path, "/"); f[1] == "newsroom" && len(f) > 3 {
			count[f[2]]++
		}
	}
	if count["press-releases"] < 10 || count["speeches"] < 5 || count["announcements"] < 5 {
		t.Errorf("%v of %q", count, paths)
	}
}

// TestRanking_FeedItemsOfPastYears: an item of a feed whose name ends in a year is no archive; the list of that year
// is.
func TestRanking_FeedItemsOfPastYears(t *testing.T) {
	r, _, byPath := rankedSite(t, "tune-institute-uk")
	items := 0
	for path, u := range byPath {
		if path == "/vacancies/2025" || path == "/vacancies/2024" {
			if k := u.Classification; k.PrimaryType != classify.Archive {
				t.Errorf("%s is %s", path, k.PrimaryType)
			}
		} else if r.grades[u.URL] == 2 && strings.HasPrefix(path, "/vacancies/") {
			items++
			if k := u.Classification; k.PrimaryType != classify.Announcement {
				t.Errorf("%s is %s", path, k.PrimaryType)
			}
		}
	}
	if items != 6 {
		t.Errorf("%d items are listed", items)
	}
}

// TestRanking_MainSection: the sections that the menu names first lead, though their names say less than others.
func TestRanking_MainSection(t *testing.T) {
	_, paths, _ := rankedSite(t, "tune-harbour-sg")
	if got, want := paths[:3], []string{"/singapore", "/asia", "/business"}; !slices.Equal(got, want) {
		t.Errorf("%q lead, want %q", got, want)
	}
	r := readRanking(t, "testdata/ranking/tune-harbour-sg.tsv")
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: r.domain, Now: testNow})
	r.add(a)
	var entries []string
	for _, e := range a.Contract(Terms{}).EntryPoints {
		entries = append(entries, e.URL)
	}
	if !slices.Contains(entries, "https://pier-times.sg/singapore") {
		t.Errorf("entry points %q", entries)
	}
}

// TestRanking_ResearchTitle: the title by which Research found one page of a list does not set it apart from the
// others: beyond the worth of the method, siblings are worth the same.
func TestRanking_ResearchTitle(t *testing.T) {
	apart := methodWeight * (methodScore(FromResearch) - methodScore(FromSitemap))
	sections := map[string]int{"items": 20, "national": 20, "employment-practices": 20, "resources": 6}
	for section, pages := range sections {
		for _, title := range []string{"Big National: World", "Frequently asked questions", "Employment Act 2026"} {
			a := NewAnalyser(Options{Model: embedded.Model(), Domain: "bignational.com.au", Now: testNow})
			for i := range pages {
				s := Sighting{Loc: fmt.Appendf(nil, "https://bignational.com.au/%s/entry-%d", section, i+1),
					Method: FromSitemap}
				if i == 4 {
					s.Method, s.Title = FromResearch, []byte(title)
				}
				a.Add(&s)
			}
			types := map[classify.Type]int{}
			lowest, highest := 1.0, 0.0
			for _, u := range a.Result().URLs {
				types[u.Classification.PrimaryType]++
				lowest, highest = min(lowest, u.Priority), max(highest, u.Priority)
				if strings.HasSuffix(u.URL, "/entry-5") && (u.Title == nil || *u.Title != title) {
					t.Errorf("the title %q is not shown: %v", title, u.Title)
				}
			}
			if len(types) != 1 || round(highest-lowest) != round(apart) {
				t.Errorf("%s, %q: %v, priorities from %v to %v", section, title, types, lowest, highest)
			}
		}
	}
}
