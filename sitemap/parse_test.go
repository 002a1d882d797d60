package sitemap

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/unicode"
)

const base = "https://a.example/maps/sitemap.xml"

// short sums a document up in a line: kind, locs (children with a "+"), and flags.
func short(d document) string {
	var b strings.Builder
	b.WriteString(string(d.Kind))
	for _, e := range d.entries {
		loc, rest, _ := strings.Cut(e, " ")
		b.WriteByte(' ')
		if strings.HasPrefix(rest, "child=true") {
			b.WriteByte('+')
		}
		b.WriteString(strings.TrimPrefix(loc, "https://a.example"))
	}
	if d.Truncated {
		b.WriteString(" truncated")
	}
	return b.String()
}

// parseEveryWay parses a document whole and in the smallest pieces, and fails when that differs.
func parseEveryWay(t *testing.T, doc string, o Options) document {
	t.Helper()
	whole := parse(t, strings.NewReader(doc), base, o)
	pieces := parse(t, iotest.OneByteReader(strings.NewReader(doc)), base, o)
	if fmt.Sprint(whole) != fmt.Sprint(pieces) {
		t.Errorf("byte by byte: %v, want %v", pieces, whole)
	}
	return whole
}

const ns = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`

func TestParse_Forms(t *testing.T) {
	const u = "<url><loc>https://a.example/1</loc></url>"
	for _, c := range []struct{ name, doc, want string }{
		{"urlset", "<urlset" + ns + ">" + u + "</urlset>", "urlset /1"},
		{"no namespace", "<urlset>" + u + "</urlset>", "urlset /1"},
		{"prefix",
			`<sm:urlset xmlns:sm="http://www.sitemaps.org/schemas/sitemap/0.9"><sm:url><sm:loc>https://a.example/1</` +
				`sm:loc></sm:url></sm:urlset>`, "urlset /1"},
		{"prefix of a wrong namespace",
			`<x:urlset xmlns:x="urn:x"><x:url><x:loc>https://a.example/1</x:loc></x:url><x:url><x:loc>` +
				`https://a.example/2</x:loc></x:url></x:urlset>`, "urlset /1 /2"},
		{"undeclared prefix", `<sm:urlset><sm:url><sm:loc>https://a.example/1</sm:loc></sm:url></sm:urlset>`,
			"urlset /1"},
		{"prefixed entries in a plain root",
			`<urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url><s:loc>/1</s:loc></s:url></urlset>`,
			"urlset /1"},
		{"capitals", "<URLSET><URL><LOC>https://a.example/1</LOC></URL></URLSET>", "urlset /1"},
		{"mixed case", "<urlSet><Url><Loc>https://a.example/1</loc></url></urlset>", "urlset /1"},
		{"space in tags", "<urlset\n>\n<url ><loc\t>https://a.example/1</loc ></url\n></urlset >", "urlset /1"},
		{"attributes with > and quotes",
			`<urlset a=">" b='"' c="/"><url id='1>2'><loc x="/loc>">https://a.example/1</loc></url></urlset>`,
			"urlset /1"},
		{"unclosed quote", `<urlset a="b><url><loc>https://a.example/1</loc></url></urlset>`, "urlset /1"},
		{"tag without end", "<urlset><url<loc>https://a.example/1</loc></url></urlset>", "urlset /1"},
		{"doctype", "<!DOCTYPE urlset SYSTEM 'x.dtd'>\n<urlset>" + u + "</urlset>", "urlset /1"},
		{"doctype with a subset", "<!DOCTYPE urlset [ <!ENTITY a ']'><!-- it's --> ] ><urlset>" + u + "</urlset>",
			"urlset /1"},
		{"comments",
			"<!-- <urlset> --><urlset><!-- > --><url><loc>https://a.<!-- x -->example/1</loc></url><!----></urlset>",
			"urlset /1"},
		{"processing instructions", "<?xml version='1.0'><?xml-stylesheet href='a.xsl'?><urlset><?php x ?>" + u +
			"</urlset>", "urlset /1"},
		{"no end of entries", "<urlset><url><loc>/1</loc><url><loc>/2</loc></urlset>", "urlset /1 /2"},
		{"no end of loc", "<urlset><url><loc>/1<lastmod>2024-01-01</lastmod></url></urlset>", "urlset /1"},
		{"wrong end of loc", "<urlset><url><loc>/1</lastmod></url></urlset>", "urlset /1"},
		{"markup in loc", "<urlset><url><loc><a href='x'>https://a.example/1</a></loc></url></urlset>", "urlset /1"},
		{"bare angle brackets", "<urlset> 1 < 2 <3 << <url><loc>/1</loc></url></urlset>", "urlset /1"},
		{"two locs", "<urlset><url><loc>/1</loc><loc>/2</loc></url></urlset>", "urlset /1"},
		{"empty loc, then one", "<urlset><url><loc/><loc></loc><loc>/2</loc></url></urlset>", "urlset /2"},
		{"no root", "<url><loc>https://a.example/1</loc></url>", "urlset /1"},
		{"misspelt root", "<urlsets>" + u + "</urlsets>", "urlset /1"},
		{"concatenated", "<?xml version='1.0'?><urlset>" + u +
			"</urlset>\n<?xml version='1.0'?><urlset><url><loc>/2</loc></url></urlset>", "urlset /1 /2"},
		{"entries after the end", "<urlset>" + u + "</urlset><url><loc>/2</loc></url>", "urlset /1 /2"},
		{"garbage after the end", "<urlset>" + u + "</urlset>\n<!-- cached --><script>if (1<2) {}</script> <!-- ",
			"urlset /1"},
		{"cut after a comment began", "<urlset>" + u + "<!-- ", "urlset /1 truncated"},
		{"cut in CDATA", "<urlset>" + u + "<url><loc><![CDATA[https://a.exam", "urlset /1 truncated"},
		{"cut in a tag", "<urlset>" + u + "<url><lo", "urlset /1 truncated"},
		{"cut in lastmod", "<urlset><url><loc>/1</loc><lastmod>2024-01-0", "urlset /1 truncated"},
		{"cut in the end of the root", "<urlset>" + u + "</urls", "urlset /1 truncated"},
		{"cut in the root", "<?xml version='1.0'?>\n<urlset xmlns='http://www.site", "urlset truncated"},
		{"cut in an entry of no root", "<url><loc>/1</loc>", "urlset /1 truncated"},
		{"cut in a second document", "<urlset>" + u + "</urlset><urlset><url><loc>/2</loc></url>",
			"urlset /1 /2 truncated"},

		{"index",
			"<sitemapindex" + ns + "><sitemap><loc>/a.xml</loc></sitemap><sitemap><loc>b.xml.gz</loc></sitemap>" +
				"</sitemapindex>",
			"index +/a.xml +/maps/b.xml.gz"},
		{"index, empty", "<sitemapindex/>", "index"},
		{"index of nothing usable",
			"<sitemapindex><sitemap><loc>mailto:a@a.example</loc></sitemap><sitemap/></sitemapindex>", "index"},
		{"children in a urlset", "<urlset>" + u + "<sitemap><loc>/a.xml</loc></sitemap></urlset>", "urlset /1 +/a.xml"},
		{"pages in an index", "<sitemapindex><url><loc>/a.xml</loc></url></sitemapindex>", "index +/a.xml"},
		{"sitemaps without root", "<sitemap><loc>/a.xml</loc></sitemap>", "index +/a.xml"},

		{"warning in front",
			"\nPHP Warning:  foo in /x.php on line 3\n\n<br />\n<b>Notice</b>: x<?xml version='1.0'?><urlset>" + u +
				"</urlset>", "urlset /1"},
		{"URL in the warning", "Warning: see http://php.example/manual\n<urlset>" + u + "</urlset>", "urlset /1"},
		{"NULs and controls", "\x00\x00<urlset>\x00" + u + "\x0b\x01</urlset>\x00\x00", "urlset /1"},
		{"byte order mark and blank lines", "\ufeff\n \n<urlset>" + u + "</urlset>", "urlset /1"},

		{"text", "https://a.example/1\nhttps://a.example/2\n", "text /1 /2"},
		{"text, DOS", "\ufeff# pages\r\n\r\n  https://a.example/1  \r\nHTTPS://a.example/2\r\n",
			"text /1 HTTPS://a.example/2"},
		{"text, old Mac", "https://a.example/1\rhttps://a.example/2", "text /1 /2"},
		{"text with other lines", "https://a.example/1\nnot a url\nftp://a.example/\n/3\nhttps://\nhttps://a.example/4",
			"text /1 /4"},
		{"text with markup", "https://a.example/1\n<b>https://a.example/2\nhttps://a.example/3", "text /1 /3"},
		{"text with a heading", "Our pages:\n\nhttps://a.example/1\nhttps://a.example/2", "text /1 /2"},
		{"an error message", "Not found.\nIs this wrong? Ask\nhttps://a.example/help\n", "invalid"},

		{"web page", "<!DOCTYPE html><html><url><loc>https://a.example/1</loc></url></html>", "invalid"},
		{"web page without doctype", "\n<HTML><urlset>" + u + "</urlset>", "invalid"},
		{"other XML", `<?xml version="1.0"?><Error><Code>AccessDenied</Code><url>https://a.example/1</url></Error>`,
			"invalid"},
		{"items without a feed",
			"<channel><item><link>https://a.example/1</link></item></channel><entry><link href='/2'/></entry>",
			"invalid"},
		{"JSON", `{"version":"https://jsonfeed.org/version/1.1","items":[]}`, "invalid"},
		{"JSON with markup", `{"html":"<urlset/>"}`, "urlset"},
		{"escaped", "&lt;urlset&gt;&lt;url&gt;", "invalid"},
		{"an RDF document that is no feed",
			`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><Person/></rdf:RDF>`, "invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := parseEveryWay(t, c.doc, Options{})
			if got := short(d); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if (d.Kind == Invalid) != (d.Problem != "") {
				t.Errorf("problem = %q", d.Problem)
			}
		})
	}
}

