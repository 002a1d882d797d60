package robots

import (
	"runtime"
	"strings"
	"testing"
)

// slow are the cases whose URLs are not all matched within MaxSteps.
var slow = map[string]bool{
	"all parts of the path":                         true,
	"nine letters, the middle in the wrong order":   true,
	"thirty letters, the middle in the wrong order": true,
}

// TestHostile: what a group takes is in proportion to its rules, whatever they are. Of 50,000 URLs all are
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
		if urls := MaxSteps / (steps + 1); urls < 900 || urls < 50_000 && !slow[c.name] {
			t.Errorf("%s: %d URLs are matched", c.name, urls)
		}
		runtime.KeepAlive(g)
		runtime.KeepAlive(file)
	}
}
