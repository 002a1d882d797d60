package robots

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/temoto/robotstxt"
)

// peer is github.com/temoto/robotstxt, the parser that most Go crawlers use: a second opinion on
// every verdict. Where it differs, it does for one of these reasons; the examples pin both sides.
var peerDifferences = []struct {
	class             string
	file, agent, path string
	ours              bool
	peer              string // "allow", "deny" or "reject"
	applies           func(c comparison) bool
}{
	{"it rejects a file for one bad line", "Disallow: /a\nUser-agent: *\nDisallow: /b", "Bot", "/b", false, "reject",
		func(c comparison) bool { return c.err != nil }},
	{"it has no exception for /robots.txt", "User-agent: *\nDisallow: /", "Bot", "/robots.txt", true, "deny",
		func(c comparison) bool { return canonical(c.path, false) == "/robots.txt" }},
	{"it reads only UTF-8 and no HTML",
		"\xff\xfeU\x00s\x00e\x00r\x00-\x00a\x00g\x00e\x00n\x00t\x00:\x00*\x00\n" +
			"\x00D\x00i\x00s\x00a\x00l\x00l\x00o\x00w\x00:\x00/\x00", "Bot", "/x", false, "allow",
		func(c comparison) bool {
			return isMarkup(c.body) || strings.HasPrefix(c.body, "\xff\xfe") || strings.HasPrefix(c.body, "\xfe\xff") ||
				strings.HasPrefix(c.body, "\xef\xbbU") || strings.HasPrefix(c.body, "\xefU")
		}},
	{"it reads another line grammar: misspellings, missing colons, several words", "User-agent: *\nDissallow: /x",
		"Bot",
		"/x", false, "allow",
		func(c comparison) bool { return !c.plainLines() }},
	{"it compares whole names, as prefixes of ours, and does not merge a name with its version",
		"User-agent: News\nDisallow: /x", "Newsbot", "/x", true, "deny",
		func(c comparison) bool { return c.peerName() != strings.ToLower(c.group.Name) }},
	{"Crawl-delay ends its list of agents", "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /x", "a", "/x",
		false, "allow",
		func(c comparison) bool { return strings.Contains(strings.ToLower(c.body), "delay") }},
	{"a group without rules is none", "User-agent: *\nDisallow: /\nUser-agent: bot", "bot", "/x", true, "deny",
		func(c comparison) bool { return len(c.group.rules) == 0 }},
	{"it does not anchor patterns with wildcards", "User-agent: *\nDisallow: /a*b", "Bot", "/x/ab", true, "deny",
		func(c comparison) bool {
			return c.anyPattern(func(p string) bool { return strings.ContainsAny(p, "*$") })
		}},
	{"it compares escapes as they are written", "User-agent: *\nDisallow: /%7Ea", "Bot", "/~a", false, "allow",
		func(c comparison) bool {
			odd := func(s string) bool {
				return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 || r == '%' })
			}
			return odd(c.path) || c.anyPattern(odd)
		}},
	{"it adds a missing slash", "User-agent: *\nDisallow: x", "Bot", "/x", true, "deny",
		func(c comparison) bool { return c.anyPattern(func(p string) bool { return p[0] != '/' }) }},
	{"of equal patterns it takes the first, also before Allow", "User-agent: *\nDisallow: /x\nAllow: /x", "Bot", "/x",
		true, "deny",
		func(c comparison) bool {
			rule, ok := c.group.Match(c.path)
			return ok && rule.Allow && c.anyPattern(func(p string) bool { return p == rule.Pattern })
		}},
}

// both is a file as both read it.
type both struct {
	body string
	file *File
	peer *robotstxt.RobotsData
	err  error // of the peer
}

func parseBoth(body []byte) both {
	b := both{body: string(body), file: Parse(body)}
	b.peer, b.err = robotstxt.FromBytes(body)
	return b
}

// comparison is one verdict of both.
type comparison struct {
	both
	agent, path string
	group       *Group
	peerAllows  bool
}

func (b both) compare(agent, url string) comparison {
	c := comparison{both: b, agent: agent, path: pathOf(url), group: b.file.Agent(agent)}
	c.peerAllows = b.err == nil && b.peer.TestAgent(c.path, agent)
	return c
}

func (c comparison) differ() bool { return c.err != nil || c.peerAllows != c.group.Allowed(c.path) }

// class is the first reason that applies, or "".
func (c comparison) class() string {
	for _, d := range peerDifferences {
		if d.applies(c) {
			return d.class
		}
	}
	return ""
}

func (c comparison) anyPattern(is func(string) bool) bool {
	return slices.ContainsFunc(c.group.rules, func(r Rule) bool { return is(r.Pattern) })
}

// plainLines: every line is empty, a comment, or one of the names in full, a colon and one word.
func (c comparison) plainLines() bool {
	for _, line := range strings.FieldsFunc(c.body, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, comment := strings.Cut(line, "#")
		if comment && line != "" && !isBlank(rune(line[len(line)-1])) {
			return false
		}
		key, value, ok := strings.Cut(line, ":")
		if trim(line) == "" {
			continue
		}
		switch strings.ToLower(key) {
		case "user-agent", "useragent", "allow", "disallow", "sitemap", "crawl-delay":
		default:
			return false
		}
		if !ok || strings.ContainsAny(trim(value), " \t\v\f") {
			return false
		}
	}
	return true
}

