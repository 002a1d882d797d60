package engine_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/engine/enginetest"
	"github.com/newsfork/seed-engine/epoch"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/placement"
)

// restoreAll restores all shards, and calls between before every call but the first.
func restoreAll(w *enginetest.World, between func()) (hosts int64) {
	for body := "{}"; ; between() {
		r := enginetest.Data[contract.Restored](w, "POST", "/api/v1/frontier/restore", body)
		if hosts += r.Hosts; r.Done {
			return hosts
		}
		body = fmt.Sprintf(`{"cursor":%q}`, *r.Cursor)
	}
}

// verdictOf puts a page.
func verdictOf(t *testing.T, w *enginetest.World, domain, url string) frontier.Verdict {
	t.Helper()
	a, err := w.Frontier.Remotes().Of(domain).Put(t.Context(),
		frontier.Put{Domain: domain, Partition: day, Pages: []frontier.NewPage{{URL: url, Priority: 0.5}}})
	if err != nil {
		t.Fatal(err)
	}
	return a.Pages[0]
}

// TestRestore_KeepsExclusions: operators' decisions lie in R2. What they have allowed since the snapshot stays
// allowed when a shard is restored, and what they have excluded since is excluded, with what the snapshot has of it.
func TestRestore_KeepsExclusions(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		const since, lifted = "since.example", "lifted.example"
		exclude := func(method, kind, value string) {
			t.Helper()
			if a := w.Ask(method, "/api/v1/exclusions/"+kind+"/"+value,
				map[bool]string{true: "{}"}[method == "PUT"]); !a.Success {
				t.Fatalf("%+v", a)
			}
		}
		all := [][2]string{{"domain", lifted}, {"host", "www.lifted.example"},
			{"url", "https%3A%2F%2Flifted.example%2F*"}}
		for _, domain := range []string{lifted, since} {
			for i := range 3 {
				verdictOf(t, w, domain, fmt.Sprintf("https://www.%s/%d", domain, i))
			}
		}
		for _, x := range all {
			exclude("PUT", x[0], x[1])
		}
		for _, name := range w.Frontier.Names() {
			if _, err := w.Alarm(name); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range all {
			exclude("DELETE", x[0], x[1])
		}
		exclude("PUT", "host", "www.since.example")
		for _, name := range w.Frontier.Names() {
			w.Frontier.Wipe(name)
		}
		time.Sleep(time.Minute)
		// has the cron confirm all exclusions
		w.Ask("POST", "/api/v1/seeds/reconcile", `{"country":"sg","category":"news","date":"2026-01-28"}`)
		time.Sleep(time.Minute)
		w.Cron() // the excluded host is there again, with nothing
		if n := restoreAll(w, func() {}); n != 2 {
			t.Errorf("%d hosts were restored, want 2", n)
		}
		for _, url := range []string{"https://www.lifted.example/new", "https://lifted.example/new"} {
			if v := verdictOf(t, w, lifted, url); v != frontier.Accepted {
				t.Errorf("%s, which is allowed again: %s", url, v)
			}
		}
		if v := verdictOf(t, w, since, "https://www.since.example/new"); v != frontier.Excluded {
			t.Errorf("a host that is excluded: %s", v)
		}
		exclude("DELETE", "host", "www.since.example")
		if v := verdictOf(t, w, since, "https://www.since.example/2"); v != frontier.Duplicate {
			t.Errorf("what the snapshot has of a host that was excluded: %s", v)
		}
	})
}

