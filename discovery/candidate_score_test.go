package discovery

import (
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify"
)

func ago(d time.Duration) time.Time { return testNow.Add(-d) }

func TestRelevance(t *testing.T) {
	want := map[classify.Type]float64{classify.News: 0.9, classify.PressRelease: 0.8, classify.Announcement: 0.6,
		classify.Policy: 0.5}
	for i := range classify.Classes {
		c := classify.Class(i).Type()
		if got := relevance(c); got != want[c] {
			t.Errorf("%s: %v, want %v", c, got, want[c])
		}
	}
}

func TestTimeliness(t *testing.T) {
	a := NewAnalyser(testOptions())
	for _, c := range []struct {
		at   time.Time
		want float64
	}{
		{time.Time{}, 0.3}, {time.Unix(0, 0), 0.3}, {testNow.Add(25 * time.Hour), 0.3},
		{testNow.Add(5 * time.Hour), 1}, {testNow, 1}, {ago(day - time.Second), 1},
		{ago(day), 0.8}, {ago(7*day - time.Second), 0.8},
		{ago(7 * day), 0.6}, {ago(30*day - time.Second), 0.6},
		{ago(30 * day), 0.4}, {ago(90*day - time.Second), 0.4},
		{ago(90 * day), 0.2}, {ago(3000 * day), 0.2},
	} {
		if got := a.scorer.timelinessOf(uint32(max(c.at.Unix(), 0))); got != c.want {
			t.Errorf("%v: %v, want %v", c.at, got, c.want)
		}
	}
}

func TestAuthority(t *testing.T) {
	for want, hosts := range map[float64]string{
		1: "www.mom.gov.sg gov.uk www.gov.uk nasa.gov army.mil korea.go.kr www.mofa.go.jp kemenkeu.go.id www.gob.mx " +
			"economie.gouv.fr" +
			" www.bk.admin.ch www.auswaertiges-amt.bund.de canada.gc.ca www.govt.nz www.gov.br oesterreich.gv.at " +
			"ec.europa.eu gub.uy",
		0.8: "mit.edu www.ox.ac.uk snu.ac.kr www.unimelb.edu.au",
		0.6: "www.wikipedia.org charity.org.uk kbs.or.kr museum.or.jp",
		0.4: "notgov.example gov.example.com example.com go.com mygov.de edu.example.net www.go.de admin.com " +
			"localhost " +
			"10.0.0.1 organisation.fr",
	} {
		for host := range strings.FieldsSeq(hosts) {
			if got := authority(host); got != want {
				t.Errorf("%s: %v, want %v", host, got, want)
			}
		}
	}
}

func TestAccessibility(t *testing.T) {
	for depth, want := range []float64{1, 1, 1, 0.8, 0.8, 0.6, 0.6, 0.4, 0.4} {
		if got := accessibility(depth); got != want {
			t.Errorf("depth %d: %v, want %v", depth, got, want)
		}
	}
}

func TestQuality(t *testing.T) {
	for _, c := range []struct {
		url  string
		want float64
	}{
		{"https://x.gov/news", 1},
		{"https://x.gov/a-news/b-news/c-news", 1},
		{"https://x.gov/a-news/b-news/c-news/d-news", 0.9},
		{"https://x.gov/a-news/b-news/c-news/d-news/e-news", 0.8},
		{"https://x.gov/news?page=2", 0.9},
		{"https://x.gov/news?page=2&size=3", 0.9},
		{"https://x.gov/news?page=2&size=3&x=1", 0.8},
		{"https://x.gov/", 0.8},
		{"https://x.gov/2026/01/12345", 0.8},
		{"https://x.gov/12345.html", 0.8},
		{"https://x.gov/5f3a9c0d1e2b4a68", 0.8},
		{"https://x.gov/news/story.html", 1},
		{"https://x.gov/news/story.pdf", 0.9},
		{"https://x.gov/%EB%89%B4%EC%8A%A4", 1},
		{"https://x.gov/news/" + strings.Repeat("word-", 40), 0.8},
		{"https://x.gov/" + strings.Repeat("1/", 12) + "?a=1&b=2&c=3", 0},
	} {
		p := parsePage(c.url)
		if got := quality(&p); got != c.want {
			t.Errorf("%s: %v, want %v", c.url, got, c.want)
		}
	}
}

func TestMethodScore(t *testing.T) {
	for m, want := range map[Method]float64{FromFeed: 1, FromNewsSitemap: 1, FromResearch: 0.9, FromSitemap: 0.8,
		FromLink: 0.6, Generated: 0.4, "": 0} {
		if got := methodScore(m); got != want {
			t.Errorf("%s: %v, want %v", m, got, want)
		}
	}
	for rank := 2; rank < len(methods); rank++ {
		if methodScore(methods[rank]) < methodScore(methods[rank-1]) {
			t.Errorf("%s ranks above %s and is worth less", methods[rank], methods[rank-1])
		}
	}
}

// TestPriority follows the example of docs/contract.md by hand.
func TestPriority(t *testing.T) {
	v := NewsValue{Relevance: 0.8, Timeliness: 0.8, Authority: 1, Accessibility: 0.8}
	if got := overall(&v); got != 0.84 { // 0.32 + 0.24 + 0.2 + 0.08
		t.Errorf("overall %v", got)
	}
	if got := priority(0.84, 0.92, 1, 0.8); got != 0.884 { // 0.42 + 0.184 + 0.2 + 0.08
		t.Errorf("priority %v", got)
	}
	if got := priority(1, 1, 1, 1); got != 1 {
		t.Errorf("highest priority %v", got)
	}
}

