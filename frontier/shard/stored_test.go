package shard_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/newsfork/seed-engine/contract"
	"github.com/newsfork/seed-engine/frontier"
	"github.com/newsfork/seed-engine/frontier/shard"
	"github.com/newsfork/seed-engine/frontier/shard/store"
)

var writeStored = flag.Bool("write-stored", false, "write testdata/stored-VERSION.sql if it is missing")

// storedTables are the tables with their columns.
var storedTables = []struct {
	name    string
	columns []string // s: text, i: integer, b: blob
	kinds   string
}{
	{"state", []string{"key", "feed", "data"}, "ibb"},
	{"hosts", []string{"id", "host", "domain", "urls", "due", "blocked", "record"}, "isiiiib"},
	{"domains", []string{"id", "domain", "record"}, "isb"},
	{"parts", []string{"key", "data"}, "ib"},
	{"queue", []string{"key", "data"}, "ib"},
	{"leases", []string{"id", "ends", "data"}, "iib"},
	{"due", []string{"key", "data"}, "ib"},
	{"mirrors", []string{"key", "data"}, "ib"},
	{"feed", []string{"key", "data"}, "ib"},
	{"changes", []string{"key", "data"}, "ib"},
}

const storedLease = "stored lease"

// storeShard fills a shard with something of everything that is stored, and returns its database as SQL.
func storeShard(t *testing.T) string {
	w := newWorld(t)
	w.shard.PerMinute = 60
	feed := frontier.NewEntry{NewPage: frontier.NewPage{URL: "https://a.example/feed", Type: "news"}, Method: "feed",
		Interval: 7200, ETag: `"1"`, SHA256: strings.Repeat("ab", 32), Status: 200}
	w.shard.LimitPending(1) // for rows of the queue and of the table due
	w.put("a.example", articles("a.example", 0, 120), feed)
	w.put("b.example", append(articles("www.b.example", 0, 3), articles("m.b.example", 0, 2)...))
	w.shard.LimitPending(0)
	w.put("c.example", []frontier.NewPage{{URL: "https://c.example/new", Title: "제목", Type: "news", Priority: 0.9,
		LastMod: w.now.Seconds() - 60, FoundBy: "feed"}})
	w.do(func() error {
		if _, err := w.shard.Acquire(w.now,
			frontier.AcquireRequest{Domain: "d.example", Owner: "collector", Seconds: 600,
				Hosts: []string{"www.d.example"}}); err != nil {
			return err
		}
		if err := w.shard.Changed(w.now, frontier.Changed{Domain: "b.example",
			Changes: []frontier.Change{{Partition: partition, Revision: 3, ChangedAt: w.now, Reachable: true}}}); err !=
			nil {
			return err
		}
		if _, err := w.shard.Mirror(w.now,
			frontier.MirrorRequest{Domain: "a.example", Digest: strings.Repeat("0f", 32)}); err != nil {
			return err
		}
		return w.shard.Exclude(w.now, frontier.Exclusion{Kind: "url", Value: "https://b.example/private/*"}, true)
	})
	lease, _ := w.lease(frontier.LeaseRequest{Max: 2, Seconds: 600})
	if len(lease.Items) != 2 {
		t.Fatalf("%d items", len(lease.Items))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s %s %s %s\n", storedLease, lease.ID, lease.Items[0].ID, lease.Items[1].ID)
	for _, table := range storedTables {
		err := w.db.Query("SELECT "+strings.Join(table.columns, ", ")+" FROM "+table.name+" ORDER BY 1",
			func(r *store.Rows) {
				values := make([]string, len(table.kinds))
				for i, kind := range table.kinds {
					switch kind {
					case 'i':
						values[i] = fmt.Sprint(r.Int())
					case 's':
						values[i] = "'" + r.Text() + "'"
					default:
						values[i] = fmt.Sprintf("X'%x'", r.Blob())
					}
				}
				fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES (%s)\n", table.name, strings.Join(table.columns, ", "),
					strings.Join(values, ", "))
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestStored_Versions opens the shards that versions have written since 1, and goes on with them. Never change
// a file of testdata: what it has lies in the shards of those who run the engine.
func TestStored_Versions(t *testing.T) {
	current := filepath.Join("testdata", fmt.Sprintf("stored-%d.sql", store.Version))
	if _, err := os.Stat(current); os.IsNotExist(err) && *writeStored {
		if err := os.WriteFile(current, []byte(storeShard(t)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/stored-*.sql")
	if err != nil || !slices.Contains(files, current) {
		t.Fatalf("%s is missing: run this test with -write-stored (%v)", current, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { continueStored(t, file) })
	}
}

func continueStored(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.shard.PerMinute = 60
	leased := w.load(string(text))
	for _, err := range store.Audit(w.db, w.db.Transaction) {
		t.Error(err)
	}
	w.now += 60_000
	report := frontier.Report{Lease: leased[0],
		Results: []frontier.Result{{ID: leased[1], Status: 200}, {ID: leased[2], Status: 200}}}
	w.do(func() error {
		answer, err := w.shard.Report(w.now, report)
		if answer.Accepted != 2 || answer.Unknown != 0 {
			t.Errorf("the stored lease was reported as %+v", answer)
		}
		return err
	})
	urls := map[string]bool{}
	for range 200 {
		w.now += 10_000
		lease, _ := w.lease(frontier.LeaseRequest{Max: 10})
		for _, item := range lease.Items {
			if urls[item.URL] {
				t.Errorf("%s was leased twice", item.URL)
			}
			urls[item.URL] = true
		}
		w.report(lease, 200)
	}
	if want := 120 + 5 + 1 - 2; len(urls) != want {
		t.Errorf("%d pages were leased, want %d", len(urls), want)
	}
	w.do(func() error {
		feed, err := w.shard.Feed(w.now, frontier.FeedRequest{Limit: 10})
		if len(feed.Items) != 1 || feed.Items[0].URL != "https://c.example/new" {
			t.Errorf("the feed has %+v", feed.Items)
		}
		return err
	})
	w.do(func() error {
		changes, err := w.shard.Changes(w.now, frontier.ChangesRequest{Limit: 10})
		if len(changes.Items) != 1 || changes.Items[0].Revision != 3 {
			t.Errorf("the changes are %+v", changes.Items)
		}
		return err
	})
	w.do(func() error {
		mirror, err := w.shard.Mirror(w.now,
			frontier.MirrorRequest{Domain: "e.example", Digest: strings.Repeat("0f", 32)})
		if mirror.Of != "a.example" {
			t.Errorf("the mirror is of %q", mirror.Of)
		}
		return err
	})
	w.do(func() error {
		entries, err := w.shard.Entries(w.now, "a.example")
		if len(entries.Entries) != 1 || entries.Entries[0].Method != "feed" || entries.Entries[0].ETag != `"1"` {
			t.Errorf("the entry points are %+v", entries.Entries)
		}
		return err
	})
	if answer := shardStats(w); answer.Done != 126 || answer.URLs != 0 {
		t.Errorf("in the end %+v", answer)
	}
}

// load fills an empty shard with what storeShard gave, and returns the stored lease and its items.
func (w *world) load(text string) (leased []string) {
	w.Helper()
	w.do(func() error { _, err := w.shard.Stats(w.now); return err }) // makes the tables
	w.do(func() error {
		if _, err := w.db.Run("DELETE FROM state"); err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, "-- "+storedLease+" "); ok {
				leased = strings.Fields(rest)
				continue
			}
			if _, err := w.db.Run(line); err != nil {
				return fmt.Errorf("%.80s: %w", line, err)
			}
		}
		return nil
	})
	return leased
}

func shardStats(w *world) (stats frontier.Stats) {
	w.do(func() (err error) {
		stats, err = w.shard.Stats(w.now)
		return err
	})
	return stats
}

// TestStored_OtherSpelling: a shard goes on in which URLs are percent-encoded as earlier versions left them.
func TestStored_OtherSpelling(t *testing.T) {
	const spelling, before = "%EC%86%8D%EB%B3%B4", "%ec%86%8d%eb%b3%b4"
	const url = "https://a.example/" + spelling
	feed := frontier.NewEntry{NewPage: frontier.NewPage{URL: url + "/feed"}, Method: "feed", Interval: 7200,
		ETag: `"1"`, Status: 200}
	old, s := newSite(t), newSite(t)
	old.shard.PerMinute, s.shard.PerMinute = 60, 60
	old.put("a.example", []frontier.NewPage{{URL: url + "/1"}, {URL: url + "/2"}}, feed)
	hash := func(path string) string { return string(binary.BigEndian.AppendUint64(nil, store.Hash48(path))[2:]) }
	pages := old.export()
	for i := range pages {
		for k := range pages[i].Hosts {
			record := string(pages[i].Hosts[k].Record)
			for _, name := range []string{"/1", "/2", "/feed"} {
				if !strings.Contains(record, hash(spelling+name)) {
					t.Fatalf("%s is not in the record", name)
				}
				record = strings.ReplaceAll(record, hash(spelling+name), hash(before+name))
			}
			pages[i].Hosts[k].Record = []byte(strings.ReplaceAll(record, spelling, before))
		}
	}
	s.restore(pages)
	s.now += 3 * hour
	s.do(func() error {
		tick, err := s.shard.Tick(s.now, shard.TickRequest{Shard: "shard-0"})
		if err != nil || len(tick.Messages) != 1 {
			t.Fatalf("%d messages, %v", len(tick.Messages), err)
		}
		list, _, err := contract.ParseRefreshes(tick.Messages[0])
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		grant, err := s.shard.BeginRefresh(s.now, frontier.RefreshRequest{Domain: "a.example", URL: list[0].URL,
			Owner: "r"})
		if !grant.Granted {
			t.Errorf("%s: %+v", list[0].URL, grant)
		}
		_, err2 := s.shard.EndRefresh(s.now, frontier.RefreshResult{Domain: "a.example", URL: list[0].URL, Owner: "r",
			Status: 304})
		return errors.Join(err, err2)
	})
	s.invariants()
	for _, again := range []string{feed.URL, strings.Replace(feed.URL, spelling, before, 1)} {
		feed.URL = again
		s.put("a.example", nil, feed)
		s.do(func() error {
			entries, err := s.shard.Entries(s.now, "a.example")
			if len(entries.Entries) != 1 {
				t.Errorf("%d entry points", len(entries.Entries))
			}
			return err
		})
		if got := s.verdicts(frontier.Put{Domain: "a.example", Pages: []frontier.NewPage{{URL: again}}}); got[0] !=
			frontier.Duplicate {
			t.Errorf("as a page the feed is %s", got[0])
		}
		s.invariants()
	}
	s.now += minute
	s.scrape(hour, always(200))
	if stats := s.stats(); stats.Done != 2 || stats.URLs != 0 {
		t.Errorf("%+v", stats)
	}
	feed.Interval = 0
	s.put("a.example", nil, feed)
	if stats := s.stats(); stats.Entries != 0 {
		t.Errorf("%d entry points", stats.Entries)
	}
	s.invariants()
}

// TestStored_VisitsBefore4: the counters of visits move from their own row into that of the others, once.
func TestStored_VisitsBefore4(t *testing.T) {
	s := newScheduled(t)
	data := s.before5(s.stateRow(0))
	at := len(data)
	for n := 0; n < 7 || int(data[at]) != len(data)-at-1; at-- { // seven numbers, and before them their length
		if data[at-1] < 0x80 {
			n++
		}
	}
	visits := data[at+1:]
	before := append([]byte{3, 3}, data[2:at]...)
	s.run("UPDATE state SET data = ?1 WHERE key = 0", before)
	s.run("INSERT INTO state (key, data) VALUES (12, ?1)", visits)
	s.invariants()
	if got := s.stats().Scheduled; got != scheduledPages {
		t.Errorf("%d pages are scheduled, want %d", got, scheduledPages)
	}
	s.now += 30 * 24 * hour
	if l, _ := s.lease(frontier.LeaseRequest{Max: 1}); len(l.Items) != 1 || l.Items[0].Reason != "revisit" {
		t.Errorf("leased %+v", l.Items)
	}
	if row := s.stateRow(12); row != nil {
		t.Errorf("the row is still there: %x", row)
	}
	s.invariants()
}

// before5 returns a state's counters without what version 5 added, of which there must be nothing.
func (w *world) before5(data []byte) []byte {
	w.Helper()
	before, added := bytes.CutSuffix(data, make([]byte, 3))
	if !added {
		w.Fatalf("there is something that version 4 did not have: %x", data)
	}
	return before
}

// TestStored_VisitsOfDamagedCounters: pages that were to be fetched again still are.
func TestStored_VisitsOfDamagedCounters(t *testing.T) {
	s := newScheduled(t)
	s.run("UPDATE state SET data = X'FF' WHERE key = 0")
	if got := s.stats().Scheduled; got != scheduledPages {
		t.Errorf("%d pages are scheduled, want %d", got, scheduledPages)
	}
	s.now += 30 * 24 * hour
	if l, _ := s.lease(frontier.LeaseRequest{Max: 1}); len(l.Items) != 1 || l.Items[0].Reason != "revisit" {
		t.Errorf("leased %+v", l.Items)
	}
}

const scheduledPages = 130

// newScheduled returns a shard of which all pages were fetched, and are to be again.
func newScheduled(t *testing.T) *looks {
	s := newLooks(t, 1000)
	for site := range scheduledPages {
		host := fmt.Sprintf("old%d.example", site)
		s.put(host, []frontier.NewPage{{URL: "https://" + host + "/", Type: "archive", Priority: 0.9}})
	}
	s.fetchAll()
	return s
}

// stateRow returns a row of the table state.
func (w *world) stateRow(key int) (data []byte) {
	w.Helper()
	if err := w.db.Query(fmt.Sprint("SELECT data FROM state WHERE key = ", key),
		func(r *store.Rows) { data = slices.Clone(r.Blob()) }); err != nil {
		w.Fatal(err)
	}
	return data
}
