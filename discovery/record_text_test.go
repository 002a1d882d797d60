package discovery

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
	"github.com/newsfork/seed-engine/classify/embedded"
)

// found returns the classification of a URL in the result.
func found(t *testing.T, a *Analyser, url string) classify.Classification {
	t.Helper()
	urls := a.Result().URLs
	i := slices.IndexFunc(urls, func(u DiscoveredURL) bool { return u.URL == url })
	if i < 0 {
		t.Fatalf("%s is not listed", url)
	}
	return urls[i].Classification
}

// sourceOf returns where a word of the evidence stands.
func sourceOf(e classify.Evidence, word string) classify.Source {
	if i := slices.Index(e.KeywordMatches, word); i >= 0 {
		return e.KeywordSources[i]
	}
	return ""
}

// TestTexts_Evidence: a title, the text of a link, and the name that the menu gives a section decide where the URL
// says nothing, and the evidence says so. A raw URL gets the same type in urls[].
func TestTexts_Evidence(t *testing.T) {
	const host = "https://www.example.go.kr"
	for _, c := range []struct {
		name, url, title string
		link             Link
		want             classify.Type
		word             string
		source           classify.Source
	}{
		{"title", host + "/kor/view.do?q1=88", "보도자료", Link{}, classify.PressRelease, "보도자료", classify.FromTitle},
		{"anchor", host + "/kor/menu.es?mid=a1010", "", Link{host + "/kor/menu.es?mid=a1010", "공지사항"},
			classify.Announcement,
			"공지사항", classify.FromAnchor},
		{"menu key", host + "/kor/board.es?mid=a1010&bid=7&act=view&list_no=12", "",
			Link{host + "/kor/menu.es?mid=a1010", "공지사항"}, classify.Announcement, "공지사항", classify.FromSite},
		{"path", host + "/a1/b2/c3", "", Link{host + "/a1/b2/", "보도자료"}, classify.PressRelease, "보도자료",
			classify.FromSite},
		{"index page", host + "/a1/c3.html", "", Link{host + "/a1/index.html", "보도자료"}, classify.PressRelease, "보도자료",
			classify.FromSite},
	} {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "example.go.kr", Now: testNow})
		a.Add(&Sighting{Loc: []byte(c.url), Method: FromSitemap, Lastmod: ago(day)})
		alone := found(t, a, c.url)
		a.Add(&Sighting{Loc: []byte(c.url), Method: FromSitemap, Title: []byte(c.title)})
		a.Crawl(host, Reply{Status: 200, ContentType: "text/html", Links: []Link{c.link}})
		got := found(t, a, c.url)
		if alone.PrimaryType == c.want || got.PrimaryType != c.want || sourceOf(got.Evidence, c.word) != c.source {
			t.Errorf("%s: %+v, alone %s", c.name, got, alone.PrimaryType)
		}
		if s := a.Score(c.url); s.Type != c.want {
			t.Errorf("%s: %s in urls[]", c.name, s.Type)
		}
	}
}

// TestTexts_AmbiguousMenu: a field of a query that several links have names no section.
func TestTexts_AmbiguousMenu(t *testing.T) {
	const host = "https://www.example.go.kr"
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "example.go.kr", Now: testNow})
	a.Learn([]Link{{host + "/a.do?menuId=m10&sub=1", "보도자료"}, {host + "/a.do?menuId=m10&sub=2", "조직도"},
		{host + "/b.do?menuId=m20", strings.Repeat("보도자료 ", 100)}})
	for _, url := range []string{host + "/view.do?menuId=m10&no=7", host + "/view.do?menuId=m20&no=7"} {
		p := parsePage(url)
		if got := a.textOf(&p); got != (classify.Text{}) {
			t.Errorf("%s: %+v", url, got)
		}
	}
}

// TestSite_Neighbours: pages of one pattern are judged together, so that a single misleading title changes nothing.
func TestSite_Neighbours(t *testing.T) {
	const odd = "https://www.x.com/stories/how-to-apply-for-a-driving-licence"
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.com", Now: testNow})
	add(a, odd, FromSitemap, ago(day))
	alone := found(t, a, odd)
	for i := range 200 {
		add(a, fmt.Sprintf("https://www.x.com/stories/minister-opens-bridge-after-%d-years-of-protest", i), FromSitemap,
			ago(time.Duration(100+i)*day))
	}
	got := found(t, a, odd)
	if alone.PrimaryType == classify.News || got.PrimaryType != classify.News ||
		!slices.Contains(got.Evidence.DomainContext, "neighbours_news") {
		t.Errorf("%+v, alone %+v", got, alone)
	}
}

