package markup

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHost(t *testing.T) {
	for name, want := range map[string]string{
		"www.MOM.gov.sg":                     "www.mom.gov.sg",
		"example.com.":                       "example.com",
		"my_site.example.com":                "my_site.example.com",
		"r3---sn-x.example.com":              "r3---sn-x.example.com", // as browsers do
		"한국뉴스.kr":                            "xn--3e0bj9ghtquur.kr",
		"WWW.MÜNCHEN.DE":                     "www.xn--mnchen-3ya.de",
		"XN--mnchen-3YA.de":                  "xn--mnchen-3ya.de",
		"faß.de":                             "xn--fa-hia.de", // non-transitional
		"例え。テスト":                             "xn--r8jz45g.xn--zckzah",
		"m%C3%BCnchen.de":                    "xn--mnchen-3ya.de",
		"%65xample.com":                      "example.com",
		"１２７.0.0.1":                          "127.0.0.1",
		strings.Repeat("a", 63) + ".example": strings.Repeat("a", 63) + ".example",
	} {
		got, err := Host(name)
		if err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
		if again, err := Host(got); err != nil || again != got {
			t.Errorf("%s becomes %q, %v", got, again, err)
		}
	}
	for name, want := range map[string]error{
		"": ErrHost, ".": ErrHost, ".com": ErrHost, "a..com": ErrHost, "a.com..": ErrHost, "a!b.com": ErrHost,
		"a b.com": ErrHost, "[::1]": ErrHost,
		"a:80": ErrHost, "a%2fb.com": ErrHost, "a%.com": ErrHost, "a%2.com": ErrHost, "a%zz.com": ErrHost,
		"xn--a.com": ErrIDN, "\xff.com": ErrIDN, "%ff.com": ErrIDN, "א1b.com": ErrIDN,
		strings.Repeat("a", 64) + ".com": ErrHost, strings.Repeat("a.", 127) + "com": ErrLongHost,
		strings.Repeat("é", 4000) + ".com": ErrLongHost, strings.Repeat("é.", 100) + "com": ErrLongHost,
	} {
		if got, err := Host(name); !errors.Is(err, want) {
			t.Errorf("%.30q: %q %v, want %v", name, got, err, want)
		}
	}
}

func TestAppendCanonical(t *testing.T) {
	for loc, want := range map[string]string{
		"HTTPS://WWW.Example.COM":           "https://www.example.com/",
		" https://example.com:443/a?b=c#d ": "https://example.com/a?b=c",
		"http://example.com:80?x":           "http://example.com/?x",
		"http://example.com:443/":           "http://example.com:443/",
		"https://example.com./a":            "https://example.com/a",
		"https://한국뉴스.kr/기사?b=나&utm_source=x": "https://xn--3e0bj9ghtquur.kr/" +
			"%EA%B8%B0%EC%82%AC?b=%EB%82%98",
		"https://a.example/n?idxno=7&UTM_Source=a&GCLID=b&Utm_content=c": "https://a.example/n?idxno=7",
		"https://www.M%C3%BCnchen.de:8443/?&a=1&fbclid=7":                "https://www.xn--mnchen-3ya.de:8443/?a=1",
		"https://xn--mnchen-3ya.de/":                                     "https://xn--mnchen-3ya.de/",
		"https://[::1]:443/":                                             "https://[::1]/",
		"https://example.com:/a":                                         "https://example.com:/a",
		"https://user@example.com/":                                      "",
		"https://:80/":                                                   "",
		"https:///a":                                                     "",
		"https:/a":                                                       "",
		"ftp://example.com/":                                             "",
		"https://\xff.com/":                                              "",
		"http":                                                           "",
		"":                                                               "",
	} {
		got, ok := AppendCanonical([]byte("before "), []byte(loc))
		if ok != (want != "") || ok && string(got) != "before "+want {
			t.Errorf("%s: %q %v, want %q", loc, got, ok, want)
		}
	}
}

