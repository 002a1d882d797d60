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
		stored, _ := newChunk([]recentURL{{5, k}}, k.At).find(5)
		if at < stored.Since() || at >= stored.Until() || stored.Until()-stored.Since() != 3600 {
			t.Fatalf("in a chunk %d is from %d to %d", at, stored.Since(), stored.Until())
		}
	}
}

// TestKnown_Disallowed: what says that robots.txt disallows a page outlasts a chunk, and ends with the state.
func TestKnown_Disallowed(t *testing.T) {
	for _, k := range []Known{{Life: Gone, Disallowed: true, Listed: true, At: 9}, {Life: Gone, Listed: true, At: 9},
		{Life: Gone, Foreign: true, At: 9}, {Life: Fetched, Listed: true, At: 9}} {
		if got, _ := newChunk([]recentURL{{5, k}}, 9).find(5); got != k {
			t.Errorf("%+v became %+v", k, got)
		}
	}
	h := newHost(&Tx{}, 1, "a.example", 1)
	for _, k := range []Known{{Life: Gone, Disallowed: true, Listed: true}, {Life: Waiting, Disallowed: true}} {
		if err := h.Remember(7, k); err != nil {
			t.Fatal(err)
		}
	}
	if k := h.recent.all()[0].Known; k.Disallowed || k.Life != Waiting || !k.Listed {
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

// TestKnown_Bounded: a site that shows new URLs for ever fills a host's chunks, and then displaces those that it showed
// long ago, unless they wait or were fetched: else each put would load and write more.
func TestKnown_Bounded(t *testing.T) {
	c := &Tx{now: 1_769_601_600_000, parts: partTable{rows: map[int64][]byte{}, changed: map[int64]bool{}}}
	c.parts.tx = c
	h := newHost(c, 1, "a.example", 1)
	h.bits = maxBits
	c.parts.rows[h.chunkKey(0)] = nil
	const urls = 4 * maxChunk // of one chunk
	life := func(i uint64) Life {
		if i%10 == 0 {
			return Life(1 + i/10%3)
		}
		return Idle
	}
	hour := hourOf(c.now)
	for i := range uint64(urls) {
		if err := h.Remember(i, Known{Life: life(i), At: hour - 2000 + int64(i/8)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.mergeRecent(); err != nil {
		t.Fatal(err)
	}
	if n := h.chunk(h.chunkKey(0)).len(); n > maxChunk || n < maxChunk/2 {
		t.Errorf("the chunk has %d URLs, want at most %d", n, maxChunk)
	}
	for i := range uint64(urls) {
		k, ok := h.Known(i)
		switch {
		case ok && k.Life != life(i), !ok && life(i) != Idle:
			t.Fatalf("URL %d is known as %+v, %v", i, k, ok)
		case ok && life(i) == Idle && i < urls/2:
			t.Fatalf("URL %d of %d was seen long ago, and is still known", i, urls)
		case !ok && i >= urls-maxChunk/4:
			t.Fatalf("URL %d of %d was seen lately, and is forgotten", i, urls)
		}
	}
}
