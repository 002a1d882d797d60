package orchestrator_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
)

// A discarded file is not queued, even with force, until another file replaces it.
func TestDiscard_FilesAreNotQueued(t *testing.T) {
	b := bucketOf(t)
	clock := time.Date(2026, 1, 28, 10, 0, 0, 0, time.UTC)
	b.Now = func() time.Time { clock = clock.Add(2 * time.Second); return clock }
	file := func(n int) string { return key("sg", "news", "2026-01-28", n) }
	for _, k := range []string{
		file(1), file(1) + ".discarded",
		file(2),
		file(3), file(3) + ".discarded", file(3) + ".success", // it was mended by a replay
		file(4) + ".discarded", file(4), // it was replaced
		file(5) + ".discarded", // it was deleted
		file(6), file(6) + ".discarded", file(6) + ".discardedly",
	} {
		if _, err := b.Put(t.Context(), k, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for force, want := range map[bool][]string{false: {file(2), file(4)}, true: {file(2), file(3), file(4)}} {
		q := &queue{}
		r := run(t, b, q, contract.Filter{Country: "sg", Force: force})
		if !slices.Equal(q.files, want) || r.FilesFound != 5 || r.Sent != len(want) || r.Skipped != 5-len(want) {
			t.Errorf("force %v: %v, %+v", force, q.files, r)
		}
	}
}

// A file and its discard mark can be on different pages of the listing.
func TestDiscard_MarksAcrossPages(t *testing.T) {
	var keys []string
	for n := range 1500 {
		keys = append(keys, key("sg", "news", "2026-01-28", n+1))
		if n%2 == 0 {
			keys = append(keys, keys[len(keys)-1]+".discarded")
		}
	}
	q := &queue{}
	r := run(t, bucketOf(t, keys...), q, contract.Filter{Country: "sg", Category: "news", Date: "2026-01-28"})
	if r.FilesFound != 1500 || r.Sent != 750 || r.Skipped != 750 {
		t.Errorf("%+v", r)
	}
	for i, f := range q.files {
		if want := key("sg", "news", "2026-01-28", 2*i+2); f != want {
			t.Fatal(fmt.Sprint(i, ": ", f, ", want ", want))
		}
	}
}