func TestParse_Problems(t *testing.T) {
	for doc, want := range map[string]string{
		"":                           "an empty document",
		" \n\t\ufeff\x00":            "an empty document",
		"<html><body>x":              "a web page",
		"<!doctype HTML>":            "a web page",
		`{"error": 404}`:             "JSON",
		`["<b>"]`:                    "JSON",
		"User-agent: *\nDisallow:\n": "text that does not list URLs",
		"<opml></opml>":              "no element of theirs",
	} {
		if d := parseEveryWay(t, doc, Options{}); d.Kind != Invalid || !strings.Contains(d.Problem, want) {
			t.Errorf("%q: %s %q, want %q", doc, d.Kind, d.Problem, want)
		}
	}
}

func TestParse_Locs(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.example/x?a=1&amp;b=2":                         "https://a.example/x?a=1&b=2",
		"https://a.example/x?a=1&b=2&c":                           "https://a.example/x?a=1&b=2&c",
		"https://a.example/x?a=1&copy=2&lt=3&x;y":                 "https://a.example/x?a=1&copy=2&lt=3&x;y",
		"https://a.example/caf&eacute;/&#233;/&#xE9;":             "https://a.example/caf%C3%A9/%C3%A9/%C3%A9",
		"https://a.example/&host;/x":                              "https://a.example/&host;/x",
		"&host;/x":                                                "",
		"<![CDATA[https://a.example/?a=1&b=2]]>":                  "https://a.example/?a=1&b=2",
		"<![CDATA[ https://a.example/]]>x<![CDATA[y]]>":           "https://a.example/xy",
		"<![CDATA[https://a.example/]]]]>":                        "https://a.example/]]",
		"\n\t https://a.example/x \r\n":                           "https://a.example/x",
		"\u00a0\u2000\ufeff\u200bhttps://a.example/x\u3000\u200e": "https://a.example/x",
		"https://a.example/a b":                                   "https://a.example/a%20b",
		"https://a.example/long-\n      name":                     "https://a.example/long-name",
		"https://a.example/tab\tbed\x01\x7f":                      "https://a.example/tabbed",
		"https://a.example/정부/뉴스?q=é#ü": "https://a.example/%EC%A0%95%EB%B6%80/" +
			"%EB%89%B4%EC%8A%A4?q=%C3%A9#%C3%BC",
		"https://bücher.example/é":       "https://xn--bcher-kva.example/%C3%A9",
		"https://a.example/caf\xe9":      "https://a.example/caf%C3%A9",
		"https://a.example/100%/%zz/%41": "https://a.example/100%/%zz/%41",
		"HTTP://A.example/X":             "HTTP://A.example/X",
		"http://a.example":               "http://a.example",
		"http://a.example:8080/?q":       "http://a.example:8080/?q",
		"http://[2001:db8::1]/x":         "http://[2001:db8::1]/x",
		"http://user:pw@a.example/":      "http://user:pw@a.example/",
		"/x/../y/./z":                    "https://a.example/y/z",
		"../../../x":                     "https://a.example/x",
		"..":                             "https://a.example/",
		".":                              "https://a.example/maps/",
		"x.html":                         "https://a.example/maps/x.html",
		"?page=2":                        "https://a.example/maps/sitemap.xml?page=2",
		"#top":                           "https://a.example/maps/sitemap.xml#top",
		"//cdn.example/x y":              "https://cdn.example/x%20y",
		"/a?u=http://b.example/../c":     "https://a.example/a?u=http://b.example/../c",
		"":                               "",
		"   ":                            "",
		"https://":                       "",
		"https:///x":                     "",
		"http:a.example/x":               "",
		"http://:80/x":                   "",
		"https://a b.example/":           "",
		"//":                             "",
		"mailto:a@a.example":             "",
		"javascript:void(0)":             "",
		"ftp://a.example/":               "",
		"data:text/html,x":               "",
		"android-app://com.example/https/a.example": "",
	} {
		d := parseEveryWay(t, "<urlset><url><loc>"+in+"</loc><lastmod>2024-01-01</lastmod></url></urlset>", Options{})
		got := ""
		if len(d.entries) > 0 {
			got, _, _ = strings.Cut(d.entries[0], " child=")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
		if want == "" && (d.Skipped != 1 || d.Lastmods != 0 || d.FirstLoc != "") {
			t.Errorf("%q: %+v", in, d.Summary)
		}
	}
	// Without a usable base only absolute URLs are left.
	for _, b := range []string{"", "sitemap.xml", "ftp://a.example/", "https://"} {
		d := parse(t,
			strings.NewReader(
				"<urlset><url><loc>/x</loc></url><url><loc>//b.example/x</loc></url><url>"+
					"<loc>http://b.example/y</loc></url></urlset>"), b, Options{})
		if d.URLs != 1 || d.FirstLoc != "http://b.example/y" {
			t.Errorf("base %q: %q", b, d.entries)
		}
	}
}

