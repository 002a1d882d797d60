package robots

import (
	"runtime"
	"strings"
	"testing"
)

// TestCompiledSize: what a group takes is in proportion to its rules, whatever they are.
func TestCompiledSize(t *testing.T) {
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
		g.Allowed(c.url)
		if size := int64(heap() - before); size > limit {
			t.Errorf("%s: %d rules take %d bytes", c.name, len(g.rules), size)
		} else {
			t.Logf("%s: %d rules, %d bytes", c.name, len(g.rules), size)
		}
		runtime.KeepAlive(g)
		runtime.KeepAlive(file)
	}
}