// TestRestore_SnapshotOfSeveralAlarms: a snapshot that takes several alarms goes on where it stopped, also when
// alarms die, leases are given meanwhile, and it restores all that was there.
func TestRestore_SnapshotOfSeveralAlarms(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["FRONTIER_SHARDS"] = "1"
		w.SnapshotPages = 1
		const hosts = 1200 // 500 a page
		shard := w.Frontier.Remotes().Shard(0)
		for i := range hosts {
			domain := fmt.Sprintf("d%d.example", i)
			_, err := shard.Put(t.Context(), frontier.Put{Domain: domain, Partition: day,
				Pages: []frontier.NewPage{{URL: "https://" + domain + "/1", Priority: 0.5}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		pages := func() int { return len(w.Keys("frontier/shard-0/", "")) }
		for alarms := 0; ; alarms++ {
			had := pages()
			killed := alarms%2 == 1
			if killed { // before it notes the page that it has stored
				w.Kill = func(int) bool { return pages() > had }
			}
			next, err := w.Alarm("shard-0")
			w.Kill = nil
			if !killed && err != nil {
				t.Fatal(err)
			}
			if n := pages(); n > had+1 {
				t.Fatalf("one alarm stored %d pages", n-had)
			}
			if !killed && time.Until(next) > time.Minute {
				break
			}
			if alarms > 20 {
				t.Fatal("it does not end")
			}
			lease, err := shard.Lease(t.Context(), frontier.LeaseRequest{Max: 1, Seconds: 10})
			if err != nil || len(lease.Items) != 1 {
				t.Errorf("%+v, %v", lease, err)
			}
			time.Sleep(time.Minute)
		}
		if n := pages(); n < 3 {
			t.Errorf("%d pages", n)
		}
		w.Frontier.Wipe("shard-0")
		if n := restoreAll(w, func() {}); n != hosts {
			t.Errorf("%d hosts were restored, want %d", n, hosts)
		}
	})
}

// TestRestore_AppliesAllExclusions: one that shards lost while they were restored is confirmed afterwards.
func TestRestore_AppliesAllExclusions(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		if a := w.Ask("PUT", "/api/v1/exclusions/domain/out.example", "{}"); !a.Success {
			t.Fatalf("%+v", a)
		}
		time.Sleep(time.Minute)
		w.Cron()
		unconfirmed := func() int {
			var c contract.Controls
			w.Read(contract.ControlsKey, &c)
			return len(c.Unconfirmed)
		}
		if n := unconfirmed(); n != 0 {
			t.Fatalf("%d changes are not confirmed", n)
		}
		for i := range 30 { // more pages than one call restores
			key := contract.SnapshotPage(contract.Snapshot{Shard: "shard-0", Date: "2026-01-28"}.Dir(), i+1)
			page, err := json.Marshal(frontier.Snapshot{Version: 1, Next: int64((i + 1) % 30)})
			if err != nil {
				t.Fatal(err)
			}
			w.Put(key, string(page))
		}
		calls := 0
		restoreAll(w, func() {
			calls++
			time.Sleep(time.Minute)
			w.Cron()
		})
		if calls == 0 || unconfirmed() != 1 {
			t.Errorf("after %d calls %d changes are to be confirmed", calls+1, unconfirmed())
		}
	})
}

// TestRestore_DomainsMove: with the number of shards domains change their places. Moved while the pipeline is paused,
// nothing is in the feed twice, and readers who had read to the end miss nothing.
func TestRestore_DomainsMove(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 1,200 articles twice")
	}
	for _, c := range [][2]string{{"3", "5"}, {"5", "3"}} {
		t.Run(c[0]+" to "+c[1], func(t *testing.T) {
			enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
				w.Variables["FRONTIER_SHARDS"] = c[0]
				p := &publisher{articles: 150, dated: true, listed: 150}
				var hosts []string
				for i := range 8 {
					hosts = append(hosts, fmt.Sprintf("live-%d.sg", i))
				}
				startSites(t, w, p, 60, 90, hosts...)
				var f follower
				for range 6 { // snapshots are made in the first minutes, and find nothing of what comes later
					live(t, w, 10*time.Minute)
					f.read(t, w)
				}
				w.Ask("POST", "/api/v1/pipeline/pause", "{}")
				live(t, w, 15*time.Minute)
				f.read(t, w)
				w.Variables["FRONTIER_SHARDS"] = c[1]
				w.Deploy()
				moved, body := int64(0), `{"live":true}`
				for done := false; !done; {
					r := enginetest.Data[contract.Restored](w, "POST", "/api/v1/frontier/restore", body)
					if moved += r.Hosts; !r.Done {
						body = fmt.Sprintf(`{"live":true,"cursor":%q}`, *r.Cursor)
					}
					done = r.Done
				}
				if moved == 0 {
					t.Error("nothing moved")
				}
				w.Ask("POST", "/api/v1/pipeline/resume", "")
				live(t, w, 3*time.Hour)
				for _, host := range hosts {
					p.complete(t, w, &f, host)
				}
			})
		})
	}
}

// TestRestore_YoungDeployment: shards without a snapshot are moved, too. Former ones have stored one with their first
// tick, also while the pipeline is paused.
func TestRestore_YoungDeployment(t *testing.T) {
	for _, c := range [][2]int{{3, 5}, {5, 3}} {
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) { moveYoung(t, w, c[0], c[1]) })
	}
}