// TestSite_ListsVouch: a news sitemap vouches for what it lists, and for pages like it.
func TestSite_ListsVouch(t *testing.T) {
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.com", Now: testNow})
	url := func(i int) string { return fmt.Sprintf("https://www.x.com/view?no=%d", 1000+i) }
	for i := range 20 {
		add(a, url(i), FromSitemap, ago(day))
	}
	if before := found(t, a, url(7)); before.PrimaryType == classify.News {
		t.Fatalf("%+v", before)
	}
	for i := range 5 {
		add(a, url(i), FromNewsSitemap, ago(day))
	}
	for i, hint := range map[int]string{1: "listed_in_news_sitemap", 7: "neighbours_listed_in_news_sitemap"} {
		if got := found(t, a, url(i)); got.PrimaryType != classify.News ||
			!slices.Contains(got.Evidence.DomainContext, hint) {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

// TestSite_SectionFront: a page with hundreds of news below it is the front of a section, whatever its name.
func TestSite_SectionFront(t *testing.T) {
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.com", Now: testNow})
	const front = "https://www.x.com/lorem"
	add(a, front, FromSitemap, ago(day))
	before := found(t, a, front)
	for i := range 200 {
		add(a, fmt.Sprintf("%s/2026/01/%02d/minister-opens-bridge-after-%d-years", front, 1+i%28, i), FromSitemap,
			ago(day))
	}
	if got := found(t, a, front); before.PrimaryType == classify.News || got.PrimaryType != classify.News {
		t.Errorf("%+v, by itself %+v", got, before)
	}
}

// TestTexts_Bounded: however many titles and links there are, a bounded number stays, and which does not depend on
// their order.
func TestTexts_Bounded(t *testing.T) {
	state := func(step int) *State {
		a := NewAnalyser(Options{Model: embedded.Model(), Domain: "x.com", Now: testNow})
		const n = 20_000
		for i := range n {
			k := (i*step + 1) % n
			a.Add(&Sighting{Loc: fmt.Appendf(nil, "https://x.com/news/%d", k), Method: FromFeed,
				Title: fmt.Appendf(nil, "Title %d %s", k, strings.Repeat("x", 5000))})
			if len(a.texts.titles) >= 2*maxTitles {
				t.Fatalf("%d titles", len(a.texts.titles))
			}
		}
		var links []Link
		for i := range n {
			links = append(links, Link{fmt.Sprintf("https://x.com/menu/%d", i), fmt.Sprintf("Section %d", i)})
		}
		a.Learn(links)
		return a.State()
	}
	one, other := state(1), state(7919)
	if len(one.Titles) != maxTitles || len(one.Links) > maxAnchors || len(one.Titles[0].Text) > maxTitle {
		t.Errorf("%d titles of %d bytes, %d links", len(one.Titles), len(one.Titles[0].Text), len(one.Links))
	}
	x, _ := json.Marshal(one.Titles)
	y, _ := json.Marshal(other.Titles)
	if string(x) != string(y) {
		t.Error("the order decides which titles stay")
	}
}

// TestTexts_OldStates: a state of before there were texts can be continued.
func TestTexts_OldStates(t *testing.T) {
	a := ministry()
	a.Add(&Sighting{Loc: []byte(releases), Method: FromFeed, Title: []byte("Press releases")})
	a.Learn([]Link{{releases, "Press releases"}})
	s := a.State()
	s.Titles, s.Links = nil, nil
	b, err := Restore(s, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if got := found(t, b, releases); got.PrimaryType != classify.PressRelease {
		t.Errorf("%+v", got)
	}
}

// TestContract_Menu: the crawl looks at the pages that the menu names, and those that list news are entry
// points, whatever their URLs.
func TestContract_Menu(t *testing.T) {
	const host = "https://www.example.go.kr"
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "example.go.kr", Now: testNow, Robots: open})
	c := a.Crawl(host, Reply{Status: 200, ContentType: "text/html", Links: []Link{
		{host + "/kor/menu.es?mid=a1011", "개인정보처리방침"}, {host + "/kor/menu.es?mid=a1012", "오시는 길"},
		{host + "/kor/menu.es?mid=a1010", "보도자료"},
	}})
	first, _ := c.Next()
	for url, ok := first, true; ok; url, ok = c.Next() {
		status := 404
		if strings.Contains(url, "mid=") {
			status = 200
		}
		c.Answer(Reply{Status: status, ContentType: "text/html", URL: url})
	}
	const news = host + "/kor/menu.es?mid=a1010"
	entries := a.Contract(Terms{}).EntryPoints
	if first != news || len(entries) != 1 || entries[0].URL != news || entries[0].Method != HTMLEntry ||
		*entries[0].ContentType != classify.PressRelease {
		t.Errorf("%s is looked at first; %+v", first, entries)
	}
	b, err := Restore(a.State(), Options{Model: embedded.Model(), Robots: open,
		Excluded: func(url string) bool { return url == news }})
	if err != nil {
		t.Fatal(err)
	}
	if entries := b.Contract(Terms{}).EntryPoints; len(entries) > 0 {
		t.Errorf("excluded since: %+v", entries)
	}
}

// An article that the menu links to by its section's name is not an entry point.
func TestContract_ArticleInMenu(t *testing.T) {
	const host = "https://www.example.gov.sg"
	a := NewAnalyser(Options{Model: embedded.Model(), Domain: "example.gov.sg", Now: testNow, Robots: open})
	for i := range 9 {
		a.Add(&Sighting{Loc: fmt.Appendf(nil, "%s/news-and-publications/media-release-%d", host, i+1),
			Method:  FromSitemap,
			Lastmod: testNow.AddDate(0, 0, -i)})
	}
	a.Learn([]Link{{host + "/news-and-publications/media-release-1", "Media"}})
	for _, e := range a.Contract(Terms{}).EntryPoints {
		if e.Method == HTMLEntry {
			t.Errorf("%+v", e)
		}
	}
}