// peerName is the name of the group that the peer takes: the longest prefix of ours, with "*" as
// good as one letter.
func (c comparison) peerName() string {
	best, length := "", 0
	for _, r := range c.file.records {
		if r.kind == userAgent && r.value == "*" {
			best, length = "*", 1
		}
	}
	for _, r := range c.file.records {
		name := strings.ToLower(r.value)
		if r.kind == userAgent && len(name) > length && strings.HasPrefix(strings.ToLower(c.agent), name) {
			best, length = name, len(name)
		}
	}
	return best
}

func TestPeer_Differences(t *testing.T) {
	for _, d := range peerDifferences {
		c := parseBoth([]byte(d.file)).compare(d.agent, d.path)
		got := map[bool]string{true: "allow", false: "deny"}[c.peerAllows]
		if c.err != nil {
			got = "reject"
		}
		if ours := c.group.Allowed(d.path); ours != d.ours || got != d.peer {
			t.Errorf("%s: we say %v, the peer %s", d.class, ours, got)
		}
		if class := c.class(); class != d.class {
			t.Errorf("%s: the class found is %q", d.class, class)
		}
	}
}

// TestPeer_OnCorpora: every verdict on the corpora is the peer's too, or differs for a known reason.
func TestPeer_OnCorpora(t *testing.T) {
	verdicts, classes := 0, map[string]int{}
	check := func(name string, file both, agent, url string) {
		c := file.compare(agent, url)
		verdicts++
		if !c.differ() {
			return
		}
		class := c.class()
		classes[class]++
		if class == "" {
			rule, _ := c.group.Match(url)
			t.Errorf("%s: %s, %s: we decide by %+v, the peer says %v (%v)", name, agent, url, rule, c.peerAllows, c.err)
		}
	}
	for _, c := range readCorpus(t) {
		file, agent := parseBoth(c.body), ""
		for _, line := range c.expect {
			verb, rest, _ := strings.Cut(line, " ")
			switch verb {
			case "agent":
				agent = rest
			case "allow", "deny":
				for _, url := range strings.Fields(rest) {
					check(c.name, file, agent, url)
				}
			}
		}
	}
	t.Run("real files", func(t *testing.T) {
		eachSharedFile(t, func(site string, body []byte, probes []probe) {
			file := parseBoth(body)
			for _, p := range probes {
				check(site, file, p.Agent, p.URL)
			}
		})
	})
	for class, n := range classes {
		t.Logf("%4d × %s", n, class)
	}
	t.Logf("of %d verdicts", verdicts)
}

// TestPeer_Agrees: on random files within the ground that both cover, they agree without exception.
func TestPeer_Agrees(t *testing.T) {
	random := rand.New(rand.NewPCG(9309, 1))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	names := []string{"*", "alpha", "beta", "gamma-news"}
	paths := []string{"/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/b", "/b?x", "/b?x=1&y", "/A", "/a.b,c;d", "/a/b/cd"}
	denied := 0
	for range 3000 {
		var body strings.Builder
		seen := map[string]bool{} // a tie of Allow and Disallow is a known difference
		for range 1 + random.IntN(4) {
			for range 1 + random.IntN(2) {
				fmt.Fprintf(&body, "%s: %s\n", pick([]string{"User-agent", "user-agent"}), pick(names))
			}
			for range 1 + random.IntN(4) {
				if path := pick(paths); !seen[path] {
					seen[path] = true
					fmt.Fprintf(&body, "%s: %s%s\n", pick([]string{"Allow", "Disallow", "DISALLOW"}), path,
						pick([]string{"", " # why", "\n"}))
				}
			}
			if random.IntN(3) == 0 {
				body.WriteString("Sitemap: https://news.example/s.xml\n")
			}
		}
		if !strings.HasSuffix(body.String(), "\n") || !hasRuleInEveryGroup(body.String()) {
			continue
		}
		file := parseBoth([]byte(body.String()))
		for _, agent := range []string{"alpha", "beta", "gamma-news", "delta"} {
			for _, path := range paths {
				c := file.compare(agent, path+pick([]string{"", "z", "/z"}))
				if c.differ() {
					t.Fatalf("%s, %s: we say %v, the peer %v (%v):\n%s", agent, c.path, c.group.Allowed(c.path),
						c.peerAllows, c.err,
						body.String())
				}
				if !c.peerAllows {
					denied++
				}
			}
		}
	}
	if denied < 10_000 {
		t.Errorf("only %d verdicts were negative", denied)
	}
}

// hasRuleInEveryGroup: the last list of agents has rules too; without, the peer does not see it.
func hasRuleInEveryGroup(body string) bool {
	agents := strings.LastIndex(strings.ToLower(body), "user-agent")
	return strings.Contains(strings.ToLower(body[agents:]), "allow:")
}
