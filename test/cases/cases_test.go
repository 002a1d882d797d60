package cases

import (
	"slices"
	"testing"
)

func TestRun(t *testing.T) {
	if got := Run(func(T) {}); got == nil || len(got) != 0 {
		t.Errorf("a case that passes: %#v", got)
	}
	got := Run(func(c T) {
		c.Errorf("one of %d", 2)
		c.Fatalf("the other")
		c.Errorf("never")
	})
	if !slices.Equal(got, []string{"one of 2", "the other"}) {
		t.Errorf("a case that ends early: %q", got)
	}
	defer func() {
		if recover() != "broken" {
			t.Error("a panic of the case itself was lost")
		}
	}()
	Run(func(T) { panic("broken") })
}