func moveYoung(t *testing.T, w *enginetest.World, from, to int) {
	w.Variables["FRONTIER_SHARDS"] = strconv.Itoa(from)
	var domains []string
	for i := range 40 {
		domains = append(domains, fmt.Sprintf("young-%d.example", i))
		verdictOf(t, w, domains[i], fmt.Sprintf("https://%s/a", domains[i]))
	}
	w.Ask("POST", "/api/v1/pipeline/pause", "{}")
	for n := to; n < from; n++ {
		if _, err := w.Alarm(fmt.Sprint("shard-", n)); err != nil {
			t.Fatal(err)
		}
	}
	w.Variables["FRONTIER_SHARDS"] = strconv.Itoa(to)
	w.Deploy()
	moved, want := int64(0), int64(0)
	for _, domain := range domains {
		if placement.ShardOf(domain, from) != placement.ShardOf(domain, to) {
			want++
		}
	}
	for body, done := `{"live":true}`, false; !done; {
		r := enginetest.Data[contract.Restored](w, "POST", "/api/v1/frontier/restore", body)
		moved += r.Hosts
		if done = r.Done; !done {
			body = fmt.Sprintf(`{"live":true,"cursor":%q}`, *r.Cursor)
		}
	}
	if moved != want || want == 0 {
		t.Errorf("%d hosts moved, want %d", moved, want)
	}
	for _, domain := range domains {
		if v := verdictOf(t, w, domain, fmt.Sprintf("https://%s/a", domain)); v != frontier.Duplicate {
			t.Errorf("%s: %s", domain, v)
		}
	}
}

// TestRestore_CursorExpires: a shard that was lost has lost its part of the feed and of the changes. Readers with a
// cursor from before hear so once, and a reader that begins does not.
func TestRestore_CursorExpires(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		a := &articles{T: t, w: w}
		a.write(20, publishers...)
		for _, domain := range publishers {
			if err := w.Frontier.Remotes().Of(domain).Changed(t.Context(), frontier.Changed{Domain: domain,
				Changes: []frontier.Change{{Partition: day, Revision: 1, ChangedAt: epoch.Now()}}}); err != nil {
				t.Fatal(err)
			}
		}
		feed := func(cursor string) contract.FeedPage {
			return enginetest.Data[contract.FeedPage](w, "GET", "/api/v1/feed?limit=200&cursor="+cursor, "")
		}
		changes := func(cursor string) contract.ChangesPage {
			return enginetest.Data[contract.ChangesPage](w, "GET", "/api/v1/seeds/changes?limit=200&cursor="+cursor, "")
		}
		before, changed := feed(""), changes("")
		if before.Expired || changed.Expired || feed(before.NextCursor).Expired || changes(changed.NextCursor).Expired {
			t.Fatal("expired before anything was lost")
		}
		for _, name := range w.Frontier.Names() {
			if _, err := w.Alarm(name); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		w.Frontier.Wipe(w.Frontier.Remotes().Of(publishers[0]).Name())
		restoreAll(w, func() {})
		after, since := feed(before.NextCursor), changes(changed.NextCursor)
		if !after.Expired || !since.Expired {
			t.Errorf("expired: feed %v, changes %v", after.Expired, since.Expired)
		}
		if feed(after.NextCursor).Expired || changes(since.NextCursor).Expired {
			t.Error("the next page is expired, too")
		}
		begun := feed("")
		if begun.Expired || changes("").Expired {
			t.Error("a reader that begins has lost something")
		}
		more := &articles{T: t, w: w, written: make([]string, 100)}
		more.write(4, publishers[0])
		for _, cursor := range []string{after.NextCursor, begun.NextCursor} {
			if p := feed(cursor); p.Expired || len(p.Items) != 4 {
				t.Errorf("what came since: %+v", p)
			}
		}
	})
}

// TestRestore_SnapshotOnDemand: what came after the day's snapshot is restored, too, when operators asked for another.
func TestRestore_SnapshotOnDemand(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["FRONTIER_SHARDS"] = "3"
		alarms := func() {
			for _, name := range w.Frontier.Names() {
				if _, err := w.Alarm(name); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
		}
		verdictOf(t, w, "a.example", "https://a.example/1")
		alarms()
		verdictOf(t, w, "a.example", "https://a.example/2")
		name := w.Frontier.Remotes().Of("a.example").Name()
		if a := enginetest.Data[contract.SnapshotsOrdered](w, "POST", "/api/v1/frontier/snapshot",
			"{}"); len(a.Shards) != 1 ||
			a.Shards[0] != name || len(a.Unavailable) != 0 {
			t.Errorf("ordered %+v", a)
		}
		alarms()
		w.Frontier.Wipe(name)
		if n := restoreAll(w, func() {}); n != 1 {
			t.Errorf("%d hosts restored", n)
		}
		if v := verdictOf(t, w, "a.example", "https://a.example/2"); v != frontier.Duplicate {
			t.Errorf("what came after the day's snapshot: %s", v)
		}
		for _, shard := range []string{"shard-99", "a"} {
			a := w.Ask("POST", "/api/v1/frontier/snapshot", fmt.Sprintf(`{"shard":%q}`, shard))
			if a.Success || a.Error.Field != "shard" {
				t.Errorf("%s: %+v", shard, a)
			}
		}
	})
}

