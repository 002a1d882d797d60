package shard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/frontier/shard"
)

// logs is a frontier of several shards with a clock, some of which may be frozen. As on the platform, a shard does one
// call after the other.
type logs struct {
	worlds []*world
	locks  []sync.Mutex
	frozen map[string]bool
}

func newLogs(t *testing.T, n int) *logs {
	s := &logs{locks: make([]sync.Mutex, n), frozen: map[string]bool{}}
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
	err = s.do(n, func(w *world) error {
		answer = w.shard.Serve(w.now, operation, request).Text
		return nil
	})
	return answer, err
}

// do does an operation of a shard.
func (s *logs) do(n int, operation func(w *world) error) error {
	s.locks[n].Lock()
	defer s.locks[n].Unlock()
	w := s.worlds[n]
	return w.db.Transaction(func() error { return operation(w) })
}

func (s *logs) wait(ms epoch.Millis) {
	for _, w := range s.worlds {
		w.now += ms
	}
}

// TestFollow reads feed and changes to their ends while both are written to and shards freeze and thaw:
// everything comes once, and within a page by time.
func TestFollow(t *testing.T) {
	const n, rounds = 5, 400
	s := newLogs(t, n)
	all := client.Frontier{Caller: s, Shards: n}
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
		changed := frontier.Changed{Domain: domain, Changes: []frontier.Change{{Partition: partition,
			Revision: revisions[domain], ChangedAt: s.worlds[0].now}}}
		shard := placement.ShardOf(domain, n)
		w := s.worlds[shard] // what is written does not wait for the frozen
		w.do(func() error { _, err := w.shard.Put(w.now, put); return err })
		w.do(func() error { return w.shard.Changed(w.now, changed) })
	}
	read := map[string]int{}
	seen := map[string]int{}
	feed, _ := client.ParseCursor("", n)
	changes, _ := client.ParseCursor("", n)
	step := func(limit int) (more bool) {
		page, err := all.Feed(t.Context(), feed, frontier.FeedRequest{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		last := epoch.Millis(0)
		for _, i := range page.Items {
			read[i.URL]++
			if len(s.frozen) == 0 && i.FoundAt < last && limit > 100 {
				t.Errorf("%d after %d", i.FoundAt, last)
			}
			last = max(last, i.FoundAt)
		}
		if len(page.Silent) != len(s.frozen) || len(s.frozen) > 0 && !s.frozen[page.Silent[0]] {
			t.Errorf("%v did not answer, %v are frozen", page.Silent, s.frozen)
		}
		if page.Expired {
			t.Error("nothing was deleted")
		}
		if len(page.Items) > limit {
			t.Errorf("%d items of %d", len(page.Items), limit)
		}
		if feed, err = client.ParseCursor(page.Next.String(), n); err != nil {
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
		s.wait(epoch.Millis(r.Int64N(3) * 700))
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

func TestFollow_Cursors(t *testing.T) {
	c := client.Cursor{0, 1, 1 << 52}
	for shards, want := range map[int]string{3: "[0 1 4503599627370496]", 2: "[0 1]", 4: "[0 1 4503599627370496 0]"} {
		if got, err := client.ParseCursor(c.String(), shards); err != nil || fmt.Sprint([]int64(got)) != want {
			t.Errorf("%v, %v", got, err)
		}
	}
	for _, wrong := range []string{"x", "AA", "AP8", "AQ=", "Af________________8B", "🙂"} {
		if _, err := client.ParseCursor(wrong, 3); contract.KindOf(err) != contract.Validation {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// TestFollow_ReadAgain: what is between two cursors is the same however often it is read, whatever was added since.
func TestFollow_ReadAgain(t *testing.T) {
	const n, limit = 3, 5
	s := newLogs(t, n)
	all := client.Frontier{Caller: s, Shards: n}
	written := 0
	write := func() {
		for range 4 {
			domain := fmt.Sprintf("a%d.example", written%7)
			put := frontier.Put{Domain: domain, Partition: partition,
				Pages: []frontier.NewPage{{URL: fmt.Sprintf("https://%s/%d", domain, written), Fresh: true}}}
			written++
			if err := s.do(placement.ShardOf(domain, n), func(w *world) error {
				_, err := w.shard.Put(w.now, put)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			s.wait(10)
		}
	}
	links := func(page client.AllFeed) (urls []string) {
		for _, i := range page.Items {
			urls = append(urls, i.URL)
		}
		return urls
	}
	from, _ := client.ParseCursor("", n)
	read := 0
	for range 12 {
		write()
		s.frozen[fmt.Sprintf("shard-%d", written%n)] = true // its older items come later
		page, err := all.Feed(t.Context(), from, frontier.FeedRequest{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		clear(s.frozen)
		write()
		again, err := all.FeedBetween(t.Context(), from, page.Next, limit)
		if err != nil || !slices.Equal(links(again), links(page)) || !slices.Equal(again.Next, page.Next) {
			t.Errorf("%v, then %v, %v", links(page), links(again), err)
		}
		for shard := range n {
			if page.Next[shard] > from[shard] {
				s.frozen[fmt.Sprintf("shard-%d", shard)] = true
			}
		}
		if _, err := all.FeedBetween(t.Context(), from, page.Next, limit); len(page.Items) > 0 &&
			contract.KindOf(err) != contract.Storage {
			t.Errorf("a shard that has some of it is away: %v", err)
		}
		clear(s.frozen)
		read += len(page.Items)
		from = page.Next
	}
	if read < 20 {
		t.Errorf("%d items were read", read)
	}
}

// pruned deletes what the logs of a shard keep no longer, as every tick does.
func pruned(w *world) error {
	_, err := w.shard.Tick(w.now, shard.TickRequest{Shard: "shard-0"})
	return err
}

// TestFollow_TooLate: a reader who was away for longer than the logs are kept is told that something is missing,
// and one who missed nothing is not.
func TestFollow_TooLate(t *testing.T) {
	w := newWorld(t)
	days := func(n epoch.Millis) { w.now += n * 86_400_000 }
	write := func(path string, revision int) {
		w.put("a.example", []frontier.NewPage{{URL: "https://a.example/" + path, Fresh: true}})
		changed := frontier.Changed{Domain: "a.example",
			Changes: []frontier.Change{{Partition: partition, Revision: revision, ChangedAt: w.now}}}
		w.do(func() error { return w.shard.Changed(w.now, changed) })
	}
	prune := func() int { return w.do(func() error { return pruned(w) }) }
	read := func(after, changesAfter int64, items int, expired bool) (next, changesNext int64) {
		t.Helper()
		w.do(func() error {
			feed, err := w.shard.Feed(w.now, frontier.FeedRequest{After: after, Limit: 10})
			if err != nil {
				return err
			}
			changes, err := w.shard.Changes(w.now, frontier.ChangesRequest{After: changesAfter, Limit: 10})
			if len(feed.Items) != items || feed.Expired != expired || changes.Expired != expired {
				t.Errorf("after %d: %d items, expired: %t and %t, want %d and %t", after, len(feed.Items), feed.Expired,
					changes.Expired, items, expired)
			}
			next, changesNext = feed.Next, changes.Next
			return err
		})
		return next, changesNext
	}
	write("1", 1)
	early, earlyChange := read(0, 0, 1, false)
	write("2", 2)
	second, secondChange := read(early, earlyChange, 1, false)
	days(13)
	write("3", 3)
	prune()
	read(early, earlyChange, 2, false)
	days(14)
	prune()
	read(early, earlyChange, 1, true)
	read(second, secondChange, 1, false) // had read all that was deleted
	read(0, 0, 1, false)                 // begins
	if n := prune(); n > 1 {
		t.Errorf("with nothing to delete %d rows are written", n)
	}
}

// TestFollow_EmptyBlockIsPruned: a block that was damaged, so that nothing can be read of it, had at least one record.
// Who did not read that is told so when the block is deleted, and who read it is not.
func TestFollow_EmptyBlockIsPruned(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.put("a.example", []frontier.NewPage{{URL: fmt.Sprintf("https://a.example/%d", i), Fresh: true}})
		w.now += 9 * 86_400_000
	}
	var keys []int64
	w.do(func() error {
		rows, err := w.db.Run("SELECT key FROM feed ORDER BY key")
		for err == nil && rows.Next() {
			keys = append(keys, rows.Int())
		}
		if err == nil {
			_, err = w.db.Run("UPDATE feed SET data = X'' WHERE key = ?1", keys[0])
		}
		return err
	})
	if len(keys) != 2 { // the last block is in the shard's state
		t.Fatalf("the feed has blocks %d, want two", keys)
	}
	for range 2 {
		w.do(func() error { return pruned(w) })
	}
	for after, expired := range map[int64]bool{keys[0] - 1: true, keys[0]: false} {
		w.do(func() error {
			page, err := w.shard.Feed(w.now, frontier.FeedRequest{After: after, Limit: 10})
			if page.Expired != expired || len(page.Items) != 2 {
				t.Errorf("after %d: %d items, expired %t; want 2 and %t", after, len(page.Items), page.Expired, expired)
			}
			return err
		})
	}
}

// TestFollow_TooLateFromTheBeginning: a reader who has begun, and was then away for longer than the feed is kept,
// is told so whatever shard the missing items are of, also one of which the first page had none.
func TestFollow_TooLateFromTheBeginning(t *testing.T) {
	const n = 3
	s := newLogs(t, n)
	all := client.Frontier{Caller: s, Shards: n}
	read := func(from client.Cursor, limit int) client.AllFeed {
		t.Helper()
		page, err := all.Feed(t.Context(), from, frontier.FeedRequest{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	put := func(shard int, path string) {
		for i := 0; ; i++ {
			if domain := fmt.Sprintf("a%d.example", i); placement.ShardOf(domain, n) == shard {
				s.worlds[shard].put(domain, []frontier.NewPage{{URL: "https://" + domain + path, Fresh: true}})
				return
			}
		}
	}
	prune := func() {
		for _, w := range s.worlds {
			w.do(func() error { return pruned(w) })
		}
	}
	put(0, "/1")
	s.wait(1000)
	put(1, "/1")
	first := read(make(client.Cursor, n), 1)
	if len(first.Items) != 1 || !first.More || first.Expired {
		t.Fatalf("%+v", first)
	}
	s.wait(15 * 86_400_000)
	put(1, "/2")
	s.wait(15 * 86_400_000)
	put(1, "/3")
	prune()
	if late := read(first.Next, 10); !late.Expired || len(late.Items) == 0 {
		t.Errorf("%+v", late)
	}
	if late := read(first.From, 10); !late.Expired {
		t.Errorf("from where it began: %+v", late)
	}
	if begins := read(make(client.Cursor, n), 10); begins.Expired {
		t.Errorf("%+v", begins)
	}
}
