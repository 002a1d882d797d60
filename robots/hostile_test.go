package robots

import (
	"runtime"
	"strings"
	"testing"
)

// slow are the cases whose URLs are not all matched within MaxSteps.
var slow = map[string]bool{
	"a shared word and a number each":               true,
	"a number each and a shared word":               true,
	"words within one another":                      true,
	"all parts of the path":                         true,
	"pairs of words in the wrong order":             true,
	"nine letters, the middle in the wrong order":   true,
	"thirty letters, the middle in the wrong order": true,
	"all pairs of words match":                      true,
	"what all patterns end with stands first":       true,
	"what patterns end with stands first":           true,
}

// few are the cases in which one look shows that no pattern of many matches, or none that is better: that
// takes a few steps for a byte of the path, and does not grow with the rules.
var few = map[string]bool{
	"all pairs of words match":                true,
	"what all patterns end with stands first": true,
}

// TestHostile: what a group takes is in proportion to its rules, for any rules. Of 50,000 URLs all are
// matched within MaxSteps against files with many rules, and a good number against the worst ones.
func TestHostile(t *testing.T) {
	const limit = 8 << 20
	cases := append(hostile[:len(hostile):len(hostile)], hostileCase{
		name: "one long word",
		rule: func(i int) string {
			return []string{"/*" + strings.Repeat("abcdefg", MaxBytes/7-100) + "*b", ""}[min(i, 1)]
		},
	})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for _, c := range cases {
		file := Parse(hostileFile(c.rule))
		before := heap()
		g := file.Agent("Bot")
		_, steps := g.Cost(c.url)
		size := int64(heap() - before)
		t.Logf("%s: %d rules, %d bytes, %d steps", c.name, len(g.rules), size, steps)
		if size > limit {
			t.Errorf("%s: %d bytes", c.name, size)
		}
		if urls := MaxSteps / (steps + 1); urls < 90 || urls < 50_000 && !slow[c.name] {
			t.Errorf("%s: %d URLs are matched", c.name, urls)
		}
		if few[c.name] && steps > 5*len(c.url) {
			t.Errorf("%s: %d steps for %d bytes", c.name, steps, len(c.url))
		}
		runtime.KeepAlive(g)
		runtime.KeepAlive(file)
	}
}

// TestCost_CountsWhatIsTried: to try a pattern that then cannot match is work too. Where it is not counted,
// MaxSteps stands for a multiple of its time.
func TestCost_CountsWhatIsTried(t *testing.T) {
	for _, c := range hostile {
		if c.name != "what patterns end with stands first" {
			continue
		}
		g := Parse(hostileFile(c.rule)).Agent("Bot")
		tried := map[string]bool{} // all parts but the last of each stand in the path, in this order
		for _, r := range g.rules {
			tried[r.Pattern] = true
		}
		if _, steps := g.Cost(c.url); steps < len(tried)/2 {
			t.Errorf("%d steps for %d patterns that are tried", steps, len(tried))
		}
	}
}

// TestCost_SameEachTime: which URLs of a domain are decided before MaxSteps does not depend on chance.
func TestCost_SameEachTime(t *testing.T) {
	for _, c := range hostile {
		if c.name != "three words in the wrong order" {
			continue
		}
		file := Parse(hostileFile(c.rule))
		_, want := file.Agent("Bot").Cost(c.url)
		for range 5 {
			if _, steps := file.Agent("Bot").Cost(c.url); steps != want {
				t.Errorf("%d steps, then %d", want, steps)
			}
		}
	}
}
