package robots

import (
	"fmt"
	"strings"
	"testing"
)

// siteFile is a robots.txt like those of large news sites: groups for many crawlers, and for all
// others a list of n rules, one in eight with a wildcard.
func siteFile(n int) []byte {
	var b strings.Builder
	b.WriteString("# robots.txt\nSitemap: https://news.example/sitemap.xml\n\n")
	for i := range n / 10 {
		fmt.Fprintf(&b, "User-agent: crawler%d\nDisallow: /\n\n", i)
	}
	b.WriteString("User-agent: *\nCrawl-delay: 2\n")
	for i := range n {
		switch i % 8 {
		case 0:
			fmt.Fprintf(&b, "Disallow: /*/print-%d$\n", i)
		case 1:
			fmt.Fprintf(&b, "Allow: /section-%d/%%EB%%89%%B4/ok # exception\n", i)
		default:
			fmt.Fprintf(&b, "Disallow: /section-%d/topic-%d/\n", i%100, i)
		}
	}
	return []byte(b.String())
}

var benchURLs = []string{
	"https://news.example/",
	"https://news.example/2026/11/20/politics/a-long-headline-with-many-words-in-it.html",
	"https://news.example/section-42/topic-142/story-1.html?ref=home&utm_source=x",
	"https://news.example/section-42/story/print-80",
	"https://news.example/%EB%89%B4%EC%8A%A4/2026/11/20/뉴스.html",
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{20, 200, 5000} {
		body := siteFile(n)
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				Parse(body)
			}
		})
	}
}

func BenchmarkAgent(b *testing.B) {
	for _, n := range []int{20, 200, 5000} {
		f := Parse(siteFile(n))
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Agent("NewsforkBot/1.0")
			}
		})
	}
}

// BenchmarkAllowed is the time for one URL.
func BenchmarkAllowed(b *testing.B) {
	for _, n := range []int{20, 200, 5000} {
		g := Parse(siteFile(n)).Agent("NewsforkBot")
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				g.Allowed(benchURLs[i%len(benchURLs)])
				i++
			}
		})
	}
}

// BenchmarkHostile is the time for one URL of 2,000 bytes against the worst files of MaxBytes.
func BenchmarkHostile(b *testing.B) {
	url := "/" + strings.Repeat("a", 2000)
	var distinct strings.Builder
	distinct.WriteString("User-agent: *\n")
	for i := 0; distinct.Len() < MaxBytes-40; i++ {
		fmt.Fprintf(&distinct, "Allow:*a%d$\n", i)
	}
	for _, c := range []struct{ name, body string }{
		{"one pattern", "User-agent: *\nDisallow: /" + strings.Repeat("*a", MaxBytes/2-50) + "b"},
		{"40,000 wildcards", distinct.String()},
		{"middle", "User-agent: *\n" + strings.Repeat("Allow:*ab*\n", MaxBytes/11-10)},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := Parse([]byte(c.body)).Agent("NewsforkBot")
			b.ReportAllocs()
			for b.Loop() {
				g.Allowed(url)
			}
		})
	}
}