// entryOf parses the only entry of a document.
func entryOf(t *testing.T, doc string) (e Entry, d document) {
	t.Helper()
	d = parseEveryWay(t, doc, Options{})
	_, err := Parse(strings.NewReader(doc), base, Options{Now: clock}, func(x *Entry) {
		e = *x
		e.Loc, e.Title = bytes.Clone(x.Loc), bytes.Clone(x.Title)
		e.News.Title, e.News.Name, e.News.Language = bytes.Clone(x.News.Title), bytes.Clone(x.News.Name),
			bytes.Clone(x.News.Language)
	})
	if err != nil || d.URLs+d.Children != 1 {
		t.Errorf("%d entries, %v", d.URLs+d.Children, err)
	}
	return e, d
}

func TestParse_PageFields(t *testing.T) {
	e, d := entryOf(t,
		`<urlset><url><priority> 0.8 </priority><lastmod>bad</lastmod><lastmod>2024-05-01</lastmod><changefreq> `+
			`Daily</changefreq><loc>/1</loc></url></urlset>`)
	if e.Priority != 0.8 || e.Changefreq != "daily" || !e.Lastmod.Equal(day(2024, 5, 1)) || e.Child || e.Title != nil ||
		e.News.Present {
		t.Errorf("%+v", e)
	}
	if d.Lastmods != 1 || d.LastmodMin != d.LastmodMax || d.Newest != d.LastmodMax {
		t.Errorf("%+v", d.Summary)
	}
	for in, want := range map[string]float32{"0": 0, "1": 1, "1.0": 1, "0,5": 0.5, ".3": 0.3, "": -1, "2": -1, "-1": -1,
		"high": -1, "0.5.5": -1, "0.1234567890": -1} {
		if e, _ := entryOf(t, "<urlset><url><loc>/1</loc><priority>"+in+
			"</priority><changefreq>now and then</changefreq></url></urlset>"); e.Priority != want ||
			e.Changefreq != "" {
			t.Errorf("%q: %v %q", in, e.Priority, e.Changefreq)
		}
	}
}

