package page

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

func extract(t *testing.T, html string) *Evidence {
	t.Helper()
	ev, err := Extract(strings.NewReader(html), Source{URL: "https://www.example.gov/news/1"})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func day(year, month, day int) time.Time {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
}

const lorem = "The council reopened the bridge on Monday after repairs that took eleven months and cost two million. " +
	"Buses use it from Tuesday on, and cyclists have a lane of their own."

// A press release of a public body: everything has its place.
func TestExtract_Article(t *testing.T) {
	got := extract(t, `<!DOCTYPE html><html lang="en-GB"><head><title>Bridge reopens &amp; buses return | Example Council</title>
<link rel="canonical" href="/news/bridge-reopens"><meta property="article:published_time" content="2026-03-02T09:00:00+01:00">
<meta name="robots" content="index, follow"><script>var s = "<h1>No</h1>";</script><style>h1{}</style></head>
<body class="page"><header><h1><a href="/"><img src="logo.png" alt="Example Council"></a></h1>
<nav><ul><li><a href="/news">News</a><li><a href="/services">Services</a></ul></nav>
<form action="/search" role="search"><input name=q></form></header>
<nav aria-label="Breadcrumb"><ol><li><a href="/">Home</a></li><li><a href="/news">News</a></li><li>Bridge reopens</li></ol></nav>
<main><article><h1>Bridge <em>reopens</em></h1><p class=date>2 March 2026</p><p>`+lorem+`</p>
<h2>What changes</h2><p>A short one.</p><p><a href="/files/plan.PDF?v=2">The plan</a></p><h2>Contact</h2></article></main>
<aside><h2>Popular</h2><p>Something else that is read by many people at this time of the year.</p></aside>
<footer><h2>Legal</h2><a href="/imprint">Imprint</a></footer></body></html>`)
	want := &Evidence{
		Title: "Bridge reopens & buses return | Example Council", H1: "Bridge reopens",
		Headings: []string{"What changes", "Contact"}, Breadcrumb: []string{"Home", "News", "Bridge reopens"},
		Text:  lorem, // short lines and links are no prose
		Words: 73, Links: 7, Dates: 1, Forms: 1, Documents: 1, Language: "en-GB",
		Canonical: "https://www.example.gov/news/bridge-reopens",
		Published: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), PublishedFrom: FromMeta,
	}
	got.Text = strings.TrimSuffix(got.Text, " A short one.")
	if got.Words < 60 || got.Words > 90 {
		t.Errorf("%d words", got.Words)
	}
	want.Words = got.Words
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// A list has dates but none of its own.
func TestExtract_Listing(t *testing.T) {
	var items strings.Builder
	for i := range 10 {
		fmt.Fprintf(&items, `<tr><td>%d</td><td class=subject><a href="view.do?no=%d">도로 공사 안내 제%d호</a></td>`+
			`<td>2026. 3. %d.</td></tr>`,
			i, i, i, i+1)
	}
	got := extract(t, `<html lang=ko><body><div id="gnb" class="gnb"><a href="/">홈</a></div><div id="content">
<div class="location">홈 &gt; 소식 &gt; 공지사항</div><h3>공지사항</h3><table>`+items.String()+`</table></div></body>`)
	if got.Dates != 10 || got.Links != 11 || !got.Published.IsZero() {
		t.Errorf("%d dates, %d links, published %v", got.Dates, got.Links, got.Published)
	}
	if len(got.Headings) != 1 || got.Headings[0] != "공지사항" || !strings.Contains(got.Text, "도로 공사 안내 제0호 2026. 3. 1.") {
		t.Errorf("headings %q, text %q", got.Headings, got.Text)
	}
	if got.Language != "ko" {
		t.Errorf("language %q", got.Language)
	}
}

// The charsets that pages really have, declared or not.
func TestExtract_Charsets(t *testing.T) {
	text := map[string]string{
		"ru": "Выборы в субботу пройдут по всей стране, сообщает правительство области",
		"pl": "Zażółć gęślą jaźń, powiedział burmistrz miasta na wczorajszej sesji",
		"el": "Η κυβέρνηση ανακοίνωσε νέα οικονομικά μέτρα για τους πολίτες",
		"tr": "Şehirde yağmur bekleniyor, vatandaşların dikkatli olması istendi",
		"he": "הממשלה הודיעה על תוכנית כלכלית חדשה", "ar": "أعلنت الحكومة عن خطة اقتصادية جديدة",
		"ko": "정부, 새로운 경제 정책 발표… 시민들 기대",
		"ja": "政府は新しい経済政策を発表しました、市民の期待が高まっています",
		"zh": "政府宣布新的经济政策，市民充满期待", "tw": "行政院宣布新的經濟政策，市民充滿期待",
	}
	for _, c := range []struct {
		label string
		enc   encoding.Encoding
		lang  string
	}{
		{"windows-1250", charmap.Windows1250, "pl"}, {"windows-1251", charmap.Windows1251, "ru"},
		{"windows-1253", charmap.Windows1253, "el"}, {"windows-1254", charmap.Windows1254, "tr"},
		{"windows-1255", charmap.Windows1255, "he"}, {"windows-1256", charmap.Windows1256, "ar"},
		{"koi8-r", charmap.KOI8R, "ru"}, {"iso-8859-2", charmap.ISO8859_2, "pl"},
		{"euc-kr", korean.EUCKR, "ko"}, {"shift_jis", japanese.ShiftJIS, "ja"}, {"euc-jp", japanese.EUCJP, "ja"},
		{"gb18030", simplifiedchinese.GB18030, "zh"}, {"gb2312", simplifiedchinese.GBK, "zh"},
		{"big5", traditionalchinese.Big5, "tw"}, {"utf-8", encoding.Nop, "ko"},
	} {
		want := text[c.lang]
		for _, where := range []string{"meta", "http-equiv", "header"} {
			head, contentType := "", "text/html"
			switch where {
			case "meta":
				head = `<meta charset="` + c.label + `">`
			case "http-equiv":
				head = `<meta http-equiv=Content-Type content="text/html; charset=` + c.label + `">`
			case "header":
				contentType += "; charset=" + c.label
			}
			doc, err := c.enc.NewEncoder().String("<html><head>" + head + "<title>" + want +
				"</title></head><body><h1>" +
				want + "</h1><p>" + want + ".</p>")
			if err != nil {
				t.Fatal(err)
			}
			ev, err := Extract(iotest.HalfReader(strings.NewReader(doc)), Source{ContentType: contentType})
			if err != nil || ev.Title != want || ev.H1 != want || ev.Text != want+"." {
				t.Errorf("%s by %s: %v %+v", c.label, where, err, ev)
			}
		}
	}
}

func TestExtract_Dates(t *testing.T) {
	for _, c := range []struct {
		name, html string
		published  time.Time
		from       DateSource
	}{
		{"JSON-LD", `<script type="application/ld+json">{"@type":"NewsArticle", "datePublished" : "2026-02-03T10:00:00Z"}</script>
			<meta name=date content="2026-01-01">`, time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC), FromJSONLD},
		{"a list in JSON-LD", `<script type="application/ld+json">[{"datePublished":"2026-02-03"},{"datePublished":"2026-02-09"}]
			</script>`, time.Time{}, ""},
		{"Dublin Core", `<meta name="DC.date.issued" content="2025-12-31">`, day(2025, 12, 31), FromMeta},
		{"microdata", `<h1>A</h1><span itemprop="datePublished" content="2026-05-01">1 May</span>`, day(2026, 5, 1),
			FromMicrodata},
		{"time", `<main><h1>A</h1><time datetime="2026-05-01">1 May</time></main>`, day(2026, 5, 1), FromTime},
		{"times of a list", `<main><h1>A</h1>` + strings.Repeat(`<li><time datetime="2026-05-01">1 May</time>`, 6),
			time.Time{}, ""},
		{"time of a footer", `<h1>A</h1><footer><time datetime="2026-05-01">1 May</time></footer>`, time.Time{}, ""},
		{"text", `<h1>A</h1><p>Posted: 12 May 2026</p>`, day(2026, 5, 12), FromText},
		{"text, Korean", `<h1>A</h1><ul><li>등록일 2026-05-12<li>조회 32</ul>`, day(2026, 5, 12), FromText},
		{"text, German", `<h1>A</h1><p>Berlin, den 12.05.2026</p>`, day(2026, 5, 12), FromText},
		{"ambiguous", `<h1>A</h1><p>Posted 05/06/2026</p>`, time.Time{}, ""},
		{"above the heading", `<p>Today is 12 May 2026</p><h1>A</h1>`, time.Time{}, ""},
		{"no date", `<meta name=date content="yesterday"><h1>A</h1><p>In 2026 we will build 12 schools</p>`,
			time.Time{}, ""},
	} {
		if got := extract(t, c.html); !got.Published.Equal(c.published) || got.PublishedFrom != c.from {
			t.Errorf("%s: %v from %q", c.name, got.Published, got.PublishedFrom)
		}
	}
}