// TestRestore_Import: lines of an export go to the shards to which their hosts belong, twice as well as once, and
// damaged ones name what is wrong.
func TestRestore_Import(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["FRONTIER_SHARDS"] = "2"
		var lines []string
		for i := range 20 {
			domain := fmt.Sprintf("import-%d.example", i)
			verdictOf(t, w, domain, "https://"+domain+"/a")
		}
		for n := range 2 {
			e := enginetest.Data[contract.FrontierExport](w, "GET",
				fmt.Sprintf("/api/v1/frontier/shards/shard-%d/export", n), "")
			lines = append(lines, string(e.Snapshot))
		}
		for _, name := range w.Frontier.Names() {
			w.Frontier.Wipe(name)
		}
		w.Variables["FRONTIER_SHARDS"] = "3"
		w.Deploy()
		for _, want := range []int64{20, 0} {
			hosts := int64(0)
			for _, line := range lines {
				hosts += enginetest.Data[contract.FrontierImported](w, "POST", "/api/v1/frontier/import", line).Hosts
			}
			if hosts != want {
				t.Errorf("%d hosts imported, want %d", hosts, want)
			}
		}
		for i := range 20 {
			domain := fmt.Sprintf("import-%d.example", i)
			if v := verdictOf(t, w, domain, "https://"+domain+"/a"); v != frontier.Duplicate {
				t.Errorf("%s: %s", domain, v)
			}
		}
		for body, field := range map[string]string{
			`{}`: "version", `{"version":99,"hosts":[{"host":"c.example","domain":"c.example"}]}`: "version",
			`{"version":1,"hosts":[{"host":"a","domain":"b"}]}`:                                 "hosts",
			`{"version":1,"hosts":[{"host":"c.example","domain":"c.example","record":"AAAA"}]}`: "hosts",
		} {
			if a := w.Ask("POST", "/api/v1/frontier/import", body); a.Success || a.Error.Field != field {
				t.Errorf("%s: %+v", body, a.Error)
			}
		}
		// Empty elements cost little JSON and much memory once they are decoded.
		for _, empty := range []string{"{},", "null,", `{"parts":[{},{}]},`} {
			body := `{"version":1,"hosts":[` + strings.Repeat(empty, 700_000/strings.Count(empty, ",")/2) + "{}]}"
			if a := w.Ask("POST", "/api/v1/frontier/import", body); a.Status != 413 {
				t.Errorf("many of %s: %d %+v", empty, a.Status, a.Error)
			}
		}
	})
}

// TestRestore_LostShardTakenInAgain: a shard that was lost and got something new before anybody noticed stores a
// snapshot of that little at once. What it had before is restored all the same.
func TestRestore_LostShardTakenInAgain(t *testing.T) {
	for _, days := range []int{0, 1, 3} {
		enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
			w.Variables["FRONTIER_SHARDS"] = "1"
			alarm := func() {
				t.Helper()
				if _, err := w.Alarm("shard-0"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
			}
			for i := range 30 {
				domain := fmt.Sprintf("old-%d.example", i)
				verdictOf(t, w, domain, "https://"+domain+"/a")
			}
			alarm()
			w.Frontier.Wipe("shard-0")
			verdictOf(t, w, "new.example", "https://new.example/a")
			alarm()
			for range days {
				time.Sleep(24 * time.Hour)
				alarm()
			}
			if n := restoreAll(w, func() {}); n != 30 {
				t.Errorf("after %d days: %d hosts were restored, want 30", days, n)
			}
			if v := verdictOf(t, w, "old-7.example", "https://old-7.example/a"); v != frontier.Duplicate {
				t.Errorf("after %d days: what the lost shard had is %s", days, v)
			}
		})
	}
}

// TestRestore_SnapshotKilledHalfWay: a snapshot on demand that ends half-way leaves the good one of the day.
func TestRestore_SnapshotKilledHalfWay(t *testing.T) {
	enginetest.Run(t, func(t *testing.T, w *enginetest.World) {
		w.Variables["FRONTIER_SHARDS"] = "1"
		w.SnapshotPages = 1
		const hosts = 1200 // 500 a page
		shard := w.Frontier.Remotes().Shard(0)
		put := func(from, to int) {
			t.Helper()
			for i := from; i < to; i++ {
				domain := fmt.Sprintf("d%d.example", i)
				_, err := shard.Put(t.Context(), frontier.Put{Domain: domain, Partition: day,
					Pages: []frontier.NewPage{{URL: "https://" + domain + "/1", Priority: 0.5}}})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		put(0, hosts)
		for range 5 {
			if _, err := w.Alarm("shard-0"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		put(hosts, hosts+100)
		if a := w.Ask("POST", "/api/v1/frontier/snapshot", "{}"); !a.Success {
			t.Fatalf("%+v", a)
		}
		for range 2 { // of three alarms
			if _, err := w.Alarm("shard-0"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		w.Frontier.Wipe("shard-0")
		if n := restoreAll(w, func() {}); n < hosts {
			t.Errorf("%d hosts were restored, want at least %d", n, hosts)
		}
	})
}