func TestParse_Extensions(t *testing.T) {
	const publication = `<%[1]spublication><%[1]sname>The Herald</%[1]sname><%[1]slanguage>en</%[1]slanguage></%[1]` +
		`spublication><%[1]spublication_date>2026-03-02T08:15:00+01:00</%[1]spublication_date>`
	for name, c := range map[string]string{
		"usual": `<urlset xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"><url><loc>/1</loc><news:news>` +
			fmt.Sprintf(publication, "news:") + `<news:title>A &amp; B</news:title></news:news></url></urlset>`,
		"other prefix": `<urlset xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"><url><loc>/1</loc><n:news>` +
			fmt.Sprintf(publication, "n:") + `<n:title>A &amp; B</n:title></n:news></url></urlset>`,
		"wrong namespace": `<urlset xmlns:news="http://example.com/"><url><loc>/1</loc><news:news>` +
			fmt.Sprintf(publication, "news:") + `<news:title>A &#38; B</news:title></news:news></url></urlset>`,
		"odd and wrong": `<urlset xmlns:q="urn:q"><url><loc>/1</loc><q:news>` + fmt.Sprintf(publication, "q:") +
			`<q:title>A & B</q:title></q:news></url></urlset>`,
		"undeclared": `<urlset><url><news:news>` + fmt.Sprintf(publication, "news:") +
			"<news:title><![CDATA[A & B]]></news:title></news:news><loc>/1</loc></url></urlset>",
		"default namespace": `<urlset><url><loc>/1</loc><news xmlns="http://www.google.com/schemas/sitemap-news/0.9">` +
			fmt.Sprintf(publication, "") + "<title>A\n &amp;\tB</title></news></url></urlset>",
		"declared late": `<urlset><url xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"><loc>/1</loc>` +
			fmt.Sprintf(publication, "n:") + `<n:title> A &amp; B </n:title></url></urlset>`,
		"never closed": `<urlset><url><loc>/1</loc><news:news>` + fmt.Sprintf(publication, "news:") +
			`<news:title>A &amp; B</url></urlset>`,
	} {
		t.Run(name, func(t *testing.T) {
			e, d := entryOf(t, c)
			n := e.News
			if !n.Present || string(n.Title) != "A & B" || string(n.Name) != "The Herald" ||
				string(n.Language) != "en" ||
				n.Date.Format(time.RFC3339) != "2026-03-02T07:15:00Z" {
				t.Errorf("%q %q %q %v", n.Title, n.Name, n.Language, n.Date)
			}
			if d.NewsEntries != 1 || d.NewsTitles != 1 || d.NewsDateMin != n.Date || d.NewsDateMax != n.Date ||
				d.Newest != n.Date || d.Lastmods != 0 || d.ItemTitles != 0 {
				t.Errorf("%+v", d.Summary)
			}
		})
	}
	// A picture of a news entry, before its news or after it; nobody asks for others'.
	var images []string
	if _, err := Parse(
		strings.NewReader(
			`<urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
		<url><loc>/0</loc><image:image><image:loc>/0.jpg</image:loc></image:image></url>
		<url><loc>/1</loc><news:news><news:title>x</news:title></news:news><image:image><image:loc> /1.jpg?a&amp;b </image:loc><image:loc>/no.jpg</image:loc></image:image></url>
		<url><image:image><image:title>no</image:title><image:loc>/2.jpg</image:loc></image:image><loc>/2</loc><news:news><news:title>x</news:title></news:news></url>
		<url><loc>/3</loc><news:news><news:title>x</news:title></news:news><image:image><image:loc/></image:image></url></urlset>`),
		"https://a.example/s.xml", Options{Details: true},
		func(e *Entry) { images = append(images, string(e.Loc)+" "+string(e.Image)) }); err != nil {
		t.Error(err)
	}
	if got := strings.Join(images, ", "); got != "https://a.example/0 , https://a.example/1 /1.jpg?a&b, "+
		"https://a.example/2 /2.jpg, https://a.example/3 " {
		t.Error(got)
	}
	// What an extension says is not the page's, in any order.
	e, d := entryOf(t, `<urlset xmlns:i="http://www.google.com/schemas/sitemap-image/1.1"><url>
		<i:image><i:loc>/1.jpg</i:loc><i:title>no</i:title></i:image><image:image><image:loc>/2.jpg</image:loc><image:image/>
		<image><loc>/3.jpg</loc><title>no</title></image>
		<video:video><video:title>no</video:title><video:publication_date>2020-01-01</video:publication_date><video:loc>/4</video:loc></video:video>
		<loc>/1</loc><lastmod>2024-05-01</lastmod>
		<xhtml:link rel="alternate" hreflang="de" href="/de"/><link rel="alternate" hreflang="fr" href="/fr"></link>
		<xhtml:link rel="amphtml" href="/amp"/><xhtml:link rel="alternate" hreflang="" href="/x"/><mobile:mobile/>
		<data><display><title>no</title></display></data></url></urlset>`)
	if string(e.Loc) != "https://a.example/1" || !e.Lastmod.Equal(day(2024, 5, 1)) || e.News.Present ||
		e.News.Title != nil ||
		e.Images != 4 || e.Videos != 1 || e.Alternates != 2 {
		t.Errorf("%s %+v", e.Loc, e)
	}
	if d.Images != 4 || d.Videos != 1 || d.Alternates != 2 || d.NewsTitles != 0 {
		t.Errorf("%+v", d.Summary)
	}
}