func TestAction(t *testing.T) {
	for _, c := range []struct {
		priority float64
		t        classify.Type
		login    bool
		want     Action
	}{
		{0.8, classify.News, false, ImmediateCrawl}, {0.799, classify.News, false, ScheduledCrawl},
		{0.6, classify.News, false, ScheduledCrawl}, {0.599, classify.News, false, PeriodicCheck},
		{0.4, classify.News, false, PeriodicCheck}, {0.399, classify.News, false, LowPriority},
		{0.2, classify.News, false, LowPriority}, {0.199, classify.News, false, Ignore},
		{0.9, classify.Search, false, LowPriority}, {0.9, classify.Form, false, LowPriority},
		{0.9, classify.Service, true, LowPriority},
		{0.1, classify.Search, false, Ignore},
	} {
		if got := action(c.priority, c.t, c.login); got != c.want {
			t.Errorf("%v %s %v: %s, want %s", c.priority, c.t, c.login, got, c.want)
		}
	}
}

func TestCrawlRelevance(t *testing.T) {
	for want, list := range map[float64][]classify.Type{
		1: {classify.News}, 0.9: {classify.PressRelease}, 0.8: {classify.Announcement}, 0.7: {classify.Policy},
		0.6: {classify.Legislation, classify.Regulation, classify.Report, classify.Statistics, classify.Publication},
		0.5: {classify.Event},
		0.4: {classify.FAQ, classify.Guide, classify.Service, classify.Archive}, 0.3: {classify.Unknown},
		0.2: {classify.Contact, classify.About, classify.Search, classify.Multimedia, classify.Download, classify.Form,
			classify.Calendar, classify.Directory},
	} {
		for _, c := range list {
			if got := crawlRelevance(c, 1); got != want {
				t.Errorf("%s: %v, want %v", c, got, want)
			}
			if got := crawlRelevance(c, 0.5); got != round(want/2) {
				t.Errorf("%s at 0.5: %v", c, got)
			}
		}
	}
}

func TestConfidences(t *testing.T) {
	for n, want := range map[int]float64{1: 0.2, 2: 0.3, 7: 0.8, 8: 0.9, 1000: 0.9} {
		if got := patternConfidence(n); got != want {
			t.Errorf("pattern of %d: %v", n, got)
		}
	}
	for _, c := range []struct{ got, want float64 }{
		{feedConfidence(true, ago(29*day), testNow), 0.9},
		{feedConfidence(true, ago(30*day), testNow), 0.6},
		{feedConfidence(true, time.Time{}, testNow), 0.6},
		{feedConfidence(false, ago(day), testNow), 0.5},
		{sitemapConfidence(true), 0.7},
		{sitemapConfidence(false), 0.5},
		{listingConfidence(0.92), 0.55},
		{listingConfidence(0.5), 0.3},
	} {
		if c.got != c.want {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

func TestFrequency(t *testing.T) {
	every := func(gap time.Duration, n int) (dates []uint32) {
		for i := n - 1; i >= 0; i-- {
			dates = append(dates, uint32(ago(time.Duration(i)*gap).Unix()))
		}
		return dates
	}
	shifted := func(dates []uint32, by time.Duration) []uint32 {
		for i := range dates {
			dates[i] -= uint32(by / time.Second)
		}
		return dates
	}
	burst := append([]uint32{uint32(ago(600 * day).Unix())}, every(time.Hour, 40)...)
	for _, c := range []struct {
		name    string
		dates   []uint32
		t       classify.Type
		want    Frequency
		minutes int
	}{
		{"3 hours", every(3*time.Hour, 5), classify.Report, RealTime, 90},
		{"4 hours", every(4*time.Hour, 5), classify.Report, Daily, 720},
		{"36 hours", every(36*time.Hour, 9), classify.Report, Daily, 720},
		{"37 hours", every(37*time.Hour, 9), classify.Report, Weekly, 2880},
		{"10 days", every(10*day, 9), classify.News, Weekly, 2880},
		{"11 days", every(11*day, 9), classify.News, Monthly, 10_080},
		{"45 days", every(45*day, 9), classify.News, Monthly, 10_080},
		{"46 days", every(46*day, 9), classify.News, Quarterly, 20_160},
		{"120 days", every(120*day, 9), classify.News, Quarterly, 20_160},
		{"121 days", every(121*day, 9), classify.News, Yearly, 43_200},
		{"400 days", every(400*day, 9), classify.News, Yearly, 43_200},
		{"401 days", every(401*day, 9), classify.News, Irregular, 4320},
		{"a burst after years", burst, classify.News, Irregular, 4320},
		{"two years ago", shifted(every(day, 9), 731*day), classify.News, Static, 129_600},
		{"not quite two years ago", shifted(every(day, 9), 729*day), classify.News, Daily, 720},
		{"few dates, news", every(day, 4), classify.News, Daily, 720},
		{"few dates, press release", nil, classify.PressRelease, Weekly, 2880},
		{"few dates, announcement", nil, classify.Announcement, Weekly, 2880},
		{"few dates, report", nil, classify.Report, Quarterly, 20_160},
		{"few dates, other", nil, classify.About, Irregular, 4320},
	} {
		got := frequency(c.dates, testNow, c.t, 0)
		if got != c.want || intervalMinutes(got) != c.minutes {
			t.Errorf("%s: %s, %d minutes; want %s, %d", c.name, got, intervalMinutes(got), c.want, c.minutes)
		}
	}
}
