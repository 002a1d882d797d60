package collector

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/discovery"
)

// TestLinks_OfAPage: the links of a page in its order, each with the text that a reader sees.
func TestLinks_OfAPage(t *testing.T) {
	const page = `<html><head><script>document.write('<a href="/written">Written</a>')</script><style>a{}</style></head><body>
		<nav><ul><li><a href="/kor/menu.es?mid=a10101"> <span>보도자료</span>
			</a><li><A HREF='press'>Press &amp; media</A><li><a href="/logo"><img src="x.png" alt="Home page"></a>
		<li><a href="/named" title="Contact us"><i class="icon"></i></a><li><a href="javascript:void(0)">Nothing</a>
		<a href="/two">one<!-- no --> <b>two</b></a><a>no target</a><template><a href="/hidden">Hidden</a></template>
		<a href="/abbr"><abbr title="x">MOM</abbr> <address>news</address></a> beside <a href="/first">first <a href="/second">second</a>
		<a href="/empty"></a><a href="/open">open`
	want := []discovery.Link{
		{URL: "https://www.x.go.kr/kor/menu.es?mid=a10101", Text: "보도자료"},
		{URL: "https://www.x.go.kr/kor/press", Text: "Press & media"},
		{URL: "https://www.x.go.kr/logo", Text: "Home page"}, {URL: "https://www.x.go.kr/named", Text: "Contact us"},
		{URL: "https://www.x.go.kr/two", Text: "one two"}, {URL: "https://www.x.go.kr/abbr", Text: "MOM news"},
		{URL: "https://www.x.go.kr/first", Text: "first"}, {URL: "https://www.x.go.kr/second", Text: "second"},
		{URL: "https://www.x.go.kr/empty"}, {URL: "https://www.x.go.kr/open", Text: "open"},
	}
	if got := pageLinks([]byte(page), "https://www.x.go.kr/kor/"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLinks_Bounded: a page of links that never end costs in proportion to its size, and its texts are short.
func TestLinks_Bounded(t *testing.T) {
	page := []byte(strings.Repeat(`<a href="/a">`, 20_000) + strings.Repeat("x", 1<<20))
	links := pageLinks(page, "https://x.com/")
	if len(links) != 20_000 {
		t.Fatalf("%d links", len(links))
	}
	for _, l := range links {
		if len(l.Text) > maxAnchorMarkup {
			t.Fatalf("a text of %d bytes", len(l.Text))
		}
	}
	if links := pageLinks([]byte("<script>"+strings.Repeat("</", 1<<20)), "https://x.com/"); links != nil {
		t.Errorf("%d links of a script", len(links))
	}
}

// TestLinks_HostileMarkup: no page costs many times what a plain one of its size does.
func TestLinks_HostileMarkup(t *testing.T) {
	const size = 1 << 20
	took := func(piece, end string) time.Duration {
		page := []byte("<title>" + strings.Repeat(piece, size/len(piece)) + end)
		least := time.Hour
		for range 3 {
			start := time.Now()
			pageTitle(page)
			pageLinks(page, "https://x.com/")
			least = min(least, time.Since(start))
		}
		return least
	}
	plain := took(`<p>Press releases, <a href="/news">news</a> and notices</p>`, "</title>")
	for _, hostile := range [][2]string{{"<a", ""}, {"<a", ">"}, {"<1", ">"}, {"</", ""}, {"<a href=x>", ""},
		{"<a href=x>a ", ""}, {"<a href=x></", ""}, {"&lt;<a href=//b.c>", ""}, {"<!-->", ""}, {"<title>", ""}} {
		if d := took(hostile[0], hostile[1]); d > 30*plain {
			t.Errorf("%q %q: %v, a plain page %v", hostile[0], hostile[1], d, plain)
		}
	}
}