func TestParse_Feeds(t *testing.T) {
	for _, c := range []struct {
		name, doc   string
		kind        Kind
		loc, title  string
		date        string
		feed, extra string
	}{
		{"RSS 2.0", `<rss version="2.0"><channel><title>The &amp;amp; Feed</title><link>https://a.example/</link><image><title>no</title><url>https://a.example/logo.png</url></image>
			<item><title>A &amp;amp; B</title><link>/1</link><pubDate>Thu, 05 Jan 2017 12:34:51 +0000</pubDate><media:content url="x"><media:title>no</media:title></media:content></item></channel></rss>`,
			RSS, "/1", "A & B", "2017-01-05T12:34:51Z", "The & Feed", ""},
		{"RSS 0.91 in capitals",
			`<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "x"><RSS VERSION="0.91"><CHANNEL><ITEM><TITLE>` +
				`A</TITLE><LINK>/1</LINK></ITEM></CHANNEL></RSS>`, RSS, "/1", "A", "", "", ""},
		{"RSS 0.90", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://my.netscape.com/` +
			`rdf/simple/0.9/"><channel><title>F</title></channel><item><title>A</title><link>/1</link>` +
			`</item></rdf:RDF>`, RSS, "/1", "A", "", "F", ""},
		{"RSS 1.0 by about", `<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel rdf:about="/"><title>F</title>` +
			`</channel><item rdf:about="https://a.example/1"><title>A</title><dc:date>2026-01-04</dc:date>` +
			`</item></rdf:RDF>`, RSS, "/1", "A", "2026-01-04T00:00:00Z", "F", ""},
		{"by guid", `<rss><channel><item><guid>https://a.example/1</guid><title>A</title></item></channel></rss>`, RSS,
			"/1", "A", "", "", ""},
		{"link before guid", `<rss><channel><item><guid>https://a.example/g</guid><link>https://a.example/1</link>` +
			`</item></channel></rss>`, RSS, "/1", "", "", "", ""},
		{"empty link", `<rss><channel><item><link></link><link/><guid isPermaLink="true">https://a.example/1</guid>` +
			`</item></channel></rss>`, RSS, "/1", "", "", "", ""},
		{"guid that is no link",
			`<rss><channel><item><title>A</title><guid isPermaLink="false">https://a.example/1</guid></item>` +
				`</channel></rss>`, RSS, "", "", "", "", "skipped"},
		{"Atom link in RSS", `<rss><channel><atom:link rel="self" href="/feed"/><item><atom:link rel="self" ` +
			`href="/no"/><atom:link href="/1"/><title>A</title></item></channel></rss>`, RSS, "/1", "A", "", "", ""},
		{"dates of RSS", `<rss><channel><lastBuildDate>Thu, 05 Jan 2019 12:34:51 GMT</lastBuildDate><item><link>` +
			`/1</link><dc:date>2026-01-04</dc:date><atom:updated>2026-01-05</atom:updated><pubDate>06 Jan ` +
			`2026</pubDate></item></channel></rss>`, RSS, "/1", "", "2026-01-06T00:00:00Z", "", ""},
		{"markup in a description",
			`<rss><channel><item><description><p>x<br><title>no</title><link>/no</link></description><title>A</title>` +
				`<link>/1</link></item></channel></rss>`, RSS, "/1", "A", "", "", ""},
		{"description never closed",
			`<rss><channel><item><title>A</title><link>/1</link><description>x<p></item></channel></rss>`, RSS, "/1",
			"A", "", "", ""},
		{"CDATA title", `<rss><channel><item><title><![CDATA[A &#8211; B <i>c</i>]]></title><link><![CDATA[/1]]>` +
			`</link></item></channel></rss>`, RSS, "/1", "A – B <i>c</i>", "", "", ""},
		{"media and podcast titles",
			`<rss xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd"><channel><itunes:title>no</itunes:title>` +
				`<title>F</title><item><itunes:title>no</itunes:title><media:title>no</media:title><title>A</title>` +
				`<link>/1</link></item></channel></rss>`, RSS, "/1", "A", "", "F", ""},

		{"Atom 1.0", `<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><updated>2026-01-09T00:00:00Z</updated><link href="/"/>
			<entry><title type="html">A &amp;amp; B</title><link rel="enclosure" href="/no.mp3"/><link rel="alternate" type="text/html" href="/1"/><id>https://a.example/no</id><published>2026-01-01T00:00:00Z</published><updated>2026-01-02T00:00:00Z</updated>
			<source><title>no</title><updated>2027-01-02T00:00:00Z</updated><link href="/no"/></source></entry></feed>`,
			Atom, "/1", "A & B", "2026-01-02T00:00:00Z", "F", ""},
		{"text title", `<feed><entry><title>A &amp;amp; B</title><link href="/1"/></entry></feed>`, Atom, "/1",
			"A &amp; B", "", "", ""},
		{"XHTML title", `<feed><entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">A <b>B</b></div>` +
			`</title><link href="/1"/></entry></feed>`, Atom, "/1", "A B", "", "", ""},
		{"prefix", `<atom:feed xmlns:atom="http://www.w3.org/2005/Atom"><atom:title>F</atom:title><atom:entry>` +
			`<atom:title>A</atom:title><atom:link href="/1"/></atom:entry></atom:feed>`, Atom, "/1", "A", "", "F", ""},
		{"HTML after another alternate",
			`<feed><entry><link rel="alternate" type="application/json" href="/no"/><link rel="alternate" ` +
				`type="application/xhtml+xml" href="/1"/></entry></feed>`, Atom, "/1", "", "", "", ""},
		{"another alternate alone",
			`<feed><entry><link rel="alternate" type="application/json" href="/1"/><link rel="replies" href="/no"/>` +
				`</entry></feed>`, Atom, "/1", "", "", "", ""},
		{"by id", `<feed><entry><id>https://a.example/1</id></entry></feed>`, Atom, "/1", "", "", "", ""},
		{"id that is no URL", `<feed><entry><id>tag:a.example,2026:1</id><title>A</title></entry></feed>`, Atom, "", "",
			"", "", "skipped"},
		{"link as text", `<feed><entry><link>https://a.example/1</link></entry></feed>`, Atom, "/1", "", "", "", ""},
		{"escaped href", `<feed><entry><link href="/1?a=1&amp;b=2"/></entry></feed>`, Atom, "/1?a=1&b=2", "", "", "",
			""},
		{"xml:base", `<feed xml:base="https://a.example/b/"><entry xml:base="c/"><link href="1"/></entry></feed>`, Atom,
			"/b/c/1", "", "", "", ""},
		{"base of the entry before", `<feed><entry xml:base="/c/"></entry><entry><link href="1"/></entry></feed>`, Atom,
			"/maps/1", "", "", "", "skipped"},
		{"authors and content",
			`<feed><author><name>no</name></author><entry><link href="/1"/><content type="xhtml"><div><title>` +
				`no</title><link href="/no"/></div></content><title>A</title></entry></feed>`, Atom, "/1", "A", "", "",
			""},
		{"issued only", `<feed version="0.3"><entry><link href="/1"/><issued>2006-01-01T10:00:00Z</issued><created>` +
			`2005-01-01</created></entry></feed>`, Atom, "/1", "", "2006-01-01T10:00:00Z", "", ""},
		{"cut", `<rss><channel><title>F</title><item><title>A</title><link>/1</link><descr`, RSS, "/1", "A", "", "F",
			"truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var loc, title string
			var date time.Time
			d := parseEveryWay(t, c.doc, Options{})
			if _, err := Parse(strings.NewReader(c.doc), base, Options{}, func(e *Entry) {
				loc, title, date = strings.TrimPrefix(string(e.Loc), "https://a.example"), string(e.Title), e.Lastmod
			}); err != nil {
				t.Fatal(err)
			}
			if d.Kind != c.kind || loc != c.loc || title != c.title || stamp(date) != c.date ||
				d.Summary.Title != c.feed {
				t.Errorf("%s loc %q title %q date %s feed %q", d.Kind, loc, title, stamp(date), d.Summary.Title)
			}
			if d.Truncated != (c.extra == "truncated") || (d.Skipped > 0) != (c.extra == "skipped") ||
				d.NewsTitles != 0 {
				t.Errorf("%+v", d.Summary)
			}
		})
	}
}

