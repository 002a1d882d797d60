package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The simple matcher, which looks at one rule after the other, is the reference of the compiled one.

// rule is a Rule made ready for matching by itself.
type rule struct {
	Rule
	prefix   string // canonical, up to the first wildcard
	rest     string // canonical, from the first wildcard on
	anchored bool   // a final "$": the match ends where the path ends
	minLen   int    // bytes of path that the rest needs
	octets   int    // length of the pattern, its rank among those that match
}

func compile(r Rule) rule {
	pattern := canonical(r.Pattern, true)
	c := rule{Rule: r, octets: octets(r.Pattern)}
	pattern, c.anchored = strings.CutSuffix(pattern, "$")
	if c.anchored && !strings.HasSuffix(r.Pattern, "$") { // it was "%24"
		pattern, c.anchored = pattern+"$", false
	}
	c.prefix = pattern
	if star := strings.IndexByte(pattern, '*'); star >= 0 {
		c.prefix, c.rest = pattern[:star], pattern[star:]
		c.minLen = len(c.rest) - strings.Count(c.rest, "*")
	}
	return c
}

// matchesRest matches what follows the prefix. Taking the first place where each part fits is
// enough, so the time is always linear in pattern and path.
func (r *rule) matchesRest(path string) bool {
	rest := r.rest
	if rest == "" {
		return !r.anchored || path == ""
	}
	if len(path) < r.minLen {
		return false
	}
	for {
		rest = rest[1:] // the wildcard
		next := strings.IndexByte(rest, '*')
		if next < 0 {
			if r.anchored {
				return strings.HasSuffix(path, rest)
			}
			return strings.Contains(path, rest)
		}
		at := strings.Index(path, rest[:next])
		if at < 0 {
			return false
		}
		path, rest = path[at+next:], rest[next:]
	}
}

func (r *rule) matches(path string) bool {
	rest, ok := strings.CutPrefix(path, r.prefix)
	return ok && r.matchesRest(rest)
}

// simpleMatch is Group.Match, by looking at all rules.
func simpleMatch(rules []rule, url string) (Rule, bool) {
	path := canonical(pathOf(url), false)
	best := -1
	for i := range rules {
		if path != "/robots.txt" && (best < 0 || precedence(rules[i].Rule, rules[best].Rule) < 0) &&
			rules[i].matches(path) {
			best = i
		}
	}
	if best < 0 {
		return Rule{}, false
	}
	return rules[best].Rule, true
}

// compare fails the test if both matchers do not decide all URLs by the same rule, and counts those that
// some rule decides.
func compare(t *testing.T, written []Rule, urls []string) (decided int) {
	t.Helper()
	file := &File{records: []record{{userAgent, 1, "*"}}}
	simple := make([]rule, len(written))
	for i, r := range written {
		simple[i] = compile(r)
		k := disallow
		if r.Allow {
			k = allow
		}
		file.records = append(file.records, record{k, int32(r.Line), r.Pattern})
	}
	g := file.Agent("Bot")
	for _, url := range urls {
		got, ok := g.Match(url)
		if want, found := simpleMatch(simple, url); got != want || ok != found {
			t.Fatalf("%q: compiled %+v %v, simple %+v %v of %+v", url, got, ok, want, found, written)
		}
		if ok {
			decided++
		}
	}
	return decided
}

// TestCompiled compares the matchers on random groups of rules with few letters, so that all that can
// overlap does.
func TestCompiled(t *testing.T) {
	random := rand.New(rand.NewPCG(9309, 10))
	text := func(letters string, longest int) string {
		b := make([]byte, random.IntN(longest+1))
		for i := range b {
			b[i] = letters[random.IntN(len(letters))]
		}
		return string(b)
	}
	decided, undecided := 0, 0
	for range 4_000 {
		letters := []string{"ab", "ab/", "a", "abcdefgh/"}[random.IntN(4)]
		rules := make([]Rule, 1+random.IntN(random.IntN(30)+1))
		for i := range rules {
			pattern := []string{"/", "/", "/", "", "*"}[random.IntN(5)] +
				text(letters+[]string{"", "*", "**", "*$", "%*"}[random.IntN(5)], 5+random.IntN(20)) +
				[]string{"", "", "$"}[random.IntN(3)]
			if pattern == "" {
				pattern = "/"
			}
			rules[i] = Rule{random.IntN(3) == 0, pattern, i + 2}
		}
		urls := make([]string, 30)
		for i := range urls {
			urls[i] = "/" + text(letters+[]string{"", "/", "$", "*"}[random.IntN(4)], 1+random.IntN(40))
		}
		n := compare(t, rules, urls)
		decided += n
		undecided += len(urls) - n
	}
	t.Logf("%d decided, %d not", decided, undecided)
	if decided < 20_000 || undecided < 20_000 {
		t.Error("too few of one kind")
	}
}

// FuzzCompiled compares the matchers on groups of rules, one a line, "+" in front of an Allow.
func FuzzCompiled(f *testing.F) {
	f.Add("/*a*b\n+/a*\n/$\n*$\n/*ab$\n*/a", "/xaxb")
	f.Add("*aa*aa*aa$\n/a*aaa*a\n+*a\n+/*aaaa", "/aaaaaaa")
	f.Add("/%2A*%24$\n/*$\n/é*ü\n*/x/*/y", "/*x$")
	for _, c := range readCorpus(f) {
		var rules strings.Builder
		for _, r := range Parse(c.body).records {
			if r.kind == disallow || r.kind == allow {
				fmt.Fprintf(&rules, "%s%s\n", map[bool]string{true: "+"}[r.kind == allow], r.value)
			}
		}
		f.Add(rules.String(), "/a/b")
	}
	f.Fuzz(func(t *testing.T, lines, url string) {
		if len(lines)*len(url) > 1<<16 {
			t.Skip("too much for the simple matcher")
		}
		var rules []Rule
		for i, line := range strings.Split(lines, "\n") {
			pattern, allowed := strings.CutPrefix(line, "+")
			if pattern != "" {
				rules = append(rules, Rule{allowed, pattern, i + 2})
			}
		}
		// Also what is left of the URL when it is cut, and what grows when it is repeated.
		compare(t, rules, []string{url, url[:len(url)/2], url + url, "/" + url, url + "/" + url + url})
	})
}

// TestAutomaton_BeyondRows: words that are longer than the states with rows are found too, and what they end with.
func TestAutomaton_BeyondRows(t *testing.T) {
	long := strings.Repeat("abcdefg", 40_000/7)
	g := Parse([]byte("User-agent: *\nDisallow: /*" + long + "x\nDisallow: /*fgabz\nDisallow: /*" + long +
		"*q*r\n")).Agent("Bot")
	if a := g.matcher.words; len(a.rows) >= len(a.states.labels)*a.width {
		t.Fatal("all states have rows")
	}
	for path, allowed := range map[string]bool{
		"/" + long: true, "/" + long + "x": false, "/a" + long + "x/y": false, "/" + long[1:] + "x": true,
		"/" + long + "abz": false, "/" + long[:30_000] + "z": true, "/" + long + long + "x": false,
		"/" + long + "/q/r": false, "/" + long + "/r/q": true, "/" + long[:39_000] + long + "qr": false,
	} {
		if g.Allowed(path) != allowed {
			t.Errorf("a path of %d bytes that ends with %q: allowed %v", len(path), path[len(path)-5:], !allowed)
		}
	}
}
