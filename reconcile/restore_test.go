package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/client"
	"github.com/newsfork/seed-engine/frontier/placement"
	"github.com/newsfork/seed-engine/r2"
	"github.com/newsfork/seed-engine/reconcile"
)

// shards take what is restored: hosts by the names of shards.
type shards map[string][]string

func (s shards) Call(_ context.Context, shard, operation string, request []byte) ([]byte, error) {
	var page frontier.Snapshot
	if err := json.Unmarshal(request, &page); err != nil || operation != "restore" {
		return nil, fmt.Errorf("%s %s: %w", operation, request, err)
	}
	added := 0
	for _, h := range page.Hosts {
		if !slices.Contains(s[shard], h.Host) {
			s[shard] = append(s[shard], h.Host)
			added++
		}
	}
	return fmt.Appendf(nil, `{"answer":%d}`, added), nil
}

// snapshot stores pages of a snapshot with a host each. An unfinished one lacks its last page.
func snapshot(t *testing.T, b *r2.Memory, shard, day string, finished bool, hosts ...string) {
	t.Helper()
	for i, host := range hosts {
		page := frontier.Snapshot{Version: 1, Hosts: []frontier.HostSnapshot{{Host: host, Domain: host}},
			Next: int64(i + 1)}
		if finished && i == len(hosts)-1 {
			page.Next = 0
		}
		if _, err := b.Put(t.Context(), contract.SnapshotPage(contract.Snapshot{Shard: shard, Date: day}.Dir(), i+1),
			contract.Encode(page),
			nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRestore(t *testing.T) {
	b := r2.NewMemory()
	snapshot(t, b, "shard-0", "2026-01-26", true, "old.example")
	snapshot(t, b, "shard-0", "2026-01-27", true, "a.example", "b.example", "c.example")
	snapshot(t, b, "shard-0", "2026-01-28", false, "a.example", "d.example")
	snapshot(t, b, "shard-1", "2026-01-28", true, "e.example")
	snapshot(t, b, "shard-12", "2026-01-28", true, "f.example")
	for _, c := range []struct {
		shard, want string
		hosts       int64
	}{
		{"", "a.example b.example c.example d.example e.example f.example", 6},
		{"shard-1", "e.example", 1},
	} {
		got := shards{}
		r := &reconcile.Restorer{Bucket: b, Frontier: client.Frontier{Caller: got, Shards: 4}, MaxPages: 2}
		sum, cursor, calls := contract.Restored{}, "", 0
		for ; !sum.Done; calls++ {
			out, err := r.Run(t.Context(), c.shard, false, cursor)
			if err != nil || out.Done != (out.Cursor == nil) || calls > 20 {
				t.Fatal(out, err)
			}
			sum.Hosts, sum.Done, sum.Snapshots = sum.Hosts+out.Hosts, out.Done, append(sum.Snapshots, out.Snapshots...)
			if out.Cursor != nil {
				cursor = *out.Cursor
			}
		}
		var hosts []string
		for name, list := range got {
			for _, host := range list {
				if name != fmt.Sprintf("shard-%d", placement.ShardOf(host, 4)) {
					t.Errorf("%s went to %s", host, name)
				}
			}
			hosts = append(hosts, list...)
		}
		slices.Sort(hosts)
		if strings.Join(hosts, " ") != c.want || sum.Hosts != c.hosts {
			t.Errorf("%q: %v, %+v", c.shard, slices.Sorted(maps.Keys(got)), sum)
		}
		if c.shard == "" &&
			fmt.Sprint(
				sum.Snapshots) != "[{shard-0 2026-01-28} {shard-0 2026-01-27} {shard-1 2026-01-28} "+
				"{shard-12 2026-01-28}]" {
			t.Errorf("snapshots %v", sum.Snapshots)
		}
	}
}

// TestRestore_OwnSnapshotsFirst: former places keep what moved away, so their snapshots have hosts as they were then. A
// shard gets what its own snapshot says of a host before it.
func TestRestore_OwnSnapshotsFirst(t *testing.T) {
	b := r2.NewMemory()
	const host = "a.example"
	own := placement.ShardOf(host, 4)
	for _, n := range []int{0, 1, 2, 3, 7} {
		page := frontier.Snapshot{Version: 1, Hosts: []frontier.HostSnapshot{{Host: host, Domain: host,
			Record: fmt.Append(nil, "of ", n)}}}
		key := contract.SnapshotPage(contract.Snapshot{Shard: fmt.Sprint("shard-", n), Date: "2026-01-28"}.Dir(), 1)
		if _, err := b.Put(t.Context(), key, contract.Encode(page), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, pages := range []int{1, 20} {
		var order []string
		remotes := client.Frontier{Shards: 4, Caller: called(func(shard string, page frontier.Snapshot) {
			order = append(order, shard+" "+string(page.Hosts[0].Record))
		})}
		r := &reconcile.Restorer{Bucket: b, Frontier: remotes, MaxPages: pages}
		for cursor := ""; ; {
			out, err := r.Run(t.Context(), "", false, cursor)
			if err != nil {
				t.Fatal(err)
			}
			if out.Done {
				break
			}
			cursor = *out.Cursor
		}
		if len(order) != 5 || order[0] != fmt.Sprintf("shard-%d of %d", own, own) ||
			order[4] != fmt.Sprintf("shard-%d of 7", own) {
			t.Errorf("%d pages a call: %q", pages, order)
		}
	}
}

// called is a caller that notes what is restored.
type called func(shard string, page frontier.Snapshot)

func (c called) Call(_ context.Context, shard, operation string, request []byte) ([]byte, error) {
	if operation == "export" {
		return []byte(`{"answer":{"version":1}}`), nil
	}
	var page frontier.Snapshot
	if err := json.Unmarshal(request, &page); err != nil {
		return nil, err
	}
	c(shard, page)
	return fmt.Appendf(nil, `{"answer":%d}`, len(page.Hosts)), nil
}

// TestRestore_Nothing: a shard without a snapshot cannot be restored, and the error says which can.
func TestRestore_Nothing(t *testing.T) {
	b := r2.NewMemory()
	for _, n := range []int{0, 12} {
		snapshot(t, b, fmt.Sprint("shard-", n), "2026-01-28", true, "a.example")
	}
	r := &reconcile.Restorer{Bucket: b, Frontier: client.Frontier{Shards: 4, Caller: called(nil)}}
	for _, c := range []struct {
		shard string
		live  bool
		want  string
	}{
		{"shard-99", false, "shard-99 has no snapshot; send one of shard-0, shard-12"},
		{"shard-3", false, "shard-3 has no snapshot; send one of shard-0, shard-12"},
		{"shard-99", true, "shard-99 has nothing; send the name of a shard up to shard-3, or of a former one"},
	} {
		_, err := r.Run(t.Context(), c.shard, c.live, "")
		var e *contract.Error
		if !errors.As(err, &e) || e.Kind != contract.Validation || e.Field != "shard" ||
			!strings.Contains(e.Message, c.want) {
			t.Errorf("%s, live %v: %v", c.shard, c.live, err)
		}
	}
	if out, err := r.Run(t.Context(), "shard-3", true, ""); err != nil || !out.Done {
		t.Errorf("an empty shard: %+v, %v", out, err)
	}
}

// TestRestore_TwoAttempts: pages that an earlier attempt at the same snapshot left behind do not belong to it. What
// the unfinished one lacks is that of the day before.
func TestRestore_TwoAttempts(t *testing.T) {
	b := r2.NewMemory()
	snapshot(t, b, "shard-0", "2026-01-27", true, "a.example", "b.example", "c.example", "d.example")
	put := func(taken epoch.Millis, page, next int, host string) {
		t.Helper()
		key := contract.SnapshotPage(contract.Snapshot{Shard: "shard-0", Date: "2026-01-28"}.Dir(), page)
		s := frontier.Snapshot{Version: 1, Taken: taken, Hosts: []frontier.HostSnapshot{{Host: host, Domain: host}},
			Next: int64(next)}
		if _, err := b.Put(t.Context(), key, contract.Encode(s), nil); err != nil {
			t.Fatal(err)
		}
	}
	put(1, 1, 1, "a.example")
	put(1, 2, 2, "c.example")
	put(1, 3, 0, "d.example")            // complete, and killed before it was noted
	later := time.Now().Add(time.Minute) // a key takes one write a second
	b.Now = func() time.Time { return later }
	put(2, 1, 1, "a.example") // once more, when there is b.example before c.example; killed after a page
	for _, pages := range []int{1, 20} {
		got := shards{}
		r := &reconcile.Restorer{Bucket: b, Frontier: client.Frontier{Caller: got, Shards: 1}, MaxPages: pages}
		var days []string
		for cursor := ""; ; {
			out, err := r.Run(t.Context(), "shard-0", false, cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range out.Snapshots {
				days = append(days, s.Date)
			}
			if out.Done {
				break
			}
			cursor = *out.Cursor
		}
		if fmt.Sprint(got["shard-0"]) != "[a.example b.example c.example d.example]" ||
			fmt.Sprint(days) != "[2026-01-28 2026-01-27]" {
			t.Errorf("%d pages a call: %v of %v", pages, got, days)
		}
	}
}

// TestRestore_DamagedPage: it is named, and what came before it is restored.
func TestRestore_DamagedPage(t *testing.T) {
	b := r2.NewMemory()
	snapshot(t, b, "shard-0", "2026-01-28", false, "a.example")
	key := contract.SnapshotPage(contract.Snapshot{Shard: "shard-0", Date: "2026-01-28"}.Dir(), 2)
	if _, err := b.Put(t.Context(), key, []byte(`{"hosts":`), nil); err != nil {
		t.Fatal(err)
	}
	got := shards{}
	_, err := (&reconcile.Restorer{Bucket: b, Frontier: client.Frontier{Caller: got, Shards: 1}}).Run(t.Context(), "",
		false, "")
	if contract.KindOf(err) != contract.Storage || !strings.Contains(err.Error(), key) || len(got["shard-0"]) != 1 {
		t.Error(err, got)
	}
}

// domains take what is restored: hosts with their domains, by the names of shards.
type domains map[string]string

func (d domains) Call(_ context.Context, shard, _ string, request []byte) ([]byte, error) {
	var page frontier.Snapshot
	if err := json.Unmarshal(request, &page); err != nil {
		return nil, err
	}
	for _, h := range page.Hosts {
		d[shard+" "+h.Host] = h.Domain
	}
	return fmt.Appendf(nil, `{"answer":%d}`, len(page.Hosts)), nil
}

// A host goes to the shard of the domain that it has by today's list of public suffixes.
func TestRestore_AnotherListOfSuffixes(t *testing.T) {
	b := r2.NewMemory()
	page := frontier.Snapshot{Version: 1, Hosts: []frontier.HostSnapshot{
		{Host: "www.a.example", Domain: "www.a.example"}, {Host: "b.github.io:80", Domain: "github.io"}}}
	if _, err := b.Put(t.Context(),
		contract.SnapshotPage(contract.Snapshot{Shard: "shard-0", Date: "2026-01-28"}.Dir(), 1),
		contract.Encode(page), nil); err != nil {
		t.Fatal(err)
	}
	got := domains{}
	remotes := client.Frontier{Caller: got, Shards: 16}
	r := &reconcile.Restorer{Bucket: b, Frontier: remotes}
	if _, err := r.Run(t.Context(), "shard-0", false, ""); err != nil {
		t.Fatal(err)
	}
	want := domains{remotes.Of("a.example").Name() + " www.a.example": "a.example",
		remotes.Of("b.github.io").Name() + " b.github.io:80": "b.github.io"}
	if !maps.Equal(got, want) {
		t.Errorf("restored %v, want %v", got, want)
	}
}