// TestParse_Charsets: documents are decoded before they are read, whether the document, its header or its bytes
// name the charset. Which charsets there are is tested in package markup.
func TestParse_Charsets(t *testing.T) {
	const title = "정부, 새로운 경제 정책 발표"
	for _, c := range []struct {
		name     string
		enc      encoding.Encoding
		declared string // in the XML declaration
		header   string // in the Content-Type
		charset  string
	}{
		{"UTF-8", encoding.Nop, "UTF-8", "", "utf-8"},
		{"declared", korean.EUCKR, "EUC-KR", "", "euc-kr"},
		{"header", korean.EUCKR, "", "text/xml; charset=EUC-KR", "euc-kr"},
		{"guessed", korean.EUCKR, "", "", "euc-kr"},
		{"UTF-16 with BOM", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "UTF-16", "", "utf-16le"},
	} {
		t.Run(c.name, func(t *testing.T) {
			declaration := "<?xml version='1.0'?>"
			if c.declared != "" {
				declaration = fmt.Sprintf("\n<?xml version=\"1.0\" encoding=\"%s\"?>", c.declared)
			}
			doc, err := c.enc.NewEncoder().String(declaration + "<urlset><url><loc>/1</loc><news:news><news:title>" +
				title + "</news:title></news:news></url><url><loc>/2</loc></url></urlset>")
			if err != nil {
				t.Fatal(err)
			}
			d := parseEveryWay(t, doc, Options{ContentType: c.header})
			if short(d) != "urlset /1 /2" || !slices.Equal(d.titles, []string{title}) || d.Charset != c.charset {
				t.Errorf("%s %q from %s", short(d), d.titles, d.Charset)
			}
		})
	}
	// A stray byte is repaired where it stands; the rest stays UTF-8.
	d := parseEveryWay(t, "<urlset><url><loc>/1</loc><news:title>Caf\xe9 \x96 정부</news:title></url></urlset>",
		Options{})
	if !slices.Equal(d.titles, []string{"Café – 정부"}) {
		t.Errorf("titles %q", d.titles)
	}
	// A text sitemap has a charset too.
	doc, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(
		"https://a.example/정부\r\nhttps://a.example/2")
	if d := parseEveryWay(t, doc, Options{}); short(d) != "text /%EC%A0%95%EB%B6%80 /2" {
		t.Errorf("%s", short(d))
	}
}

func zip(members ...string) string {
	var b bytes.Buffer
	for _, m := range members {
		z := gzip.NewWriter(&b)
		io.WriteString(z, m)
		z.Close()
	}
	return b.String()
}