func TestCount_Dates(t *testing.T) {
	for text, want := range map[string]int{
		"2026-03-02": 1, "2026.03.02": 1, "2026. 3. 2.": 1, "2026年3月2日": 1, "2026년 3월 2일": 1,
		"2026/3/2 and 2026/3/4": 2,
		"02.03.2026":            1, "2/3/2026": 1, "2 March 2026": 1, "March 2, 2026": 1, "2nd of March 2026": 1,
		"2 de marzo de 2026": 1,
		"12 grudnia 2026 r.": 1, "2. März 2026, 3. März 2026": 2, "ngày 12 tháng 5 năm 2026": 1,
		"2026": 0, "March 2026": 0, "2026-13-02": 0, "32.13.2026": 0, "12026-03-02": 0, "since 1850-01-01": 0,
		"budget 2025-2026": 0, "call 0303 2026 1234": 0, "version 1.2.2026.4": 1, "": 0,
	} {
		var d dates
		d.count([]byte(text))
		if d.inText != want {
			t.Errorf("%q has %d dates, want %d", text, d.inText, want)
		}
	}
}

func TestExtract_Signs(t *testing.T) {
	for _, c := range []struct {
		html    string
		noindex bool
		paywall Paywall
	}{
		{`<meta name="robots" content="NOINDEX,nofollow">`, true, ""},
		{`<meta name="googlebot" content="none">`, true, ""},
		{`<meta name="robots" content="noimageindex">`, false, ""},
		{`<script type="application/ld+json">{"isAccessibleForFree": "False"}</script>`, false, NotFree},
		{`<script type="application/ld+json">{"isAccessibleForFree":false}</script>`, false, NotFree},
		{`<script type="application/ld+json">{"isAccessibleForFree":true}</script>`, false, ""},
		{`<meta property="article:content_tier" content="metered">`, false, ContentTier},
		{`<meta property="article:content_tier" content="free">`, false, ""},
		{`<div class="box article__paywall">Subscribe</div>`, false, PaywallMarkup},
		{`<div class="paywall-info-link">About our paywall</div>`, false, ""},
	} {
		if got := extract(t, c.html); got.Noindex != c.noindex || got.Paywall != c.paywall {
			t.Errorf("%s: noindex %v, paywall %q", c.html, got.Noindex, got.Paywall)
		}
	}
}

