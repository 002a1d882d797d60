package robots

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// FuzzParse: for any bytes parsing ends, answers agree with each other and with a plain
// reading of RFC 9309, and a line that means nothing changes nothing.
func FuzzParse(f *testing.F) {
	for _, c := range readCorpus(f) {
		agent, path := "Bot", "/x"
		for _, line := range c.expect {
			verb, rest, _ := strings.Cut(line, " ")
			switch verb {
			case "agent":
				agent = rest
			case "allow", "deny":
				path = strings.Fields(rest)[0]
			}
		}
		f.Add(c.body, agent, path)
	}
	f.Add(encodeUTF16("\ufeffUser-agent: *\nDisallow: /", true), "Bot", "/")
	f.Fuzz(func(t *testing.T, body []byte, agent, target string) {
		if len(body)*len(target) > 1<<20 {
			t.Skip("too much for the reference")
		}
		file := Parse(body)
		g := file.Agent(agent)

		// One rule decides, and the verdict is the reference's.
		allowed := g.Allowed(target)
		if file.Allowed(agent, target) != allowed {
			t.Fatal("File and Group disagree")
		}
		if rule, ok := g.Match(target); ok && rule.Allow != allowed {
			t.Fatalf("decided by %+v, but %v", rule, allowed)
		}
		if want := referenceAllowed(file, agent, target); allowed != want {
			t.Fatalf("%v, the reference says %v", allowed, want)
		}
		if !g.Allowed("/robots.txt") {
			t.Fatal("/robots.txt is not allowed")
		}
		if path := pathOf(target); !strings.HasPrefix(path, "//") &&
			g.Allowed("https://user@host.example:8443"+path+"#f") != g.Allowed(path) {
			t.Fatal("scheme, authority or fragment matter")
		}

		// What is named is usable.
		for _, s := range file.Sitemaps("https://news.example/robots.txt") {
			if !isAbsolute(s) || strings.ContainsAny(s, " \x00\x1b\t\r\n#") {
				t.Fatalf("sitemap %q", s)
			}
		}
		if again := file.Sitemaps("https://news.example/robots.txt"); !slices.Equal(again,
			slices.Compact(slices.Clone(again))) {
			t.Fatalf("sitemaps twice: %q", again)
		}
		if d, ok := g.CrawlDelay(); d < 0 || d > 0 && !ok {
			t.Fatalf("delay %v %v", d, ok)
		}
		for name, answer := range g.ContentSignals() {
			if name == "" || answer != "yes" && answer != "no" {
				t.Fatalf("signal %q=%q", name, answer)
			}
		}
		if file.IsHTML && (g.Name != "" || !allowed || len(file.Sitemaps("https://h/")) > 0) {
			t.Fatal("a web page has rules")
		}

		// Writing the records out and reading them again changes nothing. Values that begin with a
		// byte order mark or with markup cannot be the first, so a comment goes in front.
		var written bytes.Buffer
		written.WriteString("# written\n")
		for _, r := range file.records {
			written.WriteString([...]string{"", "User-agent", "Allow", "Disallow", "Sitemap", "Crawl-delay",
				"Content-Signal"}[r.kind])
			written.WriteString(": " + r.value + "\n")
		}
		if written.Len() < MaxBytes {
			if err := sameButLines(&File{records: file.records}, Parse(written.Bytes())); err != nil {
				t.Fatalf("written and read: %v", err)
			}
		}

		// Junk between any two lines, and a final line end, change nothing. (UTF-16 needs its own
		// junk; markup may span lines.)
		if len(body) < 10_000 && !bytes.ContainsAny(body, "<\x00\xff\xfe") {
			junk := bytes.ReplaceAll(body, []byte("\n"), []byte("\nUnknown: /\n#Disallow: /\n\r\n"))
			for _, variant := range [][]byte{junk, append(bytes.Clone(body), '\n')} {
				if err := sameButLines(file, Parse(variant)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// FuzzMatch compares the matcher with a naive one, on a single rule.
func FuzzMatch(f *testing.F) {
	for _, c := range readCorpus(f) {
		var path string
		for _, line := range c.expect {
			if verb, rest, _ := strings.Cut(line, " "); verb == "deny" {
				path = strings.Fields(rest)[0]
			}
		}
		for _, r := range Parse(c.body).records {
			if r.kind == disallow {
				f.Add(r.value, path)
			}
		}
	}
	f.Add("/a*a*a*a$", "/aXaXaXaXb")
	f.Add("/%2A*%24$", "/*x$")
	f.Fuzz(func(t *testing.T, pattern, target string) {
		if len(pattern)*len(target) > 1<<20 {
			t.Skip("too much for the naive matcher")
		}
		file := &File{records: []record{{userAgent, 1, "*"}, {disallow, 2, pattern}}}
		path := pathOf(target)
		want := pattern == "" || path == "/robots.txt" ||
			!naiveMatch(naiveTokens(pattern, true), naiveTokens(path, false))
		if canonical(path, false) == "/robots.txt" {
			want = true
		}
		if got := file.Agent("Bot").Allowed(target); got != want {
			t.Fatalf("%q on %q: %v, the naive matcher says %v", pattern, path, got, want)
		}
		// Escaping what is not ASCII, as an HTTP client does, changes nothing.
		var escaped strings.Builder
		for _, c := range []byte(path) {
			if c >= 0x80 {
				fmt.Fprintf(&escaped, "%%%02x", c)
			} else {
				escaped.WriteByte(c)
			}
		}
		if got := file.Agent("Bot").Allowed("https://h" + escaped.String()); got != want {
			t.Fatalf("%q on %q, escaped as %q: %v", pattern, path, escaped.String(), got)
		}
	})
}

// A token is an octet of a path, or one of the special meanings.
const (
	anything = 256 + iota
	end
	escaped // of an octet that stays escaped; added to the octet
)

// naiveTokens reads a path or pattern one character at a time.
func naiveTokens(s string, isPattern bool) []int {
	var tokens []int
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isPattern && c == '*':
			tokens = append(tokens, anything)
		case isPattern && c == '$' && i == len(s)-1:
			tokens = append(tokens, end)
		case c == '%' && i+2 < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i+1]) >= 0 &&
			strings.IndexByte("0123456789abcdefABCDEF", s[i+2]) >= 0:
			plain, _ := url.PathUnescape(s[i : i+3])
			if strings.Contains("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~*$", plain) {
				tokens = append(tokens, int(plain[0]))
			} else {
				tokens = append(tokens, '%', escaped+int(plain[0]))
			}
			i += 2
		case c >= 0x80:
			tokens = append(tokens, '%', escaped+int(c))
		default:
			tokens = append(tokens, int(c))
		}
	}
	return tokens
}

// naiveMatch matches by trying everything, with a table so that it ends.
func naiveMatch(pattern, path []int) bool {
	// A stray "%" and digits are matched by the octets of an escape, so escapes are spelled out.
	pattern, path = spell(pattern), spell(path)
	matches := make([]bool, len(path)+1) // of the pattern from p on, at each place of the path
	for i := range matches {
		matches[i] = true // an empty pattern matches a prefix
	}
	for p := len(pattern) - 1; p >= 0; p-- {
		next := make([]bool, len(path)+1)
		for i := len(path); i >= 0; i-- {
			switch pattern[p] {
			case anything:
				next[i] = matches[i] || i < len(path) && next[i+1]
			case end:
				next[i] = i == len(path)
			default:
				next[i] = i < len(path) && path[i] == pattern[p] && matches[i+1]
			}
		}
		matches = next
	}
	return matches[0]
}

func spell(tokens []int) []int {
	var spelled []int
	for _, t := range tokens {
		if t < escaped {
			spelled = append(spelled, t)
			continue
		}
		const digits = "0123456789ABCDEF"
		spelled = append(spelled, int(digits[(t-escaped)>>4]), int(digits[(t-escaped)&15]))
	}
	return spelled
}

// referenceAllowed reads the records by the letter of RFC 9309, with nothing merged or sorted.
func referenceAllowed(f *File, agent, target string) bool {
	path := pathOf(target)
	if canonical(path, false) == "/robots.txt" {
		return true
	}
	token := ProductToken(agent)
	named := slices.ContainsFunc(f.records, func(r record) bool { return r.kind == userAgent && names(r.value, token) })
	var ours, ruled bool
	longest, verdict := 0, true
	for _, r := range f.records {
		switch r.kind {
		case userAgent:
			if ruled {
				ours, ruled = false, false
			}
			if named {
				ours = ours || names(r.value, token)
			} else {
				ours = ours || isGlobal(r.value)
			}
		case allow, disallow:
			ruled = true
			if !ours || r.value == "" || !naiveMatch(naiveTokens(r.value, true), naiveTokens(path, false)) {
				continue
			}
			if n := octets(r.value); n > longest {
				longest, verdict = n, r.kind == allow
			} else if n == longest {
				verdict = verdict || r.kind == allow
			}
		}
	}
	return verdict
}