// TestCanonical_Copies: the spellings and copies of a page have one URL, and what only looks like a copy keeps its own.
func TestCanonical_Copies(t *testing.T) {
	for want, spellings := range map[string]string{
		"https://a.example/news/2026/story-7": `https://A.example//news///2026/story-7 https://a.example/news/./x/../2026/story-7#comments
			https://a.example\\news\2026/story-7?utm_source=rss&amp https://a.example/news/2026/story-7/amp https://a.example/amp/news/2026/story-7
			https://a.example/news/2026/story-7/AMP?print=1 https://a.example/print/news/2026/story-7 https://a.example/news/2026/story-7?outputType=amp
			https://a.example/news/2026/story-7?view=print&printable=yes https://a.example/news/%2e/2026/story-7`,
		"https://a.example/news/story.html": "https://a.example/news/story.amp.html " +
			"https://a.example/news/story.print.html https://a.example/news/story.html/amp",
		"https://a.example/2026/story-7/": "https://a.example/2026/story-7/amp/ " +
			"https://a.example/2026/story-7//amp//",
		"https://a.example/guides/print":         "https://a.example/guides/print",
		"https://a.example/amp":                  "https://a.example/amp https://a.example//amp",
		"https://a.example/print/":               "https://a.example/print/",
		"https://a.example/print/2026-01-28":     "https://a.example/print/2026-01-28",
		"https://a.example/36523341-a-rule.html": "https://a.example/amp/36523341-a-rule.html",
		"https://a.example/x?q=print&amp=cables": "https://a.example/x?q=print&amp=cables",
		"https://a.example/x?mode=fast":          "https://a.example/x?mode=fast",
		"https://a.example/web/2020/http://b.example/c": "https://a.example/web/2020/http://b.example/c " +
			"https://a.example/web//2020/http://b.example//c",
		"https://a.example/a%20b%7Bc%7D?q=%27d%27": "https://a.example/a%20b{c}?q='d'",
		"https://a.example/a%C3%A9?q=%C3": "https://a.example/a%c3%a9?q=%c3 " +
			"https://a.example/%61%c3%A9?%71=%C3 https://a.example/a%C3%a9?q=%c3&%75tm_source=x",
		"https://a.example/~a-b_c.d/%2F%25%3F?e=%26%3D": "https://a.example/%7ea%2Db%5Fc%2ed/%2f%25%3f?e=%26%3d",
		"https://a.example/a/story-7": "https://a.example/%61/story-7/%61mp " +
			"https://a.example/a/x/%2E%2e/story-7",
		"https://a.example/%%341/%%34%C3%B1?%4%31%zz": "https://a.example/%%34%31/%%34%c3%b1?%4%31%zz",
		"https://a.example/%2541":                     "https://a.example/%2541",
	} {
		for _, spelling := range strings.Fields(spellings) {
			got, ok := AppendCanonical(nil, []byte(spelling))
			if !ok || string(got) != want {
				t.Errorf("%s: %s, want %s", spelling, got, want)
			}
		}
	}
}

// TestCanonical_CopyNamesAreFound: the first look at a path misses no name of a copy, in any case and with what
// browsers remove.
func TestCanonical_CopyNamesAreFound(t *testing.T) {
	const want = "https://a.example/news/story-7"
	for _, name := range []string{"amp", "AMP", "aMp", "print", "PRINT", "pRint", "p\trint", "pr\nint", "a\tmp",
		"am\rp"} {
		for _, url := range []string{"/news/story-7/" + name, "/news/story-7/" + name + "/",
			"/" + name + "/news/story-7",
			"/news/x/../story-7/" + name} {
			got, ok := AppendCanonical(nil, []byte("https://a.example"+url))
			if !ok || strings.TrimSuffix(string(got), "/") != want {
				t.Errorf("%q: %s", url, got)
			}
		}
	}
}

// TestCanonical_WithoutBreaks: what browsers remove from a URL hides no dot segment, name of a copy or tracking
// parameter.
func TestCanonical_WithoutBreaks(t *testing.T) {
	for loc, want := range map[string]string{
		"https://a.example/x/.\t./private":               "https://a.example/private",
		"https://a.example/x/%2\ne%\r2e/private":         "https://a.example/private",
		"https://a.example/\t.":                          "https://a.example/",
		"https://a.example/x/\t/y":                       "https://a.example/x/y",
		"https://a.example/a-story?u\ttm_source=x&a\n=1": "https://a.example/a-story?a=1",
		"https://a.example/a-story?\t&a=%2\r0":           "https://a.example/a-story?a=%20",
		"https://a.example/%e\na%4\t1?%4\r1=%e\ta":       "https://a.example/%EAA?A=%EA",
	} {
		if got, ok := AppendCanonical(nil, []byte(loc)); !ok || string(got) != want {
			t.Errorf("%q: %s, want %s", loc, got, want)
		}
	}
}

// TestCanonical_LongURLs: a URL of a megabyte, which a feed may have, costs in proportion to its length.
func TestCanonical_LongURLs(t *testing.T) {
	const size = 1 << 20
	took := func(url string) time.Duration {
		start := time.Now()
		AppendCanonical(nil, []byte("https://a.example/"+url))
		return time.Since(start)
	}
	many := func(piece string) string { return strings.Repeat(piece, size/len(piece)) }
	plain := max(took(many("news/./story-7/")), took(many("news/./story-7/")))
	for name, url := range map[string]string{
		"extensions": "story-7" + many(".amp"), "extensions of two": "story-7" + many(".x.print"),
		"first": many("amp/") + "story-7", "first print": many("print/") + "x/story-7",
		"first before a long name": many("amp/") + many("story-7"), "last": "story-7" + many("/amp"),
		"last with extensions": many("x") + "/story-7" + many("/amp.print"),
		"dots":                 many("a/../"), "encoded dots": many("%2e%2E/"), "slashes": many("/"),
		"breaks": many("\t/"),
		"query":  "?" + many("&amp"), "tracking": "?" + many("utm_x=1&"),
		"escapes": many("%ea%41%%34%31"), "escapes in a query": "?" + many("%ea%41%%34%31"),
	} {
		if d := took(url); d > 50*plain {
			t.Errorf("%s: %v, a plain one %v", name, d, plain)
		}
	}
}

