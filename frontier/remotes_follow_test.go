package frontier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
)

// logs is a frontier of several shards with a clock, some of which may be frozen.
type logs struct {
	worlds []*world
	frozen map[string]bool
}

func newLogs(t *testing.T, n int) *logs {
	s := &logs{frozen: map[string]bool{}}
	for range n {
		s.worlds = append(s.worlds, newWorld(t))
	}
	return s
}

func (s *logs) Call(_ context.Context, shard, operation string, request []byte) (answer []byte, err error) {
	if s.frozen[shard] {
		return nil, errors.New("no answer")
	}
	var n int
	if _, err := fmt.Sscanf(shard, "shard-%d", &n); err != nil {
		return nil, err
	}
	w := s.worlds[n]
	err = w.db.Transaction(func() error {
		answer = w.shard.Serve(w.now, operation, request).Text
		return nil
	})
	return answer, err
}

func (s *logs) wait(ms int64) {
	for _, w := range s.worlds {
		w.now += ms
	}
}

// TestFollow reads feed and changes to their ends while both are written to and shards freeze and thaw:
// everything comes once, and within a page by time.
func TestFollow(t *testing.T) {
	const n, rounds = 5, 400
	s := newLogs(t, n)
	all := frontier.Remotes{Caller: s, Shards: n}
	r := rand.New(rand.NewPCG(1, 2))
	written := map[string]bool{}
	revisions := map[string]int{}
	write := func() {
		domain := fmt.Sprintf("a%d.example", r.IntN(40))
		put := frontier.Put{Domain: domain, Partition: partition}
		for range r.IntN(4) {
			url := fmt.Sprintf("https://%s/%d", domain, len(written))
			put.Pages = append(put.Pages, frontier.NewPage{URL: url, Fresh: true})
			written[url] = true
		}
		revisions[domain]++
		changed := frontier.Changed{Domain: domain, Changes: []frontier.Change{{Partition: partition, Revision: revisions[domain], ChangedAt: s.worlds[0].now}}}
		shard := frontier.ShardOf(domain, n)
		w := s.worlds[shard] // what is written does not wait for the frozen
		w.do(func() error { _, err := w.shard.Put(w.now, put); return err })
		w.do(func() error { return w.shard.Changed(w.now, changed) })
	}
	read := map[string]int{}
	seen := map[string]int{}
	feed, _ := frontier.ParseCursor("", n)
	changes, _ := frontier.ParseCursor("", n)
	step := func(limit int) (more bool) {
		page, err := all.Feed(t.Context(), feed, frontier.FeedRequest{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		last := int64(0)
		for _, i := range page.Items {
			read[i.URL]++
			if len(s.frozen) == 0 && i.FoundAt < last && limit > 100 {
				t.Errorf("%d after %d", i.FoundAt, last)
			}
			last = max(last, i.FoundAt)
		}
		if len(page.Items) > limit {
			t.Errorf("%d items of %d", len(page.Items), limit)
		}
		if feed, err = frontier.ParseCursor(page.Next.String(), n); err != nil {
			t.Fatal(err)
		}
		changed, err := all.Changes(t.Context(), changes, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range changed.Items {
			if i.Revision <= seen[i.Domain] {
				t.Errorf("%s: revision %d after %d", i.Domain, i.Revision, seen[i.Domain])
			}
			seen[i.Domain] = i.Revision
		}
		changes = changed.Next
		return page.More || changed.More
	}
	for range rounds {
		for range r.IntN(6) {
			write()
		}
		s.wait(r.Int64N(3) * 700)
		clear(s.frozen)
		if r.IntN(3) == 0 {
			s.frozen[fmt.Sprintf("shard-%d", r.IntN(n))] = true
		}
		step(1 + r.IntN(7))
	}
	clear(s.frozen)
	for step(200) {
	}
	for url := range written {
		if read[url] != 1 {
			t.Errorf("%s was read %d times", url, read[url])
		}
	}
	if len(read) != len(written) {
		t.Errorf("%d were read, %d written", len(read), len(written))
	}
	for domain, revision := range revisions {
		if seen[domain] != revision {
			t.Errorf("%s: revision %d was read, %d is the newest", domain, seen[domain], revision)
		}
	}
	for i := range n {
		s.frozen[fmt.Sprintf("shard-%d", i)] = true
	}
	if _, err := all.Feed(t.Context(), feed, frontier.FeedRequest{Limit: 1}); contract.KindOf(err) != contract.Storage {
		t.Errorf("no shard answers: %v", err)
	}
}

func TestCursors(t *testing.T) {
	c := frontier.Cursor{0, 1, 1 << 52}
	for shards, want := range map[int]string{3: "[0 1 4503599627370496]", 2: "[0 1]", 4: "[0 1 4503599627370496 0]"} {
		if got, err := frontier.ParseCursor(c.String(), shards); err != nil || fmt.Sprint([]int64(got)) != want {
			t.Errorf("%v, %v", got, err)
		}
	}
	for _, wrong := range []string{"x", "AA", "AP8", "AQ=", "Af________________8B", "🙂"} {
		if _, err := frontier.ParseCursor(wrong, 3); contract.KindOf(err) != contract.Validation {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}
