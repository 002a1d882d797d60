package shard_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// TestFollow_Long reads ten thousand pages of the feed, and as many of the changes, while others write to all shards
// at once, and days go by, so that what was read is deleted behind the reader. Nothing may be left out, and nothing
// come twice.
func TestFollow_Long(t *testing.T) {
	t.Parallel()
	const (
		shards, writers, domains = 4, 4, 40 // domains of a writer
		// articles that wait to be read: the reader must not be away for longer than the logs are kept
		maxAhead = 200
		maxStep  = 600_000 // ms between two writes to a shard
		day      = 24 * time.Hour
	)
	pages := 10_000
	if testing.Short() {
		pages = 1000
	}
	s := newLogs(t, shards)
	for n, w := range s.worlds {
		w.shard.Number, w.shard.Settings.Retention = n, 2*day
	}
	all := client.Frontier{Caller: s, Shards: shards}
	began := s.worlds[0].now
	var written, read atomic.Int64
	var stop atomic.Bool
	var group sync.WaitGroup
	newest := make([]map[string]int, writers) // revisions by domain
	articles := make([]map[string]int, writers)
	for writer := range writers {
		revisions, count := map[string]int{}, map[string]int{}
		newest[writer], articles[writer] = revisions, count
		r := rand.New(rand.NewPCG(uint64(writer), 1))
		publish := func() error {
			name := fmt.Sprintf("w%d-%d.example", writer, r.IntN(domains))
			put := frontier.Put{Domain: name, Partition: partition}
			fresh := 1 + r.IntN(3)
			// some of them again, as when a message is delivered twice
			for n := max(0, count[name]-r.IntN(4)); n < count[name]+fresh; n++ {
				put.Pages = append(put.Pages, frontier.NewPage{URL: fmt.Sprintf("https://%s/%d", name, n), Fresh: true})
			}
			return s.do(placement.ShardOf(name, shards), func(w *world) error {
				w.now += epoch.Millis(r.Int64N(maxStep))
				if _, err := w.shard.Put(w.now, put); err != nil {
					return err
				}
				change := frontier.Change{Partition: partition, Revision: revisions[name] + 1, ChangedAt: w.now}
				if err := w.shard.Changed(w.now,
					frontier.Changed{Domain: name, Changes: []frontier.Change{change}}); err != nil {
					return err
				}
				count[name] += fresh
				revisions[name]++
				written.Add(int64(fresh))
				if r.IntN(50) > 0 {
					return nil
				}
				return pruned(w)
			})
		}
		group.Go(func() {
			for !stop.Load() {
				if written.Load()-read.Load() > maxAhead {
					time.Sleep(50 * time.Microsecond)
				} else if err := publish(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	found, seen := map[string]bool{}, map[string]int{}
	feed, _ := client.ParseCursor("", shards)
	changes, _ := client.ParseCursor("", shards)
	r := rand.New(rand.NewPCG(1, 2))
	next := func(limit int) (more bool) {
		page, err := all.Feed(t.Context(), feed, frontier.FeedRequest{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page.Items {
			if found[i.URL] {
				t.Errorf("%s came twice", i.URL)
			}
			found[i.URL] = true
		}
		read.Add(int64(len(page.Items)))
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
		if page.Expired || changed.Expired {
			t.Error("something was deleted before it was read")
		}
		feed, changes = page.Next, changed.Next
		return page.More || changed.More
	}
	for range pages {
		next(1 + r.IntN(5))
	}
	stop.Store(true)
	group.Wait()
	for next(200) {
	}

	total := 0
	for writer := range writers {
		for name, n := range articles[writer] {
			total += n
			for i := range n {
				if url := fmt.Sprintf("https://%s/%d", name, i); !found[url] {
					t.Errorf("%s is missing", url)
				}
			}
		}
		for name, revision := range newest[writer] {
			if seen[name] != revision {
				t.Errorf("%s: revision %d was read, %d is the newest", name, seen[name], revision)
			}
		}
	}
	if len(found) != total || int64(total) != written.Load() || total < pages {
		t.Errorf("%d were read, %d written", len(found), total)
	}
	first, err := all.Feed(t.Context(), make(client.Cursor, shards), frontier.FeedRequest{Limit: 200})
	if err != nil || len(first.Items) == 0 || first.Items[0].FoundAt < began.Add(day) && !testing.Short() {
		t.Errorf("nothing was deleted: %v", err)
	}
	t.Logf("%d articles on %d pages", total, pages)
}