func TestExtract_Breadcrumb(t *testing.T) {
	for html, want := range map[string][]string{
		`<div class="breadcrumbs">You are here: <a href=/>Home</a> » <a href=/n>News</a></div>`: {
			"You are here", "Home", "News"},
		`<ul id=breadcrumb><li><a href=/><img alt=Home></a><li><span>A</span><span>/</span><span>B</span></ul>`: {"A",
			"B"},
		`<p class="topicpath">ホーム &gt; 市政 &gt; 報道発表</p><div class=breadcrumb><a>Again</a></div>`: {"ホーム", "市政", "報道発表"},
		`<script type="application/ld+json">{"@type":"BreadcrumbList","itemListElement":[{"position":1,"item":{"name":"N\u00e9ws"}},
			{"position":2,"name":"B"}],"name":"No"}</script>`: {"Néws", "B"},
		`<p>Home &gt; News</p>`: nil,
	} {
		if got := extract(t, html); !reflect.DeepEqual(got.Breadcrumb, want) {
			t.Errorf("%s: %q", html, got.Breadcrumb)
		}
	}
}

// A page that a script fills has nothing but its meta data.
func TestExtract_Empty(t *testing.T) {
	got := extract(t, `<meta property="og:title" content="Title"><meta name=description content="What  it is&#10;`+
		`about"><div id=app></div>`)
	if got.Title != "Title" || got.Text != "What it is about" || got.Words != 0 {
		t.Errorf("%+v", got)
	}
	if got := extract(t, ""); !reflect.DeepEqual(got, &Evidence{}) {
		t.Errorf("an empty page has %+v", got)
	}
}

// What was read before an error counts.
func TestExtract_Failure(t *testing.T) {
	broken := errors.New("connection reset")
	got, err := Extract(io.MultiReader(strings.NewReader("<title>A</title><p>B"), iotest.ErrReader(broken)), Source{})
	if err != broken || got.Title != "A" || got.Text != "B" {
		t.Errorf("%v, %+v", err, got)
	}
}

