package robots

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func encodeUTF16(s string, big bool) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return b
}

// Invalid UTF-8 and truncated marks, which a text file cannot contain.
func TestParse_InvalidBytes(t *testing.T) {
	for _, c := range []struct {
		name, body, url string
		allowed         bool
	}{
		{"Latin-1 is compared octet by octet", "User-agent: *\nDisallow: /b\xfccher", "/b%FCcher", false},
		{"and is not UTF-8", "User-agent: *\nDisallow: /b\xfccher", "/b%C3%BCcher", true},
		{"half a byte order mark", "\xef\xbbUser-agent: *\nDisallow: /x", "/x", false},
		{"a third of it", "\xefUser-agent: *\nDisallow: /x", "/x", false},
		{"within the file it is text", "User-agent: *\n\ufeffDisallow: /x", "/x", true},
		{"so is a no-break space", "User-agent: *\n\u00a0Disallow: /x", "/x", true},
		{"NUL within a line leaves the next", "User-agent: *\nDisallow: /x\x00y\nDisallow: /z", "/z", false},
		{"surrogates", string(encodeUTF16("\ufeffUser-agent: *\nDisallow: /😀", false)), "/%F0%9F%98%80", false},
		{"half a surrogate", "\xff\xfe" + string(encodeUTF16("User-agent: *\nDisallow: /x\nDisallow: /", false)) +
			"\x3d\xd8", "/x", false},
		{"half a unit", string(encodeUTF16("\ufeffUser-agent: *\nDisallow: /x\n", true)) + "\x00", "/x", false},
		{"a lone mark", "\xff\xfe", "/", true},

		// As in Google's parser, whose lines are C strings, a line ends at a NUL.
		{"NUL ends the value", "User-agent: *\nDisallow: /x\x00y", "/xz", false},
		{"NUL behind a value", "User-agent: *\nDisallow: /x$\x00", "/x", false},
		{"many NUL behind all values", "User-agent: *\x00\x00\nDisallow: /x$\x00\x00\x00\r\n", "/x", false},
		{"NUL behind a blank", "User-agent: Bot \x00 x\nDisallow: /x$ \x00", "/x", false},
		{"NUL in a name", "User-agent: Bot\x00\nDisallow: /\nUser-agent: *\nAllow: /", "/x", false},
		{"NUL before a line loses it", "User-agent: *\nDisallow: /x\n\x00Disallow: /", "/y", true},
		{"NUL before a colon loses the line", "User-agent: *\nDisallow: /x\nDisallow\x00: /", "/y", true},
		{"NUL before a comment", "User-agent: *\nDisallow: /x\x00# why\nDisallow: /y", "/y", false},
		{"NUL in UTF-16", string(encodeUTF16("\ufeffUser-agent: *\nDisallow: /x$\x00\x00", false)), "/x", false},

		// A UTF-16 mark before other text.
		{"little-endian mark before ASCII", "\xff\xfeUser-agent: *\nDisallow: /x", "/x", false},
		{"big-endian mark before ASCII", "\xfe\xffUser-agent: *\nDisallow: /x", "/x", false},
		{"mark before ASCII of odd length", "\xff\xfeUser-agent: *\nDisallow: /xy", "/xy", false},
		{"mark before ASCII with NUL", "\xff\xfeUser-agent: *\x00\nDisallow: /x\x00\x00\x00", "/x", false},
		{"mark before UTF-8", "\xfe\xffUser-agent: *\nDisallow: /é", "/%C3%A9", false},
		{"both marks", "\xff\xfe\ufeffUser-agent: *\nDisallow: /x", "/x", false},
		{"little-endian mark before big-endian text",
			"\xff\xfe" + string(encodeUTF16("User-agent: *\nDisallow: /x", true)),
			"/x", false},
		{"UTF-16 of ideographs",
			string(encodeUTF16("\ufeff# "+strings.Repeat("中文", 1000)+"\nUser-agent: *\nDisallow: /新",
				false)), "/%E6%96%B0", false},

		// Only CR and LF end a line, and only space and tab are white space (RFC 9309 section 2.2).
		{"a form feed ends no line", "User-agent: *\nDisallow: /\fb", "/x", true},
		{"it is text", "User-agent: *\nDisallow: /\fb", "/\fb", false},
		{"behind a value too", "User-agent: *\nDisallow: /\f", "/x", true},
		{"a form feed begins no line", "User-agent: *\nDisallow: /a\fDisallow: /x", "/x", true},
		{"nor a key", "User-agent: *\n\fDisallow: /x", "/x", true},
		{"a vertical tab ends no line", "User-agent: *\nDisallow: /\vb", "/x", true},
		{"and is not trimmed", "User-agent: *\nDisallow: \v/x\v", "/x", true},
		{"nor is NEL", "User-agent: *\nDisallow: /\u0085", "/x", true},
		{"nor a line separator", "User-agent: *\nDisallow: /\u2028Disallow: /", "/x", true},
		{"a form feed within HTML is text too", "<html><body><pre>\nUser-agent: *\nDisallow: /\fb\n</pre>", "/x", true},
		{"tags of HTML end lines still", "<html><body><p>User-agent: *</p><p>Disallow: /x</p>", "/x", false},
	} {
		if got := Parse([]byte(c.body)).Allowed("Bot", c.url); got != c.allowed {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestMaxBytes(t *testing.T) {
	const head, last = "User-agent: *\nDisallow: /early\n", "Disallow: /late"
	pad := func(size int) string { // comment lines of 10 bytes, the last one longer
		return strings.Repeat("#23456789\n", size/10-1) + "#" + strings.Repeat("x", 8+size%10) + "\n"
	}
	fill := MaxBytes - len(head)
	for _, c := range []struct {
		name, body string
		truncated  bool
		denied     []string
	}{
		{"as long as allowed", head + pad(fill-len(last)) + last, false, []string{"/early", "/late"}},
		{"its line end is one too many", head + pad(fill-len(last)) + last + "\n", true, []string{"/early", "/late"}},
		{"the last line is cut", head + pad(fill-len(last)+1) + last + "\n", true, []string{"/early"}},
		{"a cut line forbids nothing", head + pad(fill-len("Disallow: /")) + last, true, []string{"/early"}},
		{"ends before", head + pad(fill) + last, true, []string{"/early"}},
		{"one long line", strings.Repeat("User-agent: * ", MaxBytes/10), true, nil},
		{"one long rule", "User-agent: *\nDisallow: /" + strings.Repeat("a", MaxBytes-30), false, nil},
	} {
		f := Parse([]byte(c.body))
		if f.Truncated != c.truncated {
			t.Errorf("%s: Truncated %v", c.name, f.Truncated)
		}
		for _, path := range []string{"/", "/early", "/l", "/late"} {
			if f.Allowed("Bot", path) == slices.Contains(c.denied, path) {
				t.Errorf("%s: wrong verdict on %s", c.name, path)
			}
		}
	}

	// A UTF-16 file is measured as received, and its last line goes too.
	for _, big := range []bool{false, true} {
		body := encodeUTF16("\ufeff"+head+pad(300_000)+last, big)
		f := Parse(body)
		if !f.Truncated || f.Allowed("Bot", "/early") || !f.Allowed("Bot", "/late") {
			t.Errorf("UTF-16: Truncated %v", f.Truncated)
		}
	}
}

// TestHostile_TakesTimeInProportion: hostile files and URLs take time in proportion to their size. Without that,
// each of these would run for minutes, and the test would time out.
func TestHostile_TakesTimeInProportion(t *testing.T) {
	repeat := func(s string) string { return strings.Repeat(s, MaxBytes/len(s)) }
	var groups, rules strings.Builder
	for i := 0; groups.Len() < MaxBytes-40; i++ {
		fmt.Fprintf(&groups, "User-agent:b%d\nAllow:/\n", i)
	}
	rules.WriteString("User-agent: *\n")
	for i := 0; rules.Len() < MaxBytes-40; i++ {
		fmt.Fprintf(&rules, "Allow:*a%d$\n", i)
	}
	agents := "User-agent: *\n"
	for name, body := range map[string]string{
		"one line":            repeat("User-agent: * Disallow: / # "),
		"one rule":            agents + "Disallow: /" + repeat("a")[:MaxBytes-100],
		"stars":               agents + "Disallow: /" + repeat("*a")[:MaxBytes-100] + "b",
		"stars and end":       agents + "Disallow: /" + repeat("*aa")[:MaxBytes-100] + "$",
		"only stars":          agents + "Disallow: /" + repeat("*")[:MaxBytes-100] + "b",
		"carriage returns":    repeat("\r"),
		"CR lines":            repeat("Allow:/\r"),
		"groups":              groups.String(),
		"wildcard rules":      rules.String(),
		"same rule":           agents + repeat("Allow:/\n"),
		"agents":              repeat("User-agent:*\n"),
		"sitemaps":            repeat("Sitemap:/s.xml\n"),
		"sitemaps on a line":  "Sitemap: " + repeat("http://h/ ")[:MaxBytes-100],
		"signals":             agents + "Content-Signal: " + repeat("a=no")[:MaxBytes-100],
		"open comments":       repeat("<!--"),
		"open scripts":        "<html>" + repeat("<script "),
		"opening brackets":    "<html>" + repeat("<"),
		"open tags":           "<html>" + repeat("<a"),
		"html on a line":      "x" + repeat("<html"),
		"closing scripts":     "<html>" + repeat("</script>"),
		"soft breaks":         repeat("\f"),
		"blanks":              repeat(" \t"),
		"percent":             agents + "Disallow: /" + repeat("%41")[:MaxBytes-100],
		"UTF-16":              "\xff\xfe" + repeat("\x3d\xd8"),
		"UTF-16 line ends":    "\xff\xfe" + repeat("\n\x00"),
		"colons":              repeat(":"),
		"keys without values": repeat("Disallow:\n"),
	} {
		t.Run(name, func(t *testing.T) {
			f := Parse([]byte(body[:min(len(body), MaxBytes)]))
			g := f.Agent("Bot")
			for _, url := range []string{"/", "/" + strings.Repeat("a", 2000), "/" + strings.Repeat("%41", 700),
				strings.Repeat("/", 2000) + "?"} {
				g.Allowed(url)
			}
			if n := len(f.Sitemaps("https://news.example/robots.txt")); n > 1 {
				t.Errorf("%d sitemaps", n)
			}
		})
	}
}

func TestProductToken(t *testing.T) {
	for in, want := range map[string]string{
		"":            "",
		"*":           "",
		"NewsforkBot": "NewsforkBot",
		"NewsforkBot/1.0 (+https://newsfork.com/bot)":   "NewsforkBot",
		" NewsforkBot/1.0":                              "NewsforkBot",
		"News_fork-Bot, like Gecko":                     "News_fork-Bot",
		"MJ12bot/v1.4":                                  "MJ12bot",
		"Mozilla/5.0 (compatible; NewsforkBot/1.0; +x)": "NewsforkBot",
		"Mozilla/5.0 (compatible;)":                     "Mozilla",
		"Mozilla/5.0 (Windows NT 10.0)":                 "Mozilla",
		"(NewsforkBot)":                                 "",
	} {
		if got := ProductToken(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSitemaps_WithoutBase(t *testing.T) {
	f := Parse(
		[]byte(
			"Sitemap: /a.xml\nSitemap: https://news.example/b.xml\nSitemap: https://news.example/c d.xml\n" +
				"Sitemap: https://news.example\nSitemap: https://NEWS.example\n"))
	want := []string{"https://news.example/b.xml", "https://news.example/c%20d.xml", "https://news.example"}
	for _, base := range []string{"", "/robots.txt", "news.example", "::"} {
		if got := f.Sitemaps(base); !slices.Equal(got, want) {
			t.Errorf("base %q: %q", base, got)
		}
	}
	if got := Parse(nil).Sitemaps(""); got == nil {
		t.Error("nil, which JSON shows as null")
	}
}

func TestSitemaps_ControlCharacters(t *testing.T) {
	f := Parse([]byte("Sitemap: https://news.example/\x1b[1m.xml\nSitemap: https://news.example/a\tb.xml\n" +
		"Sitemap: https://news.example/a.xml\fhttps://news.example/b.xml\n" +
		"Sitemap: https://news.example/c.xml\x00\x00\n"))
	if got := f.Sitemaps("https://news.example/robots.txt"); !slices.Equal(got,
		[]string{"https://news.example/c.xml"}) {
		t.Errorf("%q", got)
	}
}

func TestContentSignals_AreTheCallersOwn(t *testing.T) {
	g := Parse([]byte("User-agent: *\nContent-Signal: search=yes")).Agent("Bot")
	g.ContentSignals()["search"] = "no"
	if got := g.ContentSignals()["search"]; got != "yes" {
		t.Error(got)
	}
}

func TestRules(t *testing.T) {
	g := Parse(
		[]byte(
			"User-agent: a\nDisallow: /z*\nAllow: /b # x\nDisallow:\nUser-agent: c\nDisallow: /c\nUser-agent: " +
				"a\nDisallow: /a$")).Agent("a")
	want := []Rule{{false, "/z*", 2}, {true, "/b", 3}, {false, "/a$", 8}}
	if got := g.Rules(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := fmt.Sprint(want); got != "[Disallow: /z* Allow: /b Disallow: /a$]" {
		t.Error(got)
	}
}

// TestParse_Junk: a line that means nothing changes nothing, wherever it stands.
func TestParse_Junk(t *testing.T) {
	junk := []string{"", "   ", "junk", "junk: junk", ": /", ":", "#", "Disalow/x", "User agent says hello", "\x00",
		"é: \xff", "Disallow /a /b", "}", "</b>", "<b", "&amp;"}
	for _, c := range readCorpus(t) {
		lines := bytes.SplitAfter(c.body, []byte("\n"))
		if bytes.HasPrefix(bytes.TrimSpace(c.body), []byte("<")) || strings.Contains(c.name, "html") {
			continue // there the tags decide what is a line
		}
		for at := range lines {
			for i, j := range junk {
				if strings.HasPrefix(j, "<") && !Parse(c.body).hasContent() {
					continue // then it is a web page
				}
				var body []byte
				for k, l := range lines {
					if k == at {
						body = append(append(body, j...), '\n')
					}
					body = append(body, l...)
				}
				if err := sameButLines(Parse(c.body), Parse(body)); err != nil {
					t.Fatalf("%s: junk %d before line %d: %v", c.name, i, at+1, err)
				}
			}
		}
	}
}

// sameButLines compares the records of two files without their line numbers.
func sameButLines(a, b *File) error {
	if a.IsHTML != b.IsHTML {
		return fmt.Errorf("IsHTML %v and %v", a.IsHTML, b.IsHTML)
	}
	if !slices.EqualFunc(a.records, b.records, func(x, y record) bool {
		return x.kind == y.kind && x.value == y.value
	}) {
		return fmt.Errorf("records\n%+v\n%+v", a.records, b.records)
	}
	return nil
}
