package robots

import (
	"regexp"
	"strings"
	"testing"
)

// oddBytes occur in real files but not in the grammar, or look like syntax.
var oddBytes = []string{"\x00", "\x00\x00", "\f", "\v", "\u0085", "\u00a0", "\u2028", "\ufeff", "\x7f", "\x1b", "\xff",
	"\xfe"}

// grammarText writes a file by the grammar of RFC 9309 section 2.2, with odd bytes in all places. Each
// choice is a byte of choices; what they do not decide is left out.
func grammarText(choices []byte) string {
	var b strings.Builder
	next := func(from ...string) string {
		if len(choices) == 0 {
			return ""
		}
		i := int(choices[0]) % len(from)
		choices = choices[1:]
		return from[i]
	}
	pick := func(from ...string) { b.WriteString(next(from...)) }
	odd := func() { pick(append([]string{"", "", "", "", ""}, oddBytes...)...) }
	blank := func() { pick("", "", " ", "\t", " \t ") }
	b.WriteString("# a mark of the encoding would stand before this\n")
	for len(choices) > 0 {
		blank()
		odd()
		if key := next("", "User-agent", "User-agent", "Allow", "Allow", "Disallow", "Disallow"); key != "" {
			b.WriteString(key)
			blank()
			b.WriteString(":")
			blank()
			if key == "User-agent" {
				pick("*", "Bot", "bot", "other", "")
			} else {
				pick("/", "/a", "/b/", "/*a", "/a*b$", "/b$", "")
			}
			odd()
			pick("", "", "a", "b", "/", "*", "$")
			odd()
			blank()
		}
		pick("", "", "", "#", "# Disallow: /", "#a")
		odd()
		pick("\n", "\n", "\r", "\r\n", "\n\n")
	}
	return b.String()
}

var (
	plainEnds = regexp.MustCompile(`\r\n|\r|\n`)
	plainLine = regexp.MustCompile(`(?is)^[ \t]*(user-agent|allow|disallow)[ \t]*:[ \t]*([^#]*?)[ \t]*(?:#.*)?$`)
)

// plainAllowed interprets a file by the grammar alone, rule by rule. It ignores what follows a NUL in a line.
func plainAllowed(body, agent, path string) bool {
	type line struct{ key, value string }
	var lines []line
	named := false
	for _, text := range plainEnds.Split(body, -1) {
		text, _, _ = strings.Cut(text, "\x00")
		if m := plainLine.FindStringSubmatch(text); m != nil {
			l := line{strings.ToLower(m[1]), m[2]}
			lines = append(lines, l)
			named = named || l.key == "user-agent" && isPlainAgent(l.value, agent)
		}
	}
	ours, ruled, longest, verdict := false, false, 0, true
	for _, l := range lines {
		if l.key == "user-agent" {
			if ruled {
				ours, ruled = false, false
			}
			ours = ours || named && isPlainAgent(l.value, agent) || !named && isPlainStar(l.value)
			continue
		}
		ruled = true
		if !ours || l.value == "" || !naiveMatch(naiveTokens(l.value, true), naiveTokens(path, false)) {
			continue
		}
		switch n := len(spell(naiveTokens(l.value, true))); {
		case n > longest:
			longest, verdict = n, l.key == "allow"
		case n == longest && l.key == "allow":
			verdict = true
		}
	}
	return verdict
}

// isPlainAgent: a token of letters, perhaps with digits and dots, that ends where others begin.
func isPlainAgent(value, agent string) bool {
	return strings.EqualFold(regexp.MustCompile(`^[A-Za-z_-]*`).FindString(value), agent) ||
		strings.EqualFold(regexp.MustCompile(`^[A-Za-z0-9._-]*`).FindString(value), agent)
}

func isPlainStar(value string) bool { return regexp.MustCompile(`^\*(?:[ \t]|$)`).MatchString(value) }

// FuzzGrammar compares Parse, on files by the grammar with odd bytes in them, with a plain reading.
func FuzzGrammar(f *testing.F) {
	f.Add([]byte{}, "/a")
	for seed := range 40 {
		choices := make([]byte, 120)
		for i := range choices {
			choices[i] = byte((i + 3) * (2*seed + 7) * (i + seed) / 5)
		}
		f.Add(choices, "/ab/"+strings.Repeat("a", seed%3))
	}
	f.Fuzz(func(t *testing.T, choices []byte, path string) {
		if len(choices) > 2_000 || len(path) > 100 {
			t.Skip("too much for the plain reading")
		}
		path = pathOf(path)
		if canonical(path, false) == "/robots.txt" {
			t.Skip("always allowed")
		}
		body := grammarText(choices)
		if got, want := Parse([]byte(body)).Allowed("Bot", "https://a.example"+path),
			plainAllowed(body, "Bot", path); got != want {
			t.Fatalf("%q on %q: %v, a plain reading says %v", body, path, got, want)
		}
	})
}
