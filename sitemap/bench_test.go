package sitemap

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// generated is a document that is made while it is read: a head, n times an entry, a tail.
type generated struct {
	head, tail string
	entry      func(i int) string
	n          int
}

// reader reads the document from a ring of 1,000 entries, so that reading costs next to nothing.
func (g generated) reader() io.Reader {
	var ring strings.Builder
	for i := range 1000 {
		ring.WriteString(g.entry(i))
	}
	parts := []io.Reader{strings.NewReader(g.head)}
	for range g.n / 1000 {
		parts = append(parts, strings.NewReader(ring.String()))
	}
	return io.MultiReader(append(parts, strings.NewReader(g.tail))...)
}

const sitemapsNS = `xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`

var (
	pages = generated{
		head: `<?xml version="1.0" encoding="UTF-8"?>` + "\n<urlset " + sitemapsNS + ">\n",
		entry: func(i int) string {
			return fmt.Sprintf(
				"  <url>\n    <loc>https://www.herald.example/politics/2026/02/"+
					"%06d-budget-vote-passes-after-a-long-night</loc>\n"+
					"    <lastmod>2026-02-%02dT%02d:30:00+09:00</lastmod>\n    <changefreq>daily</changefreq>\n    "+
					"<priority>0.8</priority>\n  </url>\n", i, i%28+1, i%24)
		},
		tail: "</urlset>\n",
		n:    220_000,
	}
	newsPages = generated{
		head: `<urlset ` + sitemapsNS +
			` xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:image="http://www.google.com/schemas/` +
			`sitemap-image/1.1">`,
		entry: func(i int) string {
			return fmt.Sprintf(
				"<url><loc>https://www.herald.example/a?id=%d&amp;s=1</loc><news:news><news:publication><news:name>"+
					"The Herald</news:name><news:language>en</news:language></news:publication>"+
					"<news:publication_date>2026-02-%02dT08:15:00Z</news:publication_date><news:title>Café &amp; bar "+
					"no. %d opens after the long renovation</news:title></news:news>"+
					"<image:image><image:loc>https://cdn.herald.example/%d.jpg</image:loc></image:image></url>", i,
				i%28+1, i, i)
		},
		tail: "</urlset>",
		n:    50_000,
	}
	urlLines = generated{
		entry: func(i int) string { return fmt.Sprintf("https://www.herald.example/politics/2026/%06d\n", i) },
		n:     500_000,
	}
	items = generated{
		head: `<rss version="2.0"><channel><title>Herald</title>`,
		entry: func(i int) string {
			return fmt.Sprintf(
				"<item><title><![CDATA[Story %d]]></title><link>https://www.herald.example/%d</link><pubDate>Thu, "+
					"%02d Feb 2026 12:34:51 +0000</pubDate>"+
					"<description>&lt;p&gt;Some text of the story, and more of it&lt;/p&gt;</description><guid "+
					"isPermaLink=\"false\">%d</guid></item>\n", i, i, i%28+1, i)
		},
		tail: "</channel></rss>",
		n:    50_000,
	}
)

func BenchmarkParse(b *testing.B) {
	zipped := sync.OnceValue(func() []byte {
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		io.Copy(z, pages.reader())
		z.Close()
		return buf.Bytes()
	})
	for _, c := range []struct {
		name string
		open func() io.Reader
	}{
		{"urlset", pages.reader},
		{"urlset.gz", func() io.Reader { return bytes.NewReader(zipped()) }},
		{"news", newsPages.reader},
		{"text", urlLines.reader},
		{"rss", items.reader},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var s Summary
			c.open()
			b.ResetTimer()
			for range b.N {
				s, _ = Parse(c.open(), "https://www.herald.example/sitemap.xml", Options{MaxBytes: 1 << 30},
					func(*Entry) {})
			}
			b.SetBytes(s.Bytes)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(s.URLs), "ns/URL")
		})
	}
}