func TestParse_Gzip(t *testing.T) {
	const doc = "<urlset><url><loc>/1</loc></url><url><loc>/2</loc></url></urlset>"
	long := "<urlset>" + strings.Repeat("<url><loc>/1</loc></url>", 20000)
	whole := zip(doc)
	badSum := []byte(whole)
	badSum[len(badSum)-6] ^= 0xff
	for _, c := range []struct{ name, doc, want, problem string }{
		{"plain", doc, "urlset /1 /2", ""},
		{"gzip", whole, "urlset /1 /2", ""},
		{"twice", zip(whole), "urlset /1 /2", ""},
		{"three times", zip(zip(whole)), "urlset /1 /2", ""},
		{"four times", zip(zip(zip(whole))), "invalid", ""},
		{"members", zip(doc[:20], doc[20:40], "", doc[40:]), "urlset /1 /2", ""},
		{"zeroes behind", whole + strings.Repeat("\x00", 600), "urlset /1 /2", ""},
		{"garbage behind", whole + "<!-- cached -->", "urlset /1 /2", ""},
		{"half a header behind", whole + "\x1f\x8b\x08", "urlset /1 /2", ""},
		{"without its trailer", whole[:len(whole)-8], "urlset /1 /2 truncated", "ends early"},
		{"cut", zip(doc)[:len(whole)-20], "urlset /1 truncated", "ends early"},
		{"second member cut", zip(doc[:40]) + zip(doc[40:])[:20], "urlset /1 truncated", "ends early"},
		{"wrong checksum", string(badSum), "urlset /1 /2", "checksum"},
		{"magic only", "\x1f\x8b", "invalid truncated", "ends early"},
		{"no deflate", "\x1f\x8b\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a", "invalid truncated", "gzip"},
		{"text", zip("https://a.example/1\n"), "text /1", ""},
		{"text cut", zip("https://a.example/1\n")[:30], "text /1 truncated", "ends early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := parseEveryWay(t, c.doc, Options{ContentType: "text/xml"})
			// how much is left depends on the compressor
			if c.name == "cut" || c.name == "text cut" || c.name == "second member cut" {
				if !d.Truncated || d.Kind == Invalid && d.Bytes > 10 {
					t.Errorf("%s", short(d))
				}
			} else if got := short(d); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if c.problem == "" && d.Kind != Invalid && d.Problem != "" || !strings.Contains(d.Problem, c.problem) {
				t.Errorf("problem = %q", d.Problem)
			}
		})
	}
	// What can be read of a damaged file is.
	broken := []byte(zip(long))
	d := parse(t, bytes.NewReader(broken[:len(broken)*3/4]), base, Options{})
	if d.URLs < 1000 || !d.Truncated || d.Kind != URLSet {
		t.Errorf("%d URLs of a cut file, %+v", d.URLs, d.Summary)
	}
}

func TestParse_Limits(t *testing.T) {
	const doc = "<urlset><url><loc>/1</loc></url></urlset>"
	n := int64(len(doc))
	for _, c := range []struct {
		name      string
		limit     int64
		truncated bool
	}{
		{"below", n - 1, true}, {"exactly", n, false}, {"above", n + 1, false},
	} {
		for _, in := range []string{doc, zip(doc), zip(zip(doc))} {
			var tee bytes.Buffer
			d := parseEveryWay(t, in, Options{MaxBytes: c.limit})
			if _, err := Parse(strings.NewReader(in), base, Options{MaxBytes: c.limit, Tee: &tee}, nil); err != nil {
				t.Fatal(err)
			}
			if d.Truncated != c.truncated || d.Bytes != min(n, c.limit) || d.URLs != 1 || d.OverLimit {
				t.Errorf("%s: %+v", c.name, d.Summary)
			}
			if tee.String() != doc[:d.Bytes] {
				t.Errorf("%s: tee got %q", c.name, tee.String())
			}
		}
	}
	for _, c := range []struct {
		n    int
		over bool
	}{{MaxEntries, false}, {MaxEntries + 1, true}} {
		for _, entry := range []string{"<url><loc>/1</loc></url>", "<sitemap><loc>/1</loc></sitemap>"} {
			d := parse(t, strings.NewReader("<urlset>"+strings.Repeat(entry, c.n)+"</urlset>"), base, Options{})
			if d.URLs+d.Children != c.n || d.OverLimit != c.over || d.Truncated {
				t.Errorf("%d entries: %+v", c.n, d.Summary)
			}
		}
	}
}

// A layer within a layer is limited too, though nothing of it is ever kept.
func TestParse_NestedBomb(t *testing.T) {
	inner := zip(strings.Repeat("\x00", 4<<20))
	var members strings.Builder
	for range 400 {
		members.WriteString(inner)
	}
	d := parse(t, strings.NewReader(zip(members.String())), base, Options{MaxBytes: 1 << 20})
	if d.Bytes != 1<<20 || !d.Truncated {
		t.Errorf("%+v", d.Summary)
	}
	d = parse(t, strings.NewReader(zip(strings.Repeat(zip(""), 200_000))), base, Options{MaxBytes: 1 << 20})
	if d.Bytes != 0 || !d.Truncated {
		t.Errorf("%+v", d.Summary)
	}
}

