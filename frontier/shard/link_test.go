package shard_test

import (
	"fmt"
	"testing"

	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// A URL is brought into canonical form once, however many steps of a put look at it.
func TestPut_ParsesEachURLOnce(t *testing.T) {
	w := newWorld(t)
	put := frontier.Put{Domain: "a.sg", Partition: partition}
	for i := range 20 {
		put.Pages = append(put.Pages, frontier.NewPage{URL: fmt.Sprintf("https://www.a.sg/%d", i), Priority: 0.5})
	}
	put.Entries = []frontier.NewEntry{{NewPage: frontier.NewPage{URL: "https://www.a.sg/feed"}, Method: "feed",
		Interval: 5400}}
	count, stop := shard.CountLinks()
	defer stop()
	w.do(func() error {
		_, err := w.shard.Put(w.now, put)
		return err
	})
	if want := len(put.Pages) + len(put.Entries); *count != want {
		t.Errorf("%d URLs were parsed %d times", want, *count)
	}
}
