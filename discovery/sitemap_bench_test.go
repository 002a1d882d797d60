package discovery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/classify/embedded"
	"github.com/newsfork/seed-engine/discovery"
	"github.com/newsfork/seed-engine/robots"
	"github.com/newsfork/seed-engine/sitemap"
)

// BenchmarkSitemap_WithDiscovery reads a sitemap of 50,000 articles, matches each against a robots.txt of
// fifty rules, and analyses it: all that Go does for a sitemap but the exchange with the platform.
func BenchmarkSitemap_WithDiscovery(b *testing.B) {
	var text strings.Builder
	text.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for i := range 50_000 {
		at := now.Add(-time.Duration(i) * time.Hour)
		fmt.Fprintf(&text,
			"  <url>\n    <loc>https://www.example.gov/news/%s/minister-opens-bridge-number-%d-over-the-river</loc>"+
				"\n    <lastmod>%s</lastmod>\n    <changefreq>weekly</changefreq>\n    "+
				"<priority>0.5</priority>\n  </url>\n",
			at.Format("2006/01/02"), i, at.Format(time.RFC3339))
	}
	text.WriteString("</urlset>\n")
	rules := "User-agent: *\n"
	for i := range 25 {
		rules += fmt.Sprintf("Disallow: /section-%d/\nDisallow: /*/print-%d$\n", i, i)
	}
	group := robots.Parse([]byte(rules)).Agent("NewsforkBot")
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		a := discovery.NewAnalyser(discovery.Options{
			Model:  embedded.Model(),
			Domain: "example.gov", Now: now,
			Robots: func(url string) (bool, bool) { return group.Allowed(url), true },
		})
		source := a.Source(discovery.Source{Method: discovery.SitemapEntry, URL: "https://www.example.gov/sitemap.xml",
			Read: true})
		_, err := sitemap.Parse(strings.NewReader(text.String()), "https://www.example.gov/sitemap.xml",
			sitemap.Options{Now: now}, func(e *sitemap.Entry) {
				a.Add(&discovery.Sighting{Loc: e.Loc, Lastmod: e.Lastmod, Method: discovery.FromSitemap,
					Source: source})
			})
		if d := a.Result(); err != nil || d.Stats.Analyzed != 50_000 {
			b.Fatal(err, d.Stats)
		}
	}
}
