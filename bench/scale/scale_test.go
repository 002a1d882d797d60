package main

import (
	"math"
	"os"
	"testing"
)

// TestDay_Linear: figures of the whole load, computed from a small part of it, are those of a part twice as large, and
// those in docs/scale.md.
func TestDay_Linear(t *testing.T) {
	text, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := document(text)
	var sizes []*figures
	// The lists of pointers in a shard's state are as long at any load, so they take too much of a very small part.
	for _, factor := range []int{60, 30} {
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
		inDoc := 0.0
		if !f.measured {
			inDoc = doc.cell("A day, simulated", f.name, 1)
		}
		switch {
		case f.measured:
			continue
		case f.shared: // the larger the load, the less
			if smaller := sizes[0].lines[i].value; inDoc > 1.1*f.value || f.value > 1.1*smaller {
				t.Errorf("%s: %.4g in docs/scale.md, %.4g and %.4g here", f.name, inDoc, f.value, smaller)
			}
			continue
		}
		within(f.name+", at two sizes", sizes[0].lines[i].value, f.value)
		within(f.name+" in docs/scale.md", inDoc, f.value)
	}
	if first := sizes[1].limits[0]; first.share < 1 {
		t.Errorf("no limit is met: %+v", first)
	}
}
