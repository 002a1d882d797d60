package store

import (
	"testing"

	"github.com/newsfork/seed-engine/epoch"
)

// TestKnown_Parts: a time stands in its part of an hour, and a chunk keeps the hour.
func TestKnown_Parts(t *testing.T) {
	for at := epoch.Seconds(490_000 * 3600); at < 490_002*3600; at += 7 {
		k := Known{Life: Fetched}.On(at)
		if at < k.Since() || at >= k.Until() || k.Until()-k.Since() != partSeconds {
			t.Fatalf("%d is from %d to %d", at, k.Since(), k.Until())
		}
		stored := newChunk([]recentURL{{5, k}}, k.At).known(0)
		if at < stored.Since() || at >= stored.Until() || stored.Until()-stored.Since() != 3600 {
			t.Fatalf("in a chunk %d is from %d to %d", at, stored.Since(), stored.Until())
		}
	}
}

// TestKnown_Disallowed: what says that robots.txt disallows a page outlasts a chunk, and ends with the state.
func TestKnown_Disallowed(t *testing.T) {
	for _, k := range []Known{{Life: Gone, Disallowed: true, Listed: true, At: 9}, {Life: Gone, Listed: true, At: 9},
		{Life: Gone, Foreign: true, At: 9}, {Life: Fetched, Listed: true, At: 9}} {
		if got := newChunk([]recentURL{{5, k}}, 9).known(0); got != k {
			t.Errorf("%+v became %+v", k, got)
		}
	}
	h := newHost(&Tx{}, 1, "a.example", 1)
	for _, k := range []Known{{Life: Gone, Disallowed: true, Listed: true}, {Life: Waiting, Disallowed: true}} {
		if err := h.Remember(7, k); err != nil {
			t.Fatal(err)
		}
	}
	if k := h.recent[0].Known; k.Disallowed || k.Life != Waiting || !k.Listed {
		t.Errorf("a page that waits again is known as %+v", k)
	}
}

// TestCopies: no page is its own copy, nor are pages copies of each other, however long the circle is.
func TestCopies(t *testing.T) {
	var c Copies
	for i, step := range []struct {
		page, original uint64
		want           bool
	}{{1, 1, false}, {1, 2, true}, {2, 1, false}, {2, 3, true}, {3, 1, false}, {3, 2, false}, {3, 4, true},
		{1, 4, true}, {4, 1, false}, {1, 2, true}} {
		if got := c.Add(step.page, step.original); got != step.want {
			t.Errorf("step %d: a copy: %v, want %v", i, got, step.want)
		}
	}
	c.Remove(3)
	if !c.Add(4, 1) {
		t.Error("3 is no copy any more, so 4 may be one of 1")
	}
	for i := range uint64(100) {
		c.Add(100+i, 1)
	}
	if len(c) != maxCopies {
		t.Errorf("%d copies are kept", len(c))
	}
}
