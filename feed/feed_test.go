package feed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/newsfork/seed-engine/sitemap"
)

var clock = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

const (
	rssFeed = `<?xml version="1.0"?><rss version="2.0"><channel><title>The Herald</title><link>https://a.example/</link>
		<item><title>One</title><link>/1</link><pubDate>Wed, 04 Mar 2026 10:00:00 GMT</pubDate></item>
		<item><title>Two</title><link>/2</link><pubDate>Tue, 03 Mar 2026 10:00:00 GMT</pubDate></item>
		<item><title>No link</title><pubDate>Thu, 05 Mar 2026 10:00:00 GMT</pubDate></item>
		<item><title>Planned</title><link>/4</link><pubDate>Fri, 01 Jan 2038 00:00:00 GMT</pubDate></item></channel></rss>`
	atomFeed = `<feed xmlns="http://www.w3.org/2005/Atom"><title>The Herald</title><entry><title>One</title><link ` +
		`href="/1"/><updated>2026-03-04T10:00:00Z</updated></entry></feed>`
	jsonFeed = `{"version": "https://jsonfeed.org/version/1.1", "title": " The\nHerald ", "home_page_url": "https://a.example/", "items": [
		{"id": "1", "url": "/1", "title": "One \u00e9", "date_published": "2026-03-01T10:00:00Z", "date_modified": "2026-03-04T10:00:00Z"},
		{"id": "2", "external_url": "https://b.example/2", "date_published": "2026-03-02T10:00:00+09:00"},
		{"id": "https://a.example/3", "content_text": "x", "date_published": "soon"},
		{"id": "4", "title": "No link", "date_published": "2099-01-01T00:00:00Z"}]}`
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, doc, want, items string }{
		{"RSS", rssFeed, `rss "The Herald" 4 2026-03-04T10:00:00Z false ""`,
			"/1 One 2026-03-04T10:00:00Z|/2 Two 2026-03-03T10:00:00Z|/4 Planned 2038-01-01T00:00:00Z|"},
		{"RSS, cut", rssFeed[:strings.Index(rssFeed, "/2<")+1], `rss "The Herald" 2 2026-03-04T10:00:00Z true ""`,
			"/1 One 2026-03-04T10:00:00Z|"},
		{"Atom", atomFeed, `atom "The Herald" 1 2026-03-04T10:00:00Z false ""`, "/1 One 2026-03-04T10:00:00Z|"},
		{"JSON", jsonFeed, `json "The Herald" 4 2026-03-04T10:00:00Z false ""`,
			"/1 One é 2026-03-04T10:00:00Z|https://b.example/2  2026-03-02T01:00:00Z|/3  0001-01-01T00:00:00Z|"},
		{"JSON with a byte order mark", "\ufeff \n" + jsonFeed, `json "The Herald" 4 2026-03-04T10:00:00Z false ""`,
			"/1 One é 2026-03-04T10:00:00Z|https://b.example/2  2026-03-02T01:00:00Z|/3  0001-01-01T00:00:00Z|"},
		{"JSON, cut", jsonFeed[:strings.Index(jsonFeed, `"external_url"`)],
			`json "The Herald" 2 2026-03-04T10:00:00Z true ""`, "/1 One é 2026-03-04T10:00:00Z|"},
		{"JSON without items", `{"version":"https://jsonfeed.org/version/1","title":"x","items":{}}`,
			`json "x" 0 0001-01-01T00:00:00Z false ""`, ""},
		{"other JSON", `{"error": "not found"}`,
			`"" "" 0 0001-01-01T00:00:00Z false "JSON, but no JSON feed: its version is not that of jsonfeed.org"`, ""},
		{"a page", "<!DOCTYPE html><html>", `"" "" 0 0001-01-01T00:00:00Z false "a web page, not a feed"`, ""},
		{"nothing", "", `"" "" 0 0001-01-01T00:00:00Z false "an empty document"`, ""},
		{"a sitemap", "<urlset><url><loc>/1</loc></url></urlset>",
			`"" "" 0 0001-01-01T00:00:00Z false "a sitemap (urlset), not a feed"`, "/1  0001-01-01T00:00:00Z|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.doc), iotest.OneByteReader(strings.NewReader(c.doc))} {
				var items strings.Builder
				var tee bytes.Buffer
				f, err := Parse(r, "https://a.example/feed", sitemap.Options{Now: clock, Tee: &tee}, func(i *Item) {
					fmt.Fprintf(&items, "%s %s %s|", strings.TrimPrefix(string(i.Link), "https://a.example"), i.Title,
						i.Date.Format(time.RFC3339))
				})
				if err != nil {
					t.Fatal(err)
				}
				kind := string(f.Kind)
				if kind == "" {
					kind = `""`
				}
				if got := fmt.Sprintf("%s %q %d %s %v %q", kind, f.Title, f.Items, f.Newest.Format(time.RFC3339),
					f.Truncated,
					f.Problem); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				if items.String() != c.items {
					t.Errorf("items %q, want %q", items.String(), c.items)
				}
				if tee.String() != c.doc {
					t.Errorf("tee got %d of %d bytes", tee.Len(), len(c.doc))
				}
			}
		})
	}
}

