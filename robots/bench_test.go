package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
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

type hostileCase struct {
	name string
	url  string
	rule func(i int) string // "" where there are no more
}

// hostile are files of MaxBytes made to cost the most for URLs that go with them. A sitemap of 50 MB has
// 50,000 URLs of 1,000 bytes.
var hostile = []hostileCase{
	{"one pattern of stars", "/" + strings.Repeat("a", 999), func(i int) string {
		return []string{"/" + strings.Repeat("*a", MaxBytes/2-100) + "b", ""}[min(i, 1)]
	}},
	{"a number each", numbersPath, func(i int) string { return fmt.Sprintf("/*a%d$", i) }},
	{"a shared word and a number each", numbersPath, func(i int) string { return fmt.Sprintf("/*a*news*%d-", i) }},
	{"a number each and a shared word", numbersPath, func(i int) string { return fmt.Sprintf("/*%d-*news*a", i) }},
	{"a start each", numbersPath, func(i int) string { return fmt.Sprintf("/%d*news*a", i) }},
	{"starts within one another", "/" + strings.Repeat("a", 999),
		func(i int) string { return "/" + strings.Repeat("a", i) + "*b" }},
	{"words within one another", "/" + strings.Repeat("a", 999),
		func(i int) string { return "*" + strings.Repeat("a", i+1) + "*a*b" }},
	{"patterns within one another", "/" + strings.Repeat("ab", 250) + strings.Repeat("c", 499),
		func(i int) string { return strings.Repeat("*b*a", i+1) + "*d*" }},
	{"all parts of the path", lettersPath, func(i int) string {
		if length, at := 4+i/990, i%990; at+length <= len(lettersPath) && at > 0 {
			return "*" + lettersPath[at:at+length] + "*Q"
		}
		return "/x"
	}},
	{"pairs of words in the wrong order", wordsPath(280), func(i int) string {
		later, sooner := triangle(i)
		return fmt.Sprintf("*%s*%s", benchWord(later), benchWord(sooner))
	}},
	{"three words in the wrong order", wordsPath(36), func(i int) string {
		return fmt.Sprintf("*%s*%s*%s", benchWord(i/36%36), benchWord(i/36/36), benchWord(i%36))
	}},
	{"seven letters, of which the last is missing", lettersPath, func(i int) string {
		return "*" + starred(randomLetters(i, 6)) + "*Q"
	}},
	{"nine letters, the middle in the wrong order", lettersPath[:500] + "YZ" + lettersPath[500:998],
		func(i int) string {
			return "*" + starred(randomLetters(i, 4)) + "*Z*Y*" + starred(randomLetters(i+1<<20, 3))
		}},
	{"all pairs of words match", wordsPath(400), func(i int) string {
		return fmt.Sprintf("*%s*%s", benchWord(399-i/180), benchWord(399-i%180))
	}},
	{"what all patterns end with stands first", "/^" + benchLetters + wordsPath(400), func(i int) string {
		return fmt.Sprintf("*%c*%s*^", benchLetters[i/400%36], benchWord(i%400))
	}},
	{"what patterns end with stands first", "/^?" + benchLetters + wordsPath(400), func(i int) string {
		return fmt.Sprintf("*%c*%s*%c", benchLetters[i/400%36], benchWord(i%400), "^?"[i%2])
	}},
	{"thirty letters, the middle in the wrong order", lettersPath[:500] + "YZ" + lettersPath[500:998],
		func(i int) string {
			return "*" + starred(randomLetters(i, 13)) + "*Z*Y*" + starred(randomLetters(i+1<<20, 3))
		}},
}

const benchLetters = "abcdefghijklmnopqrstuvwxyz0123456789"

var (
	lettersPath = "/" + randomLetters(1, 999)
	numbersPath = func() string {
		var b strings.Builder
		for i := 0; b.Len() < 1000; i++ {
			fmt.Fprintf(&b, "/%d-a%d-news", i*37%36_500, i*41)
		}
		return b.String()[:1000]
	}()
)

func randomLetters(seed, n int) string {
	random := rand.New(rand.NewPCG(9309, uint64(seed)))
	b := make([]byte, n)
	for i := range b {
		b[i] = benchLetters[random.IntN(len(benchLetters))]
	}
	return string(b)
}

func starred(s string) string { return strings.Join(strings.Split(s, ""), "*") }

// benchWord is a word of two to three bytes; none is part of two others that follow one another.
func benchWord(i int) string { return string([]byte{'A' + byte(i/20%20), 'a' + byte(i%20)}) }

func wordsPath(n int) string {
	var b strings.Builder
	b.WriteByte('/')
	for i := range n {
		b.WriteString(benchWord(i))
	}
	return b.String()
}

// triangle numbers the pairs of which the first is greater.
func triangle(i int) (greater, less int) {
	for greater = 1; i >= greater; greater++ {
		i -= greater
	}
	return greater, i
}

func hostileFile(rule func(i int) string) []byte {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := 0; ; i++ {
		line := "Allow:" + rule(i) + "\n"
		if line == "Allow:\n" || b.Len()+len(line) > MaxBytes {
			return []byte(b.String())
		}
		b.WriteString(line)
	}
}

// BenchmarkHostile is the time for one URL of 1,000 bytes against the worst files of MaxBytes; "s/domain" is
// that for a sitemap of 50,000 such URLs, of which "decided" are matched before MaxSteps is reached.
func BenchmarkHostile(b *testing.B) {
	for _, c := range hostile {
		b.Run(c.name, func(b *testing.B) {
			g := Parse(hostileFile(c.rule)).Agent("NewsforkBot")
			var steps int
			// The first of 50,000 also allocates what the others use, and WebAssembly compiles meanwhile.
			for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
				_, steps = g.Cost(c.url)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, steps = g.Cost(c.url)
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(steps)*1e9, "ns/step")
			decided := min(50_000, MaxSteps/steps+1)
			b.ReportMetric(float64(decided), "decided")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*float64(decided), "s/domain")
			b.ReportMetric(float64(len(g.Rules())), "rules")
		})
	}
}
