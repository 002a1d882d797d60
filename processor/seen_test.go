package processor

import (
	"fmt"
	"testing"
)

func TestSeen(t *testing.T) {
	var s seen
	const most = maxSeen / 2 // of a generation
	url := func(i int) []byte { return fmt.Appendf(nil, "https://a.com/%d", i) }
	add := func(from, to int, isNew bool) {
		t.Helper()
		for i := from; i < to; i++ {
			if s.add(s.of("a.com"), url(i)) != isNew {
				t.Fatalf("%d is new: %v, want %v", i, !isNew, isNew)
			}
		}
	}
	add(0, 1000, true)
	add(0, 1000, false)
	s.reset()
	add(0, 2*most, true)
	add(most, 2*most, false) // the generation before
	add(2*most, 2*most+100, true)
	add(most, 2*most+100, false)
	add(0, 100, true) // forgotten
	if len(s.slots) != maxSeen {
		t.Errorf("%d slots", len(s.slots))
	}
	s.reset()
	if s.slots != nil {
		t.Error("much memory is kept")
	}
	add(0, 100, true)
	if !s.add(s.of("b.com"), url(1)) {
		t.Error("the URL of another domain is no duplicate")
	}
	s.forget()
	add(0, 100, true)
}