// lowerEscape finds percent-encoding in lower case.
var lowerEscape = regexp.MustCompile(`%([a-f][0-9a-fA-F]|[0-9A-F][a-f])`)

// TestCanonical_Stays: URLs are stored in canonical form, so what is in that form stays as it is: of all labelled URLs
// only those that have a duplicate slash or percent-encoding in lower case, or are copies, change.
func TestCanonical_Stays(t *testing.T) {
	data, err := os.ReadFile("../classify/testdata/urls.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	changed, n := []string{}, 0
	for line := range bytes.Lines(data) {
		var labelled struct{ URL string }
		if err := json.Unmarshal(line, &labelled); err != nil {
			t.Fatal(err)
		}
		was, ok := Resolve("", []byte(labelled.URL)) // as the parsers of sitemaps and feeds give it
		if !ok {
			continue
		}
		now, ok := AppendCanonical(nil, []byte(was))
		was = strings.TrimSuffix(was, "?")
		if n++; ok && string(now) != was && !strings.Contains(was, ":443/") && !strings.ContainsAny(was, "#'{") &&
			!strings.Contains(strings.ToLower(was), "utm_") && !lowerEscape.MatchString(was) {
			changed = append(changed, string(now))
		}
	}
	// was /amp/…
	if want := []string{"https://docplayer.org/" +
		"36523341-Satzung-ueber-die-erhebung-von-verwaltungskosten.html"}; n < 800 || !slices.Equal(changed, want) {
		t.Errorf("of %d URLs changed: %q", n, changed)
	}
}

func TestHostOf(t *testing.T) {
	for url, want := range map[string]string{
		"https://WWW.example.com:8080/a": "www.example.com",
		"http://user:pw@example.com?x@y": "example.com",
		"https://한국뉴스.kr":                "xn--3e0bj9ghtquur.kr",
		"https://example.com.#f":         "example.com",
		"/a":                             "", "mailto:x@example.com": "", "https://": "", "https://[::1]/": "",
	} {
		if got := HostOf(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

func TestEndsInNumber(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.1": true, "2130706433": true, "foo.0x4": true, "foo.0x": true, "foo.09": true,
		"foo.0xg": false, "1.example": false, "example.1a": false,
	} {
		if got := EndsInNumber(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// FuzzCanonical: a URL in canonical form is its own, and a Canoniser, which has seen others of its origin, agrees.
func FuzzCanonical(f *testing.F) {
	for _, u := range []string{"https://한국뉴스.kr/a?b&utm_x=1#c", "HTTP://a.:80", "https://m%C3%BCnchen.de/",
		"https://[::1]/", "https://a@b/", "https://a.b/amp/x-story/print/amp//?amp&print=1",
		"https://a.b/x.amp.print.html/../../.", "https://a.b/a-story/./amp\t/", "https://a.b/a?b#c?d ",
		" https://a.b:443/a \u00a0#", "https://a.b/%%34%31/%ea%4%31é%41/%2e%2E/x.%61mp?%%34%31&%75tm_a&%e%61"} {
		f.Add(u)
	}
	f.Fuzz(func(t *testing.T, u string) {
		once, ok := AppendCanonical(nil, []byte(u))
		if !ok {
			return
		}
		twice, ok := AppendCanonical(nil, once)
		if !ok || string(once) != string(twice) {
			t.Errorf("%q becomes %q, then %q %v", u, once, twice, ok)
		}
		var c Canoniser
		for _, before := range []string{u, string(once), "https://a.b/", u} {
			c.Append(nil, []byte(before))
			if got, ok := c.Append(nil, []byte(u)); !ok || string(got) != string(once) {
				t.Errorf("%q becomes %q behind %q, and %q by itself", u, got, before, once)
			}
		}
	})
}

func BenchmarkAppendCanonical(b *testing.B) {
	for name, loc := range map[string]string{
		"ascii": "https://www.example.gov/news/2026/01/28/minister-opens-new-bridge-over-river?seq=17",
		"idn":   "https://www.한국뉴스.kr/news/2026/01/28/minister-opens-new-bridge-over-river?seq=17",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf, _ = AppendCanonical(buf[:0], []byte(loc))
			}
		})
	}
}
