package main

import (
	"math"
	"os"
	"testing"
)

// TestDay_Linear: figures of the whole load, computed from a small part of it, are those of a part twice as large, and
// those in docs/scale.md.
func TestDay_Linear(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := document(text)
	var sizes []*figures
	for _, factor := range []int{400, 200} {
		d, err := play(factor)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, figuresOf(d, doc))
	}
	within := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got/want-1) > 0.1 {
			t.Errorf("%s: %.4g, which is not %.4g within a tenth", name, got, want)
		}
	}
	for i, f := range sizes[1].lines {
		t.Logf("%s: %.4g, %.4g", f.name, sizes[0].lines[i].value, f.value)
		if f.measured {
			continue
		}
		within(f.name+", at two sizes", sizes[0].lines[i].value, f.value)
		within(f.name+" in docs/scale.md", doc.cell("A day, simulated", f.name, 1), f.value)
	}
	if first := sizes[1].limits[0]; first.share < 1 {
		t.Errorf("no limit is met: %+v", first)
	}
}