func TestParse_Failures(t *testing.T) {
	broken := errors.New("connection reset")
	for _, doc := range []string{rssFeed[:250], jsonFeed[:400]} {
		f, err := Parse(io.MultiReader(strings.NewReader(doc), iotest.ErrReader(broken)), "https://a.example/feed",
			sitemap.Options{Now: clock}, nil)
		if err != broken || !f.Truncated || f.Items == 0 {
			t.Errorf("%v, %+v", err, f)
		}
	}
	// A JSON feed is cut at a limit of its own.
	f, err := Parse(strings.NewReader(jsonFeed+strings.Repeat(" ", 1000)), "https://a.example/feed",
		sitemap.Options{Now: clock, MaxBytes: 300}, nil)
	if err != nil || !f.Truncated {
		t.Errorf("%v, %+v", err, f)
	}
}

func FuzzParse(f *testing.F) {
	for _, doc := range []string{rssFeed, atomFeed, jsonFeed,
		`{"version":"jsonfeed.org/version/","items":[1,{"url":{}}]}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		s, err := Parse(bytes.NewReader(b), "https://a.example/feed", sitemap.Options{Now: clock}, func(i *Item) {
			n++
			if !bytes.Contains(i.Link, []byte("://")) {
				t.Errorf("link %q", i.Link)
			}
		})
		if err != nil || s.Kind == "" && (s.Problem == "" || s.Items > 0) || s.Kind != "" && n > s.Items {
			t.Errorf("%v, %d items, %+v", err, n, s)
		}
	})
}

func TestDetails(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"RSS", `<rss xmlns:media="http://search.yahoo.com/mrss/" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><description>of the feed</description>
			<item><title>One</title><link>/1</link><description>&lt;p&gt;A &amp;amp; B&lt;/p&gt;</description><author>x</author><content:encoded><![CDATA[<b>long</b>]]></content:encoded>
			<enclosure url="/a.mp3" type="audio/mpeg"/><enclosure url="/i.jpg?a=1&amp;b=2" type="image/jpeg"/><pubDate>Wed, 04 Mar 2026 10:00:00 GMT</pubDate></item>
			<item><title>Plain</title><link>/0</link><description>x</description><pubDate>Wed, 04 Mar 2026 10:00:00 GMT</pubDate></item>
			<item><title>Empty</title><link>/e</link><description> </description><pubDate>Wed, 04 Mar 2026 10:00:00 GMT</pubDate></item>
			<item><title>Two</title><link>/2</link><content:encoded><![CDATA[<b>long</b>]]></content:encoded><media:group><media:content url="/v.mp4" type="video/mp4"/><media:thumbnail url="/t.jpg"/></media:group></item>
			<item><title>Three</title><link>/3</link><description/><media:content url="/m.jpg" medium="image"><media:description>not of the item</media:description></media:content></item>
			<item><description>never closed<title>Four</title><link>/4</link></item></channel></rss>`,
			`/1 One 10:00|html <p>A &amp; B</p>|/i.jpg?a=1&b=2
/0 Plain 10:00|html x|
/e Empty 10:00|html |
/2 Two|html <b>long</b>|/t.jpg
/3 Three|html |/m.jpg
`},
		{"Atom",
			`<feed xmlns="http://www.w3.org/2005/Atom"><title>F</title><entry><title>One</title><link href="/1"/><content type="html">&lt;i&gt;c&lt;/i&gt;</content><summary>1 &lt; 2</summary></entry>
			<entry><title>Two</title><link href="/2"/><summary type="html">&lt;i&gt;s&lt;/i&gt;</summary><content type="xhtml"><div><title>no</title><link href="/no"/></div></content></entry></feed>`,
			"/1 One|text 1 < 2|\n/2 Two|html <i>s</i>|\n"},
		{"JSON",
			`{"version":"https://jsonfeed.org/version/1.1","items":[{"url":"/1","title":"One","content_html":"<p>` +
				`x</p>","image":"/i.jpg"},{"url":"/2","title":"Two","summary":"s","content_text":"long"}]}`,
			"/1 One|html <p>x</p>|/i.jpg\n/2 Two|text s|\n"},
	} {
		for _, details := range []bool{true, false} {
			for _, r := range []io.Reader{strings.NewReader(c.doc), iotest.OneByteReader(strings.NewReader(c.doc))} {
				var got strings.Builder
				if _, err := Parse(r, "https://a.example/feed", sitemap.Options{Now: clock, Details: details},
					func(i *Item) {
						kind := "html"
						if i.SummaryText {
							kind = "text"
						}
						fmt.Fprintf(&got, "%s %s%s|%s %s|%s\n", strings.TrimPrefix(string(i.Link), "https://a.example"),
							i.Title,
							at(i.Date), kind, i.Summary, i.Image)
						if !details && (i.Summary != nil || i.Image != nil) {
							t.Errorf("%s: details that nobody asked for: %q %q", c.name, i.Summary, i.Image)
						}
					}); err != nil {
					t.Fatal(err)
				}
				if details && got.String() != c.want {
					t.Errorf("%s:\n%s, not\n%s", c.name, got.String(), c.want)
				}
			}
		}
	}
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(" 15:04")
}