func TestParse_ReaderErrors(t *testing.T) {
	broken, full := errors.New("connection reset"), errors.New("store is full")
	const doc = "<urlset><url><loc>/1</loc></url><url><loc>/2</loc></url>"
	for _, in := range []string{doc, zip(doc)[:40]} {
		s, err := Parse(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), base, Options{}, nil)
		if err != broken || !s.Truncated {
			t.Errorf("%v, %+v", err, s)
		}
	}
	s, err := Parse(iotest.ErrReader(broken), base, Options{}, nil)
	if err != broken || !s.Truncated || s.Kind != Invalid {
		t.Errorf("%v, %+v", err, s)
	}
	s, err = Parse(strings.NewReader(doc+"</urlset>"), base, Options{Tee: failingWriter{full}}, nil)
	if err != full || !s.Truncated {
		t.Errorf("%v, %+v", err, s)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// The tee gets the document as it is, decompressed but not decoded.
func TestParse_Tee(t *testing.T) {
	doc, _ := charmap.Windows1251.NewEncoder().String("<?xml version='1.0' encoding='windows-1251'?><urlset><url>" +
		"<loc>/1</loc><news:title>Выборы</news:title></url></urlset>" + strings.Repeat(" ", 200_000))
	for _, in := range []string{doc, zip(doc)} {
		var tee bytes.Buffer
		s, err := Parse(strings.NewReader(in), base, Options{Tee: &tee}, nil)
		if err != nil || tee.String() != doc || s.Bytes != int64(len(doc)) || s.NewsTitles != 1 {
			t.Errorf("%v, %d of %d bytes", err, tee.Len(), len(doc))
		}
	}
}

// What a hostile document can make long is bounded, or takes no more than linear time.
func TestParse_Hostile(t *testing.T) {
	const size = 4 << 20
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	const after = "<url><loc>/2</loc></url></urlset>"
	for _, c := range []struct{ name, doc, want string }{
		{"long loc", "<urlset><url><loc>/" + fill("a") + "</loc></url>" + after, "urlset /2"},
		{"long loc in CDATA", "<urlset><url><loc><![CDATA[" + fill("a") + "]]></loc></url>" + after, "urlset /2"},
		{"long title", "<urlset><url><loc>/1</loc><news:title>" + fill("제목") + "</news:title></url>" +
			after, "urlset /1 /2"},
		{"long tag", "<urlset><x " + fill("a='b' ") + "><url><loc>/1</loc></url>" + after, "urlset /1 /2"},
		{"quote never closed", "<urlset><x a=\"" + fill("b") + "><url><loc>/1</loc></url>" + after, "urlset /1 /2"},
		{"angle brackets", "<urlset>" + fill("<") + after, "urlset /2"},
		{"ampersands in a loc", "<urlset><url><loc>/1" + fill("&") + "</loc></url>" + after, "urlset /2"},
		{"unknown entities", "<urlset><url><loc>/1</loc><news:title>" + fill("&zzzzzz;") + "</news:title></url>" +
			after, "urlset /1 /2"},
		{"long comment", "<urlset><!--" + fill("- -") + "-->" + after, "urlset /2"},
		{"comments", "<urlset>" + fill("<!---->") + after, "urlset /2"},
		{"declarations", "<urlset>" + fill("<!x>") + after, "urlset /2"},
		{"doctype", "<!DOCTYPE x [" + fill("] ]") + "]><urlset>" + after, "urlset /2"},
		{"white space in a doctype", "<!DOCTYPE x []" + fill(" ") + "><urlset>" + after, "urlset /2"},
		{"depth", "<urlset>" + fill("<a>") + after, "urlset /2"},
		{"fields that are not kept", "<urlset><url><loc>/1</loc>" + fill("<lastmod>bad</lastmod>") + "</url>" +
			after, "urlset /1 /2"},
		{"links that are not kept", "<feed><entry><link href='/1'/>" + fill("<link rel='self' href='/no'/><id>x</id>") +
			"</entry></feed>", "atom /1"},
		{"roots with a base", fill("<feed xml:base='/x/'>") + "<entry><link href='/1'/></entry></feed>", "atom /1"},
		{"prefixes", "<urlset>" + fill("<url xmlns:a='b' xmlns:c='d'/>") + after, "urlset /2"},
		{"one line", fill("a"), "invalid"},
		{"one line in front", fill(" \t") + "<urlset>" + after, "urlset /2"},
		{"carriage returns", "https://a.example/1" + fill("\r"), "text /1"},
		{"long line of text", "https://a.example/1\nhttps://a.example/" + fill("a") + "\nhttps://a.example/3",
			"text /1 /3"},
		{"digits for a date", "<urlset><url><loc>/1</loc><lastmod>" + fill("1") + "</lastmod></url>" +
			after, "urlset /1 /2"},
		{"UTF-16", "\xff\xfe" + fill("<\x00"), "invalid truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, end runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			var got document
			s, err := Parse(strings.NewReader(c.doc), base, Options{}, func(e *Entry) {
				if len(got.entries) < 3 {
					got.entries = append(got.entries, string(e.Loc)+" ")
				}
			})
			took := time.Since(began)
			runtime.ReadMemStats(&end)
			limit := uint64(1 << 20)
			if strings.Contains(c.doc[:40], "xml:base") { // each is garbage at once; more of it under the race detector
				limit = 5 * size
			}
			if grown := end.TotalAlloc - before.TotalAlloc; grown > limit {
				t.Errorf("allocated %d bytes", grown)
			}
			if took > 10*time.Second { // what is not linear takes minutes
				t.Errorf("took %v", took)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Summary = s; short(got) != c.want {
				t.Errorf("got %.200s, want %s (%+v)", short(got), c.want, s)
			}
		})
	}
}

// Entities of the document's own are never expanded, and nothing outside is read.
func TestParse_Entities(t *testing.T) {
	doc := `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;">
		<!ENTITY host "https://a.example"><!ENTITY file SYSTEM "file:///etc/passwd"> %pe; ]>
		<urlset><url><loc>&host;/1</loc></url><url><loc>/2</loc><news:news><news:title>&lol2; &file;</news:title></news:news></url></urlset>`
	d := parseEveryWay(t, doc, Options{})
	if short(d) != "urlset /2" || !slices.Equal(d.titles, []string{"&lol2; &file;"}) || d.Skipped != 1 {
		t.Errorf("%s %q", short(d), d.titles)
	}
}

// Memory does not grow with the document, and nothing is allocated for an entry.
func TestParse_FlatMemory(t *testing.T) {
	for name, g := range map[string]generated{"urlset": pages, "news": newsPages, "text": urlLines, "rss": items} {
		t.Run(name, func(t *testing.T) {
			cost := func(n int) (allocs, size uint64) {
				g.n = n
				r := g.reader()
				var before, end runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				s, err := Parse(r, base, Options{}, func(*Entry) {})
				runtime.ReadMemStats(&end)
				if err != nil || s.URLs != n || s.Truncated {
					t.Fatalf("%v %+v", err, s)
				}
				return end.Mallocs - before.Mallocs, end.TotalAlloc - before.TotalAlloc
			}
			cost(1000)
			few, small := cost(1000)
			many, large := cost(50_000)
			if many > few+20 || large > small+64<<10 {
				t.Errorf("%d allocations and %d bytes for 50,000 entries, %d and %d for 1,000", many, large, few, small)
			}
		})
	}
}