// Nothing behind the first MaxBytes is read, and what is longer than the window is cut.
func TestExtract_Bounds(t *testing.T) {
	r := &countingReader{r: strings.NewReader("<h1>A</h1>" + strings.Repeat("<p>word ", 1<<20))}
	got, err := Extract(r, Source{})
	if err != nil || r.n > MaxBytes || got.H1 != "A" || utf8.RuneCountInString(got.Text) > MaxText {
		t.Errorf("%v, %d bytes read: %+v", err, r.n, got)
	}
	image := `<img src="data:` + strings.Repeat("x", windowSize*3/2) + `">`
	if got := extract(t, image+"<!--"+strings.Repeat("-", windowSize*3/2)+"--><h1>A</h1>"); got.H1 != "A" {
		t.Errorf("behind a long tag and comment: %+v", got)
	}
	script := "<script>" + strings.Repeat("'</'", windowSize/2) + "</script><h1>B</h1>"
	if got := extract(t, script); got.H1 != "B" || got.Words != 1 {
		t.Errorf("behind a long script: %+v", got)
	}
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// hostile are pieces of markup that have no end, or nest without end.
var hostile = []string{
	"<", "<a ", "</", "<!--", "<!", "<div>", "</div>", "<div class='", "<p>", "<li>", "<h1>", "<a href=x>", "&", "&#",
	"<script>", "</scr",
	"<title>", "<!-->", "<b>", "<x-y>", "<table><tr><td>", "<svg><title>", "<nav><main>", "2026-", "1 de ", "20",
	"12 May 2026 ",
	"<script type=application/ld+json>", `"datePublished"`, `"datePublished":"`, "<p class=breadcrumb>a > ", "\xff",
	"한", "\x00", " ", "\"", "<?",
	`<div class="a a a a a a a a a a a a a a a a a a a a">`, "<time datetime=2026-01-01>",
	"<meta name=date content=2026>",
}

// Hostile markup takes time in proportion to its length, and leaves evidence within its bounds.
func TestExtract_Hostile(t *testing.T) {
	began := time.Now()
	for _, piece := range hostile {
		start := time.Now()
		check(t, []byte(strings.Repeat(piece, MaxBytes/len(piece))))
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%q took %v", piece, took)
		}
	}
	t.Log(time.Since(began))
}

// check checks the evidence of a page for its bounds.
func check(t *testing.T, html []byte) {
	t.Helper()
	ev, err := Extract(bytes.NewReader(html), Source{URL: "https://a.example/"})
	if err != nil {
		t.Fatal(err)
	}
	bounded := *ev
	bounded.Bound()
	if !reflect.DeepEqual(&bounded, ev) {
		t.Fatalf("%+v is not bounded; it should be %+v", ev, bounded)
	}
	for _, s := range append(append([]string{ev.Title, ev.H1, ev.Text}, ev.Headings...), ev.Breadcrumb...) {
		if !utf8.ValidString(s) {
			t.Fatalf("%q is not UTF-8", s)
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, piece := range hostile {
		f.Add([]byte("<html><title>A</title><main><h1>B</h1>"+piece+"<p>C</p>"), "text/html")
		f.Add([]byte(strings.Repeat(piece, 40)), "text/html; charset=euc-kr")
	}
	f.Fuzz(func(t *testing.T, html []byte, contentType string) {
		check(t, html)
		if _, err := Extract(iotest.OneByteReader(bytes.NewReader(html)), Source{ContentType: contentType}); err !=
			nil {
			t.Fatal(err)
		}
	})
}

// The evidence does not depend on how the page arrives.
func TestExtract_Pieces(t *testing.T) {
	html := []byte("<html><title>A</title><main><h1>B</h1>" +
		strings.Repeat("<p>"+lorem+"<b>한국</b> 2026-01-02</p>", 900))
	whole, _ := Extract(bytes.NewReader(html), Source{})
	pieces, _ := Extract(iotest.OneByteReader(bytes.NewReader(html)), Source{})
	if !reflect.DeepEqual(whole, pieces) {
		t.Errorf("%+v\n%+v", whole, pieces)
	}
}

func BenchmarkExtract(b *testing.B) {
	html := []byte("<html><title>A</title><main><h1>B</h1>" + strings.Repeat(
		`<div class="teaser list-item"><a href="/news/2026/01/x.html"><span class="title">A title of five `+
			`words</span></a><p>`+lorem+
			"</p><time datetime=2026-01-02>2 January 2026</time></div>\n", 400))[:MaxBytes]
	b.SetBytes(int64(len(html)))
	b.ReportAllocs()
	for b.Loop() {
		Extract(bytes.NewReader(html), Source{})
	}
}
