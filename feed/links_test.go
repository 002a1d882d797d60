package feed

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const page = "https://a.example/news/"

func TestLinks(t *testing.T) {
	const rss = `<link rel="alternate" type="application/rss+xml" title="News" href="/rss.xml">`
	for name, c := range map[string]struct{ html, want string }{
		"usual": {`<!DOCTYPE html><html><head><meta charset="utf-8"><title>x</title>` + rss +
			`</head><body></body></html>`,
			"rss /rss.xml"},
		"kinds, in order": {`<head><link rel=alternate type=application/atom+xml href=atom.xml><link rel='alternate' ` +
			`type='application/feed+json' href='?feed=json'>` + rss + `</head>`,
			"atom /news/atom.xml json /news/?feed=json rss /rss.xml"},
		"capitals and parameters": {`<HEAD><LINK REL="Alternate" TYPE="Application/RSS+XML; charset=utf-8" ` +
			`HREF="/A"></HEAD>`, "rss /A"},
		"XHTML": {`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><link href="/a?x=1&amp;` +
			`y=2" rel="alternate" type="application/rss+xml" /></head></html>`, "rss /a?x=1&y=2"},
		"RDF": {`<link rel="alternate" type="application/rdf+xml" href="/a">`, "rss /a"},
		"XML types": {`<link rel="alternate" type="text/xml" href="/a"><link rel="alternate" ` +
			`type="application/xml" href="/b">`, "rss /a rss /b"},
		"rel=feed": {`<link rel="feed" href="/a"><link rel="home feed" type="application/atom+xml" href="/b">`,
			"rss /a atom /b"},
		"base": {`<head><base href="https://b.example/x/"><base href="/no/"><link rel="alternate" ` +
			`type="application/rss+xml" href="y"></head>`, "rss https://b.example/x/y"},
		"no scheme": {`<link rel="alternate" type="application/rss+xml" href="//cdn.example/f">`,
			"rss https://cdn.example/f"},
		"twice": {rss + rss, "rss /rss.xml"},
		"comments last": {`<link rel="alternate" type="application/rss+xml" href="/comments/feed/">` + rss,
			"rss /rss.xml rss /comments/feed/"},
		"late in a broken head": {`<head><div><img src=x></div>` + rss, "rss /rss.xml"},
		"in the body":           {`<head></head><body>` + rss + `</body>`, ""},
		"after the head":        {`<head></head>` + rss, ""},
		"in a comment":          {`<head><!-- ` + rss + ` --></head>`, ""},
		"in a script": {`<head><script>document.write('` + rss + `')</script><style>` + rss + `</style><title>` +
			rss + `</title></head>`, ""},
		"behind a script":     {`<head><script>if (a</b/.x && "</scr" < c) {}</SCRIPT >` + rss, "rss /rss.xml"},
		"script never closed": {`<head><script>` + rss, ""},
		"other alternates": {`<link rel="alternate" hreflang="de" href="/de"><link rel="alternate stylesheet" type="text/xml" href="/s.css">
			<link rel="alternate" type="application/json+oembed" href="/o"><link rel="alternate" type="text/html" href="/m"><link rel="alternate" href="/x">
			<link rel="stylesheet" type="application/rss+xml" href="/y"><link type="application/rss+xml" href="/z"><link rel="feed" type="text/css" href="/q">`, ""},
		"an API is no feed": {`<link rel="alternate" type="application/json" href="/wp-json/wp/v2/feed/1"><link ` +
			`rel="alternate" type="application/json" href="/api/page/1"><link rel="alternate" ` +
			`type="application/json" href="/feed.json">`, "json /feed.json"},
		"no usable href": {`<link rel="alternate" type="application/rss+xml"><link rel="alternate" ` +
			`type="application/rss+xml" href=""><link rel="alternate" type="application/rss+xml" href="feed:x"><link ` +
			`rel="alternate" type="application/rss+xml" href="javascript:x">`, ""},
		"cut":           {rss + `<link rel="alternate" type="application/rss+xml" href="/b`, "rss /rss.xml"},
		"bare brackets": {`<head>a < b <3 <! <` + rss, "rss /rss.xml"},
		"beyond the limit": {rss + strings.Repeat(" ", maxHead) + strings.Replace(rss, "rss.xml", "late.xml", 1),
			"rss /rss.xml"},
		"empty": {"", ""},
	} {
		var got []string
		for _, l := range Links([]byte(c.html), page) {
			got = append(got, fmt.Sprintf("%s %s", l.Kind, strings.TrimPrefix(l.URL, "https://a.example")))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

func FuzzLinks(f *testing.F) {
	f.Add(
		[]byte(`<head><base href=/x><script></script><link rel=alternate type="application/rss+xml" ` +
			`href="a&amp;b"><!-- `))
	f.Add([]byte(`<link rel='feed' href=//b.example/><title></`))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := slices.Clone(b)
		seen := map[string]bool{}
		for _, l := range Links(b, page) {
			if seen[l.URL] || l.Kind == "" || !strings.HasPrefix(strings.ToLower(l.URL), "http") {
				t.Errorf("%+v", l)
			}
			seen[l.URL] = true
		}
		if !slices.Equal(before, b) {
			t.Error("the page was changed")
		}
	})
}

// TestLinks_Many: each link is found again without comparing it with all others, which would make forty
// times as many cost some 500 times as much.
func TestLinks_Many(t *testing.T) {
	cost := func(n int) time.Duration {
		var page strings.Builder
		for i := range n {
			fmt.Fprintf(&page, "<link rel=feed href=%d>", i)
		}
		page.WriteString("<link rel=feed href=7>")
		fastest := time.Hour
		for range 10 {
			began := time.Now()
			if found := Links([]byte(page.String()), "https://x.gov/"); len(found) != n {
				t.Fatalf("%d links of %d", len(found), n)
			}
			fastest = min(fastest, time.Since(began))
		}
		return fastest
	}
	few, many := cost(2000), cost(20_000)
	t.Logf("2,000 links %v, 20,000 links %v", few, many)
	if many > 40*few {
		t.Errorf("10 times the links take %.0f times as long", float64(many)/float64(few))
	}
}
